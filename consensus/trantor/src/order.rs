//! The memory of transactions that were ordered, so that each is reported once.
//!
//! Two parties may spread the same transaction at the same time, and a faulty leader may put a batch into
//! two blocks. So repetitions are removed after the order is known: a transaction that also stands in one
//! of the [`KEPT`] heights before is left out of its block. That depends on decided blocks alone, so it is
//! the same for all parties, also after a restart. A client's transaction is known by its number, without
//! an end; the windows of clients are recorded while the blocks since the last record are kept.
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use prefinal_protocol::Slot;

use crate::block::{Transaction, TransactionId};
use crate::client::{Clients, WindowError};
use crate::records::KEPT;

/// Heights from one record of the windows to the next. The blocks in between are kept for a restart.
const RECORD_EVERY: u64 = KEPT / 2;

/// The windows of clients, and the transactions without a client of the last [`KEPT`] heights.
#[derive(Debug, Default)]
pub(crate) struct Ordered {
    clients: Clients,
    /// The height that the windows are of, if they come from a record.
    recorded: Option<Slot>,
    /// The last height that each stands in.
    last: BTreeMap<TransactionId, Slot>,
    slots: VecDeque<(Slot, Vec<TransactionId>)>,
}

impl Ordered {
    /// What a record of an earlier life says; the heights before it are told afterwards.
    pub(crate) fn with_clients(recorded: Option<(Slot, Clients)>) -> Self {
        let (recorded, clients) = recorded.unzip();
        Self { clients: clients.unwrap_or_default(), recorded, ..Self::default() }
    }

    /// The windows, if it is time to record them after this height.
    pub(crate) fn to_record(&self, slot: Slot) -> Option<Clients> {
        let due = slot.get().is_multiple_of(RECORD_EVERY) && !self.clients.is_empty();
        due.then(|| self.clients.clone())
    }

    /// Whether the transaction would be reported if it were ordered now. `Ok(false)` if one without a
    /// client was ordered before.
    pub(crate) fn is_fresh(&self, transaction: &Transaction) -> Result<bool, WindowError> {
        match transaction.header() {
            Some(header) => self.clients.check(header).map(|()| true),
            None => Ok(!self.last.contains_key(&transaction.id())),
        }
    }

    /// Takes the transactions of the next height. Returns them without repetitions.
    pub(crate) fn take<'a>(
        &mut self,
        slot: Slot,
        transactions: impl Iterator<Item = &'a Transaction>,
    ) -> Vec<Arc<[u8]>> {
        self.forget(slot);
        let (mut fresh, mut ids) = (Vec::new(), Vec::new());
        for transaction in transactions {
            if let Some(header) = transaction.header() {
                if Some(slot) > self.recorded && self.clients.take(header).is_ok() {
                    fresh.push(Arc::clone(transaction.bytes()));
                }
                continue;
            }
            ids.push(transaction.id());
            if self.last.insert(transaction.id(), slot).is_none() {
                fresh.push(Arc::clone(transaction.bytes()));
            }
        }
        self.slots.push_back((slot, ids));
        fresh
    }

    /// Forgets the heights that are too far before this one.
    fn forget(&mut self, slot: Slot) {
        while let Some((old, ids)) =
            self.slots.pop_front_if(|(old, _)| old.get().saturating_add(KEPT) < slot.get())
        {
            for id in ids {
                if self.last.get(&id) == Some(&old) {
                    self.last.remove(&id);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repetition_is_left_out_and_that_depends_on_the_last_blocks_alone() {
        let x = [Transaction::new(b"x".to_vec())];
        let twice = [&x[0], &x[0]];
        let (mut ordered, mut later) = (Ordered::default(), Ordered::default());
        assert_eq!(ordered.take(Slot::new(1), twice.into_iter()).len(), 1);
        assert_eq!(ordered.take(Slot::new(200), x.iter()).len(), 0);
        // A party that starts from the blocks it kept has not seen the first, but the second.
        later.take(Slot::new(200), x.iter());
        for slot in [200 + KEPT, 201 + 2 * KEPT] {
            let slot = Slot::new(slot);
            assert_eq!(ordered.take(slot, x.iter()), later.take(slot, x.iter()), "{slot}");
        }
        assert_eq!(ordered.take(Slot::new(202 + 3 * KEPT), x.iter()).len(), 1, "forgotten");
    }
}
