//! Decodes many points at once, in lanes and on threads.
use alloc::vec::Vec;

use crate::error::{DecodeError, PointError};
use crate::group::Group;
use crate::lanes::{LANES, Wide};
use crate::many::in_parts;
use crate::points::Affine;
use crate::subgroup::vartime_first_outside;

/// The smallest number of points for which a separate thread pays off. Decoding them takes some
/// hundred microseconds.
const LEAST_DECODED: usize = 8;
/// The smallest number of points that eight lanes decode faster than one lane.
const LEAST_WIDE: usize = 3;

impl<G: Group> Affine<G> {
    /// Reads encodings that follow each other. With the feature `parallel` it uses many threads.
    ///
    /// On processors with AVX-512 IFMA a point takes a quarter of the time of [`Affine::from_bytes`].
    /// The subgroup is checked for each point, or for all points at once if there are some hundreds
    /// or thousands. The joint check misses a point outside with probability 2⁻¹³⁴ for each attempt
    /// of an attacker that chooses the bytes.
    ///
    /// # Errors
    /// The error of [`Affine::from_bytes`] for the first point that is refused. The last encoding is
    /// refused if it is too short.
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

    /// Reads encodings on one thread.
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

    /// Appends the points of up to [`LANES`] encodings. The points are on the curve but may have any
    /// order. An encoding that the lanes did not decode is decoded alone, which gives the error if
    /// there is one.
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
