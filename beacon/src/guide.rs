//! Chapters for engineers who build on a beacon.
//!
//! | chapter      | answers                                              |
//! |--------------|------------------------------------------------------|
//! | [`contract`] | when a partial may leave, and what breaks if it leaves at another time |
//! | [`operate`]  | which limits to set, what to watch, what to do when something is wrong |
//! | [`scheme`]   | how a chain adds its own threshold function, and what the function must satisfy |
//!
//! How to embed a beacon in an engine, with a complete example, is explained in another crate:
//! `prefinal_driver::guide`, in `prefinal-driver`.

#[doc = include_str!("guide/contract.md")]
pub mod contract {}

#[doc = include_str!("guide/operate.md")]
pub mod operate {}

#[doc = include_str!("guide/scheme.md")]
pub mod scheme {}
