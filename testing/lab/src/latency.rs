//! The paper's latency experiment: how long parties wait for values on each path.
//!
//! One committee runs more than once with one seed and one key: with the slow path alone (Algorithm 1),
//! and with both paths (Algorithm 3). Results computed in one run are reused in the other.

use crate::priced::Priced;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_beacon::{Foresights, Path, Slot};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_protocol::Instant;
use prefinal_sim::{Network, Note, Seat, Simulation, Stop};

use super::committee::{Ground, Observation, Prices, Subject, ValidatorHost};
use crate::failure::Failure;
use crate::global::{Exceptions, GlobalClocks, SlotTimes};
use crate::local::Imperfections;
use crate::timeline::{Part, SlotTimeline, timelines};
use crate::waits::{Wait, Waits};
use prefinal_validator::setup::{Algorithm, FIRST};

/// Virtual time after which a run has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3600);

/// What a slot takes at least, on an engine that waits for no job.
pub(crate) const INSTANT: Duration = Duration::from_millis(1);

/// Notes that are kept at a time: the proofs in them would fill the memory.
pub(crate) const KEPT: u64 = 4096;

/// When a run ends.
pub(crate) enum Goal {
    /// All parties together have as many values as if each had its own.
    Together,
    /// Each party has its values, but for some that are down for good.
    Each {
        /// The seats that are not waited for.
        absent: BTreeSet<Seat>,
    },
}

impl Goal {
    fn awaits(&self, seat: Seat) -> bool {
        !matches!(self, Self::Each { absent } if absent.contains(&seat))
    }

    /// How many of so many parties are waited for.
    pub(crate) fn awaited(&self, seats: u32) -> u64 {
        let awaited = (0..seats).filter(|seat| self.awaits(Seat::new(*seat)));
        u64::try_from(awaited.count()).unwrap_or(u64::MAX)
    }
}

/// What was noted of a part of a run.
type Notes<S> = Vec<Note<Observation<S>>>;

/// One committee in one place, for several runs.
pub struct Experiment<S: Priced> {
    /// The committee's keys, and what runs have computed with them so far.
    pub ground: Arc<Ground<S>>,
    /// The price of work.
    pub prices: Prices,
    /// The links between the parties.
    pub network: Network,
    /// Cores of each party.
    pub cores: std::num::NonZeroU32,
    /// Seed of the simulation. Everything that varies on the links follows from it.
    pub seed: u64,
    /// Number of slots that get a value.
    pub slots: u64,
}

/// The results of a run.
#[derive(Default)]
pub struct Outcome {
    /// The wait of each party for each slot, in the order in which values came.
    pub rows: Vec<Row>,
    /// The same waits, without parties.
    pub waits: Waits,
    /// Number of values that came by the fast path.
    pub by_fast_path: usize,
    /// Virtual time from the start to the first value.
    pub first_value: Duration,
    /// Mean virtual time from one final slot to the next, as the first party saw it.
    pub slot_time: Duration,
    /// How often a party combined the set of partials that it had predicted.
    pub foresights: Foresights,
    /// When each slot was final, and its value computable, whether anybody knew it or not.
    pub global: Vec<SlotTimes>,
    finalized: BTreeMap<(Slot, Party), Instant>,
    values: BTreeMap<Slot, [u8; 32]>,
    /// Where a key begins that was made in this run: its values are this run's.
    own_key: Option<Slot>,
    /// The first slot of each epoch.
    pub epochs: BTreeMap<EpochId, Slot>,
}

/// One party's wait for one slot.
pub struct Row {
    /// The slot whose value was awaited.
    pub slot: Slot,
    /// The party that waited.
    pub party: Party,
    /// The path that gave the value first.
    pub path: Path,
    /// Time from finality to the value.
    pub wait: Duration,
}

impl<S: Priced> Experiment<S> {
    /// A simulation of the committee, before its first event.
    pub(crate) fn stage<E: Subject>(
        &self,
        choice: Algorithm,
    ) -> Result<Simulation<ValidatorHost<S, E>>, Failure> {
        self.stage_with_twins(choice, BTreeSet::new())
    }

    /// The same with one more seat for each of these parties.
    pub(crate) fn stage_with_twins<E: Subject>(
        &self,
        choice: Algorithm,
        twins: BTreeSet<Party>,
    ) -> Result<Simulation<ValidatorHost<S, E>>, Failure> {
        let mut setup = self.ground.setup().clone();
        setup.fast_after = if choice == Algorithm::Slow { u64::MAX } else { 0 };
        if E::OUTRUNS_JOBS {
            // Where links take no time its slots would take none, and no job would ever end.
            setup.pace.pause = setup.pace.pause.max(INSTANT);
        }
        let host = ValidatorHost::<S, E>::new(Arc::clone(&self.ground), setup, self.prices)
            .map_err(Failure::bad_input)?
            .with_twins(twins);
        let mut world = prefinal_sim::Setup::new(host.seats(), self.seed, self.network.clone());
        world.cores = self.cores;
        Simulation::new(host, world).map_err(Failure::bad_input)
    }

    /// Makes one run: with the slow path alone, or with the paths for which the ground was dealt.
    ///
    /// # Errors
    /// If parties disagree or do not finish.
    pub fn run<E: Subject>(&self, choice: Algorithm) -> Result<Outcome, Failure> {
        self.play(self.stage::<E>(choice)?)
    }

    /// Runs the slow path alone and both paths, on two threads that share what they compute.
    ///
    /// # Errors
    /// If parties disagree or do not finish.
    pub fn both<E: Subject>(&self) -> Result<(Outcome, Outcome), Failure> {
        // What the engine refuses, it refuses before the keys are made.
        drop(self.stage::<E>(Algorithm::Slow)?);
        self.ground.deal();
        std::thread::scope(|scope| {
            let slow = scope.spawn(|| self.run::<E>(Algorithm::Slow));
            let fast = self.run::<E>(Algorithm::Fast);
            let slow = slow
                .join()
                .map_err(|_| Failure::Disagreement("the slow run ended in a panic".to_owned()))?;
            Ok((slow?, fast?))
        })
    }

    /// Runs a simulation until parties have their values. `take` gets what is noted in portions, each with how many
    /// values parties have by then and with the host, and may end the run.
    pub(crate) fn watch<E: Subject>(
        &self,
        simulation: &mut Simulation<ValidatorHost<S, E>>,
        goal: &Goal,
        mut take: impl FnMut(Notes<S>, u64, &ValidatorHost<S, E>) -> Result<ControlFlow<()>, Failure>,
    ) -> Result<(), Failure> {
        let wanted = self.slots.saturating_mul(goal.awaited(simulation.host().seats()));
        let (mut seen, mut stop) = (0_u64, Stop::Watcher);
        let mut values: BTreeMap<Seat, (Slot, u64)> = BTreeMap::new();
        let mut is_counted = |note: &Note<Observation<S>>| match (&note.event, goal) {
            (Observation::Revealed(_), Goal::Together) => true,
            (Observation::Revealed(reveal), Goal::Each { .. }) => {
                // A party that comes back from a crash may have a value twice.
                let (last, count) = values.entry(note.seat).or_insert((reveal.slot, 0));
                if *count == 0 || *last < reveal.slot {
                    (*last, *count) = (reveal.slot, *count + 1);
                    return *count <= self.slots && goal.awaits(note.seat);
                }
                false
            }
            _ => false,
        };
        while seen < wanted && stop == Stop::Watcher {
            let mut noted = 0_u64;
            stop = simulation.run_watching(Instant::at(PATIENCE), |note| {
                seen += u64::from(is_counted(note));
                noted += 1;
                let halted = matches!(note.event, Observation::Halted(_));
                let enough = seen >= wanted || noted >= KEPT || halted;
                if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            simulation.host().check_halted()?;
            let notes = simulation.take_notes();
            if take(notes, seen, simulation.host())?.is_break() {
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
    pub(crate) fn play<E: Subject>(
        &self,
        mut simulation: Simulation<ValidatorHost<S, E>>,
    ) -> Result<Outcome, Failure> {
        let mut outcome = Outcome::default();
        // Everybody is honest, and nobody crashes.
        let imperfections = Imperfections::new(self.prices, &self.network);
        let exceptions = Exceptions { imperfections, ..Exceptions::default() };
        let mut clocks = GlobalClocks::new(exceptions);
        self.watch(&mut simulation, &Goal::Together, |notes, _, host| {
            clocks.learn(&host.setups());
            for note in &notes {
                clocks.take(Party::new(note.seat.get()), note);
                outcome.take(note)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        outcome.global = clocks.close()?;
        outcome.close();
        for seat in (0..simulation.host().seats()).map(Seat::new) {
            let beacon = simulation.machine(seat).and_then(|machine| machine.beacon());
            let one = beacon.map(::prefinal_beacon::Beacon::foresights).unwrap_or_default();
            outcome.foresights.guessed += one.guessed;
            outcome.foresights.right += one.right;
        }
        Ok(outcome)
    }
}

impl Outcome {
    fn take<S: Priced>(&mut self, note: &Note<Observation<S>>) -> Result<(), Failure> {
        let party = Party::new(note.seat.get());
        let wrong = |what: String| Err(Failure::Disagreement(format!("{party}: {what}")));
        match &note.event {
            Observation::Finalized(slot, _) => self.finalized(*slot, party, note.at),
            Observation::Revealed(reveal) => {
                let value = (reveal.path, reveal.randomness());
                self.revealed(reveal.slot, party, value, note.at)?;
            }
            Observation::Ready { epoch, first, committees } => {
                self.epochs.insert(*epoch, *first);
                if *epoch != FIRST && S::public_key(&committees.slow).is_none() {
                    self.own_key = Some(self.own_key.map_or(*first, |known| known.min(*first)));
                }
            }
            // With inputs that have no value no slot is without an output.
            Observation::Skipped(slot) => return wrong(format!("{slot} has no value")),
            Observation::Accused(party, fault) => {
                return wrong(format!("accuses {party}: {fault}"));
            }
            Observation::Refused(why) => return wrong(why.clone()),
            _ => {}
        }
        Ok(())
    }

    /// A slot is final at a party.
    pub(crate) fn finalized(&mut self, slot: Slot, party: Party, at: Instant) {
        self.finalized.insert((slot, party), at);
    }

    /// A party has the value of a slot, and by which path.
    pub(crate) fn revealed(
        &mut self,
        slot: Slot,
        party: Party,
        (path, randomness): (Path, [u8; 32]),
        at: Instant,
    ) -> Result<(), Failure> {
        if *self.values.entry(slot).or_insert(randomness) != randomness {
            return Err(Failure::Disagreement(format!("{party}: {slot} gets another value")));
        }
        if self.rows.is_empty() {
            self.first_value = at.since_start();
        }
        self.by_fast_path += usize::from(path == Path::Fast);
        let final_at = self.finalized.get(&(slot, party)).copied().unwrap_or(at);
        self.rows.push(Row { slot, party, path, wait: at.since(final_at) });
        Ok(())
    }

    /// Computes what follows from all rows, when there are no more.
    pub(crate) fn close(&mut self) {
        self.waits = self.rows.iter().map(|row| Wait { slot: row.slot, span: row.wait }).collect();
        self.slot_time = self.mean_slot_time();
    }

    /// What happened to each slot, for those of which everything is known.
    #[must_use]
    pub fn timelines(&self) -> Vec<SlotTimeline> {
        let parts = self.rows.iter().filter_map(|&Row { slot, party, wait, .. }| {
            let known = self.finalized.get(&(slot, party)).copied()?;
            Some(Part { slot, known, wait })
        });
        timelines(&self.global, parts)
    }

    /// Checks that two runs with one key gave every slot the same value.
    ///
    /// # Errors
    /// [`Failure::Disagreement`] with the first slot that differs.
    pub fn compare(&self, other: &Self) -> Result<(), Failure> {
        let end = self.own_key.into_iter().chain(other.own_key).min();
        let common = self.values.iter().filter(|(slot, _)| end.is_none_or(|end| **slot < end));
        for (slot, value) in common {
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
