//! The committees that a campaign plays on.
//!
//! Each board is a committee whose key generation ran once, without faults, until everybody had its
//! keys and no slot had a value. Executions continue from the disks of that run, like a chain that was
//! switched off. So the keys are real, and thousands of executions share their cost.

use crate::priced::Priced;
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use prefinal_protocol::Instant;
use prefinal_sim::{Network, Note, Seat, Simulation};
use prefinal_weighted_rounding::{Ratio, Stake};

use crate::committee::{Ground, Observation, Prices, ValidatorHost};
use crate::failure::Failure;
use crate::legible::Act;
use crate::machine::RecordOf;
use crate::stakes::StakeTable;
use prefinal_validator::scheme::CommitteeKey;
use prefinal_validator::setup::{Algorithm, Plan};

/// Keys of all boards are drawn from this; what is played on them, from the execution's seed.
pub(crate) const KEYS: u64 = 1;

/// One-way delay while keys are generated.
const DELAY: Duration = Duration::from_millis(50);

/// The slot whose block names the committee of the second epoch: about where executions go on.
const NAMED: NonZeroU64 = NonZeroU64::new(12).unwrap();

/// Virtual time after which a key generation has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// Stakes that are played when no table is given, and with which algorithms: equal and unequal, with
/// parties of weight zero, with one that is almost a third.
const STAKES: [(&[u64], &[Algorithm]); 8] = [
    (&[1; 4], &[Algorithm::Fast, Algorithm::Tight]),
    (&[1; 7], &[Algorithm::Fast, Algorithm::Tight]),
    (&[1; 10], &[Algorithm::Fast]),
    (&[310, 240, 150, 110, 90, 60, 40], &[Algorithm::Fast, Algorithm::Slow]),
    (&[900, 850, 800, 700, 650, 30, 20, 10, 5, 1], &[Algorithm::Fast]),
    (&[330, 260, 210, 130, 70], &[Algorithm::Fast]),
    (&[50, 30, 20, 20, 15, 10], &[Algorithm::Fast]),
    (&[40, 30, 20, 10, 10, 10, 10, 3], &[Algorithm::Fast]),
];

/// Sizes of the committees that a table makes.
const SIZES: [usize; 4] = [4, 5, 7, 10];

/// What a board is made of.
pub(crate) struct Layout {
    pub(crate) plan: Plan,
    pub(crate) algorithm: Algorithm,
}

/// A committee with its keys.
pub(crate) struct Board<S: Priced> {
    pub(crate) algorithm: Algorithm,
    pub(crate) ground: Arc<Ground<S>>,
    /// The key that was generated.
    pub(crate) key: Arc<CommitteeKey<S>>,
    /// Of each party, oldest record first.
    pub(crate) disks: Vec<Vec<RecordOf>>,
    /// What was voted for by then.
    pub(crate) before: Vec<Note<Observation<S>>>,
}

impl Layout {
    /// Rounds these stakes.
    pub(crate) fn new(
        stakes: Vec<Stake>,
        algorithm: Algorithm,
        fast: Ratio,
    ) -> Result<Self, Failure> {
        // The slow path alone is played with the keys of both.
        let dealt = if algorithm == Algorithm::Slow { Algorithm::Fast } else { algorithm };
        let plan = Plan::new(stakes, dealt, fast).map_err(Failure::bad_input)?;
        Ok(Self { plan, algorithm })
    }

    /// What consensus counts.
    pub(crate) fn stakes(&self) -> &[Stake] {
        &self.plan.stakes
    }

    /// The boards of a campaign: built in, or of the largest holders of a table.
    pub(crate) fn all(table: Option<&StakeTable>, fast: Ratio) -> Result<Vec<Self>, Failure> {
        let Some(table) = table else {
            let stakes = |list: &[u64]| list.iter().map(|one| Stake::new((*one).into())).collect();
            let all = STAKES.iter().flat_map(|(list, algorithms)| {
                algorithms.iter().map(move |algorithm| Self::new(stakes(list), *algorithm, fast))
            });
            return all.collect();
        };
        let sizes = SIZES.iter().filter_map(|size| table.largest(*size));
        let all: Vec<Self> = sizes
            .map(|stakes| Self::new(stakes, Algorithm::Fast, fast))
            .collect::<Result<_, _>>()?;
        if all.is_empty() {
            let (name, holders) = (table.name(), table.holders());
            return Err(Failure::bad_input(format_args!(
                "{name}: a campaign needs at least 4 holders with stake, got {holders}"
            )));
        }
        Ok(all)
    }
}

impl<S: Priced> Board<S> {
    /// Generates the keys.
    pub(crate) fn new(layout: &Layout, handover: bool) -> Result<Self, Failure> {
        let later: &[Plan] = if handover { std::slice::from_ref(&layout.plan) } else { &[] };
        let ground = Ground::<S>::new(&layout.plan, KEYS)
            .and_then(|ground| ground.followed_by(later, NAMED));
        let ground = Arc::new(ground.map_err(Failure::bad_input)?);
        let host =
            ValidatorHost::<S>::new(Arc::clone(&ground), ground.setup().clone(), Prices::FREE)
                .map_err(Failure::bad_input)?;
        let seats = host.seats();
        let world = prefinal_sim::Setup::new(seats, KEYS, Network::constant(DELAY));
        let mut simulation = Simulation::new(host, world).map_err(Failure::bad_input)?;
        let mut ready = 0;
        let stop = simulation.run_watching(Instant::at(PATIENCE), |note| {
            ready += u32::from(matches!(note.event, Observation::Ready { .. }));
            let over = ready >= seats || matches!(note.event, Observation::Halted(_));
            if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        simulation.host().check_halted()?;
        if ready < seats {
            let what = format!("{ready} of {seats} parties have keys after {stop:?}");
            return Err(Failure::Disagreement(what));
        }
        let key = simulation.machine(Seat::new(0)).and_then(|machine| machine.key()).cloned();
        let key = key.ok_or_else(|| Failure::Disagreement("no key although ready".to_owned()))?;
        let disks = (0..seats).map(|seat| simulation.records(Seat::new(seat)).to_vec()).collect();
        let mut before = simulation.take_notes();
        before.retain(|note| {
            matches!(note.event, Observation::Act(_, Act::Ballot(_)) | Observation::Released(..))
        });
        Ok(Self { algorithm: layout.algorithm, ground, key, disks, before })
    }
}
