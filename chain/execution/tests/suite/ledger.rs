//! A small executor and a small disk: accounts with balances, and a lottery.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_execution::{
    Block, BlockId, Committed, Execution, Executor, Header, Height, OptimisticBlock, Part,
    Positioned, Randomness, Recovered, Roots, StateCertificate, Store, Transaction,
};
use prefinal_protocol::Slot;
use sha2::{Digest, Sha256};

/// What a transaction does.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) enum Call {
    /// Adds to an account.
    Pay { account: u8, amount: u64 },
    /// Adds the first byte of the slot's random value to an account, plus one.
    Draw { account: u8 },
    /// Draws, and undoes everything if the account has drawn less than this: test and abort.
    DrawAtLeast { account: u8, least: u64 },
    /// Calls others, one after the other. If one fails, all are undone.
    Script(Vec<Call>),
}

#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Entry {
    pub(crate) call: Call,
    /// Whether it declares that it reads the random value.
    pub(crate) declares: bool,
}

impl Transaction for Entry {
    fn encoded_len(&self) -> usize {
        borsh::to_vec(self).unwrap().len()
    }

    fn part(&self) -> Part {
        if self.declares { Part::Tail } else { Part::Head }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize)]
pub(crate) enum Receipt {
    Done,
    /// There is no value in this part, or not at this depth.
    NoValue,
}

pub(crate) type State = BTreeMap<u8, u64>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    state: State,
    receipts: BTreeMap<usize, Receipt>,
}

/// Accounts. With `fault` another one than others have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) fault: u64,
    /// It cannot execute at all.
    pub(crate) broken: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("no memory")]
pub(crate) struct Broken;

impl Ledger {
    fn run(
        self,
        draft: &mut Draft,
        transactions: impl Iterator<Item = (usize, Entry)>,
        value: Option<Randomness>,
    ) {
        for (position, entry) in transactions {
            let before = draft.state.clone();
            let receipt = match (&entry.call, value) {
                // Only what a transaction of the tail calls first may read the value.
                (Call::Draw { account }, Some(value)) => {
                    let drawn = u64::from(value.to_bytes()[0]) + 1;
                    *draft.state.entry(*account).or_default() += drawn;
                    Receipt::Done
                }
                (call, _) => self.plain(&mut draft.state, call),
            };
            if receipt != Receipt::Done {
                draft.state = before;
            }
            draft.receipts.insert(position, receipt);
        }
    }

    /// A call that has no access to the value.
    fn plain(self, state: &mut State, call: &Call) -> Receipt {
        match call {
            Call::Pay { account, amount } => {
                *state.entry(*account).or_default() += amount + self.fault;
                Receipt::Done
            }
            Call::Draw { .. } | Call::DrawAtLeast { .. } => Receipt::NoValue,
            Call::Script(calls) => calls
                .iter()
                .map(|call| self.plain(state, call))
                .find(|receipt| *receipt != Receipt::Done)
                .unwrap_or(Receipt::Done),
        }
    }
}

fn hash(data: &impl BorshSerialize) -> [u8; 32] {
    Sha256::digest(borsh::to_vec(data).unwrap()).into()
}

pub(crate) fn roots(state: &State, receipts: &BTreeMap<usize, Receipt>) -> Roots {
    Roots { state: hash(state), receipts: hash(receipts) }
}

fn entries(block: &Block<Entry>, part: Part) -> impl Iterator<Item = (usize, Entry)> {
    let owned = |one: Positioned<'_, Entry>| (one.position, one.transaction.clone());
    block.part(part).map(owned).collect::<Vec<_>>().into_iter()
}

impl Executor for Ledger {
    type Transaction = Entry;
    type View = Arc<State>;
    type Draft = Draft;
    type Delta = Arc<State>;
    type Error = Broken;

    fn head(&self, parent: &Arc<State>, block: &Block<Entry>) -> Result<Draft, Broken> {
        if self.broken {
            return Err(Broken);
        }
        let mut draft = Draft { state: State::clone(parent), receipts: BTreeMap::new() };
        self.run(&mut draft, entries(block, Part::Head), None);
        Ok(draft)
    }

    fn tail(
        &self,
        mut draft: Draft,
        block: &Block<Entry>,
        value: Randomness,
    ) -> Result<Draft, Broken> {
        self.run(&mut draft, entries(block, Part::Tail), Some(value));
        Ok(draft)
    }

    fn seal(&self, draft: Draft, _: &Block<Entry>) -> Result<Execution<Self>, Broken> {
        let roots = roots(&draft.state, &draft.receipts);
        let view = Arc::new(draft.state);
        Ok(Execution { roots, view: Arc::clone(&view), delta: view })
    }
}

pub(crate) const GENESIS: BlockId = BlockId::new([0; 32]);

/// A certificate, as far as these tests need one.
pub(crate) type Signers = Vec<u32>;

/// What a disk holds, and what was asked of it.
#[derive(Clone, Debug)]
pub(crate) struct Content<C> {
    pub(crate) committed: Committed,
    state: Arc<State>,
    /// What is written and not committed.
    pub(crate) optimistic: BTreeMap<BlockId, (Block<Entry>, Roots, Arc<State>)>,
    /// All blocks that were ever committed, with their certificates.
    pub(crate) chain: Vec<(Header, Roots, C)>,
    pub(crate) calls: Vec<(&'static str, BlockId)>,
    /// Every call fails from now on.
    pub(crate) full: bool,
}

/// A disk that outlives the process, and refuses what would break it.
#[derive(Clone, Debug)]
pub(crate) struct Disk<C = Signers>(Arc<Mutex<Content<C>>>);

impl<C> Disk<C> {
    pub(crate) fn new() -> Self {
        let state = Arc::new(State::new());
        let roots = roots(&state, &BTreeMap::new());
        let committed = Committed { height: Height::GENESIS, block: GENESIS, roots };
        Self(Arc::new(Mutex::new(Content {
            committed,
            state,
            optimistic: BTreeMap::new(),
            chain: Vec::new(),
            calls: Vec::new(),
            full: false,
        })))
    }

    pub(crate) fn content(&self) -> MutexGuard<'_, Content<C>> {
        self.0.lock().unwrap()
    }
}

impl<C> Content<C> {
    fn begin(&mut self, call: &'static str, block: BlockId) -> Result<(), DiskError> {
        self.calls.push((call, block));
        if self.full { Err(DiskError::Full) } else { Ok(()) }
    }

    fn holds(&self, block: BlockId) -> bool {
        block == self.committed.block || self.optimistic.contains_key(&block)
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum DiskError {
    #[error("the parent is not there")]
    NoParent,
    #[error("not the child of the committed block, or not written")]
    NotNext,
    #[error("a child is written")]
    HasChild,
    #[error("no room")]
    Full,
}

impl<C: StateCertificate> Store for Disk<C> {
    type Executor = Ledger;
    type Certificate = C;
    type Error = DiskError;

    fn write_optimistic(
        &mut self,
        block: &Block<Entry>,
        execution: &Execution<Ledger>,
    ) -> Result<(), DiskError> {
        let mut content = self.content();
        let header = block.header;
        content.begin("write", header.id)?;
        if !content.holds(header.parent) {
            return Err(DiskError::NoParent);
        }
        let written = (block.clone(), execution.roots, Arc::clone(&execution.view));
        content.optimistic.insert(header.id, written);
        Ok(())
    }

    fn certify(&mut self, block: &Header, certificate: &C) -> Result<(), DiskError> {
        let mut content = self.content();
        content.begin("certify", block.id)?;
        if block.parent != content.committed.block {
            return Err(DiskError::NotNext);
        }
        let (_, roots, state) = content.optimistic.remove(&block.id).ok_or(DiskError::NotNext)?;
        content.committed = Committed { height: block.height, block: block.id, roots };
        content.state = state;
        content.chain.push((*block, roots, certificate.clone()));
        Ok(())
    }

    fn revert(&mut self, block: &Header) -> Result<(), DiskError> {
        let mut content = self.content();
        content.begin("revert", block.id)?;
        if content.optimistic.values().any(|(child, ..)| child.header.parent == block.id) {
            return Err(DiskError::HasChild);
        }
        content.optimistic.remove(&block.id);
        Ok(())
    }

    fn committed(&self) -> Result<Committed, DiskError> {
        Ok(self.content().committed)
    }

    fn recover(&mut self) -> Result<Recovered<Ledger>, DiskError> {
        let content = self.content();
        let optimistic = content.optimistic.values().map(|(block, roots, state)| OptimisticBlock {
            block: block.clone(),
            roots: *roots,
            view: Arc::clone(state),
        });
        Ok(Recovered {
            committed: content.committed,
            view: Arc::clone(&content.state),
            optimistic: optimistic.collect(),
        })
    }
}

/// A block that is named by one byte; its slot is ten times its height, plus one for each fork.
pub(crate) fn block(name: u8, parent: BlockId, height: u64, entries: Vec<Entry>) -> Block<Entry> {
    let header =
        Header { id: id(name), parent, height: Height::new(height), slot: Slot::new(height * 10) };
    Block::new(header, entries)
}

pub(crate) const fn id(name: u8) -> BlockId {
    BlockId::new([name; 32])
}

pub(crate) const fn pay(account: u8, amount: u64) -> Entry {
    Entry { call: Call::Pay { account, amount }, declares: false }
}

pub(crate) const fn draw(account: u8) -> Entry {
    Entry { call: Call::Draw { account }, declares: true }
}

/// The roots that honest nodes compute for blocks on top of each other.
pub(crate) fn computed(chain: &[(&Block<Entry>, Option<Randomness>)]) -> Roots {
    let ledger = Ledger::default();
    let mut view = Arc::new(State::new());
    let mut last = roots(&view, &BTreeMap::new());
    for (block, value) in chain {
        let mut draft = ledger.head(&view, block).unwrap();
        if let Some(value) = value {
            draft = ledger.tail(draft, block, *value).unwrap();
        }
        let execution = ledger.seal(draft, block).unwrap();
        (view, last) = (execution.view, execution.roots);
    }
    last
}

/// The names of the blocks that lie on a disk without being committed.
pub(crate) fn optimistic(disk: &Disk) -> BTreeSet<BlockId> {
    disk.content().optimistic.keys().copied().collect()
}
