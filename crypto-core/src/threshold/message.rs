//! What a shared key signs, and what it is for.
//!
//! | purpose             | tag of the hash            | message                        |
//! |---------------------|----------------------------|--------------------------------|
//! | `Messages(domain)`  | the domain's               | any bytes                      |
//! | `Rounds`            | [`Domain::BASIC`]'s        | SHA-256(round, `u64` big-endian) |
//!
//! Rounds are those of drand's unchained schemes ([`drand`](crate::drand)): in 𝔾₁
//! `bls-unchained-g1-rfc9380`, which quicknet has, in 𝔾₂ `pedersen-bls-unchained`. Their tag names no chain and no purpose, so nothing but rounds
//! may ever be signed with such a key; here nothing else can be.
use core::fmt;

use crate::bls::{Domain, SignaturePoint, Variant};
use crate::drand::RoundNumber;

/// What a committee's key is for. Two keys with one purpose are two beacons; one key has one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Messages that the protocol chooses, under a domain of its own.
    Messages(Domain),
    /// The rounds of a beacon, as drand signs them.
    Rounds,
}

impl Purpose {
    /// Statements of a chain in a constant size, instead of a multi-signature and a bitmap.
    pub const CERTIFICATES: Self = Self::Messages(Domain::new("threshold certificate"));

    /// The domain under which the result verifies.
    #[must_use]
    pub const fn domain(self) -> Domain {
        match self {
            Self::Messages(domain) => domain,
            Self::Rounds => Domain::BASIC,
        }
    }

    /// For transcripts: tells apart what [`Purpose::domain`] does not.
    pub(super) const fn kind(self) -> &'static [u8] {
        match self {
            Self::Messages(_) => b"messages",
            Self::Rounds => b"rounds",
        }
    }
}

/// A message for a committee of another purpose: the caller's mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message is for {got:?}, the committee's key is for {expected:?}")]
pub struct PurposeError {
    /// The committee's.
    pub expected: Purpose,
    /// The message's.
    pub got: Purpose,
}

/// A message as a point of the signatures' group. Hashed once, for all committees of its purpose.
///
/// ```compile_fail,E0277
/// use crypto_core::{bls::MinSig, threshold::Message};
/// let message: Message<MinSig> = b"message".into();
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Message<V: Variant> {
    purpose: Purpose,
    point: SignaturePoint<V>,
}

impl<V: Variant> Message<V> {
    /// `H(m)` under a domain. What binds a message to chain and epoch belongs in the message.
    #[must_use]
    pub fn new(domain: Domain, message: &[u8]) -> Self {
        Self { purpose: Purpose::Messages(domain), point: domain.hash::<V>(message) }
    }

    /// A round of a beacon.
    #[must_use]
    pub fn round(round: RoundNumber) -> Self {
        let purpose = Purpose::Rounds;
        Self { purpose, point: purpose.domain().hash::<V>(&round.message()) }
    }

    /// What it may be signed with.
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
