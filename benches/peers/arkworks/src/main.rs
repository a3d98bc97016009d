//! Raw arithmetic: arkworks, ours upon blst, and blst by its own interface as the limit.
//!
//! All get the same points and scalars, and have to come to the same points. Points of sums are affine
//! on all sides. Multiplication is of a secret in ours and blst, in constant time; arkworks has no such.
//! Its hash to the curve is of the same tag.
use std::hint::black_box;

use ark_bls12_381::g1::Config as Left;
use ark_bls12_381::g2::Config as Right;
use ark_bls12_381::{Bls12_381, Fr};
use ark_ec::hashing::HashToCurve;
use ark_ec::hashing::curve_maps::wb::WBMap;
use ark_ec::hashing::map_to_curve_hasher::MapToCurveBasedHasher;
use ark_ec::pairing::Pairing;
use ark_ec::short_weierstrass::{Affine as ArkAffine, Projective as ArkProjective};
use ark_ec::{AffineRepr, CurveGroup, VariableBaseMSM};
use ark_ff::PrimeField;
use ark_ff::field_hashers::DefaultFieldHasher;
use ark_serialize::{CanonicalDeserialize, CanonicalSerialize};
use blst::{MultiPoint, blst_fp12, blst_p1_affine, blst_p2_affine, min_pk, min_sig};
use prefinal_crypto_core::curve::hazmat::{hash_to_g1, hash_to_g2, pairing_product, vartime_msm};
use prefinal_crypto_core::curve::{
    Affine, G1, G1Affine, G2, G2Affine, Group, Projective, Scalar, Tag,
};
use prefinal_peers::{Contest, Times};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sha2::Sha256;

const TAG: &[u8] = b"PREFINAL-PEERS_XMD:SHA-256_SSWU_RO_";

fn main() {
    let mut contest = Contest::new("arkworks", "ark-bls12-381", include_str!("../Cargo.lock"));
    left(&mut contest);
    right(&mut contest);
    for terms in [67, 100, 667, 1000, 10_000] {
        if terms <= 1000 || !contest.quick() {
            sum_left(&mut contest, terms);
            sum_right(&mut contest, terms);
        }
    }
    for pairs in [2, 100] {
        product(&mut contest, pairs);
    }
    contest.finish();
}

/// Multiples of the generator, and what they were multiplied by.
fn points<G: Group>(count: usize, seed: u64) -> (Vec<Affine<G>>, Vec<Scalar>) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let scalars: Vec<Scalar> = (0..count).map(|_| Scalar::random(&mut rng)).collect();
    let points: Vec<_> = scalars.iter().map(|scalar| Affine::<G>::generator() * scalar).collect();
    (Projective::batch_to_affine(&points), scalars)
}

fn ark<P: CanonicalDeserialize>(bytes: impl AsRef<[u8]>) -> P {
    P::deserialize_compressed(bytes.as_ref()).unwrap()
}

fn ark_scalar(scalar: &Scalar) -> Fr {
    Fr::from_be_bytes_mod_order(&scalar.to_bytes())
}

/// The points are the same, so are their bytes.
fn same<G: Group>(ours: &Affine<G>, theirs: &impl CanonicalSerialize) {
    let mut bytes = Vec::new();
    theirs.serialize_compressed(&mut bytes).unwrap();
    assert_eq!(ours.to_bytes().as_ref(), bytes, "ours and arkworks differ");
}

type Hasher<C> = MapToCurveBasedHasher<ArkProjective<C>, DefaultFieldHasher<Sha256, 128>, WBMap<C>>;

/// All of one group. blst names groups by the keys in them, which sign in the other.
macro_rules! group {
    ($points:ident, $sums:ident: $name:literal, $ours:ty, $hash:ident, $config:ty, $keys:ident, $signs:ident, $raw:ty) => {
        fn $points(contest: &mut Contest) {
            let (p, k) = points::<$ours>(2, 1);
            let (p, k) = (p[1], k[0]);
            let (q, l) = (ark::<ArkAffine<$config>>(p.to_bytes()), ark_scalar(&k));
            same(&(p * k).to_affine(), &(q * l).into_affine());
            let key = $keys::SecretKey::from_bytes(&k.to_bytes()).unwrap();
            let multiply = contest.time(|| black_box(&key).sk_to_pk());
            // arkworks knows two ways, of which now one is the faster, now the other.
            let affine = contest.time(|| (black_box(q) * l).into_affine());
            let projective = contest.time(|| (black_box(q).into_group() * l).into_affine());
            contest.row(
                ("curve::multiply", $name),
                Times {
                    ours: contest.time(|| (black_box(p) * &k).to_affine()),
                    theirs: affine.min(projective),
                    limit: Some(multiply),
                },
            );

            let hasher = Hasher::<$config>::new(TAG).unwrap();
            same(&$hash(b"message", Tag::new(TAG)), &hasher.hash(b"message").unwrap());
            let signer = $signs::SecretKey::from_bytes(&k.to_bytes()).unwrap();
            let sign = contest.time(|| signer.sign(black_box(b"message"), TAG, &[]));
            contest.row(
                ("curve::hash", $name),
                Times {
                    ours: contest.time(|| $hash(black_box(b"message"), Tag::new(TAG))),
                    theirs: contest.time(|| hasher.hash(black_box(b"message")).unwrap()),
                    limit: Some(sign.saturating_sub(multiply)),
                },
            );

            let bytes = p.to_bytes();
            let limit = || $keys::PublicKey::key_validate(black_box(&bytes)).unwrap();
            contest.row(
                ("curve::decode", $name),
                Times {
                    ours: contest.time(|| Affine::<$ours>::from_bytes(black_box(&bytes)).unwrap()),
                    theirs: contest.time(|| ark::<ArkAffine<$config>>(black_box(&bytes))),
                    limit: Some(contest.time(limit)),
                },
            );
        }

        fn $sums(contest: &mut Contest, terms: usize) {
            let (ours, mut by) = points::<$ours>(terms, 1);
            // Reversed, so that no point meets what it was made by.
            by.reverse();
            let theirs: Vec<ArkAffine<$config>> =
                ours.iter().map(|it| ark(it.to_bytes())).collect();
            let ark_by: Vec<Fr> = by.iter().map(ark_scalar).collect();
            let raw = |it: &Affine<$ours>| {
                <$raw>::from($keys::PublicKey::from_bytes(it.to_bytes().as_ref()).unwrap())
            };
            let raw: Vec<$raw> = ours.iter().map(raw).collect();
            let little: Vec<u8> =
                by.iter().flat_map(|it| it.to_bytes().into_iter().rev()).collect();
            let ark_msm = || ArkProjective::<$config>::msm(black_box(&theirs), &ark_by).unwrap();
            let our_msm = || vartime_msm(black_box(&ours), &by);
            same(&our_msm().to_affine(), &ark_msm().into_affine());
            contest.row(
                ("curve::msm", &format!("{} {terms} terms", $name)),
                Times {
                    ours: contest.time(our_msm),
                    theirs: contest.time(ark_msm),
                    limit: Some(contest.time(|| black_box(raw.as_slice()).mult(&little, 255))),
                },
            );
        }
    };
}
group!(left, sum_left: "G1", G1, hash_to_g1, Left, min_pk, min_sig, blst_p1_affine);
group!(right, sum_right: "G2", G2, hash_to_g2, Right, min_sig, min_pk, blst_p2_affine);

fn product(contest: &mut Contest, pairs: usize) {
    let ((ps, a), (qs, b)) = (points::<G1>(pairs, 2), points::<G2>(pairs, 3));
    let terms: Vec<(G1Affine, G2Affine)> = ps.iter().copied().zip(qs.iter().copied()).collect();
    let ark_ps: Vec<ArkAffine<Left>> = ps.iter().map(|it| ark(it.to_bytes())).collect();
    let ark_qs: Vec<ArkAffine<Right>> = qs.iter().map(|it| ark(it.to_bytes())).collect();
    // Both come to the pairing of the generators to this power.
    let power = a.iter().zip(&b).fold(Scalar::ZERO, |sum, (a, b)| sum + *a * *b);
    let left = (G1Affine::generator() * power).to_affine();
    assert_eq!(pairing_product(&terms), pairing_product(&[(left, G2Affine::generator())]));
    let one: ArkAffine<Left> = ark(left.to_bytes());
    let other: ArkAffine<Right> = ark(G2Affine::generator().to_bytes());
    assert_eq!(Bls12_381::multi_pairing(&ark_ps, &ark_qs), Bls12_381::pairing(one, other));

    let raw = |it: &G1Affine| min_pk::PublicKey::from_bytes(&it.to_bytes()).unwrap().into();
    let raw_ps: Vec<blst_p1_affine> = ps.iter().map(raw).collect();
    let raw = |it: &G2Affine| min_sig::PublicKey::from_bytes(&it.to_bytes()).unwrap().into();
    let raw_qs: Vec<blst_p2_affine> = qs.iter().map(raw).collect();
    let limit = || blst_fp12::miller_loop_n(black_box(&raw_qs), black_box(&raw_ps)).final_exp();
    contest.row(
        ("curve::pairing_product", &format!("{pairs} pairs")),
        Times {
            ours: contest.time(|| pairing_product(black_box(&terms))),
            theirs: contest
                .time(|| Bls12_381::multi_pairing(black_box(&ark_ps), black_box(&ark_qs))),
            limit: Some(contest.time(limit)),
        },
    );
}
