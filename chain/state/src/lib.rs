//! A chain's state: authenticated by a Jellyfish Merkle tree, durable in one file, written before it is certified.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use ed25519_consensus::SigningKey;
//! use prefinal_execution::{Block, BlockId, Executor, Header, Height, Store};
//! use prefinal_protocol::{ChainId, Slot};
//! use prefinal_state::proof::StateRoot;
//! use prefinal_state::transfers::{
//!     AccountId, Action, Amount, Nonce, Transfer, Transfers, genesis_rows,
//! };
//! use prefinal_state::{Genesis, StateStore};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let chain = ChainId::new([7; 32]);
//! let key = SigningKey::from([1; 32]);
//! let [alice, bob] = [key.verification_key().to_bytes(), [2; 32]].map(AccountId::new);
//! let rows = genesis_rows(&BTreeMap::from([(alice, Amount::new(100))]))?;
//! let genesis = Genesis { block: BlockId::new([0; 32]), rows };
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("state.redb");
//! let mut store = StateStore::<Transfers, Vec<u8>>::create(&path, &genesis)?;
//!
//! let transfer = Transfer {
//!     sender: alice,
//!     nonce: Nonce::new(0),
//!     expires: Height::new(10),
//!     fee: Amount::new(1),
//!     amount: Amount::new(20),
//!     action: Action::Pay { to: bob },
//! };
//! let (id, parent) = (BlockId::new([1; 32]), genesis.block);
//! let header = Header { id, parent, height: Height::new(1), slot: Slot::new(1) };
//! let block = Block::new(header, vec![transfer.sign(chain, &key)]);
//!
//! // What the pipeline does: execute, write, and turn the mark when the roots are certified.
//! let executor = Transfers::new(chain);
//! let draft = executor.head(&store.view()?, &block)?;
//! let execution = executor.seal(draft, &block)?;
//! store.write_optimistic(&block, &execution)?;
//! store.certify(&header, &b"a certificate of execution.roots".to_vec())?;
//!
//! // What a client verifies, with nothing but the certified root.
//! let shown = store.prove(&bob.key())?;
//! let root = StateRoot::new(execution.roots.state);
//! shown.proof.verify(root, bob.key(), shown.value.as_deref())?;
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it has |
//! |--------|-------------|
//! | [`proof`] | keys, roots, and proofs of rows and of transactions: with [`account`] all that a light client needs, without `std` and without the feature `store` |
//! | [`account`] | accounts of transfers, and their rows |
//! | (root) | [`StateStore`], the [`View`]s that executors read, [`Pending`] changes of a block; for other nodes [`BlockExport`], [`ProvenPlace`], [`BlockDelta`] and ranges of a state ([`View::range`]), and how such a state is restored ([`StateStore::begin_restore`]) |
//! | (root) | [`SystemTransaction`], by which the chain itself writes a row with a block, or keeps bytes with it |
//! | [`transfers`] | the executor of payments, and of payments that the slot's value decides |
//! | `evm` | the executor of the Ethereum Virtual Machine, with the feature `evm` |
//!
//! Both executors and the store are for the pipeline of [`prefinal_execution`].
#![cfg_attr(not(feature = "store"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod account;
#[cfg(feature = "store")]
mod coverage;
#[cfg(feature = "store")]
mod delta;
#[cfg(feature = "store")]
mod error;
#[cfg(feature = "evm")]
pub mod evm;
#[cfg(feature = "store")]
mod node;
#[cfg(feature = "store")]
mod place;
pub mod proof;
#[cfg(feature = "store")]
mod signatures;
#[cfg(feature = "store")]
mod store;
#[cfg(feature = "store")]
mod system;
#[cfg(feature = "store")]
pub mod transfers;
#[cfg(feature = "store")]
mod tree;
#[cfg(feature = "store")]
mod view;
#[cfg(feature = "store")]
mod walk;

#[cfg(feature = "store")]
pub use crate::delta::{BlockDelta, DeltaError, RowChange};
#[cfg(feature = "store")]
pub use crate::error::StateError;
#[cfg(feature = "store")]
pub use crate::node::Row;
#[cfg(feature = "store")]
pub use crate::place::ProvenPlace;
pub use crate::proof::TransactionResult;
#[cfg(feature = "store")]
pub use crate::store::{
    BlockExport, Genesis, ProvenResult, SnapshotBlock, StateExecutor, StateStore, StoredBlock,
    StoredTransaction,
};
#[cfg(feature = "store")]
pub use crate::system::{SystemTransaction, decoded_block};
#[cfg(feature = "store")]
pub use crate::tree::Changes;
#[cfg(feature = "store")]
pub use crate::view::{Delta, Finished, Pending, ProvenRow, View};
#[cfg(feature = "store")]
pub use crate::walk::RangeLimits;
