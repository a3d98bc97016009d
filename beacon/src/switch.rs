//! The kill switch: turns a beacon, or its fast path, off and on from a slot on.
//!
//! | [`Mode`] | leaves on prefinalize | leaves on finalize | partials of peers      | the slot is reported as    |
//! |----------|-----------------------|--------------------|------------------------|----------------------------|
//! | `On`     | as the paths say      | as the paths say   | counted                | revealed, or skipped       |
//! | `Late`   | nothing               | as the paths say   | counted, but not fast ones | revealed, or skipped   |
//! | `Off`    | nothing               | nothing            | dropped, none answered | [`Off`](crate::Effect::Off), in its turn |
//!
//! A switch holds for its slot and all later ones. Earlier switches for these slots are forgotten. So an
//! operator can switch off without knowing what was planned before, and no earlier plan switches on again. A
//! window is two switches, off and then on.
//!
//! The mode of a slot is fixed when the slot is final; a later switch for it is refused. All parties agree on
//! the mode of every slot if the chain names a slot that is not final at any party when the party is told. So
//! name a slot further ahead than the engine's parties are apart. A switch that only one party is told
//! affects that party only: the others continue without its partials.
//!
//! A party that was away may learn that slots are final before it learns that the chain had switched them
//! off. Nobody sends it partials for these slots, so it would wait for ever.
//! [`Input::WasOff`](crate::Input::WasOff) is for this case. It turns off some slots that are not reported
//! yet, final or not, and keeps what is planned for other slots. In the opposite case there is no such
//! input: a slot that was reported as off stays reported. So a host that replays the chain's past must
//! report each switch before it reports that the slot of the switch is final.
//!
//! A partial that left before its slot was switched off cannot be taken back. Its record stays. So if the
//! slot is switched on again, it is released for the same value or not at all. A result that was there
//! before finality stays inside the beacon. A peer may not have been told of the switch yet, so a message
//! for a slot that is off is dropped and is no fault. The record of a switch is durable before anything
//! that follows from it. The first slot of the fast path ([`Paths`](crate::Paths)) is a switch that the
//! committee agreed on in advance.
use prefinal_protocol::Slot;
use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};

/// The most switches for later slots that are kept. Nobody needs to plan that many.
const MOST: usize = 64;

/// What a beacon does at a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub enum Mode {
    /// Nothing is released, nothing counted, nothing revealed.
    Off,
    /// Partials leave on finalize only: no fast path.
    Late,
    /// All that the paths allow.
    On,
}

/// A change of the mode from a slot on.
///
/// ```
/// # use prefinal_crypto_core::access::{Access, Party, Threshold};
/// # use prefinal_crypto_core::bls::MinSig;
/// # use prefinal_crypto_core::commitment::Commitment;
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_crypto_core::curve::Scalar;
/// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// # use prefinal_crypto_core::threshold::{KeyShares, Purpose, Setup, SigningCommittee};
/// # use prefinal_beacon::*;
/// # use prefinal_weighted_rounding::Stake;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let me = Party::new(0);
/// # let (access, threshold) = (Access::new(&[1])?, Threshold::new(1, 1)?);
/// # let f = Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
/// # let (placement, purpose) = (Placement::Consecutive, Purpose::Rounds);
/// # let setup = Setup { access, threshold, placement, purpose };
/// # let committee = SigningCommittee::<MinSig>::from_commitment(setup, &Commitment::commit(&f))?;
/// # let sharing = || Sharing {
/// #     committee: committee.clone(),
/// #     secret: Some(KeyShares::new(me, f.shares(committee.points())).check(&committee).unwrap()),
/// # };
/// # let config = |epoch, first| Config::<Bls> {
/// #     context: Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(epoch) },
/// #     me,
/// #     paths: Paths::Tight(sharing()),
/// #     binding: Binding::Slot,
/// #     fast_attempt: Some(0),
/// #     finality: Finality::exact(&[Stake::new(1)], Quorum::BYZANTINE).unwrap(),
/// #     first: Slot::new(first),
/// #     life: Life::First,
/// #     limits: Limits::default(),
/// # };
/// use prefinal_beacon::{Beacon, Effect, Input, Mode, Slot, Switch};
/// use prefinal_protocol::{Instant, Machine};
///
/// let mut beacon = Beacon::new(config(1, 1), &[])?;
/// let slot = Slot::new(200); // far enough ahead that nothing of it is released yet
/// beacon.handle(Instant::START, Input::Switch(Switch { from: slot, mode: Mode::Off }));
/// for slot in (1..=200).map(Slot::new) {
///     beacon.handle(Instant::START, Input::Finalized { slot, value: None });
/// }
/// let (mut off, mut revealed) = (Vec::new(), 0);
/// while let Some(output) = beacon.poll() {
///     match output.effect() {
///         Some(Effect::Check(job)) => beacon.handle(Instant::START, Input::Checked(job.run())),
///         Some(Effect::Reveal(_)) => revealed += 1,
///         Some(Effect::Off { slot }) => off.push(slot),
///         _ => {}
///     }
/// }
/// assert_eq!((revealed, off), (199, vec![slot]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct Switch {
    /// The first slot that the new mode holds for.
    pub from: Slot,
    /// The mode from that slot on.
    pub mode: Mode,
}

/// Why a switch is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SwitchError {
    /// It starts too early: a switch cannot change final slots, and `WasOff` cannot change reported slots.
    #[error("{from} cannot be switched, the first slot that can is {first}")]
    Final {
        /// The first slot of the refused switch.
        from: Slot,
        /// The slot after the last final one, or after the last that was reported.
        first: Slot,
    },
    /// Too many switches are planned. Their number is bounded, because they are kept in memory.
    #[error("{most} switches are planned already")]
    TooMany {
        /// The largest number of planned switches.
        most: usize,
    },
}

impl SwitchError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Final { .. } => "switch-too-early",
            Self::TooMany { .. } => "count-too-large",
        }
    }
}

/// The mode of each slot.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    modes: BTreeMap<Slot, Mode>,
    switched: bool,
}

impl Schedule {
    /// The schedule that the committee agreed on: no fast path before `fast_from`.
    pub(crate) fn new(fast_from: Slot) -> Self {
        let start = Slot::new(0);
        Self {
            modes: BTreeMap::from([(start, Mode::Late), (fast_from, Mode::On)]),
            switched: false,
        }
    }

    pub(crate) fn mode(&self, slot: Slot) -> Mode {
        self.modes.range(..=slot).next_back().map_or(Mode::On, |(_, mode)| *mode)
    }

    /// Takes a switch. It must start with `first` or a later slot. `false` if it changes nothing.
    pub(crate) fn switch(&mut self, switch: Switch, first: Slot) -> Result<bool, SwitchError> {
        let Switch { from, .. } = switch;
        if from < first {
            return Err(SwitchError::Final { from, first });
        }
        let mut next = self.clone();
        next.apply(switch);
        self.become_planned(next, first)
    }

    /// Turns off the slots `from` to `last`, both included. `from` must be `first` or later. `false` if it
    /// changes nothing.
    pub(crate) fn close(
        &mut self,
        (from, last): (Slot, Slot),
        first: Slot,
    ) -> Result<bool, SwitchError> {
        if from < first {
            return Err(SwitchError::Final { from, first });
        }
        let mut next = self.clone();
        next.apply_off(from, last);
        self.become_planned(next, first)
    }

    fn become_planned(&mut self, next: Self, first: Slot) -> Result<bool, SwitchError> {
        if next.modes == self.modes {
            return Ok(false);
        }
        if next.modes.range(first..).count() > MOST {
            return Err(SwitchError::TooMany { most: MOST });
        }
        *self = next;
        Ok(true)
    }

    /// Applies a switch from a record: it was checked when it was first taken.
    pub(crate) fn apply(&mut self, Switch { from, mode }: Switch) {
        drop(self.modes.split_off(&from));
        if self.modes.is_empty() || self.mode(from) != mode {
            self.modes.insert(from, mode);
        }
        self.switched = true;
    }

    /// Applies a `WasOff` range from a record: it was checked when it was first taken.
    pub(crate) fn apply_off(&mut self, from: Slot, last: Slot) {
        if last < from {
            return;
        }
        let end = last.next();
        let after = self.mode(end);
        let mut later = self.modes.split_off(&end);
        later.entry(end).or_insert(after);
        self.apply(Switch { from, mode: Mode::Off });
        for (from, mode) in later {
            self.apply(Switch { from, mode });
        }
    }

    /// Forgets modes that no slot from this one on needs.
    pub(crate) fn forget_before(&mut self, slot: Slot) {
        if let Some((&last, _)) = self.modes.range(..=slot).next_back() {
            self.modes = self.modes.split_off(&last);
        }
    }

    /// The switches that restore this schedule, starting from the one that the committee agreed on.
    pub(crate) fn switches(&self) -> impl Iterator<Item = Switch> {
        let kept = self.modes.iter().filter(|_| self.switched);
        kept.map(|(&from, &mode)| Switch { from, mode })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Slot = Slot::new(0);

    fn at(from: u64, mode: Mode) -> Switch {
        Switch { from: Slot::new(from), mode }
    }

    fn modes(schedule: &Schedule, slots: [u64; 4]) -> [Mode; 4] {
        slots.map(|slot| schedule.mode(Slot::new(slot)))
    }

    #[test]
    fn the_last_word_holds_from_its_slot_on() {
        let mut schedule = Schedule::new(Slot::new(9));
        for switch in [at(20, Mode::Off), at(30, Mode::On)] {
            assert_eq!(schedule.switch(switch, START), Ok(true));
        }
        let slots = [8, 9, 20, 30];
        assert_eq!(modes(&schedule, slots), [Mode::Late, Mode::On, Mode::Off, Mode::On]);
        assert_eq!(schedule.switch(at(30, Mode::On), START), Ok(false));
        // A plan does not switch on what is killed.
        assert_eq!(schedule.switch(at(5, Mode::Off), START), Ok(true));
        assert_eq!(modes(&schedule, [4, 5, 9, 30]), [Mode::Late, Mode::Off, Mode::Off, Mode::Off]);
    }

    #[test]
    fn what_is_final_is_not_switched() {
        let mut schedule = Schedule::new(START);
        let (from, first) = (Slot::new(4), Slot::new(5));
        let refused = schedule.switch(at(4, Mode::Off), first);
        assert_eq!(refused, Err(SwitchError::Final { from, first }));
        assert_eq!(schedule.switch(at(5, Mode::Off), first), Ok(true));
        assert_eq!(schedule.mode(from), Mode::On);
    }

    #[test]
    fn a_window_leaves_all_else_as_it_was() {
        let mut schedule = Schedule::new(Slot::new(9));
        schedule.switch(at(30, Mode::Late), START).unwrap();
        assert_eq!(schedule.close((Slot::new(5), Slot::new(12)), START), Ok(true));
        let slots = [4, 5, 12, 13];
        assert_eq!(modes(&schedule, slots), [Mode::Late, Mode::Off, Mode::Off, Mode::On]);
        assert_eq!(
            modes(&schedule, [29, 30, 31, 99]),
            [Mode::On, Mode::Late, Mode::Late, Mode::Late]
        );
        // Again, within, and none at all.
        for (from, last) in [(5, 12), (6, 8), (20, 19)] {
            assert_eq!(schedule.close((Slot::new(from), Slot::new(last)), START), Ok(false));
        }
        let (from, first) = (Slot::new(13), Slot::new(14));
        let late = schedule.close((from, Slot::new(20)), first);
        assert_eq!(late, Err(SwitchError::Final { from, first }));
    }

    #[test]
    fn plans_are_bounded_and_shrink() {
        let mut schedule = Schedule::new(START);
        let mode = |slot: u64| if slot.is_multiple_of(2) { Mode::On } else { Mode::Off };
        let plans = (1..200).map(|slot| schedule.switch(at(slot, mode(slot)), START));
        let plans: Vec<_> = plans.collect();
        assert_eq!(plans.iter().filter(|plan| **plan == Ok(true)).count(), MOST - 1);
        assert!(plans.contains(&Err(SwitchError::TooMany { most: MOST })));
        schedule.forget_before(Slot::new(1000));
        assert_eq!(schedule.modes.len(), 1);
        assert_eq!(schedule.switch(at(1000, Mode::Late), START), Ok(true));
    }

    #[test]
    fn its_switches_restore_it() {
        for switches in [vec![], vec![at(0, Mode::On)], vec![at(3, Mode::Off), at(12, Mode::On)]] {
            let mut schedule = Schedule::new(Slot::new(9));
            for switch in switches {
                schedule.switch(switch, START).unwrap();
            }
            let mut other = Schedule::new(Slot::new(9));
            schedule.switches().for_each(|switch| other.apply(switch));
            assert_eq!(schedule.modes, other.modes);
        }
    }
}
