//! Malachite's engine as published, with its network, write-ahead log and sync, for a chain with a beacon.
//!
//! The crates are `arc-malachitebft-*` 0.8.2, unchanged. [`prefinal_malachite`] has the types: blocks,
//! votes, keys, what is signed. This crate answers what Malachite asks of an application, keeps the decided
//! blocks, and tells a [`Host`] the events that a beacon needs.
//!
//! ```no_run
//! # async fn run<H: prefinal_malachite_app::Host>(
//! #     chain: prefinal_protocol::ChainId, me: prefinal_protocol::Party,
//! #     key: prefinal_malachite::SecretKey, host: H,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! use prefinal_malachite_app::{App, Options};
//!
//! let mut options = Options::new(chain, me, key, "home/malachite".into());
//! options.listen = "0.0.0.0:26656".parse()?;
//! options.peers = vec!["192.0.2.7:26656".parse()?];
//! let app = App::start(options, host).await?;
//! println!("at {:?}", app.status());
//! app.stop().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What Malachite asks, and what the host is told
//! | Malachite                                | host                                                   |
//! |------------------------------------------|--------------------------------------------------------|
//! | `ExtendVote` in round 0                  | [`Host::prefinalized`]: the extension is the fast partial |
//! | `ExtendVote` in a later round            | nothing; the extension is empty                        |
//! | the vote is handed to the network        | [`Host::voted`]: its entry in the log is durable       |
//! | `StartedRound` of round r > 0            | [`Host::abandoned`] for round r − 1, before the answer |
//! | `VerifyVoteExtensions`                   | [`Host::extended`] for each in round 0; the answer is *valid* |
//! | `GetValue`                               | [`Host::transactions`]                                 |
//! | `Decided`                                | durable in the [`Store`], then [`Host::finalized`]     |
//! | `Finalized`                              | [`Host::misbehaved`]; [`Host::validators`] of the next height |
//!
//! `VerifyVoteExtensions` names the voter, and the signature of an extension covers height, round, block and
//! voter. So an extension cannot be moved to another vote, and nothing of this need be in its bytes. The
//! answer is *valid* whatever the bytes are: a partial may be wrong, but the vote counts. Only bytes beyond
//! [`prefinal_malachite::MAX_EXTENSION`] are refused, and no honest party sends them. The policy is
//! `Required`, so that a height that is fetched from a peer brings the extensions of its certificate along,
//! checked like all others.
//!
//! # The release contract
//! A fast partial may leave only with this party's own precommit of round 0, because that vote locks
//! ([`prefinal_malachite`] says why). Two records exist, the host's and Malachite's log:
//! ```text
//! ExtendVote ─► host's record ─► extension signed ─► vote signed ─► log: vote ‖ extension ─► fsync ─► network
//!               (prefinalized)                                                                └► voted
//! ```
//! What happens if the process ends
//!
//! - *before the host's record*: nothing was promised. After the start, `ExtendVote` comes again, or the
//!   height ends otherwise.
//! - *between the record and the log's fsync*: the log may or may not hold the vote. If it does, the next
//!   case applies. If it does not, nothing has left. Malachite replays what it has, and votes again:
//!   - for the same block: it asks again, and the host gives the same extension. Another block is not
//!     possible in round 0: it takes a polka, and two polkas of one round need a third of the stake to
//!     vote twice. The host still refuses a second block of a height.
//!   - nil, or not at all: the height goes on to round 1, and the host is told [`Host::abandoned`]. The
//!     recorded partial must never leave. That is why a host may send a partial by other ways only after
//!     [`Host::voted`], also in later lives. The record alone shows no lock.
//! - *after the fsync*: Malachite finds the vote with its extension in the log. It asks for no new one, sends
//!   the same bytes again, and [`Host::voted`] is called again. If its replay leads to another vote than the
//!   log holds, it refuses to go on: [`Exit::Unsafe`].
//!
//! A later round is begun only after [`Host::abandoned`] has ended, so that no precommit of it leaves before.
//!
//! # Facts about 0.8.2 that this rests on
//! - With `ProposalOnly` blocks travel whole in proposals. It works, but the application is never shown a
//!   peer's block: `Decided` names it only. What verifies the signature of a proposal sees it
//!   ([`Host::proposed`]). Malachite's events show it too, and may lose messages. Its state holds the decided
//!   block until the next height is begun, so it is taken from there (`DumpState`), and
//!   the next height is begun only afterwards.
//! - Every vote that is received is appended to the log, and the log is synced before an own message leaves,
//!   before a new round, and before a decision. The network encodes a vote after that.
//! - A validator's address must stay the same as long as the engine runs. Here it is the party's number. A
//!   party without a place, or without stake, follows and can become a member later.
//! - A decision that was reached is sent to parties that lag only when the store has it. `GetDecidedValues`
//!   is not bounded by Malachite; here it is.
//! - Malachite names its protocols and topics as it is told. Here the names contain the chain, so that peers
//!   of another chain are disconnected when they say what they are. Votes of another chain would not
//!   verify in any case. A topic of more than 64 bytes makes its network panic.
//! - Messages of later heights are kept without a check. The default would keep ten heights; here it is four.
//! - If the address is taken, only its log says so. So the address is tried before, and [`App::start`] waits
//!   until Malachite listens.
//! - After a failure of its log it stops everything but its supervisor, which waits for an operator.
//!   [`App::exited`] reports that too.
//! - It limits connections per address, outside of the peers that it is told. A network on one machine needs
//!   a higher [`ConnectionLimits::inbound_per_address`] than Malachite's five.
//! - Its metrics are in one registry for the process: [`App::metrics`].
//!
//! The time between heights is kept here and not with `target_time`, which would wait for late precommits:
//! late partials travel over the host's own links.
#![forbid(unsafe_code)]

mod app;
mod codec;
mod committees;
mod engine;
mod error;
mod finish;
mod host;
mod keys;
mod options;
mod serve;
mod start;
mod store;

pub use app::{App, ConnectedPeer, PeersError, State, Status};
pub use codec::{CodecError, WireCodec, WireLimits, block_bytes, decode_all, decode_block};
pub use error::{Exit, StartError};
pub use host::Host;
pub use options::{ConnectionLimits, Options, TRANSACTION_OVERHEAD};
pub use store::{Store, StoreError, VerifyError, verify};
