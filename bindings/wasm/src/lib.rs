//! Prefinal in browsers and Node: what the npm package `prefinal` calls.
//!
//! | module        | what                                                                      |
//! |---------------|---------------------------------------------------------------------------|
//! | `beacon`      | rounds of a beacon, ours or drand's; encryption to a round                |
//! | `signature`   | signatures under a domain, of one key or a committee's                    |
//! | `certificate` | quorums of stake                                                          |
//! | `dealing`     | dealings and their sum                                                    |
//! | `evaluation`  | values of the weighted VUF, from their proofs                             |
//! | `rounding`    | weights and thresholds, checked over all sets of parties                  |
//! | `light`       | clients that trust a committee or a key: the entry `light`                 |
//! | `light_vuf`   | readers of a weighted VUF who pin one of its epochs: the entry `light-vuf` |
//! | `draw`        | random numbers for transactions, from a slot's value: in every entry      |
//! | `secrets`     | keys, signing, dealing, the search for weights: the second entry          |
//! | `random`      | the browser's randomness                                                  |
//! | `fields`      | lists, as JavaScript lays them out                                        |
//! | `error`       | errors with their codes                                                   |
//!
//! JavaScript above (`js/`) checks kinds and ranges, reads every argument once and copies it, so that no
//! code of a caller runs while Rust does; here is no check of that a second time. A list of records
//! comes as their bytes one after the other, each record of a fixed length, numbers little-endian.
//!
//! Curves are computed by arkworks, the first entry's bytes are counted (`test/verifier.test.mjs`).
#[cfg(feature = "verifier")]
mod beacon;
#[cfg(feature = "verifier")]
mod certificate;
#[cfg(feature = "full")]
mod dealing;
mod draw;
mod error;
#[cfg(feature = "full")]
mod evaluation;
mod fields;
#[cfg(feature = "light")]
mod light;
#[cfg(feature = "light-vuf")]
mod light_vuf;
#[cfg(feature = "verifier")]
mod random;
#[cfg(feature = "verifier")]
mod rounding;
#[cfg(feature = "full")]
mod secrets;
#[cfg(feature = "verifier")]
mod signature;
