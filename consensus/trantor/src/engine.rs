//! The machine: its state, its inputs and outputs.
//!
//! See also `disseminate` (batches), `propose` (the first view), `vote` (prepare and commit), `change` (later views), `decide`
//! (what follows from a decision), `receive` (messages) and `verdict` (results of jobs).
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use ::prefinal_engine::Pace;
use ::prefinal_engine::collector::{Collector, Standing};
use core::time::Duration;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{SecretKey, Signature};
use prefinal_protocol::{Instant, Machine, Recipient, Slot, Value, View};

use crate::batch::{BatchId, BatchLabel};
use crate::block::{Body, Transaction};
use crate::certificate::{Stage, VoteCertificate};
use crate::config::{Config, ConfigError, Leaders, OwnBatches, Replicas};
use crate::fault::{Contradiction, Fault};
use crate::fetch::Fetch;
use crate::job::{Asks, Claim, Fingerprint, Job, Verdict, Work};
use crate::mempool::{MemoryPool, Mempool, SubmitError};
use crate::message::{Commit, Message, Proposal, Vote};
use crate::note::HeightContents;
use crate::open::Open;
use crate::order::Ordered;
use crate::records::{Promises, Record, Records};
use crate::schedule::Schedule;
use crate::store::Store;

/// What the driver tells the engine.
#[derive(Clone, Debug)]
pub enum Input {
    /// Start working. Inputs before it are ignored, except submitted transactions.
    Start,
    /// A peer has sent a message.
    Received {
        /// The sender, as the link knows it.
        from: Party,
        /// The message that the peer has sent.
        message: Message,
    },
    /// A transaction that should be put into a block.
    Submit(Transaction),
    /// A job has ended with this verdict.
    Checked(Verdict),
    /// The time of [`Machine::wake_at`] has come.
    Tick,
}

/// What the engine wants done, in this order. See [`Effect`].
pub type Output = prefinal_protocol::Output<Record, Effect>;

/// A block in the order: its name, and its transactions without repetitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The value that was decided.
    pub value: Value,
    /// The transactions that were not ordered before.
    pub transactions: Vec<Arc<[u8]>>,
    /// Its batches, and the transactions that were.
    pub contents: HeightContents,
}

/// What the engine wants done, except for its records.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Send this message to a peer, or to all.
    Send {
        /// One party, or all others.
        to: Recipient<Party>,
        /// The message to send.
        message: Message,
    },
    /// Run this job and return its verdict as [`Input::Checked`].
    Check(Job),
    /// This party commits the value; the vote is the next `Send`. Bytes that [`Trantor::carry`] gets
    /// before the next output is polled travel in it, if it is a first view.
    Prefinalized {
        /// The view of the vote; its slot is the height.
        view: View,
        /// The value that the party commits.
        value: Value,
    },
    /// Bytes that a peer's commit carried.
    Carried {
        /// The party that has committed.
        from: Party,
        /// The bytes that came with its commit.
        partial: Vec<u8>,
    },
    /// The height is final, with this block or without one. Every height is reported, in ascending order.
    Finalized {
        /// The height that is final.
        slot: Slot,
        /// Its block; `None` if it was skipped.
        block: Option<Block>,
    },
    /// This party asks for a later view: it will not commit in this view or an earlier one.
    Abandoned {
        /// The view that it gives up.
        view: View,
    },
    /// A party did wrong.
    Accuse {
        /// The party that did it.
        party: Party,
        /// The fault, with evidence if there is any.
        fault: Fault,
    },
    /// A transaction was not taken.
    Refused(SubmitError),
}

/// The purpose of a job that is running.
#[derive(Debug)]
pub(crate) enum Pending {
    /// Votes of a quorum.
    Votes { stage: Stage, view: View, value: Value, parties: Vec<Party> },
    /// One vote of a suspect.
    Suspect { stage: Stage, view: View, party: Party },
    /// View changes of a quorum, or of one suspect.
    Changes { view: View, votes: Asks },
    /// Certificates in a message; other messages wait for the same ones.
    Claims { claims: Vec<Claim>, held: Vec<(Party, Message)> },
    /// Acknowledgements of a batch.
    Acks { batch: BatchLabel, parties: Vec<Party> },
    /// Two statements that contradict each other.
    Evidence { party: Party, contradiction: Box<Contradiction> },
}

/// A party's latest view change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) view: View,
    pub(crate) claim: Option<u32>,
    pub(crate) signature: Signature,
    pub(crate) standing: Standing,
}

/// An output, or a commit whose partial may still be offered.
#[derive(Debug)]
enum Item {
    Output(Box<Output>),
    Commit(Box<VoteCertificate>, Signature),
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) timeout: Duration,
    pub(crate) pace: Pace,
}

/// Trantor's ordering: PBFT instances of several leaders, multiplexed into one order.
#[derive(Debug)]
pub struct Trantor {
    pub(crate) me: Party,
    pub(crate) committee: Arc<Replicas>,
    pub(crate) secret: SecretKey,
    pub(crate) max_block_bytes: usize,
    pub(crate) timing: Timing,
    pub(crate) leaders: Leaders,
    pub(crate) own_batches: OwnBatches,
    pub(crate) started: bool,
    pub(crate) schedule: Schedule,
    /// Decisions from this height on are kept for peers, and epochs end until the replica begins the next
    /// one. `None` without a replica.
    pub(crate) retained: Option<Slot>,
    /// Leaders of this epoch that left a height empty.
    pub(crate) failed: BTreeSet<Party>,
    /// The lowest height that is not decided here.
    pub(crate) next: Slot,
    /// The lowest height that was not reported.
    pub(crate) unreported: Slot,
    /// The heights of the window that are not decided.
    pub(crate) open: BTreeMap<Slot, Open>,
    /// The heights of these that this party leads and has not proposed at.
    pub(crate) turns: BTreeSet<Slot>,
    /// When the last leader that came into the window could propose.
    pub(crate) last_due: (Slot, Instant),
    /// What earlier lives promised about heights that are not in the window yet.
    pub(crate) promises: BTreeMap<Slot, Promises>,
    pub(crate) decided: BTreeMap<Slot, VoteCertificate>,
    pub(crate) bodies: BTreeMap<Slot, BTreeMap<Value, Body>>,
    /// The batches in this party's own open proposals.
    pub(crate) carried: BTreeMap<Slot, BTreeSet<BatchId>>,
    /// Proposals for an epoch whose leaders are not known yet.
    pub(crate) early: BTreeMap<Party, Vec<Proposal>>,
    pub(crate) prepares: Collector<View, Value, Signature>,
    pub(crate) commits: Collector<View, Value, Signature>,
    /// The view whose change this party, as its primary, has summed or is summing.
    pub(crate) leading: Option<View>,
    /// The latest view change of each party.
    pub(crate) asks: BTreeMap<Party, Ask>,
    /// The latest view that this party gave up.
    pub(crate) abandoned: Option<View>,
    /// Parties whose first-view commit of a height has arrived, so that a partial is passed on once.
    pub(crate) heard: BTreeMap<Slot, BTreeSet<Party>>,
    pub(crate) mempool: Box<dyn Mempool>,
    pub(crate) store: Store,
    pub(crate) ordered: Ordered,
    pub(crate) fetch: Fetch,
    pub(crate) suspects: BTreeSet<Party>,
    /// How many messages with a false certificate came from each party.
    pub(crate) forgeries: BTreeMap<Party, u32>,
    /// Parties that were charged with a contradiction about an open height: one is enough.
    pub(crate) charged: BTreeSet<(Slot, Party)>,
    pub(crate) jobs: BTreeMap<Fingerprint, Pending>,
    outputs: VecDeque<Item>,
    /// Bytes for the commit at the front of the outputs.
    offered: Option<Vec<u8>>,
    /// Whether the output polled last announced the commit at the front.
    announced: bool,
}

impl Trantor {
    /// An engine that continues where `records` end. Give no records for a fresh start.
    ///
    /// # Errors
    /// [`ConfigError`] if the configuration does not make a committee, or if the key is not this party's.
    pub fn new(
        config: Config,
        secret: SecretKey,
        records: impl IntoIterator<Item = Record>,
    ) -> Result<Self, ConfigError> {
        let mut kept = Records::default();
        records.into_iter().for_each(|record| kept.apply(record));
        Self::restore(config, secret, kept)
    }

    pub(crate) fn restore(
        config: Config,
        secret: SecretKey,
        records: Records,
    ) -> Result<Self, ConfigError> {
        let committee = Replicas::new(&config.context, config.members.clone())?;
        Self::restore_in(config, Arc::new(committee), secret, records)
    }

    /// An engine in this committee, whatever the configuration's members are.
    pub(crate) fn restore_in(
        config: Config,
        committee: Arc<Replicas>,
        secret: SecretKey,
        records: Records,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        let limits = config.batch_limits();
        let Config { me, timeout, pace, fetch_after, max_block_bytes, leaders, .. } = config;
        let Config { epochs, own_batches, identification, .. } = config;
        let members = committee.size();
        let member = committee.member(me).ok_or(ConfigError::NotAMember { me, members })?;
        if *member.key.get() != secret.public_key() {
            return Err(ConfigError::WrongKey { me });
        }
        let ordered = records.ordered;
        let ordered = ordered.unwrap_or_else(|| Ordered::with_history(records.history));
        let schedule = records.schedule.unwrap_or_else(|| Schedule::begin(epochs, &committee));
        let first = schedule.first();
        let mut engine = Self {
            me,
            committee,
            secret,
            max_block_bytes,
            timing: Timing { timeout, pace },
            leaders,
            own_batches,
            started: false,
            schedule,
            retained: records.retained,
            failed: BTreeSet::new(),
            next: first,
            unreported: records.finalized.map_or(Slot::new(1), Slot::next),
            open: BTreeMap::new(),
            turns: BTreeSet::new(),
            last_due: (Slot::new(0), Instant::START),
            promises: records.promises,
            decided: records.decided,
            bodies: BTreeMap::new(),
            carried: BTreeMap::new(),
            early: BTreeMap::new(),
            prepares: Collector::default(),
            commits: Collector::default(),
            leading: None,
            asks: BTreeMap::new(),
            abandoned: records.abandoned,
            heard: BTreeMap::new(),
            mempool: Box::new(MemoryPool::new(limits).with(identification)),
            store: Store::new(max_block_bytes),
            ordered: ordered.with(identification),
            fetch: Fetch::new(fetch_after),
            suspects: BTreeSet::new(),
            forgeries: BTreeMap::new(),
            charged: BTreeSet::new(),
            jobs: BTreeMap::new(),
            outputs: VecDeque::new(),
            offered: None,
            announced: false,
        };
        for batch in records.batches.into_values() {
            engine.store.insert(batch);
        }
        engine.remember(records.bodies, &records.shown);
        engine.pass_over(&records.runs);
        engine.set_ordered();
        Ok(engine)
    }

    /// The same engine with another mempool.
    #[must_use]
    pub fn with_mempool(self, mempool: impl Mempool + 'static) -> Self {
        Self { mempool: Box::new(mempool), ..self }
    }

    /// Tells the store what was ordered.
    pub(crate) fn set_ordered(&mut self) {
        self.ordered.batches().for_each(|id| self.store.ordered(id));
    }

    /// The committee that orders blocks.
    #[must_use]
    pub fn committee(&self) -> &Replicas {
        &self.committee
    }

    /// The heights of this epoch and their leaders.
    #[must_use]
    pub const fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The lowest height that is not decided here.
    #[must_use]
    pub const fn next(&self) -> Slot {
        self.next
    }

    /// What the leader of a height has proposed to this party in the first view, until the height is decided. Another
    /// proposal of that leader is evidence against it.
    #[must_use]
    pub fn proposed(&self, slot: Slot) -> Option<Value> {
        self.open.get(&slot)?.proposals.get(&0).map(|proposed| proposed.value)
    }

    fn start(&mut self, now: Instant) {
        if self.started {
            return;
        }
        self.started = true;
        self.advance(now);
        // Votes behind the window may be lost as well.
        let promised: Vec<Slot> = self.promises.keys().copied().collect();
        promised.into_iter().for_each(|slot| self.open_early(slot));
        self.repeat(now);
        self.spread_uncertified(now);
        self.send(Recipient::All, Message::Progress(self.next));
    }

    /// Sets the bytes that the commit announced last carries. Call it before anything else is polled.
    ///
    /// # Errors
    /// The bytes, if there is no such vote, its view is not the first, or they are too long.
    pub fn carry(&mut self, partial: Vec<u8>) -> Result<(), Vec<u8>> {
        let first = matches!(
            self.outputs.front(),
            Some(Item::Commit(prepared, _)) if prepared.view.attempt == 0
        );
        if !first || !self.announced || partial.len() > crate::message::MAX_PARTIAL {
            return Err(partial);
        }
        self.offered = Some(partial);
        Ok(())
    }

    pub(crate) fn keep(&mut self, record: Record) {
        self.output(Output::Keep(record));
    }

    pub(crate) fn note(&mut self, record: Record) {
        self.output(Output::Note(record));
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.output(Output::Do(effect));
    }

    fn output(&mut self, output: Output) {
        self.outputs.push_back(Item::Output(Box::new(output)));
    }

    pub(crate) fn send(&mut self, to: Recipient<Party>, message: Message) {
        self.effect(Effect::Send { to, message });
    }

    pub(crate) fn accuse(&mut self, party: Party, fault: impl Into<Fault>) {
        self.effect(Effect::Accuse { party, fault: fault.into() });
    }

    pub(crate) fn sign(&self, stage: Stage, view: View, value: Value) -> Signature {
        self.secret.sign(stage.domain(), &self.committee.statement(view, value))
    }

    /// Announces a commit. Its record and the vote follow when they are polled, with what it carries.
    pub(crate) fn announce(&mut self, prepared: VoteCertificate, signature: Signature) {
        let (view, value) = (prepared.view, prepared.value);
        self.effect(Effect::Prefinalized { view, value });
        self.outputs.push_back(Item::Commit(Box::new(prepared), signature));
    }

    /// Sends work out as a job. The same work is not sent out again while it is running.
    pub(crate) fn check(&mut self, work: Work, pending: Pending) {
        let job = Job::new(Arc::clone(&self.committee), work);
        if let Entry::Vacant(entry) = self.jobs.entry(job.fingerprint()) {
            entry.insert(pending);
            self.effect(Effect::Check(job));
        }
    }

    /// The record of a commit, and then its vote.
    fn cast(&mut self, prepared: Box<VoteCertificate>, signature: Signature) -> Output {
        let partial = self.offered.take();
        let (view, value) = (prepared.view, prepared.value);
        let vote = Vote { view, value, signature };
        let message = Message::Commit(Box::new(Commit { vote, partial: partial.clone() }));
        let send = Output::Do(Effect::Send { to: Recipient::All, message });
        self.outputs.push_front(Item::Output(Box::new(send)));
        Output::Keep(Record::Commit { prepared, partial })
    }
}

impl Machine for Trantor {
    type Input = Input;
    type Record = Record;
    type Effect = Effect;

    fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Start => self.start(now),
            Input::Submit(transaction) => self.submit(now, transaction),
            _ if !self.started => return,
            Input::Received { from, message } => self.receive(now, from, message),
            Input::Checked(verdict) => self.checked(now, verdict),
            Input::Tick => {}
        }
        if self.started {
            self.tick(now);
        }
    }

    fn poll(&mut self) -> Option<Output> {
        let output = match self.outputs.pop_front()? {
            Item::Output(output) => *output,
            Item::Commit(prepared, signature) => self.cast(prepared, signature),
        };
        self.announced = matches!(output, Output::Do(Effect::Prefinalized { .. }));
        Some(output)
    }

    fn wake_at(&self) -> Option<Instant> {
        if !self.started {
            return None;
        }
        let due = [self.spreads_at(), self.proposes_at(), self.changes_at(), self.fetch.wake_at()];
        due.into_iter().flatten().min()
    }
}
