//! One execution: a board, a script, a verdict.
//!
//! Until the network heals, what was drawn happens. Then every honest party has to come back and to
//! reveal every slot up to some that became final after healing. All along, the partials that an
//! honest party keeps are counted: for each slot from the first that it has not revealed to the end of
//! its window at most one of each party and path.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ::beacon::{Limits, Slot, Value};
use crypto_core::access::Party;
use machine::Instant;
use sim::{Disk, Seat, Simulation, Stop};

use super::board::Board;
use super::draw::Draw;
use super::forge::Forge;
use super::tally::{Kind, Tally};
use super::vice::{Sinner, Vice};
use crate::failure::Failure;
use crate::setup::Algorithm;
use crate::simulate::check::{Summary, Trial, Violation};
use crate::simulate::committee::{Committee, Knowledge, Prices, Seen};
use crate::validator::{Input, Message};

/// What a job of the engine takes.
const WORK: Duration = Duration::from_millis(1);
/// What the engine gives a round: not much more than it takes around the world.
pub(super) const ROUND: Duration = Duration::from_millis(700);
/// How often it is looked who is down.
const SLICE: Duration = Duration::from_millis(100);
/// After healing, before an honest party has revealed what it must.
const PATIENCE: Duration = Duration::from_secs(900);
/// Far more than an execution takes; against machines that keep each other busy for ever.
const MOST_EVENTS: u64 = 5_000_000;
/// Slots that have to become final after healing.
const AFTER_HEALING: u64 = 5;

/// How an execution went.
#[derive(Clone, Debug)]
pub(super) struct Played {
    pub(super) outcome: Result<Summary, Violation>,
    pub(super) tally: Tally,
    /// Most partials that an honest party kept.
    pub(super) most_kept: usize,
    /// Virtual time.
    pub(super) took: Duration,
    /// Of every event, in order.
    pub(super) fingerprint: u64,
}

/// An execution under way.
struct Stage<'a, S: Forge> {
    board: &'a Board<S>,
    draw: &'a Draw,
    faulty: BTreeSet<Party>,
    simulation: Simulation<Committee<S>>,
    tally: Rc<RefCell<Tally>>,
    stumbles: Vec<(Seat, u64, Duration)>,
    /// When who is to be up again at the latest.
    up_at: BTreeMap<Seat, Instant>,
    read: usize,
    first: Option<Slot>,
    blocks: BTreeMap<Slot, Option<Value>>,
    finalized: BTreeMap<Seat, Slot>,
    revealed: BTreeMap<Seat, Slot>,
    most_kept: usize,
}

/// Plays one execution. What is known of the board's values goes in and comes out.
pub(super) fn play<S: Forge>(
    seed: u64,
    draw: &Draw,
    board: &Board<S>,
    knowledge: Knowledge<S>,
) -> Result<(Played, Knowledge<S>), Failure> {
    let mut stage = Stage::new(seed, draw, board, knowledge)?;
    let outcome = stage.run().and_then(|()| stage.check());
    let tally = stage.tally.borrow().clone();
    let played = Played {
        outcome,
        tally,
        most_kept: stage.most_kept,
        took: stage.simulation.now().since_start(),
        fingerprint: stage.simulation.fingerprint(),
    };
    let knowledge = stage.simulation.into_host().into_knowledge().unwrap_or_default();
    Ok((played, knowledge.for_next_run()))
}

impl<'a, S: Forge> Stage<'a, S> {
    fn new(
        seed: u64,
        draw: &'a Draw,
        board: &'a Board<S>,
        knowledge: Knowledge<S>,
    ) -> Result<Self, Failure> {
        let mut setup = board.ground.setup().clone();
        setup.fast_after = if board.algorithm == Algorithm::Slow { u64::MAX } else { 0 };
        setup.timeout = ROUND;
        let twins = draw
            .vices
            .iter()
            .filter(|(_, vices)| vices.iter().any(|vice| matches!(vice, Vice::Twins { .. })));
        let twins: Vec<Party> = twins.map(|(party, _)| *party).collect();
        let host = Committee::new(Arc::clone(&board.ground), setup, Prices::Flat(WORK))
            .map_err(Failure::bad_input)?
            .knowing(Some(knowledge))
            .with_twins(twins);
        let mut world = sim::Setup::new(host.seats(), seed, draw.network.clone());
        world.cores = NonZeroU32::MIN.saturating_add(3);
        world.most_events = MOST_EVENTS;
        let simulation = Simulation::new(host, world).map_err(Failure::bad_input)?;
        let mut stage = Self {
            board,
            draw,
            faulty: draw.faulty(),
            simulation,
            tally: Rc::default(),
            stumbles: draw.stumbles.clone(),
            up_at: BTreeMap::new(),
            read: 0,
            first: None,
            blocks: BTreeMap::new(),
            finalized: BTreeMap::new(),
            revealed: BTreeMap::new(),
            most_kept: 0,
        };
        stage.prepare().map_err(Failure::bad_input)?;
        Ok(stage)
    }

    fn seats(&self) -> impl Iterator<Item = Seat> + use<S> {
        (0..self.simulation.host().seats()).map(Seat::new)
    }

    fn honest(&self) -> Vec<Seat> {
        let host = self.simulation.host();
        self.seats().filter(|seat| !self.faulty.contains(&host.party(*seat))).collect()
    }

    fn count(&self, kind: Kind, times: u64) {
        self.tally.borrow_mut().add(kind, times);
    }

    /// Disks, vices and accidents.
    fn prepare(&mut self) -> Result<(), sim::UnknownSeat> {
        for seat in self.seats() {
            let disk = self.board.disks.get(self.simulation.host().party(seat).index());
            self.simulation.load(seat, disk.into_iter().flatten().cloned())?;
        }
        for (party, vices) in &self.draw.vices {
            self.corrupt(*party, vices)?;
        }
        for (seat, at, down) in &self.draw.crashes {
            self.simulation.crash(*seat, *at)?;
            self.simulation.restart(*seat, *at + *down, Disk::Kept)?;
            let up = self.up_at.entry(*seat).or_insert(*at + *down);
            *up = (*at + *down).max(*up);
        }
        for (seat, at, leap) in &self.draw.leaps {
            self.simulation.leap(*seat, *at, *leap)?;
        }
        self.seats().try_for_each(|seat| self.stumble(seat))?;
        let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        self.count(Kind::Crash, count(self.draw.crashes.len()));
        self.count(Kind::Leap, count(self.draw.leaps.len()));
        self.count(Kind::Partition, self.draw.partitions);
        Ok(())
    }

    fn corrupt(&mut self, party: Party, vices: &[Vice]) -> Result<(), sim::UnknownSeat> {
        let seats: Vec<Seat> = self.simulation.host().seats_of(party).collect();
        for (number, seat) in (0_u64..).zip(&seats) {
            let mut halved = false;
            for vice in vices {
                let mut vice = vice.clone();
                if let Vice::Twins { side } = &mut vice {
                    if std::mem::replace(&mut halved, true) {
                        continue;
                    }
                    // Neither talks to the other.
                    *side = self.seats().filter(|to| side.contains(to) != (number > 0)).collect();
                    side.retain(|to| !seats.contains(to));
                    self.tell_apart(*seat, number)?;
                }
                if let Vice::Forget { at, back } = vice {
                    self.simulation.crash(*seat, at)?;
                    self.simulation.restart(*seat, at + back, Disk::Lost)?;
                    self.count(Kind::Forget, 1);
                } else {
                    self.simulation.rule(*seat, Sinner::<S>::new(vice, &self.tally))?;
                }
            }
        }
        Ok(())
    }

    /// Other transactions reach the one twin than the other, so that they propose other blocks.
    fn tell_apart(&mut self, seat: Seat, number: u64) -> Result<(), sim::UnknownSeat> {
        let own = self.simulation.host().party(seat);
        let from = Party::new(u32::from(own == Party::new(0)));
        for times in 0..20_u32 {
            let bytes = [number.to_be_bytes(), u64::from(times).to_be_bytes()].concat();
            let transactions = vec![jolteon::Transaction::new(bytes)];
            let message = Message::Engine(jolteon::Message::Transactions(transactions));
            let at = Instant::at(SLICE * 3 * times);
            self.simulation.input(seat, at, Input::Received { from, message })?;
        }
        Ok(())
    }

    /// Lets a seat crash behind the record that is drawn for it next.
    fn stumble(&mut self, seat: Seat) -> Result<(), sim::UnknownSeat> {
        let next = self.stumbles.iter().find(|(one, ..)| *one == seat);
        match next.copied() {
            Some((_, record, _)) => self.simulation.crash_after_records(seat, record),
            None => Ok(()),
        }
    }

    fn run(&mut self) -> Result<(), Violation> {
        while self.simulation.now() < self.draw.heals {
            self.slice(self.draw.heals)?;
        }
        let honest = self.honest();
        let last = honest.iter().filter_map(|seat| self.finalized.get(seat)).max().copied();
        let first = self.first.unwrap_or(Slot::new(0));
        let target = last.unwrap_or(first).max(first).after(AFTER_HEALING);
        let patience = self.draw.heals + PATIENCE;
        loop {
            let lacking = |seat: &&Seat| self.revealed.get(seat).is_none_or(|slot| *slot < target);
            let Some(seat) = honest.iter().find(lacking) else { return Ok(()) };
            if self.simulation.now() >= patience {
                let has = self.revealed.get(seat);
                let has = has.map_or("nothing".to_owned(), |slot| format!("up to {slot}"));
                let what = format!("{seat} has revealed {has} and not {target} in {PATIENCE:?}");
                return Err(Violation::Liveness(what));
            }
            self.slice(patience)?;
        }
    }

    /// A little while; then who crashed comes back.
    fn slice(&mut self, until: Instant) -> Result<(), Violation> {
        let until = (self.simulation.now() + SLICE).min(until);
        match self.simulation.run(until) {
            Stop::Deadline | Stop::Watcher => {}
            stop => return Err(Violation::Liveness(format!("the run stops: {stop:?}"))),
        }
        self.read_notes()?;
        self.measure()?;
        self.raise().map_err(|error| Violation::Liveness(error.to_string()))
    }

    /// Where everybody is by now. Who disagrees would go on for ever.
    fn read_notes(&mut self) -> Result<(), Violation> {
        for note in self.simulation.notes().iter().skip(self.read) {
            let ascend = |places: &mut BTreeMap<Seat, Slot>, slot: Slot| {
                let last = places.entry(note.seat).or_insert(slot);
                *last = slot.max(*last);
            };
            match &note.event {
                Seen::Ready { first, .. } => self.first = Some(*first),
                Seen::Finalized(slot, block) => {
                    ascend(&mut self.finalized, *slot);
                    let faulty = self.faulty.contains(&self.simulation.host().party(note.seat));
                    if !faulty && *self.blocks.entry(*slot).or_insert(*block) != *block {
                        let what = format!("{} has another block for {slot}", note.seat);
                        return Err(Violation::Agreement(what));
                    }
                }
                Seen::Revealed(reveal) => ascend(&mut self.revealed, reveal.slot),
                _ => {}
            }
        }
        self.read = self.simulation.notes().len();
        Ok(())
    }

    /// Rule 9: what is kept is bounded, as the beacon says and as it is counted here.
    fn measure(&mut self) -> Result<(), Violation> {
        let Limits { window, backlog, .. } = Limits::default();
        for seat in self.honest() {
            let beacon = self.simulation.machine(seat).and_then(|machine| machine.beacon());
            let Some(beacon) = beacon else { continue };
            let (kept, stated) = (beacon.footprint(), beacon.most());
            if !kept.within(&stated) {
                let what = format!("{seat} keeps {kept:?}, at most {stated:?}");
                return Err(Violation::Memory(what));
            }
            let final_up_to = self.finalized.get(&seat).map_or(0, |slot| slot.get() + 1);
            let open = final_up_to.saturating_sub(beacon.head().get()).min(backlog);
            // The window is behind the last final slot; two paths.
            let slots = usize::try_from(open + window + 1).unwrap_or(usize::MAX);
            let most = slots.saturating_mul(2).saturating_mul(self.board.disks.len());
            let kept = beacon.pending_partials();
            if kept > most {
                let what = format!("{seat} keeps {kept} partials of {slots} slots, at most {most}");
                return Err(Violation::Memory(what));
            }
            self.most_kept = self.most_kept.max(kept);
        }
        Ok(())
    }

    /// Restarts who crashed behind a record, and arms the next such crash.
    fn raise(&mut self) -> Result<(), sim::UnknownSeat> {
        let now = self.simulation.now();
        for seat in self.honest() {
            let down = self.simulation.machine(seat).is_none();
            if !down || self.up_at.get(&seat).is_some_and(|up| *up >= now) {
                continue;
            }
            let place = self.stumbles.iter().position(|(one, ..)| *one == seat);
            let wait = place.map_or(SLICE, |place| self.stumbles.remove(place).2);
            self.count(Kind::CrashAtRecord, 1);
            self.simulation.restart(seat, now + wait, Disk::Kept)?;
            self.up_at.insert(seat, now + wait);
            self.stumble(seat)?;
        }
        Ok(())
    }

    fn check(&self) -> Result<Summary, Violation> {
        let lost = self.simulation.counters().lost;
        self.count(Kind::Loss, if self.draw.lossy { lost } else { 0 });
        let host = self.simulation.host();
        let trial = Trial {
            ground: &self.board.ground,
            parties: &|seat| host.party(seat),
            faulty: &self.faulty,
            before: &self.board.before,
            notes: self.simulation.notes(),
        };
        trial.check()
    }
}

#[cfg(test)]
mod tests {
    use ::beacon::Bls;
    use weighted_rounding::{Ratio, Stake};

    use super::super::board::Layout;
    use super::*;

    const FOUR: [u128; 4] = [1; 4];

    fn board() -> Board<Bls> {
        let stakes = FOUR.map(Stake::new).to_vec();
        let layout = Layout::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
        Board::new(&layout).unwrap()
    }

    /// Equal links, nothing but these vices.
    fn draw(vices: impl IntoIterator<Item = (u32, Vice)>) -> Draw {
        let vices = vices.into_iter().map(|(party, vice)| (Party::new(party), vec![vice]));
        Draw {
            board: 0,
            vices: vices.collect(),
            network: sim::Network::constant(Duration::from_millis(40)),
            lossy: false,
            partitions: 0,
            crashes: Vec::new(),
            stumbles: Vec::new(),
            leaps: Vec::new(),
            heals: Instant::at(Duration::from_secs(2)),
        }
    }

    fn outcome(draw: &Draw) -> Result<Summary, Violation> {
        play(1, draw, &board(), Knowledge::default()).unwrap().0.outcome
    }

    fn twins(side: &[u32]) -> Vice {
        Vice::Twins { side: side.iter().copied().map(Seat::new).collect() }
    }

    #[test]
    fn twins_of_a_third_change_nothing_and_twins_of_half_break_agreement() {
        assert!(outcome(&draw([(0, twins(&[1]))])).is_ok());
        // Each of the two others, with the half of both twins that talks to it, is a quorum.
        let split = draw([(0, twins(&[1, 3])), (3, twins(&[0, 1]))]);
        let violation = outcome(&split).unwrap_err();
        assert!(matches!(violation, Violation::Agreement(_)), "{violation}");
    }

    #[test]
    fn silence_of_a_third_changes_nothing_and_silence_of_half_stops_everybody() {
        let mute = |party| (party, Vice::Mute { from: Instant::START });
        assert!(outcome(&draw([mute(0)])).is_ok());
        let violation = outcome(&draw([mute(0), mute(1)])).unwrap_err();
        assert!(matches!(violation, Violation::Liveness(_)), "{violation}");
    }

    #[test]
    fn an_execution_is_the_same_again_whatever_is_known_before() {
        let board = board();
        let script = draw([(1, Vice::Wrong)]);
        let (one, knowledge) = play(7, &script, &board, Knowledge::default()).unwrap();
        let (two, _) = play(7, &script, &board, knowledge).unwrap();
        assert_eq!((one.fingerprint, &one.outcome), (two.fingerprint, &two.outcome));
        assert!(one.outcome.is_ok() && one.tally.total() > 0);
        let (other, _) = play(8, &draw([]), &board, Knowledge::default()).unwrap();
        assert_ne!(one.fingerprint, other.fingerprint);
    }
}
