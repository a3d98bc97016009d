//! Messages of parties. What a party says of all proposers at one time travels as one [`Step`] for each kind.
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::{Party, Slot};

use crate::batch::{Batch, BatchId, StageOutcome};
use crate::binary::{BitVote, Bits};
use crate::broadcast::BatchVote;
use crate::quorum::Replicas;
use crate::votes::{Cells, WORD};

/// What parties send to each other, over links that authenticate them. Nothing is signed.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Message {
    /// The sender's batch in a stage.
    Batch {
        /// The stage that the batch is proposed in.
        stage: Slot,
        /// The transactions that the sender proposes.
        batch: Batch,
    },
    /// What the sender says in a stage.
    Votes {
        /// The stage that is voted in.
        stage: Slot,
        /// All that it says now.
        steps: Vec<Step>,
    },
    /// The sender lacks a batch.
    Request {
        /// The stage of the batch that is missing.
        stage: Slot,
        /// Whose batch it is.
        proposer: Party,
    },
    /// The answer to a [`Request`](Self::Request).
    Answer {
        /// The stage of the batch that was asked for.
        stage: Slot,
        /// Whose batch it is.
        proposer: Party,
        /// The batch, which has the name that was decided.
        batch: Batch,
    },
    /// The first stage whose outcome the sender does not know. Peers say again what it may have missed.
    Status {
        /// The first stage that the sender does not know the end of.
        next: Slot,
    },
    /// What was decided in a stage that is over at the sender.
    Decided {
        /// The stage that is decided.
        stage: Slot,
        /// The batches in it.
        outcome: StageOutcome,
    },
}

/// One kind of vote, on several proposers.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Step {
    /// These batches are here.
    Echo(Vec<(Party, BatchId)>),
    /// No other batches of these proposers can be delivered.
    Ready(Vec<(Party, BatchId)>),
    /// Bits that were proposed.
    Estimate {
        /// The round of the binary consensus, from 1 on.
        round: u32,
        /// Whether the sender proposes them itself; otherwise somebody honest did.
        own: bool,
        /// The bit of each proposer.
        bits: BitMaps,
    },
    /// Bits that the coordinator of a round would like to see.
    Coordinate {
        /// The round that the sender coordinates.
        round: u32,
        /// The bit of each proposer that the sender coordinates.
        bits: BitMaps,
    },
    /// Bits that are justified at the sender.
    Auxiliary {
        /// The round that the sets are sent in, once in each.
        round: u32,
        /// One bit of a proposer or both.
        bits: BitMaps,
    },
}

/// For each of some proposers zero, one or both, as two maps with the first proposer at the lowest bit.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct BitMaps {
    zeros: Vec<u8>,
    ones: Vec<u8>,
}

impl BitMaps {
    /// The proposers with a zero, and those with a one.
    #[must_use]
    pub const fn new(zeros: Vec<u8>, ones: Vec<u8>) -> Self {
        Self { zeros, ones }
    }

    /// The proposers with a zero.
    #[must_use]
    pub fn zeros(&self) -> &[u8] {
        &self.zeros
    }

    /// The proposers with a one.
    #[must_use]
    pub fn ones(&self) -> &[u8] {
        &self.ones
    }

    /// The proposers with this bit alone.
    pub fn only(&self, bit: bool) -> impl Iterator<Item = Party> {
        self.iter().filter(move |(_, bits)| *bits == Bits::only(bit)).map(|(party, _)| party)
    }

    /// The number of proposers that the maps have places for.
    fn length(&self) -> usize {
        self.zeros.len().max(self.ones.len()).saturating_mul(8)
    }

    /// The bits by words of 64 proposers.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cells> {
        let bytes = WORD / 8;
        let of = move |map: &[u8], word: usize| {
            let map = map.iter().skip(word.saturating_mul(bytes)).take(bytes);
            map.rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
        };
        let words = self.zeros.len().max(self.ones.len()).div_ceil(bytes);
        (0..words).map(move |word| Cells {
            word,
            zeros: of(&self.zeros, word),
            ones: of(&self.ones, word),
        })
    }

    fn insert(&mut self, proposer: Party, bits: Bits) {
        let (at, mask) = (proposer.index() / 8, 1 << (proposer.index() % 8));
        for (map, is) in [(&mut self.zeros, bits.zero), (&mut self.ones, bits.one)] {
            if is && map.len() <= at {
                map.resize(at.saturating_add(1), 0);
            }
            if let Some(byte) = map.get_mut(at).filter(|_| is) {
                *byte |= mask;
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = (Party, Bits)> {
        (0..self.length()).filter_map(|at| {
            let is = |map: &[u8]| map.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
            let bits = Bits { zero: is(&self.zeros), one: is(&self.ones) };
            let proposer = Party::new(u32::try_from(at).ok()?);
            (bits.zero || bits.one).then_some((proposer, bits))
        })
    }
}

/// A vote on one proposer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    Batch(BatchVote),
    Bit(BitVote),
}

impl Step {
    /// Groups votes; kinds and rounds stay in the order in which they were first said.
    pub(crate) fn group(votes: impl IntoIterator<Item = (Party, Vote)>) -> Vec<Self> {
        let mut steps: Vec<Self> = Vec::new();
        for (proposer, vote) in votes {
            if !steps.iter_mut().any(|step| step.add(proposer, vote)) {
                let mut step = Self::of(vote);
                step.add(proposer, vote);
                steps.push(step);
            }
        }
        steps
    }

    fn of(vote: Vote) -> Self {
        let bits = BitMaps::default();
        match vote {
            Vote::Batch(BatchVote::Echo(_)) => Self::Echo(Vec::new()),
            Vote::Batch(BatchVote::Ready(_)) => Self::Ready(Vec::new()),
            Vote::Bit(BitVote::Estimate { round, own, .. }) => Self::Estimate { round, own, bits },
            Vote::Bit(BitVote::Coordinate { round, .. }) => Self::Coordinate { round, bits },
            Vote::Bit(BitVote::Auxiliary { round, .. }) => Self::Auxiliary { round, bits },
        }
    }

    /// Adds a vote if it is of this kind and round.
    fn add(&mut self, proposer: Party, vote: Vote) -> bool {
        match (self, vote) {
            (Self::Echo(list), Vote::Batch(BatchVote::Echo(batch)))
            | (Self::Ready(list), Vote::Batch(BatchVote::Ready(batch))) => {
                list.push((proposer, batch));
            }
            (
                Self::Estimate { round, own, bits },
                Vote::Bit(BitVote::Estimate { round: other, bit, own: is_own }),
            ) if *round == other && *own == is_own => bits.insert(proposer, Bits::only(bit)),
            (
                Self::Coordinate { round, bits },
                Vote::Bit(BitVote::Coordinate { round: other, bit }),
            ) if *round == other => bits.insert(proposer, Bits::only(bit)),
            (
                Self::Auxiliary { round, bits },
                Vote::Bit(BitVote::Auxiliary { round: other, bits: said }),
            ) if *round == other => bits.insert(proposer, said),
            _ => return false,
        }
        true
    }

    /// The number of votes that it has room for: at least as many as are in it, and known without a look at them.
    pub(crate) fn length(&self) -> usize {
        match self {
            Self::Echo(list) | Self::Ready(list) => list.len(),
            Self::Estimate { bits, .. }
            | Self::Coordinate { bits, .. }
            | Self::Auxiliary { bits, .. } => bits.length(),
        }
    }

    /// How many votes are in it.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Echo(list) | Self::Ready(list) => list.len(),
            Self::Estimate { bits, .. }
            | Self::Coordinate { bits, .. }
            | Self::Auxiliary { bits, .. } => {
                let each = bits.cells().map(|cells| cells.all().count_ones());
                each.fold(0, |sum, count| sum.saturating_add(usize::try_from(count).unwrap_or(0)))
            }
        }
    }

    /// Whether all votes in it are on members.
    pub(crate) fn speaks_of(&self, committee: &Replicas) -> bool {
        match self {
            Self::Echo(list) | Self::Ready(list) => {
                list.iter().all(|(proposer, _)| proposer.index() < committee.size())
            }
            Self::Estimate { bits, .. }
            | Self::Coordinate { bits, .. }
            | Self::Auxiliary { bits, .. } => bits.cells().all(|cells| {
                let left = committee.size().saturating_sub(cells.word.saturating_mul(WORD));
                let members = u32::try_from(left).ok().and_then(|left| u64::MAX.checked_shl(left));
                cells.all() & members.unwrap_or(0) == 0
            }),
        }
    }

    /// The votes in it. A bit that is said twice where one may be said counts as both, one after the other.
    pub(crate) fn votes(&self) -> Vec<(Party, Vote)> {
        let each = |bits: &BitMaps, vote: &dyn Fn(bool) -> BitVote| {
            let of = |(proposer, bits): (Party, Bits)| {
                let zero = bits.zero.then(|| (proposer, Vote::Bit(vote(false))));
                let one = bits.one.then(|| (proposer, Vote::Bit(vote(true))));
                zero.into_iter().chain(one)
            };
            bits.iter().flat_map(of).collect::<Vec<_>>()
        };
        match self {
            Self::Echo(list) => {
                let vote =
                    |(proposer, batch): &_| (*proposer, Vote::Batch(BatchVote::Echo(*batch)));
                list.iter().map(vote).collect()
            }
            Self::Ready(list) => {
                let vote =
                    |(proposer, batch): &_| (*proposer, Vote::Batch(BatchVote::Ready(*batch)));
                list.iter().map(vote).collect()
            }
            Self::Estimate { round, own, bits } => {
                each(bits, &|bit| BitVote::Estimate { round: *round, bit, own: *own })
            }
            Self::Coordinate { round, bits } => {
                each(bits, &|bit| BitVote::Coordinate { round: *round, bit })
            }
            Self::Auxiliary { round, bits } => {
                let vote = |(proposer, bits)| {
                    (proposer, Vote::Bit(BitVote::Auxiliary { round: *round, bits }))
                };
                bits.iter().map(vote).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grouped_votes_are_the_same_votes() {
        let id = |number| BatchId::new([number; 32]);
        let both = Bits { zero: true, one: true };
        let votes = vec![
            (Party::new(0), Vote::Batch(BatchVote::Echo(id(1)))),
            (Party::new(9), Vote::Batch(BatchVote::Echo(id(2)))),
            (Party::new(9), Vote::Batch(BatchVote::Ready(id(2)))),
            (Party::new(0), Vote::Bit(BitVote::Estimate { round: 1, bit: true, own: true })),
            (Party::new(17), Vote::Bit(BitVote::Estimate { round: 1, bit: false, own: true })),
            (Party::new(3), Vote::Bit(BitVote::Estimate { round: 1, bit: false, own: false })),
            (Party::new(3), Vote::Bit(BitVote::Coordinate { round: 2, bit: true })),
            (Party::new(3), Vote::Bit(BitVote::Auxiliary { round: 2, bits: both })),
            (Party::new(4), Vote::Bit(BitVote::Auxiliary { round: 2, bits: Bits::only(true) })),
        ];
        let steps = Step::group(votes.iter().copied());
        assert_eq!(steps.len(), 6);
        let again: Vec<_> = steps.iter().flat_map(Step::votes).collect();
        assert_eq!(again, votes);
        let bytes = borsh::to_vec(&Message::Votes { stage: Slot::new(1), steps }).unwrap();
        assert_eq!(bytes.len(), 193);
    }
}
