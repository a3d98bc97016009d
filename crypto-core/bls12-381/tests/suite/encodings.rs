//! Encodings: one for each value, and everything else refused with its reason.
use core::fmt::Debug;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_bls12_381::{Affine, DecodeError, G1, G1Affine, G2, G2Affine, Group, Scalar};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use serde::Deserialize;

use super::{ORDER, SEED, random_point, random_points, rng};

/// `p`, big-endian.
const MODULUS: &str = "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab";

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
        serde_json::from_str(include_str!("../vectors/compressed-points.json")).unwrap();
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
fn coordinates_not_below_the_modulus_are_refused() {
    let modulus = hex::decode(MODULUS).unwrap();
    let plus = |number: u8| {
        let mut bytes = modulus.clone();
        bytes[47] += number;
        bytes
    };
    // x + p for every small x, on the curve or not; and the greatest number that fits.
    let mut coordinates: Vec<Vec<u8>> = (0..80).map(plus).collect();
    coordinates.push([vec![0x1f], vec![0xff; 47]].concat());
    for coordinate in coordinates {
        for flags in [0x80, 0xa0] {
            let mut bytes = coordinate.clone();
            bytes[0] |= flags;
            assert_eq!(G1Affine::from_bytes(&bytes), Err(DecodeError::NotCanonical));
            let parts = [[bytes.clone(), vec![0; 48]], [vec![flags; 1], vec![0; 47]]];
            let first_too_large = parts[0].concat();
            assert_eq!(G2Affine::from_bytes(&first_too_large), Err(DecodeError::NotCanonical));
            let second_too_large = [parts[1].concat(), coordinate.clone()].concat();
            assert_eq!(G2Affine::from_bytes(&second_too_large), Err(DecodeError::NotCanonical));
        }
    }
    // p − 1 is below, so the next checks decide.
    let mut bytes = modulus.clone();
    bytes[47] -= 1;
    bytes[0] |= 0x80;
    assert_ne!(G1Affine::from_bytes(&bytes), Err(DecodeError::NotCanonical));
}

/// Nothing but zeros may follow the infinity flag, in any of the eight flag combinations.
fn no_coordinate_hides_behind_infinity<G: Group>() {
    let mut rng = rng();
    for point in random_points::<G>(4, &mut rng) {
        for flags in [0x40_u8, 0x60, 0xc0, 0xe0] {
            let mut bytes = point.to_bytes();
            bytes.as_mut()[0] = bytes.as_ref()[0] & 0x1f | flags;
            let result = Affine::<G>::from_bytes(bytes.as_ref());
            assert_eq!(result, Err(DecodeError::NotCanonical), "flags {flags:#x}");
        }
    }
}

#[test]
fn the_infinity_flag_stands_alone() {
    no_coordinate_hides_behind_infinity::<G1>();
    no_coordinate_hides_behind_infinity::<G2>();
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
