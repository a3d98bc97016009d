//! The values of a devnet that keeps journals and is served: they are there after a restart as well.
//!
//! ```text
//! party ── value ──► archive, durable ──► the party's own note that it has shown the slot
//! ```
//! In this order no value can be lost: a slot that no party will show again is in the archive. It is a file
//! beside the parties' journals, in the same store, and it says when the chain began: rounds
//! keep their times, and the chain its name. The newest [`KEPT`] values are kept.
//!
//! The parties' own records are in [`crate::journal`]; [`crate::http`] serves the values.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ::prefinal_beacon::Slot;
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_journal::{Journal, JournalError, Redb};

use crate::journal::FolderError;

/// Values that a served chain keeps: what [`crate::http`] serves.
pub const KEPT: usize = 100_000;

/// What is in the file, in this order: one beginning, then values by ascending slot.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
enum Entry {
    /// When slot 1 is due, in seconds of Unix time.
    Start(u64),
    /// A slot's value.
    Value {
        /// The slot.
        slot: u64,
        /// The group's signature on it.
        signature: Signature,
    },
}

/// A served chain on disk.
pub struct Archive {
    file: PathBuf,
    start: u64,
    state: Mutex<State>,
}

struct State {
    journal: Redb,
    newest: u64,
    /// Of earlier lives, until they are taken.
    past: Vec<(Slot, Signature)>,
}

impl Archive {
    /// Goes on with what is in the journal; a new one begins at `start`.
    ///
    /// # Errors
    /// If it cannot be read or written, or holds something else.
    pub fn new(file: PathBuf, mut journal: Redb, start: u64) -> Result<Self, FolderError> {
        match Self::read(&mut journal, start, KEPT) {
            Ok((start, past)) => {
                let newest = past.last().map_or(0, |(slot, _)| slot.get());
                let state = Mutex::new(State { journal, newest, past });
                Ok(Self { file, start, state })
            }
            Err(cause) => Err(FolderError::Values { file, cause }),
        }
    }

    fn read(
        journal: &mut Redb,
        start: u64,
        kept: usize,
    ) -> Result<(u64, Vec<(Slot, Signature)>), JournalError> {
        let (mut began, mut past) = (None, Vec::new());
        let records = journal.replay()?;
        let surplus = records.len().saturating_sub(kept.saturating_add(1));
        for (index, bytes) in records.iter().enumerate() {
            // Points are costly to decode, and these are forgotten.
            if (1..=surplus).contains(&index) {
                continue;
            }
            match borsh::from_slice(bytes) {
                Ok(Entry::Start(start)) => began = Some(start),
                Ok(Entry::Value { slot, signature }) => past.push((Slot::new(slot), signature)),
                Err(error) => {
                    let (bytes, why) = (bytes.len(), error.to_string());
                    return Err(JournalError::Record { index, bytes, why });
                }
            }
        }
        if began.is_none() {
            journal.append(&encode(&Entry::Start(start)))?;
            journal.sync()?;
        } else if surplus > kept / 8 {
            let first = records.iter().take(1);
            let rest = records.iter().skip(surplus.saturating_add(1));
            journal.replace(&first.chain(rest).cloned().collect::<Vec<_>>())?;
        }
        Ok((began.unwrap_or(start), past))
    }

    /// When slot 1 is or was due, in seconds of Unix time.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// The newest slot whose value is kept.
    #[must_use]
    pub fn newest(&self) -> Option<Slot> {
        Some(self.lock().newest).filter(|newest| *newest > 0).map(Slot::new)
    }

    /// The values of earlier lives, oldest first; the first time it is asked.
    #[must_use]
    pub fn take_past(&self) -> Vec<(Slot, Signature)> {
        std::mem::take(&mut self.lock().past)
    }

    /// As [`Self::take_past`], as long as nobody has taken them.
    #[must_use]
    pub fn past(&self) -> Vec<(Slot, Signature)> {
        self.lock().past.clone()
    }

    /// Makes a value durable, unless another party has had it made so.
    ///
    /// # Errors
    /// If that is not certain.
    pub fn keep(&self, slot: Slot, signature: Signature) -> Result<(), FolderError> {
        let mut state = self.lock();
        if slot.get() <= state.newest {
            return Ok(());
        }
        state.newest = slot.get();
        let entry = encode(&Entry::Value { slot: slot.get(), signature });
        let written = state.journal.append(&entry).and_then(|()| state.journal.sync());
        written.map_err(|cause| FolderError::Values { file: self.file.clone(), cause })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn encode(entry: &Entry) -> Vec<u8> {
    // Writing into memory does not fail.
    borsh::to_vec(entry).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use prefinal_crypto_core::bls::Domain;
    use prefinal_crypto_core::bls::min_sig::SecretKey;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;

    fn signature(slot: u64) -> Signature {
        let secret = SecretKey::random(&mut ChaCha20Rng::from_seed([1; 32]));
        secret.sign(Domain::BASIC, &slot.to_be_bytes())
    }

    #[test]
    fn values_and_the_beginning_outlive_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("values.journal");
        let archive =
            Archive::new(file.clone(), Redb::create(&file, "all").unwrap(), 1_000).unwrap();
        // Every party shows every slot; one is skipped.
        for slot in [3, 3, 4, 3, 6, 4, 6] {
            archive.keep(Slot::new(slot), signature(slot)).unwrap();
        }
        drop(archive);
        let archive = Archive::new(file.clone(), Redb::open(&file, "all").unwrap(), 2_000).unwrap();
        assert_eq!(archive.start(), 1_000);
        let past = [3, 4, 6].map(|slot| (Slot::new(slot), signature(slot)));
        assert_eq!(archive.take_past(), past);
        assert_eq!(archive.take_past(), []);
        archive.keep(Slot::new(6), signature(6)).unwrap();
        archive.keep(Slot::new(7), signature(7)).unwrap();
        drop(archive);
        // The oldest go first, and the file with them.
        let mut journal = Redb::open(&file, "all").unwrap();
        let (start, past) = Archive::read(&mut journal, 0, 2).unwrap();
        assert_eq!(start, 1_000);
        assert_eq!(past, [6, 7].map(|slot| (Slot::new(slot), signature(slot))));
        assert_eq!(journal.replay().unwrap().len(), 3);
        assert_eq!(Archive::read(&mut journal, 0, 2).unwrap(), (start, past));
    }
}
