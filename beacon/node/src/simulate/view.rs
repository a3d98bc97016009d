//! Secrecy: what the adversary could compute, against what is final.
//!
//! The adversary holds the shares of all faulty parties and every partial and output that an honest
//! party has sent to anybody. It can compute a slot's value once these hold, on one path, the shares that
//! reconstruct. That must not be before the slot is final in the sense of Definition 5: a quorum of
//! stake has prefinalized one value in one view, counting a faulty party as having done so.
//!
//! In Jolteon a party prefinalizes a block of round `r` when the promise behind its order vote is
//! durable: from then on it supports no chain without the block. A round is final as well once a
//! quorum votes for a child in the next round (the two-chain rule); and with a round everything before
//! it is final, skipped or not. Votes count when they leave, promises when they are written, partials
//! when they leave; all this is read off records and messages, nothing off a beacon.
//!
//! That a quorum of one round is for one block is agreement, checked apart from this.

use std::collections::{BTreeMap, BTreeSet};

use ::beacon::{Path, Slot, Value};
use crypto_core::access::{Access, Party};
use sim::Note;

use super::check::{Trial, Violation};
use super::committee::Seen;
use crate::scheme::Keyed;
use crate::setup::Setup;

/// Who has done what by now, the faulty among them.
pub(super) struct View<'a> {
    setup: &'a Setup,
    faulty: &'a BTreeSet<Party>,
    /// The last round that is final.
    horizon: u64,
    promised: BTreeMap<u64, BTreeSet<Party>>,
    voted: BTreeMap<(u64, Value), BTreeSet<Party>>,
    /// Round of a block's parent.
    parents: BTreeMap<Value, u64>,
    released: BTreeMap<(Path, Slot), BTreeSet<Party>>,
}

impl<'a> View<'a> {
    pub(super) fn new(setup: &'a Setup, faulty: &'a BTreeSet<Party>) -> Self {
        Self {
            setup,
            faulty,
            horizon: 0,
            promised: BTreeMap::new(),
            voted: BTreeMap::new(),
            parents: BTreeMap::new(),
            released: BTreeMap::new(),
        }
    }

    pub(super) fn check<S: Keyed>(&mut self, trial: &Trial<'_, S>) -> Result<(), Violation> {
        self.look_at_shares().map_err(Violation::Secrecy)?;
        // What a step notes comes when it ends, and steps of other parties may lie in between.
        let mut notes: Vec<&Note<Seen<S>>> = trial.notes.iter().collect();
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

    fn take<S: Keyed>(&mut self, party: Party, seen: &Seen<S>) -> Result<(), String> {
        match *seen {
            // Also those of faulty leaders.
            Seen::Proposed { block, parent, .. } => {
                self.parents.insert(block, parent);
            }
            _ if self.faulty.contains(&party) => {}
            Seen::Promised(round) => {
                self.promised.entry(round).or_default().insert(party);
                if self.has_quorum(self.promised.get(&round)) {
                    self.horizon = self.horizon.max(round);
                }
            }
            Seen::Voted { round, block } => {
                self.voted.entry((round, block)).or_default().insert(party);
                let parent = self.parents.get(&block).copied();
                let chained = parent.filter(|parent| parent.saturating_add(1) == round);
                if self.has_quorum(self.voted.get(&(round, block))) {
                    self.horizon = chained.map_or(self.horizon, |parent| parent.max(self.horizon));
                }
            }
            Seen::Released(path, slot) => {
                self.released.entry((path, slot)).or_default().insert(party);
                return self.look(path, slot);
            }
            Seen::Shown(slot) if slot.get() > self.horizon => {
                let horizon = self.horizon;
                return Err(format!(
                    "the output of {slot}, and rounds are final up to {horizon} only"
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether these and all faulty parties hold a quorum of stake.
    fn has_quorum(&self, honest: Option<&BTreeSet<Party>>) -> bool {
        let stake = |party: &Party| {
            self.setup.members.get(party.index()).map_or(0, |member| member.stake.get())
        };
        let total: u128 = self.setup.members.iter().map(|member| member.stake.get()).sum();
        let honest: u128 = honest.into_iter().flatten().map(stake).sum();
        let faulty: u128 = self.faulty.iter().map(stake).sum();
        (honest + faulty).saturating_mul(3) > total.saturating_mul(2)
    }

    /// What the faulty parties hold alone.
    fn look_at_shares(&self) -> Result<(), String> {
        let shape = self.setup.keygen.shape();
        let got = weight(shape.access(), self.faulty.iter());
        let threshold = shape.threshold(pvss_dkg::Path::Slow);
        let need = threshold.map_or(u32::MAX, |threshold| threshold.t().get());
        if got < need {
            return Ok(());
        }
        Err(format!("the faulty parties hold {got} shares, {need} reconstruct"))
    }

    fn look(&self, path: Path, slot: Slot) -> Result<(), String> {
        if slot.get() <= self.horizon {
            return Ok(());
        }
        let shape = self.setup.keygen.shape();
        let sharing = if path == Path::Fast { pvss_dkg::Path::Fast } else { pvss_dkg::Path::Slow };
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
            self.horizon
        ))
    }
}

/// Of parties that are named once.
fn weight<'a>(access: &Access, parties: impl Iterator<Item = &'a Party>) -> u32 {
    parties.map(|party| access.weight(*party)).sum()
}
