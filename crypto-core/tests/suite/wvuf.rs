//! The weighted VUF under attack.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

mod attacks;
mod audit;
mod fixture;
