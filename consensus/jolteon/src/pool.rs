//! Transactions that wait for a block.
//!
//! Each party has an allowance for the transactions that it submits here, so that a party that floods
//! does not keep others out. A transaction stays until it is final. A leader proposes the oldest first
//! and leaves out those that unfinished ancestors carry already. Names of final transactions are
//! remembered for a while, so that late gossip does not bring them back.
//!
//! See also `tree` for what ancestors carry. The execution of blocks must still refuse repetitions: a
//! faulty leader may propose whatever it likes.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use prefinal_crypto_core::access::Party;

use crate::block::{Transaction, TransactionId};

/// Allowance of a party, in payloads of the largest size.
const ALLOWANCE_PAYLOADS: usize = 2;
/// Allowance of a party, in transactions.
const ALLOWANCE_COUNT: usize = 4096;
/// Names of final transactions that are remembered.
const REMEMBERED: usize = 1 << 16;

#[derive(Debug, Default, Clone, Copy)]
struct Usage {
    bytes: usize,
    count: usize,
}

#[derive(Debug)]
struct Waiting {
    id: TransactionId,
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
    done: BTreeSet<TransactionId>,
    done_order: VecDeque<TransactionId>,
}

impl Pool {
    pub(crate) const fn new(max_block_bytes: usize) -> Self {
        Self {
            allowance: max_block_bytes.saturating_mul(ALLOWANCE_PAYLOADS),
            next: 0,
            waiting: BTreeMap::new(),
            names: BTreeMap::new(),
            usage: BTreeMap::new(),
            done: BTreeSet::new(),
            done_order: VecDeque::new(),
        }
    }

    /// Whether a transaction of that size from that party would be taken.
    pub(crate) fn has_room(&self, from: Party, bytes: usize) -> bool {
        let usage = self.usage.get(&from).copied().unwrap_or_default();
        usage.count < ALLOWANCE_COUNT && usage.bytes.saturating_add(bytes) <= self.allowance
    }

    /// Takes a transaction, unless it is known or its sender has used up its allowance.
    pub(crate) fn add(&mut self, from: Party, transaction: Transaction) -> bool {
        let (id, bytes) = (transaction.id(), transaction.encoded_len());
        if self.names.contains_key(&id) || self.done.contains(&id) || !self.has_room(from, bytes) {
            return false;
        }
        let usage = self.usage.entry(from).or_default();
        usage.bytes = usage.bytes.saturating_add(bytes);
        usage.count += 1;
        self.names.insert(id, self.next);
        self.waiting.insert(self.next, Waiting { id, transaction, from });
        self.next += 1;
        true
    }

    /// The oldest transactions that fit, without those that ancestors carry already.
    pub(crate) fn select(
        &self,
        bytes: usize,
        carried: &BTreeSet<TransactionId>,
    ) -> Vec<Transaction> {
        let mut room = bytes;
        let fresh = self.waiting.values().filter(|waiting| !carried.contains(&waiting.id));
        fresh
            .filter(|waiting| {
                let left = room.checked_sub(waiting.transaction.encoded_len());
                room = left.unwrap_or(room);
                left.is_some()
            })
            .map(|waiting| waiting.transaction.clone())
            .collect()
    }

    /// Removes these transactions, which are final.
    pub(crate) fn finalize(&mut self, transactions: &[Transaction]) {
        for id in transactions.iter().map(Transaction::id) {
            self.remove(id);
            if self.done.insert(id) {
                self.done_order.push_back(id);
            }
        }
        while self.done_order.len() > REMEMBERED {
            if let Some(oldest) = self.done_order.pop_front() {
                self.done.remove(&oldest);
            }
        }
    }

    fn remove(&mut self, id: TransactionId) {
        let place = self.names.remove(&id);
        let Some(waiting) = place.and_then(|place| self.waiting.remove(&place)) else { return };
        if let Some(usage) = self.usage.get_mut(&waiting.from) {
            usage.bytes = usage.bytes.saturating_sub(waiting.transaction.encoded_len());
            usage.count = usage.count.saturating_sub(1);
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
    fn what_is_carried_or_final_is_not_proposed_again() {
        let mut pool = Pool::new(100);
        let all = [transaction(b"a"), transaction(b"b"), transaction(b"c")];
        for one in &all {
            assert!(pool.add(A, one.clone()));
            assert!(!pool.add(B, one.clone()), "known");
        }
        let carried = BTreeSet::from([all[1].id()]);
        assert_eq!(pool.select(100, &carried), [all[0].clone(), all[2].clone()]);
        assert_eq!(pool.select(9, &carried), [all[0].clone()], "what fits");
        pool.finalize(&all[..1]);
        assert!(!pool.add(B, all[0].clone()), "late gossip");
        assert_eq!(pool.select(100, &carried), [all[2].clone()]);
    }

    #[test]
    fn an_allowance_comes_back_when_its_transactions_are_final() {
        let mut pool = Pool::new(3);
        assert!(pool.add(A, transaction(&[1, 2])) && !pool.add(A, transaction(&[2])));
        pool.finalize(&[transaction(&[1, 2])]);
        assert!(pool.add(A, transaction(&[2])));
    }
}
