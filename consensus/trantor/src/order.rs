//! The memory of what was ordered, so that each transaction is reported once.
//!
//! Two parties may spread the same transaction at the same time, and a faulty leader may put a batch into
//! two blocks. So repetitions are removed after the order is known:
//!
//! | what                        | is known by             | for                                          |
//! |-----------------------------|-------------------------|----------------------------------------------|
//! | a batch                     | its digest              | as long as a block may hold it               |
//! | a client's transaction      | its number              | ever                                         |
//! | a transaction without client | its digest             | [`KEPT`] heights after the last it stands in |
//!
//! By [`Identification::Hashes`] no transaction has a client.
//!
//! That depends on decided blocks alone, so it is the same for all parties, also after a restart and after a
//! state transfer. What the blocks that are kept do not tell is recorded every so many heights
//! ([`OrderHistory`]). How a party learns it that was away: `adopt`.
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::Slot;

use crate::batch::{Batch, BatchId, LIFETIME};
use crate::block::{Transaction, TransactionId};
use crate::client::{Clients, WindowError};
use crate::config::Identification;
use crate::note::HeightContents;
use crate::records::KEPT;
use crate::store::Store;

/// Heights from one record of the history to the next. The blocks in between are kept for a restart.
const RECORD_EVERY: u64 = KEPT / 2;
/// For how many heights it is remembered which batches they have ordered. An honest party acknowledged a batch before,
/// at its height or earlier, and gave it no more time.
pub(crate) const BATCHES_KEPT: u64 = LIFETIME * 2;

/// Which numbers of clients, and which batches, were ordered.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct OrderHistory {
    clients: Clients,
    /// The height that each was ordered at.
    batches: BTreeMap<BatchId, Slot>,
}

/// What was ordered, as a checkpoint has it: the same at every party.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct OrderedState {
    history: OrderHistory,
    slots: VecDeque<(Slot, Vec<TransactionId>)>,
}

/// The history, and the transactions without a client of the last [`KEPT`] heights.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ordered {
    history: OrderHistory,
    /// The height that the history is of, if it comes from a record.
    recorded: Option<Slot>,
    /// The last height that each stands in.
    last: BTreeMap<TransactionId, Slot>,
    slots: VecDeque<(Slot, Vec<TransactionId>)>,
    identification: Identification,
}

/// What a height adds to the order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OrderedBlock {
    /// The transactions that were not ordered before.
    pub(crate) transactions: Vec<Arc<[u8]>>,
    /// The batches that were not, and of their transactions those that were.
    pub(crate) contents: HeightContents,
}

impl Ordered {
    /// The same memory, with transactions told apart like this.
    pub(crate) fn with(self, identification: Identification) -> Self {
        Self { identification, ..self }
    }

    /// What a checkpoint says of it.
    pub(crate) fn to_checkpoint(&self) -> OrderedState {
        OrderedState { history: self.history.clone(), slots: self.slots.clone() }
    }

    /// The memory that a checkpoint describes.
    pub(crate) fn from_checkpoint(state: OrderedState) -> Self {
        let OrderedState { history, slots } = state;
        let mut last = BTreeMap::new();
        for (slot, ids) in &slots {
            last.extend(ids.iter().map(|id| (*id, *slot)));
        }
        Self { history, last, slots, ..Self::default() }
    }

    /// What a record of an earlier life says; the heights before it are told afterwards.
    pub(crate) fn with_history(recorded: Option<(Slot, OrderHistory)>) -> Self {
        let (recorded, history) = recorded.unzip();
        Self { history: history.unwrap_or_default(), recorded, ..Self::default() }
    }

    /// The history, if it is time to record it after this height.
    pub(crate) fn to_record(&self, slot: Slot) -> Option<OrderHistory> {
        let due =
            slot.get().is_multiple_of(RECORD_EVERY) && self.history != OrderHistory::default();
        due.then(|| self.history.clone())
    }

    /// Whether the transaction would be reported if it were ordered now. `Ok(false)` if one without a
    /// client was ordered before.
    pub(crate) fn is_fresh(&self, transaction: &Transaction) -> Result<bool, WindowError> {
        match self.identification.header(transaction) {
            Some(header) => self.history.clients.check(header).map(|()| true),
            None => Ok(!self.last.contains_key(&transaction.id())),
        }
    }

    /// The batches that were ordered and that a block may still hold.
    pub(crate) fn batches(&self) -> impl Iterator<Item = BatchId> {
        self.history.batches.keys().copied()
    }

    /// Orders the batches of the next height. Returns those that were not ordered before.
    fn take_batches(&mut self, slot: Slot, ids: impl Iterator<Item = BatchId>) -> Vec<BatchId> {
        let oldest = slot.get().saturating_sub(BATCHES_KEPT);
        self.history.batches.retain(|_, at| at.get() >= oldest);
        let mut fresh = Vec::new();
        for id in ids {
            let at = *self.history.batches.entry(id).or_insert(slot);
            // After a restart the history may be of a later height than the block.
            if at == slot && !fresh.contains(&id) {
                fresh.push(id);
            }
        }
        fresh
    }

    /// Takes the next height with these batches, as far as they are stored.
    pub(crate) fn take_block(
        &mut self,
        slot: Slot,
        ids: impl Iterator<Item = BatchId>,
        store: &Store,
    ) -> OrderedBlock {
        let fresh = self.take_batches(slot, ids);
        let batches = fresh.iter().filter_map(|id| store.get(*id));
        let (transactions, repeated) = self.take(slot, batches.flat_map(Batch::transactions));
        OrderedBlock { transactions, contents: HeightContents::new(slot, fresh, repeated) }
    }

    /// Takes the next height as others have shown it.
    pub(crate) fn take_shown(&mut self, contents: &HeightContents) {
        let slot = contents.slot();
        self.take_batches(slot, contents.batches().iter().copied());
        self.forget(slot);
        let ids = contents.transactions().to_vec();
        self.last.extend(ids.iter().map(|id| (*id, slot)));
        self.slots.push_back((slot, ids));
    }

    /// Takes the transactions of the next height. Returns them without repetitions, and each that other heights have
    /// ordered before.
    fn take<'a>(
        &mut self,
        slot: Slot,
        transactions: impl Iterator<Item = &'a Transaction>,
    ) -> (Vec<Arc<[u8]>>, Vec<TransactionId>) {
        self.forget(slot);
        let (mut fresh, mut repeated, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        for transaction in transactions {
            if let Some(header) = self.identification.header(transaction) {
                if Some(slot) > self.recorded && self.history.clients.take(header).is_ok() {
                    fresh.push(Arc::clone(transaction.bytes()));
                }
                continue;
            }
            ids.push(transaction.id());
            match self.last.insert(transaction.id(), slot) {
                None => fresh.push(Arc::clone(transaction.bytes())),
                Some(before) if before != slot => repeated.push(transaction.id()),
                Some(_) => {}
            }
        }
        self.slots.push_back((slot, ids));
        (fresh, repeated)
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
        assert_eq!(ordered.take(Slot::new(1), twice.into_iter()).0.len(), 1);
        assert_eq!(ordered.take(Slot::new(200), x.iter()), (vec![], vec![x[0].id()]));
        // A party that starts from the blocks it kept has not seen the first, but the second.
        later.take(Slot::new(200), x.iter());
        for slot in [200 + KEPT, 201 + 2 * KEPT] {
            let slot = Slot::new(slot);
            assert_eq!(ordered.take(slot, x.iter()), later.take(slot, x.iter()), "{slot}");
        }
        assert_eq!(ordered.take(Slot::new(202 + 3 * KEPT), x.iter()).0.len(), 1, "forgotten");
    }

    #[test]
    fn a_checkpoint_and_a_record_say_which_batches_and_numbers_were_ordered() {
        use crate::client::{Client, ClientHeader};
        let id = |text: &[u8]| {
            let all = vec![Transaction::new(text.to_vec())];
            Batch::new(prefinal_crypto_core::access::Party::new(0), Slot::new(9), all).id()
        };
        let (known, new) = (id(b"known"), id(b"new"));
        let numbered = [ClientHeader { client: Client::new([1; 32]), number: 0 }.transaction(b"")];
        let (plain, slot) = ([Transaction::new(b"plain".to_vec())], Slot::new(RECORD_EVERY));
        let mut ordered = Ordered::default();
        assert_eq!(ordered.take_batches(slot, [known, known].into_iter()), [known], "once");
        ordered.take(slot, numbered.iter().chain(&plain));
        let next = slot.next();
        let checkpoint = Ordered::from_checkpoint(ordered.to_checkpoint());
        let record = Ordered::with_history(ordered.to_record(slot).map(|history| (slot, history)));
        for (mut later, knows_plain) in [(ordered, true), (checkpoint, true), (record, false)] {
            assert_eq!(later.take_batches(next, [known, new].into_iter()), [new]);
            assert_eq!(later.take(next, numbered.iter()).0.len(), 0);
            assert_eq!(later.take(next, plain.iter()).0.is_empty(), knows_plain);
            // After a restart the heights that are kept are told again.
            let long_after = slot.after(LIFETIME * 2);
            assert_eq!(later.take_batches(long_after, [known].into_iter()), []);
            assert_eq!(later.take_batches(long_after.next(), [known].into_iter()), [known]);
        }
    }

    #[test]
    fn a_height_that_is_told_again_after_a_restart_orders_its_batches_again() {
        let all = vec![Transaction::new(b"x".to_vec())];
        let batch = Batch::new(prefinal_crypto_core::access::Party::new(0), Slot::new(9), all);
        let (first, second) = (Slot::new(RECORD_EVERY - 1), Slot::new(RECORD_EVERY));
        let mut ordered = Ordered::default();
        ordered.take_batches(first, [batch.id()].into_iter());
        let mut later =
            Ordered::with_history(ordered.to_record(second).map(|history| (second, history)));
        // Its transactions are remembered by what stands in the blocks.
        assert_eq!(later.take_batches(first, [batch.id()].into_iter()), [batch.id()]);
        assert_eq!(later.take_batches(second, [batch.id()].into_iter()), []);
    }
}
