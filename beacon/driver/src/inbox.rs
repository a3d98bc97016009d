//! What waits for the machine, and what waits for the pool.
//!
//! Verdicts, losses and jobs are few: at most as many as there are jobs on the pool. The number of
//! messages is up to the peers, and so is the length of each. So each peer has its own limit of messages
//! and its own limit of bytes. The limit for all peers together is the sum of these. Nothing is shared,
//! because one peer could take shared room from another.
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;

use crate::driven::DrivenMachine;
use crate::error::MessageError;
use crate::jobs::{Number, Ordered};

/// Something for the machine to handle.
pub(crate) enum Letter<M: DrivenMachine> {
    Verdict(Number, M::Verdict),
    Message(Party, M::Message),
}

/// The queues. Each operation locks them for a short time only.
pub(crate) struct Inbox<M: DrivenMachine> {
    queues: Mutex<Queues<M>>,
    /// How many messages of one peer may wait.
    per_peer: usize,
}

/// How much of one peer waits.
#[derive(Clone, Copy, Default)]
struct Waiting {
    messages: usize,
    bytes: usize,
}

struct Waiter<M: DrivenMachine> {
    from: Party,
    message: M::Message,
    bytes: usize,
}

struct Queues<M: DrivenMachine> {
    verdicts: VecDeque<(Number, M::Verdict)>,
    lost: Vec<Number>,
    jobs: VecDeque<Ordered<M>>,
    messages: VecDeque<Waiter<M>>,
    waiting: BTreeMap<(EpochId, Party), Waiting>,
    /// Which parties may send, and how many bytes of each may wait.
    rooms: BTreeMap<(EpochId, Party), usize>,
    dropped: u64,
}

impl<M: DrivenMachine> Inbox<M> {
    pub(crate) fn new(per_peer: usize) -> Self {
        let queues = Queues {
            verdicts: VecDeque::new(),
            lost: Vec::new(),
            jobs: VecDeque::new(),
            messages: VecDeque::new(),
            waiting: BTreeMap::new(),
            rooms: BTreeMap::new(),
            dropped: 0,
        };
        Self { queues: Mutex::new(queues), per_peer }
    }

    /// No operation here panics halfway, so the contents are valid even if the lock is poisoned.
    fn queues(&self) -> MutexGuard<'_, Queues<M>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets which parties may send from now on, and how many bytes of each may wait.
    pub(crate) fn set_rooms(&self, rooms: BTreeMap<(EpochId, Party), usize>) {
        let mut queues = self.queues();
        queues.waiting.retain(|peer, waiting| waiting.messages > 0 || rooms.contains_key(peer));
        queues.rooms = rooms;
    }

    /// Takes a message, unless its sender's messages or bytes are at their limit.
    pub(crate) fn message(&self, from: Party, message: M::Message) -> Result<(), MessageError> {
        // The length is only counted, which does not fail.
        let got = borsh::object_length(&message).unwrap_or(usize::MAX);
        let peer = (M::epoch_of(&message), from);
        let mut queues = self.queues();
        let Some(&limit) = queues.rooms.get(&peer) else {
            let epoch = peer.0;
            let members = queues.rooms.keys().filter(|(of, _)| *of == epoch).count();
            return Err(match members {
                0 => MessageError::UnknownEpoch { from, epoch },
                _ => MessageError::NotMember { from, members },
            });
        };
        let Waiting { messages, bytes } = queues.waiting.get(&peer).copied().unwrap_or_default();
        let sum = bytes.saturating_add(got);
        if messages >= self.per_peer || sum > limit {
            queues.dropped = queues.dropped.saturating_add(1);
            return Err(if messages >= self.per_peer {
                MessageError::Full { from, waiting: messages, limit: self.per_peer }
            } else {
                MessageError::TooLarge { from, got, waiting: bytes, limit }
            });
        }
        let waiting = Waiting { messages: messages.saturating_add(1), bytes: sum };
        queues.waiting.insert(peer, waiting);
        queues.messages.push_back(Waiter { from, message, bytes: got });
        Ok(())
    }

    pub(crate) fn verdict(&self, number: Number, verdict: M::Verdict) {
        self.queues().verdicts.push_back((number, verdict));
    }

    pub(crate) fn lost(&self, number: Number) {
        self.queues().lost.push(number);
    }

    pub(crate) fn job(&self, job: Ordered<M>) {
        self.queues().jobs.push_back(job);
    }

    pub(crate) fn take_job(&self) -> Option<Ordered<M>> {
        self.queues().jobs.pop_front()
    }

    pub(crate) fn take_lost(&self) -> Vec<Number> {
        std::mem::take(&mut self.queues().lost)
    }

    /// The next input for the machine: verdicts first, and messages only if `room` is true.
    pub(crate) fn take(&self, room: bool) -> Option<Letter<M>> {
        let mut queues = self.queues();
        if let Some((number, verdict)) = queues.verdicts.pop_front() {
            return Some(Letter::Verdict(number, verdict));
        }
        if !room {
            return None;
        }
        let Waiter { from, message, bytes } = queues.messages.pop_front()?;
        if let Some(waiting) = queues.waiting.get_mut(&(M::epoch_of(&message), from)) {
            waiting.messages = waiting.messages.saturating_sub(1);
            waiting.bytes = waiting.bytes.saturating_sub(bytes);
        }
        Some(Letter::Message(from, message))
    }

    /// Whether [`take`](Self::take) would give something.
    pub(crate) fn has(&self, room: bool) -> bool {
        let queues = self.queues();
        !queues.verdicts.is_empty() || (room && !queues.messages.is_empty())
    }

    pub(crate) fn has_jobs(&self) -> bool {
        !self.queues().jobs.is_empty()
    }

    pub(crate) fn has_lost(&self) -> bool {
        !self.queues().lost.is_empty()
    }

    /// Empties all queues: no thread will take anything from them any more.
    pub(crate) fn clear(&self) {
        let mut queues = self.queues();
        queues.verdicts.clear();
        queues.lost.clear();
        queues.jobs.clear();
        queues.messages.clear();
        queues.waiting.clear();
    }

    /// How many messages wait, how many bytes they have, and how many messages were dropped.
    pub(crate) fn counts(&self) -> (usize, usize, u64) {
        let queues = self.queues();
        let bytes = queues.waiting.values().map(|waiting| waiting.bytes).sum();
        (queues.messages.len(), bytes, queues.dropped)
    }
}
