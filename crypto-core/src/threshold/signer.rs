//! The signing party's side: check the shares once, then sign each message. All of it runs in
//! constant time.
use alloc::vec::Vec;

use zeroize::Zeroize;

use crate::access::Party;
use crate::bls::{KeyPoint, SignaturePoint, Variant};
use crate::curve::{Affine, DecodeError, Projective, Scalar};
use crate::secret::Secret;

use super::committee::SigningCommittee;
use super::message::{Message, Purpose, PurposeError};
use super::partial::Partial;

/// Why shares are not those of the party. The error reveals nothing about the shares themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyShareError {
    /// The committee has no such party.
    #[error("{party} is not of this committee")]
    NotMember {
        /// The party that the error is about.
        party: Party,
    },
    /// A party without shares has nothing to sign with.
    #[error("{party} holds no shares")]
    NoShares {
        /// The party that the error is about.
        party: Party,
    },
    /// There must be exactly one share for each index of the party.
    #[error("{got} key shares, {party} holds {need}")]
    Count {
        /// The party that the error is about.
        party: Party,
        /// Number of shares that were given.
        got: usize,
        /// How many indices the party holds.
        need: usize,
    },
    /// A share does not match its share key: `g^f(j) ≠ pkⱼ`.
    #[error("key shares of {party} do not match its share keys")]
    Mismatch {
        /// The party that the error is about.
        party: Party,
    },
}

impl KeyShareError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotMember { .. } => "not-a-member",
            Self::NoShares { .. } => "holds-no-shares",
            Self::Count { .. } => "wrong-count",
            Self::Mismatch { .. } => "share-mismatch",
        }
    }
}

/// The shares `f(j)` of one party, in the order of its indices, as a dealer or a key generation gave
/// them. They are not checked yet.
///
/// ```compile_fail,E0308
/// use prefinal_crypto_core::threshold::KeyShares;
/// fn twice(shares: &KeyShares) -> [KeyShares; 2] {
///     [shares.clone(), shares.clone()]
/// }
/// ```
///
/// ```
/// # use prefinal_crypto_core::access::{Access, Party, Threshold};
/// # use prefinal_crypto_core::bls::MinSig;
/// # use prefinal_crypto_core::commitment::Commitment;
/// # use prefinal_crypto_core::curve::Scalar;
/// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// # use prefinal_crypto_core::threshold::{Purpose, Setup, SigningCommittee};
/// use prefinal_crypto_core::threshold::KeyShares;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let (access, threshold) = (Access::new(&[2, 1, 2])?, Threshold::new(3, 5)?);
/// # let f = Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
/// # let (placement, purpose) = (Placement::Consecutive, Purpose::Rounds);
/// # let setup = Setup { access, threshold, placement, purpose };
/// # let committee = SigningCommittee::<MinSig>::from_commitment(setup, &Commitment::commit(&f))?;
/// # let shares = f.shares(committee.points());
///
/// let own = |party| Secret::new(shares.expose()[committee.access().range(party)].to_vec());
/// let (first, last) = (Party::new(0), Party::new(2));
/// let stored = KeyShares::new(first, own(first)).to_secret_bytes();
/// let signer = KeyShares::from_secret_bytes(first, &stored)?.check(&committee)?;
/// assert_eq!(signer.share_keys(), &committee.share_keys()[..2]);
/// // The shares of another party are refused.
/// assert!(KeyShares::new(first, own(last)).check(&committee).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct KeyShares {
    party: Party,
    shares: Secret<Vec<Scalar>>,
}

impl KeyShares {
    /// The shares of a party, in the order of its indices. [`KeyShares::check`] checks them.
    #[must_use]
    pub const fn new(party: Party, shares: Secret<Vec<Scalar>>) -> Self {
        Self { party, shares }
    }

    /// Reads what [`KeyShares::to_secret_bytes`] wrote.
    ///
    /// # Errors
    /// If the bytes are not a sequence of canonical scalars.
    pub fn from_secret_bytes(party: Party, bytes: &Secret<Vec<u8>>) -> Result<Self, DecodeError> {
        Ok(Self { party, shares: shares_from_bytes(bytes)? })
    }

    /// The shares for storage, 32 bytes each, big-endian.
    #[must_use]
    pub fn to_secret_bytes(&self) -> Secret<Vec<u8>> {
        shares_to_bytes(&self.shares)
    }

    /// Checks the shares against the committee's share keys: `g^f(j) = pkⱼ`, one multiplication for
    /// each share. The result can sign.
    ///
    /// # Errors
    /// If they are not the shares of this party in this committee.
    pub fn check<V: Variant>(
        self,
        committee: &SigningCommittee<V>,
    ) -> Result<Signer<V>, KeyShareError> {
        let party = self.party;
        if !committee.access().contains(party) {
            return Err(KeyShareError::NotMember { party });
        }
        let keys = committee.keys_of(party);
        if keys.is_empty() {
            return Err(KeyShareError::NoShares { party });
        }
        let (got, need) = (self.shares.expose().len(), keys.len());
        if got != need {
            return Err(KeyShareError::Count { party, got, need });
        }
        let powers = self.shares.expose().iter().map(|share| Affine::generator() * share);
        let powers: Vec<KeyPoint<V>> = Projective::batch_to_affine(&powers.collect::<Vec<_>>());
        if powers != keys {
            return Err(KeyShareError::Mismatch { party });
        }
        let purpose = committee.purpose();
        Ok(Signer { purpose, committee: committee.id(), shares: self, keys: powers })
    }
}

/// Shares one after the other, 32 bytes each.
pub(crate) fn shares_to_bytes(shares: &Secret<Vec<Scalar>>) -> Secret<Vec<u8>> {
    let shares = shares.expose();
    let mut bytes = Vec::with_capacity(shares.len() * Scalar::BYTES);
    shares.iter().for_each(|share| bytes.extend_from_slice(&share.to_bytes()));
    Secret::new(bytes)
}

/// Reads what [`shares_to_bytes`] wrote, and refuses everything else.
pub(crate) fn shares_from_bytes(
    bytes: &Secret<Vec<u8>>,
) -> Result<Secret<Vec<Scalar>>, DecodeError> {
    let bytes = bytes.expose();
    // The whole capacity is reserved at once, because a vector that grows leaves copies of secrets in
    // memory.
    let mut shares = Vec::with_capacity(bytes.len().div_ceil(Scalar::BYTES));
    for one in bytes.chunks(Scalar::BYTES) {
        match Scalar::from_bytes(one) {
            Ok(share) => shares.push(share),
            Err(error) => {
                shares.zeroize();
                return Err(error);
            }
        }
    }
    Ok(Secret::new(shares))
}

/// A party that can sign: its shares were checked against the committee's share keys.
///
/// ```compile_fail,E0599
/// use prefinal_crypto_core::bls::MinSig;
/// use prefinal_crypto_core::threshold::{KeyShares, Message, Partial};
/// fn unchecked(shares: &KeyShares, message: &Message<MinSig>) -> Partial<MinSig> {
///     shares.partial(message).unwrap()
/// }
/// ```
#[derive(Debug)]
pub struct Signer<V: Variant> {
    purpose: Purpose,
    committee: [u8; 32],
    shares: KeyShares,
    keys: Vec<KeyPoint<V>>,
}

impl<V: Variant> Signer<V> {
    /// The party that signs.
    #[must_use]
    pub const fn party(&self) -> Party {
        self.shares.party
    }

    /// The digest of the committee that the party is a member of.
    #[must_use]
    pub const fn committee(&self) -> [u8; 32] {
        self.committee
    }

    /// The party's share keys `pkⱼ`, in the order of its indices.
    #[must_use]
    pub fn share_keys(&self) -> &[KeyPoint<V>] {
        &self.keys
    }

    /// The party's partial on a message: `H(m)^f(j)` for each index, one multiplication each. The
    /// same message always gives the same partial.
    ///
    /// ```
    /// # use prefinal_crypto_core::access::{Access, Party, Threshold};
    /// # use prefinal_crypto_core::commitment::Commitment;
    /// # use prefinal_crypto_core::curve::Scalar;
    /// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
    /// # use prefinal_crypto_core::secret::Secret;
    /// # use prefinal_crypto_core::threshold::{KeyShares, Purpose, Setup, SigningCommittee};
    /// use prefinal_crypto_core::bls::{Domain, MinSig};
    /// use prefinal_crypto_core::drand::RoundNumber;
    /// use prefinal_crypto_core::threshold::Message;
    /// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
    /// # let (access, threshold) = (Access::new(&[2, 1, 2])?, Threshold::new(3, 5)?);
    /// # let f = Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
    /// # let (placement, purpose) = (Placement::Consecutive, Purpose::Rounds);
    /// # let setup = Setup { access, threshold, placement, purpose };
    /// # let committee = SigningCommittee::<MinSig>::from_commitment(setup, &Commitment::commit(&f))?;
    /// # let own = f.shares(committee.points()).expose()[committee.access().range(Party::new(0))].to_vec();
    /// # let signer = KeyShares::new(Party::new(0), Secret::new(own)).check(&committee)?;
    ///
    /// let partial = signer.partial(&Message::round(RoundNumber::FIRST))?;
    /// assert_eq!(partial.points().len(), 2); // one for each share of the party
    /// // A key for rounds signs nothing else.
    /// assert!(signer.partial(&Message::new(Domain::new("vote"), b"block 7")).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the message is not what the key is for.
    pub fn partial(&self, message: &Message<V>) -> Result<Partial<V>, PurposeError> {
        message.check(self.purpose)?;
        let shares = self.shares.shares.expose();
        let points: Vec<_> = shares.iter().map(|share| message.point() * share).collect();
        let points: Vec<SignaturePoint<V>> = Projective::batch_to_affine(&points);
        Ok(Partial::new(points))
    }
}
