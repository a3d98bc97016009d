//! Reliable broadcast of batches: each travels once, everything else says its hash.
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
use crate::quorum::Replicas;
use crate::votes::Named;

/// What a party says of a proposer's batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchVote {
    /// The batch is here.
    Echo(BatchId),
    /// No other batch of this proposer can be delivered.
    Ready(BatchId),
}

/// This party's part in the broadcasts of all proposers.
#[derive(Debug)]
pub(crate) struct Broadcasts {
    me: Party,
    /// The batch that each proposer sent here.
    received: Vec<Option<BatchId>>,
    echoes: Named,
    readies: Named,
}

impl Broadcasts {
    pub(crate) fn new(committee: &Replicas, me: Party) -> Self {
        let (echoes, readies) = (Named::new(committee), Named::new(committee));
        Self { me, received: vec![None; committee.size()], echoes, readies }
    }

    /// The proposer's batch is here and durable. The first one counts.
    pub(crate) fn received(&mut self, proposer: Party, batch: BatchId) {
        if let Some(received) = self.received.get_mut(proposer.index()) {
            received.get_or_insert(batch);
        }
    }

    /// The batch that the proposer sent here.
    pub(crate) fn received_batch(&self, proposer: Party) -> Option<BatchId> {
        self.received.get(proposer.index()).copied().flatten()
    }

    /// Takes a vote, also one that this party cast in an earlier life.
    ///
    /// # Errors
    /// If the sender has named another batch before.
    pub(crate) fn receive(
        &mut self,
        committee: &Replicas,
        from: Party,
        proposer: Party,
        vote: BatchVote,
    ) -> Result<(), Contradicted> {
        match vote {
            BatchVote::Echo(batch) => self.echoes.insert(committee, from, proposer, batch),
            BatchVote::Ready(batch) => self.readies.insert(committee, from, proposer, batch),
        }
    }

    /// What this party says of a proposer's batch by now. Takes its own votes at once.
    pub(crate) fn advance(&mut self, committee: &Replicas, proposer: Party) -> Vec<BatchVote> {
        let (me, mut said) = (self.me, Vec::new());
        if let Some(batch) = self.received_batch(proposer)
            && !self.echoes.names(committee, me, proposer)
        {
            said.push(BatchVote::Echo(batch));
            // It has not said anything of this kind before.
            let _own = self.echoes.insert(committee, me, proposer, batch);
        }
        if !self.readies.names(committee, me, proposer)
            && let Some(batch) = self.certain(committee, proposer)
        {
            said.push(BatchVote::Ready(batch));
            let _own = self.readies.insert(committee, me, proposer, batch);
        }
        said
    }

    fn certain(&self, committee: &Replicas, proposer: Party) -> Option<BatchId> {
        let echoed = self.echoes.with(proposer, |stake| committee.is_strong(stake));
        echoed.or_else(|| self.readies.with(proposer, |stake| committee.is_weak(stake)))
    }

    /// The batch that every honest party delivers.
    pub(crate) fn delivered(&self, committee: &Replicas, proposer: Party) -> Option<BatchId> {
        self.readies.with(proposer, |stake| committee.is_strong(stake))
    }

    /// Parties that say they have this batch of a proposer.
    pub(crate) fn holders(
        &self,
        committee: &Replicas,
        proposer: Party,
        batch: BatchId,
    ) -> Vec<Party> {
        self.echoes.parties(committee, proposer, batch)
    }
}

#[cfg(test)]
mod tests {
    use prefinal_weighted_rounding::Stake;

    use super::*;

    const A: BatchId = BatchId::new([1; 32]);
    const B: BatchId = BatchId::new([2; 32]);

    /// Whose batch it is.
    const PROPOSER: Party = Party::new(3);

    fn four() -> Replicas {
        Replicas::new(&[Stake::new(1); 4]).unwrap()
    }

    fn party(number: u32) -> Party {
        Party::new(number)
    }

    #[test]
    fn three_of_four_deliver_what_they_echo() {
        let committee = four();
        let mut one = Broadcasts::new(&committee, party(0));
        one.received(PROPOSER, A);
        one.received(PROPOSER, B);
        assert_eq!(one.advance(&committee, PROPOSER), [BatchVote::Echo(A)]);
        one.receive(&committee, party(1), PROPOSER, BatchVote::Echo(A)).unwrap();
        assert_eq!(one.advance(&committee, PROPOSER), []);
        one.receive(&committee, party(2), PROPOSER, BatchVote::Echo(A)).unwrap();
        assert_eq!(one.advance(&committee, PROPOSER), [BatchVote::Ready(A)]);
        one.receive(&committee, party(1), PROPOSER, BatchVote::Ready(A)).unwrap();
        assert_eq!(one.delivered(&committee, PROPOSER), None);
        one.receive(&committee, party(3), PROPOSER, BatchVote::Ready(A)).unwrap();
        assert_eq!(one.delivered(&committee, PROPOSER), Some(A));
        assert_eq!(one.holders(&committee, PROPOSER, A), [0, 1, 2].map(party));
    }

    #[test]
    fn a_weak_quorum_that_is_ready_convinces_who_has_heard_nothing() {
        let committee = four();
        let mut one = Broadcasts::new(&committee, party(0));
        one.receive(&committee, party(1), PROPOSER, BatchVote::Ready(A)).unwrap();
        assert_eq!(one.advance(&committee, PROPOSER), []);
        one.receive(&committee, party(2), PROPOSER, BatchVote::Ready(A)).unwrap();
        assert_eq!(one.advance(&committee, PROPOSER), [BatchVote::Ready(A)]);
        assert_eq!(one.delivered(&committee, PROPOSER), Some(A));
    }

    #[test]
    fn a_proposer_with_two_batches_is_delivered_by_nobody_or_alike() {
        let committee = four();
        let mut parties: Vec<Broadcasts> =
            (0..3).map(|me| Broadcasts::new(&committee, party(me))).collect();
        for (one, batch) in parties.iter_mut().zip([A, A, B]) {
            one.received(PROPOSER, batch);
        }
        // The fourth party, the proposer, echoes and is ready for both, each to those that have it.
        for (one, batch) in parties.iter_mut().zip([A, A, B]) {
            one.receive(&committee, party(3), PROPOSER, BatchVote::Echo(batch)).unwrap();
            one.receive(&committee, party(3), PROPOSER, BatchVote::Ready(batch)).unwrap();
        }
        let mut said = vec![Vec::new(); 3];
        for _ in 0..4 {
            for from in 0..3 {
                for vote in parties[from].advance(&committee, PROPOSER) {
                    said[from].push(vote);
                    let me = party(u32::try_from(from).unwrap());
                    for to in (0..3).filter(|to| *to != from) {
                        let _ = parties[to].receive(&committee, me, PROPOSER, vote);
                    }
                }
            }
        }
        let delivered: Vec<_> =
            parties.iter().map(|one| one.delivered(&committee, PROPOSER)).collect();
        assert_eq!(delivered, [Some(A); 3], "three echo A: two parties and the proposer");
        assert!(said[2].contains(&BatchVote::Echo(B)) && said[2].contains(&BatchVote::Ready(A)));
    }

    #[test]
    fn who_echoes_twice_is_found_out() {
        let committee = four();
        let mut one = Broadcasts::new(&committee, party(0));
        one.receive(&committee, party(1), PROPOSER, BatchVote::Echo(A)).unwrap();
        assert_eq!(
            one.receive(&committee, party(1), PROPOSER, BatchVote::Echo(B)),
            Err(Contradicted)
        );
        assert_eq!(one.holders(&committee, PROPOSER, B), []);
    }
}
