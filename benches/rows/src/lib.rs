//! The one shape of a measured figure: how it is taken, written and read.
//!
//! Every program below `benches/` has the same two options and ends in one file of the same ten
//! columns, whatever it measures:
//!
//! ```text
//! suite,operation,case,implementation,version,threads,quantity,value,unit,command
//! peers,threshold::combine,t=67 of 100,prefinal,0.1.0,1,time,1.4402,ms,cargo run --release …
//! ```
//!
//! | module      | what                                                        |
//! |-------------|-------------------------------------------------------------|
//! | [`options`] | `--csv FILE` and `--quick`, names of rows; how a program ends |
//! | [`clock`]   | processor time of a thread or of all; the least of several samples |
//! | [`row`]     | [`Row`], and files of them                                  |
//! | [`sheet`]   | rows as they are measured; the table for the terminal       |
//!
//! Rows of one operation and case that come from one program were measured on the same inputs in one
//! process, so they may be divided by each other; others may not.
//!
//! ```
//! use prefinal_rows::{Clock, LIMIT, Meter, OURS, Options, Sheet, Implementation};
//!
//! let options = Options { csv: None, quick: true };
//! let meter = Meter::new(&options, Clock::Thread);
//! let mut sheet = Sheet::new("peers", "cargo run --release --manifest-path benches/peers/adder/Cargo.toml");
//! const ADDER: Implementation = Implementation::peer("adder", "1.2.0");
//! sheet
//!     .of("sum", "n=1000")
//!     .time(OURS, meter.least(|| (0..1000).sum::<u64>()))
//!     .time(ADDER, meter.least(|| (0..1000).fold(0, |sum, term: u64| sum + term)))
//!     .time(LIMIT, meter.least(|| 1000_u64 * 999 / 2));
//! sheet.finish(&options)?;
//! # Ok::<(), prefinal_rows::RowsError>(())
//! ```
//!
//! `cargo xtask bench` writes all the files, and `benches/report` turns them into the report.
#![forbid(unsafe_code)]

pub mod clock;
pub mod options;
pub mod row;
pub mod sheet;

pub use clock::{Clock, Meter};
pub use options::{Options, exit_code};
pub use row::{Row, RowsError, read, write};
pub use sheet::{CaseRows, Implementation, LIMIT, OURS, Sheet, VERSION};
