//! What a run showed: one line per slot while it goes on, table and verdict at its end.
//!
//! The ledger believes nobody. Values are compared with each other as they come; a slot's line is printed
//! when all parties have revealed it; at the end values are compared with what an outside verifier computes
//! from the partials that one of them showed. A run without an end remembers its last slots only.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeBounds;

use ::prefinal_beacon::{Path, Reveal, Slot};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{Context, EpochId};
use prefinal_protocol::Instant;

use crate::http::{PathWaits, SlotReport};
use crate::party::PartyEvent;
use crate::waits;
use prefinal_lab::Failure;
use prefinal_lab::waits::{Wait, Waits, milliseconds};
use prefinal_registry::NamedScheme;
use prefinal_registry::chronicle::Chronicle;
use prefinal_validator::Event;
use prefinal_validator::scheme::{AdmittedKeys, PerPath};
use prefinal_validator::setup::{Algorithm, FIRST, Plan, Setup};
use prefinal_weighted_rounding::Stake;

/// What is known of a slot.
struct Row<S: NamedScheme> {
    /// When each party knew that the slot is final.
    finalized: BTreeMap<Party, Instant>,
    /// When each party had the value, and by which path.
    revealed: BTreeMap<Party, (Instant, Path)>,
    /// The party that revealed it first, and what.
    witness: Option<(Party, Box<Reveal<S>>)>,
}

/// What is known of an epoch.
struct Term<S: NamedScheme> {
    first: Slot,
    committees: PerPath<S::Committee>,
}

/// Slots that a run without an end remembers.
const KEPT: usize = 1024;

/// All slots of a run.
pub(super) struct Ledger<S: NamedScheme> {
    context: Context,
    parties: usize,
    /// How many slots the run has; `None` if it has no end.
    slots: Option<u64>,
    /// How many of them all parties have, and the last.
    done: u64,
    last: Option<Slot>,
    choice: Algorithm,
    /// How many slots from the first on use the slow path alone.
    slow_only: u64,
    /// The members of each epoch's committee, as far as the run has them.
    members: Vec<BTreeSet<Party>>,
    terms: BTreeMap<EpochId, Term<S>>,
    rows: BTreeMap<Slot, Row<S>>,
    faults: Vec<String>,
    /// Why the first party that cannot go on cannot.
    halted: Option<Failure>,
}

impl<S: NamedScheme> Ledger<S> {
    pub(super) fn new(setup: &Setup, slots: Option<u64>, later: &[Plan]) -> Self {
        let members = setup.members.iter().map(|member| member.stake);
        let later = later.iter().map(|plan| members_of(plan.stakes.iter().copied()));
        Self {
            context: setup.context,
            parties: setup.members.len(),
            slots,
            done: 0,
            last: None,
            choice: setup.choice,
            slow_only: setup.fast_after,
            members: std::iter::once(members_of(members)).chain(later).collect(),
            terms: BTreeMap::new(),
            rows: BTreeMap::new(),
            faults: Vec::new(),
            halted: None,
        }
    }

    /// The same, without so many parties, which are away.
    pub(super) const fn without(mut self, away: usize) -> Self {
        self.parties = self.parties.saturating_sub(away);
        self
    }

    /// Takes an event; how all parties came by their values, if it is the last of a slot.
    pub(super) fn take(&mut self, noticed: PartyEvent<S>) -> Option<SlotReport> {
        let PartyEvent { by, at, event } = noticed;
        match event {
            Event::Ready { epoch, first_slot, committees } => {
                let new = || Term { first: first_slot, committees: *committees };
                let first = self.terms.entry(epoch).or_insert_with(new).first;
                if first != first_slot {
                    self.faults.push(format!("{by} starts at {first_slot}, others at {first}"));
                }
            }
            Event::Admitted(epoch, keys) => {
                if let Some(term) = self.terms.get_mut(&epoch) {
                    admit(&mut term.committees, &keys);
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
            Event::ChangeRefused { slot, change } => {
                self.faults.push(format!("{by} refuses a change in {slot}: {}", change.error));
            }
            Event::Skipped(_) | Event::Dealing { .. } | Event::Named { .. } => {}
        }
        None
    }

    fn revealed(
        &mut self,
        (by, at): (Party, Instant),
        reveal: Box<Reveal<S>>,
    ) -> Option<SlotReport> {
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
            self.last = self.last.max(Some(slot));
            self.forget();
        }
        shown
    }

    /// The line of a slot that all parties have, below a header if it is the first.
    pub(super) fn line(&self, shown: &SlotReport) -> String {
        let begins = self.terms.iter().find(|(_, term)| term.first == shown.slot);
        let header = match begins {
            Some((&FIRST, _)) => header() + "\n",
            Some((epoch, _)) => self.change(*epoch) + "\n",
            None => String::new(),
        };
        let row = self.rows.get(&shown.slot);
        let value = row.and_then(|row| row.witness.as_ref());
        let value = value.map(|(_, reveal)| hex::encode(reveal.randomness()));
        header + &line(shown, &value.unwrap_or_default())
    }

    /// In words, what is new in a later epoch.
    fn change(&self, epoch: EpochId) -> String {
        let number = usize::try_from(epoch.get()).unwrap_or(usize::MAX);
        let members = |number| self.members.get(number).cloned().unwrap_or_default();
        let (before, now) = (members(number.saturating_sub(1)), members(number));
        let (joined, left) = (now.difference(&before).count(), before.difference(&now).count());
        let key = |term: &Term<S>| S::public_key(&term.committees.slow);
        let old = self.terms.range(..epoch).next_back().and_then(|(_, term)| key(term));
        let new = self.terms.get(&epoch).and_then(key);
        let key =
            if new.is_some() && old == new { "the same group key" } else { "another group key" };
        let count = now.len();
        format!("{epoch}: {count} parties, {joined} joined, {left} left, every stake moved; {key}")
    }

    /// Leaves the oldest slots out, if the run has no end.
    fn forget(&mut self) {
        while self.slots.is_none() && self.rows.len() > KEPT {
            self.rows.pop_first();
        }
    }

    /// Whether every party has revealed as many slots as were asked for, in as many epochs.
    pub(super) fn is_complete(&self) -> bool {
        let begun = self.terms.values().filter(|term| self.last >= Some(term.first)).count();
        let all = begun >= self.members.len();
        all && self.slots.is_some_and(|slots| self.done >= slots)
    }

    /// Whether anybody was accused, refused something, or cannot go on.
    pub(super) const fn has_faults(&self) -> bool {
        !self.faults.is_empty() || self.halted.is_some()
    }

    /// The waits in the slots of a range.
    fn waits(&self, slots: impl RangeBounds<Slot>) -> Waits {
        self.rows
            .range(slots)
            .flat_map(|(slot, row)| {
                row.revealed.iter().filter_map(move |(party, (at, _))| {
                    let span = at.since(*row.finalized.get(party)?);
                    Some(Wait { slot: *slot, span })
                })
            })
            .collect()
    }

    /// The table at the end.
    pub(super) fn print_summary(&self) {
        let first = self.terms.get(&FIRST).map_or(0, |term| term.first.get());
        let switch = Slot::new(first.saturating_add(self.slow_only));
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

    /// Compares all values with each other and with an independent verification; one chronicle for each
    /// key, none if the run was ended before there was one.
    ///
    /// # Errors
    /// Why a party could not go on, else the first disagreement.
    pub(super) fn settle(self) -> Result<Vec<Chronicle>, Failure> {
        if let Some(failure) = self.halted {
            return Err(failure);
        }
        if let Some(fault) = self.faults.first() {
            let count = self.faults.len();
            return Err(Failure::Disagreement(format!("{count} faults, the first: {fault}")));
        }
        let mut chronicles: Vec<Chronicle> = Vec::new();
        for (key, reveals) in self.by_key() {
            let Some(Term { committees, .. }) = self.terms.get(&key) else { continue };
            let context = Context { epoch: key, ..self.context };
            let chronicle = S::chronicle(context, committees, &reveals);
            chronicle.verify()?;
            chronicles.push(chronicle);
        }
        let compared: usize = self.rows.values().map(|row| row.revealed.len()).sum();
        if !chronicles.is_empty() {
            let slots: usize = chronicles.iter().map(Chronicle::slots).sum();
            say!(
                "{compared} values of {} parties in {slots} slots agree; each slot verified from \
                 public data",
                self.parties
            );
        }
        Ok(chronicles)
    }

    /// The slots of each key, under the first epoch that has it.
    fn by_key(&self) -> BTreeMap<EpochId, Vec<&Reveal<S>>> {
        let mut keys: BTreeMap<EpochId, Vec<&Reveal<S>>> = BTreeMap::new();
        let mut current = FIRST;
        for (epoch, term) in &self.terms {
            let key = |epoch| S::public_key(&self.terms.get(epoch)?.committees.slow);
            if key(epoch).is_none() || key(epoch) != key(&current) {
                current = *epoch;
            }
            let end = self.terms.values().map(|next| next.first).find(|first| *first > term.first);
            let rows = self.rows.range(term.first..end.unwrap_or(Slot::new(u64::MAX)));
            let reveals = rows.filter_map(|(_, row)| Some(&*row.witness.as_ref()?.1));
            keys.entry(current).or_default().extend(reveals);
        }
        keys
    }
}

fn members_of(stakes: impl Iterator<Item = Stake>) -> BTreeSet<Party> {
    let parties = (0..).map(Party::new).zip(stakes);
    parties.filter(|(_, stake)| *stake > Stake::ZERO).map(|(party, _)| party).collect()
}

/// Every party says so of a late key; the first who does counts.
fn admit<S: NamedScheme>(committees: &mut PerPath<S::Committee>, keys: &AdmittedKeys<S>) {
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
impl<S: NamedScheme> Default for Row<S> {
    fn default() -> Self {
        Self { finalized: BTreeMap::new(), revealed: BTreeMap::new(), witness: None }
    }
}

fn shown<S: NamedScheme>(slot: Slot, row: &Row<S>) -> SlotReport {
    let mut ways: BTreeMap<Path, PathWaits> = BTreeMap::new();
    for (party, (at, path)) in &row.revealed {
        let way = ways.entry(*path).or_default();
        way.parties += 1;
        way.waits.extend(row.finalized.get(party).map(|finalized| at.since(*finalized)));
    }
    let block = row.witness.as_ref().and_then(|(_, reveal)| reveal.value);
    SlotReport { slot, block, ways }
}

/// One slot: where its value came from, and how long the parties waited for it.
fn line(shown: &SlotReport, value: &str) -> String {
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
