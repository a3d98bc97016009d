//! The pipeline of a block from proposal to certified, durable state.
//!
//! A block passes four stages: the committee *orders* it, every node *executes* it, the committee
//! *certifies* the state that it leaves, every node *commits* it to its disk. [`Pipeline`] is the machine
//! that takes blocks through the last three, on validators and on full nodes. It is generic over what
//! executes ([`Executor`]), what stores ([`Store`]) and the certificate. It knows no engine: the host
//! reports what the engine does ([`Input`]).
//!
//! Three [`Switches`] say what starts before the stage in front of it has ended. With all of them off it
//! is Algorithm 1 of Zaptos (Xiang, Li, Arun, Zhang, Spiegelman, 2025), with all of them on Algorithm 2:
//!
//! | stage   | starts when                                | with the switch                                        |
//! |---------|--------------------------------------------|--------------------------------------------------------|
//! | execute | ordered and the parent is executed          | `opt_execute`: proposed and the parent is executed     |
//! | certify | executed and ordered                        | `piggyback`: executed and about to cast the order vote |
//! | commit  | executed, certified, the parent committed   | `opt_commit`: written when executed and the parent is written; then only a mark is turned |
//! | hand on to full nodes | committed                     | `opt_execute`: the proposal at once, the certificate when committed |
//! | full node: execute | handed on and the parent is executed | `opt_execute`: the proposal is handed on          |
//! | full node: commit  | executed, the parent committed   | `opt_commit`: written when executed; a mark is turned when the certificate is handed on |
//!
//! **Latency.** `δcf`, `δfv`, `δvv` are the delays between client and full node, full node and validator, two
//! validators; `E` and `C` the time to execute and to write a block; turning a mark takes none. `Tcon`
//! is the consensus latency, in which a proposal arrives 2δvv and the order vote leaves δvv before the end.
//! From a client's submission to its confirmation, on top of `2δcf + 2δfv + Tcon`, with `x⁺ = max(x, 0)`:
//!
//! | opt_execute | opt_commit | piggyback | latency on top                             | why |
//! |:-:|:-:|:-:|------------------------------------------------------|-----|
//! | – | – | any | `δvv + 2E + 2C`                                    | Algorithm 1, Theorem 4.3 (1); nothing is executed by the order vote, so the vote has nothing to carry |
//! | – | ✓ | any | `2E + C + max(C, δvv)`                             | the validators' writing hides behind the certify votes; the full node starts when all is over |
//! | ✓ | – | –   | `δvv + (E − 2δvv)⁺ + 2C`                           | executing hides behind both votes, on the full node too |
//! | ✓ | – | ✓   | `(E − δvv)⁺ + 2C`                                  | certify votes travel beside order votes |
//! | ✓ | ✓ | –   | `max(E + C − 2δvv, (E − 2δvv)⁺ + δvv)`             | only the certify votes are behind the order |
//! | ✓ | ✓ | ✓   | `max(E + C − 2δvv, (E − δvv)⁺)`                    | Algorithm 2 |
//!
//! The paper's formula for Algorithm 2 is `(E + C − 2δvv)⁺ + (E − δvv)⁺ + (C − δvv)⁺`. It is an upper bound
//! of the last row, and equal to it exactly if `C ≤ δvv` and `E + C ≤ 2δvv`. Otherwise it counts twice: it
//! takes a validator's writing to begin no earlier than its order vote, but writing begins when executing
//! ends; and it takes the full node to begin `2δvv` before its validator commits, but the full node begins
//! `δfv` behind its validator and writes while that one does. `tests/suite/latency.rs` measures all rows
//! to the nanosecond.
//!
//! **What is safe.** A certificate needs the votes of a quorum. With `piggyback` on, an honest vote for a
//! state leaves only with, or after, an honest order vote for its block. So a certificate means that more
//! than the faulty stake, in honest votes, has voted to order the block, and then no other block is
//! ordered. Whether a vote may leave early is not decided here: [`Effect::Vote`] goes to a channel of the
//! beacon's stack under its release contract, with the view of the order vote. Nothing is
//! [committed](Effect::Committed) that is not executed here, ordered here and certified; on a full node a
//! certificate stands for the order.
//!
//! **Forks.** Proposals of several forks are executed and written at the same time. What is not ordered
//! is dropped from memory and [reverted](Store::revert) on the disk, children first, also after a crash.
//!
//! **Randomness.** The part of a block that reads the slot's random value runs behind the rest, when the
//! block is ordered and the value is known; see [`Executor`]. So the certificate of such a block waits for the
//! value and for that part, and nothing else does.
//!
//! **Divergence.** If the committee certifies another state than the one that is here, the pipeline records
//! both with the certificate and stops; it does not start again from these records.
//!
//! | crash | what is found | what follows |
//! |-------|---------------|--------------|
//! | before a write or a revert is durable | the block as it was before | it is asked for again |
//! | after writing, before the mark is turned | an optimistic block with its roots | it is not executed again; committed when order and certificate are here, else reverted |
//! | after a vote's record, before or after the vote | the record | the same vote again, once the block is ordered; another result stops the node |
#![forbid(unsafe_code)]

mod block;
mod config;
mod event;
mod executor;
mod job;
mod pipeline;
mod stages;
mod store;
mod tree;

pub use crate::block::{Block, BlockId, Header, Height, Part, Positioned, Transaction};
pub use crate::config::{Config, Limits, Past, Record, Role, StartError, StateClaim, Switches};
pub use crate::event::{
    Certified, Delivery, Divergence, Effect, Input, Output, Refusal, Stop, Unkept, Vote,
};
pub use crate::executor::{Execution, Executor, Randomness, Roots};
pub use crate::job::{ExecuteJob, ExecuteVerdict, StoreCall, StoreJob, StoreVerdict};
pub use crate::pipeline::Pipeline;
pub use crate::store::{Committed, OptimisticBlock, Recovered, StateCertificate, Store};
