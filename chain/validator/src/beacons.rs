//! The beacons of all epochs, and the inputs that wait for a beacon whose keys this party has not
//! opened yet.
//!
//! The boundary of an epoch is known before every party has its keys. From there on the engine's events
//! are kept until the next beacon begins. Nothing is released early in between, so these slots take the
//! slow path.
//!
//! A party that joins in a later epoch has no beacon for the epochs before, whose committees do not know its
//! number. Its first beacon continues the chain's rounds, which count from the chain's first slot with a value.
use std::collections::BTreeMap;
use std::sync::Arc;

use ::prefinal_beacon::epochs::{self, Epochs};
use ::prefinal_beacon::stack::{
    self, Channel, Channels, Envelope, Event, Input, OneOf, Output, Stack, records_of,
};
use ::prefinal_beacon::{Beacon, Config, Life, Limits, Path, Paths, Sharing, Slot, Value, View};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_engine::Quorum;
use prefinal_protocol::{Instant, Machine};

use crate::early::Early;
use crate::event::HaltError;
use crate::extra::{Basis, ExtraChannels};
use crate::keygen;
use crate::scheme::{AdmittedKeys, KeyedScheme};
use crate::setup::{Algorithm, Identity, Setup};

/// The channel whose keys are made on the chain.
pub(crate) const DEALT: Channel = Channel::new(0);

/// The properties of a party and its engine that every beacon needs.
pub(crate) struct Origin {
    pub(crate) identity: Arc<Identity>,
    pub(crate) life: Life,
    pub(crate) fast_attempt: Option<u32>,
    pub(crate) quorum: Quorum,
    /// Whether this chain uses the channels beside the first.
    pub(crate) beside: bool,
}

/// The beacons that have begun, and the inputs for the next one.
pub(crate) struct Beacons<S: KeyedScheme, L: ExtraChannels> {
    origin: Origin,
    running: Option<Stack<(S, L)>>,
    /// The chain's first slot with a value, once it is known: rounds count from there.
    first: Option<Slot>,
    /// The epoch whose keys are awaited.
    awaited: EpochId,
    /// Its first slot, once it is known.
    boundary: Option<Slot>,
    records: Vec<stack::Record>,
    pub(crate) backlog: Backlog<S, L>,
}

/// The inputs that the next beacon must get.
pub(crate) struct Backlog<S: KeyedScheme, L: ExtraChannels> {
    finalized: Vec<(Slot, Option<Value>)>,
    abandoned: Option<View>,
    pub(crate) envelopes: Early<Envelope<(S, L)>>,
}

impl<S: KeyedScheme, L: ExtraChannels> Beacons<S, L> {
    /// No beacon yet. `records` are the records of all epochs.
    pub(crate) fn new(origin: Origin, first: EpochId, records: Vec<stack::Record>) -> Self {
        Self {
            origin,
            running: None,
            first: None,
            awaited: first,
            boundary: None,
            records,
            backlog: Backlog::default(),
        }
    }

    pub(crate) const fn awaited(&self) -> EpochId {
        self.awaited
    }

    /// Sets the first slot of the epoch whose keys are awaited.
    pub(crate) const fn set_boundary(&mut self, first: Slot) {
        self.boundary = Some(first);
    }

    /// Whether the slot is one of the awaited epoch, so that no beacon remembers it yet.
    pub(crate) fn awaits(&self, slot: Slot) -> bool {
        self.first.is_none() || self.boundary.is_some_and(|boundary| slot >= boundary)
    }

    /// The beacon of the last epoch that has begun.
    pub(crate) fn newest(&self) -> Option<&Beacon<S>> {
        self.beacon(EpochId::new(self.awaited.get().checked_sub(1)?))
    }

    /// The greatest length in bytes of each party's envelopes, in any epoch that is here.
    pub(crate) fn longest_messages(&self) -> BTreeMap<Party, usize> {
        let mut longest: BTreeMap<Party, usize> = BTreeMap::new();
        let each = self.running.iter().flat_map(Stack::longest_messages);
        for ((_, party), bytes) in each {
            let most = longest.entry(party).or_default();
            *most = (*most).max(bytes);
        }
        longest
    }

    /// The highest slot that was reported as final, to the beacons that are here.
    pub(crate) fn last_final(&self) -> Option<Slot> {
        self.running.as_ref().and_then(Stack::last_final)
    }

    /// The first slot that has no value yet. Slot 0 before there is a beacon.
    pub(crate) fn head(&self) -> Slot {
        self.running.as_ref().map_or(Slot::new(0), Stack::head)
    }

    pub(crate) fn beacon(&self, epoch: EpochId) -> Option<&Beacon<S>> {
        // There is no such channel only if somebody made a stack without it.
        self.running.as_ref()?.channels().0.as_ref()?.beacon(epoch)
    }

    /// Passes an input to the beacons, or keeps it for the next beacon.
    pub(crate) fn tell(&mut self, now: Instant, input: Input<(S, L)>) {
        let waits = match &input {
            Input::All(Event::Prefinalized { slot, .. } | Event::Finalized { slot, .. }) => {
                self.awaits(*slot)
            }
            Input::Received { envelope, .. } => envelope.epoch() >= self.awaited,
            _ => self.running.is_none(),
        };
        match (&mut self.running, input) {
            (Some(running), input) if !waits => running.handle(now, input),
            // Without a beacon, a slot before the awaited epoch has no value here.
            (_, Input::All(Event::Finalized { slot, value })) if waits => {
                self.backlog.finalized.push((slot, value));
            }
            (_, Input::All(Event::Abandoned { view })) => {
                self.backlog.abandoned = self.backlog.abandoned.max(Some(view));
            }
            (_, Input::Received { from, envelope }) if envelope.epoch() == self.awaited => {
                self.backlog.envelopes.keep(from, envelope);
            }
            // Without keys nothing can be released early, and there is no job to check.
            _ => {}
        }
    }

    /// Notes what an engine released in an earlier life, for all channels, because their partials leave
    /// together.
    pub(crate) fn remember(&mut self, epoch: EpochId, slot: Slot, value: Value) {
        let record =
            epochs::Record { epoch, record: ::prefinal_beacon::Record::Released { slot, value } };
        let channels = (0..).map(Channel::new).take(<(S, L)>::COUNT);
        self.records.extend(channels.map(|channel| stack::Record { channel, record }));
    }

    /// The awaited keys suffice: begins the beacon of their epoch, and returns the inputs that it must get.
    /// A committee that does not know this party has no beacon here.
    pub(crate) fn begin(
        &mut self,
        setup: &Setup,
        keys: keygen::Epoch<S>,
    ) -> Result<Backlog<S, L>, HaltError> {
        let first = Slot::new(keys.first_slot);
        let origin = *self.first.get_or_insert(first);
        let Origin { life, fast_attempt, quorum, beside, .. } = self.origin;
        let identity = &self.origin.identity;
        if identity.me.index() >= setup.members.len() {
            let Backlog { abandoned, .. } = std::mem::take(&mut self.backlog);
            (self.awaited, self.boundary) = (setup.context.epoch.next(), None);
            return Ok(Backlog { abandoned, ..Backlog::default() });
        }
        let config = Config {
            context: setup.context,
            me: identity.me,
            paths: paths(setup, keys, origin),
            binding: S::binding(origin),
            fast_attempt,
            finality: setup.finality(quorum)?,
            first,
            life,
            limits: Limits::default(),
        };
        let epoch = setup.context.epoch;
        let (own, later): (Vec<_>, _) = std::mem::take(&mut self.records)
            .into_iter()
            .partition(|record: &stack::Record| record.record.epoch <= epoch);
        self.records = later;
        let basis = Basis { setup, identity, first, life, fast_attempt, quorum };
        if let Some(running) = &mut self.running {
            running.hand_over_again(OneOf::First(config), &own)?;
            let configs = if beside { L::next(&basis)? } else { Vec::new() };
            for config in configs {
                running.hand_over_again(OneOf::Rest(config), &own)?;
            }
        } else {
            let dealt = Epochs::new([config], &records_of::<(S, L)>(&own, DEALT)?)?;
            let others = match beside {
                true => L::begin(&basis, DEALT.next(), &own)?,
                false => L::Epochs::default(),
            };
            self.running = Some(Stack::new((Some(dealt), others))?);
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
                let input = epochs::Input::Admitted { epoch, path, key };
                self.tell(now, Input::Of(OneOf::First(input)));
            }
        }
    }

    pub(crate) fn poll(&mut self) -> Option<Output<(S, L)>> {
        self.running.as_mut()?.poll()
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.running.as_ref()?.wake_at()
    }
}

// A derived implementation would require a default of the scheme.
impl<S: KeyedScheme, L: ExtraChannels> Default for Backlog<S, L> {
    fn default() -> Self {
        Self { finalized: Vec::new(), abandoned: None, envelopes: Early::default() }
    }
}

impl<S: KeyedScheme, L: ExtraChannels> Backlog<S, L> {
    /// The inputs, in the order in which the beacon of that epoch must get them.
    pub(crate) fn inputs(self) -> impl Iterator<Item = Input<(S, L)>> {
        // The beacon repeats what it released before a crash, unless it knows about the view that was
        // given up.
        let abandoned = self.abandoned.map(|view| Input::All(Event::Abandoned { view }));
        let finalized = self.finalized.into_iter();
        let finalized = finalized.map(|(slot, value)| Event::Finalized { slot, value });
        let envelopes = self.envelopes.into_messages();
        let envelopes = envelopes.map(|(from, envelope)| Input::Received { from, envelope });
        abandoned.into_iter().chain(finalized.map(Input::All)).chain(envelopes)
    }
}

/// `origin` is the chain's first slot with a value.
fn paths<S: KeyedScheme>(setup: &Setup, epoch: keygen::Epoch<S>, origin: Slot) -> Paths<S> {
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
