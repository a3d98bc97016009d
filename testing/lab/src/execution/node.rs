//! A validator or a full node: the real pipeline, with prices in place of an executor and a disk.
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use prefinal_execution::{
    Block, BlockId, Certified, Committed, Config, Delivery, Effect, ExecuteJob, Execution,
    Executor, Header, Height, Limits, OptimisticBlock, Part, Past, Pipeline, Randomness, Record,
    Recovered, Role, Roots, StateClaim, Store, StoreCall, StoreJob, Switches, Transaction,
};
use prefinal_protocol::{Instant, Machine, Output, Recipient, Slot, View};
use prefinal_sim::{Host, Seat, Step};

use super::order::quorum;
use super::{Experiment, Prices};

/// Bytes of a transfer, as in the paper.
const TRANSFER_BYTES: usize = 300;

/// The transfers of one batch, or of those the ones that read the slot's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfers {
    pub(super) count: u64,
    pub(super) part: Part,
}

impl Transaction for Transfers {
    fn encoded_len(&self) -> usize {
        usize::try_from(self.count).unwrap_or(usize::MAX).saturating_mul(TRANSFER_BYTES)
    }

    fn part(&self) -> Part {
        self.part
    }
}

/// Nothing here depends on it.
const VALUE: Randomness = Randomness::new([7; 32]);

/// Changes nothing. Blocks leave states that are named after them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Priced;

impl Executor for Priced {
    type Transaction = Transfers;
    type View = ();
    type Draft = ();
    type Delta = ();
    type Error = Infallible;

    fn head(&self, (): &(), _: &Block<Transfers>) -> Result<(), Infallible> {
        Ok(())
    }

    fn tail(&self, (): (), _: &Block<Transfers>, _: Randomness) -> Result<(), Infallible> {
        Ok(())
    }

    fn seal(&self, (): (), block: &Block<Transfers>) -> Result<Execution<Self>, Infallible> {
        let roots = Roots { state: block.header.id.to_bytes(), receipts: [0; 32] };
        Ok(Execution { roots, view: (), delta: () })
    }
}

/// Remembers nothing: nobody crashes.
struct Forgetful;

impl Store for Forgetful {
    type Executor = Priced;
    type Certificate = ();
    type Error = Infallible;

    fn write_optimistic(
        &mut self,
        _: &Block<Transfers>,
        _: &Execution<Priced>,
    ) -> Result<(), Infallible> {
        Ok(())
    }

    fn certify(&mut self, _: &Header, (): &()) -> Result<(), Infallible> {
        Ok(())
    }

    fn revert(&mut self, _: &Header) -> Result<(), Infallible> {
        Ok(())
    }

    fn committed(&self) -> Result<Committed, Infallible> {
        let (block, roots) = (BlockId::new([0; 32]), Roots { state: [0; 32], receipts: [0; 32] });
        Ok(Committed { height: Height::GENESIS, block, roots })
    }

    fn recover(&mut self) -> Result<Recovered<Priced>, Infallible> {
        let optimistic: Vec<OptimisticBlock<Priced>> = Vec::new();
        Ok(Recovered { committed: self.committed()?, view: (), optimistic })
    }
}

pub(super) enum Input {
    /// The proposal and its batches have arrived.
    Proposed(Block<Transfers>),
    /// The order vote leaves.
    OrderVote(Header),
    Ordered(Block<Transfers>),
    /// The value of the slot is known.
    Value(Slot),
    Message(Message),
    Pipeline(Box<prefinal_execution::Input<Priced, ()>>),
    Tick,
}

#[derive(Clone)]
pub(super) enum Message {
    CertifyVote(StateClaim),
    Proposed(Block<Transfers>),
    Value(Slot),
    Deliver(Box<Delivery<Priced, ()>>),
}

/// The events of a block at one node whose times are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    Executed,
    Certified,
    Committed,
}

pub(super) enum Job {
    Execute(ExecuteJob<Priced>),
    Store(StoreJob<Priced, ()>),
}

pub(super) enum Wants {
    Send(Recipient<Seat>, Message),
    Run(Job),
    Note(Height, Event),
}

pub(super) struct Node {
    /// Missing if it does not start, which no setting here leads to.
    pipeline: Option<Pipeline<Priced, ()>>,
    /// A validator's full node, if it has one.
    follower: Option<Seat>,
    quorum: usize,
    /// How many validators have voted for the state of a height.
    votes: BTreeMap<Height, usize>,
    outputs: VecDeque<Output<Record<()>, Wants>>,
}

impl Node {
    fn pipeline(&mut self, now: Instant, input: prefinal_execution::Input<Priced, ()>) {
        let Some(pipeline) = &mut self.pipeline else { return };
        pipeline.handle(now, input);
        while let Some(output) = self.pipeline.as_mut().and_then(Machine::poll) {
            // Records are as short as votes, and ride in the engine's own entry for the order vote.
            if let Output::Do(effect) = output {
                self.effect(now, effect);
            }
        }
    }

    fn effect(&mut self, now: Instant, effect: Effect<Priced, ()>) {
        match effect {
            Effect::Execute(job) => self.want(Wants::Run(Job::Execute(job))),
            Effect::Store(job) => self.want(Wants::Run(Job::Store(job))),
            Effect::Vote(vote) => {
                self.want(Wants::Note(vote.claim.height, Event::Executed));
                self.want(Wants::Send(Recipient::All, Message::CertifyVote(vote.claim)));
                self.count(now, vote.claim);
            }
            Effect::Forward(block) => self.follow(Message::Proposed(block)),
            Effect::Deliver(delivery) => self.follow(Message::Deliver(delivery)),
            Effect::Committed(committed) => {
                self.votes.retain(|height, _| *height > committed.height);
                self.want(Wants::Note(committed.height, Event::Committed));
            }
            Effect::ForwardValue { slot, .. } => self.follow(Message::Value(slot)),
            Effect::Refused(_) | Effect::Stopped(_) => {}
        }
    }

    fn count(&mut self, now: Instant, claim: StateClaim) {
        let committed = self.pipeline.as_ref().map(Pipeline::committed);
        if committed.is_none_or(|committed| claim.height <= committed.height) {
            return;
        }
        let votes = self.votes.entry(claim.height).or_default();
        *votes += 1;
        if *votes != self.quorum {
            return;
        }
        let StateClaim { height, block, roots } = claim;
        self.want(Wants::Note(height, Event::Certified));
        let digest = roots.digest();
        let certified = Certified { height, block, digest, certificate: () };
        self.pipeline(now, prefinal_execution::Input::Certified(certified));
    }

    fn follow(&mut self, message: Message) {
        if let Some(follower) = self.follower {
            self.want(Wants::Send(Recipient::One(follower), message));
        }
    }

    fn want(&mut self, wants: Wants) {
        self.outputs.push_back(Output::Do(wants));
    }
}

impl Machine for Node {
    type Input = Input;
    type Record = Record<()>;
    type Effect = Wants;

    fn handle(&mut self, now: Instant, input: Input) {
        use prefinal_execution::Input as Of;
        match input {
            Input::Proposed(block) | Input::Message(Message::Proposed(block)) => {
                self.pipeline(now, Of::Proposed(block));
            }
            Input::OrderVote(Header { id: block, height, slot, .. }) => {
                self.pipeline(now, Of::Prefinalized { height, block, view: View::new(slot, 0) });
            }
            Input::Ordered(block) => self.pipeline(now, Of::Ordered(block)),
            Input::Value(slot) | Input::Message(Message::Value(slot)) => {
                self.pipeline(now, Of::Value { slot, value: VALUE });
            }
            // Full nodes get the certificate from their validator.
            Input::Message(Message::CertifyVote(claim)) if self.quorum > 0 => {
                self.count(now, claim);
            }
            Input::Message(Message::CertifyVote(_)) | Input::Tick => {}
            Input::Message(Message::Deliver(delivery)) => {
                self.pipeline(now, Of::Delivered(delivery));
            }
            Input::Pipeline(input) => self.pipeline(now, *input),
        }
    }

    fn poll(&mut self) -> Option<Output<Record<()>, Wants>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        None
    }
}

fn count<'a>(all: impl Iterator<Item = &'a Transfers>) -> u64 {
    all.map(|one| one.count).fold(0, u64::saturating_add)
}

impl Prices {
    /// How long one part of a block takes. What is due for each block falls to its head, unless it has none.
    fn part(&self, block: &Block<Transfers>, part: Part) -> Duration {
        let count = |part| count(block.part(part).map(|one| one.transaction));
        let (head, here) = (count(Part::Head), count(part));
        match part {
            Part::Head if head == 0 && block.has_tail() => Duration::ZERO,
            Part::Tail if head > 0 => self.each(here),
            Part::Head | Part::Tail => self.execute(here),
        }
    }
}

/// The validators and full nodes of a run, which the simulator boots.
pub(super) struct Stations {
    validators: u32,
    full_nodes: u32,
    switches: Switches,
    prices: Prices,
}

impl Stations {
    pub(super) fn new(experiment: &Experiment, switches: Switches) -> Self {
        let (validators, full_nodes) = (experiment.validators.get(), experiment.full_nodes.get());
        Self { validators, full_nodes, switches, prices: experiment.prices }
    }
}

impl Host for Stations {
    type Machine = Node;
    type Message = Message;
    type Job = Job;
    type Verdict = prefinal_execution::Input<Priced, ()>;
    type Event = (Height, Event);

    fn boot(&mut self, seat: Seat, _: &[Record<()>]) -> Node {
        let validates = seat.get() < self.validators;
        let role = if validates { Role::Validator } else { Role::FullNode };
        let limits = Limits { bytes: u64::MAX, ..Limits::default() };
        let config = Config { role, switches: self.switches, limits };
        let Ok(recovered) = Forgetful.recover();
        let past = Past { recovered, records: Vec::new() };
        let follower = Seat::new(self.validators.saturating_add(seat.get()));
        Node {
            pipeline: Pipeline::new(config, past).ok(),
            follower: (seat.get() < self.full_nodes).then_some(follower),
            quorum: if validates { quorum(self.validators) } else { 0 },
            votes: BTreeMap::new(),
            outputs: VecDeque::new(),
        }
    }

    fn received(&mut self, _: Seat, _: Seat, message: &Message) -> Input {
        Input::Message(message.clone())
    }

    fn checked(&mut self, _: Seat, done: Self::Verdict) -> Input {
        Input::Pipeline(Box::new(done))
    }

    fn tick(&mut self, _: Seat) -> Input {
        Input::Tick
    }

    fn carry_out(&mut self, effect: Wants, step: &mut Step<'_, Self>) {
        match effect {
            Wants::Send(to, message) => step.send(to, message),
            Wants::Run(job) => step.run(job),
            Wants::Note(height, event) => step.note((height, event)),
        }
    }

    fn run(&mut self, _: Seat, job: Job) -> (Self::Verdict, Duration) {
        match job {
            Job::Execute(job) => {
                let cost = self.prices.part(job.block(), job.part());
                (prefinal_execution::Input::Executed(job.run(&Priced)), cost)
            }
            Job::Store(job) => {
                let cost = match job.call() {
                    StoreCall::Write(block, _) | StoreCall::WriteCertified(block, ..) => {
                        self.prices.write(count(block.transactions().iter()))
                    }
                    StoreCall::Certify(()) | StoreCall::Revert => self.prices.mark,
                };
                (prefinal_execution::Input::Stored(job.run(&mut Forgetful)), cost)
            }
        }
    }
}
