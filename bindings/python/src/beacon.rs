//! One party's beacon of threshold BLS, driven by hand: the caller is engine, network, disk and clock.
//!
//! What the machine wants checked is computed at once, so no output asks for it.
use std::time::Duration;

use prefinal_beacon::{
    Bls, Config, Effect, Input, Limits, Message, Output, Paths, Record, Reveal, Sharing,
};
use prefinal_codes::Detail;
use prefinal_contract::lost::{Life, LifeId};
use prefinal_contract::{Binding, Finality, FinalityError, Quorum};
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_protocol::{Instant, Machine, Recipient, Slot, Value, View};
use prefinal_weighted_rounding::{Stake, Weight};
use pyo3::prelude::*;
use rand_core::Rng;

use crate::bls::{Either, Signature};
use crate::error::{argument, exception, refused, wrong_type};
use crate::input::{array, bytes, list, number, party, stakes};
use crate::random::generator;
use crate::threshold::{Committee, Signer};

/// What a beacon says or wants done; a field is there if its kind has it.
#[derive(Default, IntoPyObject)]
pub(crate) struct RawOutput {
    kind: &'static str,
    slot: Option<u64>,
    path: Option<String>,
    party: Option<u32>,
    data: Option<Vec<u8>>,
    signature: Option<Signature>,
    code: Option<&'static str>,
    text: Option<String>,
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
    fn read(self) -> PyResult<Sharing<Bls>> {
        let Self(committee, signer) = self;
        let found = committee.cast::<Committee>();
        let committee = found.map_err(|_| wrong_type("a Committee", &committee))?.get();
        let signer = signer.map(|signer| {
            let found = signer.cast::<Signer>().map_err(|_| wrong_type("a Signer", &signer));
            found?.get().again(committee)
        });
        Ok(Sharing { secret: signer.transpose()?, committee: committee.0.clone() })
    }
}

impl Arguments<'_> {
    fn paths(&mut self) -> PyResult<Paths<Bls>> {
        match (self.slow.take(), self.fast.take(), self.tight.take()) {
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

    fn config(&mut self, is_later: bool) -> PyResult<Config<Bls>> {
        let chain = ChainId::new(array(&self.chain, "chain")?);
        let context = Context { chain, epoch: EpochId::new(number(&self.epoch, "epoch")?) };
        let attempt = self.attempt.as_ref().map(|attempt| number(attempt, "attempt"));
        let paths = self.paths()?;
        let finality = finality(&stakes(&self.stakes)?, &paths);
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

/// What more than two thirds make final, counted as the committees of the paths count.
fn finality(stakes: &[Stake], paths: &Paths<Bls>) -> Result<Finality, FinalityError> {
    let (Paths::Slow(sharing) | Paths::Tight(sharing) | Paths::FastAndSlow { slow: sharing, .. }) =
        paths;
    let weights = sharing.committee.access().weights();
    if stakes.iter().map(|stake| stake.get()).eq(weights.iter().copied().map(u128::from)) {
        return Finality::exact(stakes, Quorum::BYZANTINE);
    }
    let weights: Vec<_> = weights.into_iter().map(Weight::new).collect();
    Finality::rounded(stakes, &weights, Quorum::BYZANTINE)
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

fn malformed(error: &impl ToString, index: Option<usize>) -> PyErr {
    let index = index.and_then(|index| u64::try_from(index).ok());
    let detail = Detail { code: "malformed-message", index, ..Detail::default() };
    exception(&detail, &error.to_string())
}

/// One party's beacon. Each call says what happened, and returns what the beacon wants done, in this order.
#[pyclass(module = "prefinal._core")]
pub(crate) struct Beacon {
    machine: prefinal_beacon::Beacon<Bls>,
    now: Instant,
}

#[pymethods]
impl Beacon {
    #[new]
    fn new(mut arguments: Arguments<'_>) -> PyResult<Self> {
        let records = records(arguments.records.as_ref())?;
        let config = arguments.config(records.is_some())?;
        let machine = prefinal_beacon::Beacon::new(config, &records.unwrap_or_default());
        let machine = machine.map_err(|error| refused(&error))?;
        Ok(Self { machine, now: Instant::START })
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
        Ok(self.handle(py, Input::Prefinalized { slot, view, value }))
    }

    fn finalize(
        &mut self,
        py: Python<'_>,
        slot: &Bound<'_, PyAny>,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<RawOutput>> {
        let value = value.map(|value| array(value, "value").map(Value::new)).transpose()?;
        Ok(self.handle(py, Input::Finalized { slot: self::slot(slot)?, value }))
    }

    fn abandon(
        &mut self,
        py: Python<'_>,
        slot: &Bound<'_, PyAny>,
        attempt: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<RawOutput>> {
        let view = View::new(self::slot(slot)?, number(attempt, "attempt")?);
        Ok(self.handle(py, Input::Abandoned { view }))
    }

    fn receive(
        &mut self,
        py: Python<'_>,
        sender: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<RawOutput>> {
        let (from, data) = (party(sender)?, bytes(data)?);
        let most = self.machine.longest_message(from);
        if data.len() > most {
            let why = format!("a message of {} bytes, expected {most} at most", data.len());
            return Err(malformed(&why, None));
        }
        let message = py.detach(|| borsh::from_slice(&data));
        let message = message.map_err(|error| malformed(&error, None))?;
        Ok(self.handle(py, Input::Received { from, message }))
    }

    fn tick(&mut self, py: Python<'_>, now: &Bound<'_, PyAny>) -> PyResult<Vec<RawOutput>> {
        let now = Instant::at(Duration::from_millis(number(now, "now_ms")?));
        if now < self.now {
            let past = self.now.since_start().as_millis();
            return Err(argument(&format!("now_ms is before {past}"), None));
        }
        self.now = now;
        Ok(self.handle(py, Input::Tick))
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
    fn handle(&mut self, py: Python<'_>, input: Input<Bls>) -> Vec<RawOutput> {
        py.detach(|| {
            self.machine.handle(self.now, input);
            self.outputs()
        })
    }

    fn outputs(&mut self) -> Vec<RawOutput> {
        let mut said = Vec::new();
        while let Some(output) = self.machine.poll() {
            match output {
                Output::Keep(record) => said.push(kept("keep", &record)),
                Output::Note(record) => said.push(kept("note", &record)),
                Output::Do(Effect::Check(job)) => {
                    self.machine.handle(self.now, Input::Checked(job.run()));
                }
                Output::Do(effect) => said.extend(wanted(effect)),
            }
        }
        said
    }
}

fn slot(value: &Bound<'_, PyAny>) -> PyResult<Slot> {
    number(value, "slot").map(Slot::new)
}

pub(crate) fn encoded(what: &impl borsh::BorshSerialize) -> Option<Vec<u8>> {
    // Writing into memory does not fail.
    borsh::to_vec(what).ok()
}

fn kept(kind: &'static str, record: &Record) -> RawOutput {
    let (slot, text) = match record {
        Record::Released { slot, .. } => (*slot, "released"),
        Record::Finalized { slot, .. } => (*slot, "finalized"),
        Record::Abandoned { view } => (view.slot, "abandoned"),
        Record::Revealed { slot } => (*slot, "revealed"),
        Record::Switched(switch) => (switch.from, "switched"),
        Record::WasOff { first, .. } => (*first, "was-off"),
        Record::PassedOver { first, .. } => (*first, "passed-over"),
    };
    let (slot, text) = (Some(slot.get()), Some(text.to_owned()));
    RawOutput { kind, slot, text, data: encoded(record), ..RawOutput::default() }
}

fn wanted(effect: Effect<Bls>) -> Option<RawOutput> {
    let of = |kind, slot: Slot| RawOutput { kind, slot: Some(slot.get()), ..RawOutput::default() };
    Some(match effect {
        Effect::Check(_) => return None,
        Effect::Send { to, message } => sent(to, &message),
        Effect::Lookup { to, slots } => RawOutput {
            kind: "lookup",
            slot: slots.first().map(|slot| slot.get()),
            party: Some(to.get()),
            ..RawOutput::default()
        },
        Effect::Reveal(reveal) => revealed(&reveal),
        Effect::Skipped { slot } => of("skipped", slot),
        Effect::Off { slot } => of("off", slot),
        Effect::Stalled { slot } => of("stalled", slot),
        Effect::Accuse { party, fault } => RawOutput {
            kind: "accuse",
            party: Some(party.get()),
            code: Some(fault.code()),
            text: Some(fault.to_string()),
            ..RawOutput::default()
        },
        Effect::Refused(refusal) => RawOutput {
            kind: "refused",
            code: Some(refusal.code()),
            text: Some(refusal.to_string()),
            ..RawOutput::default()
        },
    })
}

fn sent(to: Recipient<prefinal_crypto_core::access::Party>, message: &Message<Bls>) -> RawOutput {
    let (path, text) = match message {
        Message::Partial { path, .. } => (Some(path.to_string()), "partial"),
        Message::Request { .. } => (None, "request"),
        Message::Show { .. } => (None, "show"),
        Message::Output { path, .. } => (Some(path.to_string()), "output"),
        Message::AskHead { .. } => (None, "ask-head"),
        Message::Head { .. } => (None, "head"),
    };
    RawOutput {
        kind: "send",
        slot: message.slot().map(Slot::get),
        path,
        party: match to {
            Recipient::All => None,
            Recipient::One(party) => Some(party.get()),
        },
        data: encoded(message),
        text: Some(text.to_owned()),
        ..RawOutput::default()
    }
}

fn revealed(reveal: &Reveal<Bls>) -> RawOutput {
    RawOutput {
        kind: "reveal",
        slot: Some(reveal.slot.get()),
        path: Some(reveal.path.to_string()),
        data: Some(reveal.randomness().to_vec()),
        signature: Some(Signature(Either::MinSig(reveal.output))),
        ..RawOutput::default()
    }
}
