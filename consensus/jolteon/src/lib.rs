//! Jolteon with order votes, as a machine.
//!
//! A reference engine for the beacon: chained, leader-based, optimal in latency. A block is
//! prefinalized after two message delays and final after three; stake is counted exactly; what is
//! signed is BLS multi-signatures. It is complete (view change, recovery, block sync, late
//! verification, evidence) and small, so that the beacon's release contract can be read off it.
//!
//! | chapter       | what it is about                                              |
//! |---------------|---------------------------------------------------------------|
//! | `config`      | members, stake, quorums, leaders                              |
//! | `block`       | rounds, blocks, transactions, their names                     |
//! | `certificate` | what a quorum has said                                        |
//! | `message`     | what parties send, and its shape                              |
//! | `safety`      | the rules that make two final blocks impossible                |
//! | `records`     | what survives a crash                                         |
//! | `pacemaker`   | how long a round may take                                     |
//! | `collector`   | votes until they are certificates, verified late               |
//! | `job`         | pairings, for a driver to run; `fault`: who is to blame         |
//! | `tree`        | blocks that are pending, final, missing; `fetch`: whom to ask   |
//! | `pool`        | transactions that wait                                        |
//! | `engine`      | the machine; `round`, `receive`, `verdict`, `finality`: its steps |
//!
//! After [Jolteon](https://arxiv.org/abs/2106.10362) with order votes as in Zaptos, section 2.3. Ours:
//! a block's identity does not cover its parent's certificate, so that certificates with different
//! signers are interchangeable; and a party votes without having the parent, since a quorum
//! vouches for it.
//!
//! Elsewhere: partials that ride with order votes (`beacon`), links and clocks (`node`, `sim`).
#![forbid(unsafe_code)]

mod adapter;
mod block;
mod certificate;
mod collector;
mod config;
mod engine;
mod fault;
mod fetch;
mod finality;
mod job;
mod message;
mod pacemaker;
mod pool;
mod receive;
mod records;
mod round;
mod safety;
#[cfg(test)]
mod tests;
mod tree;
mod verdict;

pub use crate::engine::{Effect, Input, Jolteon, Output, SubmitError};
pub use block::{Block, BlockId, PayloadMismatch, Round, Transaction};
pub use certificate::{
    CertificateError, MultiSignature, QuorumCertificate, Stage, TimeoutCertificate,
};
pub use config::{Config, ConfigError, MAX_MEMBERS, Member, Replicas};
pub use fault::{Equivocation, EvidenceError, Fault, Signed};
pub use job::{Claim, Fingerprint, Job, Outcome, Verdict, Work};
pub use message::{
    Message, OrderVote, Proposal, Request, Response, ShapeError, Status, Timeout, Vote,
};
pub use records::{Promises, Record, Records};
pub use safety::Safety;
