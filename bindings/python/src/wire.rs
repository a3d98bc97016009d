//! Objects that are their bytes: read from the wire format, compared, hashed and pickled by it.

/// A class around one of crypto-core's objects, with further methods. What it shows is what is said about
/// it, if anything is, and its first bytes behind so many that all have.
macro_rules! wire_object {
    ($name:ident, $inner:ty, $doc:literal, { $($methods:tt)* }) => {
        // Version and suite come first.
        wire_object!($name, $inner, $doc, |_| (String::new(), 2), { $($methods)* });
    };
    ($name:ident, $inner:ty, $doc:literal, $about:expr, { $($methods:tt)* }) => {
        #[doc = $doc]
        #[pyclass(frozen, eq, module = "prefinal", from_py_object)]
        #[derive(Clone, PartialEq)]
        pub(crate) struct $name(pub(crate) $inner);

        #[pymethods]
        impl $name {
            /// Reads what `bytes` of one gives.
            #[new]
            fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
                let read = <$inner>::from_wire(&$crate::input::bytes(data)?);
                read.map(Self).map_err(|error| $crate::error::refused(&error))
            }

            $($methods)*

            fn __bytes__(&self) -> Vec<u8> {
                self.0.to_wire()
            }

            /// Its bytes in hexadecimal digits.
            fn hex(&self) -> String {
                $crate::bls::hex(&self.0.to_wire())
            }

            fn __repr__(&self) -> String {
                let about: fn(&$inner) -> (String, usize) = $about;
                let ((about, head), wire) = (about(&self.0), self.0.to_wire());
                $crate::bls::shown(stringify!($name), &about, wire.get(head..).unwrap_or(&wire))
            }

            fn __hash__(&self) -> u64 {
                $crate::bls::hash(&self.0.to_wire())
            }

            fn __reduce__<'py>(
                &self,
                py: Python<'py>,
            ) -> (Bound<'py, PyAny>, (Bound<'py, PyBytes>,)) {
                (py.get_type::<Self>().into_any(), (PyBytes::new(py, &self.0.to_wire()),))
            }
        }
    };
}
pub(crate) use wire_object;
