//! Turns stake into small integer weights, exactly and with verified guarantees.
//!
//! Consensus counts stake in large integers; threshold cryptography counts shares, and every share
//! costs time and bytes. A [`Rounding`] gives each party a small weight such that, for every
//! [`Pair`] `(s, r)` of a [`Profile`] and the threshold `T` that the rounding names for it,
//!
//! - every set of parties with stake `≤ s·X` has weight `< T`, so it learns nothing, and
//! - every set of parties with stake `≥ r·X` has weight `≥ T`, so it can always reconstruct,
//!
//! where `X` is the total stake. One weight vector serves all pairs, and each pair has its own `T`.
//!
//! ```
//! use prefinal_weighted_rounding::{Objective, Profile, Rounding, Stake};
//!
//! let stakes: Vec<Stake> = [340, 210, 180, 90, 90, 60, 30].map(Stake::new).to_vec();
//! let rounding = Rounding::solve(&stakes, &Profile::standard(), Objective::least_total())?;
//! let shares: Vec<u32> = rounding.weights().iter().map(|weight| weight.get()).collect();
//! assert_eq!(shares.iter().sum::<u32>(), rounding.total().get());
//! for path in rounding.guarantees() {
//!     println!("{}: {} shares reconstruct, held by", path.name(), path.threshold());
//!     println!("every set of parties with a stake of {}", path.least_sufficient());
//!     assert!(path.threshold() <= rounding.total());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module        | contents                                                                  |
//! |---------------|---------------------------------------------------------------------------|
//! | [`guide`]     | the guarantees in terms of stake, how to choose a profile, figures          |
//! | [`verify`](mod@verify) | checks any weights and thresholds, and shows a counterexample       |
//! | `rounding`    | [`Rounding`]: a weight vector and its guarantees in exact stake            |
//! | `separation`  | [`Separation`]: for any weights, the stake that each threshold stands for  |
//! | `objective`   | [`Objective`]: the quantity to optimize, and the limits of the search      |
//! | `committee`   | from stakes to a verified result                                           |
//! | `search`      | the scan over offsets and totals, for both objectives                      |
//! | `exact`       | branch and bound: finds a smaller total than the scan, or a lower bound     |
//! | `proof`       | branch and bound for the least stake within a budget                       |
//! | `apportion`   | computes the vectors `⌊λx + c⌋`, one unit at a time                        |
//! | `greedy`      | refutes most vectors without a knapsack table                              |
//! | `knapsack`    | the exact least stake for each weight                                      |
//!
//! The crate uses integers only, without floats, clocks or randomness. So every machine gets the same
//! answer: on x86-64 and wasm32, in debug and release builds, and also with the feature `parallel`,
//! which tries offsets on all cores (`examples/digest.rs` checks a fixed digest). Without that
//! feature the crate has no dependency and does not need `std`. The crate `prefinal_crypto_core` assigns share
//! indices to weights; the consensus engine knows who holds stake.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod apportion;
mod committee;
mod exact;
mod greedy;
mod knapsack;
mod objective;
mod profile;
mod proof;
mod quantity;
mod ratio;
mod rounding;
mod search;
mod separation;
pub mod verify;

#[doc = include_str!("guide.md")]
pub mod guide {}

pub use objective::{Bound, Effort, Objective};
pub use profile::{Pair, PairError, Profile, ProfileError};
pub use quantity::{Stake, Weight};
pub use ratio::{Ratio, RatioError};
pub use rounding::{Guarantee, Rounding, SolveError};
pub use separation::Separation;
