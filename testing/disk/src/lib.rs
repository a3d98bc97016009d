//! A disk in memory under `redb` that fails at any change, and loses or tears what was not synced.
//!
//! Between two syncs a disk may write any of the changes, in part, and in any order. So a test lets the disk
//! fail, opens what a crash may have [left](Left), and compares it with what was promised.
#![expect(
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use redb::StorageBackend;

/// A disk; clones are the same disk.
#[derive(Clone, Debug)]
pub struct Disk(Arc<Mutex<State>>);

/// What a crash leaves of the changes since the last sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// All of them are lost.
    Nothing,
    /// All of them came through, and only the answer is missing.
    All,
    /// Of each the whole, nothing, or its beginning, drawn from this seed.
    Torn(u64),
}

#[derive(Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

#[derive(Debug)]
struct State {
    /// What a crash cannot take.
    durable: Vec<u8>,
    /// What the process sees.
    seen: Vec<u8>,
    /// The changes since the last sync.
    fresh: Vec<Change>,
    /// Changes and syncs so far.
    changes: usize,
    /// Changes and syncs until the disk fails.
    changes_left: usize,
    /// The same with reads.
    calls_left: usize,
    written: u64,
}

impl Disk {
    /// A disk that holds these bytes and never fails.
    #[must_use]
    pub fn holding(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(State {
            seen: bytes.clone(),
            durable: bytes,
            fresh: Vec::new(),
            changes: 0,
            changes_left: usize::MAX,
            calls_left: usize::MAX,
            written: 0,
        })))
    }

    /// Lets the disk fail after so many more writes, changes of length and syncs.
    pub fn fail_after_changes(&self, changes: usize) {
        self.state().changes_left = changes;
    }

    /// Lets the disk fail after so many more calls of any kind. So it may fail when all is written, too.
    pub fn fail_after_calls(&self, calls: usize) {
        self.state().calls_left = calls;
    }

    /// The number of writes, changes of length and syncs so far.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.state().changes
    }

    /// The number of bytes written so far.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.state().written
    }

    /// The bytes that are on the disk after a crash.
    #[must_use]
    pub fn after_crash(&self, left: Left) -> Vec<u8> {
        let state = self.state();
        let mut bytes = state.durable.clone();
        let mut rng = match left {
            Left::Nothing => return bytes,
            Left::All => None,
            Left::Torn(seed) => Some(ChaCha20Rng::seed_from_u64(seed)),
        };
        for change in &state.fresh {
            let Some(rng) = &mut rng else {
                change.apply(&mut bytes);
                continue;
            };
            match (rng.next_u32() % 4, change) {
                (0, _) => {}
                (1, Change::Write(at, new)) => {
                    let most = u32::try_from(new.len()).unwrap().max(1);
                    let torn = index((rng.next_u32() % most).into());
                    Change::Write(*at, new[..torn].to_vec()).apply(&mut bytes);
                }
                _ => change.apply(&mut bytes),
            }
        }
        bytes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    fn call<T>(&self, act: impl FnOnce(&mut State) -> T) -> io::Result<T> {
        let mut state = self.state();
        state.calls_left = state.calls_left.checked_sub(1).ok_or_else(gone)?;
        Ok(act(&mut state))
    }

    fn change(&self, act: impl FnOnce(&mut State)) -> io::Result<()> {
        self.call(|state| {
            state.changes_left = state.changes_left.checked_sub(1).ok_or_else(gone)?;
            state.changes += 1;
            act(state);
            Ok(())
        })?
    }
}

impl State {
    fn take(&mut self, change: Change) {
        change.apply(&mut self.seen);
        self.fresh.push(change);
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Length(length) => bytes.resize(*length, 0),
            Self::Write(at, new) => {
                let end = at + new.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*at..end].copy_from_slice(new);
            }
        }
    }
}

fn gone() -> io::Error {
    io::Error::other("the disk is gone")
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.call(|state| u64::try_from(state.seen.len()).unwrap())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = index(offset);
        self.call(|state| out.copy_from_slice(&state.seen[start..start + out.len()]))
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.change(|state| state.take(Change::Length(index(length))))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.change(|state| {
            for change in std::mem::take(&mut state.fresh) {
                change.apply(&mut state.durable);
            }
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(|state| {
            state.written += u64::try_from(data.len()).unwrap();
            state.take(Change::Write(index(offset), data.to_vec()));
        })
    }
}
