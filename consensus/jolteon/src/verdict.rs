//! What the result of a job does.
//!
//! See also `receive` (what was asked) and `job` (how it was computed).
use std::collections::BTreeSet;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_engine::collector::Votes;
use prefinal_protocol::Instant;

use crate::block::{BlockId, Round};
use crate::certificate::{MultiSignature, QuorumCertificate, Stage, TimeoutCertificate};
use crate::engine::{BallotKind, Jolteon, Pending};
use crate::fault::Fault;
use crate::job::{Claim, Outcome, Verdict, group};
use crate::message::Message;
use crate::tree::Point;

impl Jolteon {
    pub(crate) fn checked(&mut self, now: Instant, verdict: Verdict) {
        // A verdict for an earlier life has no job here.
        let Some(pending) = self.jobs.remove(&verdict.job) else { return };
        match (pending, verdict.outcome) {
            (Pending::Votes { stage, round, block, parties }, Outcome::Sum(sum)) => {
                let votes = Summed { stage, point: Point { round, block }, parties };
                self.summed_votes(now, votes, sum);
            }
            (Pending::Timeouts { round, votes }, Outcome::Sum(sum)) => {
                self.summed_timeouts(now, round, &votes, sum);
            }
            (Pending::Suspect { ballot, round, party }, Outcome::Sum(sum)) => {
                self.suspect(ballot, round, party, sum.is_ok());
            }
            (Pending::Claims { claims, held }, Outcome::Claims(bad)) => {
                self.claimed(now, claims, held, &bad);
            }
            (Pending::Evidence { party, equivocation }, Outcome::Evidence(true)) => {
                self.accuse(party, Fault::Equivocation(equivocation));
            }
            // One of the two is not signed: the party sent a bad signature, which convinces nobody else.
            (Pending::Evidence { party, equivocation }, Outcome::Evidence(false)) => {
                let kind = match equivocation.stage {
                    Stage::Order => BallotKind::Order,
                    Stage::Vote | Stage::Proposal => BallotKind::Vote,
                };
                self.bad_signature(kind, equivocation.round, party);
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
        let Summed { stage, point: Point { round, block }, parties } = votes;
        match (sum, stage) {
            (Ok(signature), Stage::Vote) => {
                let signers = self.committee.signers(parties);
                let votes = Some(MultiSignature { signers, signature });
                self.observe_quorum(now, QuorumCertificate { round, block, votes });
            }
            (Ok(_), Stage::Order) => self.ordered(now, Point { round, block }, parties),
            (Err(culprits), Stage::Vote) => {
                self.votes.strike(round, parties.into_iter(), &culprits);
                self.bad_votes(BallotKind::Vote, round, block, culprits);
            }
            (Err(culprits), Stage::Order) => {
                self.orders.strike(round, parties.into_iter(), &culprits);
                self.bad_votes(BallotKind::Order, round, block, culprits);
            }
            (_, Stage::Proposal) => {}
        }
    }

    fn bad_votes(
        &mut self,
        kind: BallotKind,
        round: Round,
        block: BlockId,
        culprits: BTreeSet<Party>,
    ) {
        for party in culprits {
            self.bad_signature(kind, round, party);
        }
        self.sum_votes(kind, round, block);
    }

    fn summed_timeouts(
        &mut self,
        now: Instant,
        round: Round,
        votes: &Votes<Round, Signature>,
        sum: Result<Signature, BTreeSet<Party>>,
    ) {
        match sum {
            Ok(signature) => {
                let timeouts = group(&self.committee, votes);
                self.observe_timeouts(now, TimeoutCertificate { round, timeouts, signature });
            }
            Err(culprits) => {
                self.timeouts.strike(round, votes.keys().copied(), &culprits);
                for party in culprits {
                    self.bad_signature(BallotKind::Timeout, round, party);
                }
                self.sum_timeouts(round);
            }
        }
    }

    /// A suspect's vote was checked alone.
    fn suspect(&mut self, kind: BallotKind, round: Round, party: Party, good: bool) {
        let choice = match kind {
            BallotKind::Vote => self.votes.settle(round, party, good),
            BallotKind::Order => self.orders.settle(round, party, good),
            BallotKind::Timeout => {
                self.timeouts.settle(round, party, good);
                None
            }
        };
        if !good {
            self.bad_signature(kind, round, party);
        } else if let Some(block) = choice {
            self.sum_votes(kind, round, block);
        } else {
            self.sum_timeouts(round);
        }
    }

    fn bad_signature(&mut self, kind: BallotKind, round: Round, party: Party) {
        self.suspects.insert(party);
        let what = match kind {
            BallotKind::Vote => "vote",
            BallotKind::Order => "order vote",
            BallotKind::Timeout => "timeout",
        };
        self.accuse(party, Fault::BadSignature { what, round });
    }

    /// The news of a message was checked. Valid certificates count even beside invalid ones.
    fn claimed(
        &mut self,
        now: Instant,
        claims: Vec<Claim>,
        held: Vec<(Party, Message)>,
        bad: &BTreeSet<usize>,
    ) {
        let mut held = held.into_iter();
        let first = held.next();
        let mut fault = None;
        for (position, claim) in claims.into_iter().enumerate() {
            if bad.contains(&position) {
                fault = Some(claim.fault());
                continue;
            }
            match claim {
                Claim::Quorum(qc) => self.observe_quorum(now, qc),
                Claim::Timeouts(tc) => self.observe_timeouts(now, tc),
                Claim::Proposal { .. } => {}
            }
        }
        match (first, fault) {
            (Some((from, message)), None) => self.accept(now, from, message),
            (Some((from, _)), Some(fault)) => self.accuse(from, fault),
            (None, _) => {}
        }
        for (from, message) in held {
            self.admit(now, from, message);
        }
    }
}

/// Votes that have been summed.
struct Summed {
    stage: Stage,
    point: Point,
    parties: Vec<Party>,
}

impl Claim {
    fn fault(&self) -> Fault {
        match self {
            Self::Quorum(qc) => Fault::ForgedCertificate { round: qc.round },
            Self::Timeouts(tc) => Fault::ForgedCertificate { round: tc.round },
            Self::Proposal { round, .. } => Fault::BadSignature { what: "proposal", round: *round },
        }
    }
}
