//! Rounds of drand's public randomness beacons, and of Prefinal's beacons, which look the same to a
//! client.
//!
//! | [`Scheme`]                 | signatures, keys | message                                | tag of the hash    |
//! |----------------------------|------------------|----------------------------------------|--------------------|
//! | `pedersen-bls-chained`     | 𝔾₂, 𝔾₁           | `SHA-256(previous signature ‖ round)`  | [`Domain::BASIC`]  |
//! | `pedersen-bls-unchained`   | 𝔾₂, 𝔾₁           | `SHA-256(round)`                       | [`Domain::BASIC`]  |
//! | `bls-unchained-on-g1`      | 𝔾₁, 𝔾₂           | `SHA-256(round)`                       | `BASIC`'s for 𝔾₂   |
//! | `bls-unchained-g1-rfc9380` | 𝔾₁, 𝔾₂           | `SHA-256(round)`                       | [`Domain::BASIC`]  |
//!
//! A round's number is hashed as `u64` big-endian. For the first round of a chained beacon, the
//! genesis seed takes the place of the previous signature. The randomness of a round is
//! `SHA-256(signature)`. Signatures are BLS under the beacon's group key ([`bls`](crate::bls)), so
//! they are unique: a round has exactly one randomness, and nobody can choose it.
//!
//! After drand's [specification](https://docs.drand.love/docs/specification/); Its third scheme
//! hashes to 𝔾₁ under the tag for 𝔾₂, and keeps this for compatibility with its clients. Prefinal's
//! beacons use the fourth scheme, which is also quicknet's.
//!
//! Difference from the specification: in an unchained scheme, a round with a previous signature is
//! refused, because no signature covers it.
//!
//! See also: [`threshold`](crate::threshold) for partials of such a signature, and
//! [`timelock`](crate::timelock) for encryption to a round. JSON and HTTP are in the node.
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::num::{NonZeroU32, NonZeroU64};
use core::str::FromStr;

use sha2::{Digest, Sha256};

use crate::bls::{
    Domain, PublicKey, Signature, SignatureError, SignedMessage, Variant, min_pk, min_sig,
    verify_batch,
};
use crate::curve::DecodeError;

/// Length of a signature of the chained scheme in bytes.
const CHAINED_BYTES: usize = 96;

/// The signature scheme of a beacon.
///
/// ```
/// use prefinal_crypto_core::drand::Scheme;
/// let quicknet: Scheme = "bls-unchained-g1-rfc9380".parse()?;
/// assert!(!quicknet.is_chained());
/// assert!("bls-on-paper".parse::<Scheme>().is_err());
/// # Ok::<(), prefinal_crypto_core::drand::UnknownScheme>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// `pedersen-bls-chained`, the scheme of drand's first chain. Each round signs the signature
    /// before it.
    PedersenChained,
    /// `pedersen-bls-unchained`, with signatures in 𝔾₂.
    PedersenUnchained,
    /// `bls-unchained-on-g1`, with signatures in 𝔾₁ but the tag of 𝔾₂.
    UnchainedOnG1,
    /// `bls-unchained-g1-rfc9380`, the scheme of quicknet and of Prefinal's beacons.
    #[default]
    UnchainedG1Rfc9380,
}

/// The name is not that of a scheme in [`Scheme`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown scheme {id:?}")]
pub struct UnknownScheme {
    /// The name that is not one of drand's schemes.
    pub id: String,
}

impl UnknownScheme {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "unknown-scheme"
    }
}

impl Scheme {
    /// All schemes, in the order of the module's table.
    pub const ALL: [Self; 4] = [
        Self::PedersenChained,
        Self::PedersenUnchained,
        Self::UnchainedOnG1,
        Self::UnchainedG1Rfc9380,
    ];

    /// The scheme's name in drand's interfaces.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::PedersenChained => "pedersen-bls-chained",
            Self::PedersenUnchained => "pedersen-bls-unchained",
            Self::UnchainedOnG1 => "bls-unchained-on-g1",
            Self::UnchainedG1Rfc9380 => "bls-unchained-g1-rfc9380",
        }
    }

    /// The domain under which messages are hashed.
    #[must_use]
    pub const fn domain(self) -> Domain {
        match self {
            Self::UnchainedOnG1 => Domain::BASIC_NAMING_G2,
            Self::PedersenChained | Self::PedersenUnchained | Self::UnchainedG1Rfc9380 => {
                Domain::BASIC
            }
        }
    }

    /// Whether each round signs the signature of the round before it.
    #[must_use]
    pub const fn is_chained(self) -> bool {
        matches!(self, Self::PedersenChained)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl FromStr for Scheme {
    type Err = UnknownScheme;

    fn from_str(id: &str) -> Result<Self, UnknownScheme> {
        let scheme = Self::ALL.into_iter().find(|scheme| scheme.id() == id);
        scheme.ok_or_else(|| UnknownScheme { id: id.to_owned() })
    }
}

/// The number of a round, counted from one. drand's round 0 is the genesis, which nobody signs.
///
/// ```compile_fail,E0308
/// use prefinal_crypto_core::drand::RoundNumber;
/// let round: RoundNumber = 7_u64;
/// ```
///
/// ```
/// use prefinal_crypto_core::drand::RoundNumber;
/// let round = RoundNumber::new(7).unwrap();
/// assert_eq!(round.to_string(), "round 7");
/// assert_ne!(round.message(), RoundNumber::FIRST.message());
/// assert_eq!(RoundNumber::new(0), None); // the genesis
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoundNumber(NonZeroU64);

impl RoundNumber {
    /// The first round of every chain: drand counts from 1.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// The round with this number. `None` for zero.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number as drand writes it, which is never zero.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The message that an unchained scheme signs: `SHA-256(round)`. Timelock encryption uses it as
    /// the identity to encrypt to.
    #[must_use]
    pub fn message(self) -> [u8; 32] {
        self.chained_message(&[])
    }

    /// The message that a chained scheme signs: `SHA-256(previous ‖ round)`.
    #[must_use]
    pub fn chained_message(self, previous: &[u8]) -> [u8; 32] {
        let hash = Sha256::new().chain_update(previous);
        hash.chain_update(self.get().to_be_bytes()).finalize().into()
    }
}

impl fmt::Display for RoundNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "round {}", self.0)
    }
}

/// The times at which rounds are due, in seconds of Unix time.
///
/// ```
/// use prefinal_crypto_core::drand::{RoundNumber, Schedule};
/// let quicknet = Schedule { genesis_time: 1_692_803_367, period: 3.try_into()? };
/// let round = quicknet.round_at(1_692_803_367 + 3 * 999).unwrap();
/// assert_eq!(round, RoundNumber::new(1000).unwrap());
/// assert_eq!(quicknet.time_of(round), Some(1_692_803_367 + 3 * 999));
/// assert_eq!(quicknet.round_at(0), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The time of the first round.
    pub genesis_time: u64,
    /// Seconds from one round to the next.
    pub period: NonZeroU32,
}

impl Schedule {
    /// The newest round that is due at this time. `None` before the first round.
    #[must_use]
    pub fn round_at(&self, time: u64) -> Option<RoundNumber> {
        let elapsed = time.checked_sub(self.genesis_time)?;
        RoundNumber::new((elapsed / u64::from(self.period.get())).checked_add(1)?)
    }

    /// The time at which a round is due. `None` if it does not fit into 64 bits of seconds.
    #[must_use]
    pub fn time_of(&self, round: RoundNumber) -> Option<u64> {
        let elapsed = (round.get() - 1).checked_mul(u64::from(self.period.get()))?;
        self.genesis_time.checked_add(elapsed)
    }
}

/// The group key of a beacon, in the group of its scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKey {
    /// A key for signatures in 𝔾₁.
    MinSig(min_sig::PublicKey),
    /// A key for signatures in 𝔾₂.
    MinPk(min_pk::PublicKey),
}

impl GroupKey {
    /// Reads a compressed key in the group of the scheme.
    ///
    /// # Errors
    /// If the bytes are not a public key of the scheme's group.
    pub fn from_bytes(scheme: Scheme, bytes: &[u8]) -> Result<Self, DecodeError> {
        match scheme {
            Scheme::PedersenChained | Scheme::PedersenUnchained => {
                PublicKey::from_bytes(bytes).map(Self::MinPk)
            }
            Scheme::UnchainedOnG1 | Scheme::UnchainedG1Rfc9380 => {
                PublicKey::from_bytes(bytes).map(Self::MinSig)
            }
        }
    }

    /// The compressed encoding: 96 bytes for `MinSig`, 48 for `MinPk`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::MinSig(key) => key.to_bytes().to_vec(),
            Self::MinPk(key) => key.to_bytes().to_vec(),
        }
    }
}

/// The parameters of a beacon that a client must know to verify its rounds.
///
/// ```
/// use prefinal_crypto_core::bls::min_sig::SecretKey;
/// use prefinal_crypto_core::drand::{ChainInfo, Round, RoundNumber, Schedule, Scheme};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// let beacon = SecretKey::random(&mut rng); // in earnest a committee
/// let key = beacon.public_key().to_bytes();
/// let schedule = Schedule { genesis_time: 1_700_000_000, period: 3.try_into()? };
/// let info = ChainInfo::new(Scheme::UnchainedG1Rfc9380, &key, schedule, [7; 32], "example")?;
///
/// let number = RoundNumber::FIRST;
/// let signature = beacon.sign(info.scheme().domain(), &number.message()).to_bytes().to_vec();
/// let round = Round { number, signature, previous: None, randomness: None };
/// assert_eq!(info.verify_all(&[round.clone()])?, [info.verify(&round)?]);
/// let another = Round { number: RoundNumber::new(2).unwrap(), ..round };
/// assert!(info.verify(&another).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainInfo {
    scheme: Scheme,
    key: GroupKey,
    schedule: Schedule,
    genesis_seed: [u8; 32],
    beacon_id: String,
}

impl ChainInfo {
    /// A beacon with the parameters from drand's `info` interface, where the seed is called
    /// `groupHash`. Compare [`ChainInfo::hash`] with the hash that names the chain.
    ///
    /// # Errors
    /// If `key` is not a public key of the scheme's group.
    pub fn new(
        scheme: Scheme,
        key: &[u8],
        schedule: Schedule,
        genesis_seed: [u8; 32],
        beacon_id: &str,
    ) -> Result<Self, DecodeError> {
        let key = GroupKey::from_bytes(scheme, key)?;
        Ok(Self { scheme, key, schedule, genesis_seed, beacon_id: beacon_id.to_owned() })
    }

    /// The beacon's signature scheme.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The key under which its rounds verify.
    #[must_use]
    pub const fn key(&self) -> &GroupKey {
        &self.key
    }

    /// The times at which its rounds are due.
    #[must_use]
    pub const fn schedule(&self) -> Schedule {
        self.schedule
    }

    /// The hash that names the chain: `SHA-256(period ‖ genesis time ‖ key ‖ seed ‖ beacon's name)`,
    /// the period as `u32` and the time as `u64`, both big-endian; the name `default` counts as none.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        let name = if self.beacon_id == "default" { "" } else { &self.beacon_id };
        Sha256::new()
            .chain_update(self.schedule.period.get().to_be_bytes())
            .chain_update(self.schedule.genesis_time.to_be_bytes())
            .chain_update(self.key.to_bytes())
            .chain_update(self.genesis_seed)
            .chain_update(name)
            .finalize()
            .into()
    }

    /// Checks a round and returns its randomness. Costs two pairings.
    ///
    /// # Errors
    /// [`RoundError`] says what is wrong.
    pub fn verify(&self, round: &Round) -> Result<Randomness, RoundError> {
        let message = self.message(round)?;
        let domain = self.scheme.domain();
        match &self.key {
            GroupKey::MinSig(key) => read(round)?.verify(key, domain, &message)?,
            GroupKey::MinPk(key) => read(round)?.verify(key, domain, &message)?,
        }
        round.value()
    }

    /// Checks many rounds and returns their randomness. Costs two pairings in all, and for each round
    /// a hash to the curve and two terms of a multi-scalar multiplication.
    ///
    /// # Errors
    /// Names the positions of the rounds that are not valid, and what is wrong with each.
    pub fn verify_all(&self, rounds: &[Round]) -> Result<Vec<Randomness>, RoundsError> {
        let mut faults = match &self.key {
            GroupKey::MinSig(key) => self.faults(key, rounds),
            GroupKey::MinPk(key) => self.faults(key, rounds),
        };
        let mut values = Vec::with_capacity(rounds.len());
        for (at, round) in rounds.iter().enumerate() {
            match round.value() {
                Ok(value) => values.push(value),
                Err(fault) => {
                    faults.entry(at).or_insert(fault);
                }
            }
        }
        if faults.is_empty() { Ok(values) } else { Err(RoundsError { faults, of: rounds.len() }) }
    }

    fn faults<V: Variant>(
        &self,
        key: &PublicKey<V>,
        rounds: &[Round],
    ) -> BTreeMap<usize, RoundError> {
        let mut faults = BTreeMap::new();
        let (mut places, mut readable) = (Vec::new(), Vec::new());
        for (at, round) in rounds.iter().enumerate() {
            let parts = self.message(round).and_then(|message| Ok((message, read::<V>(round)?)));
            match parts {
                Ok(parts) => {
                    places.push(at);
                    readable.push(parts);
                }
                Err(fault) => {
                    faults.insert(at, fault);
                }
            }
        }
        let signed: Vec<_> = readable
            .iter()
            .map(|(message, signature)| SignedMessage { key: *key, message, signature: *signature })
            .collect();
        if let Err(culprits) = verify_batch(self.scheme.domain(), &signed) {
            let places = culprits.positions.iter().filter_map(|at| places.get(*at));
            faults.extend(places.map(|at| (*at, SignatureError::Mismatch.into())));
        }
        faults
    }

    fn message(&self, round: &Round) -> Result<[u8; 32], RoundError> {
        let number = round.number;
        match (self.scheme.is_chained(), &round.previous) {
            (false, None) => Ok(number.message()),
            (false, Some(_)) => Err(RoundError::NotChained { scheme: self.scheme }),
            (true, None) => Err(RoundError::NoPrevious { number }),
            (true, Some(previous)) => {
                if number == RoundNumber::FIRST {
                    if **previous != self.genesis_seed {
                        return Err(RoundError::Genesis);
                    }
                } else if previous.len() != CHAINED_BYTES {
                    // With an empty previous signature, the message would be that of an unchained
                    // scheme.
                    return Err(RoundError::PreviousLength { got: previous.len() });
                }
                Ok(number.chained_message(previous))
            }
        }
    }
}

/// A round as a relay sends it. Nothing of it is checked yet.
///
/// See the example at [`ChainInfo`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// The number of the round.
    pub number: RoundNumber,
    /// The group's signature on the round, compressed.
    pub signature: Vec<u8>,
    /// For a chained scheme, the signature of the round before; for its first round, the genesis
    /// seed. `None` for unchained schemes.
    pub previous: Option<Vec<u8>>,
    /// The randomness that the relay states, if it does. It is not needed. But if it is there it must
    /// be right, because a client may read it before the round is checked.
    pub randomness: Option<Vec<u8>>,
}

impl Round {
    /// The round's randomness, unless the relay states a different one.
    fn value(&self) -> Result<Randomness, RoundError> {
        let value = Randomness::of(&self.signature);
        match &self.randomness {
            Some(said) if *said != value.0 => Err(RoundError::Randomness),
            _ => Ok(value),
        }
    }
}

/// The randomness of a round: 32 bytes that nobody could predict or choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Randomness([u8; 32]);

impl Randomness {
    /// `SHA-256(signature)`. The signature must have been verified before; this function does not
    /// check it.
    #[must_use]
    pub fn of(signature: &[u8]) -> Self {
        Self(Sha256::digest(signature).into())
    }

    /// The 32 bytes of randomness.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Why a round does not belong to the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RoundError {
    /// The scheme is chained, but the round lacks the previous signature.
    #[error("{number} lacks the signature of the round before")]
    NoPrevious {
        /// The number of the round.
        number: RoundNumber,
    },
    /// The previous signature does not have the length of a signature.
    #[error("previous signature has {got} bytes, expected {CHAINED_BYTES}")]
    PreviousLength {
        /// Its length in bytes.
        got: usize,
    },
    /// The scheme is unchained, but the round has a previous signature. No signature covers it.
    #[error("a round of {scheme} has no previous signature")]
    NotChained {
        /// The scheme of the chain.
        scheme: Scheme,
    },
    /// The first round does not follow the chain's genesis seed.
    #[error("round 1 does not follow the chain's genesis seed")]
    Genesis,
    /// The bytes are not the encoding of a signature.
    #[error("signature: {0}")]
    Decode(#[from] DecodeError),
    /// The signature is not the group's signature on this round and this previous signature.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// The randomness that the relay states is not the one that the signature gives.
    #[error("randomness is not the hash of the signature")]
    Randomness,
}

impl RoundError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoPrevious { .. } => "no-previous-signature",
            Self::PreviousLength { .. } => "previous-signature-length",
            Self::NotChained { .. } => "not-chained",
            Self::Genesis => "wrong-genesis",
            Self::Randomness => "invalid-field",
            Self::Decode(error) => error.code(),
            Self::Signature(error) => error.code(),
        }
    }
}

/// The rounds of a batch that are not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} of {of} rounds are not valid", faults.len())]
pub struct RoundsError {
    /// The fault of each bad round, by its position in the slice that was checked.
    pub faults: BTreeMap<usize, RoundError>,
    /// How many rounds were checked.
    pub of: usize,
}

impl RoundsError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "faulty"
    }
}

fn read<V: Variant>(round: &Round) -> Result<Signature<V>, DecodeError> {
    Signature::from_bytes(&round.signature)
}
