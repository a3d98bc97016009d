//! The committee: stake, both quorums, and the coordinators of rounds.
//!
//! | quorum | stake                  | what it shows                                                |
//! |--------|------------------------|--------------------------------------------------------------|
//! | strong | more than two thirds   | two of them share an honest party                             |
//! | weak   | more than one third    | an honest party is in it: worth believing                     |
use prefinal_engine::Quorum;
use prefinal_protocol::Party;
use prefinal_weighted_rounding::Stake;
use thiserror::Error;

use crate::votes::{WORD, members, place};

/// Largest number of members of a committee.
pub const MAX_MEMBERS: usize = 1 << 10;

/// Why an engine does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A committee has 1 to [`MAX_MEMBERS`] members.
    #[error("{got} members: there are 1 to {MAX_MEMBERS}")]
    Size {
        /// How many there are.
        got: usize,
    },
    /// All stakes are zero, so there is no quorum.
    #[error("no member has stake")]
    NoStake,
    /// All stakes together are too much for 128 bits.
    #[error("the stakes of all members together are too large")]
    TooMuchStake,
    /// The party is not one of the members.
    #[error("{party} is not a member")]
    NotAMember {
        /// The party that is none.
        party: Party,
    },
    /// What is on record was said in another committee, or by another party.
    #[error("the records are another engine's")]
    OtherRecords,
}

impl ConfigError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Size { .. } => "too-many-parties",
            Self::NoStake => "no-stake",
            Self::TooMuchStake => "stake-overflow",
            Self::NotAMember { .. } => "not-a-member",
            Self::OtherRecords => "other-session",
        }
    }
}

/// The stake of each member, and what makes a quorum.
#[derive(Clone, Debug)]
pub(crate) struct Replicas {
    stakes: Vec<u128>,
    strong: u128,
    weak: u128,
}

impl Replicas {
    pub(crate) fn new(stakes: &[Stake]) -> Result<Self, ConfigError> {
        if stakes.is_empty() || stakes.len() > MAX_MEMBERS {
            return Err(ConfigError::Size { got: stakes.len() });
        }
        let stakes: Vec<u128> = stakes.iter().map(|stake| stake.get()).collect();
        let total = stakes.iter().try_fold(0_u128, |sum, stake| sum.checked_add(*stake));
        let total = total.ok_or(ConfigError::TooMuchStake)?;
        if total == 0 {
            return Err(ConfigError::NoStake);
        }
        let strong = Quorum::BYZANTINE.of(Stake::new(total)).get();
        Ok(Self { stakes, strong, weak: (total / 3).saturating_add(1) })
    }

    pub(crate) const fn size(&self) -> usize {
        self.stakes.len()
    }

    /// Words that have a bit for each member.
    pub(crate) const fn words(&self) -> usize {
        self.stakes.len().div_ceil(WORD)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = Party> + use<> {
        (0..).map(Party::new).take(self.stakes.len())
    }

    pub(crate) fn stake(&self, party: Party) -> u128 {
        self.stakes.get(party.index()).copied().unwrap_or(0)
    }

    pub(crate) const fn is_strong(&self, stake: u128) -> bool {
        stake >= self.strong
    }

    pub(crate) const fn is_weak(&self, stake: u128) -> bool {
        stake >= self.weak
    }

    /// Who coordinates a round of a proposer's binary consensus: another member each time, and others first for
    /// other proposers.
    pub(crate) fn coordinator(&self, proposer: Party, round: u32) -> Party {
        let size = u64::try_from(self.stakes.len()).unwrap_or(1).max(1);
        let turn = (u64::from(proposer.get()) + u64::from(round)) % size;
        Party::new(u32::try_from(turn).unwrap_or(0))
    }
}

/// Parties that said the same, with their stake.
#[derive(Clone, Debug, Default)]
pub(crate) struct Supporters {
    /// A bit for each member, the first one lowest.
    members: Vec<u64>,
    stake: u128,
}

impl Supporters {
    /// Takes a member of this committee in. Callers have checked that it is one.
    pub(crate) fn insert(&mut self, committee: &Replicas, party: Party) {
        if self.members.is_empty() {
            self.members.resize(committee.words(), 0);
        }
        let (word, bit) = place(party);
        let Some(word) = self.members.get_mut(word) else { return };
        if *word & bit == 0 {
            *word |= bit;
            self.stake = self.stake.saturating_add(committee.stake(party));
        }
    }

    pub(crate) fn contains(&self, party: Party) -> bool {
        let (word, bit) = place(party);
        self.members.get(word).is_some_and(|word| word & bit != 0)
    }

    pub(crate) const fn stake(&self) -> u128 {
        self.stake
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Party> {
        members(&self.members)
    }
}
