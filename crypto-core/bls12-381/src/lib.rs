//! BLS12-381: scalars, points, pairings, and the only door to the libraries that compute them.
//!
//! ```
//! use bls12_381::{DecodeError, G1Affine, Scalar};
//!
//! let point = (G1Affine::generator() * Scalar::from_u64(7)).to_affine();
//! let bytes = point.to_bytes();
//! assert_eq!(G1Affine::from_bytes(&bytes), Ok(point));
//! assert_eq!(G1Affine::from_bytes(&[0; 48]), Err(DecodeError::NotCanonical));
//! ```
//!
//! At the top is what every user of a scheme meets: points and scalars, as keys and messages have them.
//! What schemes are built of (sums of products, pairings, hashing under any tag, Miller loops) is in
//! [`hazmat`].
//!
//! # What callers may rely on
//! This crate is audited by itself. It depends on nothing else of Prefinal, and these are all of its
//! promises:
//!
//! - **Subgroup.** A value of [`Affine`] or [`Projective`] is in the subgroup of order `r`, to which the
//!   identity belongs. Only [`hazmat::g1_from_limbs`] and [`hazmat::g2_from_limbs`] take that on trust;
//!   [`Affine::many_from_bytes`] misses a point outside with a chance of 2⁻¹³⁴.
//! - **Encodings.** One value has one encoding. All others are refused, by both backends for the same
//!   reason, before any algebra depends on them.
//! - **Constant time,** on blst; arkworks' field is the limit of the other backend. Arithmetic, comparison
//!   and inversion of scalars; addition, comparison and encoding of points; multiplication of a point by a
//!   scalar, and [`hazmat::FixedBase`] and [`hazmat::multiply_each`] in their scalars. Whether something is
//!   zero or the identity may show. All else is for public values, and named `vartime_` where that could
//!   be mistaken. Comparisons become public in [`hazmat::reveal`] alone.
//! - **Wiping.** Scalars and points are `Copy` and not wiped by themselves, but can be (`Zeroize`).
//!   Multiplications wipe the digits that they make of a scalar. `Debug` shows nothing of scalars and points.
//! - **Same results** on both backends, on any number of threads, in lanes and one by one.
//! - **No panic** on any input, but for a broken generator ([`Scalar::random_nonzero`]) and an empty
//!   [`Tag`] that is written in the program.
//!
//! Two files say `unsafe`: `backend/blst.rs`, whose calls go to C and assembly, and `lanes.rs`, whose
//! instructions not every processor has.
//!
//! # Encodings
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
//! # Backends
//! | backend    | feature    | for                                                           |
//! |------------|------------|---------------------------------------------------------------|
//! | blst       | `blst`     | servers: C and assembly, constant time; the default           |
//! | arkworks   | `arkworks` | browsers, bare metal: Rust alone; constant time down to the    |
//! |            |            | field, whose last subtraction may be a branch                 |
//!
//! Sums of products are ours on both, over their additions, and on processors with AVX-512 IFMA over
//! additions of eight points at a time (`lanes`). There products of four pairings or more are ours, too,
//! eight Miller loops at a time, and products of dozens of points with secrets, in constant time. Without
//! the feature `lanes` nothing of them is compiled; `PREFINAL_LANES=off` in the environment (with the feature
//! `std`) or [`hazmat::lanes::disable`] leaves them unused. Results are the same.
//!
//! Both give the same bytes and refuse the same bytes for the same reason. Features only add: if
//! both are on, blst computes. With `parallel`, sums of products, products of pairings and decoding of
//! many points use the rayon pool that the caller is in, and never make one; results stay the same.
//!
//! What released libraries leave to their callers is done here, and tested by name (`tests/suite`):
//!
//! | library  | pitfall                                   | test                                            |
//! |----------|-------------------------------------------|-------------------------------------------------|
//! | blst     | infinity spoils products of pairings      | `pairings_with_the_identity_are_one_…`          |
//! | arkworks | whatever has the infinity flag is read    | `the_infinity_flag_stands_alone`                |
//! | both     | other crates' features turn on threads    | `work_stays_on_the_callers_threads_…`           |
#![no_std]

#[cfg(not(any(feature = "blst", feature = "arkworks")))]
compile_error!("curve arithmetic needs a backend: turn on feature `blst` or `arkworks`");

extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

#[cfg(all(test, feature = "blst"))]
mod agreement;
mod backend;
mod batch;
mod decode;
mod error;
mod expand;
mod factor;
mod field;
mod fixed_base;
mod group;
mod hash;
pub mod hazmat;
mod lanes;
mod many;
mod msm;
mod pairing;
mod points;
mod products;
mod reveal;
mod scalar;
mod straus;
mod subgroup;
mod sums;
mod wire;

pub use self::backend::{G1, G2};
pub use self::error::{DecodeError, PointError};
pub use self::expand::{EmptyTag, Tag};
pub use self::group::Group;
pub use self::pairing::PairingMismatch;
pub use self::points::{Affine, G1Affine, G1Projective, G2Affine, G2Projective, Projective};
pub use self::scalar::Scalar;
