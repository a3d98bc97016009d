//! The members and the settings of the engine.
//!
//! Malachite counts voting power in 64 bits and multiplies it by three. Stakes that would overflow are
//! refused here, so that no sum overflows later. A quorum is more than two thirds of the stake, exactly.
//!
//! Stake tables are in `node`. Stake as weights is in `prefinal_weighted_rounding`; the engine never rounds.
use core::time::Duration;

use ::prefinal_engine::Pace;
use malachitebft_core_types::{
    CertificateError, CommitCertificate, LinearTimeouts, ThresholdParams,
};
use prefinal_protocol::{Context, Party};
use sha2::{Digest, Sha256};

use crate::context::{Address, Tendermint, Validator, ValidatorSet};
use crate::sign::{PublicKey, SecretKey, Tally};

const COMMITTEE: &[u8] = b"prefinal/malachite/v1/committee";

/// A member. One without stake counts for nothing and never proposes.
pub type Member = ::prefinal_engine::Member<PublicKey>;

/// Configuration that an engine is started with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The chain and the epoch.
    pub context: Context,
    /// The member that this engine belongs to.
    pub me: Party,
    /// All members. The position in the list is the [`Party`].
    pub members: Vec<Member>,
    /// How long the steps of Tendermint may take.
    pub timeouts: LinearTimeouts,
    /// When a height's first proposer may propose. The time for its proposal is counted from then.
    pub pace: Pace,
    /// Limit of the transactions in a block, in bytes.
    pub max_block_bytes: usize,
    /// How long others must be at a later height before one of them is asked for the decision.
    pub catch_up_after: Duration,
}

/// Why an engine cannot be started from a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No member has stake.
    #[error("no member has stake")]
    NoStake,
    /// The stake is more than Malachite can count.
    #[error("stake up to {at} is above a third of 2^64, Malachite counts no more")]
    Overflow {
        /// The member whose stake exceeds the limit.
        at: Party,
    },
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
    /// An entry belongs to another height: the log is of another height, or not what was written.
    #[error("entry of height {got} in a log that goes on at height {expected}")]
    Log {
        /// The height of the entry.
        got: u64,
        /// The height at which the log continues.
        expected: u64,
    },
}

impl ConfigError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoStake => "no-stake",
            Self::Overflow { .. } => "stake-overflow",
            Self::NotAMember { .. } => "not-a-member",
            Self::WrongKey { .. } => "other-signing-key",
            Self::Log { .. } => "unreadable-record",
        }
    }
}

/// The members of the committee: their keys and voting powers, and the context that they sign.
#[derive(Clone, Debug)]
pub struct Validators {
    context: [u8; 32],
    validators: ValidatorSet,
    size: usize,
}

impl Validators {
    /// Checks the members.
    ///
    /// # Errors
    /// [`ConfigError`] says what is wrong.
    pub fn new(context: &Context, members: &[Member]) -> Result<Self, ConfigError> {
        let mut hash = Sha256::new_with_prefix(COMMITTEE).chain_update(context.to_bytes());
        let mut total = 0_u64;
        let mut validators = Vec::with_capacity(members.len());
        for (party, member) in (0_u32..).map(Party::new).zip(members) {
            let stake = u64::try_from(member.stake.get()).ok();
            let sum = stake.and_then(|stake| total.checked_add(stake));
            let sum = sum.filter(|sum| sum.checked_mul(3).is_some());
            total = sum.ok_or(ConfigError::Overflow { at: party })?;
            hash.update(member.key.to_bytes());
            hash.update(member.stake.get().to_be_bytes());
            let (address, power) = (Address::new(party), stake.unwrap_or(0));
            validators.push(Validator { address, key: member.key, power });
        }
        let size = validators.len();
        let validators = ValidatorSet::new(validators, total).ok_or(ConfigError::NoStake)?;
        Ok(Self { context: hash.finalize().into(), validators, size })
    }

    /// Number of members.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    pub(crate) const fn context(&self) -> &[u8; 32] {
        &self.context
    }

    /// The members in Malachite's form.
    #[must_use]
    pub const fn validators(&self) -> &ValidatorSet {
        &self.validators
    }

    /// Checks that precommits of more than two thirds of the stake, as the certificate holds them, are for
    /// the block that it names.
    ///
    /// # Errors
    /// Malachite's error says which signature is wrong, or how much stake is missing.
    pub fn check_certificate(
        &self,
        certificate: &CommitCertificate<Tendermint>,
    ) -> Result<(), CertificateError<Tendermint>> {
        let tally = Tally::new(&self.context, &self.validators);
        tally.commit(certificate, ThresholdParams::default())
    }

    /// Checks that a member with this number has this key.
    ///
    /// # Errors
    /// [`ConfigError::NotAMember`] if there are fewer members, [`ConfigError::WrongKey`] if the key is
    /// another.
    pub fn check_member(&self, me: Party, secret: &SecretKey) -> Result<(), ConfigError> {
        use malachitebft_core_types::ValidatorSet as _;
        let own = self.validators.get_by_address(&Address::new(me));
        let own = own.ok_or(ConfigError::NotAMember { me, members: self.size })?;
        if own.key == secret.public_key() { Ok(()) } else { Err(ConfigError::WrongKey { me }) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use prefinal_protocol::{ChainId, EpochId};

    use prefinal_weighted_rounding::Stake;

    use super::*;

    fn committee(stakes: &[u128]) -> Result<Validators, ConfigError> {
        let context = Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(0) };
        let members = (0..).zip(stakes).map(|(seed, stake)| Member {
            key: SecretKey::from_seed([seed; 32]).public_key(),
            stake: Stake::new(*stake),
        });
        Validators::new(&context, &members.collect::<Vec<_>>())
    }

    #[test]
    fn stake_that_malachite_cannot_count_is_refused() {
        let third = u128::from(u64::MAX / 3);
        assert!(committee(&[third - 1, 1]).is_ok());
        assert_eq!(
            committee(&[third, 1]).unwrap_err(),
            ConfigError::Overflow { at: Party::new(1) }
        );
        assert_eq!(
            committee(&[u128::MAX]).unwrap_err(),
            ConfigError::Overflow { at: Party::new(0) }
        );
        assert_eq!(committee(&[0, 0]).unwrap_err(), ConfigError::NoStake);
    }

    #[test]
    fn the_context_binds_stake_and_a_key_its_member() {
        let one = committee(&[1, 2]).unwrap();
        assert_ne!(one.context(), committee(&[2, 1]).unwrap().context());
        let secret = SecretKey::from_seed([1; 32]);
        assert_eq!(one.check_member(Party::new(1), &secret), Ok(()));
        let wrong = ConfigError::WrongKey { me: Party::new(0) };
        assert_eq!(one.check_member(Party::new(0), &secret), Err(wrong));
        assert!(one.check_member(Party::new(2), &secret).is_err());
    }
}
