//! A chain's state: authenticated by a Jellyfish Merkle tree, durable in one file, written before it is certified.
#![forbid(unsafe_code)]

#[cfg(feature = "store")]
mod error;
#[cfg(feature = "evm")]
pub mod evm;
#[cfg(feature = "store")]
mod node;
pub mod proof;
#[cfg(feature = "store")]
mod signatures;
#[cfg(feature = "store")]
mod store;
#[cfg(feature = "store")]
pub mod transfers;
#[cfg(feature = "store")]
mod tree;
#[cfg(feature = "store")]
mod view;

#[cfg(feature = "store")]
pub use crate::error::StateError;
#[cfg(feature = "store")]
pub use crate::node::Row;
#[cfg(feature = "store")]
pub use crate::store::{Genesis, ProvenResult, StateStore, StoredTransaction};
#[cfg(feature = "store")]
pub use crate::tree::Changes;
#[cfg(feature = "store")]
pub use crate::view::{Delta, Finished, Pending, ProvenRow, TransactionResult, View};
