//! Four parties with a real engine and real signatures, in the simulator.
//!
//! Each runs Jolteon, a stack with the one channel `StateSig`, and the pipeline. The engine's events go to
//! both, as in a validator; the pipeline's vote goes to the channel as the slot's content.
use std::collections::{BTreeMap, VecDeque};
use std::sync::OnceLock;
use std::time::Duration;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_beacon::epochs::{self, Epochs};
use prefinal_beacon::stack::{self, Channel, Event, OneOf, Stack, records_of};
use prefinal_beacon::{
    Binding, Config, Finality, Life, Limits, Paths, Quorum, Refusal, Sharing, StateRoot, StateSig,
    StateStatement, Withheld,
};
use prefinal_crypto_core::bls::min_sig::SecretKey;
use prefinal_crypto_core::bls::{MinSig, min_sig};
use prefinal_crypto_core::certificate::{Certificate, Elector, Electorate};
use prefinal_crypto_core::verified::Verified;
use prefinal_execution::{
    Block, BlockId, Certified, Effect, ExecuteJob, Header, Height, Input, Past, Pipeline, Record,
    Role, Roots, Store, StoreJob, Switches, Vote,
};
use prefinal_jolteon::{self as jolteon, Jolteon};
use prefinal_protocol::{
    ChainId, Context, EpochId, Instant, Machine, Output, Party, Recipient, Slot, Value, View,
};
use prefinal_sim::{Host, Seat, Step};
use prefinal_weighted_rounding::Stake;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::ledger::{Disk, Entry, GENESIS, Ledger};

pub(crate) type Ours = (StateSig, ());
pub(crate) type Proof = Certificate<MinSig>;
type Pipe = Pipeline<Ledger, Proof>;

pub(crate) const CONTEXT: Context =
    Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
const STAKES: [u128; 4] = [10, 10, 10, 9];
/// The engine's keys and the certificates' keys: one secret, one purpose.
pub(crate) struct Keys {
    engine: Vec<Verified<min_sig::PublicKey>>,
    pub(crate) electorate: Electorate<MinSig>,
}

fn secret(purpose: u8, party: u32) -> SecretKey {
    let mut seed = [purpose; 32];
    seed[..4].copy_from_slice(&party.to_be_bytes());
    SecretKey::random(&mut ChaCha20Rng::from_seed(seed))
}

pub(crate) fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| {
        let key = |purpose, party| {
            let secret = secret(purpose, party);
            secret.public_key().verify_possession(&secret.prove_possession()).unwrap()
        };
        let elector = |(party, stake)| Elector { key: key(2, party), stake };
        let electors = (0..).zip(STAKES).map(elector).collect();
        let electorate = Electorate::more_than_two_thirds(electors).unwrap();
        Keys { engine: (0..4).map(|party| key(1, party)).collect(), electorate }
    })
}

fn engine(me: Party, records: jolteon::Records) -> Jolteon {
    let members = keys().engine.iter().zip(STAKES);
    let members = members
        .map(|(key, stake)| jolteon::Member { key: *key, stake: Stake::new(stake) })
        .collect();
    let config = jolteon::Config {
        timeout: Duration::from_millis(800),
        ..jolteon::Config::new(CONTEXT, me, members)
    };
    Jolteon::new(config, secret(1, me.get()), records).unwrap()
}

pub(crate) fn channel(me: Party, life: Life, records: &[stack::Record]) -> Stack<Ours> {
    let sharing =
        Sharing { committee: keys().electorate.clone(), secret: Some(secret(2, me.get())) };
    let config = Config {
        context: CONTEXT,
        me,
        paths: Paths::Tight(sharing),
        binding: Binding::Value,
        fast_attempt: Some(0),
        finality: Finality::exact(&STAKES.map(Stake::new), Quorum::BYZANTINE).unwrap(),
        first: Slot::new(1),
        life,
        limits: Limits { retry: Duration::from_millis(300), ..Limits::default() },
    };
    let own = records_of::<Ours>(records, Channel::new(0)).unwrap();
    Stack::new((Some(Epochs::new([config], &own).unwrap()), ())).unwrap()
}

#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) enum Kept {
    Engine(jolteon::Record),
    Channel(stack::Record),
    Pipeline(Record<Proof>),
    /// The engine says once that a block is final, so the host remembers it.
    Ordered(Header, Vec<Entry>),
}

#[derive(Clone)]
pub(crate) enum Message {
    Engine(jolteon::Message),
    Channel(stack::Envelope<Ours>),
}

pub(crate) enum Job {
    Engine(jolteon::Job),
    Channel(stack::Job<Ours>),
    Execute(ExecuteJob<Ledger>),
    Store(StoreJob<Ledger, Proof>),
}

pub(crate) enum Happens {
    Start,
    Submit(Entry),
    Message(Party, Message),
    Engine(jolteon::Verdict),
    Channel(stack::Verdict<Ours>),
    Pipeline(Box<Input<Ledger, Proof>>),
    Tick,
}

pub(crate) enum Wants {
    Send(Recipient<Party>, Message),
    Run(Box<Job>),
    Note(Seen),
}

/// What a test looks at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Seen {
    OrderVote(Slot),
    /// The vote for a state has left.
    StateVote,
    Ordered(Slot),
    Vote(Vote),
    Certified(StateStatement, Box<Proof>),
    Committed(BlockId, Roots),
    Withheld(Withheld),
    Stopped(String),
}

pub(crate) struct Member {
    engine: Jolteon,
    channel: Stack<Ours>,
    pipeline: Pipe,
    heights: BTreeMap<BlockId, Header>,
    /// What was ordered before this life.
    before: Vec<Block<Entry>>,
    outputs: VecDeque<Output<Kept, Wants>>,
    now: Instant,
}

impl Member {
    fn out(&mut self, wants: Wants) {
        self.outputs.push_back(Output::Do(wants));
    }

    fn engine(&mut self, input: jolteon::Input) {
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
                self.out(Wants::Send(to, Message::Engine(message)));
            }
            jolteon::Effect::Proposed { block } => self.proposed(&block),
            jolteon::Effect::Check(job) => self.out(Wants::Run(Box::new(Job::Engine(job)))),
            jolteon::Effect::Prefinalized { round, block } => {
                let (slot, block) = (Slot::new(round.get()), BlockId::new(block.to_bytes()));
                let view = View::new(slot, 0);
                // Nothing leaves as long as the content is missing.
                let value = Value::new(block.to_bytes());
                if let Some(header) = self.heights.get(&block).copied() {
                    let height = header.height;
                    self.pipeline(Input::Prefinalized { height, block, view });
                }
                self.channel(stack::Input::All(Event::Prefinalized { slot, view, value }));
                self.out(Wants::Note(Seen::OrderVote(slot)));
            }
            jolteon::Effect::Finalized { round, block } => {
                let slot = Slot::new(round.get());
                let block = block.map(|block| self.translated(&block));
                let value = block.as_ref().map(|block| Value::new(block.header.id.to_bytes()));
                self.channel(stack::Input::All(Event::Finalized { slot, value }));
                if let Some(block) = block {
                    let record = Kept::Ordered(block.header, block.transactions().to_vec());
                    self.outputs.push_back(Output::Keep(record));
                    self.out(Wants::Note(Seen::Ordered(slot)));
                    self.pipeline(Input::Ordered(block));
                }
            }
            jolteon::Effect::Abandoned { round } => {
                let view = View::new(Slot::new(round.get()), 0);
                self.channel(stack::Input::All(Event::Abandoned { view }));
            }
            jolteon::Effect::Accuse { party, fault } => panic!("{party}: {fault}"),
        }
    }

    fn proposed(&mut self, block: &jolteon::Block) {
        let parent = BlockId::new(block.parent().to_bytes());
        if block.parent_round().get() == 0 || self.heights.contains_key(&parent) {
            let block = self.translated(block);
            self.pipeline(Input::Proposed(block));
        }
    }

    fn translated(&mut self, block: &jolteon::Block) -> Block<Entry> {
        let id = BlockId::new(block.id(self.engine.committee().context()).to_bytes());
        let (parent, height) = match block.parent_round().get() {
            0 => (GENESIS, Height::GENESIS),
            _ => {
                let parent = BlockId::new(block.parent().to_bytes());
                (parent, self.heights[&parent].height)
            }
        };
        let slot = Slot::new(block.round().get());
        let header = Header { id, parent, height: height.next(), slot };
        self.heights.insert(id, header);
        let entry = |one: &jolteon::Transaction| borsh::from_slice(one.bytes()).unwrap();
        Block::new(header, block.payload().iter().map(entry).collect::<Vec<Entry>>())
    }

    fn channel(&mut self, input: stack::Input<Ours>) {
        self.channel.handle(self.now, input);
        while let Some(output) = self.channel.poll() {
            match output.split(Kept::Channel) {
                Ok(effect) => self.channel_wants(effect),
                Err(record) => self.outputs.push_back(record),
            }
        }
    }

    fn channel_wants(&mut self, effect: stack::Effect<Ours>) {
        match effect {
            stack::Effect::Send { to, envelope } => {
                if to == Recipient::All {
                    self.out(Wants::Note(Seen::StateVote));
                }
                self.out(Wants::Send(to, Message::Channel(envelope)));
            }
            stack::Effect::Check(job) => self.out(Wants::Run(Box::new(Job::Channel(job)))),
            stack::Effect::Of(OneOf::First(epochs::Effect::Of { effect, .. })) => match effect {
                prefinal_beacon::Effect::Reveal(reveal) => self.certified(&reveal),
                prefinal_beacon::Effect::Refused(Refusal::Withheld(why)) => {
                    self.out(Wants::Note(Seen::Withheld(why)));
                }
                _ => {}
            },
            stack::Effect::Of(_) => {}
        }
    }

    fn certified(&mut self, reveal: &prefinal_beacon::Reveal<StateSig>) {
        let statement = reveal.output;
        let block = BlockId::new(statement.value.to_bytes());
        let height = self.heights[&block].height;
        let proof = reveal.proof.clone();
        self.out(Wants::Note(Seen::Certified(statement, Box::new(proof.clone()))));
        let (digest, certificate) = (statement.root, proof);
        self.pipeline(Input::Certified(Certified { height, block, digest, certificate }));
    }

    fn pipeline(&mut self, input: Input<Ledger, Proof>) {
        self.pipeline.handle(self.now, input);
        while let Some(output) = self.pipeline.poll() {
            match output.split(Kept::Pipeline) {
                Ok(effect) => self.pipeline_wants(effect),
                Err(record) => self.outputs.push_back(record),
            }
        }
    }

    fn pipeline_wants(&mut self, effect: Effect<Ledger, Proof>) {
        match effect {
            Effect::Execute(job) => self.out(Wants::Run(Box::new(Job::Execute(job)))),
            Effect::Store(job) => self.out(Wants::Run(Box::new(Job::Store(job)))),
            Effect::Vote(vote) => {
                self.out(Wants::Note(Seen::Vote(vote)));
                for input in inputs_of(&vote) {
                    self.channel(stack::Input::Of(OneOf::First(input)));
                }
            }
            Effect::Committed(one) => {
                self.out(Wants::Note(Seen::Committed(one.block, one.roots)));
            }
            Effect::Stopped(stop) => self.out(Wants::Note(Seen::Stopped(stop.to_string()))),
            Effect::Forward(_)
            | Effect::ForwardValue { .. }
            | Effect::Deliver(_)
            | Effect::Refused(_) => {}
        }
    }
}

/// The root, and the order vote again if there is one: what was withheld for want of the root is decided again.
pub(crate) fn inputs_of(vote: &Vote) -> Vec<epochs::Input<StateSig>> {
    let (slot, value) = (vote.slot, Value::new(vote.claim.block.to_bytes()));
    let root = vote.claim.roots.digest();
    let statement = StateStatement { context: CONTEXT, slot, value, root };
    let content = StateRoot::new(&keys().electorate, statement);
    let content = epochs::Input::Content { epoch: CONTEXT.epoch, content };
    let again = vote.view.map(|view| epochs::Input::Prefinalized { slot, view, value });
    [content].into_iter().chain(again).collect()
}

impl Machine for Member {
    type Input = Happens;
    type Record = Kept;
    type Effect = Wants;

    fn handle(&mut self, now: Instant, input: Happens) {
        self.now = now;
        match input {
            Happens::Start => {
                for block in std::mem::take(&mut self.before) {
                    self.pipeline(Input::Ordered(block));
                }
                self.engine(jolteon::Input::Start);
            }
            Happens::Submit(entry) => {
                let bytes = borsh::to_vec(&entry).unwrap();
                self.engine(jolteon::Input::Submit(jolteon::Transaction::new(bytes)));
            }
            Happens::Message(from, Message::Engine(message)) => {
                self.engine(jolteon::Input::Received { from, message });
            }
            Happens::Message(from, Message::Channel(envelope)) => {
                self.channel(stack::Input::Received { from, envelope });
            }
            Happens::Engine(verdict) => self.engine(jolteon::Input::Checked(verdict)),
            Happens::Channel(verdict) => self.channel(stack::Input::Checked(verdict)),
            Happens::Pipeline(input) => self.pipeline(*input),
            Happens::Tick => {
                self.engine(jolteon::Input::Tick);
                self.channel(stack::Input::All(Event::Tick));
            }
        }
    }

    fn poll(&mut self) -> Option<Output<Kept, Wants>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        [Machine::wake_at(&self.engine), self.channel.wake_at()].into_iter().flatten().min()
    }
}

pub(crate) struct Committee {
    pub(crate) switches: Switches,
    pub(crate) execute: Duration,
    pub(crate) write: Duration,
    pub(crate) disks: Vec<Disk<Proof>>,
    /// Parties whose executor is another one.
    pub(crate) faulty: Vec<u32>,
    /// How often each party has started.
    pub(crate) lives: [u8; 4],
}

impl Committee {
    fn ledger(&self, seat: Seat) -> Ledger {
        let fault = u64::from(self.faulty.contains(&seat.get()));
        Ledger { fault, ..Ledger::default() }
    }
}

impl Host for Committee {
    type Machine = Member;
    type Message = Message;
    type Job = Job;
    type Verdict = Happens;
    type Event = Seen;

    fn boot(&mut self, seat: Seat, records: &[Kept]) -> Member {
        let me = Party::new(seat.get());
        let lives = &mut self.lives[seat.index()];
        *lives += 1;
        let life = if *lives == 1 { Life::First } else { Life::later([*lives; 16]) };
        let mut promised = jolteon::Records::default();
        let (mut channels, mut own, mut before) = (Vec::new(), Vec::new(), Vec::new());
        for record in records.iter().cloned() {
            match record {
                Kept::Engine(record) => promised.apply(record),
                Kept::Channel(record) => channels.push(record),
                Kept::Pipeline(record) => own.push(record),
                Kept::Ordered(header, entries) => before.push(Block::new(header, entries)),
            }
        }
        let config = crate::bench::validator(self.switches);
        let config = prefinal_execution::Config { role: Role::Validator, ..config };
        let recovered = self.disks[seat.index()].recover().unwrap();
        let past = Past { recovered, records: own };
        Member {
            engine: engine(me, promised),
            channel: channel(me, life, &channels),
            pipeline: Pipe::new(config, past).unwrap(),
            heights: before.iter().map(|block| (block.header.id, block.header)).collect(),
            before,
            outputs: VecDeque::new(),
            now: Instant::START,
        }
    }

    fn first_input(&mut self, _: Seat) -> Option<Happens> {
        Some(Happens::Start)
    }

    fn received(&mut self, _: Seat, from: Seat, message: &Message) -> Happens {
        Happens::Message(Party::new(from.get()), message.clone())
    }

    fn checked(&mut self, _: Seat, done: Happens) -> Happens {
        done
    }

    fn tick(&mut self, _: Seat) -> Happens {
        Happens::Tick
    }

    fn carry_out(&mut self, effect: Wants, step: &mut Step<'_, Self>) {
        match effect {
            Wants::Send(Recipient::All, message) => step.send(Recipient::All, message),
            Wants::Send(Recipient::One(party), message) => {
                step.send(Recipient::One(Seat::new(party.get())), message);
            }
            Wants::Run(job) => step.run(*job),
            Wants::Note(event) => step.note(event),
        }
    }

    fn run(&mut self, seat: Seat, job: Job) -> (Happens, Duration) {
        match job {
            Job::Engine(job) => (Happens::Engine(job.run()), Duration::ZERO),
            Job::Channel(job) => (Happens::Channel(job.run()), Duration::ZERO),
            Job::Execute(job) => {
                let done = Input::Executed(job.run(&self.ledger(seat)));
                (Happens::Pipeline(Box::new(done)), self.execute)
            }
            Job::Store(job) => {
                let done = Input::Stored(job.run(&mut self.disks[seat.index()]));
                (Happens::Pipeline(Box::new(done)), self.write)
            }
        }
    }
}
