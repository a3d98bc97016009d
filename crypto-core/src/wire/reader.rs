//! Reads fields from a slice and keeps track of the position.
use alloc::vec::Vec;

use super::{VERSION, WireError};
use crate::access::Access;
use crate::curve::{Affine, DecodeError, Group, PointError, Scalar};

/// Reads bytes field by field, from the front. It knows only lengths and positions, not the meaning
/// of the fields, so it can read any format. It allocates nothing, and no input makes it panic.
///
/// ```
/// use prefinal_crypto_core::wire::{Reader, Truncated};
///
/// let mut reader = Reader::new(&[0, 0, 1, 2]);
/// assert_eq!(reader.array().map(u16::from_be_bytes), Ok(0));
/// assert_eq!(reader.take(1), Ok(&[1][..]));
/// assert_eq!(reader.take(2), Err(Truncated { at: 3, need: 2, got: 1 }));
/// assert_eq!(reader.array(), Ok([2]));
/// assert_eq!(reader.finish(), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    at: usize,
}

/// A field is longer than the remaining bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{got} bytes left at byte {at}, expected {need}")]
pub struct Truncated {
    /// Position at which the field starts.
    pub at: usize,
    /// Length of the field in bytes.
    pub need: usize,
    /// Number of bytes that are left.
    pub got: usize,
}

impl Truncated {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "truncated"
    }
}

/// Bytes follow the last field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{got} bytes after the end at byte {at}")]
pub struct TrailingBytes {
    /// Position at which the last field ends.
    pub at: usize,
    /// How many bytes follow.
    pub got: usize,
}

impl TrailingBytes {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "trailing-bytes"
    }
}

impl<'a> Reader<'a> {
    /// A reader that starts at the first byte.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, at: 0 }
    }

    /// The offset of the next field from the first byte.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.at
    }

    /// Whether all bytes have been read.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next field, of `need` bytes.
    ///
    /// # Errors
    /// If fewer bytes are left. The reader does not move then.
    pub fn take(&mut self, need: usize) -> Result<&'a [u8], Truncated> {
        let Some((taken, rest)) = self.rest.split_at_checked(need) else {
            return Err(Truncated { at: self.at, need, got: self.rest.len() });
        };
        self.rest = rest;
        self.at += need;
        Ok(taken)
    }

    /// The next field, of `N` bytes.
    ///
    /// # Errors
    /// If fewer bytes are left. The reader does not move then.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Truncated> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// Checks that the last field has been read.
    ///
    /// # Errors
    /// If bytes are left.
    pub const fn finish(self) -> Result<(), TrailingBytes> {
        match self.rest.len() {
            0 => Ok(()),
            got => Err(TrailingBytes { at: self.at, got }),
        }
    }
}

/// The fields of this module's objects.
impl<'a> Reader<'a> {
    /// Reads the first byte, which must be the version of the format.
    pub(super) fn version(&mut self) -> Result<(), WireError> {
        match self.u8()? {
            VERSION => Ok(()),
            got => Err(WireError::Version { got }),
        }
    }

    pub(super) fn u8(&mut self) -> Result<u8, WireError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32, WireError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, WireError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads the number of items of at least `size` bytes that follow. It may not exceed `limit`, nor
    /// the number that fits in the remaining bytes.
    pub(super) fn count(&mut self, size: usize, limit: u32) -> Result<usize, WireError> {
        let at = self.at;
        let got = self.u32()?;
        let count = usize::try_from(got).unwrap_or(usize::MAX);
        let most = self.rest.len() / size.max(1);
        let most = most.min(usize::try_from(limit).unwrap_or(usize::MAX));
        if count > most { Err(WireError::Count { at, got, most }) } else { Ok(count) }
    }

    pub(super) fn point<G: Group>(&mut self) -> Result<Affine<G>, WireError> {
        let at = self.at;
        let bytes = self.take(G::EMPTY.as_ref().len())?;
        Affine::from_bytes(bytes).map_err(|error| WireError::Decode { at, error })
    }

    pub(super) fn nonzero_point<G: Group>(&mut self) -> Result<Affine<G>, WireError> {
        let at = self.at;
        let point = self.point()?;
        if point.is_identity() {
            return Err(WireError::Decode { at, error: DecodeError::Identity });
        }
        Ok(point)
    }

    pub(super) fn scalar(&mut self) -> Result<Scalar, WireError> {
        let at = self.at;
        let bytes = self.take(Scalar::BYTES)?;
        Scalar::from_bytes(bytes).map_err(|error| WireError::Decode { at, error })
    }

    /// Reads a count, and then that many points.
    pub(super) fn points<G: Group>(&mut self) -> Result<Vec<Affine<G>>, WireError> {
        let size = G::EMPTY.as_ref().len();
        let count = self.count(size, Access::MAX)?;
        let at = self.at;
        let points = Affine::many_from_bytes(self.take(count * size)?);
        points.map_err(|PointError { index, error }| WireError::Decode {
            at: at + index * size,
            error,
        })
    }

    /// Reads a count that is not zero, and then that many points, none of them the identity.
    pub(super) fn nonzero_points<G: Group>(&mut self) -> Result<Vec<Affine<G>>, WireError> {
        let at = self.at;
        let points = self.points()?;
        if points.is_empty() {
            return Err(WireError::Value { at, got: 0, expected: "a count from one" });
        }
        match points.iter().position(Affine::is_identity) {
            None => Ok(points),
            Some(index) => {
                let at = at + 4 + index * G::EMPTY.as_ref().len();
                Err(WireError::Decode { at, error: DecodeError::Identity })
            }
        }
    }

    /// Reads a count, and then that many bytes.
    pub(super) fn bytes(&mut self, limit: u32) -> Result<&'a [u8], WireError> {
        let count = self.count(1, limit)?;
        Ok(self.take(count)?)
    }
}
