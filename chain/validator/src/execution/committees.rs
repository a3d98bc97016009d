//! Whose certificates are of which slots, and which block announces the next committee.
//!
//! ```text
//!  slots   … u−1 │ u ………… b−1 │ b = u + lead …
//!                │            └ certified by the next committee
//!                └ the first executed block from here on announces it, in a state that the old committee certifies
//! ```
//! Block `u` completes the next committee's keys, so it has a transaction of their generation; whether it does complete
//! them is known when it is ordered and judged. `lead` is the number of slots from there to the committee's first one. A
//! proposal with such a transaction is not executed before it is ordered and judged, and no block behind it either. A
//! block without is not `u` and is executed at once: only the first block of the chain may have to announce what was
//! decided before it.
//!
//! If no slot from `u` to `b − 1` had an executed block, nothing would be announced. That takes a second committee whose
//! keys are complete within `lead` slots of the first one's, and no leader that succeeds in between. Light clients that
//! trust the first committee then need a waypoint of the second.
use std::collections::BTreeMap;
use std::sync::Arc;

use ::prefinal_beacon::{StateRoot, StateStatement};
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::{Electorate, ElectorateError};
use prefinal_crypto_core::context::{Context, EpochId};
use prefinal_engine::Quorum;
use prefinal_execution::Height;
use prefinal_protocol::{Slot, Value};

use super::lineage::PlacedBlock;
use crate::application::Judged;
use crate::extra::electorate;
use crate::setup::Setup;

/// Encodes, for the executor, what announces a committee that begins with this slot.
pub type Announce = fn(&Setup, Slot) -> Vec<u8>;

/// The state that a block leaves, as this party signs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignedRoot {
    pub(super) slot: Slot,
    pub(super) value: Value,
    pub(super) root: [u8; 32],
}

pub(super) struct Committees {
    quorum: Quorum,
    announce: Announce,
    /// By their first slots.
    known: BTreeMap<Slot, Committee>,
    judged: Judged,
}

pub(super) struct Committee {
    context: Context,
    /// `None` if it cannot sign certificates: it has no channel either, and the validator halts.
    electorate: Option<Electorate<MinSig>>,
    /// What announces it, and from which slot on; nothing announces the first.
    announcement: Option<Announcement>,
}

struct Announcement {
    from: Slot,
    encoded: Arc<[u8]>,
}

/// What a block announces.
pub(super) enum Announced {
    Nothing,
    Committee(Arc<[u8]>),
    /// This party has not judged enough yet.
    Unknown,
}

impl Committees {
    pub(super) fn new(
        setup: &Setup,
        quorum: Quorum,
        announce: Announce,
    ) -> Result<Self, ElectorateError> {
        let electorate = Some(electorate(setup, quorum)?);
        let first = Committee { context: setup.context, electorate, announcement: None };
        let known = BTreeMap::from([(Slot::new(0), first)]);
        Ok(Self { quorum, announce, known, judged: Judged::NOTHING })
    }

    /// Another committee begins with this slot.
    pub(super) fn follow(&mut self, setup: &Setup, first: Slot) {
        let electorate = electorate(setup, self.quorum).ok();
        let from = Slot::new(first.get().saturating_sub(setup.lead));
        let encoded = (self.announce)(setup, first).into();
        let announcement = Some(Announcement { from, encoded });
        self.known.insert(first, Committee { context: setup.context, electorate, announcement });
        let Judged { undecided, limit } = self.judged;
        self.judged = Judged { undecided: undecided.max(first), limit: limit.max(first) };
    }

    pub(super) const fn judge(&mut self, judged: Judged) {
        self.judged = judged;
    }

    /// The committee that certifies this slot; `None` as long as another one may.
    pub(super) fn of(&self, slot: Slot) -> Option<&Committee> {
        let (_, newest) = self.known.range(..=slot).next_back()?;
        (slot < self.judged.limit).then_some(newest)
    }

    pub(super) fn announced(&self, placed: &PlacedBlock) -> Announced {
        let (slot, behind) = (placed.header.slot, placed.behind);
        let mut later = self.known.range(slot.next()..);
        let announcement = later.find_map(|(_, one)| one.announcement.as_ref());
        if let Some(Announcement { from, encoded }) = announcement
            && behind < *from
            && *from <= slot
        {
            return Announced::Committee(Arc::clone(encoded));
        }
        let is_first = placed.header.height == Height::GENESIS.next();
        let may_decide = is_first || placed.block.deals();
        match announcement.is_none() && may_decide && slot >= self.judged.undecided {
            true => Announced::Unknown,
            false => Announced::Nothing,
        }
    }
}

impl Committee {
    pub(super) const fn epoch(&self) -> EpochId {
        self.context.epoch
    }

    pub(super) fn content(&self, signed: SignedRoot) -> Option<StateRoot> {
        let SignedRoot { slot, value, root } = signed;
        let statement = StateStatement { context: self.context, slot, value, root };
        Some(StateRoot::new(self.electorate.as_ref()?, statement))
    }
}
