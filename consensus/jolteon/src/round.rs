//! The steps of one round: enter it, propose, vote, or give it up.
//!
//! A round starts on a certificate of the round before, of votes or of timeouts, and never ends without
//! one. A party that enters by timeouts tells the new leader, which may not have seen them all.
//!
//! See also `safety` (whether a promise may be made) and `pacemaker` (how long a round lasts).
use prefinal_protocol::{Instant, Recipient};

use crate::block::{Block, Round};
use crate::certificate::{Stage, TIMEOUT, timeout_statement};
use crate::engine::{BallotKind, Effect, Jolteon};
use crate::message::{Message, Proposal, Status, Timeout, Vote};
use crate::records::Record;
use crate::safety::Justification;
use crate::tree::Point;

/// Votes up to this many rounds ahead are kept. Votes further ahead need a certificate to be understood.
pub(crate) const AHEAD: u64 = 64;
/// Order votes, certificates and proposals up to this many rounds behind are kept.
pub(crate) const BEHIND: u64 = 64;

impl Jolteon {
    /// Moves to the round after the highest certificate.
    pub(crate) fn advance(&mut self, now: Instant) {
        let timed_out = self.tc.as_ref().map_or(Round::GENESIS, |tc| tc.round);
        let round = self.qc.round.max(timed_out).next();
        if !self.started || round <= self.pacemaker.round() {
            return;
        }
        self.pacemaker.enter(now, round, self.qc.round);
        self.timeout = None;
        let window = round..=round.later(AHEAD);
        self.votes.retain(|round| window.contains(&round));
        self.timeouts.retain(|round| window.contains(&round));
        let window = self.order_window();
        self.orders.retain(|round| window.contains(&round));
        let oldest = round.earlier(BEHIND);
        self.certified = self.certified.split_off(&oldest);
        self.proposals = self.proposals.split_off(&oldest);
        let leader = self.committee.leader(round).filter(|&leader| leader != self.me);
        if let (Some(leader), true) = (leader, timed_out.next() == round) {
            self.send(Recipient::One(leader), Message::Status(Box::new(self.status())));
        }
        self.propose(now);
    }

    /// The rounds whose order votes are still useful.
    pub(crate) fn order_window(&self) -> core::ops::RangeInclusive<Round> {
        let round = self.pacemaker.round();
        let first = self.tree.root().round.next().max(round.earlier(BEHIND));
        first..=round.later(AHEAD)
    }

    /// The certificates that put this party in its round.
    pub(crate) fn status(&self) -> Status {
        Status { qc: self.qc.clone(), tc: self.entered_by().cloned() }
    }

    /// The timeout certificate of the round before, if the round was not entered by votes.
    fn entered_by(&self) -> Option<&crate::certificate::TimeoutCertificate> {
        let by_votes = self.qc.round.next() == self.pacemaker.round();
        self.tc.as_ref().filter(|tc| !by_votes && tc.round.next() == self.pacemaker.round())
    }

    pub(crate) fn is_to_propose(&self) -> bool {
        let round = self.pacemaker.round();
        self.committee.leader(round) == Some(self.me) && self.safety.may_propose(round)
    }

    /// Proposes, if this party leads the round and it is time. It proposes once in a round.
    pub(crate) fn propose(&mut self, now: Instant) {
        let round = self.pacemaker.round();
        if !self.is_to_propose() || now < self.pacemaker.proposes_at() {
            return;
        }
        if self.safety.propose(round).is_err() {
            return;
        }
        let parent = Point { round: self.qc.round, block: self.qc.block };
        // If an ancestor is missing, nobody can say which transactions would be repetitions.
        let carried = self.tree.pending_transactions(parent);
        let payload = carried
            .map_or_else(Vec::new, |carried| self.pool.select(self.max_block_bytes, &carried));
        let mut block = Block::new(round, (parent.round, parent.block), self.me, payload);
        if !self.tree.has_room(&block) {
            block = Block::new(round, (parent.round, parent.block), self.me, Vec::new());
        }
        let id = block.id(self.committee.context());
        let message = self.committee.statement(round, id);
        let signature = self.secret.sign(Stage::Proposal.domain(), &message);
        let Status { qc, tc } = self.status();
        let proposal = Proposal { block, qc, tc, signature };
        self.persist();
        self.send(Recipient::All, Message::Proposal(Box::new(proposal.clone())));
        self.vote(now, proposal);
    }

    /// Takes a justified block in, and votes for it if its round is the current one. Everything in the
    /// proposal was verified.
    pub(crate) fn vote(&mut self, now: Instant, proposal: Proposal) {
        let Proposal { block, qc, tc, .. } = proposal;
        if !self.tree.has_room(&block) {
            return;
        }
        let (round, id) = (block.round(), block.id(self.committee.context()));
        self.effect(Effect::Proposed { block: block.clone() });
        self.insert(now, id, block.clone());
        let tc = tc.map(|tc| (tc.round, tc.highest_qc()));
        let justification = Justification { qc: qc.round, tc };
        if round != self.pacemaker.round() || self.safety.vote(round, justification).is_err() {
            return;
        }
        self.keep(Record::Block(block));
        self.persist();
        let message = self.committee.statement(round, id);
        let signature = self.secret.sign(Stage::Vote.domain(), &message);
        self.send(Recipient::All, Message::Vote(Vote { round, block: id, signature }));
        self.count(BallotKind::Vote, round, self.me, (id, signature));
    }

    /// The round has taken too long: sends a timeout, or sends it again.
    pub(crate) fn time_out(&mut self) {
        if let Some(timeout) = self.timeout.clone() {
            self.send(Recipient::All, Message::Timeout(Box::new(timeout)));
            return;
        }
        let round = self.pacemaker.round();
        if self.safety.timeout(round, self.qc.round).is_err() {
            return;
        }
        self.persist();
        self.effect(Effect::Abandoned { round });
        let message = timeout_statement(&self.committee, round, self.qc.round);
        let signature = self.secret.sign(TIMEOUT, &message);
        let Status { qc, tc } = self.status();
        let choice = qc.round;
        let timeout = Timeout { round, qc, tc, signature };
        self.timeout = Some(timeout.clone());
        self.send(Recipient::All, Message::Timeout(Box::new(timeout)));
        self.count_timeout(round, self.me, (choice, signature));
    }
}
