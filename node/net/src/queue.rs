//! Frames that wait for a peer, with a limit in bytes.
use std::collections::VecDeque;
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
    frames: VecDeque<Bytes>,
    bytes: usize,
}

impl Queue {
    pub(crate) fn new(to: Party, limit: usize) -> Self {
        Self { to, limit, waiting: Mutex::default(), more: Notify::new() }
    }

    pub(crate) fn push(&self, frame: Bytes) -> Result<(), SendError> {
        let mut waiting = self.lock();
        let bytes = waiting.bytes.saturating_add(frame.len()).saturating_add(OVERHEAD);
        if bytes > self.limit {
            return Err(SendError::Full { to: self.to, waiting: bytes, limit: self.limit });
        }
        waiting.bytes = bytes;
        waiting.frames.push_back(frame);
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
        let frame = waiting.frames.pop_front()?;
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
