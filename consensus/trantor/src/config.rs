//! The committee: members, stake, both quorums, and the order of primaries.
//!
//! | quorum | stake                  | what it shows                                                  |
//! |--------|------------------------|----------------------------------------------------------------|
//! | strong | more than two thirds   | two of them share an honest party: decides, changes views       |
//! | weak   | more than one third    | an honest party is in it: worth believing, worth joining        |
//!
//! Both are counted exactly. Every signature is on the committee's *context*, a hash of chain, epoch and
//! all members with their stake. So a statement made in one committee does not count in another.
use core::time::Duration;

use ::prefinal_engine::Pace;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::PublicKey;
use prefinal_crypto_core::certificate::{Elector, Electorate, ElectorateError, Signers};
use prefinal_crypto_core::context::Context;
use prefinal_crypto_core::verified::Verified;
use prefinal_protocol::{Value, View};
use prefinal_weighted_rounding::Stake;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::batch::MAX_TRANSACTIONS;
use crate::block::{Transaction, TransactionKey};
use crate::client::ClientHeader;
use crate::mempool::BatchLimits;

/// Largest number of members of a committee.
pub const MAX_MEMBERS: usize = 1 << 16;

/// A member. The proof of possession of its key is checked, because keys are added up.
pub type Member = ::prefinal_engine::Member<Verified<PublicKey>>;

/// Configuration that an engine is started with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The chain and the epoch of its committee.
    pub context: Context,
    /// The member that this engine belongs to.
    pub me: Party,
    /// All members. The position in the list is the [`Party`].
    pub members: Vec<Member>,
    /// How long a height may stay undecided after its leader could have proposed. Each further view of
    /// the height doubles it.
    pub timeout: Duration,
    /// When a leader may propose at a height.
    pub pace: Pace,
    /// How long a decided block may be missing before a peer is asked for it.
    pub fetch_after: Duration,
    /// Limit of the transactions in a block, in bytes.
    pub max_block_bytes: usize,
    /// Most transactions in a batch; no more than [`MAX_TRANSACTIONS`] count.
    pub max_transactions: usize,
    /// How long a transaction waits for others to fill its batch.
    pub batch_timeout: Duration,
    /// Who leads an epoch; the same at every party.
    pub leaders: Leaders,
    /// Whether epochs overlap; the same at every party. Under a [`Replica`](crate::Replica) they never do.
    pub epochs: Epochs,
    /// When this party's own batches go into its blocks.
    pub own_batches: OwnBatches,
    /// How transactions are told apart; the same at every party.
    pub identification: Identification,
}

/// When the leaders of an epoch are known, which see [`Schedule`](crate::Schedule).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Epochs {
    /// An epoch before, so that heights of two epochs are open at a time.
    #[default]
    Overlapping,
    /// When all heights before are decided, as in ISS.
    OneByOne,
}

/// When the batches of a leader go into its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnBatches {
    /// As soon as they leave: what waits in the mempool becomes a batch when the leader may propose. The votes
    /// for its block acknowledge it, see [`Body`](crate::Body).
    #[default]
    AtOnce,
    /// When a weak quorum has acknowledged them, as in the paper.
    Certified,
}

/// How a transaction is told from those that were ordered before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Identification {
    /// One of a client by the client's name and its number, which is known for ever; all others by their hashes.
    #[default]
    ClientNumbers,
    /// All by their hashes, whatever they begin with. What is ordered next then depends on a number of heights before,
    /// so that a party can go on behind blocks that it was shown.
    Hashes,
}

impl Identification {
    /// Client and number of a transaction, if it counts by them.
    pub(crate) fn header(self, transaction: &Transaction) -> Option<ClientHeader> {
        transaction.header().filter(|_| self == Self::ClientNumbers)
    }

    /// What tells a transaction from all others.
    pub(crate) fn key(self, transaction: &Transaction) -> TransactionKey {
        let hash = || TransactionKey::Digest(transaction.id());
        self.header(transaction).map_or_else(hash, TransactionKey::Client)
    }
}

/// Who leads an epoch, of the members with stake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leaders {
    /// All but those that left a height empty lately, see [`Schedule`](crate::Schedule).
    #[default]
    BackOff,
    /// All, so that one that is down delays each epoch. For experiments: it is what the back-off is measured
    /// against.
    All,
}

impl Config {
    /// A configuration with default settings: timeout one second, no pause, blocks of 4 MiB, batches of
    /// 2048 transactions that wait 20 milliseconds at most, epochs that overlap, own batches at once.
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
            max_transactions: 2048,
            batch_timeout: Duration::from_millis(20),
            leaders: Leaders::BackOff,
            epochs: Epochs::Overlapping,
            own_batches: OwnBatches::AtOnce,
            identification: Identification::ClientNumbers,
        }
    }
}

impl Config {
    /// Checks what does not depend on the committee.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let got = self.max_block_bytes;
        if self.timeout.is_zero() {
            return Err(ConfigError::Timeout);
        }
        if got == 0 || u32::try_from(got).is_err() {
            return Err(ConfigError::BlockBytes { got });
        }
        Ok(())
    }

    /// The limits of batches: one is no larger than a block.
    pub(crate) fn batch_limits(&self) -> BatchLimits {
        BatchLimits {
            max_transactions: self.max_transactions.min(MAX_TRANSACTIONS),
            max_bytes: self.max_block_bytes,
            batch_timeout: self.batch_timeout,
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
    /// The timeout is zero, so a view would end when it begins.
    #[error("timeout is zero, a view takes time")]
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

/// The context of the committee with these keys and stakes.
pub(crate) fn committee_context<'a>(
    context: &Context,
    seats: impl Iterator<Item = (&'a PublicKey, u128)>,
) -> [u8; 32] {
    let mut hash = Sha256::new()
        .chain_update(b"prefinal/trantor/v1/committee")
        .chain_update(context.to_bytes());
    for (key, stake) in seats {
        hash.update(key.to_bytes());
        hash.update(stake.to_be_bytes());
    }
    hash.finalize().into()
}

/// The members of a committee: their keys and stakes, and the context that they sign. The engine and
/// its jobs share it.
#[derive(Clone, Debug)]
pub struct Replicas {
    context: [u8; 32],
    electorate: Electorate<MinSig>,
    /// The same members, with the weak quorum.
    weak: Electorate<MinSig>,
    stakeholders: Vec<Party>,
    /// Those of them that have much stake.
    large: Vec<Party>,
}

impl Replicas {
    /// Checks the members and computes the context.
    ///
    /// # Errors
    /// [`ConfigError`] says what is wrong.
    pub fn new(context: &Context, members: Vec<Member>) -> Result<Self, ConfigError> {
        let size = members.len();
        if size == 0 || size > MAX_MEMBERS {
            return Err(ConfigError::Size { got: size });
        }
        let seats = members.iter().map(|member| (member.key.get(), member.stake.get()));
        let hash = committee_context(context, seats);
        let parties = (0_u32..).map(Party::new).zip(&members);
        let holders: Vec<(Party, u128)> = parties
            .map(|(party, member)| (party, member.stake.get()))
            .filter(|(_, stake)| *stake > 0)
            .collect();
        let elector = |Member { key, stake }| Elector { key, stake: stake.get() };
        let electors: Vec<_> = members.into_iter().map(elector).collect();
        let electorate = Electorate::more_than_two_thirds(electors.clone())?;
        let weak = Electorate::with_quorum(electors, electorate.total() / 3 + 1)?;
        let least = least_of_quorum(&holders, electorate.quorum());
        let much = holders.iter().filter(|(_, stake)| *stake >= least);
        let large = much.map(|(party, _)| *party).collect();
        let stakeholders = holders.into_iter().map(|(party, _)| party).collect();
        Ok(Self { context: hash, electorate, weak, stakeholders, large })
    }

    /// The committee's context. Every signed statement and every name starts with it.
    #[must_use]
    pub const fn context(&self) -> &[u8; 32] {
        &self.context
    }

    /// The bytes that a member signs about a value in a view: context, height, attempt, value. The
    /// domain of the signature says what it states, see [`Stage::domain`](crate::Stage::domain).
    #[must_use]
    pub fn statement(&self, view: View, value: Value) -> Vec<u8> {
        [&self.prefix(view)[..], &value.to_bytes()].concat()
    }

    /// The bytes that a member signs when it asks for a view: context, height, attempt, and the attempt
    /// in which it was prepared, plus one.
    #[must_use]
    pub fn change_statement(&self, view: View, prepared: Option<u32>) -> Vec<u8> {
        let prepared = prepared.map_or(0, |attempt| u64::from(attempt) + 1);
        [&self.prefix(view)[..], &prepared.to_be_bytes()].concat()
    }

    fn prefix(&self, view: View) -> Vec<u8> {
        let (slot, attempt) = (view.slot.get().to_be_bytes(), view.attempt.to_be_bytes());
        [&self.context[..], &slot, &attempt].concat()
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

    /// The member, if there is one.
    #[must_use]
    pub fn member(&self, party: Party) -> Option<&Elector<MinSig>> {
        self.electorate.elector(party)
    }

    /// The stake of a party; zero if it is no member.
    #[must_use]
    pub fn stake(&self, party: Party) -> u128 {
        self.member(party).map_or(0, |member| member.stake)
    }

    /// The electorate of these members, which checks certificates.
    #[must_use]
    pub const fn electorate(&self) -> &Electorate<MinSig> {
        &self.electorate
    }

    /// The electorate of these members with the weak quorum, which checks that batches are available.
    #[must_use]
    pub const fn weak(&self) -> &Electorate<MinSig> {
        &self.weak
    }

    /// The members with stake, in order. They alone may lead.
    #[must_use]
    pub fn stakeholders(&self) -> &[Party] {
        &self.stakeholders
    }

    /// The member with stake that comes behind this one; the first one comes behind the last.
    #[must_use]
    pub fn successor(&self, party: Party) -> Option<Party> {
        let later = self.stakeholders.iter().find(|one| **one > party);
        later.or_else(|| self.stakeholders.first()).copied()
    }

    /// The primary of a view: the leader in the first one, later the members with much stake in turn, starting behind
    /// the leader.
    ///
    /// Those with much stake are as few as hold more than two thirds of it, and others that have as much as the least
    /// of these. If all took turns, somebody with hardly any stake in many places could be primary of many views in a
    /// row, each of which takes twice as long as the one before.
    #[must_use]
    pub fn primary(&self, leader: Party, attempt: u32) -> Option<Party> {
        let Some(later) = attempt.checked_sub(1) else { return Some(leader) };
        let behind = self.large.partition_point(|one| *one <= leader);
        let turn = behind.checked_add(usize::try_from(later).ok()?)?;
        self.large.get(turn.checked_rem(self.large.len())?).copied()
    }

    /// These members as a bitmap. Parties that are no members are left out.
    pub(crate) fn signers(&self, parties: impl IntoIterator<Item = Party>) -> Signers {
        let members = parties.into_iter().filter(|party| self.member(*party).is_some());
        Signers::new(self.size(), members).unwrap_or_default()
    }

    /// Whether this stake is more than two thirds of all.
    #[must_use]
    pub const fn is_strong(&self, stake: u128) -> bool {
        stake >= self.electorate.quorum()
    }

    /// Whether this stake is more than one third of all.
    #[must_use]
    pub const fn is_weak(&self, stake: u128) -> bool {
        stake >= self.weak.quorum()
    }
}

/// The least stake among the fewest holders that are a quorum.
fn least_of_quorum(holders: &[(Party, u128)], quorum: u128) -> u128 {
    let mut stakes: Vec<u128> = holders.iter().map(|(_, stake)| *stake).collect();
    stakes.sort_unstable_by(|one, other| other.cmp(one));
    let mut sum = 0_u128;
    let last = stakes.into_iter().find(|stake| {
        sum = sum.saturating_add(*stake);
        sum >= quorum
    });
    last.unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::tests::{context, members};

    fn committee(stakes: &[u128]) -> Result<Replicas, ConfigError> {
        Replicas::new(&context(0), members(stakes))
    }

    #[test]
    fn quorums_are_the_least_stake_above_their_thirds() {
        for total in 1..200_u128 {
            let committee = committee(&[total]).unwrap();
            let least = |is: &dyn Fn(u128) -> bool| (0..=total).find(|stake| is(*stake)).unwrap();
            let strong = least(&|stake| committee.is_strong(stake));
            let weak = least(&|stake| committee.is_weak(stake));
            assert!(3 * strong > 2 * total && 3 * (strong - 1) <= 2 * total, "{total}");
            assert!(3 * weak > total && 3 * (weak - 1) <= total, "{total}");
        }
    }

    #[test]
    fn committees_that_cannot_work_are_refused() {
        assert_eq!(committee(&[]).unwrap_err(), ConfigError::Size { got: 0 });
        assert_eq!(committee(&[0, 0]).unwrap_err(), ElectorateError::NoStake.into());
        let mut twins = members(&[1, 1]);
        twins[1].key = twins[0].key;
        let repeated = ElectorateError::RepeatedKey { at: Party::new(1), earlier: Party::new(0) };
        assert_eq!(Replicas::new(&context(0), twins).unwrap_err(), repeated.into());
    }

    #[test]
    fn later_primaries_are_those_with_much_stake_in_turn_and_nobody_else() {
        let turns = |stakes: &[u128], leader| {
            let committee = committee(stakes).unwrap();
            let turn = |attempt| committee.primary(Party::new(leader), attempt).unwrap().get();
            [0, 1, 2, 3, 4].map(turn)
        };
        assert_eq!(turns(&[1; 4], 2), [2, 3, 0, 1, 2]);
        assert_eq!(turns(&[3, 0, 3, 3], 2), [2, 3, 0, 2, 3]);
        // Two hold more than two thirds, and the third one has as much as the second.
        assert_eq!(turns(&[5, 3, 3, 0, 1], 0), [0, 1, 2, 0, 1]);
        assert_eq!(turns(&[5, 3, 3, 0, 1], 4), [4, 0, 1, 2, 0]);
        // However many places there are without much stake, none delays a height for long.
        assert_eq!(turns(&[900, 850, 800, 700, 1, 1, 1, 1, 1, 1], 3), [3, 0, 1, 2, 0]);
    }

    #[test]
    fn the_one_behind_the_last_holder_of_stake_is_the_first() {
        let committee = committee(&[3, 0, 5, 1]).unwrap();
        let behind = |party| committee.successor(Party::new(party)).unwrap().get();
        assert_eq!([0, 1, 2, 3].map(behind), [2, 2, 3, 0]);
    }

    #[test]
    fn the_context_binds_chain_and_stake() {
        let one = committee(&[1, 2]).unwrap();
        assert_ne!(one.context(), committee(&[2, 1]).unwrap().context());
        let other = Replicas::new(&context(1), members(&[1, 2])).unwrap();
        assert_ne!(one.context(), other.context());
    }
}
