//! Encoded answers, shared between those who ask for the same.
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::wire::{Answer, Ask, Compression};

/// What an answer depends on.
type Key = (Ask, Compression);

/// How often answers were found in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Requests whose answers were there.
    pub hits: u64,
    /// Requests whose answers were read and encoded.
    pub misses: u64,
}

#[derive(Debug)]
struct Entry {
    answer: Arc<Answer>,
    used: u64,
}

/// Answers up to a number of bytes; the one that was not used for the longest time goes first.
#[derive(Debug)]
pub(crate) struct AnswerCache {
    most: usize,
    bytes: usize,
    clock: u64,
    entries: BTreeMap<Key, Entry>,
    by_use: BTreeMap<u64, Key>,
    pub(crate) counts: CacheCounts,
}

impl AnswerCache {
    pub(crate) const fn new(most: usize) -> Self {
        let counts = CacheCounts { hits: 0, misses: 0 };
        Self { most, bytes: 0, clock: 0, entries: BTreeMap::new(), by_use: BTreeMap::new(), counts }
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn get(&mut self, key: &Key) -> Option<Arc<Answer>> {
        let Some(entry) = self.entries.get_mut(key) else {
            self.counts.misses = self.counts.misses.saturating_add(1);
            return None;
        };
        self.counts.hits = self.counts.hits.saturating_add(1);
        self.clock = self.clock.saturating_add(1);
        self.by_use.remove(&entry.used);
        self.by_use.insert(self.clock, *key);
        entry.used = self.clock;
        Some(Arc::clone(&entry.answer))
    }

    pub(crate) fn put(&mut self, key: Key, answer: &Arc<Answer>) {
        if answer.bytes() > self.most || self.entries.contains_key(&key) {
            return;
        }
        self.bytes = self.bytes.saturating_add(answer.bytes());
        self.clock = self.clock.saturating_add(1);
        self.by_use.insert(self.clock, key);
        self.entries.insert(key, Entry { answer: Arc::clone(answer), used: self.clock });
        while self.bytes > self.most {
            let Some((_, oldest)) = self.by_use.pop_first() else { return };
            if let Some(gone) = self.entries.remove(&oldest) {
                self.bytes = self.bytes.saturating_sub(gone.answer.bytes());
            }
        }
    }
}
