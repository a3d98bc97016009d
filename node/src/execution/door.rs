//! Where transactions come in, and where clients learn what became of them.
//!
//! | bound                                   | beyond it                                         |
//! |-----------------------------------------|---------------------------------------------------|
//! | 2048 transactions that wait             | [`SubmitError::Busy`]                             |
//! | 1000 blocks that one of them may wait   | it is forgotten here; it may still be executed    |
//! | 100 000 transactions whose place is known | the oldest are forgotten                        |
//!
//! The door believes the store of the first party: states there are certified. What it shows carries its proof.
use std::borrow::Borrow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use prefinal_crypto_core::access::Party;
use prefinal_execution::{Height, Store};
use prefinal_lab::Failure;
use prefinal_light::Claim;
use prefinal_protocol::{ChainId, Instant};
use prefinal_state::{ProvenResult, StateError};
use prefinal_validator::execution::marked;
use serde_json::{Value as Json, json};
use tokio::sync::mpsc::UnboundedSender;

use super::executor::NamedExecutor;
use super::proofs::{Prover, certified};
use super::store::{AttestedStates, AttestedStore, lock};
use crate::http::transactions::Ledger;
use crate::party::Time;

/// Less than what an engine keeps for one party.
const WAITING: usize = 2048;
const BLOCKS: u64 = 1000;
const PLACES: usize = 100_000;

/// The hash by which a transaction is known.
pub type TransactionId = [u8; 32];

/// Why a transaction is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// The bytes are no transaction; described in words.
    #[error("not a transaction: {0}")]
    Malformed(String),
    /// It would change nothing; the reason in words.
    #[error("{0}")]
    Rejected(String),
    /// Too many transactions wait.
    #[error("{most} transactions wait already")]
    Busy {
        /// How many may wait.
        most: usize,
    },
    /// The committee still makes its key, and executes nothing before.
    #[error("the committee makes its key")]
    NotReady,
    /// The node follows a chain, and is none of its validators.
    #[error("this node only follows the chain: give transactions to one of its validators")]
    ReadOnly,
    /// The state cannot be read.
    #[error("the state cannot be read: {0}")]
    State(String),
}

impl SubmitError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::Rejected(_) => "invalid-value",
            Self::Busy { .. } => "queue-full",
            Self::NotReady => "no-keys-yet",
            Self::ReadOnly => "read-only",
            Self::State(_) => "halted",
        }
    }
}

/// A transaction on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Submitted {
    pub(super) at: Instant,
    /// The party that it was given to.
    pub(super) party: Party,
    /// The account of the load that it is from.
    pub(super) account: Option<usize>,
    /// From this height on it is not waited for.
    until: Height,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    height: Height,
    position: u32,
}

#[derive(Default)]
struct Pool {
    waiting: BTreeMap<TransactionId, Submitted>,
    places: BTreeMap<TransactionId, Place>,
    oldest: VecDeque<TransactionId>,
    /// Accounts of the load without a transaction on its way, since the load last asked.
    free: Vec<FreeAccount>,
}

/// An account that may send again.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreeAccount {
    pub(super) account: usize,
    /// Whether its transaction was executed, so that its nonce is one more.
    pub(super) is_executed: bool,
}

struct Parties {
    time: Time,
    links: Vec<UnboundedSender<Vec<u8>>>,
}

/// The door of a devnet that executes its blocks.
pub struct Door<X: NamedExecutor> {
    prover: Prover,
    executor: Arc<X>,
    store: Arc<Mutex<AttestedStore<X>>>,
    parties: OnceLock<Parties>,
    /// How many transactions may wait.
    most: usize,
    /// Whether blocks are executed by now.
    opened: AtomicBool,
    height: Mutex<Height>,
    pool: Mutex<Pool>,
}

impl<X: NamedExecutor> Door<X> {
    /// A door in front of a party's store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(
        prover: Prover,
        executor: Arc<X>,
        store: Arc<Mutex<AttestedStore<X>>>,
    ) -> Result<Self, Failure> {
        let committed = lock(&store).committed().map_err(Failure::bad_input)?;
        Ok(Self {
            prover,
            executor,
            store,
            parties: OnceLock::new(),
            most: WAITING,
            opened: AtomicBool::new(false),
            height: Mutex::new(committed.height),
            pool: Mutex::default(),
        })
    }

    /// Transactions go to these parties from now on.
    pub fn connect(&self, time: Time, links: Vec<UnboundedSender<Vec<u8>>>) {
        // The first time counts: a devnet starts once.
        drop(self.parties.set(Parties { time, links }));
    }

    /// Blocks are executed from now on. Whether they were not before.
    pub fn open(&self) -> bool {
        !self.opened.swap(true, Ordering::Relaxed)
    }

    /// Whether somebody waits for a transaction.
    pub fn is_awaited(&self) -> bool {
        !lock(&self.pool).waiting.is_empty()
    }

    /// The only party behind this door has committed a block with these transactions.
    pub fn commit(&self, height: Height, ids: &[TransactionId]) {
        self.place(height, ids);
        for id in ids {
            let _submitted = self.settle(id, Party::new(0));
        }
    }

    pub(super) const fn chain(&self) -> ChainId {
        self.prover.chain
    }

    pub(super) fn parties(&self) -> usize {
        self.parties.get().map_or(0, |parties| parties.links.len())
    }

    /// The last height that some party has committed.
    pub(super) fn height(&self) -> Height {
        *lock(&self.height)
    }

    /// The state that the first party has committed last.
    pub(super) fn view(&self) -> Result<X::View, StateError> {
        let store = lock(&self.store);
        let states: &AttestedStates<X> = (*store).borrow();
        states.view()
    }

    /// Takes a transaction of a client, for the first party.
    fn take(&self, bytes: &[u8]) -> Result<TransactionId, SubmitError> {
        if !self.opened.load(Ordering::Relaxed) {
            return Err(SubmitError::NotReady);
        }
        let transaction = X::decode(bytes).map_err(SubmitError::Malformed)?;
        let next = self.height().next();
        let objection =
            self.view().and_then(|view| self.executor.objection(&view, next, &transaction));
        let objection = objection.map_err(|error| SubmitError::State(error.to_string()))?;
        if let Some(why) = objection {
            return Err(SubmitError::Rejected(why));
        }
        self.enter(&transaction, bytes, Party::new(0), None)
    }

    /// Gives a transaction to a party, unless too many wait. One that waits already keeps its place.
    pub(super) fn enter(
        &self,
        transaction: &X::Transaction,
        bytes: &[u8],
        party: Party,
        account: Option<usize>,
    ) -> Result<TransactionId, SubmitError> {
        let parties = self.parties.get().ok_or(SubmitError::NotReady)?;
        let link = parties.links.get(party.index()).ok_or(SubmitError::NotReady)?;
        let id = X::hash(transaction);
        let until = self.height().after(BLOCKS).min(X::expires(transaction));
        let at = parties.time.now();
        let mut pool = lock(&self.pool);
        if pool.waiting.contains_key(&id) {
            return Ok(id);
        }
        if pool.waiting.len() >= self.most {
            return Err(SubmitError::Busy { most: self.most });
        }
        // A party whose task has ended takes nothing any more, and the run ends.
        link.send(marked(bytes)).map_err(|_| SubmitError::NotReady)?;
        pool.waiting.insert(id, Submitted { at, party, account, until });
        Ok(id)
    }

    /// A block is committed somewhere: its transactions have their places.
    pub(super) fn place(&self, height: Height, ids: &[TransactionId]) {
        let mut last = lock(&self.height);
        *last = height.max(*last);
        drop(last);
        let mut pool = lock(&self.pool);
        for (position, id) in (0..).zip(ids) {
            // The first place counts: at a later one the same transaction changes nothing.
            if !pool.places.contains_key(id) {
                pool.places.insert(*id, Place { height, position });
                pool.oldest.push_back(*id);
            }
        }
        while pool.oldest.len() > PLACES {
            if let Some(oldest) = pool.oldest.pop_front() {
                pool.places.remove(&oldest);
            }
        }
        let pool = &mut *pool;
        for (_, late) in pool.waiting.extract_if(.., |_, one| one.until < height) {
            let free = |account| FreeAccount { account, is_executed: false };
            pool.free.extend(late.account.map(free));
        }
    }

    /// A party has committed a block with this transaction: how it was submitted, if it was to this party.
    pub(super) fn settle(&self, id: &TransactionId, by: Party) -> Option<Submitted> {
        let mut pool = lock(&self.pool);
        pool.waiting.get(id).filter(|one| one.party == by)?;
        let submitted = pool.waiting.remove(id)?;
        let free = |account| FreeAccount { account, is_executed: true };
        pool.free.extend(submitted.account.map(free));
        Some(submitted)
    }

    /// Accounts of the load that may send again.
    pub(super) fn take_free(&self) -> Vec<FreeAccount> {
        std::mem::take(&mut lock(&self.pool).free)
    }

    /// What became of a placed transaction; `None` if the first party has not committed its block yet.
    fn placed(&self, id: &TransactionId, place: Place) -> Result<Option<Json>, StateError> {
        let store = lock(&self.store);
        let states: &AttestedStates<X> = (*store).borrow();
        if states.committed()?.height < place.height {
            return Ok(None);
        }
        let Place { height, position } = place;
        let Some(certified) = certified(states, height)? else { return Ok(None) };
        let Some(ProvenResult { result, proof }) = states.result(height, position)? else {
            return Ok(None);
        };
        let slot = certified.slot.get();
        let outcome = X::outcome(&result.receipt);
        let claim = Claim::Transaction { result, proof };
        let Some(proof) = self.prover.prove(certified, claim) else { return Ok(None) };
        Ok(Some(json!({
            "id": hex::encode(id),
            "status": "committed",
            "outcome": outcome,
            "height": height.get(),
            "slot": slot,
            "position": position,
            "proof": proof,
        })))
    }
}

impl<X: NamedExecutor> Ledger for Door<X> {
    fn most_bytes(&self) -> usize {
        X::MOST_BYTES
    }

    fn submit(&self, bytes: &[u8]) -> Result<TransactionId, SubmitError> {
        self.take(bytes)
    }

    fn transaction(&self, id: &TransactionId) -> Result<Option<Json>, StateError> {
        let pool = lock(&self.pool);
        let place = pool.places.get(id).copied();
        let waits = place.is_some() || pool.waiting.contains_key(id);
        drop(pool);
        let placed = place.map(|place| self.placed(id, place)).transpose()?.flatten();
        let waiting = || waits.then(|| json!({ "id": hex::encode(id), "status": "waiting" }));
        Ok(placed.or_else(waiting))
    }

    fn account(&self, name: &[u8]) -> Result<Option<Json>, StateError> {
        let store = lock(&self.store);
        self.prover.account((*store).borrow(), name)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use prefinal_execution::Committed;
    use prefinal_state::transfers::{SignedTransfer, Transfers};
    use prefinal_state::{Genesis, StoredTransaction};
    use std::time::Duration;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
    use tokio::time::Instant as Clock;

    use super::super::endings::Endings;
    use super::super::executor::{Accounts, Order};
    use super::*;

    const CHAIN: ChainId = ChainId::new([7; 32]);

    struct Bench {
        door: Door<Transfers>,
        accounts: Accounts,
        parties: Vec<UnboundedReceiver<Vec<u8>>>,
        _folder: tempfile::TempDir,
    }

    impl Bench {
        fn new(most: usize) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let accounts = Accounts::new(1, None);
            let rows = <Transfers as NamedExecutor>::genesis(&accounts).unwrap();
            let prover = Prover { chain: CHAIN, endings: Endings::default() };
            let file = folder.path().join("state");
            let store = AttestedStore::open(&file, &Genesis::of(rows), Arc::default());
            let executor = Arc::new(Transfers::new(CHAIN));
            let mut door =
                Door::new(prover, executor, Arc::new(Mutex::new(store.unwrap()))).unwrap();
            door.most = most;
            let (links, parties) = (0..2).map(|_| unbounded_channel()).unzip();
            let time = Time { started: Clock::now(), before: Duration::ZERO };
            door.connect(time, links);
            Self { door, accounts, parties, _folder: folder }
        }

        fn transfer(&self, account: usize, nonce: u64) -> SignedTransfer {
            let order = Order { chain: CHAIN, account, nonce, height: self.door.height() };
            <Transfers as NamedExecutor>::make(&self.accounts, order).unwrap()
        }

        fn submit(&self, account: usize, nonce: u64) -> Result<TransactionId, SubmitError> {
            self.door.submit(&self.transfer(account, nonce).to_bytes())
        }
    }

    #[test]
    fn a_full_pool_is_busy_until_something_is_committed() {
        let mut bench = Bench::new(2);
        assert_eq!(bench.submit(0, 0), Err(SubmitError::NotReady));
        bench.door.open();
        let first = bench.submit(0, 0).unwrap();
        assert_eq!(bench.submit(0, 0), Ok(first), "it keeps its place");
        bench.submit(1, 0).unwrap();
        assert_eq!(bench.submit(2, 0), Err(SubmitError::Busy { most: 2 }));
        let sent = bench.parties.first_mut().unwrap().try_recv().unwrap();
        assert_eq!(sent, marked(&bench.transfer(0, 0).to_bytes()));
        // Another party's commit does not count for who was given it.
        bench.door.place(Height::new(1), &[first]);
        assert!(bench.door.settle(&first, Party::new(1)).is_none());
        assert!(bench.door.settle(&first, Party::new(0)).is_some());
        bench.submit(2, 0).unwrap();
    }

    #[test]
    fn what_nobody_executes_is_forgotten() {
        let bench = Bench::new(1);
        bench.door.open();
        let id = bench.submit(0, 5).unwrap();
        let said = bench.door.transaction(&id).unwrap().unwrap();
        assert_eq!(said, json!({ "id": hex::encode(id), "status": "waiting" }));
        bench.door.place(Height::new(BLOCKS), &[]);
        assert!(matches!(bench.submit(1, 0), Err(SubmitError::Busy { .. })));
        bench.door.place(Height::new(BLOCKS + 1), &[]);
        assert_eq!(bench.door.transaction(&id).unwrap(), None);
        bench.submit(1, 0).unwrap();
        let Committed { height, .. } = lock(&bench.door.store).committed().unwrap();
        assert_eq!(height, Height::GENESIS, "nothing was executed here");
    }
}
