//! States and deltas that come from elsewhere: in any order, cut off anywhere, or false.
use prefinal_disk::{Disk, Left};
use prefinal_execution::{Block, BlockId, Execution, Height, Store};
use prefinal_state::proof::{KeyRange, VerifiedRange};
use prefinal_state::transfers::SignedTransfer;
use prefinal_state::{
    BlockDelta, DeltaError, Genesis, RangeLimits, SnapshotBlock, StateError, StoredTransaction,
};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use redb::Builder;
use redb::backends::InMemoryBackend;

use crate::chain::{
    Certificate, EXECUTOR, GENESIS, TestStore, certificate, commit, execute, genesis, header,
    memory, open, pay,
};
use crate::ranges::rows;

const ACCOUNTS: u64 = 20;

/// A chain of three blocks.
fn source() -> TestStore {
    let mut store = memory(ACCOUNTS);
    commit(&mut store, 1, vec![pay(0, 0, 30, 5), pay(1, 0, 2, 5)]);
    commit(&mut store, 2, Vec::new());
    commit(&mut store, 3, vec![pay(0, 1, 31, 7), pay(4, 0, 32, 5)]);
    store
}

fn snapshot(store: &TestStore, height: u64) -> SnapshotBlock<Certificate> {
    let height = Height::new(height);
    let block = store.block(height).unwrap();
    let certificate = store.certificate(height).unwrap().unwrap();
    SnapshotBlock { header: block.header, roots: block.roots, certificate }
}

/// Ranges of so many rows, from there on.
fn ranges(store: &TestStore, height: u64, size: usize) -> Vec<VerifiedRange> {
    let view = store.view_at(Height::new(height)).unwrap();
    let limits = RangeLimits { rows: size, bytes: usize::MAX };
    let (mut all, mut next) = (Vec::new(), Some(KeyRange::ALL.first));
    while let Some(first) = next {
        let range = view.range(KeyRange { first, ..KeyRange::ALL }, limits).unwrap();
        let range = range.verify(view.state_root()).unwrap();
        next = range.keys().last.next();
        all.push(range);
    }
    all
}

/// The next block of both chains leaves the same state.
fn goes_on(from: &TestStore, to: &mut TestStore) {
    let mut copy = memory(ACCOUNTS);
    for height in (1..=from.committed().unwrap().height.get()).map(Height::new) {
        replay(from, &mut copy, height).unwrap();
    }
    let next = vec![pay(0, 2, 33, 1), pay(1, 1, 30, 1)];
    let expected = commit(&mut copy, 9, next.clone()).roots;
    assert_eq!(commit(to, 9, next).roots, expected);
}

fn replay(from: &TestStore, to: &mut TestStore, height: Height) -> Result<(), DeltaError> {
    let export = from.export(height).unwrap();
    let delta = from.delta(height).unwrap();
    apply(to, &export, delta)
}

fn apply(
    to: &mut TestStore,
    export: &prefinal_state::BlockExport<Certificate>,
    delta: BlockDelta,
) -> Result<(), DeltaError> {
    let done = delta.apply(&to.view()?, &export.header, &export.roots)?;
    let decoded = export.transactions.iter().map(|bytes| SignedTransfer::from_bytes(bytes));
    let block = Block::new(export.header, decoded.map(Option::unwrap).collect::<Vec<_>>());
    let execution = Execution { roots: done.roots, view: done.view, delta: done.delta };
    to.write_certified(&block, &execution, &export.certificate).map_err(DeltaError::Store)
}

#[test]
fn deltas_lead_to_the_same_states_and_can_be_given_on() {
    let (from, mut to, mut third) = (source(), memory(ACCOUNTS), memory(ACCOUNTS));
    for height in (1..=3).map(Height::new) {
        replay(&from, &mut to, height).unwrap();
        assert_eq!(from.export(height).unwrap(), to.export(height).unwrap());
        replay(&to, &mut third, height).unwrap();
    }
    assert_eq!(from.committed().unwrap(), third.committed().unwrap());
    goes_on(&from, &mut third);
    let missing = |store: &TestStore, height| {
        let error = store.export(Height::new(height)).unwrap_err();
        matches!(error, StateError::NoVersion { .. })
            && matches!(store.delta(Height::new(height)), Err(StateError::NoVersion { .. }))
    };
    assert!(missing(&from, 0) && missing(&from, 4), "the genesis is no block of its chain");
    let mut from = from;
    from.prune(Height::new(2), 10).unwrap();
    assert!(missing(&from, 2), "the lowest state has lost what leads to it");
    assert_eq!(from.lowest(), Height::new(2));
    assert!(from.delta(Height::new(3)).is_ok());
}

#[test]
fn a_false_delta_changes_nothing() {
    let (from, mut to) = (source(), memory(ACCOUNTS));
    let (export, honest) =
        (from.export(Height::new(1)).unwrap(), from.delta(Height::new(1)).unwrap());
    type Lie<'a> = (&'a str, &'a dyn Fn(&mut BlockDelta));
    let lies: [Lie<'_>; 9] = [
        ("a row is missing", &|delta| drop(delta.changes.remove(0))),
        ("a row is another", &|delta| delta.changes[0].value.as_mut().unwrap().push(1)),
        ("a row is removed", &|delta| delta.changes[1].value = None),
        ("rows are in disorder", &|delta| delta.changes.swap(0, 1)),
        ("a row stands twice", &|delta| delta.changes.insert(0, delta.changes[0].clone())),
        ("nothing changes", &|delta| delta.changes.clear()),
        ("all is removed", &|delta| {
            let gone = rows(&memory(ACCOUNTS).view().unwrap()).into_keys();
            let gone = gone.map(|key| prefinal_state::RowChange { key, value: None });
            delta.changes = gone.collect();
        }),
        ("a result is missing", &|delta| drop(delta.results.pop())),
        ("results are in disorder", &|delta| delta.results.swap(0, 1)),
    ];
    for (lie, alter) in lies {
        let mut delta = honest.clone();
        alter(&mut delta);
        let error = apply(&mut to, &export, delta).unwrap_err();
        assert!(!matches!(error, DeltaError::Store(_)), "{lie}: {error}");
        assert_eq!(to.committed().unwrap().height, Height::GENESIS, "{lie}");
    }
    apply(&mut to, &export, honest).unwrap();
}

/// A store on another disk, closed behind the first two blocks of the chain, and opened again after `damage`.
fn damaged(from: &TestStore, damage: impl Fn(&TestStore, &mut Vec<u8>)) -> TestStore {
    let disk = Disk::holding(Vec::new());
    let mut store = open(disk.clone(), &genesis(ACCOUNTS));
    for height in (1..=2).map(Height::new) {
        replay(from, &mut store, height).unwrap();
    }
    drop(store);
    let mut bytes = disk.after_crash(Left::All);
    let before = bytes.clone();
    let intact = open(Disk::holding(bytes.clone()), &genesis(ACCOUNTS));
    damage(&intact, &mut bytes);
    assert!(bytes != before, "nothing is damaged");
    open(Disk::holding(bytes), &genesis(ACCOUNTS))
}

/// Turns a bit behind each place where the file has these bytes.
fn turn_behind(bytes: &mut [u8], what: &[u8; 32], behind: usize) {
    let found: Vec<usize> = bytes
        .windows(what.len())
        .enumerate()
        .filter_map(|(at, window)| (window == what).then_some(at))
        .collect();
    for at in found {
        bytes[at + behind] ^= 1;
    }
}

#[test]
fn a_damaged_file_is_told_from_a_false_delta() {
    let from = source();
    let export = from.export(Height::new(3)).unwrap();
    let honest = from.delta(Height::new(3)).unwrap();
    let before = from.view_at(Height::new(2)).unwrap();
    let mut keys = honest.changes.iter().map(|change| change.key);
    let changed = keys.find(|key| before.get(key).unwrap().is_some()).unwrap();
    // Hashes of nodes beside the paths of what changes.
    let mut store = damaged(&from, |intact, bytes| {
        for change in &honest.changes {
            let proof = intact.view().unwrap().prove(&change.key).unwrap().proof;
            proof.siblings.iter().for_each(|hash| turn_behind(bytes, hash, 0));
        }
    });
    let error = apply(&mut store, &export, honest.clone()).unwrap_err();
    assert!(matches!(error, DeltaError::Store(StateError::Damaged { .. })), "{error}");
    // Rows that nothing changes, one of which moves up when the row beside it is removed.
    let mut store = damaged(&from, |intact, bytes| {
        for key in rows(&intact.view().unwrap()).keys().filter(|key| **key != changed) {
            turn_behind(bytes, key.as_bytes(), 32);
        }
    });
    let mut removing = honest;
    removing.changes.retain(|change| change.key == changed);
    let false_too = removing.clone();
    removing.changes[0].value = None;
    let error = apply(&mut store, &export, removing).unwrap_err();
    assert!(matches!(error, DeltaError::Store(StateError::Damaged { .. })), "{error}");
    let error = apply(&mut store, &export, false_too).unwrap_err();
    assert!(matches!(error, DeltaError::State), "what is damaged was not read: {error}");
}

#[test]
fn a_state_is_restored_from_ranges_in_any_order() {
    let from = source();
    for seed in 0..24 {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let height = 1 + seed % 3;
        let mut all = ranges(&from, height, 1 + (seed as usize % 7));
        // Some come twice, or within others.
        all.extend(ranges(&from, height, 3).into_iter().step_by(2));
        for at in (1..all.len()).rev() {
            let other = (rng.next_u64() % (at as u64 + 1)) as usize;
            all.swap(at, other);
        }
        let mut to = memory(ACCOUNTS);
        to.begin_restore(&snapshot(&from, height)).unwrap();
        for range in &all {
            to.restore_range(range).unwrap();
        }
        assert_eq!(to.missing(), []);
        assert_eq!(to.finish_restore().unwrap().block, snapshot(&from, height).header.id);
        let expected = from.view_at(Height::new(height)).unwrap();
        assert_eq!(rows(&to.view().unwrap()), rows(&expected), "seed {seed}");
        assert_eq!(to.certificate(Height::new(height)).unwrap(), Some(certificate(height as u8)));
        for behind in height + 1..=3 {
            replay(&from, &mut to, Height::new(behind)).unwrap();
        }
        goes_on(&from, &mut to);
        // It serves what it has, and prunes it like any other.
        assert_eq!(to.lowest(), Height::new(height));
        assert!(to.export(Height::new(height)).is_err() && to.view_at(Height::GENESIS).is_err());
        to.prune(Height::new(4), 10).unwrap();
        assert!(rows(&to.view().unwrap()).len() > 20);
    }
}

#[test]
fn an_empty_state_is_restored() {
    let empty = Genesis { block: GENESIS, rows: Default::default() };
    let mut from = open(InMemoryBackend::new(), &empty);
    commit(&mut from, 1, Vec::new());
    let mut to = memory(3);
    to.begin_restore(&snapshot(&from, 1)).unwrap();
    ranges(&from, 1, 5).iter().for_each(|range| to.restore_range(range).unwrap());
    to.finish_restore().unwrap();
    assert_eq!(rows(&to.view().unwrap()).len(), 0);
    commit(&mut to, 2, Vec::new());
}

#[test]
fn what_is_half_restored_is_never_read_and_can_be_given_up() {
    let from = source();
    let mut to = memory(ACCOUNTS);
    let before = rows(&to.view().unwrap());
    assert!(matches!(to.finish_restore(), Err(StateError::NotRestoring)));
    let all = ranges(&from, 3, 4);
    assert!(matches!(to.restore_range(&all[0]), Err(StateError::NotRestoring)));
    // A fork that was written and not committed makes room.
    let block = Block::new(header(8, GENESIS, 1), vec![pay(0, 0, 1, 1)]);
    let execution = execute(&EXECUTOR, &to.view().unwrap(), &block);
    to.write_optimistic(&block, &execution).unwrap();
    to.begin_restore(&snapshot(&from, 3)).unwrap();
    assert!(to.recover().unwrap().optimistic.is_empty());
    to.restore_range(&all[1]).unwrap();
    let error = to.restore_range(&ranges(&from, 2, 4)[0]).unwrap_err();
    assert!(matches!(error, StateError::OtherState));
    assert!(matches!(to.finish_restore(), Err(StateError::NotRestored)));
    let blocked = to.write_optimistic(&block, &execution);
    assert!(matches!(blocked, Err(StateError::Restoring)), "{blocked:?}");
    assert_eq!((rows(&to.view().unwrap()), to.lowest()), (before.clone(), Height::GENESIS));
    assert_eq!(to.committed().unwrap().block, GENESIS);
    // Another state, from which nothing of the first one is left.
    to.begin_restore(&snapshot(&from, 1)).unwrap();
    assert_eq!(to.missing(), [KeyRange::ALL]);
    to.abandon_restore().unwrap();
    assert_eq!(to.restoring().unwrap(), None);
    to.write_optimistic(&block, &execution).unwrap();
    to.revert(&block.header).unwrap();
    to.begin_restore(&snapshot(&from, 3)).unwrap();
    all.iter().for_each(|range| to.restore_range(range).unwrap());
    to.finish_restore().unwrap();
    assert_eq!(rows(&to.view().unwrap()), rows(&from.view().unwrap()));
    let old = to.begin_restore(&snapshot(&from, 3)).unwrap_err();
    assert!(matches!(old, StateError::NotAhead { .. }));
}

/// Begins, restores what is missing, and finishes.
fn restore(
    to: &mut TestStore,
    target: &SnapshotBlock<Certificate>,
    all: &[VerifiedRange],
) -> Result<(), StateError> {
    if to.committed()?.block == target.header.id {
        return Ok(());
    }
    to.begin_restore(target)?;
    for range in all {
        let keys = range.keys();
        if to.missing().iter().any(|gap| gap.first <= keys.last && gap.last >= keys.first) {
            to.restore_range(range)?;
        }
    }
    to.finish_restore().map(|_| ())
}

#[test]
fn whatever_change_the_disk_fails_at_a_state_is_restored_in_the_end() {
    let from = source();
    let (target, all) = (snapshot(&from, 3), ranges(&from, 3, 6));
    let expected = rows(&from.view().unwrap());
    let old = rows(&memory(ACCOUNTS).view().unwrap());
    let genesis = genesis(ACCOUNTS);
    let mut base = Disk::holding(Vec::new());
    drop(open(base.clone(), &genesis));
    base = Disk::holding(base.after_crash(Left::All));
    let bytes = base.after_crash(Left::All);
    let run = |disk: &Disk| -> Result<(), StateError> {
        let database = Builder::new().create_with_backend(disk.clone());
        let Ok(database) = database else { return Err(StateError::NotRestored) };
        restore(&mut TestStore::within(database, &genesis)?, &target, &all)
    };
    run(&base).unwrap();
    let (changes, mut halves) = (base.changes(), 0);
    assert!(changes > 20, "only {changes} changes");
    for k in 0..changes {
        let disk = Disk::holding(bytes.clone());
        disk.fail_after_changes(k);
        let _ = run(&disk);
        for left in [Left::Nothing, Left::All, Left::Torn(k as u64)] {
            let mut store = open(Disk::holding(disk.after_crash(left)), &genesis);
            let block = store.committed().unwrap().block;
            assert!(block == GENESIS || block == BlockId::new([3; 32]));
            if block == GENESIS {
                assert_eq!(rows(&store.view().unwrap()), old);
                let begun = store.restoring().unwrap().is_some();
                halves += usize::from(begun && store.missing() != [KeyRange::ALL]);
            }
            restore(&mut store, &target, &all).unwrap();
            assert_eq!(rows(&store.view().unwrap()), expected);
        }
    }
    assert!(halves > 5, "a crash in the middle: {halves}");
}
