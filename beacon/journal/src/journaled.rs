//! A machine behind its journal: effects come out when the records before them are durable.
//!
//! Records that follow each other are made durable together. The last records of a step have nothing
//! behind them, but what the *driver* does next may rest on them: after a timeout is announced, the
//! engine signs it. So [`Journaled::poll`] says that there is nothing left only when they are durable
//! too. Notes ([`Output::Note`]) go with the next record that is kept.
//!
//! A journal does not grow for ever: with [`Journaled::shortened`] it is replaced by the machine's own
//! summary of it once in a while. The summary knows of everything that the machine did, so it is taken
//! only when everything that it did has been given out; else a crash could lose an effect.
use borsh::{BorshDeserialize, BorshSerialize};
use protocol::{Instant, Machine, Output};

use crate::storage::{Journal, JournalError};

/// The fewest records that restore a machine.
type Summary<M> = fn(&M) -> Vec<<M as Machine>::Record>;

/// A machine whose promises are durable before anybody hears of them.
#[derive(Debug)]
pub struct Journaled<M: Machine, J> {
    machine: M,
    journal: J,
    /// Whether a kept record is not durable yet.
    owing: bool,
    failed: Option<JournalError>,
    shorten: Option<Shorten<M>>,
}

#[derive(Debug)]
struct Shorten<M: Machine> {
    summary: Summary<M>,
    /// How many records may be written before the next summary.
    every: usize,
    written: usize,
}

/// Why a machine does not start from its journal.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError<E> {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The machine refuses what it was given.
    #[error(transparent)]
    Machine(E),
}

impl<M, J> Journaled<M, J>
where
    M: Machine,
    M::Record: BorshSerialize + BorshDeserialize,
    J: Journal,
{
    /// Reads the journal and lets `build` make the machine that goes on after its records.
    ///
    /// # Errors
    /// If the journal cannot be read or holds other records, or the machine refuses to start.
    pub fn open<E>(
        mut journal: J,
        build: impl FnOnce(Vec<M::Record>) -> Result<M, E>,
    ) -> Result<Self, OpenError<E>> {
        let bytes = journal.replay()?;
        let records: Result<Vec<_>, _> = bytes.iter().enumerate().map(decode).collect();
        let machine = build(records?).map_err(OpenError::Machine)?;
        Ok(Self { machine, journal, owing: false, failed: None, shorten: None })
    }

    /// Replaces the journal by the machine's own summary of it after every so many records.
    #[must_use]
    pub fn shortened(mut self, every: usize, summary: fn(&M) -> Vec<M::Record>) -> Self {
        self.shorten = Some(Shorten { summary, every, written: 0 });
        self
    }

    /// See [`Machine::handle`].
    ///
    /// # Errors
    /// If the journal failed before. The machine hears nothing any more.
    pub fn handle(&mut self, now: Instant, input: M::Input) -> Result<(), JournalError> {
        self.alive()?;
        self.machine.handle(now, input);
        Ok(())
    }

    /// A call on the machine that is no input, as a handover to the next committee. What the machine wants
    /// done after it is polled as ever.
    ///
    /// # Errors
    /// If the journal failed before. The machine is not called.
    pub fn change<T>(&mut self, act: impl FnOnce(&mut M) -> T) -> Result<T, JournalError> {
        self.alive()?;
        Ok(act(&mut self.machine))
    }

    /// The next effect; every record before it is durable. `None` when all is done and all that was
    /// promised is durable.
    ///
    /// # Errors
    /// If the journal fails, or failed before. Nothing comes out any more.
    pub fn poll(&mut self) -> Result<Option<M::Effect>, JournalError> {
        self.alive()?;
        let next = self.advance();
        if let Err(error) = &next {
            self.failed = Some(error.clone());
        }
        next
    }

    /// See [`Machine::wake_at`].
    pub fn wake_at(&self) -> Option<Instant> {
        self.machine.wake_at()
    }

    /// The machine, to be looked at.
    pub const fn machine(&self) -> &M {
        &self.machine
    }

    /// The journal, to be looked at.
    pub const fn journal(&self) -> &J {
        &self.journal
    }

    /// Makes the last notes durable too and gives the journal back.
    ///
    /// # Errors
    /// If the journal fails, or failed before.
    pub fn close(mut self) -> Result<J, JournalError> {
        self.alive()?;
        self.journal.sync()?;
        Ok(self.journal)
    }

    fn alive(&self) -> Result<(), JournalError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn advance(&mut self) -> Result<Option<M::Effect>, JournalError> {
        while let Some(output) = self.machine.poll() {
            match output {
                Output::Keep(record) => {
                    self.write(&record)?;
                    self.owing = true;
                }
                Output::Note(record) => self.write(&record)?,
                Output::Do(effect) => {
                    self.settle()?;
                    return Ok(Some(effect));
                }
            }
        }
        self.settle()?;
        self.shorten()?;
        Ok(None)
    }

    fn write(&mut self, record: &M::Record) -> Result<(), JournalError> {
        self.journal.append(&encode(record)?)?;
        if let Some(shorten) = &mut self.shorten {
            shorten.written = shorten.written.saturating_add(1);
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), JournalError> {
        if self.owing {
            self.journal.sync()?;
            self.owing = false;
        }
        Ok(())
    }

    /// Only when the machine has nothing left to give out.
    fn shorten(&mut self) -> Result<(), JournalError> {
        let Some(shorten) = self.shorten.as_mut().filter(|one| one.written >= one.every) else {
            return Ok(());
        };
        shorten.written = 0;
        let records = (shorten.summary)(&self.machine);
        let records: Result<Vec<_>, _> = records.iter().map(encode).collect();
        self.journal.replace(&records?)
    }
}

fn encode<R: BorshSerialize>(record: &R) -> Result<Vec<u8>, JournalError> {
    borsh::to_vec(record).map_err(|error| JournalError::storage(crate::Doing::Append, error))
}

fn decode<R: BorshDeserialize>((index, bytes): (usize, &Vec<u8>)) -> Result<R, JournalError> {
    borsh::from_slice(bytes).map_err(|error| JournalError::Record {
        index,
        bytes: bytes.len(),
        why: error.to_string(),
    })
}
