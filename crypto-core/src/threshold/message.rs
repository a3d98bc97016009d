//! The messages that a shared key signs, and the purpose that it has.
//!
//! | purpose             | tag of the hash            | message                        |
//! |---------------------|----------------------------|--------------------------------|
//! | `Messages(domain)`  | the domain's               | any bytes                      |
//! | `Rounds`            | [`Domain::BASIC`]'s        | SHA-256(round, `u64` big-endian) |
//!
//! Rounds are those of drand's unchained schemes ([`drand`](crate::drand)):
//! `bls-unchained-g1-rfc9380` in 𝔾₁, which quicknet uses, and `pedersen-bls-unchained` in 𝔾₂. Their
//! tag names no chain and no purpose, so a key for rounds must never sign anything else. The types
//! here enforce this.
use core::fmt;

use crate::bls::{Domain, SignaturePoint, Variant};
use crate::drand::RoundNumber;

/// The purpose of a committee's key. Each key has exactly one purpose. Several keys may have the same
/// purpose, for example the keys of two beacons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Messages that the protocol chooses, under a domain of the protocol.
    Messages(Domain),
    /// The rounds of a beacon, as drand signs them.
    Rounds,
}

impl Purpose {
    /// Certificates of constant size for a chain's statements. A [`certificate`](crate::certificate)
    /// proves a statement with a sum of signatures and a bitmap. This purpose proves it with one
    /// signature that verifies under one key.
    ///
    /// The signature does not show who signed, and it counts shares, not stake. Where weights were
    /// rounded, it proves only a range (ramp) of stake. Use the multi-signature where the quorum must
    /// be exact.
    ///
    /// ```
    /// # use std::collections::BTreeMap;
    /// # use prefinal_crypto_core::access::{Access, Party, Threshold};
    /// # use prefinal_crypto_core::bls::MinSig;
    /// # use prefinal_crypto_core::commitment::Commitment;
    /// # use prefinal_crypto_core::curve::Scalar;
    /// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
    /// # use prefinal_crypto_core::secret::Secret;
    /// use prefinal_crypto_core::threshold::{KeyShares, Message, Purpose, Setup, SigningCommittee};
    /// # use rand_core::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
    ///
    /// // Dealt by one who is trusted; `prefinal_pvss_dkg` does without.
    /// let access = Access::new(&[2, 1, 2])?;
    /// let threshold = Threshold::new(3, access.total())?;
    /// let secret = Secret::new(Scalar::random(&mut rng));
    /// let polynomial = Polynomial::random(threshold.t(), &secret, &mut rng);
    /// let setup = Setup {
    ///     access,
    ///     threshold,
    ///     placement: Placement::Consecutive,
    ///     purpose: Purpose::CERTIFICATES,
    /// };
    /// let committee =
    ///     SigningCommittee::<MinSig>::from_commitment(setup, &Commitment::commit(&polynomial))?;
    ///
    /// // Chain, epoch and height belong in the statement.
    /// let domain = Purpose::CERTIFICATES.domain();
    /// let state = b"chain 1, epoch 3, height 7: root 5eed";
    /// let statement = Message::new(domain, state);
    /// let shares = polynomial.shares(committee.points());
    /// let mut partials = BTreeMap::new();
    /// for party in [Party::new(0), Party::new(1)] {
    ///     let own = shares.expose()[committee.access().range(party)].to_vec();
    ///     let signer = KeyShares::new(party, Secret::new(own)).check(&committee)?;
    ///     partials.insert(party, signer.partial(&statement)?);
    /// }
    /// let certificate = committee.optimistic(&statement, partials)?.combine()?;
    ///
    /// // The verifier knows the group's key, and nothing of the committee.
    /// certificate.verify(&committee.group_key(), domain, state)?;
    /// assert_eq!(certificate.to_bytes().len(), 48);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const CERTIFICATES: Self = Self::Messages(Domain::new("threshold certificate"));

    /// The domain under which results of this purpose verify.
    #[must_use]
    pub const fn domain(self) -> Domain {
        match self {
            Self::Messages(domain) => domain,
            Self::Rounds => Domain::BASIC,
        }
    }

    /// A name for transcripts. It separates two purposes that have the same [`Purpose::domain`].
    pub(super) const fn kind(self) -> &'static [u8] {
        match self {
            Self::Messages(_) => b"messages",
            Self::Rounds => b"rounds",
        }
    }
}

/// A message was used with a committee of another purpose. This is a mistake of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message is for {got:?}, the committee's key is for {expected:?}")]
pub struct PurposeError {
    /// The purpose of the committee's key.
    pub expected: Purpose,
    /// The purpose of the message.
    pub got: Purpose,
}

impl PurposeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "wrong-purpose"
    }
}

/// A message as a point of the signatures' group. It is hashed once and can be used with all
/// committees of its purpose.
///
/// ```compile_fail,E0277
/// use prefinal_crypto_core::{bls::MinSig, threshold::Message};
/// let message: Message<MinSig> = b"message".into();
/// ```
///
/// ```
/// use prefinal_crypto_core::bls::{Domain, MinSig};
/// use prefinal_crypto_core::drand::RoundNumber;
/// use prefinal_crypto_core::threshold::{Message, Purpose};
/// const VOTE: Domain = Domain::new("example vote");
/// let vote = Message::<MinSig>::new(VOTE, b"chain 1, epoch 3: block 7");
/// assert_eq!(vote.purpose(), Purpose::Messages(VOTE));
/// assert!(vote != Message::new(Domain::new("another purpose"), b"chain 1, epoch 3: block 7"));
/// assert_eq!(Message::<MinSig>::round(RoundNumber::FIRST).purpose(), Purpose::Rounds);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Message<V: Variant> {
    purpose: Purpose,
    point: SignaturePoint<V>,
}

impl<V: Variant> Message<V> {
    /// Hashes a message to the curve, `H(m)`, under a domain. Nothing is added to the message, so
    /// chain and epoch must be part of it.
    #[must_use]
    pub fn new(domain: Domain, message: &[u8]) -> Self {
        Self { purpose: Purpose::Messages(domain), point: domain.hash::<V>(message) }
    }

    /// The message of one round of a beacon, as drand signs it.
    #[must_use]
    pub fn round(round: RoundNumber) -> Self {
        let purpose = Purpose::Rounds;
        Self { purpose, point: purpose.domain().hash::<V>(&round.message()) }
    }

    /// The purpose that a key must have to sign this message.
    #[must_use]
    pub const fn purpose(&self) -> Purpose {
        self.purpose
    }

    pub(super) const fn point(&self) -> SignaturePoint<V> {
        self.point
    }

    pub(super) fn check(&self, expected: Purpose) -> Result<(), PurposeError> {
        let got = self.purpose;
        if got == expected { Ok(()) } else { Err(PurposeError { expected, got }) }
    }
}

impl<V: Variant> fmt::Debug for Message<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message").field("purpose", &self.purpose).finish_non_exhaustive()
    }
}
