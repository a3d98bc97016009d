//! What a run showed: one line per slot while it goes on, table and verdict at its end.
//!
//! The ledger believes nobody. Values are compared with each other as they come; a slot's line is printed
//! when all parties have revealed it; at the end values are compared with what an outside verifier computes
//! from the partials that one of them showed. A run without an end remembers its last slots only.

use std::collections::BTreeMap;
use std::ops::RangeBounds;

use ::beacon::{Path, Reveal, Slot};
use crypto_core::access::Party;
use protocol::Instant;

use super::party::Noticed;
use crate::chronicle::Chronicle;
use crate::failure::Failure;
use crate::http::{Shown, Way};
use crate::scheme::{AdmittedKeys, Keyed, PerPath};
use crate::setup::{Algorithm, Setup};
use crate::validator::Event;
use crate::waits::{self, Waits, milliseconds};

/// What is known of a slot.
struct Row<S: Keyed> {
    /// When each party knew that the slot is final.
    finalized: BTreeMap<Party, Instant>,
    /// When each party had the value, and by which path.
    revealed: BTreeMap<Party, (Instant, Path)>,
    /// The party that revealed it first, and what.
    witness: Option<(Party, Box<Reveal<S>>)>,
}

/// Slots that a run without an end remembers.
const KEPT: usize = 1024;

/// All slots of a run.
pub(super) struct Ledger<S: Keyed> {
    context: crypto_core::context::Context,
    parties: usize,
    /// How many slots the run has; `None` if it has no end.
    slots: Option<u64>,
    /// How many of them all parties have.
    done: u64,
    choice: Algorithm,
    /// How many slots from the first on use the slow path alone.
    slow_only: u64,
    first: Option<Slot>,
    committees: Option<PerPath<S::Committee>>,
    rows: BTreeMap<Slot, Row<S>>,
    faults: Vec<String>,
    /// Why the first party that cannot go on cannot.
    halted: Option<Failure>,
}

impl<S: Keyed> Ledger<S> {
    pub(super) fn new(setup: &Setup, slots: Option<u64>) -> Self {
        Self {
            context: setup.context,
            parties: setup.members.len(),
            slots,
            done: 0,
            choice: setup.choice,
            slow_only: setup.fast_after,
            first: None,
            committees: None,
            rows: BTreeMap::new(),
            faults: Vec::new(),
            halted: None,
        }
    }

    /// Takes an event; how all parties came by their values, if it is the last of a slot.
    pub(super) fn take(&mut self, noticed: Noticed<S>) -> Option<Shown> {
        let Noticed { by, at, event } = noticed;
        match event {
            Event::Ready { first_slot, committees } => {
                let first = *self.first.get_or_insert(first_slot);
                if first != first_slot {
                    self.faults.push(format!("{by} starts at {first_slot}, others at {first}"));
                }
                self.committees.get_or_insert(*committees);
            }
            Event::Admitted(keys) => {
                if let Some(committees) = &mut self.committees {
                    admit(committees, &keys);
                }
            }
            Event::Finalized { slot, .. } => {
                self.rows.entry(slot).or_default().finalized.insert(by, at);
            }
            Event::Revealed(reveal) => return self.revealed((by, at), reveal),
            Event::Accused { party, fault } => {
                self.faults.push(format!("{by} accuses {party}: {fault}"));
            }
            Event::Halted(why) => {
                self.halted.get_or_insert(Failure::halted(by, &why));
            }
            Event::Refused(why) => self.faults.push(format!("{by} refuses: {why}")),
            Event::Skipped(_) | Event::Dealing { .. } => {}
        }
        None
    }

    fn revealed(&mut self, (by, at): (Party, Instant), reveal: Box<Reveal<S>>) -> Option<Shown> {
        let (slot, path) = (reveal.slot, reveal.path);
        let row = self.rows.entry(slot).or_default();
        match &row.witness {
            None => row.witness = Some((by, reveal)),
            Some((_, first)) if first.output == reveal.output && first.value == reveal.value => {}
            Some((first, _)) => {
                self.faults.push(format!("{slot}: {by} and {first} reveal different values"));
            }
        }
        let is_new = row.revealed.insert(by, (at, path)).is_none();
        let shown = (is_new && row.revealed.len() == self.parties).then(|| shown(slot, row));
        if shown.is_some() {
            self.done += 1;
            self.forget();
        }
        shown
    }

    /// The line of a slot that all parties have, below a header if it is the first.
    pub(super) fn line(&self, shown: &Shown) -> String {
        let header = if Some(shown.slot) == self.first { header() + "\n" } else { String::new() };
        let row = self.rows.get(&shown.slot);
        let value = row.and_then(|row| row.witness.as_ref());
        let value = value.map(|(_, reveal)| hex::encode(reveal.randomness()));
        header + &line(shown, &value.unwrap_or_default())
    }

    /// Leaves the oldest slots out, if the run has no end.
    fn forget(&mut self) {
        while self.slots.is_none() && self.rows.len() > KEPT {
            self.rows.pop_first();
        }
    }

    /// Whether every party has revealed every slot that was asked for.
    pub(super) fn is_complete(&self) -> bool {
        self.slots.is_some_and(|slots| self.done >= slots)
    }

    /// Whether anybody was accused, refused something, or cannot go on.
    pub(super) const fn has_faults(&self) -> bool {
        !self.faults.is_empty() || self.halted.is_some()
    }

    /// The waits in the slots of a range.
    fn waits(&self, slots: impl RangeBounds<Slot>) -> Waits {
        self.rows
            .range(slots)
            .map(|(_, row)| row)
            .flat_map(|row| {
                row.revealed.iter().map(move |(party, revealed)| (row, party, revealed))
            })
            .filter_map(|(row, party, (at, _))| Some(at.since(*row.finalized.get(party)?)))
            .collect()
    }

    /// The table at the end.
    pub(super) fn print_summary(&self) {
        let switch = self.first.map_or(0, |first| first.get().saturating_add(self.slow_only));
        let switch = Slot::new(switch);
        let phases = match self.choice {
            Algorithm::Fast => {
                vec![("slow path only", self.waits(..switch)), ("fast path", self.waits(switch..))]
            }
            Algorithm::Slow => vec![("slow path only", self.waits(..))],
            Algorithm::Tight => vec![("tight thresholds", self.waits(..))],
        };
        say!(
            "{}",
            waits::table(&phases.iter().map(|(name, waits)| (*name, waits)).collect::<Vec<_>>())
        );
    }

    /// Compares all values with each other and with an independent verification; `None` if the run was ended
    /// before there was a key.
    ///
    /// # Errors
    /// Why a party could not go on, else the first disagreement.
    pub(super) fn settle(self) -> Result<Option<Chronicle>, Failure> {
        if let Some(failure) = self.halted {
            return Err(failure);
        }
        if let Some(fault) = self.faults.first() {
            let count = self.faults.len();
            return Err(Failure::Disagreement(format!("{count} faults, the first: {fault}")));
        }
        let mut compared = 0_usize;
        let mut reveals = Vec::new();
        for row in self.rows.values() {
            compared += row.revealed.len();
            reveals.extend(row.witness.as_ref().map(|(_, reveal)| &**reveal));
        }
        let Some(committees) = &self.committees else { return Ok(None) };
        let chronicle = S::chronicle(self.context, committees, &reveals);
        chronicle.verify()?;
        say!(
            "{compared} values of {} parties in {} slots agree; each slot verified from public \
             data",
            self.parties,
            chronicle.slots()
        );
        Ok(Some(chronicle))
    }
}

/// Every party says so of a late key; the first who does counts.
fn admit<S: Keyed>(committees: &mut PerPath<S::Committee>, keys: &AdmittedKeys<S>) {
    let _known = S::admit(&mut committees.slow, keys.keys.slow.clone());
    if let (Some(fast), Some(key)) = (&mut committees.fast, &keys.keys.fast) {
        let _known = S::admit(fast, key.clone());
    }
}

fn header() -> String {
    format!(
        "{:>6}  {:<10}{:<18}{:<17}{:>12}{:>10}",
        "slot", "block", "value", "path", "mean wait", "longest"
    )
}

// Derived, it would ask for a default of the scheme.
impl<S: Keyed> Default for Row<S> {
    fn default() -> Self {
        Self { finalized: BTreeMap::new(), revealed: BTreeMap::new(), witness: None }
    }
}

fn shown<S: Keyed>(slot: Slot, row: &Row<S>) -> Shown {
    let mut ways: BTreeMap<Path, Way> = BTreeMap::new();
    for (party, (at, path)) in &row.revealed {
        let way = ways.entry(*path).or_default();
        way.parties += 1;
        way.waits.extend(row.finalized.get(party).map(|finalized| at.since(*finalized)));
    }
    let block = row.witness.as_ref().and_then(|(_, reveal)| reveal.value);
    Shown { slot, block, ways }
}

/// One slot: where its value came from, and how long the parties waited for it.
fn line(shown: &Shown, value: &str) -> String {
    let waits = shown.waits();
    let [mean, longest] =
        [waits.mean(), waits.longest()].map(|wait| milliseconds(wait.unwrap_or_default()));
    let count = |path: Path| shown.ways.get(&path).map_or(0, |way| way.parties);
    let path = match (count(Path::Fast), count(Path::Slow)) {
        (0, 0) => "tight".to_owned(),
        (0, _) => "slow".to_owned(),
        (_, 0) => "fast".to_owned(),
        (fast, slow) => format!("fast {fast}, slow {slow}"),
    };
    let short = |hex: &str, digits| hex.chars().take(digits).collect::<String>();
    let block = shown.block.map(|block| short(&hex::encode(block.to_bytes()), 8));
    let block = block.unwrap_or_else(|| "skipped".to_owned());
    let (slot, value) = (shown.slot.get(), short(value, 16));
    format!("{slot:>6}  {block:<10}{value:<18}{path:<17}{mean:>9} ms{longest:>7} ms")
}
