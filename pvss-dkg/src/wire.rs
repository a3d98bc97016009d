//! Reads untrusted bytes: sizes from the configuration first, algebra afterwards.
//!
//! Dealings and aggregates have no length fields for their points: the configuration says how many
//! there must be. So the total length is checked before a single point is decompressed, and nothing is
//! allocated for bytes that are not there. Every value has one encoding.
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_crypto_core::curve::{Affine, G1Affine, G2Affine, Group, Scalar};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::wire::{TrailingBytes, Truncated};
use thiserror::Error;
use zeroize::Zeroize;

/// The first byte of every encoding of this crate.
pub(crate) const VERSION: u8 = 1;

/// Why bytes are not a dealing or an aggregate of the given configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes are too short, too long, or made for another committee.
    #[error("{got} bytes, expected {expected}")]
    Length {
        /// The length of the bytes.
        got: usize,
        /// The length that the configuration asks for.
        expected: usize,
    },
    /// An unknown version: from a later release, or not this format at all.
    #[error("version {got}, expected {VERSION}")]
    Version {
        /// The first byte, which names the version.
        got: u8,
    },
    /// A dealer index outside the committee.
    #[error("dealer {got} of a committee of {members}")]
    Dealer {
        /// The index in the bytes.
        got: u32,
        /// Number of parties in the committee.
        members: usize,
    },
    /// More dealers than the committee has members.
    #[error("{got} dealers of a committee of {members}")]
    Dealers {
        /// The number in the bytes.
        got: u32,
        /// Number of parties in the committee.
        members: usize,
    },
    /// Dealers are not listed once each in ascending order.
    #[error("dealer {second} is listed after {first}")]
    Order {
        /// The dealer that is listed first.
        first: Party,
        /// The dealer behind it, which should be the higher one.
        second: Party,
    },
    /// Not the canonical encoding of an element of the group or field.
    #[error("no valid {what} at byte {at}")]
    Element {
        /// The group or field.
        what: &'static str,
        /// The offset of its first byte.
        at: usize,
    },
}

impl DecodeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Length { .. } => "wrong-length",
            Self::Version { .. } => "wrong-version",
            Self::Dealer { .. } => "not-a-member",
            Self::Dealers { .. } => "too-many-parties",
            Self::Order { .. } => "dealer-order",
            Self::Element { .. } => "invalid-element",
        }
    }
}

impl From<Truncated> for DecodeError {
    fn from(Truncated { at, need, got }: Truncated) -> Self {
        Self::Length { got: at.saturating_add(got), expected: at.saturating_add(need) }
    }
}

impl From<TrailingBytes> for DecodeError {
    fn from(TrailingBytes { at, got }: TrailingBytes) -> Self {
        Self::Length { got: at.saturating_add(got), expected: at }
    }
}

/// Reads the fields of dealings from the front.
pub(crate) struct Reader<'a>(prefinal_crypto_core::wire::Reader<'a>);

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(prefinal_crypto_core::wire::Reader::new(bytes))
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        Ok(self.0.array()?)
    }

    /// The offset of the next byte.
    pub(crate) fn at(&self) -> usize {
        self.0.at()
    }

    pub(crate) fn version(&mut self) -> Result<(), DecodeError> {
        match self.array()? {
            [VERSION] => Ok(()),
            [got] => Err(DecodeError::Version { got }),
        }
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// Reads a party of a committee of `members`.
    pub(crate) fn dealer(&mut self, members: usize) -> Result<Party, DecodeError> {
        let party = Party::new(self.u32()?);
        if party.index() >= members {
            return Err(DecodeError::Dealer { got: party.get(), members });
        }
        Ok(party)
    }

    /// Reads how many dealers follow.
    pub(crate) fn count(&mut self, members: usize) -> Result<usize, DecodeError> {
        let got = self.u32()?;
        let count = usize::try_from(got).ok().filter(|count| *count <= members);
        count.ok_or(DecodeError::Dealers { got, members })
    }

    pub(crate) fn hash(&mut self) -> Result<[u8; 32], DecodeError> {
        self.array()
    }

    pub(crate) fn scalar(&mut self) -> Result<Scalar, DecodeError> {
        let at = self.at();
        Scalar::from_bytes(self.0.take(32)?)
            .map_err(|_| DecodeError::Element { what: "scalar", at })
    }

    /// Reads this number of secret scalars. The caller has compared the total length first.
    pub(crate) fn secret_scalars(
        &mut self,
        count: usize,
    ) -> Result<Secret<Vec<Scalar>>, DecodeError> {
        // Reserved at once, because a vector that grows leaves copies behind.
        let mut scalars = Vec::with_capacity(count);
        for _ in 0..count {
            match self.scalar() {
                Ok(scalar) => scalars.push(scalar),
                Err(error) => {
                    scalars.zeroize();
                    return Err(error);
                }
            }
        }
        Ok(Secret::new(scalars))
    }

    pub(crate) fn g1(&mut self) -> Result<G1Affine, DecodeError> {
        let at = self.at();
        G1Affine::from_bytes(self.0.take(48)?)
            .map_err(|_| DecodeError::Element { what: "point of 𝔾₁", at })
    }

    pub(crate) fn g2(&mut self) -> Result<G2Affine, DecodeError> {
        let at = self.at();
        G2Affine::from_bytes(self.0.take(96)?)
            .map_err(|_| DecodeError::Element { what: "point of 𝔾₂", at })
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// Reads this number of points. The caller has compared the total length first.
    pub(crate) fn g1s(&mut self, count: usize) -> Result<Vec<G1Affine>, DecodeError> {
        self.points(count, "point of 𝔾₁")
    }

    pub(crate) fn g2s(&mut self, count: usize) -> Result<Vec<G2Affine>, DecodeError> {
        self.points(count, "point of 𝔾₂")
    }

    fn points<G: Group>(
        &mut self,
        count: usize,
        what: &'static str,
    ) -> Result<Vec<Affine<G>>, DecodeError> {
        let (start, size) = (self.at(), G::EMPTY.as_ref().len());
        let bytes = self.0.take(count.saturating_mul(size))?;
        let points = Affine::many_from_bytes(bytes);
        points.map_err(|e| DecodeError::Element { what, at: start + e.index * size })
    }

    pub(crate) fn scalars(&mut self, count: usize) -> Result<Vec<Scalar>, DecodeError> {
        (0..count).map(|_| self.scalar()).collect()
    }

    pub(crate) fn signature(&mut self) -> Result<Signature, DecodeError> {
        let at = self.at();
        Signature::from_bytes(self.0.take(48)?)
            .map_err(|_| DecodeError::Element { what: "signature", at })
    }

    /// Checks that no bytes are left.
    pub(crate) fn end(self) -> Result<(), DecodeError> {
        Ok(self.0.finish()?)
    }
}
