//! Trantor: transactions spread first, then several leaders at once order them, one PBFT instance for each.
//!
//! Every party spreads its transactions in batches, and gets a certificate when more than a third of the
//! stake has stored one. The heights of an epoch are dealt out to its leaders. Each leader proposes
//! certificates, and its own batches as they leave ([`OwnBatches::AtOnce`]), in the first view of its
//! heights, several at a time, so a slow leader does not hold the others up. A block is prefinalized after two
//! message delays and final after three. If a leader fails, the others skip its height in a later view, and it
//! leads none in the next epochs. Stake is counted exactly, and signatures are BLS multi-signatures.
//!
//! | module        | what it holds                                                 |
//! |---------------|---------------------------------------------------------------|
//! | `config`      | members, stake, both quorums                                  |
//! | `schedule`    | epochs, leaders, and which leaders are left out               |
//! | `block`       | transactions, blocks, their names; `batch`: what is spread before, and its certificates |
//! | `certificate` | what a quorum has signed                                      |
//! | `message`     | the messages of parties, and their shape                      |
//! | `records`     | what survives a crash; `repeat`: what is said again after one   |
//! | `open`        | one height that is not decided                                |
//! | `job`         | pairings, for a driver to run; `fault`: what a party did wrong  |
//! | `fetch`       | asking peers for what is missing                              |
//! | `mempool`     | transactions that wait; `store`: batches; `order`: transactions that were ordered; `client`: their numbers |
//! | `note`        | what a block of a chain says of the order behind its transactions; `adopt`: going on behind such blocks |
//! | `replica`     | the ordering with an application (`app`; `key_values` is an example), checkpoints, state transfer |
//! | `stepwise`    | the ordering under a replica: epochs one at a time           |
//! | `engine`      | the machine; `disseminate`, `propose`, `vote`, `change`, `decide`, `receive`, `verdict`: its steps |
//!
//! [`Trantor`] is the ordering alone, for a chain that executes blocks itself. [`Replica`] is the whole of the
//! paper's system: an [`Application`] with snapshots, checkpoints that a quorum certifies, configurations that
//! change from epoch to epoch, and state transfer to replicas that fell behind.
//!
//! # One view
//! ```text
//! primary   proposal(h, v, value)                    v = 0: the leader's block
//! all       prepare(h, v, value)      once per view
//! all       commit(h, v, value)       when a strong quorum prepared; this is the prefinalization
//! decided                             when a strong quorum committed
//! ```
//! After `timeout` a party asks for view `v + 1` with the highest prepared certificate that it knows.
//! When a strong quorum asks, the view's primary proposes the value of the highest certificate among
//! them, or, if there is none, to skip the height.
//!
//! # Why a partial may leave with a commit in the first view
//! Claim: if partials of a strong quorum are out for value `x` of height `h`, then no other value, nor a
//! skip, is decided at `h`.
//!
//! 1. A partial leaves only with a commit in view `(h, 0)`, and for one value: a party commits once in a
//!    view, and its record is durable before vote and partial leave. So a strong quorum, of which the
//!    honest part holds more than a third, has committed `x` in `(h, 0)`.
//! 2. A later view needs view changes of a strong quorum. It shares an honest party with those above. That
//!    party committed *before* it asked for the later view, since it commits in no view that it gave up.
//!    So its view change names a prepared view, `0` or later.
//! 3. The new view proposes the value of a certificate that is at least as late. By induction over the
//!    views that value is `x`: in view `0` only `x` can be prepared, for two quorums share an honest party,
//!    and in each later view only what its primary may propose.
//!
//! Step 2 is the contract's rule 4, and step 1 its rule 2: partials of two views do not add up to a
//! quorum of either. `testing/model` leaves each out and shows the schedule that leaks.
//!
//! **Many open heights.** The contract knows one line of views, in the order of height and attempt, and
//! one latest view that was given up. Here heights proceed at the same time, so a view change at height 5
//! must not be told while height 4 could still prefinalize in its first view. Therefore *a party gives up
//! only the lowest height that is not decided there*: everything before it is decided, and a decided height
//! gets no more votes. So "nothing in this view or an earlier one" is literally true when it is told, and
//! the heights behind lose nothing. This is also the difference from ISS, where an instance changes the
//! view of all its heights together. A failed leader's other heights wait for their turn, but not for
//! another timeout.
//!
//! After [Trantor](https://arxiv.org/abs/2308.15849), [ISS](https://arxiv.org/abs/2203.05681) and
//! [PBFT](https://pmg.csail.mit.edu/papers/osdi99.pdf). Differences: view changes by height; a leader's own
//! batch may go without a certificate, for those that prepare its block have stored it; the leaders of an epoch
//! may be known an epoch before, so that no height waits at the border; certificates
//! are multi-signatures, so a new view carries one certificate for its quorum and one prepared
//! certificate in place of all messages; a batch has a last height, so that nobody must keep it for ever;
//! a missing batch is asked for at one of its signers, then at more of them.
#![forbid(unsafe_code)]

mod adapter;
mod adopt;
mod app;
mod batch;
mod block;
mod certificate;
mod change;
mod client;
mod config;
mod decide;
mod disseminate;
mod engine;
mod fault;
mod fetch;
mod job;
mod key_values;
mod mempool;
mod message;
mod note;
mod open;
mod order;
mod propose;
mod receive;
mod records;
mod repeat;
mod replica;
mod schedule;
mod stepwise;
mod store;
#[cfg(test)]
mod tests;
mod verdict;
mod vote;

pub use crate::engine::{Block, Effect, Input, Output, Trantor};
pub use adopt::Run;
pub use app::{Application, Configuration, ConfigurationError, RestoreError, Seat};
pub use batch::{AvailabilityCertificate, Batch, BatchId, BatchLabel, MAX_TRANSACTIONS};
pub use block::{Body, Transaction, skipped};
pub use certificate::{
    CertificateError, ChangeCertificate, MultiSignature, Stage, VoteCertificate,
};
pub use client::{Client, ClientHeader, MAX_CLIENTS, WINDOW, WindowError};
pub use config::{
    Config, ConfigError, Epochs, Identification, Leaders, MAX_MEMBERS, Member, OwnBatches, Replicas,
};
pub use fault::{Contradiction, EvidenceError, Fault, Said, Signed};
pub use job::{Claim, Fingerprint, Job, Outcome, Verdict, Work};
pub use key_values::{Command, KeyValues};
pub use mempool::{BatchLimits, MemoryPool, Mempool, SubmitError};
pub use message::{
    BodyRequest, Commit, Decision, MAX_PARTIAL, Message, NewView, Proposal, ShapeError, ViewChange,
    Vote,
};
pub use note::{HeightContents, NOTE};
pub use order::OrderHistory;
pub use records::Record;
pub use replica::certifier::{
    Certifier, CertifierError, StakeCertifier, ThresholdCertifier, Votes,
};
pub use replica::checkpoint::{
    CertifiedStatement, MAX_CERTIFICATE, MAX_PIECES, MAX_VOTE, PIECE, Piece, PieceError, Statement,
};
pub use replica::contents::RestoreFailure;
pub use replica::history::{Change, MAX_CHANGES};
pub use replica::job::{CertifyJob, CertifyVerdict, ReplicaJob, ReplicaVerdict};
pub use replica::message::{CheckpointVote, MAX_RUN, ReplicaFault, ReplicaMessage, WrongState};
pub use replica::{
    MAX_OFFSET, Replica, ReplicaEffect, ReplicaInput, ReplicaOutput, ReplicaRecord, Service,
    Settings, StartError,
};
pub use schedule::{SEGMENT, Schedule};
