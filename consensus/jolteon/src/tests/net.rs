//! A deterministic scheduler: virtual time, one queue, links that delay and lose, parties that crash
//! and come back with what they made durable. Every output of every honest party is checked against
//! the promises of `safety`, and all parties against each other.

use std::collections::BTreeMap;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Recipient};
use prefinal_sim::{Table, addressees};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::{config, secret};
use crate::block::{Block, BlockId, Round, Transaction};
use crate::certificate::Stage;
use crate::config::Replicas;
use crate::engine::{Effect, Input, Jolteon, Output};
use crate::fault::Fault;
use crate::job::{Fingerprint, Job, Verdict};
use crate::message::Message;
use crate::records::Records;

/// How long a message takes, if it arrives.
pub(super) type Link = Box<dyn Fn(&mut ChaCha20Rng, Instant, u32, u32) -> Option<Duration>>;
/// What a faulty party sends instead.
pub(super) type Rule = Box<dyn FnMut(u32, u32, Message) -> Vec<Message>>;

#[derive(Default)]
pub(super) struct Log {
    pub(super) finalized: BTreeMap<Round, (Instant, Option<Block>)>,
    pub(super) proposed: BTreeMap<Round, (Instant, BlockId)>,
    pub(super) prefinalized: BTreeMap<Round, (Instant, BlockId)>,
    pub(super) accused: Vec<(Party, Fault)>,
    pub(super) said: BTreeMap<(Stage, Round), BlockId>,
    highest_timeout: Round,
    abandoned: Round,
    persisted: usize,
}

pub(super) struct Net {
    table: Table<Jolteon>,
    pub(super) records: Vec<Records>,
    pub(super) logs: Vec<Log>,
    pub(super) link: Link,
    /// Faulty parties run the engine, but a rule rewrites what they send.
    pub(super) rules: BTreeMap<u32, Rule>,
    /// Crash this party when it is about to carry out its n-th output from now.
    pub(super) crash_after: Option<(u32, usize)>,
    pub(super) committee: Replicas,
    stakes: Vec<u128>,
    rng: ChaCha20Rng,
    seed: u64,
    verdicts: BTreeMap<Fingerprint, Verdict>,
}

pub(super) fn constant(delay: Duration) -> Link {
    Box::new(move |_, _, _, _| Some(delay))
}

/// Between `least` and twice that, with a chance of loss in percent.
pub(super) fn lossy(least: Duration, percent: u32) -> Link {
    Box::new(move |rng, _, _, _| {
        let delay = least + least * (rng.next_u32() % 1000) / 1000;
        (rng.next_u32() % 100 >= percent).then_some(delay)
    })
}

impl Net {
    pub(super) fn new(stakes: &[u128], seed: u64, link: Link) -> Self {
        let n = u32::try_from(stakes.len()).unwrap();
        let engine = |me| Jolteon::new(config(stakes, me), secret(me), Records::default()).unwrap();
        let mut table = Table::new(|| Input::Tick);
        (0..n).for_each(|me| table.seat(Party::new(me), engine(me)));
        let committee = table.machine(Party::new(0)).unwrap().committee().clone();
        Self {
            table,
            records: stakes.iter().map(|_| Records::default()).collect(),
            logs: stakes.iter().map(|_| Log::default()).collect(),
            link,
            rules: BTreeMap::new(),
            crash_after: None,
            committee,
            stakes: stakes.to_vec(),
            rng: ChaCha20Rng::seed_from_u64(seed),
            seed,
            verdicts: BTreeMap::new(),
        }
    }

    pub(super) fn start(mut self) -> Self {
        for party in 0..self.size() {
            self.input(party, Input::Start);
        }
        self
    }

    pub(super) fn size(&self) -> u32 {
        u32::try_from(self.stakes.len()).unwrap()
    }

    pub(super) fn crash(&mut self, party: u32) {
        self.table.clear(Party::new(party));
    }

    /// Starts a party again from what it had made durable.
    pub(super) fn restart(&mut self, party: u32) {
        let index = usize::try_from(party).unwrap();
        let records = self.records[index].clone();
        let bytes = borsh::to_vec(&records).unwrap();
        let records = borsh::from_slice(&bytes).unwrap();
        let engine = Jolteon::new(config(&self.stakes, party), secret(party), records).unwrap();
        self.table.seat(Party::new(party), engine);
        self.input(party, Input::Start);
    }

    pub(super) fn submit(&mut self, party: u32, bytes: &[u8]) {
        self.input(party, Input::Submit(Transaction::new(bytes.to_vec())));
    }

    pub(super) fn run_for(&mut self, span: Duration) {
        let end = self.table.now() + span;
        while let Some((party, input)) = self.table.next(end) {
            self.input(party.get(), input);
        }
        self.table.advance_to(end);
        self.check_agreement();
    }

    pub(super) fn is_up(&self, party: u32) -> bool {
        self.table.machine(Party::new(party)).is_some()
    }

    fn input(&mut self, party: u32, input: Input) {
        self.table.handle(Party::new(party), input);
        let mut prefinalized = None;
        while let Some(output) = self.table.poll(Party::new(party)) {
            if let Some((_, left)) = self.crash_after.as_mut().filter(|(who, _)| *who == party) {
                let Some(fewer) = left.checked_sub(1) else {
                    self.crash_after = None;
                    self.crash(party);
                    return;
                };
                *left = fewer;
            }
            let honest = !self.rules.contains_key(&party);
            if honest {
                self.check_output(party, &output, &mut prefinalized);
            }
            self.carry_out(party, output);
        }
        assert_eq!(prefinalized, None, "seed {}: prefinalized without a vote", self.seed);
    }

    fn carry_out(&mut self, party: u32, output: Output) {
        let index = usize::try_from(party).unwrap();
        let log = &mut self.logs[index];
        match output {
            Output::Keep(record) | Output::Note(record) => self.records[index].apply(record),
            Output::Do(Effect::Send { to, message }) => self.send(party, to, message),
            Output::Do(Effect::Check(job)) => {
                let verdict = self.run_job(&job);
                // In place: the harness gives jobs no time.
                self.table.handle(Party::new(party), Input::Checked(verdict));
            }
            Output::Do(Effect::Prefinalized { round, block }) => {
                log.prefinalized.insert(round, (self.table.now(), block));
            }
            Output::Do(Effect::Finalized { round, block }) => {
                let again = log.finalized.get(&round).map(|(_, block)| block);
                assert!(again.is_none_or(|before| *before == block), "seed {}", self.seed);
                let first = self.table.now();
                log.finalized.entry(round).or_insert((first, block));
            }
            Output::Do(Effect::Proposed { block }) => {
                let first = (self.table.now(), block.id(self.committee.context()));
                log.proposed.entry(block.round()).or_insert(first);
            }
            Output::Do(Effect::Abandoned { .. }) => {}
            Output::Do(Effect::Accuse { party, fault }) => log.accused.push((party, fault)),
        }
    }

    fn run_job(&mut self, job: &Job) -> Verdict {
        self.verdicts.entry(job.fingerprint()).or_insert_with(|| job.run()).clone()
    }

    fn send(&mut self, from: u32, to: Recipient<Party>, message: Message) {
        let bytes = borsh::to_vec(&message).unwrap();
        let message: Message = borsh::from_slice(&bytes).unwrap();
        for to in addressees(to, Party::new(from), self.size()).map(Party::get) {
            let messages = match self.rules.get_mut(&from) {
                Some(rule) => rule(from, to, message.clone()),
                None => vec![message.clone()],
            };
            for message in messages {
                let now = self.table.now();
                if let Some(delay) = (self.link)(&mut self.rng, now, from, to) {
                    let input = Input::Received { from: Party::new(from), message };
                    self.table.plan(now + delay, Party::new(to), input);
                }
            }
        }
    }

    /// What an honest party may do, whatever happens to it.
    fn check_output(&mut self, party: u32, output: &Output, prefinalized: &mut Option<BlockId>) {
        let index = usize::try_from(party).unwrap();
        let (log, seed) = (&mut self.logs[index], self.seed);
        match output {
            Output::Keep(_) | Output::Note(_) => log.persisted += 1,
            Output::Do(Effect::Prefinalized { round, block }) => {
                assert!(*round > log.abandoned, "seed {seed}: prefinalized after a timeout");
                assert!(!log.prefinalized.contains_key(round), "seed {seed}: twice");
                assert_eq!(prefinalized.replace(*block), None);
                let promised = self.records[index].promises.as_ref().unwrap();
                assert_eq!(promised.safety.last_ordered(), *round, "seed {seed}: not durable");
            }
            Output::Do(Effect::Abandoned { round }) => log.abandoned = *round,
            Output::Do(Effect::Send { message, .. }) => {
                if let Message::OrderVote(vote) = message {
                    let block = prefinalized.take();
                    assert_eq!(block, Some(vote.qc.block), "seed {seed}: vote without notice");
                    assert!(vote.qc.round > log.highest_timeout, "seed {seed}: after a timeout");
                }
                if let Message::Timeout(timeout) = message {
                    log.highest_timeout = log.highest_timeout.max(timeout.round);
                    assert!(timeout.round >= log.abandoned, "seed {seed}: not announced");
                }
                self.check_promises(party, message);
            }
            Output::Do(Effect::Finalized { round, .. }) => {
                let before = log.finalized.contains_key(&round.earlier(1));
                assert!(round.get() == 1 || before, "seed {seed}: a gap before {round}");
            }
            Output::Do(Effect::Proposed { .. } | Effect::Check(_) | Effect::Accuse { .. }) => {}
        }
    }

    /// One thing a round and stage, and durable before it is said.
    fn check_promises(&mut self, party: u32, message: &Message) {
        let index = usize::try_from(party).unwrap();
        let said = match message {
            Message::Proposal(proposal) => {
                let id = proposal.block.id(self.committee.context());
                Some((Stage::Proposal, proposal.block.round(), id))
            }
            Message::Vote(vote) => Some((Stage::Vote, vote.round, vote.block)),
            Message::OrderVote(vote) => Some((Stage::Order, vote.qc.round, vote.qc.block)),
            _ => None,
        };
        let Some((stage, round, block)) = said else { return };
        let before = self.logs[index].said.insert((stage, round), block);
        assert_eq!(before, None, "seed {}: {stage:?} twice in {round}", self.seed);
        let safety = self.records[index].promises.as_ref().unwrap().safety;
        if stage == Stage::Vote {
            assert_eq!(safety.last_voted(), round, "seed {}: vote not durable", self.seed);
        }
    }

    /// All parties, faulty ones included as far as they report: one block a round.
    pub(super) fn check_agreement(&self) {
        let mut agreed: BTreeMap<Round, Option<BlockId>> = BTreeMap::new();
        for log in &self.logs {
            for (round, (_, block)) in &log.finalized {
                let id = block.as_ref().map(|block| block.id(self.committee.context()));
                let other = agreed.entry(*round).or_insert(id);
                assert_eq!(*other, id, "seed {}: {round}", self.seed);
            }
        }
        // Once enough have prefinalized a block, counting all that is faulty with them, nothing else
        // may become final in its round: what was released for it is no leak.
        let mut released: BTreeMap<(Round, BlockId), u128> = BTreeMap::new();
        let faulty: u128 = self.rules.keys().map(|&party| self.stake(party)).sum();
        for (party, log) in (0..).zip(&self.logs).filter(|(p, _)| !self.rules.contains_key(p)) {
            for (round, (_, block)) in &log.prefinalized {
                *released.entry((*round, *block)).or_insert(faulty) += self.stake(party);
            }
        }
        for ((round, block), stake) in released {
            let is_final = agreed.get(&round).is_none_or(|id| *id == Some(block));
            assert!(stake < self.committee.quorum().get() || is_final, "seed {}", self.seed);
        }
    }

    fn stake(&self, party: u32) -> u128 {
        self.stakes[usize::try_from(party).unwrap()]
    }

    /// The rounds with a block that a party has finalized.
    pub(super) fn blocks(&self, party: u32) -> Vec<(Round, Block)> {
        let log = &self.logs[usize::try_from(party).unwrap()];
        let blocks = log.finalized.iter();
        blocks.filter_map(|(round, (_, block))| Some((*round, block.clone()?))).collect()
    }

    /// How often a transaction was finalized by a party.
    pub(super) fn count(&self, party: u32, bytes: &[u8]) -> usize {
        let blocks = self.blocks(party);
        let all = blocks.iter().flat_map(|(_, block)| block.payload());
        all.filter(|transaction| transaction.bytes()[..] == *bytes).count()
    }

    pub(super) fn height(&self, party: u32) -> u64 {
        let log = &self.logs[usize::try_from(party).unwrap()];
        log.finalized.keys().next_back().map_or(0, |round| round.get())
    }

    pub(super) fn all_reach(&self, height: u64) -> bool {
        (0..self.size())
            .filter(|party| self.is_up(*party) && !self.rules.contains_key(party))
            .all(|party| self.height(party) >= height)
    }
}
