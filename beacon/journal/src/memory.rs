//! A journal in memory, which forgets everything when the process ends.
//!
//! It is for tests, simulations, and parties that live and die together. It keeps durable records apart
//! from records that are not durable yet, so that a test can simulate a crash.
use crate::storage::{Journal, JournalError};

/// A journal in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    durable: Vec<Vec<u8>>,
    fresh: Vec<Vec<u8>>,
}

impl Memory {
    /// A journal without records. It is lost with the process.
    #[must_use]
    pub const fn new() -> Self {
        Self { durable: Vec::new(), fresh: Vec::new() }
    }

    /// What a crash at this moment leaves, if the first `written` of the records that are not durable yet
    /// happened to be written already.
    #[must_use]
    pub fn after_crash(&self, written: usize) -> Self {
        let lucky = self.fresh.iter().take(written);
        Self { durable: self.durable.iter().chain(lucky).cloned().collect(), fresh: Vec::new() }
    }

    /// How many records are durable.
    #[must_use]
    pub fn durable(&self) -> usize {
        self.durable.len()
    }
}

impl Journal for Memory {
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError> {
        self.fresh.push(record.to_vec());
        Ok(())
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        self.durable.append(&mut self.fresh);
        Ok(())
    }

    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        Ok(self.durable.iter().chain(&self.fresh).cloned().collect())
    }

    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
        self.durable = records.to_vec();
        self.fresh.clear();
        Ok(())
    }
}
