//! Partials that are wrong but have the right shape.

use ::prefinal_beacon::{Bls, Random, Scheme, Wvuf};
use prefinal_crypto_core::curve::{G1Affine, G2Affine, Scalar};

use super::ideal::{Ideal, Token};

/// A scheme whose partials can be tampered with, from outside: through their encoding.
pub(crate) trait Forge: Scheme + Random {
    /// The partial with `by` times the generator added to every second point, or subtracted, and the
    /// other way round for the points between: what two accomplices, or two points of one party, add
    /// up to does not change.
    fn shifted(partial: &Self::Partial, by: u64, adds: bool) -> Self::Partial;
}

impl Forge for Bls {
    fn shifted(partial: &Self::Partial, by: u64, adds: bool) -> Self::Partial {
        let scalar = Scalar::from_u64(by);
        let delta = (G1Affine::generator() * scalar).to_affine();
        let points = partial.points().iter().enumerate().map(|(place, point)| {
            let up = adds == place.is_multiple_of(2);
            (if up { *point + delta } else { *point - delta }).to_affine()
        });
        let points: Vec<G1Affine> = points.collect();
        reread(&points, partial)
    }
}

impl Forge for Wvuf {
    fn shifted(partial: &Self::Partial, by: u64, adds: bool) -> Self::Partial {
        let delta = (G2Affine::generator() * Scalar::from_u64(by)).to_affine();
        let point = borsh::to_vec(partial).ok().and_then(|bytes| borsh::from_slice(&bytes).ok());
        let point: G2Affine = point.unwrap_or_else(G2Affine::generator);
        let moved = if adds { point + delta } else { point - delta };
        reread(&moved.to_affine(), partial)
    }
}

impl Forge for Ideal {
    fn shifted(token: &Token, by: u64, adds: bool) -> Token {
        token.shifted(by, adds)
    }
}

/// What these points are as a partial; the one that there was if they are none.
fn reread<P: borsh::BorshSerialize, T: borsh::BorshDeserialize + Clone>(points: &P, or: &T) -> T {
    let bytes = borsh::to_vec(points).unwrap_or_default();
    borsh::from_slice(&bytes).unwrap_or_else(|_| or.clone())
}
