//! An honest party under the contract: what it remembers, and which of its partials are out.
//!
//! Nothing is decided here. [`prefinal_contract::objections`] decides, and [`Terms`] may be told to be
//! deaf to the objections of one rule. The other rules are not objections; leaving them out means:
//!
//! | rule  | without it                                                    |
//! |-------|---------------------------------------------------------------|
//! | 1     | the view is in the input                                      |
//! | 5     | a restart forgets what was said, and is not silent about it     |
//! | 6     | who has the output keeps the slow partial back                |
//! | 8     | a skipped slot has no input, whatever the binding              |
//! | 9     | the faulty party's partial counts twice                        |
use prefinal_contract::Withheld;
use prefinal_contract::lost::LostSlots;
use prefinal_contract::{Claim, Rule, Standing, objections};
use prefinal_protocol::{Slot, Value, View};

/// Honest parties; one more is faulty.
pub const HONEST: usize = 3;

/// Votes that make a value final in one view, with that of the faulty party: 2f + 1.
pub const T_FIN: usize = 3;

/// How many honest parties are a quorum with the faulty one; one less for engines that take too few for one.
pub(crate) const fn honest_quorum(is_small: bool) -> usize {
    if is_small { T_FIN - 2 } else { T_FIN - 1 }
}

/// Slots are 1 to this.
const SLOTS: usize = 6;

/// A view: slot and attempt.
pub type At = (u8, u8);

/// The part of the contract that a model leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omission {
    /// All objections of one rule.
    Rule(Rule),
    /// The words "or a later one" of rule 4.
    LaterViews,
}

/// The contract as a model applies it.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The attempt that the engine declares.
    pub declared: Option<u32>,
    /// `None` for the whole contract.
    pub without: Option<Omission>,
    /// What a restart finds.
    pub journal: Journal,
}

/// What a restart finds of what was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// All of it, and knows: a restart is no step. More leaves than with a real one.
    Known,
    /// All of it, and cannot know.
    Whole,
    /// Nothing: the oldest copy that there is.
    PutBack,
}

impl Terms {
    /// The whole contract, for an engine that declares attempt 0.
    pub const WHOLE: Self = Self { declared: Some(0), without: None, journal: Journal::Known };

    /// The contract without one rule. Only an engine without views shows what rule 7 is for.
    #[must_use]
    pub fn without(rule: Rule) -> Self {
        let declared = (rule != Rule::NoView).then_some(0);
        Self { declared, without: Some(Omission::Rule(rule)), journal: Journal::Known }
    }

    /// The whole contract, with restarts that find this.
    #[must_use]
    pub const fn with(journal: Journal) -> Self {
        Self { journal, ..Self::WHOLE }
    }

    /// Whether a rule is in force.
    #[must_use]
    pub fn has(&self, rule: Rule) -> bool {
        self.without != Some(Omission::Rule(rule))
    }

    fn obeys(&self, objection: &Withheld) -> bool {
        match (self.without, objection) {
            (Some(Omission::LaterViews), Withheld::Abandoned { view, abandoned }) => {
                view == abandoned
            }
            (Some(Omission::Rule(rule)), objection) => objection.rule() != Some(rule),
            _ => true,
        }
    }
}

/// What an integration tells the beacon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// The engine is about to cast a vote that is, or implies, the vote for this value.
    Prefinalized {
        /// The slot of the value.
        slot: u8,
        /// Where the vote is cast.
        view: At,
        /// The value.
        value: u8,
    },
    /// The engine is about to give up this view.
    Abandoned(At),
    /// The party went down and came up again.
    Restarted,
}

/// One honest party's memory, and its partials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Desk {
    abandoned: Option<At>,
    /// Whether a life before may have said more. Peers' heads and the window lie beyond the bound.
    lost: bool,
    released: [Option<u8>; SLOTS],
    /// By slot, one bit for each value: what left early. Nothing takes this back.
    out: [u16; SLOTS],
}

impl Desk {
    /// What the contract makes of it.
    pub fn told(&mut self, terms: &Terms, told: Call) {
        match told {
            Call::Prefinalized { slot, view, value } => {
                self.prefinalized(terms, slot, view, value);
            }
            Call::Abandoned(view) => self.abandoned = self.abandoned.max(Some(view)),
            // With its records it is what it was.
            Call::Restarted if terms.has(Rule::Durable) && terms.journal == Journal::Known => {}
            Call::Restarted => {
                self.lost = terms.has(Rule::Durable);
                if !terms.has(Rule::Durable) || terms.journal == Journal::PutBack {
                    self.abandoned = None;
                    self.released = [None; SLOTS];
                }
            }
        }
    }

    fn prefinalized(&mut self, terms: &Terms, slot: u8, view: At, value: u8) {
        let claim = Claim {
            slot: Slot::new(slot.into()),
            view: named(view),
            value: hash(value),
            finality: None,
            finished: false,
        };
        let standing = self.standing();
        if objections(terms.declared, &standing, &claim).any(|objection| terms.obeys(&objection)) {
            return;
        }
        let at = usize::from(slot);
        self.released[at].get_or_insert(value);
        self.out[at] |= 1 << value;
    }

    /// Which values' partials of a slot left early, one bit each.
    #[must_use]
    pub fn out(&self, slot: u8) -> u16 {
        self.out[usize::from(slot)]
    }

    /// The same party, had values 0 and 1 changed places.
    #[must_use]
    pub fn exchanged(&self) -> Self {
        let released = self.released.map(|value| value.map(|value| value ^ 1));
        let out = self.out.map(|out| (out & 1) << 1 | (out >> 1) & 1);
        Self { abandoned: self.abandoned, lost: self.lost, released, out }
    }

    fn standing(&self) -> Standing {
        let abandoned = self.abandoned.map(named);
        let lost = if self.lost { LostSlots::Unknown } else { LostSlots::Nothing };
        let mut standing = Standing { abandoned, lost, ..Standing::default() };
        for (slot, value) in (0..).zip(self.released) {
            if let Some(value) = value {
                standing.released.insert(Slot::new(slot), hash(value));
            }
        }
        standing
    }
}

/// A view as the beacon knows it.
#[must_use]
pub fn named((slot, attempt): At) -> View {
    View::new(Slot::new(slot.into()), attempt.into())
}

/// A value as the beacon knows it.
#[must_use]
pub fn hash(value: u8) -> Value {
    Value::new([value; 32])
}

/// A party's name, as counterexamples print it.
#[must_use]
pub fn name(party: usize) -> char {
    ['A', 'B', 'C'].get(party).copied().unwrap_or('?')
}
