//! Executing a validator's blocks: the host of a [`Pipeline`], between the engine's events and the channel that
//! certifies states.
//!
//! ```text
//!  engine   proposed · prefinalized · ordered ──► lineage ──► pipeline ──► jobs, committed states
//!  beacon   value of a slot ─────────────────────────────────►   │  ▲
//!  channel  [`StateSig`]     ◄── vote for a state ───────────────┘  │
//!                            ─── certificate ───────────────────────┘
//! ```
//! The vote for a state is the content of the slot in the channel [`StateSig`], so the release contract decides
//! when it leaves. If the block is executed when the party prefinalizes, it leaves with the order vote.
//!
//! | record      | why it must survive a crash                                                           |
//! |-------------|---------------------------------------------------------------------------------------|
//! | ordered     | the engine reports a block once, and the store has it when it is executed only         |
//! | value       | the beacon does not give it again once it has noted that it did                        |
//! | certificate | the same                                                                              |
//! | pipeline    | what it voted for, and whether it stopped                                             |
//!
//! Blocks are executed from the first slot that channels have outputs in. Of a block's transactions those are
//! executed that begin with [`MARK`] and decode behind it; everybody leaves the same ones out. The committee must
//! stay the same: channels of later epochs are not served here yet.
mod lineage;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use ::prefinal_beacon::stack::OneOf;
use ::prefinal_beacon::{
    CertifiedRoot, Message, Path, Reveal, StateRoot, StateSig, StateStatement, epochs,
};
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::{Certificate, Electorate, ElectorateError};
use prefinal_crypto_core::context::Context;
use prefinal_engine::{Block, Quorum};
use prefinal_execution::{
    BlockId, Certified, Committed, Config, ExecuteJob, ExecuteVerdict, Executor, Header, Height,
    Past, Pipeline, Randomness, Recovered, Refusal, StartError, Stop, Store, StoreJob,
    StoreVerdict, Vote,
};
use prefinal_protocol::{Instant, Machine, Slot, Value, View};

use self::lineage::{Lineage, PlacedBlock};
use crate::application::{ChainApplication, Effect, Input, Output};
use crate::extra::electorate;
use crate::setup::Setup;

/// Shows that a quorum of stake has signed a state.
pub type StateCertificate = Certificate<MinSig>;

/// First byte of transactions that are executed. No transaction of the key generation begins with it
/// ([`crate::transaction`]).
pub const MARK: u8 = 0xe0;

/// The transaction of a store's executor.
type TransactionOf<St> = <<St as Store>::Executor as Executor>::Transaction;

type PipelineInput<St> = prefinal_execution::Input<<St as Store>::Executor, StateCertificate>;

/// The bytes in a block of a transaction that is executed.
#[must_use]
pub fn marked(transaction: &[u8]) -> Vec<u8> {
    [&[MARK], transaction].concat()
}

/// How many certificates are kept for peers: as many as a channel keeps outputs of one life.
const SHOWN: usize = 256;

/// The message that shows a certificate to a peer that missed it. Costs nothing; the peer verifies it.
#[must_use]
pub fn shown(slot: Slot, certified: &Certified<StateCertificate>) -> Message<StateSig> {
    let certificate = certified.certificate.clone();
    let shown = CertifiedRoot { root: certified.digest, certificate };
    Message::Output { slot, path: Path::Tight, shown }
}

/// What a party keeps of its blocks' execution, beside the store.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub enum Record {
    /// A block was ordered.
    Ordered {
        /// The slot of the block.
        slot: Slot,
        /// The block with those of its transactions that are executed.
        block: Block,
    },
    /// The value of a slot, for a block that reads it.
    Value {
        /// The slot of the value.
        slot: Slot,
        /// 32 bytes that nobody could foresee.
        value: [u8; 32],
    },
    /// The state of a block is certified.
    Certified {
        /// The slot of the block.
        slot: Slot,
        /// The block, its state, and the certificate.
        certified: Certified<StateCertificate>,
    },
    /// Written by the pipeline.
    Pipeline(prefinal_execution::Record<StateCertificate>),
}

/// Something that happened to a block here.
pub enum BlockEvent<T> {
    /// The order has a block with this content.
    Ordered(prefinal_execution::Block<T>),
    /// It is executed, and this party votes for its state.
    Executed(Height),
    /// A quorum has certified its state.
    Certified(Height),
    /// Its state is durable, certified, and cannot change any more.
    Committed(Committed),
    /// A peer did wrong in the channel of certificates; the fault is described in words.
    Accused {
        /// The peer whose message was false.
        party: Party,
        /// The check that failed.
        fault: String,
    },
    /// An input of the pipeline had no effect, and should have had one.
    Refused(Refusal),
    /// Nothing is executed any more.
    Stopped(Stop<StateCertificate>),
}

/// Work of the pipeline.
pub enum PipelineJob<X: Executor> {
    /// Executes a part of a block.
    Execute(ExecuteJob<X>),
    /// One transaction of the store.
    Store(Box<StoreJob<X, StateCertificate>>),
}

/// The result of a [`PipelineJob`].
pub enum PipelineVerdict<X: Executor> {
    /// A part of a block was executed.
    Executed(ExecuteVerdict<X>),
    /// The store has made its transaction.
    Stored(StoreVerdict),
}

/// What runs a pipeline's jobs.
pub struct Workers<St: Store> {
    /// Executes blocks, several at a time.
    pub executor: Arc<St::Executor>,
    /// Where blocks are stored.
    pub store: Arc<Mutex<St>>,
}

/// What is left from the process before.
pub struct PastBlocks<X: Executor> {
    /// The name of the store's genesis.
    pub genesis: BlockId,
    /// What the store holds.
    pub recovered: Recovered<X>,
    /// All records, oldest first.
    pub records: Vec<Record>,
}

/// Why blocks are not executed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// Members and stakes do not make a committee that can certify states.
    #[error("no certificates: {0}")]
    Certificates(#[from] ElectorateError),
    /// The pipeline does not continue from what is left.
    #[error(transparent)]
    Pipeline(#[from] StartError),
}

impl HostError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Certificates(error) => error.code(),
            Self::Pipeline(error) => error.code(),
        }
    }
}

/// The pipeline of a validator, with what translates between it and its surroundings.
pub struct PipelineHost<St: Store<Certificate = StateCertificate>> {
    context: Context,
    electorate: Electorate<MinSig>,
    decode: fn(&[u8]) -> Option<TransactionOf<St>>,
    pipeline: Pipeline<St::Executor, StateCertificate>,
    window: u64,
    lineage: Lineage,
    /// Ordered blocks that read their slot's value and are not committed.
    readers: BTreeMap<Slot, Height>,
    /// Records of an earlier life that wait for the first slot.
    past: Vec<Record>,
    /// Certificates of the last [`SHOWN`] slots. The channel has forgotten those of an earlier life, and a peer
    /// that lacks one commits nothing before it has it.
    certificates: BTreeMap<Slot, Certified<StateCertificate>>,
    /// For the pipeline, once their heights are in its window. A certificate of a lower height may come last of
    /// all, and must not wait behind blocks that wait for it.
    later: BTreeMap<Height, Vec<PipelineInput<St>>>,
    /// The party is about to cast an order vote: the contract is asked behind this input anyway.
    casting: bool,
    outputs: VecDeque<Output<Self>>,
}

impl<St: Store<Certificate = StateCertificate>> PipelineHost<St> {
    /// The host of a pipeline for this committee, which continues where store and records end. The genesis of
    /// the store has the name that `past` says. `decode` reads a transaction behind its [`MARK`]; `None` if it is none.
    ///
    /// # Errors
    /// If the members cannot certify, or the pipeline refuses configuration, store or records.
    pub fn new(
        setup: &Setup,
        quorum: Quorum,
        config: Config,
        past: PastBlocks<St::Executor>,
        decode: fn(&[u8]) -> Option<TransactionOf<St>>,
    ) -> Result<Self, HostError> {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for record in past.records {
            match record {
                Record::Pipeline(record) => own.push(record),
                record => others.push(record),
            }
        }
        let lineage = Lineage::new(past.genesis);
        let past = Past { recovered: past.recovered, records: own };
        let mut host = Self {
            context: setup.context,
            electorate: electorate(setup, quorum)?,
            decode,
            pipeline: Pipeline::new(config, past)?,
            window: config.limits.window,
            lineage,
            readers: BTreeMap::new(),
            past: Vec::new(),
            certificates: BTreeMap::new(),
            later: BTreeMap::new(),
            casting: false,
            outputs: VecDeque::new(),
        };
        for record in others {
            match record {
                // Nothing is placed yet.
                Record::Ordered { slot, block } => drop(host.lineage.ordered(slot, block)),
                record => {
                    if let Record::Certified { slot, certified } = &record {
                        host.remember(*slot, certified.clone());
                    }
                    host.past.push(record);
                }
            }
        }
        Ok(host)
    }

    /// The last committed block.
    #[must_use]
    pub const fn committed(&self) -> Committed {
        self.pipeline.committed()
    }

    fn effect(&mut self, effect: Effect<Self>) {
        self.outputs.push_back(Output::<Self>::Do(effect));
    }

    fn tell(&mut self, event: BlockEvent<TransactionOf<St>>) {
        self.effect(Effect::Tell(event));
    }

    fn keep(&mut self, record: Record) {
        self.outputs.push_back(Output::<Self>::Keep(record));
    }

    fn decoded(&self, placed: &PlacedBlock) -> prefinal_execution::Block<TransactionOf<St>> {
        let executed = placed.block.transactions.iter().filter_map(|one| one.strip_prefix(&[MARK]));
        let transactions: Vec<_> = executed.filter_map(self.decode).collect();
        prefinal_execution::Block::new(placed.header, transactions)
    }

    fn ordered(&mut self, now: Instant, slot: Slot, mut block: Block) {
        if !self.lineage.is_new(slot) {
            return;
        }
        block.transactions.retain(|one| one.starts_with(&[MARK]));
        self.keep(Record::Ordered { slot, block: block.clone() });
        if let Some(placed) = self.lineage.ordered(slot, block) {
            self.place(now, &placed);
        }
        self.propose(now);
    }

    fn place(&mut self, now: Instant, placed: &PlacedBlock) {
        let Header { height, slot, .. } = placed.header;
        if height <= self.committed().height {
            return;
        }
        let block = self.decoded(placed);
        if block.has_tail() {
            self.readers.insert(slot, height);
        }
        self.tell(BlockEvent::Ordered(block.clone()));
        self.at_height(now, height, prefinal_execution::Input::Ordered(block));
    }

    fn propose(&mut self, now: Instant) {
        for placed in self.lineage.placed_proposals() {
            let block = self.decoded(&placed);
            self.pipe(now, prefinal_execution::Input::Proposed(block));
        }
    }

    fn begin(&mut self, now: Instant, first: Slot) {
        // That an output was shown is no record that must be durable, so the channel may have to show it again.
        for (slot, certified) in self.certificates.clone() {
            self.give_content(slot, Value::new(certified.block.to_bytes()), certified.digest);
        }
        for placed in self.lineage.begin(first) {
            self.place(now, &placed);
        }
        for record in std::mem::take(&mut self.past) {
            match record {
                Record::Value { slot, value } => self.value(now, slot, value),
                Record::Certified { certified, .. } => self.certified(now, certified),
                Record::Ordered { .. } | Record::Pipeline(_) => {}
            }
        }
        self.propose(now);
    }

    fn value(&mut self, now: Instant, slot: Slot, value: [u8; 32]) {
        if let Some(height) = self.readers.get(&slot).copied() {
            let value = Randomness::new(value);
            self.at_height(now, height, prefinal_execution::Input::Value { slot, value });
        }
    }

    fn certified(&mut self, now: Instant, certified: Certified<StateCertificate>) {
        if certified.height > self.committed().height {
            let height = certified.height;
            self.tell(BlockEvent::Certified(height));
            self.at_height(now, height, prefinal_execution::Input::Certified(certified));
        }
    }

    /// Keeps a certificate for peers that ask for it.
    fn remember(&mut self, slot: Slot, certified: Certified<StateCertificate>) {
        self.certificates.insert(slot, certified);
        while self.certificates.len() > SHOWN {
            self.certificates.pop_first();
        }
    }

    fn prefinalized(&mut self, now: Instant, view: View, value: Value) {
        let Some(Header { id: block, height, .. }) = self.lineage.header(value) else { return };
        self.casting = true;
        self.pipe(now, prefinal_execution::Input::Prefinalized { height, block, view });
        self.casting = false;
    }

    fn beside(&mut self, now: Instant, effect: epochs::Effect<StateSig>) {
        let epochs::Effect::Of { epoch, effect } = effect else { return };
        match effect {
            ::prefinal_beacon::Effect::Reveal(reveal) => self.revealed(now, &reveal),
            ::prefinal_beacon::Effect::Lookup { to, slots } => {
                let known =
                    slots.iter().filter_map(|slot| Some((*slot, self.certificates.get(slot)?)));
                let messages: Vec<_> =
                    known.map(|(slot, certified)| shown(slot, certified)).collect();
                for message in messages {
                    self.effect(Effect::Show { to, epoch, message: OneOf::First(message) });
                }
            }
            ::prefinal_beacon::Effect::Accuse { party, fault } => {
                self.tell(BlockEvent::Accused { party, fault: fault.to_string() });
            }
            _ => {}
        }
    }

    fn revealed(&mut self, now: Instant, reveal: &Reveal<StateSig>) {
        let StateStatement { value, root: digest, .. } = reveal.output;
        // Without a place it is committed already.
        let Some(Header { id: block, height, .. }) = self.lineage.header(value) else { return };
        let (slot, certificate) = (reveal.slot, reveal.proof.clone());
        let certified = Certified { height, block, digest, certificate };
        self.remember(slot, certified.clone());
        self.keep(Record::Certified { slot, certified: certified.clone() });
        self.certified(now, certified);
    }

    /// Gives an input to the pipeline when its height is in the window.
    fn at_height(&mut self, now: Instant, height: Height, input: PipelineInput<St>) {
        self.later.entry(height).or_default().push(input);
        self.give(now);
    }

    /// Gives the pipeline what waits and is in the window by now, in the order of heights.
    fn give(&mut self, now: Instant) {
        let last = self.committed().height.after(self.window);
        while let Some(first) = self.later.first_entry().filter(|first| *first.key() <= last) {
            for input in first.remove() {
                self.pipe(now, input);
            }
        }
    }

    fn pipe(&mut self, now: Instant, input: PipelineInput<St>) {
        self.pipeline.handle(now, input);
        while let Some(output) = self.pipeline.poll() {
            match output.split(Record::Pipeline) {
                Ok(effect) => self.carry_out(effect),
                Err(record) => self.outputs.push_back(record),
            }
        }
    }

    fn carry_out(&mut self, effect: prefinal_execution::Effect<St::Executor, StateCertificate>) {
        use prefinal_execution::Effect as Of;
        match effect {
            Of::Execute(job) => self.effect(Effect::Run(PipelineJob::Execute(job))),
            Of::Store(job) => self.effect(Effect::Run(PipelineJob::Store(Box::new(job)))),
            Of::Vote(vote) => self.vote(vote),
            Of::Committed(committed) => {
                self.lineage.forget_below(committed.height);
                self.readers.retain(|_, height| *height > committed.height);
                self.tell(BlockEvent::Committed(committed));
            }
            // A proposal that is not kept is executed when it is ordered.
            Of::Refused(Refusal::Proposal { .. }) => {}
            Of::Refused(refusal) => self.tell(BlockEvent::Refused(refusal)),
            Of::Stopped(stop) => self.tell(BlockEvent::Stopped(stop)),
            // There are no full nodes.
            Of::Forward(_) | Of::ForwardValue { .. } | Of::Deliver(_) => {}
        }
    }

    fn give_content(&mut self, slot: Slot, value: Value, root: [u8; 32]) {
        let statement = StateStatement { context: self.context, slot, value, root };
        let content = StateRoot::new(&self.electorate, statement);
        let content = epochs::Input::Content { epoch: self.context.epoch, content };
        self.effect(Effect::Beside(OneOf::First(content)));
    }

    /// The root is the slot's content. If the order vote has left already, the contract decides again, with its
    /// view.
    fn vote(&mut self, vote: Vote) {
        let Vote { slot, claim, view } = vote;
        self.tell(BlockEvent::Executed(claim.height));
        let (value, root) = (Value::new(claim.block.to_bytes()), claim.roots.digest());
        self.give_content(slot, value, root);
        if let Some(view) = view.filter(|_| !self.casting) {
            let again = epochs::Input::Prefinalized { slot, view, value };
            self.effect(Effect::Beside(OneOf::First(again)));
        }
    }
}

impl<St: Store<Certificate = StateCertificate>> ChainApplication for PipelineHost<St> {
    type Channels = (StateSig, ());
    type Record = Record;
    type Job = PipelineJob<St::Executor>;
    type Verdict = PipelineVerdict<St::Executor>;
    type Event = BlockEvent<TransactionOf<St>>;
    type Workers = Workers<St>;

    fn handle(&mut self, now: Instant, input: Input<Self>) {
        match input {
            Input::Proposed { slot, parent, block } => {
                self.lineage.proposed(slot, parent, block);
                self.propose(now);
            }
            Input::Prefinalized { view, value, .. } => self.prefinalized(now, view, value),
            Input::Ordered { slot, block } => self.ordered(now, slot, block),
            Input::Began { first } => self.begin(now, first),
            Input::Value { slot, value } if self.readers.contains_key(&slot) => {
                self.keep(Record::Value { slot, value });
                self.value(now, slot, value);
            }
            Input::Value { .. } => {}
            Input::Beside(OneOf::First(effect)) => self.beside(now, effect),
            Input::Beside(OneOf::Rest(never)) => match never {},
            Input::Checked(PipelineVerdict::Executed(verdict)) => {
                self.pipe(now, prefinal_execution::Input::Executed(verdict));
            }
            Input::Checked(PipelineVerdict::Stored(verdict)) => {
                self.pipe(now, prefinal_execution::Input::Stored(verdict));
                self.give(now);
            }
        }
    }

    fn poll(&mut self) -> Option<Output<Self>> {
        self.outputs.pop_front()
    }

    fn run(job: Self::Job, workers: &Workers<St>) -> Self::Verdict {
        match job {
            PipelineJob::Execute(job) => PipelineVerdict::Executed(job.run(&workers.executor)),
            PipelineJob::Store(job) => {
                // After a panic the store says what it holds.
                let store = workers.store.lock();
                let mut store = store.unwrap_or_else(PoisonError::into_inner);
                PipelineVerdict::Stored(job.run(&mut *store))
            }
        }
    }
}

impl<St: Store> Clone for Workers<St> {
    fn clone(&self) -> Self {
        let Self { executor, store } = self;
        Self { executor: Arc::clone(executor), store: Arc::clone(store) }
    }
}
