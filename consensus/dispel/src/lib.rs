//! DISPEL: leaderless consensus with a distributed pipeline.
//!
//! In each *stage* everybody reliably broadcasts a batch of transactions, one binary consensus for each proposer
//! decides whether its batch is in, and the block is the union of those that are. Nobody leads, so nobody's uplink
//! carries all payloads, and a crashed party costs its own batch. Any party begins the next stage when its network
//! is idle and its memory has room; the others take part with whatever they have. Stages run side by side and are
//! reported in their order.
//!
//! | module      | what it holds                                                        |
//! |-------------|----------------------------------------------------------------------|
//! | `quorum`    | stake, both quorums, coordinators; `votes`: who said what of which proposers |
//! | `broadcast` | reliable broadcast of batches by their hashes                          |
//! | `binary`    | one binary consensus                                                   |
//! | `stage`     | both for every proposer, and what is decided; `tally`: when an observer knows |
//! | `batch`     | transactions, batches, names; `pool`: what waits, and what was ordered |
//! | `message`   | what is sent: the votes on all proposers in one message; `records`: what survives a crash |
//! | `engine`    | the machine: stages side by side; `receive`: what peers send; `config`; `adapter`: as an engine of a chain |
//!
//! ```text
//! batch ─► echo ─► ready ─► estimate(1) ─► auxiliary({1}) ─► decided      five message delays
//!                                          └ prefinalized, after four
//! ```
//! # Why a partial may leave with the last auxiliary vote
//! A party *prefinalizes* a stage when for every proposer one of two things holds:
//! - **in**: a strong quorum proposed one (own estimates of round 1), and this party has sent `auxiliary({1})` in
//!   round 1;
//! - **out**: a strong quorum proposed zero, and this party has sent `auxiliary({0})` in round 2.
//!
//! Claim: honest parties prefinalize a stage for one value only, and if those that have are a strong quorum together
//! with the faulty ones, nothing else is decided.
//!
//! 1. *One value.* Two strong quorums share an honest party, which proposes one bit. So no two parties can find
//!    different bits for a proposer, and reliable broadcast gives one hash for each that is in. This holds for any
//!    two parties that prefinalize, whether others do or not: partials on the slot alone never add up over two
//!    values. An auxiliary vote by itself would not do: one honest party may send `{1}` in round 1 and another `{0}` in
//!    round 2, each the last vote for its bit. Nor would it do with proposals of a weak quorum: both bits can have one.
//! 2. *Nothing else.* Of the strong quorum the honest part is more than a third of the stake, and has sent
//!    `auxiliary({b})` in the round `r` whose bit is `b` (1 for in, 2 for out). Every strong quorum of auxiliary
//!    votes that a party counts in `r` has one of these in it. So it decides `b`, or it sees both bits and takes the
//!    round's bit, which is `b`, as its estimate. From round `r + 1` on all honest parties estimate `b`, and only `b`
//!    is justified. A party that decided before `r` has decided the same: for out, a one of round 1 would have left
//!    everybody with the estimate one, and no zero would be justified in round 2. Proposals by themselves would not do:
//!    of those that proposed zero some may send `{1}` in round 1, and one is decided.
//!
//! If for some proposer no strong quorum proposed the same bit, the stage prefinalizes nowhere; if parties also saw the
//! other bit justified, perhaps not at a quorum. Its value then comes by the slow path. There is no second attempt:
//! votes of later rounds release nothing, because the honest part of a quorum could then be made up of parties that
//! voted in different rounds. After one party's `{1}` in round 1 and another's in round 3, round 4 can still decide
//! zero.
//!
//! The model checker has this rule, and for each of the weaker ones the schedule that breaks it (`testing/model`, its
//! tests `schedules`).
//!
//! # A party that was away
//! It asks for the stages that it missed: outcomes, twelve in an answer, and believes one when a weak quorum says it
//! alike; then the batches, by their hashes, those of several proposers from several peers. When it has these stages it
//! asks again. A peer tells an outcome at once the first time, and again after half a timeout, so that one who falls
//! behind for good can come back and one who only says so gets each outcome once; of batches it gives as much as 64
//! full ones in a timeout. What was missed before it began again is asked for at once. Peers keep 256 stages. A party
//! that missed more does not come back by messages of its peers; the way in behind a later stage is
//! [`Engine::adopted`](prefinal_engine::Engine::adopted), for a host that knows from others what is final up to there.
//!
//! Peers keep no checkpoint beside that. Those of Trantor are checkpoints of its `Replica`: an application's state, in
//! pieces under a root that a quorum signs, in place of all blocks before. DISPEL has no application and signs nothing,
//! so it could vouch for the last stage, its value and the names of the transactions of 256 stages, which matching
//! answers of a weak quorum would prove without any of that code. This would not help: the chain reads every block, for
//! keys and for changes of the committee, and the beacon hands over every slot. Who passes over stages needs what they
//! came to, certified. A chain that keeps its states has that (`prefinal_sync`), for every engine; one that keeps
//! none has nothing that could be certified.
//!
//! # What is proven elsewhere
//! The binary consensus is the safe variant of DBFT ([Crain, Gramoli, Larrea,
//! Raynal](https://arxiv.org/abs/1702.03068)) with its coordinator and timers; agreement and validity of that variant
//! were model-checked by [Tholoniat and Gramoli](https://arxiv.org/abs/1909.07453) for all committees. The reduction
//! is Ben-Or's, Kelmer's and Rabin's; reliable broadcast is Bracha's. The pipeline is that of
//! [DISPEL](https://arxiv.org/abs/1912.10367), whose numbers are heads; here they are stakes.
#![forbid(unsafe_code)]

mod adapter;
mod batch;
mod binary;
mod broadcast;
mod config;
mod engine;
mod message;
mod pool;
mod quorum;
mod receive;
mod records;
mod stage;
mod tally;
#[cfg(test)]
mod tests;
mod votes;

pub use batch::{Batch, BatchId, MAX_TRANSACTIONS, StageOutcome, Transaction, TransactionId};
pub use config::{Config, Idleness};
pub use engine::{Dispel, Effect, Fault, Input, Output, committee_hash};
pub use message::{BitMaps, Message, Step};
pub use pool::SubmitError;
pub use quorum::{ConfigError, MAX_MEMBERS};
pub use records::Record;
pub use tally::StageTally;
