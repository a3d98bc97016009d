//! The vote for a state is a channel of the beacon's stack, beside a real engine with real signatures.
//!
//! Four parties run Jolteon, a stack with the one channel `StateSig`, and the pipeline. The engine's events
//! go to both, as in a validator; the pipeline's vote goes to the channel as the slot's content.
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;
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
    Role, Roots, StateClaim, Store, StoreJob, Switches, Vote,
};
use prefinal_jolteon::{self as jolteon, Jolteon};
use prefinal_protocol::{
    ChainId, Context, EpochId, Instant, Machine, Output, Party, Recipient, Slot, Value, View,
};
use prefinal_sim::{Disk as SimDisk, Host, Network, Seat, Setup, Simulation, Step};
use prefinal_weighted_rounding::Stake;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::ledger::{Disk, Entry, GENESIS, Ledger, pay};

type Ours = (StateSig, ());
type Proof = Certificate<MinSig>;
type Pipe = Pipeline<Ledger, Proof>;

const CONTEXT: Context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
const STAKES: [u128; 4] = [10, 10, 10, 9];
const DELAY: Duration = Duration::from_millis(20);

/// The engine's keys and the certificates' keys: one secret, one purpose.
struct Keys {
    engine: Vec<Verified<min_sig::PublicKey>>,
    electorate: Electorate<MinSig>,
}

fn secret(purpose: u8, party: u32) -> SecretKey {
    let mut seed = [purpose; 32];
    seed[..4].copy_from_slice(&party.to_be_bytes());
    SecretKey::random(&mut ChaCha20Rng::from_seed(seed))
}

fn keys() -> &'static Keys {
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

fn channel(me: Party, life: Life, records: &[stack::Record]) -> Stack<Ours> {
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
enum Kept {
    Engine(jolteon::Record),
    Channel(stack::Record),
    Pipeline(Record<Proof>),
    /// The engine says once that a block is final, so the host remembers it.
    Ordered(Header, Vec<Entry>),
}

#[derive(Clone)]
enum Message {
    Engine(jolteon::Message),
    Channel(stack::Envelope<Ours>),
}

enum Job {
    Engine(jolteon::Job),
    Channel(stack::Job<Ours>),
    Execute(ExecuteJob<Ledger>),
    Store(StoreJob<Ledger, Proof>),
}

enum Happens {
    Start,
    Submit(Entry),
    Message(Party, Message),
    Engine(jolteon::Verdict),
    Channel(stack::Verdict<Ours>),
    Pipeline(Box<Input<Ledger, Proof>>),
    Tick,
}

enum Wants {
    Send(Recipient<Party>, Message),
    Run(Job),
    Note(Seen),
}

/// What a test looks at.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
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

struct Member {
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
                if let jolteon::Message::Proposal(proposal) = &message {
                    self.proposed(&proposal.block);
                }
                self.out(Wants::Send(to, Message::Engine(message)));
            }
            jolteon::Effect::Check(job) => self.out(Wants::Run(Job::Engine(job))),
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
            stack::Effect::Check(job) => self.out(Wants::Run(Job::Channel(job))),
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
        // The certificate signs a digest; the roots themselves are known to who has computed them.
        let own = self.pipeline.snapshot().into_iter().find_map(|record| match record {
            Record::Voted(claim) if claim.block == block => Some(claim.roots),
            _ => None,
        });
        let roots = own.filter(|roots| roots.digest() == statement.root);
        let roots = roots.unwrap_or(Roots { state: statement.root, receipts: [0; 32] });
        let claim = StateClaim { height, block, roots };
        self.pipeline(Input::Certified(Certified { claim, certificate: proof }));
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
            Effect::Execute(job) => self.out(Wants::Run(Job::Execute(job))),
            Effect::Store(job) => self.out(Wants::Run(Job::Store(job))),
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
            Effect::Forward(_) | Effect::Deliver(_) | Effect::Refused(_) => {}
        }
    }
}

/// The root, and the order vote again if there is one: what was withheld for want of the root is decided anew.
fn inputs_of(vote: &Vote) -> Vec<epochs::Input<StateSig>> {
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

struct Committee {
    switches: Switches,
    execute: Duration,
    write: Duration,
    disks: Vec<Disk<Proof>>,
    /// Parties whose executor is another one.
    faulty: Vec<u32>,
    /// How often each party has started.
    lives: [u8; 4],
}

impl Committee {
    fn ledger(&self, seat: Seat) -> Ledger {
        Ledger { fault: u64::from(self.faulty.contains(&seat.get())) }
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
            Wants::Run(job) => step.run(job),
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

fn ms(number: u64) -> Duration {
    Duration::from_millis(number)
}

fn town(switches: Switches, execute: Duration, faulty: &[u32]) -> Simulation<Committee> {
    let disks = (0..4).map(|_| Disk::new()).collect();
    let faulty = faulty.to_vec();
    let host = Committee { switches, execute, write: ms(4), disks, faulty, lives: [0; 4] };
    let setup =
        Setup { cores: NonZeroU32::new(8).unwrap(), ..Setup::new(4, 1, Network::constant(DELAY)) };
    let mut simulation = Simulation::new(host, setup).unwrap();
    for number in 0..8 {
        let at = Instant::at(ms(40 * u64::from(number)));
        let entry = pay(number, u64::from(number) + 1);
        let seat = Seat::new(u32::from(number) % 4);
        simulation.input(seat, at, Happens::Submit(entry)).unwrap();
    }
    simulation
}

/// When something happened for the first time, at a seat that does not lead the first round.
fn first(simulation: &Simulation<Committee>, is: impl Fn(&Seen) -> bool) -> Option<Instant> {
    let here = simulation.notes().iter().filter(|note| note.seat == Seat::new(3));
    here.into_iter().find(|note| is(&note.event)).map(|note| note.at)
}

fn committed(simulation: &Simulation<Committee>, seat: u32) -> Vec<(BlockId, Roots)> {
    let own = simulation.notes().iter().filter(|note| note.seat == Seat::new(seat));
    own.filter_map(|note| match &note.event {
        Seen::Committed(block, roots) => Some((*block, *roots)),
        _ => None,
    })
    .collect()
}

/// Everybody commits the same chain, and an outsider who has the electorate verifies every certificate.
fn audit(simulation: &Simulation<Committee>, seats: &[u32]) {
    let chain = committed(simulation, seats[0]);
    assert!(chain.len() >= 4, "{} blocks", chain.len());
    for seat in seats {
        let own = committed(simulation, *seat);
        let common = own.len().min(chain.len());
        assert!(own.len() >= 4);
        assert_eq!(own[..common], chain[..common], "seat {seat}");
        for (header, roots, certificate) in
            &simulation.host().disks[seat_index(*seat)].content().chain
        {
            let value = Value::new(header.id.to_bytes());
            let (slot, root) = (header.slot, roots.digest());
            let statement = StateStatement { context: CONTEXT, slot, value, root };
            assert_eq!(statement.verify(&keys().electorate, certificate), Ok(()));
            let other = StateStatement { root: [1; 32], ..statement };
            assert!(other.verify(&keys().electorate, certificate).is_err());
        }
    }
}

fn seat_index(seat: u32) -> usize {
    Seat::new(seat).index()
}

/// The vote for the first block's state leaves with its order vote, between order vote and order, or behind
/// both, as executing takes less or more time. Never before.
#[test]
fn the_vote_for_a_state_leaves_when_the_contract_and_the_executor_allow_it() {
    for (execute, switches) in [
        (5, Switches::ON),
        (30, Switches::ON),
        (90, Switches::ON),
        (5, Switches { piggyback: false, ..Switches::ON }),
        (5, Switches::OFF),
    ] {
        let mut simulation = town(switches, ms(execute), &[]);
        simulation.run(Instant::at(Duration::from_secs(2)));
        audit(&simulation, &[0, 1, 2, 3]);
        let order_vote = first(&simulation, |event| matches!(event, Seen::OrderVote(_))).unwrap();
        let ordered = first(&simulation, |event| matches!(event, Seen::Ordered(_))).unwrap();
        let vote = first(&simulation, |event| *event == Seen::StateVote).unwrap();
        let proposed = ordered - Instant::START - 2 * DELAY;
        let executed = Instant::at(proposed + ms(execute));
        let expected = match (switches.opt_execute, switches.piggyback) {
            (true, true) => executed.max(order_vote),
            (true, false) => executed.max(ordered),
            _ => ordered + ms(execute),
        };
        assert_eq!(vote, expected, "execute {execute} ms, {switches:?}");
        assert_eq!(ordered - order_vote, DELAY);
        let certified = first(&simulation, |event| matches!(event, Seen::Certified(..)));
        assert_eq!(
            certified.unwrap(),
            (vote + DELAY).max(ordered),
            "a round later, or with the order"
        );
    }
}

#[test]
fn a_party_with_another_executor_stops_and_the_others_go_on() {
    let mut simulation = town(Switches::ON, ms(5), &[3]);
    simulation.run(Instant::at(Duration::from_secs(3)));
    audit(&simulation, &[0, 1, 2]);
    // The first blocks are empty, so they leave the same state.
    let (own, others) = (committed(&simulation, 3), committed(&simulation, 0));
    assert!(own.len() < others.len() && others.starts_with(&own));
    let stops: Vec<_> = simulation
        .notes()
        .iter()
        .filter(|note| matches!(note.event, Seen::Stopped(_)))
        .map(|note| note.seat)
        .collect();
    assert_eq!(stops, [Seat::new(3)], "once, and nobody else");
    let kept = simulation.records(Seat::new(3)).iter().any(|record| {
        matches!(record, Kept::Pipeline(Record::Diverged(evidence))
            if evidence.computed.is_some_and(|roots| roots != evidence.certified.claim.roots))
    });
    assert!(kept, "with the evidence on its disk");
}

/// A party dies again and again. It never votes for two states of a slot, and it ends with the others' chain.
#[test]
fn after_a_crash_the_same_vote_leaves() {
    let mut simulation = town(Switches::ON, ms(15), &[]);
    // The first time between its vote for a state and the order of the block.
    for at in [50, 131, 190, 260] {
        simulation.crash(Seat::new(2), Instant::at(ms(at))).unwrap();
        simulation.restart(Seat::new(2), Instant::at(ms(at + 1)), SimDisk::Kept).unwrap();
    }
    simulation.run(Instant::at(Duration::from_secs(4)));
    audit(&simulation, &[0, 1, 3]);
    let mut votes: BTreeMap<BlockId, Roots> = BTreeMap::new();
    let mut repeated = 0;
    for note in simulation.notes().iter().filter(|note| note.seat == Seat::new(2)) {
        if let Seen::Vote(vote) = &note.event {
            if let Some(before) = votes.insert(vote.claim.block, vote.claim.roots) {
                assert_eq!(before, vote.claim.roots);
                repeated += 1;
            }
        }
    }
    assert!(repeated > 0, "some vote came again");
}

/// Straight at the channel: the root comes after the party has given up the view, so nothing leaves until
/// the slot is final.
#[test]
fn a_root_that_comes_after_the_timeout_does_not_release_the_vote() {
    let slot = Slot::new(1);
    let block = BlockId::new([5; 32]);
    let value = Value::new(block.to_bytes());
    let view = View::new(slot, 0);
    let roots = Roots { state: [1; 32], receipts: [2; 32] };
    let claim = StateClaim { height: Height::new(1), block, roots };
    let vote = Vote { slot, claim, view: Some(view) };
    for gives_up in [false, true] {
        let mut channel = channel(Party::new(0), Life::First, &[]);
        let mut step = |input| {
            channel.handle(Instant::START, input);
            let sent = std::iter::from_fn(|| channel.poll())
                .filter(|output| matches!(output, Output::Do(stack::Effect::Send { .. })));
            sent.count()
        };
        let early = Event::Prefinalized { slot, view, value };
        assert_eq!(step(stack::Input::All(early)), 0, "there is no root to sign");
        if gives_up {
            step(stack::Input::All(Event::Abandoned { view }));
        }
        let sent: usize = inputs_of(&vote)
            .into_iter()
            .map(|input| step(stack::Input::Of(OneOf::First(input))))
            .sum();
        assert_eq!(sent, usize::from(!gives_up));
        let last = step(stack::Input::All(Event::Finalized { slot, value: Some(value) }));
        assert_eq!(last, usize::from(gives_up), "rule 6");
    }
}
