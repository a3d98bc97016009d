//! A validator: engine, key generation and beacon as one machine.
//!
//! ```text
//!              ┌──────── ordered transactions ────────► keygen ── epoch ──┐
//!   message ─► engine ─── prefinalized · finalized · abandoned ───────────► beacon ─► value
//!              └──────── vote ─┐            ┌─ fast partial ──────────────┘
//!                              └────────────┴─► one envelope
//! ```
//! The engine says that it prefinalizes before it sends its vote, and the beacon is asked in between.
//! So vote and partial leave in one step, behind the records of both, and the fast path costs no
//! message of its own. An engine whose votes have room carries the partial inside ([`Engine::carry`]);
//! then the engine's record of the vote is the record of the release as well, so that no crash can come
//! between the two.
//!
//! Elsewhere: engines in the beacon's words ([`crate::engine`]), who carries the outputs out (`devnet`
//! in real time, `simulate` in virtual time).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ::beacon::{
    Beacon, ConfigError, FinalityError, Life, Limits, Path, Paths, Sharing, Slot, Value, View,
};
use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::access::Party;
use jolteon::Jolteon;
use protocol::{Instant, Machine, Recipient};
use pvss_dkg::Progress;

use crate::engine::{self, Block, Engine, Listed, Work};
use crate::keygen::{self, Keygen};
use crate::scheme::{AdmittedKeys, Fixed, Keyed, PerPath};
use crate::setup::{Algorithm, Identity, Setup};

/// Beacon messages of one peer that came before this party had opened its keys, and that are kept for
/// it: two paths of as many slots as a beacon looks ahead.
const EARLY: usize = 128;

/// What validators send each other.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub enum Message<S: Keyed, M = jolteon::Message> {
    /// Between engines.
    Engine(M),
    /// Between beacons.
    Beacon(#[borsh(bound(serialize = "", deserialize = ""))] ::beacon::Message<S>),
}

/// What is durable before what follows it leaves.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub enum Record<R = jolteon::Record> {
    /// The engine's.
    Engine(R),
    /// The key generation's.
    Keygen(pvss_dkg::protocol::Record),
    /// The beacon's.
    Beacon(::beacon::Record),
    /// What the engine finalized while there was no beacon to remember it, and every transaction.
    Ordered {
        /// The slot.
        slot: Slot,
        /// Its block; `None` if it was skipped.
        block: Option<Value>,
        /// What the block ordered.
        transactions: Vec<Arc<[u8]>>,
    },
}

/// Work for a pool.
pub enum Job<S: Keyed, J = jolteon::Job> {
    /// Signatures.
    Engine(J),
    /// Dealings and keys.
    Keygen(keygen::Job<S>),
    /// Partials.
    Beacon(::beacon::Job<S>),
}

/// What came of it.
pub enum Verdict<S: Keyed, V = jolteon::Verdict> {
    /// See [`Job::Engine`].
    Engine(V),
    /// See [`Job::Keygen`].
    Keygen(keygen::Verdict<S>),
    /// See [`Job::Beacon`].
    Beacon(::beacon::Verdict<S>),
}

/// What happens to a validator.
pub enum Input<S: Keyed, E: Engine = Jolteon> {
    /// The driver is ready.
    Start,
    /// A peer's message, from an authenticated link.
    Received {
        /// The peer.
        from: Party,
        /// What it sent.
        message: Message<S, E::Message>,
    },
    /// A job ended.
    Checked(Verdict<S, E::Verdict>),
    /// A deadline passed.
    Tick,
}

/// What a validator wants done, in this order.
pub type Output<S, E = Jolteon> = protocol::Output<Record<<E as Engine>::Record>, Effect<S, E>>;

/// What a validator wants done, its records aside.
pub enum Effect<S: Keyed, E: Engine = Jolteon> {
    /// Send this.
    Send {
        /// To whom.
        to: Recipient<Party>,
        /// What.
        message: Message<S, E::Message>,
    },
    /// Run this and bring the verdict back.
    Run(Job<S, E::Job>),
    /// For logs, statistics and checkers.
    Tell(Event<S>),
}

/// What an observer may want to know.
#[derive(Clone, Debug)]
pub enum Event<S: Keyed> {
    /// A dealing counts.
    Dealing {
        /// How many do by now.
        dealings: usize,
        /// Whether they suffice.
        progress: Progress,
    },
    /// The keys suffice.
    Ready {
        /// The first slot with a value.
        first_slot: Slot,
        /// Who may evaluate under which path: what an outside verifier needs.
        committees: Box<PerPath<S::Committee>>,
    },
    /// A party's keys came when values were being revealed already.
    Admitted(Arc<AdmittedKeys<S>>),
    /// A slot is final; `None` if it was skipped.
    Finalized {
        /// The slot.
        slot: Slot,
        /// Its block.
        block: Option<Value>,
    },
    /// A slot has its value.
    Revealed(Box<::beacon::Reveal<S>>),
    /// A peer did wrong, in words.
    Accused {
        /// Who.
        party: Party,
        /// What.
        fault: String,
    },
    /// A slot was skipped or the beacon switched off: it has no value.
    Skipped(Slot),
    /// A transaction did not count, or an event of the engine released nothing; in words.
    Refused(String),
    /// This validator has keys and can have no beacon: it does nothing more, and its run has failed.
    Halted(HaltError),
}

/// Why a validator does not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The engine refuses its configuration or its records; in words.
    #[error("the engine does not start: {0}")]
    Engine(String),
    /// The records are of another epoch, or not what was written.
    #[error(transparent)]
    Keygen(#[from] pvss_dkg::protocol::RecordError),
}

/// Why a validator that has its keys cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HaltError {
    /// Thresholds cannot be held against the stake that makes a value final.
    #[error("no measure for the thresholds: {0}")]
    Finality(#[from] FinalityError),
    /// What the keys and the set-up amount to makes no beacon.
    #[error("the beacon refuses its configuration: {0}")]
    Config(#[from] ConfigError),
}

/// Engine, key generation and beacon of one party.
pub struct Validator<S: Keyed, E: Engine = Jolteon> {
    setup: Arc<Setup>,
    me: Party,
    life: Life,
    engine: E,
    keygen: Keygen<S>,
    /// The last slot whose transactions were ordered: the engine may report it again after a crash,
    /// and what did not count the first time must not count the second.
    ordered: Option<Slot>,
    stage: Stage<S>,
    outputs: VecDeque<Output<S, E>>,
}

enum Stage<S: Keyed> {
    /// No keys yet; what the beacon will have to be told.
    Before(Box<Backlog<S>>),
    Running(Box<Beacon<S>>),
    /// There will be no beacon.
    Halted,
}

#[derive(Default)]
struct Backlog<S: Keyed> {
    records: Vec<::beacon::Record>,
    finalized: Vec<(Slot, Option<Value>)>,
    abandoned: Option<View>,
    messages: BTreeMap<Party, Vec<::beacon::Message<S>>>,
}

impl<S: Keyed, E: Listed> Validator<S, E> {
    /// A validator that goes on where its records end; none in its first life, for which its journal was
    /// made.
    ///
    /// # Errors
    /// If the engine refuses its configuration, or the records are not this validator's.
    pub fn new(
        setup: Arc<Setup>,
        identity: Arc<Identity>,
        life: Life,
        records: Vec<Record<E::Record>>,
    ) -> Result<Self, StartError> {
        let me = identity.me;
        let mut backlog = Backlog::default();
        let dealings = records.iter().filter_map(|record| match record {
            Record::Keygen(record) => Some(record.clone()),
            _ => None,
        });
        let mut keygen = Keygen::new(Arc::clone(&setup), me, dealings.collect())?;
        let mut ordered = None;
        let mut promised = Vec::new();
        for record in records {
            match record {
                Record::Keygen(_) => {}
                Record::Engine(record) => promised.push(record),
                Record::Beacon(record) => backlog.records.push(record),
                Record::Ordered { slot, block, transactions } => {
                    keygen.ordered(slot.get(), &transactions);
                    backlog.finalized.push((slot, block));
                    ordered = Some(slot);
                }
            }
        }
        let (engine, past) = E::begin(&setup, &identity, promised)?;
        backlog.abandoned = past.abandoned;
        let released = past.released.into_iter();
        let released = released.map(|(slot, value)| ::beacon::Record::Released { slot, value });
        backlog.records.extend(released);
        Ok(Self {
            setup,
            me,
            life,
            engine,
            keygen,
            ordered,
            stage: Stage::Before(Box::new(backlog)),
            outputs: VecDeque::new(),
        })
    }
}

impl<S: Keyed, E: Engine> Validator<S, E> {
    /// The epoch's key, once it is fixed.
    #[must_use]
    pub fn key(&self) -> Option<&Arc<Fixed<S>>> {
        self.keygen.key()
    }

    /// The beacon, once there are keys.
    #[must_use]
    pub fn beacon(&self) -> Option<&Beacon<S>> {
        match &self.stage {
            Stage::Before(_) | Stage::Halted => None,
            Stage::Running(beacon) => Some(beacon),
        }
    }

    fn note(&mut self, event: Event<S>) {
        self.effect(Effect::Tell(event));
    }

    /// Carries outputs from part to part until all are at rest. The engine's are taken one by one,
    /// so that what the beacon answers to a prefinalization leaves before the vote, or in it.
    fn settle(&mut self, now: Instant) {
        while let Some(output) = self.engine.poll() {
            self.take_engine_output(now, output);
            self.drain_keygen(now);
            self.drain_beacon();
        }
        self.drain_keygen(now);
        self.drain_beacon();
    }

    fn effect(&mut self, effect: Effect<S, E>) {
        self.outputs.push_back(Output::Do(effect));
    }

    fn take_engine_output(&mut self, now: Instant, output: engine::Output<E>) {
        let effect = match output {
            engine::Output::Keep(record) => {
                return self.outputs.push_back(Output::Keep(Record::Engine(record)));
            }
            engine::Output::Note(record) => {
                return self.outputs.push_back(Output::Note(Record::Engine(record)));
            }
            engine::Output::Do(effect) => effect,
        };
        match effect {
            engine::Effect::Send { to, message } => {
                self.effect(Effect::Send { to, message: Message::Engine(message) });
            }
            engine::Effect::Run(job) => self.effect(Effect::Run(Job::Engine(job))),
            engine::Effect::Prefinalized { slot, view, value } => {
                self.tell(now, ::beacon::Input::Prefinalized { slot, view, value });
                self.carry();
            }
            engine::Effect::Carried { from, partial } => self.carried(now, from, &partial),
            engine::Effect::Finalized { slot, block } => self.finalized(now, slot, block),
            engine::Effect::Abandoned { view } => {
                self.tell(now, ::beacon::Input::Abandoned { view });
            }
            engine::Effect::Accused { party, fault } => {
                self.note(Event::Accused { party, fault });
            }
            engine::Effect::Refused(why) => self.note(Event::Refused(why)),
        }
    }

    /// Takes the partial that came in a vote. If it is none, the slot takes the slow path as far as its
    /// sender is needed.
    fn carried(&mut self, now: Instant, from: Party, partial: &[u8]) {
        let longest = match &self.stage {
            Stage::Running(beacon) => beacon.longest_message(from),
            Stage::Before(_) | Stage::Halted => usize::MAX,
        };
        match read_carried(partial, longest) {
            Ok(message) => self.tell(now, ::beacon::Input::Received { from, message }),
            Err(fault) => self.note(Event::Accused { party: from, fault }),
        }
    }

    /// Hands what the beacon released on a prefinalization to the engine, if its votes have room. Its
    /// record of the vote then says what was released, and the beacon's own is left out.
    fn carry(&mut self) {
        let Stage::Running(beacon) = &mut self.stage else { return };
        let answer: Vec<_> = std::iter::from_fn(|| beacon.poll()).collect();
        let mut record = None;
        for output in answer {
            match output {
                ::beacon::Output::Keep(released @ ::beacon::Record::Released { .. }) => {
                    record = Some(released);
                }
                ::beacon::Output::Do(::beacon::Effect::Send {
                    to: Recipient::All,
                    message: message @ ::beacon::Message::Partial { .. },
                }) => {
                    // Writing into memory does not fail.
                    let bytes = borsh::to_vec(&message).unwrap_or_default();
                    let carried = self.engine.carry(bytes).is_ok();
                    let record = record.take().filter(|_| !carried);
                    self.outputs.extend(record.map(|own| Output::Keep(Record::Beacon(own))));
                    if !carried {
                        let message = Message::Beacon(message);
                        self.effect(Effect::Send { to: Recipient::All, message });
                    }
                }
                output => self.take_beacon_output(output),
            }
        }
        self.outputs.extend(record.map(|own| Output::Keep(Record::Beacon(own))));
    }

    fn finalized(&mut self, now: Instant, slot: Slot, block: Option<Block>) {
        let value = block.as_ref().map(|block| block.value);
        self.note(Event::Finalized { slot, block: value });
        if self.ordered.is_some_and(|last| slot <= last) {
            return;
        }
        let transactions = block.map(|block| block.transactions).unwrap_or_default();
        // Without keys nobody else remembers the slot; with them the beacon does.
        if matches!(self.stage, Stage::Before(_)) || !transactions.is_empty() {
            let transactions = transactions.clone();
            let record = Record::Ordered { slot, block: value, transactions };
            self.ordered = Some(slot);
            self.outputs.push_back(Output::Keep(record));
        }
        self.tell(now, ::beacon::Input::Finalized { slot, value });
        self.keygen.ordered(slot.get(), &transactions);
    }

    /// Tells the beacon, or keeps what it will have to be told.
    fn tell(&mut self, now: Instant, input: ::beacon::Input<S>) {
        match (&mut self.stage, input) {
            (Stage::Running(beacon), input) => beacon.handle(now, input),
            (Stage::Before(backlog), ::beacon::Input::Finalized { slot, value }) => {
                backlog.finalized.push((slot, value));
            }
            (Stage::Before(backlog), ::beacon::Input::Abandoned { view }) => {
                backlog.abandoned = backlog.abandoned.max(Some(view));
            }
            (Stage::Before(backlog), ::beacon::Input::Received { from, message }) => {
                // A peer that floods takes nobody else's place.
                let kept = backlog.messages.entry(from).or_default();
                if kept.len() < EARLY {
                    kept.push(message);
                }
            }
            // Without keys there is nothing to release early, and nobody to check a job for.
            (Stage::Before(_) | Stage::Halted, _) => {}
        }
    }

    fn drain_keygen(&mut self, now: Instant) {
        while let Some(output) = self.keygen.poll() {
            let effect = match output {
                keygen::Output::Keep(record) => {
                    self.outputs.push_back(Output::Keep(Record::Keygen(record)));
                    continue;
                }
                keygen::Output::Note(record) => {
                    self.outputs.push_back(Output::Note(Record::Keygen(record)));
                    continue;
                }
                keygen::Output::Do(effect) => effect,
            };
            match effect {
                keygen::Effect::Run(job) => self.effect(Effect::Run(Job::Keygen(job))),
                keygen::Effect::Accused(fault) => {
                    let (party, fault) = (fault.party, fault.misdeed.to_string());
                    self.note(Event::Accused { party, fault });
                }
                keygen::Effect::Submit(transaction) => {
                    self.engine.handle(now, engine::Input::Submit(transaction));
                }
                keygen::Effect::Dealing { dealings, progress } => {
                    self.note(Event::Dealing { dealings, progress });
                }
                keygen::Effect::Refused(why) => self.note(Event::Refused(why)),
                keygen::Effect::Ready { .. } => self.begin(now),
                keygen::Effect::Late(keys) => {
                    self.note(Event::Admitted(Arc::clone(&keys)));
                    self.admit(now, &keys);
                }
            }
        }
    }

    /// The keys suffice: the beacon takes over what happened before it was there.
    fn begin(&mut self, now: Instant) {
        let Some(epoch) = self.keygen.take_epoch() else { return };
        let first_slot = Slot::new(epoch.first_slot);
        let committees = Box::new(epoch.committees.clone());
        let Stage::Before(backlog) = &mut self.stage else { return };
        let backlog = std::mem::take(&mut **backlog);
        match self.new_beacon(epoch, &backlog.records) {
            Ok(beacon) => self.stage = Stage::Running(Box::new(beacon)),
            Err(error) => {
                self.stage = Stage::Halted;
                return self.note(Event::Halted(error));
            }
        }
        self.note(Event::Ready { first_slot, committees });
        // The beacon repeats what it released before a crash, unless it knows that it must not.
        if let Some(view) = backlog.abandoned {
            self.tell(now, ::beacon::Input::Abandoned { view });
        }
        for (slot, value) in backlog.finalized {
            self.tell(now, ::beacon::Input::Finalized { slot, value });
        }
        for (from, messages) in backlog.messages {
            for message in messages {
                self.tell(now, ::beacon::Input::Received { from, message });
            }
        }
    }

    fn new_beacon(
        &self,
        epoch: keygen::Epoch<S>,
        records: &[::beacon::Record],
    ) -> Result<Beacon<S>, HaltError> {
        let first = Slot::new(epoch.first_slot);
        let config = ::beacon::Config {
            context: self.setup.context,
            me: self.me,
            paths: paths(&self.setup, epoch),
            binding: S::binding(first),
            fast_attempt: E::FAST_ATTEMPT,
            finality: self.setup.finality(E::QUORUM)?,
            first,
            life: self.life,
            limits: Limits::default(),
        };
        Ok(Beacon::new(config, records)?)
    }

    fn admit(&mut self, now: Instant, keys: &AdmittedKeys<S>) {
        let late = if self.setup.choice == Algorithm::Tight { Path::Tight } else { Path::Slow };
        let keys = [(late, Some(&keys.keys.slow)), (Path::Fast, keys.keys.fast.as_ref())];
        for (path, key) in keys {
            if let Some(key) = key.cloned() {
                self.tell(now, ::beacon::Input::Admitted { path, key });
            }
        }
    }

    fn drain_beacon(&mut self) {
        while let Stage::Running(beacon) = &mut self.stage {
            let Some(output) = beacon.poll() else { return };
            self.take_beacon_output(output);
        }
    }

    fn take_beacon_output(&mut self, output: ::beacon::Output<S>) {
        let output = output.map(Record::Beacon, |effect| {
            Some(match effect {
                ::beacon::Effect::Send { to, message } => {
                    Effect::Send { to, message: Message::Beacon(message) }
                }
                ::beacon::Effect::Check(job) => Effect::Run(Job::Beacon(job)),
                ::beacon::Effect::Reveal(reveal) => Effect::Tell(Event::Revealed(reveal)),
                ::beacon::Effect::Skipped { slot } | ::beacon::Effect::Off { slot } => {
                    Effect::Tell(Event::Skipped(slot))
                }
                ::beacon::Effect::Accuse { party, fault } => {
                    Effect::Tell(Event::Accused { party, fault: fault.to_string() })
                }
                // The devnet keeps no archive for its validators.
                ::beacon::Effect::Lookup { .. } => return None,
                // Normal: the fast path is off, the slot is not beaconed, a view was given up.
                ::beacon::Effect::Refused(::beacon::Refusal::Withheld(_)) => return None,
                ::beacon::Effect::Refused(refusal) => {
                    Effect::Tell(Event::Refused(refusal.to_string()))
                }
            })
        });
        self.outputs.extend(output.transpose());
    }
}

impl<S: Keyed, E: Engine> Machine for Validator<S, E> {
    type Input = Input<S, E>;
    type Record = Record<E::Record>;
    type Effect = Effect<S, E>;

    fn handle(&mut self, now: Instant, input: Input<S, E>) {
        if matches!(self.stage, Stage::Halted) {
            return;
        }
        match input {
            Input::Start => self.engine.handle(now, engine::Input::Start),
            Input::Received { from, message: Message::Engine(message) } => {
                self.engine.handle(now, engine::Input::Received { from, message });
            }
            Input::Received { from, message: Message::Beacon(message) } => {
                self.tell(now, ::beacon::Input::Received { from, message });
            }
            Input::Checked(Verdict::Engine(verdict)) => {
                self.engine.handle(now, engine::Input::Checked(verdict));
            }
            Input::Checked(Verdict::Keygen(verdict)) => self.keygen.checked(verdict),
            Input::Checked(Verdict::Beacon(verdict)) => {
                self.tell(now, ::beacon::Input::Checked(verdict));
            }
            Input::Tick => {
                self.engine.handle(now, engine::Input::Tick);
                self.tell(now, ::beacon::Input::Tick);
            }
        }
        self.settle(now);
    }

    fn poll(&mut self) -> Option<Output<S, E>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        let beacon = match &self.stage {
            Stage::Before(_) => None,
            Stage::Running(beacon) => beacon.wake_at(),
            Stage::Halted => return None,
        };
        self.engine.wake_at().into_iter().chain(beacon).min()
    }
}

impl<S: Keyed, J: Work> Job<S, J> {
    /// Does the work; see the parts for what is secret in it.
    #[must_use]
    pub fn run(&self, setup: &Setup, identity: &Identity) -> Verdict<S, J::Verdict> {
        match self {
            Self::Engine(job) => Verdict::Engine(job.run()),
            Self::Keygen(job) => Verdict::Keygen(job.run(setup, identity)),
            Self::Beacon(job) => Verdict::Beacon(job.run()),
        }
    }
}

fn paths<S: Keyed>(setup: &Setup, epoch: keygen::Epoch<S>) -> Paths<S> {
    let keygen::Epoch { committees, own, first_slot } = epoch;
    let (own_slow, own_fast) = own.map(|own| (own.slow, own.fast)).unzip();
    let slow = Sharing { committee: committees.slow, secret: own_slow };
    match committees.fast {
        Some(committee) => {
            let fast = Sharing { committee, secret: own_fast.flatten() };
            let fast_from = Slot::new(first_slot).after(setup.fast_after);
            Paths::FastAndSlow { slow, fast, fast_from }
        }
        None if setup.choice == Algorithm::Tight => Paths::Tight(slow),
        None => Paths::Slow(slow),
    }
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
    use std::time::Duration;

    use ::beacon::Wvuf;
    use weighted_rounding::{Ratio, Stake};

    use super::*;
    use pvss_dkg::protocol::Job as Dealings;

    use crate::setup::{Plan, found};
    use crate::transaction::Kind;

    type Seats = (Arc<Setup>, Vec<Arc<Identity>>);

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

    fn validator((setup, identities): &Seats, records: Vec<Record>) -> Validator<Wvuf> {
        let life = if records.is_empty() { Life::First } else { Life::later([1; 16]) };
        Validator::new(Arc::clone(setup), Arc::clone(&identities[0]), life, records).unwrap()
    }

    /// What the engine says when it finalizes a block of round 1 with these.
    fn finalize(validator: &mut Validator<Wvuf>, transactions: &[Vec<u8>]) {
        let transactions = transactions.iter().map(|one| one.as_slice().into()).collect();
        let block = Block { value: Value::new([1; 32]), transactions };
        validator.finalized(Instant::START, Slot::new(1), Some(block));
    }

    /// Runs every job of the key generation; what was persisted, and what came of the keys.
    fn run_all(
        validator: &mut Validator<Wvuf>,
        (setup, identities): &Seats,
    ) -> (Vec<Record>, Keys) {
        let (mut records, mut keys) = (Vec::new(), Keys::Lacking);
        loop {
            validator.settle(Instant::START);
            let Some(output) = validator.poll() else { return (records, keys) };
            match output {
                Output::Keep(record) | Output::Note(record) => records.push(record),
                Output::Do(Effect::Run(Job::Keygen(keygen::Job::Dealings(Dealings::Deal {
                    ..
                })))) => {}
                Output::Do(Effect::Run(Job::Keygen(job))) => {
                    validator.keygen.checked(job.run(setup, &identities[0]));
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
                Keygen::<Wvuf>::new(Arc::clone(setup), identity.me, Vec::new()).unwrap();
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
            let message = Message::<_, jolteon::Message>::Beacon(::beacon::Message::Request {
                slot: Slot::new(slot),
            });
            validator.handle(Instant::START, Input::Received { from: Party::new(from), message });
        };
        (0..10_000).for_each(|slot| receive(3, slot));
        receive(1, 1);
        let Stage::Before(backlog) = &validator.stage else { unreachable!() };
        let kept: Vec<_> = backlog.messages.values().map(Vec::len).collect();
        assert_eq!(kept, [1, EARLY]);
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
        let seats = (Arc::new(setup.counting_one_each()), identities);
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
