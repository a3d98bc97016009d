//! Which slots are final, counted as in Definition 5 of `latency-price` from the votes of the parties.
//!
//! | engine     | makes final                                              | what                              |
//! |------------|----------------------------------------------------------|-----------------------------------|
//! | Jolteon    | a quorum of promises to order-vote in one round           | the round and everything before it |
//! |            | a quorum of votes for a child in the next round           | the same                          |
//! | Malachite  | a quorum of precommits for one block in one round         | the height                        |
//! | Trantor    | a quorum of commits for one value in one view             | the height; it may be skipped      |
//! | DISPEL     | for each proposer a quorum of auxiliary votes for its bit, and of readies for its batch | the stage |
//! | permissive | a quorum of votes for one value in one view               | the slot, and what the votes imply |
//!
//! A quorum is more than two thirds of the stake, and a faulty party counts as if it had voted for
//! everything. So a value is final here as soon as the faulty parties could make it final.
//!
//! The checker and the permissive engine that must obey count in the same way: the engine asks here
//! what it may still vote for ([`Finality::allows`]).

use std::collections::{BTreeMap, BTreeSet};

use ::prefinal_beacon::{Slot, Value, View};
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_dispel::{StageTally, Step};
use prefinal_weighted_rounding::Stake;

/// A statement that counts towards finality.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ballot {
    /// Jolteon: a durable promise of this party, whose last order vote is in this round.
    Promised(u64),
    /// Jolteon: a vote.
    Voted {
        /// The round.
        round: u64,
        /// The block that the vote is for.
        block: Value,
    },
    /// Jolteon: a proposal. Proposals of faulty leaders are included.
    Proposed {
        /// The round that the block is proposed in.
        round: u64,
        /// The round of the block that it extends.
        parent: u64,
        /// The block.
        block: Value,
    },
    /// A vote that makes a value final in its view.
    Cast(FinalityVote),
    /// DISPEL: what a party says in a stage of the committee with this context.
    Stage {
        /// The hash of the committee, on which the stage's value depends.
        context: [u8; 32],
        /// The stage in which it is said.
        stage: Slot,
        /// Votes on batches and bits, in the order in which they were cast.
        steps: Vec<Step>,
    },
}

/// A vote that makes a value final once a quorum has cast it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct FinalityVote {
    /// The slot and the attempt.
    pub view: View,
    /// The value.
    pub value: Value,
    /// Other slots that become final with it, with their values; `None` means skipped. If the view's own
    /// slot is among them, the vote is to skip it, and the value only names that.
    pub implied: Vec<(Slot, Option<Value>)>,
}

impl FinalityVote {
    /// All slots that a quorum of such votes decides.
    pub(crate) fn decides(&self) -> impl Iterator<Item = (Slot, Option<Value>)> {
        let own = self.is_for_its_slot().then_some((self.view.slot, Some(self.value)));
        self.implied.iter().copied().chain(own)
    }

    /// Whether it is for its value, and not to skip the slot of its view.
    pub(crate) fn is_for_its_slot(&self) -> bool {
        self.implied.iter().all(|(slot, _)| *slot != self.view.slot)
    }
}

/// The votes so far, and what they make final.
#[derive(Clone, Debug)]
pub(crate) struct Finality {
    stakes: Vec<u128>,
    faulty: BTreeSet<Party>,
    /// The last round of Jolteon that is final.
    horizon: u64,
    promised: BTreeMap<u64, BTreeSet<Party>>,
    voted: BTreeMap<(u64, Value), BTreeSet<Party>>,
    parents: BTreeMap<Value, u64>,
    casts: BTreeMap<FinalityVote, BTreeSet<Party>>,
    stages: BTreeMap<Slot, StageTally>,
    decided: BTreeMap<Slot, Option<Value>>,
}

impl Finality {
    pub(crate) fn new(stakes: Vec<u128>, faulty: BTreeSet<Party>) -> Self {
        Self {
            stakes,
            faulty,
            horizon: 0,
            promised: BTreeMap::new(),
            voted: BTreeMap::new(),
            parents: BTreeMap::new(),
            casts: BTreeMap::new(),
            stages: BTreeMap::new(),
            decided: BTreeMap::new(),
        }
    }

    /// Takes note of a party's ballot.
    pub(crate) fn take(&mut self, party: Party, ballot: &Ballot) {
        match ballot {
            Ballot::Proposed { parent, block, .. } => {
                self.parents.insert(*block, *parent);
            }
            _ if self.faulty.contains(&party) => {}
            Ballot::Promised(round) => {
                self.promised.entry(*round).or_default().insert(party);
                if self.is_quorum(self.promised.get(round)) {
                    self.horizon = self.horizon.max(*round);
                }
            }
            Ballot::Voted { round, block } => {
                self.voted.entry((*round, *block)).or_default().insert(party);
                let parent = self.parents.get(block).copied();
                let chained = parent.filter(|parent| parent.saturating_add(1) == *round);
                if self.is_quorum(self.voted.get(&(*round, *block))) {
                    self.horizon = chained.map_or(self.horizon, |parent| parent.max(self.horizon));
                }
            }
            Ballot::Cast(cast) => {
                self.casts.entry(cast.clone()).or_default().insert(party);
                if self.is_quorum(self.casts.get(cast)) {
                    for (slot, value) in cast.decides() {
                        self.decided.entry(slot).or_insert(value);
                    }
                }
            }
            Ballot::Stage { context, stage, steps } => {
                self.take_stage(party, context, *stage, steps)
            }
        }
    }

    fn take_stage(&mut self, party: Party, context: &[u8; 32], stage: Slot, steps: &[Step]) {
        if self.decided.contains_key(&stage) {
            return;
        }
        if !self.stages.contains_key(&stage) {
            let stakes: Vec<Stake> = self.stakes.iter().copied().map(Stake::new).collect();
            let tally = StageTally::new(&stakes, self.faulty.clone());
            self.stages.extend(tally.map(|tally| (stage, tally)));
        }
        let Some(tally) = self.stages.get_mut(&stage) else { return };
        tally.take(party, steps);
        if let Some(value) = tally.value(context, stage) {
            self.decided.insert(stage, Some(value));
            self.stages.remove(&stage);
        }
    }

    /// Rounds are final up to this one.
    pub(crate) const fn horizon(&self) -> u64 {
        self.horizon
    }

    /// What a slot is final with, as far as votes name it.
    pub(crate) fn decided(&self, slot: Slot) -> Option<Option<Value>> {
        self.decided.get(&slot).copied()
    }

    /// The last slot that a vote for it or for a later one has decided.
    pub(crate) fn last_decided(&self) -> Option<Slot> {
        self.decided.last_key_value().map(|(slot, _)| *slot)
    }

    /// Whether the output of this input may be known: its slot is final, and with this value if it is
    /// in the input.
    pub(crate) fn permits(&self, slot: Slot, bound: Option<Value>) -> bool {
        match (self.decided(slot), bound) {
            (Some(decided), Some(value)) => decided == Some(value),
            (decided, None) => decided.is_some() || slot.get() <= self.horizon,
            (None, Some(_)) => false,
        }
    }

    /// Whether a vote contradicts nothing that is final. What completes no second quorum leaves
    /// agreement as it is, so Definition 5 asks no more of a party that votes once in a view.
    pub(crate) fn allows(&self, cast: &FinalityVote) -> bool {
        cast.decides().all(|(slot, value)| self.decided(slot).is_none_or(|known| known == value))
    }

    /// Whether this party's vote would make something final that is not.
    pub(crate) fn completes(&self, party: Party, cast: &FinalityVote) -> bool {
        if cast.decides().all(|(slot, _)| self.decided.contains_key(&slot)) {
            return false;
        }
        let mut voters = self.casts.get(cast).cloned().unwrap_or_default();
        voters.insert(party);
        self.is_quorum(Some(&voters))
    }

    /// All votes so far that could still decide something.
    pub(crate) fn casts(&self) -> impl Iterator<Item = (&FinalityVote, &BTreeSet<Party>)> {
        self.casts.iter()
    }

    /// Whether these and all faulty parties hold a quorum of stake.
    fn is_quorum(&self, honest: Option<&BTreeSet<Party>>) -> bool {
        let stake = |party: &Party| self.stakes.get(party.index()).copied().unwrap_or(0);
        let total: u128 = self.stakes.iter().sum();
        let honest: u128 = honest.into_iter().flatten().map(stake).sum();
        let faulty: u128 = self.faulty.iter().map(stake).sum();
        (honest + faulty).saturating_mul(3) > total.saturating_mul(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Slot = Slot::new(1);
    const TWO: Slot = Slot::new(2);
    const A: Value = Value::new([1; 32]);
    const B: Value = Value::new([2; 32]);

    fn finality() -> Finality {
        Finality::new(vec![1; 4], [Party::new(3)].into())
    }

    fn cast(slot: Slot, attempt: u32, value: Value) -> FinalityVote {
        FinalityVote { view: View::new(slot, attempt), value, implied: Vec::new() }
    }

    fn vote(finality: &mut Finality, party: u32, cast: &FinalityVote) {
        finality.take(Party::new(party), &Ballot::Cast(cast.clone()));
    }

    #[test]
    fn votes_of_two_views_do_not_add_up() {
        let mut finality = finality();
        vote(&mut finality, 0, &cast(ONE, 0, A));
        vote(&mut finality, 1, &cast(ONE, 1, A));
        assert!(!finality.permits(ONE, None));
        assert!(finality.allows(&cast(ONE, 2, B)));
        assert!(finality.completes(Party::new(2), &cast(ONE, 1, A)));
        vote(&mut finality, 2, &cast(ONE, 1, A));
        assert!(finality.permits(ONE, None) && finality.permits(ONE, Some(A)));
        assert!(!finality.permits(ONE, Some(B)) && !finality.allows(&cast(ONE, 2, B)));
        assert!(!finality.completes(Party::new(0), &cast(ONE, 2, A)), "it is final already");
    }

    #[test]
    fn a_descendant_decides_what_it_implies() {
        let mut finality = finality();
        let child = FinalityVote { implied: vec![(ONE, None)], ..cast(TWO, 0, A) };
        (0..2).for_each(|party| vote(&mut finality, party, &child));
        assert_eq!(finality.decided(ONE), Some(None));
        assert!(finality.permits(ONE, None) && !finality.permits(ONE, Some(A)));
        assert!(!finality.allows(&cast(ONE, 5, A)));
        assert_eq!(finality.last_decided(), Some(TWO));
    }

    #[test]
    fn a_vote_may_be_to_skip_its_own_slot() {
        let mut finality = finality();
        let skip = FinalityVote { implied: vec![(ONE, None)], ..cast(ONE, 1, A) };
        (0..2).for_each(|party| vote(&mut finality, party, &skip));
        assert_eq!(finality.decided(ONE), Some(None));
        assert!(finality.permits(ONE, None) && !finality.permits(ONE, Some(A)));
    }

    #[test]
    fn the_faulty_count_for_everything_and_vote_for_nothing() {
        let mut finality = finality();
        vote(&mut finality, 3, &cast(ONE, 0, A));
        vote(&mut finality, 0, &cast(ONE, 0, A));
        assert!(!finality.permits(ONE, None));
        finality.take(Party::new(0), &Ballot::Promised(7));
        finality.take(Party::new(1), &Ballot::Promised(7));
        assert_eq!(finality.horizon(), 7);
        assert!(finality.permits(ONE, None) && !finality.permits(ONE, Some(A)));
    }
}
