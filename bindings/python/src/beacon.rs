//! One party's beacon, driven by hand: the caller is engine, network, disk and clock.
//!
//! Arguments are read here, and the function follows from them; the machine itself is in `driven`.
use std::time::Duration;

use prefinal_beacon::{Bls, Config, Limits, Paths, Sharing, Wvuf};
use prefinal_codes::Detail;
use prefinal_contract::lost::{Life, LifeId};
use prefinal_contract::{Binding, Path};
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_protocol::{Instant, Slot, Value, View};
use pyo3::prelude::*;
use rand_core::Rng;

use crate::bls::Signature;
use crate::driven::{self, Drivable, Driven, Event, finality};
use crate::error::{argument, exception, refused, wrong_type};
use crate::input::{array, bytes, list, number, party, stakes};
use crate::order::named;
use crate::random::generator;
use crate::wvuf::{BlindedKey, VufCommittee, VufOutput};

/// What a beacon says or wants done; a field is there if its kind has it.
#[derive(Default, IntoPyObject)]
pub(crate) struct RawOutput {
    pub(crate) kind: &'static str,
    pub(crate) slot: Option<u64>,
    pub(crate) path: Option<String>,
    pub(crate) party: Option<u32>,
    pub(crate) data: Option<Vec<u8>>,
    pub(crate) signature: Option<Signature>,
    pub(crate) output: Option<VufOutput>,
    pub(crate) code: Option<&'static str>,
    pub(crate) text: Option<String>,
}

/// The keyword arguments of a beacon, as the class in Python passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Arguments<'py> {
    party: Bound<'py, PyAny>,
    stakes: Bound<'py, PyAny>,
    slow: Option<RawSharing<'py>>,
    fast: Option<RawSharing<'py>>,
    tight: Option<RawSharing<'py>>,
    chain: Bound<'py, PyAny>,
    epoch: Bound<'py, PyAny>,
    first: Bound<'py, PyAny>,
    attempt: Option<Bound<'py, PyAny>>,
    records: Option<Bound<'py, PyAny>>,
}

/// A committee, and a party's signer in it; none for a party without shares.
#[derive(FromPyObject)]
struct RawSharing<'py>(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

impl RawSharing<'_> {
    fn read<S: Drivable>(&self) -> PyResult<Sharing<S>> {
        S::sharing(&self.0, self.1.as_ref())
    }
}

impl Arguments<'_> {
    /// Whether the first path that is given is of the weighted VUF.
    fn is_vuf(&self) -> bool {
        let mut given = [&self.slow, &self.fast, &self.tight].into_iter().flatten();
        given.next().is_some_and(|first| first.0.is_instance_of::<VufCommittee>())
    }

    fn paths<S: Drivable>(&self) -> PyResult<Paths<S>> {
        match (&self.slow, &self.fast, &self.tight) {
            (Some(slow), None, None) => Ok(Paths::Slow(slow.read()?)),
            (None, None, Some(tight)) => Ok(Paths::Tight(tight.read()?)),
            (Some(slow), Some(fast), None) => Ok(Paths::FastAndSlow {
                slow: slow.read()?,
                fast: fast.read()?,
                fast_from: Slot::new(0),
            }),
            _ => Err(argument("expected slow, slow and fast, or tight alone", None)),
        }
    }

    fn life(is_later: bool) -> PyResult<Life> {
        if !is_later {
            return Ok(Life::First);
        }
        let mut id = [0; 16];
        generator(None)?.fill_bytes(&mut id);
        Ok(Life::Later(LifeId::new(id)))
    }

    fn start<S: Drivable>(&self) -> PyResult<Box<dyn Driven>> {
        let records = records(self.records.as_ref())?;
        let config = self.config::<S>(records.is_some())?;
        driven::start(config, &records.unwrap_or_default())
    }

    fn config<S: Drivable>(&self, is_later: bool) -> PyResult<Config<S>> {
        let chain = ChainId::new(array(&self.chain, "chain")?);
        let context = Context { chain, epoch: EpochId::new(number(&self.epoch, "epoch")?) };
        let attempt = self.attempt.as_ref().map(|attempt| number(attempt, "attempt"));
        let paths = self.paths::<S>()?;
        let (Paths::Slow(sharing)
        | Paths::Tight(sharing)
        | Paths::FastAndSlow { slow: sharing, .. }) = &paths;
        let finality = finality::<S>(&stakes(&self.stakes)?, &sharing.committee);
        Ok(Config {
            context,
            me: party(&self.party)?,
            paths,
            binding: Binding::Slot,
            fast_attempt: attempt.transpose()?,
            finality: finality.map_err(|error| refused(&error))?,
            first: Slot::new(number(&self.first, "first")?),
            life: Self::life(is_later)?,
            limits: Limits::default(),
        })
    }
}

/// What a machine kept in an earlier life, if there was one.
pub(crate) fn records<R: borsh::BorshDeserialize>(
    given: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Vec<R>>> {
    let read = |at, value: &Bound<'_, PyAny>| {
        borsh::from_slice(&bytes(value)?).map_err(|error| malformed(&error, Some(at)))
    };
    given.map(|records| list(records, "records", read)).transpose()
}

pub(crate) fn malformed(error: &impl ToString, index: Option<usize>) -> PyErr {
    let index = index.and_then(|index| u64::try_from(index).ok());
    let detail = Detail { code: "malformed-message", index, ..Detail::default() };
    exception(&detail, &error.to_string())
}

/// One party's beacon. Each call says what happened, and returns what the beacon wants done, in this order.
#[pyclass(module = "prefinal._core")]
pub(crate) struct Beacon {
    machine: Box<dyn Driven>,
    now: Instant,
}

#[pymethods]
impl Beacon {
    #[new]
    fn new(arguments: Arguments<'_>) -> PyResult<Self> {
        let is_vuf = arguments.is_vuf();
        let machine = if is_vuf { arguments.start::<Wvuf>() } else { arguments.start::<Bls>() };
        Ok(Self { machine: machine?, now: Instant::START })
    }

    fn prefinalize(
        &mut self,
        py: Python<'_>,
        slot: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        attempt: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<RawOutput>> {
        let slot = self::slot(slot)?;
        let view = View::new(slot, number(attempt, "attempt")?);
        let value = Value::new(array(value, "value")?);
        Ok(self.event(py, Event::Prefinalized { slot, view, value }))
    }

    fn finalize(
        &mut self,
        py: Python<'_>,
        slot: &Bound<'_, PyAny>,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<RawOutput>> {
        let value = value.map(|value| array(value, "value").map(Value::new)).transpose()?;
        Ok(self.event(py, Event::Finalized { slot: self::slot(slot)?, value }))
    }

    fn abandon(
        &mut self,
        py: Python<'_>,
        slot: &Bound<'_, PyAny>,
        attempt: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<RawOutput>> {
        let view = View::new(self::slot(slot)?, number(attempt, "attempt")?);
        Ok(self.event(py, Event::Abandoned { view }))
    }

    fn receive(
        &mut self,
        py: Python<'_>,
        sender: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<RawOutput>> {
        let (from, data) = (party(sender)?, bytes(data)?);
        let now = self.now;
        let said = py.detach(|| self.machine.receive(now, from, &data));
        said.map_err(|error| malformed(&error, None))
    }

    fn admit(
        &mut self,
        path: &str,
        party: &Bound<'_, PyAny>,
        key: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<RawOutput>> {
        let path = named("path", path, &[Path::Slow, Path::Fast, Path::Tight])?;
        let key = key.cast::<BlindedKey>().map_err(|_| wrong_type("a BlindedKey", key))?;
        self.machine.admit(self.now, path, self::party(party)?, key.get())
    }

    fn tick(&mut self, py: Python<'_>, now: &Bound<'_, PyAny>) -> PyResult<Vec<RawOutput>> {
        let now = Instant::at(Duration::from_millis(number(now, "now_ms")?));
        if now < self.now {
            let past = self.now.since_start().as_millis();
            return Err(argument(&format!("now_ms is before {past}"), None));
        }
        self.now = now;
        Ok(self.event(py, Event::Tick))
    }

    /// The next slot to be revealed.
    #[getter]
    fn head(&self) -> u64 {
        self.machine.head().get()
    }

    /// When it wants to be told of the time, in milliseconds, rounded up; `None` if nothing is open.
    #[getter]
    fn wake_ms(&self) -> Option<u128> {
        let at = self.machine.wake_at()?.since_start();
        Some(at.as_micros().div_ceil(1000))
    }
}

impl Beacon {
    fn event(&mut self, py: Python<'_>, event: Event) -> Vec<RawOutput> {
        let now = self.now;
        py.detach(|| self.machine.event(now, event))
    }
}

fn slot(value: &Bound<'_, PyAny>) -> PyResult<Slot> {
    number(value, "slot").map(Slot::new)
}

pub(crate) fn encoded(what: &impl borsh::BorshSerialize) -> Option<Vec<u8>> {
    // Writing into memory does not fail.
    borsh::to_vec(what).ok()
}
