//! The pipeline of a block from proposal to certified, durable state.
#![forbid(unsafe_code)]

mod block;
mod executor;
mod store;

pub use crate::block::{Block, BlockId, Header, Height, Part, Positioned, Transaction};
pub use crate::executor::{Execution, Executor, Randomness, Roots};
pub use crate::store::{Committed, OptimisticBlock, Recovered, StateCertificate, Store};
