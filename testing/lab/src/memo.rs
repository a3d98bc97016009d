//! A result that many parties need, computed by the first that asks.
//!
//! It is shared by the two runs of an experiment, which are two threads: the second thread waits for
//! the first instead of computing the same again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Results by what they are results of.
pub(crate) struct Memo<K, V>(Mutex<BTreeMap<K, Arc<OnceLock<V>>>>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord, V: Clone> Memo<K, V> {
    /// The result for `key`, computed if nobody has asked before.
    pub(crate) fn get(&self, key: K, compute: impl FnOnce() -> V) -> V {
        let cell = {
            let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(cells.entry(key).or_default())
        };
        cell.get_or_init(compute).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn the_second_that_asks_computes_nothing() {
        let memo = Memo::default();
        let computed = AtomicU32::new(0);
        let square = |n: u32| {
            memo.get(n, || {
                computed.fetch_add(1, Ordering::Relaxed);
                n * n
            })
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!((square(3), square(5)), (9, 25)));
            }
        });
        assert_eq!(computed.into_inner(), 2);
    }
}
