//! Blocks as the pipeline knows them: a name, a parent, a height, and transactions in two parts.
use std::fmt::{self, Debug};
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::Slot;

/// The name of a block, for example the hash that the engine orders.
///
/// ```compile_fail,E0308
/// use prefinal_execution::BlockId;
/// let id: BlockId = [0_u8; 32];
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct BlockId([u8; 32]);

/// How many blocks lie before a block. Slots may be empty, heights have no gaps: the genesis has height 0.
///
/// ```compile_fail,E0308
/// use prefinal_execution::Height;
/// let height: Height = 7_u64;
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct Height(u64);

/// The position of a block in the tree of proposals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct Header {
    /// The name of the block.
    pub id: BlockId,
    /// The block on whose state this block is executed.
    pub parent: BlockId,
    /// One more than the parent's height.
    pub height: Height,
    /// The engine's slot. The block may read this slot's random value, and no other.
    pub slot: Slot,
}

/// The part of a block in which a transaction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Executed as soon as the parent is executed. Cannot read the slot's random value, which nobody
    /// knows by then.
    Head,
    /// Executed behind the head of the same block, when the block is ordered and the value is known.
    Tail,
}

/// A transaction, decoded. Its validity is the executor's matter.
pub trait Transaction: Clone + Debug + Send + Sync + 'static {
    /// The length of the encoded transaction, in bytes.
    fn encoded_len(&self) -> usize;

    /// The part in which the transaction is executed: [`Part::Tail`] if it *declares* that it reads the
    /// slot's random value. The declaration is a part of the signed transaction, so that all parties see
    /// the same parts.
    fn part(&self) -> Part;
}

/// A block with its transactions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Block<T> {
    /// The position of the block in the tree of proposals.
    pub header: Header,
    transactions: Arc<[T]>,
    system: Arc<[Arc<[u8]>]>,
    bytes: u64,
    has_tail: bool,
}

/// A transaction with its position in the block, counted from 0 over both parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positioned<'a, T> {
    /// The position in the block, under which the receipt is found.
    pub position: usize,
    /// The transaction at this position.
    pub transaction: &'a T,
}

impl BlockId {
    /// The block of this name.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes of the name.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

impl Height {
    /// The height of the genesis, which nobody executes.
    pub const GENESIS: Self = Self(0);

    /// The height of this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number of blocks before the block.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The height of a child; the last height is its own successor.
    #[must_use]
    pub const fn next(self) -> Self {
        self.after(1)
    }

    /// The height of the descendant that comes `count` blocks later, or the last height.
    #[must_use]
    pub const fn after(self, count: u64) -> Self {
        Self(self.0.saturating_add(count))
    }
}

impl<T: Transaction> Block<T> {
    /// A block of these transactions, in the order in which the proposer put them.
    #[must_use]
    pub fn new(header: Header, transactions: impl Into<Arc<[T]>>) -> Self {
        let transactions = transactions.into();
        let bytes = sum(transactions.iter().map(Transaction::encoded_len));
        let has_tail = transactions.iter().any(|transaction| transaction.part() == Part::Tail);
        Self { header, transactions, system: Arc::default(), bytes, has_tail }
    }

    /// The block with more system transactions: what the chain itself has in it, behind the transactions that are
    /// executed. All parties derive the same ones from the order. Their encoding is the executor's matter.
    #[must_use]
    pub fn with_system_transactions(self, encoded: impl IntoIterator<Item = Arc<[u8]>>) -> Self {
        let more: Vec<_> = encoded.into_iter().collect();
        let bytes = self.bytes.saturating_add(sum(more.iter().map(|one| one.len())));
        let system = self.system.iter().cloned().chain(more).collect();
        Self { bytes, system, ..self }
    }

    /// The system transactions, in their order.
    #[must_use]
    pub fn system_transactions(&self) -> &[Arc<[u8]>] {
        &self.system
    }

    /// The proposer's transactions, in their order. This is not the order of execution: see
    /// [`part`](Self::part).
    #[must_use]
    pub fn transactions(&self) -> &[T] {
        &self.transactions
    }

    /// The transactions of one part, in the order in which they are executed.
    pub fn part(&self, part: Part) -> impl Iterator<Item = Positioned<'_, T>> {
        let all = self.transactions.iter().enumerate();
        let all = all.map(|(position, transaction)| Positioned { position, transaction });
        all.filter(move |one| one.transaction.part() == part)
    }

    /// Whether a transaction declares that it reads the random value.
    #[must_use]
    pub const fn has_tail(&self) -> bool {
        self.has_tail
    }

    /// The length of the encoded transactions together, in bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// So many bytes are in parts of these lengths together.
fn sum(lengths: impl Iterator<Item = usize>) -> u64 {
    let lengths = lengths.map(|length| u64::try_from(length).unwrap_or(u64::MAX));
    lengths.fold(0, u64::saturating_add)
}

/// The first eight bytes are enough to tell blocks apart in a log.
impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("block ")?;
        self.0.iter().take(8).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for Height {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "height {}", self.0)
    }
}
