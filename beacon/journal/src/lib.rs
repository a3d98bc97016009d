//! Records are durable before the effects that depend on them leave.
//!
//! ```
//! # use std::collections::VecDeque;
//! # use prefinal_protocol::{Instant, Machine, Output, OutputOf};
//! use prefinal_journal::{Journaled, Memory};
//!
//! /// Counts, and announces the count. A crash must not make it announce a number twice.
//! struct Counter {
//!     count: u64,
//!     outputs: VecDeque<Output<u64, String>>,
//! }
//! # impl Machine for Counter {
//! #     type Input = ();
//! #     type Record = u64;
//! #     type Effect = String;
//! #     fn handle(&mut self, _: Instant, (): ()) {
//! #         self.count += 1;
//! #         self.outputs.push_back(Output::Keep(self.count));
//! #         self.outputs.push_back(Output::Do(format!("number {}", self.count)));
//! #     }
//! #     fn poll(&mut self) -> Option<OutputOf<Self>> {
//! #         self.outputs.pop_front()
//! #     }
//! #     fn wake_at(&self) -> Option<Instant> {
//! #         None
//! #     }
//! # }
//! let build = |records: Vec<u64>| {
//!     let count = records.last().copied().unwrap_or(0);
//!     Ok::<_, std::convert::Infallible>(Counter { count, outputs: VecDeque::new() })
//! };
//! let mut counter = Journaled::open(Memory::new(), build)?; // a file: `Redb`
//! counter.handle(Instant::START, ())?;
//! assert_eq!(counter.poll()?, Some("number 1".to_owned())); // the record is durable by now
//!
//! let journal = counter.close()?;
//! assert_eq!(journal.durable(), 1);
//! let mut again = Journaled::open(journal, build)?;
//! again.handle(Instant::START, ())?;
//! assert_eq!(again.poll()?, Some("number 2".to_owned()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A machine's outputs are records and effects, in the order in which they must happen. [`Journaled`]
//! stands between the machine and its driver. It writes the records and gives out the effects. It gives out
//! an effect only when every record before it is durable. So code that drives a `Journaled` cannot send too
//! early: it never sees a message whose record could still be lost.
//!
//! ```text
//!             ┌────────── Journaled ──────────┐
//!  input ───► │ machine ──► keep ──► append   │
//!             │    │        keep ──► append   │
//!             │    │                  sync    │  once for records that follow each other
//!  effect ◄── │    └──────► do ◄───────┘      │
//!             └───────────────────────────────┘
//! ```
//! | crash                     | the restarted process finds             | and says                       |
//! |---------------------------|-----------------------------------------|--------------------------------|
//! | before `append`, `sync`   | no record, or a record whose effect never left | anything; or the same as it would have |
//! | after `sync`              | the record                              | the same again, byte by byte   |
//! | in the middle of a write  | every record before it, none of it half | as one of the two above        |
//!
//! An error of the journal is final: no effect comes out any more, and every later call reports the error.
//! It is then unknown what is on the disk. Only reading it again after a restart tells.
//!
//! A [`Journal`] is a sequence of byte records. [`Memory`] is for tests, and for parties that live and die
//! together. [`Redb`] is a file of an embedded store. An engine with its own log implements `Journal` on
//! that log, so that the record rides in the same write as the engine's entry for its vote:
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use prefinal_journal::{Journal, JournalError};
//!
//! /// An engine's log: entries of several kinds in a batch, one write for all of them.
//! #[derive(Default)]
//! struct EngineLog {
//!     batch: Vec<(&'static str, Vec<u8>)>,
//!     disk: Vec<(&'static str, Vec<u8>)>,
//!     writes: u32,
//! }
//!
//! impl EngineLog {
//!     fn flush(&mut self) {
//!         self.disk.append(&mut self.batch);
//!         self.writes += 1;
//!     }
//! }
//!
//! struct InEngineLog(Arc<Mutex<EngineLog>>);
//!
//! impl Journal for InEngineLog {
//!     fn append(&mut self, record: &[u8]) -> Result<(), JournalError> {
//!         self.0.lock().unwrap().batch.push(("beacon", record.to_vec()));
//!         Ok(())
//!     }
//!     fn sync(&mut self) -> Result<(), JournalError> {
//!         self.0.lock().unwrap().flush();
//!         Ok(())
//!     }
//!     fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
//!         let log = self.0.lock().unwrap();
//!         let ours = log.disk.iter().filter(|(kind, _)| *kind == "beacon");
//!         Ok(ours.map(|(_, record)| record.clone()).collect())
//!     }
//!     fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
//!         let mut log = self.0.lock().unwrap();
//!         log.disk.retain(|(kind, _)| *kind != "beacon");
//!         log.batch.extend(records.iter().map(|record| ("beacon", record.clone())));
//!         log.flush();
//!         Ok(())
//!     }
//! }
//!
//! let log = Arc::new(Mutex::new(EngineLog::default()));
//! let mut journal = InEngineLog(Arc::clone(&log));
//! // The engine enters its vote and asks the beacon before it writes and before it sends ...
//! log.lock().unwrap().batch.push(("vote", b"vote for slot 7".to_vec()));
//! // ... and the beacon's promise is durable in the same write.
//! journal.append(b"released slot 7")?;
//! journal.sync()?;
//! assert_eq!(log.lock().unwrap().writes, 1);
//! assert_eq!(log.lock().unwrap().disk.len(), 2);
//! assert_eq!(journal.replay()?, [b"released slot 7"]);
//! # Ok::<(), JournalError>(())
//! ```
//!
//! See also: what a beacon does with its records after a crash (`beacon`), and callbacks and a pool above a
//! journaled beacon (`driver`).
#![forbid(unsafe_code)]

mod journaled;
mod memory;
#[cfg(feature = "redb")]
mod redb;
mod storage;

pub use crate::journaled::{Journaled, OpenError, read_records};
pub use crate::memory::Memory;
#[cfg(feature = "redb")]
pub use crate::redb::{KeyJournal, Redb};
pub use crate::storage::{Journal, JournalError, JournalOperation, Trouble};
