//! Reliable broadcast of one batch: the batch travels once, everything else says its hash.
//!
//! ```text
//! proposer  batch                      to all
//! all       echo(hash)                 once, when the batch is here and on disk
//! all       ready(hash)                once, when a strong quorum echoes it or a weak one is ready
//! delivered                            when a strong quorum is ready
//! ```
//! Two strong quorums share an honest party, which echoes once: no two parties are ready for different batches, and
//! no two deliver different ones. If one honest party delivers, a weak quorum is ready everywhere, so all deliver.
//! A strong quorum of echoes has an honest part of more than a third of the stake, which has the batch: who
//! delivers a hash without its batch asks one of those that echoed it.
//!
//! After G. Bracha, *Asynchronous Byzantine agreement protocols*, 1987.
use prefinal_protocol::Party;

use crate::batch::BatchId;
use crate::binary::Contradicted;
use crate::quorum::{Replicas, Supporters};

/// What a party says of a proposer's batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchVote {
    /// The batch is here.
    Echo(BatchId),
    /// No other batch of this proposer can be delivered.
    Ready(BatchId),
}

/// This party's part in one broadcast.
#[derive(Debug)]
pub(crate) struct Broadcast {
    me: Party,
    /// The batch that the proposer sent here.
    received: Option<BatchId>,
    echoes: Named,
    readies: Named,
}

/// Who named which batch; each party names one. There are several only if the proposer or some party is faulty.
#[derive(Debug, Default)]
struct Named(Vec<(BatchId, Supporters)>);

impl Named {
    /// The batch that this party has named.
    fn by(&self, party: Party) -> Option<BatchId> {
        self.0.iter().find(|(_, by)| by.contains(party)).map(|(batch, _)| *batch)
    }

    fn insert(&mut self, committee: &Replicas, party: Party, batch: BatchId) {
        if let Some((_, by)) = self.0.iter_mut().find(|(named, _)| *named == batch) {
            return by.insert(committee, party);
        }
        let mut by = Supporters::default();
        by.insert(committee, party);
        self.0.push((batch, by));
    }

    /// A batch that parties with enough stake have named.
    fn with(&self, is_enough: impl Fn(u128) -> bool) -> Option<BatchId> {
        self.0.iter().find(|(_, by)| is_enough(by.stake())).map(|(batch, _)| *batch)
    }
}

impl Broadcast {
    pub(crate) const fn new(me: Party) -> Self {
        Self { me, received: None, echoes: Named(Vec::new()), readies: Named(Vec::new()) }
    }

    /// The proposer's batch is here and durable. The first one counts.
    pub(crate) fn received(&mut self, batch: BatchId) {
        self.received.get_or_insert(batch);
    }

    /// The batch that the proposer sent here.
    pub(crate) const fn received_batch(&self) -> Option<BatchId> {
        self.received
    }

    /// Takes a vote, also one that this party cast in an earlier life.
    ///
    /// # Errors
    /// If the sender has named another batch before.
    pub(crate) fn receive(
        &mut self,
        committee: &Replicas,
        from: Party,
        vote: BatchVote,
    ) -> Result<(), Contradicted> {
        let (named, batch) = match vote {
            BatchVote::Echo(batch) => (&mut self.echoes, batch),
            BatchVote::Ready(batch) => (&mut self.readies, batch),
        };
        if named.by(from).is_some_and(|first| first != batch) {
            return Err(Contradicted);
        }
        named.insert(committee, from, batch);
        Ok(())
    }

    /// What this party says by now. Takes its own votes at once.
    pub(crate) fn advance(&mut self, committee: &Replicas) -> Vec<BatchVote> {
        let mut said = Vec::new();
        if let Some(batch) = self.received
            && self.echoes.by(self.me).is_none()
        {
            self.say(committee, BatchVote::Echo(batch), &mut said);
        }
        if self.readies.by(self.me).is_none()
            && let Some(batch) = self.certain(committee)
        {
            self.say(committee, BatchVote::Ready(batch), &mut said);
        }
        said
    }

    fn say(&mut self, committee: &Replicas, vote: BatchVote, said: &mut Vec<BatchVote>) {
        // It has not said anything of this kind before.
        let _own = self.receive(committee, self.me, vote);
        said.push(vote);
    }

    fn certain(&self, committee: &Replicas) -> Option<BatchId> {
        let echoed = self.echoes.with(|stake| committee.is_strong(stake));
        echoed.or_else(|| self.readies.with(|stake| committee.is_weak(stake)))
    }

    /// The batch that every honest party delivers.
    pub(crate) fn delivered(&self, committee: &Replicas) -> Option<BatchId> {
        self.readies.with(|stake| committee.is_strong(stake))
    }

    /// Parties that say they have this batch.
    pub(crate) fn holders(&self, batch: BatchId) -> Vec<Party> {
        let named = self.echoes.0.iter().find(|(named, _)| *named == batch);
        named.into_iter().flat_map(|(_, by)| by.iter()).collect()
    }
}

#[cfg(test)]
mod tests {
    use prefinal_weighted_rounding::Stake;

    use super::*;

    const A: BatchId = BatchId::new([1; 32]);
    const B: BatchId = BatchId::new([2; 32]);

    fn four() -> Replicas {
        Replicas::new(&[Stake::new(1); 4]).unwrap()
    }

    fn party(number: u32) -> Party {
        Party::new(number)
    }

    #[test]
    fn three_of_four_deliver_what_they_echo() {
        let committee = four();
        let mut one = Broadcast::new(party(0));
        one.received(A);
        one.received(B);
        assert_eq!(one.advance(&committee), [BatchVote::Echo(A)]);
        one.receive(&committee, party(1), BatchVote::Echo(A)).unwrap();
        assert_eq!(one.advance(&committee), []);
        one.receive(&committee, party(2), BatchVote::Echo(A)).unwrap();
        assert_eq!(one.advance(&committee), [BatchVote::Ready(A)]);
        one.receive(&committee, party(1), BatchVote::Ready(A)).unwrap();
        assert_eq!(one.delivered(&committee), None);
        one.receive(&committee, party(3), BatchVote::Ready(A)).unwrap();
        assert_eq!(one.delivered(&committee), Some(A));
        assert_eq!(one.holders(A), [0, 1, 2].map(party));
    }

    #[test]
    fn a_weak_quorum_that_is_ready_convinces_who_has_heard_nothing() {
        let committee = four();
        let mut one = Broadcast::new(party(0));
        one.receive(&committee, party(1), BatchVote::Ready(A)).unwrap();
        assert_eq!(one.advance(&committee), []);
        one.receive(&committee, party(2), BatchVote::Ready(A)).unwrap();
        assert_eq!(one.advance(&committee), [BatchVote::Ready(A)]);
        assert_eq!(one.delivered(&committee), Some(A));
    }

    #[test]
    fn a_proposer_with_two_batches_is_delivered_by_nobody_or_alike() {
        let committee = four();
        let mut parties: Vec<Broadcast> = (0..3).map(|me| Broadcast::new(party(me))).collect();
        for (one, batch) in parties.iter_mut().zip([A, A, B]) {
            one.received(batch);
        }
        // The fourth party, the proposer, echoes and is ready for both, each to those that have it.
        for (one, batch) in parties.iter_mut().zip([A, A, B]) {
            one.receive(&committee, party(3), BatchVote::Echo(batch)).unwrap();
            one.receive(&committee, party(3), BatchVote::Ready(batch)).unwrap();
        }
        let mut said = vec![Vec::new(); 3];
        for _ in 0..4 {
            for from in 0..3 {
                for vote in parties[from].advance(&committee) {
                    said[from].push(vote);
                    let me = party(u32::try_from(from).unwrap());
                    for to in (0..3).filter(|to| *to != from) {
                        let _ = parties[to].receive(&committee, me, vote);
                    }
                }
            }
        }
        let delivered: Vec<_> = parties.iter().map(|one| one.delivered(&committee)).collect();
        assert_eq!(delivered, [Some(A); 3], "three echo A: two parties and the proposer");
        assert!(said[2].contains(&BatchVote::Echo(B)) && said[2].contains(&BatchVote::Ready(A)));
    }

    #[test]
    fn who_echoes_twice_is_found_out() {
        let committee = four();
        let mut one = Broadcast::new(party(0));
        one.receive(&committee, party(1), BatchVote::Echo(A)).unwrap();
        assert_eq!(one.receive(&committee, party(1), BatchVote::Echo(B)), Err(Contradicted));
        assert_eq!(one.holders(B), []);
    }
}
