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
//! | adopted     | blocks before it were never ordered here ([`adopt`](crate::adopt))                    |
//!
//! Blocks are executed from the first slot that channels have outputs in. Of a block's transactions those are
//! executed that begin with [`MARK`] and decode behind it. The block carries all others, key generations among them:
//! they change no state and are kept with it, for parties that were away.
//!
//! When the committee changes, the state of each slot is certified by the committee that decides the slot, in the
//! channel of its epoch, and a block before announces it in the state (`committees`). A party that some committee does not
//! know has no channel in that epoch, so it sees none of its certificates and commits nothing from there on: its store
//! must hold a later state already, as one that follows the chain has it.
mod committees;
mod lineage;
mod marked;
mod words;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, PoisonError};

use ::prefinal_beacon::stack::OneOf;
use ::prefinal_beacon::{Reveal, StateSig, StateStatement, epochs};
use prefinal_crypto_core::context::EpochId;
use prefinal_engine::Quorum;
use prefinal_execution::{
    Certified, Committed, Config, Executor, Header, Height, Past, Pipeline, Randomness, Refusal,
    Store, Vote,
};
use prefinal_protocol::{Instant, Machine, Slot, Value, View};

pub use self::committees::Announce;
use self::committees::{Announced, Committees, SignedRoot};
use self::lineage::{Lineage, PlacedBlock};
pub use self::marked::{MARK, MarkedBlock, marked};
pub use self::words::{
    BlockCodec, BlockEvent, Carry, HostError, PastBlocks, PipelineJob, PipelineVerdict, Record,
    StateCertificate, Workers, shown,
};
use crate::application::{ChainApplication, Effect, Input, Output};
use crate::setup::Setup;

/// The transaction of a store's executor.
type TransactionOf<St> = <<St as Store>::Executor as Executor>::Transaction;

type BlockOf<St> = prefinal_execution::Block<TransactionOf<St>>;

type PipelineInput<St> = prefinal_execution::Input<<St as Store>::Executor, StateCertificate>;

/// How many certificates are kept for peers: as many as a channel keeps outputs of one life.
const SHOWN: usize = 256;

/// Slots ahead of the order whose values and certificates are kept.
const EARLY: usize = 4096;

/// A block with its transactions, decoded.
struct ReadBlock<T> {
    placed: PlacedBlock,
    block: prefinal_execution::Block<T>,
}

/// The pipeline of a validator, with what translates between it and its surroundings.
pub struct PipelineHost<St: Store<Certificate = StateCertificate>> {
    committees: Committees,
    decode: fn(&[u8]) -> Option<TransactionOf<St>>,
    carry: Carry,
    pipeline: Pipeline<St::Executor, StateCertificate>,
    window: u64,
    lineage: Lineage,
    /// Ordered blocks from the first one on of which it is not known yet what they announce.
    unjudged: VecDeque<ReadBlock<TransactionOf<St>>>,
    /// What this party signs of slots that are not committed, by slot and block.
    signed: BTreeMap<(Slot, Value), [u8; 32]>,
    /// Those of them that wait for their epoch's channel, or to be told whose slots they are.
    ungiven: BTreeSet<(Slot, Value)>,
    /// The last epoch whose channels have begun.
    begun: Option<EpochId>,
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
    /// What was told of slots that are not ordered here yet, for the order may be repeated later than the rest.
    early: BTreeMap<Slot, Vec<Input<Self>>>,
    /// The party is about to cast an order vote: the contract is asked behind this input anyway.
    casting: bool,
    outputs: VecDeque<Output<Self>>,
}

impl<St: Store<Certificate = StateCertificate>> PipelineHost<St> {
    /// The host of a pipeline for a chain with this first committee, which continues where store and records end. The
    /// genesis of the store has the name that `past` says.
    ///
    /// # Errors
    /// If the members cannot certify, or the pipeline refuses configuration, store or records.
    pub fn new(
        setup: &Setup,
        quorum: Quorum,
        config: Config,
        past: PastBlocks<St::Executor>,
        codec: BlockCodec<TransactionOf<St>>,
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
            committees: Committees::new(setup, quorum, codec.announce)?,
            decode: codec.decode,
            carry: codec.carry,
            pipeline: Pipeline::new(config, past)?,
            window: config.limits.window,
            lineage,
            unjudged: VecDeque::new(),
            signed: BTreeMap::new(),
            ungiven: BTreeSet::new(),
            begun: None,
            readers: BTreeMap::new(),
            past: Vec::new(),
            certificates: BTreeMap::new(),
            later: BTreeMap::new(),
            early: BTreeMap::new(),
            casting: false,
            outputs: VecDeque::new(),
        };
        for record in others {
            match record {
                // Nothing is placed yet.
                Record::Ordered { slot, block } => drop(host.lineage.ordered(slot, block)),
                Record::Adopted(header) => host.lineage.adopt(header),
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

    fn read(&self, placed: PlacedBlock) -> ReadBlock<TransactionOf<St>> {
        let MarkedBlock { transactions, carried, .. } = &placed.block;
        let (mut executed, mut others) = (Vec::new(), Vec::new());
        for transaction in transactions {
            match transaction.strip_prefix(&[MARK]).and_then(self.decode) {
                Some(decoded) => executed.push(decoded),
                None => others.push(Arc::clone(transaction)),
            }
        }
        // Behind them, for an engine may look for its own at the end.
        others.extend(carried.iter().cloned());
        let carried = (!others.is_empty()).then(|| (self.carry)(&others).into());
        let block = prefinal_execution::Block::new(placed.header, executed);
        let block = block.with_system_transactions(carried);
        ReadBlock { placed, block }
    }

    /// The block as it is executed; `None` as long as it is not known what it announces.
    fn announcing(&self, read: &ReadBlock<TransactionOf<St>>) -> Option<BlockOf<St>> {
        let block = read.block.clone();
        match self.committees.announced(&read.placed) {
            Announced::Nothing => Some(block),
            Announced::Committee(encoded) => Some(block.with_system_transactions([encoded])),
            Announced::Unknown => None,
        }
    }

    fn ordered(&mut self, now: Instant, slot: Slot, block: MarkedBlock) {
        if !self.lineage.is_new(slot) {
            return;
        }
        self.keep(Record::Ordered { slot, block: block.clone() });
        let placed = self.lineage.ordered(slot, block);
        placed.into_iter().for_each(|placed| self.wait(placed));
        self.place(now);
        self.early = self.early.split_off(&slot);
        for input in self.early.remove(&slot).unwrap_or_default() {
            self.handle(now, input);
        }
    }

    /// Keeps what was told of a slot that is not ordered yet.
    fn keep_early(&mut self, slot: Slot, input: Input<Self>) {
        self.early.entry(slot).or_default().push(input);
        while self.early.len() > EARLY {
            self.early.pop_last();
        }
    }

    /// An ordered block waits until it is known what it announces. Its slot's value may come before.
    fn wait(&mut self, placed: PlacedBlock) {
        let Header { height, slot, .. } = placed.header;
        if height <= self.committed().height {
            return;
        }
        let read = self.read(placed);
        if read.block.has_tail() {
            self.readers.insert(slot, height);
        }
        self.unjudged.push_back(read);
    }

    /// Gives the pipeline the ordered blocks of which it is known what they announce, then proposals behind them.
    fn place(&mut self, now: Instant) {
        while let Some(block) = self.unjudged.front().and_then(|read| self.announcing(read)) {
            self.unjudged.pop_front();
            let height = block.header.height;
            self.tell(BlockEvent::Ordered(block.clone()));
            self.at_height(now, height, prefinal_execution::Input::Ordered(block));
        }
        for placed in self.lineage.placed_proposals() {
            // One that may announce something is executed when it is ordered.
            if let Some(block) = self.announcing(&self.read(placed)) {
                self.pipe(now, prefinal_execution::Input::Proposed(block));
            }
        }
    }

    fn begin(&mut self, now: Instant, epoch: EpochId, first: Slot) {
        if self.begun >= Some(epoch) {
            return;
        }
        let is_first = self.begun.replace(epoch).is_none();
        // That an output was shown is no record that must be durable, so channels may have to show again those of an
        // earlier life.
        for (slot, certified) in self.certificates.iter().filter(|_| is_first) {
            let signed = (*slot, Value::new(certified.block.to_bytes()));
            self.signed.insert(signed, certified.digest);
            self.ungiven.insert(signed);
        }
        self.give_contents();
        self.lineage.begin(first).into_iter().for_each(|placed| self.wait(placed));
        self.place(now);
        for record in std::mem::take(&mut self.past) {
            match record {
                Record::Value { slot, value } => self.value(now, slot, value),
                Record::Certified { certified, .. } => self.certified(now, certified),
                Record::Ordered { .. } | Record::Pipeline(_) | Record::Adopted(_) => {}
            }
        }
    }

    fn follow(&mut self, now: Instant, setup: Arc<Setup>, first: Slot) {
        self.committees.follow(&setup, first);
        self.tell(BlockEvent::Follows { setup, first });
        self.place(now);
        self.give_contents();
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

    fn prefinalized(&mut self, now: Instant, slot: Slot, view: View, value: Value) {
        let Some(Header { id: block, height, .. }) = self.lineage.header(slot, value) else {
            return;
        };
        self.casting = true;
        self.pipe(now, prefinal_execution::Input::Prefinalized { height, block, view });
        self.casting = false;
    }

    fn beside(&mut self, now: Instant, effect: epochs::Effect<StateSig>) {
        let epochs::Effect::Of { epoch, effect } = effect else { return };
        match effect {
            ::prefinal_beacon::Effect::Reveal(reveal) => self.revealed(now, epoch, &reveal),
            ::prefinal_beacon::Effect::Lookup { to, slots } => {
                for slot in slots {
                    let Some(certified) = self.certificates.get(&slot) else { continue };
                    let certificate = certified.certificate.certificate.clone();
                    let message = OneOf::First(shown(slot, certified.digest, certificate));
                    self.effect(Effect::Show { to, epoch, message });
                }
            }
            ::prefinal_beacon::Effect::Accuse { party, fault } => {
                self.tell(BlockEvent::Accused { party, fault: fault.to_string() });
            }
            _ => {}
        }
    }

    fn revealed(&mut self, now: Instant, epoch: EpochId, reveal: &Reveal<StateSig>) {
        let StateStatement { value, root: digest, .. } = reveal.output;
        let (slot, certificate) = (reveal.slot, reveal.proof.clone());
        let Some(Header { id: block, height, .. }) = self.lineage.header(slot, value) else {
            // Else it is committed already.
            if self.lineage.is_new(slot) {
                let effect = ::prefinal_beacon::Effect::Reveal(Box::new(reveal.clone()));
                let effect = OneOf::First(epochs::Effect::Of { epoch, effect });
                self.keep_early(slot, Input::Beside(effect));
            }
            return;
        };
        let certificate = StateCertificate { epoch, certificate };
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
                if let Some(slot) = self.lineage.slot_of(committed.height, committed.block) {
                    // What waits for its channel is wanted there although it is committed: peers may ask for it.
                    let ungiven = &self.ungiven;
                    self.signed.retain(|signed, _| signed.0 > slot || ungiven.contains(signed));
                }
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

    /// Gives the channels what this party signs, as far as they have begun.
    fn give_contents(&mut self) {
        for (slot, value) in std::mem::take(&mut self.ungiven) {
            let Some(root) = self.signed.get(&(slot, value)).copied() else { continue };
            let committee = self.committees.of(slot);
            let signed = SignedRoot { slot, value, root };
            let committee = committee.filter(|one| Some(one.epoch()) <= self.begun);
            match committee.and_then(|one| Some((one.epoch(), one.content(signed)?))) {
                Some((epoch, content)) => {
                    let content = epochs::Input::Content { epoch, content };
                    self.effect(Effect::Beside(OneOf::First(content)));
                }
                None => drop(self.ungiven.insert((slot, value))),
            }
        }
    }

    /// The root is the slot's content. If the order vote has left already, the contract decides again, with its
    /// view.
    fn vote(&mut self, vote: Vote) {
        let Vote { slot, claim, view } = vote;
        self.tell(BlockEvent::Executed(claim.height));
        let value = Value::new(claim.block.to_bytes());
        self.signed.insert((slot, value), claim.roots.digest());
        self.ungiven.insert((slot, value));
        self.give_contents();
        let is_given = !self.ungiven.contains(&(slot, value));
        if let Some(view) = view.filter(|_| is_given && !self.casting) {
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
                self.lineage.proposed(slot, parent, block.into());
                self.place(now);
            }
            Input::Prefinalized { slot, view, value } => {
                self.prefinalized(now, slot, view, value);
            }
            Input::Ordered { slot, block } => self.ordered(now, slot, block.into()),
            Input::Began { epoch, first } => self.begin(now, epoch, first),
            Input::Follows { setup, first } => self.follow(now, setup, first),
            Input::Judged(judged) => {
                self.committees.judge(judged);
                self.place(now);
                self.give_contents();
            }
            Input::Value { slot, value } if self.readers.contains_key(&slot) => {
                self.keep(Record::Value { slot, value });
                self.value(now, slot, value);
            }
            input @ Input::Value { slot, .. } if self.lineage.is_new(slot) => {
                self.keep_early(slot, input);
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
