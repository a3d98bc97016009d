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

use super::corrupt::{Members, members};
use super::draw::Stakes;
use crate::committee::{Ground, Observation, Prices, Subject, ValidatorHost};
use crate::failure::Failure;
use crate::legible::Act;
use crate::machine::RecordOf;
use crate::stakes::StakeTable;
use prefinal_jolteon::Jolteon;
use prefinal_validator::scheme::CommitteeKey;
use prefinal_validator::setup::{Algorithm, Plan, Setup};

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
    /// The committee of the second epoch.
    later: Option<Plan>,
    pub(crate) algorithm: Algorithm,
}

/// A committee with its keys.
pub(crate) struct Board<S: Priced, E: Subject = Jolteon> {
    pub(crate) algorithm: Algorithm,
    pub(crate) ground: Arc<Ground<S>>,
    /// The key that was generated.
    pub(crate) key: Arc<CommitteeKey<S>>,
    /// Of each party, oldest record first.
    pub(crate) disks: Vec<Vec<RecordOf<E>>>,
    /// The committee of each epoch.
    pub(super) committees: Vec<Members>,
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
        Ok(Self { plan, later: None, algorithm })
    }

    /// The same committee, and then another one: its last party leaves, and one that has waited joins in its
    /// place.
    pub(crate) fn changing(
        stakes: Vec<Stake>,
        algorithm: Algorithm,
        fast: Ratio,
    ) -> Result<Self, Failure> {
        let last = stakes.last().copied().unwrap_or(Stake::ZERO);
        let stay = stakes.iter().take(stakes.len().saturating_sub(1)).copied();
        let later = stay.chain([Stake::ZERO, last]).collect();
        let later = Self::new(later, algorithm, fast)?.plan;
        let founders = stakes.into_iter().chain([Stake::ZERO]).collect();
        Ok(Self { later: Some(later), ..Self::new(founders, algorithm, fast)? })
    }

    /// Whether a second committee follows.
    pub(super) const fn changes(&self) -> bool {
        self.later.is_some()
    }

    /// What consensus counts, in whatever epoch.
    pub(super) fn stakes(&self) -> Stakes {
        let first = Stakes::from(&*self.plan.stakes);
        let Some(later) = &self.later else { return first };
        let later = Stakes::from(&*later.stakes);
        let most = first.most.iter().zip(&later.most).map(|(one, other)| *one.max(other));
        Stakes { most: most.collect(), total: first.total.min(later.total) }
    }

    /// The boards of a campaign: built in, or of the largest holders of a table. `handover` says whether
    /// committees change.
    pub(crate) fn all(
        table: Option<&StakeTable>,
        fast: Ratio,
        handover: bool,
    ) -> Result<Vec<Self>, Failure> {
        let make = if handover { Self::changing } else { Self::new };
        let Some(table) = table else {
            let stakes = |list: &[u64]| list.iter().map(|one| Stake::new((*one).into())).collect();
            let all = STAKES.iter().flat_map(|(list, algorithms)| {
                algorithms.iter().map(move |algorithm| make(stakes(list), *algorithm, fast))
            });
            return all.collect();
        };
        let sizes = SIZES.iter().filter_map(|size| table.largest(*size));
        let all: Vec<Self> =
            sizes.map(|stakes| make(stakes, Algorithm::Fast, fast)).collect::<Result<_, _>>()?;
        if all.is_empty() {
            let (name, holders) = (table.name(), table.holders());
            return Err(Failure::bad_input(format_args!(
                "{name}: a campaign needs at least 4 holders with stake, got {holders}"
            )));
        }
        Ok(all)
    }
}

impl<S: Priced, E: Subject> Board<S, E> {
    /// Generates the keys.
    pub(crate) fn new(layout: &Layout) -> Result<Self, Failure> {
        let later: &[Plan] = layout.later.as_slice();
        let ground = Ground::<S>::new(&layout.plan, KEYS)
            .and_then(|ground| ground.followed_by(later, NAMED));
        let ground = Arc::new(ground.map_err(Failure::bad_input)?);
        let host =
            ValidatorHost::<S, E>::new(Arc::clone(&ground), ground.setup().clone(), Prices::FREE)
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
        let committees = committees(ground.setup(), later);
        Ok(Self { algorithm: layout.algorithm, ground, key, disks, committees, before })
    }
}

/// The committee of a set-up, and those of later plans.
fn committees(setup: &Setup, later: &[Plan]) -> Vec<Members> {
    let (mut context, first) = members(setup);
    let mut all = vec![(context, first.clone())];
    for plan in later {
        context.epoch = context.epoch.next();
        let members = first
            .iter()
            .zip(&plan.stakes)
            .map(|(member, stake)| prefinal_engine::Member { stake: *stake, ..member.clone() });
        all.push((context, members.collect()));
    }
    all
}
