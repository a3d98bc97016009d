//! Reads fields off a slice and remembers where it is.
use alloc::vec::Vec;

use super::{VERSION, WireError};
use crate::access::Access;
use crate::curve::{Affine, DecodeError, Group, PointError, Scalar};

/// What is left of the bytes.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, at: 0 }
    }

    /// The first byte.
    pub(super) fn version(&mut self) -> Result<(), WireError> {
        match self.u8()? {
            VERSION => Ok(()),
            got => Err(WireError::Version { got }),
        }
    }

    /// Where the next field starts.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn take(&mut self, need: usize) -> Result<&'a [u8], WireError> {
        let Some((taken, rest)) = self.rest.split_at_checked(need) else {
            return Err(WireError::Truncated { at: self.at, need, got: self.rest.len() });
        };
        self.rest = rest;
        self.at += need;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
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

    /// How many items of at least `size` bytes follow. No more than fit in the bytes that are left, and no
    /// more than `limit`.
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

    /// A count and as many points.
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

    /// A count that is not zero and as many points, none of them the identity.
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

    /// A count and as many bytes.
    pub(super) fn bytes(&mut self, limit: u32) -> Result<&'a [u8], WireError> {
        let count = self.count(1, limit)?;
        self.take(count)
    }

    pub(super) fn finish(self) -> Result<(), WireError> {
        match self.rest.len() {
            0 => Ok(()),
            got => Err(WireError::Trailing { at: self.at, got }),
        }
    }
}
