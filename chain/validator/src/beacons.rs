//! The beacons of all epochs, and what waits for one whose keys this party has not opened yet.
//!
//! A boundary is known before everybody has its keys. From there on what the engine says is kept until the
//! next beacon begins; nothing is released early there, so these slots take the slow path.

use ::beacon::epochs::{Epochs, Input, Output};
use ::beacon::{
    Beacon, Config, Life, Limits, Message, Path, Paths, Record, Sharing, Slot, Value, View, epochs,
};
use crypto_core::access::Party;
use crypto_core::context::EpochId;
use engine::Quorum;
use protocol::{Instant, Machine};

use crate::early::Early;
use crate::keygen;
use crate::scheme::{AdmittedKeys, Keyed};
use crate::setup::{Algorithm, Setup};
use crate::words::HaltError;

/// What a party and its engine bring to every beacon.
pub(crate) struct Origin {
    pub(crate) me: Party,
    pub(crate) life: Life,
    pub(crate) fast_attempt: Option<u32>,
    pub(crate) quorum: Quorum,
}

/// The beacons that have begun, and what the next one will have to be told.
pub(crate) struct Beacons<S: Keyed> {
    origin: Origin,
    running: Option<Box<Running<S>>>,
    /// The epoch whose keys are awaited.
    awaited: EpochId,
    /// Its first slot, once it is known.
    boundary: Option<Slot>,
    records: Vec<epochs::Record>,
    pub(crate) backlog: Backlog<S>,
}

struct Running<S: Keyed> {
    epochs: Epochs<S>,
    /// The chain's first slot with a value: rounds count from there.
    first: Slot,
}

/// What the next beacon will have to be told.
pub(crate) struct Backlog<S: Keyed> {
    finalized: Vec<(Slot, Option<Value>)>,
    abandoned: Option<View>,
    pub(crate) messages: Early<Message<S>>,
}

impl<S: Keyed> Beacons<S> {
    /// None yet; `records` are those of all epochs.
    pub(crate) fn new(origin: Origin, first: EpochId, records: Vec<epochs::Record>) -> Self {
        Self {
            origin,
            running: None,
            awaited: first,
            boundary: None,
            records,
            backlog: Backlog::default(),
        }
    }

    pub(crate) const fn awaited(&self) -> EpochId {
        self.awaited
    }

    /// The epoch whose keys are awaited begins with this slot.
    pub(crate) const fn set_boundary(&mut self, first: Slot) {
        self.boundary = Some(first);
    }

    /// Whether no beacon remembers the slot yet.
    pub(crate) fn awaits(&self, slot: Slot) -> bool {
        self.running.is_none() || self.boundary.is_some_and(|boundary| slot >= boundary)
    }

    /// The beacon of the last epoch that has begun.
    pub(crate) fn newest(&self) -> Option<&Beacon<S>> {
        let running = self.running.as_ref()?;
        running.epochs.beacon(EpochId::new(self.awaited.get().checked_sub(1)?))
    }

    /// The first slot that has no value yet; the first of all before there is a beacon.
    pub(crate) fn head(&self) -> Slot {
        self.running.as_ref().map_or(Slot::new(0), |running| running.epochs.head())
    }

    pub(crate) fn beacon(&self, epoch: EpochId) -> Option<&Beacon<S>> {
        self.running.as_ref()?.epochs.beacon(epoch)
    }

    /// Tells the beacons, or keeps what one will have to be told.
    pub(crate) fn tell(&mut self, now: Instant, input: Input<S>) {
        let waits = match &input {
            Input::Prefinalized { slot, .. } | Input::Finalized { slot, .. } => self.awaits(*slot),
            Input::Received { message, .. } => message.epoch >= self.awaited,
            _ => self.running.is_none(),
        };
        match (&mut self.running, input) {
            (Some(running), input) if !waits => running.epochs.handle(now, input),
            (_, Input::Finalized { slot, value }) => self.backlog.finalized.push((slot, value)),
            (_, Input::Abandoned { view }) => {
                self.backlog.abandoned = self.backlog.abandoned.max(Some(view));
            }
            (_, Input::Received { from, message }) if message.epoch == self.awaited => {
                self.backlog.messages.keep(from, message.message);
            }
            // Without keys there is nothing to release early, and nobody to check a job for.
            _ => {}
        }
    }

    /// What an engine released in an earlier life.
    pub(crate) fn remember(&mut self, epoch: EpochId, slot: Slot, value: Value) {
        self.records.push(epochs::Record { epoch, record: Record::Released { slot, value } });
    }

    /// The awaited keys suffice: the beacon of their epoch begins, and is to be told the backlog.
    pub(crate) fn begin(
        &mut self,
        setup: &Setup,
        keys: keygen::Epoch<S>,
    ) -> Result<Backlog<S>, HaltError> {
        let first = Slot::new(keys.first_slot);
        let origin = self.running.as_ref().map_or(first, |running| running.first);
        let config = Config {
            context: setup.context,
            me: self.origin.me,
            paths: paths(setup, keys, origin),
            binding: S::binding(origin),
            fast_attempt: self.origin.fast_attempt,
            finality: setup.finality(self.origin.quorum)?,
            first,
            life: self.origin.life,
            limits: Limits::default(),
        };
        let epoch = setup.context.epoch;
        let (own, later) = std::mem::take(&mut self.records)
            .into_iter()
            .partition(|record: &epochs::Record| record.epoch <= epoch);
        self.records = later;
        match &mut self.running {
            Some(running) => running.epochs.hand_over_again(config, &own)?,
            None => {
                let epochs = Epochs::new([config], &own)?;
                self.running = Some(Box::new(Running { epochs, first }));
            }
        }
        (self.awaited, self.boundary) = (epoch.next(), None);
        Ok(std::mem::take(&mut self.backlog))
    }

    pub(crate) fn admit(&mut self, now: Instant, setup: &Setup, keys: &AdmittedKeys<S>) {
        let epoch = setup.context.epoch;
        let late = if setup.choice == Algorithm::Tight { Path::Tight } else { Path::Slow };
        let keys = [(late, Some(&keys.keys.slow)), (Path::Fast, keys.keys.fast.as_ref())];
        for (path, key) in keys {
            if let Some(key) = key.cloned() {
                self.tell(now, Input::Admitted { epoch, path, key });
            }
        }
    }

    pub(crate) fn poll(&mut self) -> Option<Output<S>> {
        self.running.as_mut()?.epochs.poll()
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.running.as_ref()?.epochs.wake_at()
    }
}

// Derived, it would ask for a default of the scheme.
impl<S: Keyed> Default for Backlog<S> {
    fn default() -> Self {
        Self { finalized: Vec::new(), abandoned: None, messages: Early::default() }
    }
}

impl<S: Keyed> Backlog<S> {
    /// In the order in which the beacon of that epoch has to be told.
    pub(crate) fn inputs(self, epoch: EpochId) -> impl Iterator<Item = Input<S>> {
        // The beacon repeats what it released before a crash, unless it knows that it must not.
        let abandoned = self.abandoned.map(|view| Input::Abandoned { view });
        let finalized = self.finalized.into_iter();
        let finalized = finalized.map(|(slot, value)| Input::Finalized { slot, value });
        let messages = self.messages.into_messages().map(move |(from, message)| Input::Received {
            from,
            message: epochs::Message { epoch, message },
        });
        abandoned.into_iter().chain(finalized).chain(messages)
    }
}

/// `origin` is the chain's first slot with a value.
fn paths<S: Keyed>(setup: &Setup, epoch: keygen::Epoch<S>, origin: Slot) -> Paths<S> {
    let keygen::Epoch { committees, own, first_slot: _ } = epoch;
    let (own_slow, own_fast) = own.map(|own| (own.slow, own.fast)).unzip();
    let slow = Sharing { committee: committees.slow, secret: own_slow };
    match committees.fast {
        Some(committee) => {
            let fast = Sharing { committee, secret: own_fast.flatten() };
            let fast_from = origin.after(setup.fast_after);
            Paths::FastAndSlow { slow, fast, fast_from }
        }
        None if setup.choice == Algorithm::Tight => Paths::Tight(slow),
        None => Paths::Slow(slow),
    }
}
