//! A party: Jolteon, a beacon for the value, a beacon for the state's certificate, and the pipeline.
//!
//! Events of the engine go to all three others. Proposals, orders, values and certificates may reach the pipeline
//! late, so that they overtake each other.
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_beacon::{
    Beacon, Path, Random, Reveal, Slot, StateRoot, StateSig, StateStatement, Value, View,
};
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::SecretKey;
use prefinal_crypto_core::certificate::Electorate;
use prefinal_crypto_core::context::Context;
use prefinal_execution::{
    Block, BlockId, Certified, Committed, Effect, Header, Height, Input, Pipeline, Randomness,
    Refusal, Roots, Stop, StoreCall,
};
use prefinal_jolteon::{self as jolteon, Jolteon};
use prefinal_protocol::{Instant, Machine, Recipient};
use prefinal_sim::{Chance, Dice};
use prefinal_state::StoredTransaction;
use prefinal_state::transfers::SignedTransfer;
use prefinal_validator::execution::shown;

use super::super::ideal::Ideal;
use super::Mistake;
use super::event::{Event, Happens, Job, Kept, Observation, Post, Wants};
use super::ledger::{GENESIS, Ledger, Proof, transfer_of};

type Output = prefinal_protocol::Output<Kept, Wants>;

/// What the store says if the disk has failed; everything else that it says is a mistake.
const DISK_FAILED: &str = "the store of the state failed";

/// What a party has beside its machines.
pub(super) struct Means {
    pub(super) context: Context,
    pub(super) electorate: Arc<Electorate<MinSig>>,
    /// How often something reaches the pipeline late, and how late.
    pub(super) late: (Chance, Duration),
    pub(super) dice: Dice,
    /// With it a faulty party signs the state of every block that it executes.
    pub(super) eager: Option<SecretKey>,
    /// How far the pipeline takes orders.
    pub(super) window: u64,
    pub(super) mistake: Option<Mistake>,
}

/// The machines of a party, as they start.
pub(super) struct Machines {
    pub(super) engine: Jolteon,
    pub(super) random: Beacon<Ideal>,
    pub(super) state: Beacon<StateSig>,
    pub(super) pipeline: Result<Pipeline<Ledger, Proof>, &'static str>,
    /// What the store holds.
    pub(super) found: (Committed, Vec<(Header, Roots)>),
}

/// A party's engine, beacons, pipeline and disk.
pub(super) struct PartyNode {
    means: Means,
    engine: Jolteon,
    random: Beacon<Ideal>,
    state: Beacon<StateSig>,
    pipeline: Result<Pipeline<Ledger, Proof>, &'static str>,
    found: Option<(Committed, Vec<(Header, Roots)>)>,
    /// The disk has failed: the process is gone, and only the campaign does not know it yet.
    failed: bool,
    headers: BTreeMap<BlockId, Header>,
    /// Ordered, and not given to the pipeline yet, with the time when it is.
    ordered: VecDeque<(Instant, Block<SignedTransfer>)>,
    last_ordered: BlockId,
    /// Given to the pipeline in this life.
    given: Height,
    values: BTreeMap<Slot, Randomness>,
    certificates: BTreeMap<Height, Certified<Proof>>,
    /// For peers: the beacon of certificates has forgotten what it showed in an earlier life.
    archive: BTreeMap<Slot, ::prefinal_beacon::Message<StateSig>>,
    /// What was certified in earlier lives.
    certified_before: Vec<(Slot, Certified<Proof>)>,
    /// What this party signs of each slot.
    statements: BTreeMap<Slot, StateStatement>,
    late: BTreeMap<(Instant, u64), Input<Ledger, Proof>>,
    lateness: u64,
    outputs: VecDeque<Output>,
    now: Instant,
}

impl PartyNode {
    pub(super) fn new(means: Means, machines: Machines, kept: &[Kept]) -> Self {
        let Machines { engine, random, state, pipeline, found } = machines;
        let mut node = Self {
            means,
            engine,
            random,
            state,
            pipeline,
            given: found.0.height,
            found: Some(found),
            failed: false,
            headers: BTreeMap::new(),
            ordered: VecDeque::new(),
            last_ordered: GENESIS,
            values: BTreeMap::new(),
            certificates: BTreeMap::new(),
            archive: BTreeMap::new(),
            certified_before: Vec::new(),
            statements: BTreeMap::new(),
            late: BTreeMap::new(),
            lateness: 0,
            outputs: VecDeque::new(),
            now: Instant::START,
        };
        for record in kept {
            match record {
                Kept::Ordered(block) if !node.headers.contains_key(&block.header.id) => {
                    node.headers.insert(block.header.id, block.header);
                    node.last_ordered = block.header.id;
                    if block.header.height > node.given {
                        node.ordered.push_back((Instant::START, block.clone()));
                    }
                }
                Kept::Value(slot, value) => drop(node.values.insert(*slot, *value)),
                Kept::Certified(slot, certified) => {
                    let certificate = certified.certificate.clone();
                    node.archive.insert(*slot, shown(*slot, certified.digest, certificate));
                    node.certified_before.push((*slot, certified.clone()));
                    if certified.height > node.given {
                        node.certificates.insert(certified.height, certified.clone());
                    }
                }
                _ => {}
            }
        }
        node
    }

    pub(super) const fn has_failed(&self) -> bool {
        self.failed
    }

    pub(super) const fn values(&self) -> &Beacon<Ideal> {
        &self.random
    }

    fn out(&mut self, wants: Wants) {
        self.outputs.push_back(Output::Do(wants));
    }

    fn note(&mut self, observation: Observation) {
        self.out(Wants::Note(observation));
    }

    fn run(&mut self, job: Job) {
        self.out(Wants::Run(Box::new(job)));
    }

    /// When something that happens now reaches the pipeline.
    fn due(&mut self) -> Instant {
        let (chance, most) = self.means.late;
        if !self.means.dice.happens(chance) {
            return self.now;
        }
        self.note(Observation::Late);
        self.now + self.means.dice.duration(Duration::ZERO, most)
    }

    /// Gives the pipeline an input, now or later.
    fn tell(&mut self, input: Input<Ledger, Proof>) {
        let due = self.due();
        if due <= self.now {
            return self.pipeline(input);
        }
        self.lateness += 1;
        self.late.insert((due, self.lateness), input);
    }

    fn start(&mut self) {
        if let Some((committed, optimistic)) = self.found.take() {
            self.note(Observation::Started(committed, optimistic));
        }
        if let Err(why) = &self.pipeline {
            let why = *why;
            self.note(Observation::NotStarted(why));
        }
        // That an output was shown is no record that must be durable, so the beacon may have to show it again.
        for (slot, certified) in std::mem::take(&mut self.certified_before) {
            self.give_content(self.statement(slot, certified.block, certified.digest));
        }
        self.pipeline_outputs();
        self.engine(jolteon::Input::Start);
    }

    fn engine(&mut self, input: jolteon::Input) {
        if let jolteon::Input::Received { message: jolteon::Message::Proposal(proposal), .. } =
            &input
        {
            self.proposed(&proposal.block.clone());
        }
        Machine::handle(&mut self.engine, self.now, input);
        while let Some(output) = Machine::poll(&mut self.engine) {
            match output.split(Kept::Engine) {
                Ok(effect) => self.engine_wants(effect),
                Err(record) => self.outputs.push_back(record),
            }
        }
    }

    fn engine_wants(&mut self, effect: jolteon::Effect) {
        match effect {
            jolteon::Effect::Send { to, message } => {
                self.out(Wants::Send(to, Post::Engine(message)));
            }
            jolteon::Effect::Proposed { block } => self.proposed(&block),
            jolteon::Effect::Check(job) => self.run(Job::Engine(job)),
            jolteon::Effect::Prefinalized { round, block } => {
                let (slot, block) = (Slot::new(round.get()), BlockId::new(block.to_bytes()));
                let (view, value) = (View::new(slot, 0), Value::new(block.to_bytes()));
                self.note(Observation::Prefinalized(block, view));
                if let Some(header) = self.headers.get(&block) {
                    let height = header.height;
                    self.pipeline(Input::Prefinalized { height, block, view });
                }
                self.beacons(Event::Prefinalized(slot, view, value));
            }
            jolteon::Effect::Finalized { round, block } => {
                self.finalized(Slot::new(round.get()), block.as_ref());
            }
            jolteon::Effect::Abandoned { round } => {
                self.beacons(Event::Abandoned(View::new(Slot::new(round.get()), 0)));
            }
            jolteon::Effect::Accuse { party, fault } => {
                self.note(Observation::Accused(party, fault.to_string()));
            }
        }
    }

    fn finalized(&mut self, slot: Slot, block: Option<&jolteon::Block>) {
        let value = block.map(|block| Value::new(self.id(block).to_bytes()));
        self.note(Observation::Finalized(slot, value));
        if let Some(block) = block {
            match self.translated(block) {
                // A report repeats after a crash.
                Some(block) if self.is_ordered(&block) => {}
                Some(block) if block.header.parent == self.last_ordered => {
                    self.last_ordered = block.header.id;
                    self.outputs.push_back(Output::Keep(Kept::Ordered(block.clone())));
                    let due = self.due();
                    self.ordered.push_back((due, block));
                }
                _ => {
                    let what = format!("{slot} is final, and does not follow what was before");
                    self.note(Observation::Broken(what));
                }
            }
        }
        self.beacons(Event::Finalized(slot, value));
    }

    fn is_ordered(&self, block: &Block<SignedTransfer>) -> bool {
        let last = self.headers.get(&self.last_ordered).map(|last| last.height);
        last.is_some_and(|last| block.header.height <= last)
    }

    fn id(&self, block: &jolteon::Block) -> BlockId {
        BlockId::new(block.id(self.engine.committee().context()).to_bytes())
    }

    fn proposed(&mut self, block: &jolteon::Block) {
        if let Some(block) = self.translated(block) {
            self.tell(Input::Proposed(block));
        }
    }

    /// The block as the pipeline knows it; `None` as long as its parent is unknown here.
    fn translated(&mut self, block: &jolteon::Block) -> Option<Block<SignedTransfer>> {
        let id = self.id(block);
        let (parent, height) = match block.parent_round().get() {
            0 => (GENESIS, Height::GENESIS),
            _ => {
                let parent = BlockId::new(block.parent().to_bytes());
                (parent, self.headers.get(&parent)?.height)
            }
        };
        let slot = Slot::new(block.round().get());
        let header = Header { id, parent, height: height.next(), slot };
        self.headers.insert(id, header);
        // Junk is in no block.
        let transfers = block.payload().iter().map(jolteon::Transaction::bytes);
        let transfers = transfers.filter_map(|bytes| SignedTransfer::from_bytes(bytes));
        Some(Block::new(header, transfers.collect::<Vec<_>>()))
    }

    fn beacons(&mut self, event: Event) {
        self.random(event.input());
        self.state(event.input());
    }

    fn random(&mut self, input: ::prefinal_beacon::Input<Ideal>) {
        self.random.handle(self.now, input);
        while let Some(output) = self.random.poll() {
            let effect = match output.split(Kept::Random) {
                Ok(effect) => effect,
                Err(record) => {
                    self.outputs.push_back(record);
                    continue;
                }
            };
            match effect {
                ::prefinal_beacon::Effect::Send { to, message } => {
                    self.out(Wants::Send(to, Post::Random(message)));
                }
                ::prefinal_beacon::Effect::Check(job) => self.run(Job::Random(job)),
                ::prefinal_beacon::Effect::Reveal(reveal) => self.valued(&reveal),
                ::prefinal_beacon::Effect::Accuse { party, fault } => {
                    self.note(Observation::Accused(party, fault.to_string()));
                }
                _ => {}
            }
        }
    }

    fn valued(&mut self, reveal: &Reveal<Ideal>) {
        let value = Randomness::new(<Ideal as Random>::randomness(&reveal.output));
        self.outputs.push_back(Output::Keep(Kept::Value(reveal.slot, value)));
        self.note(Observation::Valued(reveal.path));
        self.values.insert(reveal.slot, value);
        let is_given = |header: &Header| header.slot == reveal.slot && header.height <= self.given;
        if self.headers.values().any(is_given) {
            self.tell(Input::Value { slot: reveal.slot, value });
        }
    }

    fn state(&mut self, input: ::prefinal_beacon::Input<StateSig>) {
        self.state.handle(self.now, input);
        while let Some(output) = self.state.poll() {
            let effect = match output.split(Kept::State) {
                Ok(effect) => effect,
                Err(record) => {
                    self.outputs.push_back(record);
                    continue;
                }
            };
            match effect {
                ::prefinal_beacon::Effect::Send { to, message } => {
                    if let ::prefinal_beacon::Message::Partial { slot, .. } = &message
                        && let Some(statement) = self.statements.get(slot).copied()
                    {
                        self.note(Observation::Signed(statement));
                    }
                    self.out(Wants::Send(to, Post::State(message)));
                }
                ::prefinal_beacon::Effect::Check(job) => self.run(Job::State(job)),
                ::prefinal_beacon::Effect::Reveal(reveal) => self.certified(&reveal),
                ::prefinal_beacon::Effect::Lookup { to, slots } => {
                    let known = slots.iter().filter_map(|slot| self.archive.get(slot)).cloned();
                    for message in known.collect::<Vec<_>>() {
                        self.out(Wants::Send(Recipient::One(to), Post::State(message)));
                    }
                }
                ::prefinal_beacon::Effect::Accuse { party, fault } => {
                    self.note(Observation::Accused(party, fault.to_string()));
                }
                _ => {}
            }
        }
    }

    fn certified(&mut self, reveal: &Reveal<StateSig>) {
        let statement = reveal.output;
        self.note(Observation::Certified(statement));
        let block = BlockId::new(statement.value.to_bytes());
        let Some(header) = self.headers.get(&block).copied() else {
            let what = format!("a certificate of {block}, which is unknown");
            return self.note(Observation::Broken(what));
        };
        let (mut height, mut digest) = (header.height, statement.root);
        match self.means.mistake {
            Some(Mistake::MovesCertificate) => height = height.next(),
            Some(Mistake::TrustsOwnState) => {
                let own = self.statements.get(&reveal.slot);
                digest = own.map_or(digest, |own| own.root);
            }
            _ => {}
        }
        let certificate = reveal.proof.clone();
        let certified = Certified { height, block, digest, certificate };
        self.archive.insert(reveal.slot, reveal.message());
        self.outputs.push_back(Output::Keep(Kept::Certified(reveal.slot, certified.clone())));
        self.certificates.insert(height, certified.clone());
        self.tell(Input::Certified(certified));
    }

    fn pipeline(&mut self, input: Input<Ledger, Proof>) {
        if let Ok(pipeline) = &mut self.pipeline {
            pipeline.handle(self.now, input);
        }
        self.pipeline_outputs();
    }

    fn pipeline_outputs(&mut self) {
        while let Some(output) = self.pipeline.as_mut().ok().and_then(Machine::poll) {
            match output.split(Kept::Pipeline) {
                Ok(effect) => self.pipeline_wants(effect),
                Err(record) => self.outputs.push_back(record),
            }
        }
    }

    fn pipeline_wants(&mut self, effect: Effect<Ledger, Proof>) {
        match effect {
            Effect::Execute(job) => self.run(Job::Execute(job)),
            Effect::Store(job) => {
                if let StoreCall::Write(block, execution) = job.call() {
                    self.sign_early(&block.header, execution.roots);
                }
                self.run(Job::Store(job));
            }
            Effect::Vote(vote) => {
                self.note(Observation::Voted(vote));
                let mut root = vote.claim.roots.digest();
                if self.means.mistake == Some(Mistake::SignsOtherRoot) {
                    root.reverse();
                }
                let statement = self.statement(vote.slot, vote.claim.block, root);
                self.statements.insert(vote.slot, statement);
                self.give_content(statement);
                if let Some(view) = vote.view {
                    let (slot, value) = (vote.slot, statement.value);
                    self.state(::prefinal_beacon::Input::Prefinalized { slot, view, value });
                }
            }
            Effect::Committed(committed) => {
                let slot = self.headers.get(&committed.block).map(|header| header.slot);
                self.note(Observation::Committed(slot.unwrap_or(Slot::new(0)), committed));
                self.certificates.retain(|height, _| *height > committed.height);
                self.values.retain(|other, _| slot.is_none_or(|slot| *other > slot));
            }
            // Executing reads the same disk.
            Effect::Stopped(Stop::Store { why, .. } | Stop::Executor { why, .. })
                if why.starts_with(DISK_FAILED) =>
            {
                self.failed = true;
            }
            Effect::Stopped(stop) => self.note(Observation::Stopped(Box::new(stop))),
            Effect::Refused(refusal @ (Refusal::Gap { .. } | Refusal::SecondOrder { .. })) => {
                self.note(Observation::Broken(refusal.to_string()));
            }
            Effect::Forward(_)
            | Effect::ForwardValue { .. }
            | Effect::Deliver(_)
            | Effect::Refused(_) => {}
        }
    }

    fn statement(&self, slot: Slot, block: BlockId, root: [u8; 32]) -> StateStatement {
        let value = Value::new(block.to_bytes());
        StateStatement { context: self.means.context, slot, value, root }
    }

    fn give_content(&mut self, statement: StateStatement) {
        let content = StateRoot::new(&self.means.electorate, statement);
        self.state(::prefinal_beacon::Input::Content(content));
    }

    /// A faulty party signs what nobody has ordered.
    fn sign_early(&mut self, header: &Header, roots: Roots) {
        let statement = self.statement(header.slot, header.id, roots.digest());
        let Some(secret) = &self.means.eager else { return };
        let partial = secret.sign(StateSig::DOMAIN, &statement.to_bytes());
        let (path, slot, value) = (Path::Tight, header.slot, Some(statement.value));
        let message = ::prefinal_beacon::Message::Partial { path, slot, value, partial };
        self.note(Observation::Eager);
        self.out(Wants::Send(Recipient::All, Post::State(message)));
    }

    /// Gives the pipeline what is due.
    fn feed(&mut self) {
        while let Some(((due, _), _)) = self.late.first_key_value()
            && *due <= self.now
        {
            if let Some((_, input)) = self.late.pop_first() {
                self.pipeline(input);
            }
        }
        while let Some(block) = self.next_order() {
            let header = block.header;
            self.given = header.height;
            self.note(Observation::Ordered(header));
            self.pipeline(Input::Ordered(block));
            if let Some(value) = self.values.get(&header.slot).copied() {
                self.tell(Input::Value { slot: header.slot, value });
            }
            if let Some(certified) = self.certificates.get(&header.height).cloned() {
                self.tell(Input::Certified(certified));
            }
        }
    }

    /// The next block that is ordered, if it is due and the pipeline takes it.
    fn next_order(&mut self) -> Option<Block<SignedTransfer>> {
        let (due, block) = self.ordered.front()?;
        let committed = self.pipeline.as_ref().ok()?.committed().height;
        let fits = block.header.height <= committed.after(self.means.window);
        if *due > self.now || !fits {
            return None;
        }
        self.ordered.pop_front().map(|(_, block)| block)
    }
}

impl Machine for PartyNode {
    type Input = Happens;
    type Record = Kept;
    type Effect = Wants;

    fn handle(&mut self, now: Instant, input: Happens) {
        if self.failed {
            return;
        }
        self.now = now;
        match input {
            Happens::Start => self.start(),
            Happens::Received(from, post) => match (*post).clone() {
                Post::Engine(message) => self.engine(jolteon::Input::Received { from, message }),
                Post::Random(message) => {
                    self.random(::prefinal_beacon::Input::Received { from, message });
                }
                Post::State(message) => {
                    self.state(::prefinal_beacon::Input::Received { from, message });
                }
            },
            Happens::Engine(verdict) => self.engine(jolteon::Input::Checked(verdict)),
            Happens::Random(verdict) => self.random(::prefinal_beacon::Input::Checked(verdict)),
            Happens::State(verdict) => self.state(::prefinal_beacon::Input::Checked(verdict)),
            Happens::Pipeline(input) => self.pipeline(*input),
            Happens::Submit(bytes) => {
                if let Some(transfer) = transfer_of(&bytes) {
                    let transaction = jolteon::Transaction::new(transfer.to_bytes());
                    self.engine(jolteon::Input::Submit(transaction));
                }
            }
            Happens::Tick => {
                self.engine(jolteon::Input::Tick);
                self.random(::prefinal_beacon::Input::Tick);
                self.state(::prefinal_beacon::Input::Tick);
            }
        }
        self.feed();
    }

    fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        if self.failed {
            return None;
        }
        let machines =
            [Machine::wake_at(&self.engine), self.random.wake_at(), self.state.wake_at()];
        let late = self.late.first_key_value().map(|((due, _), _)| *due);
        // What is behind the window is not waited for.
        let ordered = self.ordered.front().map(|(due, _)| *due).filter(|due| *due > self.now);
        machines.into_iter().chain([late, ordered]).flatten().min()
    }
}
