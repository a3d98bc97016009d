//! What peers are shown of epochs that are not here any more.
use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Slot};

use crate::config::Limits;
use crate::history::{OutputQuota, Resends};

/// Which peers were shown which outputs, within the same bounds as those of a beacon.
#[derive(Debug)]
pub(super) struct Past {
    outputs: usize,
    shown: Resends,
    passed: OutputQuota,
}

impl Past {
    pub(super) const fn new(limits: &Limits) -> Self {
        let (outputs, pause) = (limits.outputs, limits.retry.checked_div(2));
        let pause = if let Some(pause) = pause { pause } else { limits.retry };
        Self { outputs, shown: Resends::new(outputs, pause), passed: OutputQuota::new(outputs) }
    }

    /// Another slot is final, so each peer may be shown one more again.
    pub(super) fn earn(&mut self) {
        self.passed.earn();
    }

    /// The slots before `end` among `count` from `first` on whose outputs this peer may be shown now.
    pub(super) fn show(
        &mut self,
        now: Instant,
        to: Party,
        (first, count): (Slot, u32),
        end: Slot,
    ) -> Vec<Slot> {
        let most = u32::try_from(self.outputs).unwrap_or(u32::MAX);
        let slots = (0..u64::from(count.min(most))).map(|ahead| first.after(ahead));
        let may = |slot: &Slot| {
            *slot < end && self.shown.give(to, *slot, now) && self.passed.give(to, *slot)
        };
        slots.take_while(may).collect()
    }
}
