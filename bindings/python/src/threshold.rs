//! Committees that sign with a key that nobody holds.
//!
//! For min-sig. A committee's key is for the rounds of a beacon, whose messages are numbers, or for
//! messages of one domain, and signs nothing else.
use std::collections::BTreeMap;

use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::curve::{G2Affine, Scalar};
use prefinal_crypto_core::polynomial::{Placement, Polynomial};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::threshold::{self, KeyShares, Message, Purpose, Setup};
use prefinal_crypto_core::wire::Object;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::bls::{Domain, Either, PublicKey, Signature, hash, hex, item};
use crate::drand::round_number;
use crate::error::{argument, refused};
use crate::input::{by_party, bytes, list, secret};
use crate::random::generator;
use crate::shares::{access, by_holder};
use crate::wire::wire_object;

/// Parties that sign together, with the keys that their partials are checked against.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct Committee(pub(crate) threshold::SigningCommittee<MinSig>);

/// What a committee's key is for, and where its shares sit.
fn options(given: Option<&Bound<'_, PyDict>>) -> PyResult<(Purpose, Placement)> {
    let (mut purpose, mut placement) = (Purpose::Rounds, Placement::RootsOfUnity);
    for (name, value) in given.into_iter().flatten() {
        match name.extract::<String>()?.as_str() {
            "purpose" => purpose = read_purpose(&value)?,
            "placement" => placement = read_placement(&value)?,
            other => return Err(unknown(other)),
        }
    }
    Ok((purpose, placement))
}

fn unknown(name: &str) -> PyErr {
    pyo3::exceptions::PyTypeError::new_err(format!("unexpected keyword argument {name:?}"))
}

pub(crate) fn read_purpose(value: &Bound<'_, PyAny>) -> PyResult<Purpose> {
    if value.extract::<String>().is_ok_and(|name| name == "rounds") {
        return Ok(Purpose::Rounds);
    }
    match value.extract::<Domain>() {
        Ok(domain) => Ok(Purpose::Messages(domain.domain)),
        Err(_) => Err(argument("purpose, expected 'rounds' or a Domain", None)),
    }
}

fn read_placement(value: &Bound<'_, PyAny>) -> PyResult<Placement> {
    match value.extract::<String>().as_deref() {
        Ok("roots-of-unity") => Ok(Placement::RootsOfUnity),
        Ok("consecutive") => Ok(Placement::Consecutive),
        _ => Err(argument("placement, expected 'roots-of-unity' or 'consecutive'", None)),
    }
}

fn setup(
    weights: &Bound<'_, PyAny>,
    t: &Bound<'_, PyAny>,
    (purpose, placement): (Purpose, Placement),
) -> PyResult<Setup> {
    let (access, threshold) = access(weights, t)?;
    Ok(Setup { access, threshold, placement, purpose })
}

impl Committee {
    fn message(&self, value: &Bound<'_, PyAny>) -> PyResult<Message<MinSig>> {
        message(self.0.purpose(), value)
    }
}

/// A round's number, or bytes, as the purpose asks for.
fn message(purpose: Purpose, value: &Bound<'_, PyAny>) -> PyResult<Message<MinSig>> {
    match purpose {
        Purpose::Rounds => round_number(value).map(Message::round),
        Purpose::Messages(domain) => Ok(Message::new(domain, &bytes(value)?)),
    }
}

#[pymethods]
impl Committee {
    /// A committee of its weights, threshold and keys, which are tested to lie on one polynomial.
    #[new]
    #[pyo3(
        signature = (weights, threshold, group_key, share_keys, **options),
        text_signature = "(weights, threshold, group_key, share_keys, *, purpose='rounds', \
                          placement='roots-of-unity')"
    )]
    fn new(
        weights: &Bound<'_, PyAny>,
        threshold: &Bound<'_, PyAny>,
        group_key: &PublicKey,
        share_keys: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let py = weights.py();
        let setup = setup(weights, threshold, self::options(options)?)?;
        let Either::MinSig(group) = group_key.0 else {
            return Err(argument("expected a group key of min-sig", None));
        };
        let shares = list(share_keys, "share keys", |_, value| {
            G2Affine::from_bytes(&bytes(value)?).map_err(|error| refused(&error))
        })?;
        let made =
            py.detach(|| threshold::SigningCommittee::from_share_keys(setup, &group, shares));
        made.map(Self).map_err(|error| refused(&error))
    }

    /// A committee with a key that one dealer knows, and its signers by party: for tests and research.
    /// Where nobody may know the key, see `prefinal.dkg`.
    #[staticmethod]
    #[pyo3(
        signature = (weights, threshold, *, seed=None, **options),
        text_signature = "(weights, threshold, *, purpose='rounds', placement='roots-of-unity', \
                          seed=None)"
    )]
    fn deal(
        py: Python<'_>,
        weights: &Bound<'_, PyAny>,
        threshold: &Bound<'_, PyAny>,
        seed: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(Self, BTreeMap<u32, Signer>)> {
        let setup = setup(weights, threshold, self::options(options)?)?;
        let mut rng = generator(seed)?;
        let made = py.detach(|| {
            let secret = Secret::new(Scalar::random(&mut rng));
            let polynomial = Polynomial::random(setup.threshold.t(), &secret, &mut rng);
            let commitment = Commitment::commit(&polynomial);
            let committee = threshold::SigningCommittee::from_commitment(setup, &commitment);
            committee.map(|committee| {
                let shares = polynomial.shares(committee.points());
                (committee, shares)
            })
        });
        let (committee, shares) = made.map_err(|error| refused(&error))?;
        let committee = Self(committee);
        let signers = by_holder(committee.0.access(), shares.expose(), |party, own| {
            Signer::check(&committee, KeyShares::new(party, Secret::new(own)))
        })?;
        Ok((committee, signers))
    }

    /// How many shares each party holds.
    #[getter]
    fn weights(&self) -> Vec<u32> {
        self.0.access().weights()
    }

    /// How many shares sign.
    #[getter]
    fn threshold(&self) -> u32 {
        self.0.threshold().t().get()
    }

    /// `'rounds'`, or the domain of its messages.
    #[getter]
    fn purpose<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.0.purpose() {
            Purpose::Rounds => Ok("rounds".into_pyobject(py)?.into_any()),
            Purpose::Messages(domain) => Ok(Domain::known(domain).into_pyobject(py)?.into_any()),
        }
    }

    /// Where shares sit: `roots-of-unity` or `consecutive`.
    #[getter]
    fn placement(&self) -> &'static str {
        match self.0.points().placement() {
            Placement::RootsOfUnity => "roots-of-unity",
            Placement::Consecutive => "consecutive",
        }
    }

    /// What results verify under.
    #[getter]
    fn group_key(&self) -> PublicKey {
        PublicKey(Either::MinSig(self.0.group_key()))
    }

    /// 96 bytes for each share, in their order.
    #[getter]
    fn share_keys<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.0.share_keys().iter().map(|key| PyBytes::new(py, &key.to_bytes())).collect()
    }

    /// Names the committee: a digest of purpose, weights, threshold and keys.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.id())
    }

    /// Raises unless this is the party's partial on the message.
    #[pyo3(name = "verify_partial")]
    fn verify_partial(
        &self,
        py: Python<'_>,
        party: &Bound<'_, PyAny>,
        message: &Bound<'_, PyAny>,
        partial: &Partial,
    ) -> PyResult<()> {
        let (who, message) = (crate::input::party(party)?, self.message(message)?);
        let checked = py.detach(|| partial.0.verify(&self.0, who, &message));
        checked.map_err(|error| refused(&error))
    }

    /// The group's signature of partials by party. Only the result is checked, two pairings; if it is
    /// false, `FaultError.culprits` says whose partials are: leave them out.
    fn combine(
        &self,
        py: Python<'_>,
        message: &Bound<'_, PyAny>,
        partials: &Bound<'_, PyAny>,
    ) -> PyResult<Signature> {
        let partials = by_party(partials, "partials", |value| {
            item::<Partial>(value, "a Partial").map(|partial| partial.0)
        })?;
        let message = self.message(message)?;
        let signature =
            py.detach(|| self.0.optimistic(&message, partials).and_then(|quorum| quorum.combine()));
        let signature = signature.map_err(|error| refused(&error))?;
        Ok(Signature(Either::MinSig(signature)))
    }

    /// Raises unless this is the group's signature on the message.
    fn verify(
        &self,
        py: Python<'_>,
        message: &Bound<'_, PyAny>,
        signature: &Signature,
    ) -> PyResult<()> {
        let message = self.message(message)?;
        let Either::MinSig(signature) = signature.0 else {
            return Err(argument("expected a signature of min-sig", None));
        };
        let checked = py.detach(|| self.0.verify_result(&message, &signature));
        checked.map_err(|error| refused(&error))
    }

    fn __len__(&self) -> usize {
        self.0.access().len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0.id() == other.0.id()
    }

    fn __hash__(&self) -> u64 {
        hash(&self.0.id())
    }

    fn __repr__(&self) -> String {
        let parties = self.0.access().len();
        format!(
            "<Committee of {parties}, {} shares {}>",
            self.0.threshold(),
            hex(&self.0.id()[..8])
        )
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        let options = PyDict::new(py);
        options.set_item("purpose", self.purpose(py)?)?;
        options.set_item("placement", self.placement())?;
        let keys = (self.weights(), self.threshold(), self.group_key(), self.share_keys(py));
        Ok((keys.into_pyobject(py)?.into_any(), options))
    }
}

/// One party's shares of a committee's key, checked against it. Not printed and not pickled.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct Signer {
    signer: threshold::Signer<MinSig>,
    purpose: Purpose,
    secret: Secret<Vec<u8>>,
}

impl Signer {
    pub(crate) fn check(committee: &Committee, shares: KeyShares) -> PyResult<Self> {
        let secret = shares.to_secret_bytes();
        let signer = shares.check(&committee.0).map_err(|error| refused(&error))?;
        Ok(Self { signer, purpose: committee.0.purpose(), secret })
    }

    /// The same shares once more, for a machine that keeps them, if they are of this committee.
    pub(crate) fn again(&self, committee: &Committee) -> PyResult<threshold::Signer<MinSig>> {
        let shares = KeyShares::from_secret_bytes(self.signer.party(), &self.secret);
        let shares = shares.map_err(|error| refused(&error))?;
        shares.check(&committee.0).map_err(|error| refused(&error))
    }
}

#[pymethods]
impl Signer {
    /// From 32 bytes for each of the party's shares, in their order.
    #[new]
    fn new(
        committee: &Committee,
        party: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let shares = KeyShares::from_secret_bytes(crate::input::party(party)?, &secret(data)?);
        Self::check(committee, shares.map_err(|error| refused(&error))?)
    }

    /// The parties that sign, by position.
    #[getter]
    fn party(&self) -> u32 {
        self.signer.party().get()
    }

    /// The party's partial on a message: a round's number, or bytes, as the committee's purpose is.
    fn sign(&self, py: Python<'_>, message: &Bound<'_, PyAny>) -> PyResult<Partial> {
        let message = self::message(self.purpose, message)?;
        let partial = py.detach(|| self.signer.partial(&message));
        partial.map(Partial).map_err(|error| refused(&error))
    }

    /// What makes the signer again. Python does not wipe it.
    fn secret_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.secret.expose())
    }

    fn __repr__(&self) -> String {
        format!("<Signer of party {}>", self.signer.party().get())
    }
}

wire_object!(
    Partial,
    threshold::Partial<MinSig>,
    "What one party adds to a signature: a point for each of its shares.",
    // The number of points stands before them.
    |partial| (format!("of {}", partial.points().len()), 6),
    {
        /// How many shares it is of.
        fn __len__(&self) -> usize {
            self.0.points().len()
        }
    }
);
