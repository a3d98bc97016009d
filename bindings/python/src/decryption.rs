//! Encryption to a committee, which opens a ciphertext together, and to a beacon's round, which its
//! signature opens.
//!
//! A ciphertext carries a label that its maker and the committee agree on: chain, epoch and slot
//! (`slot_label`). When the label's time has come is the committee's to know.
use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
use prefinal_crypto_core::elgamal::{self, Label, ValidCiphertext};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::wire::Object;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bls::item;
use crate::error::refused;
use crate::input::{array, by_party, bytes, number};
use crate::random::generator;
use crate::wire::wire_object;

/// The label of a slot.
#[pyfunction]
pub(crate) fn slot_label<'py>(
    py: Python<'py>,
    chain: &Bound<'py, PyAny>,
    epoch: &Bound<'py, PyAny>,
    slot: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let chain = ChainId::new(array(chain, "chain")?);
    let context = Context { chain, epoch: EpochId::new(number(epoch, "epoch")?) };
    let label = Label::slot(&context, Slot::new(number(slot, "slot")?));
    Ok(PyBytes::new(py, label.as_bytes()))
}

fn label(value: &Bound<'_, PyAny>) -> PyResult<Label> {
    Label::new(&bytes(value)?).map_err(|error| refused(&error))
}

wire_object!(
    EncryptionKey,
    elgamal::EncryptionKey,
    "What a committee's ciphertexts are made with.",
    {
        /// Encrypts to the committee, under a label that stays readable.
        #[pyo3(signature = (plaintext, label, *, seed=None))]
        fn encrypt(
            &self,
            plaintext: &Bound<'_, PyAny>,
            label: &Bound<'_, PyAny>,
            seed: Option<&Bound<'_, PyAny>>,
        ) -> PyResult<Ciphertext> {
            let py = plaintext.py();
            let plaintext = Secret::new(bytes(plaintext)?);
            let (label, mut rng) = (self::label(label)?, generator(seed)?);
            let made = py.detach(|| self.0.encrypt(&label, plaintext.expose(), &mut rng));
            made.map(Ciphertext).map_err(|error| refused(&error))
        }
    }
);
wire_object!(Ciphertext, elgamal::Ciphertext, "Encrypted to a committee.", {});
wire_object!(DecryptionShare, elgamal::DecryptionShare, "What one party adds to a decryption.", {});

impl Ciphertext {
    fn valid(
        &self,
        key: &elgamal::EncryptionKey,
        label: &Bound<'_, PyAny>,
    ) -> PyResult<ValidCiphertext> {
        let (py, label) = (label.py(), self::label(label)?);
        let valid = py.detach(|| self.0.clone().validate(key, &label));
        valid.map_err(|error| refused(&error))
    }
}

/// Parties that decrypt together.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct DecryptionCommittee(pub(crate) elgamal::DecryptionCommittee);

#[pymethods]
impl DecryptionCommittee {
    /// What is encrypted with.
    #[getter]
    fn key(&self) -> EncryptionKey {
        EncryptionKey(*self.0.key())
    }

    /// How many shares each party holds.
    #[getter]
    fn weights(&self) -> Vec<u32> {
        self.0.access().weights()
    }

    /// How many shares decrypt.
    #[getter]
    fn threshold(&self) -> u32 {
        self.0.threshold().t().get()
    }

    /// Raises unless this is the party's share for this ciphertext.
    fn verify_share(
        &self,
        party: &Bound<'_, PyAny>,
        ciphertext: &Ciphertext,
        label: &Bound<'_, PyAny>,
        share: &DecryptionShare,
    ) -> PyResult<()> {
        let (py, who) = (party.py(), crate::input::party(party)?);
        let ciphertext = ciphertext.valid(self.0.key(), label)?;
        let checked = py.detach(|| self.0.verify(who, &ciphertext, &share.0));
        checked.map_err(|error| refused(&error))
    }

    /// What was encrypted. Only the result is checked; if it is false, `FaultError.culprits` says
    /// whose shares are: leave them out.
    fn combine<'py>(
        &self,
        py: Python<'py>,
        ciphertext: &Ciphertext,
        label: &Bound<'py, PyAny>,
        shares: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let shares = by_party(shares, "shares", |value| {
            item::<DecryptionShare>(value, "a DecryptionShare").map(|share| share.0)
        })?;
        let ciphertext = ciphertext.valid(self.0.key(), label)?;
        let opened = py.detach(|| {
            let quorum = self.0.optimistic(&ciphertext, shares);
            quorum.map(|quorum| quorum.combine())
        });
        let opened = opened.map_err(|error| refused(&error))?.map_err(|error| refused(&error))?;
        Ok(PyBytes::new(py, opened.expose()))
    }

    fn __len__(&self) -> usize {
        self.0.access().len()
    }

    fn __repr__(&self) -> String {
        format!("<DecryptionCommittee of {}, {} shares>", self.__len__(), self.0.threshold())
    }
}

/// One party's shares for decryption. Not printed and not pickled.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct DecryptionKey(pub(crate) elgamal::DecryptionKey);

#[pymethods]
impl DecryptionKey {
    /// Whose share it is, by position.
    #[getter]
    fn party(&self) -> u32 {
        self.0.party().get()
    }

    /// The party's share for a ciphertext, which is checked first.
    fn decrypt_share(
        &self,
        ciphertext: &Ciphertext,
        key: &EncryptionKey,
        label: &Bound<'_, PyAny>,
    ) -> PyResult<DecryptionShare> {
        let (py, ciphertext) = (label.py(), ciphertext.valid(&key.0, label)?);
        let share = py.detach(|| self.0.decrypt_share(&ciphertext));
        share.map(DecryptionShare).map_err(|error| refused(&error))
    }

    fn __repr__(&self) -> String {
        format!("<DecryptionKey of party {}>", self.0.party().get())
    }
}
