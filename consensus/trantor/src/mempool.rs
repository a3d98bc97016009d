//! The mempool: transactions in, batches out.
//!
//! A [`Mempool`] is what the engine asks for its next batch; [`MemoryPool`] keeps transactions in memory.
//! A batch is due when it is full, or `batch_timeout` after its oldest transaction came. What does not
//! find room is refused as busy, and nothing is dropped silently.
//!
//! Each submitter has an allowance, so that one that floods does not keep others out.
use core::fmt::Debug;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use prefinal_crypto_core::access::Party;
use prefinal_protocol::Instant;
use thiserror::Error;

use crate::block::{Transaction, TransactionKey};
use crate::client::WindowError;
use crate::config::Identification;

/// Allowance of a submitter, in batches of the largest size.
const ALLOWANCE_BATCHES: usize = 4;
/// Allowance of a submitter, in batches of the largest number of transactions.
const ALLOWANCE_COUNT: usize = 4;

/// How large a batch may be, and how long it may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Most transactions in a batch.
    pub max_transactions: usize,
    /// Most bytes of transactions in a batch.
    pub max_bytes: usize,
    /// How long a transaction waits for others to fill its batch.
    pub batch_timeout: Duration,
}

impl BatchLimits {
    /// 2048 transactions and 20 milliseconds, with this limit of bytes.
    #[must_use]
    pub const fn new(max_bytes: usize) -> Self {
        let batch_timeout = Duration::from_millis(20);
        Self { max_transactions: 2048, max_bytes, batch_timeout }
    }
}

/// Why a transaction was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// It would not fit into any batch.
    #[error("transaction takes {got} bytes, at most {most} are allowed")]
    TooLarge {
        /// Bytes that it takes in a batch.
        got: usize,
        /// Most bytes of a batch.
        most: usize,
    },
    /// Too many of the submitter's transactions wait already. Try again later.
    #[error("busy: no room for {bytes} bytes, too many transactions wait")]
    Busy {
        /// Bytes that it would take in a batch.
        bytes: usize,
    },
    /// The same transaction waits already.
    #[error("transaction waits already")]
    Known,
    /// Another transaction of the client with the same number waits already.
    #[error("another transaction with number {number} waits already")]
    NumberWaits {
        /// The number of the transaction that waits.
        number: u64,
    },
    /// Its number is not open, or there are too many clients.
    #[error(transparent)]
    Window(#[from] WindowError),
}

impl SubmitError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "too-long",
            Self::Busy { .. } => "queue-full",
            Self::Known => "transaction-waits",
            Self::NumberWaits { .. } => "number-waits",
            Self::Window(error) => error.code(),
        }
    }
}

/// Where the engine gets its batches from.
pub trait Mempool: Debug + Send {
    /// Takes a transaction that a party submitted.
    ///
    /// # Errors
    /// [`SubmitError`] says why it is not taken.
    fn submit(
        &mut self,
        now: Instant,
        from: Party,
        transaction: Transaction,
    ) -> Result<(), SubmitError>;

    /// When the next batch is due; `None` if nothing waits.
    fn due(&self) -> Option<Instant>;

    /// The next batch, if it is due. Its transactions do not wait any more.
    fn batch(&mut self, now: Instant) -> Option<Vec<Transaction>>;

    /// The next batch, due or not, for its party may propose now; `None` if nothing waits.
    fn batch_at_once(&mut self) -> Option<Vec<Transaction>>;

    /// Forgets a transaction that was ordered by another party, and any other with its client and number.
    fn forget(&mut self, transaction: &Transaction);
}

#[derive(Debug, Default, Clone, Copy)]
struct Usage {
    bytes: usize,
    count: usize,
}

#[derive(Debug)]
struct Waiting {
    transaction: Transaction,
    from: Party,
    since: Instant,
}

/// A mempool in memory, oldest transactions first.
#[derive(Debug)]
pub struct MemoryPool {
    limits: BatchLimits,
    identification: Identification,
    next: u64,
    waiting: BTreeMap<u64, Waiting>,
    keys: BTreeMap<TransactionKey, u64>,
    usage: BTreeMap<Party, Usage>,
    total: Usage,
}

impl MemoryPool {
    /// A pool in which nothing waits.
    #[must_use]
    pub const fn new(limits: BatchLimits) -> Self {
        Self {
            limits,
            identification: Identification::ClientNumbers,
            next: 0,
            waiting: BTreeMap::new(),
            keys: BTreeMap::new(),
            usage: BTreeMap::new(),
            total: Usage { bytes: 0, count: 0 },
        }
    }

    /// The same pool, with transactions told apart like this.
    pub(crate) fn with(self, identification: Identification) -> Self {
        Self { identification, ..self }
    }

    /// Whether a batch would be full: no further transaction of the largest size is waited for.
    fn is_full(&self) -> bool {
        self.total.count >= self.limits.max_transactions
            || self.total.bytes >= self.limits.max_bytes
    }

    fn remove(&mut self, place: u64) -> Option<Transaction> {
        let Waiting { transaction, from, .. } = self.waiting.remove(&place)?;
        self.keys.remove(&self.identification.key(&transaction));
        let bytes = transaction.encoded_len();
        for usage in self.usage.get_mut(&from).into_iter().chain([&mut self.total]) {
            usage.bytes = usage.bytes.saturating_sub(bytes);
            usage.count = usage.count.saturating_sub(1);
        }
        if self.usage.get(&from).is_some_and(|usage| usage.count == 0) {
            self.usage.remove(&from);
        }
        Some(transaction)
    }
}

impl Mempool for MemoryPool {
    fn submit(
        &mut self,
        now: Instant,
        from: Party,
        transaction: Transaction,
    ) -> Result<(), SubmitError> {
        let (bytes, most) = (transaction.encoded_len(), self.limits.max_bytes);
        if bytes > most {
            return Err(SubmitError::TooLarge { got: bytes, most });
        }
        let key = self.identification.key(&transaction);
        if let Some(waiting) = self.keys.get(&key).and_then(|place| self.waiting.get(place)) {
            return Err(match key {
                TransactionKey::Client(header) if waiting.transaction != transaction => {
                    SubmitError::NumberWaits { number: header.number }
                }
                _ => SubmitError::Known,
            });
        }
        let usage = self.usage.get(&from).copied().unwrap_or_default();
        let (count, held) = (usage.count.saturating_add(1), usage.bytes.saturating_add(bytes));
        if count > self.limits.max_transactions.saturating_mul(ALLOWANCE_COUNT)
            || held > most.saturating_mul(ALLOWANCE_BATCHES)
        {
            return Err(SubmitError::Busy { bytes });
        }
        self.usage.insert(from, Usage { bytes: held, count });
        self.total.bytes = self.total.bytes.saturating_add(bytes);
        self.total.count = self.total.count.saturating_add(1);
        self.keys.insert(key, self.next);
        self.waiting.insert(self.next, Waiting { transaction, from, since: now });
        self.next += 1;
        Ok(())
    }

    fn due(&self) -> Option<Instant> {
        let (_, oldest) = self.waiting.first_key_value()?;
        let wait = if self.is_full() { Duration::ZERO } else { self.limits.batch_timeout };
        Some(oldest.since + wait)
    }

    fn batch(&mut self, now: Instant) -> Option<Vec<Transaction>> {
        self.due().filter(|due| *due <= now)?;
        self.batch_at_once()
    }

    fn batch_at_once(&mut self) -> Option<Vec<Transaction>> {
        let mut room = self.limits.max_bytes;
        let fits = |(place, waiting): (&u64, &Waiting)| {
            room = room.checked_sub(waiting.transaction.encoded_len())?;
            Some(*place)
        };
        let places: BTreeSet<u64> =
            self.waiting.iter().take(self.limits.max_transactions).map_while(fits).collect();
        let batch: Vec<_> = places.into_iter().filter_map(|place| self.remove(place)).collect();
        Some(batch).filter(|batch| !batch.is_empty())
    }

    fn forget(&mut self, transaction: &Transaction) {
        if let Some(place) = self.keys.get(&self.identification.key(transaction)).copied() {
            let _ordered = self.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Party = Party::new(0);
    const B: Party = Party::new(1);

    fn at(ms: u64) -> Instant {
        Instant::at(Duration::from_millis(ms))
    }

    fn transaction(bytes: &[u8]) -> Transaction {
        Transaction::new(bytes.to_vec())
    }

    fn pool(max_transactions: usize, max_bytes: usize) -> MemoryPool {
        MemoryPool::new(BatchLimits { max_transactions, ..BatchLimits::new(max_bytes) })
    }

    #[test]
    fn a_batch_is_due_when_it_is_full_or_its_oldest_has_waited() {
        let mut pool = pool(2, 100);
        assert_eq!((pool.due(), pool.batch(at(5))), (None, None));
        assert_eq!(pool.submit(at(5), A, transaction(b"a")), Ok(()));
        assert_eq!(pool.batch(at(24)), None);
        assert_eq!(pool.batch(at(25)), Some(vec![transaction(b"a")]));
        for (ms, bytes) in [(30, b"b"), (31, b"c"), (31, b"d")] {
            assert_eq!(pool.submit(at(ms), A, transaction(bytes)), Ok(()));
        }
        assert_eq!(pool.batch(at(31)), Some(vec![transaction(b"b"), transaction(b"c")]), "full");
        assert_eq!((pool.batch(at(32)), pool.due()), (None, Some(at(51))));
    }

    #[test]
    fn a_batch_is_to_be_had_at_once_if_anything_waits() {
        let mut pool = pool(2, 100);
        assert_eq!(pool.batch_at_once(), None);
        for bytes in [b"a", b"b", b"c"] {
            assert_eq!(pool.submit(at(5), A, transaction(bytes)), Ok(()));
        }
        assert_eq!(pool.batch_at_once(), Some(vec![transaction(b"a"), transaction(b"b")]));
        assert_eq!(pool.batch_at_once(), Some(vec![transaction(b"c")]));
        assert_eq!((pool.batch_at_once(), pool.due()), (None, None));
    }

    #[test]
    fn a_batch_has_no_more_bytes_than_it_may_and_the_order_is_kept() {
        let mut pool = pool(10, 10);
        for bytes in [&[1_u8, 1, 1, 1][..], &[2, 2], &[3]] {
            assert_eq!(pool.submit(at(0), A, transaction(bytes)), Ok(()));
        }
        assert_eq!(pool.batch(at(0)), Some(vec![transaction(&[1; 4])]), "8 and 6 bytes");
        assert_eq!(pool.batch(at(0)).map(|batch| batch.len()), Some(1), "6 and 5 bytes");
        assert_eq!(pool.batch(at(20)), Some(vec![transaction(&[3])]));
        assert_eq!(pool.due(), None);
    }

    #[test]
    fn a_number_of_a_client_waits_once_and_is_forgotten_with_any_of_its_transactions() {
        let header =
            crate::client::ClientHeader { client: crate::client::Client::new([5; 32]), number: 3 };
        let (one, other) = (header.transaction(b"a"), header.transaction(b"b"));
        let mut pool = pool(10, 100);
        assert_eq!(pool.submit(at(0), A, one.clone()), Ok(()));
        assert_eq!(pool.submit(at(0), A, one), Err(SubmitError::Known));
        let waits = Err(SubmitError::NumberWaits { number: 3 });
        assert_eq!(pool.submit(at(0), B, other.clone()), waits);
        pool.forget(&other);
        assert_eq!((pool.due(), pool.submit(at(0), B, other)), (None, Ok(())));
    }

    #[test]
    fn who_floods_hears_busy_and_keeps_nobody_else_out() {
        let mut pool = pool(1000, 10);
        let taken = (0..100).filter(|&i| pool.submit(at(0), A, transaction(&[i])).is_ok()).count();
        assert_eq!(taken, 8, "5 bytes each, 40 allowed");
        assert_eq!(pool.submit(at(0), A, transaction(&[99])), Err(SubmitError::Busy { bytes: 5 }));
        assert_eq!(pool.submit(at(0), B, transaction(&[99])), Ok(()));
        assert_eq!(pool.submit(at(0), B, transaction(&[99])), Err(SubmitError::Known));
        let (got, most) = (11, 10);
        let large = pool.submit(at(0), B, transaction(&[0; 7]));
        assert_eq!(large, Err(SubmitError::TooLarge { got, most }));
        pool.forget(&transaction(&[0]));
        pool.forget(&transaction(&[0]));
        assert_eq!(pool.submit(at(0), A, transaction(&[100])), Ok(()), "there is room again");
    }
}
