//! Transactions that wait for a stage, and the names of those that were ordered.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use prefinal_protocol::Slot;
use thiserror::Error;

use crate::batch::{Batch, MAX_TRANSACTIONS, Transaction, TransactionId};

/// Why a transaction was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// No batch has room for it.
    #[error("the transaction is larger than a batch")]
    TooLarge,
    /// As much waits here as may wait.
    #[error("busy: too much waits")]
    Busy,
    /// It waits here already, or was ordered a short time ago.
    #[error("the transaction is known")]
    Known,
}

impl SubmitError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge => "too-long",
            Self::Busy => "queue-full",
            Self::Known => "transaction-waits",
        }
    }
}

/// Batches that may wait here.
const WAITING_BATCHES: usize = 8;

/// What waits here, and what is on its way in stages that are not over.
#[derive(Debug)]
pub(crate) struct Pool {
    max_batch_bytes: usize,
    waiting: VecDeque<Transaction>,
    bytes: usize,
    names: BTreeSet<TransactionId>,
    flying: BTreeMap<Slot, Batch>,
}

impl Pool {
    pub(crate) const fn new(max_batch_bytes: usize) -> Self {
        Self {
            max_batch_bytes,
            waiting: VecDeque::new(),
            bytes: 0,
            names: BTreeSet::new(),
            flying: BTreeMap::new(),
        }
    }

    pub(crate) fn submit(
        &mut self,
        ordered: &Ordered,
        transaction: Transaction,
    ) -> Result<(), SubmitError> {
        let bytes = transaction.encoded_len();
        if bytes.saturating_add(4) > self.max_batch_bytes {
            return Err(SubmitError::TooLarge);
        }
        let id = transaction.id();
        if self.names.contains(&id) || ordered.contains(id) {
            return Err(SubmitError::Known);
        }
        let most = self.max_batch_bytes.saturating_mul(WAITING_BATCHES);
        if self.bytes.saturating_add(bytes) > most {
            return Err(SubmitError::Busy);
        }
        self.names.insert(id);
        self.bytes = self.bytes.saturating_add(bytes);
        self.waiting.push_back(transaction);
        Ok(())
    }

    /// Whether no transaction waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The batch for a stage: the oldest that fit.
    pub(crate) fn take(&mut self, stage: Slot) -> Batch {
        let (mut batch, mut bytes) = (Batch::default(), 4_usize);
        while let Some(first) = self.waiting.front()
            && batch.transactions.len() < MAX_TRANSACTIONS
            && bytes.saturating_add(first.encoded_len()) <= self.max_batch_bytes
        {
            bytes = bytes.saturating_add(first.encoded_len());
            batch.transactions.extend(self.waiting.pop_front());
        }
        self.bytes = self.bytes.saturating_sub(bytes.saturating_sub(4));
        self.fly(stage, batch.clone());
        batch
    }

    /// Notes this party's batch in a stage, also one of an earlier life.
    pub(crate) fn fly(&mut self, stage: Slot, batch: Batch) {
        self.names.extend(batch.transactions.iter().map(Transaction::id));
        self.flying.insert(stage, batch);
    }

    /// The stages up to this one are over: what of this party's batches was not ordered waits again, first of all.
    pub(crate) fn landed(&mut self, stage: Slot, ordered: &Ordered) {
        let later = self.flying.split_off(&stage.next());
        let landed = std::mem::replace(&mut self.flying, later);
        for transaction in landed.into_values().flat_map(|batch| batch.transactions).rev() {
            let id = transaction.id();
            if ordered.contains(id) {
                self.names.remove(&id);
            } else {
                self.bytes = self.bytes.saturating_add(transaction.encoded_len());
                self.waiting.push_front(transaction);
            }
        }
    }

    /// Drops what others brought into the order.
    pub(crate) fn drop_ordered(&mut self, ordered: &Ordered) {
        let (names, mut bytes) = (&mut self.names, self.bytes);
        self.waiting.retain(|transaction| {
            let id = transaction.id();
            let stays = !ordered.contains(id);
            if !stays {
                names.remove(&id);
                bytes = bytes.saturating_sub(transaction.encoded_len());
            }
            stays
        });
        self.bytes = bytes;
    }
}

/// The names of transactions in the last stages. All parties keep those of the same stages, so all leave out the same
/// repetitions.
#[derive(Debug, Default)]
pub(crate) struct Ordered {
    names: BTreeSet<TransactionId>,
    stages: BTreeMap<Slot, Vec<TransactionId>>,
}

impl Ordered {
    pub(crate) fn contains(&self, id: TransactionId) -> bool {
        self.names.contains(&id)
    }

    /// Whether the transaction is ordered by this stage, which comes behind all others so far.
    pub(crate) fn insert(&mut self, stage: Slot, id: TransactionId) -> bool {
        let is_new = self.names.insert(id);
        if is_new {
            self.stages.entry(stage).or_default().push(id);
        }
        is_new
    }

    pub(crate) fn forget_below(&mut self, stage: Slot) {
        while let Some(first) = self.stages.first_entry().filter(|first| *first.key() < stage) {
            for id in first.remove() {
                self.names.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction(number: u8) -> Transaction {
        Transaction::new([number; 10])
    }

    #[test]
    fn what_is_not_ordered_waits_again_in_its_old_place() {
        let (mut pool, mut ordered) = (Pool::new(32), Ordered::default());
        for number in 0..4 {
            pool.submit(&ordered, transaction(number)).unwrap();
        }
        let first = pool.take(Slot::new(1));
        assert_eq!(first.transactions, [transaction(0), transaction(1)]);
        assert_eq!(pool.submit(&ordered, transaction(0)), Err(SubmitError::Known));
        assert!(ordered.insert(Slot::new(1), transaction(1).id()));
        assert!(!ordered.insert(Slot::new(2), transaction(1).id()));
        pool.landed(Slot::new(1), &ordered);
        assert_eq!(pool.take(Slot::new(2)).transactions, [transaction(0), transaction(2)]);
        assert!(ordered.insert(Slot::new(2), transaction(3).id()));
        pool.drop_ordered(&ordered);
        assert_eq!(pool.take(Slot::new(3)).transactions, []);
        assert_eq!(pool.submit(&ordered, transaction(3)), Err(SubmitError::Known));
        ordered.forget_below(Slot::new(3));
        assert_eq!(pool.submit(&ordered, transaction(3)), Ok(()));
    }

    #[test]
    fn a_full_pool_says_busy_and_drops_nothing() {
        let (mut pool, ordered) = (Pool::new(32), Ordered::default());
        assert_eq!(pool.submit(&ordered, Transaction::new([0; 40])), Err(SubmitError::TooLarge));
        let taken =
            (0..=255).take_while(|n| pool.submit(&ordered, transaction(*n)).is_ok()).count();
        assert_eq!(taken, 32 * WAITING_BATCHES / 14);
        assert_eq!(pool.submit(&ordered, transaction(200)), Err(SubmitError::Busy));
        let batches = (1..40).map(|stage| pool.take(Slot::new(stage)).transactions.len());
        assert_eq!(batches.sum::<usize>(), taken);
    }
}
