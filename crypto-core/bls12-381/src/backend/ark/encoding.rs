//! Strict conversion of compressed points to and from bytes.
//!
//! arkworks' reader accepts any bytes after the infinity flag as the identity, so it is never given
//! bytes of a peer. The order of the checks is that of blst, so that both backends give the same
//! error: flags, then coordinate, then curve. The subgroup is checked in `group`.
use super::field::Coordinate;
use super::formulas::{Affine, Curve};
use crate::error::DecodeError;

const COMPRESSED: u8 = 0x80;
const INFINITY: u8 = 0x40;
/// The flag for the greater one of `y` and `−y`. In `𝔽p²` the coefficient of `u` is compared first.
const GREATER: u8 = 0x20;
const FLAGS: u8 = COMPRESSED | INFINITY | GREATER;

pub(super) fn compress<C: Curve>(point: &Affine<C>) -> C::Encoding {
    let mut bytes = C::ZERO_BYTES;
    let flags = if *point == Affine::<C>::identity() {
        COMPRESSED | INFINITY
    } else {
        point.x.write(bytes.as_mut());
        if point.y > -point.y { COMPRESSED | GREATER } else { COMPRESSED }
    };
    if let Some(first) = bytes.as_mut().first_mut() {
        *first |= flags;
    }
    bytes
}

pub(super) fn decompress<C: Curve>(bytes: &C::Encoding) -> Result<Affine<C>, DecodeError> {
    let mut coordinate = *bytes;
    let first = coordinate.as_mut().first_mut().ok_or(DecodeError::NotCanonical)?;
    let flags = *first & FLAGS;
    *first &= !FLAGS;
    if flags == COMPRESSED | INFINITY && coordinate.as_ref().iter().all(|byte| *byte == 0) {
        return Ok(Affine::<C>::identity());
    }
    if flags & !GREATER != COMPRESSED {
        return Err(DecodeError::NotCanonical);
    }
    let x = C::Field::read(coordinate.as_ref()).ok_or(DecodeError::NotCanonical)?;
    let point = Affine::<C>::get_point_from_x_unchecked(x, flags & GREATER != 0);
    point.ok_or(DecodeError::NotOnCurve)
}
