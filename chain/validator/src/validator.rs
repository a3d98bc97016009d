//! The machine: a participant and the engines it needs, for one epoch after the other.
mod applied;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use ::prefinal_beacon::stack::{Envelope, OneOf};
use ::prefinal_beacon::{Beacon, Life, Slot};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_engine::{Block, Engine, PastVotes};
use prefinal_protocol::{Instant, Machine, Recipient};

use crate::application::{self, ChainApplication, Judged};
use crate::beacons::DEALT;
use crate::early;
use crate::engines::Engines;
use crate::event::{Event, HaltError, StartError};
use crate::participant::{self, Host, Line, Participant};
use crate::scheme::{CommitteeKey, KeyedScheme};
use crate::setup::{Identity, Setup};
use crate::transaction::Kind;
use crate::vouch::CatchUp;
use crate::words::{
    Begin, Effect, Input, Job, Message, Output, PastLife, Record, RecordOf, Verdict,
};

/// Engine, key generation and beacon of one party, through all epochs of a chain.
pub struct Validator<S: KeyedScheme, E: Engine, A: ChainApplication = ()> {
    identity: Arc<Identity>,
    engines: Engines<E>,
    participant: Participant<S, A::Channels>,
    application: A,
    catch_up: CatchUp,
    /// Parties that have left the epoch before (`left`), and parties that have already left this one
    /// (`ahead`).
    left: BTreeSet<Party>,
    ahead: BTreeSet<Party>,
    /// Transactions that no engine has ordered yet, with the epoch that they are for.
    submitted: Vec<(EpochId, Vec<u8>)>,
    /// The newest epoch whose committee the application was told, and what it was told is judged.
    told_epoch: EpochId,
    told_judged: Judged,
    halted: bool,
    outputs: VecDeque<Output<S, E, A>>,
}

impl<S: KeyedScheme, E: Engine> Validator<S, E> {
    /// A validator of a chain whose first epoch has this set-up. It continues where its records end. In
    /// its first life, for which its journal was created, there are none. A party that joins later starts
    /// in the same way. It has no engine until then, and asks its peers what is final in each slot.
    ///
    /// # Errors
    /// If the engine refuses its configuration, or the records are not this validator's.
    pub fn new(
        setup: &Arc<Setup>,
        identity: Arc<Identity>,
        life: Life,
        records: Vec<Record<E::Record>>,
        begin: Begin<E>,
    ) -> Result<Self, StartError> {
        Self::with_application(setup, identity, PastLife { life, records, application: () }, begin)
    }
}

impl<S: KeyedScheme, E: Engine, A: ChainApplication> Validator<S, E, A> {
    /// As [`Validator::new`], with an application.
    ///
    /// # Errors
    /// If the engine refuses its configuration, or the records are not this validator's.
    pub fn with_application(
        setup: &Arc<Setup>,
        identity: Arc<Identity>,
        past: PastLife<E, A>,
        begin: Begin<E>,
    ) -> Result<Self, StartError> {
        let PastLife { life, records, application } = past;
        let mut promised: BTreeMap<EpochId, Vec<_>> = BTreeMap::new();
        let mut others = Vec::new();
        for record in records {
            match record {
                Record::Engine(epoch, record) => promised.entry(epoch).or_default().push(record),
                Record::Participant(record) => others.push(record),
                Record::Application(_) => {}
            }
        }
        let (quorum, fast_attempt) = (E::QUORUM, E::FAST_ATTEMPT);
        let mut engines = Engines::new(begin, setup.context.epoch, promised);
        let mut catch_up = CatchUp::new(setup, quorum).with_added(E::ADDED_BYTES);
        others.iter().filter_map(passed_over).for_each(|last| catch_up.lacks(last));
        let past = if is_member(setup, &identity) {
            engines.make(setup, &identity, Slot::new(1))?
        } else {
            catch_up.follow(Instant::START);
            PastVotes::default()
        };
        let host = Host { quorum, fast_attempt, line: Line::Renewed, beside: true };
        let mut participant = Participant::new(setup, &identity, life, others, host)?;
        participant.prepared(Instant::START, setup.context.epoch, past);
        Ok(Self {
            engines,
            participant,
            application,
            catch_up,
            left: BTreeSet::new(),
            ahead: BTreeSet::new(),
            submitted: Vec::new(),
            told_epoch: setup.context.epoch,
            told_judged: Judged::NOTHING,
            halted: false,
            outputs: VecDeque::new(),
            identity,
        })
    }

    /// The key of this epoch, once it is fixed.
    #[must_use]
    pub fn key(&self) -> Option<&Arc<CommitteeKey<S>>> {
        self.participant.key()
    }

    /// The beacon of the last epoch for which this party has keys.
    #[must_use]
    pub fn beacon(&self) -> Option<&Beacon<S>> {
        self.participant.newest_beacon()
    }

    /// The epoch whose engine orders blocks now.
    #[must_use]
    pub const fn epoch(&self) -> EpochId {
        self.engines.current()
    }

    /// What follows the order of blocks here.
    #[must_use]
    pub const fn application(&self) -> &A {
        &self.application
    }

    fn effect(&mut self, effect: Effect<S, E, A>) {
        self.outputs.push_back(Output::Do(effect));
    }

    fn note(&mut self, event: Event<S>) {
        self.effect(Effect::Tell(event));
    }

    /// Stops the validator: the engine or the keys of the next epoch are refused.
    fn halt(&mut self, why: impl Into<HaltError>) {
        if !self.halted {
            self.halted = true;
            self.note(Event::Halted(why.into()));
        }
    }

    /// Passes outputs from part to part until none is left. The engine's outputs are taken one by one,
    /// so that the beacon's answer to a prefinalization leaves before the vote, or in it.
    fn settle(&mut self, now: Instant) {
        self.follow(now);
        while !self.halted
            && let Some((epoch, output)) = self.engines.poll()
        {
            self.take_engine_output(now, epoch, output);
            self.follow(now);
        }
        let waits = !self.participant.is_waiting() && !self.halted;
        let limit = self.participant.limit();
        if let Some(slot) = waits.then(|| self.catch_up.ask(now, limit)).flatten() {
            self.effect(Effect::Send { to: Recipient::All, message: Message::Ask { slot } });
        }
    }

    /// Does what the participant wants done.
    fn follow(&mut self, now: Instant) {
        loop {
            while !self.halted
                && let Some(output) = self.participant.poll()
            {
                self.take_output(now, output);
            }
            if self.halted || !self.tell_judged(now) {
                break;
            }
        }
        self.engines.set_limit(self.participant.limit());
    }

    fn take_output(&mut self, now: Instant, output: participant::Output<S, A::Channels>) {
        let effect = match output.split(Record::Participant) {
            Ok(effect) => effect,
            Err(record) => return self.outputs.push_back(record),
        };
        match effect {
            participant::Effect::Prepare { setup, first } => self.prepare(now, &setup, first),
            participant::Effect::Enter { setup, first } => {
                self.tell_follows(now, &setup, first);
                self.enter(now, &setup, first);
            }
            participant::Effect::Submit { epoch, transaction } => {
                self.submit(now, epoch, transaction);
            }
            participant::Effect::Ordered { slot, block } => self.ordered(now, slot, block),
            participant::Effect::Send { to, envelope } => self.send(to, envelope),
            participant::Effect::Run(job) => self.effect(Effect::Run(Job::Participant(job))),
            // A validator has no archive; peers ask the next one.
            participant::Effect::Lookup { .. } => {}
            participant::Effect::Beside(effect) => {
                self.apply(now, application::Input::Beside(effect));
            }
            participant::Effect::Tell(event) => {
                self.halted |= matches!(event, Event::Halted(_));
                self.apply_event(now, &event);
                self.note(event);
            }
        }
    }

    /// Offers a transaction to this epoch's engine, and to later ones until one has ordered it.
    fn submit(&mut self, now: Instant, epoch: EpochId, transaction: Vec<u8>) {
        self.submitted.push((epoch, transaction.clone()));
        let current = self.engines.current();
        self.engines.handle(now, current, prefinal_engine::Input::Submit(transaction));
    }

    /// Makes the engine of an epoch, and tells the participant what this engine sent in an earlier life.
    fn prepare(&mut self, now: Instant, setup: &Setup, first: Slot) {
        let made = match is_member(setup, &self.identity) {
            true => self.engines.make(setup, &self.identity, first),
            false => Ok(PastVotes::default()),
        };
        match made {
            Ok(past) => {
                self.participant.prepared(now, setup.context.epoch, past);
                self.participant.go_on(now);
            }
            Err(error) => self.halt(error),
        }
    }

    /// Makes the next epoch the current one.
    fn enter(&mut self, now: Instant, setup: &Setup, first: Slot) {
        let epoch = setup.context.epoch;
        self.left = std::mem::take(&mut self.ahead);
        self.left.insert(self.identity.me);
        self.catch_up.enter(setup, E::QUORUM, first);
        if !is_member(setup, &self.identity) {
            self.catch_up.follow(now);
        }
        self.engines.enter(now, epoch, first);
        self.let_the_old_be();
        // Keep what the engine before has not ordered. Of its own epoch, only keys can still count.
        self.submitted.retain(|(of, one)| {
            *of >= epoch || of.next() == epoch && Kind::of(one) == Some(Kind::Keys)
        });
        for (_, transaction) in self.submitted.clone() {
            self.engines.handle(now, epoch, prefinal_engine::Input::Submit(transaction));
        }
    }

    fn ordered(&mut self, now: Instant, slot: Slot, block: Option<Block>) {
        let ordered = block.as_ref().map_or(&[][..], |block| &block.transactions);
        self.submitted.retain(|(_, own)| ordered.iter().all(|one| **own != **one));
        if self.participant.decides() {
            if let Some(block) = block.clone() {
                self.apply(now, application::Input::Ordered { slot, block });
            }
            self.catch_up.ordered(slot, block);
        }
    }

    fn take_engine_output(
        &mut self,
        now: Instant,
        epoch: EpochId,
        output: prefinal_engine::Output<E>,
    ) {
        let effect = match output.split(|record| Record::Engine(epoch, record)) {
            Ok(effect) => effect,
            Err(record) => return self.outputs.push_back(record),
        };
        match effect {
            prefinal_engine::Effect::Send { to, message } => {
                self.effect(Effect::Send { to, message: Message::Engine(epoch, message) });
            }
            prefinal_engine::Effect::Run(job) => self.effect(Effect::Run(Job::Engine(epoch, job))),
            prefinal_engine::Effect::Proposed { slot, parent, block } => {
                if !self.is_beyond(slot) {
                    self.apply(now, application::Input::Proposed { slot, parent, block });
                }
            }
            prefinal_engine::Effect::Prefinalized { slot, view, value } => {
                if !self.is_beyond(slot) {
                    self.apply(now, application::Input::Prefinalized { slot, view, value });
                }
                self.follow(now);
                let input = participant::Input::Prefinalized { slot, view, value };
                self.participant.handle(now, input);
                self.carry(now, epoch);
            }
            prefinal_engine::Effect::Carried { from, partial } => {
                self.carried(now, epoch, from, &partial)
            }
            prefinal_engine::Effect::Finalized { slot, block } => {
                self.finalized(now, epoch, slot, block)
            }
            prefinal_engine::Effect::Abandoned { view } => {
                self.participant.handle(now, participant::Input::Abandoned { view });
            }
            prefinal_engine::Effect::Accused { party, fault } => {
                self.note(Event::Accused { party, fault });
            }
            prefinal_engine::Effect::Refused(why) => self.note(Event::Refused(why)),
        }
    }

    /// Ignores what the engine of a finished epoch finalizes behind the end of that epoch.
    fn finalized(&mut self, now: Instant, epoch: EpochId, slot: Slot, block: Option<Block>) {
        if epoch == self.engines.current() || slot <= self.participant.last() {
            // Where committees follow, the slot may be another epoch's: the participant says when it is not.
            let block_now = block.as_ref().filter(|_| !self.participant.decides());
            if let Some(block) = block_now.cloned() {
                self.apply(now, application::Input::Ordered { slot, block });
            }
            self.participant.handle(now, participant::Input::Finalized { slot, block });
        }
    }

    /// Takes the partial that came in a vote. If it is not a partial, the slot takes the slow path, as
    /// far as the sender's partial is needed.
    fn carried(&mut self, now: Instant, epoch: EpochId, from: Party, partial: &[u8]) {
        let beacon = self.participant.beacon(epoch);
        let longest = beacon.map_or(early::BYTES, |beacon| beacon.longest_message(from));
        match read_carried(partial, longest) {
            Ok(message) => self.hear(now, from, epoch, message),
            Err(fault) => self.note(Event::Accused { party: from, fault }),
        }
    }

    fn hear(
        &mut self,
        now: Instant,
        from: Party,
        epoch: EpochId,
        message: ::prefinal_beacon::Message<S>,
    ) {
        let envelope = Envelope::one(epoch, OneOf::First(message));
        self.participant.handle(now, participant::Input::Received { from, envelope });
    }

    /// Each message is sent separately; a driver puts those of one step into one frame.
    fn send(&mut self, to: Recipient<Party>, envelope: Envelope<(S, A::Channels)>) {
        let epoch = envelope.epoch();
        for message in envelope.into_messages() {
            let message = match message {
                OneOf::First(message) => Message::Beacon(epoch, message),
                rest => Message::Beside(Envelope::one(epoch, rest)),
            };
            self.effect(Effect::Send { to, message });
        }
    }

    /// Passes the beacon's answer to a prefinalization to the engine, if the engine's votes have room.
    /// Then the engine's record of the vote says what was released, and the beacon's own record is left out.
    fn carry(&mut self, now: Instant, current: EpochId) {
        let mut records = Vec::new();
        while let Some(output) = self.participant.poll() {
            match output {
                participant::Output::Keep(
                    released @ participant::Record::Beacon(
                        _,
                        _,
                        ::prefinal_beacon::Record::Released { .. },
                    ),
                ) => records.push(released),
                participant::Output::Do(participant::Effect::Send {
                    to: Recipient::All,
                    envelope,
                }) => {
                    let carried = self.carries(current, &envelope);
                    let kept = records.drain(..).filter(|_| !carried);
                    self.outputs.extend(kept.map(keep_record));
                    if !carried {
                        self.send(Recipient::All, envelope);
                    }
                }
                output => self.take_output(now, output),
            }
        }
        self.outputs.extend(records.into_iter().map(keep_record));
    }

    /// Whether this is a partial and the engine has put it into its vote.
    fn carries(&mut self, current: EpochId, envelope: &Envelope<(S, A::Channels)>) -> bool {
        let [OneOf::First(message @ ::prefinal_beacon::Message::Partial { .. })] =
            envelope.messages()
        else {
            return false;
        };
        // Writing into memory cannot fail.
        let bytes = borsh::to_vec(message).unwrap_or_default();
        envelope.epoch() == current && self.engines.carry(current, bytes).is_ok()
    }

    fn received(
        &mut self,
        now: Instant,
        from: Party,
        message: Message<S, E::Message, A::Channels>,
    ) {
        match message {
            Message::Engine(epoch, message) => {
                self.hears_of(now, from, epoch);
                self.engines.received(now, epoch, from, message);
            }
            Message::Beacon(epoch, message) => {
                self.hears_of(now, from, epoch);
                self.hear(now, from, epoch, message);
            }
            Message::Beside(envelope) => {
                self.hears_of(now, from, envelope.epoch());
                self.participant.handle(now, participant::Input::Received { from, envelope });
            }
            Message::Ask { slot } => {
                if let Some(block) = self.catch_up.answer(now, from, slot) {
                    let message = Message::Final { slot, block };
                    self.effect(Effect::Send { to: Recipient::One(from), message });
                }
            }
            Message::Final { slot, block } => {
                let free = self.participant.limit().is_some_and(|limit| slot < limit);
                if free && let Some(block) = self.catch_up.take(now, from, slot, block) {
                    self.finalized(now, self.engines.current(), slot, block);
                }
            }
        }
    }

    /// Notes that a peer is in an epoch. If more parties are ahead than may be faulty, this party is
    /// behind. If a quorum of the epoch before has left it, nobody needs votes of its engine any more.
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
}

impl<S: KeyedScheme, E: Engine, A: ChainApplication> Machine for Validator<S, E, A> {
    type Input = Input<S, E, A>;
    type Record = RecordOf<E, A>;
    type Effect = Effect<S, E, A>;

    fn handle(&mut self, now: Instant, input: Input<S, E, A>) {
        if self.halted {
            return;
        }
        match input {
            Input::Start => {
                let current = self.engines.current();
                self.engines.handle(now, current, prefinal_engine::Input::Start);
                self.participant.handle(now, participant::Input::Start);
            }
            Input::Received { from, message } => self.received(now, from, message),
            Input::Submit(transaction) => {
                let split = Kind::split(&transaction);
                let epoch = split.map_or(self.engines.current(), |(_, epoch, _)| epoch);
                self.submit(now, epoch, transaction);
            }
            Input::Checked(Verdict::Engine(epoch, verdict)) => {
                self.engines.handle(now, epoch, prefinal_engine::Input::Checked(verdict));
            }
            Input::Checked(Verdict::Participant(verdict)) => {
                self.participant.handle(now, participant::Input::Checked(verdict));
            }
            Input::Checked(Verdict::Application(verdict)) => {
                self.apply(now, application::Input::Checked(verdict));
            }
            Input::Tick => {
                self.engines.tick(now);
                self.participant.handle(now, participant::Input::Tick);
            }
            Input::Idle => self.engines.idle(now),
            Input::Memory(bytes) => self.engines.memory(now, bytes),
        }
        self.settle(now);
    }

    fn poll(&mut self) -> Option<Output<S, E, A>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        if self.halted {
            return None;
        }
        let catch_up = self.catch_up.asks_at(self.participant.limit());
        let parts = [self.engines.wake_at(), self.participant.wake_at(), catch_up];
        parts.into_iter().flatten().min()
    }
}

/// Whether the committee knows this party, be it without stake. Others have no engine in the epoch.
fn is_member(setup: &Setup, identity: &Identity) -> bool {
    identity.me.index() < setup.members.len()
}

/// The last slot of those whose blocks the party has from a store, if the record is of such slots.
const fn passed_over(record: &participant::Record) -> Option<Slot> {
    match record {
        participant::Record::Beacon(
            DEALT,
            _,
            ::prefinal_beacon::Record::PassedOver { last, .. },
        ) => Some(*last),
        _ => None,
    }
}

const fn keep_record<S: KeyedScheme, E: Engine, A: ChainApplication>(
    record: participant::Record,
) -> Output<S, E, A> {
    Output::Keep(Record::Participant(record))
}

/// Reads the partial of a vote. Points are costly to decode, so a length above that of an honest
/// party's is refused first.
fn read_carried<S: ::prefinal_beacon::Scheme>(
    bytes: &[u8],
    longest: usize,
) -> Result<::prefinal_beacon::Message<S>, String> {
    let got = bytes.len();
    if got > longest {
        return Err(format!("partial of {got} bytes in a vote, at most {longest} are read"));
    }
    match borsh::from_slice(bytes) {
        Ok(message @ ::prefinal_beacon::Message::Partial { .. }) => Ok(message),
        Ok(_) => Err("something else than a partial in a vote".to_owned()),
        Err(error) => Err(format!("undecodable partial in a vote: {error}")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use ::prefinal_beacon::Wvuf;
    use prefinal_crypto_core::bls::min_sig::SecretKey;
    use prefinal_engine::Launch;
    use prefinal_jolteon::Jolteon;
    use prefinal_weighted_rounding::{Ratio, Stake};

    use super::*;
    use crate::setup::{Algorithm, Plan, found};

    fn begin(
        setup: &Setup,
        identity: &Identity,
        records: Vec<prefinal_jolteon::Record>,
    ) -> Result<(Jolteon, PastVotes), StartError> {
        let signer = identity.signer.to_secret_bytes();
        let config = prefinal_engine::Config {
            context: setup.context,
            me: identity.me,
            members: setup.members.clone(),
            timeout: setup.timeout,
            pace: setup.pace,
            max_block_bytes: setup.max_block_bytes,
        };
        Ok(Jolteon::start(config, SecretKey::from_secret_bytes(&signer).unwrap(), records).unwrap())
    }

    #[test]
    fn a_flood_before_the_boundary_takes_nobody_elses_place_and_little_memory() {
        let plan = Plan::new(vec![Stake::new(10); 4], Algorithm::Slow, Ratio::FIVE_SIXTHS).unwrap();
        let (setup, identities) = found(&plan, 1).unwrap();
        let me = identities.into_iter().next().map(Arc::new).unwrap();
        let validator =
            Validator::<Wvuf, _>::new(&Arc::new(setup), me, Life::First, Vec::new(), begin);
        let mut validator = validator.unwrap();
        let mut receive = |from, epoch, bytes| {
            let transaction = prefinal_jolteon::Transaction::new(vec![0; bytes]);
            let message = prefinal_jolteon::Message::Transactions(vec![transaction]);
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
    fn what_a_vote_carries_is_measured_before_it_is_read() {
        let read = |bytes: &[u8], longest| read_carried::<Wvuf>(bytes, longest).map(drop);
        // Garbage of any length: that it is too long is said, not what is wrong in it.
        let why = read(&[0xFF; 101], 100).unwrap_err();
        assert!(why.contains("101 bytes") && why.contains("at most 100"), "{why}");
        assert!(read(&[0xFF; 100], 100).unwrap_err().starts_with("undecodable"));
        let request = ::prefinal_beacon::Message::<Wvuf>::Request { slot: Slot::new(7) };
        let request = borsh::to_vec(&request).unwrap();
        assert!(read(&request, 9).unwrap_err().starts_with("something else"));
    }
}
