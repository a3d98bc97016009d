//! Errors, as JavaScript's `PrefinalError`.
use core::fmt::Display;

use prefinal_codes::{Coded, Detail};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(raw_module = "./errors.js")]
extern "C" {
    /// The numbers are: which of party, index, need and got there are, as bits; these, the last two as
    /// halves of 128 bits, the lower first; the culprits.
    fn failure(code: &str, message: &str, numbers: &[u64]) -> JsValue;
}

/// The exception that stands for `error`.
pub(crate) fn raise<E: Coded + Display>(error: E) -> JsValue {
    raise_as(&error.detail(), &error)
}

/// An exception with a code alone.
pub(crate) fn raise_code(code: &'static str, message: &str) -> JsValue {
    failure(code, message, &[])
}

fn raise_as(detail: &Detail, error: &dyn Display) -> JsValue {
    let mut bits = 0;
    let present = [
        detail.party.is_some(),
        detail.index.is_some(),
        detail.need.is_some(),
        detail.got.is_some(),
    ];
    present.iter().rev().for_each(|there| bits = bits << 1 | u64::from(*there));
    let [need, got] = [detail.need, detail.got].map(Option::unwrap_or_default);
    let half = |number: u128| u64::try_from(number & u128::from(u64::MAX)).unwrap_or_default();
    let mut numbers = vec![
        bits,
        u64::from(detail.party.unwrap_or_default()),
        detail.index.unwrap_or_default(),
        half(need),
        half(need >> 64),
        half(got),
        half(got >> 64),
    ];
    numbers.extend_from_slice(&detail.culprits);
    failure(detail.code, &error.to_string(), &numbers)
}
