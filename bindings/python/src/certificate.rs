//! Quorums of exact stake in one signature.
//!
//! For min-sig, the variant of this workspace's protocols.
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::{self, Elector};
use prefinal_crypto_core::wire::Object;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bls::{Domain, Either, ProvenKey, Signature, hash, hex, item, shown};
use crate::error::{argument, refused};
use crate::input::{by_party, bytes, list, number, whole};

/// Who may sign, with how much stake, and how much of it is a quorum.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct Electorate(certificate::Electorate<MinSig>);

#[pymethods]
impl Electorate {
    /// Keys and stakes by position. Without `quorum` it takes more than two thirds of the stake.
    #[new]
    #[pyo3(signature = (keys, stakes, *, quorum=None))]
    fn new(
        keys: &Bound<'_, PyAny>,
        stakes: &Bound<'_, PyAny>,
        quorum: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let keys =
            list(keys, "keys", |at, value| match item::<ProvenKey>(value, "a ProvenKey")?.0 {
                Either::MinSig(key) => Ok(key),
                Either::MinPk(_) => Err(argument("expected keys of min-sig", Some(at))),
            })?;
        let stakes = list(stakes, "stakes", |at, value| whole(value, "stake", Some(at)))?;
        if keys.len() != stakes.len() {
            let why = format!("{} keys and {} stakes", keys.len(), stakes.len());
            return Err(argument(&why, None));
        }
        let electors = keys.into_iter().zip(stakes).map(|(key, stake)| Elector { key, stake });
        let electors: Vec<_> = electors.collect();
        let electorate = match quorum {
            None => certificate::Electorate::more_than_two_thirds(electors),
            Some(quorum) => {
                certificate::Electorate::with_quorum(electors, number(quorum, "quorum")?)
            }
        };
        electorate.map(Self).map_err(|error| refused(&error))
    }

    /// The stake of all members together.
    #[getter]
    fn total(&self) -> u128 {
        self.0.total()
    }

    /// The least stake that suffices.
    #[getter]
    fn quorum(&self) -> u128 {
        self.0.quorum()
    }

    /// Names the electorate: a digest of keys, stakes and quorum.
    #[getter]
    fn id(&self) -> Vec<u8> {
        self.0.id().to_vec()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// A certificate of votes by party. Raises with the culprits if some are false: leave them out.
    #[pyo3(signature = (message, votes, *, domain=None))]
    fn assemble(
        &self,
        py: Python<'_>,
        message: &Bound<'_, PyAny>,
        votes: &Bound<'_, PyAny>,
        domain: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Certificate> {
        let votes =
            by_party(votes, "votes", |value| match item::<Signature>(value, "a Signature")?.0 {
                Either::MinSig(signature) => Ok(signature),
                Either::MinPk(_) => Err(argument("expected signatures of min-sig", None)),
            })?;
        let (message, domain) = (bytes(message)?, Domain::read(domain)?);
        let made =
            py.detach(|| certificate::Certificate::assemble(&self.0, domain, &message, &votes));
        made.map(|made| Certificate(made.into_inner())).map_err(|error| refused(&error))
    }

    fn __repr__(&self) -> String {
        let (parties, quorum, total) = (self.0.len(), self.0.quorum(), self.0.total());
        format!("<Electorate of {parties}, quorum {quorum} of {total}>")
    }
}

/// A quorum's signature on one message.
#[pyclass(frozen, eq, module = "prefinal")]
#[derive(PartialEq)]
pub(crate) struct Certificate(certificate::Certificate<MinSig>);

#[pymethods]
impl Certificate {
    /// Reads what `bytes` of one gives.
    #[new]
    fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let read = certificate::Certificate::from_wire(&bytes(data)?);
        read.map(Self).map_err(|error| refused(&error))
    }

    /// A certificate of its parts: a bitmap, the least significant bit of the first byte first, and a
    /// signature.
    #[staticmethod]
    fn from_parts(bitmap: &Bound<'_, PyAny>, signature: &Signature) -> PyResult<Self> {
        let Either::MinSig(signature) = signature.0 else {
            return Err(argument("expected a signature of min-sig", None));
        };
        let bitmap = bytes(bitmap)?;
        let bits = bitmap.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
        let signers =
            (0_u32..).map(Party::new).zip(bits).filter_map(|(party, set)| set.then_some(party));
        let signers = certificate::Signers::new(8 * bitmap.len(), signers);
        let signers = signers.map_err(|error| refused(&error))?;
        Ok(Self(certificate::Certificate { signers, signature }))
    }

    /// Who signed, by position.
    #[getter]
    fn signers(&self) -> Vec<u32> {
        self.0.signers.iter().map(Party::get).collect()
    }

    /// The sum of the signers' signatures, encoded.
    #[getter]
    fn signature(&self) -> Signature {
        Signature(Either::MinSig(self.0.signature))
    }

    /// Raises unless a quorum of the electorate signed the message. Two pairings.
    #[pyo3(signature = (electorate, message, *, domain=None))]
    fn verify(
        &self,
        py: Python<'_>,
        electorate: &Electorate,
        message: &Bound<'_, PyAny>,
        domain: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (message, domain) = (bytes(message)?, Domain::read(domain)?);
        let checked = py.detach(|| self.0.verify(&electorate.0, domain, &message).map(drop));
        checked.map_err(|error| refused(&error))
    }

    fn __bytes__(&self) -> Vec<u8> {
        self.0.to_wire()
    }

    /// Its bytes in hexadecimal digits.
    fn hex(&self) -> String {
        hex(&self.0.to_wire())
    }

    fn __repr__(&self) -> String {
        let signers = format!("of {}", self.0.signers.len());
        shown("Certificate", &signers, &self.0.signature.to_bytes())
    }

    fn __hash__(&self) -> u64 {
        hash(&self.0.to_wire())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, (Bound<'py, PyBytes>,)) {
        (py.get_type::<Self>().into_any(), (PyBytes::new(py, &self.0.to_wire()),))
    }
}
