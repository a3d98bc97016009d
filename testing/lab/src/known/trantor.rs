//! Ideal signatures for Trantor's votes and acknowledgements: no curve, and exact, as in `ideal`.
//!
//! | question                     | answer                                                                    |
//! |------------------------------|---------------------------------------------------------------------------|
//! | is this vote its party's?    | the party was seen to send it, with this signature; an author's own acknowledgement is checked on the curve |
//! | the sum of votes             | the signature of the first voter stands for it                             |
//! | is this certificate valid?   | a quorum, everyone in it was seen to vote so, and it has that signature     |
//! | anything else                | checked on the curve                                                       |
//!
//! What is not found here is checked on the curve, as [`Job::run`] does: so no false statement passes.
use std::collections::{BTreeMap, BTreeSet};

use ::prefinal_trantor::{AvailabilityCertificate, BatchLabel, MultiSignature, Replicas, Stage};
use ::prefinal_trantor::{Claim, Job, Message, Outcome, Verdict, Vote, Work};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Slot, Value, View};

use super::ideal::{REMEMBERED, Votes, is_sum, seen, sum_of};

/// Batches that are remembered: each party may have some on the way.
const BATCHES: usize = 4096;

/// What parties were seen to sign.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdealCertificates {
    votes: BTreeMap<(View, Value, Stage), Votes>,
    /// By the height that a batch's time ends at, so that the oldest is forgotten first.
    acks: BTreeMap<(Slot, BatchLabel), Votes>,
}

impl IdealCertificates {
    /// Notes what a party signs.
    pub(crate) fn see(&mut self, from: Party, message: &Message) {
        let (votes, signature) = match message {
            Message::Prepare(vote) => (self.ballot(vote, Stage::Prepare), vote.signature),
            Message::Commit(commit) => {
                (self.ballot(&commit.vote, Stage::Commit), commit.vote.signature)
            }
            Message::Ack(label, signature) => {
                (seen(&mut self.acks, (label.until, *label), BATCHES), *signature)
            }
            _ => return,
        };
        votes.insert(from, signature);
    }

    fn ballot(&mut self, vote: &Vote, stage: Stage) -> &mut Votes {
        seen(&mut self.votes, (vote.view, vote.value, stage), REMEMBERED)
    }

    /// The verdict that [`Job::run`] would give, with another signature in place of a sum.
    pub(crate) fn run(&mut self, job: &Job) -> Verdict {
        let outcome = match job.work() {
            Work::Votes { stage, view, value, votes } => {
                let known = self.votes.get(&(*view, *value, *stage));
                sum_of(known, votes).map(|sum| Outcome::Sum(Ok(sum)))
            }
            Work::Acks { batch, acks } => {
                self.note_own(job.committee(), batch, acks);
                let known = self.acks.get(&(batch.until, *batch));
                sum_of(known, acks).map(|sum| Outcome::Sum(Ok(sum)))
            }
            Work::Claims(claims) => {
                let fails = |claim: &Claim| !self.holds(job.committee(), claim);
                let failing = claims.iter().enumerate().filter(|(_, claim)| fails(claim));
                let failing: BTreeSet<usize> = failing.map(|(position, _)| position).collect();
                Some(Outcome::Claims(failing))
            }
            Work::Changes { .. } | Work::Evidence { .. } => None,
        };
        match outcome {
            Some(outcome) => Verdict { job: job.fingerprint(), outcome },
            None => job.run(),
        }
    }

    /// An author sends its own acknowledgement to nobody, so it is checked on the curve, once.
    fn note_own(&mut self, committee: &Replicas, batch: &BatchLabel, acks: &Votes) {
        let known = seen(&mut self.acks, (batch.until, *batch), BATCHES);
        let author = batch.author;
        let (Some(ack), Some(member)) = (acks.get(&author), committee.member(author)) else {
            return;
        };
        if known.contains_key(&author) {
            return;
        }
        let message = batch.statement(committee);
        if ack.verify(member.key.get(), BatchLabel::domain(), &message).is_ok() {
            known.insert(author, *ack);
        }
    }

    fn holds(&self, committee: &Replicas, claim: &Claim) -> bool {
        let known = match claim {
            Claim::Votes(stage, certificate) => {
                let key = (certificate.view, certificate.value, *stage);
                let votes = &certificate.votes;
                committee.is_strong(stake(committee, votes)) && is_sum(self.votes.get(&key), votes)
            }
            Claim::Batch(AvailabilityCertificate { batch, acks }) => {
                committee.is_weak(stake(committee, acks))
                    && is_sum(self.acks.get(&(batch.until, *batch)), acks)
            }
            Claim::Change(_) => false,
        };
        known || claim.holds(committee)
    }
}

fn stake(committee: &Replicas, votes: &MultiSignature) -> u128 {
    votes.signers.iter().map(|party| committee.stake(party)).fold(0, u128::saturating_add)
}
