//! Tests of what only Malachite has: its extensions, its log, its faults. What every engine keeps is in
//! `laws`.
//!
//! | claim                                             | where      |
//! |---------------------------------------------------|------------|
//! | agreement, order, transactions                    | `runs`     |
//! | partials arrive with the votes that decide        | `runs`     |
//! | a later round releases nothing, and says so first  | `runs`     |
//! | withheld and garbled extensions                   | `faults`   |
//! | a crash anywhere leads to the same votes          | `crashes`  |
//! | no message of a peer is a panic                   | `faults`   |
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod adopts;
mod crashes;
mod faults;
mod net;
mod runs;
