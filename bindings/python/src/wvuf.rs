//! The weighted verifiable unpredictable function: one point from each party, whatever its weight.
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
use prefinal_crypto_core::curve::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use prefinal_crypto_core::generators::{g_hat, h};
use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::wire::Object;
use prefinal_crypto_core::wvuf::{self, Input, KeyShares, Output};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bls::{hash, hex, item, shown};
use crate::error::refused;
use crate::input::{array, by_party, bytes, list, number, secret};
use crate::random::generator;
use crate::shares::{access, by_holder};
use crate::wire::wire_object;

/// What the function is evaluated on: a slot of a chain's epoch, with or without its value.
#[pyclass(frozen, eq, module = "prefinal")]
#[derive(PartialEq)]
pub(crate) struct VufInput(Input);

#[pymethods]
impl VufInput {
    /// `chain` has 32 bytes, and so has `value`.
    #[new]
    #[pyo3(signature = (chain, epoch, slot, *, value=None))]
    fn new(
        chain: &Bound<'_, PyAny>,
        epoch: &Bound<'_, PyAny>,
        slot: &Bound<'_, PyAny>,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let chain = ChainId::new(array(chain, "chain")?);
        let context = Context { chain, epoch: EpochId::new(number(epoch, "epoch")?) };
        let value = value.map(|value| array(value, "value")).transpose()?;
        Ok(Self(Input::new(&context, Slot::new(number(slot, "slot")?), value)))
    }

    /// The identifier of the chain, 32 bytes.
    #[getter]
    fn chain<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.context().chain.as_bytes())
    }

    /// The epoch that the input belongs to.
    #[getter]
    fn epoch(&self) -> u64 {
        self.0.context().epoch.get()
    }

    /// The slot that the input belongs to.
    #[getter]
    fn slot(&self) -> u64 {
        self.0.slot().get()
    }

    /// What the slot is final with; `None` where outputs depend on the slot alone.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.value().map(|value| PyBytes::new(py, &value))
    }

    fn __hash__(&self) -> u64 {
        hash(&self.0.point().to_bytes())
    }

    fn __repr__(&self) -> String {
        let (epoch, slot) = (self.epoch(), self.slot());
        let value = if self.0.value().is_some() { ", with a value" } else { "" };
        format!("<VufInput epoch {epoch}, slot {slot}{value}>")
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, pyo3::types::PyDict>)> {
        let options = pyo3::types::PyDict::new(py);
        options.set_item("value", self.value(py))?;
        let place = (self.chain(py), self.epoch(), self.slot());
        Ok((place.into_pyobject(py)?.into_any(), options))
    }
}

/// Who may evaluate under one path: parties, their shares in the open, and their admitted keys.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct VufCommittee(RwLock<wvuf::VufCommittee>);

impl VufCommittee {
    pub(crate) fn of(committee: wvuf::VufCommittee) -> Self {
        Self(RwLock::new(committee))
    }

    /// No holder of the lock panics, and what it guards stays whole if one does.
    pub(crate) fn get(&self) -> std::sync::RwLockReadGuard<'_, wvuf::VufCommittee> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl VufCommittee {
    /// A committee whose public shares are known to be right, 96 bytes each: from a verified dealing.
    #[new]
    fn new(
        weights: &Bound<'_, PyAny>,
        threshold: &Bound<'_, PyAny>,
        public_shares: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (access, threshold) = access(weights, threshold)?;
        let public = list(public_shares, "public shares", |_, value| {
            G2Affine::from_bytes(&bytes(value)?).map_err(|error| refused(&error))
        })?;
        let committee = wvuf::VufCommittee::new(access, threshold, public);
        committee.map(Self::of).map_err(|error| refused(&error))
    }

    /// A committee with a secret that one dealer knows, and shares by party: for tests and research.
    #[staticmethod]
    #[pyo3(signature = (weights, threshold, *, seed=None))]
    fn deal(
        py: Python<'_>,
        weights: &Bound<'_, PyAny>,
        threshold: &Bound<'_, PyAny>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Self, BTreeMap<u32, VufShares>)> {
        let (access, threshold) = access(weights, threshold)?;
        let mut rng = generator(seed)?;
        let made = py.detach(|| {
            let secret = Secret::new(Scalar::random(&mut rng));
            let polynomial = Polynomial::random(threshold.t(), &secret, &mut rng);
            let shares = polynomial.shares(&Points::of(&access, Placement::RootsOfUnity));
            let own: Vec<_> = shares.expose().iter().map(|share| h() * share).collect();
            let open: Vec<_> = shares.expose().iter().map(|share| g_hat() * share).collect();
            let own = Secret::new(G1Projective::batch_to_affine(&own));
            (own, wvuf::VufCommittee::new(access, threshold, G2Projective::batch_to_affine(&open)))
        });
        let (own, committee) = (made.0, made.1.map_err(|error| refused(&error))?);
        let shares = by_holder(committee.access(), own.expose(), |_, own| {
            Ok(VufShares(KeyShares::new(own)))
        })?;
        Ok((Self::of(committee), shares))
    }

    /// How many shares each party holds.
    #[getter]
    fn weights(&self) -> Vec<u32> {
        self.get().access().weights()
    }

    /// How many shares it takes.
    #[getter]
    fn threshold(&self) -> u32 {
        self.get().threshold().t().get()
    }

    /// 96 bytes for each share, in their order.
    #[getter]
    fn public_shares<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.get().public().iter().map(|share| PyBytes::new(py, &share.to_bytes())).collect()
    }

    /// Whose keys are admitted.
    #[getter]
    fn admitted(&self) -> Vec<u32> {
        self.get().keys().keys().copied().map(Party::get).collect()
    }

    /// Takes in blinded keys by party. Gives those that were refused, with why.
    fn admit<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
    ) -> PyResult<BTreeMap<u32, Bound<'py, PyAny>>> {
        let keys = by_party(keys, "keys", |value| {
            item::<BlindedKey>(value, "a BlindedKey").map(|key| key.0)
        })?;
        let mut refusals = BTreeMap::new();
        let admission = py.detach(|| self.get().admit_all(keys));
        for (party, error) in &admission.refused {
            refusals.insert(party.get(), refused(error).into_value(py).into_bound(py).into_any());
        }
        for key in admission.admitted {
            let party = key.party();
            let inserted =
                py.detach(|| self.0.write().unwrap_or_else(PoisonError::into_inner).insert(key));
            if let Err(error) = inserted {
                let error = refused(&error).into_value(py).into_bound(py).into_any();
                refusals.insert(party.get(), error);
            }
        }
        Ok(refusals)
    }

    /// Raises unless this is the party's partial on the input.
    fn verify_partial(
        &self,
        py: Python<'_>,
        party: &Bound<'_, PyAny>,
        input: &VufInput,
        partial: &VufPartial,
    ) -> PyResult<()> {
        let who = crate::input::party(party)?;
        let checked = py.detach(|| self.get().verify(who, &input.0, &partial.0));
        checked.map_err(|error| refused(&error))
    }

    /// The output of partials by party, all of which are checked first; `FaultError.culprits` says
    /// whose are false: leave them out.
    fn combine(
        &self,
        py: Python<'_>,
        input: &VufInput,
        partials: &Bound<'_, PyAny>,
    ) -> PyResult<VufOutput> {
        let partials = by_party(partials, "partials", |value| {
            item::<VufPartial>(value, "a VufPartial").map(|partial| partial.0)
        })?;
        let output = py.detach(|| {
            let committee = self.get();
            committee.verify_all(&input.0, partials).map(|quorum| wvuf::combine(&quorum))
        });
        output.map(VufOutput).map_err(|error| refused(&error))
    }

    fn __len__(&self) -> usize {
        self.get().access().len()
    }

    fn __repr__(&self) -> String {
        let committee = self.get();
        let (parties, keys) = (committee.access().len(), committee.keys().len());
        format!("<VufCommittee of {parties}, {} shares, {keys} keys>", committee.threshold())
    }
}

/// One party's shares `h^f(j)`. Not printed and not pickled.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct VufShares(pub(crate) KeyShares);

#[pymethods]
impl VufShares {
    /// From 48 bytes for each of the party's shares, in their order.
    #[new]
    fn new(shares: &Bound<'_, PyAny>) -> PyResult<Self> {
        let shares = list(shares, "shares", |_, value| {
            G1Affine::from_bytes(secret(value)?.expose()).map_err(|error| refused(&error))
        })?;
        Ok(Self(KeyShares::new(shares)))
    }

    /// A fresh blinding: what evaluates, and what is published, with a proof that its maker is this
    /// party of this committee. Once for each path and epoch.
    #[pyo3(signature = (committee, party, *, seed=None))]
    fn blind(
        &self,
        py: Python<'_>,
        committee: &VufCommittee,
        party: &Bound<'_, PyAny>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(EvaluationKey, BlindedKey)> {
        let mut rng = generator(seed)?;
        let party = crate::input::party(party)?;
        let (own, open) = py.detach(|| wvuf::blind(&committee.get(), party, &self.0, &mut rng));
        Ok((EvaluationKey(own), BlindedKey(open)))
    }

    /// 48 bytes for each share. Python does not wipe them.
    fn secret_bytes<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.0.expose().iter().map(|share| PyBytes::new(py, &share.to_bytes())).collect()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        format!("<VufShares {}>", self.0.len())
    }
}

/// What one party evaluates with. Not printed and not pickled.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct EvaluationKey(wvuf::EvaluationKey);

impl EvaluationKey {
    /// The same key once more, for a machine that keeps it.
    pub(crate) fn again(&self) -> PyResult<wvuf::EvaluationKey> {
        let key = wvuf::EvaluationKey::from_secret_bytes(&self.0.to_secret_bytes());
        key.map_err(|error| refused(&error))
    }
}

#[pymethods]
impl EvaluationKey {
    /// From its 32 bytes.
    #[new]
    fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let data = secret(data)?;
        let array: Result<[u8; 32], _> = data.expose().as_slice().try_into();
        let (expected, got) = (32, data.expose().len());
        let length = prefinal_crypto_core::curve::DecodeError::Length { expected, got };
        let array = Secret::new(array.map_err(|_| refused(&length))?);
        let key = wvuf::EvaluationKey::from_secret_bytes(&array);
        key.map(Self).map_err(|error| refused(&error))
    }

    /// The party's partial on an input.
    fn evaluate(&self, py: Python<'_>, input: &VufInput) -> VufPartial {
        VufPartial(py.detach(|| self.0.evaluate(&input.0)))
    }

    /// The key's 32 bytes. Python does not wipe them.
    fn secret_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.to_secret_bytes().expose())
    }

    fn __repr__(&self) -> &'static str {
        "<EvaluationKey>"
    }
}

wire_object!(BlindedKey, wvuf::BlindedKey, "What a party publishes once an epoch.", {});
wire_object!(VufPartial, wvuf::Partial, "One party's evaluation: a point whatever its weight.", {});

/// The function's value.
#[pyclass(frozen, eq, module = "prefinal")]
#[derive(PartialEq)]
pub(crate) struct VufOutput(pub(crate) Output);

#[pymethods]
impl VufOutput {
    /// 32 bytes that nobody could know or choose.
    #[getter]
    fn randomness<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.randomness())
    }

    fn __bytes__(&self) -> Vec<u8> {
        self.0.to_bytes().to_vec()
    }

    /// Its bytes in hexadecimal digits.
    fn hex(&self) -> String {
        hex(&self.0.to_bytes())
    }

    fn __repr__(&self) -> String {
        shown("VufOutput", "", &self.0.randomness())
    }

    fn __hash__(&self) -> u64 {
        hash(&self.0.randomness())
    }
}
