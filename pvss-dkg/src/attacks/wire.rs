//! Bytes of a stranger.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::aggregate::Aggregate;
use crate::config::Config;
use crate::dealing::Dealing;
use crate::fixture::{Committee, SLOW, WEIGHTS, session, shape};
use crate::verify::verify;
use crate::wire::DecodeError;

struct Sample {
    committee: Committee,
    dealing: Vec<u8>,
    aggregate: Vec<u8>,
}

static SAMPLE: LazyLock<Sample> = LazyLock::new(|| {
    let mut committee = Committee::new();
    let dealings: Vec<_> = [0, 2, 3].map(|dealer| committee.deal_verified(dealer)).into();
    let aggregate = Aggregate::sum(&committee.config, &dealings).unwrap().to_bytes();
    Sample { dealing: dealings[0].to_bytes(), aggregate, committee }
});

fn config() -> &'static Config {
    &SAMPLE.committee.config
}

#[test]
fn sizes_follow_the_formula() {
    assert_eq!(config().dealing_bytes(), 405 + 192 * 11 * 2);
    assert_eq!(SAMPLE.dealing.len(), config().dealing_bytes());
    assert_eq!(config().aggregate_bytes(3), 149 + 164 * 3 + 192 * 11 * 2);
    assert_eq!(SAMPLE.aggregate.len(), config().aggregate_bytes(3));
}

#[test]
fn encodings_round_trip() {
    let dealing = Dealing::from_bytes(config(), &SAMPLE.dealing).unwrap();
    assert_eq!(dealing.to_bytes(), SAMPLE.dealing);
    let aggregate = Aggregate::from_bytes(config(), &SAMPLE.aggregate).unwrap();
    assert_eq!(aggregate.to_bytes(), SAMPLE.aggregate);
    assert!(aggregate.verify(config()).is_ok());
}

#[test]
fn every_other_length_is_refused_before_algebra() {
    let expected = config().dealing_bytes();
    let mut bytes = SAMPLE.dealing.clone();
    // Were a point read, this would be the error.
    bytes[5..].fill(0xff);
    bytes.resize(expected + 100, 0xff);
    for got in (0..expected + 100).filter(|got| *got != expected) {
        let refused = Dealing::from_bytes(config(), &bytes[..got]);
        assert_eq!(refused.unwrap_err(), DecodeError::Length { got, expected });
    }
    let mut bytes = SAMPLE.aggregate.clone();
    bytes[5..].fill(0xff);
    bytes.resize(SAMPLE.aggregate.len() + 100, 0xff);
    let expected = SAMPLE.aggregate.len();
    for got in (5..bytes.len()).filter(|got| *got != expected) {
        let refused = Aggregate::from_bytes(config(), &bytes[..got]);
        assert_eq!(refused.unwrap_err(), DecodeError::Length { got, expected });
    }
}

#[test]
fn a_dealing_for_another_shape_has_another_length() {
    let other = Committee::with(session(), shape(&WEIGHTS, SLOW, None), 1);
    let refused = Dealing::from_bytes(&other.config, &SAMPLE.dealing).unwrap_err();
    assert_eq!(refused, DecodeError::Length { got: 405 + 384 * 11, expected: 405 + 192 * 11 });
}

#[test]
fn fields_are_checked_where_they_stand() {
    let with = |at: usize, value: u8| {
        let mut bytes = SAMPLE.dealing.clone();
        bytes[at] = value;
        Dealing::from_bytes(config(), &bytes).unwrap_err()
    };
    assert_eq!(with(0, 2), DecodeError::Version { got: 2 });
    assert_eq!(with(4, 7), DecodeError::Dealer { got: 7, members: 7 });
    assert_eq!(with(5, 0x1f), DecodeError::Element { what: "point of 𝔾₁", at: 5 });
    assert_eq!(with(101, 0xff), DecodeError::Element { what: "scalar", at: 101 });
    assert_eq!(with(133, 0x00), DecodeError::Element { what: "signature", at: 133 });
    assert_eq!(with(181, 0x00), DecodeError::Element { what: "point of 𝔾₂", at: 181 });
    assert_eq!(with(277, 0xff), DecodeError::Element { what: "scalar", at: 277 });
    assert_eq!(with(405, 0x00), DecodeError::Element { what: "point of 𝔾₂", at: 405 });
}

#[test]
fn dealers_are_listed_once_and_in_order() {
    const ONE: usize = 164;
    let count = |dealers: u32| {
        let mut bytes = SAMPLE.aggregate.clone();
        bytes[1..5].copy_from_slice(&dealers.to_be_bytes());
        Aggregate::from_bytes(config(), &bytes).unwrap_err()
    };
    assert_eq!(count(8), DecodeError::Dealers { got: 8, members: 7 });
    assert_eq!(count(u32::MAX), DecodeError::Dealers { got: u32::MAX, members: 7 });
    let mut twice = SAMPLE.aggregate.clone();
    twice.copy_within(5..5 + ONE, 5 + ONE);
    assert!(matches!(
        Aggregate::from_bytes(config(), &twice),
        Err(DecodeError::Order { first, second }) if first == second
    ));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_changed_dealing_passes(at in any::<prop::sample::Index>(), flip in 1_u8..) {
        let mut bytes = SAMPLE.dealing.clone();
        bytes[at.index(SAMPLE.dealing.len())] ^= flip;
        let dealing = Dealing::from_bytes(config(), &bytes);
        prop_assert!(dealing.map(|dealing| verify(config(), dealing).is_err()).unwrap_or(true));
    }

    #[test]
    fn no_changed_aggregate_passes(at in any::<prop::sample::Index>(), flip in 1_u8..) {
        let mut bytes = SAMPLE.aggregate.clone();
        bytes[at.index(SAMPLE.aggregate.len())] ^= flip;
        let aggregate = Aggregate::from_bytes(config(), &bytes);
        prop_assert!(aggregate.map(|it| it.verify(config()).is_err()).unwrap_or(true));
    }

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..6000)) {
        prop_assert!(Dealing::from_bytes(config(), &bytes).is_err());
        prop_assert!(Aggregate::from_bytes(config(), &bytes).is_err());
    }
}
