//! Secret sharing, threshold signatures and encryption, and the weighted verifiable unpredictable function.
//!
//! | module         | what                                                               |
//! |----------------|--------------------------------------------------------------------|
//! | [`curve`]      | scalars, points, pairings, hash to curve: the crate `bls12_381`    |
//! | [`generators`] | `h`, `ĝ` and `ḡ`, hashed to the curve                              |
//! | [`hedge`]      | draws that a bad generator does not repeat                         |
//! | [`secret`]     | values that are wiped and never printed                            |
//! | [`entropy`]    | seeds of generators, refused if no working source gives them       |
//! | [`verified`]   | values that passed a check                                         |
//! | [`access`]     | parties, share indices, thresholds                                 |
//! | [`context`]    | chain, epoch, committee: what everything is bound to               |
//! | [`challenge`]  | Fiat–Shamir                                                        |
//! | [`polynomial`] | evaluation and interpolation, where shares sit                     |
//! | [`commitment`] | Feldman: a polynomial in the exponent                              |
//! | [`sharing`]    | one secret, shared once or twice                                   |
//! | [`bls`]        | signatures: single, aggregate, in batches, in both variants        |
//! | [`certificate`] | quorums of exact stake in one signature                           |
//! | [`drand`]      | rounds of drand's beacons, and of ours                             |
//! | [`threshold`]  | BLS signatures by a committee whose key nobody holds               |
//! | [`wvuf`]       | the weighted verifiable unpredictable function, and its audit      |
//! | [`elgamal`]    | encrypting to a committee, opened by its shares                     |
//! | [`quorum`]     | why partials of any of the three do not suffice                    |
//! | [`timelock`]   | encrypting to a round or slot, opened by its signature              |
//! | [`bisect`]     | which equations of a batch are at fault                            |
//! | [`wire`]       | versioned, canonical bytes of all of these                         |
//! | [`tags`]       | the domain tag of every hash                                       |
//!
//! Knows shares; not stake (`weighted_rounding`), which certificates alone count, not dealing shares
//! out (`pvss_dkg`), not networks.
#![no_std]

extern crate alloc;

#[cfg(feature = "std")]
extern crate std;

#[doc(inline)]
pub use bls12_381 as curve;
/// The traits of random generators, in the version that functions here take. [`entropy`] says which generator
/// to use.
pub use rand_core;

pub mod access;
pub mod bisect;
pub mod bls;
pub mod certificate;
pub mod challenge;
pub mod commitment;
pub mod context;
pub mod drand;
pub mod elgamal;
pub mod entropy;
mod equations;
pub mod generators;
pub mod hedge;
pub mod polynomial;
pub mod quorum;
pub mod secret;
pub mod sharing;
#[doc = include_str!("tags.md")]
pub mod tags {}
pub mod threshold;
pub mod timelock;
pub mod verified;
pub mod wire;
pub mod wvuf;
