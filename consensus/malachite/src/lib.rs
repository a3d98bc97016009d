//! Malachite, the Tendermint engine of `circlefin/malachite`, as a machine that tells a beacon what it
//! needs to know.
//!
//! The consensus is the published crate `arc-malachitebft-core-consensus`, unchanged. It is a coroutine
//! that yields effects; this crate carries them out and is the host that Malachite asks for: values,
//! signatures, timers, the write-ahead log, catching up. Time is an argument and nothing here does I/O,
//! so one body runs in the simulator and over sockets.
//!
//! # What becomes what
//! | Malachite                                              | beacon                                   |
//! |--------------------------------------------------------|------------------------------------------|
//! | height                                                 | slot                                     |
//! | round                                                  | attempt; round 0 is the one declared fast view |
//! | `ExtendVote`: this party precommits a value            | prefinalized; the partial is the extension |
//! | `WalAppend` of that precommit                          | the record of the release: one entry holds both |
//! | `VerifyVoteExtension`: a peer's precommit came         | received: signature and size are checked, the pairing late |
//! | `Decide`, with a commit certificate of any round       | finalized                                |
//! | nil precommit in round r; entering round r+1           | abandoned: attempt r and all before it   |
//!
//! A precommit of a later round, or one that the beacon gives nothing for (no keys yet, the fast path is
//! off), carries an empty extension, since the height's policy is `Required`: Malachite refuses a
//! precommit without one. An extension that is empty or garbled costs the party's fast partial and
//! nothing else: its vote counts, its slow partial follows when the height is decided.
//!
//! # What abandoning means here
//! Definition 5 holds per view: f+1 honest precommits for v in round 0 lock f+1 parties there, and no
//! other value can gather a polka any more. So a fast partial is safe exactly if it leaves *with* this
//! party's own round-0 precommit, the vote that locks. After a nil precommit in round 0, or once in round
//! 1, that vote can never be cast, and a partial that still left would have no lock behind it. A nil
//! *prevote* abandons nothing: a polka for v may still come and be precommitted in round 0. Rounds after
//! the first release nothing, whatever is precommitted there: two rounds of one height may lock two values
//! one after the other, and what adds up per slot is not what was counted per round.
//!
//! # Order
//! ```text
//! ExtendVote ─► Prefinalized ─► (carry) ─► SignVote ─► Persist(precommit ‖ extension) ─► Send
//! ```
//! A crash before `Keep` leaves nothing: the vote never left, neither did the partial. After it the
//! log has the precommit, and with it the extension: the replay sends the same bytes again, and asks
//! nobody for a new extension. If the replay leads to another vote than the log holds, the engine is
//! [`Effect::Halted`]: it signs nothing any more, and the operator has a log to look at. That is why no second record is needed, and why one would be harmful if
//! it came first: a release on record, without the lock, would be repeated after the crash.
//!
//! # For integrators
//! With Malachite's own application interface the same table holds: answer `ExtendVote` with the bytes of
//! the partial that the beacon sends on `Prefinalized` (round 0; else nothing of the beacon, an empty
//! extension), hand the bytes of `VerifyVoteExtension` to the beacon as a message of that validator and
//! answer *valid* whatever is in them, call `Finalized` on `Decided` and `Abandoned` on `StartedRound` with
//! a round above 0, before your precommits of that round leave. The application interface does not show nil
//! precommits; entering the next round is what shows them, and it is early enough, since one party casts
//! one precommit a round. Precommits that arrive after the decision still matter to a ramp (it waits for
//! more stake than the decision does): set a `target_time`, so that the engine delivers them with
//! `Finalized`, or let the beacon's slow partials do it. Here the host reads them itself ([`Effect::Carried`]).
//!
//! | module      | what                                                          |
//! |-------------|---------------------------------------------------------------|
//! | `context`   | Malachite's types: heights, blocks, votes, proposals, validators |
//! | `sign`      | keys, what is signed, certificates                            |
//! | `config`    | members and terms                                             |
//! | `message`   | what parties send, and its shape                              |
//! | `record`    | what survives a crash                                         |
//! | `routine`   | the coroutine, stopped and resumed                            |
//! | `engine`    | the machine; `effects`, `inbox`, `catch_up`: its steps         |
//!
//! Values travel whole, inside proposals (`ProposalOnly`): blocks are small here; a chain with large ones
//! would stream parts. A transaction waits at the party that submits it until that party proposes.
//! Signatures are checked at once: ed25519 costs a twentieth of a pairing. Elsewhere: partials (`beacon`),
//! who hands one's events to the other (`node`).
#![forbid(unsafe_code)]

mod adapter;
mod catch_up;
mod config;
mod context;
mod effects;
mod engine;
mod inbox;
mod message;
mod record;
mod routine;
mod sign;

pub use crate::engine::{Effect, Input, Malachite, Output};
pub use config::{Config, ConfigError, Member, Validators};
pub use context::{Address, Block, BlockId, Height, Proposal, Tendermint, Vote};
pub use malachitebft_core_types::{LinearTimeouts, NilOrVal, Round, VoteType};
pub use message::{Decision, MAX_EXTENSION, Message, ShapeError, SignedProposal, SignedVote};
pub use record::{Entry, Log, Record};
pub use sign::{PublicKey, SecretKey, Signature, SignatureError};
