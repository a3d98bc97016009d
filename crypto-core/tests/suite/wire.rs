//! The wire format against the independent Python model, and under attack.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod attacks;
mod codecs;
#[cfg(feature = "serde")]
mod serde;
mod vectors;
