//! What happens to a slot, in order: it is final, parties come to know that, anybody could compute its value, parties
//! have it.
//!
//! The global times are from [`crate::global`], those of parties from [`crate::latency`].

use std::collections::BTreeMap;
use std::time::Duration;

use ::prefinal_beacon::Slot;
use prefinal_protocol::Instant;

use crate::global::SlotTimes;

/// One slot of a run.
#[derive(Clone, Copy, Debug)]
pub struct SlotTimeline {
    /// When it was final and its value computable, whether anybody knew it or not.
    pub global: SlotTimes,
    /// When the first party and the last one knew that it was final.
    pub known: Span,
    /// When the first party and the last one had its value.
    pub valued: Span,
    /// The longest wait of a party between the two: the slot's latency of Definition 12.
    pub longest: Duration,
}

/// The first of several instants, and the last.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// When the first party came to it.
    pub first: Instant,
    /// When the last party did.
    pub last: Instant,
}

impl Span {
    const fn at(instant: Instant) -> Self {
        Self { first: instant, last: instant }
    }

    fn with(self, at: Instant) -> Self {
        Self { first: self.first.min(at), last: self.last.max(at) }
    }
}

/// One party's part in a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) slot: Slot,
    pub(crate) known: Instant,
    pub(crate) wait: Duration,
}

/// The slots of which everything is known, in order.
pub(crate) fn timelines(
    global: &[SlotTimes],
    parts: impl IntoIterator<Item = Part>,
) -> Vec<SlotTimeline> {
    let mut slots: BTreeMap<Slot, (Span, Span, Duration)> = BTreeMap::new();
    for Part { slot, known, wait } in parts {
        let valued = known + wait;
        let first = (Span::at(known), Span::at(valued), wait);
        let so_far = slots.entry(slot).or_insert(first);
        *so_far = (so_far.0.with(known), so_far.1.with(valued), so_far.2.max(wait));
    }
    let known = global.iter().filter_map(|times| {
        let (known, valued, longest) = *slots.get(&times.slot)?;
        Some(SlotTimeline { global: *times, known, valued, longest })
    });
    known.collect()
}
