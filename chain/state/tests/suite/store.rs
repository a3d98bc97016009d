//! Blocks are written before they are certified, on several forks, and found again.
use prefinal_disk::Disk;
use prefinal_execution::{Block, BlockId, Height, Store};
use prefinal_state::StateError;
use redb::{Builder, ReadableDatabase, ReadableTableMetadata, TableDefinition};

use crate::chain::{
    EXECUTOR, GENESIS, RICH, TestStore, account, certificate, commit, execute, genesis, header,
    memory, pay,
};

const NODES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("nodes");

#[test]
fn forks_of_one_height_do_not_see_each_other() {
    let mut store = memory(10);
    let base = store.view().unwrap();
    let left = Block::new(header(1, GENESIS, 1), vec![pay(0, 0, 1, 100)]);
    let right = Block::new(header(2, GENESIS, 1), vec![pay(0, 0, 2, 300), pay(3, 0, 77, 1)]);
    let (on_left, on_right) = (execute(&EXECUTOR, &base, &left), execute(&EXECUTOR, &base, &right));
    assert_ne!(on_left.roots, on_right.roots);
    store.write_optimistic(&left, &on_left).unwrap();
    store.write_optimistic(&right, &on_right).unwrap();

    // Children of both, before anything is certified.
    let above = Block::new(header(3, left.header.id, 2), vec![pay(1, 0, 0, 50)]);
    let beside = Block::new(header(4, right.header.id, 2), vec![pay(2, 0, 0, 50)]);
    let on_above = execute(&EXECUTOR, &on_left.view, &above);
    let on_beside = execute(&EXECUTOR, &on_right.view, &beside);
    store.write_optimistic(&above, &on_above).unwrap();
    store.write_optimistic(&beside, &on_beside).unwrap();
    assert_eq!(account(&on_above.view, 0).balance.get(), RICH - 100 - 2 + 50);
    assert_eq!(account(&on_beside.view, 0).balance.get(), RICH - 300 - 2 + 50);
    assert_eq!(account(&store.view().unwrap(), 0).balance.get(), RICH);

    store.certify(&right.header, &certificate(2)).unwrap();
    store.certify(&beside.header, &certificate(4)).unwrap();
    store.revert(&above.header).unwrap();
    store.revert(&left.header).unwrap();
    let view = store.view().unwrap();
    assert_eq!(view.state_root().as_bytes(), &on_beside.roots.state);
    assert_eq!(account(&view, 0).balance.get(), RICH - 300 - 2 + 50);
    assert_eq!(store.certificate(Height::new(2)).unwrap(), Some(certificate(4)));
    // Older states, and views that lost, are still readable.
    let older = store.view_at(Height::new(1)).unwrap();
    assert_eq!(older.state_root().as_bytes(), &on_right.roots.state);
    assert_eq!(account(&older, 0).balance.get(), RICH - 302);
    assert_eq!(account(&on_above.view, 1).balance.get(), RICH + 100 - 52);
    // A child of a fork's block finds nodes by the fork's number.
    let next = commit(&mut store, 5, vec![pay(5, 0, 77, 5)]);
    assert_eq!(account(&next.view, 77).balance.get(), 6);
}

#[test]
fn what_is_certified_is_the_next_block_and_is_written() {
    let mut store = memory(4);
    let base = store.view().unwrap();
    let first = Block::new(header(1, GENESIS, 1), vec![pay(0, 0, 1, 1)]);
    let on_first = execute(&EXECUTOR, &base, &first);
    let second = Block::new(header(2, first.header.id, 2), vec![pay(1, 0, 0, 1)]);
    let on_second = execute(&EXECUTOR, &on_first.view, &second);

    let no_parent = store.write_optimistic(&second, &on_second);
    assert!(matches!(no_parent, Err(StateError::NoParent { block }) if block == second.header.id));
    let not_written = store.certify(&first.header, &certificate(1));
    assert!(matches!(not_written, Err(StateError::NoBlock { .. })));
    store.write_optimistic(&first, &on_first).unwrap();
    store.write_optimistic(&first, &on_first).unwrap();
    store.write_optimistic(&second, &on_second).unwrap();
    let skipped = store.certify(&second.header, &certificate(2));
    assert!(matches!(skipped, Err(StateError::NotNext { .. })));
    let skipped = store.write_certified(&second, &on_second, &certificate(2));
    assert!(matches!(skipped, Err(StateError::NotNext { .. })));
    // Of a block that is not written yet, too.
    let third = Block::new(header(3, second.header.id, 3), vec![pay(2, 0, 0, 1)]);
    let on_third = execute(&EXECUTOR, &on_second.view, &third);
    let skipped = store.write_certified(&third, &on_third, &certificate(3));
    assert!(matches!(skipped, Err(StateError::NotNext { .. })));
    store.certify(&first.header, &certificate(1)).unwrap();
    let committed = store.revert(&first.header);
    assert!(matches!(committed, Err(StateError::Committed { .. })));
    store.write_certified(&second, &on_second, &certificate(2)).unwrap();
    assert_eq!(store.committed().unwrap().roots, on_second.roots);
    store.revert(&header(9, GENESIS, 1)).unwrap();
}

#[test]
fn a_sibling_may_be_written_after_a_block_is_committed() {
    let mut store = memory(4);
    let base = store.view().unwrap();
    let winner = Block::new(header(1, GENESIS, 1), vec![pay(0, 0, 1, 1)]);
    let late = Block::new(header(2, GENESIS, 1), vec![pay(0, 0, 2, 1)]);
    let above = Block::new(header(3, late.header.id, 2), vec![pay(1, 0, 2, 1)]);
    let [on_winner, on_late] = [&winner, &late].map(|block| execute(&EXECUTOR, &base, block));
    store.write_optimistic(&winner, &on_winner).unwrap();
    store.certify(&winner.header, &certificate(1)).unwrap();
    store.write_optimistic(&late, &on_late).unwrap();
    let on_above = execute(&EXECUTOR, &on_late.view, &above);
    store.write_optimistic(&above, &on_above).unwrap();
    assert_eq!(store.recover().unwrap().optimistic.len(), 2);
    store.revert(&above.header).unwrap();
    store.revert(&late.header).unwrap();
    commit(&mut store, 4, vec![pay(2, 0, 3, 1)]);
    // What is committed below the last block is committed too.
    store.write_optimistic(&winner, &on_winner).unwrap();
    let committed = store.revert(&winner.header);
    assert!(matches!(committed, Err(StateError::Committed { .. })));
    assert_eq!(store.recover().unwrap().optimistic.len(), 0);
}

/// After a crash, a party asks again for what may have happened already.
#[test]
fn a_call_that_comes_again_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.redb");
    let mut store = TestStore::create(&path, &genesis(4)).unwrap();
    let block = Block::new(header(1, GENESIS, 1), vec![pay(0, 0, 1, 1)]);
    let execution = execute(&EXECUTOR, &store.view().unwrap(), &block);
    for _ in 0..2 {
        store.write_optimistic(&block, &execution).unwrap();
        assert_eq!(store.recover().unwrap().optimistic.len(), 1);
    }
    for _ in 0..2 {
        store.certify(&block.header, &certificate(1)).unwrap();
        store.write_certified(&block, &execution, &certificate(2)).unwrap();
        store.write_optimistic(&block, &execution).unwrap();
        assert_eq!(store.recover().unwrap().optimistic.len(), 0);
        assert_eq!(store.certificate(Height::new(1)).unwrap(), Some(certificate(1)));
    }
    drop((store, execution));
    let mut store = TestStore::open(&path, &genesis(4)).unwrap();
    assert_eq!(store.recover().unwrap().optimistic.len(), 0);
}

#[test]
fn a_reverted_block_leaves_no_row_to_the_block_that_takes_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.redb");
    let mut store = TestStore::create(&path, &genesis(30)).unwrap();
    let base = store.view().unwrap();
    let payments = (0..9).map(|sender| pay(sender, 0, 50 + sender, 7)).collect::<Vec<_>>();
    let reverted = Block::new(header(1, GENESIS, 1), payments);
    store.write_optimistic(&reverted, &execute(&EXECUTOR, &base, &reverted)).unwrap();
    store.revert(&reverted.header).unwrap();
    let block = Block::new(header(2, GENESIS, 1), vec![pay(20, 0, 21, 7)]);
    let execution = execute(&EXECUTOR, &base, &block);
    store.write_optimistic(&block, &execution).unwrap();
    drop((store, base, execution));

    let mut store = TestStore::open(&path, &genesis(30)).unwrap();
    let found = store.recover().unwrap().optimistic.remove(0);
    assert_eq!(found.block.header, block.header);
    for number in 0..9 {
        assert_eq!(account(&found.view, number).balance.get(), RICH);
        assert_eq!(account(&found.view, 50 + number).balance.get(), 0);
    }
    assert_eq!(account(&found.view, 21).balance.get(), RICH + 7);
}

/// The same blocks, written after their certification in one transaction each, and in two.
#[test]
fn one_write_gives_what_two_give() {
    let (mut one, mut two) = (memory(5), memory(5));
    for height in 1..5_u8 {
        let parent = one.committed().unwrap().block;
        let nonce = u64::from(height) - 1;
        let block = Block::new(header(height, parent, height.into()), vec![pay(0, nonce, 1, 5)]);
        let execution = execute(&EXECUTOR, &one.view().unwrap(), &block);
        one.write_certified(&block, &execution, &certificate(height)).unwrap();
        commit(&mut two, height, vec![pay(0, nonce, 1, 5)]);
        assert_eq!(one.committed().unwrap(), two.committed().unwrap());
        let at = Height::new(height.into());
        assert_eq!(one.certificate(at).unwrap(), two.certificate(at).unwrap());
    }
}

#[test]
fn a_block_without_changes_has_its_parents_root() {
    let mut store = memory(3);
    let root = store.view().unwrap().state_root();
    for name in 1..4 {
        let execution = commit(&mut store, name, vec![]);
        assert_eq!(&execution.roots.state, root.as_bytes());
    }
    commit(&mut store, 4, vec![pay(0, 0, 1, 1)]);
    assert_ne!(store.view().unwrap().state_root(), root);
}

#[test]
fn the_store_of_another_genesis_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.redb");
    assert!(matches!(TestStore::open(&path, &genesis(3)), Err(StateError::Storage { .. })));
    std::fs::write(path.with_added_extension("new"), b"half a file").unwrap();
    drop(TestStore::create(&path, &genesis(3)).unwrap());
    assert!(matches!(TestStore::create(&path, &genesis(3)), Err(StateError::Folder { .. })));
    assert!(matches!(TestStore::open(&path, &genesis(4)), Err(StateError::OtherGenesis)));
    TestStore::open(&path, &genesis(3)).unwrap();
}

#[test]
fn what_was_written_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.redb");
    let mut store = TestStore::create(&path, &genesis(30)).unwrap();
    commit(&mut store, 1, vec![pay(0, 0, 1, 100), pay(1, 0, 2, 5)]);
    let base = store.view().unwrap();
    let parent = store.committed().unwrap().block;
    let block = Block::new(header(2, parent, 2), vec![pay(2, 0, 99, 7), pay(4, 0, 5, 1)]);
    let fork = Block::new(header(3, parent, 2), vec![pay(2, 0, 98, 8)]);
    let child = Block::new(header(4, fork.header.id, 3), vec![pay(0, 1, 97, 8)]);
    let on_block = execute(&EXECUTOR, &base, &block);
    let on_fork = execute(&EXECUTOR, &base, &fork);
    let on_child = execute(&EXECUTOR, &on_fork.view, &child);
    for (block, execution) in [(&block, &on_block), (&fork, &on_fork), (&child, &on_child)] {
        store.write_optimistic(block, execution).unwrap();
    }
    let next = Block::new(header(5, child.header.id, 4), vec![pay(6, 0, 97, 8)]);
    let before = execute(&EXECUTOR, &on_child.view, &next).roots;
    let (block_roots, child_roots) = (on_block.roots, on_child.roots);
    drop((store, base, on_block, on_fork, on_child));

    let mut store = TestStore::open(&path, &genesis(30)).unwrap();
    let recovered = store.recover().unwrap();
    assert_eq!(recovered.committed.block, parent);
    let mut found = recovered.optimistic;
    found.sort_by_key(|one| one.block.header);
    let names: Vec<BlockId> = found.iter().map(|one| one.block.header.id).collect();
    assert_eq!(names, [block.header.id, fork.header.id, child.header.id]);
    assert_eq!(found[2].roots, child_roots);
    assert_eq!(found[2].view.state_root().as_bytes(), &child_roots.state);
    assert_eq!(found[0].block.transactions(), block.transactions());
    assert_eq!(account(&found[2].view, 97).balance.get(), 8);
    assert_eq!(account(&found[2].view, 99).balance.get(), 0);
    // Executed on what was found, a further block has the same roots as before the crash.
    let again = execute(&EXECUTOR, &found[2].view, &next);
    assert_eq!(again.roots, before);
    store.certify(&fork.header, &certificate(3)).unwrap();
    store.certify(&child.header, &certificate(4)).unwrap();
    store.write_optimistic(&next, &again).unwrap();
    store.certify(&next.header, &certificate(5)).unwrap();
    drop((store, again, found, recovered.view));

    // The loser was not reverted before this crash, and is now.
    let mut store = TestStore::open(&path, &genesis(30)).unwrap();
    let recovered = store.recover().unwrap();
    assert_eq!(recovered.committed.height, Height::new(4));
    assert_eq!(recovered.optimistic.len(), 1);
    assert_eq!(recovered.optimistic[0].view.state_root().as_bytes(), &block_roots.state);
    store.revert(&recovered.optimistic[0].block.header).unwrap();
    assert_eq!(account(&store.view().unwrap(), 97).balance.get(), 16);
}

#[test]
fn pruning_leaves_what_later_states_need_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.redb");
    let mut store = TestStore::create(&path, &genesis(50)).unwrap();
    for height in 1..=20_u8 {
        // Every third height is won by the second fork, so that nodes of both numbers survive.
        let committed = store.committed().unwrap();
        if height % 3 == 0 {
            let loser = Block::new(header(100 + height, committed.block, height.into()), vec![]);
            let execution = execute(&EXECUTOR, &store.view().unwrap(), &loser);
            store.write_optimistic(&loser, &execution).unwrap();
        }
        let sender = u64::from(height) % 7;
        let nonce = u64::from(height) / 7;
        commit(&mut store, height, vec![pay(sender, nonce, u64::from(height) + 20, 1)]);
        if height % 3 == 0 {
            store.revert(&header(100 + height, committed.block, height.into())).unwrap();
        }
    }
    assert_eq!(store.prune(Height::new(15), 4).unwrap(), Height::new(4));
    assert_eq!(store.prune(Height::new(15), 100).unwrap(), Height::new(15));
    assert!(matches!(store.view_at(Height::new(14)), Err(StateError::NoVersion { .. })));
    for height in 15..=20 {
        let view = store.view_at(Height::new(height)).unwrap();
        for number in 0..50 {
            let shown = view.prove(&crate::chain::id(number).key()).unwrap();
            let root = view.state_root();
            let key = crate::chain::id(number).key();
            assert_eq!(shown.proof.verify(root, key, shown.value.as_deref()), Ok(()));
        }
    }
    // Beyond the last committed block nothing is pruned.
    assert_eq!(store.prune(Height::new(1000), 1000).unwrap(), Height::new(20));
    let rows: Vec<_> = (0..50).map(|number| account(&store.view().unwrap(), number)).collect();
    drop(store);
    let store = TestStore::open(&path, &genesis(50)).unwrap();
    for (number, row) in (0..50).zip(rows) {
        assert_eq!(account(&store.view().unwrap(), number), row);
    }
    drop(store);
    let database = Builder::new().open(&path).unwrap();
    let nodes = database.begin_read().unwrap().open_table(NODES).unwrap().len().unwrap();
    // A tree of 51 leaves of which each inner node has two children or more.
    assert!((52..110).contains(&nodes), "{nodes} nodes are left");
}

/// Bytes of all that is in these tables of blocks from this height on.
fn rows_from(database: &redb::Database, first: u64) -> u64 {
    let read = database.begin_read().unwrap();
    let mut bytes = 0;
    for name in ["marks", "blocks", "transactions", "results", "stale"] {
        let table = TableDefinition::<(u64, u16), &[u8]>::new(name);
        for row in read.open_table(table).unwrap().range((first, 0)..).unwrap() {
            bytes += row.unwrap().1.value().len();
        }
    }
    let nodes = read.open_table(NODES).unwrap();
    for row in nodes.range(first.to_be_bytes().as_slice()..).unwrap() {
        let (key, node) = row.unwrap();
        bytes += key.value().len() + node.value().len();
    }
    bytes as u64
}

/// A follower's block: written with its certificate.
fn follow(store: &mut TestStore, height: u64) {
    let parent = store.committed().unwrap().block;
    let (sender, nonce) = (height % 30, height / 30);
    let transactions = vec![pay(sender, nonce, height + 100, 1), pay(30, height - 1, sender, 1)];
    let name = u8::try_from(height % 200 + 1).unwrap();
    let block = Block::new(header(name, parent, height), transactions);
    let execution = execute(&EXECUTOR, &store.view().unwrap(), &block);
    store.write_certified(&block, &execution, &certificate(name)).unwrap();
}

#[test]
fn the_bytes_of_blocks_are_those_that_are_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.redb");
    let mut store = TestStore::create(&path, &genesis(40)).unwrap();
    assert_eq!(store.block_bytes(), 0);
    (1..=20).for_each(|height| follow(&mut store, height));
    let all = store.block_bytes();
    assert_eq!(store.prune(Height::new(9), 100).unwrap(), Height::new(9));
    let kept = store.block_bytes();
    assert!(kept > all / 3 && kept < all * 2 / 3, "{kept} of {all}");
    // What is written and not committed does not count before it is.
    let parent = store.committed().unwrap().block;
    let next = Block::new(header(77, parent, 21), vec![]);
    let execution = execute(&EXECUTOR, &store.view().unwrap(), &next);
    store.write_optimistic(&next, &execution).unwrap();
    drop((store, execution));
    let mut store = TestStore::open(&path, &genesis(40)).unwrap();
    assert_eq!(store.block_bytes(), kept);
    store.certify(&next.header, &certificate(77)).unwrap();
    let with_next = store.block_bytes();
    assert!(with_next > kept);
    drop(store);
    let store = TestStore::open(&path, &genesis(40)).unwrap();
    assert_eq!(store.block_bytes(), with_next);
    drop(store);
    let database = Builder::new().open(&path).unwrap();
    assert_eq!(rows_from(&database, 10) - rows_from(&database, 21), kept);
}

#[test]
fn a_file_whose_blocks_are_forgotten_stays_as_long_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.redb");
    let mut store = TestStore::create(&path, &genesis(40)).unwrap();
    let mut length = |heights: std::ops::Range<u64>| {
        for height in heights {
            follow(&mut store, height);
            store.prune(Height::new(height.saturating_sub(20)), 8).unwrap();
        }
        std::fs::metadata(&path).unwrap().len()
    };
    let before = length(1..45);
    let after = length(45..100);
    assert_eq!(after, before);
    drop(store);
    let mut store = TestStore::create(&folder.path().join("whole"), &genesis(40)).unwrap();
    (1..100).for_each(|height| follow(&mut store, height));
    let whole = std::fs::metadata(folder.path().join("whole")).unwrap().len();
    assert!(whole > after, "{whole} bytes with all blocks, {after} with the last ones");
}

#[test]
fn certifying_writes_little_whatever_the_block() {
    let disk = Disk::holding(Vec::new());
    let mut store = crate::chain::open(disk.clone(), &genesis(600));
    let block = Block::new(
        header(1, GENESIS, 1),
        (0..500).map(|sender| pay(sender, 0, sender + 1, 1)).collect::<Vec<_>>(),
    );
    let execution = execute(&EXECUTOR, &store.view().unwrap(), &block);
    let start = disk.written();
    store.write_optimistic(&block, &execution).unwrap();
    let big = disk.written();
    store.certify(&block.header, &certificate(1)).unwrap();
    let small = disk.written() - big;
    let big = big - start;
    assert!(small * 10 < big, "the mark took {small} bytes, the block {big}");
    assert!(small < 64 << 10, "the mark took {small} bytes");
}
