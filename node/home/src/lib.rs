//! A validator's home folder: configuration, genesis, identity, and the commands that make them.
//!
//! ```text
//! HOME/config.toml        how this process runs              Config
//! HOME/genesis.json       what all validators agree on       Genesis
//! HOME/identity           the secret seed, mode 0600         Seed
//! HOME/registration.json  its public keys, with proofs       Candidate
//! HOME/lock               held while a process runs          Lock
//! HOME/data/              journal, engine, values            Folder
//! ```
//! A process opens its home once, and has all that it needs or an error that says what to do:
//! ```
//! # fn main() -> Result<(), prefinal_home::HomeError> {
//! # use clap::Parser;
//! # #[derive(Parser)]
//! # struct Line { #[command(flatten)] options: prefinal_home::commands::testnet::Options }
//! # let folder = tempfile::tempdir().unwrap();
//! # let out = folder.path().join("net");
//! # let line = Line::parse_from(["", "--out", out.to_str().unwrap()]);
//! # prefinal_home::commands::testnet::run(&line.options)?;
//! # let path = out.join("validator-0");
//! let home = prefinal_home::Home::open(path)?;
//! if let Some(party) = home.party() {
//!     let identity = home.identity(party);
//!     assert_eq!(identity.me, party);
//! }
//! # Ok(())
//! # }
//! ```
//! Nothing that is there is replaced, what is written appears once it is complete, and no error or debug
//! output repeats a secret.
#![forbid(unsafe_code)]

pub mod commands;
pub mod config;
mod error;
mod files;
pub mod genesis;
mod home;
pub mod identity;
mod keys;
mod lock;
mod names;
mod parse;
mod prompt;
mod stakes;

pub use crate::config::Config;
pub use crate::error::HomeError;
pub use crate::files::FileError;
pub use crate::genesis::{
    EngineName, ExecutorName, Genesis, GenesisAccount, GenesisError, GenesisExecution,
    GenesisMember,
};
pub use crate::home::{Folder, Home, Reload};
pub use crate::identity::{IdentityError, IdentityFile, Passphrase, Seed};
pub use crate::keys::{Candidate, Fingerprint, PublicKeys, RegistrationHex};
pub use crate::lock::{Lock, LockError};
pub use crate::names::{Address, AddressError, Name, NameError};
pub use crate::parse::ParseError;

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
mod tests;
