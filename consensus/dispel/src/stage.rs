//! One stage: everybody's batch, one binary consensus for each, and what is decided.
use std::collections::BTreeMap;

use core::time::Duration;
use prefinal_protocol::{Instant, Party, Slot, Value};

use crate::batch::{Batch, BatchId, StageOutcome, value_of};
use crate::binary::{Binary, BitVote, Contradicted};
use crate::broadcast::{BatchVote, Broadcasts};
use crate::message::{Step, Vote};
use crate::quorum::{Replicas, Supporters};
use crate::votes::{BitVotes, Cells, Kind, WORD, members, ones, place};

/// A batch that is not here.
#[derive(Debug)]
struct Want {
    /// The place of the party that is asked next, among those that have it.
    turn: usize,
    /// When the next one is asked.
    next: Instant,
}

impl Want {
    /// Batches of several proposers are asked of several parties, for each serves so much and no more.
    fn new(proposer: Party, next: Instant) -> Self {
        Self { turn: proposer.index(), next }
    }

    /// Which of these is asked now, if it is time.
    fn ask(&mut self, now: Instant, pause: Duration, holders: &[Party]) -> Option<Party> {
        if now < self.next {
            return None;
        }
        let at = self.turn.checked_rem(holders.len())?;
        self.next = now + pause;
        self.turn = self.turn.saturating_add(1);
        holders.get(at).copied()
    }
}

/// A stage that is not reported yet.
#[derive(Debug)]
pub(crate) struct Stage {
    broadcasts: Broadcasts,
    bits: Vec<Binary>,
    votes: BitVotes,
    batches: BTreeMap<BatchId, Batch>,
    /// Everything that this party has said, for peers that missed it.
    said: Vec<(Party, Vote)>,
    /// Parties that have begun it: those that have proposed a batch.
    pub(crate) begun: Supporters,
    /// Whether this party's batch was proposed.
    pub(crate) is_proposed: bool,
    /// Whether this party has announced its last vote.
    pub(crate) is_prefinalized: bool,
    pub(crate) outcome: Option<StageOutcome>,
    /// Batches of the outcome that are not here.
    lacking: Vec<(Party, BatchId)>,
    /// When somebody is asked for one of them.
    asks_at: Option<Instant>,
    /// Parties that say that this is the outcome: those who did can be asked for its batches.
    pub(crate) claimers: Vec<Party>,
    wants: BTreeMap<Party, Want>,
    /// When proposers whose batches are not here are left out.
    waits_until: Option<Instant>,
    /// Proposers whose batches are delivered.
    delivered: Supporters,
    /// Proposers of whom something has come since, a bit for each. In a large committee that is a small part of them.
    news: Vec<u64>,
    has_news: bool,
    /// When there is something to do by itself.
    due: Option<Instant>,
    /// When all were last told again what was said here.
    repeated: Option<Instant>,
}

impl Stage {
    pub(crate) fn new(committee: &Replicas, me: Party, timeout: Duration) -> Self {
        Self {
            broadcasts: Broadcasts::new(committee, me),
            bits: committee.members().map(|proposer| Binary::new(me, proposer, timeout)).collect(),
            votes: BitVotes::default(),
            batches: BTreeMap::new(),
            said: Vec::new(),
            begun: Supporters::default(),
            is_proposed: false,
            is_prefinalized: false,
            outcome: None,
            lacking: Vec::new(),
            asks_at: None,
            claimers: Vec::new(),
            wants: BTreeMap::new(),
            waits_until: None,
            delivered: Supporters::default(),
            news: vec![u64::MAX; committee.words()],
            has_news: true,
            due: None,
            repeated: None,
        }
    }

    /// The batch that this proposer has sent here.
    pub(crate) fn received_batch(&self, proposer: Party) -> Option<BatchId> {
        self.broadcasts.received_batch(proposer)
    }

    /// A batch from its proposer, durable by now.
    pub(crate) fn receive_batch(&mut self, proposer: Party, id: BatchId, batch: Batch) {
        self.broadcasts.received(proposer, id);
        self.store(id, batch);
        let (word, mask) = place(proposer);
        self.note(word, mask);
    }

    fn store(&mut self, id: BatchId, batch: Batch) {
        self.batches.insert(id, batch);
        self.lacking.retain(|(_, one)| *one != id);
    }

    /// Something has come that is about these proposers of a word.
    fn note(&mut self, word: usize, mask: u64) {
        if let Some(news) = self.news.get_mut(word) {
            *news |= mask;
            self.has_news |= mask != 0;
        }
    }

    /// Whether this batch is decided and not here.
    pub(crate) fn lacks(&self, proposer: Party, id: BatchId) -> bool {
        self.lacking.contains(&(proposer, id))
    }

    /// A batch that was asked for, durable by now. Only one that is [lacking](Self::lacks) is taken.
    pub(crate) fn receive_answer(&mut self, proposer: Party, id: BatchId, batch: Batch) {
        if self.lacks(proposer, id) {
            self.store(id, batch);
            self.wants.remove(&proposer);
        }
    }

    /// Takes the outcome, also one that others have told.
    pub(crate) fn conclude(&mut self, outcome: StageOutcome) {
        let lacking = outcome.iter().filter(|(_, id)| !self.batches.contains_key(id));
        self.lacking = lacking.copied().collect();
        self.asks_at = (!self.lacking.is_empty()).then_some(Instant::START);
        self.outcome = Some(outcome);
    }

    /// Counts votes. All that contradict nothing are counted.
    ///
    /// # Errors
    /// If the sender has said something else before, of which it may say one.
    pub(crate) fn receive_votes(
        &mut self,
        committee: &Replicas,
        from: Party,
        steps: &[Step],
    ) -> Result<(), Contradicted> {
        let mut counted = Ok(());
        for step in steps {
            let result = match step {
                Step::Estimate { round, own, bits } => {
                    let kind = Kind::Estimate { round: *round, own: *own };
                    self.count(committee, from, kind, bits.cells())
                }
                Step::Auxiliary { round, bits } => {
                    self.count(committee, from, Kind::Auxiliary { round: *round }, bits.cells())
                }
                Step::Echo(list) => {
                    let each = list.iter().map(|(one, batch)| (*one, BatchVote::Echo(*batch)));
                    self.hear(committee, from, each.map(|(one, vote)| (one, Vote::Batch(vote))))
                }
                Step::Ready(list) => {
                    let each = list.iter().map(|(one, batch)| (*one, BatchVote::Ready(*batch)));
                    self.hear(committee, from, each.map(|(one, vote)| (one, Vote::Batch(vote))))
                }
                Step::Coordinate { .. } => self.hear(committee, from, step.votes()),
            };
            counted = counted.and(result);
        }
        counted
    }

    /// Counts bits that a peer says, by words of proposers.
    fn count(
        &mut self,
        committee: &Replicas,
        from: Party,
        kind: Kind,
        all: impl Iterator<Item = Cells>,
    ) -> Result<(), Contradicted> {
        let (Kind::Estimate { round, .. } | Kind::Auxiliary { round }) = kind;
        let mut counted = Ok(());
        for cells in all {
            self.note(cells.word, cells.all());
            let first = cells.word.saturating_mul(WORD);
            let bits = self.bits.get(first..).unwrap_or(&[]);
            let knows = |at: &usize| bits.get(*at).is_some_and(|binary| binary.knows(round));
            let known = match round {
                0 => 0,
                _ if Binary::is_early(round) => u64::MAX,
                _ => ones(cells.all()).filter(knows).fold(0, |mask, at| mask | 1 << at),
            };
            counted = counted.and(self.votes.receive(committee, from, kind, cells.among(known)));
        }
        counted
    }

    /// Takes votes one by one.
    fn hear(
        &mut self,
        committee: &Replicas,
        from: Party,
        votes: impl IntoIterator<Item = (Party, Vote)>,
    ) -> Result<(), Contradicted> {
        let mut heard = Ok(());
        for (proposer, vote) in votes {
            let (word, mask) = place(proposer);
            self.note(word, mask);
            if from == proposer && matches!(vote, Vote::Batch(BatchVote::Echo(_))) {
                self.begun.insert(committee, from);
            }
            let result = match (vote, self.bits.get_mut(proposer.index())) {
                (Vote::Batch(vote), _) => self.broadcasts.receive(committee, from, proposer, vote),
                (Vote::Bit(vote), Some(binary)) => {
                    binary.receive(&mut self.votes, committee, from, vote)
                }
                _ => Ok(()),
            };
            heard = heard.and(result);
        }
        heard
    }

    /// Takes what this party said in an earlier life.
    pub(crate) fn restore(&mut self, committee: &Replicas, me: Party, steps: &[Step]) {
        for (proposer, vote) in steps.iter().flat_map(Step::votes) {
            if let Vote::Bit(BitVote::Estimate { round: 1, bit, own: true }) = vote
                && let Some(binary) = self.bits.get_mut(proposer.index())
            {
                binary.propose(bit);
            }
            // It contradicted nothing when it was written.
            let _own = self.hear(committee, me, [(proposer, vote)]);
            self.said.push((proposer, vote));
        }
    }

    /// Whether all may be told again what this party said, which they may once in this time.
    pub(crate) fn repeats(&mut self, now: Instant, pause: Duration) -> bool {
        let may = self.repeated.is_none_or(|last| now.since(last) >= pause);
        if may {
            self.repeated = Some(now);
        }
        may
    }

    /// Whether something has come, or its time has.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.has_news || self.due.is_some_and(|due| due <= now)
    }

    /// Whether nobody waits for this party, since so many have told the outcome that the honest ones among them are enough
    /// for all others. A weak quorum is not: all of it but one party may be faulty and tell nobody else.
    fn is_told(&self, committee: &Replicas) -> bool {
        let stakes = self.claimers.iter().map(|claimer| committee.stake(*claimer));
        committee.is_strong(stakes.fold(0, u128::saturating_add))
    }

    /// What this party says by now.
    pub(crate) fn advance(
        &mut self,
        committee: &Replicas,
        now: Instant,
        patience: Duration,
    ) -> Vec<Step> {
        self.has_news = false;
        if self.outcome.is_some() && self.said.is_empty() && self.is_told(committee) {
            self.due = None;
            return Vec::new();
        }
        let mut news = std::mem::take(&mut self.news);
        // What has waited for a time does not know which proposer it is about.
        if self.due.is_some_and(|due| due <= now) {
            news.fill(u64::MAX);
        }
        let mut said = Vec::new();
        for proposer in members(&news) {
            let Some(binary) = self.bits.get_mut(proposer.index()) else { break };
            let votes = self.broadcasts.advance(committee, proposer).into_iter().map(Vote::Batch);
            said.extend(votes.map(|vote| (proposer, vote)));
            if self.broadcasts.delivered(committee, proposer).is_some() {
                self.delivered.insert(committee, proposer);
                binary.propose(true);
            }
        }
        if committee.is_strong(self.delivered.stake())
            && now >= *self.waits_until.get_or_insert(now + patience)
        {
            for (proposer, binary) in committee.members().zip(&mut self.bits) {
                let (word, mask) = place(proposer);
                if binary.propose(false)
                    && let Some(news) = news.get_mut(word)
                {
                    *news |= mask;
                }
            }
        }
        for proposer in members(&news) {
            let Some(binary) = self.bits.get_mut(proposer.index()) else { break };
            let votes = binary.advance(&mut self.votes, committee, now).into_iter().map(Vote::Bit);
            said.extend(votes.map(|vote| (proposer, vote)));
        }
        news.fill(0);
        self.news = news;
        self.said.extend(said.iter().copied());
        let bits = self.bits.iter().filter_map(Binary::wake_at);
        self.due = bits.chain(self.waits_until).filter(|at| *at > now).min();
        Step::group(said)
    }

    /// All that this party has said, for a peer that missed it.
    pub(crate) fn all_said(&self) -> Vec<Step> {
        Step::group(self.said.iter().copied())
    }

    /// The outcome, if all bits are decided and it is known what they stand for.
    pub(crate) fn decide(&self, committee: &Replicas) -> Option<StageOutcome> {
        let mut outcome = StageOutcome::new();
        for (binary, proposer) in self.bits.iter().zip(committee.members()) {
            if binary.decided()? {
                outcome.push((proposer, self.broadcasts.delivered(committee, proposer)?));
            }
        }
        Some(outcome)
    }

    /// The value for which this party has sent all that decides it in the first rounds that can.
    pub(crate) fn prefinalized(
        &self,
        committee: &Replicas,
        context: &[u8; 32],
        stage: Slot,
    ) -> Option<Value> {
        let mut outcome = StageOutcome::new();
        for (binary, proposer) in self.bits.iter().zip(committee.members()) {
            if binary.prefinalized(&self.votes, committee)? {
                outcome.push((proposer, self.broadcasts.delivered(committee, proposer)?));
            }
        }
        Some(value_of(context, stage, &outcome))
    }

    /// Whether its block can be put together: it is decided, and all batches that are in are here.
    pub(crate) const fn is_complete(&self) -> bool {
        self.outcome.is_some() && self.lacking.is_empty()
    }

    /// When somebody is to be asked for a batch that is decided and missing.
    pub(crate) const fn asks_at(&self) -> Option<Instant> {
        self.asks_at
    }

    /// Whom to ask now for what is decided and missing: holders, and the proposer whose batch they hold. Of each batch one
    /// party at a time, and the first one after a pause of `grace`, in which it may still come from its proposer.
    pub(crate) fn ask(
        &mut self,
        committee: &Replicas,
        now: Instant,
        grace: Duration,
        pause: Duration,
    ) -> Vec<(Party, Party)> {
        if self.asks_at.is_none_or(|at| now < at) {
            return Vec::new();
        }
        let (mut asks, mut next) = (Vec::new(), None);
        for (proposer, id) in self.lacking.iter().copied() {
            let want =
                self.wants.entry(proposer).or_insert_with(|| Want::new(proposer, now + grace));
            if want.next <= now {
                let mut holders = self.broadcasts.holders(committee, proposer, id);
                holders.extend(&self.claimers);
                let holder = want.ask(now, pause, &holders);
                asks.extend(holder.map(|holder| (holder, proposer)));
            }
            next = next.into_iter().chain([want.next]).min();
        }
        self.asks_at = next;
        asks
    }

    /// The same for batches that others have received and this party has not, each from its proposer. This party's echo
    /// may be needed before anything can be decided.
    pub(crate) fn ask_proposers(&mut self, now: Instant, pause: Duration) -> Vec<(Party, Party)> {
        if self.outcome.is_some() {
            return Vec::new();
        }
        let late = self.begun.iter().filter(|one| self.received_batch(*one).is_none());
        let late: Vec<Party> = late.collect();
        let ask = |proposer| {
            let want = self.wants.entry(proposer).or_insert_with(|| Want::new(proposer, now));
            want.ask(now, pause, &[proposer]).map(|holder| (holder, proposer))
        };
        late.into_iter().filter_map(ask).collect()
    }

    pub(crate) fn batch(&self, id: BatchId) -> Option<&Batch> {
        self.batches.get(&id)
    }

    /// This proposer's batch: the decided one, or before that the one that it sent here.
    pub(crate) fn batch_of(&self, proposer: Party) -> Option<&Batch> {
        let decided = self.outcome.iter().flatten().find(|(one, _)| *one == proposer);
        let sent = || self.broadcasts.received_batch(proposer);
        self.batches.get(&decided.map(|(_, id)| *id).or_else(sent)?)
    }

    /// Whether this party's own batch is delivered: its network has nothing to send for this stage.
    pub(crate) fn has_delivered(&self, committee: &Replicas, proposer: Party) -> bool {
        self.broadcasts.delivered(committee, proposer).is_some()
    }

    /// When there is something to do by itself beside asking.
    pub(crate) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// When something is due by itself; what is over may be among it.
    pub(crate) fn wakes_at(&self) -> impl Iterator<Item = Instant> {
        self.wants.values().map(|want| want.next).chain(self.due)
    }

    pub(crate) fn into_batches(self) -> BTreeMap<BatchId, Batch> {
        self.batches
    }
}
