//! Random numbers for transactions, from the random value of their slot.
use std::num::NonZeroU64;

use prefinal_crypto_core::draw;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::bls::{hash, hex, shown};
use crate::error::{argument, refused};
use crate::input::{array, bytes, list, number};

/// The most places of an order that are taken at once.
const MOST: u64 = 1 << 20;

/// All draws of one transaction in one application.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct Draws(draw::Draws);

#[pymethods]
impl Draws {
    /// From the slot's value of 32 bytes, verified before; the application's name, up to 64 visible ASCII
    /// letters; and what is drawn for, a bet by its number or hash.
    #[new]
    fn new(
        value: &Bound<'_, PyAny>,
        application: &Bound<'_, PyString>,
        transaction: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let value = array(value, "value")?;
        // Half of a surrogate pair is no letter.
        let no_text = |_| argument("the name of the application is no text", None);
        let draws =
            draw::Draws::new(&value, &application.to_cow().map_err(no_text)?, &bytes(transaction)?);
        draws.map(Self).map_err(|error| refused(&error))
    }

    /// The draw of this index. One draw answers one question; the next question takes the next index.
    fn at(&self, index: &Bound<'_, PyAny>) -> PyResult<Draw> {
        Ok(Draw(self.0.at(number(index, "index")?)))
    }

    fn __repr__(&self) -> &'static str {
        "<Draws>"
    }
}

/// One draw. It gives the same answer to the same question, however often it is asked.
#[pyclass(frozen, eq, module = "prefinal")]
#[derive(PartialEq)]
pub(crate) struct Draw(draw::Draw);

#[pymethods]
impl Draw {
    /// A number from 0 to ``bound - 1``, each as likely as any other.
    fn below(&self, bound: &Bound<'_, PyAny>) -> PyResult<u64> {
        let bound = NonZeroU64::new(number(bound, "bound")?);
        let bound = bound.ok_or_else(|| argument("bound is 0, and no number is below", None))?;
        Ok(self.0.below(bound))
    }

    /// The first ``count`` of the places 0 to ``among - 1`` in a random order: a sample without repetition.
    /// All of them without ``count``.
    #[pyo3(signature = (among, count=None))]
    fn order(
        &self,
        among: &Bound<'_, PyAny>,
        count: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<u64>> {
        let among = number(among, "among")?;
        let count: u64 = count.map_or(Ok(among), |count| number(count, "count"))?;
        if count > among.min(MOST) {
            let why = format!("count is {count}, expected at most {}", among.min(MOST));
            return Err(argument(&why, None));
        }
        // It fits, since it is at most 2²⁰.
        Ok(self.0.order(among).take(usize::try_from(count).unwrap_or_default()).collect())
    }

    /// The items as a list in the order that ``order`` gives for so many places.
    fn shuffled(&self, items: &Bound<'_, PyAny>) -> PyResult<Vec<Py<PyAny>>> {
        let mut items = list(items, "items", |_, item| Ok(item.clone().unbind()))?;
        self.0.shuffle(&mut items);
        Ok(items)
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.as_bytes())
    }

    /// Its bytes in hexadecimal digits.
    fn hex(&self) -> String {
        hex(self.0.as_bytes())
    }

    fn __repr__(&self) -> String {
        shown("Draw", "", self.0.as_bytes())
    }

    fn __hash__(&self) -> u64 {
        hash(self.0.as_bytes())
    }
}
