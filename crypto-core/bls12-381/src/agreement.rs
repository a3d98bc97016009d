//! Compares blst and arkworks, operation by operation, on random and on special values.
#![expect(
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]
#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
mod lanes;

use alloc::vec::Vec;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::backend::{ark, blst};
use crate::batch::vartime_add_pairs;
use crate::group::Group;
use crate::msm::vartime_msm_bytes;
use crate::points::{Affine, Projective};

const SEED: u64 = 12;
/// `r`, big-endian.
const ORDER: [u8; 32] = [
    0x73, 0xed, 0xa7, 0x53, 0x29, 0x9d, 0x7d, 0x48, 0x33, 0x39, 0xd8, 0x08, 0x09, 0xa1, 0xd8, 0x05,
    0x53, 0xbd, 0xa4, 0x02, 0xff, 0xfe, 0x5b, 0xfe, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01,
];

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(SEED),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Scalars with the values where carries, windows and signs turn.
fn scalar() -> impl Strategy<Value = [u8; 32]> {
    let mut greatest = ORDER;
    greatest[31] -= 1;
    let small = |number: u8| {
        let mut bytes = [0; 32];
        bytes[31] = number;
        bytes
    };
    prop_oneof![
        3 => prop::array::uniform32(any::<u8>()).prop_map(|mut bytes| {
            bytes[0] &= 0x3f;
            bytes
        }),
        1 => Just(greatest),
        1 => Just(small(0)),
        1 => any::<u8>().prop_map(small),
        1 => (0..254_usize).prop_map(|bit| {
            let mut bytes = [0; 32];
            bytes[31 - bit / 8] = 1 << (bit % 8);
            bytes
        }),
    ]
}

fn little_endian(scalar: &[u8; 32]) -> [u8; 32] {
    let mut bytes = *scalar;
    bytes.reverse();
    bytes
}

/// One point twice: as blst has it and as arkworks has it.
struct Both<B: Group, A: Group> {
    blst: Projective<B>,
    ark: Projective<A>,
}

impl<B: Group<Bytes = A::Bytes>, A: Group> Both<B, A> {
    /// The generator times a scalar.
    fn new(scalar: &[u8; 32]) -> Self {
        let scalar = little_endian(scalar);
        Self {
            blst: Projective(B::multiply(&Projective::<B>::generator().0, &scalar)),
            ark: Projective(A::multiply(&Projective::<A>::generator().0, &scalar)),
        }
    }

    fn agree(&self) -> Result<(), TestCaseError> {
        let (blst, ark) = (self.blst.to_affine(), self.ark.to_affine());
        prop_assert_eq!(blst.to_bytes(), ark.to_bytes());
        prop_assert_eq!(self.blst.is_identity(), self.ark.is_identity());
        prop_assert_eq!(blst.is_identity(), ark.is_identity());
        prop_assert_eq!(Affine::<B>::from_bytes(ark.to_bytes().as_ref()), Ok(blst));
        prop_assert_eq!(Affine::<A>::from_bytes(blst.to_bytes().as_ref()), Ok(ark));
        Ok(())
    }
}

fn groups_agree<B: Group<Bytes = A::Bytes>, A: Group>(
    (a, b, c): &([u8; 32], [u8; 32], [u8; 32]),
) -> Result<(), TestCaseError> {
    let (p, q) = (Both::<B, A>::new(a), Both::<B, A>::new(b));
    let pairs = [
        Both { blst: p.blst + q.blst, ark: p.ark + q.ark },
        Both { blst: p.blst - q.blst, ark: p.ark - q.ark },
        Both { blst: p.blst + q.blst.to_affine(), ark: p.ark + q.ark.to_affine() },
        Both { blst: p.blst.double(), ark: p.ark.double() },
        // A point that is equal in value but not in coordinates, its opposite, and the identity.
        Both { blst: (p.blst + q.blst) - q.blst + p.blst, ark: (p.ark + q.ark) - q.ark + p.ark },
        Both { blst: p.blst - p.blst.to_affine(), ark: p.ark - p.ark.to_affine() },
        Both { blst: p.blst + Affine::identity(), ark: p.ark + Affine::identity() },
        Both { blst: -p.blst, ark: -p.ark },
        Both { blst: Projective::from(-q.blst.to_affine()), ark: (-q.ark.to_affine()).into() },
        Both {
            blst: Affine(B::endomorphism(&p.blst.to_affine().0)).into(),
            ark: Affine(A::endomorphism(&p.ark.to_affine().0)).into(),
        },
    ];
    for both in pairs {
        both.agree()?;
        prop_assert_eq!(both.blst == p.blst, both.ark == p.ark);
        let scalar = little_endian(c);
        let multiplied = Both::<B, A> {
            blst: Projective(B::multiply(&both.blst.0, &scalar)),
            ark: Projective(A::multiply(&both.ark.0, &scalar)),
        };
        multiplied.agree()?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn points_agree(scalars in (scalar(), scalar(), scalar())) {
        groups_agree::<blst::G1, ark::G1>(&scalars)?;
        groups_agree::<blst::G2, ark::G2>(&scalars)?;
    }
}

fn sums_agree<B: Group<Bytes = A::Bytes>, A: Group>(
    terms: &[([u8; 32], [u8; 32])],
) -> Result<(), TestCaseError> {
    let points: Vec<Both<B, A>> = terms.iter().map(|(point, _)| Both::new(point)).collect();
    let blst: Vec<_> = points.iter().map(|point| point.blst).collect();
    let ark: Vec<_> = points.iter().map(|point| point.ark).collect();
    let (blst, ark) = (Projective::batch_to_affine(&blst), Projective::batch_to_affine(&ark));
    for (blst, ark) in blst.iter().zip(&ark) {
        prop_assert_eq!(blst.to_bytes(), ark.to_bytes());
    }
    let full: Vec<[u8; 32]> = terms.iter().map(|(_, scalar)| little_endian(scalar)).collect();
    let half: Vec<[u8; 16]> =
        full.iter().map(|scalar| scalar.first_chunk().copied().unwrap()).collect();
    Both { blst: vartime_msm_bytes(&blst, &full), ark: vartime_msm_bytes(&ark, &full) }.agree()?;
    Both { blst: vartime_msm_bytes(&blst, &half), ark: vartime_msm_bytes(&ark, &half) }.agree()
}

/// Additions of pairs against both backends' own, one by one.
fn pairs_agree<B: Group<Bytes = A::Bytes>, A: Group>(
    scalars: &[([u8; 32], [u8; 32])],
) -> Result<(), TestCaseError> {
    let mut pairs: Vec<(Both<B, A>, Both<B, A>)> =
        scalars.iter().map(|(p, q)| (Both::new(p), Both::new(q))).collect();
    // Equal points, opposite ones, and the identity on either side.
    for (p, _) in scalars {
        let twice = || Both::<B, A>::new(p);
        let opposite = Both { blst: -twice().blst, ark: -twice().ark };
        let identity = || Both { blst: Projective::identity(), ark: Projective::identity() };
        pairs.extend([(twice(), twice()), (twice(), opposite)]);
        pairs.extend([(twice(), identity()), (identity(), twice()), (identity(), identity())]);
    }
    let mut blst: Vec<_> = pairs.iter().map(|(p, _)| p.blst.to_affine()).collect();
    let mut ark: Vec<_> = pairs.iter().map(|(p, _)| p.ark.to_affine()).collect();
    // The shorter slice decides.
    let others: Vec<_> = pairs.iter().skip(1).map(|(_, q)| q.blst.to_affine()).collect();
    vartime_add_pairs(&mut blst[1..], &others);
    let others: Vec<_> = pairs.iter().map(|(_, q)| q.ark.to_affine()).collect();
    vartime_add_pairs(&mut ark, &others);
    for (position, (p, q)) in pairs.iter().enumerate() {
        let expected = if position == 0 { p.blst } else { p.blst + q.blst };
        prop_assert_eq!(blst[position].to_bytes(), expected.to_affine().to_bytes());
        prop_assert_eq!(ark[position].to_bytes(), (p.ark + q.ark).to_affine().to_bytes());
    }
    let (untouched, last) = (blst.clone(), blst.len() - 1);
    vartime_add_pairs(&mut blst, &[]);
    prop_assert!(blst == untouched);
    vartime_add_pairs(&mut blst[..last], &untouched);
    prop_assert!(blst[last] == untouched[last]);
    prop_assert_eq!(blst[0], Projective::from(untouched[0]).double().to_affine());
    Ok(())
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn additions_of_pairs_agree(
        pairs in prop::collection::vec((scalar(), scalar()), 1..8),
    ) {
        pairs_agree::<blst::G1, ark::G1>(&pairs)?;
        pairs_agree::<blst::G2, ark::G2>(&pairs)?;
    }

    #[test]
    fn sums_of_products_agree(
        terms in prop::collection::vec((scalar(), scalar()), 0..40),
    ) {
        sums_agree::<blst::G1, ark::G1>(&terms)?;
        sums_agree::<blst::G2, ark::G2>(&terms)?;
    }

    #[test]
    fn pairings_agree_to_the_last_byte(
        terms in prop::collection::vec((scalar(), scalar()), 0..7),
    ) {
        let mut blst_terms = Vec::new();
        let mut ark_terms = Vec::new();
        for (p, q) in &terms {
            let (p, q) = (Both::<blst::G1, ark::G1>::new(p), Both::<blst::G2, ark::G2>::new(q));
            blst_terms.push((p.blst.to_affine().0, q.blst.to_affine().0));
            ark_terms.push((p.ark.to_affine().0, q.ark.to_affine().0));
        }
        let blst = blst::final_exponentiation(&blst::miller_loop(&blst_terms));
        let ark = ark::final_exponentiation(&ark::miller_loop(&ark_terms));
        prop_assert_eq!(blst::fp12_to_bytes(&blst), ark::fp12_to_bytes(&ark));
        let (blst_square, ark_square) =
            (blst::fp12_cyclotomic_square(&blst), ark::fp12_cyclotomic_square(&ark));
        prop_assert_eq!(blst::fp12_to_bytes(&blst_square), ark::fp12_to_bytes(&ark_square));
        prop_assert!(ark::fp12_equal(&ark_square, &ark::fp12_mul(&ark, &ark)));
        let one = ark::fp12_mul(&ark, &ark::fp12_conjugate(&ark));
        prop_assert!(ark::fp12_equal(&one, &ark::fp12_one()));
        prop_assert_eq!(blst::fp12_equal(&blst, &blst_square), ark::fp12_equal(&ark, &ark_square));
    }

    #[test]
    fn hashes_agree(
        message in prop::collection::vec(any::<u8>(), 0..200),
        tag in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        macro_rules! agree {
            ($($group:ident, $hash:ident;)*) => {$(
                let blst = Projective::<blst::$group>(blst::$group::$hash(&message, &tag));
                let ark = Projective::<ark::$group>(ark::$group::$hash(&message, &tag));
                Both { blst, ark }.agree()?;
            )*};
        }
        agree! { G1, hash; G2, hash; G1, encode; G2, encode; }
    }
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn scalars_agree(
        a in prop::array::uniform32(any::<u8>()),
        b in scalar(),
        wide in prop::collection::vec(any::<u8>(), 64),
    ) {
        // Any bytes: both refuse the same.
        let (blst_a, ark_a) = (blst::fr_from_bytes(&a), ark::fr_from_bytes(&a));
        prop_assert_eq!(blst_a.is_some(), ark_a.is_some());
        let (blst_b, ark_b) = (blst::fr_from_bytes(&b).unwrap(), ark::fr_from_bytes(&b).unwrap());
        let (blst_a, ark_a) = (blst::fr_from_wide(&wide), ark::fr_from_wide(&wide));
        prop_assert_eq!(blst::fr_limbs(&blst_a), ark::fr_limbs(&ark_a));
        macro_rules! agree {
            ($($name:ident($($argument:ident),+);)*) => {$(
                let blst = blst::$name($(&agree!(@blst $argument)),+);
                let ark = ark::$name($(&agree!(@ark $argument)),+);
                prop_assert_eq!(blst::fr_limbs(&blst), ark::fr_limbs(&ark));
                prop_assert_eq!(blst::fr_to_bytes(&blst), ark::fr_to_bytes(&ark));
            )*};
            (@blst a) => { blst_a };
            (@blst b) => { blst_b };
            (@ark a) => { ark_a };
            (@ark b) => { ark_b };
        }
        agree! {
            fr_add(a, b); fr_sub(a, b); fr_sub(b, a); fr_sub(b, b); fr_mul(a, b);
            fr_neg(a); fr_neg(b); fr_invert(a); fr_invert(b);
        }
        let (mut blst_x, mut blst_y, mut ark_x, mut ark_y) = (blst_a, blst_b, ark_a, ark_b);
        blst::fr_butterfly(&mut blst_x, &mut blst_y, &blst_a);
        ark::fr_butterfly(&mut ark_x, &mut ark_y, &ark_a);
        prop_assert_eq!(blst::fr_limbs(&blst_x), ark::fr_limbs(&ark_x));
        prop_assert_eq!(blst::fr_limbs(&blst_y), ark::fr_limbs(&ark_y));
    }

    #[test]
    fn decoding_agrees_on_any_bytes(
        seed in any::<u64>(),
        change in 0..8_u8,
        first in any::<u8>(),
    ) {
        decoding_agrees::<blst::G1, ark::G1>(seed, change, first)?;
        decoding_agrees::<blst::G2, ark::G2>(seed, change, first)?;
    }
}

/// Random bytes, sparse bytes, large coordinates, bytes of a point with something changed: the same
/// point or the same reason.
fn decoding_agrees<B: Group<Bytes = A::Bytes>, A: Group>(
    seed: u64,
    change: u8,
    first: u8,
) -> Result<(), TestCaseError> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut encoding = B::EMPTY;
    let bytes = encoding.as_mut();
    match change {
        0 => rng.fill_bytes(bytes),
        1 => bytes[first as usize % 40 + 1] = first,
        2 => bytes[1..].fill(0xff),
        3 => bytes[47] = first,
        _ => {
            let mut scalar = [0; 32];
            rng.fill_bytes(&mut scalar[1..]);
            encoding = Projective::<B>(B::multiply(&Projective::<B>::generator().0, &scalar))
                .to_affine()
                .to_bytes();
        }
    }
    let bytes = encoding.as_mut();
    match change {
        // All flags, with whatever is below them.
        0..5 => bytes[0] = first,
        5 => bytes[0] ^= first & 0xe0,
        6 => bytes[rng.next_u32() as usize % bytes.len()] ^= first,
        _ => {}
    }
    let (blst, ark) = (Affine::<B>::from_bytes(bytes), Affine::<A>::from_bytes(bytes));
    prop_assert_eq!(blst.map(|point| point.to_bytes()), ark.map(|point| point.to_bytes()));
    Ok(())
}

#[test]
fn every_flag_combination_with_every_small_coordinate_agrees() {
    let mut reasons = alloc::collections::BTreeSet::new();
    for flags in 0..8_u8 {
        for x in 0..64 {
            let mut bytes = [0; 96];
            bytes[0] = flags << 5;
            bytes[95] = x;
            let (blst, ark) = (
                Affine::<blst::G2>::from_bytes(&bytes).map(|point| point.to_bytes()),
                Affine::<ark::G2>::from_bytes(&bytes).map(|point| point.to_bytes()),
            );
            assert_eq!(blst, ark, "{bytes:?}");
            reasons.extend(blst.err().map(|error| alloc::format!("{error:?}")));
            bytes[47] = x;
            let (blst, ark) = (
                Affine::<blst::G1>::from_bytes(&bytes[..48]).map(|point| point.to_bytes()),
                Affine::<ark::G1>::from_bytes(&bytes[..48]).map(|point| point.to_bytes()),
            );
            assert_eq!(blst, ark, "{bytes:?}");
        }
    }
    assert_eq!(reasons.len(), 3, "{reasons:?}");
}

#[test]
fn constants_agree() {
    let limbs = [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]];
    // Not points, but both backends must read the same limbs as the same coordinates.
    let (blst, ark) =
        (blst::g1_from_limbs(limbs[0], limbs[1]), ark::g1_from_limbs(limbs[0], limbs[1]));
    assert_eq!(blst::G1::compress(&blst), ark::G1::compress(&ark));
    let (blst, ark) = (blst::g2_from_limbs(limbs, limbs), ark::g2_from_limbs(limbs, limbs));
    assert_eq!(blst::G2::compress(&blst), ark::G2::compress(&ark));
    let (blst, ark) = (blst::fr_from_limbs([1, 2, 3, 4]), ark::fr_from_limbs([1, 2, 3, 4]));
    assert_eq!(blst::fr_to_bytes(&blst), ark::fr_to_bytes(&ark));
    let (blst, ark) = (blst::fr_from_u64(u64::MAX), ark::fr_from_u64(u64::MAX));
    assert_eq!(blst::fr_limbs(&blst), ark::fr_limbs(&ark));
    assert_eq!(blst::fp12_to_bytes(&blst::fp12_one()), ark::fp12_to_bytes(&ark::fp12_one()));
}

fn wiping_agrees<G: Group>() {
    let mut point = Projective::<G>::generator();
    let mut affine = Affine::<G>::generator();
    G::wipe(&mut point.0);
    G::wipe_affine(&mut affine.0);
    assert!(point.is_identity() && affine.is_identity());
    assert_ne!(point, Projective::generator());
    assert_eq!(Projective::generator() + point, Projective::<G>::generator());
}

#[test]
fn what_is_wiped_is_zero_or_the_identity() {
    wiping_agrees::<blst::G1>();
    wiping_agrees::<blst::G2>();
    wiping_agrees::<ark::G1>();
    wiping_agrees::<ark::G2>();
    let (mut blst, mut ark) = (blst::fr_from_u64(7), ark::fr_from_u64(7));
    blst::fr_wipe(&mut blst);
    ark::fr_wipe(&mut ark);
    assert_eq!((blst::fr_limbs(&blst), ark::fr_limbs(&ark)), (&[0; 4], &[0; 4]));
    let (mut blst, mut ark) = (blst::fp12_one(), ark::fp12_one());
    blst::fp12_wipe(&mut blst);
    ark::fp12_wipe(&mut ark);
    assert_eq!(blst::fp12_to_bytes(&blst), [0; 576]);
    assert_eq!(ark::fp12_to_bytes(&ark), [0; 576]);
}
