//! All codes of errors with their meanings, and the fields that bindings raise beside a code.
//!
//! An error's text is for people and may change; its code is for programs and does not. Each error says
//! its code itself: `error.code()`, in its own crate. Bindings raise one exception with the code and these
//! fields, each where it has a meaning:
//!
//! | field      | what                                                                        |
//! |------------|-----------------------------------------------------------------------------|
//! | `party`    | whose input it is, by position in the committee                             |
//! | `index`    | where: position in a list from zero, byte of an encoding, number of a share |
//! | `need`     | how much was expected                                                       |
//! | `got`      | how much there was                                                          |
//! | `culprits` | who, or which entries of a batch, failed a check                            |
//!
//! What means the same has one code, whatever the scheme: `below-threshold` says of signatures, of
//! decryption and of the weighted VUF that more partials are needed. An error's own match is exhaustive, so
//! a new variant without a code does not compile. A test reads the sources: no error type lacks a code.
//!
//! [`CODES`] is also a document, `docs/error-codes.md`, which a test compares with the table. The
//! exceptions are in `bindings/python` and `bindings/wasm`. What machines report of peers and engines
//! (`Fault`, `Refusal`, `Abort`) has codes in the table, but no fields here: it is told, not raised.
mod beacons;
mod dealings;
mod detail;
#[cfg(feature = "light")]
mod light;
mod rounding;
mod schemes;
mod signatures;
mod table;
#[cfg(feature = "timelock")]
mod timelock;

pub use crate::detail::{Coded, Detail};
pub use crate::table::CODES;
