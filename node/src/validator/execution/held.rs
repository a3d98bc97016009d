//! What the pipeline is told later: while it does not run, and again whenever it begins again.
use std::collections::VecDeque;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_protocol::Slot;
use prefinal_validator::application::{Input, Judged};
use prefinal_validator::setup::Setup;

use super::Pipeline;

/// What was said of epochs. The pipeline forgets it with its process, so it hears all of it whenever it begins.
#[derive(Default)]
pub(super) struct Told {
    /// The committees after the first one, with their first slots.
    committees: Vec<(Arc<Setup>, Slot)>,
    begun: Vec<(EpochId, Slot)>,
    judged: Option<Judged>,
}

impl Told {
    pub(super) fn note(&mut self, input: &Input<Pipeline>) {
        match input {
            Input::Follows { setup, first } => self.committees.push((Arc::clone(setup), *first)),
            Input::Began { epoch, first } => self.begun.push((*epoch, *first)),
            Input::Judged(judged) => self.judged = Some(*judged),
            _ => {}
        }
    }

    pub(super) fn again(&self) -> Vec<Input<Pipeline>> {
        let committees = self.committees.iter();
        let committees = committees
            .map(|(setup, first)| Input::Follows { setup: Arc::clone(setup), first: *first });
        let begun =
            self.begun.iter().map(|(epoch, first)| Input::Began { epoch: *epoch, first: *first });
        committees.chain(begun).chain(self.judged.map(Input::Judged)).collect()
    }

    /// The last two committees, as far as there are so many after the first one.
    pub(super) fn newest(&self) -> impl DoubleEndedIterator<Item = &Arc<Setup>> {
        let skipped = self.committees.len().saturating_sub(2);
        self.committees.iter().skip(skipped).map(|(setup, _)| setup)
    }

    /// The first slot of the first committee after the first one that knows this party.
    pub(super) fn first_with(&self, me: Party) -> Option<Slot> {
        let with = |(setup, first): &(Arc<Setup>, Slot)| {
            let member = setup.members.get(me.index())?;
            (member.stake.get() > 0).then_some(*first)
        };
        self.committees.iter().find_map(with)
    }
}

/// Blocks that the pipeline gets when it runs, with what was told of their slots.
pub(super) struct Held {
    inputs: VecDeque<Input<Pipeline>>,
    /// The last ordered block before the first slot that this party certifies.
    pub(super) before: Slot,
}

impl Held {
    pub(super) const fn new() -> Self {
        Self { inputs: VecDeque::new(), before: Slot::new(0) }
    }

    /// Keeps an input, unless it is of a slot before `first`, or of any as long as there is no such slot.
    pub(super) fn keep(&mut self, input: Input<Pipeline>, first: Option<Slot>) {
        let is_wanted = |slot: Slot| first.is_some_and(|first| slot >= first);
        match &input {
            Input::Ordered { slot, .. } if !is_wanted(*slot) => {
                self.before = self.before.max(*slot);
            }
            Input::Value { slot, .. } if !is_wanted(*slot) => {}
            Input::Ordered { .. } | Input::Value { .. } | Input::Beside(_) => {
                self.inputs.push_back(input);
            }
            // The pipeline hears of epochs by what was told, and proposals do not come here.
            _ => {}
        }
    }

    /// Forgets blocks that are stored.
    pub(super) fn forget(&mut self, stored: Slot) {
        self.inputs.retain(|input| match input {
            Input::Ordered { slot, .. } | Input::Value { slot, .. } => *slot > stored,
            _ => true,
        });
    }

    pub(super) fn take(&mut self) -> VecDeque<Input<Pipeline>> {
        std::mem::take(&mut self.inputs)
    }
}
