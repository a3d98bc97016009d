//! Who receives shares: a key, and the proof that its owner knows the secret half.
use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, PoisonError};

use borsh::BorshDeserialize;
use prefinal_codes::Coded;
use prefinal_crypto_core::curve::DecodeError;
use prefinal_crypto_core::secret::Secret;
use prefinal_pvss_dkg::{DecryptionKey, EncryptionKey, KeyRegistration, NotOpened};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bls::{Either, PublicKey, SecretKey, hash, hex, shown};
use crate::error::{Refusal, argument, refused};
use crate::input::{bytes, secret};
use crate::random::generator;

/// Bytes of a registration.
const BYTES: usize = 272;

/// Opens what dealers encrypt to one party, once: opening uses it up and wipes it. Not printed and not
/// pickled.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct RecipientKey(Mutex<Option<DecryptionKey>>);

impl RecipientKey {
    /// What `open` makes of the key, which comes back with an error; then it is as good as before.
    pub(crate) fn use_up<T, E: Coded + Display>(
        &self,
        open: impl FnOnce(DecryptionKey) -> Result<T, NotOpened<E>>,
    ) -> Result<T, Refusal> {
        let mut slot = self.slot();
        let key = slot.take().ok_or_else(used_up)?;
        open(key).map_err(|NotOpened { key, error }| {
            *slot = Some(key);
            Refusal::of(&error)
        })
    }

    /// The key for a machine that opens shares with it when they are there, and then takes it.
    pub(crate) fn lend<T>(&self, run: impl FnOnce(&mut Option<DecryptionKey>) -> T) -> T {
        run(&mut self.slot())
    }

    /// A thread that panicked has left the slot as it was before or empty.
    fn slot(&self) -> MutexGuard<'_, Option<DecryptionKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn used_up() -> Refusal {
    Refusal::of(&prefinal_pvss_dkg::field::DecryptError::UsedUp)
}

#[pymethods]
impl RecipientKey {
    /// From its 32 bytes, big-endian.
    #[new]
    fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let data = secret(data)?;
        let array: Result<[u8; 32], _> = data.expose().as_slice().try_into();
        let length = DecodeError::Length { expected: 32, got: data.expose().len() };
        let array = Secret::new(array.map_err(|_| refused(&length))?);
        let key = DecryptionKey::from_secret_bytes(&array).map_err(|error| refused(&error))?;
        Ok(Self(Mutex::new(Some(key))))
    }

    /// The key's 32 bytes. Python does not wipe them.
    fn secret_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let slot = self.slot();
        let key = slot.as_ref().ok_or_else(|| used_up().raise())?;
        Ok(PyBytes::new(py, key.to_secret_bytes().expose()))
    }

    /// A fresh key.
    #[staticmethod]
    #[pyo3(signature = (*, seed=None))]
    fn generate(seed: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self(Mutex::new(Some(DecryptionKey::random(&mut generator(seed)?)))))
    }

    /// What the party publishes, signed with its signing key.
    #[pyo3(signature = (signer, *, seed=None))]
    fn register(
        &self,
        signer: &SecretKey,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Registration> {
        let slot = self.slot();
        let key = slot.as_ref().ok_or_else(|| used_up().raise())?;
        Ok(Registration(key.register(&signer.0.of_one_variant(), &mut generator(seed)?)))
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
    /// Reads what `bytes` of one gives.
    #[new]
    fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let data = bytes(data)?;
        let (expected, got) = (BYTES, data.len());
        if got != expected {
            return Err(refused(&DecodeError::Length { expected, got }));
        }
        let read = KeyRegistration::try_from_slice(&data);
        let wrong = prefinal_pvss_dkg::DecodeError::Element { what: "registration", at: 0 };
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

    /// Its bytes in hexadecimal digits.
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
