//! The memory of transactions that were ordered, so that each is reported once.
//!
//! Two parties may spread the same transaction at the same time, and a faulty leader may put a batch into
//! two blocks. So repetitions are removed after the order is known: a transaction that also stands in one
//! of the [`KEPT`] heights before is left out of its block. That depends on decided blocks alone, so it is
//! the same for all parties, also after a restart.
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use prefinal_protocol::Slot;

use crate::block::{Transaction, TransactionId};
use crate::records::KEPT;

/// The transactions of the last [`KEPT`] heights.
#[derive(Debug, Default)]
pub(crate) struct Ordered {
    /// The last height that each stands in.
    last: BTreeMap<TransactionId, Slot>,
    slots: VecDeque<(Slot, Vec<TransactionId>)>,
}

impl Ordered {
    pub(crate) fn has(&self, transaction: &Transaction) -> bool {
        self.last.contains_key(&transaction.id())
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
