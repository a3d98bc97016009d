//! Ideal signatures for the engine's votes: no curve, and exact.
//!
//! | question                      | answer                                                                   |
//! |-------------------------------|--------------------------------------------------------------------------|
//! | is this vote its party's?     | the party was seen to send it, with this signature                        |
//! | the sum of votes              | the signature of the first voter stands for it                            |
//! | is this certificate valid?    | a quorum, everyone in it was seen to vote so, and it has that signature    |
//! | is this proposal its leader's? | checked on the curve, once                                               |
//!
//! What is not found here is checked on the curve, as [`Job::run`] does: so no false statement passes. Nobody
//! can vote for another party, because links are authenticated and only what a party sends is seen as its. The
//! sums differ from real ones, and nothing but their validity has an effect: a run has the same events at the
//! same times as with real signatures, which are in `jolteon`.
use std::collections::{BTreeMap, BTreeSet};

use ::prefinal_jolteon::{BlockId, Replicas, Round, Stage};
use ::prefinal_jolteon::{
    Claim, Job, Message, Outcome, QuorumCertificate, TimeoutCertificate, Verdict, Work,
};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_crypto_core::certificate::Certificate;

/// Blocks that are remembered, times two stages, and rounds with timeouts; those in flight are far fewer.
pub(super) const REMEMBERED: usize = 512;

pub(super) type Votes = BTreeMap<Party, Signature>;

/// What parties were seen to sign.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdealVotes {
    votes: BTreeMap<(Round, BlockId, Stage), Votes>,
    timeouts: BTreeMap<(Round, Round), Votes>,
    /// Whether proposals are signed by their leaders, as checked on the curve.
    proposals: BTreeMap<(Round, BlockId, Party, [u8; 48]), bool>,
}

impl IdealVotes {
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

    /// The verdict that [`Job::run`] would give, with another signature in place of a sum.
    pub(crate) fn run(&mut self, job: &Job) -> Verdict {
        let outcome = match job.work() {
            Work::Votes { stage, round, block, votes } => {
                sum_of(self.votes.get(&(*round, *block, *stage)), votes)
            }
            Work::Timeouts { round, votes } => {
                let is_known = |(party, (qc, signature)): (&Party, &(Round, Signature))| {
                    let known = self.timeouts.get(&(*round, *qc));
                    known.and_then(|known| known.get(party)) == Some(signature)
                };
                let all = votes.iter().all(is_known);
                votes.values().next().filter(|_| all).map(|(_, signature)| *signature)
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
        qc.round != Round::GENESIS
            && is_sum(self.votes.get(&(qc.round, qc.block, Stage::Vote)), votes)
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
        let first = signers.values().next();
        first == Some(&&tc.signature)
            && tc.timeouts.keys().all(|qc| *qc < tc.round)
            && committee.electorate().check_quorum(tc.timeouts.values()).is_ok()
    }
}

/// What stands for the sum of these votes, if all of them were seen.
fn sum_of(known: Option<&Votes>, votes: &Votes) -> Option<Signature> {
    let known = known?;
    let all = votes.iter().all(|(party, vote)| known.get(party) == Some(vote));
    votes.values().next().filter(|_| all).copied()
}

/// Whether every signer was seen to vote, and the signature stands for the sum of these votes.
fn is_sum(known: Option<&Votes>, votes: &Certificate<MinSig>) -> bool {
    let Some(known) = known else { return false };
    let first = votes.signers.iter().next().and_then(|party| known.get(&party));
    first == Some(&votes.signature) && votes.signers.iter().all(|party| known.contains_key(&party))
}

/// What was seen under this key; the first key is forgotten if there are more than `most`.
pub(super) fn seen<K: Ord>(all: &mut BTreeMap<K, Votes>, key: K, most: usize) -> &mut Votes {
    if all.len() >= most && !all.contains_key(&key) {
        all.pop_first();
    }
    all.entry(key).or_default()
}
