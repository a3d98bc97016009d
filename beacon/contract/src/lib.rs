//! The release contract: when a partial may leave.
//!
//! ```
//! use prefinal_contract::{Claim, Release, Rule, Standing, early};
//! use prefinal_protocol::{Slot, Value, View};
//!
//! let slot = Slot::new(7);
//! let vote = |attempt, value| {
//!     let view = View::new(slot, attempt);
//!     Claim { slot, view, value: Value::new([value; 32]), finality: None, finished: false }
//! };
//! let rule =
//!     |told: &Standing, claim| early(Some(0), told, &claim).unwrap_err().rule().map(Rule::number);
//!
//! let mut told = Standing::default(); // what this party has told the world
//! assert_eq!(early(Some(0), &told, &vote(0, 1)), Ok(Release::First));
//! told.released.insert(slot, Value::new([1; 32])); // durable before the partial leaves
//! assert_eq!(early(Some(0), &told, &vote(0, 1)), Ok(Release::Again));
//! assert_eq!(rule(&told, vote(0, 2)), Some(2)); // another value of the same slot
//! assert_eq!(rule(&told, vote(1, 1)), Some(2)); // another view than the declared one
//! let timed_out = Standing { abandoned: Some(View::new(slot, 0)), ..Standing::default() };
//! assert_eq!(rule(&timed_out, vote(0, 1)), Some(4));
//! ```
//!
//! A partial that is released for a value that does not become final is a leak: biased randomness, the
//! plaintext of an orphaned block, a certificate on a state that never was. Finalization counts votes
//! *per view*, not per slot. A beacon counts partials per slot. So if an engine can vote for two values of
//! one slot in two views, a beacon without rules would leak. The rules ([`Rule`]), and where each is
//! enforced:
//!
//! | rule | says                                                                | where            |
//! |------|---------------------------------------------------------------------|------------------|
//! | 1    | the input is the slot, maybe the value, and never the view           | [`bound_value`]  |
//! | 2    | early only in the slot's declared view, for one value per slot       | [`objections`]   |
//! | 3    | never for ancestors that are prefinalized implicitly                 | [`objections`]   |
//! | 4    | never after a timeout or nullify for that view or a later one        | [`objections`]   |
//! | 5    | persist, then release; after a crash the same answer, and no other until peers say how much is lost | [`early`], [`lost`], the beacon |
//! | 6    | finalize releases the slow partial, always                           | [`late`]         |
//! | 7    | an engine that cannot tell the view gets the slow path only          | [`objections`]   |
//! | 8    | a skipped slot is reported, and released if inputs have no value     | [`bound_value`]  |
//! | 9    | counted once per party and path, bounded ahead, dropped when finished | [`objections`], `collector` |
//!
//! Why attempt 0 alone is safe in Tendermint: f+1 honest precommits for v at round 0 lock f+1 parties on v.
//! A later polka for v' ≠ v would need one of them, and such a party unlocks only for an earlier polka. In
//! Jolteon a party votes once per round, so a round has only one view: the round itself.
//!
//! Everything here is a pure function of what this party has told the world ([`Standing`]). There is *one*
//! predicate for early release, never a union of two that are each safe alone: a beacon obeys every
//! objection. The objections are listed one by one. So a model checker (`testing/model`) can run this same
//! predicate without the objections of one rule, and show what the rule is for. The beacon's guide reports
//! what it found. The decision needs no curve.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod binding;
mod finality;
pub mod lost;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use core::fmt;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::{Party, Slot, Value, View};

pub use crate::binding::Binding;
pub use crate::finality::{Amount, Finality, FinalityError, Quorum, ThresholdError};
use crate::lost::LostSlots;

/// The sharing that a partial belongs to. It decides when the partial may leave.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub enum Path {
    /// Partials leave on finalize, when the value is final.
    Slow,
    /// Released on prefinalize under the fast sharing; the slow partial follows on finalize.
    Fast,
    /// Released on prefinalize, or on finalize if it has not left before. There is one sharing only.
    Tight,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slow => "slow",
            Self::Fast => "fast",
            Self::Tight => "tight",
        })
    }
}

/// The rules of the contract, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// 1: the input of the function names the slot, alone or with the value, and never the view.
    Input,
    /// 2: a partial leaves early only in the slot's one declared view, for one value.
    OneView,
    /// 3: a partial leaves early only for the slot that the vote was cast for.
    Direct,
    /// 4: nothing leaves early for a view that this party gave up, or for one before it.
    GivenUp,
    /// 5: a release is durable before it leaves, and survives a crash.
    Durable,
    /// 6: finalize releases the slow partial, always.
    Always,
    /// 7: an engine that cannot tell the view has no early release.
    NoView,
    /// 8: a skipped slot is reported, and evaluated if inputs have no value.
    Skipped,
    /// 9: partials count once per party and path, and not after the slot is finished.
    Once,
}

impl Rule {
    /// All rules, in order.
    pub const ALL: [Self; 9] = [
        Self::Input,
        Self::OneView,
        Self::Direct,
        Self::GivenUp,
        Self::Durable,
        Self::Always,
        Self::NoView,
        Self::Skipped,
        Self::Once,
    ];

    /// The number of the rule, from 1 to 9, as in the table of this crate.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Input => 1,
            Self::OneView => 2,
            Self::Direct => 3,
            Self::GivenUp => 4,
            Self::Durable => 5,
            Self::Always => 6,
            Self::NoView => 7,
            Self::Skipped => 8,
            Self::Once => 9,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}", self.number())
    }
}

/// What this party has told the world, as far as it restricts what the party may still say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The early releases of slots that are not finished. Finished slots need no memory, because rule 9
    /// objects to every release for them.
    pub released: BTreeMap<Slot, Value>,
    /// The latest view that this party gave up.
    pub abandoned: Option<View>,
    /// The slots that an earlier life may have released for without a record.
    pub lost: LostSlots,
    /// The last slot that may be released early: the window after the final slots here. Without this bound,
    /// nobody could tell later how far this party was. `None` for no bound.
    pub within: Option<Slot>,
}

/// What the engine claims when it prefinalizes, and what the beacon knows of the slot.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// The slot whose value is prefinalized.
    pub slot: Slot,
    /// The view in which the vote was cast.
    pub view: View,
    /// The value that the vote is for.
    pub value: Value,
    /// The final value of the slot, if the slot is final; `Some(None)` if it was skipped.
    pub finality: Option<Option<Value>>,
    /// Whether the slot's output has been revealed.
    pub finished: bool,
}

/// An early release that the contract allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The first release for the slot: persist the record before the partial leaves.
    First,
    /// A repeated release: the record is durable already, and the answer is the same.
    Again,
}

/// Why no partial left on prefinalize. The slot takes the slow path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Withheld {
    /// Only the slow path is in use at this slot.
    #[error("no path releases on prefinalize at {slot}")]
    SlowOnly {
        /// The slot that was prefinalized.
        slot: Slot,
    },
    /// The beacon is switched off at this slot.
    #[error("switched off at {slot}")]
    Off {
        /// The slot that was prefinalized.
        slot: Slot,
    },
    /// This party holds no shares.
    #[error("{party} holds no shares")]
    NoShares {
        /// The party that runs this beacon.
        party: Party,
    },
    /// The host has not given the content of the value.
    #[error("content of {slot} for {value} is not here")]
    NoContent {
        /// The slot of the vote.
        slot: Slot,
        /// The value that is prefinalized.
        value: Value,
    },
    /// Rule 9: the slot's output has been revealed.
    #[error("{slot} is finished")]
    Finished {
        /// The slot that was prefinalized.
        slot: Slot,
    },
    /// Rule 7: the engine cannot tell the view.
    #[error("the engine declares no view for early release")]
    NoDeclaredView,
    /// Rule 3: the vote was cast for a later slot and only implies this one.
    #[error("{slot} is prefinalized only implicitly, by a vote in {view}")]
    Implicit {
        /// The slot that the vote implies.
        slot: Slot,
        /// The view in which the vote was cast.
        view: View,
    },
    /// Rule 2: the vote was cast in another view than the declared one.
    #[error("vote is in {view}, only attempt {declared} releases")]
    OtherView {
        /// The view in which the vote was cast.
        view: View,
        /// The only attempt that releases.
        declared: u32,
    },
    /// Rule 4: this party has given up the view.
    #[error("vote is in {view}, given up with {abandoned}")]
    Abandoned {
        /// The view in which the vote was cast.
        view: View,
        /// The latest view that was given up.
        abandoned: View,
    },
    /// Rule 5: an earlier life may have released the slot for another value.
    #[error("{slot} may have been released in a life that is not on record, {}", until(*first_free))]
    Lost {
        /// The slot that was prefinalized.
        slot: Slot,
        /// The first slot that no earlier life released; `None` while too few peers have said where they are.
        first_free: Option<Slot>,
    },
    /// Rule 5: the slot is so far ahead that a later life could not know of the release.
    #[error("{slot} is ahead of {last}, the last within the window")]
    Ahead {
        /// The slot that was prefinalized.
        slot: Slot,
        /// The last slot that may leave early.
        last: Slot,
    },
    /// Rule 9: the last slot number has no slot after it, so it has no output.
    #[error("{slot} is the last number there is and has no output")]
    LastSlot {
        /// The slot that was prefinalized.
        slot: Slot,
    },
    /// Rule 2: the slot was released for another value before.
    #[error("{slot} was released for {released}, not for {value}")]
    OtherValue {
        /// The slot that was prefinalized in two values.
        slot: Slot,
        /// The value that it was released for.
        released: Value,
        /// The value that is prefinalized now.
        value: Value,
    },
    /// The slot is final with another value, or was skipped.
    #[error("{slot} is final without {value}")]
    NotFinal {
        /// The slot that was prefinalized.
        slot: Slot,
        /// The value that is prefinalized now.
        value: Value,
    },
}

impl Withheld {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::SlowOnly { .. } => "slow-only",
            Self::Off { .. } => "switched-off",
            Self::NoShares { .. } => "holds-no-shares",
            Self::NoContent { .. } => "no-content",
            Self::Finished { .. } => "slot-finished",
            Self::NoDeclaredView => "no-declared-view",
            Self::Implicit { .. } => "implicit-vote",
            Self::OtherView { .. } => "other-view",
            Self::Abandoned { .. } => "view-given-up",
            Self::Lost { .. } => "release-unknown",
            Self::Ahead { .. } => "slot-too-far",
            Self::LastSlot { .. } => "last-slot",
            Self::OtherValue { .. } => "released-otherwise",
            Self::NotFinal { .. } => "other-value",
        }
    }
}

impl Withheld {
    /// The rule that objects. `None` if no rule does: there is nothing to release, or the engine contradicts
    /// what it has finalized.
    #[must_use]
    pub const fn rule(&self) -> Option<Rule> {
        match self {
            Self::Off { .. }
            | Self::SlowOnly { .. }
            | Self::NoShares { .. }
            | Self::NoContent { .. }
            | Self::NotFinal { .. } => None,
            Self::OtherView { .. } | Self::OtherValue { .. } => Some(Rule::OneView),
            Self::Implicit { .. } => Some(Rule::Direct),
            Self::Abandoned { .. } => Some(Rule::GivenUp),
            Self::NoDeclaredView => Some(Rule::NoView),
            Self::Lost { .. } | Self::Ahead { .. } => Some(Rule::Durable),
            Self::Finished { .. } | Self::LastSlot { .. } => Some(Rule::Once),
        }
    }
}

fn until(first_free: Option<Slot>) -> String {
    let unknown = || "and too few peers have said where they are".to_owned();
    first_free.map_or_else(unknown, |first| format!("as all before {first}"))
}

/// All reasons against releasing a partial on this prefinalize. `declared` is the attempt that the engine
/// declares for early release. A beacon releases only if there are none.
pub fn objections(
    declared: Option<u32>,
    standing: &Standing,
    claim: &Claim,
) -> impl Iterator<Item = Withheld> {
    let Claim { slot, view, value, finality, finished } = *claim;
    let other_view = declared.filter(|declared| view.attempt != *declared);
    let abandoned = standing.abandoned.filter(|abandoned| *abandoned >= view);
    let on_record = standing.released.get(&slot).copied();
    let released = on_record.filter(|released| *released != value);
    let lost = on_record.is_none() && standing.lost.has(slot);
    let last = standing.within.filter(|last| on_record.is_none() && slot > *last);
    [
        (slot.next() == slot).then_some(Withheld::LastSlot { slot }),
        finished.then_some(Withheld::Finished { slot }),
        declared.is_none().then_some(Withheld::NoDeclaredView),
        (view.slot != slot).then_some(Withheld::Implicit { slot, view }),
        other_view.map(|declared| Withheld::OtherView { view, declared }),
        abandoned.map(|abandoned| Withheld::Abandoned { view, abandoned }),
        lost.then_some(Withheld::Lost { slot, first_free: standing.lost.first_free() }),
        last.map(|last| Withheld::Ahead { slot, last }),
        // The engine contradicts itself.
        finality
            .is_some_and(|last| last != Some(value))
            .then_some(Withheld::NotFinal { slot, value }),
        released.map(|released| Withheld::OtherValue { slot, released, value }),
    ]
    .into_iter()
    .flatten()
}

/// Decides whether a prefinalize may release a partial.
///
/// # Errors
/// The first of the [`objections`], if there are any.
pub fn early(
    declared: Option<u32>,
    standing: &Standing,
    claim: &Claim,
) -> Result<Release, Withheld> {
    match objections(declared, standing, claim).next() {
        Some(objection) => Err(objection),
        // Rule 5: the same answer again.
        None if standing.released.contains_key(&claim.slot) => Ok(Release::Again),
        // Rule 5: the caller persists before it sends.
        None => Ok(Release::First),
    }
}

/// Rule 6: whether the partial of this path leaves on finalize. `sent` says that it left on prefinalize. The
/// answer depends on nothing else, neither on views nor on whether the output is known already.
#[must_use]
pub fn late(path: Path, sent: bool) -> bool {
    match path {
        Path::Slow => true,
        Path::Tight => !sent,
        Path::Fast => false,
    }
}

/// The value that enters the function beside the slot; `Some(None)` if no value enters. `None` if there is
/// nothing to evaluate: by rule 8, if inputs have a value and the slot was skipped.
#[must_use]
pub fn bound_value(binding: Binding, value: Option<Value>) -> Option<Option<Value>> {
    match binding {
        // Rules 1 and 8: a skipped slot has an input too.
        Binding::Slot | Binding::Rounds { .. } => Some(None),
        // Rule 1: the value, and no view.
        Binding::Value => value.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const SLOT: Slot = Slot::new(7);
    const VALUE: Value = Value::new([1; 32]);
    const OTHER: Value = Value::new([2; 32]);

    fn claim(attempt: u32) -> Claim {
        let view = View::new(SLOT, attempt);
        Claim { slot: SLOT, view, value: VALUE, finality: None, finished: false }
    }

    fn abandoned(slot: u64, attempt: u32) -> Standing {
        let view = View::new(Slot::new(slot), attempt);
        Standing { abandoned: Some(view), ..Standing::default() }
    }

    #[test]
    fn the_declared_view_releases_and_the_next_one_does_not() {
        let fresh = Standing::default();
        assert_eq!(early(Some(0), &fresh, &claim(0)), Ok(Release::First));
        let other = Withheld::OtherView { view: View::new(SLOT, 1), declared: 0 };
        assert_eq!(early(Some(0), &fresh, &claim(1)), Err(other));
        assert_eq!(early(None, &fresh, &claim(0)), Err(Withheld::NoDeclaredView));
    }

    #[test]
    fn giving_up_blocks_the_view_and_all_before_it_but_not_the_next() {
        assert!(early(Some(0), &abandoned(7, 0), &claim(0)).is_err());
        assert!(early(Some(0), &abandoned(7, 3), &claim(0)).is_err());
        assert!(early(Some(0), &abandoned(8, 0), &claim(0)).is_err());
        assert!(early(Some(0), &abandoned(6, 9), &claim(0)).is_ok());
    }

    #[test]
    fn the_same_value_is_released_again_and_another_never() {
        let mut standing = Standing::default();
        standing.released.insert(SLOT, VALUE);
        assert_eq!(early(Some(0), &standing, &claim(0)), Ok(Release::Again));
        standing.released.insert(SLOT, OTHER);
        let other = Withheld::OtherValue { slot: SLOT, released: OTHER, value: VALUE };
        assert_eq!(early(Some(0), &standing, &claim(0)), Err(other));
    }

    #[test]
    fn a_release_before_giving_up_is_not_repeated_after_it() {
        let mut standing = abandoned(7, 0);
        standing.released.insert(SLOT, VALUE);
        assert!(early(Some(0), &standing, &claim(0)).is_err());
    }

    #[test]
    fn a_value_that_is_not_final_stays_back() {
        let not_final = Err(Withheld::NotFinal { slot: SLOT, value: VALUE });
        for last in [None, Some(OTHER)] {
            let claim = Claim { finality: Some(last), ..claim(0) };
            assert_eq!(early(Some(0), &Standing::default(), &claim), not_final);
        }
        let claim = Claim { finality: Some(Some(VALUE)), ..claim(0) };
        assert_eq!(early(Some(0), &Standing::default(), &claim), Ok(Release::First));
    }

    #[test]
    fn what_a_lost_life_may_have_released_stays_back_and_what_is_on_record_does_not() {
        let mut standing = Standing { lost: LostSlots::Unknown, ..Standing::default() };
        let withheld = |first_free| Err(Withheld::Lost { slot: SLOT, first_free });
        assert_eq!(early(Some(0), &standing, &claim(0)), withheld(None));
        standing.lost = LostSlots::Before(SLOT.next());
        assert_eq!(early(Some(0), &standing, &claim(0)), withheld(Some(SLOT.next())));
        standing.lost = LostSlots::Before(SLOT);
        assert_eq!(early(Some(0), &standing, &claim(0)), Ok(Release::First));
        standing.lost = LostSlots::Unknown;
        standing.released.insert(SLOT, VALUE);
        assert_eq!(early(Some(0), &standing, &claim(0)), Ok(Release::Again));
        standing.released.insert(SLOT, OTHER);
        let other = Withheld::OtherValue { slot: SLOT, released: OTHER, value: VALUE };
        assert_eq!(early(Some(0), &standing, &claim(0)), Err(other));
    }

    #[test]
    fn nothing_leaves_early_beyond_the_window() {
        let within = |last| Standing { within: Some(last), ..Standing::default() };
        assert_eq!(early(Some(0), &within(SLOT), &claim(0)), Ok(Release::First));
        let last = Slot::new(SLOT.get() - 1);
        let ahead = Err(Withheld::Ahead { slot: SLOT, last });
        assert_eq!(early(Some(0), &within(last), &claim(0)), ahead);
    }

    #[test]
    fn the_last_number_is_no_slot() {
        let slot = Slot::new(u64::MAX);
        let at = |slot| Claim { slot, view: View::new(slot, 0), ..claim(0) };
        let fresh = Standing::default();
        assert_eq!(early(Some(0), &fresh, &at(slot)), Err(Withheld::LastSlot { slot }));
        assert_eq!(early(Some(0), &fresh, &at(Slot::new(u64::MAX - 1))), Ok(Release::First));
    }

    #[test]
    fn a_finished_slot_needs_no_memory() {
        let claim = Claim { finished: true, ..claim(0) };
        let finished = Err(Withheld::Finished { slot: SLOT });
        assert_eq!(early(Some(0), &Standing::default(), &claim), finished);
    }

    #[test]
    fn every_objection_names_its_rule_in_order() {
        let mut standing = abandoned(9, 0);
        standing.released.insert(SLOT, OTHER);
        let view = View::new(Slot::new(8), 1);
        let claim = Claim { view, finality: Some(None), finished: true, ..claim(0) };
        let rules = |declared| {
            let rules = objections(declared, &standing, &claim).map(|objection| objection.rule());
            rules.flatten().map(Rule::number).collect::<Vec<_>>()
        };
        assert_eq!(rules(Some(0)), [9, 3, 2, 4, 2]);
        assert_eq!(rules(None), [9, 7, 3, 4, 2]);
    }

    #[test]
    fn rules_are_numbered_from_one() {
        assert!(Rule::ALL.iter().map(|rule| rule.number()).eq(1..=9));
    }
}
