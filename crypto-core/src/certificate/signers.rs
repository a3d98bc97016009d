//! Sets of parties, stored as bitmaps.
use alloc::vec;
use alloc::vec::Vec;

use borsh::io::{Error, ErrorKind, Read, Result as IoResult};
use borsh::{BorshDeserialize, BorshSerialize};

use super::CertificateError;
use crate::access::{Access, Party};

const TOO_LONG: &str = "bitmap is longer than any electorate";

/// A party is not in the electorate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{party} is not one of the {parties} parties")]
pub struct Stranger {
    /// The party that is not in the electorate.
    pub party: Party,
    /// The number of parties in the electorate.
    pub parties: usize,
}

impl Stranger {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "not-a-member"
    }
}

/// A set of parties as a bitmap, party 0 at the lowest bit of the first byte. A decoded bitmap may
/// not fit an electorate; functions that use it check this first.
///
/// ```
/// use prefinal_crypto_core::access::Party;
/// use prefinal_crypto_core::certificate::Signers;
/// let signers = Signers::new(10, [Party::new(0), Party::new(9)])?;
/// assert!(signers.contains(Party::new(9)) && !signers.contains(Party::new(1)));
/// assert_eq!(signers.as_bytes().len(), 2);
/// assert!(Signers::new(10, [Party::new(10)]).is_err());
/// # Ok::<(), prefinal_crypto_core::certificate::Stranger>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize)]
pub struct Signers(Vec<u8>);

impl Signers {
    /// Length of the longest bitmap in bytes.
    pub(crate) const MAX_BYTES: u32 = Access::MAX.div_ceil(8);

    /// Wraps a decoded bitmap. It must not be longer than [`Signers::MAX_BYTES`].
    pub(crate) const fn from_bitmap(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The set of these signers in an electorate with `parties` parties. The bitmap has
    /// `⌈parties / 8⌉` bytes.
    ///
    /// # Errors
    /// If a signer is not in the electorate.
    pub fn new(parties: usize, signers: impl IntoIterator<Item = Party>) -> Result<Self, Stranger> {
        let mut set = Self::none(parties);
        for party in signers {
            match set.0.get_mut(party.index() / 8) {
                Some(byte) if party.index() < parties => *byte |= 1 << (party.index() % 8),
                _ => return Err(Stranger { party, parties }),
            }
        }
        Ok(set)
    }

    pub(super) fn none(parties: usize) -> Self {
        Self(vec![0; parties.div_ceil(8)])
    }

    /// The parties of the set in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Party> + '_ {
        let bits = self.0.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
        (0_u32..).map(Party::new).zip(bits).filter_map(|(party, set)| set.then_some(party))
    }

    /// The number of parties in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|byte| *byte == 0)
    }

    /// Whether the party is in the set.
    #[must_use]
    pub fn contains(&self, party: Party) -> bool {
        let byte = self.0.get(party.index() / 8);
        byte.is_some_and(|byte| byte >> (party.index() % 8) & 1 == 1)
    }

    /// The bytes of the bitmap.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn check(&self, parties: usize) -> Result<(), CertificateError> {
        let fits = self.0.len() == parties.div_ceil(8)
            && self.0.last().is_none_or(|last| match parties % 8 {
                0 => true,
                used => last >> used == 0,
            });
        if fits { Ok(()) } else { Err(CertificateError::Bitmap { got: self.0.len(), parties }) }
    }

    /// Adds the parties of another set for the same number of parties. Returns the first party that
    /// was in this set already.
    pub(super) fn join(&mut self, others: &Self) -> Option<Party> {
        let twice = others.iter().find(|party| self.contains(*party));
        self.0.iter_mut().zip(&others.0).for_each(|(byte, other)| *byte |= other);
        twice
    }
}

impl BorshDeserialize for Signers {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        let count = u32::deserialize_reader(reader)?;
        if count > Self::MAX_BYTES {
            return Err(Error::new(ErrorKind::InvalidData, TOO_LONG));
        }
        // The vector grows with the bytes that are read. A `Vec<u8>` of Borsh would be allocated with
        // the announced length.
        (0..count).map(|_| u8::deserialize_reader(reader)).collect::<Result<_, _>>().map(Self)
    }
}
