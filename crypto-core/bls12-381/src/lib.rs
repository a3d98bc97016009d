//! BLS12-381: scalars, points and pairings. All access to the libraries that compute them goes
//! through this crate.
//!
//! ```
//! use prefinal_bls12_381::{DecodeError, G1Affine, Scalar};
//!
//! let point = (G1Affine::generator() * Scalar::from_u64(7)).to_affine();
//! let bytes = point.to_bytes();
//! assert_eq!(G1Affine::from_bytes(&bytes), Ok(point));
//! assert_eq!(G1Affine::from_bytes(&[0; 48]), Err(DecodeError::NotCanonical));
//! ```
//!
//! The top level has the types that every user of a scheme meets: points and scalars, as parts of
//! keys and messages. The building blocks of schemes (sums of products, pairings, hashing under any
//! tag, Miller loops) are in [`hazmat`].
//!
//! # What callers may rely on
//! This crate can be audited on its own, because it depends on no other crate of Prefinal. These are
//! all of its guarantees:
//!
//! - **Subgroup.** A value of [`Affine`] or [`Projective`] is in the subgroup of order `r`, which
//!   contains the identity. Only [`hazmat::g1_from_limbs`], [`hazmat::g2_from_limbs`] and, with the features `interop-…`,
//!   the functions of [`hazmat`] whose names end in `unchecked` do not check this.
//!   [`Affine::many_from_bytes`] misses a point outside the subgroup with probability 2⁻¹³⁴.
//! - **Encodings.** Each value has exactly one encoding. All other bytes are refused, by both
//!   backends with the same error, before any algebra depends on them.
//! - **Constant time** with blst. With arkworks, only as far as its field arithmetic is constant
//!   time. This covers: arithmetic, comparison and inversion of scalars; addition, comparison and
//!   encoding of points; multiplication of a point by a scalar, and [`hazmat::FixedBase`] and
//!   [`hazmat::multiply_each`] in their scalars. The time may show whether a value is zero or the
//!   identity. All other functions are for public values; where that could be mistaken, their names
//!   begin with `vartime_`. Results of comparisons are made public only by [`hazmat::reveal`].
//! - **Wiping.** Scalars and points are `Copy` and are not wiped automatically, but they can be wiped
//!   (`Zeroize`). Multiplications wipe the digits that they make from a scalar. `Debug` prints
//!   nothing of the values of scalars and points.
//! - **Same results** on both backends, on any number of threads, in lanes and one by one.
//! - **No panic** on any input, except for a broken generator ([`Scalar::random_nonzero`]) and for an
//!   empty [`Tag`] in the program's own code ([`Tag::new`]).
//!
//! Two files contain `unsafe` code: `backend/blst.rs`, which calls C and assembly, and `lanes.rs`,
//! which uses instructions that not every processor has.
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
//! use. A value of a point type is therefore always in the subgroup. Each scheme decides whether the
//! identity is allowed.
//!
//! # Other libraries
//! Points and scalars convert without a detour over bytes: into theirs by `From`, from theirs by `TryFrom`,
//! which checks what decoding checks, since none of their types guarantees the subgroup.
//!
//! | feature          | library         | `G1Affine`       | `G2Affine`       | `Scalar`                 |
//! |------------------|-----------------|------------------|------------------|--------------------------|
//! | `interop-blst`   | `blst`          | `blst_p1_affine` | `blst_p2_affine` | `blst_scalar`, `blst_fr` |
//! | `interop-blstrs` | `blstrs`        | `G1Affine`       | `G2Affine`       | `Scalar`                 |
//! | `interop-ark`    | `ark-bls12-381` | `G1Affine`       | `G2Affine`       | `Fr`                     |
//!
//! # Backends
//! | backend    | feature    | use                                                           |
//! |------------|------------|---------------------------------------------------------------|
//! | blst       | `blst`     | servers: C and assembly, constant time; the default           |
//! | arkworks   | `arkworks` | browsers, bare metal: Rust alone; constant time down to the    |
//! |            |            | field, whose last subtraction may be a branch                 |
//!
//! With both backends, this crate computes sums of products itself, from the backend's additions. On
//! processors with AVX-512 IFMA it adds eight points at a time (`lanes`). There it also computes
//! products of four or more pairings itself, eight Miller loops at a time, and products of dozens of
//! points with secrets, in constant time. Without the feature `lanes` none of this is compiled.
//! `PREFINAL_LANES=off` in the environment (with the feature `std`) or [`hazmat::lanes::disable`]
//! turns it off. The results are the same.
//!
//! Both backends give the same bytes, and refuse the same bytes with the same error. Features are
//! additive: if both are on, blst is used. With `parallel`, sums of products, products of pairings
//! and decoding of many points use the caller's rayon pool; a pool is never created. The results stay
//! the same.
//!
//! Some pitfalls are left to the callers of the libraries. This crate handles them, and each has a
//! test (`tests/suite`):
//!
//! | library  | pitfall                                   | test                                            |
//! |----------|-------------------------------------------|-------------------------------------------------|
//! | blst     | infinity spoils products of pairings      | `pairings_with_the_identity_are_one_…`          |
//! | arkworks | any bytes with the infinity flag are read | `the_infinity_flag_stands_alone`                |
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
#[cfg(any(feature = "interop-ark", feature = "interop-blst", feature = "interop-blstrs"))]
mod interop;
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
