//! Hours of a committee: parties restart and move, and the fast path begins in the middle.
//!
//! The paper's measurement is an average over twelve hours of a chain whose validators come and go, before and after
//! the fast path was deployed. Here it is one run: a slot every [`Schedule::period`], of which the first half uses the
//! slow path alone. All that happens to the parties is drawn before ([`Schedule`]).
//!
//! | incident | what happens                                                                            |
//! |----------|------------------------------------------------------------------------------------------|
//! | restart  | a party stops for a while, and goes on from its disk: it learns from others what it missed |
//! | outage   | so many parties stop at once that the others cannot use the fast path                     |
//! | move     | a party goes on from another region, with the round trips of that region                  |
//!
//! Whatever is down holds less than a third of the stake at any time, so the chain goes on. Engine, beacons and their
//! records are real, partials and signatures ideal at the price of real ones, as in [`dealt`](super).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_beacon::{Path, Slot};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::Instant;
use prefinal_sim::{Disk, Placement, Seat, Simulation, Window};

use self::draw::{Incident, Incidents};
pub use self::draw::{Move, Pause, Schedule};
use super::{Committee, DealtHost, Fact, Mode, World};
use crate::campaign::ideal::Ideal;
use crate::campaign::permissive::FIRST;
use crate::committee::Subject;
use crate::failure::Failure;
use crate::global::{Exceptions, GlobalClock, SlotTimes};
use crate::priced::Priced;
use crate::waits::{Wait, Waits};
use prefinal_validator::setup::Plan;

mod draw;

/// What waits are gathered over.
pub const MINUTE: Duration = Duration::from_secs(60);

/// Slots for which a party that restarts releases nothing early, and which are in flight at most. A chain has 64 of them in
/// half a minute, and here so many would be half an hour.
const WINDOW: u64 = 2;

/// What one minute of the run was like.
#[derive(Debug, Default)]
pub struct Minute {
    /// Number of slots that the first party knew to be final in it.
    pub slots: u64,
    /// Waits for values of slots that a party finalized in it.
    pub waits: Waits,
    /// How many of these values came by the fast path.
    pub by_fast_path: usize,
    /// Values that a party learnt from others after it came back, and those of slots that were final before it had all
    /// of them, for values are revealed in order: in no wait.
    pub caught_up: usize,
}

/// Waits of the slots on one side of the switch.
#[derive(Debug, Default)]
pub struct Phase {
    /// Waits of all parties for all slots.
    pub waits: Waits,
    /// How many values came by the fast path.
    pub by_fast_path: usize,
}

/// What came of a run.
#[derive(Debug)]
pub struct Report {
    /// Each minute from the start to the end.
    pub minutes: Vec<Minute>,
    /// Parties that were down: those of the outages, then the others.
    pub pauses: Vec<Pause>,
    /// Parties that went to another region, in the order of time.
    pub moves: Vec<Move>,
    /// The first slot that may use the fast path.
    pub fast_from: Slot,
    /// When that slot was final at the first party.
    pub switched: Instant,
    /// The slow path alone, then both paths.
    pub phases: [Phase; 2],
    /// What of the two lies in the outage of each half.
    pub outages: [Phase; 2],
    /// When each slot was final and computable, whether anybody knew it: no value could be computed before.
    pub global: Vec<SlotTimes>,
    /// Number of events of the simulation.
    pub events: u64,
}

/// One deployment: its committee, its world and its schedule.
pub struct Deployment<'a> {
    /// The members' stakes, and how they are rounded.
    pub plan: &'a Plan,
    /// Seed of the keys.
    pub keys: u64,
    /// Prices, links and the seed of the rest.
    pub world: &'a World,
    /// How long it takes, and how much happens.
    pub schedule: &'a Schedule,
    /// Where parties are; without it nobody moves.
    pub placement: Option<&'a Placement>,
}

impl Deployment<'_> {
    /// Runs the committee through the schedule, with a look from outside at the end of every virtual minute, which
    /// may end it.
    ///
    /// # Errors
    /// If the plan has no fast path, slots come so fast that a party that was down for a minute cannot catch up,
    /// parties disagree, a value can be computed before its slot is final, a party that is up lacks values at the
    /// end, or the run is ended.
    pub fn run<S: Priced, E: Subject>(
        &self,
        watch: &mut dyn FnMut(Instant) -> ControlFlow<()>,
    ) -> Result<Report, Failure> {
        let Self { plan, keys, world, schedule, placement } = *self;
        let incidents = schedule.draw(plan, placement, world.seed)?;
        let committee = Committee::<Ideal<true>, S>::ideal(plan, keys)?;
        let fast_after = schedule.slots() / 2;
        let fast_from = FIRST.after(fast_after);
        let hand = Arc::new(Ideal::<true>::hand_from(plan, plan.choice, fast_from));
        let period = Some(schedule.period);
        let mode = Mode { period, window: WINDOW, ..Mode::usual(fast_after) };
        let host = committee.host::<E>(hand, mode, world.prices)?;
        let crashed = incidents.pauses.iter().map(|pause| pause.party).collect();
        let exceptions = Exceptions { crashed, ..Exceptions::default() };
        let seats = host.seating.count();
        let clock = GlobalClock::new(&host.setup, exceptions).keyed();
        let mut log = Log::new(clock, &incidents, fast_from, seats);
        let mut around = prefinal_sim::Setup::new(seats, world.seed, world.network.clone());
        around.cores = world.cores;
        let mut simulation = Simulation::new(host, around).map_err(Failure::bad_input)?;
        for pause in &incidents.pauses {
            let seat = Seat::new(pause.party.get());
            simulation.crash(seat, pause.from).map_err(Failure::bad_input)?;
            simulation.restart(seat, pause.until, Disk::Kept).map_err(Failure::bad_input)?;
        }
        log.play(&mut simulation, incidents.stops(), watch)?;
        log.report(incidents, simulation.counters().events)
    }
}

/// What is gathered while a run goes on.
struct Log {
    clock: GlobalClock,
    fast_from: Slot,
    /// When each party came back, in order.
    returns: BTreeMap<Party, Vec<Instant>>,
    /// When the first party knew each slot to be final.
    first_final: BTreeMap<Slot, Instant>,
    /// Slots that a party knows to be final, and of which it has no value yet.
    open: BTreeMap<(Party, Slot), Instant>,
    values: BTreeMap<Slot, [u8; 32]>,
    /// The last slot of which each party has the value.
    heads: Vec<Option<Slot>>,
    /// When a party that came back had the last value that it had missed.
    recovered: BTreeMap<Party, Instant>,
    minutes: BTreeMap<u64, Tally>,
    phases: [Tally; 2],
    outages: [Tally; 2],
    /// The times of the outages.
    windows: [Window; 2],
}

/// Waits that are not sorted yet.
#[derive(Default)]
struct Tally {
    slots: u64,
    waits: Vec<Wait>,
    by_fast_path: usize,
    caught_up: usize,
}

impl Tally {
    fn take(&mut self, wait: Wait, path: Path) {
        self.waits.push(wait);
        self.by_fast_path += usize::from(path == Path::Fast);
    }

    fn phase(self) -> Phase {
        let Self { waits, by_fast_path, .. } = self;
        Phase { waits: waits.into_iter().collect(), by_fast_path }
    }
}

impl Log {
    fn new(clock: GlobalClock, incidents: &Incidents, fast_from: Slot, seats: u32) -> Self {
        let mut returns: BTreeMap<Party, Vec<Instant>> = BTreeMap::new();
        for pause in &incidents.pauses {
            returns.entry(pause.party).or_default().push(pause.until);
        }
        Self {
            clock,
            fast_from,
            returns,
            first_final: BTreeMap::new(),
            open: BTreeMap::new(),
            values: BTreeMap::new(),
            heads: (0..seats).map(|_| None).collect(),
            recovered: BTreeMap::new(),
            minutes: BTreeMap::new(),
            phases: <[Tally; 2]>::default(),
            outages: <[Tally; 2]>::default(),
            windows: incidents.outages,
        }
    }

    /// Runs to the end, from stop to stop.
    fn play<E: Subject, S: Priced>(
        &mut self,
        simulation: &mut Simulation<DealtHost<E, Ideal<true>, S>>,
        stops: Vec<Incident<'_>>,
        watch: &mut dyn FnMut(Instant) -> ControlFlow<()>,
    ) -> Result<(), Failure> {
        for stop in stops {
            // Nobody ends the run before.
            simulation.run_watching(stop.at(), |_| ControlFlow::Continue(()));
            for note in simulation.take_notes() {
                let party = Party::new(note.seat.get());
                if let Some(sign) = note.event.sign() {
                    self.clock.take(party, sign, note.left);
                }
                self.take(party, &note.event, note.at)?;
            }
            match stop {
                Incident::Moves(Move { party, to, .. }) => {
                    let seat = Seat::new(party.get());
                    simulation.relocate(seat, to).map_err(Failure::bad_input)?;
                }
                Incident::Nothing(at) if watch(at).is_break() => {
                    return Err(Failure::Disagreement("the run was ended".to_owned()));
                }
                Incident::Nothing(_) => {}
            }
        }
        Ok(())
    }

    fn take(&mut self, party: Party, fact: &Fact, at: Instant) -> Result<(), Failure> {
        match fact {
            Fact::Act(_) | Fact::Released(..) | Fact::Ordered(..) | Fact::Heard(_) => {}
            Fact::Finalized(slot) => {
                self.open.insert((party, *slot), at);
                if !self.first_final.contains_key(slot) {
                    self.first_final.insert(*slot, at);
                    self.minute(at).slots += 1;
                }
            }
            Fact::Revealed { slot, path, randomness } => {
                if self.values.entry(*slot).or_insert(*randomness) != randomness {
                    let what = format!("{party}: {slot} gets another value");
                    return Err(Failure::Disagreement(what));
                }
                self.revealed(party, *slot, *path, at);
            }
            Fact::Wrong(what) => return Err(Failure::Disagreement(format!("{party}: {what}"))),
        }
        Ok(())
    }

    fn revealed(&mut self, party: Party, slot: Slot, path: Path, at: Instant) {
        let known = self.open.remove(&(party, slot)).unwrap_or(at);
        let Some(head) = self.heads.get_mut(party.index()) else { return };
        // Somebody who restarts says once more what it had said.
        if head.is_some_and(|head| slot <= head) {
            return;
        }
        *head = Some(slot);
        let first = self.first_final.get(&slot).copied().unwrap_or(known);
        let returns = self.returns.get(&party).into_iter().flatten();
        if returns.filter(|back| **back <= at).any(|back| first <= *back) {
            self.recovered.insert(party, at);
            self.minute(at).caught_up += 1;
            return;
        }
        if self.recovered.get(&party).is_some_and(|recovered| known <= *recovered) {
            self.minute(at).caught_up += 1;
            return;
        }
        let wait = Wait { slot, span: at.since(known) };
        self.minute(known).take(wait, path);
        let is_out = self.windows.iter().any(|window| window.holds(known));
        let outages = Some(&mut self.outages).filter(|_| is_out);
        for [slow, both] in std::iter::once(&mut self.phases).chain(outages) {
            let phase = if slot < self.fast_from { slow } else { both };
            phase.take(wait, path);
        }
    }

    fn minute(&mut self, at: Instant) -> &mut Tally {
        self.minutes.entry(at.since_start().as_secs() / MINUTE.as_secs()).or_default()
    }

    /// Closes the run. Whatever was final a minute before the end must have reached everybody.
    fn report(mut self, incidents: Incidents, events: u64) -> Result<Report, Failure> {
        let end = incidents.end.since_start().saturating_sub(MINUTE / 2);
        let due = self.first_final.iter().filter(|(_, at)| at.since_start() < end);
        let due = due.map(|(slot, _)| *slot).max();
        for (party, head) in (0..).map(Party::new).zip(&self.heads) {
            if *head < due {
                let [head, due] = [*head, due].map(|slot| slot.map_or(0, Slot::get));
                let what = format!("{party} has values up to slot {head}, expected {due}");
                return Err(Failure::Disagreement(what));
            }
        }
        let switched = self.first_final.get(&self.fast_from).copied();
        let switched = switched
            .ok_or_else(|| Failure::Disagreement(format!("{} was never final", self.fast_from)))?;
        let last = self.minutes.keys().next_back().map_or(0, |last| last + 1);
        let minutes = (0..last).map(|minute| self.minutes.remove(&minute).unwrap_or_default());
        let minutes = minutes.map(|Tally { slots, waits, by_fast_path, caught_up }| Minute {
            slots,
            waits: waits.into_iter().collect(),
            by_fast_path,
            caught_up,
        });
        Ok(Report {
            minutes: minutes.collect(),
            pauses: incidents.pauses,
            moves: incidents.moves,
            fast_from: self.fast_from,
            switched,
            phases: self.phases.map(Tally::phase),
            outages: self.outages.map(Tally::phase),
            global: self.clock.close(None)?,
            events,
        })
    }
}

/// The time of a minute, of which the first is 0.
fn window(minute: u32) -> Window {
    let from = Instant::START + MINUTE * minute;
    Window::new(from, from + MINUTE)
}

impl Report {
    /// The parties that were down at some time of a minute.
    #[must_use]
    pub fn down(&self, minute: u32) -> BTreeSet<Party> {
        let Window { from, until } = window(minute);
        let pauses = self.pauses.iter();
        let meets = pauses.filter(|pause| pause.from < until && from < pause.until);
        meets.map(|pause| pause.party).collect()
    }

    /// The moves of a minute.
    pub fn moved(&self, minute: u32) -> impl Iterator<Item = &Move> {
        self.moves.iter().filter(move |one| window(minute).holds(one.at))
    }

    /// The paths of the values of a minute: `slow` if it ends before the switch, else `both`.
    #[must_use]
    pub fn paths(&self, minute: u32) -> &'static str {
        if window(minute).until <= self.switched { "slow" } else { "both" }
    }
}

#[cfg(test)]
mod tests {
    use prefinal_validator::setup::{self, Algorithm};
    use prefinal_weighted_rounding::{Ratio, Stake};

    use super::*;

    fn plan() -> Plan {
        let stakes = [40_u64, 30, 20, 10, 10, 5, 1].map(|stake| Stake::new(stake.into())).to_vec();
        Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap()
    }

    fn ended() -> Incidents {
        let window = Window::new(Instant::START, Instant::START);
        let end = Instant::START + MINUTE * 8;
        Incidents { pauses: Vec::new(), moves: Vec::new(), outages: [window; 2], end }
    }

    fn log(fast_from: Slot) -> Log {
        let (setup, _) = setup::found(&plan(), 1).unwrap();
        Log::new(GlobalClock::new(&setup, Exceptions::default()).keyed(), &ended(), fast_from, 7)
    }

    fn revealed(slot: Slot) -> Fact {
        Fact::Revealed { slot, path: Path::Slow, randomness: [1; 32] }
    }

    #[test]
    fn a_party_without_the_values_of_final_slots_fails_the_run() {
        let mut log = log(FIRST);
        for party in (0..7).map(Party::new) {
            log.take(party, &Fact::Finalized(FIRST), Instant::START).unwrap();
            if party != Party::new(3) {
                log.take(party, &revealed(FIRST), Instant::START).unwrap();
            }
        }
        let error = log.report(ended(), 0).unwrap_err().to_string();
        assert!(error.contains("3") && error.contains("up to slot 0, expected 1"), "{error}");
    }

    #[test]
    fn two_values_of_one_slot_fail_the_run() {
        let mut log = log(FIRST);
        log.take(Party::new(0), &revealed(FIRST), Instant::START).unwrap();
        let other = Fact::Revealed { slot: FIRST, path: Path::Slow, randomness: [2; 32] };
        let error = log.take(Party::new(1), &other, Instant::START).unwrap_err();
        assert!(error.to_string().contains("another value"), "{error}");
    }

    #[test]
    fn what_was_final_while_a_party_was_down_is_no_wait() {
        let mut log = log(Slot::new(9));
        let (me, back) = (Party::new(2), Instant::START + MINUTE);
        log.returns.insert(me, vec![back]);
        let [late, later] = [1, 2].map(|more| back + Duration::from_secs(more));
        let after = Duration::from_millis(5);
        let slots = [(FIRST, Instant::START, late), (FIRST.next(), late, late)];
        for (slot, first, known) in slots.into_iter().chain([(FIRST.after(2), later, later)]) {
            log.take(Party::new(0), &Fact::Finalized(slot), first).unwrap();
            log.take(me, &Fact::Finalized(slot), known).unwrap();
            log.take(me, &revealed(slot), known + after).unwrap();
            // Said again after a restart.
            log.take(me, &revealed(slot), known + after).unwrap();
        }
        let minute = &log.minutes[&1];
        assert_eq!((minute.caught_up, minute.waits.len()), (2, 1));
        assert_eq!((minute.waits[0].slot, minute.waits[0].span), (FIRST.after(2), after));
    }
}
