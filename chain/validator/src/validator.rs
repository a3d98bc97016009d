//! The machine: engines, key generations and beacons of one party, epoch after epoch.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use ::beacon::{Beacon, Life, Slot, epochs};
use crypto_core::access::Party;
use crypto_core::context::EpochId;
use engine::{Block, Engine};
use protocol::{Instant, Machine, Recipient};

use crate::beacons::{Beacons, Origin};
use crate::early;
use crate::engines::Engines;
use crate::handovers::Handovers;
use crate::keygen;
use crate::scheme::{Fixed, Keyed};
use crate::setup::{Identity, Setup};
use crate::vouch::CatchUp;
use crate::words::{
    Begin, Effect, Event, HaltError, Input, Job, Message, Output, Record, StartError, Verdict,
};

/// Engine, key generation and beacon of one party, through all epochs of a chain.
pub struct Validator<S: Keyed, E: Engine> {
    identity: Arc<Identity>,
    engines: Engines<E>,
    handovers: Handovers<S>,
    beacons: Beacons<S>,
    catch_up: CatchUp,
    /// What is on record as ordered, until it is known to lie before the boundary.
    past: VecDeque<Past>,
    /// The last slot that was ordered: the engine may report it again after a crash, and what did not
    /// count the first time must not count the second.
    last: Slot,
    /// The parties that have left the epoch before, and those that have left this one already.
    left: BTreeSet<Party>,
    ahead: BTreeSet<Party>,
    /// What no engine has ordered yet, and the epoch that it is for.
    submitted: Vec<(EpochId, Vec<u8>)>,
    halted: bool,
    outputs: VecDeque<Output<S, E>>,
}

/// A slot that an epoch's engine finalized.
struct Past {
    epoch: EpochId,
    slot: Slot,
    block: Option<Block>,
}

impl<S: Keyed, E: Engine> Validator<S, E> {
    /// A validator of a chain whose first epoch has this set-up. It goes on where its records end; there
    /// are none in its first life, for which its journal was made.
    ///
    /// # Errors
    /// If the engine refuses its configuration, or the records are not this validator's.
    pub fn new(
        setup: Arc<Setup>,
        identity: Arc<Identity>,
        life: Life,
        records: Vec<Record<E::Record>>,
        begin: Begin<E>,
    ) -> Result<Self, StartError> {
        let (me, first) = (identity.me, setup.context.epoch);
        let mut dealt: BTreeMap<EpochId, Vec<_>> = BTreeMap::new();
        let mut promised: BTreeMap<EpochId, Vec<_>> = BTreeMap::new();
        let (mut released, mut past) = (Vec::new(), VecDeque::new());
        for record in records {
            match record {
                Record::Keygen(epoch, record) => dealt.entry(epoch).or_default().push(record),
                Record::Engine(epoch, record) => promised.entry(epoch).or_default().push(record),
                Record::Beacon(epoch, record) => released.push(epochs::Record { epoch, record }),
                Record::Ordered { epoch, slot, block, transactions } => {
                    let block = block.map(|value| Block { value, transactions });
                    past.push_back(Past { epoch, slot, block });
                }
            }
        }
        let quorum = E::QUORUM;
        let origin = Origin { me, life, fast_attempt: E::FAST_ATTEMPT, quorum };
        let mut validator = Self {
            engines: Engines::new(begin, first, promised),
            handovers: Handovers::new(Arc::clone(&setup), me, dealt)?,
            beacons: Beacons::new(origin, first, released),
            catch_up: CatchUp::new(&setup, quorum),
            past,
            last: Slot::new(0),
            left: BTreeSet::new(),
            ahead: BTreeSet::new(),
            submitted: Vec::new(),
            halted: false,
            outputs: VecDeque::new(),
            identity,
        };
        validator.make_engine(Instant::START, &setup, Slot::new(1))?;
        Ok(validator)
    }

    /// This epoch's key, once it is fixed.
    #[must_use]
    pub fn key(&self) -> Option<&Arc<Fixed<S>>> {
        self.handovers.key()
    }

    /// The beacon of the last epoch whose keys this party has.
    #[must_use]
    pub fn beacon(&self) -> Option<&Beacon<S>> {
        self.beacons.newest()
    }

    /// The epoch whose engine orders blocks.
    #[must_use]
    pub const fn epoch(&self) -> EpochId {
        self.engines.current()
    }

    fn effect(&mut self, effect: Effect<S, E>) {
        self.outputs.push_back(Output::Do(effect));
    }

    fn note(&mut self, event: Event<S>) {
        self.effect(Effect::Tell(event));
    }

    /// The engine or the keys of the next epoch are refused: there is no way on.
    fn halt(&mut self, why: impl Into<HaltError>) {
        if !self.halted {
            self.halted = true;
            self.note(Event::Halted(why.into()));
        }
    }

    /// Carries outputs from part to part until all are at rest. The engine's are taken one by one,
    /// so that what the beacon answers to a prefinalization leaves before the vote, or in it.
    fn settle(&mut self, now: Instant) {
        self.advance(now);
        while !self.halted {
            if let Some(Past { slot, block, .. }) = self.next_past() {
                self.order(now, slot, block);
            } else if let Some((epoch, output)) = self.engines.poll() {
                self.take_engine_output(now, epoch, output);
                self.advance(now);
            } else {
                break;
            }
        }
        let limit = self.handovers.limit();
        let waits = self.past.is_empty() && !self.halted;
        if let Some(slot) = waits.then(|| self.catch_up.ask(now, limit)).flatten() {
            self.effect(Effect::Send { to: Recipient::All, message: Message::Ask { slot } });
        }
    }

    /// The next slot on record, unless it may lie behind a boundary.
    fn next_past(&mut self) -> Option<Past> {
        let (limit, current) = (self.handovers.limit(), self.engines.current());
        self.past.pop_front_if(|past| {
            past.epoch == current && limit.is_none_or(|limit| past.slot < limit)
        })
    }

    /// Lets key generations, beacons and the boundary follow what was ordered and judged.
    fn advance(&mut self, now: Instant) {
        loop {
            self.drain_keygen(now);
            self.begin_beacons(now);
            self.drain_beacon();
            let boundary = self.handovers.boundary();
            let Some((first, setup)) = boundary.zip(self.handovers.cross()) else { break };
            self.enter(now, &setup, first);
        }
        self.engines.set_limit(self.handovers.limit());
    }

    /// The next epoch is the current one.
    fn enter(&mut self, now: Instant, setup: &Arc<Setup>, first: Slot) {
        if let Err(error) = self.make_engine(now, setup, first) {
            return self.halt(error);
        }
        let epoch = setup.context.epoch;
        self.past.retain(|past| past.epoch >= epoch);
        self.left = std::mem::take(&mut self.ahead);
        self.left.insert(self.identity.me);
        self.catch_up.enter(setup, E::QUORUM, first);
        self.engines.enter(now, epoch, first);
        self.let_the_old_be();
        // What the engine before has not ordered.
        self.submitted.retain(|(of, _)| *of >= epoch);
        for (_, transaction) in self.submitted.clone() {
            self.engines.handle(now, epoch, engine::Input::Submit(transaction));
        }
    }

    /// Makes the engine of an epoch, and remembers what it told the world in an earlier life.
    fn make_engine(
        &mut self,
        now: Instant,
        setup: &Arc<Setup>,
        first: Slot,
    ) -> Result<(), StartError> {
        let past = self.engines.make(setup, &self.identity, first)?;
        for (slot, value) in past.released {
            self.beacons.remember(setup.context.epoch, slot, value);
        }
        if let Some(view) = past.abandoned {
            self.beacons.tell(now, epochs::Input::Abandoned { view });
        }
        Ok(())
    }

    fn take_engine_output(&mut self, now: Instant, epoch: EpochId, output: engine::Output<E>) {
        let effect = match output.split(|record| Record::Engine(epoch, record)) {
            Ok(effect) => effect,
            Err(record) => return self.outputs.push_back(record),
        };
        match effect {
            engine::Effect::Send { to, message } => {
                self.effect(Effect::Send { to, message: Message::Engine(epoch, message) });
            }
            engine::Effect::Run(job) => self.effect(Effect::Run(Job::Engine(epoch, job))),
            engine::Effect::Prefinalized { slot, view, value } => {
                self.beacons.tell(now, epochs::Input::Prefinalized { slot, view, value });
                self.carry(epoch);
            }
            engine::Effect::Carried { from, partial } => self.carried(now, epoch, from, &partial),
            engine::Effect::Finalized { slot, block } => self.finalized(epoch, slot, block),
            engine::Effect::Abandoned { view } => {
                self.beacons.tell(now, epochs::Input::Abandoned { view });
            }
            engine::Effect::Accused { party, fault } => {
                self.note(Event::Accused { party, fault });
            }
            engine::Effect::Refused(why) => self.note(Event::Refused(why)),
        }
    }

    /// Takes the partial that came in a vote. If it is none, the slot takes the slow path as far as its
    /// sender is needed.
    fn carried(&mut self, now: Instant, epoch: EpochId, from: Party, partial: &[u8]) {
        let beacon = self.beacons.beacon(epoch);
        let longest = beacon.map_or(early::BYTES, |beacon| beacon.longest_message(from));
        match read_carried(partial, longest) {
            Ok(message) => {
                let message = epochs::Message { epoch, message };
                self.beacons.tell(now, epochs::Input::Received { from, message });
            }
            Err(fault) => self.note(Event::Accused { party: from, fault }),
        }
    }

    /// Hands what the beacon released on a prefinalization to the engine, if its votes have room. Its
    /// record of the vote then says what was released, and the beacon's own is left out.
    fn carry(&mut self, current: EpochId) {
        let answer: Vec<_> = std::iter::from_fn(|| self.beacons.poll()).collect();
        let mut record = None;
        for output in answer {
            match output {
                epochs::Output::Keep(
                    released @ epochs::Record { record: ::beacon::Record::Released { .. }, .. },
                ) => record = Some(released),
                epochs::Output::Do(epochs::Effect::Of {
                    epoch,
                    effect:
                        ::beacon::Effect::Send {
                            to: Recipient::All,
                            message: message @ ::beacon::Message::Partial { .. },
                        },
                }) => {
                    // Writing into memory does not fail.
                    let bytes = borsh::to_vec(&message).unwrap_or_default();
                    let carried = epoch == current && self.engines.carry(epoch, bytes).is_ok();
                    let record = record.take().filter(|_| !carried);
                    self.outputs.extend(record.map(kept));
                    if !carried {
                        let message = Message::Beacon(epoch, message);
                        self.effect(Effect::Send { to: Recipient::All, message });
                    }
                }
                output => self.take_beacon_output(output),
            }
        }
        self.outputs.extend(record.map(kept));
    }

    /// Puts what is final on record before it is known whether it lies before the boundary: the engine says
    /// it once, and after a crash not again.
    fn finalized(&mut self, epoch: EpochId, slot: Slot, block: Option<Block>) {
        let value = block.as_ref().map(|block| block.value);
        if slot <= self.last {
            return self.note(Event::Finalized { slot, block: value });
        }
        let known = self.past.back().map_or(self.last, |past| past.slot);
        if epoch != self.engines.current() || slot <= known {
            return;
        }
        let transactions = block.as_ref().map(|block| block.transactions.clone());
        let transactions = transactions.unwrap_or_default();
        let decides = self.handovers.limit().is_some();
        if decides && slot != known.next() {
            return self.halt(HaltError::Gap { slot, expected: known.next() });
        }
        // Without keys nobody else remembers the slot; with them the beacon does.
        if decides || self.beacons.awaits(slot) || !transactions.is_empty() {
            let record = Record::Ordered { epoch, slot, block: value, transactions };
            self.outputs.push_back(Output::Keep(record));
        }
        self.past.push_back(Past { epoch, slot, block });
    }

    /// The slot is final, and on record.
    fn order(&mut self, now: Instant, slot: Slot, block: Option<Block>) {
        self.last = slot;
        let value = block.as_ref().map(|block| block.value);
        self.note(Event::Finalized { slot, block: value });
        let ordered = block.as_ref().map_or(&[][..], |block| &block.transactions);
        self.submitted.retain(|(_, own)| ordered.iter().all(|one| **own != **one));
        self.beacons.tell(now, epochs::Input::Finalized { slot, value });
        if let Err(error) = self.handovers.ordered(slot, block.as_ref()) {
            return self.halt(StartError::from(error));
        }
        if self.handovers.limit().is_some() {
            self.catch_up.ordered(slot, block);
        }
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
                    self.submitted.push((epoch, transaction.clone()));
                    let current = self.engines.current();
                    self.engines.handle(now, current, engine::Input::Submit(transaction));
                }
                keygen::Effect::Dealing { dealings, progress } => {
                    self.note(Event::Dealing { epoch, dealings, progress });
                }
                keygen::Effect::Refused(why) => self.note(Event::Refused(why)),
                // What follows from it is looked up where a beacon begins.
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

    /// Begins the beacons whose keys suffice by now.
    fn begin_beacons(&mut self, now: Instant) {
        loop {
            let epoch = self.beacons.awaited();
            if let Some(first) = self.handovers.first_of(epoch) {
                self.beacons.set_boundary(first);
            }
            let setup = self.handovers.setup(epoch).map(Arc::clone);
            let keys = self.handovers.take_epoch(epoch).filter(|_| !self.halted);
            let Some((setup, keys)) = setup.zip(keys) else { return };
            if let Err(error) = self.begin_beacon(now, &setup, keys) {
                return self.halt(error);
            }
        }
    }

    /// The keys suffice: the beacon takes over what happened before it was there.
    fn begin_beacon(
        &mut self,
        now: Instant,
        setup: &Arc<Setup>,
        keys: keygen::Epoch<S>,
    ) -> Result<(), HaltError> {
        let (epoch, first_slot) = (setup.context.epoch, Slot::new(keys.first_slot));
        let committees = Box::new(keys.committees.clone());
        if epoch != self.engines.current() {
            self.make_engine(now, setup, first_slot)?;
        }
        let backlog = self.beacons.begin(setup, keys)?;
        self.note(Event::Ready { epoch, first_slot, committees });
        backlog.inputs(epoch).for_each(|input| self.beacons.tell(now, input));
        Ok(())
    }

    fn drain_beacon(&mut self) {
        while let Some(output) = self.beacons.poll() {
            self.take_beacon_output(output);
        }
    }

    fn take_beacon_output(&mut self, output: epochs::Output<S>) {
        let epochs::Effect::Of { epoch, effect } = (match output {
            epochs::Output::Do(effect) => effect,
            epochs::Output::Keep(record) => return self.outputs.push_back(kept(record)),
            epochs::Output::Note(epochs::Record { epoch, record }) => {
                return self.outputs.push_back(Output::Note(Record::Beacon(epoch, record)));
            }
        }) else {
            // Normal: an epoch is over, or a slot before the first with a value is final.
            return;
        };
        self.effect(match effect {
            ::beacon::Effect::Send { to, message } => {
                Effect::Send { to, message: Message::Beacon(epoch, message) }
            }
            ::beacon::Effect::Check(job) => Effect::Run(Job::Beacon(epoch, job)),
            ::beacon::Effect::Reveal(reveal) => Effect::Tell(Event::Revealed(reveal)),
            ::beacon::Effect::Skipped { slot } | ::beacon::Effect::Off { slot } => {
                Effect::Tell(Event::Skipped(slot))
            }
            ::beacon::Effect::Accuse { party, fault } => {
                Effect::Tell(Event::Accused { party, fault: fault.to_string() })
            }
            // The devnet keeps no archive for its validators.
            ::beacon::Effect::Lookup { .. } => return,
            // Normal: the fast path is off, the slot is not beaconed, a view was given up.
            ::beacon::Effect::Refused(::beacon::Refusal::Withheld(_)) => return,
            ::beacon::Effect::Refused(refusal) => Effect::Tell(Event::Refused(refusal.to_string())),
        });
    }

    fn received(&mut self, now: Instant, from: Party, message: Message<S, E::Message>) {
        match message {
            Message::Engine(epoch, message) => {
                self.hears_of(now, from, epoch);
                self.engines.received(now, epoch, from, message);
            }
            Message::Beacon(epoch, message) => {
                self.hears_of(now, from, epoch);
                let message = epochs::Message { epoch, message };
                self.beacons.tell(now, epochs::Input::Received { from, message });
            }
            Message::Ask { slot } => {
                if let Some(block) = self.catch_up.answer(now, from, slot) {
                    let message = Message::Final { slot, block };
                    self.effect(Effect::Send { to: Recipient::One(from), message });
                }
            }
            Message::Final { slot, block } => {
                let free = self.handovers.limit().is_some_and(|limit| slot < limit);
                if free && let Some(block) = self.catch_up.take(now, from, slot, block) {
                    self.finalized(self.engines.current(), slot, block);
                }
            }
        }
    }

    /// Notes that a peer is in an epoch. When more than may be faulty are ahead, this party is behind; when
    /// a quorum of the epoch before has left it, nobody needs its engine's votes any more.
    fn hears_of(&mut self, now: Instant, from: Party, epoch: EpochId) {
        let current = self.engines.current();
        if epoch > current {
            self.ahead.insert(from);
            if self.catch_up.is_more_than_faulty(&self.ahead) {
                self.catch_up.hears_of_later(now);
            }
        }
        if epoch >= current && self.left.insert(from) {
            self.let_the_old_be();
        }
    }

    fn let_the_old_be(&mut self) {
        if self.catch_up.is_quorum_before(&self.left) {
            self.engines.quieten_before();
        }
    }

    fn checked(&mut self, now: Instant, verdict: Verdict<S, E::Verdict>) {
        match verdict {
            Verdict::Engine(epoch, verdict) => {
                self.engines.handle(now, epoch, engine::Input::Checked(verdict));
            }
            Verdict::Keygen(epoch, verdict) => {
                if let Err(error) = self.handovers.checked(epoch, verdict) {
                    self.halt(StartError::from(error));
                }
            }
            Verdict::Beacon(epoch, verdict) => {
                self.beacons.tell(now, epochs::Input::Checked { epoch, verdict });
            }
        }
    }
}

impl<S: Keyed, E: Engine> Machine for Validator<S, E> {
    type Input = Input<S, E>;
    type Record = Record<E::Record>;
    type Effect = Effect<S, E>;

    fn handle(&mut self, now: Instant, input: Input<S, E>) {
        if self.halted {
            return;
        }
        match input {
            Input::Start => {
                let current = self.engines.current();
                self.engines.handle(now, current, engine::Input::Start);
            }
            Input::Received { from, message } => self.received(now, from, message),
            Input::Checked(verdict) => self.checked(now, verdict),
            Input::Tick => {
                self.engines.tick(now);
                self.beacons.tell(now, epochs::Input::Tick);
            }
        }
        self.settle(now);
    }

    fn poll(&mut self) -> Option<Output<S, E>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        if self.halted {
            return None;
        }
        let catch_up = self.catch_up.asks_at(self.handovers.limit());
        let parts = [self.engines.wake_at(), self.beacons.wake_at(), catch_up];
        parts.into_iter().flatten().min()
    }
}

fn kept<S: Keyed, E: Engine>(record: epochs::Record) -> Output<S, E> {
    let epochs::Record { epoch, record } = record;
    Output::Keep(Record::Beacon(epoch, record))
}

/// What came in a vote. Points are costly to decode, so there must not be more than an honest party sends.
fn read_carried<S: ::beacon::Scheme>(
    bytes: &[u8],
    longest: usize,
) -> Result<::beacon::Message<S>, String> {
    let got = bytes.len();
    if got > longest {
        return Err(format!("partial of {got} bytes in a vote, at most {longest} are read"));
    }
    match borsh::from_slice(bytes) {
        Ok(message @ ::beacon::Message::Partial { .. }) => Ok(message),
        Ok(_) => Err("something else than a partial in a vote".to_owned()),
        Err(error) => Err(format!("undecodable partial in a vote: {error}")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use std::num::NonZeroU64;
    use std::time::Duration;

    use ::beacon::{ConfigError, Value, Wvuf};
    use crypto_core::bls::min_sig::SecretKey;
    use weighted_rounding::{Ratio, Stake};

    use super::*;
    use pvss_dkg::protocol::Job as Dealings;

    use engine::{Launch, Past};
    use jolteon::Jolteon;

    use crate::keygen::Keygen;
    use crate::rota::Rota;
    use crate::setup::{Algorithm, Plan, found};
    use crate::transaction::{self, Kind};

    type Record = super::Record<jolteon::Record>;
    type Validator = super::Validator<Wvuf, Jolteon>;

    type Seats = (Arc<Setup>, Vec<Arc<Identity>>);

    const FIRST: EpochId = EpochId::new(0);

    #[derive(Debug, PartialEq, Eq)]
    enum Keys {
        Lacking,
        Suffice,
        Refused(HaltError),
    }

    fn committee() -> Seats {
        let stakes = [40, 30, 20, 10].map(Stake::new).to_vec();
        let fast = Ratio::new(9, 10).unwrap();
        let plan = Plan::new(stakes, Algorithm::Fast, fast).unwrap();
        let (setup, identities) = found(&plan, 1).unwrap();
        (Arc::new(setup), identities.into_iter().map(Arc::new).collect())
    }

    fn validator((setup, identities): &Seats, records: Vec<Record>) -> Validator {
        let life = if records.is_empty() { Life::First } else { Life::later([1; 16]) };
        Validator::new(Arc::clone(setup), Arc::clone(&identities[0]), life, records, begin).unwrap()
    }

    fn begin(
        setup: &Setup,
        identity: &Identity,
        records: Vec<jolteon::Record>,
    ) -> Result<(Jolteon, Past), StartError> {
        let signer = identity.signer.to_secret_bytes();
        let config = engine::Config {
            context: setup.context,
            me: identity.me,
            members: setup.members.clone(),
            timeout: setup.timeout,
            pace: setup.pace,
            max_block_bytes: setup.max_block_bytes,
        };
        Ok(Jolteon::start(config, SecretKey::from_secret_bytes(&signer).unwrap(), records).unwrap())
    }

    /// What the engine says when it finalizes a block of round 1 with these.
    fn finalize(validator: &mut Validator, transactions: &[Vec<u8>]) {
        let transactions = transactions.iter().map(|one| one.as_slice().into()).collect();
        let block = Block { value: Value::new([1; 32]), transactions };
        validator.finalized(FIRST, Slot::new(1), Some(block));
        validator.settle(Instant::START);
    }

    /// Runs every job of the key generation; what was persisted, and what came of the keys.
    fn run_all(validator: &mut Validator, (_, identities): &Seats) -> (Vec<Record>, Keys) {
        let (mut records, mut keys) = (Vec::new(), Keys::Lacking);
        loop {
            validator.settle(Instant::START);
            let Some(output) = validator.poll() else { return (records, keys) };
            match output {
                Output::Keep(record) | Output::Note(record) => records.push(record),
                Output::Do(Effect::Run(Job::Keygen(
                    _,
                    keygen::Job::Dealings(Dealings::Deal { .. }),
                ))) => {}
                Output::Do(Effect::Run(Job::Keygen(setup, job))) => {
                    let verdict = job.run(&setup, &identities[0]);
                    validator
                        .checked(Instant::START, Verdict::Keygen(setup.context.epoch, verdict));
                }
                Output::Do(Effect::Tell(Event::Ready { .. })) => keys = Keys::Suffice,
                Output::Do(Effect::Tell(Event::Halted(why))) => keys = Keys::Refused(why),
                _ => {}
            }
        }
    }

    /// Everybody's dealings, and the keys that follow from them.
    fn transactions((setup, identities): &Seats) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let submitted = |identity: &Identity, ordered: &[Vec<u8>]| {
            let mut keygen =
                Keygen::<Wvuf>::new(Arc::clone(setup), identity.me, Vec::new(), None).unwrap();
            let ordered: Vec<Arc<[u8]>> = ordered.iter().map(|one| one.as_slice().into()).collect();
            keygen.ordered(1, &ordered);
            let mut submitted = Vec::new();
            while let Some(output) = keygen.poll() {
                match output {
                    keygen::Output::Do(keygen::Effect::Run(job)) => {
                        keygen.checked(job.run(setup, identity))
                    }
                    keygen::Output::Do(keygen::Effect::Submit(transaction)) => {
                        submitted.push(transaction)
                    }
                    _ => {}
                }
            }
            submitted
        };
        let dealings: Vec<_> =
            identities.iter().flat_map(|identity| submitted(identity, &[])).collect();
        let keys = identities.iter().flat_map(|identity| submitted(identity, &dealings));
        let keys = keys.filter(|one| Kind::of(one) == Some(Kind::Keys)).collect();
        (dealings, keys)
    }

    #[test]
    fn a_flood_before_the_keys_takes_nobody_elses_place() {
        let seats = committee();
        let mut validator = validator(&seats, Vec::new());
        let mut receive = |from, slot| {
            let message = Message::<_, jolteon::Message>::Beacon(
                FIRST,
                ::beacon::Message::Request { slot: Slot::new(slot) },
            );
            validator.handle(Instant::START, Input::Received { from: Party::new(from), message });
        };
        (0..10_000).for_each(|slot| receive(3, slot));
        receive(1, 1);
        let kept = validator.beacons.backlog.messages.counts();
        assert_eq!(kept, [1, early::MESSAGES]);
    }

    /// The next committee is named in the first slot, its first dealing ordered in the second, and nobody has
    /// judged that yet.
    #[test]
    fn what_is_final_behind_a_boundary_that_is_not_known_is_on_record() {
        let (setup, identities) = committee();
        let stakes = [40, 30, 20, 10].map(Stake::new).to_vec();
        let plan = Plan::new(stakes, Algorithm::Fast, Ratio::new(9, 10).unwrap()).unwrap();
        let each = identities.iter().map(|identity| &**identity);
        let setup = Rota::chain((*setup).clone(), &[plan], each, NonZeroU64::MIN).unwrap();
        let seats: Seats = (Arc::new(setup), identities);
        let (dealings, keys) = transactions(&seats);
        let mut first = validator(&seats, Vec::new());
        finalize(&mut first, &[dealings, keys].concat());
        let (mut records, keys) = run_all(&mut first, &seats);
        assert_eq!(keys, Keys::Suffice);
        let block = |transactions| Block { value: Value::new([7; 32]), transactions };
        let next = seats.0.succession.as_ref().unwrap();
        let next = next.next(&seats.0, Slot::new(1), &block(Vec::new())).unwrap();
        let dealt = keygen::deal::<Wvuf>(&next, &seats.1[1]).unwrap();
        let mut dealing = vec![transaction::dealing(next.context.epoch, &dealt[0]).into()];
        for slot in 2..=20 {
            let block = block(std::mem::take(&mut dealing));
            first.finalized(FIRST, Slot::new(slot), Some(block));
            records.extend(run_none(&mut first));
        }
        // From two and the lead on.
        assert_eq!((first.past.len(), first.last), (13, Slot::new(7)));
        let ordered = |record: &&Record| matches!(record, Record::Ordered { .. });
        assert_eq!(records.iter().filter(ordered).count(), 20);
        // A later life goes on behind them, and takes nothing that leaves a slot out.
        let mut second = validator(&seats, records);
        second.finalized(FIRST, Slot::new(20), Some(block(Vec::new())));
        second.finalized(FIRST, Slot::new(21), Some(block(Vec::new())));
        assert_eq!(run_none(&mut second).iter().filter(ordered).count(), 1);
        second.finalized(FIRST, Slot::new(23), Some(block(Vec::new())));
        assert!(second.halted);
    }

    /// Lets everything come to rest without any job; what was persisted.
    fn run_none(validator: &mut Validator) -> Vec<Record> {
        validator.settle(Instant::START);
        let outputs = std::iter::from_fn(|| validator.poll());
        let records = outputs.filter_map(|output| match output {
            Output::Keep(record) | Output::Note(record) => Some(record),
            Output::Do(_) => None,
        });
        records.collect()
    }

    #[test]
    fn a_flood_before_the_boundary_takes_nobody_elses_place_and_little_memory() {
        let seats = committee();
        let mut validator = validator(&seats, Vec::new());
        let mut receive = |from, epoch, bytes| {
            let transaction = jolteon::Transaction::new(vec![0; bytes]);
            let message = jolteon::Message::Transactions(vec![transaction]);
            let message = Message::Engine(EpochId::new(epoch), message);
            validator.handle(Instant::START, Input::Received { from: Party::new(from), message });
        };
        (0..10_000).for_each(|_| receive(3, 1, 1));
        (0..10).for_each(|_| receive(2, 1, 300_000));
        receive(1, 1, 1);
        // Nobody waits for an epoch that is further away.
        receive(0, 2, 1);
        let kept = validator.engines.early.counts();
        assert_eq!(kept, [1, 3, 128]);
    }

    #[test]
    fn what_the_engine_reports_again_after_a_crash_counts_once() {
        let seats = committee();
        let (dealings, keys) = transactions(&seats);
        // Whoever deals last knows the sum before it is ordered, and can have keys ordered before it:
        // too early to count. Read twice, they would be in time.
        let early = [keys.clone(), dealings.clone()].concat();
        let mut steady = validator(&seats, Vec::new());
        finalize(&mut steady, &early);
        let (records, keys_of_steady) = run_all(&mut steady, &seats);
        assert_eq!(keys_of_steady, Keys::Lacking);
        let mut crashed = validator(&seats, records);
        finalize(&mut crashed, &early);
        let (again, keys_of_crashed) = run_all(&mut crashed, &seats);
        let why = "keys count for the party that crashed, and for nobody else";
        assert_eq!(keys_of_crashed, Keys::Lacking, "{why}");
        let ordered = |record: &Record| matches!(record, Record::Ordered { .. });
        assert!(!again.iter().any(ordered));
        // In time they do.
        let mut timely = validator(&seats, Vec::new());
        finalize(&mut timely, &[dealings, keys].concat());
        assert_eq!(run_all(&mut timely, &seats).1, Keys::Suffice);
    }

    #[test]
    fn a_validator_whose_beacon_is_refused_says_why_and_does_nothing_more() {
        let (setup, identities) = committee();
        let seats = (
            Arc::new(setup.with_shape(fixture::of_no_stakes(setup.keygen.shape())).unwrap()),
            identities,
        );
        let (dealings, keys) = transactions(&seats);
        let mut validator = validator(&seats, Vec::new());
        finalize(&mut validator, &[dealings, keys].concat());
        let (_, keys) = run_all(&mut validator, &seats);
        let refused = matches!(
            keys,
            Keys::Refused(HaltError::Config(ConfigError::Threshold(
                ::beacon::ThresholdError::OpensNever { .. }
            )))
        );
        assert!(refused, "{keys:?}");
        assert!(validator.beacon().is_none() && validator.wake_at().is_none());
        validator.handle(Instant::at(Duration::from_secs(3600)), Input::Tick);
        assert!(validator.poll().is_none());
    }

    #[test]
    fn what_a_vote_carries_is_measured_before_it_is_read() {
        let read = |bytes: &[u8], longest| read_carried::<Wvuf>(bytes, longest).map(drop);
        // Garbage of any length: that it is too long is said, not what is wrong in it.
        let why = read(&[0xFF; 101], 100).unwrap_err();
        assert!(why.contains("101 bytes") && why.contains("at most 100"), "{why}");
        assert!(read(&[0xFF; 100], 100).unwrap_err().starts_with("undecodable"));
        let request = ::beacon::Message::<Wvuf>::Request { slot: Slot::new(7) };
        let request = borsh::to_vec(&request).unwrap();
        assert!(read(&request, 9).unwrap_err().starts_with("something else"));
    }
}
