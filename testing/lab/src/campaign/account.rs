//! What must hold of an execution in the arena, checked from its notes.
//!
//! | checked     | how                                                                                |
//! |-------------|------------------------------------------------------------------------------------|
//! | agreement   | one block for each slot with the same transactions, one output for each slot          |
//! | total order | slots are final and revealed in one order, from the first on, none left out          |
//! | once        | no transaction is in two places of the order, on engines that promise it             |
//! | validity    | the output verifies under the public keys; a slot without output has none due        |
//! | accusations | nobody honest is accused by anybody honest, and for no bad signature again and again   |
//! | convictions | a party that shows an honest one two blocks for a slot is accused by it                |
//! | secrecy     | see below                                                                            |
//! | times       | a slot's value can be computed when the paper says ([`crate::global`])                |
//!
//! **Secrecy.** The adversary has the shares of all faulty parties and every partial that an honest
//! party has sent to anybody. For each path, slot and value in the input, it is known at every moment
//! which parties these are. Once they reach the threshold, somebody could have computed the output.
//! Then the slot must be final, and with this value if the input holds it. Nothing is taken from a
//! beacon or an engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_beacon::{Binding, Path, Reveal, Slot, Value};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::Instant;
use prefinal_sim::{Note, Seat, check};
use sha2::{Digest, Sha256};

use super::arena::Observation;
use super::forge::Forge;
use super::hand::Hand;
use super::member::Terms;
use super::permissive::FIRST;
use crate::check::{Summary, TotalOrder, Violation, check_accusations};
use crate::finality::Finality;
use crate::global::{Exceptions, Sign};
use crate::legible::Act;
use crate::local::Imperfections;

/// How soon a contradiction must have come out.
const CONVICTION: Duration = Duration::from_secs(1);

/// What an execution is judged by.
pub(super) struct Account<'a, S: Forge> {
    pub(super) terms: &'a Terms,
    pub(super) hand: &'a Hand<S>,
    pub(super) stakes: Vec<u128>,
    pub(super) faulty: &'a BTreeSet<Party>,
    /// The parties that crashed on the way, and may be late.
    pub(super) crashed: BTreeSet<Party>,
    pub(super) imperfections: Imperfections,
    /// Whether the engine promises that no transaction is ordered twice.
    pub(super) orders_once: bool,
    /// Whose seat each seat is.
    pub(super) parties: &'a dyn Fn(Seat) -> Party,
    pub(super) notes: &'a [Note<Observation<S>>],
}

/// Whose partials of what have left.
type Released = BTreeMap<(Path, Slot, Option<Value>), BTreeSet<Party>>;

impl<S: Forge> Account<'_, S> {
    /// Checks everything.
    pub(super) fn check(&self) -> Result<Summary, Violation> {
        self.check_agreement()?;
        self.check_order()?;
        if self.orders_once {
            self.check_once()?;
        }
        check_accusations(self.honest(), self.faulty, |seen| match seen {
            Observation::Accused(party, fault) => Some((*party, fault)),
            _ => None,
        })?;
        self.check_convictions()?;
        self.check_secrecy()?;
        self.check_times()?;
        let values = self.check_values()?;
        Ok(Summary::of(values, self.reveals().map(|reveal| reveal.path)))
    }

    fn honest(&self) -> impl Iterator<Item = &Note<Observation<S>>> {
        self.notes.iter().filter(|note| !self.faulty.contains(&(self.parties)(note.seat)))
    }

    fn reveals(&self) -> impl Iterator<Item = &Reveal<S>> {
        self.honest().filter_map(|note| match &note.event {
            Observation::Revealed(reveal) => Some(&**reveal),
            _ => None,
        })
    }

    fn check_agreement(&self) -> Result<(), Violation> {
        let blocks = check::agreement(self.honest(), |seen| match seen {
            Observation::Finalized(slot, block) => Some((*slot, *block)),
            _ => None,
        });
        blocks.map_err(|error| Violation::Agreement(error.to_string()))?;
        let contents = check::agreement(self.honest(), |seen| match seen {
            Observation::Ordered(slot, transactions) => Some((*slot, digest(transactions))),
            _ => None,
        });
        contents.map_err(|error| {
            Violation::Agreement(format!("the transactions of one block differ: {error}"))
        })?;
        let values = check::agreement(self.honest(), |seen| match seen {
            Observation::Revealed(reveal) => {
                Some((reveal.slot, (reveal.value, hex::encode(S::randomness(&reveal.output)))))
            }
            _ => None,
        });
        values.map(drop).map_err(|error| Violation::Agreement(error.to_string()))
    }

    fn check_order(&self) -> Result<(), Violation> {
        let mut order = TotalOrder::default();
        for note in self.honest() {
            match &note.event {
                Observation::Finalized(slot, _) => order.finalized(note.seat, *slot, FIRST)?,
                Observation::Revealed(reveal) => order.revealed(note.seat, reveal.slot, FIRST)?,
                Observation::Skipped(slot) => order.revealed(note.seat, *slot, FIRST)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Executions are shorter than the memory in which engines keep what was ordered.
    fn check_once(&self) -> Result<(), Violation> {
        let mut slots: BTreeMap<&[u8], Slot> = BTreeMap::new();
        let mut read = BTreeSet::new();
        let ordered = self.honest().filter_map(|note| match &note.event {
            Observation::Ordered(slot, transactions) => Some((*slot, transactions)),
            _ => None,
        });
        // All have the same transactions in a slot.
        for (slot, transactions) in ordered.filter(|(slot, _)| read.insert(*slot)) {
            for bytes in transactions {
                if let Some(first) = slots.insert(bytes, slot) {
                    let what = format!("a transaction of {first} is ordered again in {slot}");
                    return Err(Violation::Order(what));
                }
            }
        }
        Ok(())
    }

    /// Whether each honest party that was shown a contradiction has accused the party that it is from: of that
    /// slot, or of anything since then. One that crashes may have forgotten, and at the end there may be no time.
    fn check_convictions(&self) -> Result<(), Violation> {
        let end = self.notes.last().map_or(Instant::START, |note| note.at);
        let is_late = |at: Instant| at + CONVICTION > end;
        let silent = self.notes.iter().enumerate().find_map(|(place, shown)| {
            let seat = shown.seat;
            let Observation::Exposed(culprit, slot) = shown.event else { return None };
            if self.faulty.contains(&(self.parties)(seat)) || is_late(shown.at) {
                return None;
            }
            let settles = |(at, note): (usize, &Note<Observation<S>>)| {
                note.seat == seat
                    && match &note.event {
                        Observation::Started => at > place,
                        // A suspect's statements may be no evidence, and one contradiction a slot is enough.
                        Observation::Accused(party, fault) if *party == culprit => {
                            at > place
                                || fault.starts_with("bad signature")
                                || fault.contains(&format!("{slot:?}"))
                        }
                        _ => false,
                    }
            };
            let settled = self.notes.iter().enumerate().any(settles);
            (!settled)
                .then(|| format!("{culprit} shows {seat} two blocks for {slot} with impunity"))
        });
        silent.map_or(Ok(()), |what| Err(Violation::Conviction(what)))
    }

    fn check_secrecy(&self) -> Result<(), Violation> {
        let mut finality = Finality::new(self.stakes.clone(), self.faulty.clone());
        let mut released = Released::new();
        for path in self.hand.committees.keys() {
            self.look_at_shares(*path)?;
        }
        for note in self.notes {
            let party = (self.parties)(note.seat);
            match &note.event {
                Observation::Act(Act::Ballot(ballot)) => finality.take(party, ballot),
                _ if self.faulty.contains(&party) => {}
                Observation::Released(path, slot, value) => {
                    let what = (*path, *slot, *value);
                    released.entry(what).or_default().insert(party);
                    self.look(&finality, &released, what).map_err(|what| {
                        let at = note.at.since_start();
                        let what = format!("at {at:?}, when {party} sends a partial: {what}");
                        Violation::Secrecy(what)
                    })?;
                }
                // Final with anything: an output has no value with it, or was checked as a partial.
                Observation::OutputSent(slot) if !finality.permits(*slot, None) => {
                    let what = format!("{party} shows the output of {slot}, which is not final");
                    return Err(Violation::Secrecy(what));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn check_times(&self) -> Result<(), Violation> {
        let finals = self.honest().filter_map(|note| match note.event {
            Observation::Finalized(slot, Some(value)) => Some((slot, value)),
            _ => None,
        });
        let finals: BTreeMap<Slot, Value> = finals.collect();
        let is_bound = self.terms.binding == Binding::Value;
        let is_final = |slot: Slot, value: Value| finals.get(&slot) == Some(&value);
        let (faulty, crashed) = (self.faulty.clone(), self.crashed.clone());
        let exceptions = Exceptions { faulty, crashed, imperfections: self.imperfections };
        let mut clock = self.hand.clock(self.stakes.clone(), exceptions);
        if self.terms.declared.is_none() {
            clock.stay_slow();
        }
        if is_bound {
            clock.bind(finals.clone());
        }
        for note in self.notes {
            let sign = match &note.event {
                Observation::Act(Act::Ballot(ballot)) => Sign::Ballot(ballot),
                Observation::Released(path, slot, value)
                    if value.is_none_or(|value| is_final(*slot, value)) =>
                {
                    Sign::Released(*path, *slot)
                }
                // A slot that is skipped has no value that an input could hold.
                Observation::Finalized(slot, value) if !is_bound || value.is_some() => {
                    Sign::Finalized(*slot)
                }
                Observation::Revealed(reveal) => Sign::Valued(reveal.slot),
                // A value in the input is that of the slot: who is honest asks for no other one.
                Observation::Heard(heard) => Sign::Heard(heard),
                _ => continue,
            };
            clock.take((self.parties)(note.seat), sign, note.left);
        }
        clock.close(None).map(drop).map_err(Violation::from)
    }

    /// What the adversary has of an input.
    fn weight(&self, path: Path, honest: Option<&BTreeSet<Party>>) -> Option<(u128, u128)> {
        let committee = self.hand.committees.get(&path)?;
        // Of honest parties only notes of partials are taken, so nobody is counted twice.
        let parties = honest.into_iter().flatten().chain(self.faulty);
        let got = parties.map(|party| S::holding(committee, *party)).sum();
        Some((got, S::threshold(committee)))
    }

    /// What the faulty parties hold alone.
    fn look_at_shares(&self, path: Path) -> Result<(), Violation> {
        match self.weight(path, None) {
            Some((got, need)) if got >= need => {
                let what = format!(
                    "the faulty parties hold {got} shares of the {path} path, {need} reconstruct"
                );
                Err(Violation::Secrecy(what))
            }
            _ => Ok(()),
        }
    }

    fn look(
        &self,
        finality: &Finality,
        released: &Released,
        (path, slot, value): (Path, Slot, Option<Value>),
    ) -> Result<(), String> {
        let honest = released.get(&(path, slot, value));
        let Some((got, need)) = self.weight(path, honest) else { return Ok(()) };
        // Without rule 1 the view is in the input, and nobody knows which value it is about.
        let bound = value.filter(|_| self.terms.binding == Binding::Value);
        if got < need || finality.permits(slot, bound) {
            return Ok(());
        }
        let value = value.map(|value| format!(" for {value}")).unwrap_or_default();
        let last = match finality.decided(slot) {
            Some(Some(other)) => format!("is final with {other}"),
            Some(None) => "is skipped".to_owned(),
            None => "is not final".to_owned(),
        };
        Err(format!(
            "the adversary holds {got} shares of {slot}{value} on the {path} path, {need} \
             reconstruct, and the slot {last}"
        ))
    }

    /// Every slot's output, verified from what one party shows of it.
    fn check_values(&self) -> Result<usize, Violation> {
        let mut shown: BTreeMap<Slot, &Reveal<S>> = BTreeMap::new();
        for reveal in self.reveals() {
            shown.entry(reveal.slot).or_insert(reveal);
        }
        let mut outputs = BTreeSet::new();
        for (slot, reveal) in &shown {
            let fails = |why: &str| Violation::Validity(format!("output of {slot}: {why}"));
            let committee = self.hand.committees.get(&reveal.path);
            let committee = committee.ok_or_else(|| fails("by a path that is not in use"))?;
            let input = S::input(&self.terms.context, self.terms.binding, *slot, reveal.bound);
            let input = input.ok_or_else(|| fails("of nothing"))?;
            let proof = S::show(&reveal.output, &reveal.proof);
            S::check_shown(committee, &input, &proof).map_err(|error| fails(&error.to_string()))?;
            outputs.insert(S::randomness(&reveal.output));
        }
        if outputs.len() < shown.len() {
            return Err(Violation::Validity("two slots have one value".to_owned()));
        }
        self.check_skipped()?;
        Ok(shown.len())
    }

    /// A slot has no output if it was skipped, where inputs have values.
    fn check_skipped(&self) -> Result<(), Violation> {
        let finals = self.honest().filter_map(|note| match &note.event {
            Observation::Finalized(slot, block) => Some((*slot, *block)),
            _ => None,
        });
        let finals: BTreeMap<Slot, Option<Value>> = finals.collect();
        let without = self.honest().find_map(|note| match &note.event {
            Observation::Skipped(slot)
                if self.terms.binding == Binding::Slot || finals.get(slot) != Some(&None) =>
            {
                Some(format!("{slot} has no value at {}", note.seat))
            }
            _ => None,
        });
        without.map_or(Ok(()), |what| Err(Violation::Validity(what)))
    }
}

/// Of transactions in their order.
fn digest(transactions: &[Arc<[u8]>]) -> String {
    let one = |hash: Sha256, bytes: &Arc<[u8]>| hash.chain_update(Sha256::digest(bytes));
    hex::encode(transactions.iter().fold(Sha256::new(), one).finalize())
}
