//! A slot that the engine does not report.
//!
//! Outputs come in the order of the slots, so a slot that is never reported final stops all later ones. Slots
//! may be reported in any order, so one that is missing is not yet a mistake: the host is told when the slot
//! has been missing for [`Limits::retry`](crate::Limits::retry), once.
use prefinal_protocol::{Instant, Slot};

use super::Beacon;
use crate::event::Effect;
use crate::schemes::Scheme;

/// The next slot to be revealed is not final, a later one is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall {
    slot: Slot,
    /// When the host is told; `None` once it was.
    due: Option<Instant>,
}

impl<S: Scheme> Beacon<S> {
    /// Tells the host which slot is missing, if it has been missing for long enough.
    pub(crate) fn watch(&mut self, now: Instant) {
        let Some(slot) = self.unreported() else {
            self.stall = None;
            return;
        };
        let begins = Stall { slot, due: Some(now + self.limits.retry) };
        let stall =
            self.stall.insert(self.stall.filter(|stall| stall.slot == slot).unwrap_or(begins));
        if stall.due.is_some_and(|due| due <= now) {
            stall.due = None;
            self.effect(Effect::Stalled { slot });
        }
    }

    pub(super) fn stall_at(&self) -> Option<Instant> {
        self.stall.and_then(|stall| stall.due)
    }

    /// A later slot of the chain is final, and not on record here: beyond the window, or of a later epoch.
    pub(crate) fn hear_of_later(&mut self, slot: Slot) {
        self.later = self.later.max(slot);
    }

    fn unreported(&self) -> Option<Slot> {
        let is_final = |slot| self.open.get(&slot).is_some_and(|open| open.finality.is_some());
        Some(self.head).filter(|head| *head < self.local.max(self.later) && !is_final(*head))
    }
}
