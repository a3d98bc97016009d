//! The simulator against machines whose behaviour is known: `bracha`'s broadcast, and a `script`.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod bracha;
mod faults;
mod interfaces;
mod scheduler;
mod script;
