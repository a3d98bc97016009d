//! Rounds of beacons: drand's four schemes, the last of which is ours.
use std::num::NonZeroU32;

use prefinal_crypto_core::drand::{
    self, Randomness, Round, RoundNumber, RoundsError, Schedule, Scheme,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::bls::{hash, hex};
use crate::error::{argument, refused};
use crate::input::{array, bytes, list, number};
use crate::work::Progress;

/// Rounds that are checked between two looks at signals.
const STEP: usize = 128;

type Three<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);
type Four<'py> =
    (Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// Which round, its signature, the signature before, and what the relay says of the randomness.
struct RawRound<'py> {
    number: Bound<'py, PyAny>,
    signature: Bound<'py, PyAny>,
    previous: Option<Bound<'py, PyAny>>,
    randomness: Option<Bound<'py, PyAny>>,
}

impl<'py> RawRound<'py> {
    /// From a tuple of three, or of four.
    fn from_tuple(value: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok((number, signature, previous)) = value.extract::<Three<'py>>() {
            return Ok(Self { number, signature, previous, randomness: None });
        }
        let (number, signature, previous, randomness) = value.extract::<Four<'py>>()?;
        Ok(Self { number, signature, previous, randomness })
    }

    fn read(&self) -> PyResult<Round> {
        Ok(Round {
            number: round_number(&self.number)?,
            signature: bytes(&self.signature)?,
            previous: self.previous.as_ref().map(bytes).transpose()?,
            randomness: self.randomness.as_ref().map(bytes).transpose()?,
        })
    }
}

/// What a client knows of a beacon before it trusts any of its rounds.
#[pyclass(frozen, eq, module = "prefinal")]
#[derive(PartialEq)]
pub(crate) struct ChainInfo {
    pub(crate) info: drand::ChainInfo,
    genesis_seed: [u8; 32],
    beacon_id: String,
}

/// The fields of a beacon's info.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Fields<'py> {
    scheme: String,
    public_key: Bound<'py, PyAny>,
    period: Bound<'py, PyAny>,
    genesis_time: Bound<'py, PyAny>,
    genesis_seed: Bound<'py, PyAny>,
    beacon_id: String,
}

const NAMES: [&str; 6] =
    ["scheme", "public_key", "period", "genesis_time", "genesis_seed", "beacon_id"];

impl<'py> Fields<'py> {
    fn read(given: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        let missing =
            |name: &str| PyTypeError::new_err(format!("missing keyword argument {name:?}"));
        let given = given.ok_or_else(|| missing("scheme"))?;
        for name in given.keys() {
            if !NAMES.iter().any(|known| name.eq(known).unwrap_or(false)) {
                return Err(PyTypeError::new_err(format!("unexpected keyword argument {name}")));
            }
        }
        if !given.contains("beacon_id")? {
            given.set_item("beacon_id", "default")?;
        }
        if let Some(name) = NAMES.iter().find(|name| !given.contains(name).unwrap_or(false)) {
            return Err(missing(name));
        }
        given.extract()
    }
}

#[pymethods]
impl ChainInfo {
    /// From the fields of a beacon's info; `prefinal.drand.chain_info` reads one as relays serve it.
    #[new]
    #[pyo3(
        signature = (**fields),
        text_signature = "(*, scheme, public_key, period, genesis_time, genesis_seed, \
                          beacon_id='default')"
    )]
    fn new(fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let fields = Fields::read(fields)?;
        let scheme: Scheme = fields.scheme.parse().map_err(|error| refused(&error))?;
        let period: u32 = number(&fields.period, "period")?;
        let period = NonZeroU32::new(period).ok_or_else(|| argument("period is 0", None))?;
        let genesis_time = number(&fields.genesis_time, "genesis_time")?;
        let schedule = Schedule { genesis_time, period };
        let genesis_seed = array(&fields.genesis_seed, "genesis_seed")?;
        let key = bytes(&fields.public_key)?;
        let beacon_id = fields.beacon_id;
        let info = drand::ChainInfo::new(scheme, &key, schedule, genesis_seed, &beacon_id);
        let info = info.map_err(|error| refused(&error))?;
        Ok(Self { info, genesis_seed, beacon_id })
    }

    /// How the beacon signs: one of `prefinal.drand.SCHEMES`.
    #[getter]
    fn scheme(&self) -> &'static str {
        self.info.scheme().id()
    }

    /// The key under which its rounds verify, encoded.
    #[getter]
    fn public_key<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.info.key().to_bytes())
    }

    /// Seconds from one round to the next.
    #[getter]
    fn period(&self) -> u32 {
        self.info.schedule().period.get()
    }

    /// When round 1 is due, in seconds of Unix time.
    #[getter]
    fn genesis_time(&self) -> u64 {
        self.info.schedule().genesis_time
    }

    /// What round 1 of a chained beacon follows; 32 bytes.
    #[getter]
    fn genesis_seed<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.genesis_seed)
    }

    /// The beacon's name, as in `quicknet`.
    #[getter]
    fn beacon_id(&self) -> &str {
        &self.beacon_id
    }

    /// What names the chain: compare it with the hash that you know.
    #[getter]
    fn hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.info.hash())
    }

    /// The newest round that is due at a time of Unix; `None` before the first.
    fn round_at(&self, time: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let time = number(time, "time")?;
        Ok(self.info.schedule().round_at(time).map(RoundNumber::get))
    }

    /// When a round is due, in seconds of Unix time; `None` if that is beyond 64 bits.
    fn time_of(&self, round: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        Ok(self.info.schedule().time_of(round_number(round)?))
    }

    /// The randomness of a round; raises unless it is the chain's, and if a relay says another
    /// `randomness`. Two pairings.
    #[pyo3(signature = (round, signature, *, previous=None, randomness=None))]
    fn verify<'py>(
        &self,
        round: Bound<'py, PyAny>,
        signature: Bound<'py, PyAny>,
        previous: Option<Bound<'py, PyAny>>,
        randomness: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let py = round.py();
        let round = RawRound { number: round, signature, previous, randomness }.read()?;
        let randomness = py.detach(|| self.info.verify(&round));
        let randomness = randomness.map_err(|error| refused(&error))?;
        Ok(PyBytes::new(py, randomness.as_bytes()))
    }

    /// The randomness of each round; raises unless all are the chain's, and names those that are not.
    /// Rounds are `(round, signature, previous)`, the last `None` where the scheme has none, or
    /// `(round, signature, previous, randomness)` with what a relay says of the randomness, or `None`.
    #[pyo3(signature = (rounds, *, progress=None))]
    fn verify_all<'py>(
        &self,
        py: Python<'py>,
        rounds: &Bound<'py, PyAny>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let rounds = list(rounds, "rounds", |at, value| {
            let expected = "round, expected (round, signature, previous)";
            let raw = RawRound::from_tuple(value);
            raw.map_err(|_| argument(&format!("at {at}: no {expected}"), Some(at)))?.read()
        })?;
        let progress = Progress::new(progress);
        let mut values: Vec<Randomness> = Vec::with_capacity(rounds.len());
        let mut wrong = RoundsError { faults: Default::default(), of: rounds.len() };
        for (step, some) in rounds.chunks(STEP).enumerate() {
            match py.detach(|| self.info.verify_all(some)) {
                Ok(good) => values.extend(good),
                Err(found) => {
                    let faults = found.faults.into_iter();
                    wrong.faults.extend(faults.map(|(at, fault)| (step * STEP + at, fault)));
                }
            }
            progress.advance(py, some.len())?;
        }
        if wrong.faults.is_empty() {
            Ok(values.iter().map(|value| PyBytes::new(py, value.as_bytes())).collect())
        } else {
            Err(refused(&wrong))
        }
    }

    fn __repr__(&self) -> String {
        format!("<ChainInfo {} {} {}>", self.beacon_id, self.scheme(), hex(&self.info.hash()))
    }

    fn __hash__(&self) -> u64 {
        hash(&self.info.hash())
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let fields = PyDict::new(py);
        fields.set_item("scheme", self.scheme())?;
        fields.set_item("public_key", self.public_key(py))?;
        fields.set_item("period", self.period())?;
        fields.set_item("genesis_time", self.genesis_time())?;
        fields.set_item("genesis_seed", self.genesis_seed(py))?;
        fields.set_item("beacon_id", &self.beacon_id)?;
        Ok((PyTuple::empty(py), fields))
    }
}

pub(crate) fn round_number(value: &Bound<'_, PyAny>) -> PyResult<RoundNumber> {
    let number = number(value, "round")?;
    RoundNumber::new(number).ok_or_else(|| argument("round is 0, the first is 1", None))
}
