//! The store on a disk that loses and tears what was not synced.
//!
//! Between two syncs a disk may write any of the changes, in part, and in any order. After a crash the
//! journal must hold what was last acknowledged, or what was being written, and nothing else.
use std::cell::Cell;
use std::io;
use std::sync::{Arc, Mutex};

use prefinal_journal::{Journal, JournalError, Redb};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use redb::{Builder, StorageBackend};

const OWNER: &str = "owner";

#[derive(Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

#[derive(Debug, Default)]
struct State {
    /// What a crash cannot take.
    durable: Vec<u8>,
    /// What the process sees.
    seen: Vec<u8>,
    /// What lies between.
    fresh: Vec<Change>,
    /// Operations until the crash.
    left: usize,
}

#[derive(Clone, Debug)]
struct Disk(Arc<Mutex<State>>);

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Length(length) => bytes.resize(*length, 0),
        Change::Write(at, new) => {
            let end = at + new.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*at..end].copy_from_slice(new);
        }
    }
}

impl Disk {
    fn holding(bytes: Vec<u8>) -> Self {
        let state =
            State { durable: bytes.clone(), seen: bytes, fresh: Vec::new(), left: usize::MAX };
        Self(Arc::new(Mutex::new(state)))
    }

    fn crash_after(&self, operations: usize) {
        self.0.lock().unwrap().left = operations;
    }

    fn step<T>(&self, act: impl FnOnce(&mut State) -> T) -> io::Result<T> {
        let mut state = self.0.lock().unwrap();
        if state.left == 0 {
            return Err(io::Error::other("crash"));
        }
        state.left -= 1;
        Ok(act(&mut state))
    }

    fn change(&self, change: Change) -> io::Result<()> {
        self.step(|state| {
            apply(&mut state.seen, &change);
            state.fresh.push(change);
        })
    }

    /// What a crash leaves: of each fresh change all, nothing, or its beginning.
    fn after_crash(&self, rng: &mut ChaCha20Rng) -> Self {
        let state = self.0.lock().unwrap();
        let mut bytes = state.durable.clone();
        // Now and then all of it came through, and only the answer is missing.
        let kind = if rng.next_u32().is_multiple_of(3) { 4 } else { 0 };
        for change in &state.fresh {
            match (rng.next_u32() % 4 + kind, change) {
                (0, _) => {}
                (1, Change::Write(at, new)) => {
                    let most = u32::try_from(new.len()).unwrap().max(1);
                    let torn = usize::try_from(rng.next_u32() % most).unwrap();
                    apply(&mut bytes, &Change::Write(*at, new[..torn].to_vec()));
                }
                _ => apply(&mut bytes, change),
            }
        }
        Self::holding(bytes)
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.step(|state| u64::try_from(state.seen.len()).unwrap())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = index(offset);
        self.step(|state| out.copy_from_slice(&state.seen[start..start + out.len()]))
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.change(Change::Length(index(length)))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.step(|state| {
            for change in std::mem::take(&mut state.fresh) {
                apply(&mut state.durable, &change);
            }
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(Change::Write(index(offset), data.to_vec()))
    }
}

fn open(disk: &Disk) -> Result<Redb, JournalError> {
    let mut builder = Builder::new();
    builder.set_check_integrity_on_open(true).set_cache_size(1 << 20);
    let database = builder.create_with_backend(disk.clone());
    let database = database
        .map_err(|error| JournalError::storage(prefinal_journal::JournalOperation::Open, error))?;
    Redb::within(database, OWNER)
}

/// Appends so many records and syncs, or puts so many in the place of all.
#[derive(Clone, Copy, Debug)]
enum Step {
    Add(u8),
    Replace(u8),
}

struct Life {
    acknowledged: Vec<Vec<u8>>,
    attempted: Vec<Vec<u8>>,
    number: u64,
}

impl Life {
    fn records(&mut self, count: u8) -> Vec<Vec<u8>> {
        let mut next = || {
            self.number += 1;
            // Some take more than a page.
            self.number.to_be_bytes().repeat(if self.number.is_multiple_of(5) { 700 } else { 8 })
        };
        (0..count).map(|_| next()).collect()
    }

    fn step(&mut self, journal: &mut Redb, step: Step) -> Result<(), JournalError> {
        match step {
            Step::Add(count) => {
                let records = self.records(count);
                self.attempted.extend(records.iter().cloned());
                records.iter().try_for_each(|record| journal.append(record))?;
                journal.sync()?;
            }
            Step::Replace(count) => {
                let records = self.records(count);
                self.attempted.clone_from(&records);
                journal.replace(&records)?;
            }
        }
        self.acknowledged.clone_from(&self.attempted);
        Ok(())
    }
}

#[test]
fn a_torn_write_leaves_the_last_or_the_next_state() {
    let step = prop_oneof![
        5 => (1_u8..9).prop_map(Step::Add),
        1 => (0_u8..5).prop_map(Step::Replace),
    ];
    let life = (prop::collection::vec(step, 1..12), 0_usize..120);
    let lives = prop::collection::vec(life, 1..6);
    let config = ProptestConfig {
        cases: 64,
        rng_seed: RngSeed::Fixed(711),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let crashes = [Cell::new(0_u32), Cell::new(0)];
    let blank = Disk::holding(Vec::new());
    drop(open(&blank).unwrap());
    let blank = blank.0.lock().unwrap().durable.clone();
    proptest!(config, |(lives in lives, seed in any::<u64>())| {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut disk = Disk::holding(blank.clone());
        let mut life =
            Life { acknowledged: Vec::new(), attempted: Vec::new(), number: 0 };
        for (steps, operations) in lives {
            let mut journal = open(&disk).unwrap();
            disk.crash_after(operations);
            let crashed = steps.iter().any(|step| life.step(&mut journal, *step).is_err());
            drop(journal);
            if !crashed {
                disk.crash_after(0);
            }
            disk = disk.after_crash(&mut rng);
            let found = open(&disk).unwrap().replay().unwrap();
            if found == life.acknowledged {
                crashes[0].set(crashes[0].get() + 1);
            } else {
                crashes[1].set(crashes[1].get() + 1);
                prop_assert_eq!(&found, &life.attempted);
            }
            life.acknowledged.clone_from(&found);
            life.attempted = found;
        }
    });
    // Both ends of a crash were met.
    assert!(crashes.iter().all(|count| count.get() > 5), "{crashes:?}");
}
