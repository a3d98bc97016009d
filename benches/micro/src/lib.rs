//! What each operation costs beside what it must cost at least.
//!
//! Times do not carry over from one machine to another, ratios nearly do. So every bench measures in
//! one run our operation and the primitives of blst that nobody can do without for it, called through
//! blst's own Rust interface, on one thread; the report divides the one by the other.
//!
//! | module      | what                                                                    |
//! |-------------|-------------------------------------------------------------------------|
//! | [`clock`]   | processor time of one thread                                            |
//! | [`suite`]   | measurements, and the table `operation, ours, limit, ratio, target`       |
//! | [`limit`]   | blst alone: multiplications, hashes, pairings, sums of products           |
//! | [`slots`]   | a beacon that goes from slot to slot                                     |
//! | [`keygen`]  | a key generation as one party goes through it                            |
//!
//! ```text
//! cargo bench -p prefinal-bench --bench wvuf                     # all rows, then the table
//! cargo bench -p prefinal-bench --bench wvuf -- 'combine|limit'  # rows by name, with limits
//! cargo bench -p prefinal-bench --bench wvuf -- --quick --csv wvuf.csv
//! PREFINAL_LANES=off cargo bench -p prefinal-bench --bench wvuf  # as on a processor without AVX-512
//! ```
//!
//! A row is named like `wvuf::combine/n=129 W=224`; where it comes from, and what it should reach,
//! is written beside it in `benches/`. Committees come from `testing/fixture`; instructions of the ten most
//! important rows, which CI compares, from `benches/instructions`.
#![expect(
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a bench that cannot be set up must not give figures"
)]

pub mod clock;
pub mod keygen;
pub mod limit;
pub mod slots;
pub mod suite;

pub use prefinal_fixture as fixture;
