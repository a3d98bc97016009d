//! What a run showed: one line per slot while it goes on, table and verdict at its end.
//!
//! The ledger believes nobody. A slot's line is printed when all parties have revealed it; at the
//! end their values are compared with each other and with what an outside verifier computes from the
//! partials that one of them showed.

use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::time::Duration;

use ::beacon::{Path, Reveal, Slot, Value};
use crypto_core::access::Party;
use machine::Instant;

use super::party::Noticed;
use crate::chronicle::Chronicle;
use crate::failure::Failure;
use crate::scheme::{AdmittedKeys, Keyed, PerPath};
use crate::setup::{Algorithm, Setup};
use crate::validator::Event;
use crate::waits::{self, Waits, milliseconds};

/// What is known of a slot.
#[derive(Default)]
struct Row<S: Keyed> {
    /// When each party knew that the slot is final, and with which block.
    finalized: BTreeMap<Party, (Instant, Option<Value>)>,
    /// When each party had the value, and what it is.
    revealed: BTreeMap<Party, (Instant, Reveal<S>)>,
}

/// All slots of a run.
pub(super) struct Ledger<S: Keyed> {
    context: crypto_core::context::Context,
    parties: usize,
    slots: u64,
    choice: Algorithm,
    /// How many slots from the first on use the slow path alone.
    slow_only: u64,
    first: Option<Slot>,
    committees: Option<PerPath<S::Committee>>,
    rows: BTreeMap<Slot, Row<S>>,
    faults: Vec<String>,
}

impl<S: Keyed> Ledger<S> {
    pub(super) fn new(setup: &Setup, slots: u64) -> Self {
        Self {
            context: setup.context,
            parties: setup.members.len(),
            slots,
            choice: setup.choice,
            slow_only: setup.fast_after,
            first: None,
            committees: None,
            rows: BTreeMap::new(),
            faults: Vec::new(),
        }
    }

    /// Takes an event and gives the lines that it completes.
    pub(super) fn take(&mut self, noticed: Noticed<S>) -> Vec<String> {
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
            Event::Finalized { slot, block } => {
                self.rows.entry(slot).or_default().finalized.insert(by, (at, block));
            }
            Event::Revealed(reveal) => {
                let row = self.rows.entry(reveal.slot).or_default();
                let slot = reveal.slot;
                row.revealed.insert(by, (at, *reveal));
                if row.revealed.len() == self.parties {
                    let header = (Some(slot) == self.first).then(header);
                    return header.into_iter().chain([line(slot, row)]).collect();
                }
            }
            Event::Accused { party, fault } => {
                self.faults.push(format!("{by} accuses {party}: {fault}"));
            }
            Event::Refused(why) => self.faults.push(format!("{by} refuses: {why}")),
            Event::Skipped(_) | Event::Dealing { .. } => {}
        }
        Vec::new()
    }

    /// Whether every party has revealed every slot that was asked for.
    pub(super) fn is_complete(&self) -> bool {
        let Some(first) = self.first else { return false };
        let done = self.rows.range(first..).filter(|(_, row)| row.revealed.len() == self.parties);
        u64::try_from(done.count()).is_ok_and(|done| done >= self.slots)
    }

    /// The waits in the slots of a range.
    fn waits(&self, slots: impl RangeBounds<Slot>) -> Waits {
        self.rows
            .range(slots)
            .map(|(_, row)| row)
            .flat_map(|row| {
                row.revealed.iter().map(move |(party, revealed)| (row, party, revealed))
            })
            .filter_map(|(row, party, (at, _))| Some(at.since(row.finalized.get(party)?.0)))
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
        println!(
            "{}",
            waits::table(&phases.iter().map(|(name, waits)| (*name, waits)).collect::<Vec<_>>())
        );
    }

    /// Compares all values with each other and with an independent verification.
    ///
    /// # Errors
    /// The first disagreement.
    pub(super) fn settle(self) -> Result<Chronicle, Failure> {
        if let Some(fault) = self.faults.first() {
            let count = self.faults.len();
            return Err(Failure::Disagreement(format!("{count} faults, the first: {fault}")));
        }
        let mut compared = 0_usize;
        let mut reveals = Vec::new();
        for (slot, row) in &self.rows {
            let Some((witness, (_, shown))) = row.revealed.iter().next() else { continue };
            for (party, (_, reveal)) in &row.revealed {
                if reveal.output != shown.output || reveal.value != shown.value {
                    let what = format!("{slot}: {party} and {witness} reveal different values");
                    return Err(Failure::Disagreement(what));
                }
                compared += 1;
            }
            reveals.push(shown);
        }
        let committees = self.committees.as_ref().ok_or_else(|| {
            Failure::Disagreement("the run ended before there was a key".to_owned())
        })?;
        let chronicle = S::chronicle(self.context, committees, &reveals);
        chronicle.verify()?;
        println!(
            "{compared} values of {} parties in {} slots agree; each slot verified from public data",
            self.parties,
            chronicle.slots()
        );
        Ok(chronicle)
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

/// One slot: where its value came from, and how long the parties waited for it.
fn line<S: Keyed>(slot: Slot, row: &Row<S>) -> String {
    let waits: Vec<Duration> = row
        .revealed
        .iter()
        .filter_map(|(party, (at, _))| Some(at.since(row.finalized.get(party)?.0)))
        .collect();
    let longest = waits.iter().max().copied().unwrap_or_default();
    let mean = Waits::from_iter(waits).mean().unwrap_or_default();
    let fast = row.revealed.values().filter(|(_, reveal)| reveal.path == Path::Fast).count();
    let tight = row.revealed.values().any(|(_, reveal)| reveal.path == Path::Tight);
    let path = match fast {
        0 if tight => "tight".to_owned(),
        0 => "slow".to_owned(),
        all if all == row.revealed.len() => "fast".to_owned(),
        some => format!("fast {some}, slow {}", row.revealed.len() - some),
    };
    let shown = row.revealed.values().next().map(|(_, reveal)| reveal);
    let block = shown.and_then(|reveal| reveal.value).map_or("skipped".to_owned(), |value| {
        hex::encode(value.to_bytes()).chars().take(8).collect()
    });
    let value: String = shown
        .map(|reveal| hex::encode(reveal.randomness()).chars().take(16).collect())
        .unwrap_or_default();
    format!(
        "{:>6}  {block:<10}{value:<18}{path:<17}{:>9} ms{:>7} ms",
        slot.get(),
        milliseconds(mean),
        milliseconds(longest)
    )
}
