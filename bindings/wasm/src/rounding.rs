//! Weights and thresholds, checked over all sets of parties.
use prefinal_weighted_rounding::verify::{Claim, verify};
use prefinal_weighted_rounding::{Pair, Ratio, Stake, Weight};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::raise;
use crate::fields::Fields;

/// Checks what is claimed of weights. Of each claim comes the secrecy ratio, the reconstruction ratio,
/// each as numerator and denominator, and the threshold.
///
/// # Errors
/// Names a set of parties that refutes a claim, or says what makes no sense.
#[wasm_bindgen]
pub fn verify_rounding(stakes: &[u8], weights: &[u32], claims: &[u8]) -> Result<(), JsValue> {
    let stakes = self::stakes(stakes)?;
    let weights: Vec<Weight> = weights.iter().copied().map(Weight::new).collect();
    let (mut rest, mut pairs, mut thresholds) = (Fields::new(claims), Vec::new(), Vec::new());
    while !rest.is_empty() {
        pairs.push(pair(&mut rest, "claimed")?);
        thresholds.push(Weight::new(rest.u32()?));
    }
    let claims = pairs.iter().zip(thresholds).map(|(pair, threshold)| Claim { pair, threshold });
    verify(&stakes, &weights, &claims.collect::<Vec<_>>()).map_err(raise)
}

/// The next secrecy and reconstruction ratio, each as numerator and denominator.
pub(crate) fn pair(rest: &mut Fields<'_>, name: &str) -> Result<Pair, JsValue> {
    let secrecy = Ratio::new(rest.u128()?, rest.u128()?).map_err(raise)?;
    let reconstruction = Ratio::new(rest.u128()?, rest.u128()?).map_err(raise)?;
    Pair::new(name, secrecy, reconstruction).map_err(raise)
}

/// A list of 128 bits each.
pub(crate) fn stakes(bytes: &[u8]) -> Result<Vec<Stake>, JsValue> {
    let (mut rest, mut stakes) = (Fields::new(bytes), Vec::new());
    while !rest.is_empty() {
        stakes.push(Stake::new(rest.u128()?));
    }
    Ok(stakes)
}
