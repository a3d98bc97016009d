//! The rules that make two final blocks of one height impossible: pure functions, and nothing else.
//!
//! | promise    | rule                                                                          |
//! |------------|-------------------------------------------------------------------------------|
//! | vote       | once a round, `r > last voted`; `r = qc + 1`, or `r = tc + 1` and `qc ≥ max qc in tc` |
//! | timeout    | `r ≥ last voted` and `qc ≥ one-chain round`                                     |
//! | order vote | once a round, `r > highest timeout round`                                       |
//! | propose    | once a round                                                                  |
//!
//! Why it is safe. A party that order-votes the block of round `r` has its QC, so its one-chain round
//! is at least `r`, and it has signed no timeout of `r` or later. The timeouts that it signs from then
//! on carry a QC of at least `r`. A quorum of order votes and a TC of a round ≥ `r` have an honest
//! party in common. So every such TC says "at least `r`", and every block voted for after `r` extends
//! the block. With two QCs in consecutive rounds, the same holds for the parties that voted for the second.
//!
//! After [Jolteon](https://arxiv.org/abs/2106.10362), figure 2, and order votes as in Zaptos, section
//! 2.3. Differences from the papers: order votes ascend, so that one number is enough to remember them.
//!
//! `engine` makes the record durable before anything signed leaves.
use borsh::{BorshDeserialize, BorshSerialize};
use thiserror::Error;

use crate::block::Round;

/// The promises that a party has made so far. They must never be forgotten, so they are made durable
/// before each signature leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Safety {
    last_voted: Round,
    highest_timeout: Round,
    last_ordered: Round,
    last_proposed: Round,
    one_chain: Round,
}

/// How a block's round follows from the certificates in its proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Justification {
    /// Round of the certificate of the parent.
    pub(crate) qc: Round,
    /// Round of the timeout certificate and the highest QC round in it.
    pub(crate) tc: Option<(Round, Round)>,
}

/// Why a promise was not made. It is nobody's fault: messages cross each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    #[error("{round} is not after {last}, in which the same promise was made")]
    NotAscending { round: Round, last: Round },
    #[error("block of {round} follows neither its certificate of {qc} nor a timeout certificate")]
    Unjustified { round: Round, qc: Round },
    #[error("certificate of {qc} is below {need}, the highest that is known")]
    Stale { qc: Round, need: Round },
    #[error("timeout of {highest} forbids an order vote in {round}")]
    TimedOut { round: Round, highest: Round },
}

impl Safety {
    /// The last round in which this party voted or gave up voting.
    #[must_use]
    pub const fn last_voted(&self) -> Round {
        self.last_voted
    }

    /// The highest round whose timeout this party has signed.
    #[must_use]
    pub const fn highest_timeout(&self) -> Round {
        self.highest_timeout
    }

    /// The last round in which this party has cast an order vote.
    #[must_use]
    pub const fn last_ordered(&self) -> Round {
        self.last_ordered
    }

    /// Notes that a verified certificate of round `qc` was seen.
    pub(crate) fn observe(&mut self, qc: Round) {
        self.one_chain = self.one_chain.max(qc);
    }

    /// Promise: this party votes for no other block of this round.
    pub(crate) fn vote(
        &mut self,
        round: Round,
        justification: Justification,
    ) -> Result<(), Refusal> {
        // Jolteon, vote: r > r_vote.
        ascending(round, self.last_voted)?;
        let Justification { qc, tc } = justification;
        // Jolteon, vote: r = qc.r + 1, or r = tc.r + 1 and qc.r ≥ max qc_high.r in tc.
        let after_quorum = round == qc.next();
        let after_timeout = tc.is_some_and(|(tc, highest)| round == tc.next() && qc >= highest);
        if !after_quorum && !after_timeout {
            return Err(Refusal::Unjustified { round, qc });
        }
        self.last_voted = round;
        self.observe(qc);
        Ok(())
    }

    /// Promise: this party votes no more in this round, and `qc` is the highest certificate that it knows.
    pub(crate) fn timeout(&mut self, round: Round, qc: Round) -> Result<(), Refusal> {
        // A vote for a later round has said that this round is over. The same round again is the same
        // timeout, sent again.
        let last = self.last_voted.max(self.highest_timeout);
        if round < last {
            return Err(Refusal::NotAscending { round, last });
        }
        // Jolteon, timeout: qc_high.r ≥ the one-chain round.
        if qc < self.one_chain {
            return Err(Refusal::Stale { qc, need: self.one_chain });
        }
        self.last_voted = round;
        self.highest_timeout = round;
        Ok(())
    }

    /// Promise: from now on this party's timeouts carry a certificate of at least this round.
    pub(crate) fn order_vote(&mut self, round: Round) -> Result<(), Refusal> {
        ascending(round, self.last_ordered)?;
        // Order vote: r > highest timeout round.
        if round <= self.highest_timeout {
            return Err(Refusal::TimedOut { round, highest: self.highest_timeout });
        }
        self.last_ordered = round;
        self.observe(round);
        Ok(())
    }

    pub(crate) fn may_propose(&self, round: Round) -> bool {
        ascending(round, self.last_proposed).is_ok()
    }

    /// Promise: this party proposes no other block in this round.
    pub(crate) fn propose(&mut self, round: Round) -> Result<(), Refusal> {
        ascending(round, self.last_proposed)?;
        self.last_proposed = round;
        Ok(())
    }
}

fn ascending(round: Round, last: Round) -> Result<(), Refusal> {
    if round > last { Ok(()) } else { Err(Refusal::NotAscending { round, last }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(number: u64) -> Round {
        Round::new(number)
    }

    fn by_qc(qc: u64) -> Justification {
        Justification { qc: r(qc), tc: None }
    }

    #[test]
    fn one_vote_a_round() {
        let mut safety = Safety::default();
        assert_eq!(safety.vote(r(1), by_qc(0)), Ok(()));
        let again = Refusal::NotAscending { round: r(1), last: r(1) };
        assert_eq!(safety.vote(r(1), by_qc(0)), Err(again));
    }

    #[test]
    fn a_gap_needs_a_timeout_certificate_of_the_round_before() {
        let mut safety = Safety::default();
        let unjustified = Err(Refusal::Unjustified { round: r(5), qc: r(3) });
        assert_eq!(safety.vote(r(5), by_qc(3)), unjustified);
        let early = Justification { qc: r(3), tc: Some((r(3), r(3))) };
        assert_eq!(safety.vote(r(5), early), unjustified);
        let hides_a_lock = Justification { qc: r(3), tc: Some((r(4), r(4))) };
        assert_eq!(safety.vote(r(5), hides_a_lock), unjustified);
        let good = Justification { qc: r(3), tc: Some((r(4), r(3))) };
        assert_eq!(safety.vote(r(5), good), Ok(()));
    }

    #[test]
    fn a_timeout_ends_voting_and_order_voting_in_its_round_and_before() {
        let mut safety = Safety::default();
        assert_eq!(safety.timeout(r(4), r(3)), Ok(()));
        assert!(safety.vote(r(4), by_qc(3)).is_err());
        for round in [3, 4] {
            let refused = Refusal::TimedOut { round: r(round), highest: r(4) };
            assert_eq!(safety.order_vote(r(round)), Err(refused));
        }
        assert_eq!(safety.order_vote(r(5)), Ok(()));
    }

    #[test]
    fn a_timeout_may_not_hide_a_certificate_that_was_order_voted() {
        let mut safety = Safety::default();
        assert_eq!(safety.order_vote(r(6)), Ok(()));
        assert_eq!(safety.timeout(r(7), r(5)), Err(Refusal::Stale { qc: r(5), need: r(6) }));
        assert_eq!(safety.timeout(r(7), r(6)), Ok(()));
        assert_eq!(safety.timeout(r(7), r(6)), Ok(()), "the same timeout again");
        assert!(safety.timeout(r(6), r(6)).is_err());
    }

    #[test]
    fn a_timeout_may_not_hide_the_parent_of_a_block_that_was_voted_for() {
        let mut safety = Safety::default();
        assert_eq!(safety.vote(r(8), by_qc(7)), Ok(()));
        assert_eq!(safety.timeout(r(8), r(6)), Err(Refusal::Stale { qc: r(6), need: r(7) }));
        assert!(safety.timeout(r(7), r(7)).is_err(), "round 7 was left by voting in 8");
    }

    #[test]
    fn order_votes_and_proposals_ascend() {
        let mut safety = Safety::default();
        assert_eq!(safety.order_vote(r(2)), Ok(()));
        assert!(safety.order_vote(r(2)).is_err());
        assert!(safety.order_vote(r(1)).is_err());
        assert_eq!(safety.propose(r(2)), Ok(()));
        assert!(safety.propose(r(2)).is_err());
    }
}
