//! Keys that nobody knows: dealings, their verification, their sum, and what each party holds of it.
//!
//! A dealing is of field elements, for threshold signatures and decryption, or of group elements, for
//! the weighted VUF. Who orders dealings and tells parties of them is the caller's engine; `keygen` is the machine
//! that makes one key of that order.
use std::sync::Arc;

use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_pvss_dkg::protocol::{Collect, Place, seal};
use prefinal_pvss_dkg::{
    Aggregate, Config, Dkg, Member, Paths, Purpose, Session, Shape, SharePath, field,
};
use prefinal_weighted_rounding::{Ratio, Stake, Weight};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::bls::{Either, ProvenKey, SecretKey, item};
use crate::dealing::{Dealing, DkgKey, Kind, VerifiedDealing};
use crate::error::{argument, refused};
use crate::input::{array, bytes, list, number, party, weights, whole};
use crate::random::generator;
use crate::registration::Recipient;
use crate::work::Progress;

/// Everything that all parties agree on before the first dealing.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct DkgConfig(pub(crate) Arc<Config>);

/// The keyword arguments of a configuration.
struct Fields<'py> {
    given: Option<&'py Bound<'py, PyDict>>,
}

impl<'py> Fields<'py> {
    fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.given {
            Some(given) => Ok(given.get_item(name)?.filter(|value| !value.is_none())),
            None => Ok(None),
        }
    }

    fn need(&self, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let missing = || PyTypeError::new_err(format!("missing keyword argument {name:?}"));
        self.get(name)?.ok_or_else(missing)
    }

    fn check(&self) -> PyResult<()> {
        const NAMES: [&str; 10] = [
            "chain",
            "epoch",
            "attempt",
            "purpose",
            "signers",
            "recipients",
            "stakes",
            "weights",
            "slow",
            "fast",
        ];
        for name in self.given.into_iter().flat_map(|given| given.keys()) {
            let name: String = name.extract()?;
            if name != "qualify" && !NAMES.contains(&name.as_str()) {
                return Err(PyTypeError::new_err(format!("unexpected keyword argument {name:?}")));
            }
        }
        Ok(())
    }

    fn session(&self) -> PyResult<Session> {
        let chain = ChainId::new(array(&self.need("chain")?, "chain")?);
        let epoch = EpochId::new(number(&self.need("epoch")?, "epoch")?);
        let attempt = self.get("attempt")?.map(|value| number(&value, "attempt")).transpose()?;
        let (context, attempt) = (Context { chain, epoch }, attempt.unwrap_or(0));
        let name: String = self.need("purpose")?.extract()?;
        Ok(Session { context, attempt, purpose: purpose(&name)? })
    }

    fn shape(&self) -> PyResult<Shape> {
        let weights = weights(&self.need("weights")?)?.into_iter().map(Weight::new);
        let weight = |value: &Bound<'_, PyAny>, name| number(value, name).map(Weight::new);
        let slow = weight(&self.need("slow")?, "slow")?;
        let fast = self.get("fast")?.map(|value| weight(&value, "fast")).transpose()?;
        let shape = Shape::new(&weights.collect::<Vec<_>>(), Paths { slow, fast });
        shape.map_err(|error| refused(&error))
    }

    fn members(&self) -> PyResult<Vec<Member>> {
        let signers = list(&self.need("signers")?, "signers", |at, value| {
            match item::<ProvenKey>(value, "a ProvenKey")?.0 {
                Either::MinSig(key) => Ok(key),
                Either::MinPk(_) => Err(argument("expected keys of min-sig", Some(at))),
            }
        })?;
        let recipients = list(&self.need("recipients")?, "recipients", |_, value| {
            item::<Recipient>(value, "a Recipient").map(|recipient| recipient.0)
        })?;
        let stakes = list(&self.need("stakes")?, "stakes", |at, value| {
            whole(value, "stake", Some(at)).map(Stake::new)
        })?;
        if signers.len() != recipients.len() || signers.len() != stakes.len() {
            let (keys, recipients, stakes) = (signers.len(), recipients.len(), stakes.len());
            let why = format!("{keys} signers, {recipients} recipients and {stakes} stakes");
            return Err(argument(&why, None));
        }
        let members = signers.into_iter().zip(recipients).zip(stakes);
        let member = |((signer, encryption), stake)| Member { stake, signer, encryption };
        Ok(members.map(member).collect())
    }
}

/// `'field'` or `'group'`.
pub(crate) fn is_field(kind: &str) -> PyResult<bool> {
    match kind {
        "field" => Ok(true),
        "group" => Ok(false),
        _ => Err(argument(&format!("kind {kind:?}, expected 'field' or 'group'"), None)),
    }
}

/// `'randomness'`, `'certificates'` or `'decryption'`.
fn purpose(name: &str) -> PyResult<Purpose> {
    let found = Purpose::ALL.into_iter().find(|purpose| purpose.to_string() == name);
    let why = "expected 'randomness', 'certificates' or 'decryption'";
    found.ok_or_else(|| argument(&format!("purpose {name:?}, {why}"), None))
}

/// `'slow'` or `'fast'`.
pub(crate) fn path(name: &str) -> PyResult<SharePath> {
    match name {
        "slow" => Ok(SharePath::Slow),
        "fast" => Ok(SharePath::Fast),
        _ => Err(argument(&format!("path {name:?}, expected 'slow' or 'fast'"), None)),
    }
}

#[pymethods]
impl DkgConfig {
    /// `chain` (32 bytes) and `epoch`, with `attempt` counted from 0; the `purpose` that the key is for,
    /// `'randomness'`, `'certificates'` or `'decryption'`, and serves alone; `signers`, `recipients`, `stakes`
    /// and `weights` by position; thresholds `slow` and, if there is one, `fast`; and the stake
    /// `qualify` that dealers must exceed, without it a third.
    #[new]
    #[pyo3(
        signature = (**fields),
        text_signature = "(*, chain, epoch, purpose, signers, recipients, stakes, weights, slow, fast=None, \
                          attempt=0, qualify=None)"
    )]
    fn new(fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let fields = Fields { given: fields };
        fields.check()?;
        let (session, shape, members) = (fields.session()?, fields.shape()?, fields.members()?);
        let qualify = match fields.get("qualify")? {
            Some(stake) => Stake::new(whole(&stake, "qualify", None)?),
            None => {
                let stakes = members.iter().map(|member| member.stake);
                let third = Config::more_than(Ratio::ONE_THIRD, stakes);
                third.map_err(|error| refused(&error))?
            }
        };
        let config = Config::new(session, shape, members, qualify);
        config.map(|config| Self(Arc::new(config))).map_err(|error| refused(&error))
    }

    /// Names the session and everything that was agreed on.
    #[getter]
    fn digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.digest())
    }

    /// What the key is for.
    #[getter]
    fn purpose(&self) -> String {
        self.0.session().purpose.to_string()
    }

    /// How many shares each party holds.
    #[getter]
    fn weights(&self) -> Vec<u32> {
        self.0.shape().access().weights()
    }

    /// The stake that dealers must exceed.
    #[getter]
    fn qualify(&self) -> u128 {
        self.0.qualify().get()
    }

    /// A dealing of a party's, with a fresh secret, encrypted to all.
    #[pyo3(signature = (dealer, signer, *, kind="field", seed=None))]
    fn deal(
        &self,
        dealer: &Bound<'_, PyAny>,
        signer: &SecretKey,
        kind: &str,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Dealing> {
        let (py, config, signer) = (dealer.py(), &self.0, &signer.0.of_one_variant());
        let (dealer, field, mut rng) = (party(dealer)?, is_field(kind)?, generator(seed)?);
        let dealing = py.detach(|| match field {
            true => field::deal(config, dealer, signer, &mut rng).map(Kind::Field),
            false => prefinal_pvss_dkg::deal(config, dealer, signer, &mut rng).map(Kind::Group),
        });
        dealing.map(Dealing).map_err(|error| refused(&error))
    }

    /// The message that a ``Keygen`` would submit if this were its dealing, whatever the bytes are: what a dealer that
    /// does wrong can send, and be accused for.
    #[pyo3(signature = (dealer, signer, data, *, kind="field"))]
    fn envelope<'py>(
        &self,
        dealer: &Bound<'py, PyAny>,
        signer: &SecretKey,
        data: &Bound<'py, PyAny>,
        kind: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (place, data) = (Place { dealer: party(dealer)?, share: None }, bytes(data)?);
        let config = Arc::clone(&self.0);
        let session = match is_field(kind)? {
            true => Dkg::<field::Dealing>::new(config).session(),
            false => Dkg::<prefinal_pvss_dkg::Dealing>::new(config).session(),
        };
        let message = seal(session, place, &data, &signer.0.of_one_variant());
        Ok(PyBytes::new(dealer.py(), &message))
    }

    /// Reads a dealing that somebody sent.
    #[pyo3(signature = (data, *, kind="field"))]
    fn read(&self, data: &Bound<'_, PyAny>, kind: &str) -> PyResult<Dealing> {
        let data = bytes(data)?;
        let read = match is_field(kind)? {
            true => field::Dealing::from_bytes(&self.0, &data).map(Kind::Field),
            false => prefinal_pvss_dkg::Dealing::from_bytes(&self.0, &data).map(Kind::Group),
        };
        read.map(Dealing).map_err(|error| refused(&error))
    }

    /// The dealing as one that counts; raises unless it is right.
    fn verify(&self, py: Python<'_>, dealing: &Dealing) -> PyResult<VerifiedDealing> {
        let (config, dealing) = (&self.0, dealing.clone());
        py.detach(|| dealing.verify(config)).map_err(|refusal| refusal.raise())
    }

    /// A verdict on each dealing, in their order: the verified dealing, or the error.
    #[pyo3(signature = (dealings, *, progress=None))]
    fn verify_all<'py>(
        &self,
        py: Python<'py>,
        dealings: &Bound<'py, PyAny>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let dealings = list(dealings, "dealings", |_, value| item::<Dealing>(value, "a Dealing"))?;
        let progress = Progress::new(progress);
        let mut verdicts = Vec::with_capacity(dealings.len());
        for dealing in dealings {
            let config = &self.0;
            verdicts.push(match py.detach(|| dealing.verify(config)) {
                Ok(good) => Bound::new(py, good)?.into_any(),
                Err(error) => error.raise().into_value(py).into_bound(py).into_any(),
            });
            progress.advance(py, 1)?;
        }
        Ok(verdicts)
    }

    /// The key of verified dealings of one kind; raises `NotEnoughError` if more stake must deal.
    fn aggregate(&self, py: Python<'_>, dealings: &Bound<'_, PyAny>) -> PyResult<DkgKey> {
        let dealings = list(dealings, "dealings", |_, value| {
            item::<VerifiedDealing>(value, "a VerifiedDealing")
        })?;
        let (mut fields, mut groups) = (Vec::new(), Vec::new());
        for dealing in dealings {
            match dealing.0 {
                Kind::Field(one) => fields.push(one),
                Kind::Group(one) => groups.push(one),
            }
        }
        if !fields.is_empty() && !groups.is_empty() {
            return Err(argument("dealings are of both kinds", None));
        }
        let config = Arc::clone(&self.0);
        let key = py.detach(|| match groups.is_empty() {
            true => field::Key::sum(&config, &fields).map(Arc::new).map(Kind::Field),
            false => Aggregate::sum(&config, &groups).map(Arc::new).map(Kind::Group),
        });
        let key = key.map_err(|error| refused(&error))?;
        Ok(DkgKey::new(config, key))
    }

    fn __repr__(&self) -> String {
        let (session, parties) = (self.0.session(), self.0.members().len());
        let (epoch, attempt, purpose) = (session.context.epoch, session.attempt, session.purpose);
        format!("<DkgConfig of {parties}, {purpose}, {epoch}, attempt {attempt}>")
    }
}
