//! One engine whose peers are whatever a test says, and what to look for in its outputs.

use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{Signature, aggregate};
use prefinal_crypto_core::curve::{G1Affine, G1Projective};
use prefinal_protocol::{Instant, Machine, Recipient, Slot, Value, View};

use super::{certify, context, members, secret};
use crate::batch::Batch;
use crate::block::{Body, Transaction, skipped};
use crate::certificate::{CHANGE, ChangeCertificate, MultiSignature, Stage, VoteCertificate};
use crate::config::{Config, Epochs, OwnBatches, Replicas};
use crate::engine::{Effect, Input, Output, Trantor};
use crate::fault::Fault;
use crate::job::{Asks, Work, group};
use crate::message::{Commit, Decision, Message, NewView, Proposal, ShapeError, ViewChange, Vote};
use crate::records::Record;

pub(super) const FOUR: [u128; 4] = [1; 4];

pub(super) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(super) fn at(millis: u64) -> Instant {
    Instant::at(ms(millis))
}

pub(super) const fn view(slot: u64, attempt: u32) -> View {
    View::new(Slot::new(slot), attempt)
}

/// A batch of party 1.
pub(super) fn batch(transactions: &[&[u8]]) -> Batch {
    let all = transactions.iter().map(|bytes| Transaction::new(bytes.to_vec())).collect();
    Batch::new(Party::new(1), Slot::new(500), all)
}

/// A block with that batch, certified by 1 and 2; an empty one if there are no transactions.
pub(super) fn body(transactions: &[&[u8]]) -> Body {
    if transactions.is_empty() {
        return Body::default();
    }
    Body::new(vec![certify(&batch(transactions), &[1, 2])])
}

pub(super) fn config(stakes: &[u128], me: u32) -> Config {
    Config {
        timeout: ms(500),
        fetch_after: ms(20),
        max_block_bytes: 1000,
        epochs: Epochs::OneByOne,
        own_batches: OwnBatches::Certified,
        ..Config::new(context(0), Party::new(me), members(stakes))
    }
}

/// Says anything in anybody's name.
pub(super) struct Forger {
    pub(super) committee: Replicas,
}

impl Forger {
    pub(super) fn new(stakes: &[u128]) -> Self {
        Self { committee: Replicas::new(&context(0), members(stakes)).unwrap() }
    }

    pub(super) fn value(&self, slot: u64, body: &Body) -> Value {
        body.value(self.committee.context(), Slot::new(slot))
    }

    pub(super) fn sign(&self, stage: Stage, party: u32, view: View, value: Value) -> Signature {
        secret(party).sign(stage.domain(), &self.committee.statement(view, value))
    }

    pub(super) fn vote(&self, stage: Stage, party: u32, view: View, value: Value) -> Message {
        let vote = Vote { view, value, signature: self.sign(stage, party, view, value) };
        match stage {
            Stage::Commit => Message::Commit(Box::new(Commit { vote, partial: None })),
            _ => Message::Prepare(vote),
        }
    }

    pub(super) fn certificate(
        &self,
        stage: Stage,
        parties: &[u32],
        view: View,
        value: Value,
    ) -> VoteCertificate {
        let signed: Vec<_> =
            parties.iter().map(|&party| self.sign(stage, party, view, value)).collect();
        let signers = self.committee.signers(parties.iter().copied().map(Party::new));
        let votes = MultiSignature { signers, signature: aggregate(&signed).unwrap() };
        VoteCertificate { view, value, votes }
    }

    pub(super) fn proposal(&self, party: u32, slot: u64, body: &Body) -> Message {
        let value = self.value(slot, body);
        let signature = self.sign(Stage::Propose, party, view(slot, 0), value);
        let slot = Slot::new(slot);
        Message::Proposal(Box::new(Proposal { slot, body: body.clone(), signature }))
    }

    pub(super) fn ask(&self, party: u32, view: View, claim: Option<u32>) -> Signature {
        secret(party).sign(CHANGE, &self.committee.change_statement(view, claim))
    }

    pub(super) fn change(
        &self,
        party: u32,
        view: View,
        prepared: Option<VoteCertificate>,
    ) -> Message {
        let claim = prepared.as_ref().map(|it| it.view.attempt);
        let signature = self.ask(party, view, claim);
        Message::ViewChange(Box::new(ViewChange { view, prepared, signature }))
    }

    pub(super) fn changes(&self, view: View, asks: &[(u32, Option<u32>)]) -> ChangeCertificate {
        let ask = |&(party, claim): &(u32, Option<u32>)| {
            (Party::new(party), (claim, self.ask(party, view, claim)))
        };
        let asks: Asks = asks.iter().map(ask).collect();
        let signature = aggregate(asks.values().map(|(_, signature)| signature)).unwrap();
        ChangeCertificate { view, claims: group(&self.committee, &asks), signature }
    }

    pub(super) fn new_view(
        &self,
        party: u32,
        change: ChangeCertificate,
        prepared: Option<VoteCertificate>,
    ) -> Message {
        let view = change.view;
        let value = prepared.as_ref().map_or_else(|| skipped(view.slot), |it| it.value);
        let signature = self.sign(Stage::Propose, party, view, value);
        Message::NewView(Box::new(NewView { change, prepared, signature }))
    }

    /// A decided height, by the commits of 1, 2 and 3.
    pub(super) fn decision(&self, slot: u64, body: Option<&Body>) -> Decision {
        let value = body.map_or_else(|| skipped(Slot::new(slot)), |it| self.value(slot, it));
        let certificate = self.certificate(Stage::Commit, &[1, 2, 3], view(slot, 0), value);
        Decision { certificate, body: body.cloned() }
    }
}

/// Party 0 of a committee; the others are what the test chooses.
pub(super) struct Bench {
    pub(super) engine: Trantor,
    pub(super) forger: Forger,
    pub(super) now: Instant,
    pub(super) records: Vec<Record>,
    /// Whether notes are durable as well. A crash may take them.
    pub(super) keeps_notes: bool,
    pub(super) jobs: Vec<Work>,
    /// What every commit is offered.
    pub(super) partial: Option<Vec<u8>>,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::begin(&FOUR, 0, Vec::new()).0
    }

    pub(super) fn begin(stakes: &[u128], me: u32, records: Vec<Record>) -> (Self, Vec<Output>) {
        let engine = Trantor::new(config(stakes, me), secret(me), records.clone()).unwrap();
        let forger = Forger::new(stakes);
        let (now, jobs) = (Instant::START, Vec::new());
        let (partial, keeps_notes) = (None, false);
        let mut bench = Self { engine, forger, now, records, keeps_notes, jobs, partial };
        let outputs = bench.input(Input::Start);
        (bench, outputs)
    }

    /// Another life with what this one has made durable.
    pub(super) fn restart(&self) -> (Self, Vec<Output>) {
        Self::begin(&FOUR, 0, self.records.clone())
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
                Output::Do(Effect::Prefinalized { .. }) => {
                    if let Some(partial) = self.partial.clone() {
                        let _refused = self.engine.carry(partial);
                    }
                }
                Output::Keep(record) => self.records.push(record.clone()),
                Output::Note(record) if self.keeps_notes => self.records.push(record.clone()),
                _ => {}
            }
            outputs.push(output);
        }
        outputs
    }

    pub(super) fn receive(&mut self, from: u32, message: Message) -> Vec<Output> {
        self.input(Input::Received { from: Party::new(from), message })
    }

    /// Votes of 1 and 2, and of 3 if it is asked for.
    pub(super) fn votes(
        &mut self,
        stage: Stage,
        parties: &[u32],
        view: View,
        value: Value,
    ) -> Vec<Output> {
        let vote = |party: &u32| (*party, self.forger.vote(stage, *party, view, value));
        let votes: Vec<_> = parties.iter().map(vote).collect();
        votes.into_iter().flat_map(|(party, vote)| self.receive(party, vote)).collect()
    }

    /// Stores that batch of party 1.
    pub(super) fn spread(&mut self, transactions: &[&[u8]]) -> Vec<Output> {
        self.receive(1, Message::Batch(Box::new(batch(transactions))))
    }

    /// Lets the lowest height's time run out.
    pub(super) fn time_out(&mut self) -> Vec<Output> {
        self.now = self.engine.changes_at().unwrap();
        self.input(Input::Tick)
    }

    pub(super) fn decide(&mut self, slots: std::ops::RangeInclusive<u64>) -> Vec<Output> {
        let mut outputs = Vec::new();
        for slot in slots {
            let decision = self.forger.decision(slot, Some(&body(&[])));
            outputs.extend(self.receive(1, Message::Response(vec![decision])));
        }
        outputs
    }
}

pub(super) fn sent(outputs: &[Output]) -> Vec<&Message> {
    let send = |output| match output {
        &Output::Do(Effect::Send { ref message, .. }) => Some(message),
        _ => None,
    };
    outputs.iter().filter_map(send).collect()
}

/// The peers that are asked for decisions, and the first height that each is asked for.
pub(super) fn requests(outputs: &[Output]) -> Vec<(u32, u64)> {
    let request = |output: &Output| match output {
        Output::Do(Effect::Send { to: Recipient::One(to), message: Message::Request(first) }) => {
            Some((to.get(), first.get()))
        }
        _ => None,
    };
    outputs.iter().filter_map(request).collect()
}

pub(super) fn prepares(outputs: &[Output]) -> Vec<(View, Value)> {
    let vote = |message: &&Message| match message {
        Message::Prepare(vote) => Some((vote.view, vote.value)),
        _ => None,
    };
    sent(outputs).iter().filter_map(vote).collect()
}

pub(super) fn commits(outputs: &[Output]) -> Vec<(View, Value, Option<Vec<u8>>)> {
    let vote = |message: &&Message| match message {
        Message::Commit(commit) => {
            Some((commit.vote.view, commit.vote.value, commit.partial.clone()))
        }
        _ => None,
    };
    sent(outputs).iter().filter_map(vote).collect()
}

pub(super) fn changes(outputs: &[Output]) -> Vec<(View, Option<u32>)> {
    let change = |message: &&Message| match message {
        Message::ViewChange(change) => Some((change.view, change.claim())),
        _ => None,
    };
    sent(outputs).iter().filter_map(change).collect()
}

pub(super) fn new_views(outputs: &[Output]) -> Vec<NewView> {
    let new = |message: &&Message| match message {
        Message::NewView(new) => Some((**new).clone()),
        _ => None,
    };
    sent(outputs).iter().filter_map(new).collect()
}

pub(super) fn prefinalized(outputs: &[Output]) -> Vec<View> {
    let vote = |output: &Output| match output {
        Output::Do(Effect::Prefinalized { view, .. }) => Some(*view),
        _ => None,
    };
    outputs.iter().filter_map(vote).collect()
}

/// Heights, and how many transactions; `None` if skipped.
pub(super) fn finalized(outputs: &[Output]) -> Vec<(u64, Option<usize>)> {
    let last = |output: &Output| match output {
        Output::Do(Effect::Finalized { slot, block }) => {
            Some((slot.get(), block.as_ref().map(|block| block.transactions.len())))
        }
        _ => None,
    };
    outputs.iter().filter_map(last).collect()
}

pub(super) fn faults(outputs: &[Output]) -> Vec<(u32, Fault)> {
    let fault = |output: &Output| match output {
        Output::Do(Effect::Accuse { party, fault }) => Some((party.get(), fault.clone())),
        _ => None,
    };
    outputs.iter().filter_map(fault).collect()
}

pub(super) fn malformed(outputs: &[Output]) -> ShapeError {
    match &faults(outputs)[..] {
        [(_, Fault::Malformed(error))] => error.clone(),
        other => panic!("{other:?}"),
    }
}

/// Evidence against one party, checked.
pub(super) fn convicts(outputs: &[Output], committee: &Replicas) -> Vec<u32> {
    let convicted = |(party, fault): (u32, Fault)| match fault {
        Fault::Contradiction(contradiction) => {
            assert_eq!(contradiction.verify(committee, Party::new(party)), Ok(()));
            Some(party)
        }
        _ => None,
    };
    faults(outputs).into_iter().filter_map(convicted).collect()
}

/// `signature · g^sign`
pub(super) fn shifted(signature: &Signature, sign: bool) -> Signature {
    let point = G1Projective::from(G1Affine::from_bytes(&signature.to_bytes()).unwrap());
    let error = G1Projective::generator();
    let moved = point + if sign { error } else { -error };
    Signature::from_bytes(&G1Affine::from(moved).to_bytes()).unwrap()
}

/// Names by their first byte, for readable failures.
pub(super) fn value(byte: u8) -> Value {
    Value::new([byte; 32])
}

pub(super) fn position(outputs: &[Output], wanted: fn(&Output) -> bool) -> usize {
    outputs.iter().position(wanted).unwrap()
}
