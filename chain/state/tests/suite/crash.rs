//! The store on a disk that fails at any write or sync, and loses or tears what was not synced.
//!
//! A script of writes, certifications, reverts and prunings runs on a disk that fails at its k-th change, for every
//! k. Whatever the disk kept of the changes since its last sync, the store that is opened again has done every
//! call that returned, and the one that was cut off not at all or in whole. Every row of every state is then
//! read with its proof.
use prefinal_disk::{Disk, Left};
use prefinal_execution::{Block, BlockId, Execution, Header, Height, Store};
use prefinal_state::proof::StateRoot;
use prefinal_state::transfers::{SignedTransfer, Transfers};
use prefinal_state::{Genesis, StateError, View};
use redb::Builder;

use crate::chain::{
    EXECUTOR, GENESIS, TestStore, certificate, draw, execute, genesis, header, id, memory, pay,
};

/// A call to the store.
#[derive(Clone, Copy, Debug)]
enum Call {
    Write(usize),
    WriteCertified(usize),
    Certify(usize),
    Revert(usize),
    Prune(u64),
}

struct Script {
    blocks: Vec<(Block<SignedTransfer>, Execution<Transfers>)>,
    calls: Vec<Call>,
    genesis: Genesis,
    /// The last committed block, and those that are optimistic, after so many calls.
    after: Vec<(BlockId, Vec<BlockId>)>,
}

/// Forks, of which the second wins; a child of the loser; a tail; a block certified at once; pruning.
fn script() -> Script {
    let blocks: [(Header, Vec<SignedTransfer>); 6] = [
        (header(1, GENESIS, 1), vec![pay(0, 0, 1, 5), pay(1, 0, 20, 5)]),
        (header(2, GENESIS, 1), vec![pay(0, 0, 2, 7), draw(3, 0, &[4, 5, 30], 8)]),
        (header(3, BlockId::new([1; 32]), 2), vec![pay(2, 0, 21, 5)]),
        (header(4, BlockId::new([2; 32]), 2), vec![pay(2, 0, 22, 5), pay(6, 0, 7, 1)]),
        (header(5, BlockId::new([4; 32]), 3), vec![pay(2, 1, 23, 5)]),
        (header(6, BlockId::new([5; 32]), 4), vec![pay(2, 2, 24, 5)]),
    ];
    let mut views = vec![(GENESIS, memory(10).view().unwrap())];
    let executed = blocks.map(|(header, transactions)| {
        let block = Block::new(header, transactions);
        let parent = views.iter().find(|(id, _)| *id == header.parent).unwrap().1.clone();
        let execution = execute(&EXECUTOR, &parent, &block);
        views.push((header.id, execution.view.clone()));
        (block, execution)
    });
    let [g, b1, b2, b3, b4, b5, b6] = [0, 1, 2, 3, 4, 5, 6].map(|name| BlockId::new([name; 32]));
    let calls = [
        (Call::Write(0), (g, vec![b1])),
        (Call::Write(1), (g, vec![b1, b2])),
        (Call::Write(2), (g, vec![b1, b2, b3])),
        (Call::Certify(1), (b2, vec![b1, b3])),
        (Call::Write(3), (b2, vec![b1, b3, b4])),
        (Call::Revert(2), (b2, vec![b1, b4])),
        (Call::Certify(3), (b4, vec![b1])),
        (Call::Revert(0), (b4, vec![])),
        (Call::WriteCertified(4), (b5, vec![])),
        (Call::Prune(2), (b5, vec![])),
        (Call::Write(5), (b5, vec![b6])),
        (Call::Certify(5), (b6, vec![])),
    ];
    let mut after = vec![(g, vec![])];
    after.extend(calls.iter().map(|(_, state)| state.clone()));
    let calls = calls.iter().map(|(call, _)| *call).collect();
    Script { blocks: executed.into(), calls, genesis: genesis(10), after }
}

impl Script {
    /// How many calls returned before the disk failed, and whether it did before the store was open.
    fn run(&self, disk: &Disk) -> Option<usize> {
        let database = Builder::new().create_with_backend(disk.clone()).ok()?;
        let mut store = TestStore::within(database, &self.genesis).ok()?;
        let mut done = 0;
        for call in &self.calls {
            if self.call(&mut store, *call).is_err() {
                return Some(done);
            }
            done += 1;
        }
        Some(done)
    }

    fn call(&self, store: &mut TestStore, call: Call) -> Result<(), StateError> {
        let block = |at: usize| &self.blocks[at];
        let name = |at: usize| certificate(block(at).0.header.id.to_bytes()[0]);
        match call {
            Call::Write(at) => store.write_optimistic(&block(at).0, &block(at).1),
            Call::WriteCertified(at) => {
                store.write_certified(&block(at).0, &block(at).1, &name(at))
            }
            Call::Certify(at) => store.certify(&block(at).0.header, &name(at)),
            Call::Revert(at) => store.revert(&block(at).0.header),
            Call::Prune(below) => store.prune(Height::new(below), 10).map(|_| ()),
        }
    }

    /// Opens what a crash left, and compares it with what is promised. Then runs the rest of the script.
    fn check(&self, bytes: Vec<u8>, done: Option<usize>, left: Left) {
        let disk = Disk::holding(bytes);
        let database = match (Builder::new().create_with_backend(disk), done) {
            // Half a database: `create` gives a file its name only when it is whole.
            (Err(_), None) => return,
            (database, _) => database.unwrap(),
        };
        let mut store = TestStore::within(database, &self.genesis).unwrap();
        let recovered = store.recover().unwrap();
        let mut optimistic: Vec<BlockId> =
            recovered.optimistic.iter().map(|one| one.block.header.id).collect();
        optimistic.sort();
        let found = (recovered.committed.block, optimistic);
        let first = done.unwrap_or(0);
        let next = (first + usize::from(done.is_some())).min(self.calls.len());
        let at = (first..=next).find(|at| self.after[*at] == found);
        let at = at.unwrap_or_else(|| panic!("{found:?} after {done:?} calls"));
        self.check_view(&recovered.view, recovered.committed.block);
        for one in &recovered.optimistic {
            self.check_view(&one.view, one.block.header.id);
        }
        if !matches!(left, Left::Torn(_)) {
            return;
        }
        // Pruning shows in neither, and is repeated without harm.
        for call in &self.calls[at..] {
            self.call(&mut store, *call).unwrap();
        }
        assert_eq!(store.committed().unwrap().block, self.after.last().unwrap().0);
        self.check_view(&store.view().unwrap(), self.after.last().unwrap().0);
    }

    /// Every account is there under the root that was computed before the crash.
    fn check_view(&self, view: &View, block: BlockId) {
        let executed = self.blocks.iter().find(|(one, _)| one.header.id == block);
        let root = view.state_root();
        if let Some((_, execution)) = executed {
            assert_eq!(root, StateRoot::new(execution.roots.state));
        }
        for number in (0..8).chain(20..25).chain([30, 31]) {
            let key = id(number).key();
            let shown = view.prove(&key).unwrap();
            assert_eq!(shown.proof.verify(root, key, shown.value.as_deref()), Ok(()));
            assert_eq!(view.get(&key).unwrap(), shown.value);
        }
    }
}

#[test]
fn whatever_change_the_disk_fails_at_nothing_is_lost_or_half_done() {
    let script = script();
    let whole = Disk::holding(Vec::new());
    assert_eq!(script.run(&whole), Some(script.calls.len()));
    let changes = whole.changes();
    assert!(changes > 60, "only {changes} changes");
    let mut cut = vec![0; script.calls.len() + 1];
    for k in 0..=changes {
        let disk = Disk::holding(Vec::new());
        disk.fail_after_changes(k);
        let done = script.run(&disk);
        if let Some(done) = done {
            cut[done] += 1;
        }
        let seed = k as u64;
        for left in [Left::Nothing, Left::All, Left::Torn(seed)] {
            script.check(disk.after_crash(left), done, left);
        }
    }
    assert!(cut.iter().all(|times| *times > 0), "a call was never cut off: {cut:?}");
}
