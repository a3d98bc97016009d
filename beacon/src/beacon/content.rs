//! The content of a slot's value, which the host gives to the beacon.
//!
//! A scheme whose function depends on the content of a value (slot decryption) evaluates nothing before the
//! host has given the content. It is best given before the value is prefinalized, but it may come later.
//! Steps that had to wait for it then happen. A few contents of a slot are kept, because a proposer can
//! make several values. Once the slot is final, only the content of its value is kept. So only the host can
//! make the beacon keep contents, and the bound is four values for each slot of the window, and one for
//! each final slot without output.
use std::sync::Arc;

use super::Beacon;
use crate::event::{Effect, Refusal};
use crate::job::Subject;
use crate::schemes::{Content, ContentError, ContentInput, Contents, Scheme};
use prefinal_protocol::{Slot, Value};

/// The most contents of one slot that are kept before the slot is final.
const MOST: usize = 4;

impl<S: Scheme> Beacon<S> {
    pub(super) fn content(&mut self, content: Content<S>) {
        if let Err(error) = self.enter_content(content) {
            self.effect(Effect::Refused(Refusal::Content(error)));
        }
    }

    fn enter_content(&mut self, content: Content<S>) -> Result<(), ContentError> {
        let Some(committee) = self.keys.committee(self.plan.late()) else { return Ok(()) };
        let contained = S::Contents::contained(committee, &self.context, content)?;
        let ContentInput { slot, value, input } = contained;
        let limit = self.local.after(self.limits.window);
        if slot > limit {
            return Err(ContentError::TooFar { slot, limit });
        }
        if slot < self.head {
            return Ok(());
        }
        let open = self.open.entry(slot).or_default();
        if let Some(last) = open.value().filter(|last| *last != Some(value)) {
            return Err(ContentError::OtherValue { slot, last, got: value });
        }
        let known = open.subjects.contains_key(&Some(value));
        if !known && open.subjects.len() >= MOST {
            return Err(ContentError::TooMany { slot, most: MOST });
        }
        if !known {
            let subject = Subject::of_content(&self.context, slot, value, input);
            open.subjects.insert(Some(value), Arc::new(subject));
            self.after_content(slot, value);
        }
        Ok(())
    }

    fn after_content(&mut self, slot: Slot, value: Value) {
        let open = self.open.get(&slot);
        let waits = open.and_then(|open| open.finality.as_ref());
        if waits.is_some_and(|last| last.value == Some(value) && last.partial.is_none()) {
            self.release_late(slot);
        }
        self.advance(slot);
    }
}
