//! Everything that a party does around an engine: key generations, handovers and beacons, for all epochs.
//!
//! ```text
//!              ordered transactions ────► keygen ── keys of an epoch ──┐
//!  engine ───► prefinalized · finalized · abandoned ──────────────────► beacon ─► value
//!              ◄── transactions, early partials, the next committee ────┘
//! ```
//! A participant does not depend on an engine. Its host has one, and tells the participant three things, as
//! they happen: that a vote is about to be cast, that a slot is final, that a view is about to be given up.
//! The host's engine runs through all epochs and reports every slot, in order, with its final
//! block. The participant tells it ahead whose votes count in the next epoch ([`Effect::Prepare`]).
//! [`Validator`](crate::Validator) is a host whose engine starts again in each epoch.
//!
//! ```no_run
//! use prefinal_driver::{Driver, Options, Task};
//! use prefinal_engine::Quorum;
//! use prefinal_validator::participant::{Effect, Host, Participant};
//! use prefinal_validator::scheme::Bls;
//! # use std::{error::Error, sync::Arc};
//! # use prefinal_validator::setup::{Identity, Setup};
//!
//! # fn run(setup: &Arc<Setup>, me: &Arc<Identity>, life: prefinal_beacon::Life) -> Result<(), Box<dyn Error>> {
//! // More than two thirds of the stake make a value final; votes of a slot's first attempt release.
//! let host = Host::new(Quorum::BYZANTINE, Some(0));
//! let make = |records| Participant::<Bls>::new(setup, me, life, records, host);
//! // A chain takes a file, or its engine's log.
//! let journal = prefinal_journal::Memory::new();
//! let pool = |task: Task| drop(std::thread::spawn(task));
//! let (driver, effects) = Driver::start(make, journal, pool, Options::default())?;
//! // The engine calls `on_prefinalize`, `on_finalize` and `on_view_abandoned` on a clone of the driver,
//! // the network `on_message`. One thread carries out what comes of it:
//! while let Ok(effect) = effects.recv_blocking() {
//!     match effect {
//!         Effect::Send { to, envelope } => println!("to {to:?}: {} messages", envelope.messages().len()),
//!         Effect::Submit { transaction, .. } => println!("{} bytes for a block", transaction.len()),
//!         Effect::Tell(event) => println!("{event:?}"),
//!         _ => {}
//!     }
//! }
//! # drop(driver);
//! # Ok(())
//! # }
//! ```
//! Where an epoch begins follows from what was ordered, and a party may still be judging that. Until it
//! has, nothing is released early for slots that may lie behind the boundary. Final slots behind it are
//! recorded and wait.
mod words;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ::prefinal_beacon::stack::{self, OneOf};
use ::prefinal_beacon::{Beacon, Life, Slot, Value, View, epochs};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::context::EpochId;
use prefinal_engine::{Block, PastVotes};
use prefinal_protocol::{Instant, Machine};

use crate::application::Judged;
use crate::beacons::{Beacons, Origin};
use crate::event::{Event, HaltError, StartError};
use crate::extra::ExtraChannels;
use crate::handovers::Handovers;
use crate::keygen::{self, KeygenError};
use crate::scheme::{CommitteeKey, KeyedScheme};
use crate::setup::{Identity, Setup};
use crate::transaction::Kind;

pub(crate) use self::words::Line;
pub use self::words::{Effect, Host, Input, Job, Output, Record, Verdict};

/// Key generations, handovers and beacons of one party, through all epochs of a chain. It runs one
/// scheme `S` whose keys are made on the chain, and channels `L` that need no such keys.
pub struct Participant<S: KeyedScheme, L: ExtraChannels = ()> {
    identity: Arc<Identity>,
    /// The public half of the key with which this party signs.
    signer: min_sig::PublicKey,
    line: Line,
    current: EpochId,
    handovers: Handovers<S>,
    beacons: Beacons<S, L>,
    /// The last epoch that the host was told about, and whether the host's engine is ready for it.
    announced: EpochId,
    prepared: bool,
    /// Whether the ordered blocks decide on committees, in any epoch.
    decides: bool,
    /// Keys of an epoch for which the host is still preparing.
    keys: Option<(Arc<Setup>, keygen::Epoch<S>)>,
    /// Ordered slots on record, until they are known to lie before the boundary.
    past: VecDeque<Ordered>,
    /// The last slot that was ordered. The engine may report it again after a crash, and then a
    /// transaction that did not count the first time must not count.
    last: Slot,
    halted: Option<HaltError>,
    outputs: VecDeque<Output<S, L>>,
}

/// A slot that the engine finalized while the party was in `epoch`.
struct Ordered {
    epoch: EpochId,
    slot: Slot,
    block: Option<Block>,
}

impl<S: KeyedScheme, L: ExtraChannels> Participant<S, L> {
    /// A participant of a chain whose first epoch has this set-up. It continues where its records end.
    /// In its first life, for which its journal was created, there are none.
    ///
    /// A party that joins later starts in the same way, with the first set-up, and is told of all final
    /// slots from the first one on. It has values from its first epoch on.
    ///
    /// # Errors
    /// If the records are not this party's, or its number is another party's.
    pub fn new(
        setup: &Arc<Setup>,
        identity: &Arc<Identity>,
        life: Life,
        records: Vec<Record>,
        host: Host,
    ) -> Result<Self, KeygenError> {
        let (me, first) = (identity.me, setup.context.epoch);
        let mut dealt: BTreeMap<EpochId, Vec<_>> = BTreeMap::new();
        let (mut released, mut past, mut abandoned) = (Vec::new(), VecDeque::new(), None);
        for record in records {
            match record {
                Record::Keygen(epoch, record) => dealt.entry(epoch).or_default().push(record),
                Record::Beacon(channel, epoch, record) => {
                    let record = epochs::Record { epoch, record };
                    released.push(stack::Record { channel, record });
                }
                Record::Abandoned(view) => abandoned = abandoned.max(Some(view)),
                Record::Ordered { epoch, slot, block, transactions } => {
                    let block = block.map(|value| Block { value, transactions });
                    past.push_back(Ordered { epoch, slot, block });
                }
            }
        }
        let Host { quorum, fast_attempt, line, beside } = host;
        let origin = Origin { identity: Arc::clone(identity), life, fast_attempt, quorum, beside };
        let mut participant = Self {
            identity: Arc::clone(identity),
            signer: identity.signer.public_key(),
            line,
            current: first,
            handovers: Handovers::new(Arc::clone(setup), me, dealt)?,
            beacons: Beacons::new(origin, first, released),
            announced: first,
            prepared: line == Line::Continuous,
            decides: setup.succession.is_some(),
            keys: None,
            past,
            last: Slot::new(0),
            halted: None,
            outputs: VecDeque::new(),
        };
        participant.check_identity(setup)?;
        let given_up = abandoned.into_iter().map(|view| stack::Event::Abandoned { view });
        given_up
            .for_each(|event| participant.beacons.tell(Instant::START, stack::Input::All(event)));
        Ok(participant)
    }

    /// The key of the current epoch, once it is fixed.
    #[must_use]
    pub fn key(&self) -> Option<&Arc<CommitteeKey<S>>> {
        self.handovers.key()
    }

    /// The beacon of the last epoch for which this party has keys.
    #[must_use]
    pub fn newest_beacon(&self) -> Option<&Beacon<S>> {
        self.beacons.newest()
    }

    /// The beacon of that epoch, while it runs.
    #[must_use]
    pub fn beacon(&self, epoch: EpochId) -> Option<&Beacon<S>> {
        self.beacons.beacon(epoch)
    }

    /// The epoch that this party is in.
    #[must_use]
    pub const fn epoch(&self) -> EpochId {
        self.current
    }

    /// The party's identity, whose secrets its jobs need.
    #[must_use]
    pub const fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// Number of parties that the chain has had, those that have left included. It grows when a committee
    /// with newcomers is named.
    #[must_use]
    pub fn parties(&self) -> usize {
        self.handovers.newest_setup().members.len()
    }

    /// The first epoch whose keys do not suffice yet.
    #[must_use]
    pub const fn awaited(&self) -> EpochId {
        self.beacons.awaited()
    }

    /// The greatest length in bytes of each party's envelopes. Empty before there are keys.
    #[must_use]
    pub fn longest_messages(&self) -> BTreeMap<Party, usize> {
        self.beacons.longest_messages()
    }

    /// Why the participant has stopped, if it has.
    #[must_use]
    pub const fn halted(&self) -> Option<&HaltError> {
        self.halted.as_ref()
    }

    /// The first slot that has no value yet.
    #[must_use]
    pub fn head(&self) -> Slot {
        self.beacons.head()
    }

    /// The highest slot that the engine has reported as final; `None` before the first report. After a restart
    /// it is the highest on record.
    #[must_use]
    pub fn last_final(&self) -> Option<Slot> {
        let last = self.past.back().map_or(self.last, |past| past.slot);
        self.beacons.last_final().max(Some(last).filter(|last| *last > Slot::new(0)))
    }

    /// The last slot that is final and known to lie before the next boundary.
    #[must_use]
    pub const fn last(&self) -> Slot {
        self.last
    }

    /// From this slot on the next epoch may begin, as far as this party knows. `None` if no committee
    /// follows.
    #[must_use]
    pub fn limit(&self) -> Option<Slot> {
        self.handovers.limit()
    }

    /// Whether final blocks decide on committees. Then a final slot may turn out to be another epoch's.
    #[must_use]
    pub const fn decides(&self) -> bool {
        self.decides
    }

    /// The next committee and its first slot, once both are known.
    #[must_use]
    pub fn following(&self) -> Option<(Arc<Setup>, Slot)> {
        self.handovers.following()
    }

    /// How far this party has judged what blocks say of the next committee. Tell an application of it behind all
    /// effects that came before.
    #[must_use]
    pub fn judged(&self) -> Judged {
        self.handovers.judged()
    }

    /// The set-up whose committee decides this slot, the next one or an earlier one of this epoch. `None` as long
    /// as blocks that are being judged may still hand the slot to another committee.
    #[must_use]
    pub fn setup_of(&self, slot: Slot) -> Option<Arc<Setup>> {
        self.handovers.setup_of(slot)
    }

    /// Whether final slots wait until the boundary is known.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.past.is_empty()
    }

    /// Checks that the committee knows this party's number by this party's key, if it knows the number.
    fn check_identity(&self, setup: &Setup) -> Result<(), KeygenError> {
        let (party, epoch) = (self.identity.me, setup.context.epoch);
        match setup.members.get(party.index()) {
            Some(member) if *member.key.get() != self.signer => {
                Err(KeygenError::OtherIdentity { party, epoch })
            }
            _ => Ok(()),
        }
    }

    fn effect(&mut self, effect: Effect<S, L>) {
        self.outputs.push_back(Output::Do(effect));
    }

    fn note(&mut self, event: Event<S>) {
        self.effect(Effect::Tell(event));
    }

    /// Stops the participant: the keys of the next epoch are refused.
    fn halt(&mut self, why: impl Into<HaltError>) {
        if self.halted.is_none() {
            let why = why.into();
            self.halted = Some(why.clone());
            self.note(Event::Halted(why));
        }
    }

    /// Passes outputs from part to part until none is left, and passes recorded slots to the parts.
    fn settle(&mut self, now: Instant) {
        self.advance(now);
        while self.halted.is_none()
            && let Some(Ordered { slot, block, .. }) = self.next_past()
        {
            self.order(now, slot, block);
        }
    }

    /// The next recorded slot, unless it may lie behind a boundary.
    fn next_past(&mut self) -> Option<Ordered> {
        let limit = self.handovers.limit();
        let (line, current) = (self.line, self.current);
        self.past.pop_front_if(|past| {
            let counts = line == Line::Continuous || past.epoch == current;
            counts && limit.is_none_or(|limit| past.slot < limit)
        })
    }

    /// Brings key generations, beacons and the boundary up to date with what was ordered and judged.
    fn advance(&mut self, now: Instant) {
        loop {
            self.drain_keygen(now);
            self.begin_beacons(now);
            self.drain_beacon();
            // A host that makes a new engine is told when it needs it.
            if self.line == Line::Continuous
                && let Some((setup, first)) = self.handovers.following()
            {
                self.prepare(&setup, first);
            }
            let Some((setup, first)) = self.handovers.crossing() else { return };
            if self.halted.is_some() || !self.prepare(&setup, first) {
                return;
            }
            self.handovers.cross();
            self.current = setup.context.epoch;
            if self.line == Line::Renewed {
                self.past.retain(|past| past.epoch >= setup.context.epoch);
            }
            self.effect(Effect::Enter { setup, first });
        }
    }

    /// Whether the host has prepared for an epoch. Tells the host to do so, once.
    fn prepare(&mut self, setup: &Arc<Setup>, first: Slot) -> bool {
        let epoch = setup.context.epoch;
        if self.announced < epoch {
            // An engine that runs through all epochs has nothing to prepare.
            (self.announced, self.prepared) = (epoch, self.line == Line::Continuous);
            self.effect(Effect::Prepare { setup: Arc::clone(setup), first });
        }
        self.prepared || epoch < self.announced
    }

    /// The engine of this epoch is ready. `past` is what it sent in an earlier life.
    pub(crate) fn prepared(&mut self, now: Instant, epoch: EpochId, past: PastVotes) {
        if self.prepared || epoch != self.announced {
            return;
        }
        self.prepared = true;
        for (slot, value) in past.released {
            self.beacons.remember(epoch, slot, value);
        }
        if let Some(view) = past.abandoned {
            self.beacons.tell(now, stack::Input::All(stack::Event::Abandoned { view }));
        }
    }

    /// Continues after [`Self::prepared`].
    pub(crate) fn go_on(&mut self, now: Instant) {
        if self.halted.is_none() {
            self.settle(now);
        }
    }

    /// Records the view if there is no beacon to remember it and the engine does not.
    fn abandoned(&mut self, now: Instant, view: View) {
        if self.line == Line::Continuous && self.newest_beacon().is_none() {
            self.outputs.push_back(Output::Keep(Record::Abandoned(view)));
        }
        self.beacons.tell(now, stack::Input::All(stack::Event::Abandoned { view }));
    }

    /// Nothing is released early for a slot whose epoch is not known yet.
    fn prefinalized(&mut self, now: Instant, slot: Slot, view: View, value: Value) {
        let limit = self.handovers.limit();
        if limit.is_none_or(|limit| slot < limit && view.slot < limit) {
            let event = stack::Event::Prefinalized { slot, view, value };
            self.beacons.tell(now, stack::Input::All(event));
        }
    }

    /// Records a final slot even if it is not known yet whether it lies before the boundary. The engine
    /// reports it once, and not again after a crash.
    fn finalized(&mut self, slot: Slot, block: Option<Block>) {
        let value = block.as_ref().map(|block| block.value);
        if slot <= self.last {
            return self.note(Event::Finalized { slot, block: value });
        }
        let known = self.past.back().map_or(self.last, |past| past.slot);
        if slot <= known {
            return;
        }
        let transactions = block.as_ref().map(|block| block.transactions.clone());
        let mut transactions = transactions.unwrap_or_default();
        // The chain's own transactions are not needed later, unless peers that are behind ask for them.
        transactions.retain(|one| self.decides || Kind::of(one).is_some());
        if self.decides && slot != known.next() {
            return self.halt(HaltError::Gap { slot, expected: known.next() });
        }
        let epoch = self.current;
        // Without keys nobody else remembers the slot; with keys the beacon does.
        if self.decides || self.beacons.awaits(slot) || !transactions.is_empty() {
            let record = Record::Ordered { epoch, slot, block: value, transactions };
            self.outputs.push_back(Output::Keep(record));
        }
        self.past.push_back(Ordered { epoch, slot, block });
    }

    /// Passes on a slot that is final and on record.
    fn order(&mut self, now: Instant, slot: Slot, block: Option<Block>) {
        let expected = self.last.next();
        if self.decides && slot != expected {
            return self.halt(HaltError::Gap { slot, expected });
        }
        self.last = slot;
        let value = block.as_ref().map(|block| block.value);
        self.note(Event::Finalized { slot, block: value });
        self.beacons.tell(now, stack::Input::All(stack::Event::Finalized { slot, value }));
        let before = self.handovers.newest_setup().context.epoch;
        let refused = match self.handovers.ordered(slot, block.as_ref()) {
            Ok(refused) => refused,
            Err(error) => return self.halt(StartError::from(error)),
        };
        refused.into_iter().for_each(|change| self.note(Event::ChangeRefused { slot, change }));
        let newest = Arc::clone(self.handovers.newest_setup());
        let epoch = newest.context.epoch;
        if epoch > before {
            self.note(Event::Named { epoch, slot });
            if let Err(error) = self.check_identity(&newest) {
                return self.halt(StartError::from(error));
            }
        }
        self.effect(Effect::Ordered { slot, block });
        self.advance(now);
    }

    fn drain_keygen(&mut self, now: Instant) {
        while let Some((epoch, output)) = self.handovers.poll() {
            let effect = match output.split(|record| Record::Keygen(epoch, record)) {
                Ok(effect) => effect,
                Err(record) => {
                    self.outputs.push_back(record);
                    continue;
                }
            };
            match effect {
                keygen::Effect::Run(job) => {
                    let setup = self.handovers.setup(epoch).map(Arc::clone);
                    let job = setup.map(|setup| Effect::Run(Job::Keygen(setup, job)));
                    job.into_iter().for_each(|job| self.effect(job));
                }
                keygen::Effect::Accused(fault) => {
                    let (party, fault) = (fault.party, fault.misdeed.to_string());
                    self.note(Event::Accused { party, fault });
                }
                keygen::Effect::Submit(transaction) => {
                    self.effect(Effect::Submit { epoch, transaction });
                }
                keygen::Effect::Dealing { dealings, progress } => {
                    self.note(Event::Dealing { epoch, dealings, progress });
                }
                keygen::Effect::Refused(why) => self.note(Event::Refused(why)),
                // The consequences are looked up where a beacon begins.
                keygen::Effect::Ready { .. } => {}
                keygen::Effect::Late(keys) => {
                    self.note(Event::Admitted(epoch, Arc::clone(&keys)));
                    let setup = self.handovers.setup(epoch).map(Arc::clone);
                    let setup = setup.into_iter();
                    setup.for_each(|setup| self.beacons.admit(now, &setup, &keys));
                }
            }
        }
    }

    /// Begins the beacons whose keys suffice and for whose epochs the host has prepared.
    fn begin_beacons(&mut self, now: Instant) {
        while self.halted.is_none() {
            let epoch = self.beacons.awaited();
            if let Some(first) = self.handovers.first_of(epoch) {
                self.beacons.set_boundary(first);
            }
            if self.keys.is_none() {
                let setup = self.handovers.setup(epoch).map(Arc::clone);
                self.keys = setup.zip(self.handovers.take_epoch(epoch));
            }
            let Some((setup, keys)) = self.keys.take() else { return };
            if !self.prepare(&setup, Slot::new(keys.first_slot)) {
                self.keys = Some((setup, keys));
                return;
            }
            if let Err(error) = self.begin_beacon(now, &setup, keys) {
                return self.halt(error);
            }
        }
    }

    /// Begins a beacon whose keys suffice, and tells it what happened before.
    fn begin_beacon(
        &mut self,
        now: Instant,
        setup: &Setup,
        keys: keygen::Epoch<S>,
    ) -> Result<(), HaltError> {
        let (epoch, first_slot) = (setup.context.epoch, Slot::new(keys.first_slot));
        let committees = Box::new(keys.committees.clone());
        let backlog = self.beacons.begin(setup, keys)?;
        self.note(Event::Ready { epoch, first_slot, committees });
        backlog.inputs().for_each(|input| self.beacons.tell(now, input));
        Ok(())
    }

    fn drain_beacon(&mut self) {
        while let Some(output) = self.beacons.poll() {
            match output.split(record_of) {
                Ok(stack::Effect::Of(OneOf::First(epochs::Effect::Retired { epoch }))) => {
                    self.handovers.retire(epoch);
                }
                Ok(effect) => {
                    if let Some(gap) = gap(&effect) {
                        self.halt(gap);
                    }
                    self.outputs.extend(effect_of(effect).map(Output::Do));
                }
                Err(record) => self.outputs.push_back(record),
            }
        }
    }

    fn checked(&mut self, now: Instant, verdict: Verdict<S, L>) {
        match verdict {
            Verdict::Keygen(epoch, verdict) => {
                if let Err(error) = self.handovers.checked(epoch, verdict) {
                    self.halt(StartError::from(error));
                }
            }
            Verdict::Beacon(verdict) => {
                self.beacons.tell(now, stack::Input::Checked(verdict));
            }
        }
    }
}

impl<S: KeyedScheme, L: ExtraChannels> Machine for Participant<S, L> {
    type Input = Input<S, L>;
    type Record = Record;
    type Effect = Effect<S, L>;

    fn handle(&mut self, now: Instant, input: Input<S, L>) {
        if self.halted.is_some() {
            return;
        }
        match input {
            Input::Start => {}
            Input::Prefinalized { slot, view, value } => self.prefinalized(now, slot, view, value),
            Input::Finalized { slot, block } => self.finalized(slot, block),
            Input::Abandoned { view } => self.abandoned(now, view),
            Input::Received { from, envelope } => {
                self.beacons.tell(now, stack::Input::Received { from, envelope });
            }
            Input::Switch(switch) if self.newest_beacon().is_some() => {
                let switch = OneOf::First(epochs::Input::Switch(switch));
                self.beacons.tell(now, stack::Input::Of(switch));
            }
            Input::Switch(_) => {
                self.note(Event::Refused("no keys yet: there is nothing to switch".to_owned()));
            }
            Input::Beside(input) => {
                self.beacons.tell(now, stack::Input::Of(OneOf::Rest(input)));
            }
            Input::Checked(verdict) => self.checked(now, verdict),
            Input::Tick => self.beacons.tell(now, stack::Input::All(stack::Event::Tick)),
        }
        self.settle(now);
    }

    fn poll(&mut self) -> Option<Output<S, L>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        self.beacons.wake_at().filter(|_| self.halted.is_none())
    }
}

const fn record_of(record: stack::Record) -> Record {
    let stack::Record { channel, record: epochs::Record { epoch, record } } = record;
    Record::Beacon(channel, epoch, record)
}

/// A final slot so far ahead that the beacon has refused it. The participant has passed it on and takes no earlier
/// one any more, so it cannot continue in this life.
fn gap<S: KeyedScheme, L: ExtraChannels>(effect: &stack::Effect<(S, L)>) -> Option<HaltError> {
    match effect {
        stack::Effect::Of(OneOf::First(epochs::Effect::Of {
            effect:
                ::prefinal_beacon::Effect::Refused(::prefinal_beacon::Refusal::Beyond {
                    slot,
                    next,
                    ..
                }),
            ..
        })) => Some(HaltError::Gap { slot: *slot, expected: *next }),
        _ => None,
    }
}

/// The effect of the participant that follows from a beacon's effect, if any.
fn effect_of<S: KeyedScheme, L: ExtraChannels>(
    effect: stack::Effect<(S, L)>,
) -> Option<Effect<S, L>> {
    let effect = match effect {
        stack::Effect::Send { to, envelope } => return Some(Effect::Send { to, envelope }),
        stack::Effect::Check(job) => return Some(Effect::Run(Job::Beacon(job))),
        stack::Effect::Of(OneOf::Rest(effect)) => return Some(Effect::Beside(effect)),
        stack::Effect::Of(OneOf::First(epochs::Effect::Of {
            epoch,
            effect: ::prefinal_beacon::Effect::Lookup { to, slots },
        })) => return Some(Effect::Lookup { epoch, to, slots }),
        stack::Effect::Of(OneOf::First(epochs::Effect::Of { effect, .. })) => effect,
        // Normal: an epoch is over, or a slot before the first with a value is final.
        stack::Effect::Of(OneOf::First(_)) => return None,
    };
    Some(match effect {
        // The first two are the stack's, the third went out above.
        ::prefinal_beacon::Effect::Send { .. }
        | ::prefinal_beacon::Effect::Check(_)
        | ::prefinal_beacon::Effect::Lookup { .. } => return None,
        ::prefinal_beacon::Effect::Reveal(reveal) => Effect::Tell(Event::Revealed(reveal)),
        ::prefinal_beacon::Effect::Skipped { slot } | ::prefinal_beacon::Effect::Off { slot } => {
            Effect::Tell(Event::Skipped(slot))
        }
        ::prefinal_beacon::Effect::Accuse { party, fault } => {
            Effect::Tell(Event::Accused { party, fault: fault.to_string() })
        }
        ::prefinal_beacon::Effect::Stalled { slot } => Effect::Tell(Event::Refused(format!(
            "{slot} was not reported, and a later slot is final"
        ))),
        // Normal: the fast path is off, the slot is not beaconed, a view was given up.
        ::prefinal_beacon::Effect::Refused(::prefinal_beacon::Refusal::Withheld(_)) => return None,
        ::prefinal_beacon::Effect::Refused(refusal) => {
            Effect::Tell(Event::Refused(refusal.to_string()))
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests;
