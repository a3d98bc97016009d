//! What a chain does with the engine's events.
use std::sync::Arc;

use prefinal_malachite::{Block, BlockId, Height, Misbehavior, Validators};
use prefinal_protocol::Party;

/// A chain on the engine. The crate's head says in which order it is called, and what a crash does.
///
/// [`Self::prefinalized`] and [`Self::abandoned`] are called one after the other, never two at once.
/// [`Self::finalized`] and [`Self::validators`] too. A call of one pair may wait while one of the other
/// pair is called. No call may block the thread: what needs the disk belongs into `spawn_blocking`.
pub trait Host: Send + Sync + 'static {
    /// The last height whose block the host holds durably; `None` if it holds none. At the start, blocks of
    /// later heights are repeated from the store of decided blocks.
    fn last(&self) -> Option<Height>;

    /// The validators that decide a height. It may wait until they are known: other parties' messages of
    /// that height are kept meanwhile, and blocks are served. All lives must give the same validators.
    ///
    /// A party has the same number at all heights. A member that leaves keeps its place without stake, and
    /// new members come at the end.
    fn validators(&self, height: Height) -> impl Future<Output = Validators> + Send;

    /// The proposer of round 0 has signed a proposal of this block, or this party is about to. There may be others, so
    /// nothing follows from it; but what is long to compute may be begun. It comes before this party's votes for the block,
    /// more than once or, if there are too many or Malachite knows the block otherwise, not at all.
    fn proposed(&self, _block: &Block) {}

    /// This party is about to precommit the block in round 0. The answer is the extension; empty for none.
    /// Members without stake vote too and are asked.
    ///
    /// What it depends on must be durable when the future ends, and the same question must get the same
    /// answer in every life. Nothing of it may leave by another way before [`Self::voted`].
    fn prefinalized(&self, height: Height, block: BlockId) -> impl Future<Output = Vec<u8>> + Send;

    /// The precommit that carries the extension is durable and on its way. From now on the same partial may
    /// leave by other ways too. Called again in a later life that repeats the precommit.
    fn voted(&self, height: Height, block: BlockId);

    /// This party casts no precommit any more in this round of the height, nor in earlier ones. What was
    /// [`Self::prefinalized`] and not [`Self::voted`] must never leave. The same holds if the height is
    /// [`Self::finalized`] with another block.
    fn abandoned(&self, height: Height, round: u32) -> impl Future<Output = ()> + Send;

    /// A member's valid precommit of the block in round 0 carries these bytes. The member signed them for
    /// this vote, but they may be garbage. One vote may be reported more than once.
    fn extended(&self, height: Height, block: BlockId, from: Party, bytes: &[u8]);

    /// Transactions for a block to propose. Each counts for its length and [`crate::TRANSACTION_OVERHEAD`];
    /// those that would be more than `max_bytes` are left out.
    fn transactions(&self, height: Height, max_bytes: usize) -> Vec<Arc<[u8]>>;

    /// A member signed two messages that contradict each other. It is told at the end of the height, once for
    /// each pair; Malachite keeps three pairs of a member for a height.
    fn misbehaved(&self, evidence: &Misbehavior);

    /// A height is decided, and its block is durable in the store. Heights come in order, each once in a
    /// life, beginning after [`Self::last`].
    fn finalized(&self, block: &Block) -> impl Future<Output = ()> + Send;
}
