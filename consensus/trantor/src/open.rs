//! A height that is not decided: which view it is in, what was proposed, and what this party promised.
use core::time::Duration;
use std::collections::BTreeMap;

use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_protocol::{Instant, Value};

use crate::certificate::VoteCertificate;
use crate::message::{NewView, ViewChange};
use crate::records::Promises;

/// Largest number of doublings of the timeout: 64 times.
const MAX_DOUBLINGS: u32 = 6;

/// What was proposed in a view, with the primary's signature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proposed {
    pub(crate) value: Value,
    pub(crate) signature: Signature,
    /// Whether the primary was accused of a second proposal.
    pub(crate) accused: bool,
}

#[derive(Debug)]
pub(crate) struct Open {
    /// The attempt that this party is in. It votes in no earlier one.
    pub(crate) attempt: u32,
    /// When the leader could propose.
    pub(crate) due: Instant,
    /// When the attempt has taken too long. `None` while too few parties have asked for it.
    pub(crate) deadline: Option<Instant>,
    /// The view change to this attempt, if this party asked for it, and when it is sent again.
    pub(crate) asked: Option<(ViewChange, Instant)>,
    /// What this party proposed last as the primary of a later view, for those that missed it.
    pub(crate) led: Option<NewView>,
    pub(crate) proposals: BTreeMap<u32, Proposed>,
    /// What the leader proposed in the first view, while a batch of it without certificate is not here.
    pub(crate) incomplete: Option<Value>,
    /// The last attempts in which this party prepared and committed a value.
    pub(crate) prepare: Option<(u32, Value)>,
    pub(crate) commit: Option<(u32, Value)>,
    /// What an earlier life's commit carried.
    pub(crate) partial: Option<Vec<u8>>,
    /// The view change of an earlier life.
    pub(crate) past_change: Option<(u32, Option<VoteCertificate>)>,
    /// The highest prepared certificate that is known.
    pub(crate) prepared: Option<VoteCertificate>,
}

impl Open {
    /// A height whose leader may propose at `due`.
    pub(crate) fn new(due: Instant, timeout: Duration, promises: Promises) -> Self {
        let attempt = promises.attempt();
        let (commit, partial) = match promises.commit {
            Some((attempt, value, partial)) => (Some((attempt, value)), partial),
            None => (None, None),
        };
        Self {
            attempt,
            due,
            deadline: Some(due + patience(timeout, attempt)),
            asked: None,
            led: None,
            proposals: BTreeMap::new(),
            incomplete: None,
            prepare: promises.prepare,
            commit,
            partial,
            past_change: promises.change,
            prepared: promises.prepared,
        }
    }

    /// Sets when the leader may propose, for a height that was opened before its turn.
    pub(crate) fn wait_from(&mut self, due: Instant, timeout: Duration) {
        self.due = due;
        if self.attempt == 0 {
            self.deadline = Some(due + patience(timeout, 0));
        }
    }

    /// Moves to a later attempt, in which nothing was proposed yet.
    pub(crate) fn enter(&mut self, attempt: u32, deadline: Option<Instant>) {
        self.attempt = attempt;
        self.deadline = deadline;
        self.asked = None;
    }

    /// Notes a verified certificate that a value is prepared.
    pub(crate) fn learn(&mut self, prepared: &VoteCertificate) {
        let known = self.prepared.as_ref().map(|known| known.view.attempt);
        if known < Some(prepared.view.attempt) {
            self.prepared = Some(prepared.clone());
        }
    }

    /// Whether a certificate of this view and value was verified before.
    pub(crate) fn knows(&self, prepared: &VoteCertificate) -> bool {
        let same =
            |known: &VoteCertificate| (known.view, known.value) == (prepared.view, prepared.value);
        self.prepared.as_ref().is_some_and(same)
    }

    /// Whether a certificate of this attempt or a later one was verified before. Then that of a view change
    /// adds nothing: the change only says that its sender was prepared no later.
    pub(crate) fn surpasses(&self, prepared: &VoteCertificate) -> bool {
        self.prepared.as_ref().is_some_and(|known| known.view.attempt >= prepared.view.attempt)
    }

    /// When the height has waited too long in this attempt; in the first one its leader has this much time.
    pub(crate) fn expires_at(&self, first: Duration) -> Option<Instant> {
        if self.attempt == 0 { Some(self.due + first) } else { self.deadline }
    }
}

/// How long an attempt may take.
pub(crate) fn patience(timeout: Duration, attempt: u32) -> Duration {
    timeout.saturating_mul(1 << attempt.min(MAX_DOUBLINGS))
}
