//! What is promised is durable before it is said.
//!
//! A machine's outputs are records and effects, in the order in which they must happen. [`Journaled`]
//! stands between the machine and its driver: it writes the records and gives out the effects, and an
//! effect only when every record before it is durable. Who holds a `Journaled` cannot send too early,
//! for it never sees a message whose record could still be lost.
//!
//! ```text
//!             ┌────────── Journaled ──────────┐
//!  input ───► │ machine ──► keep ──► append   │
//!             │    │        keep ──► append   │
//!             │    │                  sync    │  once for records that follow each other
//!  effect ◄── │    └──────► do ◄───────┘      │
//!             └───────────────────────────────┘
//! ```
//! | crash                     | the next life finds                     | and says                       |
//! |---------------------------|-----------------------------------------|--------------------------------|
//! | before `append`, `sync`   | nothing, or a promise nobody heard      | anything; or the same as it would have |
//! | after `sync`              | the promise                             | the same again, byte by byte   |
//! | in the middle of a write  | every record before it, none of it half | as one of the two above        |
//!
//! An error of the journal ends it: nothing leaves any more, and every later call says why. What is on
//! the disk is then not known, and only reading it again, in a next life, tells.
//!
//! A [`Journal`] is bytes in order. [`Memory`] is for tests and for parties that live and die
//! together; [`Redb`] is a file of an embedded store. An engine with a log of its own implements it on
//! that log, and the record rides in the same write as the engine's entry for its vote:
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use journal::{Journal, JournalError};
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
//! What a beacon makes of its records after a crash is told there; callbacks and a pool above a journaled
//! beacon are in `driver`.
#![forbid(unsafe_code)]

mod journaled;
mod memory;
#[cfg(feature = "redb")]
mod redb;
mod storage;

pub use crate::journaled::{Journaled, OpenError};
pub use crate::memory::Memory;
#[cfg(feature = "redb")]
pub use crate::redb::Redb;
pub use crate::storage::{Doing, Journal, JournalError, Trouble};
