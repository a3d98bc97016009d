//! A state on its way from peers to the disk, range by range.
//!
//! The key space is divided into 16 parts, so ranges come from several peers at once. Where a part does not fit
//! into an answer, the rest of it is asked for next.
use std::collections::VecDeque;

use prefinal_execution::Height;
use prefinal_light::EpochEnding;
use prefinal_state::SnapshotBlock;
use prefinal_state::proof::{KeyRange, StateKey, StateRoot, VerifiedRange};

use crate::trust::Attestation;

/// A search for a certified block whose state may be fetched.
#[derive(Debug)]
pub(crate) struct Seek<T> {
    pub(crate) height: Height,
    /// As far as endings have led. The follower itself goes on with its own epoch meanwhile.
    pub(crate) trust: T,
    /// Those that have led there.
    pub(crate) endings: Vec<EpochEnding>,
}

/// Keys that are to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) keys: KeyRange,
    pub(crate) attempt: u32,
}

/// After so many attempts another state is looked for.
const MOST_ATTEMPTS: u32 = 4;

/// A state that is being fetched.
#[derive(Debug)]
pub(crate) struct Restore<C> {
    pub(crate) anchor: SnapshotBlock<Attestation<C>>,
    todo: VecDeque<Part>,
    /// Verified and not durable.
    verified: VecDeque<(VerifiedRange, u64)>,
    /// Bytes of the range that is being written.
    pub(crate) storing: Option<u64>,
}

impl<C> Restore<C> {
    pub(crate) fn new(anchor: SnapshotBlock<Attestation<C>>, missing: &[KeyRange]) -> Self {
        let todo = missing.iter().flat_map(divide).map(|keys| Part { keys, attempt: 0 }).collect();
        Self { anchor, todo, verified: VecDeque::new(), storing: None }
    }

    pub(crate) const fn root(&self) -> StateRoot {
        StateRoot::new(self.anchor.roots.state)
    }

    /// Bytes of ranges in memory.
    pub(crate) fn bytes(&self) -> u64 {
        let verified = self.verified.iter().map(|(_, bytes)| *bytes);
        verified.chain(self.storing).fold(0, u64::saturating_add)
    }

    pub(crate) fn next(&self) -> Option<Part> {
        self.todo.front().copied()
    }

    /// Whether a part was asked for so often in vain that nobody who claims to have the state is believed.
    pub(crate) fn is_in_vain(&self) -> bool {
        self.todo.iter().any(|part| part.attempt >= MOST_ATTEMPTS)
    }

    pub(crate) fn asked(&mut self) {
        self.todo.pop_front();
    }

    pub(crate) fn ask_again(&mut self, part: Part) {
        self.todo.push_front(part);
    }

    /// A range is verified: what was asked for behind it is missing yet.
    pub(crate) fn insert(&mut self, asked: KeyRange, range: VerifiedRange) {
        if let Some(first) = range.keys().last.next().filter(|first| *first <= asked.last) {
            let keys = KeyRange { first, last: asked.last };
            self.todo.push_front(Part { keys, attempt: 0 });
        }
        let bytes = range.rows().iter().map(|row| row.value.len().saturating_add(36));
        let bytes = u64::try_from(bytes.sum::<usize>()).unwrap_or(u64::MAX);
        self.verified.push_back((range, bytes));
    }

    pub(crate) fn take_verified(&mut self) -> Option<(VerifiedRange, u64)> {
        self.verified.pop_front()
    }

    /// Whether everything that was asked for is durable.
    pub(crate) fn is_stored(&self) -> bool {
        self.todo.is_empty() && self.verified.is_empty() && self.storing.is_none()
    }
}

/// The parts of a range by the first four bits of the keys.
fn divide(range: &KeyRange) -> Vec<KeyRange> {
    let parts = (0..16_u8).map(|nibble| {
        let (mut first, mut last) = ([0; 32], [0xff; 32]);
        (first[0], last[0]) = (nibble << 4, nibble << 4 | 15);
        let (first, last) = (StateKey::from_bytes(first), StateKey::from_bytes(last));
        KeyRange { first: first.max(range.first), last: last.min(range.last) }
    });
    parts.filter(|part| part.first <= part.last).collect()
}
