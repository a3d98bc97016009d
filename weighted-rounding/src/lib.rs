//! Stake to small integer weights, exactly and with a certificate.
//!
//! Consensus counts stake in large integers; threshold cryptography counts shares, and every share
//! costs time and bytes. A [`Rounding`] gives each party a small weight such that, for every
//! [`Pair`] `(s, r)` of a [`Profile`] and the threshold `T` that the rounding names for it,
//!
//! - every set of parties with stake `≤ s·X` has weight `< T` (nothing leaks), and
//! - every set of parties with stake `≥ r·X` has weight `≥ T` (nothing stalls),
//!
//! where `X` is the total stake. One weight vector serves all pairs; each pair has its own `T`.
//!
//! ```
//! use weighted_rounding::{Objective, Profile, Rounding, Stake};
//!
//! let stakes: Vec<Stake> = [340, 210, 180, 90, 90, 60, 30].map(Stake::new).to_vec();
//! let rounding = Rounding::solve(&stakes, &Profile::standard(), Objective::least_total())?;
//! let fast = rounding.fast().ok_or("the standard profile has a fast pair")?;
//! assert!(fast.threshold() <= rounding.total());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module        | what it holds                                                             |
//! |---------------|---------------------------------------------------------------------------|
//! | [`guide`]     | what it means in words of stake, how to choose a profile, figures           |
//! | [`verify`](mod@verify) | checks any weights and thresholds, and shows a set that breaks them |
//! | `rounding`    | [`Rounding`]: what a vector guarantees, with exact stakes                  |
//! | `separation`  | [`Separation`]: which stake each threshold of any weights stands for       |
//! | `objective`   | [`Objective`]: what to optimize, and limits that are counted               |
//! | `committee`   | from stakes to a verified result                                           |
//! | `search`      | the scan over offsets and totals, for both objectives                      |
//! | `exact`       | branch and bound: a lower bound, or a smaller total than the scan's         |
//! | `proof`       | the same for the least stake within a budget                               |
//! | `apportion`   | the vectors `⌊λx + c⌋`, one unit at a time                                 |
//! | `greedy`      | refutes most vectors without a table                                       |
//! | `knapsack`    | least stake per weight, exactly                                            |
//!
//! Integers only: no floats, no clocks, no randomness, so every machine gets the same answer: on
//! x86-64 and wasm32, debug and release, and with the feature `parallel`, which tries offsets on all
//! cores (`examples/digest.rs` pins it). Without that feature there is no dependency and no `std`.
//! Elsewhere: which share indices a weight earns (`crypto_core`), who holds stake (the engine).
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
