//! Chapters for those who build on a beacon.
//!
//! | chapter      | answers                                              |
//! |--------------|------------------------------------------------------|
//! | [`contract`] | when may a partial leave, and what breaks if it does otherwise |
//! | [`operate`]  | what to size, what to watch, what to do when something is wrong |
//! | [`scheme`]   | how a chain adds its own threshold function, and what it must keep |
//!
//! How to embed a beacon in an engine, with a complete example, is a chapter of the crate above this one:
//! `driver::guide`, in `prefinal-driver`.

#[doc = include_str!("guide/contract.md")]
pub mod contract {}

#[doc = include_str!("guide/operate.md")]
pub mod operate {}

#[doc = include_str!("guide/scheme.md")]
pub mod scheme {}
