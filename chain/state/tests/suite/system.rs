//! Rows that the chain itself writes with a block.
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
    SystemTransaction { key: StateKey::new(6, b"epoch"), row: vec![value; 40].into() }
}

fn announced(transactions: Vec<SignedTransfer>, value: u8) -> Block<SignedTransfer> {
    let block = Block::new(header(1, GENESIS, 1), transactions);
    block.with_system_transaction(announcement(value).to_bytes())
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
        let system = announcement(7);
        let shown = store.prove(&system.key).unwrap();
        assert_eq!(shown.value.as_deref(), Some(&*system.row));
        let root = StateRoot::new(execution.roots.state);
        shown.proof.verify(root, system.key, Some(&system.row)).unwrap();
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
fn a_block_is_read_back_with_its_system_transaction_before_it_is_certified_and_after() {
    let backend = InMemoryBackend::new();
    let block = announced(vec![pay(0, 0, 1, 100)], 7);
    let mut store = open(backend, &genesis(2));
    let execution = execute(&EXECUTOR, &store.view().unwrap(), &block);
    store.write_optimistic(&block, &execution).unwrap();
    let recovered = store.recover().unwrap().optimistic;
    assert_eq!(recovered[0].block.system_transaction(), block.system_transaction());
    assert_eq!(recovered[0].block.transactions().len(), 1);
    store.certify(&block.header, &certificate(1)).unwrap();
    let export = store.export(Height::new(1)).unwrap();
    // Who follows the chain executes what it is given, and comes to the same roots.
    let given: Block<SignedTransfer> = decoded_block(export.header, &export.transactions).unwrap();
    let other = memory(2);
    assert_eq!(execute(&EXECUTOR, &other.view().unwrap(), &given).roots, export.roots);
    // So does who applies the delta.
    let delta = store.delta(Height::new(1)).unwrap();
    let key = announcement(7).key;
    assert!(delta.changes.iter().any(|change| change.key == key));
}

#[test]
fn only_the_last_transaction_of_a_block_may_be_the_chains() {
    let (signed, system) = (pay(0, 0, 1, 1).to_bytes(), announcement(7).to_bytes());
    let decodes = |transactions: &[&Vec<u8>]| {
        let transactions: Vec<Vec<u8>> = transactions.iter().copied().cloned().collect();
        decoded_block::<SignedTransfer>(header(1, GENESIS, 1), &transactions).is_some()
    };
    assert!(decodes(&[&signed, &system]) && decodes(&[&system]) && decodes(&[]));
    assert!(!decodes(&[&system, &signed]));
    assert!(!decodes(&[&system, &system]));
    // Nobody submits one.
    assert!(SignedTransfer::from_bytes(&system).is_none());
    assert!(SystemTransaction::from_bytes(&signed).is_none());
    assert!(SystemTransaction::from_bytes(&system[..32]).is_none());
    assert!(SystemTransaction::from_bytes(&[]).is_none());
}

#[test]
fn a_block_with_garbage_for_a_system_transaction_is_not_executed() {
    let block = Block::<SignedTransfer>::new(header(1, GENESIS, 1), Vec::new());
    let block = block.with_system_transaction(vec![0xff; 9]);
    let store = memory(1);
    prefinal_execution::Executor::head(&EXECUTOR, &store.view().unwrap(), &block).unwrap_err();
}
