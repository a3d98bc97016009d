//! The parameters of one run of the key generation, fixed before the first dealing.
//!
//! A [`Config`] names the session, the committee in its order (stake, signing key, encryption key), the
//! share indices and thresholds of both paths, and the stake that the dealers must exceed. Its digest
//! enters every signature, every challenge and every random draw. So nothing made under one
//! configuration counts under another one: another chain, epoch, attempt, committee, purpose or set of
//! weights.
//!
//! See also [`Shape`]: how stake becomes shares and thresholds.
use std::ops::Range;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::context::{CommitteeId, Context};
use prefinal_weighted_rounding::{Ratio, Stake};
use thiserror::Error;

use crate::key::EncryptionKey;
use crate::low_degree::LowDegree;
use crate::purpose::Purpose;
use crate::shape::{Shape, SharePath};

/// Names one run of the key generation. The next attempt in the same epoch is another session, and so
/// is the run that makes a key for another purpose.
///
/// ```compile_fail,E0063
/// use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
/// let session = prefinal_pvss_dkg::Session { context, attempt: 0 };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// The chain, and the epoch that the key is made for.
    pub context: Context,
    /// Number of this run for that epoch and purpose, counted from zero.
    pub attempt: u32,
    /// What the key is for.
    pub purpose: Purpose,
}

/// A member of the committee, which receives shares. In a fresh key generation it deals too.
#[derive(Clone, Debug)]
pub struct Member {
    /// Stake that counts towards [`Config::qualify`] when the member deals.
    pub stake: Stake,
    /// Public key that verifies the signature on its dealing.
    pub signer: prefinal_crypto_core::verified::Verified<min_sig::PublicKey>,
    /// Public key that its shares are encrypted to.
    pub encryption: EncryptionKey,
}

/// A dealer, as the recipients of its dealing see it.
#[derive(Clone, Debug)]
pub struct Dealer {
    /// Stake that counts towards [`Config::qualify`].
    pub stake: Stake,
    /// Public key that verifies the signature on its dealing.
    pub signer: prefinal_crypto_core::verified::Verified<min_sig::PublicKey>,
}

/// Everything that all parties agree on before the first dealing.
///
/// ```
/// use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// use prefinal_pvss_dkg::{Config, Member, Purpose, Session, Shape};
/// use prefinal_weighted_rounding::{Objective, Profile, Ratio, Rounding, Stake};
///
/// fn configure(stakes: &[Stake], members: Vec<Member>) -> Result<Config, Box<dyn std::error::Error>> {
///     let rounding = Rounding::solve(stakes, &Profile::standard(), Objective::least_total())?;
///     let shape = Shape::from_rounding(&rounding)?;
///     let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
///     let session = Session { context, attempt: 0, purpose: Purpose::Randomness };
///     let qualify = Config::more_than(Ratio::ONE_THIRD, stakes.iter().copied())?;
///     Ok(Config::new(session, shape, members, qualify)?)
/// }
/// # use prefinal_crypto_core::bls::min_sig;
/// # use rand_core::SeedableRng;
/// # let rng = &mut rand_chacha::ChaCha20Rng::seed_from_u64(1);
/// # let stakes = [40, 30, 20, 10].map(Stake::new);
/// # let members = stakes.map(|stake| {
/// #     let signer = min_sig::SecretKey::random(rng);
/// #     let (key, public) = (prefinal_pvss_dkg::DecryptionKey::random(rng), signer.public_key());
/// #     let encryption = key.register(&signer, rng).verify(&public).unwrap();
/// #     Member { stake, encryption, signer: public.verify_possession(&signer.prove_possession()).unwrap() }
/// # });
/// # let config = configure(&stakes, members.to_vec())?;
/// # assert_eq!(config.qualify(), Stake::new(33));
/// # assert!(configure(&stakes.map(|_| Stake::new(1)), members.to_vec()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    session: Session,
    shape: Shape,
    dealers: Vec<Dealer>,
    members: Vec<Member>,
    qualify: Stake,
    digest: [u8; 32],
    committee: CommitteeId,
    shares: usize,
    low_degree: LowDegree,
}

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The weights were computed from other stakes, or from the same stakes in another order. Their
    /// guarantees would hold for another committee.
    #[error("{party} has a stake of {got}, its weight was made of {expected}")]
    Stake {
        /// The party whose stakes differ.
        party: Party,
        /// The stake in the list of members.
        got: Stake,
        /// The stake that its weight was computed from.
        expected: Stake,
    },
    /// The list of members and the list of weights have different lengths.
    #[error("committee has {members} members but weights for {weights}")]
    Members {
        /// Number of members in the list.
        members: usize,
        /// Number of parties that have a weight.
        weights: usize,
    },
    /// The sum of all stake does not fit in 128 bits.
    #[error("stake overflows 128 bits at {party}")]
    StakeOverflow {
        /// The party at which the sum overflowed.
        party: Party,
    },
    /// The stake to exceed is zero: one dealer alone would make the key, and know it.
    #[error(
        "dealers must exceed a stake of 0 of {total}: one alone would make the key and know it"
    )]
    NoQualification {
        /// The stake of all dealers.
        total: Stake,
    },
    /// All dealers together do not exceed the stake that is asked for.
    #[error("dealers must exceed a stake of {qualify}, all of them hold {total}")]
    Unreachable {
        /// The stake that dealers must exceed.
        qualify: Stake,
        /// The stake of all dealers.
        total: Stake,
    },
    /// Two parties have the same key: one of them could answer for the other.
    #[error("{first} and {second} have the same {what} key")]
    DuplicateKey {
        /// The party that comes first in the list.
        first: Party,
        /// The later party with the same key.
        second: Party,
        /// Which key: "signing" or "encryption".
        what: &'static str,
    },
}

impl ConfigError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Stake { .. } => "stake-mismatch",
            Self::Members { .. } => "wrong-count",
            Self::StakeOverflow { .. } => "stake-overflow",
            Self::NoQualification { .. } | Self::Unreachable { .. } => "qualification-range",
            Self::DuplicateKey { .. } => "duplicate-key",
        }
    }
}

impl Config {
    /// A configuration for a committee that deals to itself.
    ///
    /// # Errors
    /// If the numbers of members and weights differ, a member's stake is not the one that its weight
    /// was computed from, the stake overflows, `qualify` is zero or cannot be exceeded, or a key occurs
    /// twice.
    pub fn new(
        session: Session,
        shape: Shape,
        members: Vec<Member>,
        qualify: Stake,
    ) -> Result<Self, ConfigError> {
        let dealer = |member: &Member| Dealer { stake: member.stake, signer: member.signer };
        let dealers = members.iter().map(dealer).collect();
        Self::handover(session, shape, members, dealers, qualify)
    }

    /// A configuration for a handover: `dealers`, the committee before, deal to `members`. `qualify` is
    /// in the dealers' stake.
    ///
    /// # Errors
    /// The same as [`Config::new`].
    pub fn handover(
        session: Session,
        shape: Shape,
        members: Vec<Member>,
        dealers: Vec<Dealer>,
        qualify: Stake,
    ) -> Result<Self, ConfigError> {
        check_members(&shape, &members)?;
        check_stake(&dealers, qualify)?;
        check_keys(&members, &dealers)?;
        let shares = usize::try_from(shape.access().total()).unwrap_or(usize::MAX);
        let low_degree = LowDegree::new(shape.access());
        let committee = committee_id(&shape, &members);
        let digest = digest(&session, &committee, &dealers, qualify);
        Ok(Self {
            session,
            shape,
            dealers,
            members,
            qualify,
            digest,
            committee,
            shares,
            low_degree,
        })
    }

    /// The stake that dealers must exceed to hold more than `ratio` of all stake. Suppose that less
    /// than a third of it is faulty. Then more than [`Ratio::ONE_THIRD`] assures one honest dealer,
    /// whose secret nobody else knows. More than [`Ratio::TWO_THIRDS`] assures honest dealers of more
    /// than a third.
    ///
    /// # Errors
    /// If stake overflows.
    pub fn more_than(
        ratio: Ratio,
        stakes: impl IntoIterator<Item = Stake>,
    ) -> Result<Stake, ConfigError> {
        let mut total = Stake::ZERO;
        for (party, stake) in (0..).map(Party::new).zip(stakes) {
            total = total.checked_add(stake).ok_or(ConfigError::StakeOverflow { party })?;
        }
        Ok(Stake::new(ratio.floor_of(total.get())))
    }

    /// The session: which run of the key generation this is.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// The share indices and thresholds.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The committee that receives the shares. The position in the list is the [`Party`].
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The parties that deal. The position in the list is the [`Party`] of the dealer.
    #[must_use]
    pub fn dealers(&self) -> &[Dealer] {
        &self.dealers
    }

    /// The dealer's entry, if there is one.
    #[must_use]
    pub fn dealer(&self, party: Party) -> Option<&Dealer> {
        self.dealers.get(party.index())
    }

    /// The member's entry, if there is one.
    #[must_use]
    pub fn member(&self, party: Party) -> Option<&Member> {
        self.members.get(party.index())
    }

    /// Names of the members' encryption keys.
    pub(crate) fn recipients(&self) -> Vec<[u8; 32]> {
        self.members.iter().map(|member| member.encryption.name()).collect()
    }

    /// The stake that the dealers of a key must exceed.
    #[must_use]
    pub const fn qualify(&self) -> Stake {
        self.qualify
    }

    /// The hash of members, weights and thresholds.
    #[must_use]
    pub const fn committee(&self) -> CommitteeId {
        self.committee
    }

    /// The hash of all parameters. Signatures and challenges are bound to it.
    #[must_use]
    pub const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The number `W` of shares of one path.
    pub(crate) const fn shares(&self) -> usize {
        self.shares
    }

    /// Where the party's shares are in a list of all `W`.
    pub(crate) fn span(&self, party: Party) -> Range<usize> {
        self.shape.access().range(party)
    }

    /// Parties that hold a share, with its place in a list of all `W`.
    pub(crate) fn holders(&self) -> impl Iterator<Item = (Party, &EncryptionKey, Range<usize>)> {
        let parties = self.shape.access().parties().zip(&self.members);
        parties
            .map(|(party, member)| (party, &member.encryption, self.span(party)))
            .filter(|(_, _, span)| !span.is_empty())
    }

    pub(crate) const fn low_degree(&self) -> &LowDegree {
        &self.low_degree
    }
}

fn check_members(shape: &Shape, members: &[Member]) -> Result<(), ConfigError> {
    let weights = shape.access().len();
    if members.len() != weights {
        return Err(ConfigError::Members { members: members.len(), weights });
    }
    let pairs = members.iter().zip(shape.stakes().into_iter().flatten());
    for (party, (member, stake)) in (0..).map(Party::new).zip(pairs) {
        let (got, expected) = (member.stake, *stake);
        if got != expected {
            return Err(ConfigError::Stake { party, got, expected });
        }
    }
    Ok(())
}

fn check_stake(dealers: &[Dealer], qualify: Stake) -> Result<(), ConfigError> {
    let mut total = Stake::ZERO;
    for (party, dealer) in (0..).map(Party::new).zip(dealers) {
        total = total.checked_add(dealer.stake).ok_or(ConfigError::StakeOverflow { party })?;
    }
    if qualify == Stake::ZERO {
        return Err(ConfigError::NoQualification { total });
    }
    if total <= qualify {
        return Err(ConfigError::Unreachable { qualify, total });
    }
    Ok(())
}

fn check_keys(members: &[Member], dealers: &[Dealer]) -> Result<(), ConfigError> {
    let signing = dealers.iter().map(|dealer| dealer.signer.to_bytes().to_vec());
    let encryption = members.iter().map(|member| member.encryption.to_bytes().to_vec());
    check_distinct("signing", signing)?;
    check_distinct("encryption", encryption)
}

fn check_distinct(
    what: &'static str,
    keys: impl Iterator<Item = Vec<u8>>,
) -> Result<(), ConfigError> {
    let mut seen = std::collections::BTreeMap::new();
    for (second, key) in (0..).map(Party::new).zip(keys) {
        if let Some(first) = seen.insert(key, second) {
            return Err(ConfigError::DuplicateKey { first, second, what });
        }
    }
    Ok(())
}

/// Every field has a fixed length except the list of members, whose length comes first.
fn committee_id(shape: &Shape, members: &[Member]) -> CommitteeId {
    let mut encoding = Vec::new();
    for threshold in [SharePath::Slow, SharePath::Fast].map(|path| shape.threshold(path)) {
        // No threshold is zero, so zero says that the path is missing.
        let t = threshold.map_or(0, |threshold| threshold.t().get());
        encoding.extend_from_slice(&t.to_be_bytes());
    }
    encoding.extend_from_slice(&u64::try_from(members.len()).unwrap_or(u64::MAX).to_be_bytes());
    for (member, weight) in members.iter().zip(shape.access().weights()) {
        encoding.extend_from_slice(&member.stake.get().to_be_bytes());
        encoding.extend_from_slice(&weight.to_be_bytes());
        encoding.extend_from_slice(&member.signer.to_bytes());
        encoding.extend_from_slice(&member.encryption.to_bytes());
    }
    CommitteeId::of(&encoding)
}

fn digest(
    session: &Session,
    committee: &CommitteeId,
    dealers: &[Dealer],
    qualify: Stake,
) -> [u8; 32] {
    let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-CONFIG");
    for dealer in dealers {
        transcript.append(b"dealer stake", &dealer.stake.get().to_be_bytes());
        transcript.append(b"dealer", &dealer.signer.to_bytes());
    }
    transcript.append(b"context", &session.context.to_bytes());
    transcript.append_u64(b"attempt", u64::from(session.attempt));
    transcript.append(b"purpose", &[session.purpose.tag()]);
    transcript.append(b"committee", committee.as_bytes());
    transcript.append(b"qualify", &qualify.get().to_be_bytes());
    transcript.bytes(b"digest")
}
