//! The simulator: a seeded committee in virtual time, its events as columns.
//!
//! The run has its own thread, for it takes seconds to minutes; the caller's thread collects what
//! it tells, looks at signals and tells of progress. When the caller goes, the run ends with its next
//! portion.
use std::num::NonZeroU32;
use std::ops::ControlFlow;

use prefinal_lab::Failure;
use prefinal_lab::observe::{CostModel, Event, Order, observe};
use prefinal_registry::scheme::Name;
use prefinal_validator::setup::Algorithm;
use prefinal_weighted_rounding::Ratio;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::argument;
use crate::input::{number, stakes};
use crate::work::{Progress, Thread};

/// Slots of a run: more take days.
const MOST_SLOTS: u64 = 1_000_000;

/// What Python passes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Arguments<'py> {
    stakes: Bound<'py, PyAny>,
    regions: Vec<String>,
    scheme: String,
    path: String,
    fast: (u128, u128),
    slots: Bound<'py, PyAny>,
    seed: Bound<'py, PyAny>,
    jitter: Bound<'py, PyAny>,
    cores: Bound<'py, PyAny>,
    costs: Option<String>,
    messages: bool,
}

impl Arguments<'_> {
    fn order(&self) -> PyResult<Order> {
        let fast = Ratio::new(self.fast.0, self.fast.1);
        let (slots, jitter): (u64, u8) =
            (number(&self.slots, "slots")?, number(&self.jitter, "jitter")?);
        let cores = NonZeroU32::new(number(&self.cores, "cores")?);
        if slots == 0 || slots > MOST_SLOTS {
            return Err(argument(&format!("slots is {slots}, expected 1 to {MOST_SLOTS}"), None));
        }
        if jitter > 100 {
            return Err(argument(&format!("jitter is {jitter}, expected 0 to 100"), None));
        }
        Ok(Order {
            stakes: stakes(&self.stakes)?,
            regions: self.regions.clone(),
            scheme: match self.scheme.as_str() {
                "bls" => Name::Bls,
                "wvuf" => Name::Wvuf,
                other => return Err(unknown("scheme", other, "'bls' or 'wvuf'")),
            },
            algorithm: match self.path.as_str() {
                "slow" => Algorithm::Slow,
                "fast" => Algorithm::Fast,
                "tight" => Algorithm::Tight,
                other => return Err(unknown("path", other, "'slow', 'fast' or 'tight'")),
            },
            fast: fast.map_err(|error| crate::error::refused(&error))?,
            slots,
            seed: number(&self.seed, "seed")?,
            jitter,
            cores: cores.ok_or_else(|| argument("cores is 0", None))?,
            charge: match self.costs.as_deref() {
                None => CostModel::Nothing,
                Some("measured") => CostModel::Measured,
                Some(text) => CostModel::Given(text.to_owned()),
            },
            messages: self.messages,
        })
    }
}

fn unknown(what: &str, got: &str, expected: &str) -> PyErr {
    argument(&format!("{what} {got:?}, expected {expected}"), None)
}

/// Events, column by column.
#[derive(Default, IntoPyObject)]
pub(crate) struct Columns {
    time_us: Vec<u64>,
    kind: Vec<&'static str>,
    party: Vec<u32>,
    slot: Vec<u64>,
    path: Vec<Option<String>>,
    sender: Vec<Option<u32>>,
}

impl Columns {
    fn extend(&mut self, events: Vec<Event>) {
        for event in events {
            self.time_us.push(u64::try_from(event.at.as_micros()).unwrap_or(u64::MAX));
            self.kind.push(event.kind);
            self.party.push(event.party);
            self.slot.push(event.slot);
            self.path.push(event.path.map(|path| path.to_string()));
            self.sender.push(event.from);
        }
    }
}

/// What the run's thread tells.
enum ThreadMessage {
    Portion(Vec<Event>, u64),
    Ended(Result<(), Failure>),
}

/// Runs a seeded committee and gives its events.
#[pyfunction]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    arguments: Arguments<'py>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Columns> {
    let order = arguments.order()?;
    let thread = Thread::start(move |tell| {
        let outcome = observe(&order, &mut |events, slots| {
            // Nobody listens any more after an interrupt.
            match tell.send(ThreadMessage::Portion(events, slots)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        drop(tell.send(ThreadMessage::Ended(outcome)));
    })?;
    collect(py, thread, &Progress::new(progress))
}

fn collect<'py>(
    py: Python<'py>,
    mut thread: Thread<ThreadMessage>,
    progress: &Progress<'py>,
) -> PyResult<Columns> {
    let (mut columns, mut done) = (Columns::default(), 0);
    loop {
        match thread.wait(py)? {
            ThreadMessage::Portion(events, slots) => {
                columns.extend(events);
                let new = usize::try_from(slots.saturating_sub(done)).unwrap_or(usize::MAX);
                done = slots;
                progress.advance(py, new)?;
            }
            ThreadMessage::Ended(Ok(())) => return Ok(columns),
            ThreadMessage::Ended(Err(Failure::BadInput(why))) => return Err(argument(&why, None)),
            ThreadMessage::Ended(Err(Failure::Disagreement(why))) => {
                return Err(PyRuntimeError::new_err(why));
            }
        }
    }
}
