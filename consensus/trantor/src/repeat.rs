//! What a party says again after a restart.
//!
//! A crash may have come after a record and before its message. Every statement is rebuilt from its
//! record, so it is the same one. A commit was announced to the beacon before its record was written, and
//! is not announced again; it carries the same partial.
use prefinal_protocol::{Instant, Recipient, Slot, Value, View};

use crate::certificate::Stage;
use crate::engine::Trantor;
use crate::message::{Commit, Message, Proposal, Vote};

impl Trantor {
    /// Sends again what earlier lives said about heights that are not decided.
    pub(crate) fn repeat(&mut self, now: Instant) {
        let open: Vec<Slot> = self.open.keys().copied().collect();
        for slot in open {
            self.repeat_at(now, slot);
        }
    }

    fn repeat_at(&mut self, now: Instant, slot: Slot) {
        let Some(open) = self.open.get_mut(&slot) else { return };
        let (attempt, change) = (open.attempt, open.past_change.take());
        let (prepare, commit, partial) = (open.prepare, open.commit, open.partial.take());
        let view = View::new(slot, attempt);
        if let Some((_, value)) = prepare.filter(|(last, _)| *last == attempt) {
            self.repeat_proposal(view, value);
            self.send_prepare(view, value);
        }
        if let Some((_, value)) = commit.filter(|(last, _)| *last == attempt) {
            let signature = self.sign(Stage::Commit, view, value);
            let vote = Vote { view, value, signature };
            self.send(Recipient::All, Message::Commit(Box::new(Commit { vote, partial })));
            self.count(Stage::Commit, self.me, vote);
        }
        if let Some((_, prepared)) = change.filter(|(last, _)| *last == attempt) {
            self.send_change(now, view, prepared);
        }
    }

    /// A leader's proposal for a first view. The proof for a later view is not kept; if its proposal was
    /// lost, the parties ask for the next one.
    fn repeat_proposal(&mut self, view: View, value: Value) {
        let slot = view.slot;
        if view.attempt > 0 || self.schedule.leader(slot) != Some(self.me) {
            return;
        }
        let body = self.bodies.get(&slot).and_then(|bodies| bodies.get(&value)).cloned();
        let Some(body) = body else { return };
        self.carry_in(slot, &body);
        let signature = self.note_proposal(view, value);
        let proposal = Proposal { slot, body, signature };
        self.send(Recipient::All, Message::Proposal(Box::new(proposal)));
    }
}
