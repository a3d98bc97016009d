//! Transactions that wait for a block, and the memory of those that were ordered.
//!
//! Each party has an allowance for the transactions that it submits here, so that a party that floods
//! does not keep others out. A transaction stays until it is final. A leader proposes the oldest first
//! and leaves out what its own open heights carry.
//!
//! Two leaders may propose the same transaction at the same time, and a faulty leader whatever it likes.
//! So repetitions are removed after the order is known: a transaction that also stands in one of the
//! [`KEPT`] heights before is left out of its block. That depends on decided blocks alone, so it is the
//! same for all parties, also after a restart.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::Slot;

use crate::block::{Body, Transaction, TransactionId};
use crate::records::KEPT;

/// Allowance of a party, in blocks of the largest size.
const ALLOWANCE_BLOCKS: usize = 2;
/// Allowance of a party, in transactions.
const ALLOWANCE_COUNT: usize = 4096;

#[derive(Debug, Default, Clone, Copy)]
struct Usage {
    bytes: usize,
    count: usize,
}

#[derive(Debug)]
struct Waiting {
    transaction: Transaction,
    from: Party,
}

#[derive(Debug)]
pub(crate) struct Pool {
    allowance: usize,
    next: u64,
    waiting: BTreeMap<u64, Waiting>,
    names: BTreeMap<TransactionId, u64>,
    usage: BTreeMap<Party, Usage>,
}

impl Pool {
    pub(crate) const fn new(max_block_bytes: usize) -> Self {
        Self {
            allowance: max_block_bytes.saturating_mul(ALLOWANCE_BLOCKS),
            next: 0,
            waiting: BTreeMap::new(),
            names: BTreeMap::new(),
            usage: BTreeMap::new(),
        }
    }

    /// Whether a transaction of that size from that party would be taken.
    pub(crate) fn has_room(&self, from: Party, bytes: usize) -> bool {
        let usage = self.usage.get(&from).copied().unwrap_or_default();
        usage.count < ALLOWANCE_COUNT && usage.bytes.saturating_add(bytes) <= self.allowance
    }

    /// Takes a transaction, unless it waits already or its sender has used up its allowance.
    pub(crate) fn add(&mut self, from: Party, transaction: Transaction) -> bool {
        let (id, bytes) = (transaction.id(), transaction.encoded_len());
        if self.names.contains_key(&id) || !self.has_room(from, bytes) {
            return false;
        }
        let usage = self.usage.entry(from).or_default();
        usage.bytes = usage.bytes.saturating_add(bytes);
        usage.count += 1;
        self.names.insert(id, self.next);
        self.waiting.insert(self.next, Waiting { transaction, from });
        self.next += 1;
        true
    }

    /// The oldest transactions that fit, without those that open heights carry already.
    pub(crate) fn select(
        &self,
        bytes: usize,
        carried: &BTreeSet<TransactionId>,
    ) -> Vec<Transaction> {
        let all = self.waiting.values().map(|waiting| &waiting.transaction);
        fitting(bytes, all.filter(|one| !carried.contains(&one.id())))
    }

    /// The oldest transactions of one party that fit.
    pub(crate) fn of(&self, party: Party, bytes: usize) -> Vec<Transaction> {
        let own = self.waiting.values().filter(|waiting| waiting.from == party);
        fitting(bytes, own.map(|waiting| &waiting.transaction))
    }

    /// Removes these transactions, which are ordered.
    pub(crate) fn remove<'a>(&mut self, transactions: impl Iterator<Item = &'a Transaction>) {
        for transaction in transactions {
            let place = self.names.remove(&transaction.id());
            let Some(waiting) = place.and_then(|place| self.waiting.remove(&place)) else { continue };
            if let Some(usage) = self.usage.get_mut(&waiting.from) {
                usage.bytes = usage.bytes.saturating_sub(waiting.transaction.encoded_len());
                usage.count = usage.count.saturating_sub(1);
            }
        }
    }
}

fn fitting<'a>(
    bytes: usize,
    transactions: impl Iterator<Item = &'a Transaction>,
) -> Vec<Transaction> {
    let mut room = bytes;
    let fits = |transaction: &&Transaction| {
        let left = room.checked_sub(transaction.encoded_len());
        room = left.unwrap_or(room);
        left.is_some()
    };
    transactions.filter(fits).cloned().collect()
}

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

    /// Takes the block of the next height. Returns its transactions without repetitions.
    pub(crate) fn take(&mut self, slot: Slot, body: &Body) -> Vec<Arc<[u8]>> {
        self.forget(slot);
        let mut fresh = Vec::new();
        for transaction in body.transactions() {
            if self.last.insert(transaction.id(), slot).is_none() {
                fresh.push(Arc::clone(transaction.bytes()));
            }
        }
        self.slots.push_back((slot, body.transactions().iter().map(Transaction::id).collect()));
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

    const A: Party = Party::new(0);
    const B: Party = Party::new(1);

    fn transaction(bytes: &[u8]) -> Transaction {
        Transaction::new(bytes.to_vec())
    }

    #[test]
    fn a_flood_keeps_nobody_else_out() {
        let mut pool = Pool::new(10);
        let taken = (0..10).filter(|&i| pool.add(A, transaction(&[i]))).count();
        assert_eq!(taken, 4, "5 bytes each, 20 allowed");
        assert!(pool.add(B, transaction(&[100])));
    }

    #[test]
    fn what_is_carried_is_not_proposed_again_and_what_is_ordered_makes_room() {
        let mut pool = Pool::new(10);
        let all = [transaction(b"a"), transaction(b"b"), transaction(b"c")];
        for one in &all {
            assert!(pool.add(A, one.clone()));
            assert!(!pool.add(B, one.clone()), "known");
        }
        let carried = BTreeSet::from([all[1].id()]);
        assert_eq!(pool.select(100, &carried), [all[0].clone(), all[2].clone()]);
        assert_eq!(pool.select(9, &carried), [all[0].clone()], "what fits");
        assert_eq!(pool.of(A, 100).len(), 3);
        assert!(pool.of(B, 100).is_empty());
        assert!(!pool.has_room(A, 6));
        pool.remove(all[..1].iter());
        assert!(pool.has_room(A, 6));
    }

    #[test]
    fn a_repetition_is_left_out_and_that_depends_on_the_last_blocks_alone() {
        let body = |bytes: &[u8]| Body::new(vec![transaction(bytes)]);
        let twice = Body::new(vec![transaction(b"x"), transaction(b"x")]);
        let (mut ordered, mut later) = (Ordered::default(), Ordered::default());
        assert_eq!(ordered.take(Slot::new(1), &twice).len(), 1);
        assert_eq!(ordered.take(Slot::new(200), &body(b"x")).len(), 0);
        // A party that starts from the blocks it kept has not seen the first, but the second.
        later.take(Slot::new(200), &body(b"x"));
        for slot in [200 + KEPT, 201 + 2 * KEPT] {
            let (one, two) = (Slot::new(slot), body(b"x"));
            assert_eq!(ordered.take(one, &two), later.take(one, &two), "{slot}");
        }
        assert_eq!(ordered.take(Slot::new(202 + 3 * KEPT), &body(b"x")).len(), 1, "forgotten");
    }
}
