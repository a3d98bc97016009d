//! How light clients are led from one committee to the next.
//!
//! The first executed block from the one on that completes the next committee's keys announces that committee: the
//! pipeline's host puts a [`SystemTransaction`] behind its transactions, which writes an [`EpochRow`]. Once such a state is certified, it
//! shows the next committee to everybody who knows the one before.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use prefinal_execution::{Height, Store};
use prefinal_light::{EpochEnding, EpochRow};
use prefinal_protocol::{EpochId, Slot};
use prefinal_registry::light;
use prefinal_state::{StateError, SystemTransaction};
use prefinal_validator::setup::Setup;

use super::executor::NamedExecutor;
use super::proofs::certified;
use super::store::{AttestedStates, lock};

/// The endings of all epochs that are known to be over.
#[derive(Clone, Debug, Default)]
pub struct Endings(Arc<Mutex<BTreeMap<EpochId, EpochEnding>>>);

/// A committee that follows, and is not shown to others yet.
struct Announced {
    before: Arc<Setup>,
    setup: Arc<Setup>,
    first: Slot,
}

/// Makes the endings of the epochs, from the store of one party.
pub struct Announcements {
    newest: Arc<Setup>,
    open: Vec<Announced>,
    endings: Endings,
}

/// What announces the committee of this set-up, for the executors of `prefinal_state`.
pub(super) fn announce(setup: &Setup, first: Slot) -> Vec<u8> {
    let row = EpochRow::new(setup.context.epoch, first, &light::members(setup));
    SystemTransaction::Row { key: row.key(), row: row.to_row().into() }.to_bytes()
}

impl Endings {
    /// Adds what leads from one epoch to the next.
    pub fn add(&self, ending: EpochEnding) {
        lock(&self.0).insert(ending.block.epoch, ending);
    }

    /// All of them, while `read` reads.
    pub fn read<T>(&self, read: impl FnOnce(&BTreeMap<EpochId, EpochEnding>) -> T) -> T {
        read(&lock(&self.0))
    }

    /// Those that lead from the first epoch to this one; `None` if one is missing here.
    pub(super) fn to(&self, epoch: EpochId) -> Option<Vec<EpochEnding>> {
        let endings = lock(&self.0);
        (0..epoch.get()).map(|before| endings.get(&EpochId::new(before)).cloned()).collect()
    }
}

impl Announcements {
    /// For a chain with this first committee.
    #[must_use]
    pub const fn new(first: Arc<Setup>, endings: Endings) -> Self {
        Self { newest: first, open: Vec::new(), endings }
    }

    /// The next committee is known.
    pub fn follow(&mut self, setup: Arc<Setup>, first: Slot) {
        if setup.context.epoch > self.newest.context.epoch {
            let before = std::mem::replace(&mut self.newest, Arc::clone(&setup));
            self.open.push(Announced { before, setup, first });
        }
    }

    /// Makes the endings of those committees that a certified state announces by now.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn settle<X: NamedExecutor>(
        &mut self,
        states: &AttestedStates<X>,
    ) -> Result<(), StateError> {
        let mut open = Vec::new();
        for announced in self.open.drain(..) {
            match ending(states, &announced)? {
                Some(ending) => self.endings.add(ending),
                None => open.push(announced),
            }
        }
        self.open = open;
        Ok(())
    }
}

/// The ending that the last committed block before the next epoch makes, if its state announces that.
fn ending<X: NamedExecutor>(
    states: &AttestedStates<X>,
    announced: &Announced,
) -> Result<Option<EpochEnding>, StateError> {
    let Announced { before, setup, first } = announced;
    let Some(height) = last_before(states, *first)? else { return Ok(None) };
    let Some(block) = certified(states, height)? else { return Ok(None) };
    let (old, new) = (light::members(before), light::members(setup));
    let Some(changes) = old.changes_to(&new) else { return Ok(None) };
    let row = EpochRow::new(setup.context.epoch, *first, &new);
    let shown = states.view_at(height)?.prove(&row.key())?;
    let is_announced = shown.value.as_deref() == Some(&row.to_row());
    Ok(is_announced.then_some(EpochEnding { block, first: *first, changes, proof: shown.proof }))
}

/// The last committed block in a slot before this one.
pub(super) fn last_before<X: NamedExecutor>(
    states: &AttestedStates<X>,
    slot: Slot,
) -> Result<Option<Height>, StateError> {
    let (lowest, tip) = (states.lowest().get(), states.committed()?.height.get());
    // Heights up to `low` are before it, those above `high` are not.
    let (mut low, mut high) = (lowest, tip);
    while low < high {
        let middle = high - (high - low) / 2;
        match states.block(Height::new(middle))?.header.slot < slot {
            true => low = middle,
            false => high = middle.saturating_sub(1),
        }
    }
    Ok((low > lowest).then_some(Height::new(low)))
}
