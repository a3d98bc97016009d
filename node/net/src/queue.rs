//! Frames that wait for a peer, in the order of their ranks, with a limit in bytes.
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use prefinal_protocol::Party;
use tokio::sync::Notify;

use crate::error::SendError;

/// What a frame costs beside its content, so that many empty ones do not cost nothing.
pub(crate) const OVERHEAD: usize = 64;

pub(crate) struct Queue {
    to: Party,
    limit: usize,
    waiting: Mutex<Waiting>,
    more: Notify,
}

#[derive(Default)]
struct Waiting {
    /// By rank, and by number within a rank.
    frames: BTreeMap<(u64, u64), Bytes>,
    number: u64,
    bytes: usize,
}

impl Queue {
    pub(crate) fn new(to: Party, limit: usize) -> Self {
        Self { to, limit, waiting: Mutex::default(), more: Notify::new() }
    }

    pub(crate) fn push(&self, rank: u64, frame: Bytes) -> Result<(), SendError> {
        let mut waiting = self.lock();
        let bytes = waiting.bytes.saturating_add(frame.len()).saturating_add(OVERHEAD);
        if bytes > self.limit {
            return Err(SendError::Full { to: self.to, waiting: bytes, limit: self.limit });
        }
        waiting.bytes = bytes;
        let number = waiting.number;
        waiting.number = number.wrapping_add(1);
        waiting.frames.insert((rank, number), frame);
        drop(waiting);
        self.more.notify_one();
        Ok(())
    }

    /// The next frame, as soon as there is one.
    pub(crate) async fn pop(&self) -> Bytes {
        loop {
            let more = self.more.notified();
            if let Some(frame) = self.try_pop() {
                return frame;
            }
            more.await;
        }
    }

    fn try_pop(&self) -> Option<Bytes> {
        let mut waiting = self.lock();
        let (_, frame) = waiting.frames.pop_first()?;
        waiting.bytes = waiting.bytes.saturating_sub(frame.len() + OVERHEAD);
        Some(frame)
    }

    /// Bytes that wait.
    pub(crate) fn len(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_ranks_leave_first_and_equal_ones_in_their_order() {
        let queue = Queue::new(Party::new(1), 1 << 10);
        for (rank, frame) in [(2, "c"), (1, "a"), (2, "d"), (1, "b")] {
            queue.push(rank, frame.into()).unwrap();
        }
        let out: Vec<_> = std::iter::from_fn(|| queue.try_pop()).collect();
        assert_eq!(out, ["a", "b", "c", "d"]);
        assert_eq!(queue.len(), 0);
    }
}
