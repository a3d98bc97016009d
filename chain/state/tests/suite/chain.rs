//! A chain for tests: accounts with keys, blocks of transfers, a store in memory.
use std::collections::BTreeMap;

use ed25519_consensus::SigningKey;
use prefinal_execution::{
    Block, BlockId, Execution, Executor, Header, Height, Part, Randomness, Store,
};
use prefinal_protocol::{ChainId, Slot};
use prefinal_state::transfers::{
    Account, AccountId, Action, Amount, Candidates, Nonce, SignedTransfer, Transfer, Transfers,
    genesis_rows,
};
use prefinal_state::{Genesis, StateStore, View};
use redb::backends::InMemoryBackend;
use redb::{Builder, StorageBackend};

/// A certificate, as the store sees it.
pub(crate) type Certificate = Vec<u8>;
pub(crate) type TestStore = StateStore<Transfers, Certificate>;

pub(crate) const CHAIN: ChainId = ChainId::new([7; 32]);
pub(crate) const GENESIS: BlockId = BlockId::new([0; 32]);
pub(crate) const EXECUTOR: Transfers = Transfers::new(CHAIN);
pub(crate) const VALUE: Randomness = Randomness::new([9; 32]);
pub(crate) const RICH: u64 = 1_000_000;

pub(crate) fn key(number: u64) -> SigningKey {
    let mut seed = [1; 32];
    seed[..8].copy_from_slice(&number.to_be_bytes());
    SigningKey::from(seed)
}

pub(crate) fn id(number: u64) -> AccountId {
    AccountId::new(key(number).verification_key().to_bytes())
}

pub(crate) fn genesis(accounts: u64) -> Genesis {
    let balances: BTreeMap<AccountId, Amount> =
        (0..accounts).map(|number| (id(number), Amount::new(RICH))).collect();
    Genesis { block: GENESIS, rows: genesis_rows(&balances).unwrap() }
}

pub(crate) fn open(backend: impl StorageBackend, genesis: &Genesis) -> TestStore {
    let database = Builder::new().create_with_backend(backend).unwrap();
    TestStore::within(database, genesis).unwrap()
}

pub(crate) fn memory(accounts: u64) -> TestStore {
    open(InMemoryBackend::new(), &genesis(accounts))
}

pub(crate) fn header(name: u8, parent: BlockId, height: u64) -> Header {
    let slot = Slot::new(height);
    Header { id: BlockId::new([name; 32]), parent, height: Height::new(height), slot }
}

pub(crate) fn transfer(sender: u64, nonce: u64, action: Action, amount: u64) -> Transfer {
    Transfer {
        sender: id(sender),
        nonce: Nonce::new(nonce),
        expires: Height::new(100),
        fee: Amount::new(2),
        amount: Amount::new(amount),
        action,
    }
}

pub(crate) fn pay(sender: u64, nonce: u64, to: u64, amount: u64) -> SignedTransfer {
    transfer(sender, nonce, Action::Pay { to: id(to) }, amount).sign(CHAIN, &key(sender))
}

pub(crate) fn draw(sender: u64, nonce: u64, candidates: &[u64], amount: u64) -> SignedTransfer {
    let accounts: Vec<AccountId> = candidates.iter().map(|number| id(*number)).collect();
    let action = Action::Draw(Candidates::new(&accounts).unwrap());
    transfer(sender, nonce, action, amount).sign(CHAIN, &key(sender))
}

/// Executes head, and tail if there is one.
pub(crate) fn execute<X: Executor>(
    executor: &X,
    parent: &X::View,
    block: &Block<X::Transaction>,
) -> Execution<X> {
    let mut draft = executor.head(parent, block).unwrap();
    if block.part(Part::Tail).next().is_some() {
        draft = executor.tail(draft, block, VALUE).unwrap();
    }
    executor.seal(draft, block).unwrap()
}

pub(crate) fn account(view: &View, number: u64) -> Account {
    Account::from_row(view.get(&id(number).key()).unwrap().as_deref()).unwrap()
}

pub(crate) fn certificate(name: u8) -> Certificate {
    vec![name; 96]
}

/// Executes, writes and certifies a block on the last committed one.
pub(crate) fn commit(
    store: &mut TestStore,
    name: u8,
    transactions: Vec<SignedTransfer>,
) -> Execution<Transfers> {
    let committed = store.committed().unwrap();
    let header = header(name, committed.block, committed.height.get() + 1);
    let block = Block::new(header, transactions);
    let execution = execute(&EXECUTOR, &store.view().unwrap(), &block);
    store.write_optimistic(&block, &execution).unwrap();
    store.certify(&header, &certificate(name)).unwrap();
    execution
}
