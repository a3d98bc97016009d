//! Checks each event against all laws when it happens.
//!
//! The history that a law needs is kept over all lives of a party. After a crash a party may repeat its
//! last statements, and nothing else is excused. Faulty parties are not watched; their stake counts for
//! every value.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use prefinal_engine::{Block, FinalBlock, PastVotes};
use prefinal_protocol::{Party, Slot, Value, View};

use crate::event::{Event, OfferOutcome, Partial};
use crate::host::Committee;
use crate::sample::Statement;
use crate::violation::Violation;

/// The terms of a play, as its watch must know them.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The members and the stake of each.
    pub committee: Committee,
    /// The least stake that makes a value final.
    pub quorum: u128,
    /// The attempt whose prefinalizations release partials.
    pub fast: Option<u32>,
    /// Members that lie, or whose links do.
    pub faulty: BTreeSet<Party>,
    /// Whether everything arrives in time and nobody crashes.
    pub calm: bool,
    /// Whether a quorum prefinalizes each value before it is final; see
    /// [`Sample::FINAL_BY_ONE_VOTE`](crate::Sample::FINAL_BY_ONE_VOTE).
    pub one_vote: bool,
}

/// The history of one party, over all its lives.
#[derive(Clone, Debug, Default)]
struct Diary {
    /// The last slot that was finalized: in this life, and in any life.
    finalized: Option<Slot>,
    ever: Option<Slot>,
    /// The latest view that was given up in this life, and the latest whose timeout has left in any life.
    abandoned: Option<View>,
    gave_up: Option<View>,
    announced_up: Option<View>,
    said: BTreeMap<(u8, View), Statement>,
    announced: BTreeMap<View, Value>,
    fast: BTreeMap<Slot, Value>,
    values: BTreeMap<Value, Slot>,
    taken: BTreeSet<Partial>,
    got: BTreeSet<Partial>,
    transactions: BTreeMap<Vec<u8>, Slot>,
}

/// The laws and the history of a play.
#[derive(Clone, Debug)]
pub struct Watch {
    terms: Terms,
    diaries: BTreeMap<Party, Diary>,
    chain: BTreeMap<Slot, (Party, Option<Block>)>,
    /// The parties that prefinalized a value: in any attempt, and in the fast one.
    voters: BTreeMap<(Slot, Value), BTreeSet<Party>>,
    fast_voters: BTreeMap<(Slot, Value), BTreeSet<Party>>,
}

impl Watch {
    /// A watch over a play that has not begun.
    #[must_use]
    pub const fn new(terms: Terms) -> Self {
        Self {
            terms,
            diaries: BTreeMap::new(),
            chain: BTreeMap::new(),
            voters: BTreeMap::new(),
            fast_voters: BTreeMap::new(),
        }
    }

    /// Notes what a party did and checks the laws.
    ///
    /// # Errors
    /// The law that the event breaks.
    pub fn see(&mut self, party: Party, event: &Event) -> Result<(), Violation> {
        if self.terms.faulty.contains(&party) {
            return Ok(());
        }
        match event {
            Event::Started { records, past, again } => self.started(party, *records, (past, again)),
            Event::Prefinalized { partial, carriage } => {
                self.prefinalized(party, partial, *carriage)
            }
            Event::Carried { from, bytes } => self.carried(party, *from, bytes),
            Event::Finalized { slot, block } => self.finalized(party, *slot, block.as_ref()),
            Event::Abandoned { view } => self.abandoned(party, *view),
            Event::Accused { party: accused, fault } => self.accused(party, *accused, fault),
            Event::Refused(why) => Err(Violation::Refused { party, why: why.clone() }),
            Event::Said(statement) => self.said(party, *statement),
        }
    }

    /// The last slot that a party finalized.
    #[must_use]
    pub fn reached(&self, party: Party) -> Option<Slot> {
        self.diaries.get(&party)?.ever
    }

    /// Number of slots that any party finalized with a block.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.chain.values().filter(|(_, block)| block.is_some()).count()
    }

    /// Whether these parties finalized this slot.
    pub fn all_reach(&self, parties: &[Party], slot: Slot) -> bool {
        parties.iter().all(|party| self.reached(*party) >= Some(slot))
    }

    /// Whether these parties have all of these transactions.
    pub fn all_have(&self, parties: &[Party], transactions: &[Vec<u8>]) -> bool {
        self.ordered(parties, transactions).is_ok()
    }

    /// Checks that these parties have all of these transactions.
    ///
    /// # Errors
    /// The first transaction that one of these parties lacks.
    pub fn ordered(&self, parties: &[Party], transactions: &[Vec<u8>]) -> Result<(), Violation> {
        for party in parties {
            let has = |transaction: &&Vec<u8>| {
                let diary = self.diaries.get(party);
                diary.is_some_and(|diary| diary.transactions.contains_key(*transaction))
            };
            if let Some(transaction) = transactions.iter().find(|one| !has(one)) {
                let (party, transaction) = (*party, transaction.clone());
                return Err(Violation::Unordered { party, transaction });
            }
        }
        Ok(())
    }

    /// Checks that these parties got everything that votes for slots up to `last` carried.
    ///
    /// # Errors
    /// The first partial in such a vote that one of these parties did not get.
    pub fn delivered(&self, parties: &[Party], last: Slot) -> Result<(), Violation> {
        for (from, diary) in &self.diaries {
            for partial in diary.taken.iter().filter(|partial| partial.slot <= last) {
                let others = parties.iter().filter(|party| *party != from);
                let lacks = |party: &&Party| {
                    self.diaries.get(*party).is_none_or(|diary| !diary.got.contains(partial))
                };
                if let Some(party) = others.clone().find(lacks) {
                    let (party, from, slot) = (*party, *from, partial.slot);
                    return Err(Violation::Lost { party, from, slot });
                }
            }
        }
        Ok(())
    }

    /// The blocks in these slots. The party goes on behind the last of them.
    pub(crate) fn adopted(&mut self, party: Party, slots: RangeInclusive<Slot>) -> Vec<FinalBlock> {
        let diary = self.diary(party);
        diary.ever = diary.ever.max(Some(*slots.end()));
        let slots = self.chain.range(slots);
        let block = |(slot, (_, block)): (&Slot, &(Party, Option<Block>))| {
            Some(FinalBlock { slot: *slot, block: block.clone()? })
        };
        slots.filter_map(block).collect()
    }

    fn diary(&mut self, party: Party) -> &mut Diary {
        self.diaries.entry(party).or_default()
    }

    fn started(
        &mut self,
        party: Party,
        records: usize,
        (past, again): (&PastVotes, &PastVotes),
    ) -> Result<(), Violation> {
        if past != again {
            return Err(Violation::TwoPasts { party, records });
        }
        let diary = self.diary(party);
        (diary.finalized, diary.abandoned) = (None, None);
        for partial in &diary.taken {
            let Partial { slot, view, value, .. } = *partial;
            let statement = Statement::Prefinalizes { view, value };
            let left = diary.said.get(&key(statement)) == Some(&statement);
            if left && !past.released.contains(&(slot, value)) {
                return Err(Violation::Untold { party, slot });
            }
        }
        let had = |slot: Slot, value: Value| {
            diary.taken.iter().any(|partial| (partial.slot, partial.value) == (slot, value))
        };
        match past.released.iter().find(|(slot, value)| !had(*slot, *value)) {
            Some((slot, _)) => Err(Violation::Invented { party, slot: *slot }),
            None => Ok(()),
        }
    }

    fn prefinalized(
        &mut self,
        party: Party,
        partial: &Partial,
        carriage: OfferOutcome,
    ) -> Result<(), Violation> {
        let Partial { slot, view, value, .. } = *partial;
        let direct = slot == view.slot;
        let fast = direct && Some(view.attempt) == self.terms.fast;
        let diary = self.diary(party);
        diary.check_open(party, view)?;
        if diary.said.contains_key(&key(Statement::Prefinalizes { view, value })) {
            return Err(Violation::Forgotten { party, view });
        }
        match carriage {
            OfferOutcome::Taken => drop(diary.taken.insert(*partial)),
            OfferOutcome::Returned => {}
            OfferOutcome::Altered => return Err(Violation::Altered { party, slot }),
        }
        if fast {
            let first = *diary.fast.entry(slot).or_insert(value);
            if first != value {
                return Err(Violation::TwoValues { party, slot, first, second: value });
            }
        }
        diary.name(party, slot, value)?;
        if direct {
            diary.announced.insert(view, value);
        }
        self.voters.entry((slot, value)).or_default().insert(party);
        if fast {
            self.fast_voters.entry((slot, value)).or_default().insert(party);
        }
        match self.chain.get(&slot) {
            Some((first, block)) => self.check_leak(slot, *first, block.as_ref()),
            None => Ok(()),
        }
    }

    fn carried(&mut self, party: Party, from: Party, bytes: &[u8]) -> Result<(), Violation> {
        if self.terms.faulty.contains(&from) {
            return Ok(());
        }
        let foreign = Violation::Foreign { party, from };
        let Ok(partial) = borsh::from_slice::<Partial>(bytes) else { return Err(foreign) };
        if partial.party != from || !self.diary(from).taken.contains(&partial) {
            return Err(foreign);
        }
        self.diary(party).got.insert(partial);
        Ok(())
    }

    fn finalized(
        &mut self,
        party: Party,
        slot: Slot,
        block: Option<&Block>,
    ) -> Result<(), Violation> {
        let diary = self.diary(party);
        let first = Slot::new(1);
        let next = |last: Option<Slot>| last.map_or(first, Slot::next);
        // A new life may repeat what an earlier one reported, but leaves nothing out.
        let expected = diary.finalized.map_or(next(diary.ever), Slot::next);
        let again = diary.finalized.is_none() && slot >= first && slot <= expected;
        if slot != expected && !again {
            return Err(Violation::Order { party, got: slot, expected });
        }
        diary.finalized = Some(slot);
        diary.ever = diary.ever.max(Some(slot));
        for transaction in block.into_iter().flat_map(|block| &block.transactions) {
            let first = *diary.transactions.entry(transaction.to_vec()).or_insert(slot);
            if first != slot {
                return Err(Violation::Repeated { party, first, second: slot });
            }
        }
        if let Some(block) = block {
            diary.name(party, slot, block.value)?;
        }
        self.check_agreement(party, slot, block)
    }

    fn check_agreement(
        &mut self,
        party: Party,
        slot: Slot,
        block: Option<&Block>,
    ) -> Result<(), Violation> {
        let value = block.map(|block| block.value);
        if let Some((first, known)) = self.chain.get(&slot) {
            let (first, first_value) = (*first, known.as_ref().map(|block| block.value));
            if first_value != value {
                let (second, second_value) = (party, value);
                return Err(Violation::Disagreement {
                    slot,
                    first,
                    first_value,
                    second,
                    second_value,
                });
            }
            let same = known.as_ref() == block;
            let second = party;
            return if same { Ok(()) } else { Err(Violation::Contents { slot, first, second }) };
        }
        self.chain.insert(slot, (party, block.cloned()));
        if let (true, Some(value)) = (self.terms.calm && self.terms.one_vote, value) {
            let held = self.held(self.voters.get(&(slot, value)));
            let quorum = self.terms.quorum;
            if held < quorum {
                return Err(Violation::Early { slot, party, held, quorum });
            }
        }
        self.check_leak(slot, party, block)
    }

    /// The stake that may stand behind a value: these parties, and all that are faulty.
    fn held(&self, voters: Option<&BTreeSet<Party>>) -> u128 {
        let all = voters.into_iter().flatten().chain(&self.terms.faulty);
        all.map(|party| self.terms.committee.stake(*party)).sum()
    }

    fn check_leak(&self, slot: Slot, party: Party, block: Option<&Block>) -> Result<(), Violation> {
        let finalized = block.map(|block| block.value);
        for ((_, prefinalized), voters) in self.fast_voters.range(of(slot)) {
            if finalized != Some(*prefinalized) && self.held(Some(voters)) >= self.terms.quorum {
                let (prefinalized, by) = (*prefinalized, voters.iter().copied().collect());
                return Err(Violation::Leaked { slot, prefinalized, by, party, finalized });
            }
        }
        Ok(())
    }

    fn abandoned(&mut self, party: Party, view: View) -> Result<(), Violation> {
        let diary = self.diary(party);
        diary.abandoned = diary.abandoned.max(Some(view));
        diary.announced_up = diary.announced_up.max(Some(view));
        if self.terms.calm { Err(Violation::Impatient { party, view }) } else { Ok(()) }
    }

    fn accused(&mut self, party: Party, accused: Party, fault: &str) -> Result<(), Violation> {
        if self.terms.faulty.contains(&accused) {
            return Ok(());
        }
        Err(Violation::Slander { party, accused, fault: fault.to_owned() })
    }

    fn said(&mut self, party: Party, statement: Statement) -> Result<(), Violation> {
        let diary = self.diary(party);
        match diary.said.get(&key(statement)) {
            Some(first) if *first == statement => return Ok(()),
            Some(first) => {
                let (first, second) = (*first, statement);
                return Err(Violation::Equivocated { party, first, second });
            }
            None => {}
        }
        match statement {
            Statement::Prefinalizes { view, value } => {
                diary.check_open(party, view)?;
                if diary.announced.get(&view) != Some(&value) {
                    return Err(Violation::Unannounced { party, view });
                }
            }
            Statement::GivesUp { view } => {
                if diary.announced_up < Some(view) {
                    return Err(Violation::Unabandoned { party, view });
                }
                diary.gave_up = diary.gave_up.max(Some(view));
            }
            Statement::Proposes { .. } | Statement::Votes { .. } => {}
        }
        diary.said.insert(key(statement), statement);
        Ok(())
    }
}

impl Diary {
    /// Checks that the view was not given up: in this life, or by a message that left in any life.
    fn check_open(&self, party: Party, view: View) -> Result<(), Violation> {
        match self.abandoned.max(self.gave_up) {
            Some(abandoned) if abandoned >= view => {
                Err(Violation::Abandoned { party, view, abandoned })
            }
            _ => Ok(()),
        }
    }

    fn name(&mut self, party: Party, slot: Slot, value: Value) -> Result<(), Violation> {
        let first = *self.values.entry(value).or_insert(slot);
        if first == slot { Ok(()) } else { Err(Violation::Mixed { party, first, second: slot }) }
    }
}

const fn key(statement: Statement) -> (u8, View) {
    let (kind, view, _) = statement.promise();
    (kind, view)
}

fn of(slot: Slot) -> RangeInclusive<(Slot, Value)> {
    (slot, Value::new([0; 32]))..=(slot, Value::new([0xff; 32]))
}
