//! The pipeline of a block from proposal to certified, durable state.
//!
//! A chain that counts its transactions, on a committee of one party:
//! ```
//! # use std::collections::VecDeque;
//! # use std::convert::Infallible;
//! use prefinal_execution::*;
//! use prefinal_protocol::{Instant, Machine, Output, Slot, View};
//!
//! # #[derive(Clone, Debug)]
//! struct Increment;
//! # impl Transaction for Increment {
//! #     fn encoded_len(&self) -> usize { 1 }
//! #     fn part(&self) -> Part { Part::Head }
//! # }
//! struct Counter;
//!
//! impl Executor for Counter {
//!     type Transaction = Increment;
//!     type View = u64; // the count after a block
//! #     type Draft = u64;
//! #     type Delta = u64;
//! #     type Error = Infallible;
//!     fn head(&self, parent: &u64, block: &Block<Increment>) -> Result<u64, Infallible> {
//!         Ok(parent + block.part(Part::Head).map(|_| 1).sum::<u64>())
//!     }
//! #     fn tail(&self, draft: u64, _: &Block<Increment>, _: Randomness) -> Result<u64, Infallible> {
//! #         Ok(draft)
//! #     }
//!     fn seal(&self, count: u64, _: &Block<Increment>) -> Result<Execution<Self>, Infallible> {
//!         let mut state = [0; 32]; // of a real chain the root of a tree
//!         state[..8].copy_from_slice(&count.to_be_bytes());
//!         let roots = Roots { state, receipts: [0; 32] };
//!         Ok(Execution { roots, view: count, delta: count })
//!     }
//! }
//! # struct Memory { committed: Committed, written: Vec<(BlockId, Roots)> }
//! # impl Store for Memory {
//! #     type Executor = Counter;
//! #     type Certificate = ();
//! #     type Error = Infallible;
//! #     fn write_optimistic(&mut self, block: &Block<Increment>, execution: &Execution<Counter>)
//! #         -> Result<(), Infallible> {
//! #         self.written.push((block.header.id, execution.roots));
//! #         Ok(())
//! #     }
//! #     fn certify(&mut self, block: &Header, _: &()) -> Result<(), Infallible> {
//! #         let roots = self.written.iter().find(|(id, _)| *id == block.id).unwrap().1;
//! #         self.committed = Committed { height: block.height, block: block.id, roots };
//! #         Ok(())
//! #     }
//! #     fn revert(&mut self, block: &Header) -> Result<(), Infallible> {
//! #         self.written.retain(|(id, _)| *id != block.id);
//! #         Ok(())
//! #     }
//! #     fn committed(&self) -> Result<Committed, Infallible> { Ok(self.committed) }
//! #     fn recover(&mut self) -> Result<Recovered<Counter>, Infallible> {
//! #         Ok(Recovered { committed: self.committed, view: 0, optimistic: Vec::new() })
//! #     }
//! # }
//! # let (genesis, roots) = (BlockId::new([0; 32]), Roots { state: [0; 32], receipts: [0; 32] });
//! # let committed = Committed { height: Height::GENESIS, block: genesis, roots };
//! # let mut store = Memory { committed, written: Vec::new() };
//! # let mut journal = Vec::new();
//! # let (height, slot) = (Height::new(1), Slot::new(1));
//! # let header = Header { id: BlockId::new([1; 32]), parent: genesis, height, slot };
//! let limits = Limits::default();
//! let config = Config { role: Role::Validator, switches: Switches::ON, limits };
//! let past = Past { recovered: store.recover()?, records: Vec::new() };
//! let mut pipeline = Pipeline::<Counter, ()>::new(config, past)?;
//!
//! let block = Block::new(header, vec![Increment, Increment]);
//! let (id, view) = (block.header.id, View::new(slot, 0));
//! let order_vote = Input::Prefinalized { height, block: id, view };
//! let mut inputs =
//!     VecDeque::from([Input::Proposed(block.clone()), order_vote, Input::Ordered(block)]);
//! while let Some(input) = inputs.pop_front() {
//!     pipeline.handle(Instant::START, input);
//!     while let Some(output) = pipeline.poll() {
//!         match output {
//!             // Durable before the next output.
//!             Output::Keep(record) | Output::Note(record) => journal.push(record),
//!             Output::Do(Effect::Execute(job)) => {
//!                 inputs.push_back(Input::Executed(job.run(&Counter)));
//!             }
//!             Output::Do(Effect::Store(job)) => inputs.push_back(Input::Stored(job.run(&mut store))),
//!             // To the channel that makes certificates; of one party, its vote is one.
//!             Output::Do(Effect::Vote(Vote { claim: StateClaim { height, block, roots }, .. })) => {
//!                 let digest = roots.digest();
//!                 let certified = Certified { height, block, digest, certificate: () };
//!                 inputs.push_back(Input::Certified(certified));
//!             }
//!             Output::Do(other) => println!("{other:?}"),
//!         }
//!     }
//! }
//! assert_eq!(store.committed()?.roots.state[7], 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
//! value and for that part, and nothing else does. If the value is known with the order and that part takes
//! `E'`, the latency with all switches on is `E' + max(C, δvv)` on top: full nodes get the value at once and
//! do the same meanwhile. A child is executed on the state behind that part, so it waits for it.
//!
//! **Divergence.** If the committee certifies another state than the one that is here, the pipeline records
//! both with the certificate and stops; it does not start again from these records.
//!
//! | crash | what is found | what follows |
//! |-------|---------------|--------------|
//! | before a write or a revert is durable | the block as it was before | it is asked for again |
//! | after writing, before the mark is turned | an optimistic block with its roots | it is not executed again; committed when order and certificate are here, else reverted |
//! | after a vote's record, before or after the vote | the record | the same vote again, once the block is ordered; another result stops the node |
#![cfg_attr(not(feature = "pipeline"), no_std)]
#![forbid(unsafe_code)]

#[cfg(feature = "pipeline")]
mod block;
#[cfg(feature = "pipeline")]
mod config;
#[cfg(feature = "pipeline")]
mod event;
#[cfg(feature = "pipeline")]
mod executor;
#[cfg(feature = "pipeline")]
mod job;
#[cfg(feature = "pipeline")]
mod pipeline;
mod roots;
#[cfg(feature = "pipeline")]
mod stages;
#[cfg(feature = "pipeline")]
mod store;
#[cfg(feature = "pipeline")]
mod tree;

pub use crate::roots::Roots;
#[cfg(feature = "pipeline")]
pub use crate::{
    block::{Block, BlockId, Header, Height, Part, Positioned, Transaction},
    config::{Config, Limits, Past, Record, Role, StartError, StateClaim, Switches},
    event::{Certified, Delivery, Divergence, Effect, Input, Output, Refusal, Stop, Unkept, Vote},
    executor::{Execution, Executor, Randomness},
    job::{ExecuteJob, ExecuteVerdict, StoreCall, StoreJob, StoreVerdict},
    pipeline::Pipeline,
    store::{Committed, OptimisticBlock, Recovered, StateCertificate, Store},
};
