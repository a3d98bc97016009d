//! An executor that adds up, in whatever order blocks say, and a store of its sums in memory.
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use prefinal_execution::{
    BlockId, Committed, Execution, Executor, Header, Height, OptimisticBlock, Part, Randomness,
    Recovered, Roots, Store, Transaction,
};
use prefinal_validator::execution::StateCertificate;

/// A transaction of one byte. From this one on it reads the value of the slot.
pub(crate) const READS: u8 = 0x80;

pub(crate) const GENESIS: BlockId = BlockId::new([0; 32]);

/// A byte that is no transaction.
pub(crate) const JUNK: u8 = 0xff;

#[derive(Clone, Debug)]
pub(crate) struct Addend(pub(crate) u8);

impl Transaction for Addend {
    fn encoded_len(&self) -> usize {
        1
    }

    fn part(&self) -> Part {
        if self.0 < READS { Part::Head } else { Part::Tail }
    }
}

pub(crate) fn decode(bytes: &[u8]) -> Option<Addend> {
    match bytes {
        [addend] if *addend != JUNK => Some(Addend(*addend)),
        _ => None,
    }
}

/// Twice the sum before, and the addend: the order counts.
pub(crate) struct Sum;

pub(crate) fn add(sum: u64, addend: u8) -> u64 {
    sum.wrapping_mul(2).wrapping_add(addend.into())
}

pub(crate) fn roots(sum: u64) -> Roots {
    let mut state = [0; 32];
    state[..8].copy_from_slice(&sum.to_be_bytes());
    Roots { state, receipts: [0; 32] }
}

pub(crate) type Blocks = prefinal_execution::Block<Addend>;

impl Executor for Sum {
    type Transaction = Addend;
    type View = u64;
    type Draft = u64;
    type Delta = u64;
    type Error = Infallible;

    fn head(&self, parent: &u64, block: &Blocks) -> Result<u64, Infallible> {
        Ok(block.part(Part::Head).fold(*parent, |sum, one| add(sum, one.transaction.0)))
    }

    fn tail(&self, draft: u64, block: &Blocks, value: Randomness) -> Result<u64, Infallible> {
        let drawn = value.to_bytes()[0];
        Ok(block.part(Part::Tail).fold(draft, |sum, _| add(sum, drawn)))
    }

    fn seal(&self, sum: u64, block: &Blocks) -> Result<Execution<Self>, Infallible> {
        let system = block.system_transactions().iter().flat_map(|one| one.iter());
        let sum = system.fold(sum, |sum, byte| add(sum, *byte));
        Ok(Execution { roots: roots(sum), view: sum, delta: sum })
    }
}

pub(crate) struct Content {
    committed: Committed,
    sum: u64,
    written: BTreeMap<prefinal_execution::BlockId, (Blocks, u64)>,
}

/// What outlives the process.
#[derive(Clone)]
pub(crate) struct Disk(Arc<Mutex<Content>>);

impl Disk {
    pub(crate) fn new() -> Self {
        let committed = Committed { height: Height::GENESIS, block: GENESIS, roots: roots(0) };
        Self(Arc::new(Mutex::new(Content { committed, sum: 0, written: BTreeMap::new() })))
    }
}

impl Store for Disk {
    type Executor = Sum;
    type Certificate = StateCertificate;
    type Error = Infallible;

    fn write_optimistic(
        &mut self,
        block: &Blocks,
        execution: &Execution<Sum>,
    ) -> Result<(), Infallible> {
        let written = (block.clone(), execution.view);
        self.0.lock().unwrap().written.insert(block.header.id, written);
        Ok(())
    }

    fn certify(&mut self, block: &Header, _: &StateCertificate) -> Result<(), Infallible> {
        let mut content = self.0.lock().unwrap();
        assert_eq!(block.parent, content.committed.block);
        let (_, sum) = content.written.remove(&block.id).unwrap();
        content.committed = Committed { height: block.height, block: block.id, roots: roots(sum) };
        content.sum = sum;
        Ok(())
    }

    fn revert(&mut self, block: &Header) -> Result<(), Infallible> {
        self.0.lock().unwrap().written.remove(&block.id);
        Ok(())
    }

    fn committed(&self) -> Result<Committed, Infallible> {
        Ok(self.0.lock().unwrap().committed)
    }

    fn recover(&mut self) -> Result<Recovered<Sum>, Infallible> {
        let content = self.0.lock().unwrap();
        let written = content.written.values().map(|(block, sum)| OptimisticBlock {
            block: block.clone(),
            roots: roots(*sum),
            view: *sum,
        });
        let optimistic = written.collect();
        Ok(Recovered { committed: content.committed, view: content.sum, optimistic })
    }
}
