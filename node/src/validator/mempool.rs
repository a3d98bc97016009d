//! Transactions that wait for a block.
//!
//! A transaction leaves when it is seen in a final block, not when it is proposed: the block of a round that
//! fails is forgotten by everybody else. Each party's transactions have separate places, so that none can
//! take those of the others, and a block takes from all in turn.
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prefinal_crypto_core::access::Party;

/// How many blocks may wait of each submitter.
const BLOCKS_EACH: usize = 2;

/// Why a transaction does not wait for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MempoolError {
    /// It would never fit into a block.
    #[error("the transaction has {got} bytes, a block holds {limit}")]
    TooLong { got: usize, limit: usize },
    /// Too much of this submitter waits already.
    #[error("{waiting} bytes of the same submitter wait already, at most {limit} may")]
    Full { waiting: usize, limit: usize },
}

/// Who has a queue. Transactions of this validator's clients come behind its own and those of its peers, and cannot take
/// their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Submitter {
    Party(Party),
    Clients,
}

/// The transactions of each submitter, oldest first.
type Queues = BTreeMap<Submitter, VecDeque<Arc<[u8]>>>;

/// What waits, oldest first, each transaction once. Clones share it.
#[derive(Clone)]
pub(crate) struct Mempool {
    longest: usize,
    queues: Arc<Mutex<Queues>>,
}

impl Mempool {
    /// Empty; no transaction may be longer than a block.
    pub(crate) fn new(longest: usize) -> Self {
        Self { longest, queues: Arc::default() }
    }

    /// Takes a party's transaction, unless it is here already.
    ///
    /// # Errors
    /// If it fits into no block, or if too much of that party waits.
    pub(crate) fn submit(&self, from: Party, transaction: Arc<[u8]>) -> Result<(), MempoolError> {
        self.add(Submitter::Party(from), transaction)
    }

    /// Takes a transaction of a client, unless it is here already.
    ///
    /// # Errors
    /// If it fits into no block, or if too much of clients waits.
    pub(crate) fn submit_for_client(&self, transaction: Arc<[u8]>) -> Result<(), MempoolError> {
        self.add(Submitter::Clients, transaction)
    }

    fn add(&self, from: Submitter, transaction: Arc<[u8]>) -> Result<(), MempoolError> {
        let (got, longest) = (transaction.len(), self.longest);
        if got > longest {
            return Err(MempoolError::TooLong { got, limit: longest });
        }
        let mut queues = self.lock();
        if queues.values().any(|queue| queue.contains(&transaction)) {
            return Ok(());
        }
        let queue = queues.entry(from).or_default();
        let (waiting, limit) = (bytes(queue), longest.saturating_mul(BLOCKS_EACH));
        if waiting.saturating_add(got) > limit {
            return Err(MempoolError::Full { waiting, limit });
        }
        queue.push_back(transaction);
        Ok(())
    }

    /// What the next block may hold, in at most `most` bytes, `overhead` of them for each transaction: the oldest of
    /// each party, then the second of each, as far as they are wanted. It goes on waiting.
    pub(crate) fn next_block(
        &self,
        most: usize,
        overhead: usize,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> Vec<Arc<[u8]>> {
        let queues = self.lock();
        let deepest = queues.values().map(VecDeque::len).max().unwrap_or(0);
        let in_turn =
            (0..deepest).flat_map(|at| queues.values().filter_map(move |queue| queue.get(at)));
        let mut left = most;
        let mut fits = |transaction: &&Arc<[u8]>| match left
            .checked_sub(transaction.len().saturating_add(overhead))
        {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        in_turn.filter(|one| is_wanted(one) && fits(one)).cloned().collect()
    }

    /// These are in a final block.
    pub(crate) fn ordered(&self, transactions: &[Arc<[u8]>]) {
        for queue in self.lock().values_mut() {
            queue.retain(|transaction| !transactions.contains(transaction));
        }
    }

    /// Bytes that wait.
    pub(crate) fn bytes(&self) -> usize {
        self.lock().values().map(bytes).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bytes(queue: &VecDeque<Arc<[u8]>>) -> usize {
    queue.iter().map(|transaction| transaction.len()).sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const ONE: Party = Party::new(1);
    const TWO: Party = Party::new(2);

    fn transaction(byte: u8, length: usize) -> Arc<[u8]> {
        vec![byte; length].into()
    }

    #[test]
    fn a_transaction_waits_until_it_is_final() {
        let mempool = Mempool::new(100);
        let [one, two, three] =
            [(1, 60), (2, 50), (3, 30)].map(|(byte, length)| transaction(byte, length));
        for sent in [&one, &two, &three] {
            mempool.submit(ONE, Arc::clone(sent)).unwrap();
        }
        // Another copy of it is the same transaction.
        mempool.submit(TWO, Arc::clone(&one)).unwrap();
        assert_eq!(mempool.bytes(), 140);
        // The second does not fit beside the first; the third does. Nothing leaves by being proposed.
        for _ in 0..2 {
            assert_eq!(
                mempool.next_block(110, 4, |_| true),
                [Arc::clone(&one), Arc::clone(&three)]
            );
        }
        let two_alone = mempool.next_block(110, 4, |transaction| transaction.first() == Some(&2));
        assert_eq!(two_alone, [Arc::clone(&two)], "what is not wanted takes no room");
        mempool.ordered(&[one, transaction(9, 9)]);
        assert_eq!(mempool.next_block(110, 4, |_| true), [two, three]);
        assert_eq!(mempool.bytes(), 80);
    }

    #[test]
    fn a_party_has_places_of_its_own_and_no_more() {
        let mempool = Mempool::new(100);
        let (got, limit) = (101, 100);
        let long = mempool.submit(ONE, transaction(0, got));
        assert_eq!(long, Err(MempoolError::TooLong { got, limit }));
        (0..20).for_each(|byte| mempool.submit(ONE, transaction(byte, 10)).unwrap());
        let full = mempool.submit(ONE, transaction(20, 10));
        assert_eq!(full, Err(MempoolError::Full { waiting: 200, limit: 200 }));
        // Others have theirs, and their turn comes although one was there before with much.
        let other = transaction(21, 10);
        mempool.submit(TWO, Arc::clone(&other)).unwrap();
        assert!(mempool.next_block(42, 4, |_| true).contains(&other));
        mempool.ordered(&[transaction(0, 10)]);
        mempool.submit(ONE, transaction(20, 10)).unwrap();
    }
    #[test]
    fn clients_take_no_partys_places() {
        let mempool = Mempool::new(100);
        (0..20).for_each(|byte| mempool.submit_for_client(transaction(byte, 10)).unwrap());
        let full = mempool.submit_for_client(transaction(20, 10));
        assert_eq!(full, Err(MempoolError::Full { waiting: 200, limit: 200 }));
        let own = transaction(21, 100);
        mempool.submit(ONE, Arc::clone(&own)).unwrap();
        // It goes first, although it came last and fills the block.
        assert_eq!(mempool.next_block(104, 4, |_| true), [own]);
    }
}
