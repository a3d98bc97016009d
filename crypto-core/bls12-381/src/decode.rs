//! Many encodings at once, in lanes and on threads.
use alloc::vec::Vec;

use crate::error::{DecodeError, PointError};
use crate::group::Group;
use crate::lanes::{LANES, Wide};
use crate::many::in_parts;
use crate::points::Affine;
use crate::subgroup::vartime_first_outside;

/// The fewest points to decode that are worth a thread of their own: some hundred microseconds.
const LEAST_DECODED: usize = 8;
/// The fewest points to decode that eight lanes are faster with than one.
const LEAST_WIDE: usize = 3;

impl<G: Group> Affine<G> {
    /// Reads encodings that follow each other, on many threads with the feature `parallel`.
    ///
    /// On processors with AVX-512 IFMA a point takes a quarter of [`Affine::from_bytes`]. Whether they are
    /// in the subgroup is checked for each, or, from some hundreds or thousands on, for all at once, which
    /// misses one with a chance of 2⁻¹³⁴ for each attempt of whoever chose the bytes.
    ///
    /// # Errors
    /// As [`Affine::from_bytes`] for the first that is refused; the last may be too short.
    pub fn many_from_bytes(bytes: &[u8]) -> Result<Vec<Self>, PointError> {
        let size = G::EMPTY.as_ref().len();
        let parts = in_parts(bytes.len().div_ceil(size), LEAST_DECODED, |range| {
            let (from, to) = (range.start * size, bytes.len().min(range.end * size));
            let part = Self::part_from_bytes(bytes.get(from..to).unwrap_or_default());
            part.map_err(|PointError { index, error }| PointError {
                index: index + range.start,
                error,
            })
        });
        let mut points = Vec::with_capacity(bytes.len() / size);
        for part in parts {
            points.extend(part?);
        }
        Ok(points)
    }

    /// On one thread.
    fn part_from_bytes(bytes: &[u8]) -> Result<Vec<Self>, PointError> {
        let size = G::EMPTY.as_ref().len();
        let mut points = Vec::with_capacity(bytes.len() / size);
        let mut verdict = Ok(());
        for encodings in bytes.chunks(LANES * size) {
            verdict = Self::append_unchecked(&mut points, encodings);
            if verdict.is_err() {
                break;
            }
        }
        match vartime_first_outside(&points, bytes) {
            Some(index) => Err(PointError { index, error: DecodeError::NotInSubgroup }),
            None => verdict.map(|()| points),
        }
    }

    /// Points of the curve, of any order, of up to [`LANES`] encodings. What is not decoded with others is
    /// decoded by itself: that says what is wrong with it, if anything.
    fn append_unchecked(points: &mut Vec<Self>, bytes: &[u8]) -> Result<(), PointError> {
        let size = G::EMPTY.as_ref().len();
        let wide = Wide::detect().filter(|_| bytes.len() >= LEAST_WIDE * size);
        let together = wide.map_or([None; LANES], |wide| wide.decompress(bytes));
        for (encoding, point) in bytes.chunks(size).zip(together) {
            let point = point.map_or_else(|| Self::from_bytes_unchecked(encoding), Ok);
            points.push(point.map_err(|error| PointError { index: points.len(), error })?);
        }
        Ok(())
    }
}
