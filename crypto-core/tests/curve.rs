//! The curve against published vectors, against its own naive forms, and under attack.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests fail as tests do"
)]
use core::fmt::Debug;

use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::curve::{
    Affine, DecodeError, FixedBase, G1, G1Affine, G1Projective, G2, G2Affine, G2Projective, Group,
    Gt, MillerLoop, PairingMismatch, Projective, Scalar, batch_invert, check_pairing_product,
    hash_to_g1, hash_to_g2, pairing, pairing_product, vartime_msm, vartime_msm_128,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use serde::Deserialize;

const SEED: u64 = 381;
/// `r`, big-endian.
const ORDER: &str = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";
/// `(p − 1)/2`, big-endian: what is above counts as negative.
const HALF: &str = "0d0088f51cbff34d258dd3db21a5d66bb23ba5c279c2895fb39869507b587b120f55ffff58a9ffffdcff7fffffffd555";

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(SEED)
}

fn random_point<G: Group>(rng: &mut ChaCha20Rng) -> Affine<G> {
    (Affine::generator() * Scalar::random(rng)).to_affine()
}

fn random_points<G: Group>(count: usize, rng: &mut ChaCha20Rng) -> Vec<Affine<G>> {
    (0..count).map(|_| random_point(rng)).collect()
}

#[derive(Deserialize)]
struct HashCases {
    cases: Vec<HashCase>,
}

#[derive(Deserialize)]
struct HashCase {
    suite: String,
    tag: String,
    message: String,
    x: Vec<String>,
    y: Vec<String>,
}

/// The compressed encoding of a point by its coordinates in hexadecimal.
fn compressed(x: &[String], y: &[String]) -> String {
    let mut bytes = hex::decode(x.iter().rev().map(String::as_str).collect::<String>()).unwrap();
    let zero = "0".repeat(96);
    let negative = y.iter().rev().find(|part| **part != zero).unwrap().as_str() > HALF;
    bytes[0] |= 0x80 | u8::from(negative) << 5;
    hex::encode(bytes)
}

#[test]
fn hashes_to_the_curve_match_rfc_9380() {
    let file: HashCases = serde_json::from_str(include_str!("vectors/hash-to-curve.json")).unwrap();
    assert_eq!(file.cases.len(), 10);
    for case in file.cases {
        let (message, tag) = (case.message.as_bytes(), case.tag.as_bytes());
        let got = if case.suite.starts_with("BLS12381G1") {
            hex::encode(hash_to_g1(message, tag).to_bytes())
        } else {
            hex::encode(hash_to_g2(message, tag).to_bytes())
        };
        assert_eq!(got, compressed(&case.x, &case.y), "{} {:?}", case.suite, case.message);
    }
}

#[derive(Deserialize)]
struct PointCases {
    cases: Vec<PointCase>,
}

#[derive(Deserialize)]
struct PointCase {
    group: String,
    name: String,
    bytes: String,
    valid: bool,
}

#[test]
fn decoding_agrees_with_published_encodings() {
    let file: PointCases =
        serde_json::from_str(include_str!("vectors/compressed-points.json")).unwrap();
    assert_eq!(file.cases.len(), 34);
    for case in file.cases {
        let bytes = hex::decode(&case.bytes).unwrap();
        let back = match case.group.as_str() {
            "G1" => G1Affine::from_bytes(&bytes).map(|point| point.to_bytes().to_vec()),
            _ => G2Affine::from_bytes(&bytes).map(|point| point.to_bytes().to_vec()),
        };
        assert_eq!(back.is_ok(), case.valid, "{} {}", case.group, case.name);
        assert!(back.is_err() || back == Ok(bytes), "{} {}", case.group, case.name);
    }
}

fn only_one_flag_combination_decodes<G: Group>() {
    let mut rng = rng();
    for point in random_points::<G>(8, &mut rng) {
        let bytes = point.to_bytes();
        for flags in 0..8_u8 {
            let mut changed = bytes;
            let first = &mut changed.as_mut()[0];
            *first = *first & 0x1f | flags << 5;
            let expected = match (flags << 5) ^ (bytes.as_ref()[0] & 0xe0) {
                0 => Ok(point),
                0x20 => Ok(-point),
                _ => Err(DecodeError::NotCanonical),
            };
            assert_eq!(Affine::<G>::from_bytes(changed.as_ref()), expected, "flags {flags:03b}");
        }
    }
}

#[test]
fn flags_say_compressed_and_sign_and_nothing_else() {
    only_one_flag_combination_decodes::<G1>();
    only_one_flag_combination_decodes::<G2>();
}

fn infinity_has_one_encoding<G: Group>() {
    let mut bytes = Affine::<G>::identity().to_bytes();
    assert_eq!(bytes.as_ref()[0], 0xc0);
    assert!(bytes.as_ref()[1..].iter().all(|byte| *byte == 0));
    assert!(Affine::<G>::from_bytes(bytes.as_ref()).unwrap().is_identity());
    for position in 0..bytes.as_ref().len() {
        bytes.as_mut()[position] ^= 1;
        let result = Affine::<G>::from_bytes(bytes.as_ref());
        assert_eq!(result, Err(DecodeError::NotCanonical), "position {position}");
        bytes.as_mut()[position] ^= 1;
    }
    for first in [0x00, 0x20, 0x40, 0x60, 0xe0] {
        bytes.as_mut()[0] = first;
        let result = Affine::<G>::from_bytes(bytes.as_ref());
        assert_eq!(result, Err(DecodeError::NotCanonical), "first byte {first:#x}");
    }
}

#[test]
fn infinity_is_encoded_in_one_way() {
    infinity_has_one_encoding::<G1>();
    infinity_has_one_encoding::<G2>();
}

#[test]
fn points_outside_the_subgroup_are_refused() {
    // x = 0 gives (0, ±2), of order three: small enough to slip through a batched check.
    let mut bytes = [0; 48];
    for first in [0x80, 0xa0] {
        bytes[0] = first;
        assert_eq!(G1Affine::from_bytes(&bytes), Err(DecodeError::NotInSubgroup));
    }
    // Half of all x are on the curve, and of these hardly any in the subgroup.
    let (mut in_g1, mut in_g2, mut on_g1, mut on_g2) = (0, 0, 0, 0);
    for x in 1..60 {
        let mut bytes = [0; 96];
        bytes[0] = 0x80;
        bytes[47] = x;
        match G1Affine::from_bytes(&bytes[..48]) {
            Err(DecodeError::NotInSubgroup) => on_g1 += 1,
            Err(DecodeError::NotOnCurve) => {}
            _ => in_g1 += 1,
        }
        match G2Affine::from_bytes(&bytes) {
            Err(DecodeError::NotInSubgroup) => on_g2 += 1,
            Err(DecodeError::NotOnCurve) => {}
            _ => in_g2 += 1,
        }
    }
    assert_eq!((in_g1, in_g2), (0, 0));
    assert!(on_g1 > 15 && on_g2 > 15, "{on_g1} {on_g2}");
}

#[test]
fn scalars_not_below_the_order_are_refused() {
    let mut bytes = hex::decode(ORDER).unwrap();
    assert_eq!(Scalar::from_bytes(&bytes), Err(DecodeError::NotCanonical));
    bytes[31] = 0;
    assert_eq!(Scalar::from_bytes(&bytes), Ok(-Scalar::ONE));
    bytes[31] = 2;
    assert_eq!(Scalar::from_bytes(&bytes), Err(DecodeError::NotCanonical));
    assert_eq!(Scalar::from_bytes(&[0xff; 32]), Err(DecodeError::NotCanonical));
    assert_eq!(Scalar::from_bytes(&[0; 32]), Ok(Scalar::ZERO));
}

#[test]
fn wrong_lengths_are_refused_with_both_numbers() {
    assert_eq!(
        Scalar::from_bytes(&[0; 33]).unwrap_err().to_string(),
        "encoding has 33 bytes, expected 32"
    );
    assert_eq!(
        G1Affine::from_bytes(&[]).unwrap_err().to_string(),
        "encoding has 0 bytes, expected 48"
    );
    assert_eq!(G2Affine::from_bytes(&[0; 48]), Err(DecodeError::Length { expected: 96, got: 48 }));
}

fn borsh_is_exact<T: BorshSerialize + BorshDeserialize + PartialEq + Debug>(value: &T, len: usize) {
    let mut bytes = borsh::to_vec(value).unwrap();
    assert_eq!(bytes.len(), len);
    assert_eq!(borsh::from_slice::<T>(&bytes).unwrap(), *value);
    assert!(borsh::from_slice::<T>(&bytes[1..]).is_err());
    bytes.push(0);
    assert!(borsh::from_slice::<T>(&bytes).is_err());
}

#[test]
fn borsh_refuses_short_and_trailing_bytes_and_what_from_bytes_refuses() {
    borsh_is_exact(&Scalar::from_u64(7), 32);
    borsh_is_exact(&random_point::<G1>(&mut rng()), 48);
    borsh_is_exact(&random_point::<G2>(&mut rng()), 96);
    assert!(borsh::from_slice::<Scalar>(&[0xff; 32]).is_err());
    let mut small_order = [0; 48];
    small_order[0] = 0x80;
    assert!(borsh::from_slice::<G1Affine>(&small_order).is_err());
    assert!(borsh::from_slice::<G2Affine>(&[0x80; 96]).is_err());
}

#[test]
fn scalars_form_a_field() {
    let mut rng = rng();
    let (a, b, c) = (Scalar::random(&mut rng), Scalar::random(&mut rng), Scalar::random(&mut rng));
    assert_eq!(a * (b + c), a * b + a * c);
    assert_eq!(a - b, -(b - a));
    assert_eq!(a + -a, Scalar::ZERO);
    assert_eq!(a * a.invert().unwrap(), Scalar::ONE);
    assert_eq!(Scalar::ZERO.invert(), None);
    assert_eq!(Scalar::ONE * a, a);
    assert_eq!(Scalar::from_u64(1), Scalar::ONE);
    assert_eq!(a.vartime_pow(5), a * a * a * a * a);
    assert_eq!((a.vartime_pow(0), a.vartime_pow(1)), (Scalar::ONE, a));
    assert_eq!([a, b, c].into_iter().sum::<Scalar>(), a + b + c);
    assert_eq!([a, b, c].into_iter().product::<Scalar>(), a * b * c);
    assert_eq!(&Scalar::from_u64(u64::MAX).to_bytes()[24..], &[0xff; 8]);
}

#[test]
fn wide_numbers_are_reduced() {
    let mut wide = [0; 64];
    wide[32..].copy_from_slice(&hex::decode(ORDER).unwrap());
    assert_eq!(Scalar::from_wide(&wide), Scalar::ZERO);
    wide[63] += 4;
    assert_eq!(Scalar::from_wide(&wide), Scalar::from_u64(4));
    let two_to_512 = Scalar::from_u64(2).vartime_pow(512);
    assert_eq!(Scalar::from_wide(&[0xff; 64]), two_to_512 - Scalar::ONE);
}

#[test]
fn a_batch_of_inverses_skips_zeros() {
    let mut rng = rng();
    let mut scalars: Vec<Scalar> = (0..9).map(|_| Scalar::random(&mut rng)).collect();
    scalars[0] = Scalar::ZERO;
    scalars[4] = Scalar::ZERO;
    let expected: Vec<Scalar> =
        scalars.iter().map(|scalar| scalar.invert().unwrap_or(Scalar::ZERO)).collect();
    batch_invert(&mut scalars);
    assert_eq!(scalars, expected);
    batch_invert(&mut []);
}

fn group_laws<G: Group>() {
    let mut rng = rng();
    let (p, q): (Affine<G>, Affine<G>) = (random_point(&mut rng), random_point(&mut rng));
    let (a, b) = (Scalar::random(&mut rng), Scalar::random(&mut rng));
    let (jp, jq) = (Projective::from(p), Projective::from(q));
    assert_eq!(p + q, jq + jp);
    assert_eq!(jp + p, jp.double());
    assert_eq!(p - Affine::from(jp), Projective::identity());
    assert_eq!(jp - Projective::from(p), Projective::identity());
    assert_eq!(jp + Projective::identity(), jp);
    assert_eq!(Projective::identity() + p, jp);
    assert_eq!(jp + Affine::identity(), jp);
    assert_eq!(-jp + p, Projective::identity());
    assert!((-Affine::<G>::identity()).is_identity());
    assert_eq!(p * (a + b), p * a + p * b);
    assert_eq!((p * a) * b, p * (a * b));
    assert_eq!(p * Scalar::from_u64(2), jp.double());
    assert_eq!(p * -Scalar::ONE, -jp);
    assert!((p * Scalar::ZERO).is_identity());
    assert!((Affine::<G>::identity() * a).is_identity());
    assert_eq!([jp, jq].into_iter().sum::<Projective<G>>(), jp + jq);
    assert_eq!([p, q, q].into_iter().sum::<Projective<G>>(), jp + jq.double());
    assert_ne!(p, q);
    assert_ne!(jp, jq);
}

#[test]
fn points_form_groups() {
    group_laws::<G1>();
    group_laws::<G2>();
}

fn batches_normalize<G: Group>() {
    let mut rng = rng();
    let identity = Projective::<G>::identity();
    let mut points: Vec<Projective<G>> =
        (0..5).map(|_| Affine::generator() * Scalar::random(&mut rng)).collect();
    points.insert(0, identity);
    points.insert(3, identity);
    points.push(identity);
    for range in [0..0, 0..1, 1..2, 0..4, 0..8, 7..8] {
        let affine = Projective::batch_to_affine(&points[range.clone()]);
        let expected: Vec<Affine<G>> =
            points[range.clone()].iter().map(Projective::to_affine).collect();
        assert_eq!(affine, expected, "{range:?}");
    }
}

#[test]
fn batches_with_infinity_normalize() {
    batches_normalize::<G1>();
    batches_normalize::<G2>();
}

fn sums_match_naive_ones<G: Group>() {
    let mut rng = rng();
    let mut points = random_points::<G>(40, &mut rng);
    let mut scalars: Vec<Scalar> = (0..40).map(|_| Scalar::random(&mut rng)).collect();
    let mut small: Vec<u128> =
        (0..40).map(|_| u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64())).collect();
    // Infinity first, last and inside; equal points, opposite points; zero, one, largest scalar.
    (points[0], points[5], points[39]) =
        (Affine::identity(), Affine::identity(), Affine::identity());
    (points[7], points[8]) = (points[6], -points[6]);
    (scalars[7], scalars[8]) = (scalars[6], scalars[6]);
    (scalars[1], scalars[2], scalars[3]) = (Scalar::ZERO, Scalar::ONE, -Scalar::ONE);
    (small[1], small[2], small[3]) = (0, 1, u128::MAX);
    let wide = |value: &u128| {
        let mut bytes = [0; 32];
        bytes[16..].copy_from_slice(&value.to_be_bytes());
        Scalar::from_bytes(&bytes).unwrap()
    };
    for range in [0..0, 0..1, 1..2, 2..3, 3..4, 4..6, 5..6, 6..9, 1..32, 0..32, 0..33, 0..40] {
        let naive = |scalar: &dyn Fn(usize) -> Scalar| {
            range.clone().map(|i| points[i] * scalar(i)).sum::<Projective<G>>()
        };
        let (p, s, c) = (&points[range.clone()], &scalars[range.clone()], &small[range.clone()]);
        assert_eq!(vartime_msm(p, s), naive(&|i| scalars[i]), "{range:?}");
        assert_eq!(vartime_msm_128(p, c), naive(&|i| wide(&small[i])), "{range:?}");
    }
    let identities = [Affine::<G>::identity(); 3];
    assert!(vartime_msm(&identities, &scalars[..3]).is_identity());
    // The shorter slice decides.
    assert_eq!(vartime_msm(&points, &scalars[..4]), vartime_msm(&points[..4], &scalars));
    assert!(vartime_msm(&points, &[]).is_identity());
}

#[test]
fn sums_of_products_match_naive_ones() {
    sums_match_naive_ones::<G1>();
    sums_match_naive_ones::<G2>();
}

fn fixed_base_matches<G: Group>() {
    let mut rng = rng();
    let point: Affine<G> = random_point(&mut rng);
    let table = FixedBase::new(&point);
    let special = [Scalar::ZERO, Scalar::ONE, -Scalar::ONE, Scalar::from_u64(31)];
    for scalar in special.into_iter().chain((0..8).map(|_| Scalar::random(&mut rng))) {
        assert_eq!(table.multiply(&scalar), point * scalar);
    }
    let nothing = FixedBase::<G>::new(&Affine::identity());
    assert!(nothing.multiply(&Scalar::random(&mut rng)).is_identity());
}

#[test]
fn fixed_base_tables_match_plain_multiplication() {
    fixed_base_matches::<G1>();
    fixed_base_matches::<G2>();
}

#[test]
fn the_pairing_is_bilinear_and_not_trivial() {
    let mut rng = rng();
    let (p, q) = (random_point::<G1>(&mut rng), random_point::<G2>(&mut rng));
    let (a, b) = (Scalar::random(&mut rng), Scalar::random(&mut rng));
    let scaled = pairing(&(p * a).to_affine(), &(q * b).to_affine());
    assert_eq!(scaled, pairing(&p, &q).vartime_pow(&(a * b)));
    assert_eq!(scaled, pairing(&(p * b).to_affine(), &(q * a).to_affine()));
    assert_ne!(scaled, pairing(&p, &q));
    assert_ne!(pairing(&p, &q), Gt::one());
    assert_eq!(pairing(&-p, &q), pairing(&p, &q).invert());
    assert_eq!(pairing(&p, &q).vartime_pow(&Scalar::ZERO), Gt::one());
}

#[test]
fn pairings_with_the_identity_are_one_wherever_they_stand() {
    let mut rng = rng();
    let (p, q) = (random_point::<G1>(&mut rng), random_point::<G2>(&mut rng));
    let left = (G1Affine::identity(), q);
    let right = (p, G2Affine::identity());
    for terms in [vec![left], vec![right], vec![left, right]] {
        assert_eq!(pairing_product(&terms), Gt::one());
    }
    for terms in [vec![left, (p, q)], vec![(p, q), right], vec![left, (p, q), right]] {
        assert_eq!(pairing_product(&terms), pairing(&p, &q));
    }
    assert_eq!(pairing_product(&[]), Gt::one());
}

#[test]
fn products_of_pairings_match_at_every_length() {
    let mut rng = rng();
    let terms: Vec<_> =
        (0..35).map(|_| (random_point::<G1>(&mut rng), random_point::<G2>(&mut rng))).collect();
    let each: Vec<Gt> = terms.iter().map(|(p, q)| pairing(p, q)).collect();
    for length in [1, 2, 15, 16, 17, 32, 33, 35] {
        let expected = each[..length].iter().fold(Gt::one(), |product, one| product * *one);
        assert_eq!(pairing_product(&terms[..length]), expected, "{length} terms");
    }
    let (first, second) = terms.split_at(9);
    let merged = MillerLoop::from_terms(first.iter().copied())
        * MillerLoop::from_terms(second.iter().copied());
    assert_eq!(merged.final_exponentiation(), pairing_product(&terms));
}

#[test]
fn equations_hold_or_do_not() {
    let mut rng = rng();
    let (p, q) = (random_point::<G1>(&mut rng), random_point::<G2>(&mut rng));
    let a = Scalar::random(&mut rng);
    let good = [((p * a).to_affine(), q), (-p, (q * a).to_affine())];
    assert_eq!(check_pairing_product(good), Ok(()));
    assert_eq!(check_pairing_product([]), Ok(()));
    let bad = [good[0], (p, good[1].1)];
    assert_eq!(check_pairing_product(bad), Err(PairingMismatch));
    assert_eq!(check_pairing_product([good[0]]), Err(PairingMismatch));
}

#[test]
fn points_and_scalars_are_not_printed() {
    let scalar = Scalar::random(&mut rng());
    let (p, q) = (G1Projective::generator() * scalar, G2Projective::generator() * scalar);
    let printed = format!("{scalar:?} {p:?} {q:?} {:?}", p.to_affine());
    assert_eq!(printed, "Scalar(..) Projective(..) Projective(..) Affine(..)");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        rng_seed: RngSeed::Fixed(SEED),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_decodes_encodes_to_the_same_bytes(bytes in prop::array::uniform32(any::<u8>())) {
        if let Ok(scalar) = Scalar::from_bytes(&bytes) {
            prop_assert_eq!(scalar.to_bytes(), bytes);
        }
    }

    #[test]
    fn points_survive_the_wire(seed in any::<u64>()) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (p, q) = (random_point::<G1>(&mut rng), random_point::<G2>(&mut rng));
        prop_assert_eq!(G1Affine::from_bytes(&p.to_bytes()), Ok(p));
        prop_assert_eq!(G2Affine::from_bytes(&q.to_bytes()), Ok(q));
    }

    #[test]
    fn random_bytes_with_good_flags_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = *first & 0x3f | 0x80;
        }
        // A random point of the curve lies in the subgroup with negligible probability.
        prop_assert!(G1Affine::from_bytes(&bytes).is_err());
        prop_assert!(G2Affine::from_bytes(&bytes).is_err());
        prop_assert!(borsh::from_slice::<Vec<G1Affine>>(&bytes).is_err());
    }
}
