//! Random numbers for transactions, from the random value of their slot.
//!
//! A draw is its 32 bytes, which JavaScript keeps; nothing is held here. JavaScript swaps the places as well: a
//! map of Rust's would take thousands of bytes.
use core::num::NonZeroU64;

use prefinal_crypto_core::draw::{Draw, Draws};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::{raise, raise_code};
use crate::fields::hash;

/// The draw of a transaction with an index.
///
/// # Errors
/// If nothing can be drawn for this application or transaction.
#[wasm_bindgen]
pub fn draw(
    value: &[u8],
    application: &str,
    transaction: &[u8],
    index: u64,
) -> Result<Vec<u8>, JsValue> {
    let draws = Draws::new(&hash(value)?, application, transaction).map_err(raise)?;
    Ok(draws.at(index).as_bytes().to_vec())
}

/// A number below the bound.
///
/// # Errors
/// If the bound is 0.
#[wasm_bindgen]
pub fn draw_below(draw: &[u8], bound: u64) -> Result<u64, JsValue> {
    let none = || raise_code("invalid-argument", "bound: no number is below 0");
    let bound = NonZeroU64::new(bound).ok_or_else(none)?;
    Ok(Draw::from_bytes(hash(draw)?).below(bound))
}

/// With which places the first `count` of so many are swapped to come to a random order.
///
/// # Errors
/// Never, with a draw of 32 bytes.
#[wasm_bindgen]
pub fn draw_swaps(draw: &[u8], among: u32, count: usize) -> Result<Vec<u32>, JsValue> {
    let swaps = Draw::from_bytes(hash(draw)?).swaps(among.into());
    Ok(swaps.take(count).filter_map(|place| u32::try_from(place).ok()).collect())
}
