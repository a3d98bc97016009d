//! How much weight has arrived for a slot: what an operator looks at when values are late.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use prefinal_beacon::stack::OneOf;
use prefinal_beacon::{Message as BeaconMessage, Path, Slot};
use prefinal_crypto_core::access::Party;

use super::links::Message;
use super::state::lock;

/// Slots that are kept.
const SLOTS: usize = 64;

/// The parties whose partials have arrived, by slot and path. Partials are counted as they come, unchecked.
#[derive(Default)]
pub(super) struct Arrivals(Mutex<BTreeMap<Slot, BTreeMap<Path, BTreeSet<Party>>>>);

impl Arrivals {
    /// A message has come from a party, or is this party's own.
    pub(super) fn note(&self, from: Party, message: &Message) {
        for message in message.messages() {
            let OneOf::First(BeaconMessage::Partial { path, slot, .. }) = message else { continue };
            let mut slots = lock(&self.0);
            slots.entry(*slot).or_default().entry(*path).or_default().insert(from);
            // The lowest goes first, so that a peer that is far ahead drives out nothing but itself.
            while slots.len() > SLOTS {
                slots.pop_last();
            }
        }
    }

    /// The parties whose partials have arrived for a slot on a path. Forgets this slot and those before.
    pub(super) fn take(&self, slot: Slot, path: Path) -> BTreeSet<Party> {
        let mut slots = lock(&self.0);
        let later = slots.split_off(&slot.next());
        let mut gone = std::mem::replace(&mut *slots, later);
        gone.remove(&slot).and_then(|mut paths| paths.remove(&path)).unwrap_or_default()
    }
}
