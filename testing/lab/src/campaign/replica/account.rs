//! What must hold of an execution, checked from its notes.

use std::collections::{BTreeMap, BTreeSet};

use ::prefinal_beacon::Slot;
use ::prefinal_trantor::Statement;
use prefinal_crypto_core::access::Party;
use prefinal_sim::{Note, Seat, check};

use super::host::Observation;
use crate::check::{Summary, Violation, check_accusations};

/// What an execution is judged by.
pub(super) struct Account<'a> {
    pub(super) faulty: &'a BTreeSet<Party>,
    /// The party in each seat.
    pub(super) parties: &'a dyn Fn(Seat) -> Party,
    pub(super) notes: &'a [Note<Observation>],
}

impl Account<'_> {
    /// Checks what must hold of a run: the table in the head of [`super`].
    pub(super) fn check(&self) -> Result<Summary, Violation> {
        let blocks = check::agreement(self.honest(), |seen| match seen {
            Observation::Applied(slot, block) => Some((*slot, *block)),
            _ => None,
        });
        let blocks = blocks.map_err(|error| Violation::Agreement(error.to_string()))?;
        self.check_checkpoints()?;
        self.check_order()?;
        check_accusations(self.honest(), self.faulty, |seen| match seen {
            Observation::Accused(party, fault) => Some((*party, fault)),
            _ => None,
        })?;
        self.check_refused()?;
        Ok(Summary::of(blocks.len(), []))
    }

    fn honest(&self) -> impl Iterator<Item = &Note<Observation>> {
        self.notes.iter().filter(|note| !self.faulty.contains(&(self.parties)(note.seat)))
    }

    /// Honest parties vote for one state in each epoch, and that one is what is certified.
    fn check_checkpoints(&self) -> Result<(), Violation> {
        let voted = check::agreement(self.honest(), |seen| match seen {
            Observation::Voted(statement) => Some((statement.epoch, *statement)),
            _ => None,
        });
        let voted: BTreeMap<u64, Statement> =
            voted.map_err(|error| Violation::Agreement(error.to_string()))?;
        let other = self.honest().find_map(|note| match &note.event {
            Observation::Kept(statement) if voted.get(&statement.epoch) != Some(statement) => {
                let (seat, epoch) = (note.seat, statement.epoch);
                Some(format!("{seat} has a state of epoch {epoch} that no honest party had"))
            }
            _ => None,
        });
        other.map_or(Ok(()), |what| Err(Violation::Validity(what)))
    }

    /// After a restart a replica carries out its epoch again; a checkpoint stands for all heights before it.
    fn check_order(&self) -> Result<(), Violation> {
        let mut next: BTreeMap<Seat, Slot> = BTreeMap::new();
        for note in self.honest() {
            let expected = next.entry(note.seat).or_insert(Slot::new(1));
            match &note.event {
                Observation::Applied(slot, _) if slot > expected => {
                    let what = format!("{} carries {slot} out before {expected}", note.seat);
                    return Err(Violation::Order(what));
                }
                Observation::Applied(slot, _) => *expected = slot.next().max(*expected),
                Observation::Kept(statement) => *expected = statement.slot.max(*expected),
                _ => {}
            }
        }
        Ok(())
    }

    fn check_refused(&self) -> Result<(), Violation> {
        let refused = self.honest().find_map(|note| match &note.event {
            Observation::Refused(why) => Some(format!("{} refuses: {why}", note.seat)),
            _ => None,
        });
        refused.map_or(Ok(()), |what| Err(Violation::Validity(what)))
    }
}
