//! Arguments: bytes-like objects, whole numbers, iterables of any kind.
//!
//! Iterables may raise, change their length or never end, so they are read item by item up to a limit,
//! with a look at signals now and then. What they raise comes through as it is.
use std::fmt::Display;
use std::ops::RangeInclusive;

use prefinal_crypto_core::access::{Access, Party};
use prefinal_crypto_core::secret::Secret;
use prefinal_weighted_rounding::Stake;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyString};

use crate::error::{argument, wrong_type};

/// The most items of a list: as many as a committee has parties at most.
const MOST: usize = 1 << 20;

/// Floats are exact up to here.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Whatever has the buffer protocol with items of one byte, contiguous or not.
pub(crate) fn bytes(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Ok(bytes.to_vec());
    }
    let view = value.py().import("builtins")?.getattr("memoryview")?;
    let view = view.call1((value,)).map_err(|_| wrong_type("a bytes-like object", value))?;
    if view.getattr("itemsize")?.extract::<usize>()? != 1 {
        return Err(PyTypeError::new_err("expected items of one byte in the buffer"));
    }
    let bytes = view.call_method0("tobytes")?;
    Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec())
}

/// The same in custody. What the caller holds is the caller's to wipe.
pub(crate) fn secret(value: &Bound<'_, PyAny>) -> PyResult<Secret<Vec<u8>>> {
    bytes(value).map(Secret::new)
}

/// Bytes of one length.
pub(crate) fn array<const N: usize>(value: &Bound<'_, PyAny>, what: &str) -> PyResult<[u8; N]> {
    let bytes = bytes(value)?;
    let got = bytes.len();
    bytes.try_into().map_err(|_| argument(&format!("{what} has {got} bytes, expected {N}"), None))
}

/// Reads an iterable; `read` learns the position of each item.
pub(crate) fn list<'py, T>(
    values: &Bound<'py, PyAny>,
    what: &str,
    mut read: impl FnMut(usize, &Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let text = value_is_text(values) || values.is_instance_of::<PyDict>();
    // Arrays and series give plain numbers this way, and all at once.
    let plain = match values.getattr_opt("tolist")? {
        Some(tolist) if !text => Some(tolist.call0()?),
        _ => None,
    };
    let values = plain.as_ref().unwrap_or(values);
    if text || values.hasattr("keys")? {
        return Err(wrong_type(&format!("an iterable of {what}"), values));
    }
    let items = values.try_iter();
    let items = items.map_err(|_| wrong_type(&format!("an iterable of {what}"), values))?;
    let mut list = Vec::new();
    for (index, item) in items.enumerate() {
        if index >= MOST {
            return Err(argument(&format!("more than {MOST} {what}"), Some(index)));
        }
        if index % 1024 == 1023 {
            values.py().check_signals()?;
        }
        list.push(read(index, &item?)?);
    }
    Ok(list)
}

/// The same, of at least one item.
pub(crate) fn at_least_one<'py, T>(
    values: &Bound<'py, PyAny>,
    what: &str,
    read: impl FnMut(usize, &Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let list = list(values, what, read)?;
    if list.is_empty() {
        return Err(argument(&format!("{what}: expected at least one"), None));
    }
    Ok(list)
}

fn value_is_text(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyByteArray>()
}

/// A whole number from 0 on: an `int`, what has `__index__`, or a float that is exact.
pub(crate) fn whole(value: &Bound<'_, PyAny>, what: &str, at: Option<usize>) -> PyResult<u128> {
    integer(value, what, at, "0 to 2^128 - 1")
}

/// A whole number of a range.
pub(crate) fn within<T: Copy + Display + PartialOrd + TryFrom<u128>>(
    value: &Bound<'_, PyAny>,
    what: &str,
    range: RangeInclusive<T>,
) -> PyResult<T> {
    let expected = format!("{} to {}", range.start(), range.end());
    let whole = integer(value, what, None, &expected)?;
    let found = T::try_from(whole).ok().filter(|number| range.contains(number));
    found.ok_or_else(|| argument(&format!("{what} is {whole}, expected {expected}"), None))
}

/// A whole number; `expected` is for the text of an error.
fn integer(
    value: &Bound<'_, PyAny>,
    what: &str,
    at: Option<usize>,
    expected: &str,
) -> PyResult<u128> {
    let place = at.map(|at| format!(" at {at}")).unwrap_or_default();
    if value.is_instance_of::<PyBool>() {
        return Err(wrong_type(&format!("{what}{place} as a whole number"), value));
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        let float = float.value();
        if !float.is_finite() || float.fract() != 0.0 || !(0.0..=EXACT).contains(&float) {
            let above = if float > EXACT { "; above 2^53 an int" } else { "" };
            let why =
                format!("{what}{place} is {float:?}, expected a whole number, {expected}{above}");
            return Err(argument(&why, at));
        }
        // Its text has no fraction and no exponent.
        let whole = format!("{float:.0}").parse();
        return whole.map_err(|_| argument(&format!("{what}{place} is {float}"), at));
    }
    let Some(index) = value.getattr_opt("__index__")? else {
        return Err(wrong_type(&format!("{what}{place} as a whole number"), value));
    };
    let number = index.call0()?;
    number.extract().map_err(|_| {
        let shown = number.str().map(|text| text.to_string());
        let shown: String = shown.unwrap_or_else(|_| "a huge number".to_owned());
        let shown = if shown.len() > 50 { "a huge number" } else { shown.as_str() };
        argument(&format!("{what}{place} is {shown}, expected {expected}"), at)
    })
}

/// A whole number that fits `T`.
pub(crate) fn number<T: TryFrom<u128>>(value: &Bound<'_, PyAny>, what: &str) -> PyResult<T> {
    let whole = whole(value, what, None)?;
    T::try_from(whole)
        .map_err(|_| argument(&format!("{what} is {whole}, which is too large"), None))
}

/// Stakes in any iterable.
pub(crate) fn stakes(values: &Bound<'_, PyAny>) -> PyResult<Vec<Stake>> {
    list(values, "stakes", |at, value| whole(value, "stake", Some(at)).map(Stake::new))
}

/// Weights in any iterable.
pub(crate) fn weights(values: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    list(values, "weights", |at, value| {
        let weight = whole(value, "weight", Some(at))?;
        let too_large = || argument(&format!("weight at {at} is {weight}"), Some(at));
        u32::try_from(weight).map_err(|_| too_large())
    })
}

/// A party by its position.
pub(crate) fn party(value: &Bound<'_, PyAny>) -> PyResult<Party> {
    let position: u32 = number(value, "party")?;
    if position >= Access::MAX {
        return Err(argument(&format!("party is {position}, which is too large"), None));
    }
    Ok(Party::new(position))
}

/// A mapping from parties to something: a `dict`, or pairs in any iterable. A party that is named twice is an
/// error, for one of the two would be lost.
pub(crate) fn by_party<'py, T>(
    values: &Bound<'py, PyAny>,
    what: &str,
    mut read: impl FnMut(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<std::collections::BTreeMap<Party, T>> {
    let items = match values.cast::<PyDict>() {
        Ok(dict) => dict.items().into_any(),
        Err(_) => values.clone(),
    };
    let pairs = list(&items, what, |at, pair| {
        let expected = || argument(&format!("{what} at {at}: expected (party, value)"), Some(at));
        let (who, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) =
            pair.extract().map_err(|_| expected())?;
        Ok((party(&who)?, read(&value)?))
    })?;
    let mut map = std::collections::BTreeMap::new();
    for (at, (who, value)) in pairs.into_iter().enumerate() {
        if map.insert(who, value).is_some() {
            return Err(argument(&format!("{what} at {at}: {who} is named twice"), Some(at)));
        }
    }
    Ok(map)
}
