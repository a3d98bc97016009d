//! Committees that follow one another as it was decided at the start: for demonstrations and experiments,
//! where everybody's keys are drawn from one seed.
use std::num::NonZeroU64;
use std::sync::Arc;

use engine::Block;
use protocol::Slot;

use crate::setup::{Identity, Plan, PlanError, Setup, Succession};

/// The set-ups of all epochs but the first.
pub struct Rota {
    every: NonZeroU64,
    setups: Vec<Setup>,
}

impl Rota {
    /// A chain that begins with `first` and goes on with these plans, one an epoch. The next committee is
    /// named by the first block in slot `every`, twice that, and so on, or later if the committee before has
    /// just begun. Costs one verification for each party and epoch.
    ///
    /// # Errors
    /// If a plan is for other parties, or its parts do not fit together.
    pub fn chain<'a>(
        first: Setup,
        plans: &[Plan],
        identities: impl Iterator<Item = &'a Identity> + Clone,
        every: NonZeroU64,
    ) -> Result<Setup, PlanError> {
        let mut setups: Vec<Setup> = Vec::with_capacity(plans.len());
        for plan in plans {
            let before = setups.last().unwrap_or(&first);
            let epoch = before.context.epoch.next();
            let registrations: Vec<_> =
                identities.clone().map(|identity| identity.register(epoch)).collect();
            setups.push(before.next(plan, &registrations)?);
        }
        let follows = !setups.is_empty();
        let rota: Arc<dyn Succession> = Arc::new(Self { every, setups });
        Ok(Setup { succession: follows.then_some(rota), ..first })
    }
}

impl Succession for Rota {
    fn next(&self, current: &Setup, slot: Slot, _: &Block) -> Option<Arc<Setup>> {
        let number = current.context.epoch.get();
        let next = self.setups.get(usize::try_from(number).ok()?)?;
        let due = self.every.get().saturating_mul(number.saturating_add(1));
        // A run may have changed what no key depends on.
        let next = || Setup {
            context: next.context,
            members: next.members.clone(),
            keygen: Arc::clone(&next.keygen),
            ..current.clone()
        };
        (slot.get() >= due).then(|| Arc::new(next()))
    }
}
