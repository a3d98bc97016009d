//! One execution: a stage, a script, a verdict.
//!
//! Until the network heals, the drawn events happen. Then every honest party must come back and reveal
//! every slot up to some that became final after healing. All the time, the partials that an honest
//! party keeps are counted: for each slot from the first that it has not revealed to the end of its
//! window, at most one of each party and path.
//!
//! An execution ends after [`Bounds::patience`] of virtual time, after [`Bounds::events`], or when no
//! event is left. If it has not reached its goal by then, that is a violation like any other.
//!
//! The parties are in `validators` (the whole validator on Jolteon) and `arena` (any engine and function).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use ::prefinal_beacon::{Beacon, Footprint, Limits, Scheme, Slot, Value};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::Instant;
use prefinal_sim::{Disk, Host, InputOf, Note, Seat, Simulation, Stop, UnknownSeat};

use super::corrupt::Rules;
use super::draw::Draw;
use super::forge::Forge;
use super::tally::{Kind, Tally};
use super::vice::{Mail, Sinner, Vice};
use crate::check::{Summary, Violation};
use crate::failure::Failure;
use crate::seating::Seating;

/// What a job takes.
pub(super) const WORK: Duration = Duration::from_millis(1);
/// What the engine gives a round: not much more than it takes around the world.
pub(super) const ROUND: Duration = Duration::from_millis(700);
/// How often the campaign looks which parties are down.
const SLICE: Duration = Duration::from_millis(100);
/// Transactions that each party gets until the network heals, on an engine that has vices about them.
const TRANSACTIONS: u32 = 6;
/// Slots that have to become final after healing.
const AFTER_HEALING: u64 = 5;

/// When an execution ends in any case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// After healing, before an honest party has revealed what it must.
    pub(super) patience: Duration,
    /// Far more than an execution takes; against machines that keep each other busy for ever.
    pub(super) events: u64,
}

/// The outcome of one execution and its counts.
#[derive(Clone, Debug)]
pub struct ExecutionReport {
    /// What did not hold, or how many values there are.
    pub outcome: Result<Summary, Violation>,
    /// What was done to it.
    pub tally: Tally,
    /// Most partials that an honest party kept.
    pub most_kept: usize,
    /// The virtual time that the execution took.
    pub took: Duration,
    /// Of every event, in order.
    pub fingerprint: u64,
}

/// Where somebody is by now.
pub(super) enum Place {
    /// Values come from this slot on.
    Ready(Slot),
    Finalized(Slot, Option<Value>),
    /// With a value, or without one where none is due.
    Revealed(Slot),
    /// Final and carried out, where no values are due.
    CarriedOut(Slot, Option<Value>),
}

/// What the report counts of what honest parties say.
pub(super) enum Finding<'a> {
    /// Of whom, and of what.
    Accused(Party, &'a str),
    /// A view was given up.
    GaveUp,
    /// Keys of an epoch that is not the first suffice.
    Handover,
    /// A state was taken from others.
    Restored,
}

/// What a beacon keeps.
pub(super) struct MemoryUse {
    footprint: Footprint,
    most: Footprint,
    head: Slot,
    partials: usize,
}

impl MemoryUse {
    pub(super) fn by<S: Scheme>(beacon: &Beacon<S>) -> Self {
        Self {
            footprint: beacon.footprint(),
            most: beacon.most(),
            head: beacon.head(),
            partials: beacon.pending_partials(),
        }
    }
}

/// PastLife of every note when it is made.
pub(super) type Watcher<H> = Box<dyn FnMut(&Note<<H as Host>::Event>)>;

/// A host that a script can be played on.
pub(super) trait Playable: Host<Message: Mail<<Self as Playable>::Scheme>> + Sized {
    type Scheme: Forge;
    fn seating(&self) -> &Seating;
    fn kept(machine: &Self::Machine) -> Option<MemoryUse>;
    fn place(event: &Self::Event) -> Option<Place>;
    fn finding(event: &Self::Event) -> Option<Finding<'_>>;
    /// Something that one twin hears and the other does not.
    fn whisper(from: Party, bytes: Vec<u8>) -> InputOf<Self>;
    fn watcher(&self) -> Watcher<Self> {
        Box::new(|_| {})
    }
    /// The network has healed.
    fn heal(&mut self) {}
    /// The first slot with a value, if it is known from the start.
    fn first(&self) -> Option<Slot> {
        None
    }
    /// Whether the machine's disk has failed, so that the process is gone.
    fn has_failed(_: &Self::Machine) -> bool {
        false
    }
    /// Compares what honest parties have by now.
    fn compare(_: &Simulation<Self>, _honest: &[Seat]) -> Result<(), Violation> {
        Ok(())
    }
    /// Why somebody is not taking part.
    fn broken(&self) -> Option<String>;
}

/// An execution under way.
pub(super) struct Stage<'a, H: Playable> {
    draw: &'a Draw,
    bounds: Bounds,
    faulty: BTreeSet<Party>,
    pub(super) simulation: Simulation<H>,
    watcher: Watcher<H>,
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
    /// What honest parties have found out about faulty ones.
    found: BTreeSet<(Party, Kind)>,
}

impl<'a, H: Playable> Stage<'a, H> {
    /// Seats everybody and draws what happens.
    pub(super) fn new(seed: u64, draw: &'a Draw, host: H, bounds: Bounds) -> Result<Self, Failure> {
        let mut world =
            prefinal_sim::Setup::new(host.seating().count(), seed, draw.network.clone());
        world.cores = NonZeroU32::MIN.saturating_add(3);
        world.most_events = bounds.events;
        let (watcher, first) = (host.watcher(), host.first());
        let simulation = Simulation::new(host, world).map_err(Failure::bad_input)?;
        let mut stage = Self {
            draw,
            bounds,
            faulty: draw.faulty(),
            simulation,
            watcher,
            tally: Rc::default(),
            stumbles: draw.stumbles.clone(),
            up_at: BTreeMap::new(),
            read: 0,
            first,
            blocks: BTreeMap::new(),
            finalized: BTreeMap::new(),
            revealed: BTreeMap::new(),
            most_kept: 0,
            found: BTreeSet::new(),
        };
        stage.prepare().map_err(Failure::bad_input)?;
        Ok(stage)
    }

    /// How it went, if this is what came of it.
    pub(super) fn played(&self, outcome: Result<Summary, Violation>) -> ExecutionReport {
        let lost = self.simulation.counters().lost;
        self.count(Kind::Loss, if self.draw.lossy { lost } else { 0 });
        self.found.iter().for_each(|(_, kind)| self.count(*kind, 1));
        ExecutionReport {
            outcome,
            tally: self.tally.borrow().clone(),
            most_kept: self.most_kept,
            took: self.simulation.now().since_start(),
            fingerprint: self.simulation.fingerprint(),
        }
    }

    pub(super) const fn faulty(&self) -> &BTreeSet<Party> {
        &self.faulty
    }

    fn seating(&self) -> &Seating {
        self.simulation.host().seating()
    }

    fn seats(&self) -> impl Iterator<Item = Seat> + use<H> {
        (0..self.seating().count()).map(Seat::new)
    }

    fn honest(&self) -> Vec<Seat> {
        let is_honest = |seat: &Seat| !self.faulty.contains(&self.seating().party(*seat));
        self.seats().filter(is_honest).collect()
    }

    pub(super) fn count(&self, kind: Kind, times: u64) {
        self.tally.borrow_mut().add(kind, times);
    }

    /// When the network heals.
    pub(super) const fn heals(&self) -> Instant {
        self.draw.heals
    }

    /// Notes that a seat is down until then.
    pub(super) fn put_down(&mut self, seat: Seat, until: Instant) {
        let up = self.up_at.entry(seat).or_insert(until);
        *up = until.max(*up);
    }

    /// Lets the faulty parties tamper with what their engines say, too.
    pub(super) fn corrupt_engines(
        &mut self,
        rules: impl Fn(Party, &Rc<RefCell<Tally>>) -> Rules<H::Message>,
    ) -> Result<(), Failure> {
        for party in self.faulty.clone() {
            for seat in self.seating().seats_of(party).collect::<Vec<Seat>>() {
                for rule in rules(party, &self.tally) {
                    self.simulation.rule(seat, rule).map_err(Failure::bad_input)?;
                }
            }
        }
        Ok(())
    }

    /// Gives every party transactions until the network heals.
    pub(super) fn load(&mut self) -> Result<(), UnknownSeat> {
        for seat in self.seats() {
            let from = Party::new(u32::from(self.seating().party(seat) == Party::new(0)));
            for number in 0..TRANSACTIONS {
                let at = self.draw.heals.since_start() / TRANSACTIONS * number;
                let bytes = [&b"pay"[..], &seat.get().to_be_bytes(), &number.to_be_bytes()];
                let input = H::whisper(from, bytes.concat());
                self.simulation.input(seat, Instant::at(at), input)?;
            }
        }
        Ok(())
    }

    /// Disks, vices and accidents.
    fn prepare(&mut self) -> Result<(), UnknownSeat> {
        for (party, vices) in &self.draw.vices {
            self.corrupt(*party, vices)?;
        }
        for (seat, at, down) in &self.draw.crashes {
            self.simulation.crash(*seat, *at)?;
            self.simulation.restart(*seat, *at + *down, Disk::Kept)?;
            self.put_down(*seat, *at + *down);
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

    fn corrupt(&mut self, party: Party, vices: &[Vice]) -> Result<(), UnknownSeat> {
        let seats: Vec<Seat> = self.seating().seats_of(party).collect();
        for (number, seat) in (0_u64..).zip(&seats) {
            let mut halved = false;
            for vice in vices {
                let mut vice = vice.clone();
                if let Vice::Twins { side } = &mut vice {
                    if std::mem::replace(&mut halved, true) {
                        continue;
                    }
                    *side = self.seating().half_of(*seat, side);
                    self.tell_apart(*seat, number)?;
                }
                if let Vice::Forget { at, back } = vice {
                    self.simulation.crash(*seat, at)?;
                    self.simulation.restart(*seat, at + back, Disk::Lost)?;
                    self.count(Kind::Forget, 1);
                } else {
                    let sinner = Sinner::<H::Scheme, H::Message>::new(vice, &self.tally);
                    self.simulation.rule(*seat, sinner)?;
                }
            }
        }
        Ok(())
    }

    /// Other transactions reach the one twin than the other, so that they propose other blocks.
    fn tell_apart(&mut self, seat: Seat, number: u64) -> Result<(), UnknownSeat> {
        let own = self.seating().party(seat);
        let from = Party::new(u32::from(own == Party::new(0)));
        for times in 0..20_u32 {
            let bytes = [number.to_be_bytes(), u64::from(times).to_be_bytes()].concat();
            let at = Instant::at(SLICE * 3 * times);
            self.simulation.input(seat, at, H::whisper(from, bytes))?;
        }
        Ok(())
    }

    /// Lets a seat crash behind the record that is drawn for it next.
    fn stumble(&mut self, seat: Seat) -> Result<(), UnknownSeat> {
        let next = self.stumbles.iter().find(|(one, ..)| *one == seat);
        match next.copied() {
            Some((_, record, _)) => self.simulation.crash_after_records(seat, record),
            None => Ok(()),
        }
    }

    /// Plays it to the end.
    pub(super) fn run(&mut self) -> Result<(), Violation> {
        while self.simulation.now() < self.draw.heals {
            self.slice(self.draw.heals)?;
        }
        self.simulation.host_mut().heal();
        let honest = self.honest();
        let last = honest.iter().filter_map(|seat| self.finalized.get(seat)).max().copied();
        let first = self.first.unwrap_or(Slot::new(0));
        let target = last.unwrap_or(first).max(first).after(AFTER_HEALING);
        let patience = self.draw.heals + self.bounds.patience;
        loop {
            let lacking = |seat: &&Seat| self.revealed.get(seat).is_none_or(|slot| *slot < target);
            let Some(seat) = honest.iter().find(lacking) else { return Ok(()) };
            if self.simulation.now() >= patience {
                let has = self.revealed.get(seat);
                let has = has.map_or("nothing".to_owned(), |slot| format!("up to {slot}"));
                let what = format!(
                    "{seat} has revealed {has} and not {target} in {:?}",
                    self.bounds.patience
                );
                return Err(Violation::Liveness(what));
            }
            self.slice(patience)?;
        }
    }

    /// A little while; then the parties that crashed come back.
    fn slice(&mut self, until: Instant) -> Result<(), Violation> {
        let until = (self.simulation.now() + SLICE).min(until);
        let watch = |note: &Note<H::Event>| {
            (self.watcher)(note);
            ControlFlow::Continue(())
        };
        match self.simulation.run_watching(until, watch) {
            Stop::Deadline | Stop::Watcher => {}
            stop => return Err(Violation::Liveness(format!("the run stops: {stop:?}"))),
        }
        if let Some(why) = self.simulation.host().broken() {
            return Err(Violation::Liveness(why));
        }
        self.read_notes()?;
        self.measure()?;
        H::compare(&self.simulation, &self.honest())?;
        self.raise().map_err(|error| Violation::Liveness(error.to_string()))
    }

    /// Where everybody is by now. Who disagrees would go on for ever.
    fn read_notes(&mut self) -> Result<(), Violation> {
        for note in self.simulation.notes().iter().skip(self.read) {
            let ascend = |places: &mut BTreeMap<Seat, Slot>, slot: Slot| {
                let last = places.entry(note.seat).or_insert(slot);
                *last = slot.max(*last);
            };
            let party = self.seating().party(note.seat);
            let honest = !self.faulty.contains(&party);
            match H::finding(&note.event).filter(|_| honest) {
                Some(Finding::Accused(culprit, fault)) => {
                    self.found.extend(Kind::found(fault).map(|kind| (culprit, kind)));
                }
                Some(Finding::GaveUp) => self.count(Kind::GaveUp, 1),
                Some(Finding::Handover) => drop(self.found.insert((party, Kind::Handover))),
                Some(Finding::Restored) => self.count(Kind::Restored, 1),
                None => {}
            }
            let place = H::place(&note.event);
            match place {
                Some(Place::Ready(first)) => self.first = Some(first),
                Some(Place::Finalized(slot, block) | Place::CarriedOut(slot, block)) => {
                    ascend(&mut self.finalized, slot);
                    if honest && *self.blocks.entry(slot).or_insert(block) != block {
                        let what = format!("{} has another block for {slot}", note.seat);
                        return Err(Violation::Agreement(what));
                    }
                }
                Some(Place::Revealed(_)) | None => {}
            }
            if let Some(Place::Revealed(slot) | Place::CarriedOut(slot, _)) = place {
                ascend(&mut self.revealed, slot);
            }
        }
        self.read = self.simulation.notes().len();
        Ok(())
    }

    /// Rule 9: what is kept is bounded, as the beacon says and as it is counted here.
    fn measure(&mut self) -> Result<(), Violation> {
        let Limits { window, backlog, .. } = Limits::default();
        for seat in self.honest() {
            let Some(kept) = self.simulation.machine(seat).and_then(H::kept) else { continue };
            if !kept.footprint.within(&kept.most) {
                let what = format!("{seat} keeps {:?}, at most {:?}", kept.footprint, kept.most);
                return Err(Violation::Memory(what));
            }
            let final_up_to = self.finalized.get(&seat).map_or(0, |slot| slot.get() + 1);
            let open = final_up_to.saturating_sub(kept.head.get()).min(backlog);
            // The window is behind the last final slot; two paths.
            let slots = usize::try_from(open + window + 1).unwrap_or(usize::MAX);
            let most = slots.saturating_mul(2).saturating_mul(self.parties());
            let kept = kept.partials;
            if kept > most {
                let what = format!("{seat} keeps {kept} partials of {slots} slots, at most {most}");
                return Err(Violation::Memory(what));
            }
            self.most_kept = self.most_kept.max(kept);
        }
        Ok(())
    }

    /// Restarts who crashed behind a record or with its disk, and arms the next such crash.
    fn raise(&mut self) -> Result<(), UnknownSeat> {
        let now = self.simulation.now();
        for seat in self.honest() {
            let machine = self.simulation.machine(seat);
            let failed = machine.is_some_and(H::has_failed);
            if failed {
                self.count(Kind::CrashAtWrite, 1);
                self.simulation.restart(seat, now + SLICE, Disk::Kept)?;
                self.put_down(seat, now + SLICE);
                continue;
            }
            let down = machine.is_none();
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

    /// How many parties there are; a twin is no second one.
    fn parties(&self) -> usize {
        self.seats().map(|seat| self.seating().party(seat)).collect::<BTreeSet<Party>>().len()
    }
}
