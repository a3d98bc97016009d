//! One seat: its machine, inbox, disk, and the lanes of its processor.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use prefinal_protocol::{Instant, Machine};

use crate::host::{Host, InputOf, RecordOf, Seat, Timed};
use crate::reader::{Readers, Reading};
use crate::rule::Chain;
use crate::time::{Clock, since_start};

/// More wakings than this in one instant, without cost, do not end by themselves.
const SPIN_LIMIT: u32 = 10_000;

/// An item that waits for lane 0.
pub(crate) enum Item<H: Host> {
    Input(InputOf<H>),
    Tick,
}

/// The lane that a job occupies. Lanes other than lane 0 are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Zero,
    Other,
}

/// Lane 0 handles inputs; jobs take the others first.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    zero_busy: bool,
    others_free: u32,
    others: u32,
}

impl Lanes {
    pub(crate) fn new(cores: NonZeroU32) -> Self {
        let others = cores.get() - 1;
        Self { zero_busy: false, others_free: others, others }
    }

    /// Takes a free lane for a job, if there is one.
    pub(crate) fn take_any(&mut self) -> Option<Lane> {
        if let Some(left) = self.others_free.checked_sub(1) {
            self.others_free = left;
            return Some(Lane::Other);
        }
        if self.zero_busy {
            return None;
        }
        self.zero_busy = true;
        Some(Lane::Zero)
    }

    pub(crate) const fn take_zero(&mut self) {
        self.zero_busy = true;
    }

    pub(crate) fn free(&mut self, lane: Lane) {
        match lane {
            Lane::Zero => self.zero_busy = false,
            Lane::Other => self.others_free = self.others.min(self.others_free + 1),
        }
    }

    fn free_all(&mut self) {
        (self.zero_busy, self.others_free) = (false, self.others);
    }
}

/// Counts down, and returns whether this was the last.
fn count_down(left: &mut Option<u64>) -> bool {
    let fewer = left.map(|left| left.saturating_sub(1));
    *left = fewer.filter(|fewer| *fewer > 0);
    fewer == Some(0)
}

pub(crate) struct Station<H: Host> {
    /// The machine; `None` while the seat is down.
    pub(crate) machine: Option<H::Machine>,
    /// Number of crashes so far, so that events of an earlier life are recognized.
    pub(crate) life: u32,
    pub(crate) inbox: VecDeque<Item<H>>,
    pub(crate) jobs: VecDeque<H::Job>,
    pub(crate) readers: Readers<InputOf<H>>,
    pub(crate) lanes: Lanes,
    /// Effects of the current step on lane 0.
    pub(crate) pending: Vec<Timed<H>>,
    pub(crate) disk: Vec<RecordOf<H>>,
    /// Number of records that may still be written before the seat crashes.
    pub(crate) records_to_crash: Option<u64>,
    /// Number of effects that may still be carried out before the seat crashes.
    pub(crate) effects_to_crash: Option<u64>,
    pub(crate) rules: Chain<H::Message>,
    /// Time of the earliest scheduled waking of the rules.
    pub(crate) rules_armed: Option<u64>,
    /// Nanoseconds of work charged to its lanes.
    pub(crate) busy: u64,
    /// The time that the machine is told.
    pub(crate) clock: Clock,
    armed: Option<u64>,
    tick_waits: bool,
    spins: (u64, u32),
}

impl<H: Host> Station<H> {
    pub(crate) fn new(cores: NonZeroU32) -> Self {
        Self {
            machine: None,
            life: 0,
            inbox: VecDeque::new(),
            jobs: VecDeque::new(),
            readers: Readers::new(),
            lanes: Lanes::new(cores),
            pending: Vec::new(),
            disk: Vec::new(),
            records_to_crash: None,
            effects_to_crash: None,
            rules: Chain::new(),
            rules_armed: None,
            busy: 0,
            clock: Clock::default(),
            armed: None,
            tick_waits: false,
            spins: (0, 0),
        }
    }

    /// Drops everything except disk, rules and clock.
    pub(crate) fn stop(&mut self) {
        self.machine = None;
        self.life = self.life.wrapping_add(1);
        self.inbox.clear();
        self.jobs.clear();
        self.readers.clear();
        self.pending.clear();
        self.lanes.free_all();
        (self.armed, self.tick_waits) = (None, false);
    }

    /// Whether the seat crashes after the effect that it has just carried out.
    pub(crate) fn was_last(&mut self, is_record: bool) -> bool {
        let records = is_record && count_down(&mut self.records_to_crash);
        count_down(&mut self.effects_to_crash) || records
    }

    /// The next item for lane 0, if it is free and the machine is up.
    pub(crate) fn next_item(&mut self) -> Option<Item<H>> {
        if self.lanes.zero_busy || self.machine.is_none() {
            return None;
        }
        let item = self.inbox.pop_front()?;
        if matches!(item, Item::Tick) {
            self.tick_waits = false;
        }
        Some(item)
    }

    /// The next job and a lane for it. On lane 0 inputs go first.
    pub(crate) fn next_job(&mut self) -> Option<(H::Job, Lane)> {
        if self.jobs.is_empty() {
            return None;
        }
        let lane = self.lanes.take_any()?;
        self.jobs.pop_front().map(|job| (job, lane))
    }

    /// The next envelope to decode, its link, and a lane for it. Jobs go first.
    pub(crate) fn next_reading(&mut self) -> Option<(Seat, Reading<InputOf<H>>, Lane)> {
        if !self.readers.is_ready() {
            return None;
        }
        let lane = self.lanes.take_any()?;
        self.readers.next().map(|(from, reading)| (from, reading, lane))
    }

    /// The time for which a tick must be scheduled, if none is.
    pub(crate) fn arm(&mut self, now: u64) -> Option<u64> {
        if self.tick_waits {
            return None;
        }
        let at = self.deadline()?.max(now);
        if self.armed.is_some_and(|armed| armed <= at) {
            return None;
        }
        self.armed = Some(at);
        self.armed
    }

    /// A scheduled tick has come: returns whether it went to the inbox. An earlier tick may have
    /// replaced it, and the machine may have changed its deadline.
    pub(crate) fn tick(&mut self, now: u64) -> bool {
        if self.armed != Some(now) {
            return false;
        }
        self.armed = None;
        let due = self.deadline().is_some_and(|at| at <= now);
        if due {
            self.tick_waits = true;
            self.inbox.push_back(Item::Tick);
        }
        due
    }

    /// Counts a waking that cost nothing, and returns whether they go on without end.
    pub(crate) fn spins(&mut self, now: u64) -> bool {
        let count = if self.spins.0 == now { self.spins.1 + 1 } else { 0 };
        self.spins = (now, count);
        count > SPIN_LIMIT
    }

    /// When the machine wants to be woken. The end of time means never.
    fn deadline(&self) -> Option<u64> {
        let wake: Option<Instant> = self.machine.as_ref().and_then(Machine::wake_at);
        wake.map(since_start).filter(|&at| at < u64::MAX).map(|at| self.clock.when(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_take_lane_zero_last() {
        let mut lanes = Lanes::new(NonZeroU32::new(3).unwrap());
        let taken: Vec<_> = std::iter::from_fn(|| lanes.take_any()).collect();
        assert_eq!(taken, [Lane::Other, Lane::Other, Lane::Zero]);
        lanes.free(Lane::Zero);
        lanes.take_zero();
        assert_eq!(lanes.take_any(), None);
        lanes.free(Lane::Other);
        assert_eq!(lanes.take_any(), Some(Lane::Other));
    }
}
