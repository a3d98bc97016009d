//! What a driver of many parties need not compute twice.
//!
//! Parties of one committee collect the same votes in other sets: checked one set at a time, a round
//! of `n` parties costs `n` pairing products, all of them about the same `n` votes. A driver that sees
//! all messages may check each vote once, and all that it has seen of a block in one batch. Then
//! - a set of good votes has a good sum, which takes additions only;
//! - a certificate whose signers' votes are good is good iff its signature is their sum.
//!
//! Verdicts are those of [`Job::run`]. A validator on a network of its own has no use for this.
use std::collections::BTreeMap;

use crypto_core::access::Party;
use crypto_core::bls::min_sig::{Signature, aggregate};
use crypto_core::certificate::Vote;

use crate::block::{BlockId, Round};
use crate::certificate::{QuorumCertificate, Stage, statement};
use crate::config::Committee;
use crate::job::{Claim, Job, Outcome, Verdict, Work, failing};
use crate::message::Message;

/// Blocks that are remembered, times two stages; in-flight rounds are far fewer.
const REMEMBERED: usize = 512;

/// Votes that were seen, and those of them that were found good.
#[derive(Clone, Debug, Default)]
pub struct Known {
    ballots: BTreeMap<(Round, BlockId, Stage), Ballot>,
}

#[derive(Clone, Debug, Default)]
struct Ballot {
    seen: BTreeMap<Party, Signature>,
    good: BTreeMap<Party, Signature>,
}

impl Known {
    /// Takes note of a message on its way. A vote that is not one costs its sender's batch-mates
    /// nothing: culprits are told apart.
    pub fn see(&mut self, from: Party, message: &Message) {
        let (round, block, stage, signature) = match message {
            Message::Vote(vote) => (vote.round, vote.block, Stage::Vote, vote.signature),
            Message::OrderVote(vote) => {
                (vote.qc.round, vote.qc.block, Stage::Order, vote.signature)
            }
            _ => return,
        };
        self.ballot(round, block, stage).seen.entry(from).or_insert(signature);
    }

    fn ballot(&mut self, round: Round, block: BlockId, stage: Stage) -> &mut Ballot {
        if self.ballots.len() >= REMEMBERED {
            self.ballots.pop_first();
        }
        self.ballots.entry((round, block, stage)).or_default()
    }

    /// The sum of these votes if all are good; `None` leaves the question open.
    fn sum(
        &mut self,
        committee: &Committee,
        (stage, round, block): (Stage, Round, BlockId),
        votes: &BTreeMap<Party, Signature>,
    ) -> Option<Signature> {
        let ballot = self.ballot(round, block, stage);
        let is_good = |good: &BTreeMap<Party, Signature>| {
            votes.iter().all(|(party, vote)| good.get(party) == Some(vote))
        };
        if !is_good(&ballot.good) {
            let mut new = ballot.seen.clone();
            new.extend(votes.iter().map(|(party, vote)| (*party, *vote)));
            new.retain(|party, vote| ballot.good.get(party) != Some(vote));
            let message = statement(committee, round, block);
            let vote = |(&party, &signature)| (party, Vote { message: &message, signature });
            let votes = new.iter().map(vote).collect();
            // A stranger among them leaves the question open.
            let bad = committee.electorate().culprits(stage.domain(), &votes).ok()?;
            new.retain(|party, _| !bad.contains(party));
            ballot.good.append(&mut new);
        }
        is_good(&ballot.good).then(|| aggregate(votes.values()).ok()).flatten()
    }

    /// Whether a certificate of known votes is good; `false` leaves the question open.
    fn knows(&self, committee: &Committee, qc: &QuorumCertificate) -> bool {
        let Some(votes) = &qc.votes else { return false };
        let Some(ballot) = self.ballots.get(&(qc.round, qc.block, Stage::Vote)) else {
            return false;
        };
        let signatures: Option<Vec<&Signature>> =
            votes.signers.iter().map(|party| ballot.good.get(&party)).collect();
        qc.check_shape(committee).is_ok()
            && signatures.is_some_and(|signatures| aggregate(signatures) == Ok(votes.signature))
    }
}

impl Job {
    /// As [`Job::run`], without checking again what is known.
    #[must_use]
    pub fn run_knowing(&self, known: &mut Known) -> Verdict {
        let committee = self.committee();
        let outcome = match self.work() {
            Work::Votes { stage, round, block, votes } => {
                let sum = known.sum(committee, (*stage, *round, *block), votes);
                sum.map(|sum| Outcome::Sum(Ok(sum)))
            }
            Work::Claims(claims) => Some(failing(claims, |claim| match claim {
                Claim::Quorum(qc) if known.knows(committee, qc) => true,
                _ => claim.holds(committee),
            })),
            Work::Timeouts { .. } | Work::Evidence { .. } => None,
        };
        match outcome {
            Some(outcome) => Verdict { job: self.fingerprint(), outcome },
            None => self.run(),
        }
    }
}
