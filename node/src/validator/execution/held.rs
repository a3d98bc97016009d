//! What the pipeline is told when it begins again.
use std::collections::BTreeMap;
use std::sync::Arc;

use prefinal_beacon::stack::OneOf;
use prefinal_beacon::{Effect, Slot, epochs};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_validator::application::{Input, Judged};
use prefinal_validator::setup::Setup;

use super::{BesideEffect, Pipeline};

/// What was said of epochs, and of slots whose states are not stored. The pipeline may have forgotten it, so it hears all
/// of it whenever it begins. Blocks it has in its journal, so those alone are held that come while it does not run.
pub(super) struct Held {
    /// The committees after the first one, with their first slots.
    committees: Vec<(Arc<Setup>, Slot)>,
    begun: Vec<(EpochId, Slot)>,
    judged: Option<Judged>,
    values: BTreeMap<Slot, [u8; 32]>,
    certificates: BTreeMap<Slot, BesideEffect>,
    blocks: BTreeMap<Slot, Input<Pipeline>>,
    /// The last ordered block before the first slot that this party certifies.
    before: Slot,
    /// The states up to this slot are stored.
    stored: Slot,
}

impl Held {
    pub(super) const fn new() -> Self {
        Self {
            committees: Vec::new(),
            begun: Vec::new(),
            judged: None,
            values: BTreeMap::new(),
            certificates: BTreeMap::new(),
            blocks: BTreeMap::new(),
            before: Slot::new(0),
            stored: Slot::new(0),
        }
    }

    /// Notes what is said, except of blocks.
    pub(super) fn note(&mut self, input: &Input<Pipeline>) {
        match input {
            Input::Follows { setup, first } => self.committees.push((Arc::clone(setup), *first)),
            Input::Began { epoch, first } => self.begun.push((*epoch, *first)),
            Input::Judged(judged) => self.judged = Some(*judged),
            Input::Value { slot, value } if *slot > self.stored => {
                self.values.insert(*slot, *value);
            }
            Input::Beside(effect) => {
                if let Some(slot) = certified(effect).filter(|slot| *slot > self.stored) {
                    self.certificates.insert(slot, effect.clone());
                }
            }
            _ => {}
        }
    }

    /// Keeps a block, unless it is of a slot before `first`, or of any as long as there is no such slot.
    pub(super) fn keep(&mut self, input: Input<Pipeline>, first: Option<Slot>) {
        let Input::Ordered { slot, .. } = &input else { return };
        let slot = *slot;
        if first.is_none_or(|first| slot < first) {
            self.before = self.before.max(slot);
        } else if slot > self.stored {
            self.blocks.insert(slot, input);
        }
    }

    /// The states up to this slot are stored.
    pub(super) fn forget(&mut self, stored: Slot) {
        self.stored = self.stored.max(stored);
        let next = stored.next();
        self.values = self.values.split_off(&next);
        self.certificates = self.certificates.split_off(&next);
        self.blocks = self.blocks.split_off(&next);
    }

    /// How many blocks are held.
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether no state of a block before the first slot of this party is missing.
    pub(super) fn lacks_none(&self) -> bool {
        self.stored >= self.before
    }

    pub(super) fn take_blocks(&mut self) -> impl Iterator<Item = Input<Pipeline>> + use<> {
        std::mem::take(&mut self.blocks).into_values()
    }

    /// Whether the chain has its first key, so that blocks are executed.
    pub(super) fn has_begun(&self) -> bool {
        !self.begun.is_empty()
    }

    /// What was said of epochs.
    pub(super) fn of_epochs(&self) -> Vec<Input<Pipeline>> {
        let follows = |(setup, first): &(Arc<Setup>, Slot)| {
            let (setup, first) = (Arc::clone(setup), *first);
            Input::Follows { setup, first }
        };
        let began = |(epoch, first): &(EpochId, Slot)| {
            let (epoch, first) = (*epoch, *first);
            Input::Began { epoch, first }
        };
        let epochs = self.committees.iter().map(follows).chain(self.begun.iter().map(began));
        epochs.chain(self.judged.map(Input::Judged)).collect()
    }

    /// What was said of slots. Tell it behind their blocks.
    pub(super) fn of_slots(&self) -> Vec<Input<Pipeline>> {
        let value = |(slot, value): (&Slot, &[u8; 32])| {
            let (slot, value) = (*slot, *value);
            Input::Value { slot, value }
        };
        let certificates = self.certificates.values().cloned().map(Input::Beside);
        self.values.iter().map(value).chain(certificates).collect()
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

/// The slot of a certificate that the channel hands over.
fn certified(effect: &BesideEffect) -> Option<Slot> {
    match effect {
        OneOf::First(epochs::Effect::Of { effect: Effect::Reveal(reveal), .. }) => {
            Some(reveal.slot)
        }
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use prefinal_engine::Block;
    use prefinal_protocol::Value;

    use super::*;

    fn ordered(slot: u64) -> Input<Pipeline> {
        let block = Block { value: Value::new([1; 32]), transactions: Vec::new() };
        Input::Ordered { slot: Slot::new(slot), block }
    }

    fn value(slot: u64) -> Input<Pipeline> {
        Input::Value { slot: Slot::new(slot), value: [1; 32] }
    }

    fn slots(inputs: impl IntoIterator<Item = Input<Pipeline>>) -> Vec<u64> {
        let slot = |input| match input {
            Input::Ordered { slot, .. } | Input::Value { slot, .. } => slot.get(),
            _ => 0,
        };
        inputs.into_iter().map(slot).collect()
    }

    #[test]
    fn blocks_wait_from_the_first_own_slot_on_until_they_are_stored() {
        let mut held = Held::new();
        // Nobody knows yet where that is: these are stored by following.
        [2, 3].into_iter().for_each(|slot| held.keep(ordered(slot), None));
        let first = Some(Slot::new(5));
        [4, 6, 7, 8].into_iter().for_each(|slot| held.keep(ordered(slot), first));
        assert!(!held.lacks_none());
        held.forget(Slot::new(3));
        assert!(!held.lacks_none(), "the block of slot 4 is not stored");
        held.forget(Slot::new(6));
        // It comes again after a crash.
        held.keep(ordered(6), first);
        assert!(held.lacks_none());
        assert_eq!((held.len(), slots(held.take_blocks())), (2, vec![7, 8]));
        assert_eq!(held.len(), 0);
    }

    #[test]
    fn what_is_said_of_slots_is_told_again_until_they_are_stored() {
        let mut told = Held::new();
        [3, 5, 4].into_iter().for_each(|slot| told.note(&value(slot)));
        assert_eq!(slots(told.of_slots()), [3, 4, 5]);
        told.forget(Slot::new(4));
        told.note(&value(2));
        assert_eq!(slots(told.of_slots()), [5]);
        assert!(!told.has_begun() && told.of_epochs().is_empty());
        let (epoch, first) = (EpochId::new(0), Slot::new(2));
        told.note(&Input::Began { epoch, first });
        assert!(told.has_begun());
        assert!(matches!(told.of_epochs()[..], [Input::Began { epoch: of, .. }] if of == epoch));
    }
}
