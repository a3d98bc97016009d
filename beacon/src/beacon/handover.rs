//! The end of a beacon's epoch, and the state that its successor needs.
use prefinal_crypto_core::context::Context;

use super::Beacon;
use crate::collector::Lane;
use crate::schemes::Scheme;
use prefinal_contract::Binding;
use prefinal_contract::bound_value;
use prefinal_protocol::{Slot, View};

impl<S: Scheme> Beacon<S> {
    /// Whether this party still has a secret and can evaluate.
    #[must_use]
    pub fn holds_secrets(&self) -> bool {
        !self.secrets.is_empty()
    }

    pub(crate) const fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) const fn binding(&self) -> Binding {
        self.binding
    }

    /// The slot after the last final one.
    pub(crate) const fn local(&self) -> Slot {
        self.local
    }

    /// The latest view that was given up.
    pub(crate) const fn gave_up(&self) -> Option<View> {
        self.standing.abandoned
    }

    /// The committee of the path that releases on finalize.
    pub(crate) fn late_committee(&self) -> Option<&S::Committee> {
        self.keys.committee(self.plan.late())
    }

    /// The slot after all slots that this party released for or knows to be final.
    pub(crate) fn unspoken(&self) -> Slot {
        let released =
            self.standing.released.keys().next_back().map_or(self.head, |last| last.next());
        released.max(self.local).max(self.head)
    }

    /// Prepares the partials that peers may still ask for, then wipes the secrets. Costs an evaluation for
    /// each slot of the history that has none ready, for example after a restart.
    ///
    /// Of slots that were passed over nothing is prepared, for they may be many. If there are any, the secrets stay.
    pub(crate) fn retire(&mut self) {
        let path = self.plan.late();
        let finished: Vec<_> =
            self.history.values().filter(|(slot, _)| !self.is_off(*slot)).collect();
        for (slot, value) in finished {
            let ready = self.history.get_mut(slot).is_some_and(|answer| answer.partial.is_some());
            let Some(value) = bound_value(self.binding, value).filter(|_| !ready) else { continue };
            let partial = self.evaluate(Lane { path, value }, slot);
            if let Some(answer) = self.history.get_mut(slot) {
                answer.partial = partial;
            }
        }
        if self.passed_over.is_none() {
            self.secrets.clear();
        }
        self.open.clear();
    }
}
