//! Links between validators: QUIC with TLS 1.3, each end pinned to an Ed25519 key of the genesis.
//!
//! A beacon needs a channel that reaches all validators at any time: for slow partials, for fast ones that
//! a vote has no room for, and for values that a party has missed. No engine offers one.
//! ```
//! use std::collections::BTreeMap;
//!
//! # use prefinal_net::{Incoming, LinkKey, Links, Options, Peer, PeerKey, StreamId, StreamOptions};
//! # use prefinal_protocol::{ChainId, Party, Recipient};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let keys: [([u8; 32], PeerKey); 2] = [
//! #     ([1; 32], "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c".parse()?),
//! #     ([2; 32], "8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394".parse()?),
//! # ];
//! let partials = StreamOptions::new("partials", (1 << 16).try_into()?, (1 << 20).try_into()?, 1);
//! let options = |me| Options {
//!     me: Party::new(me),
//!     chain: ChainId::new([7; 32]),
//!     version: 1,
//!     agent: "example 0.1".into(),
//!     listen: ([127, 0, 0, 1], 0).into(),
//!     window: (1 << 20).try_into().unwrap(),
//!     streams: vec![partials.clone()],
//! };
//! let [a, b] = keys.map(|(seed, public)| LinkKey::new(&seed, public).unwrap());
//! let peer = |key: &LinkKey, address| Peer { key: key.public(), address };
//! // Party 1 listens and does not know where party 0 is; party 0 dials, for it has the smaller number.
//! let from_0 = BTreeMap::from([(Party::new(0), peer(&a, None))]);
//! let to_1 = peer(&b, None);
//! let (links, mut inbox) = Links::start(b, options(1), from_0)?;
//! let to_1 = Peer { address: Some(links.address()?), ..to_1 };
//! let (other, _) = Links::start(a, options(0), BTreeMap::from([(Party::new(1), to_1)]))?;
//!
//! other.send(Recipient::All, StreamId::new(0), &"a partial".into())?;
//! while let Some(incoming) = inbox.recv().await {
//!     if let Incoming::Frame(frame) = incoming {
//!         assert_eq!((frame.from, &frame.content[..]), (Party::new(0), &b"a partial"[..]));
//!         break;
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | what goes wrong                  | then                                                           |
//! |----------------------------------|----------------------------------------------------------------|
//! | the connection breaks            | the smaller party dials again, after a pause that doubles      |
//! | the peer reads too slowly        | its queue fills, then frames for it are refused                |
//! | this process reads too slowly    | the peer's inbox fills, nothing more is read, the peer waits   |
//! | the peer sends too fast          | it is read at the rate that it has                             |
//! | a frame too long, a wrong stream | the connection is closed with the reason; a pause              |
//! | content that the reader rejects  | the same ([`Links::reject`])                                   |
//! | another version, another chain   | both ends are told                                             |
//! | a key of no member               | the handshake fails: nothing of the peer is read               |
//!
//! A frame that was on its way when a connection broke is lost. The protocols ask again for what they need.
#![forbid(unsafe_code)]

mod directory;
mod error;
mod hello;
mod key;
mod link;
mod links;
mod listener;
mod options;
mod queue;
mod status;
mod tls;

pub use crate::directory::{DirectoryError, Peer};
pub use crate::error::{LinkError, SendError};
pub use crate::key::{LinkKey, LinkKeyError, PeerKey, PeerKeyError};
pub use crate::link::{Frame, Incoming};
pub use crate::links::{Inbox, Links, StartError};
pub use crate::options::{MAX_AGENT, Options, StreamId, StreamOptions};
pub use crate::status::{State, Status};

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
mod tests;
