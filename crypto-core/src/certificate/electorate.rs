//! The parties that may sign certificates, and their stakes.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Signers;
use crate::access::{Access, Party};
use crate::bls::{AggregateKey, PublicKey, SignatureError, Variant};
use crate::challenge::Transcript;
use crate::curve::Projective;
use crate::verified::Verified;

const ELECTORATE_TAG: &[u8] = b"PREFINAL-V1-ELECTORATE";

/// A party that may sign certificates: its key and its stake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elector<V: Variant> {
    /// Its key. The proof of possession must have been checked, because keys are summed.
    pub key: Verified<PublicKey<V>>,
    /// Its stake, in the unit that consensus counts. Zero is allowed; the party's signature then adds
    /// no stake.
    pub stake: u128,
}

/// Why parties cannot form an electorate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElectorateError {
    /// There are no parties, or too many.
    #[error("{got} parties, expected 1 to {max}")]
    Size {
        /// The number of parties.
        got: usize,
        /// The greatest supported number.
        max: u32,
    },
    /// The sum of the stakes does not fit into 128 bits.
    #[error("stake overflows 128 bits at {at}")]
    Overflow {
        /// The party at which the sum overflows.
        at: Party,
    },
    /// Two parties have the same key. One signature would count for both.
    #[error("{at} has the key of {earlier}")]
    RepeatedKey {
        /// The later of the two parties.
        at: Party,
        /// The earlier of the two parties.
        earlier: Party,
    },
    /// All stakes are zero.
    #[error("no party has stake")]
    NoStake,
    /// The quorum is zero, or greater than the total stake.
    #[error("quorum is {quorum} of {total} stake, expected 1 to {total}")]
    Quorum {
        /// The quorum that was asked for.
        quorum: u128,
        /// The total stake of all parties.
        total: u128,
    },
}

impl ElectorateError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Size { .. } => "too-many-parties",
            Self::Overflow { .. } => "stake-overflow",
            Self::RepeatedKey { .. } => "duplicate-key",
            Self::NoStake => "no-stake",
            Self::Quorum { .. } => "quorum-range",
        }
    }
}

/// The parties whose signatures make certificates, and the stake that is a quorum.
///
/// A key without a verified proof of possession is not accepted:
/// ```compile_fail,E0308
/// use prefinal_crypto_core::bls::{MinSig, min_sig::PublicKey};
/// use prefinal_crypto_core::certificate::Elector;
/// fn rogue(key: PublicKey) -> Elector<MinSig> {
///     Elector { key, stake: 1 }
/// }
/// ```
///
/// [`Certificate`](super::Certificate) has an example with votes.
/// ```
/// use prefinal_crypto_core::access::Party;
/// use prefinal_crypto_core::bls::min_sig::SecretKey;
/// use prefinal_crypto_core::certificate::{Elector, Electorate, Signers};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// let mut electors = Vec::new();
/// for stake in [50, 30, 20] {
///     let signer = SecretKey::random(&mut rng);
///     let key = signer.public_key().verify_possession(&signer.prove_possession())?;
///     electors.push(Elector { key, stake });
/// }
/// let electorate = Electorate::more_than_two_thirds(electors.clone())?;
/// assert_eq!((electorate.quorum(), electorate.total()), (67, 100));
/// let signers = Signers::new(electorate.len(), [Party::new(0), Party::new(2)])?;
/// assert_eq!(electorate.stake_of(&signers), 70);
/// assert!(Electorate::with_quorum(electors, 101).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Electorate<V: Variant> {
    id: [u8; 32],
    electors: Vec<Elector<V>>,
    total: u128,
    quorum: u128,
    /// Sum of all keys.
    all: Projective<V::KeyGroup>,
}

impl<V: Variant> Electorate<V> {
    /// An electorate whose quorum is more than two thirds of the stake, the usual Byzantine quorum.
    ///
    /// # Errors
    /// [`ElectorateError`] says which party is at fault.
    pub fn more_than_two_thirds(electors: Vec<Elector<V>>) -> Result<Self, ElectorateError> {
        Self::new(electors, |total| total - total.div_ceil(3) + 1)
    }

    /// An electorate whose quorum is `quorum` stake.
    ///
    /// # Errors
    /// If `quorum` is zero or more than the total stake, or if the parties cannot form an electorate.
    /// [`ElectorateError`] says which party is at fault.
    pub fn with_quorum(electors: Vec<Elector<V>>, quorum: u128) -> Result<Self, ElectorateError> {
        Self::new(electors, |_| quorum)
    }

    fn new(
        electors: Vec<Elector<V>>,
        quorum: impl FnOnce(u128) -> u128,
    ) -> Result<Self, ElectorateError> {
        let got = electors.len();
        if got == 0 || u32::try_from(got).map_or(true, |got| got > Access::MAX) {
            return Err(ElectorateError::Size { got, max: Access::MAX });
        }
        let (mut total, mut keys) = (0_u128, BTreeMap::new());
        for (at, elector) in (0_u32..).map(Party::new).zip(&electors) {
            total = total.checked_add(elector.stake).ok_or(ElectorateError::Overflow { at })?;
            if let Some(earlier) = keys.insert(elector.key.to_bytes().as_ref().to_vec(), at) {
                return Err(ElectorateError::RepeatedKey { at, earlier });
            }
        }
        if total == 0 {
            return Err(ElectorateError::NoStake);
        }
        let quorum = quorum(total);
        if quorum == 0 || quorum > total {
            return Err(ElectorateError::Quorum { quorum, total });
        }
        let all = electors.iter().map(|elector| elector.key.point()).sum();
        let id = id(&electors, quorum);
        Ok(Self { id, electors, total, quorum, all })
    }

    /// Digest of variant, keys, stakes and quorum.
    #[must_use]
    pub const fn id(&self) -> [u8; 32] {
        self.id
    }

    /// The number of parties.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.electors.len()
    }

    /// Always `false`, because an electorate has at least one party.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.electors.is_empty()
    }

    /// The total stake of all parties.
    #[must_use]
    pub const fn total(&self) -> u128 {
        self.total
    }

    /// The smallest stake that is a quorum.
    #[must_use]
    pub const fn quorum(&self) -> u128 {
        self.quorum
    }

    /// The key and stake of a party. `None` if it is not in the electorate.
    #[must_use]
    pub fn elector(&self, party: Party) -> Option<&Elector<V>> {
        self.electors.get(party.index())
    }

    /// The total stake of the signers. Parties outside the electorate have none.
    #[must_use]
    pub fn stake_of(&self, signers: &Signers) -> u128 {
        // At most the total, which fits.
        signers.iter().filter_map(|party| self.elector(party)).map(|elector| elector.stake).sum()
    }

    /// The sum of the signers' keys. Parties outside the electorate are ignored. Costs one addition
    /// for each signer or for each absent party, whichever are fewer.
    ///
    /// # Errors
    /// If there are no signers, or if their keys sum to the identity.
    pub fn sum(&self, signers: &Signers) -> Result<AggregateKey<V>, SignatureError> {
        if signers.is_empty() {
            return Err(SignatureError::NoSigners);
        }
        let keys = (0_u32..).map(Party::new).zip(&self.electors);
        let mostly = 2 * signers.len() > self.len();
        let few: Projective<V::KeyGroup> = keys
            .filter(|(party, _)| signers.contains(*party) != mostly)
            .map(|(_, elector)| elector.key.point())
            .sum();
        AggregateKey::from_point((if mostly { self.all - few } else { few }).into())
    }
}

fn id<V: Variant>(electors: &[Elector<V>], quorum: u128) -> [u8; 32] {
    let mut transcript = Transcript::new(ELECTORATE_TAG);
    transcript.append(b"quorum", &quorum.to_be_bytes());
    for elector in electors {
        // Keys of the two variants have different lengths, so the variant need not be appended.
        transcript.append(b"key", elector.key.to_bytes().as_ref());
        transcript.append(b"stake", &elector.stake.to_be_bytes());
    }
    transcript.bytes(b"id")
}
