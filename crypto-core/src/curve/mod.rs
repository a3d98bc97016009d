//! BLS12-381: scalars, points, pairings, and the only door to the libraries that compute them.
//!
//! `𝔾₁` and `𝔾₂` of prime order `r` are written additively here, `𝔾_T` multiplicatively; the papers
//! write all three multiplicatively, so their `h^r` is `h * &r` in code.
//!
//! | encoding | bytes | refused at decode                                            |
//! |----------|-------|--------------------------------------------------------------|
//! | `Scalar` | 32    | anything not below `r`                                       |
//! | `𝔾₁`     | 48    | other flags than compressed, `x ≥ p`, not on the curve,      |
//! | `𝔾₂`     | 96    | outside the order-`r` subgroup, a second form of infinity    |
//! | `𝔾_T`    | 576   | never decoded, only hashed and compared                      |
//!
//! All are big-endian; points are compressed, with the flags of the format that drand and Ethereum
//! use. A value of a point type is therefore always in the subgroup; whether it may be the identity
//! is for each scheme to say.
//!
//! | backend    | feature    | for                                                           |
//! |------------|------------|---------------------------------------------------------------|
//! | blst       | `blst`     | servers: C and assembly, constant time; the default           |
//! | arkworks   | `arkworks` | browsers, bare metal: Rust alone; constant time down to the    |
//! |            |            | field, whose last subtraction may be a branch                 |
//!
//! Sums of products are ours on both, over their additions, and on processors with AVX-512 IFMA over
//! additions of eight points at a time (`lanes`). There products of four pairings or more are ours, too,
//! eight Miller loops at a time, and products of dozens of points with secrets, in constant time.
//!
//! Both give the same bytes and refuse the same bytes for the same reason. Features only add: if
//! both are on, blst computes. With `parallel`, sums of products, products of pairings and decoding of
//! many points use the rayon pool that the caller is in, and never make one; results stay the same.
//!
//! What released libraries leave to their callers is done here, and tested by name (`tests/suite/curve`):
//!
//! | library  | pitfall                                   | test                                            |
//! |----------|-------------------------------------------|-------------------------------------------------|
//! | blst     | infinity spoils products of pairings      | `pairings_with_the_identity_are_one_…`          |
//! | arkworks | whatever has the infinity flag is read    | `the_infinity_flag_stands_alone`                |
//! | both     | other crates' features turn on threads    | `work_stays_on_the_callers_threads_…`           |
//!
//! Multiplication by `&Scalar` is constant time. What is not is named `vartime_`.
//!
//! Elsewhere: bytes to scalars by Fiat–Shamir ([`crate::challenge`]), the fixed generators `h` and
//! `ĝ` ([`crate::generators`]).
#[cfg(all(test, feature = "blst"))]
mod agreement;
#[cfg(any(test, not(feature = "blst")))]
mod ark;
mod batch;
#[cfg(feature = "blst")]
mod blst;
mod expand;
mod fixed_base;
mod group;
mod lanes;
pub(crate) mod many;
mod msm;
mod pairing;
mod points;
mod products;
mod scalar;
mod subgroup;
mod sums;
mod wire;

#[cfg(not(feature = "blst"))]
use self::ark as backend;
#[cfg(feature = "blst")]
use self::blst as backend;

pub use self::backend::{G1, G2};
pub(crate) use self::batch::vartime_add_cells;
pub use self::batch::vartime_add_pairs;
pub use self::expand::{EmptyTag, Tag, expand_message_xmd};
pub use self::fixed_base::FixedBase;
pub use self::group::Group;
pub use self::many::in_parts;
pub use self::pairing::{
    Gt, MillerLoop, PairingMismatch, check_pairing_product, pairing, pairing_product,
};
pub(crate) use self::points::vartime_msm_challenges;
pub use self::points::{
    Affine, G1Affine, G1Projective, G2Affine, G2Projective, PointError, Projective, encode_to_g1,
    encode_to_g2, hash_to_g1, hash_to_g2, vartime_msm, vartime_msm_128, vartime_msm_bytes,
};
pub use self::products::multiply_each;
pub use self::scalar::{Scalar, batch_invert};
pub(crate) use self::sums::challenge;
pub use self::sums::{Factor, vartime_sums};

/// Why bytes are not a scalar or a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Too short or too long.
    #[error("encoding has {got} bytes, expected {expected}")]
    Length {
        /// Bytes the type has.
        expected: usize,
        /// Bytes that were given.
        got: usize,
    },
    /// Flags that do not go together, or a number not below its modulus.
    #[error("encoding is not canonical")]
    NotCanonical,
    /// No point has this coordinate.
    #[error("point is not on the curve")]
    NotOnCurve,
    /// On the curve, but of the wrong order.
    #[error("point is not in the subgroup of prime order")]
    NotInSubgroup,
    /// Where the identity makes no sense.
    #[error("point is the identity")]
    Identity,
    /// Where zero makes no sense.
    #[error("scalar is zero")]
    Zero,
}
