//! Jolteon with order votes, as a machine.
//!
//! A reference engine for the beacon: chained, leader-based, optimal in latency. A block is
//! prefinalized after two message delays and final after three. Stake is counted exactly, and
//! signatures are BLS multi-signatures. The engine is complete (view change, recovery, block sync, late
//! verification, evidence). It is also small, so that one can see in it how the beacon's release
//! contract applies.
//!
//! | module        | what it holds                                                 |
//! |---------------|---------------------------------------------------------------|
//! | `config`      | members, stake, quorums, leaders                              |
//! | `block`       | rounds, blocks, transactions, their names                     |
//! | `certificate` | what a quorum has signed                                      |
//! | `message`     | the messages of parties, and their shape                      |
//! | `safety`      | the rules that make two final blocks impossible                |
//! | `records`     | what survives a crash                                         |
//! | `pacemaker`   | how long a round may take                                     |
//! | `job`         | pairings, for a driver to run; `fault`: what a party did wrong  |
//! | `tree`        | blocks that are pending, final, missing; `fetch`: asking for them |
//! | `pool`        | transactions that wait                                        |
//! | `engine`      | the machine; `round`, `receive`, `verdict`, `finality`: its steps |
//!
//! After [Jolteon](https://arxiv.org/abs/2106.10362) with order votes as in Zaptos, section 2.3.
//! Differences from the paper: a block's identity does not cover its parent's certificate, so
//! certificates with different signers are interchangeable. And a party votes without having the
//! parent, because a quorum vouches for it.
//!
//! The partials that travel beside order votes are in `beacon`; links and clocks are in `node` and
//! `sim`.
#![forbid(unsafe_code)]

mod adapter;
mod block;
mod certificate;
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
pub use fault::{Equivocation, EvidenceError, Fault, SignedBlock};
pub use job::{Claim, Fingerprint, Job, Outcome, Verdict, Work};
pub use message::{
    Message, OrderVote, Proposal, Request, Response, ShapeError, Status, Timeout, Vote,
};
pub use records::{Promises, Record, Records};
pub use safety::Safety;
