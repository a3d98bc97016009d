//! Errors become exceptions.
//!
//! The classes are Python's (`prefinal.errors`); they are made here from an error's code and fields,
//! so that no class has to know the errors of Rust.
use std::fmt::Display;

use prefinal_codes::{Coded, Detail};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

/// The exception for an error.
pub(crate) fn refused(error: &(impl Coded + Display)) -> PyErr {
    exception(&error.detail(), &error.to_string())
}

/// An error on its way to the interpreter, from where its lock is not held.
pub(crate) struct Refusal(Box<(Detail, String)>);

impl Refusal {
    pub(crate) fn of(error: &(impl Coded + Display)) -> Self {
        Self(Box::new((error.detail(), error.to_string())))
    }

    /// What a machine reports, which is an output and not raised.
    pub(crate) fn told(detail: Detail, text: &impl Display) -> Self {
        Self(Box::new((detail, text.to_string())))
    }

    pub(crate) fn raise(&self) -> PyErr {
        let (detail, text) = self.0.as_ref();
        exception(detail, text)
    }
}

/// As an exception that nobody has raised.
impl<'py> IntoPyObject<'py> for Refusal {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.raise().into_value(py).into_bound(py).into_any())
    }
}

/// A value that no type of ours can be made of; `index` says where in a list.
pub(crate) fn argument(why: &str, index: Option<usize>) -> PyErr {
    let index = index.and_then(|index| u64::try_from(index).ok());
    let detail = Detail { code: "invalid-argument", index, ..Detail::default() };
    exception(&detail, why)
}

/// An argument of another type than it should have.
pub(crate) fn wrong_type(what: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let name = value.get_type().name().map(|name| name.to_string());
    PyTypeError::new_err(format!("expected {what}, got {}", name.as_deref().unwrap_or("another")))
}

pub(crate) fn exception(detail: &Detail, text: &str) -> PyErr {
    Python::attach(|py| match build(py, detail, text) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    })
}

fn build<'py>(py: Python<'py>, detail: &Detail, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let make = py.import("prefinal.errors")?.getattr("_exception")?;
    let Detail { code, party, index, need, got, culprits } = detail;
    make.call1((text, *code, *party, *index, *need, *got, culprits.clone()))
}

/// A thread of ours is gone; nothing that a caller did brings this about.
pub(crate) fn lost() -> PyErr {
    PyRuntimeError::new_err("the computation ended without a result")
}
