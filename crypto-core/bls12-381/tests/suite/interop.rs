//! Points and scalars of other libraries: what converts comes to the same bytes there, and what is
//! not a point of the group is refused with its reason.
use ark_bls12_381::{Fq, Fq2};
use ark_ec::AffineRepr;
use ark_ff::{AdditiveGroup, BigInt, PrimeField};
use prefinal_bls12_381::{Affine, DecodeError, G1, G1Affine, G2, G2Affine, Group, Scalar};

use super::{random_points, rng};

/// Coordinates in Montgomery form.
type Words<const N: usize> = [[[u64; 6]; N]; 2];

/// What each library must do with the points of one group.
struct Library<const N: usize, T, G: Group> {
    from_words: fn(Words<N>) -> T,
    to_bytes: fn(&T) -> Vec<u8>,
    unchecked: fn(&T) -> Affine<G>,
}

fn g1_words(x: Fq, y: Fq) -> Words<1> {
    [[x.0.0], [y.0.0]]
}

fn g2_words(x: Fq2, y: Fq2) -> Words<2> {
    [[x.c0.0.0, x.c1.0.0], [y.c0.0.0, y.c1.0.0]]
}

/// On the curve, but not in the subgroup: the first such point of the smallest `x`.
fn outside_g1() -> Words<1> {
    let points = (1_u64..)
        .filter_map(|x| ark_bls12_381::G1Affine::get_point_from_x_unchecked(Fq::from(x), false));
    let outside = points.into_iter().find(|p| !p.is_in_correct_subgroup_assuming_on_curve());
    outside.map(|p| g1_words(p.x, p.y)).unwrap()
}

fn outside_g2() -> Words<2> {
    let points = (1_u64..).filter_map(|x| {
        let x = Fq2::new(Fq::from(x), Fq::ZERO);
        ark_bls12_381::G2Affine::get_point_from_x_unchecked(x, false)
    });
    let outside = points.into_iter().find(|p| !p.is_in_correct_subgroup_assuming_on_curve());
    outside.map(|p| g2_words(p.x, p.y)).unwrap()
}

/// Adds `p` to a number, so that its value stays and its form is not canonical.
fn plus_modulus(words: &mut [u64; 6]) {
    let mut carry = 0;
    for (word, modulus) in words.iter_mut().zip(Fq::MODULUS.0) {
        let sum = u128::from(*word) + u128::from(modulus) + carry;
        *word = u64::try_from(sum & u128::from(u64::MAX)).unwrap();
        carry = sum >> 64;
    }
    assert_eq!(carry, 0);
}

fn points_convert_or_are_refused<const N: usize, T, G: Group>(
    library: &Library<N, T, G>,
    generator: Words<N>,
    outside: Words<N>,
) where
    T: From<Affine<G>>,
    Affine<G>: for<'a> TryFrom<&'a T, Error = DecodeError>,
{
    let read = |point: &T| Affine::<G>::try_from(point);
    let mut points = random_points::<G>(8, &mut rng());
    points.extend([Affine::identity(), Affine::generator(), -Affine::<G>::generator()]);
    for point in points {
        let theirs = T::from(point);
        assert_eq!((library.to_bytes)(&theirs), point.to_bytes().as_ref());
        assert_eq!(read(&theirs), Ok(point));
        assert_eq!((library.unchecked)(&theirs), point);
    }
    let refusal = |words: Words<N>| read(&(library.from_words)(words)).unwrap_err();
    assert_eq!(read(&(library.from_words)(generator)), Ok(Affine::generator()));
    assert_eq!(read(&(library.from_words)([[[0; 6]; N]; 2])), Ok(Affine::identity()));
    assert_eq!(refusal(outside), DecodeError::NotInSubgroup);
    for coordinate in 0..2 {
        for number in 0..N {
            let mut changed = generator;
            changed[coordinate][number][0] ^= 1;
            assert_eq!(refusal(changed), DecodeError::NotOnCurve);
            let mut changed = generator;
            plus_modulus(&mut changed[coordinate][number]);
            assert_eq!(refusal(changed), DecodeError::NotCanonical);
            let mut changed = [[[0; 6]; N]; 2];
            changed[coordinate][number][0] = 1;
            assert_eq!(refusal(changed), DecodeError::NotOnCurve);
            changed[coordinate][number] = Fq::MODULUS.0;
            assert_eq!(refusal(changed), DecodeError::NotCanonical);
            let mut changed = generator;
            changed[coordinate][number] = [u64::MAX; 6];
            assert_eq!(refusal(changed), DecodeError::NotCanonical);
        }
    }
}

fn g1_points_convert<T: From<G1Affine>>(library: &Library<1, T, G1>)
where
    G1Affine: for<'a> TryFrom<&'a T, Error = DecodeError>,
{
    let generator = ark_bls12_381::G1Affine::generator();
    points_convert_or_are_refused(library, g1_words(generator.x, generator.y), outside_g1());
}

fn g2_points_convert<T: From<G2Affine>>(library: &Library<2, T, G2>)
where
    G2Affine: for<'a> TryFrom<&'a T, Error = DecodeError>,
{
    let generator = ark_bls12_381::G2Affine::generator();
    points_convert_or_are_refused(library, g2_words(generator.x, generator.y), outside_g2());
}

/// `from_words` takes the number as the library holds it.
fn scalars_convert<T>(from_words: fn([u64; 4]) -> T, to_be_bytes: fn(&T) -> [u8; 32])
where
    T: for<'a> From<&'a Scalar>,
    Scalar: for<'a> TryFrom<&'a T, Error = DecodeError>,
{
    let mut rng = rng();
    let random = (0..8).map(|_| Scalar::random(&mut rng));
    for scalar in random.chain([Scalar::ZERO, Scalar::ONE, -Scalar::ONE]) {
        let theirs = T::from(&scalar);
        assert_eq!(to_be_bytes(&theirs), scalar.to_bytes());
        assert_eq!(Scalar::try_from(&theirs).unwrap(), scalar);
    }
    let order = ark_bls12_381::Fr::MODULUS.0;
    let below = from_words([order[0] - 1, order[1], order[2], order[3]]);
    assert!(Scalar::try_from(&below).is_ok());
    let above = [order[0] + 1, order[1], order[2], order[3]];
    let higher = [0, order[1], order[2], order[3] + 1];
    for words in [order, above, higher, [u64::MAX; 4]] {
        let refused = from_words(words);
        assert_eq!(Scalar::try_from(&refused), Err(DecodeError::NotCanonical), "{words:x?}");
    }
}

#[cfg(feature = "interop-ark")]
mod ark {
    use ark_serialize::CanonicalSerialize;
    use prefinal_bls12_381::hazmat::{g1_from_ark_unchecked, g2_from_ark_unchecked};

    use super::*;

    fn fq(words: [u64; 6]) -> Fq {
        Fq::new_unchecked(BigInt(words))
    }

    #[test]
    fn arks_points_convert_or_are_refused() {
        g1_points_convert(&Library {
            from_words: |[[x], [y]]| ark_bls12_381::G1Affine::new_unchecked(fq(x), fq(y)),
            to_bytes: |point| compressed(point),
            unchecked: g1_from_ark_unchecked,
        });
        g2_points_convert(&Library {
            from_words: |[x, y]| {
                let [x, y] = [x, y].map(|[c0, c1]| Fq2::new(fq(c0), fq(c1)));
                ark_bls12_381::G2Affine::new_unchecked(x, y)
            },
            to_bytes: |point| compressed(point),
            unchecked: g2_from_ark_unchecked,
        });
    }

    fn compressed(point: &impl CanonicalSerialize) -> Vec<u8> {
        let mut bytes = Vec::new();
        point.serialize_compressed(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn arks_scalars_convert_or_are_refused() {
        scalars_convert::<ark_bls12_381::Fr>(
            |words| ark_bls12_381::Fr::new_unchecked(BigInt(words)),
            |scalar| {
                let mut bytes: [u8; 32] = compressed(scalar).try_into().unwrap();
                bytes.reverse();
                bytes
            },
        );
    }
}

#[cfg(feature = "interop-blst")]
mod blst {
    use ::blst::{BLST_ERROR, min_sig};
    use ::blst::{blst_fp, blst_fp2, blst_fr, blst_p1_affine, blst_p2_affine, blst_scalar, min_pk};
    use prefinal_bls12_381::hazmat::{g1_from_blst_unchecked, g2_from_blst_unchecked};

    use super::*;

    fn fp2([c0, c1]: [[u64; 6]; 2]) -> blst_fp2 {
        blst_fp2 { fp: [blst_fp { l: c0 }, blst_fp { l: c1 }] }
    }

    #[test]
    fn blsts_points_convert_or_are_refused() {
        g1_points_convert(&Library {
            from_words: |[[x], [y]]| blst_p1_affine { x: blst_fp { l: x }, y: blst_fp { l: y } },
            to_bytes: |point| min_pk::PublicKey::from(*point).to_bytes().to_vec(),
            unchecked: g1_from_blst_unchecked,
        });
        g2_points_convert(&Library {
            from_words: |[x, y]| blst_p2_affine { x: fp2(x), y: fp2(y) },
            to_bytes: |point| min_sig::PublicKey::from(*point).to_bytes().to_vec(),
            unchecked: g2_from_blst_unchecked,
        });
    }

    #[test]
    fn blsts_numbers_convert_or_are_refused() {
        scalars_convert::<blst_scalar>(
            |words| {
                let mut b = [0; 32];
                for (part, word) in b.chunks_exact_mut(8).zip(words) {
                    part.copy_from_slice(&word.to_le_bytes());
                }
                blst_scalar { b }
            },
            |scalar| {
                let mut bytes = scalar.b;
                bytes.reverse();
                bytes
            },
        );
        scalars_convert::<blst_fr>(
            |l| blst_fr { l },
            |scalar| Scalar::try_from(scalar).unwrap().to_bytes(),
        );
    }

    /// Signed there, verified there under the key that went through here.
    #[test]
    fn keys_and_signatures_of_blst_pass_through() {
        let secret = min_pk::SecretKey::key_gen(&[7; 32], &[]).unwrap();
        let key = G1Affine::try_from(blst_p1_affine::from(secret.sk_to_pk())).unwrap();
        let signature = blst_p2_affine::from(secret.sign(b"message", b"tag", b""));
        let signature = G2Affine::try_from(signature).unwrap();
        assert_eq!(signature.to_bytes(), secret.sign(b"message", b"tag", b"").to_bytes());
        let back = min_pk::Signature::from(blst_p2_affine::from(signature));
        let key = min_pk::PublicKey::from(blst_p1_affine::from(key));
        let verdict = back.verify(true, b"message", b"tag", b"", &key, true);
        assert_eq!(verdict, BLST_ERROR::BLST_SUCCESS);
    }
}

#[cfg(feature = "interop-blstrs")]
mod blstrs {
    use ::blst::{blst_fp, blst_fp2, blst_fr};
    use prefinal_bls12_381::hazmat::{g1_from_blstrs_unchecked, g2_from_blstrs_unchecked};

    use super::*;

    #[test]
    fn blstrss_points_convert_or_are_refused() {
        g1_points_convert(&Library {
            from_words: |words| {
                let [x, y] = words.map(|[l]| blst_fp { l });
                ::blstrs::G1Affine::from_raw_unchecked(x.into(), y.into(), false)
            },
            to_bytes: |point| point.to_compressed().to_vec(),
            unchecked: g1_from_blstrs_unchecked,
        });
        g2_points_convert(&Library {
            from_words: |words| {
                let [x, y] = words.map(|parts| blst_fp2 { fp: parts.map(|l| blst_fp { l }) });
                ::blstrs::G2Affine::from_raw_unchecked(x.into(), y.into(), false)
            },
            to_bytes: |point| point.to_compressed().to_vec(),
            unchecked: g2_from_blstrs_unchecked,
        });
    }

    #[test]
    fn blstrss_scalars_convert_or_are_refused() {
        scalars_convert::<::blstrs::Scalar>(
            |l| blst_fr { l }.into(),
            ::blstrs::Scalar::to_bytes_be,
        );
    }
}
