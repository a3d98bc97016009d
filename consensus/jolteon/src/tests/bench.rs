//! One engine whose peers are whatever a test says, and what to look for in its outputs.

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_crypto_core::curve::{G1Affine, G1Projective};
use prefinal_protocol::{Instant, Machine, Slot, Value};

use super::{Forger, config, secret};
use crate::block::{Block, BlockId};
use crate::certificate::QuorumCertificate;
use crate::engine::{Effect, Input, Jolteon, Output};
use crate::fault::Fault;
use crate::job::Work;
use crate::message::{Message, Proposal, ShapeError, Status};
use crate::records::Records;

pub(super) const FOUR: [u128; 4] = [1; 4];

/// Party 0 of a committee; the others are what the test chooses.
pub(super) struct Bench {
    pub(super) engine: Jolteon,
    pub(super) forger: Forger,
    pub(super) now: Instant,
    records: Records,
    pub(super) jobs: Vec<Work>,
}

impl Bench {
    pub(super) fn new(stakes: &[u128]) -> Self {
        Self::from_records(stakes, Records::default()).0
    }

    fn from_records(stakes: &[u128], records: Records) -> (Self, Vec<Output>) {
        let engine = Jolteon::new(config(stakes, 0), secret(0), records.clone()).unwrap();
        Self::around(engine, Forger::new(stakes), records)
    }

    /// Starts an engine that a test has made.
    pub(super) fn around(engine: Jolteon, forger: Forger, records: Records) -> (Self, Vec<Output>) {
        let (now, jobs) = (Instant::START, Vec::new());
        let mut bench = Self { engine, forger, now, records, jobs };
        let outputs = bench.input(Input::Start);
        (bench, outputs)
    }

    /// Another life with what this one has made durable.
    pub(super) fn restart(&self, stakes: &[u128]) -> (Self, Vec<Output>) {
        Self::from_records(stakes, self.records.clone())
    }

    /// Others have shown that this block is final: another life begins behind it.
    pub(super) fn adopt(&self, stakes: &[u128], block: &Block) -> (Self, Vec<Output>) {
        let mut records = self.records.clone();
        let slot = Slot::new(block.round().get());
        let value = Value::new(self.forger.id(block).to_bytes());
        let block = prefinal_engine::Block { value, transactions: Vec::new() };
        let last = [prefinal_engine::FinalBlock { slot, block }];
        let adopted = <Jolteon as prefinal_engine::Engine>::adopted(last.into_iter());
        adopted.into_iter().for_each(|record| records.apply(record));
        Self::from_records(stakes, records)
    }

    /// Handles an input and runs all jobs that come of it.
    pub(super) fn input(&mut self, input: Input) -> Vec<Output> {
        self.engine.handle(self.now, input);
        let mut outputs = Vec::new();
        while let Some(output) = self.engine.poll() {
            match &output {
                Output::Do(Effect::Check(job)) => {
                    self.jobs.push(job.work().clone());
                    let verdict = job.run();
                    self.engine.handle(self.now, Input::Checked(verdict));
                }
                Output::Keep(record) => self.records.apply(record.clone()),
                _ => {}
            }
            outputs.push(output);
        }
        outputs
    }

    pub(super) fn receive(&mut self, from: u32, message: Message) -> Vec<Output> {
        self.input(Input::Received { from: Party::new(from), message })
    }

    pub(super) fn status(&mut self, qc: &QuorumCertificate) -> Vec<Output> {
        self.receive(1, Message::Status(Box::new(Status { qc: qc.clone(), tc: None })))
    }

    /// Lets the round's time run out.
    pub(super) fn time_out(&mut self) -> Vec<Output> {
        self.now = self.engine.pacemaker.deadline();
        self.input(Input::Tick)
    }

    /// Blocks of rounds 1 to `count`, each with its certificate.
    pub(super) fn chain(&self, count: u64) -> Vec<(Block, QuorumCertificate)> {
        Self::chain_of(&self.forger, &[1, 2, 3], count)
    }

    /// The same, certified by these.
    pub(super) fn chain_of(
        forger: &Forger,
        signers: &[u32],
        count: u64,
    ) -> Vec<(Block, QuorumCertificate)> {
        let mut chain: Vec<(Block, QuorumCertificate)> = Vec::new();
        for number in 1..=count {
            let parent = chain.last().map_or_else(|| forger.genesis(), |(_, qc)| qc.clone());
            let block = forger.block(number, &parent, &[&number.to_be_bytes()]);
            let qc = forger.qc(number, forger.id(&block), signers);
            chain.push((block, qc));
        }
        chain
    }
}

pub(super) fn votes(outputs: &[Output]) -> Vec<(u64, BlockId)> {
    let vote = |output: &Output| match output {
        Output::Do(Effect::Send { message: Message::Vote(vote), .. }) => {
            Some((vote.round.get(), vote.block))
        }
        _ => None,
    };
    outputs.iter().filter_map(vote).collect()
}

pub(super) fn order_votes(outputs: &[Output]) -> Vec<u64> {
    let vote = |output: &Output| match output {
        Output::Do(Effect::Send { message: Message::OrderVote(vote), .. }) => {
            Some(vote.qc.round.get())
        }
        _ => None,
    };
    outputs.iter().filter_map(vote).collect()
}

pub(super) fn prefinalized(outputs: &[Output]) -> Vec<u64> {
    let round = |output: &Output| match output {
        Output::Do(Effect::Prefinalized { round, .. }) => Some(round.get()),
        _ => None,
    };
    outputs.iter().filter_map(round).collect()
}

pub(super) fn finalized(outputs: &[Output]) -> Vec<(u64, bool)> {
    let round = |output: &Output| match output {
        Output::Do(Effect::Finalized { round, block }) => Some((round.get(), block.is_some())),
        _ => None,
    };
    outputs.iter().filter_map(round).collect()
}

pub(super) fn faults(outputs: &[Output]) -> Vec<(u32, Fault)> {
    let fault = |output: &Output| match output {
        Output::Do(Effect::Accuse { party, fault }) => Some((party.get(), fault.clone())),
        _ => None,
    };
    outputs.iter().filter_map(fault).collect()
}

pub(super) fn proposals(outputs: &[Output]) -> Vec<Proposal> {
    let proposal = |output: &Output| match output {
        Output::Do(Effect::Send { message: Message::Proposal(proposal), .. }) => {
            Some((**proposal).clone())
        }
        _ => None,
    };
    outputs.iter().filter_map(proposal).collect()
}

pub(super) fn malformed(outputs: &[Output]) -> ShapeError {
    match &faults(outputs)[..] {
        [(_, Fault::Malformed(error))] => error.clone(),
        other => panic!("{other:?}"),
    }
}

/// `signature · g^sign`
pub(super) fn shifted(signature: &Signature, sign: bool) -> Signature {
    let point = G1Projective::from(G1Affine::from_bytes(&signature.to_bytes()).unwrap());
    let error = G1Projective::generator();
    let moved = point + if sign { error } else { -error };
    Signature::from_bytes(&G1Affine::from(moved).to_bytes()).unwrap()
}
