//! The beacon's callbacks as a local gRPC service, for engines in other languages.
//!
//! A [`Driver`](prefinal_driver::Driver) is called by an engine in the same process. Here stands the engine
//! in a separate process, and calls `Prefinalize`, `Finalize` and `Abandon` over a Unix socket or the
//! loopback; the values, the transactions to order and the committees come back as streams. The protocol,
//! line by line, is in `proto/prefinal/sidecar/v1/sidecar.proto`.
//! ```
//! # use std::sync::Arc;
//! # use prefinal_beacon::Life;
//! # use prefinal_crypto_core::{access::Party, context::ChainId, secret::Secret};
//! # use prefinal_engine::Quorum;
//! # use prefinal_validator::setup::{Algorithm, Identity, Plan, Setup};
//! # use prefinal_weighted_rounding::{Ratio, Stake};
//! use prefinal_driver::Driver;
//! use prefinal_sidecar::{Listener, Options, Sidecar};
//! use prefinal_validator::participant::{Effect, Host, Participant};
//! use prefinal_validator::scheme::Bls;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let seed = |party: u8| Secret::new([party + 1; 32]);
//! # let new = |party: u8| Arc::new(Identity::from_seed(Party::new(party.into()), seed(party)));
//! # let identities: Vec<_> = (0..4).map(new).collect();
//! # let registrations: Vec<_> = identities.iter().map(|one| one.registration()).collect();
//! # let me = &identities[0];
//! # let plan = Plan::new(vec![Stake::new(1); 4], Algorithm::Tight, Ratio::TWO_THIRDS)?;
//! # let setup = Arc::new(Setup::new(ChainId::new([7; 32]), &plan, &registrations)?);
//! # let host = Host::new(Quorum::BYZANTINE, Some(0));
//! # let make = |records| Participant::<Bls>::new(&setup, me, Life::First, records, host);
//! # let journal = prefinal_journal::Memory::new();
//! # let driver_options = prefinal_driver::Options::default();
//! # let folder = std::env::temp_dir().join(format!("prefinal-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let endpoint = format!("unix:{}/engine.sock", folder.display());
//! # let pool = |task: prefinal_driver::Task| task();
//! let (driver, effects) = Driver::start(make, journal, pool, driver_options)?;
//! // Votes of a slot's first attempt release, as the driver's host says.
//! let (sidecar, feed) = Sidecar::new(driver, &setup, Options::new(&setup, Some(0)))?;
//! let listener = Listener::bind(&endpoint.parse()?)?;
//! let server = tokio::spawn(sidecar.serve(listener, std::future::pending()));
//!
//! // The process carries out what its driver wants done, and passes on what is for the engine.
//! while let Ok(effect) = effects.try_recv() {
//!     feed.effect(&effect)?;
//!     if let Effect::Send { to, envelope } = effect {
//!         println!("over our links to {to:?}: {} messages", envelope.messages().len());
//!     }
//! }
//! # server.abort();
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```
//! The engine's answers follow the records: a vote that waits for the answer never leaves before what it
//! releases is on disk. A client that goes away in the middle of a call takes nothing back.
//!
//! | what goes wrong                     | then                                                             |
//! |-------------------------------------|------------------------------------------------------------------|
//! | the release contract objects        | the answer is a vote without a partial, with the reason          |
//! | a slot is left out, or final twice  | the call is refused; the driver does not hear of it              |
//! | the driver stops                    | every call is refused with the reason, every stream ends with it |
//! | a stream's reader falls behind      | its stream ends, and says where it can begin again               |
//! | too many calls at once              | they wait; of streams and connections there are only so many     |
//! | a request is too long, or malformed | it is refused                                                    |
//! | another process has the socket      | [`Listener::bind`] refuses; what a dead process left is replaced |
//!
//! On a Unix socket only the user that runs this process can call. A process that can call can make this party
//! release partials, so a port of the loopback is for machines that have one user.
#![forbid(unsafe_code)]

mod board;
mod committees;
mod endpoint;
mod error;
mod feed;
mod listener;
mod options;
mod orders;
mod reader;
mod server;
mod service;
mod values;
mod withheld;

/// The protocol's messages, the service and a client of it, generated from the description in `proto`.
#[allow(
    clippy::all,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_errors_doc,
    clippy::panic,
    clippy::too_many_lines,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    rustdoc::all,
    reason = "generated"
)]
pub mod proto {
    tonic::include_proto!("prefinal.sidecar.v1");
}

pub use crate::endpoint::{Endpoint, EndpointError};
pub use crate::error::{CODE, CallError, FIRST_SLOT};
pub use crate::feed::{Feed, FeedError};
pub use crate::listener::{ListenError, Listener};
pub use crate::options::{Message, Options, PartialCarrier};
pub use crate::server::ServeError;
pub use crate::service::Sidecar;
