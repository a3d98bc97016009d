//! When a stage is final, as an observer of all votes sees it.
use std::collections::{BTreeMap, BTreeSet};

use prefinal_protocol::{Party, Slot, Value};

use crate::batch::{BatchId, StageOutcome, value_of};
use crate::binary::{BitVote, Bits};
use crate::broadcast::BatchVote;
use crate::message::{Step, Vote};
use crate::quorum::{Replicas, Supporters};

/// The votes in one stage, of all parties that an observer sees.
///
/// A proposer's bit `b` is final when a strong quorum has sent the auxiliary set `{b}` in a round whose bit is `b`; its
/// batch, when a strong quorum is ready for it; the stage, when both hold for all. Faulty parties count as if they had
/// said everything: a stage is final here as soon as they could make it final.
#[derive(Clone, Debug)]
pub struct StageTally {
    committee: Replicas,
    faulty: BTreeSet<Party>,
    auxiliaries: BTreeMap<(Party, u32), Supporters>,
    readies: BTreeMap<(Party, BatchId), Supporters>,
}

impl StageTally {
    /// No votes yet; `None` if these stakes make no committee.
    #[must_use]
    pub fn new(
        stakes: &[prefinal_weighted_rounding::Stake],
        faulty: BTreeSet<Party>,
    ) -> Option<Self> {
        let committee = Replicas::new(stakes).ok()?;
        Some(Self { committee, faulty, auxiliaries: BTreeMap::new(), readies: BTreeMap::new() })
    }

    /// Takes what an honest party says. What faulty parties say counts anyway.
    pub fn take(&mut self, from: Party, steps: &[Step]) {
        if self.faulty.contains(&from) {
            return;
        }
        for (proposer, vote) in steps.iter().flat_map(Step::votes) {
            let supporters = match vote {
                Vote::Bit(BitVote::Auxiliary { round, bits })
                    if bits == Bits::only(round % 2 == 1) =>
                {
                    self.auxiliaries.entry((proposer, round)).or_default()
                }
                Vote::Batch(BatchVote::Ready(batch)) => {
                    self.readies.entry((proposer, batch)).or_default()
                }
                _ => continue,
            };
            supporters.insert(&self.committee, from);
        }
    }

    /// The value of the stage, once it is final. Costs a walk over all votes.
    #[must_use]
    pub fn value(&self, context: &[u8; 32], stage: Slot) -> Option<Value> {
        let mut outcome = StageOutcome::new();
        for proposer in self.committee.members() {
            if self.bit(proposer)? {
                outcome.push((proposer, self.batch(proposer)?));
            }
        }
        Some(value_of(context, stage, &outcome))
    }

    fn is_strong(&self, supporters: &Supporters) -> bool {
        let faulty = self.faulty.iter().map(|party| self.committee.stake(*party));
        let stake = faulty.fold(supporters.stake(), u128::saturating_add);
        self.committee.is_strong(stake)
    }

    fn bit(&self, proposer: Party) -> Option<bool> {
        let rounds = self.auxiliaries.range((proposer, 0)..=(proposer, u32::MAX));
        let mut strong = rounds.filter(|(_, supporters)| self.is_strong(supporters));
        strong.next().map(|((_, round), _)| round % 2 == 1)
    }

    fn batch(&self, proposer: Party) -> Option<BatchId> {
        let (first, last) = (BatchId::new([0; 32]), BatchId::new([u8::MAX; 32]));
        let batches = self.readies.range((proposer, first)..=(proposer, last));
        let mut strong = batches.filter(|(_, supporters)| self.is_strong(supporters));
        strong.next().map(|((_, batch), _)| *batch)
    }
}
