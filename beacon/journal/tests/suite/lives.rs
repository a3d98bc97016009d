//! Lives of one party on one journal, and what must be true of all of them together.
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use prefinal_beacon::{
    Beacon, Config, Effect, Input, Message, Path, Record, Reveal, Slot, Value, View,
};
use prefinal_journal::{Journal, JournalError, JournalOperation, Journaled, Memory};

use crate::fixture::*;

/// How many more steps there are before the crash.
#[derive(Clone)]
pub(crate) struct Fuse(Rc<Cell<usize>>);

impl Fuse {
    pub(crate) fn new(steps: usize) -> Self {
        Self(Rc::new(Cell::new(steps)))
    }

    /// `true` from the crash on.
    pub(crate) fn burn(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left == 0
    }

    pub(crate) fn left(&self) -> usize {
        self.0.get()
    }
}

/// What a crash leaves: how many of the records that are not durable yet, and whether the write that it hits
/// still comes through.
pub(crate) const LEFT: [(usize, bool); 3] = [(0, false), (usize::MAX, false), (0, true)];

/// A journal in memory whose process ends when the fuse does.
pub(crate) struct Disk {
    pub(crate) memory: Rc<RefCell<Memory>>,
    pub(crate) fuse: Fuse,
    /// Whether the write that the crash hits still comes through.
    pub(crate) lucky: bool,
}

impl Disk {
    fn step(
        &self,
        doing: JournalOperation,
        act: impl FnOnce(&mut Memory) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let crashed = self.fuse.burn();
        if !crashed || self.lucky {
            act(&mut self.memory.borrow_mut())?;
        }
        if crashed { Err(JournalError::storage(doing, "crash")) } else { Ok(()) }
    }
}

impl Journal for Disk {
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError> {
        self.step(JournalOperation::Append, |memory| memory.append(record))
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        self.step(JournalOperation::Sync, Memory::sync)
    }

    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        self.memory.borrow_mut().replay()
    }

    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
        self.step(JournalOperation::Replace, |memory| memory.replace(records))
    }
}

/// What the world heard of a party over all its lives.
pub(crate) struct Observed<S: Instance> {
    pub(crate) sent: Vec<Message<S>>,
    pub(crate) reveals: Vec<Reveal<S>>,
    given_up: Option<View>,
}

impl<S: Instance> Observed<S> {
    pub(crate) const fn new() -> Self {
        Self { sent: Vec::new(), reveals: Vec::new(), given_up: None }
    }

    /// Contract rules 2, 4 and 5, by a message and what would survive a crash at this moment.
    fn message(&mut self, message: Message<S>, survives: &[Record]) {
        if let Message::Partial { path, slot, value, .. } = &message {
            let backed = survives.iter().any(|record| match record {
                Record::Released { slot: s, value: v } => {
                    *path != Path::Slow && s == slot && value.is_none_or(|value| value == *v)
                }
                Record::Finalized { slot: s, value: v } => {
                    *path != Path::Fast && s == slot && (value.is_none() || value == v)
                }
                _ => false,
            });
            assert!(backed, "{path} partial of {slot} could be forgotten");
            let late = self.given_up.is_some_and(|view| view >= View::new(*slot, 0));
            assert!(*path != Path::Fast || !late, "{slot} left early after its view was given up");
        }
        self.sent.push(message);
    }

    /// The same bytes in every life, one value for each slot.
    pub(crate) fn check(&self, world: &World<S>) {
        let mut early: BTreeMap<Slot, BTreeSet<Option<Value>>> = BTreeMap::new();
        for message in &self.sent {
            let Message::Partial { path, slot, value, .. } = message else { continue };
            assert_eq!(*message, world.message(A, *path, *slot, *value));
            if *path == Path::Fast {
                early.entry(*slot).or_default().insert(*value);
            }
        }
        assert!(early.values().all(|values| values.len() == 1), "a second answer: {early:?}");
        for reveal in &self.reveals {
            assert_eq!(reveal.output, world.output(reveal.slot, reveal.bound));
        }
    }
}

/// Who lives: a party under a profile, whose journal is shortened after so many records.
pub(crate) struct Party<'w, S: Instance> {
    pub(crate) world: &'w World<S>,
    pub(crate) profile: Profile,
    pub(crate) every: usize,
}

impl<S: Instance> Party<'_, S> {
    pub(crate) fn wake<J: Journal>(&self, journal: J) -> Journaled<Beacon<S>, J> {
        let config = self.world.config(A, &self.profile);
        let opened = Journaled::open(journal, |records: Vec<Record>| {
            Beacon::new(Config { life: life_of(records.len()), ..config }, &records)
        });
        let opened = opened.unwrap();
        opened.shortened(self.every, Beacon::snapshot)
    }

    /// One life: tells it the inputs until it crashes. Gives the first that was not finished.
    pub(crate) fn live(
        &self,
        heard: &mut Observed<S>,
        disk: Disk,
        inputs: &[Input<S>],
    ) -> Option<usize> {
        let (memory, fuse) = (Rc::clone(&disk.memory), disk.fuse.clone());
        let mut journaled = self.wake(disk);
        if !carry_out(&mut journaled, heard, (&memory, &fuse)) {
            return Some(0);
        }
        for (position, input) in inputs.iter().enumerate() {
            journaled.handle(ms(0), input.clone()).unwrap();
            if !carry_out(&mut journaled, heard, (&memory, &fuse)) {
                return Some(position);
            }
            // All is done: the engine's own timeout leaves.
            if let Input::Abandoned { view } = input {
                heard.given_up = heard.given_up.max(Some(*view));
            }
        }
        None
    }
}

/// `false` if it crashed.
fn carry_out<S: Instance>(
    journaled: &mut Journaled<Beacon<S>, Disk>,
    heard: &mut Observed<S>,
    (memory, fuse): (&RefCell<Memory>, &Fuse),
) -> bool {
    loop {
        let effect = match journaled.poll() {
            Ok(Some(effect)) => effect,
            Ok(None) => return true,
            Err(_) => return false,
        };
        if fuse.burn() {
            return false;
        }
        match effect {
            Effect::Send { message, .. } => heard.message(message, &survives(&memory.borrow())),
            Effect::Check(job) => journaled.handle(ms(0), Input::Checked(job.run())).unwrap(),
            Effect::Reveal(reveal) => heard.reveals.push(*reveal),
            _ => {}
        }
    }
}

/// What a crash at this moment cannot take.
fn survives(memory: &Memory) -> Vec<Record> {
    let bytes = memory.after_crash(0).replay().unwrap();
    bytes.iter().map(|bytes| borsh::from_slice(bytes).unwrap()).collect()
}
