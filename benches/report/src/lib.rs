//! Measured figures in, tables and pictures out.
//!
//! ```text
//! benches/results/*.csv ──► report.md, *.svg      all of it
//!                      └──► README.md             some rows, between two markers
//! ```
//!
//! | module       | what                                                                     |
//! |--------------|--------------------------------------------------------------------------|
//! | [`compare`]  | rows that may be divided by each other: ours, the peers', the limit       |
//! | [`growth`]   | how cost grows with size: exponents                                      |
//! | [`latency`]  | waits, one line a case                                                   |
//! | [`markdown`] | tables, and how figures are written                                      |
//! | [`page`]     | the report; [`readme`]: the rows for the README                          |
//! | [`pictures`] | which pictures there are; `chart`: how they are drawn                     |
//! | [`machine`]  | where and when it was measured                                           |
//!
//! Rows where a peer is ahead are written like all others and marked. What contradicts itself (a
//! figure that is there twice, a quantity in two units) is an error and no report.
//!
//! The files that it reads are defined in `prefinal-rows`; `cargo xtask bench` writes them.
#![forbid(unsafe_code)]

pub mod compare;
pub mod growth;
pub mod latency;
pub mod machine;
pub mod markdown;
pub mod page;
pub mod pictures;
pub mod readme;
