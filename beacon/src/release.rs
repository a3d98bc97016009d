//! The release contract: when a partial may leave.
//!
//! A partial released for a value that does not become final is a leak: bias for randomness, the
//! plaintext of an orphaned block, a certificate on a state that never was. Finalization counts votes
//! *per view*, not per slot, so an engine that can vote for two values of one slot in two views would
//! leak through a beacon that counts per slot. The rules, and where each is kept:
//!
//! | rule | says                                                                | where            |
//! |------|---------------------------------------------------------------------|------------------|
//! | 1    | the input is chain, epoch, slot, maybe value; never the view         | [`bound_value`]  |
//! | 2    | early only in the slot's declared view, at most once per slot        | [`early`]        |
//! | 3    | never for ancestors that are prefinalized implicitly                 | [`early`]        |
//! | 4    | never after a timeout or nullify for that view or a later one        | [`early`]        |
//! | 5    | persist, then release; after a crash the same answer                 | [`early`], `beacon` |
//! | 6    | finalize releases the slow partial, always                           | [`late`]         |
//! | 7    | an engine that cannot tell the view gets the slow path only          | [`early`]        |
//! | 8    | a skipped slot is reported, and released if inputs have no value     | [`bound_value`]  |
//! | 9    | counted once per party and path, bounded ahead, dropped when finished | `collector`     |
//!
//! Why attempt 0 alone is safe in Tendermint: f+1 honest precommits for v at round 0 lock f+1 parties
//! there; a later polka for v' ≠ v would need one of them, and it unlocks only for an earlier polka.
//! In Jolteon a party votes once per round, so a round is its own and only view.
//!
//! Everything here is a pure function of what this party has told the world ([`Standing`]). There is
//! *one* predicate for early release, never a union of two that are each safe alone.
use std::collections::BTreeMap;

use crypto_core::access::Party;

use crate::config::Binding;
use crate::slot::{Slot, Value, View};
use crate::wire::Path;

/// What this party has told the world, as far as it restricts what it may still say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    /// Early releases of slots that are not finished.
    pub(crate) released: BTreeMap<Slot, Value>,
    /// The latest view that this party gave up.
    pub(crate) abandoned: Option<View>,
}

/// What the engine claims when it prefinalizes, beside what the beacon knows of the slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// Whose value is prefinalized.
    pub(crate) slot: Slot,
    /// In which view the vote was cast.
    pub(crate) view: View,
    /// The value.
    pub(crate) value: Value,
    /// What the slot was finalized with, if it was.
    pub(crate) finality: Option<Option<Value>>,
}

/// An early release that the contract allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// Persist first.
    First,
    /// The record is durable already; the same answer again.
    Again,
}

/// Why no partial left on prefinalize. The slot takes the slow path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Withheld {
    /// Only the slow path is in use at this slot.
    #[error("no path releases on prefinalize at {slot}")]
    SlowOnly {
        /// The slot.
        slot: Slot,
    },
    /// The beacon is switched off at this slot.
    #[error("switched off at {slot}")]
    Off {
        /// The slot.
        slot: Slot,
    },
    /// The party holds no shares.
    #[error("{party} holds no shares")]
    NoShares {
        /// This party.
        party: Party,
    },
    /// Rule 9: the slot's output is out.
    #[error("{slot} is finished")]
    Finished {
        /// The slot.
        slot: Slot,
    },
    /// Rule 7: the engine cannot tell the view.
    #[error("the engine declares no view for early release")]
    NoDeclaredView,
    /// Rule 3: the vote was cast for a later slot and only implies this one.
    #[error("{slot} is prefinalized only implicitly, by a vote in {view}")]
    Implicit {
        /// The slot.
        slot: Slot,
        /// Where the vote was cast.
        view: View,
    },
    /// Rule 2: another view than the declared one.
    #[error("vote is in {view}, only attempt {declared} releases")]
    OtherView {
        /// Where the vote was cast.
        view: View,
        /// The attempt that would release.
        declared: u32,
    },
    /// Rule 4: this party gave up on the view.
    #[error("vote is in {view}, given up with {abandoned}")]
    Abandoned {
        /// Where the vote was cast.
        view: View,
        /// The latest view that was given up.
        abandoned: View,
    },
    /// Rule 2: a second value for the slot.
    #[error("{slot} was released for {released}, not for {value}")]
    OtherValue {
        /// The slot.
        slot: Slot,
        /// What it was released for.
        released: Value,
        /// What is prefinalized now.
        value: Value,
    },
    /// The slot is final without this value.
    #[error("{slot} is final without {value}")]
    NotFinal {
        /// The slot.
        slot: Slot,
        /// What is prefinalized now.
        value: Value,
    },
}

/// Whether a prefinalize may release a partial; `declared` is the attempt that the engine names.
pub(crate) fn early(
    declared: Option<u32>,
    standing: &Standing,
    claim: &Claim,
) -> Result<Release, Withheld> {
    let Claim { slot, view, value, finality } = *claim;
    // Rule 7.
    let declared = declared.ok_or(Withheld::NoDeclaredView)?;
    // Rule 3.
    if view.slot != slot {
        return Err(Withheld::Implicit { slot, view });
    }
    // Rule 2, one view.
    if view.attempt != declared {
        return Err(Withheld::OtherView { view, declared });
    }
    // Rule 4.
    if let Some(abandoned) = standing.abandoned.filter(|abandoned| *abandoned >= view) {
        return Err(Withheld::Abandoned { view, abandoned });
    }
    if finality.is_some_and(|last| last != Some(value)) {
        return Err(Withheld::NotFinal { slot, value });
    }
    match standing.released.get(&slot) {
        // Rule 5: the caller persists before it sends.
        None => Ok(Release::First),
        // Rule 5: the same answer again.
        Some(released) if *released == value => Ok(Release::Again),
        // Rule 2, once per slot.
        Some(released) => Err(Withheld::OtherValue { slot, released: *released, value }),
    }
}

/// Rule 6: which partial leaves on finalize, unless `sent` says that it left on prefinalize. Nothing
/// else is asked, neither views nor whether the output is known already.
pub(crate) fn late(path: Path, sent: bool) -> bool {
    match path {
        Path::Slow => true,
        Path::Tight => !sent,
        Path::Fast => false,
    }
}

/// What enters the function beside chain, epoch and slot: `Some(None)` if nothing does. `None` if
/// there is nothing to evaluate: rule 8 for inputs with a value, when the slot was skipped.
pub(crate) fn bound_value(binding: Binding, value: Option<Value>) -> Option<Option<Value>> {
    match binding {
        // Rules 1 and 8: a skipped slot has an input too.
        Binding::Slot => Some(None),
        // Rule 1: the value, and no view.
        Binding::Value => value.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Slot = Slot::new(7);
    const VALUE: Value = Value::new([1; 32]);
    const OTHER: Value = Value::new([2; 32]);

    fn claim(attempt: u32) -> Claim {
        Claim { slot: SLOT, view: View::new(SLOT, attempt), value: VALUE, finality: None }
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
}
