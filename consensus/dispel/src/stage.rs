//! One stage: everybody's batch, one binary consensus for each, and what is decided.
use std::collections::BTreeMap;

use core::time::Duration;
use prefinal_protocol::{Instant, Party, Slot, Value};

use crate::batch::{Batch, BatchId, StageOutcome, value_of};
use crate::binary::{Binary, BitVote, Contradicted};
use crate::broadcast::{BatchVote, Broadcast};
use crate::message::{Step, Vote};
use crate::quorum::{Replicas, Supporters};

/// A batch that is not here.
#[derive(Debug)]
struct Want {
    /// How many parties were asked.
    asked: usize,
    /// When the next one is asked.
    next: Instant,
}

impl Want {
    const fn from(next: Instant) -> Self {
        Self { asked: 0, next }
    }

    /// Which of these is asked now, if it is time.
    fn ask(&mut self, now: Instant, pause: Duration, holders: &[Party]) -> Option<Party> {
        if now < self.next {
            return None;
        }
        let at = self.asked.checked_rem(holders.len())?;
        self.next = now + pause;
        self.asked = self.asked.saturating_add(1);
        holders.get(at).copied()
    }
}

/// A stage that is not reported yet.
#[derive(Debug)]
pub(crate) struct Stage {
    broadcasts: Vec<Broadcast>,
    bits: Vec<Binary>,
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
    /// Parties that say that this is the outcome: those who did can be asked for its batches.
    pub(crate) claimers: Vec<Party>,
    wants: BTreeMap<Party, Want>,
    /// When proposers whose batches are not here are left out.
    waits_until: Option<Instant>,
    /// Proposers whose batches are delivered.
    delivered: Supporters,
    /// Proposers of whom something has come since, by number. In a large committee that is a small part of them.
    news: Vec<bool>,
    has_news: bool,
    /// When there is something to do by itself.
    due: Option<Instant>,
    /// When all were last told again what was said here.
    repeated: Option<Instant>,
}

impl Stage {
    pub(crate) fn new(committee: &Replicas, me: Party, timeout: Duration) -> Self {
        Self {
            broadcasts: committee.members().map(|_| Broadcast::new(me)).collect(),
            bits: committee.members().map(|proposer| Binary::new(me, proposer, timeout)).collect(),
            batches: BTreeMap::new(),
            said: Vec::new(),
            begun: Supporters::default(),
            is_proposed: false,
            is_prefinalized: false,
            outcome: None,
            claimers: Vec::new(),
            wants: BTreeMap::new(),
            waits_until: None,
            delivered: Supporters::default(),
            news: vec![true; committee.size()],
            has_news: true,
            due: None,
            repeated: None,
        }
    }

    /// The batch that this proposer has sent here.
    pub(crate) fn received_batch(&self, proposer: Party) -> Option<BatchId> {
        self.broadcasts.get(proposer.index())?.received_batch()
    }

    /// A batch from its proposer, durable by now.
    pub(crate) fn receive_batch(&mut self, proposer: Party, id: BatchId, batch: Batch) {
        if let Some(broadcast) = self.broadcasts.get_mut(proposer.index()) {
            broadcast.received(id);
            self.batches.insert(id, batch);
            self.note(proposer);
        }
    }

    /// Something has come that is about this proposer.
    fn note(&mut self, proposer: Party) {
        if let Some(news) = self.news.get_mut(proposer.index()) {
            *news = true;
            self.has_news = true;
        }
    }

    /// Whether this batch is decided and not here.
    pub(crate) fn lacks(&self, proposer: Party, id: BatchId) -> bool {
        self.missing().any(|one| one == (proposer, id))
    }

    /// A batch that was asked for, durable by now. Only one that is [lacking](Self::lacks) is taken.
    pub(crate) fn receive_answer(&mut self, proposer: Party, id: BatchId, batch: Batch) {
        if self.lacks(proposer, id) {
            self.batches.insert(id, batch);
            self.wants.remove(&proposer);
        }
    }

    /// Counts a vote on one proposer.
    ///
    /// # Errors
    /// If the sender has said something else before, of which it may say one.
    pub(crate) fn receive_vote(
        &mut self,
        committee: &Replicas,
        from: Party,
        (proposer, vote): (Party, Vote),
    ) -> Result<(), Contradicted> {
        self.note(proposer);
        if from == proposer && matches!(vote, Vote::Batch(BatchVote::Echo(_))) {
            self.begun.insert(committee, from);
        }
        let at = proposer.index();
        match (vote, self.broadcasts.get_mut(at), self.bits.get_mut(at)) {
            (Vote::Batch(vote), Some(broadcast), _) => broadcast.receive(committee, from, vote),
            (Vote::Bit(vote), _, Some(binary)) => binary.receive(committee, from, vote),
            _ => Ok(()),
        }
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
            let _own = self.receive_vote(committee, me, (proposer, vote));
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

    /// What this party says by now.
    pub(crate) fn advance(
        &mut self,
        committee: &Replicas,
        now: Instant,
        patience: Duration,
    ) -> Vec<Step> {
        self.has_news = false;
        if self.outcome.is_some() && self.said.is_empty() {
            // Others have told the outcome: nobody waits for this party.
            self.due = None;
            return Vec::new();
        }
        // What has waited for a time does not know which proposer it is about.
        if self.due.is_some_and(|due| due <= now) {
            self.news.fill(true);
        }
        let mut said = Vec::new();
        let slots = self.broadcasts.iter_mut().zip(&mut self.bits).zip(&self.news);
        for (proposer, ((broadcast, binary), _)) in
            committee.members().zip(slots).filter(|(_, (_, news))| **news)
        {
            let votes = broadcast.advance(committee).into_iter().map(Vote::Batch);
            said.extend(votes.map(|vote| (proposer, vote)));
            if broadcast.delivered(committee).is_some() {
                self.delivered.insert(committee, proposer);
                binary.propose(true);
            }
        }
        if committee.is_strong(self.delivered.stake()) {
            let until = *self.waits_until.get_or_insert(now + patience);
            for (binary, news) in self.bits.iter_mut().zip(&mut self.news) {
                *news |= now >= until && binary.propose(false);
            }
        }
        let bits = self.bits.iter_mut().zip(&self.news);
        for (proposer, (binary, _)) in committee.members().zip(bits).filter(|(_, (_, news))| **news)
        {
            let votes = binary.advance(committee, now).into_iter().map(Vote::Bit);
            said.extend(votes.map(|vote| (proposer, vote)));
        }
        self.news.fill(false);
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
        let decided = self.bits.iter().zip(&self.broadcasts).zip(committee.members());
        let mut outcome = StageOutcome::new();
        for ((binary, broadcast), proposer) in decided {
            if binary.decided()? {
                outcome.push((proposer, broadcast.delivered(committee)?));
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
        let bits = self.bits.iter().zip(&self.broadcasts).zip(committee.members());
        let mut outcome = StageOutcome::new();
        for ((binary, broadcast), proposer) in bits {
            if binary.prefinalized(committee)? {
                outcome.push((proposer, broadcast.delivered(committee)?));
            }
        }
        Some(value_of(context, stage, &outcome))
    }

    /// Batches of the outcome that are not here.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (Party, BatchId)> {
        let outcome = self.outcome.iter().flatten().copied();
        outcome.filter(|(_, id)| !self.batches.contains_key(id))
    }

    /// Whom to ask now for what is decided and missing: holders, and the proposer whose batch they hold. Of each batch one
    /// party at a time, and the first one after a pause of `grace`, in which it may still come from its proposer.
    pub(crate) fn ask(
        &mut self,
        now: Instant,
        grace: Duration,
        pause: Duration,
    ) -> Vec<(Party, Party)> {
        let missing: Vec<_> = self.missing().collect();
        let mut asks = Vec::new();
        for (proposer, id) in missing {
            let held = self.broadcasts.get(proposer.index());
            let mut holders = held.map(|one| one.holders(id)).unwrap_or_default();
            holders.extend(&self.claimers);
            let want = self.wants.entry(proposer).or_insert(Want::from(now + grace));
            let holder = want.ask(now, pause, &holders);
            asks.extend(holder.map(|holder| (holder, proposer)));
        }
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
            let want = self.wants.entry(proposer).or_insert(Want::from(now));
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
        let sent = || self.broadcasts.get(proposer.index())?.received_batch();
        self.batches.get(&decided.map(|(_, id)| *id).or_else(sent)?)
    }

    /// Whether this party's own batch is delivered: its network has nothing to send for this stage.
    pub(crate) fn has_delivered(&self, committee: &Replicas, proposer: Party) -> bool {
        let broadcast = self.broadcasts.get(proposer.index());
        broadcast.is_some_and(|one| one.delivered(committee).is_some())
    }

    /// When something is due by itself; what is over may be among it.
    pub(crate) fn wakes_at(&self) -> impl Iterator<Item = Instant> {
        self.wants.values().map(|want| want.next).chain(self.due)
    }

    pub(crate) fn into_batches(self) -> BTreeMap<BatchId, Batch> {
        self.batches
    }
}
