//! What a replica has delivered: the store of keys and values, and a digest of the order after each height.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use prefinal_protocol::Slot;
use prefinal_trantor::{Application, ClientHeader, Configuration, KeyValues, RestoreError};
use sha2::{Digest, Sha256};

use crate::Outcome;

/// The example application, with what is compared between replicas.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    store: KeyValues,
    order: Order,
    /// Number of delivered transactions, for others to read.
    count: Arc<AtomicU64>,
    /// What was delivered since the clients were last told.
    fresh: Mutex<Vec<ClientHeader>>,
}

/// The digest of all transactions up to each height that has some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Order {
    digests: BTreeMap<Slot, [u8; 32]>,
    transactions: u64,
}

impl Order {
    fn extend(&mut self, slot: Slot, transactions: &[Arc<[u8]>]) {
        let before = self.digests.last_key_value().map(|(_, digest)| *digest).unwrap_or_default();
        let mut hash = Sha256::new().chain_update(before).chain_update(slot.get().to_be_bytes());
        for transaction in transactions {
            hash.update(Sha256::digest(transaction));
            self.transactions = self.transactions.saturating_add(1);
        }
        self.digests.insert(slot, hash.finalize().into());
    }

    /// The digest at a height: that of the last height up to it that has transactions.
    fn at(&self, slot: Slot) -> Option<(Slot, [u8; 32])> {
        self.digests.range(..=slot).next_back().map(|(slot, digest)| (*slot, *digest))
    }
}

impl Ledger {
    /// The number of delivered transactions; it goes on while the replica runs.
    pub(crate) fn count(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.count)
    }

    /// What was delivered since the last call.
    pub(crate) fn take_fresh(&self) -> Vec<ClientHeader> {
        std::mem::take(&mut *self.fresh.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What remains of it when its replica has stopped.
    pub(crate) fn result(&self) -> Delivered {
        Delivered { store: self.store.clone(), order: self.order.clone() }
    }
}

impl Application for Ledger {
    fn apply(&mut self, slot: Slot, transactions: &[Arc<[u8]>]) {
        self.store.apply(slot, transactions);
        if transactions.is_empty() {
            return;
        }
        self.order.extend(slot, transactions);
        self.count.store(self.order.transactions, Ordering::Relaxed);
        let fresh = self.fresh.get_mut().unwrap_or_else(PoisonError::into_inner);
        fresh.extend(transactions.iter().filter_map(|one| Some(ClientHeader::split(one)?.0)));
    }

    fn snapshot(&self) -> Vec<u8> {
        self.store.snapshot()
    }

    /// The store alone: the driver ends a run in which this happens, for the order is not known then.
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), RestoreError> {
        self.store.restore(snapshot)
    }

    fn new_epoch(&mut self, epoch: u64) -> Option<Configuration> {
        self.store.new_epoch(epoch)
    }
}

/// What a replica has delivered in the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivered {
    store: KeyValues,
    order: Order,
}

/// Checks that all replicas have delivered the same: the order, and what came of it. Returns the number of
/// transactions.
pub(crate) fn agree(all: &[Delivered]) -> Outcome<u64> {
    let (first, others) = all.split_first().ok_or("no replica is left")?;
    let lasts = all.iter().map(|one| one.order.digests.last_key_value().map(|(slot, _)| *slot));
    let common = lasts.min().flatten().ok_or("a replica has delivered nothing")?;
    for (number, other) in (1..).zip(others) {
        if other.order.at(common) != first.order.at(common) {
            return Err(format!("replicas 0 and {number} differ in the order at {common}").into());
        }
        if other.order.transactions != first.order.transactions {
            let (got, expected) = (other.order.transactions, first.order.transactions);
            let why = format!("replica {number} has delivered {got}, replica 0 {expected}");
            return Err(why.into());
        }
        if other.store != first.store {
            return Err(format!("replicas 0 and {number} differ in their state").into());
        }
    }
    if first.store.applied() != first.order.transactions {
        let (got, expected) = (first.store.applied(), first.order.transactions);
        return Err(format!("{got} of {expected} transactions were carried out").into());
    }
    Ok(first.order.transactions)
}

#[cfg(test)]
mod tests {
    use prefinal_trantor::{Client, Command};

    use super::*;

    fn put(number: u64) -> Arc<[u8]> {
        let command = Command::Put { key: number.to_string(), value: vec![7] };
        let header = ClientHeader { client: Client::new([1; 32]), number };
        Arc::clone(command.transaction(header).bytes())
    }

    fn delivered(blocks: &[(u64, &[u64])]) -> Delivered {
        let mut ledger = Ledger::default();
        for (slot, numbers) in blocks {
            let block: Vec<_> = numbers.iter().map(|number| put(*number)).collect();
            ledger.apply(Slot::new(*slot), &block);
        }
        ledger.result()
    }

    #[test]
    fn replicas_that_delivered_the_same_agree() {
        let one = delivered(&[(1, &[0, 1]), (2, &[]), (5, &[2])]);
        assert_eq!(one.store.get("2"), Some(&[7][..]));
        let other = delivered(&[(1, &[0, 1]), (3, &[]), (5, &[2]), (9, &[])]);
        assert_eq!(agree(&[one, other]).unwrap(), 3);
    }

    #[test]
    fn another_order_is_told_even_if_the_state_is_the_same() {
        let one = delivered(&[(1, &[0, 1])]);
        let wrong = [
            delivered(&[(1, &[1, 0])]),
            delivered(&[(2, &[0, 1])]),
            delivered(&[(1, &[0]), (2, &[1])]),
        ];
        for other in wrong {
            assert_eq!(one.store, other.store);
            assert!(agree(&[one.clone(), one.clone(), other]).is_err());
        }
    }

    #[test]
    fn a_replica_that_delivered_less_or_has_another_state_is_told() {
        let one = delivered(&[(1, &[0]), (2, &[1])]);
        assert!(agree(&[one.clone(), delivered(&[(1, &[0])])]).is_err());
        assert!(agree(&[one.clone(), Delivered::default()]).is_err());
        assert!(agree(&[]).is_err());
        let longer = delivered(&[(1, &[0]), (2, &[1]), (3, &[2])]);
        let more = Delivered { store: one.store.clone(), ..longer };
        assert!(agree(&[one.clone(), more]).is_err());
        let other = Delivered { store: KeyValues::default(), ..one.clone() };
        assert!(agree(&[one.clone(), other.clone()]).is_err());
        assert!(agree(&[other.clone(), other]).is_err());
    }

    #[test]
    fn clients_hear_of_each_delivery_once() {
        let mut ledger = Ledger::default();
        ledger.apply(Slot::new(1), &[put(0), put(1)]);
        let numbers: Vec<u64> = ledger.take_fresh().iter().map(|header| header.number).collect();
        assert_eq!(numbers, [0, 1]);
        assert_eq!((ledger.take_fresh().len(), ledger.count().load(Ordering::Relaxed)), (0, 2));
    }
}
