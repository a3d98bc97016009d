//! Transactions of the key generation that no final block had yet.
use std::collections::BTreeMap;
use std::sync::Arc;

use prefinal_crypto_core::context::EpochId;
use prefinal_validator::transaction::Kind;

use crate::feed::FeedError;
use crate::proto::OrderResponse;

/// The most transactions that may wait. A party has two for an epoch: its dealing, and its keys in some
/// schemes.
const MOST: usize = 64;

/// Transactions in the order in which they came, each with a number that readers remember.
pub(crate) struct Orders {
    waiting: BTreeMap<u64, OrderResponse>,
    next: u64,
    bytes: usize,
    /// The most bytes that all of them together may have.
    limit: usize,
}

impl Orders {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { waiting: BTreeMap::new(), next: 0, bytes: 0, limit }
    }

    /// Adds a transaction, unless it waits already.
    pub(crate) fn submit(&mut self, epoch: EpochId, transaction: &[u8]) -> Result<(), FeedError> {
        if self.waiting.values().any(|one| one.transaction == transaction) {
            return Ok(());
        }
        let bytes = self.bytes.saturating_add(transaction.len());
        if self.waiting.len() >= MOST || bytes > self.limit {
            let (waiting, limit) = (self.waiting.len(), self.limit);
            return Err(FeedError::TooManyTransactions { waiting, bytes, limit });
        }
        let response = OrderResponse { epoch: epoch.get(), transaction: transaction.to_vec() };
        self.waiting.insert(self.next, response);
        self.next = self.next.saturating_add(1);
        self.bytes = bytes;
        Ok(())
    }

    /// These are in a final block.
    pub(crate) fn ordered(&mut self, transactions: &[Arc<[u8]>]) {
        self.keep(|one| !transactions.iter().any(|other| **other == *one.transaction));
    }

    /// The keys of this epoch suffice: no dealing for it is needed any more.
    pub(crate) fn ready(&mut self, epoch: EpochId) {
        self.keep(|one| {
            one.epoch > epoch.get() || Kind::of(&one.transaction) != Some(Kind::Dealing)
        });
    }

    /// All slots before this epoch are final: nothing for an earlier one is needed any more.
    pub(crate) fn entered(&mut self, epoch: EpochId) {
        self.keep(|one| one.epoch >= epoch.get());
    }

    fn keep(&mut self, needed: impl Fn(&OrderResponse) -> bool) {
        self.waiting.retain(|_, one| needed(one));
        self.bytes = self.waiting.values().map(|one| one.transaction.len()).sum();
    }

    /// The first waiting transaction from this number on, with its number.
    pub(crate) fn next(&self, from: u64) -> Option<(u64, &OrderResponse)> {
        self.waiting.range(from..).next().map(|(number, one)| (*number, one))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn transaction(kind: u8, epoch: u64, body: u8) -> Vec<u8> {
        [&[kind], epoch.to_be_bytes().as_slice(), &[body]].concat()
    }

    /// Three dealings for two epochs, and keys.
    fn orders() -> Orders {
        let mut orders = Orders::new(100);
        for (kind, epoch, body) in [(0, 1, 1), (0, 1, 2), (1, 1, 3), (0, 2, 4)] {
            orders.submit(EpochId::new(epoch), &transaction(kind, epoch, body)).unwrap();
        }
        orders
    }

    fn bodies(orders: &Orders) -> Vec<u8> {
        orders.waiting.values().filter_map(|one| one.transaction.last().copied()).collect()
    }

    #[test]
    fn transactions_wait_until_they_are_ordered_or_useless() {
        let mut one = orders();
        one.submit(EpochId::new(1), &transaction(0, 1, 1)).unwrap();
        assert_eq!(bodies(&one), [1, 2, 3, 4]);
        one.ordered(&[transaction(0, 1, 2).into(), [9; 4].into()]);
        assert_eq!(bodies(&one), [1, 3, 4]);
        one.ready(EpochId::new(1));
        assert_eq!(bodies(&one), [3, 4]);
        one.entered(EpochId::new(1));
        assert_eq!(bodies(&one), [3, 4]);
        one.entered(EpochId::new(2));
        assert_eq!(bodies(&one), [4]);
        assert_eq!(one.next(0).unwrap().0, 3);
        assert!(one.next(4).is_none());
    }

    #[test]
    fn no_more_wait_than_there_is_room_for() {
        let mut one = orders();
        let full = one.submit(EpochId::new(2), &[0; 61]);
        assert!(matches!(full, Err(FeedError::TooManyTransactions { bytes: 101, .. })), "{full:?}");
        one.submit(EpochId::new(2), &[0; 60]).unwrap();
        // What has left makes room.
        one.entered(EpochId::new(2));
        one.submit(EpochId::new(2), &[0; 30]).unwrap();
        let mut many = Orders::new(usize::MAX);
        for number in 0..MOST {
            many.submit(EpochId::new(0), &number.to_be_bytes()).unwrap();
        }
        assert!(many.submit(EpochId::new(0), &[1]).is_err());
    }
}
