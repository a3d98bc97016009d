//! Secrecy: compares what the adversary could compute with what is final.
//!
//! The adversary holds the shares of all faulty parties and every partial and output that an honest
//! party has sent to anybody. It can compute a slot's value once these hold, on one path, the shares that
//! reconstruct. That must not be before the slot is final in the sense of Definition 5: a quorum of
//! stake has prefinalized one value in one view, counting a faulty party as having done so.
//!
//! In Jolteon a party prefinalizes a block of round `r` when the promise behind its order vote is
//! durable: from then on it supports no chain without the block. A round is also final once a quorum
//! votes for a child in the next round (the two-chain rule). With a round everything before it is
//! final, skipped or not. Votes and partials count when they leave, promises when they are written. All
//! this is taken from records and messages, and nothing from a beacon.
//!
//! That a quorum of one round is for one block is agreement, which is checked separately. Votes are
//! counted in [`super::finality`]; other engines than Jolteon are handled in `campaign::account`.

use crate::priced::Priced;
use std::collections::{BTreeMap, BTreeSet};

use ::prefinal_beacon::{Path, Slot};
use prefinal_crypto_core::access::{Access, Party};
use prefinal_sim::Note;

use super::check::{Trial, Violation};
use super::committee::Observation;
use super::finality::Finality;
use crate::legible::Act;
use prefinal_validator::setup::Setup;

/// What each party has done by now, the faulty ones too.
pub(crate) struct Secrecy<'a> {
    setup: &'a Setup,
    base: u64,
    faulty: &'a BTreeSet<Party>,
    finality: Finality,
    released: BTreeMap<(Path, Slot), BTreeSet<Party>>,
}

impl<'a> Secrecy<'a> {
    /// Of one epoch, whose engine's slots follow the chain's slot `base`.
    pub(crate) fn new(setup: &'a Setup, base: u64, faulty: &'a BTreeSet<Party>) -> Self {
        let stakes = setup.members.iter().map(|member| member.stake.get()).collect();
        let finality = Finality::new(stakes, faulty.clone());
        Self { setup, base, faulty, finality, released: BTreeMap::new() }
    }

    pub(crate) fn check<S: Priced>(&mut self, trial: &Trial<'_, S>) -> Result<(), Violation> {
        self.look_at_shares().map_err(Violation::Secrecy)?;
        // What a step notes comes when it ends, and steps of other parties may lie in between.
        let mut notes: Vec<&Note<Observation<S>>> = trial.notes.iter().collect();
        notes.sort_by_key(|note| note.at);
        for note in trial.before.iter().chain(notes) {
            let party = (trial.parties)(note.seat);
            self.take(party, &note.event).map_err(|what| {
                let at = note.at.since_start();
                Violation::Secrecy(format!("at {at:?}, when {party} sends something: {what}"))
            })?;
        }
        Ok(())
    }

    fn take<S: Priced>(&mut self, party: Party, seen: &Observation<S>) -> Result<(), String> {
        let own = self.setup.context.epoch;
        let on_engine = |slot: Slot| Slot::new(slot.get().saturating_sub(self.base));
        let ballot = match *seen {
            Observation::Act(epoch, Act::Ballot(ref ballot)) if epoch == own => ballot,
            _ if self.faulty.contains(&party) => return Ok(()),
            Observation::Released(epoch, path, slot) if epoch == own => {
                let slot = on_engine(slot);
                self.released.entry((path, slot)).or_default().insert(party);
                return self.look(path, slot);
            }
            Observation::OutputSent(epoch, slot)
                if epoch == own && !self.finality.permits(on_engine(slot), None) =>
            {
                let horizon = self.finality.horizon();
                return Err(format!(
                    "the output of {slot}, and rounds are final up to {horizon} only"
                ));
            }
            _ => return Ok(()),
        };
        self.finality.take(party, ballot);
        Ok(())
    }

    /// What the faulty parties hold alone.
    fn look_at_shares(&self) -> Result<(), String> {
        let shape = self.setup.keygen.shape();
        let got = weight(shape.access(), self.faulty.iter());
        let threshold = shape.threshold(prefinal_pvss_dkg::SharePath::Slow);
        let need = threshold.map_or(u32::MAX, |threshold| threshold.t().get());
        if got < need {
            return Ok(());
        }
        Err(format!("the faulty parties hold {got} shares, {need} reconstruct"))
    }

    fn look(&self, path: Path, slot: Slot) -> Result<(), String> {
        if self.finality.permits(slot, None) {
            return Ok(());
        }
        let shape = self.setup.keygen.shape();
        let sharing = if path == Path::Fast {
            prefinal_pvss_dkg::SharePath::Fast
        } else {
            prefinal_pvss_dkg::SharePath::Slow
        };
        let Some(threshold) = shape.threshold(sharing) else { return Ok(()) };
        let honest = self.released.get(&(path, slot)).into_iter().flatten();
        let got = weight(shape.access(), honest.chain(self.faulty));
        let need = threshold.t().get();
        if got < need {
            return Ok(());
        }
        Err(format!(
            "the adversary holds {got} shares of {slot} on the {path} path, {need} reconstruct, and \
             rounds are final up to {} only",
            self.finality.horizon()
        ))
    }
}

/// Of parties that are named once.
fn weight<'a>(access: &Access, parties: impl Iterator<Item = &'a Party>) -> u32 {
    parties.map(|party| access.weight(*party)).sum()
}
