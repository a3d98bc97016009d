//! What transactions draw.
use core::num::NonZeroU64;

use prefinal_crypto_core::draw::{Draws, DrawsError};
use serde::Deserialize;

use super::{array, bytes, load};

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
    refused: Vec<Refused>,
}

#[derive(Deserialize)]
struct Case {
    value: String,
    application: String,
    transaction: String,
    index: String,
    draw: String,
    numbers: Vec<Number>,
    orders: Vec<Order>,
}

#[derive(Deserialize)]
struct Number {
    bound: String,
    number: String,
}

#[derive(Deserialize)]
struct Order {
    among: String,
    order: Vec<String>,
}

#[derive(Deserialize)]
struct Refused {
    application: String,
    transaction: String,
    reason: String,
}

fn file() -> File {
    load(include_str!("../../vectors/model/draws.json"))
}

#[test]
fn draws_are_what_the_model_draws() {
    let cases = file().cases;
    assert!(cases.len() > 10);
    for case in cases {
        let transaction = bytes(&case.transaction);
        let draws = Draws::new(&array(&case.value), &case.application, &transaction).unwrap();
        let draw = draws.at(case.index.parse().unwrap());
        assert_eq!(hex::encode(draw.as_bytes()), case.draw);
        for Number { bound, number } in case.numbers {
            let bound: NonZeroU64 = bound.parse().unwrap();
            assert_eq!(draw.below(bound).to_string(), number, "below {bound}");
        }
        for Order { among, order } in case.orders {
            let among: u64 = among.parse().unwrap();
            let places: Vec<String> =
                draw.order(among).take(order.len()).map(|place| place.to_string()).collect();
            assert_eq!(places, order, "of {among}");
            if among < 100 {
                let mut items: Vec<u64> = (0..among).collect();
                draw.shuffle(&mut items);
                assert_eq!(items, draw.order(among).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn what_the_model_refuses_is_refused() {
    for Refused { application, transaction, reason } in file().refused {
        let error = Draws::new(&[0; 32], &application, &bytes(&transaction)).unwrap_err();
        let of_name =
            matches!(error, DrawsError::NameLength { .. } | DrawsError::NameLetter { .. });
        assert_eq!(of_name, reason == "application", "{application:?}: {error}");
        assert_eq!(error.code(), "invalid-argument");
    }
}
