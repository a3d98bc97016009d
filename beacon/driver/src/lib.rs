//! Beacons behind callbacks, for engines that run on threads or tasks.
//!
//! An engine that embeds a beacon calls four functions and reads one stream. [`Driver`] keeps the
//! machine behind a lock and writes its records to a journal. Work that takes time runs on a thread pool
//! that the caller owns. The driver starts no thread and needs no runtime.
//!
//! ```text
//!  engine   on_prefinalize ─► partial for the vote's envelope ─┐
//!           on_finalize, on_view_abandoned ────────────────────┼─► Journaled<machine> ─► effects
//!  network  on_message ──► inbox, bounded for each peer ───────┤        │      ▲
//!  timer    tick ──────────────────────────────────────────────┘        └ jobs ┘ pool
//! ```
//! The machine can be any type that implements [`Driven`]:
//!
//! | machine | what it runs | how the committee changes |
//! |---|---|---|
//! | [`Beacon`](prefinal_beacon::Beacon) | one scheme, one committee | it does not change |
//! | [`Stack`](prefinal_beacon::stack::Stack) | a list of schemes, epoch after epoch | [`Driver::change`], with keys that the host makes |
//! | `Participant`, of `prefinal-validator` | a list of schemes, and it generates the keys of one | by what the chain orders |
//!
//! | call                | returns when                                             | never                        |
//! |---------------------|----------------------------------------------------------|------------------------------|
//! | `on_prefinalize`    | the record is durable; it gives the partial, if one may leave | is dropped              |
//! | `on_finalize`       | the final slot is durable and the slow partial is an effect | is dropped                |
//! | `on_view_abandoned` | the abandoned view is durable: sign the timeout after it | is dropped                   |
//! | `on_message`        | the message is in the inbox; often it is handled by then | waits for a disk or a pairing |
//!
//! The first three calls wait for the journal, as the vote itself must. In asynchronous code this is a
//! blocking write to a disk, so call them where a blocking write is allowed.
//!
//! Messages wait in an inbox. It is bounded for each peer, in messages and in bytes ([`Options`]). The
//! thread that holds the machine empties the inbox: calls of the engine first, then a limited number of
//! messages (a *turn*). It takes messages only while there are few enough jobs on the pool and few enough
//! unread effects. The pool continues with the rest. If a peer's places are taken, its next message is
//! dropped and the caller gets an error. The protocol asks again for what it needs.
//!
//! Parties are numbered within an epoch. So the inbox has room for each (epoch, party), and a new epoch
//! adds room for its own parties.
//!
//! | module   | contents                                                        |
//! |----------|-----------------------------------------------------------------|
//! | `driver` | the callbacks                                                    |
//! | `shared` | the machine under its lock: inputs in, effects and jobs out       |
//! | `inbox`  | what waits for the machine                                       |
//! | `jobs`   | what is on the pool, and what the pool lost                      |
//! | `options` | the driver's limits, and figures for monitoring                 |
//! | `pool`   | the caller's threads, on which jobs run                          |
//! | `driven` | the trait of machines that a driver can run                      |
//! | `error`  | why calls are refused                                            |
//! | [`guide`] | how to embed the driver in your engine, with a complete example |
//!
//! See also: the rules for when a partial may leave (`beacon`), what survives a crash (`journal`), and
//! engines that are machines themselves and need no driver (`node`).
#![forbid(unsafe_code)]

mod driven;
mod driver;
mod error;
mod inbox;
mod jobs;
mod options;
mod pool;
mod shared;

#[doc = include_str!("guide.md")]
pub mod guide {}

pub use crate::driven::{Driven, Records, Summary};
pub use crate::driver::{Driver, StartError};
pub use crate::error::{MessageError, Stopped};
pub use crate::options::{Figures, Options};
pub use crate::pool::{Pool, Task};
pub use async_channel::Receiver;
