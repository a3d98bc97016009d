//! What peers send: what is taken, what is answered, and what is a fault.
use prefinal_protocol::{Instant, Party, Recipient, Slot};

use crate::batch::{Batch, MAX_TRANSACTIONS, StageOutcome};
use crate::engine::{Dispel, Fault, LINGER};
use crate::message::{Message, Step};
use crate::records::Record;

/// Votes on one proposer in one message. An honest party that has more to say says it in several.
pub(crate) const MAX_VOTES_EACH: usize = 64;
/// Full batches that a peer is given within a timeout, and how many small ones count as a full one at most.
const MAX_SERVED: usize = 64;
const SMALL: usize = 16;
/// Bytes of a batch without transactions.
const EMPTY: usize = 4;

/// What a peer was told that asked what it missed.
#[derive(Debug)]
pub(crate) struct Answered {
    /// When it was told everything.
    at: Option<Instant>,
    /// The first stage whose outcome it was not told.
    next: Slot,
}

/// That others have told how stages ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    /// The last of these stages.
    pub(crate) last: Slot,
    /// When something new was told.
    pub(crate) at: Instant,
}

/// Batches that a peer was given.
#[derive(Debug)]
pub(crate) struct Served {
    since: Instant,
    bytes: usize,
}

impl Dispel {
    pub(crate) fn receive(&mut self, now: Instant, from: Party, message: Message) {
        if from.index() >= self.committee.size() || from == self.config.me {
            return;
        }
        match message {
            Message::Batch { stage, batch } => self.receive_batch(stage, from, batch),
            Message::Votes { stage, steps } => self.receive_votes(from, stage, &steps),
            Message::Request { stage, proposer } => self.serve(now, from, stage, proposer),
            Message::Answer { stage, proposer, batch } => {
                let id = batch.id(&self.context, stage, proposer);
                if self.stages.get(&stage).is_some_and(|open| open.lacks(proposer, id)) {
                    self.keep(Record::Stored { stage, proposer, batch: batch.clone() });
                    self.stage(stage).receive_answer(proposer, id, batch);
                    self.timers.are_old = true;
                } else if from == proposer {
                    self.receive_batch(stage, from, batch);
                }
            }
            Message::Status { next } => self.answer(now, from, next),
            Message::Decided { stage, outcome } => self.claim(now, from, stage, outcome),
        }
    }

    fn receive_batch(&mut self, stage: Slot, from: Party, batch: Batch) {
        if !self.takes(stage) {
            return;
        }
        let is_large = batch.encoded_len() > self.longest_batch()
            || batch.transactions.len() > MAX_TRANSACTIONS;
        if is_large {
            return self.accuse(from, stage, Fault::LargeBatch(stage));
        }
        let id = batch.id(&self.context, stage, from);
        match self.stage(stage).received_batch(from) {
            Some(known) if known == id => return,
            Some(_) => return self.accuse(from, stage, Fault::Contradiction(stage)),
            None => {}
        }
        self.keep(Record::Stored { stage, proposer: from, batch: batch.clone() });
        let committee = &self.committee;
        if let Some(open) = self.stages.get_mut(&stage) {
            open.receive_batch(from, id, batch);
            open.begun.insert(committee, from);
        }
    }

    fn receive_votes(&mut self, from: Party, stage: Slot, steps: &[Step]) {
        if !self.takes(stage) {
            return;
        }
        if !self.is_well_formed(steps) {
            return self.accuse(from, stage, Fault::Malformed(stage));
        }
        self.stage(stage);
        let (committee, Some(open)) = (&self.committee, self.stages.get_mut(&stage)) else {
            return;
        };
        if open.receive_votes(committee, from, steps).is_err() {
            self.accuse(from, stage, Fault::Contradiction(stage));
        }
    }

    /// Whether votes are on members of the committee, and no more of them than honest parties send. Looks at the lengths
    /// before at the votes, for a byte of a map is eight of them.
    fn is_well_formed(&self, steps: &[Step]) -> bool {
        let size = self.committee.size();
        // A map ends with the byte that has its last proposer.
        let places = size.next_multiple_of(8);
        let most = places.saturating_mul(MAX_VOTES_EACH);
        let mut count = 0_usize;
        steps.iter().all(|step| {
            count = count.saturating_add(step.length());
            step.length() <= places && count <= most
        }) && steps.iter().all(|step| step.speaks_of(&self.committee))
    }

    /// Bytes of the longest batch: one of no transactions has some as well.
    fn longest_batch(&self) -> usize {
        self.config.max_batch_bytes.max(EMPTY)
    }

    /// Gives a peer a batch that it lacks, if it was not given too much lately. What it has been given is looked at before
    /// the batch is.
    fn serve(&mut self, now: Instant, to: Party, stage: Slot, proposer: Party) {
        let full = self.longest_batch();
        let open = self.stages.get(&stage);
        let here = open.and_then(|open| open.batch_of(proposer));
        let past = || {
            let past = self.past.get(&stage)?;
            let (_, id) = past.outcome.iter().find(|(one, _)| *one == proposer)?;
            past.batches.get(id)
        };
        let Some(batch) = here.or_else(past) else { return };
        let least = full.div_ceil(SMALL);
        let served = self.served.entry(to).or_insert(Served { since: now, bytes: 0 });
        if now.since(served.since) > self.config.timeout {
            *served = Served { since: now, bytes: 0 };
        }
        let left = full.saturating_mul(MAX_SERVED).saturating_sub(served.bytes);
        if left < least {
            return;
        }
        // Many short transactions are as much work as few long ones.
        let many = full.saturating_mul(batch.transactions.len()) / MAX_TRANSACTIONS;
        let bytes = batch.encoded_len().max(many).max(least);
        if bytes <= left {
            served.bytes = served.bytes.saturating_add(bytes);
            let batch = batch.clone();
            self.send(Recipient::One(to), Message::Answer { stage, proposer, batch });
        }
    }

    /// Tells a peer what it has missed: outcomes of stages that are over, and what was said in others. What it was not
    /// told before it is told at once, so that it comes back faster than others go on; that is one outcome for each stage.
    /// Everything else it is told now and then.
    fn answer(&mut self, now: Instant, to: Party, next: Slot) {
        let first = next.max(Slot::new(1));
        let last = Slot::new(first.get().saturating_add(LINGER)).min(self.next);
        let pause = self.config.timeout / 2;
        let new = || Answered { at: None, next: first };
        let answered = self.answered.entry(to).or_insert_with(new);
        let is_time = answered.at.is_none_or(|at| now.since(at) >= pause);
        let first = if is_time { first } else { first.max(answered.next) };
        answered.next = answered.next.max(last);
        if is_time {
            answered.at = Some(now);
        }
        for stage in (first.get()..last.get()).map(Slot::new) {
            let outcome = self.past.get(&stage).map(|past| &past.outcome);
            let outcome = outcome.or_else(|| self.stages.get(&stage)?.outcome.as_ref()).cloned();
            if let Some(outcome) = outcome {
                self.send(Recipient::One(to), Message::Decided { stage, outcome });
            }
        }
        if !is_time {
            return;
        }
        // Its own outcome alone is believed by nobody: who lacks votes may lack this party's in a stage that is over here.
        let here: Vec<Slot> = self.stages.range(next..).map(|(stage, _)| *stage).collect();
        for stage in here {
            self.repeat(stage, Recipient::One(to));
        }
        // A party that was over with this stage, crashed and lacks votes of others that are over with it asks for
        // nothing: it does not know that it has to speak in further rounds. So all hear what was said.
        let is_over = next < self.next;
        let open = self.stages.get_mut(&next).filter(|_| is_over);
        if open.is_some_and(|open| open.repeats(now, pause)) {
            self.repeat(next, Recipient::All);
        }
    }

    /// A peer says what was decided. A weak quorum that says so is believed.
    fn claim(&mut self, now: Instant, from: Party, stage: Slot, outcome: StageOutcome) {
        let window = self.next.get()..self.next.get().saturating_add(LINGER);
        let size = self.committee.size();
        let is_sorted = outcome.is_sorted_by(|(one, _), (other, _)| one < other);
        let are_members = outcome.iter().all(|(proposer, _)| proposer.index() < size);
        if !window.contains(&stage.get()) || !is_sorted || !are_members {
            return;
        }
        let claims = self.claims.entry(stage).or_default();
        claims.insert(from, outcome.clone());
        let same = claims.iter().filter(|(_, other)| **other == outcome);
        let claimers: Vec<Party> = same.map(|(party, _)| *party).collect();
        let stakes = claimers.iter().map(|party| self.committee.stake(*party));
        let is_believed = self.committee.is_weak(stakes.fold(0, u128::saturating_add));
        let open = self.stage(stage);
        if is_believed && open.outcome.is_none() {
            self.keep(Record::Decided { stage, outcome: outcome.clone() });
            self.conclude(stage, outcome.clone());
            let before = self.told.map_or(stage, |told| told.last);
            self.told = Some(Told { last: before.max(stage), at: now });
        }
        // Who says so has its batches too.
        let open = self.stage(stage);
        if open.outcome.as_ref() == Some(&outcome) {
            open.claimers = claimers;
        }
    }
}
