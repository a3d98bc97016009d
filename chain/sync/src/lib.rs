//! placeholder head
#![forbid(unsafe_code)]

mod cache;
mod check;
mod config;
mod event;
mod fault;
mod fetch;
mod follower;
mod names;
mod peers;
mod persist;
mod process;
mod replay;
mod restore;
mod server;
mod source;
mod trust;
pub mod wire;

pub use crate::cache::CacheCounts;
pub use crate::check::{CheckJob, CheckVerdict};
pub use crate::config::{Config, FollowerLimits, Past, Replay, Strategy};
pub use crate::event::{Effect, Input, Misconduct, Output};
pub use crate::fault::{Fault, StopReason};
pub use crate::follower::Follower;
pub use crate::names::{BlockNames, HashedNames};
pub use crate::peers::{PeerId, PeerScore};
pub use crate::persist::{StoreJob, StoreVerdict};
pub use crate::process::{ExecuteJob, ExecuteVerdict};
pub use crate::server::{ServeError, Server, ServerLimits};
pub use crate::source::{Source, StoreSource};
pub use crate::trust::{Attestation, Trust};
