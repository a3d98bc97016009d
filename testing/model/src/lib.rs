//! The release contract under five engines, in a model checker.
//!
//! Four parties, one of them faulty. The three honest ones follow the abstract rules of an engine and
//! tell their beacon what happens; the faulty one says anything to anybody at any time. Every state
//! that they can reach within a number of views is visited, and what must not happen is looked for in
//! each of them.
//!
//! | chapter        | what                                                                |
//! |----------------|---------------------------------------------------------------------|
//! | [`desk`]       | an honest party under the contract: the *real* predicate of `beacon` |
//! | [`properties`] | what must hold in every state, for any engine                        |
//! | [`tendermint`] | rounds, prevotes, precommits, locks, proofs of lock                  |
//! | [`jolteon`]    | a chain with certificates, timeouts and order votes                  |
//! | [`simplex`]    | a chain with notarizations, nullifications and finalize votes        |
//! | [`trantor`]    | many heights at a time, prepares, commits, changes of views           |
//! | [`dispel`]     | one stage: the binary consensus on one proposer's batch               |
//! | [`search`]     | running the checker, and what it says                                |
//!
//! An engine's step says what an integration tells the beacon ([`desk::Call`]): everything that it could
//! take for a prefinalize. In the tests the real beacon is told the same and must release the same.
//!
//! # The network
//! Messages are a set that only grows, and a party may act on any of it at any later time, or never. So
//! nothing is in a state but what honest parties have *said*: how votes travel, in which order, and
//! whether they arrive is in the order of the steps.
//!
//! # The faulty party
//! It is never in the state. Its vote and its partial are added wherever somebody counts: two honest
//! votes are a quorum of three, to everybody or to one party only. It leads every view and proposes
//! what it likes, also different things to different parties. An honest leader's proposals are among
//! these, so nothing is lost.
//!
//! # What else is left out, and why that is sound
//! - Votes for nothing (nil) are silence: a timer may fire at any time, and no rule needs such a quorum.
//! - What a party learns without acting on it is left out where it only forbids it something.
//! - Parties are alike, and so are values: states are told apart up to exchanging them. This is in
//!   the hash of a state; paths are of real states. The checker tells states apart by 64 bits.
//! - Finality that a party knows of only adds objections, so a party never knows while it may release.
//!
//! # What is left out and is not covered
//! A vote, its record and its partial are one step here, and a restart loses nothing of the engine. What a
//! crash between them does is tested on the real beacon (`beacon/tests/suite/crashes.rs`, and the schedule
//! `tendermint_crash_between_record_and_vote`). Late release is not lost on its way either.
//!
//! # What is visited
//! The bound is the number of views. Tests that take a minute by themselves are run by
//! `cargo test -p prefinal-model -- --ignored`; the rest is
//! `cargo run --release -p prefinal-model -- jolteon --views 3 --twins 1`, and so on.
//!
//! | engine     | bound                                                       | states    | depth | in |
//! |------------|-------------------------------------------------------------|-----------|-------|----|
//! | Tendermint | 4 rounds, 2 values                                          | 2 286 346 | 25    | ignored tests |
//! | Jolteon    | 2 rounds, 2 blocks a round and parent                       | 123 543   | 19    | tests |
//! | Jolteon    | 3 rounds, 1 block a round and parent, timeouts of rounds 1, 2 | 1 490 759 | 25    | ignored tests |
//! | Jolteon    | 3 rounds, 1 block a round and parent, timeouts of all        | 11 819 682 | 28   | `jolteon --views 3 --twins 1` |
//! | Jolteon    | 3 rounds, 2 blocks a round and parent, timeouts of rounds 1, 2 | 15 888 853 | 25 | `jolteon --views 3 --timeouts 2` |
//! | Simplex    | 2 views, 2 blocks a view and parent                         | 35 026    | 13    | tests |
//! | Simplex    | 3 views, 1 block a view and parent                          | 2 381 986 | 19    | `simplex --views 3 --twins 1` |
//! | Trantor    | 1 height, 2 views, 2 blocks                                 | 6 495     | 16    | tests |
//! | Trantor    | 1 height, 3 views                                           | 433 340   | 25    | tests |
//! | Trantor    | 2 heights, 2 views of the first and 1 of the second         | 62 970    | 22    | tests |
//! | DISPEL     | 2 rounds                                                    | 8 224     | 16    | tests |
//! | DISPEL     | 3 rounds                                                    | 313 163   | 22    | tests |
//! | Trantor    | 2 heights, 2 views of each                                  | 10 685 325 | 31   | `trantor --views 2 --heights 2 --twins 1` |
//!
//! Whatever takes more views is not found here. A second block on the same parent takes votes away from the
//! first and does nothing else, as silence would, for one round has one certificate; the smaller bounds
//! have it all the same. After the last view comes one more, synchronous and with an honest leader, from
//! *every* state: it must finalize, and in agreement with all that was final before.
#![forbid(unsafe_code)]
#![allow(
    clippy::indexing_slicing,
    reason = "arrays are as long as the bound allows; a model that leaves its bound must stop"
)]

mod chain;
pub mod desk;
pub mod dispel;
pub mod jolteon;
pub mod properties;
pub mod search;
pub mod simplex;
pub mod tendermint;
pub mod trantor;
