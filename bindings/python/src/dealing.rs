//! Dealings, and the key that they add up to.
use std::sync::{Arc, Mutex, PoisonError};

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::curve::Scalar;
use prefinal_crypto_core::elgamal;
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::threshold::{self, KeyShares};
use prefinal_crypto_core::wvuf;
use prefinal_pvss_dkg::{Accepted, Aggregate, Config, Paths, Purpose, SharePath, field};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bls::{hash, shown};
use crate::decryption::{DecryptionCommittee, DecryptionKey};
use crate::dkg::path;
use crate::error::{Refusal, argument, refused};
use crate::input::party;
use crate::registration::RecipientKey;
use crate::threshold::{Committee, Signer, read_purpose};
use crate::wvuf::{VufCommittee, VufShares};

/// Of field elements, or of group elements.
#[derive(Clone)]
pub(crate) enum Kind<F, G> {
    Field(F),
    Group(G),
}

impl<F, G> Kind<F, G> {
    const fn name(&self) -> &'static str {
        match self {
            Self::Field(_) => "field",
            Self::Group(_) => "group",
        }
    }
}

/// A dealing, whether it is verified or not.
type Either<'a> = Kind<&'a field::Dealing, &'a prefinal_pvss_dkg::Dealing>;

impl Either<'_> {
    fn dealer(&self) -> u32 {
        match self {
            Self::Field(one) => one.dealer().get(),
            Self::Group(one) => one.dealer().get(),
        }
    }

    fn shown(&self, class: &str) -> String {
        format!("<{class} of party {}, {}>", self.dealer(), self.name())
    }
}

/// What one party deals to all. Nothing is checked.
#[pyclass(frozen, module = "prefinal", from_py_object)]
#[derive(Clone)]
pub(crate) struct Dealing(pub(crate) Kind<field::Dealing, prefinal_pvss_dkg::Dealing>);

impl Dealing {
    pub(crate) fn verify(self, config: &Config) -> Result<VerifiedDealing, Refusal> {
        Ok(VerifiedDealing(match self.0 {
            Kind::Field(one) => {
                let checked = field::verify(config, one).map_err(|error| Refusal::of(&error))?;
                Kind::Field(Arc::new(checked))
            }
            Kind::Group(one) => {
                let checked =
                    prefinal_pvss_dkg::verify(config, one).map_err(|error| Refusal::of(&error))?;
                Kind::Group(Arc::new(checked))
            }
        }))
    }

    const fn any(&self) -> Either<'_> {
        match &self.0 {
            Kind::Field(one) => Kind::Field(one),
            Kind::Group(one) => Kind::Group(one),
        }
    }

    fn encoded(&self) -> Vec<u8> {
        match &self.0 {
            Kind::Field(one) => one.to_bytes(),
            Kind::Group(one) => one.to_bytes(),
        }
    }
}

#[pymethods]
impl Dealing {
    /// `'field'` or `'group'`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.name()
    }

    /// Who deals, by position.
    #[getter]
    fn dealer(&self) -> u32 {
        self.any().dealer()
    }

    fn __bytes__(&self) -> Vec<u8> {
        self.encoded()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.encoded() == other.encoded()
    }

    fn __hash__(&self) -> u64 {
        hash(&self.encoded())
    }

    fn __repr__(&self) -> String {
        self.any().shown("Dealing")
    }
}

/// A dealing that passed all checks under one configuration.
#[pyclass(frozen, module = "prefinal", from_py_object)]
#[derive(Clone)]
pub(crate) struct VerifiedDealing(
    pub(crate) Kind<Arc<Accepted<field::Dealing>>, Arc<Accepted<prefinal_pvss_dkg::Dealing>>>,
);

impl VerifiedDealing {
    fn any(&self) -> Either<'_> {
        match &self.0 {
            Kind::Field(one) => Kind::Field(one),
            Kind::Group(one) => Kind::Group(one),
        }
    }
}

#[pymethods]
impl VerifiedDealing {
    /// `'field'` or `'group'`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.name()
    }

    /// Who deals, by position.
    #[getter]
    fn dealer(&self) -> u32 {
        self.any().dealer()
    }

    fn __repr__(&self) -> String {
        self.any().shown("VerifiedDealing")
    }
}

/// A key that nobody knows, made by a set of dealers.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct DkgKey {
    config: Arc<Config>,
    key: KeyOfKind,
}

pub(crate) type KeyOfKind = Kind<Arc<field::Key>, Arc<Accepted<Aggregate>>>;

impl DkgKey {
    pub(crate) const fn new(config: Arc<Config>, key: KeyOfKind) -> Self {
        Self { config, key }
    }

    fn public(&self) -> Vec<u8> {
        let key = match &self.key {
            Kind::Field(key) => key.public_key(),
            Kind::Group(key) => key.public_key(),
        };
        key.to_bytes().to_vec()
    }

    /// Names the key and its configuration.
    fn identity(&self) -> [u8; 32] {
        match &self.key {
            Kind::Field(key) => key.digest(),
            Kind::Group(key) => key.digest(),
        }
    }

    fn field(&self) -> PyResult<&field::Key> {
        match &self.key {
            Kind::Field(key) => Ok(key),
            Kind::Group(_) => Err(argument("a key of group elements serves the VUF alone", None)),
        }
    }

    fn group(&self) -> PyResult<&Accepted<Aggregate>> {
        match &self.key {
            Kind::Group(key) => Ok(key),
            Kind::Field(_) => Err(argument("a key of field elements does not serve the VUF", None)),
        }
    }

    fn signing(
        &self,
        py: Python<'_>,
        purpose: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Paths<threshold::SigningCommittee<MinSig>>> {
        let purpose = purpose.map_or(Ok(threshold::Purpose::Rounds), read_purpose)?;
        let key = self.field()?;
        let committees = py.detach(|| key.signing(&self.config, purpose));
        committees.map_err(|error| refused(&error))
    }

    fn decryption(&self, py: Python<'_>) -> PyResult<Paths<elgamal::DecryptionCommittee>> {
        let key = self.field()?;
        let committees = py.detach(|| key.decryption(&self.config));
        committees.map_err(|error| refused(&error))
    }
}

/// A party's own shares of a key, until something is made of them: on each path once. Wiped when they go,
/// not printed and not pickled.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct OwnShares {
    party: Party,
    shares: Mutex<SharesOfKind>,
}

type SharesOfKind = Kind<PathShares<Secret<Vec<Scalar>>>, PathShares<wvuf::KeyShares>>;

struct PathShares<T> {
    slow: Option<T>,
    fast: Option<T>,
}

impl<T> PathShares<T> {
    fn take(&mut self, which: SharePath) -> PyResult<T> {
        let taken = match which {
            SharePath::Slow => self.slow.take(),
            SharePath::Fast => self.fast.take(),
        };
        taken.ok_or_else(|| argument("there are no shares of this path, or they were used", None))
    }
}

impl OwnShares {
    pub(crate) fn new(party: Party, own: Kind<field::Shares, prefinal_pvss_dkg::Shares>) -> Self {
        let shares = match own {
            Kind::Field(field::Shares { slow, fast }) => {
                Kind::Field(PathShares { slow: Some(slow), fast })
            }
            Kind::Group(own) => Kind::Group(PathShares { slow: Some(own.slow), fast: own.fast }),
        };
        Self { party, shares: Mutex::new(shares) }
    }

    fn field(&self, which: SharePath) -> PyResult<Secret<Vec<Scalar>>> {
        match &mut *self.shares.lock().unwrap_or_else(PoisonError::into_inner) {
            Kind::Field(own) => own.take(which),
            Kind::Group(_) => Err(argument("shares of group elements serve the VUF alone", None)),
        }
    }

    fn group(&self, which: SharePath) -> PyResult<wvuf::KeyShares> {
        match &mut *self.shares.lock().unwrap_or_else(PoisonError::into_inner) {
            Kind::Group(own) => own.take(which),
            Kind::Field(_) => Err(argument("shares of field elements do not serve the VUF", None)),
        }
    }
}

#[pymethods]
impl OwnShares {
    /// The party that holds these shares.
    #[getter]
    fn party(&self) -> u32 {
        self.party.get()
    }

    fn __repr__(&self) -> String {
        format!("<OwnShares of party {}>", self.party.get())
    }
}

/// One of two paths, if there is that one.
fn on<T>(paths: Paths<T>, which: SharePath) -> PyResult<T> {
    let one = match which {
        SharePath::Slow => Some(paths.slow),
        SharePath::Fast => paths.fast,
    };
    one.ok_or_else(no_fast_path)
}

fn no_fast_path() -> PyErr {
    argument("there is no fast path", None)
}

#[pymethods]
impl DkgKey {
    /// `'field'` or `'group'`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.key.name()
    }

    /// 96 bytes: what outputs of a field key verify under.
    #[getter]
    fn public_key<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.public())
    }

    /// Whose secrets are in it, ascending.
    #[getter]
    fn dealers(&self) -> Vec<u32> {
        match &self.key {
            Kind::Field(key) => key.dealers().map(Party::get).collect(),
            Kind::Group(key) => key.dealers().map(Party::get).collect(),
        }
    }

    /// Equal for all who added up the same dealings.
    #[getter]
    fn digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.identity())
    }

    /// The committee as signers, on one of the paths.
    #[pyo3(signature = (*, path="slow", purpose=None))]
    fn committee(
        &self,
        py: Python<'_>,
        path: &str,
        purpose: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Committee> {
        on(self.signing(py, purpose)?, self::path(path)?).map(Committee)
    }

    /// Opens a party's own shares, which uses its key up.
    #[pyo3(signature = (party, key))]
    fn open(
        &self,
        py: Python<'_>,
        party: &Bound<'_, PyAny>,
        key: &RecipientKey,
    ) -> PyResult<OwnShares> {
        let (party, config) = (self::party(party)?, &self.config);
        let opened = py.detach(|| match &self.key {
            Kind::Field(sum) => {
                let opened = key.use_up(|key| sum.decrypt(config, party, key))?;
                Ok(Kind::Field(opened.shares))
            }
            Kind::Group(sum) => key.use_up(|key| sum.decrypt(config, party, key)).map(Kind::Group),
        });
        let shares = opened.map_err(|refusal: Refusal| refusal.raise())?;
        Ok(OwnShares::new(party, shares))
    }

    /// A party as a signer, with its own shares, which are used up.
    #[pyo3(signature = (shares, *, path="slow", purpose=None))]
    fn signer(
        &self,
        py: Python<'_>,
        shares: &OwnShares,
        path: &str,
        purpose: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Signer> {
        let which = self::path(path)?;
        let committee = Committee(on(self.signing(py, purpose)?, which)?);
        Signer::check(&committee, KeyShares::new(shares.party, shares.field(which)?))
    }

    /// The committee as those who decrypt, on one of the paths.
    #[pyo3(signature = (*, path="slow"))]
    fn decryption_committee(&self, py: Python<'_>, path: &str) -> PyResult<DecryptionCommittee> {
        on(self.decryption(py)?, self::path(path)?).map(DecryptionCommittee)
    }

    /// A party as one that decrypts, with its own shares, which are used up.
    #[pyo3(signature = (shares, *, path="slow"))]
    fn decryption_key(
        &self,
        py: Python<'_>,
        shares: &OwnShares,
        path: &str,
    ) -> PyResult<DecryptionKey> {
        let which = self::path(path)?;
        let committee = on(self.decryption(py)?, which)?;
        let own = shares.field(which)?;
        let key = elgamal::DecryptionKey::new(&committee, shares.party, own);
        key.map(DecryptionKey).map_err(|error| refused(&error))
    }

    /// The committee of the weighted VUF, on one of the paths.
    #[pyo3(signature = (*, path="slow"))]
    fn vuf_committee(&self, path: &str) -> PyResult<VufCommittee> {
        let (key, which) = (self.group()?, self::path(path)?);
        let made = self.config.session().purpose;
        made.check(Purpose::Randomness).map_err(|error| refused(&error))?;
        let shape = self.config.shape();
        let threshold = shape.threshold(which).ok_or_else(no_fast_path)?;
        let public = key.public_shares(which).ok_or_else(no_fast_path)?.to_vec();
        let committee = wvuf::VufCommittee::new(shape.access().clone(), threshold, public);
        committee.map(VufCommittee::of).map_err(|error| refused(&error))
    }

    /// A party's own shares of the weighted VUF, which are used up.
    #[pyo3(signature = (shares, *, path="slow"))]
    fn vuf_shares(&self, shares: &OwnShares, path: &str) -> PyResult<VufShares> {
        self.group()?;
        Ok(VufShares(shares.group(self::path(path)?)?))
    }

    fn __repr__(&self) -> String {
        let dealers = format!("{} of {} dealers", self.kind(), self.dealers().len());
        shown("DkgKey", &dealers, &self.public())
    }

    /// One public key may be of several sessions, whose shares differ.
    fn __eq__(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }

    fn __hash__(&self) -> u64 {
        hash(&self.identity())
    }
}
