//! What follows from a certificate: promises, order votes, final blocks.
//!
//! A block is final with its ancestors in two cases: a quorum has order-voted it, or it and a child in
//! the very next round are both certified. The second rule needs no extra message. It finalizes blocks
//! whose order votes were lost.
//!
//! See also `safety` (why these rules are safe) and `tree` (the walk along the chain).
use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Recipient};

use crate::block::{Block, BlockId};
use crate::certificate::{QuorumCertificate, Stage, TimeoutCertificate};
use crate::engine::{BallotKind, Effect, Jolteon};
use crate::message::{Message, OrderVote};
use crate::records::Record;
use crate::tree::Point;

impl Jolteon {
    /// Takes a verified certificate of votes.
    pub(crate) fn observe_quorum(&mut self, now: Instant, qc: QuorumCertificate) {
        let point = Point { round: qc.round, block: qc.block };
        self.votes.close(qc.round);
        self.certified.insert(qc.round, qc.block);
        self.safety.observe(qc.round);
        if qc.round > self.qc.round {
            self.qc = qc.clone();
        }
        let signers = qc.signers().collect();
        self.order_vote(qc);
        self.certify(now, point, signers);
        self.two_chain(point);
        self.finalize();
        self.advance(now);
    }

    /// Takes a verified certificate of timeouts. Its signatures are valid, but its claims need not be
    /// true: a faulty signer may claim a certificate that does not exist. A party that advanced on such
    /// a claim could justify nothing in the next round. So a TC is ignored if it claims a higher QC
    /// than this party has.
    pub(crate) fn observe_timeouts(&mut self, now: Instant, tc: TimeoutCertificate) {
        if tc.highest_qc() > self.qc.round {
            return;
        }
        self.timeouts.close(tc.round);
        if tc.round >= self.pacemaker.round() {
            self.tc = Some(tc);
            self.advance(now);
        }
    }

    /// Casts the vote that makes the block final, unless a timeout was signed.
    fn order_vote(&mut self, qc: QuorumCertificate) {
        let (round, block) = (qc.round, qc.block);
        if self.safety.order_vote(round).is_err() {
            return;
        }
        self.persist();
        self.effect(Effect::Prefinalized { round, block });
        let message = self.committee.statement(round, block);
        let signature = self.secret.sign(Stage::Order.domain(), &message);
        self.send(Recipient::All, Message::OrderVote(Box::new(OrderVote { qc, signature })));
        self.count(BallotKind::Order, round, self.me, (block, signature));
    }

    /// A quorum vouches for a block. If it or an ancestor is missing here, asks the signers for it.
    pub(crate) fn certify(&mut self, now: Instant, point: Point, signers: Vec<Party>) {
        if let Some(missing) = self.tree.certify(point) {
            let at = self.fetch.after_grace(now);
            self.want(missing, signers, at);
        }
    }

    fn want(&mut self, point: Point, mut providers: Vec<Party>, at: Instant) {
        providers.retain(|&party| party != self.me);
        self.fetch.want(point, providers, self.me.index(), at);
    }

    /// Takes in a block that was proposed with a justification, or that is wanted.
    pub(crate) fn insert(&mut self, now: Instant, id: BlockId, block: Block) {
        let point = Point { round: block.round(), block: id };
        let missing = self.tree.insert(id, block);
        let providers = self.fetch.found(id);
        if let Some(missing) = missing {
            let providers = providers.unwrap_or_else(|| self.qc.signers().collect());
            self.want(missing, providers, now);
        }
        self.two_chain(point);
        self.finalize();
    }

    /// If two certified blocks are in consecutive rounds, one the parent of the other, the parent is final.
    fn two_chain(&mut self, child: Point) {
        if !self.tree.is_certified(child) {
            return;
        }
        let Some(block) = self.tree.block(child.block) else { return };
        let parent = Point { round: block.parent_round(), block: block.parent() };
        if parent.round.next() == child.round {
            self.tree.commit(parent);
        }
    }

    /// Takes note that a quorum has order-voted the block.
    pub(crate) fn ordered(&mut self, now: Instant, point: Point, voters: Vec<Party>) {
        self.orders.close(point.round);
        self.tree.commit(point);
        self.certify(now, point, voters);
        self.finalize();
    }

    /// Reports all rounds up to the highest final block, if it and its ancestors are here.
    fn finalize(&mut self) {
        let Ok(rounds) = self.tree.finalize() else { return };
        for (round, block) in rounds {
            if let Some(block) = &block {
                self.pool.finalize(block.payload());
            }
            self.effect(Effect::Finalized { round, block });
        }
        let Point { round, block } = self.tree.root();
        self.keep(Record::Finalized { round, block });
        self.fetch.forget(round);
        let window = self.order_window();
        self.orders.retain(|round| window.contains(&round));
    }
}
