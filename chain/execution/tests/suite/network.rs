//! A client, a full node and four validators in the simulator, with constant delays.
//!
//! ```text
//!  client ─δcf─ full node ─δfv─ validator 1 ─δvv─ leader (validator 0)
//! ```
//! Ordering takes three rounds, as in the paper's section 2.3: proposal, votes, order votes. Submitting to the
//! leader takes one more, so `Tcon = 4 δvv`. Every validator sends its order vote and its certify vote to
//! all. Executing and writing take as long as the test says; turning a mark and reverting take no time.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU32;
use std::time::Duration;

use prefinal_execution::{
    BlockId, Certified, Config, Delivery, Effect, ExecuteJob, Input, Limits, Past, Pipeline,
    Randomness, Record, Role, StateClaim, Store, StoreCall, StoreJob, Switches,
};
use prefinal_protocol::{Instant, Machine, Output, Recipient, Slot, View};
use prefinal_sim::{
    Geography, Host, Jitter, Network, Placement, Seat, Setup, Simulation, Step, Stop,
};

use crate::bench::Block;
use crate::ledger::{Disk, Entry, GENESIS, Ledger, Signers, block};

const VALIDATORS: u32 = 4;
const QUORUM: usize = 3;
const LEADER: Seat = Seat::new(0);
/// The validator that the full node follows. Not the leader, which knows its own proposal earlier.
const FOLLOWED: Seat = Seat::new(1);
const FULL_NODE: Seat = Seat::new(4);
const CLIENT: Seat = Seat::new(5);

/// The delays of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delays {
    pub(crate) client: Duration,
    pub(crate) full_node: Duration,
    pub(crate) validators: Duration,
    pub(crate) execute: Duration,
    pub(crate) write: Duration,
}

#[derive(Clone)]
pub(crate) enum Message {
    Submit(Vec<Entry>),
    Proposal(Block),
    Vote(BlockId),
    OrderVote,
    CertifyVote(StateClaim),
    Proposed(Block),
    Value(Slot, Randomness),
    Deliver(Box<Delivery<Ledger, Signers>>),
    Confirmed,
}

pub(crate) enum Job {
    Execute(ExecuteJob<Ledger>),
    Store(StoreJob<Ledger, Signers>),
}

type Pipe = Pipeline<Ledger, Signers>;

pub(crate) enum NodeInput {
    Message(Seat, Message),
    Pipeline(Box<Input<Ledger, Signers>>),
}

pub(crate) enum NodeEffect {
    Send(Recipient<Seat>, Message),
    Run(Job),
    Confirmed,
}

pub(crate) struct Node {
    seat: Seat,
    /// The client has none.
    pipeline: Option<Pipe>,
    block: Option<Block>,
    votes: BTreeSet<Seat>,
    order_votes: BTreeSet<Seat>,
    certify_votes: BTreeMap<StateClaim, BTreeSet<Seat>>,
    /// The random value of every slot, which comes with its order.
    value: Randomness,
    outputs: VecDeque<Output<Record<Signers>, NodeEffect>>,
}

impl Node {
    fn send(&mut self, to: Recipient<Seat>, message: Message) {
        self.outputs.push_back(Output::Do(NodeEffect::Send(to, message)));
    }

    /// Sends to all validators and to itself.
    fn broadcast(&mut self, now: Instant, message: Message) {
        let me = self.seat;
        for to in (0..VALIDATORS).map(Seat::new).filter(|to| *to != me) {
            self.send(Recipient::One(to), message.clone());
        }
        self.message(now, self.seat, message);
    }

    fn message(&mut self, now: Instant, from: Seat, message: Message) {
        match message {
            Message::Submit(entries) if self.seat == FULL_NODE => {
                self.send(Recipient::One(FOLLOWED), Message::Submit(entries));
            }
            Message::Submit(entries) if self.seat == LEADER => {
                self.broadcast(now, Message::Proposal(block(1, GENESIS, 1, entries)));
            }
            Message::Submit(entries) => {
                self.send(Recipient::One(LEADER), Message::Submit(entries));
            }
            Message::Proposal(block) => {
                self.block = Some(block.clone());
                let id = block.header.id;
                self.pipeline(now, Input::Proposed(block));
                self.broadcast(now, Message::Vote(id));
            }
            Message::Vote(id) => {
                if self.votes.insert(from) && self.votes.len() == QUORUM {
                    let header = self.block.as_ref().unwrap().header;
                    let (height, view) = (header.height, View::new(header.slot, 0));
                    self.pipeline(now, Input::Prefinalized { height, block: id, view });
                    self.broadcast(now, Message::OrderVote);
                }
            }
            Message::OrderVote => {
                if self.order_votes.insert(from) && self.order_votes.len() == QUORUM {
                    let block = self.block.clone().unwrap();
                    let (slot, value) = (block.header.slot, self.value);
                    self.pipeline(now, Input::Ordered(block));
                    self.pipeline(now, Input::Value { slot, value });
                }
            }
            Message::CertifyVote(claim) => {
                let voters = self.certify_votes.entry(claim).or_default();
                if voters.insert(from) && voters.len() == QUORUM {
                    let certificate = voters.iter().map(|seat| seat.get()).collect();
                    let StateClaim { height, block, roots } = claim;
                    let digest = roots.digest();
                    let certified = Certified { height, block, digest, certificate };
                    self.pipeline(now, Input::Certified(certified));
                }
            }
            Message::Proposed(block) => self.pipeline(now, Input::Proposed(block)),
            Message::Value(slot, value) => self.pipeline(now, Input::Value { slot, value }),
            Message::Deliver(delivery) => self.pipeline(now, Input::Delivered(delivery)),
            Message::Confirmed => self.outputs.push_back(Output::Do(NodeEffect::Confirmed)),
        }
    }

    fn pipeline(&mut self, now: Instant, input: Input<Ledger, Signers>) {
        let Some(pipeline) = &mut self.pipeline else { return };
        pipeline.handle(now, input);
        while let Some(output) = self.pipeline.as_mut().and_then(Machine::poll) {
            match output {
                Output::Keep(record) | Output::Note(record) => {
                    self.outputs.push_back(Output::Keep(record));
                }
                Output::Do(effect) => self.effect(now, effect),
            }
        }
    }

    fn effect(&mut self, now: Instant, effect: Effect<Ledger, Signers>) {
        let full_nodes = Recipient::One(FULL_NODE);
        match effect {
            Effect::Execute(job) => {
                self.outputs.push_back(Output::Do(NodeEffect::Run(Job::Execute(job))));
            }
            Effect::Store(job) => {
                self.outputs.push_back(Output::Do(NodeEffect::Run(Job::Store(job))));
            }
            Effect::Vote(vote) => self.broadcast(now, Message::CertifyVote(vote.claim)),
            Effect::Forward(block) if self.seat == FOLLOWED => {
                self.send(full_nodes, Message::Proposed(block));
            }
            Effect::Deliver(delivery) if self.seat == FOLLOWED => {
                self.send(full_nodes, Message::Deliver(delivery));
            }
            Effect::Committed(_) if self.seat == FULL_NODE => {
                self.send(Recipient::One(CLIENT), Message::Confirmed);
            }
            Effect::ForwardValue { slot, value } if self.seat == FOLLOWED => {
                self.send(full_nodes, Message::Value(slot, value));
            }
            Effect::Forward(_)
            | Effect::ForwardValue { .. }
            | Effect::Deliver(_)
            | Effect::Committed(_) => {}
            Effect::Refused(refusal) => panic!("{}: {refusal}", self.seat),
            Effect::Stopped(stop) => panic!("{}: {stop}", self.seat),
        }
    }
}

impl Machine for Node {
    type Input = NodeInput;
    type Record = Record<Signers>;
    type Effect = NodeEffect;

    fn handle(&mut self, now: Instant, input: NodeInput) {
        match input {
            NodeInput::Message(from, message) => self.message(now, from, message),
            NodeInput::Pipeline(input) => self.pipeline(now, *input),
        }
    }

    fn poll(&mut self) -> Option<Output<Record<Signers>, NodeEffect>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        None
    }
}

pub(crate) struct Town {
    delays: Delays,
    switches: Switches,
    disks: Vec<Disk>,
}

impl Host for Town {
    type Machine = Node;
    type Message = Message;
    type Job = Job;
    type Verdict = Input<Ledger, Signers>;
    type Event = ();

    fn boot(&mut self, seat: Seat, records: &[Record<Signers>]) -> Node {
        let role = if seat == FULL_NODE { Role::FullNode } else { Role::Validator };
        let config = Config { role, switches: self.switches, limits: Limits::default() };
        let recovered = self.disks[seat.index()].recover().unwrap();
        let past = Past { recovered, records: records.to_vec() };
        Node {
            seat,
            pipeline: (seat != CLIENT).then(|| Pipeline::new(config, past).unwrap()),
            block: None,
            votes: BTreeSet::new(),
            order_votes: BTreeSet::new(),
            certify_votes: BTreeMap::new(),
            value: Randomness::new([7; 32]),
            outputs: VecDeque::new(),
        }
    }

    fn received(&mut self, _: Seat, from: Seat, message: &Message) -> NodeInput {
        NodeInput::Message(from, message.clone())
    }

    fn checked(&mut self, _: Seat, done: Input<Ledger, Signers>) -> NodeInput {
        NodeInput::Pipeline(Box::new(done))
    }

    fn tick(&mut self, seat: Seat) -> NodeInput {
        panic!("nothing at {seat} waits for time")
    }

    fn carry_out(&mut self, effect: NodeEffect, step: &mut Step<'_, Self>) {
        match effect {
            NodeEffect::Send(to, message) => step.send(to, message),
            NodeEffect::Run(job) => step.run(job),
            NodeEffect::Confirmed => step.note(()),
        }
    }

    fn run(&mut self, seat: Seat, job: Job) -> (Input<Ledger, Signers>, Duration) {
        match job {
            Job::Execute(job) => {
                (Input::Executed(job.run(&Ledger::default())), self.delays.execute)
            }
            Job::Store(job) => {
                let cost = match job.call() {
                    StoreCall::Write(..) | StoreCall::WriteCertified(..) => self.delays.write,
                    StoreCall::Certify(_) | StoreCall::Revert => Duration::ZERO,
                };
                (Input::Stored(job.run(&mut self.disks[seat.index()])), cost)
            }
        }
    }
}

fn milliseconds(round_trip: Duration) -> String {
    let nanos = round_trip.as_nanos();
    format!("{}.{:06}", nanos / 1_000_000, nanos % 1_000_000)
}

fn network(delays: &Delays) -> Network {
    let mut table = "from,to,p50_ms,p90_ms\n".to_owned();
    let lines = [
        ("validators", "validators", delays.validators),
        ("validators", "full", delays.full_node),
        ("full", "full", Duration::ZERO),
        ("full", "client", delays.client),
        ("client", "client", Duration::ZERO),
        ("client", "validators", Duration::from_secs(9)),
    ];
    for (from, to, delay) in lines {
        let trip = milliseconds(delay * 2);
        table += &format!("{from},{to},{trip},{trip}\n");
    }
    let geography = Geography::parse(&table).unwrap();
    let seats = ["validators", "validators", "validators", "validators", "full", "client"];
    Network::placed(Placement::listed(&geography, &seats).unwrap(), Jitter::None)
}

/// The time from a client's submission to its confirmation.
pub(crate) fn latency(delays: Delays, switches: Switches, entries: Vec<Entry>) -> Duration {
    let disks = (0..6).map(|_| Disk::new()).collect();
    let town = Town { delays, switches, disks };
    let setup = Setup { cores: NonZeroU32::new(8).unwrap(), ..Setup::new(6, 1, network(&delays)) };
    let mut simulation = Simulation::new(town, setup).unwrap();
    let submit = Message::Submit(entries);
    let submitted = Instant::at(Duration::from_millis(3));
    // What the client sends at this time arrives one delay later.
    let arrives = submitted + delays.client;
    simulation.input(FULL_NODE, arrives, NodeInput::Message(CLIENT, submit)).unwrap();
    assert_eq!(simulation.run(Instant::at(Duration::from_secs(60))), Stop::Idle);
    let notes = simulation.take_notes();
    assert_eq!(notes.len(), 1, "confirmed once");
    for disk in simulation.host().disks.iter().take(5) {
        let content = disk.content();
        assert_eq!(content.chain.len(), 1, "every node has committed");
        assert!(content.optimistic.is_empty());
    }
    notes[0].at - submitted
}
