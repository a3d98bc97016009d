//! Ideal signatures for the engine's votes: no curve, and exact.
//!
//! | question                      | answer                                                                   |
//! |-------------------------------|--------------------------------------------------------------------------|
//! | is this vote its party's?     | the party was seen to send it, with this signature                        |
//! | the sum of votes              | the sum, or the signature of the first voter in place of it ([`Sums`])     |
//! | is this certificate valid?    | a quorum, everyone in it was seen to vote so, and it has that sum          |
//! | is this proposal its leader's? | checked on the curve, once                                               |
//!
//! What is not found here is checked on the curve, as [`Job::run`] does: so no false statement passes. Nobody
//! can vote for another party, because links are authenticated and only what a party sends is seen as its. Where
//! sums differ from real ones, nothing but their validity has an effect: a run has the same events at the same
//! times as with real signatures, which are in `jolteon`.
use std::collections::{BTreeMap, BTreeSet};

use ::prefinal_jolteon::{BlockId, Replicas, Round, Stage};
use ::prefinal_jolteon::{
    Claim, Job, Message, Outcome, QuorumCertificate, TimeoutCertificate, Verdict, Work,
};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;

use super::sums::{REMEMBERED, Sums, Votes, seen};

/// What parties were seen to sign.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdealVotes {
    sums: Sums,
    votes: BTreeMap<(Round, BlockId, Stage), Votes>,
    timeouts: BTreeMap<(Round, Round), Votes>,
    /// Whether proposals are signed by their leaders, as checked on the curve.
    proposals: BTreeMap<(Round, BlockId, Party, [u8; 48]), bool>,
}

impl IdealVotes {
    pub(crate) fn with_sums(sums: Sums) -> Self {
        Self { sums, ..Self::default() }
    }

    /// Notes what a party signs.
    pub(crate) fn see(&mut self, from: Party, message: &Message) {
        let (round, block, stage, signature) = match message {
            Message::Vote(vote) => (vote.round, vote.block, Stage::Vote, vote.signature),
            Message::OrderVote(vote) => {
                (vote.qc.round, vote.qc.block, Stage::Order, vote.signature)
            }
            Message::Timeout(timeout) => {
                let key = (timeout.round, timeout.qc.round);
                seen(&mut self.timeouts, key, REMEMBERED).insert(from, timeout.signature);
                return;
            }
            _ => return,
        };
        seen(&mut self.votes, (round, block, stage), REMEMBERED).insert(from, signature);
    }

    /// The verdict that [`Job::run`] would give, except that a sum may be [another](Sums).
    pub(crate) fn run(&mut self, job: &Job) -> Verdict {
        let outcome = match job.work() {
            Work::Votes { stage, round, block, votes } => {
                self.sums.of_votes(self.votes.get(&(*round, *block, *stage)), votes)
            }
            Work::Timeouts { round, votes } => {
                let is_known = |(party, (qc, signature)): (&Party, &(Round, Signature))| {
                    let known = self.timeouts.get(&(*round, *qc));
                    known.and_then(|known| known.get(party)) == Some(signature)
                };
                let all = votes.iter().all(is_known);
                let signatures = votes.values().map(|(_, signature)| signature);
                if all { self.sums.of(signatures) } else { None }
            }
            Work::Claims(claims) => {
                let mut failing = BTreeSet::new();
                for (position, claim) in claims.iter().enumerate() {
                    if !self.holds(job.committee(), claim) {
                        failing.insert(position);
                    }
                }
                return Verdict { job: job.fingerprint(), outcome: Outcome::Claims(failing) };
            }
            Work::Evidence { .. } => None,
        };
        match outcome {
            Some(sum) => Verdict { job: job.fingerprint(), outcome: Outcome::Sum(Ok(sum)) },
            None => job.run(),
        }
    }

    fn holds(&mut self, committee: &Replicas, claim: &Claim) -> bool {
        match claim {
            Claim::Quorum(qc) if self.knows_quorum(committee, qc) => true,
            Claim::Timeouts(tc) if self.knows_timeouts(committee, tc) => true,
            Claim::Proposal { author, round, block, signature } => {
                let key = (*round, *block, *author, signature.to_bytes());
                if self.proposals.len() >= REMEMBERED {
                    self.proposals.pop_first();
                }
                *self.proposals.entry(key).or_insert_with(|| claim.holds(committee))
            }
            claim => claim.holds(committee),
        }
    }

    fn knows_quorum(&self, committee: &Replicas, qc: &QuorumCertificate) -> bool {
        let Some(votes) = &qc.votes else { return false };
        let known = self.votes.get(&(qc.round, qc.block, Stage::Vote));
        qc.round != Round::GENESIS
            && self.sums.of_signers(known, &votes.signers) == Some(votes.signature)
            && committee.electorate().check_quorum([&votes.signers]).is_ok()
    }

    fn knows_timeouts(&self, committee: &Replicas, tc: &TimeoutCertificate) -> bool {
        let signers = tc.timeouts.iter().flat_map(|(qc, signers)| {
            let known = self.timeouts.get(&(tc.round, *qc));
            signers.iter().map(move |party| (party, known.and_then(|known| known.get(&party))))
        });
        let Some(signers) = signers.map(|(party, known)| Some((party, known?))).collect() else {
            return false;
        };
        let signers: BTreeMap<Party, &Signature> = signers;
        self.sums.of(signers.into_values()) == Some(tc.signature)
            && tc.timeouts.keys().all(|qc| *qc < tc.round)
            && committee.electorate().check_quorum(tc.timeouts.values()).is_ok()
    }
}
