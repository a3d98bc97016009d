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
use std::collections::BTreeMap;

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
    said: BTreeMap<Party, BatchId>,
    ready: BTreeMap<Party, BatchId>,
    echoes: BTreeMap<BatchId, Supporters>,
    readies: BTreeMap<BatchId, Supporters>,
}

impl Broadcast {
    pub(crate) const fn new(me: Party) -> Self {
        Self {
            me,
            received: None,
            said: BTreeMap::new(),
            ready: BTreeMap::new(),
            echoes: BTreeMap::new(),
            readies: BTreeMap::new(),
        }
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
        let (first, supporters, batch) = match vote {
            BatchVote::Echo(batch) => (&mut self.said, &mut self.echoes, batch),
            BatchVote::Ready(batch) => (&mut self.ready, &mut self.readies, batch),
        };
        if *first.entry(from).or_insert(batch) != batch {
            return Err(Contradicted);
        }
        supporters.entry(batch).or_default().insert(committee, from);
        Ok(())
    }

    /// What this party says by now. Takes its own votes at once.
    pub(crate) fn advance(&mut self, committee: &Replicas) -> Vec<BatchVote> {
        let mut said = Vec::new();
        if let Some(batch) = self.received
            && !self.said.contains_key(&self.me)
        {
            self.say(committee, BatchVote::Echo(batch), &mut said);
        }
        if !self.ready.contains_key(&self.me)
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
        let echoed = |(_, by): &(&BatchId, &Supporters)| committee.is_strong(by.stake());
        let ready = |(_, by): &(&BatchId, &Supporters)| committee.is_weak(by.stake());
        let found = self.echoes.iter().find(echoed).or_else(|| self.readies.iter().find(ready));
        found.map(|(batch, _)| *batch)
    }

    /// The batch that every honest party delivers.
    pub(crate) fn delivered(&self, committee: &Replicas) -> Option<BatchId> {
        let all = |(_, by): &(&BatchId, &Supporters)| committee.is_strong(by.stake());
        self.readies.iter().find(all).map(|(batch, _)| *batch)
    }

    /// Parties that say they have this batch.
    pub(crate) fn holders(&self, batch: BatchId) -> Vec<Party> {
        self.echoes.get(&batch).into_iter().flat_map(Supporters::iter).collect()
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
