//! The committee: members, stake, quorums and leaders.
//!
//! A quorum is *more than two thirds of the stake*, counted exactly: `q = X − ⌈X/3⌉ + 1` is the least
//! integer above `2X/3` and cannot overflow. Two quorums share more than a third, hence an honest
//! party. Every signature is on the committee's *context*, a hash of chain, epoch and all members with
//! their stake. So a statement made in one committee does not count in another.
//!
//! Stake tables are in `node`. Stake as weights is in `prefinal_weighted_rounding`; the engine never rounds.
use core::time::Duration;

use ::prefinal_engine::Pace;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::PublicKey;
use prefinal_crypto_core::certificate::{
    CertificateError, Elector, Electorate, ElectorateError, Signers,
};
use prefinal_crypto_core::context::Context;
use prefinal_crypto_core::verified::Verified;
use prefinal_weighted_rounding::Stake;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::block::{BlockId, Round, genesis};

/// Largest number of members of a committee.
pub const MAX_MEMBERS: usize = 1 << 16;

/// A member. The proof of possession of its key is checked, because keys are added up.
pub type Member = ::prefinal_engine::Member<Verified<PublicKey>>;

/// Configuration that an engine is started with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The chain and the epoch.
    pub context: Context,
    /// The member that this engine belongs to.
    pub me: Party,
    /// All members. The position in the list is the [`Party`].
    pub members: Vec<Member>,
    /// How long a round may take from its leader's proposal, if the round before succeeded. Each failed
    /// round doubles it.
    pub timeout: Duration,
    /// When a leader may propose.
    pub pace: Pace,
    /// How long a certified block may be missing before its signers are asked for it.
    pub fetch_after: Duration,
    /// Limit of the payload of a block, in bytes.
    pub max_block_bytes: usize,
}

impl Config {
    /// A configuration with default settings: timeout one second, no pause, blocks of 4 MiB.
    #[must_use]
    pub const fn new(context: Context, me: Party, members: Vec<Member>) -> Self {
        Self {
            context,
            me,
            members,
            timeout: Duration::from_secs(1),
            pace: Pace::NONE,
            fetch_after: Duration::from_millis(50),
            max_block_bytes: 4 << 20,
        }
    }
}

/// Why an engine cannot be started from a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The committee has no members, or too many.
    #[error("committee has {got} members, it needs 1 to {MAX_MEMBERS}")]
    Size {
        /// Number of members.
        got: usize,
    },
    /// The members do not make an electorate: their stakes or keys are refused.
    #[error(transparent)]
    Electorate(#[from] ElectorateError),
    /// The engine's party is not in the committee.
    #[error("{me} is not among the {members} members")]
    NotAMember {
        /// The engine's party.
        me: Party,
        /// Number of members.
        members: usize,
    },
    /// The secret key is another member's, or no member's.
    #[error("secret key does not belong to {me}")]
    WrongKey {
        /// The engine's party.
        me: Party,
    },
    /// The timeout is zero, so a round would end when it begins.
    #[error("timeout is zero, a round takes time")]
    Timeout,
    /// The limit of a block is zero, or more than fits in a frame.
    #[error("max_block_bytes is {got}, it must be 1 to {most}", most = u32::MAX)]
    BlockBytes {
        /// The limit that was asked for.
        got: usize,
    },
}

impl ConfigError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Size { .. } => "too-many-parties",
            Self::Electorate(error) => error.code(),
            Self::NotAMember { .. } => "not-a-member",
            Self::WrongKey { .. } => "other-signing-key",
            Self::Timeout | Self::BlockBytes { .. } => "invalid-value",
        }
    }
}

/// The members of a committee: their keys and stakes, and the context that they sign. The engine and
/// its jobs share it.
#[derive(Clone, Debug)]
pub struct Replicas {
    context: [u8; 32],
    electorate: Electorate<MinSig>,
    /// The stakes alone: a quorum is counted in each order vote, and keys between them would be read along.
    stakes: Vec<u128>,
    leaders: Vec<Party>,
}

impl Replicas {
    /// Checks the members and computes context, quorum and leaders.
    ///
    /// # Errors
    /// [`ConfigError`] says what is wrong.
    pub fn new(context: &Context, members: Vec<Member>) -> Result<Self, ConfigError> {
        let size = members.len();
        if size == 0 || size > MAX_MEMBERS {
            return Err(ConfigError::Size { got: size });
        }
        let mut hash = Sha256::new()
            .chain_update(b"prefinal/jolteon/v1/committee")
            .chain_update(context.to_bytes());
        let mut leaders = Vec::new();
        for (party, member) in (0_u32..).map(Party::new).zip(&members) {
            hash.update(member.key.get().to_bytes());
            hash.update(member.stake.get().to_be_bytes());
            if member.stake.get() > 0 {
                leaders.push(party);
            }
        }
        let stakes = members.iter().map(|member| member.stake.get()).collect();
        let elector = |Member { key, stake }| Elector { key, stake: stake.get() };
        let electors = members.into_iter().map(elector).collect();
        let electorate = Electorate::more_than_two_thirds(electors)?;
        Ok(Self { context: hash.finalize().into(), electorate, stakes, leaders })
    }

    /// The committee's context. Every digest starts with it.
    #[must_use]
    pub const fn context(&self) -> &[u8; 32] {
        &self.context
    }

    /// The block that every chain of this committee starts from.
    #[must_use]
    pub fn genesis(&self) -> BlockId {
        genesis(&self.context)
    }

    /// The bytes that a member signs about a block: context, round, block, 72 bytes. The domain of the
    /// signature says what the member states about the block, see [`Stage::domain`](crate::Stage::domain).
    #[must_use]
    pub fn statement(&self, round: Round, block: BlockId) -> Vec<u8> {
        [&self.context[..], &round.get().to_be_bytes(), &block.to_bytes()].concat()
    }

    /// Number of members.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.electorate.len()
    }

    /// The stake of all members.
    #[must_use]
    pub const fn total(&self) -> Stake {
        Stake::new(self.electorate.total())
    }

    /// The least stake that is a quorum.
    #[must_use]
    pub const fn quorum(&self) -> Stake {
        Stake::new(self.electorate.quorum())
    }

    /// The member, if there is one.
    #[must_use]
    pub fn member(&self, party: Party) -> Option<&Elector<MinSig>> {
        self.electorate.elector(party)
    }

    /// The electorate of these members, which checks certificates.
    #[must_use]
    pub const fn electorate(&self) -> &Electorate<MinSig> {
        &self.electorate
    }

    /// The leader of a round. Members with stake take turns.
    #[must_use]
    pub fn leader(&self, round: Round) -> Option<Party> {
        let turn = round.get().checked_rem(u64::try_from(self.leaders.len()).ok()?)?;
        self.leaders.get(usize::try_from(turn).ok()?).copied()
    }

    /// These members as a bitmap. Parties that are no members are left out.
    pub(crate) fn signers(&self, parties: impl IntoIterator<Item = Party>) -> Signers {
        let members = parties.into_iter().filter(|party| self.member(*party).is_some());
        Signers::new(self.size(), members).unwrap_or_default()
    }

    pub(crate) fn is_quorum(&self, stake: u128) -> bool {
        stake >= self.electorate.quorum()
    }

    /// Checks that these signers are a quorum, as the electorate does.
    pub(crate) fn check_quorum(&self, signers: &Signers) -> Result<(), CertificateError> {
        let bytes = signers.as_bytes();
        let is_set = |byte: u8, bit: usize| u128::from(byte >> bit & 1);
        let stake = bytes.iter().zip(self.stakes.chunks(8)).fold(0_u128, |sum, (byte, stakes)| {
            // Members together have at most `u128::MAX`.
            (0..).zip(stakes).fold(sum, |sum, (bit, stake)| sum + stake * is_set(*byte, bit))
        });
        let strays = match (bytes.last(), self.size() % 8) {
            (Some(last), used @ 1..) => last >> used != 0,
            _ => false,
        };
        if bytes.len() == self.size().div_ceil(8) && !strays && self.is_quorum(stake) {
            return Ok(());
        }
        // It says what is wrong.
        self.electorate.check_quorum([signers]).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{context, members};

    fn committee(stakes: &[u128]) -> Result<Replicas, ConfigError> {
        Replicas::new(&context(0), members(stakes))
    }

    #[test]
    fn a_quorum_is_the_least_stake_above_two_thirds() {
        for total in 1..200_u128 {
            let quorum = committee(&[total]).unwrap().quorum().get();
            assert!(3 * quorum > 2 * total && 3 * (quorum - 1) <= 2 * total, "{total}");
        }
        assert!(committee(&[u128::MAX]).is_ok());
    }

    #[test]
    fn quorums_are_counted_as_the_electorate_counts_them() {
        for stakes in [&[3, 0, 5, 1, 9, 4, 7][..], &[2; 8], &[1, 1, 90, 1, 1, 1, 1, 1, 1, 1], &[1]]
        {
            let committee = committee(stakes).unwrap();
            // Every set, and bitmaps that are too short, too long, or have strays.
            for set in 0..1_u32 << (stakes.len() + 2) {
                for length in 0..4 {
                    let bytes = &set.to_le_bytes()[..length];
                    let length = u32::try_from(length).unwrap().to_le_bytes();
                    let signers: Signers =
                        borsh::from_slice(&[&length[..], bytes].concat()).unwrap();
                    let expected = committee.electorate().check_quorum([&signers]).map(drop);
                    assert_eq!(
                        committee.check_quorum(&signers),
                        expected,
                        "{stakes:?} {signers:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn committees_that_cannot_work_are_refused() {
        assert_eq!(committee(&[]).unwrap_err(), ConfigError::Size { got: 0 });
        assert_eq!(committee(&[0, 0]).unwrap_err(), ElectorateError::NoStake.into());
        let overflow = ElectorateError::Overflow { at: Party::new(1) };
        assert_eq!(committee(&[u128::MAX, 1]).unwrap_err(), overflow.into());
        let mut twins = members(&[1, 1]);
        twins[1].key = twins[0].key;
        let repeated = ElectorateError::RepeatedKey { at: Party::new(1), earlier: Party::new(0) };
        assert_eq!(Replicas::new(&context(0), twins).unwrap_err(), repeated.into());
    }

    #[test]
    fn members_without_stake_never_lead() {
        let committee = committee(&[3, 0, 5]).unwrap();
        let turns: Vec<_> =
            (0..4).map(|r| committee.leader(Round::new(r)).unwrap().get()).collect();
        assert_eq!(turns, [0, 2, 0, 2]);
    }

    #[test]
    fn the_context_binds_chain_and_stake() {
        let one = committee(&[1, 2]).unwrap();
        assert_ne!(one.context(), committee(&[2, 1]).unwrap().context());
        let other = Replicas::new(&context(1), members(&[1, 2])).unwrap();
        assert_ne!(one.context(), other.context());
    }
}
