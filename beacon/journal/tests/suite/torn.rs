//! The store on a disk that loses and tears what was not synced.
//!
//! After a crash the journal must hold what was last acknowledged, or what was being written, and nothing
//! else.
use std::cell::Cell;

use prefinal_disk::{Disk, Left};
use prefinal_journal::{Journal, JournalError, Redb};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use redb::Builder;

const OWNER: &str = "owner";

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
    let blank = blank.after_crash(Left::Nothing);
    proptest!(config, |(lives in lives, seed in any::<u64>())| {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut disk = Disk::holding(blank.clone());
        let mut life =
            Life { acknowledged: Vec::new(), attempted: Vec::new(), number: 0 };
        for (steps, operations) in lives {
            let mut journal = open(&disk).unwrap();
            disk.fail_after_calls(operations);
            let crashed = steps.iter().any(|step| life.step(&mut journal, *step).is_err());
            drop(journal);
            if !crashed {
                disk.fail_after_calls(0);
            }
            // Now and then all of it came through.
            let all = rng.next_u32().is_multiple_of(3);
            let left = if all { Left::All } else { Left::Torn(rng.next_u64()) };
            disk = Disk::holding(disk.after_crash(left));
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
