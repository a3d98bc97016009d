//! Malachite, the Tendermint engine of `circlefin/malachite`, as a machine that also reports the events
//! that a beacon needs.
//!
//! The consensus is the published crate `arc-malachitebft-core-consensus`, unchanged. It is a coroutine
//! that yields effects. This crate carries them out and is the host for everything that Malachite asks
//! for: values, signatures, timers, the write-ahead log, catching up. Time is an argument and nothing
//! here does I/O, so the same code runs in the simulator and over sockets.
//!
//! # How Malachite's events map to the beacon's
//! | Malachite                                              | beacon                                   |
//! |--------------------------------------------------------|------------------------------------------|
//! | height                                                 | slot                                     |
//! | round                                                  | attempt; round 0 is the one declared fast view |
//! | `ExtendVote`: this party precommits a value            | prefinalized; the partial is the extension |
//! | `WalAppend` of that precommit                          | the record of the release: one entry holds both |
//! | `VerifyVoteExtension`: a peer's precommit came         | received: signature and size are checked, the pairing later |
//! | `Decide`, with a commit certificate of any round       | finalized                                |
//! | nil precommit in round r; entering round r+1           | abandoned: attempt r and all before it   |
//!
//! A precommit carries an empty extension if it is of a later round, or if the beacon gives nothing for
//! it (no keys yet, or the fast path is off). It must carry one because the height's policy is
//! `Required`: Malachite refuses a precommit without an extension. An empty or garbled extension costs
//! the party its fast partial and nothing else: its vote counts, and its slow partial follows when the
//! height is decided.
//!
//! # What abandoning means here
//! Definition 5 holds per view: f+1 honest precommits for v in round 0 lock f+1 parties there, and no
//! other value can gather a polka any more. So a fast partial is safe exactly if it leaves *with* this
//! party's own round-0 precommit, because that vote locks. After a nil precommit in round 0, or once in
//! round 1, the party can never cast that vote, and a partial that still left would have no lock behind
//! it. A nil *prevote* abandons nothing: a polka for v may still come and be precommitted in round 0.
//! Later rounds release nothing, whatever is precommitted there: two rounds of one height may lock two
//! values one after the other. Partials add up per slot, but locks are counted per round.
//!
//! # Order
//! ```text
//! ExtendVote ─► Prefinalized ─► (carry) ─► SignVote ─► Persist(precommit ‖ extension) ─► Send
//! ```
//! A crash before `Persist` leaves nothing: neither the vote nor the partial has left. After it, the
//! log has the precommit and with it the extension: the replay sends the same bytes again and asks
//! nobody for a new extension. If the replay leads to another vote than the log holds, the engine is
//! [`Effect::Halted`]: it signs nothing any more, and the operator must look at the log. That is why no
//! second record is needed. A separate record would have to be written first, and after a crash it
//! would repeat a release without the lock.
//!
//! # For integrators
//! `prefinal-malachite-app` does the same with the whole engine as published: its network, its log, its
//! sync. There the engine asks an application, and the table above holds with the application's words:
//!
//! - In round 0, answer `ExtendVote` with the bytes of the partial that the beacon sends on
//!   `Prefinalized`. In other rounds, answer with an empty extension.
//! - Pass the bytes of `VerifyVoteExtensions` to the beacon as messages of the voters that it names, and
//!   answer *valid* whatever they are.
//! - Call `Finalized` on `Decided`.
//! - Call `Abandoned` on `StartedRound` with a round above 0, before your precommits of that round
//!   leave.
//!
//! The application interface does not show nil precommits. Entering the next round shows them, and that
//! is early enough, because a party casts one precommit in a round. It does not show when a vote has
//! reached the log either, and there the host has a record too: see that crate for what follows.
//! Precommits that arrive after the decision still matter to a ramp, which waits for more stake than the
//! decision does. The beacon's own links carry them. Here the host reads them itself
//! ([`Effect::Carried`]).
//!
//! | module      | what it holds                                                 |
//! |-------------|---------------------------------------------------------------|
//! | `context`   | Malachite's types: heights, blocks, votes, proposals, validators |
//! | `sign`      | keys, what is signed, certificates                            |
//! | `config`    | members and settings                                          |
//! | `message`   | the messages of parties, and their shape                      |
//! | `misbehavior` | evidence against a member that contradicts itself           |
//! | `record`    | what survives a crash                                         |
//! | `routine`   | the coroutine, stopped and resumed                            |
//! | `engine`    | the machine; `effects`, `inbox`, `catch_up`: its steps         |
//!
//! Values travel whole, inside proposals (`ProposalOnly`): blocks are small here, and a chain with
//! large ones would stream parts. A transaction waits at the party that it was submitted to until that
//! party proposes. Signatures are checked at once: ed25519 costs a twentieth of a pairing. Partials are
//! in `beacon`, and `node` connects the two.
#![forbid(unsafe_code)]

mod adapter;
mod catch_up;
mod config;
mod context;
mod effects;
mod engine;
mod inbox;
mod message;
mod misbehavior;
mod record;
mod routine;
mod sign;

pub use crate::engine::{Effect, Input, Malachite, Output};
pub use adapter::timeouts;
pub use config::{Config, ConfigError, Member, Validators};
pub use context::{
    Address, Block, BlockId, Height, Proposal, Tendermint, Validator, ValidatorSet, Vote,
};
pub use malachitebft_core_types::{LinearTimeouts, NilOrVal, Round, VoteType};
pub use message::{
    Decision, Limits, MAX_EXTENSION, Message, ShapeError, SignedProposal, SignedVote,
};
pub use misbehavior::{Misbehavior, MisbehaviorError};
pub use record::{Entry, Log, Record};
pub use sign::{Ed25519, PublicKey, SecretKey, Signature, SignatureError};
