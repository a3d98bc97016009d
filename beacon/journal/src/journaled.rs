//! A machine behind its journal: effects come out when the records before them are durable.
//!
//! Records that follow each other are made durable together. No effect follows the last records of a step,
//! but the *driver* may rely on them next: after the record of a timeout, the engine signs the timeout. So
//! [`Journaled::poll`] returns `None` only when these records are durable too. Notes ([`Output::Note`])
//! become durable with the next record that is kept.
//!
//! The journal must not grow for ever. With [`Journaled::shortened`] it is sometimes replaced by the
//! machine's summary of its own state. The summary covers everything that the machine did. So it is taken
//! only when all outputs of the machine have been given out; otherwise a crash could lose an effect.
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::{Instant, Machine, Output};

use crate::storage::{Journal, JournalError};

/// A function that gives the fewest records that restore a machine.
type Summary<M> = fn(&M) -> Vec<<M as Machine>::Record>;

/// A machine with its journal. Effects come out only after the records before them are durable.
#[derive(Debug)]
pub struct Journaled<M: Machine, J> {
    machine: M,
    journal: J,
    /// Whether a kept record is written but not durable yet.
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
#[non_exhaustive]
pub enum OpenError<E> {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The machine refuses its records or its configuration.
    #[error(transparent)]
    Machine(E),
}

impl<E> OpenError<E> {
    /// The error's code: stable, for programs; the text is for people and may change. A machine's own error has
    /// its own code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Journal(error) => error.code(),
            Self::Machine(_) => "machine-refused",
        }
    }
}

impl<E> OpenError<E> {
    /// The machine's own error, to be handled by itself.
    ///
    /// # Errors
    /// The journal's error, if it is not the machine that refuses.
    pub fn into_machine(self) -> Result<E, JournalError> {
        match self {
            Self::Journal(error) => Err(error),
            Self::Machine(error) => Ok(error),
        }
    }
}

impl<M, J> Journaled<M, J>
where
    M: Machine,
    M::Record: BorshSerialize + BorshDeserialize,
    J: Journal,
{
    /// Reads the journal. `build` makes the machine that continues after its records.
    ///
    /// # Errors
    /// If the journal cannot be read, if its records are not of this machine, or if the machine refuses to
    /// start.
    pub fn open<E>(
        journal: J,
        build: impl FnOnce(Vec<M::Record>) -> Result<M, E>,
    ) -> Result<Self, OpenError<E>> {
        Self::open_behind(journal, |_| Vec::new(), build)
    }

    /// As [`Self::open`], with records behind those that are there: `more` says which. They are durable before the
    /// machine is made.
    ///
    /// # Errors
    /// As [`Self::open`], and if the journal cannot be written.
    pub fn open_behind<E>(
        mut journal: J,
        more: impl FnOnce(&[M::Record]) -> Vec<M::Record>,
        build: impl FnOnce(Vec<M::Record>) -> Result<M, E>,
    ) -> Result<Self, OpenError<E>> {
        let mut records = read_records::<M::Record>(&mut journal)?;
        let more = more(&records);
        if !more.is_empty() {
            for record in &more {
                journal.append(&encode(record)?)?;
            }
            journal.sync()?;
        }
        records.extend(more);
        let machine = build(records).map_err(OpenError::Machine)?;
        Ok(Self { machine, journal, owing: false, failed: None, shorten: None })
    }

    /// From now on replaces the journal by `summary` of the machine after every `every` records.
    #[must_use]
    pub fn shortened(mut self, every: usize, summary: fn(&M) -> Vec<M::Record>) -> Self {
        self.shorten = Some(Shorten { summary, every, written: 0 });
        self
    }

    /// Gives the machine an input, as [`Machine::handle`].
    ///
    /// # Errors
    /// If the journal failed before. Then the machine does not get the input.
    pub fn handle(&mut self, now: Instant, input: M::Input) -> Result<(), JournalError> {
        self.alive()?;
        self.machine.handle(now, input);
        Ok(())
    }

    /// Calls the machine with something that is no input, for example a handover to the next committee.
    /// Afterwards poll as usual: the outputs that follow from the call come out there.
    ///
    /// # Errors
    /// If the journal failed before. Then the machine is not called.
    pub fn change<T>(&mut self, act: impl FnOnce(&mut M) -> T) -> Result<T, JournalError> {
        self.alive()?;
        Ok(act(&mut self.machine))
    }

    /// The next effect. Every record before it is durable. `None` when no effect is left and all kept
    /// records are durable.
    ///
    /// # Errors
    /// If the journal fails, or failed before. No effect comes out any more.
    pub fn poll(&mut self) -> Result<Option<M::Effect>, JournalError> {
        self.alive()?;
        let next = self.advance();
        if let Err(error) = &next {
            self.failed = Some(error.clone());
        }
        next
    }

    /// When the machine wants to be handled again, as [`Machine::wake_at`].
    pub fn wake_at(&self) -> Option<Instant> {
        self.machine.wake_at()
    }

    /// The machine, for reading.
    pub const fn machine(&self) -> &M {
        &self.machine
    }

    /// The journal, for reading.
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

    /// Replaces the journal by the summary if it is time. Call only when the machine has no output left.
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
    borsh::to_vec(record)
        .map_err(|error| JournalError::storage(crate::JournalOperation::Append, error))
}

/// Reads all records of a journal, decoded, oldest first. It costs what decoding them costs.
///
/// # Errors
/// If the journal cannot be read, or a record is not of this type.
pub fn read_records<R: BorshDeserialize>(
    journal: &mut impl Journal,
) -> Result<Vec<R>, JournalError> {
    journal.replay()?.iter().enumerate().map(decode).collect()
}

fn decode<R: BorshDeserialize>((index, bytes): (usize, &Vec<u8>)) -> Result<R, JournalError> {
    borsh::from_slice(bytes).map_err(|error| JournalError::Record {
        index,
        bytes: bytes.len(),
        why: error.to_string(),
    })
}
