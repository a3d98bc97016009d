//! Final slots that have no output yet: the oldest of them keep partials, the others wait until the head comes near.
use prefinal_contract::bound_value;
use prefinal_protocol::Slot;

use super::Beacon;
use crate::collector::Lane;
use crate::schemes::Scheme;
use crate::wire::Record;

impl<S: Scheme> Beacon<S> {
    /// Whether partials and the result of a slot are kept: it is near the head, or near finality.
    pub(super) fn keeps(&self, slot: Slot) -> bool {
        let near = self.head.after(self.limits.backlog);
        (slot < near || slot >= self.local) && slot <= self.local.after(self.limits.window)
    }

    /// Drops partials and results of slots that the engine has passed and the backlog has not reached yet.
    pub(super) fn shed(&mut self, before: Slot) {
        let from = before.max(self.head.after(self.limits.backlog));
        if from >= self.local {
            return;
        }
        for (_, open) in self.open.range_mut(from..self.local) {
            open.collector.clear();
            open.result = None;
        }
    }

    /// Handles the slots from this one on that the backlog has reached: this party's own partials count there again.
    fn regain(&mut self, from: Slot) {
        let reached = self.open.range(from..self.head.after(self.limits.backlog).max(from));
        for slot in reached.map(|(slot, _)| *slot).collect::<Vec<_>>() {
            self.regain_slot(slot);
        }
    }

    fn regain_slot(&mut self, slot: Slot) {
        let path = self.plan.late();
        let Some(open) = self.open.get(&slot).filter(|open| open.result.is_none()) else { return };
        let Some(bound) = open.value().and_then(|value| bound_value(self.binding, value)) else {
            return;
        };
        let lane = Lane { path, value: bound };
        if open.collector.has(lane, self.me) || self.is_off(slot) {
            return;
        }
        if let Some(partial) = self.evaluate(lane, slot) {
            self.enter_own(lane, slot, partial);
            self.advance(slot);
        }
    }

    /// The slots before `head` are finished.
    pub(super) fn come_to(&mut self, head: Slot) {
        let backlog = self.head.after(self.limits.backlog);
        self.head = head;
        self.forget();
        self.missed.reached(head);
        self.regain(backlog);
    }

    /// These slots, and those between them and the ones that were passed over before, are answered for.
    pub(super) fn note_passed_over(&mut self, first: Slot, last: Slot) {
        let before = self.passed_over.as_ref().map(|slots| *slots.start());
        self.passed_over = Some(before.map_or(first, |before| before.min(first))..=last);
    }

    /// Finishes final slots whose outputs the host has from elsewhere.
    pub(super) fn pass_over(&mut self, last: Slot) {
        let (first, end) = (self.head, last.next().min(self.local));
        if last.next() == last || end <= first {
            return;
        }
        let last = Slot::new(end.get().saturating_sub(1));
        self.persist(Record::PassedOver { first, last });
        self.note_passed_over(first, last);
        let open = self.open.split_off(&end);
        for (slot, open) in std::mem::replace(&mut self.open, open) {
            if let Some(answer) = open.finality {
                self.history.push(slot, answer);
            }
        }
        self.standing.released = self.standing.released.split_off(&end);
        self.come_to(end);
        self.reveal();
    }
}
