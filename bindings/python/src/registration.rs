//! Who receives shares: a key, and the proof that its owner knows the secret half.
use borsh::BorshDeserialize;
use pvss_dkg::{DecryptionKey, EncryptionKey, KeyRegistration};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bls::{Either, PublicKey, SecretKey, hash, hex, shown};
use crate::error::{argument, refused};
use crate::input::bytes;
use crate::random::generator;

/// Bytes of a registration.
const BYTES: usize = 272;

/// Opens what dealers encrypt to one party. Wiped when it goes, not printed and not pickled.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct RecipientKey(pub(crate) DecryptionKey);

#[pymethods]
impl RecipientKey {
    /// A fresh key.
    #[staticmethod]
    #[pyo3(signature = (*, seed=None))]
    fn generate(seed: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self(DecryptionKey::random(&mut generator(seed)?)))
    }

    /// What the party publishes, signed with its signing key.
    #[pyo3(signature = (signer, *, seed=None))]
    fn register(
        &self,
        signer: &SecretKey,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Registration> {
        Ok(Registration(self.0.register(&signer.0, &mut generator(seed)?)))
    }

    fn __repr__(&self) -> &'static str {
        "<RecipientKey>"
    }
}

/// What a party publishes to become a recipient; 272 bytes.
#[pyclass(frozen, eq, module = "prefinal")]
#[derive(PartialEq)]
pub(crate) struct Registration(KeyRegistration);

impl Registration {
    fn encoded(&self) -> Vec<u8> {
        borsh::to_vec(&self.0).unwrap_or_default()
    }
}

#[pymethods]
impl Registration {
    #[new]
    fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let data = bytes(data)?;
        let (expected, got) = (BYTES, data.len());
        if got != expected {
            return Err(refused(&crypto_core::curve::DecodeError::Length { expected, got }));
        }
        let read = KeyRegistration::try_from_slice(&data);
        let wrong = pvss_dkg::DecodeError::Element { what: "registration", at: 0 };
        read.map(Self).map_err(|_| refused(&wrong))
    }

    /// The recipient; raises unless the party that signs with `signer` knows the key.
    fn verify(&self, py: Python<'_>, signer: &PublicKey) -> PyResult<Recipient> {
        let Either::MinSig(signer) = signer.0 else {
            return Err(argument("expected a key of min-sig", None));
        };
        let checked = py.detach(|| self.0.verify(&signer));
        checked.map(Recipient).map_err(|error| refused(&error))
    }

    fn __bytes__(&self) -> Vec<u8> {
        self.encoded()
    }

    fn hex(&self) -> String {
        hex(&self.encoded())
    }

    fn __repr__(&self) -> String {
        shown("Registration", "", &self.encoded())
    }

    fn __hash__(&self) -> u64 {
        hash(&self.encoded())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, (Bound<'py, PyBytes>,)) {
        (py.get_type::<Self>().into_any(), (PyBytes::new(py, &self.encoded()),))
    }
}

/// A key whose owner has shown to know its secret half. Only `Registration.verify` makes one.
#[pyclass(frozen, eq, module = "prefinal", from_py_object)]
#[derive(Clone, PartialEq)]
pub(crate) struct Recipient(pub(crate) EncryptionKey);

#[pymethods]
impl Recipient {
    fn __repr__(&self) -> String {
        shown("Recipient", "", &self.0.to_bytes())
    }

    fn __hash__(&self) -> u64 {
        hash(&self.0.to_bytes())
    }
}
