//! What transactions draw: fair, and nobody's twice.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use prefinal_crypto_core::draw::Draws;

const VALUE: [u8; 32] = [7; 32];

fn draws(application: &str, transaction: &[u8]) -> Draws {
    Draws::new(&VALUE, application, transaction).unwrap()
}

/// Each of these differs from the first in one thing, or would hash the same bytes without lengths.
#[test]
fn no_two_transactions_share_a_draw() {
    let mut seen = BTreeSet::new();
    let inputs: [(&str, &[u8]); 7] = [
        ("ab", b"cd"),
        ("ab", b"ce"),
        ("ac", b"cd"),
        ("abc", b"d"),
        ("a", b"bcd"),
        ("ab", b"cd\0"),
        ("ab", b"cd\0\0\0\0\0\0\0\0"),
    ];
    for (application, transaction) in inputs {
        for index in [0, 1, 256, u64::MAX] {
            let draw = draws(application, transaction).at(index);
            assert!(seen.insert(*draw.as_bytes()), "{application} {transaction:?} {index}");
        }
    }
    assert!(seen.insert(*Draws::new(&[8; 32], "ab", b"cd").unwrap().at(0).as_bytes()));
}

/// One draw that answers two questions does not give one away by the other.
#[test]
fn questions_about_one_draw_are_independent() {
    let (six, twelve) = (NonZeroU64::new(6).unwrap(), NonZeroU64::new(12).unwrap());
    let all = draws("dice", b"throw");
    let equal = (0..600).filter(|at| {
        let draw = all.at(*at);
        draw.below(six) == draw.below(twelve) % 6
    });
    let equal = equal.count();
    assert!((60..140).contains(&equal), "{equal} of 600, expected 100");
    let first = (0..600).filter(|at| {
        let draw = all.at(*at);
        draw.order(6).next() == Some(draw.below(six))
    });
    let first = first.count();
    assert!((60..140).contains(&first), "{first} of 600, expected 100");
}

/// The expected deviation is 29; six times as much happens once in 10⁸ seeds.
#[test]
fn numbers_and_orders_are_fair() {
    let six = NonZeroU64::new(6).unwrap();
    let all = draws("dice", b"throw");
    let mut numbers: BTreeMap<u64, u32> = BTreeMap::new();
    let mut orders: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
    for at in 0..6000 {
        *numbers.entry(all.at(at).below(six)).or_default() += 1;
        *orders.entry(all.at(at).order(3).collect()).or_default() += 1;
    }
    assert_eq!((numbers.len(), orders.len()), (6, 6));
    for count in numbers.values().chain(orders.values()) {
        assert!((830..1170).contains(count), "{numbers:?} {orders:?}");
    }
}

/// With a modulo instead of refusals, two thirds of the numbers would be in the lower half.
#[test]
fn a_bound_that_does_not_divide_is_fair() {
    let bound = NonZeroU64::new(3 << 62).unwrap();
    let all = draws("dice", b"throw");
    let low = (0..1000).filter(|at| all.at(*at).below(bound) < 1 << 62).count();
    assert!((240..430).contains(&low), "{low} of 1000, expected 333");
}

#[test]
fn an_order_has_each_place_once() {
    for among in [0_u64, 1, 2, 3, 17, 1000] {
        let order: Vec<u64> = draws("seats", b"deal").at(among).order(among).collect();
        let places: BTreeSet<u64> = order.iter().copied().collect();
        assert_eq!(places, (0..among).collect());
        assert_eq!(order.len(), places.len());
    }
}

/// Three of all 64-bit numbers are drawn without a list of them.
#[test]
fn a_sample_costs_what_is_taken() {
    let sample: BTreeSet<u64> = draws("seats", b"deal").at(0).order(u64::MAX).take(3).collect();
    assert_eq!(sample.len(), 3);
}
