//! Counts what a beacon keeps, and gives the bound that [`Limits`](crate::Limits) states.
use std::collections::BTreeMap;

use prefinal_crypto_core::access::Party;

use super::Beacon;
use super::peers::Kind;
use crate::schemes::{Scheme, parties};
use prefinal_contract::Path;

/// How much a beacon keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Partials of slots without output, and notes of partials that were rejected.
    pub partials: usize,
    /// Encoded size of these partials in bytes. In memory a point takes twice as much.
    pub bytes: usize,
    /// Notes of answers sent again, of parties that were caught, and of accusations.
    pub notes: usize,
}

impl Footprint {
    /// Whether every count is at most the count in `most`.
    #[must_use]
    pub const fn within(&self, most: &Self) -> bool {
        self.partials <= most.partials && self.bytes <= most.bytes && self.notes <= most.notes
    }

    const fn and(self, other: Self) -> Self {
        Self {
            partials: self.partials.saturating_add(other.partials),
            bytes: self.bytes.saturating_add(other.bytes),
            notes: self.notes.saturating_add(other.notes),
        }
    }
}

impl<S: Scheme> Beacon<S> {
    /// How many partials of slots without output are kept.
    #[must_use]
    pub fn pending_partials(&self) -> usize {
        self.open.values().map(|open| open.collector.len()).sum()
    }

    /// How many slots are final and not revealed yet.
    #[must_use]
    pub fn waiting_slots(&self) -> usize {
        self.open.values().filter(|open| open.finality.is_some()).count()
    }

    /// How many finished slots can still be answered.
    #[must_use]
    pub fn answerable_slots(&self) -> usize {
        self.history.len()
    }

    /// What is kept of all parties together, including this one. It counts one by one, so use it for checks
    /// and statistics only.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        let parties = self.parties().map(|party| self.footprint_of(party));
        parties.fold(Footprint::default(), Footprint::and)
    }

    /// What is kept of one party.
    #[must_use]
    pub fn footprint_of(&self, party: Party) -> Footprint {
        let kept = self.open.values().flat_map(|open| open.collector.kept());
        let own = kept.filter(|(owner, _)| *owner == party);
        let (partials, bytes) = own.fold((0, 0), |(partials, bytes), (_, path)| {
            (partials + 1, bytes + self.partial_bytes(path, party))
        });
        let caught = usize::from(self.suspects.contains(&party));
        let accused = self.accused.iter().filter(|(accused, _)| *accused == party).count();
        let given = self.given.notes_of(party) + self.shows.notes_of(party);
        let given = given + self.behind.notes_of(party);
        let given = given + self.recall.notes_of(party);
        let notes = given + caught + accused + self.missed.notes_of(party);
        Footprint { partials, bytes, notes }
    }

    /// The most that is ever kept of all parties together.
    #[must_use]
    pub fn most(&self) -> Footprint {
        let parties = self.parties().map(|party| self.most_of(party));
        parties.fold(Footprint::default(), Footprint::and)
    }

    /// The most that is ever kept of one party, whatever it sends and for how long.
    #[must_use]
    pub fn most_of(&self, party: Party) -> Footprint {
        let slots = self.limits.backlog.saturating_add(self.limits.window).saturating_add(1);
        let partials = usize::try_from(slots).unwrap_or(usize::MAX).saturating_mul(2);
        let paths = [Path::Slow, Path::Fast, Path::Tight];
        let longest = paths.map(|path| self.partial_bytes(path, party)).into_iter().max();
        Footprint {
            partials,
            bytes: partials.saturating_mul(longest.unwrap_or(0)),
            notes: self
                .limits
                .answers
                .saturating_add(self.limits.outputs)
                .saturating_add(7 + Kind::COUNT),
        }
    }

    /// The most bytes of a message from an honest party to another. A link that refuses longer frames bounds
    /// the work of decoding.
    #[must_use]
    pub fn longest_message(&self, from: Party) -> usize {
        let paths = [Path::Slow, Path::Fast, Path::Tight];
        let partial = paths.map(|path| self.partial_bytes(path, from)).into_iter().max();
        let committees = paths.iter().filter_map(|path| self.keys.committee(*path));
        let shown = committees.map(S::shown_bytes).max();
        // Tag, path, slot, and maybe a value.
        1 + 1 + 8 + (1 + 32 + partial.unwrap_or(0)).max(shown.unwrap_or(0))
    }

    /// [`Self::longest_message`] for each party of the committee.
    #[must_use]
    pub fn longest_messages(&self) -> BTreeMap<Party, usize> {
        self.parties().map(|party| (party, self.longest_message(party))).collect()
    }

    pub(super) fn parties(&self) -> impl Iterator<Item = Party> + use<S> {
        self.keys.committee(self.plan.late()).map(parties::<S>).into_iter().flatten()
    }

    fn partial_bytes(&self, path: Path, party: Party) -> usize {
        let committee = self.keys.committee(path);
        let holder = committee.filter(|committee| S::holding(committee, party) > 0);
        holder.map_or(0, |committee| S::partial_bytes(committee, party))
    }
}
