//! How many shares each party holds: what committees of every kind begin with.
use std::collections::BTreeMap;

use prefinal_crypto_core::access::{Access, Party, Threshold};
use pyo3::prelude::*;

use crate::error::refused;
use crate::input::{number, weights};

/// Of weights and the number of shares that suffices.
pub(crate) fn access(
    weights_: &Bound<'_, PyAny>,
    t: &Bound<'_, PyAny>,
) -> PyResult<(Access, Threshold)> {
    let access = Access::new(&weights(weights_)?).map_err(|error| refused(&error))?;
    let threshold = Threshold::new(number(t, "threshold")?, access.total());
    Ok((access, threshold.map_err(|error| refused(&error))?))
}

/// What each party gets of all shares in their order. A party without weight gets nothing.
pub(crate) fn by_holder<S: Clone, T>(
    access: &Access,
    shares: &[S],
    hand_out: impl Fn(Party, Vec<S>) -> PyResult<T>,
) -> PyResult<BTreeMap<u32, T>> {
    let own = |party| shares.get(access.range(party)).filter(|own| !own.is_empty());
    let holders = access.parties().filter_map(|party| Some((party, own(party)?)));
    holders.map(|(party, own)| Ok((party.get(), hand_out(party, own.to_vec())?))).collect()
}
