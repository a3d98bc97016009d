//! How time and memory grow with parties and shares.
//!
//! ```text
//! cargo run --release -p prefinal-scale                      # about six minutes
//! cargo run --release -p prefinal-scale -- --quick           # small sizes
//! ```
//!
//! | row                | size                     | what grows                                           |
//! |--------------------|--------------------------|------------------------------------------------------|
//! | rounding::solve    | `n` largest of a table of 42 920 | the scan for the least total weight           |
//! | rounding::within   | `W` allowed, 129 parties | the scan for the least stake of the fast path        |
//! | pvss::deal, decode, verify | `W`, four for each party | two paths, shares as group elements           |
//! | pvss::field::…     | the same                 | shares as field elements, chunk by chunk             |
//! | wvuf::admit_all, verify_all, combine | the same | one pairing for each party of a quorum of two thirds |
//! | threshold::verify_all, combine | the same     | a sum over the shares, roots of unity                |
//!
//! Memory is the most that was in use at once beyond what there was before. What would take longer
//! than a row may take is left out with everything larger, and the table says so.
//!
//! `benches/report` computes the exponents and draws the pictures. `benches/micro` measures the same
//! operations beside their limits.
#![expect(clippy::unwrap_used, reason = "a bench that cannot be set up must not give figures")]

mod gauge;
mod rounding;
mod sharing;
mod signing;

use std::process::ExitCode;

use prefinal_rows::Options;

use crate::gauge::Gauge;

const COMMAND: &str = "cargo run --release -p prefinal-scale";

fn main() -> ExitCode {
    let options = Options::from_command_line();
    let mut gauge = Gauge::new(&options);
    rounding::solve(&mut gauge);
    rounding::within(&mut gauge);
    for shares in gauge.sizes() {
        sharing::both(&mut gauge, shares);
    }
    for shares in gauge.sizes() {
        signing::wvuf(&mut gauge, shares);
        signing::threshold(&mut gauge, shares);
    }
    prefinal_rows::exit_code(gauge.finish(&options))
}
