//! The validator's journal with its figures: how much is written, and how long it takes to be durable.
use std::time::Instant;

use prefinal_journal::{Journal, JournalError, Redb};

use super::metrics::JournalMetrics;

/// A journal in a file that counts.
pub(super) struct MeteredJournal {
    pub(super) journal: Redb,
    pub(super) metrics: JournalMetrics,
}

impl Journal for MeteredJournal {
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError> {
        self.metrics.records.inc();
        self.metrics.bytes.inc_by(u64::try_from(record.len()).unwrap_or(u64::MAX));
        self.journal.append(record)
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        let begun = Instant::now();
        self.journal.sync()?;
        self.metrics.sync.observe(begun.elapsed().as_secs_f64());
        Ok(())
    }

    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        self.journal.replay()
    }

    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
        self.journal.replace(records)
    }
}
