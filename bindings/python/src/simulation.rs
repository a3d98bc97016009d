//! The simulator: a seeded committee in virtual time, its events and its slots as columns.
//!
//! The run has its own thread, for it takes seconds to minutes; the caller's thread collects what
//! it tells, looks at signals and tells of progress. When the caller goes, the run ends with its next
//! portion.
use std::ops::ControlFlow;

use prefinal_lab::Failure;
use prefinal_lab::global::SlotTimes;
use prefinal_lab::local::WaitReason;
use prefinal_lab::observe::{Event, observe};
use pyo3::prelude::*;

use crate::order::{Arguments, failed};
use crate::work::{Progress, Thread};

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
            self.time_us.push(microseconds(event.at));
            self.kind.push(event.kind);
            self.party.push(event.party);
            self.slot.push(event.slot);
            self.path.push(event.path.map(|path| path.to_string()));
            self.sender.push(event.from);
        }
    }
}

/// Global times, column by column.
#[derive(Default, IntoPyObject)]
pub(crate) struct Slots {
    slot: Vec<u64>,
    final_us: Vec<u64>,
    computable_us: Vec<u64>,
    path: Vec<String>,
    premise: Vec<String>,
    // How many parties waited for the value for which reason.
    at_once: Vec<u32>,
    in_order: Vec<u32>,
    computing: Vec<u32>,
    other_votes: Vec<u32>,
    by_proposer: Vec<u32>,
    ramp: Vec<u32>,
    unbound: Vec<u32>,
    link: Vec<u32>,
}

impl Slots {
    pub(crate) fn of(times: Vec<SlotTimes>) -> Self {
        let mut slots = Self::default();
        for times in times {
            slots.slot.push(times.slot.get());
            slots.final_us.push(microseconds(times.finalized.since_start()));
            slots.computable_us.push(microseconds(times.reconstructed.since_start()));
            slots.path.push(times.path.to_string());
            slots.premise.push(times.premise.to_string());
            for reason in WaitReason::ALL {
                slots.column(reason).push(times.waits.of(reason));
            }
        }
        slots
    }

    const fn column(&mut self, reason: WaitReason) -> &mut Vec<u32> {
        match reason {
            WaitReason::AtOnce => &mut self.at_once,
            WaitReason::InOrder => &mut self.in_order,
            WaitReason::Computing => &mut self.computing,
            WaitReason::OtherVotes => &mut self.other_votes,
            WaitReason::ByProposer => &mut self.by_proposer,
            WaitReason::Ramp => &mut self.ramp,
            WaitReason::Unbound => &mut self.unbound,
            WaitReason::Link => &mut self.link,
        }
    }
}

fn microseconds(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// What the run's thread tells.
enum ThreadMessage {
    Portion(Vec<Event>, u64),
    Ended(Result<Vec<SlotTimes>, Failure>),
}

/// Runs a seeded committee and gives its events, and when its slots were final and computable.
#[pyfunction]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    arguments: Arguments<'py>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Columns, Slots)> {
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
) -> PyResult<(Columns, Slots)> {
    let (mut columns, mut done) = (Columns::default(), 0);
    loop {
        match thread.wait(py)? {
            ThreadMessage::Portion(events, slots) => {
                columns.extend(events);
                let new = usize::try_from(slots.saturating_sub(done)).unwrap_or(usize::MAX);
                done = slots;
                progress.advance(py, new)?;
            }
            ThreadMessage::Ended(Ok(times)) => return Ok((columns, Slots::of(times))),
            ThreadMessage::Ended(Err(failure)) => return Err(failed(failure)),
        }
    }
}
