//! The paper's latency experiment: how long values are awaited on each path.
//!
//! One committee runs more than once with one seed and one key: with the slow path alone (Algorithm
//! 1), with both paths (Algorithm 3). What one run has computed the other need not.
//!
//! Elsewhere: the committee (`committee`), how waits are shown ([`crate::waits`]).

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use ::beacon::{Foresights, Path, Slot};
use crypto_core::access::Party;
use protocol::Instant;
use sim::{Network, Note, Seat, Simulation, Stop};

use super::committee::{Committee, Ground, Prices, Seen};
use crate::failure::Failure;
use crate::scheme::Keyed;
use crate::setup::Algorithm;
use crate::waits::Waits;

/// Virtual time after which a run has failed.
pub(super) const PATIENCE: Duration = Duration::from_secs(3600);

/// Notes that are kept at a time: the proofs in them would fill the memory.
const KEPT: u64 = 4096;

/// What was noted of a part of a run.
type Notes<S> = Vec<Note<Seen<S>>>;

/// One committee in one place, to be run more than once.
pub(super) struct Experiment<S: Keyed> {
    pub(super) ground: Arc<Ground<S>>,
    pub(super) prices: Prices,
    pub(super) network: Network,
    pub(super) cores: std::num::NonZeroU32,
    pub(super) seed: u64,
    pub(super) slots: u64,
}

/// What a run showed.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) rows: Vec<Row>,
    pub(super) waits: Waits,
    pub(super) by_fast_path: usize,
    /// Virtual time from the start to the first value.
    pub(super) first_value: Duration,
    /// Mean virtual time from one final slot to the next, as the first party saw it.
    pub(super) slot_time: Duration,
    /// How often a party combined the set that it expected.
    pub(super) foresights: Foresights,
    finalized: BTreeMap<(Slot, Party), Instant>,
    values: BTreeMap<Slot, [u8; 32]>,
}

/// One party's wait for one slot.
pub(super) struct Row {
    pub(super) slot: Slot,
    pub(super) party: Party,
    pub(super) path: Path,
    pub(super) wait: Duration,
}

impl<S: Keyed> Experiment<S> {
    /// A simulation of the committee, before its first event.
    pub(super) fn stage(&self, choice: Algorithm) -> Result<Simulation<Committee<S>>, Failure> {
        let mut setup = self.ground.setup().clone();
        setup.fast_after = if choice == Algorithm::Slow { u64::MAX } else { 0 };
        let host = Committee::new(Arc::clone(&self.ground), setup, self.prices)
            .map_err(Failure::bad_input)?;
        let mut world = sim::Setup::new(host.seats(), self.seed, self.network.clone());
        world.cores = self.cores;
        Simulation::new(host, world).map_err(Failure::bad_input)
    }

    /// One run: with the slow path alone, or as the ground was dealt.
    pub(super) fn run(&self, choice: Algorithm) -> Result<Outcome, Failure> {
        self.play(self.stage(choice)?)
    }

    /// Runs a simulation until every party has its values. `take` gets what is noted in portions, each with
    /// how many values parties have by then, and may end the run.
    pub(super) fn watch(
        &self,
        simulation: &mut Simulation<Committee<S>>,
        mut take: impl FnMut(Notes<S>, u64) -> Result<ControlFlow<()>, Failure>,
    ) -> Result<(), Failure> {
        let wanted = self.slots.saturating_mul(u64::from(simulation.host().seats()));
        let (mut seen, mut stop) = (0_u64, Stop::Watcher);
        while seen < wanted && stop == Stop::Watcher {
            let mut noted = 0_u64;
            stop = simulation.run_watching(Instant::at(PATIENCE), |note| {
                seen += u64::from(matches!(note.event, Seen::Revealed(_)));
                noted += 1;
                let halted = matches!(note.event, Seen::Halted(_));
                let enough = seen >= wanted || noted >= KEPT || halted;
                if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            simulation.host().check_halted()?;
            if take(simulation.take_notes(), seen)?.is_break() {
                return Ok(());
            }
        }
        if seen < wanted {
            let what = format!("{seen} of {wanted} values after {stop:?}");
            return Err(Failure::Disagreement(what));
        }
        Ok(())
    }

    /// Runs a simulation until every party has its values.
    pub(super) fn play(
        &self,
        mut simulation: Simulation<Committee<S>>,
    ) -> Result<Outcome, Failure> {
        let mut outcome = Outcome::default();
        self.watch(&mut simulation, |notes, _| {
            notes.iter().try_for_each(|note| outcome.take(note))?;
            Ok(ControlFlow::Continue(()))
        })?;
        outcome.waits = outcome.rows.iter().map(|row| row.wait).collect();
        outcome.slot_time = outcome.mean_slot_time();
        for seat in (0..simulation.host().seats()).map(Seat::new) {
            let beacon = simulation.machine(seat).and_then(|machine| machine.beacon());
            let one = beacon.map(::beacon::Beacon::foresights).unwrap_or_default();
            outcome.foresights.guessed += one.guessed;
            outcome.foresights.right += one.right;
        }
        Ok(outcome)
    }
}

impl Outcome {
    fn take<S: Keyed>(&mut self, note: &Note<Seen<S>>) -> Result<(), Failure> {
        let party = Party::new(note.seat.get());
        let wrong = |what: String| Err(Failure::Disagreement(format!("{party}: {what}")));
        match &note.event {
            Seen::Finalized(slot, _) => drop(self.finalized.insert((*slot, party), note.at)),
            Seen::Revealed(reveal) => {
                let (slot, path, randomness) = (reveal.slot, reveal.path, reveal.randomness());
                if *self.values.entry(slot).or_insert(randomness) != randomness {
                    return wrong(format!("{slot} gets another value"));
                }
                if self.rows.is_empty() {
                    self.first_value = note.at.since_start();
                }
                self.by_fast_path += usize::from(path == Path::Fast);
                let at = self.finalized.get(&(slot, party)).copied().unwrap_or(note.at);
                self.rows.push(Row { slot, party, path, wait: note.at.since(at) });
            }
            // With inputs that have no value no slot is without an output.
            Seen::Skipped(slot) => return wrong(format!("{slot} has no value")),
            Seen::Accused(party, fault) => return wrong(format!("accuses {party}: {fault}")),
            Seen::Refused(why) => return wrong(why.clone()),
            _ => {}
        }
        Ok(())
    }

    /// Whether two runs with one key gave every slot the same value.
    pub(super) fn compare(&self, other: &Self) -> Result<(), Failure> {
        for (slot, value) in &self.values {
            if other.values.get(slot).is_some_and(|other| other != value) {
                return Err(Failure::Disagreement(format!("{slot} differs between the paths")));
            }
        }
        Ok(())
    }

    fn mean_slot_time(&self) -> Duration {
        let at = |slot: &Slot| self.finalized.get(&(*slot, Party::new(0))).copied();
        let mut slots = self.values.keys();
        let ends = slots.next().and_then(at).zip(slots.next_back().and_then(at));
        let gaps = u32::try_from(self.values.len()).unwrap_or(u32::MAX).saturating_sub(1).max(1);
        ends.map_or(Duration::ZERO, |(first, last)| last.since(first) / gaps)
    }
}
