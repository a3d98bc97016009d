//! A sequence of committees that is fixed at the start: a genesis names the stakes of several epochs, and the
//! keys that the parties registered for them. It is for experiments and demonstrations, where all parties are
//! known from the start. A running chain decides on its committees by transactions ([`crate::change`]).
use std::iter;
use std::num::NonZeroU64;
use std::sync::Arc;

use prefinal_engine::Block;
use prefinal_protocol::Slot;

use prefinal_pvss_dkg::KeyRegistration;

use crate::setup::{Decision, Identity, Plan, PlanError, Setup, Succession};

/// The set-ups of all epochs except the first.
pub struct FixedCommittees {
    every: NonZeroU64,
    setups: Vec<Setup>,
}

impl FixedCommittees {
    /// The set-up of a chain that begins with `first` and continues with these plans, one for each
    /// epoch. The first final block in slot `every` or later names the next committee, the first in twice
    /// that slot or later the one after, and so on. A committee that has just begun may be replaced later than that. Costs
    /// one verification for each party and epoch.
    ///
    /// # Errors
    /// The same as [`Setup::next`], of which each epoch's plan and registrations are the arguments.
    pub fn of(
        first: Setup,
        later: impl IntoIterator<Item = (Plan, Vec<KeyRegistration>)>,
        every: NonZeroU64,
    ) -> Result<Setup, PlanError> {
        let mut setups: Vec<Setup> = Vec::new();
        for (plan, registrations) in later {
            setups.push(setups.last().unwrap_or(&first).next(&plan, &registrations)?);
        }
        let follows = !setups.is_empty();
        let succession: Arc<dyn Succession> = Arc::new(Self { every, setups });
        Ok(Setup { succession: follows.then_some(succession), ..first })
    }

    /// The same for demonstrations and experiments, which have everybody's secrets.
    ///
    /// # Errors
    /// If a plan is for another number of parties, or its parts do not fit together.
    pub fn chain<'a>(
        first: Setup,
        plans: &[Plan],
        identities: impl Iterator<Item = &'a Identity> + Clone,
        every: NonZeroU64,
    ) -> Result<Setup, PlanError> {
        let epochs = iter::successors(Some(first.context.epoch.next()), |epoch| Some(epoch.next()));
        let later = plans.iter().zip(epochs).map(|(plan, epoch)| {
            (plan.clone(), identities.clone().map(|identity| identity.register(epoch)).collect())
        });
        Self::of(first, later, every)
    }
}

impl Succession for FixedCommittees {
    fn next(&self, current: &Setup, slot: Slot, _: &Block) -> Decision {
        Decision { next: self.following(current, slot), refused: Vec::new() }
    }
}

impl FixedCommittees {
    fn following(&self, current: &Setup, slot: Slot) -> Option<Arc<Setup>> {
        let number = current.context.epoch.get();
        let next = self.setups.get(usize::try_from(number).ok()?)?;
        let due = self.every.get().saturating_mul(number.saturating_add(1));
        // A run may have changed fields that no key depends on.
        let next = || Setup {
            context: next.context,
            members: next.members.clone(),
            keygen: Arc::clone(&next.keygen),
            ..current.clone()
        };
        (slot.get() >= due).then(|| Arc::new(next()))
    }
}
