//! Requests that are out, answers that are being verified, and how much of both there may be.
//!
//! The window is a number of requests. It grows by one with each answer that the pipeline has waited for, so it
//! doubles within a round trip until the pipeline has enough to do; it shrinks by one with each answer that comes
//! while as many blocks as the window brings wait already. Bytes bound it whatever it is: those that may be
//! answered count from the request on, those that are in memory until they are durable.
use std::collections::BTreeMap;

use prefinal_protocol::Instant;
use prefinal_state::proof::StateRoot;

use crate::check::Question;
use crate::config::FollowerLimits;
use crate::peers::PeerId;
use crate::wire::{Ask, Compression, Request, RequestId};

/// What an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Blocks that are replayed, and what leads to their epochs.
    Replay,
    /// Blocks of the next epoch, with the trust that an ending leads to. It is adopted when one of them is verified.
    Turn,
    /// A block whose state may be fetched, and what leads to its epoch.
    Seek,
    /// A range of the state that is being fetched.
    Restore,
}

/// A request that waits for its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outstanding {
    pub(crate) question: Question,
    pub(crate) purpose: Purpose,
    pub(crate) attempt: u32,
    sent: Instant,
    deadline: Instant,
}

/// An answer that is being verified.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checking {
    pub(crate) purpose: Purpose,
    pub(crate) attempt: u32,
    pub(crate) is_ending: bool,
    pub(crate) bytes: u64,
}

/// What is to be asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) ask: Ask,
    pub(crate) purpose: Purpose,
    pub(crate) attempt: u32,
    pub(crate) root: StateRoot,
}

/// Everything that is asked for.
#[derive(Debug)]
pub(crate) struct Requests {
    next: u64,
    outstanding: BTreeMap<RequestId, Outstanding>,
    checking: BTreeMap<RequestId, Checking>,
    window: usize,
    limits: FollowerLimits,
}

/// The smallest window of the pipelined strategy.
const NARROWEST: usize = 2;

impl Requests {
    pub(crate) const fn new(limits: FollowerLimits) -> Self {
        Self {
            next: 0,
            outstanding: BTreeMap::new(),
            checking: BTreeMap::new(),
            window: NARROWEST,
            limits,
        }
    }

    pub(crate) const fn window(&self) -> usize {
        self.window
    }

    /// Whether nothing is asked for and nothing verified.
    pub(crate) fn is_idle(&self) -> bool {
        self.outstanding.is_empty() && self.checking.is_empty()
    }

    pub(crate) fn serves(&self, purpose: Purpose) -> bool {
        self.outstanding.values().any(|one| one.purpose == purpose)
            || self.checking.values().any(|one| one.purpose == purpose)
    }

    pub(crate) fn asks_ending(&self, purpose: Purpose) -> bool {
        let is_ending = |ask: Ask| matches!(ask, Ask::Ending(_));
        let of = |one: &Outstanding| one.purpose == purpose && is_ending(one.question.ask);
        self.outstanding.values().any(of)
            || self.checking.values().any(|one| one.purpose == purpose && one.is_ending)
    }

    /// Bytes that may come, and those that are being verified.
    pub(crate) fn bytes(&self) -> u64 {
        let coming = self.outstanding.values().map(|one| u64::from(one.question.bytes));
        let here = self.checking.values().map(|one| one.bytes);
        coming.chain(here).fold(0, u64::saturating_add)
    }

    /// Whether there is room for another answer beside so many bytes in memory.
    pub(crate) fn has_room(&self, held: u64) -> bool {
        let most = self.window.min(self.limits.requests);
        let after =
            self.bytes().saturating_add(held).saturating_add(self.limits.answer_bytes.into());
        self.outstanding.len().saturating_add(self.checking.len()) < most
            && after <= self.limits.window_bytes
    }

    pub(crate) fn grow(&mut self) {
        self.window = self.window.saturating_add(1).min(self.limits.requests);
    }

    pub(crate) fn shrink(&mut self) {
        self.window = self.window.saturating_sub(1).max(NARROWEST);
    }

    /// A number that no request has.
    pub(crate) const fn number(&mut self) -> RequestId {
        let id = RequestId::new(self.next);
        self.next = self.next.saturating_add(1);
        id
    }

    /// Notes a request that leaves now, and encodes it.
    pub(crate) fn send(&mut self, wanted: &Wanted, peer: PeerId, times: Times) -> Vec<u8> {
        let Wanted { ask, purpose, attempt, root } = *wanted;
        let id = self.number();
        let question = Question { id, peer, ask, bytes: self.limits.answer_bytes, root };
        let Times { now: sent, deadline } = times;
        self.outstanding.insert(id, Outstanding { question, purpose, attempt, sent, deadline });
        Request { id, accepts: Compression::Lz4, ask }.to_wire()
    }

    /// The request that a peer answers, if it went to this peer and is still waited for.
    pub(crate) fn answered(&mut self, id: RequestId, peer: PeerId) -> Option<Outstanding> {
        match self.outstanding.get(&id) {
            Some(one) if one.question.peer == peer => self.outstanding.remove(&id),
            _ => None,
        }
    }

    pub(crate) fn check(&mut self, id: RequestId, one: Checking) {
        self.checking.insert(id, one);
    }

    pub(crate) fn checked(&mut self, id: RequestId) -> Option<Checking> {
        self.checking.remove(&id)
    }

    /// Requests whose time is over.
    pub(crate) fn late(&mut self, now: Instant) -> Vec<Outstanding> {
        self.take(|one| one.deadline <= now)
    }

    /// Requests to a peer that is gone.
    pub(crate) fn of_peer(&mut self, peer: PeerId) -> Vec<Outstanding> {
        self.take(|one| one.question.peer == peer)
    }

    /// Drops what is asked for a purpose that is given up. Answers are not waited for, verdicts are not used.
    pub(crate) fn forget(&mut self, purpose: Purpose) -> Vec<Outstanding> {
        self.checking.retain(|_, one| one.purpose != purpose);
        self.take(|one| one.purpose == purpose)
    }

    fn take(&mut self, gone: impl Fn(&Outstanding) -> bool) -> Vec<Outstanding> {
        self.outstanding.extract_if(.., |_, one| gone(one)).map(|(_, one)| one).collect()
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.outstanding.values().map(|one| one.deadline).min()
    }
}

/// When a request leaves, and when its answer is late.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) now: Instant,
    pub(crate) deadline: Instant,
}

impl Outstanding {
    pub(crate) fn took(&self, now: Instant) -> std::time::Duration {
        now.since(self.sent)
    }

    /// The answer is here, with so many bytes before compression.
    pub(crate) fn checking(&self, bytes: u64) -> Checking {
        let is_ending = matches!(self.question.ask, Ask::Ending(_));
        Checking { purpose: self.purpose, attempt: self.attempt, is_ending, bytes }
    }
}
