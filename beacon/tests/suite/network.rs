//! Beacons that exchange bytes over links of one constant delay, in virtual milliseconds.
//!
//! The engine is a script: the test says who prefinalizes, finalizes or gives up what, and when. A
//! faulty party has no machine; the test speaks for it. Everything that leaves is kept, so that the
//! adversary's view can be counted at the end, and every step is checked: records before releases,
//! reveals in order, nothing released early after giving up.
use std::collections::{BTreeMap, BTreeSet};

use prefinal_beacon::{
    Beacon, Effect, Fault, Input, Message, Output, Path, Record, Reveal, Slot, Value,
};
use prefinal_beacon::{Life, PartialsError, Refusal, View};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::Recipient;
use prefinal_sim::{Table, addressees};

use crate::fixture::{Instance, Profile, World, ms};

/// Constant delay of every link.
pub(crate) const DELAY: u64 = 100;

/// What a faulty network or a faulty sender does to a message.
type Rule<S> = Box<dyn FnMut(Party, Party, &Message<S>) -> bool>;

pub(crate) struct Network<'w, S: Instance> {
    pub(crate) world: &'w World<S>,
    pub(crate) profile: Profile,
    table: Table<Beacon<S>>,
    pub(crate) logs: BTreeMap<Party, Vec<Record>>,
    /// How many there were after first ones.
    lives: u128,
    /// Whether a message arrives.
    pub(crate) passes: Rule<S>,
    pub(crate) reveals: BTreeMap<Party, Vec<(u64, Reveal<S>)>>,
    pub(crate) skipped: BTreeMap<Party, Vec<Slot>>,
    pub(crate) accusations: Vec<(Party, Party, Fault<S>)>,
    pub(crate) refusals: Vec<(Party, Refusal)>,
    pub(crate) stalls: Vec<(Party, Slot)>,
    pub(crate) sent: Vec<(Party, Recipient<Party>, Message<S>)>,
    watch: BTreeMap<Party, Watch>,
}

/// What one party has said, over all its lives.
#[derive(Default)]
struct Watch {
    released: BTreeMap<Slot, Value>,
    finalized: BTreeMap<Slot, Option<Value>>,
    abandoned: Option<View>,
    next: Option<Slot>,
    early: BTreeSet<(Slot, Path)>,
}

impl<'w, S: Instance> Network<'w, S> {
    /// Everybody but the faulty.
    pub(crate) fn new(world: &'w World<S>, profile: &Profile, faulty: &[Party]) -> Self {
        let honest = world.parties().into_iter().filter(|party| !faulty.contains(party));
        let mut table = Table::new(|| Input::Tick);
        honest.for_each(|party| table.seat(party, world.beacon(party, profile)));
        Self {
            world,
            profile: *profile,
            table,
            logs: BTreeMap::new(),
            lives: 0,
            passes: Box::new(|_, _, _| true),
            reveals: BTreeMap::new(),
            skipped: BTreeMap::new(),
            accusations: Vec::new(),
            refusals: Vec::new(),
            stalls: Vec::new(),
            sent: Vec::new(),
            watch: BTreeMap::new(),
        }
    }

    /// Something happens to a party at a time.
    pub(crate) fn at(&mut self, time: u64, party: Party, input: Input<S>) {
        self.table.plan(ms(time), party, input);
    }

    /// The same happens to all at a time.
    pub(crate) fn all(&mut self, time: u64, parties: &[Party], input: &Input<S>) {
        for party in parties {
            self.at(time, *party, input.clone());
        }
    }

    /// A faulty party sends something now; it arrives after the delay.
    pub(crate) fn inject(&mut self, from: Party, to: Party, message: Message<S>) {
        let time = self.now() + DELAY;
        self.at(time, to, Input::Received { from, message });
    }

    /// Runs until nothing is left before or at this time.
    pub(crate) fn run_until(&mut self, end: u64) {
        while let Some((party, input)) = self.table.next(ms(end)) {
            self.handle(party, input);
        }
        self.table.advance_to(ms(end));
    }

    /// Virtual milliseconds since the start.
    pub(crate) fn now(&self) -> u64 {
        millis(self.table.now())
    }

    /// The party loses everything but its records.
    pub(crate) fn restart(&mut self, party: Party) {
        let records = self.logs.get(&party).map_or(0, Vec::len);
        self.put_back(party, records);
    }

    /// The party goes on from a copy of its journal, from when it had so many records.
    pub(crate) fn put_back(&mut self, party: Party, records: usize) {
        let log = self.logs.entry(party).or_default();
        log.truncate(records);
        let records = log.clone();
        self.lives += 1;
        let life = Life::later(self.lives.to_le_bytes());
        let beacon = self.world.relive(party, &self.profile, (life, &records));
        self.table.seat(party, beacon);
        // What was written last may be repeated by the next life, and nothing else.
        let watch = self.watch.entry(party).or_default();
        let revealed = records.iter().filter_map(|record| match record {
            Record::Revealed { slot } => Some(slot.next()),
            _ => None,
        });
        watch.next = revealed.max();
        self.carry_out(party);
    }

    fn handle(&mut self, party: Party, input: Input<S>) {
        if self.table.machine(party).is_none() {
            return;
        }
        if let Input::Abandoned { view } = &input {
            let watch = self.watch.entry(party).or_default();
            watch.abandoned = watch.abandoned.max(Some(*view));
        }
        self.table.handle(party, input);
        self.carry_out(party);
    }

    fn carry_out(&mut self, party: Party) {
        while let Some(output) = self.table.poll(party) {
            match output {
                Output::Keep(record) | Output::Note(record) => self.persist(party, record),
                Output::Do(Effect::Send { to, message }) => self.send(party, to, message),
                Output::Do(Effect::Check(job)) => {
                    self.table.handle(party, Input::Checked(job.run()));
                }
                Output::Do(Effect::Reveal(reveal)) => {
                    self.in_order(party, reveal.slot);
                    let at = self.now();
                    self.reveals.entry(party).or_default().push((at, *reveal));
                }
                Output::Do(Effect::Skipped { slot }) | Output::Do(Effect::Off { slot }) => {
                    self.in_order(party, slot);
                    self.skipped.entry(party).or_default().push(slot);
                }
                Output::Do(Effect::Lookup { to, slots }) => self.look_up(party, to, &slots),
                Output::Do(Effect::Accuse { party: who, fault }) => {
                    self.accusations.push((party, who, fault))
                }
                Output::Do(Effect::Stalled { slot }) => self.stalls.push((party, slot)),
                Output::Do(Effect::Refused(refusal)) => self.refusals.push((party, refusal)),
            }
        }
    }

    /// A driver's archive: all that the party ever revealed.
    fn look_up(&mut self, party: Party, to: Party, slots: &[Slot]) {
        let archive = self.reveals.get(&party).into_iter().flatten();
        let found = archive.map(|(_, reveal)| reveal).filter(|reveal| slots.contains(&reveal.slot));
        for message in found.map(Reveal::message).collect::<Vec<_>>() {
            self.send(party, Recipient::One(to), message);
        }
    }

    fn persist(&mut self, party: Party, record: Record) {
        let watch = self.watch.entry(party).or_default();
        match record {
            Record::Released { slot, value } => {
                let first = *watch.released.entry(slot).or_insert(value);
                assert_eq!(first, value, "{party} released {slot} for two values");
            }
            Record::Finalized { slot, value } => {
                watch.finalized.insert(slot, value);
            }
            Record::Abandoned { .. }
            | Record::Revealed { .. }
            | Record::Switched(_)
            | Record::WasOff { .. }
            | Record::PassedOver { .. } => {}
        }
        self.logs.entry(party).or_default().push(record);
    }

    fn send(&mut self, party: Party, to: Recipient<Party>, message: Message<S>) {
        self.check_release(party, &message);
        let bytes = borsh::to_vec(&message).unwrap();
        let message: Message<S> = borsh::from_slice(&bytes).unwrap();
        let members = u32::try_from(self.world.parties().len()).unwrap();
        for peer in addressees(to, party, members) {
            if (self.passes)(party, peer, &message) {
                let input = Input::Received { from: party, message: message.clone() };
                self.at(self.now() + DELAY, peer, input);
            }
        }
        self.sent.push((party, to, message));
    }

    /// Rules 2, 4, 5 and 6, seen from outside.
    fn check_release(&mut self, party: Party, message: &Message<S>) {
        let Message::Partial { path, slot, value, .. } = message else { return };
        let watch = self.watch.entry(party).or_default();
        let last = watch.finalized.get(slot);
        let is_final = last.is_some_and(|last| value.is_none() || *last == *value);
        let late = *path != Path::Fast && is_final;
        if late {
            return;
        }
        assert_ne!(*path, Path::Slow, "{party} released {slot} before it was final");
        let released = watch.released.get(slot);
        let released = released.unwrap_or_else(|| panic!("{party}: {slot} left before its record"));
        assert!(value.is_none_or(|value| value == *released), "{party}: {slot}, another value");
        let attempt = self.profile.fast_attempt.expect("an engine that cannot tell the view");
        let given_up = watch.abandoned.is_some_and(|view| view >= View::new(*slot, attempt));
        assert!(!given_up, "{party}: {slot} left after its view was given up");
        watch.early.insert((*slot, *path));
    }

    fn in_order(&mut self, party: Party, slot: Slot) {
        let watch = self.watch.entry(party).or_default();
        let expected = watch.next.unwrap_or(Slot::new(1));
        assert_eq!(slot, expected, "{party} reveals out of order");
        watch.next = Some(slot.next());
    }

    /// When and by which path a party revealed a slot.
    pub(crate) fn reveal_of(&self, party: Party, slot: Slot) -> Option<&(u64, Reveal<S>)> {
        self.reveals.get(&party)?.iter().find(|(_, reveal)| reveal.slot == slot)
    }

    /// What the adversary can compute from all that ever left and the keys of the faulty.
    pub(crate) fn leak(
        &self,
        faulty: &[Party],
        path: Path,
        slot: Slot,
        value: Option<Value>,
    ) -> Result<S::Output, PartialsError> {
        self.world.combine(path, slot, value, self.seen(faulty, path, slot, value))
    }

    pub(crate) fn seen(
        &self,
        faulty: &[Party],
        path: Path,
        slot: Slot,
        value: Option<Value>,
    ) -> BTreeMap<Party, S::Partial> {
        let own =
            faulty.iter().map(|party| (*party, self.world.partial(*party, path, slot, value)));
        let seen = self.sent.iter().filter_map(|(from, _, message)| match message {
            Message::Partial { path: p, slot: s, value: v, partial }
                if (*p, *s, *v) == (path, slot, value) =>
            {
                Some((*from, partial.clone()))
            }
            _ => None,
        });
        seen.chain(own).collect()
    }
}

fn millis(at: prefinal_protocol::Instant) -> u64 {
    u64::try_from(at.since_start().as_millis()).unwrap()
}
