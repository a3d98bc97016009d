//! Beacons behind callbacks, for engines that run on threads or tasks.
//!
//! An engine with a beacon in it calls four functions and reads one stream. [`Driver`] keeps the
//! machine behind a lock, the journal behind the machine, and everything that takes time on a pool
//! that the caller owns. It starts no thread and needs no runtime.
//!
//! ```text
//!  engine   on_prefinalize ─► partial for the vote's envelope ─┐
//!           on_finalize, on_view_abandoned ────────────────────┼─► Journaled<machine> ─► effects
//!  network  on_message ──► inbox, bounded for each peer ───────┤        │      ▲
//!  timer    tick ──────────────────────────────────────────────┘        └ jobs ┘ pool
//! ```
//! The machine is anything that is [`Driven`]:
//!
//! | machine                             | runs                                               | the committee changes by                   |
//! |-------------------------------------|----------------------------------------------------|--------------------------------------------|
//! | [`Beacon`](beacon::Beacon)          | one scheme, one committee                          | -                                          |
//! | [`Stack`](beacon::stack::Stack)     | a list of schemes, epoch after epoch               | [`Driver::change`] and keys of the host    |
//! | `Participant`, of `prefinal-validator` | a list of schemes, and makes the keys of one   | what the chain orders                      |
//!
//! | call                | returns when                                          | never                        |
//! |---------------------|-------------------------------------------------------|------------------------------|
//! | `on_prefinalize`    | the promise is durable, with the partial               | is dropped                   |
//! | `on_finalize`       | the slot is durable and the slow partial is an effect   | is dropped                   |
//! | `on_view_abandoned` | that is durable: sign the timeout after it              | is dropped                   |
//! | `on_message`        | the message waits; often it is handled by then         | waits for a disk or a pairing |
//!
//! The first three wait for the journal, as the vote must; in asynchronous code that is a write to a
//! disk, so call them where such a write may stand. The messages wait in an inbox of so many and so many
//! bytes for each peer ([`Options`]). It is emptied by whoever holds the machine, engine first and a turn
//! each, while neither too many jobs are out nor too many effects unread; the pool goes on with the rest. A
//! peer whose places are taken loses its message, and is told so; the protocol asks again for what it
//! needs.
//!
//! Parties have numbers in an epoch, so the inbox has room for each (epoch, party), and a new epoch makes
//! room for its own.
//!
//! | module   | what                                                            |
//! |----------|-----------------------------------------------------------------|
//! | `driver` | the callbacks                                                    |
//! | `shared` | the machine under its lock: inputs in, effects and jobs out       |
//! | `inbox`  | what waits for the machine                                       |
//! | `jobs`   | what is on the pool, and what the pool lost                      |
//! | `options` | what bounds it, and how it is doing                             |
//! | `pool`   | whose threads compute                                            |
//! | `driven` | what a driver can run                                            |
//! | `error`  | why calls are refused                                            |
//! | [`guide`] | embed it in your engine, with the whole of an example           |
//!
//! Elsewhere: what may be said when (`beacon`), what survives a crash (`journal`), engines that are
//! machines themselves and need no driver (`node`).
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
