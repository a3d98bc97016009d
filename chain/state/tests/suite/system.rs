//! What the chain itself has in its blocks: rows that it writes, and what blocks carry.
use std::sync::Arc;

use prefinal_execution::{Block, Height, Store};
use prefinal_state::proof::{ListRoot, StateKey, StateRoot};
use prefinal_state::transfers::SignedTransfer;
use prefinal_state::{StoredTransaction, SystemTransaction, decoded_block};
use redb::backends::InMemoryBackend;

use crate::chain::{
    EXECUTOR, GENESIS, RICH, account, certificate, draw, execute, genesis, header, memory, open,
    pay,
};

fn announcement(value: u8) -> SystemTransaction {
    SystemTransaction::Row { key: key(), row: vec![value; 40].into() }
}

fn key() -> StateKey {
    StateKey::new(6, b"epoch")
}

fn carried(byte: u8) -> SystemTransaction {
    SystemTransaction::Carried([byte; 3].into())
}

fn announced(transactions: Vec<SignedTransfer>, value: u8) -> Block<SignedTransfer> {
    let block = Block::new(header(1, GENESIS, 1), transactions);
    block.with_system_transactions([announcement(value).to_bytes().into()])
}

/// The row is proven under the state's root, and the transaction stands last under the receipts' root.
#[test]
fn the_row_is_in_the_state_and_the_transaction_is_the_last_of_its_block() {
    // With transactions in both parts, in one, and with none.
    let (head, tail) = (pay(0, 0, 1, 100), draw(1, 0, &[2], 5));
    for signed in [vec![], vec![head.clone()], vec![tail.clone()], vec![head, tail]] {
        let mut store = memory(3);
        let block = announced(signed.clone(), 7);
        let execution = execute(&EXECUTOR, &store.view().unwrap(), &block);
        let without = Block::new(block.header, signed.clone());
        let without = execute(&EXECUTOR, &store.view().unwrap(), &without);
        assert_ne!(execution.roots.state, without.roots.state);
        assert_ne!(execution.roots.receipts, without.roots.receipts);

        store.write_optimistic(&block, &execution).unwrap();
        store.certify(&block.header, &certificate(1)).unwrap();
        let shown = store.prove(&key()).unwrap();
        assert_eq!(shown.value.as_deref(), Some(&[7; 40][..]));
        let root = StateRoot::new(execution.roots.state);
        shown.proof.verify(root, key(), Some(&[7; 40])).unwrap();
        let last = u32::try_from(signed.len()).unwrap();
        let result = store.result(Height::new(1), last).unwrap().unwrap();
        assert!(result.result.receipt.is_empty());
        let receipts = ListRoot::new(execution.roots.receipts);
        result.proof.verify(receipts, &result.result.item()).unwrap();
        assert!(store.result(Height::new(1), last + 1).unwrap().is_none());
        if signed.len() == 2 {
            assert_eq!(account(&store.view().unwrap(), 0).balance.get(), RICH - 102);
        }
    }
}

#[test]
fn a_block_is_read_back_with_its_system_transactions_before_it_is_certified_and_after() {
    let backend = InMemoryBackend::new();
    let system = [carried(1), carried(2), announcement(7)].map(|one| one.to_bytes());
    let block = Block::new(header(1, GENESIS, 1), vec![pay(0, 0, 1, 100)]);
    let block = block.with_system_transactions(system.clone().map(Arc::from));
    let mut store = open(backend, &genesis(2));
    let execution = execute(&EXECUTOR, &store.view().unwrap(), &block);
    store.write_optimistic(&block, &execution).unwrap();
    let recovered = store.recover().unwrap().optimistic;
    assert_eq!(recovered[0].block.system_transactions(), system.clone().map(Arc::from));
    assert_eq!(recovered[0].block.transactions().len(), 1);
    store.certify(&block.header, &certificate(1)).unwrap();
    let export = store.export(Height::new(1)).unwrap();
    assert_eq!(export.transactions[1..], system);
    // A node that follows the chain executes what it is given, and comes to the same roots.
    let given: Block<SignedTransfer> = decoded_block(export.header, &export.transactions).unwrap();
    let other = memory(2);
    assert_eq!(execute(&EXECUTOR, &other.view().unwrap(), &given).roots, export.roots);
    // One that applies the delta has the row.
    let delta = store.delta(Height::new(1)).unwrap();
    assert!(delta.changes.iter().any(|change| change.key == key()));
}

/// Certified with the block, and nothing else: a peer that follows notices if one is left out or changed.
#[test]
fn what_a_block_carries_changes_its_receipts_and_no_state() {
    let store = memory(2);
    let roots = |carried: &[SystemTransaction]| {
        let block = Block::new(header(1, GENESIS, 1), vec![pay(0, 0, 1, 100)]);
        let carried = carried.iter().map(|one| one.to_bytes().into());
        let block = block.with_system_transactions(carried);
        execute(&EXECUTOR, &store.view().unwrap(), &block).roots
    };
    let [none, one, other, two] =
        [&[][..], &[carried(1)], &[carried(2)], &[carried(1), carried(2)]].map(roots);
    assert!([one, other, two].iter().all(|roots| roots.state == none.state));
    let receipts = [none, one, other, two].map(|roots| roots.receipts);
    let distinct: std::collections::BTreeSet<_> = receipts.into_iter().collect();
    assert_eq!(distinct.len(), 4);
}

#[test]
fn the_chains_transactions_stand_last_in_a_block_and_its_row_behind_all() {
    let [signed, row, carried] =
        [pay(0, 0, 1, 1).to_bytes(), announcement(7).to_bytes(), carried(1).to_bytes()];
    let decodes = |transactions: &[&Vec<u8>]| {
        let transactions: Vec<Vec<u8>> = transactions.iter().copied().cloned().collect();
        decoded_block::<SignedTransfer>(header(1, GENESIS, 1), &transactions).is_some()
    };
    assert!(decodes(&[&signed, &row]) && decodes(&[&row]) && decodes(&[]));
    assert!(decodes(&[&signed, &carried, &carried, &row]) && decodes(&[&carried]));
    assert!(!decodes(&[&row, &signed]) && !decodes(&[&carried, &signed]));
    assert!(!decodes(&[&row, &row]) && !decodes(&[&row, &carried]));
    // Nobody submits one.
    for system in [&row, &carried] {
        assert!(SignedTransfer::from_bytes(system).is_none());
        #[cfg(feature = "evm")]
        assert!(prefinal_state::evm::SignedEnvelope::from_bytes(system).is_none());
    }
    assert!(SystemTransaction::from_bytes(&signed).is_none());
    assert!(SystemTransaction::from_bytes(&row[..32]).is_none());
    assert!(SystemTransaction::from_bytes(&[]).is_none());
}

#[test]
fn a_block_with_garbage_for_a_system_transaction_is_not_executed() {
    let row = announcement(7).to_bytes();
    for garbage in [vec![vec![0xff; 9]], vec![row.clone(), row], vec![vec![]]] {
        let block = Block::<SignedTransfer>::new(header(1, GENESIS, 1), Vec::new());
        let block = block.with_system_transactions(garbage.into_iter().map(Arc::from));
        let store = memory(1);
        prefinal_execution::Executor::head(&EXECUTOR, &store.view().unwrap(), &block).unwrap_err();
    }
}
