//! Replicas of the example application on a network that a test disturbs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::SecretKey;
use prefinal_protocol::{Instant, Machine, Output, Recipient};

use super::{context, secret};
use crate::app::{Configuration, Seat};
use crate::block::Transaction;
use crate::client::{Client, ClientHeader};
use crate::config::Config;
use crate::key_values::{Command, KeyValues};
use crate::replica::certifier::{Certifier, StakeCertifier};
use crate::replica::job::ReplicaJob;
use crate::replica::message::{ReplicaFault, ReplicaMessage};
use crate::replica::{
    Replica, ReplicaEffect, ReplicaInput, ReplicaRecord, Service, Settings, StartError,
};

pub(super) type Node = Replica<KeyValues>;
/// What becomes of a message: it may be another one, or none.
pub(super) type Tamper = Box<dyn FnMut(u32, u32, ReplicaMessage) -> Option<ReplicaMessage>>;

pub(super) fn again(party: u32) -> SecretKey {
    secret(party)
}

pub(super) fn seat(party: u32, stake: u128) -> Seat {
    let secret = again(party);
    Seat { key: secret.public_key(), proof: secret.prove_possession(), stake }
}

pub(super) fn seats(stakes: &[u128]) -> Configuration {
    Configuration { seats: (0..).zip(stakes).map(|(party, stake)| seat(party, *stake)).collect() }
}

pub(super) fn config(me: u32) -> Config {
    Config {
        timeout: super::bench::ms(500),
        fetch_after: super::bench::ms(20),
        max_block_bytes: 1 << 20,
        batch_timeout: super::bench::ms(1),
        ..Config::new(context(0), Party::new(me), Vec::new())
    }
}

pub(super) fn settings(stakes: &[u128]) -> Settings {
    Settings { configuration: seats(stakes), config_offset: 2, retained_epochs: 1 }
}

pub(super) fn start(
    me: u32,
    settings: Settings,
    certifier: Arc<dyn Certifier>,
    records: Vec<ReplicaRecord>,
) -> Result<Node, StartError> {
    let service = Service { app: KeyValues::default(), certifier, settings };
    Replica::new(config(me), again(me), service, records)
}

pub(super) fn put(number: u64, key: &str, value: &[u8]) -> Transaction {
    let command = Command::Put { key: key.into(), value: value.into() };
    command.transaction(ClientHeader { client: Client::new([1; 32]), number })
}

pub(super) struct Net {
    pub(super) nodes: BTreeMap<u32, Node>,
    pub(super) records: BTreeMap<u32, Vec<ReplicaRecord>>,
    pub(super) effects: Vec<(u32, ReplicaEffect)>,
    pub(super) tamper: Tamper,
    /// Jobs that a test has not run yet, if it wants to do that itself.
    pub(super) jobs: Option<Vec<(u32, ReplicaJob)>>,
    certifiers: Box<dyn Fn(u32) -> Arc<dyn Certifier>>,
    queue: VecDeque<(u32, u32, ReplicaMessage)>,
    size: u32,
    now: Instant,
}

impl Net {
    /// A network of so many replicas, of which none is up.
    pub(super) fn new(size: u32) -> Self {
        Self::with_certifiers(size, |party| Arc::new(StakeCertifier::new(again(party))))
    }

    pub(super) fn with_certifiers(
        size: u32,
        certifiers: impl Fn(u32) -> Arc<dyn Certifier> + 'static,
    ) -> Self {
        Self {
            nodes: BTreeMap::new(),
            records: BTreeMap::new(),
            effects: Vec::new(),
            tamper: Box::new(|_, _, message| Some(message)),
            jobs: None,
            certifiers: Box::new(certifiers),
            queue: VecDeque::new(),
            size,
            now: Instant::START,
        }
    }

    /// Starts a replica with what its earlier lives have made durable.
    pub(super) fn up(&mut self, me: u32, settings: Settings) {
        let records = self.records.get(&me).cloned().unwrap_or_default();
        let node = start(me, settings, (self.certifiers)(me), records).unwrap();
        self.nodes.insert(me, node);
        self.input(me, ReplicaInput::Start);
    }

    /// Starts a party that joins, with what its earlier lives have made durable.
    pub(super) fn join(&mut self, me: u32, settings: Settings) {
        let records = self.records.get(&me).cloned().unwrap_or_default();
        let certifier = (self.certifiers)(me);
        let service = Service { app: KeyValues::default(), certifier, settings };
        let node = Replica::join(config(me), again(me), service, records).unwrap();
        self.nodes.insert(me, node);
        self.input(me, ReplicaInput::Start);
    }

    pub(super) fn down(&mut self, party: u32) {
        self.nodes.remove(&party);
        self.queue.retain(|(_, to, _)| *to != party);
    }

    pub(super) fn input(&mut self, party: u32, input: ReplicaInput) {
        let Some(node) = self.nodes.get_mut(&party) else { return };
        node.handle(self.now, input);
        while let Some(output) = node.poll() {
            match output {
                Output::Keep(record) => self.records.entry(party).or_default().push(record),
                Output::Note(_) => {}
                Output::Do(ReplicaEffect::Run(job)) => match &mut self.jobs {
                    Some(jobs) => jobs.push((party, job)),
                    None => node.handle(self.now, ReplicaInput::Checked(job.run())),
                },
                Output::Do(ReplicaEffect::Send { to: Recipient::One(to), message }) => {
                    self.queue.push_back((party, to.get(), message));
                }
                Output::Do(ReplicaEffect::Send { to: Recipient::All, message }) => {
                    let others = (0..self.size).filter(|to| *to != party);
                    self.queue.extend(others.map(|to| (party, to, message.clone())));
                }
                Output::Do(effect) => self.effects.push((party, effect)),
            }
        }
    }

    /// Delivers a message, or lets the time pass if there is none.
    fn step(&mut self) {
        // A message takes a moment, so that time passes.
        self.now = self.now + std::time::Duration::from_micros(50);
        if let Some((from, to, message)) = self.queue.pop_front() {
            if let Some(message) = (self.tamper)(from, to, message) {
                self.input(to, ReplicaInput::Received { from: Party::new(from), message });
            }
        } else {
            let next = self.nodes.values().filter_map(Machine::wake_at).min();
            self.now = next.unwrap().max(self.now);
        }
        let due = |node: &Node| node.wake_at().is_some_and(|at| at <= self.now);
        let due: Vec<u32> =
            self.nodes.iter().filter(|(_, node)| due(node)).map(|(party, _)| *party).collect();
        for party in due {
            self.input(party, ReplicaInput::Tick);
        }
    }

    /// Whether no message is on its way.
    pub(super) fn is_quiet(&self) -> bool {
        self.queue.is_empty()
    }

    /// Lets time pass, and nothing else happen.
    pub(super) fn pass(&mut self, span: std::time::Duration) {
        self.now = self.now + span;
    }

    /// Runs until something holds; fails if it takes too long.
    pub(super) fn run(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        for _ in 0..400_000 {
            if holds(self) {
                return;
            }
            self.step();
        }
        panic!("never: {what}; epochs {:?}", self.epochs());
    }

    /// The messages on the way, and to whom.
    pub(super) fn take_sent(&mut self) -> Vec<(u32, ReplicaMessage)> {
        let queue = std::mem::take(&mut self.queue).into_iter();
        queue.map(|(_, to, message)| (to, message)).collect()
    }

    /// The messages on the way to a party.
    pub(super) fn take_sent_to(&mut self, party: u32) -> Vec<ReplicaMessage> {
        let queue = std::mem::take(&mut self.queue).into_iter();
        queue.filter(|(_, to, _)| *to == party).map(|(.., message)| message).collect()
    }

    pub(super) fn epochs(&self) -> Vec<u64> {
        self.nodes.values().map(|node| node.ordering().schedule().epoch()).collect()
    }

    /// Runs until a party has ended its epoch and waits for votes.
    pub(super) fn run_to_own(&mut self, party: u32) {
        self.run("the end of the epoch", |net| net.nodes[&party].own.is_some());
    }

    pub(super) fn run_to_epoch(&mut self, epoch: u64) {
        self.run("epoch", |net| net.epochs().iter().all(|at| *at >= epoch));
    }

    pub(super) fn faults(&self) -> Vec<(u32, u32, ReplicaFault)> {
        let fault = |(by, effect): &(u32, ReplicaEffect)| match effect {
            ReplicaEffect::Accuse { party, fault } => Some((*by, party.get(), fault.clone())),
            _ => None,
        };
        self.effects.iter().filter_map(fault).collect()
    }

    pub(super) fn restored(&self, party: u32) -> usize {
        let of_party = |(by, effect): &&(u32, ReplicaEffect)| {
            *by == party && matches!(effect, ReplicaEffect::Restored(_))
        };
        self.effects.iter().filter(of_party).count()
    }
}

/// What the ordering accuses peers of.
pub(super) fn order_faults(net: &Net) -> Vec<String> {
    let fault = |(by, effect): &(u32, ReplicaEffect)| match effect {
        ReplicaEffect::Order(crate::engine::Effect::Accuse { party, fault }) => {
            Some(format!("{by} accuses {party}: {fault}"))
        }
        _ => None,
    };
    net.effects.iter().filter_map(fault).collect()
}
