//! The tree against a map: whatever was put and removed before, the same rows have the same root.
use std::collections::BTreeMap;
use std::sync::Arc;

use prefinal_disk::{Disk, Left};
use prefinal_execution::{Block, BlockId, Execution, Store};
use prefinal_state::proof::StateKey;
use prefinal_state::{Changes, Finished, Genesis, Pending, Row};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use redb::backends::InMemoryBackend;

use crate::chain::{GENESIS, certificate, header, open};

/// What a block does: rows that its head changes, and rows that its tail changes.
type Steps = (Vec<(u8, Option<u8>)>, Vec<(u8, Option<u8>)>);

fn changes(rows: &[(u8, Option<u8>)]) -> Changes {
    rows.iter().map(|(name, value)| (key(*name), value.map(row))).collect()
}

fn key(name: u8) -> StateKey {
    StateKey::new(9, &[name])
}

fn row(value: u8) -> Row {
    Arc::from([value; 3])
}

fn fresh(rows: &BTreeMap<StateKey, Row>) -> [u8; 32] {
    let genesis = Genesis { block: GENESIS, rows: rows.clone() };
    *open(InMemoryBackend::new(), &genesis).view().unwrap().state_root().as_bytes()
}

fn steps() -> impl Strategy<Value = Vec<Steps>> {
    // Few names, so that rows are removed as often as they are put, and the tree becomes empty now and then.
    let rows = || prop::collection::vec((0..24_u8, prop::option::of(any::<u8>())), 0..12);
    prop::collection::vec((rows(), rows()), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        rng_seed: RngSeed::Fixed(23),
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_root_depends_on_the_rows_alone(blocks in steps(), certified in any::<u64>()) {
        let genesis = Genesis { block: GENESIS, rows: BTreeMap::from([(key(0), row(0))]) };
        let disk = Disk::holding(Vec::new());
        let mut store = open(disk.clone(), &genesis);
        let mut model = genesis.rows.clone();
        let mut view = store.view().unwrap();
        let mut waiting = Vec::new();
        let mut parent = GENESIS;
        for (at, (head, tail)) in blocks.iter().enumerate() {
            let name = u8::try_from(at + 1).unwrap();
            let header = header(name, parent, name.into());
            let mut pending = Pending::new(&view, &header);
            for part in [head, tail] {
                pending.apply(changes(part)).unwrap();
                for (key, row) in changes(part) {
                    match row {
                        Some(row) => model.insert(key, row),
                        None => model.remove(&key),
                    };
                }
            }
            let Finished { roots, view: next, delta } = pending.finish(&header, vec![]).unwrap();
            prop_assert_eq!(roots.state, fresh(&model));
            let execution = Execution { roots, view: next.clone(), delta };
            store.write_optimistic(&Block::new(header, vec![]), &execution).unwrap();
            waiting.push(header);
            // Certify now and then, so that nodes are read from memory and from the file.
            if certified >> at & 1 == 1 {
                for header in waiting.drain(..) {
                    let name = header.id.to_bytes()[0];
                    store.certify(&header, &certificate(name)).unwrap();
                }
            }
            for name in 0..24 {
                let shown = next.prove(&key(name)).unwrap();
                prop_assert_eq!(&shown.value, &model.get(&key(name)).cloned());
                prop_assert_eq!(&next.get(&key(name)).unwrap(), &shown.value);
                let root = next.state_root();
                prop_assert_eq!(shown.proof.verify(root, key(name), shown.value.as_deref()), Ok(()));
            }
            view = next;
            parent = BlockId::new([name; 32]);
        }
        // What is found on the disk is what was in memory, removed rows included.
        let left = Disk::holding(disk.after_crash(Left::Nothing));
        let recovered = open(left, &genesis).recover().unwrap();
        let last = recovered.optimistic.iter().find(|one| one.block.header.id == parent);
        let found = last.map_or(recovered.view, |one| one.view.clone());
        for name in 0..24 {
            prop_assert_eq!(found.get(&key(name)).unwrap(), model.get(&key(name)).cloned());
        }
        let pruned = store.prune(prefinal_execution::Height::new(100), 100).unwrap();
        prop_assert_eq!(pruned, store.committed().unwrap().height);
        for name in 0..24 {
            prop_assert_eq!(view.prove(&key(name)).unwrap().value, model.get(&key(name)).cloned());
            let after = store.view().unwrap().prove(&key(name)).unwrap();
            let root = store.view().unwrap().state_root();
            prop_assert_eq!(after.proof.verify(root, key(name), after.value.as_deref()), Ok(()));
        }
    }
}
