//! Followers of a chain and those who serve it, in virtual time.
//!
//! Machines, messages and stores are the real ones (`prefinal_sync`, `prefinal_state`), the chain is made once and
//! shared: blocks of transfers, with certificates of a committee. Virtual is what takes time: the network
//! ([`prefinal_sim`]), and the work, at prices that were measured on the same blocks ([`SyncPrices`]).
//!
//! | module       | what it has                                                              |
//! |--------------|--------------------------------------------------------------------------|
//! | `experiment` | catching up, the distance to the tip, caches, bytes                       |
//! | `campaign`   | followers among hostile peers, on disks that fail                         |
//! | `node`, `host` | a node as a machine; its disk, its work, and what must hold of its store |
//! | `chain`, `source` | the chain, and the part of it that a server has                      |
//! | `trust`      | the real checks of certificates, each computed once for all nodes          |
//! | `price`      | what work costs                                                          |
mod campaign;
mod chain;
mod experiment;
mod host;
mod node;
mod price;
mod source;
mod trust;

pub use prefinal_sync::{Replay, Strategy};

pub(crate) use self::campaign::play;
pub use self::experiment::{
    AnswerBytes, CacheUse, CatchUp, Crowd, SyncExperiment, SyncParameters, SyncSetting,
};
pub use self::price::SyncPrices;
