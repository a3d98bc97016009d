//! Who may sign, and how much each signature counts.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Signers;
use crate::access::{Access, Party};
use crate::bls::{AggregateKey, PublicKey, SignatureError, Variant};
use crate::challenge::Transcript;
use crate::curve::Projective;
use crate::verified::Verified;

const ELECTORATE_TAG: &[u8] = b"PREFINAL-V1-ELECTORATE";

/// A party as certificates see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elector<V: Variant> {
    /// Its key, with its proof of possession checked: keys are summed.
    pub key: Verified<PublicKey<V>>,
    /// Its stake in whatever unit consensus counts. Zero is allowed, and counts for nothing.
    pub stake: u128,
}

/// Why parties are no electorate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElectorateError {
    /// Nobody, or too many.
    #[error("{got} parties, expected 1 to {max}")]
    Size {
        /// Parties there are.
        got: usize,
        /// The most that is supported.
        max: u32,
    },
    /// The stakes do not fit into 128 bits.
    #[error("stake overflows 128 bits at {at}")]
    Overflow {
        /// The party whose stake does not fit any more.
        at: Party,
    },
    /// With one signature a key would count for both.
    #[error("{at} has the key of {earlier}")]
    RepeatedKey {
        /// The later of the two.
        at: Party,
        /// The earlier.
        earlier: Party,
    },
    /// Nobody has stake.
    #[error("no party has stake")]
    NoStake,
    /// Nobody, or not even all together, would be a quorum.
    #[error("quorum is {quorum} of {total} stake, expected 1 to {total}")]
    Quorum {
        /// The quorum.
        quorum: u128,
        /// All stake.
        total: u128,
    },
}

/// The parties whose signatures make certificates, and how much stake it takes.
///
/// Takes no key without proof of possession:
/// ```compile_fail,E0308
/// use crypto_core::bls::{MinSig, min_sig::PublicKey};
/// use crypto_core::certificate::Elector;
/// fn rogue(key: PublicKey) -> Elector<MinSig> {
///     Elector { key, stake: 1 }
/// }
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
    /// An electorate in which it takes more than two thirds of the stake: what a Byzantine quorum
    /// is.
    ///
    /// # Errors
    /// [`ElectorateError`] says which party is at fault.
    pub fn more_than_two_thirds(electors: Vec<Elector<V>>) -> Result<Self, ElectorateError> {
        Self::new(electors, |total| total - total.div_ceil(3) + 1)
    }

    /// An electorate in which it takes `quorum` stake.
    ///
    /// # Errors
    /// If that is nothing or more than there is; otherwise [`ElectorateError`] says which party is at
    /// fault.
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

    /// How many parties there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.electors.len()
    }

    /// Never true.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.electors.is_empty()
    }

    /// All stake.
    #[must_use]
    pub const fn total(&self) -> u128 {
        self.total
    }

    /// The least stake that is a quorum.
    #[must_use]
    pub const fn quorum(&self) -> u128 {
        self.quorum
    }

    /// The party, if it is one of them.
    #[must_use]
    pub fn elector(&self, party: Party) -> Option<&Elector<V>> {
        self.electors.get(party.index())
    }

    /// The stake of the signers; strangers have none.
    #[must_use]
    pub fn stake_of(&self, signers: &Signers) -> u128 {
        // At most the total, which fits.
        signers.iter().filter_map(|party| self.elector(party)).map(|elector| elector.stake).sum()
    }

    /// The sum of the signers' keys; strangers have none. Costs an addition for each signer or for each
    /// absent party, whichever are fewer.
    ///
    /// # Errors
    /// If there are no signers, or if their keys cancel.
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
        // Keys of the two variants have two lengths.
        transcript.append(b"key", elector.key.to_bytes().as_ref());
        transcript.append(b"stake", &elector.stake.to_be_bytes());
    }
    transcript.bytes(b"id")
}
