//! What must hold of every run.

use std::collections::{BTreeMap, BTreeSet};

use beacon::{Path, Slot};
use crypto_core::access::Party;
use crypto_core::wvuf::{self, BlindedKey, audit};
use prefinal_node::scheme::PerPath;
use sim::{Seat, check};

use super::{Run, Seen};

impl Run {
    pub(super) fn check(&self) {
        let label = &self.label;
        let blocks = check::agreement(self.notes(), |seen| match seen {
            Seen::Finalized(slot, block) => Some((*slot, *block)),
            _ => None,
        });
        let values = check::agreement(self.notes(), |seen| match seen {
            Seen::Revealed(reveal) => {
                Some((reveal.slot, (reveal.value, hex::encode(reveal.randomness()))))
            }
            _ => None,
        });
        let first = check::agreement(self.notes(), |seen| match seen {
            Seen::Ready { first, .. } => Some(((), *first)),
            _ => None,
        });
        let blocks = blocks.unwrap_or_else(|error| panic!("{label}: {error}"));
        let values = values.unwrap_or_else(|error| panic!("{label}: {error}"));
        first.unwrap_or_else(|error| panic!("{label}: {error}"));
        for (slot, (block, _)) in &values {
            assert_eq!(blocks.get(slot), Some(block), "{label}: {slot} has the value of its block");
        }
        let distinct: BTreeSet<_> = values.values().map(|(_, value)| value).collect();
        assert_eq!(distinct.len(), values.len(), "{label}: every slot has a value of its own");
        self.check_order("final", |seen| match seen {
            Seen::Finalized(slot, _) => Some(*slot),
            _ => None,
        });
        self.check_order("revealed", |seen| match seen {
            Seen::Revealed(reveal) => Some(reveal.slot),
            _ => None,
        });
        check::never(self.notes(), |note| match &note.event {
            Seen::Accused(party, _) => !self.faulty.contains(&Seat::new(party.get())),
            _ => false,
        })
        .unwrap_or_else(|error| panic!("{label}: {error}"));
        for note in self.notes() {
            // With inputs that have no value a skipped slot has an output too.
            if let Seen::Skipped(slot) = note.event {
                panic!("{label}: {slot} has no value at {}", note.seat);
            }
        }
        self.check_contract();
        self.check_audit();
    }

    /// Slots come in order and none is left out. After a restart a seat may repeat itself.
    fn check_order(&self, what: &str, slot: impl Fn(&Seen) -> Option<Slot>) {
        let mut next: BTreeMap<Seat, Slot> = BTreeMap::new();
        for note in self.notes() {
            let Some(slot) = slot(&note.event) else { continue };
            let expected = *next.entry(note.seat).or_insert(slot);
            let label = &self.label;
            assert!(
                slot <= expected,
                "{label}: {slot} is {what} at {} before {expected}",
                note.seat
            );
            next.insert(note.seat, expected.max(slot.after(1)));
        }
    }

    /// After a timeout of a round has left, no fast partial of it or of an earlier one does; and
    /// what has left was on the disk.
    fn check_contract(&self) {
        let mut timed_out: BTreeMap<Seat, u64> = BTreeMap::new();
        for note in self.notes() {
            let last = timed_out.entry(note.seat).or_insert(0);
            match note.event {
                Seen::TimedOut(round) => *last = round.max(*last),
                Seen::Early(slot) => {
                    let (label, seat) = (&self.label, note.seat);
                    assert!(
                        slot.get() > *last,
                        "{label}: a fast partial of {slot} leaves {seat} at {:?}, after its timeout of \
                         round {last}",
                        note.at
                    );
                }
                _ => {}
            }
        }
    }

    /// The last slot of the first honest seat, from what it shows.
    fn check_audit(&self) {
        let seat = self.honest().next().expect("somebody is honest");
        let (_, reveal) = self
            .reveals()
            .filter(|(at, ..)| *at == seat)
            .map(|(a, _, r)| (a, r))
            .last()
            .unwrap_or_else(|| panic!("{}: {seat} has revealed nothing", self.label));
        let (_, committees) = self.find(seat, |seen| match seen {
            Seen::Ready { committees, .. } => Some((**committees).clone()),
            _ => None,
        });
        let of_path = |per_path: &PerPath<wvuf::Committee>| match reveal.path {
            Path::Slow | Path::Tight => per_path.slow.clone(),
            Path::Fast => per_path.fast.clone().expect("there is a fast path"),
        };
        let committee = of_path(&committees);
        let mut keys: BTreeMap<Party, BlindedKey> = committee.keys().clone();
        for note in self.notes().filter(|note| note.seat == seat) {
            if let Seen::Admitted(late) = &note.event {
                let key = match reveal.path {
                    Path::Slow | Path::Tight => Some(&late.keys.slow),
                    Path::Fast => late.keys.fast.as_ref(),
                };
                keys.extend(key.map(|key| (late.party, key.key().clone())));
            }
        }
        keys.retain(|party, _| reveal.proof.contains_key(party));
        let (weights, t) = (committee.access().weights(), committee.threshold().t().get());
        let context = self.simulation.host().setup.context;
        let verified = audit::keys(&weights, t, committee.public(), &keys).and_then(|audit| {
            audit.verify(&context, reveal.slot, None, (&reveal.proof, &reveal.output))
        });
        verified.unwrap_or_else(|error| panic!("{}: {}: {error}", self.label, reveal.slot));
    }
}
