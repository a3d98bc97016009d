//! What the result of a job does.
use std::collections::BTreeSet;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_engine::collector::Standing;
use prefinal_protocol::{Instant, Value, View};

use crate::certificate::{ChangeCertificate, MultiSignature, Stage, VoteCertificate};
use crate::engine::{Pending, Trantor};
use crate::fault::{Contradiction, Fault};
use crate::job::{Asks, Claim, Outcome, Verdict, group};
use crate::message::Message;

impl Trantor {
    pub(crate) fn checked(&mut self, now: Instant, verdict: Verdict) {
        // A verdict for an earlier life has no job here.
        let Some(pending) = self.jobs.remove(&verdict.job) else { return };
        match (pending, verdict.outcome) {
            (Pending::Votes { stage, view, value, parties }, Outcome::Sum(sum)) => {
                let votes = Summed { stage, view, value, parties };
                self.summed_votes(now, votes, sum);
            }
            (Pending::Suspect { stage, view, party }, Outcome::Sum(sum)) => {
                if let Some(value) = self.settle(stage, view, party, sum.is_ok()) {
                    self.sum_votes(stage, view, value);
                } else if sum.is_err() {
                    self.bad_signature(kind_of(stage), view, party);
                }
            }
            (Pending::Changes { view, votes }, Outcome::Sum(sum)) => {
                self.summed_changes(now, view, &votes, sum);
            }
            (Pending::Acks { batch, parties }, Outcome::Sum(sum)) => {
                self.summed_acks(batch, parties, sum);
            }
            (Pending::Claims { claims, held }, Outcome::Claims(bad)) => {
                self.claimed(now, &claims, held, &bad);
            }
            (Pending::Evidence { party, contradiction }, Outcome::Evidence(true)) => {
                self.accuse(party, Fault::Contradiction(contradiction));
            }
            // One of the two is not signed: that convinces nobody else.
            (Pending::Evidence { party, contradiction }, Outcome::Evidence(false)) => {
                let Contradiction { second, .. } = *contradiction;
                self.bad_signature(second.said.kind(), second.said.view(), party);
            }
            _ => {}
        }
    }

    fn summed_votes(
        &mut self,
        now: Instant,
        votes: Summed,
        sum: Result<Signature, BTreeSet<Party>>,
    ) {
        let Summed { stage, view, value, parties } = votes;
        match sum {
            Ok(signature) => {
                let signers = self.committee.signers(parties);
                let votes = MultiSignature { signers, signature };
                let certificate = VoteCertificate { view, value, votes };
                match stage {
                    Stage::Commit => self.decide(now, certificate),
                    Stage::Prepare => self.observe_prepared(now, &certificate),
                    Stage::Propose => {}
                }
            }
            Err(culprits) => {
                self.strike(stage, view, parties, &culprits);
                for party in culprits {
                    self.bad_signature(kind_of(stage), view, party);
                }
                self.sum_votes(stage, view, value);
            }
        }
    }

    fn summed_changes(
        &mut self,
        now: Instant,
        view: View,
        votes: &Asks,
        sum: Result<Signature, BTreeSet<Party>>,
    ) {
        let (signature, culprits) = match sum {
            Ok(signature) => (Some(signature), BTreeSet::new()),
            Err(culprits) => (None, culprits),
        };
        for party in votes.keys() {
            let standing =
                if culprits.contains(party) { Standing::Rejected } else { Standing::Verified };
            if let Some(ask) = self.asks.get_mut(party).filter(|ask| ask.view == view) {
                ask.standing = standing;
            }
        }
        for party in culprits {
            self.bad_signature("view change", view, party);
        }
        match signature {
            Some(signature) if self.leading == Some(view) && self.is_quorum(votes) => {
                let claims = group(&self.committee, votes);
                self.lead(ChangeCertificate { view, claims, signature });
            }
            Some(_) => {}
            None => self.leading = self.leading.filter(|leading| *leading != view),
        }
        self.review(now);
    }

    fn is_quorum(&self, votes: &Asks) -> bool {
        let stake = votes.keys().map(|party| self.committee.stake(*party));
        self.committee.is_strong(stake.fold(0, u128::saturating_add))
    }

    fn bad_signature(&mut self, what: &'static str, view: View, party: Party) {
        self.suspects.insert(party);
        self.accuse(party, Fault::BadSignature { what, view });
    }

    /// The news of a message was checked. A message with a false certificate is not accepted at all.
    fn claimed(
        &mut self,
        now: Instant,
        claims: &[Claim],
        held: Vec<(Party, Message)>,
        bad: &BTreeSet<usize>,
    ) {
        let fault = bad.first().and_then(|position| claims.get(*position));
        for (from, message) in held {
            match fault {
                Some(claim) => {
                    let count = self.forgeries.entry(from).or_default();
                    *count = count.saturating_add(1);
                    self.accuse(from, claim.fault());
                }
                None => self.accept(now, from, message),
            }
        }
    }
}

/// Votes that have been summed.
struct Summed {
    stage: Stage,
    view: View,
    value: Value,
    parties: Vec<Party>,
}

const fn kind_of(stage: Stage) -> &'static str {
    match stage {
        Stage::Propose => "proposal",
        Stage::Prepare => "prepare",
        Stage::Commit => "commit",
    }
}
