//! Trantor's signatures without pairings: a vote is valid if its party was seen to cast it.
//!
//! | question                     | answer                                                                    |
//! |------------------------------|---------------------------------------------------------------------------|
//! | is this vote its party's?    | the party was seen to send it, with this signature; an author's own acknowledgement is its own |
//! | the sum of votes             | the sum, or the signature of the first voter in place of it ([`Sums`])      |
//! | is this certificate valid?   | a quorum, everyone in it was seen to vote so, and it has that sum           |
//! | anything else                | checked on the curve                                                       |
//!
//! What is not found here is checked on the curve, as [`Job::run`] does: so no false statement passes.
use std::collections::{BTreeMap, BTreeSet};

use ::prefinal_trantor::{
    AvailabilityCertificate, BatchLabel, ChangeCertificate, Fingerprint, MultiSignature, Replicas,
    Stage,
};
use ::prefinal_trantor::{Claim, Job, Message, Outcome, Verdict, Vote, Work};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_crypto_core::certificate::Signers;
use prefinal_protocol::{Slot, Value, View};

use super::sums::{REMEMBERED, Sums, Votes, seen};

/// Batches that are remembered: each party may have some on the way.
const BATCHES: usize = 4096;

/// What parties of one committee were seen to sign.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdealCertificates {
    sums: Sums,
    votes: BTreeMap<(View, Value, Stage), Votes>,
    /// By the view that is asked for, and the attempt that was prepared last.
    asks: BTreeMap<(View, Option<u32>), Votes>,
    /// By the height that a batch's time ends at, so that the oldest is forgotten first.
    acks: BTreeMap<(Slot, BatchLabel), Votes>,
    /// What was checked on the curve.
    checked: BTreeMap<Fingerprint, Verdict>,
}

impl IdealCertificates {
    pub(crate) fn with_sums(sums: Sums) -> Self {
        Self { sums, ..Self::default() }
    }

    /// Notes what a party signs.
    pub(crate) fn see(&mut self, from: Party, message: &Message) {
        let (votes, signature) = match message {
            Message::Prepare(vote) => (self.ballot(vote, Stage::Prepare), vote.signature),
            Message::Commit(commit) => {
                (self.ballot(&commit.vote, Stage::Commit), commit.vote.signature)
            }
            Message::ViewChange(change) => {
                let claim = change.prepared.as_ref().map(|prepared| prepared.view.attempt);
                (seen(&mut self.asks, (change.view, claim), REMEMBERED), change.signature)
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

    /// The verdict that [`Job::run`] would give, except that a sum may be [another](Sums).
    pub(crate) fn run(&mut self, job: &Job) -> Verdict {
        let sum = match job.work() {
            Work::Votes { stage, view, value, votes } => {
                self.sums.of_votes(self.votes.get(&(*view, *value, *stage)), votes)
            }
            Work::Acks { batch, acks } => {
                let known = seen(&mut self.acks, (batch.until, *batch), BATCHES);
                // An author sends its own acknowledgement to nobody, and takes it from nobody.
                known.extend(acks.get(&batch.author).map(|own| (batch.author, *own)));
                self.sums.of_votes(Some(known), acks)
            }
            Work::Changes { view, votes } => self.sum_of_asks(*view, votes),
            Work::Claims(claims) if claims.iter().all(|one| self.knows(job.committee(), one)) => {
                let outcome = Outcome::Claims(BTreeSet::new());
                return Verdict { job: job.fingerprint(), outcome };
            }
            Work::Claims(_) | Work::Evidence { .. } => None,
        };
        match sum {
            Some(sum) => Verdict { job: job.fingerprint(), outcome: Outcome::Sum(Ok(sum)) },
            None => self.check(job),
        }
    }

    /// Checks what was not seen on the curve, once for all parties.
    fn check(&mut self, job: &Job) -> Verdict {
        if let Some(verdict) = self.checked.get(&job.fingerprint()) {
            return verdict.clone();
        }
        let verdict = match job.work() {
            Work::Claims(claims) => {
                let committee = job.committee();
                let fails =
                    |claim: &Claim| !self.knows(committee, claim) && !claim.holds(committee);
                let failing = claims.iter().enumerate().filter(|(_, claim)| fails(claim));
                let outcome = Outcome::Claims(failing.map(|(position, _)| position).collect());
                Verdict { job: job.fingerprint(), outcome }
            }
            _ => job.run(),
        };
        if self.checked.len() >= BATCHES {
            self.checked.clear();
        }
        self.checked.insert(job.fingerprint(), verdict.clone());
        verdict
    }

    fn sum_of_asks(
        &self,
        view: View,
        asks: &BTreeMap<Party, (Option<u32>, Signature)>,
    ) -> Option<Signature> {
        let is_known = |(party, (claim, signature)): (&Party, &(Option<u32>, Signature))| {
            self.asks.get(&(view, *claim)).and_then(|known| known.get(party)) == Some(signature)
        };
        if !asks.iter().all(is_known) {
            return None;
        }
        self.sums.of(asks.values().map(|(_, signature)| signature))
    }

    /// Whether a certificate is of votes that were seen.
    fn knows(&self, committee: &Replicas, claim: &Claim) -> bool {
        match claim {
            Claim::Votes(stage, certificate) => {
                let key = (certificate.view, certificate.value, *stage);
                let MultiSignature { signers, signature } = &certificate.votes;
                committee.is_strong(stake(committee, signers))
                    && self.sums.of_signers(self.votes.get(&key), signers) == Some(*signature)
            }
            Claim::Batch(AvailabilityCertificate { batch, acks }) => {
                let known = self.acks.get(&(batch.until, *batch));
                committee.is_weak(stake(committee, &acks.signers))
                    && self.sums.of_signers(known, &acks.signers) == Some(acks.signature)
            }
            Claim::Change(change) => self.knows_change(committee, change),
        }
    }

    fn knows_change(&self, committee: &Replicas, change: &ChangeCertificate) -> bool {
        let ChangeCertificate { view, claims, signature } = change;
        let asked = claims.iter().flat_map(|(claim, signers)| {
            let known = self.asks.get(&(*view, *claim));
            signers.iter().map(move |party| Some((party, known?.get(&party)?)))
        });
        let asked: Option<BTreeMap<Party, &Signature>> = asked.collect();
        asked.is_some_and(|asked| self.sums.of(asked.into_values()) == Some(*signature))
            && change.highest() < Some(view.attempt)
            && committee.electorate().check_quorum(claims.values()).is_ok()
    }
}

fn stake(committee: &Replicas, signers: &Signers) -> u128 {
    signers.iter().map(|party| committee.stake(party)).fold(0, u128::saturating_add)
}
