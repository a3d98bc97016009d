//! Chapters for who builds on a beacon.
//!
//! | chapter      | answers                                              |
//! |--------------|------------------------------------------------------|
//! | [`contract`] | when may a partial leave, and what breaks if it does otherwise |

#[doc = include_str!("guide/contract.md")]
pub mod contract {}
