//! The same operations by arkworks as it comes, without our face of it: neither our decoding, nor our
//! formulas, nor our sums of products.
use ark_bls12_381::{Bls12_381, Fr, G1Affine as ArkG1, G2Affine as ArkG2, g1, g2};
use ark_ec::hashing::HashToCurve;
use ark_ec::hashing::curve_maps::wb::WBMap;
use ark_ec::hashing::map_to_curve_hasher::MapToCurveBasedHasher;
use ark_ec::pairing::Pairing;
use ark_ec::short_weierstrass::{Affine, Projective, SWCurveConfig};
use ark_ec::{AffineRepr, CurveGroup, VariableBaseMSM};
use ark_ff::field_hashers::DefaultFieldHasher;
use ark_ff::{AdditiveGroup, BigInteger, BitIteratorBE, Field, PrimeField};
use ark_serialize::{CanonicalDeserialize, CanonicalSerialize};
use prefinal_bls12_381::hazmat::{hash_to_g1, hash_to_g2, pairing_product, vartime_msm};
use prefinal_bls12_381::{DecodeError, G1Affine, G2Affine, Scalar, Tag};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sha2_for_ark::Sha256;

const SEED: u64 = 1;

fn compress(point: &impl CanonicalSerialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    point.serialize_compressed(&mut bytes).unwrap();
    bytes
}

fn to_ark(scalar: &Scalar) -> Fr {
    Fr::from_be_bytes_mod_order(&scalar.to_bytes())
}

fn samples(count: usize) -> (Vec<Scalar>, Vec<G1Affine>, Vec<G2Affine>) {
    let mut rng = ChaCha20Rng::seed_from_u64(SEED);
    let mut scalars = || (0..count).map(|_| Scalar::random(&mut rng)).collect::<Vec<_>>();
    let (ours, p, q) = (scalars(), scalars(), scalars());
    (
        ours,
        p.iter().map(|s| (G1Affine::generator() * s).to_affine()).collect(),
        q.iter().map(|s| (G2Affine::generator() * s).to_affine()).collect(),
    )
}

#[test]
fn both_hash_to_the_same_points() {
    type Hasher<Group, Config> =
        MapToCurveBasedHasher<Group, DefaultFieldHasher<Sha256, 128>, WBMap<Config>>;
    let tag = b"PREFINAL-TEST-V1";
    let g1 = Hasher::<ark_bls12_381::G1Projective, g1::Config>::new(tag).unwrap();
    let g2 = Hasher::<ark_bls12_381::G2Projective, g2::Config>::new(tag).unwrap();
    for length in [0, 1, 31, 32, 33, 64, 200] {
        let message = vec![0xa5; length];
        let (p, q): (ArkG1, ArkG2) = (g1.hash(&message).unwrap(), g2.hash(&message).unwrap());
        assert_eq!(
            hash_to_g1(&message, Tag::new(tag)).to_bytes().to_vec(),
            compress(&p),
            "{length}"
        );
        assert_eq!(
            hash_to_g2(&message, Tag::new(tag)).to_bytes().to_vec(),
            compress(&q),
            "{length}"
        );
    }
}

#[test]
fn both_multiply_add_and_encode_alike() {
    let (scalars, p, q) = samples(12);
    let ark: Vec<Fr> = scalars.iter().map(to_ark).collect();
    for (scalar, mirror) in scalars.iter().zip(&ark) {
        assert_eq!(scalar.to_bytes().to_vec(), mirror.into_bigint().to_bytes_be());
        let inverse = mirror.inverse().unwrap().into_bigint().to_bytes_be();
        assert_eq!(scalar.invert().unwrap().to_bytes().to_vec(), inverse);
    }
    let ark_p: Vec<ArkG1> =
        p.iter().map(|p| ArkG1::deserialize_compressed(&p.to_bytes()[..]).unwrap()).collect();
    let ark_q: Vec<ArkG2> =
        q.iter().map(|q| ArkG2::deserialize_compressed(&q.to_bytes()[..]).unwrap()).collect();
    let sum = ark_bls12_381::G1Projective::msm(&ark_p, &ark).unwrap().into_affine();
    assert_eq!(vartime_msm(&p, &scalars).to_affine().to_bytes().to_vec(), compress(&sum));
    let sum = ark_bls12_381::G2Projective::msm(&ark_q, &ark).unwrap().into_affine();
    assert_eq!(vartime_msm(&q, &scalars).to_affine().to_bytes().to_vec(), compress(&sum));
    let (p, q) = (G1Affine::generator(), G2Affine::generator());
    assert_eq!(p.to_bytes().to_vec(), compress(&ArkG1::generator()));
    assert_eq!(q.to_bytes().to_vec(), compress(&ArkG2::generator()));
}

#[test]
fn both_pair_alike_to_the_last_byte() {
    let (_, p, q) = samples(3);
    let terms: Vec<_> = p.iter().copied().zip(q.iter().copied()).collect();
    let ark_p = p.iter().map(|p| ArkG1::deserialize_compressed(&p.to_bytes()[..]).unwrap());
    let ark_q = q.iter().map(|q| ArkG2::deserialize_compressed(&q.to_bytes()[..]).unwrap());
    let product = Bls12_381::multi_pairing(ark_p, ark_q).0;
    // v = w², so the powers of w lie in turn in the two halves.
    let (even, odd) = (product.c0, product.c1);
    let bytes: Vec<u8> = [even.c0, odd.c0, even.c1, odd.c1, even.c2, odd.c2]
        .into_iter()
        .flat_map(|part| [part.c0, part.c1])
        .flat_map(|part| part.into_bigint().to_bytes_be())
        .collect();
    assert_eq!(pairing_product(&terms).to_bytes().to_vec(), bytes);
}

#[test]
fn points_of_wrong_order_are_refused_whatever_their_sign() {
    let (mut refused_g1, mut refused_g2) = (0, 0);
    for x in 1..40_u64 {
        for greatest in [false, true] {
            let point = ArkG1::get_point_from_x_unchecked(x.into(), greatest);
            if let Some(point) = point.filter(|p| !p.is_in_correct_subgroup_assuming_on_curve()) {
                let result = G1Affine::from_bytes(&compress(&point));
                assert_eq!(result, Err(DecodeError::NotInSubgroup));
                refused_g1 += 1;
            }
            let point = ArkG2::get_point_from_x_unchecked(x.into(), greatest);
            if let Some(point) = point.filter(|p| !p.is_in_correct_subgroup_assuming_on_curve()) {
                let result = G2Affine::from_bytes(&compress(&point));
                assert_eq!(result, Err(DecodeError::NotInSubgroup));
                refused_g2 += 1;
            }
        }
    }
    assert!(refused_g1 > 10 && refused_g2 > 10, "{refused_g1} {refused_g2}");
}

/// The prime factors of the cofactor of `𝔾₁`, `(x − 1)²/3`, with their multiplicities.
const FACTORS_G1: [(&[u64], usize); 5] =
    [(&[3], 1), (&[11], 2), (&[10177], 2), (&[859_267], 2), (&[52_437_899], 2)];
/// The same for `𝔾₂`; the last is a prime of 448 bits, lowest limb first.
const FACTORS_G2: [(&[u64], usize); 6] = [
    (&[13], 2),
    (&[23], 2),
    (&[2713], 1),
    (&[11953], 1),
    (&[262_069], 1),
    (
        &[
            0x826d_1772_00c0_d3b1,
            0x77d8_7384_d026_cd73,
            0xfab9_c0da_5cf2_22c3,
            0xa9d7_5bb9_8b95_878a,
            0xe049_0c5a_fca1_eeb2,
            0x4235_7278_8bea_4d6a,
            0x8d9f_503d_eeeb_5d5c,
        ],
        1,
    ),
];

/// By doubling and adding, since faster ways hold in the subgroup only.
fn times<C: SWCurveConfig>(point: Affine<C>, number: &[u64]) -> Affine<C> {
    let mut product = Projective::<C>::ZERO;
    for bit in BitIteratorBE::without_leading_zeros(number) {
        product.double_in_place();
        if bit {
            product += point;
        }
    }
    product.into_affine()
}

/// A point whose order is the given factor of the cofactor.
fn of_order<C: SWCurveConfig>(factor: &[u64], factors: &[(&[u64], usize)]) -> Affine<C> {
    let candidates =
        (1..400_u64).filter_map(|x| Affine::<C>::get_point_from_x_unchecked(x.into(), x % 2 == 0));
    let mut multiples = candidates.map(|point| {
        let mut point = times(point, C::ScalarField::MODULUS.as_ref());
        for (other, power) in factors.iter().filter(|(other, _)| *other != factor) {
            point = (0..*power).fold(point, |point, _| times(point, other));
        }
        while !times(point, factor).is_zero() {
            point = times(point, factor);
        }
        point
    });
    multiples.find(|point| !point.is_zero()).unwrap()
}

#[test]
fn points_of_every_small_order_are_refused_alone_and_added_to_good_points() {
    let (_, p, q) = samples(1);
    let p = ArkG1::deserialize_compressed(&p.first().unwrap().to_bytes()[..]).unwrap();
    let q = ArkG2::deserialize_compressed(&q.first().unwrap().to_bytes()[..]).unwrap();
    for (factor, _) in FACTORS_G1 {
        let small: ArkG1 = of_order(factor, &FACTORS_G1);
        for point in [small, -small, (small + p).into_affine()] {
            let result = G1Affine::from_bytes(&compress(&point));
            assert_eq!(result, Err(DecodeError::NotInSubgroup), "order {factor:?}");
        }
    }
    for (factor, _) in FACTORS_G2 {
        let small: ArkG2 = of_order(factor, &FACTORS_G2);
        for point in [small, -small, (small + q).into_affine()] {
            let result = G2Affine::from_bytes(&compress(&point));
            assert_eq!(result, Err(DecodeError::NotInSubgroup), "order {factor:?}");
        }
    }
}
