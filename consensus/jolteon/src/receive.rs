//! What a received message does.
//!
//! There are three steps, cheapest first. *Shape*: sizes, leaders, rounds, hashes. *News*: the parts of
//! the message that others signed and that are not known to be valid. Most of the time there are none,
//! because a party makes the same certificates itself. *Check*: only the news goes out as a job, and
//! messages with the same news wait for it instead of asking again. Single votes are not checked at
//! all, see `prefinal_engine::collector`.
//!
//! A certificate is news only if something depends on it. In a timeout that is a QC higher than this
//! party's, or a TC that would move this party. An old QC in a timeout proves nothing that matters.
//!
//! See also `finality` (what follows from a valid certificate) and `verdict` (from an invalid one).
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_engine::collector::{Added, ReceivedVote, Standing};
use prefinal_protocol::{Instant, Recipient};

use crate::block::{BlockId, Round};
use crate::certificate::{QuorumCertificate, Stage, TimeoutCertificate};
use crate::engine::{BallotKind, Jolteon, Pending, SeenProposal};
use crate::fault::{Equivocation, Fault, SignedBlock};
use crate::job::{Claim, Work};
use crate::message::{
    MAX_RESPONSE_BLOCKS, Message, OrderVote, Proposal, Request, Response, ShapeError, Status,
    Timeout, Vote,
};
use crate::round::AHEAD;

/// Largest number of messages of one party that wait for jobs.
const MAX_HELD: usize = 16;

impl Jolteon {
    pub(crate) fn receive(&mut self, now: Instant, from: Party, message: Message) {
        if from == self.me || self.committee.member(from).is_none() {
            self.accuse(from, ShapeError::Stranger { from });
            return;
        }
        if let Err(error) = message.check_shape(from, &self.committee, self.max_block_bytes) {
            self.accuse(from, error);
            return;
        }
        match message {
            Message::Vote(vote) => self.receive_vote(from, &vote),
            Message::OrderVote(vote) => self.receive_order_vote(now, from, *vote),
            Message::Proposal(_) | Message::Timeout(_) | Message::Status(_) => {
                self.admit(now, from, message);
            }
            Message::Transactions(transactions) => {
                for transaction in transactions {
                    self.pool.add(from, transaction);
                }
            }
            Message::Request(request) => self.serve(now, from, request),
            Message::Response(response) => self.take(now, response),
        }
    }

    fn cast<C>(
        &self,
        party: Party,
        (choice, signature): (C, Signature),
    ) -> ReceivedVote<C, Signature> {
        let standing = if party == self.me {
            Standing::Verified
        } else if self.suspects.contains(&party) {
            Standing::Suspected
        } else {
            Standing::Stored
        };
        let stake = self.committee.member(party).map_or(0, |member| member.stake);
        ReceivedVote { party, stake, choice, signature, standing }
    }

    fn receive_vote(&mut self, from: Party, vote: &Vote) {
        let round = self.pacemaker.round();
        if (round..=round.later(AHEAD)).contains(&vote.round) {
            self.count(BallotKind::Vote, vote.round, from, (vote.block, vote.signature));
        }
    }

    fn receive_order_vote(&mut self, now: Instant, from: Party, vote: OrderVote) {
        let OrderVote { qc, signature } = vote;
        if self.order_window().contains(&qc.round) {
            self.count(BallotKind::Order, qc.round, from, (qc.block, signature));
        }
        // If this party's own votes are being summed, the same certificate will soon be there.
        if !self.votes.is_checking(qc.round) {
            self.admit(now, from, Message::Status(Box::new(Status { qc, tc: None })));
        }
    }

    /// Puts a vote or order vote into its collector and checks whether it completes a quorum.
    pub(crate) fn count(
        &mut self,
        kind: BallotKind,
        round: Round,
        party: Party,
        ballot: (BlockId, Signature),
    ) {
        let cast = self.cast(party, ballot);
        let (collector, stage) = match kind {
            BallotKind::Order => (&mut self.orders, Stage::Order),
            BallotKind::Vote | BallotKind::Timeout => (&mut self.votes, Stage::Vote),
        };
        let (block, signature) = ballot;
        match collector.add(round, cast) {
            Added::Ignored => {}
            Added::Stored if cast.standing == Standing::Suspected => {
                let work = Work::Votes { stage, round, block, votes: [(party, signature)].into() };
                self.check(work, Pending::Suspect { ballot: kind, round, party });
            }
            Added::Stored => self.sum_votes(kind, round, block),
            Added::Contradicts(first, signed) => {
                let first = SignedBlock { block: first, signature: signed };
                let second = SignedBlock { block, signature };
                let equivocation = Box::new(Equivocation { stage, round, first, second });
                let work = Work::Evidence { party, equivocation: equivocation.clone() };
                self.check(work, Pending::Evidence { party, equivocation });
            }
        }
    }

    /// Sends the votes for a block to be summed, if they hold a quorum.
    pub(crate) fn sum_votes(&mut self, kind: BallotKind, round: Round, block: BlockId) {
        let (collector, stage) = match kind {
            BallotKind::Order => (&mut self.orders, Stage::Order),
            BallotKind::Vote | BallotKind::Timeout => (&mut self.votes, Stage::Vote),
        };
        let quorum =
            collector.quorum(round, |stake| self.committee.is_quorum(stake), |one| one == block);
        let Some(votes) = quorum else { return };
        let parties = votes.keys().copied().collect();
        let votes = votes.into_iter().map(|(party, (_, signature))| (party, signature)).collect();
        let work = Work::Votes { stage, round, block, votes };
        self.check(work, Pending::Votes { stage, round, block, parties });
    }

    pub(crate) fn count_timeout(&mut self, round: Round, party: Party, ballot: (Round, Signature)) {
        let cast = self.cast(party, ballot);
        // A second timeout with another certificate is no fault: a restart can cause it.
        if self.timeouts.add(round, cast) != Added::Stored {
            return;
        }
        if cast.standing == Standing::Suspected {
            let work = Work::Timeouts { round, votes: [(party, ballot)].into() };
            self.check(work, Pending::Suspect { ballot: BallotKind::Timeout, round, party });
        } else {
            self.sum_timeouts(round);
        }
    }

    /// Sends the timeouts of a round to be summed, if they hold a quorum.
    pub(crate) fn sum_timeouts(&mut self, round: Round) {
        let is_quorum = |stake| self.committee.is_quorum(stake);
        if let Some(votes) = self.timeouts.quorum(round, is_quorum, |_| true) {
            let work = Work::Timeouts { round, votes: votes.clone() };
            self.check(work, Pending::Timeouts { round, votes });
        }
    }

    /// Accepts a message whose certificates are known, or first has its news checked.
    pub(crate) fn admit(&mut self, now: Instant, from: Party, message: Message) {
        let claims = match &message {
            Message::Proposal(proposal) => self.news_in_proposal(now, proposal),
            Message::Timeout(timeout) => self.news_in_timeout(from, timeout),
            Message::Status(status) => {
                Some(self.news(&status.qc, status.tc.as_ref())).filter(|news| !news.is_empty())
            }
            _ => None,
        };
        let Some(claims) = claims else { return };
        if claims.is_empty() {
            self.accept(now, from, message);
            return;
        }
        if self.held(from) >= MAX_HELD {
            return;
        }
        let shared = self.jobs.values_mut().find_map(|pending| match pending {
            Pending::Claims { claims: known, held } if overlap(known, &claims) => Some(held),
            _ => None,
        });
        match shared {
            Some(held) => held.push((from, message)),
            None => {
                let held = vec![(from, message)];
                self.check(Work::Claims(claims.clone()), Pending::Claims { claims, held });
            }
        }
    }

    fn held(&self, from: Party) -> usize {
        let held = self.jobs.values().filter_map(|pending| match pending {
            Pending::Claims { held, .. } => Some(held),
            _ => None,
        });
        held.flatten().filter(|(party, _)| *party == from).count()
    }

    /// The certificates that would change something.
    fn news(&self, qc: &QuorumCertificate, tc: Option<&TimeoutCertificate>) -> Vec<Claim> {
        let qc = (qc.round > self.qc.round).then(|| Claim::Quorum(qc.clone()));
        let tc = tc.filter(|tc| tc.round >= self.pacemaker.round());
        qc.into_iter().chain(tc.map(|tc| Claim::Timeouts(tc.clone()))).collect()
    }

    /// The claims to check in a proposal; `None` if the proposal is of no use.
    fn news_in_proposal(&mut self, now: Instant, proposal: &Proposal) -> Option<Vec<Claim>> {
        let Proposal { block, qc, tc, signature } = proposal;
        let (round, id) = (block.round(), block.id(self.committee.context()));
        if self.fetch.is_wanted(id) {
            // A certificate already vouches for it.
            self.insert(now, id, block.clone());
        }
        if round < self.pacemaker.round() {
            return None;
        }
        let useless = |seen: &SeenProposal| seen.accused || seen.said.block == id;
        if self.proposals.get(&round).is_some_and(useless) {
            return None;
        }
        let author = block.author();
        let mut claims = vec![Claim::Proposal { author, round, block: id, signature: *signature }];
        if !self.is_known(qc) {
            claims.push(Claim::Quorum(qc.clone()));
        }
        // Any timeout certificate of that round is enough, if it allows this parent.
        let known = |ours: &TimeoutCertificate, tc: &TimeoutCertificate| {
            ours.round == tc.round && ours.highest_qc() <= qc.round
        };
        let tc = tc.as_ref().filter(|tc| !self.tc.as_ref().is_some_and(|ours| known(ours, tc)));
        claims.extend(tc.map(|tc| Claim::Timeouts(tc.clone())));
        Some(claims)
    }

    fn is_known(&self, qc: &QuorumCertificate) -> bool {
        (self.qc.round, self.qc.block) == (qc.round, qc.block)
            || self.certified.get(&qc.round) == Some(&qc.block)
            // The check of the shape has made sure that this is the genesis block's.
            || qc.round == Round::GENESIS
    }

    /// The claims to check in a timeout; `None` if it is of no use. The sender of an old timeout is
    /// told this party's status.
    fn news_in_timeout(&mut self, from: Party, timeout: &Timeout) -> Option<Vec<Claim>> {
        if timeout.round < self.pacemaker.round() {
            self.send(Recipient::One(from), Message::Status(Box::new(self.status())));
            return None;
        }
        Some(self.news(&timeout.qc, timeout.tc.as_ref()))
    }

    /// Accepts a message. All its certificates are valid, or do not matter.
    pub(crate) fn accept(&mut self, now: Instant, from: Party, message: Message) {
        match message {
            Message::Proposal(proposal) => self.accept_proposal(now, *proposal),
            Message::Timeout(timeout) if timeout.round == self.pacemaker.round() => {
                let Timeout { round, qc, signature, .. } = *timeout;
                self.count_timeout(round, from, (qc.round, signature));
            }
            _ => {}
        }
    }

    fn accept_proposal(&mut self, now: Instant, proposal: Proposal) {
        let (round, author) = (proposal.block.round(), proposal.block.author());
        let block = proposal.block.id(self.committee.context());
        let said = SignedBlock { block, signature: proposal.signature };
        let Some(seen) = self.proposals.get_mut(&round) else {
            self.proposals.insert(round, SeenProposal { said, accused: false });
            self.vote(now, proposal);
            return;
        };
        if seen.said.block != block && !seen.accused {
            seen.accused = true;
            let (stage, first) = (Stage::Proposal, seen.said);
            let equivocation = Equivocation { stage, round, first, second: said };
            self.accuse(author, Fault::Equivocation(Box::new(equivocation)));
        }
    }

    fn serve(&mut self, now: Instant, from: Party, request: Request) {
        if !self.fetch.may_serve(from, now) {
            return;
        }
        let mut room = self.max_block_bytes;
        let chain = self.tree.chain(request.block, request.above).take(MAX_RESPONSE_BLOCKS);
        let blocks: Vec<_> = chain
            .map_while(|block| {
                room = room.checked_sub(block.payload_len())?;
                Some(block.clone())
            })
            .collect();
        if !blocks.is_empty() {
            self.send(Recipient::One(from), Message::Response(Response { blocks }));
        }
    }

    /// Takes blocks of a response. Each block makes the next one wanted. Blocks that are not wanted
    /// (any more) are ignored.
    fn take(&mut self, now: Instant, response: Response) {
        for block in response.blocks {
            let id = block.id(self.committee.context());
            if !self.fetch.is_wanted(id) {
                return;
            }
            self.insert(now, id, block);
        }
    }

    pub(crate) fn request_missing(&mut self, now: Instant) {
        let above = self.tree.root().round;
        for (party, block) in self.fetch.due(now) {
            self.send(Recipient::One(party), Message::Request(Request { block, above }));
        }
    }
}

/// Whether two sets of claims have a certificate about the same subject.
fn overlap(some: &[Claim], others: &[Claim]) -> bool {
    let same = |one: &Claim, other: &Claim| match (one, other) {
        (Claim::Quorum(one), Claim::Quorum(other)) => {
            (one.round, one.block) == (other.round, other.block)
        }
        (Claim::Timeouts(one), Claim::Timeouts(other)) => one.round == other.round,
        _ => one == other,
    };
    some.iter().any(|one| others.iter().any(|other| same(one, other)))
}
