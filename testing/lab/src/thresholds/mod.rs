//! Tight thresholds against ramps, as an experiment.
//!
//! With tight thresholds every value can be there when a party knows its block to be final (Theorem 5.3), with a ramp in
//! some executions only (6.4). The first part counts message delays that a party waits, by the real machines on links of
//! one delay each, where nothing else takes time. Theorem 6.1, which is about times that no party knows, is played by the
//! tests of `prefinal_beacon`:
//!
//! | execution   | what happens                                                                     |
//! |-------------|----------------------------------------------------------------------------------|
//! | synchronous | everybody prefinalizes at one time                                                |
//! | adversarial | messages of parties that are not needed for a quorum take a delay more            |
//!
//! The second part runs over the geography. The wait depends on the gap between two thirds of the
//! stake, which finalize, and the stake that the fast path needs to reconstruct. Total weight closes
//! the gap. The engine runs once, for real, and the arrival of every partial is recorded (`trace`). The
//! wait of a committee with given weights follows from that (`profile`), so a total weight of 4096
//! costs no more to examine than one of 162. Real are: engine, links, envelopes, roundings, and the
//! prices of primitives, measured here. Decoding and combining are charged at these prices. Left out is
//! the engine's computation, which delays finality and partials alike.

mod profile;
mod trace;

use crate::priced::Priced;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crate::machine::MessageOf;
use prefinal_sim::rule::{self, Letter};
use prefinal_sim::{Network, Seat};
use prefinal_validator::Message;
use prefinal_validator::setup::{Algorithm, Plan};
use prefinal_weighted_rounding::{
    Guarantee, Objective, Pair, Profile as Pairs, Ratio, Rounding, Separation, Stake, Weight,
};

pub use self::profile::Profile;
use self::profile::{Compute, Machine};
use self::trace::Trace;
use crate::committee::{Ground, Prices, Subject};
use crate::costs::Costs;
use crate::failure::Failure;
use crate::latency::Experiment;
use crate::methods;
use crate::waits::Waits;

/// Total weights that are tried above the least, each about half an octave above the one before.
const BUDGETS: [u32; 11] = [181, 219, 256, 362, 512, 724, 1024, 1448, 2048, 2896, 4096];

/// One message delay.
const DELAY: Duration = Duration::from_millis(100);
/// How many of the largest holders count message delays, and for how many slots.
const FEW: usize = 16;
const SLOTS: u64 = 10;

/// The parameters of the second part.
#[derive(Clone, Debug)]
pub struct Order {
    /// The links between the parties.
    pub network: Network,
    /// Cores of each party.
    pub cores: NonZeroU32,
    /// Seed of all randomness.
    pub seed: u64,
    /// Number of slots that get a value.
    pub slots: u64,
    /// The costs of the primitives.
    pub costs: Costs,
}

/// How long parties wait for values with one kind of thresholds, in message delays.
#[derive(Clone, Debug)]
pub struct Delays {
    /// The kind, in words.
    pub kind: &'static str,
    /// The mean if everybody prefinalizes at one time.
    pub synchronous: f64,
    /// The mean if all parties that a quorum does not need are late.
    pub adversarial: f64,
}

/// The first part: message delays, among the largest holders of the plan.
///
/// # Errors
/// If the committee cannot be made, or if parties disagree or do not finish.
pub fn delays<S: Priced, E: Subject>(
    plan: &Plan,
    fast: Ratio,
    seed: u64,
) -> Result<Vec<Delays>, Failure> {
    let few: Vec<Stake> = plan.stakes.iter().copied().take(FEW).collect();
    let ground = |algorithm| -> Result<(Arc<Ground<S>>, Vec<Seat>), Failure> {
        let plan = Plan::new(few.clone(), algorithm, fast).map_err(Failure::bad_input)?;
        let ground = Ground::new(&plan, seed).map_err(Failure::bad_input)?;
        Ok((Arc::new(ground), spare(&plan.stakes)))
    };
    let (ramp, tight) = (ground(Algorithm::Fast)?, ground(Algorithm::Tight)?);
    let kinds = [
        ("ramp, slow path alone", &ramp, Algorithm::Slow),
        ("ramp, fast and slow", &ramp, Algorithm::Fast),
        ("tight", &tight, Algorithm::Tight),
    ];
    kinds
        .into_iter()
        .map(|(kind, (ground, late), algorithm)| {
            let synchronous = wait_in_delays::<S, E>(ground, algorithm, &[])?;
            let adversarial = wait_in_delays::<S, E>(ground, algorithm, late)?;
            Ok(Delays { kind, synchronous, adversarial })
        })
        .collect()
}

/// The second part: how long parties wait for values with each profile's thresholds, over the geography.
///
/// # Errors
/// If the committee cannot be made, or if parties disagree or do not finish.
pub fn weights<S: Priced, E: Subject>(plan: &Plan, order: Order) -> Result<Vec<Row>, Failure> {
    let machine = Machine::of::<S>(order.costs, order.cores);
    let ground = Ground::<S>::new(&trace::one_each(plan)?, order.seed);
    let ground = Arc::new(ground.map_err(Failure::bad_input)?);
    ground.deal();
    let experiment = Experiment {
        ground,
        prices: Prices::FREE,
        network: order.network,
        cores: order.cores,
        seed: order.seed,
        slots: order.slots,
    };
    let trace = Trace::record::<S, E>(&experiment)?;
    let profiles = profiles(plan)?.into_iter();
    Ok(profiles.map(|profile| Row::new(profile, &trace, machine)).collect())
}

/// The parties that are not needed for a quorum, the largest first.
fn spare(stakes: &[Stake]) -> Vec<Seat> {
    let total: u128 = stakes.iter().map(|stake| stake.get()).sum();
    let mut order: Vec<(u128, Seat)> =
        (0..).map(Seat::new).zip(stakes).map(|(seat, stake)| (stake.get(), seat)).collect();
    order.sort_unstable_by(|one, other| other.cmp(one));
    let mut left = 0;
    let spare = order.into_iter().filter(|(stake, _)| {
        let fits = 3 * (left + stake) < total;
        left += if fits { *stake } else { 0 };
        fits
    });
    spare.map(|(_, seat)| seat).collect()
}

/// Mean wait in message delays: links of one delay, and nothing else takes time.
fn wait_in_delays<S: Priced, E: Subject>(
    ground: &Arc<Ground<S>>,
    algorithm: Algorithm,
    late: &[Seat],
) -> Result<f64, Failure> {
    let experiment = Experiment {
        ground: Arc::clone(ground),
        prices: Prices::FREE,
        network: Network::constant(DELAY),
        cores: std::num::NonZeroU32::MIN,
        seed: 1,
        slots: SLOTS,
    };
    let mut simulation = experiment.stage::<E>(algorithm)?;
    for seat in late {
        let rule =
            rule::delay_when(DELAY, |_, letter: &Letter<Arc<MessageOf<S, E>>>| {
                match &*letter.message {
                    Message::Engine(_, message) => E::last_vote(message).is_some(),
                    Message::Beacon(..) => true,
                    Message::Beside(_) | Message::Ask { .. } | Message::Final { .. } => false,
                }
            });
        simulation.rule(*seat, rule).map_err(Failure::bad_input)?;
    }
    let outcome = experiment.play(simulation)?;
    let mean = outcome.waits.mean().unwrap_or_default();
    Ok(mean.as_secs_f64() / DELAY.as_secs_f64())
}

/// The slow path alone, the profile that was asked for, those of the budgets, exact stake, the paper's rounding.
fn profiles(plan: &Plan) -> Result<Vec<Profile>, Failure> {
    let standard = plan.rounding.as_ref().ok_or_else(|| Failure::bad_input("no rounding"))?;
    let asked = of_rounding("asked for", standard);
    let slow =
        Profile { name: "slow path alone".to_owned(), fast: None, needs: None, ..asked.clone() };
    let mut profiles = vec![slow, asked];
    let pairs = Pairs::slow_and_fast(Ratio::ONE).map_err(Failure::bad_input)?;
    for budget in BUDGETS.into_iter().filter(|budget| *budget > standard.total().get()) {
        let objective = Objective::least_reconstruction(Weight::new(budget));
        let rounding = Rounding::solve(&plan.stakes, &pairs, objective);
        let rounding = rounding.map_err(Failure::bad_input)?;
        profiles.push(of_rounding(&format!("budget {budget}"), &rounding));
    }
    let weights: Vec<u128> = plan.stakes.iter().map(|stake| stake.get()).collect();
    let quorum =
        weights.iter().sum::<u128>() / 3 * 2 + weights.iter().sum::<u128>() % 3 * 2 / 3 + 1;
    profiles.push(Profile {
        name: "tight, in exact stake".to_owned(),
        weights,
        slow: None,
        fast: Some(quorum),
        needs: None,
        is_peer: false,
    });
    if let Some(slow) = standard.slow() {
        profiles.extend(of_paper(&plan.stakes, slow.pair())?);
    }
    Ok(profiles)
}

/// The paper's rounding: to the nearest, with a threshold for each path by one additive bound. Its guarantee is the
/// least stake from which every set reaches the threshold, exactly.
fn of_paper(stakes: &[Stake], slow: &Pair) -> Result<Option<Profile>, Failure> {
    let Some(theirs) = methods::nearest(stakes, slow, Ratio::TWO_THIRDS) else { return Ok(None) };
    let separation = Separation::new(stakes, &theirs.weights).map_err(Failure::bad_input)?;
    let total = stakes.iter().map(|stake| stake.get()).sum();
    let needs = separation.least_sufficient(theirs.fast);
    let needs = needs.map(|stake| Ratio::new(stake.get(), total)).transpose();
    Ok(Some(Profile {
        name: "round to nearest, as the paper".to_owned(),
        weights: theirs.weights.iter().map(|weight| weight.get().into()).collect(),
        slow: Some(theirs.slow.get().into()),
        fast: Some(theirs.fast.get().into()),
        needs: needs.map_err(Failure::bad_input)?,
        is_peer: true,
    }))
}

fn of_rounding(name: &str, rounding: &Rounding) -> Profile {
    let threshold = |found: &Guarantee| u128::from(found.threshold().get());
    let needs = rounding.fast().map(Guarantee::reconstruction);
    Profile {
        name: name.to_owned(),
        weights: rounding.weights().iter().map(|weight| weight.get().into()).collect(),
        slow: rounding.slow().map(threshold),
        fast: rounding.fast().map(threshold),
        needs,
        is_peer: false,
    }
}

/// The waits of one profile.
#[derive(Clone, Debug)]
pub struct Row {
    /// The weights and thresholds.
    pub profile: Profile,
    /// Waits if links take time and computing takes none.
    pub free: Waits,
    /// Waits if partials are combined after the last one has arrived. Empty for exact stake, which
    /// combines no shares.
    pub behind: Waits,
    /// Waits if partials are combined ahead, as far as they have arrived.
    pub ahead: Waits,
}

impl Row {
    fn new(profile: Profile, trace: &Trace, machine: Machine) -> Self {
        let free = profile.waits(trace, Compute::Free);
        // Exact stake is counted by the engine's own votes, and no share is combined.
        let (behind, ahead) = if profile.slow.is_some() {
            let waits = |compute| profile.waits(trace, compute);
            (waits(Compute::Behind(machine)), waits(Compute::Ahead(machine)))
        } else {
            (Waits::default(), Waits::default())
        };
        Self { profile, free, behind, ahead }
    }

    /// Whether the profile is on the curve: its threshold follows from total weight.
    #[must_use]
    pub const fn is_fast(&self) -> bool {
        self.profile.needs.is_some() && !self.profile.is_peer
    }

    /// The total weight; `None` for exact stake.
    #[must_use]
    pub fn total(&self) -> Option<u128> {
        self.profile.slow.is_some().then(|| self.profile.total())
    }
}

#[cfg(test)]
mod tests {
    use ::prefinal_beacon::Bls;
    use prefinal_jolteon::Jolteon;
    use prefinal_sim::{GLOBAL, Geography, Jitter, Placement};

    use super::*;

    const STAKES: [u128; 10] = [310, 240, 150, 110, 90, 60, 40, 30, 20, 10];

    fn experiment(plan: &Plan) -> Experiment<Bls> {
        let aws = Geography::aws().unwrap();
        let placement = Placement::dealt(&aws, 10, &GLOBAL, 5).unwrap();
        Experiment {
            ground: Arc::new(Ground::new(plan, 1).unwrap()),
            prices: Prices::FREE,
            // Without jitter a link takes the same time in both runs, whatever else is sent.
            network: Network::placed(placement, Jitter::None),
            cores: std::num::NonZeroU32::MIN,
            seed: 1,
            slots: 6,
        }
    }

    /// What follows from a trace is what the machines do: each slot, each party.
    #[test]
    fn the_profile_waits_as_the_machine_does() {
        let plan = Plan::new(STAKES.map(Stake::new).to_vec(), Algorithm::Fast, Ratio::FIVE_SIXTHS)
            .unwrap();
        let asked = of_rounding("asked for", plan.rounding.as_ref().unwrap());
        assert!(asked.weights.contains(&0), "one without shares is part of it: {asked:?}");
        let trace =
            Trace::record::<Bls, Jolteon>(&experiment(&trace::one_each(&plan).unwrap())).unwrap();
        let by_trace = asked.waits(&trace, Compute::Free);
        let real = experiment(&plan).run::<Jolteon>(Algorithm::Fast).unwrap().waits;
        assert!(by_trace.count() >= 60 && real.count() >= 60);
        assert!(real.mean().unwrap() > Duration::from_millis(1));
        for percent in [1, 10, 25, 50, 75, 90, 99] {
            let (one, other) = (by_trace.percentile(percent), real.percentile(percent));
            assert_eq!(one, other, "percentile {percent}");
        }
    }

    #[test]
    fn tight_thresholds_wait_for_nothing_and_more_weight_waits_less() {
        let plan = Plan::new(STAKES.map(Stake::new).to_vec(), Algorithm::Fast, Ratio::FIVE_SIXTHS)
            .unwrap();
        let trace =
            Trace::record::<Bls, Jolteon>(&experiment(&trace::one_each(&plan).unwrap())).unwrap();
        let rows = profiles(&plan).unwrap();
        let mean = |profile: &Profile| profile.waits(&trace, Compute::Free).mean().unwrap();
        let of = |name: &str| mean(rows.iter().find(|row| row.name == name).unwrap());
        assert_eq!(of("tight, in exact stake"), Duration::ZERO);
        assert!(of("budget 4096") <= of("asked for"));
        assert!(of("asked for") < of("slow path alone"));
    }

    #[test]
    fn runs_whose_beacons_are_refused_fail_with_the_reason() {
        let stakes = STAKES.map(Stake::new).to_vec();
        let plan = Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
        let experiment =
            experiment(&plan.clone().with_shape(prefinal_fixture::of_no_stakes(&plan.shape)));
        let run = experiment.run::<Jolteon>(Algorithm::Fast).map(drop);
        let trace = Trace::record::<Bls, Jolteon>(&experiment).map(drop);
        for ended in [run, trace] {
            let Err(Failure::BadInput(why)) = ended else { unreachable!("{ended:?}") };
            assert!(why.contains("the beacon refuses its configuration"), "{why}");
        }
    }

    #[test]
    fn with_all_that_is_not_needed_late_a_ramp_waits_and_tight_thresholds_do_not() {
        let stakes = STAKES.map(Stake::new).to_vec();
        let waits = |algorithm: Algorithm, run: Algorithm| {
            let plan = Plan::new(stakes.clone(), algorithm, Ratio::FIVE_SIXTHS).unwrap();
            let ground = Arc::new(Ground::<Bls>::new(&plan, 1).unwrap());
            let late = spare(&plan.stakes);
            [&[][..], &late[..]]
                .map(|late| wait_in_delays::<Bls, Jolteon>(&ground, run, late).unwrap())
        };
        let close = |got: [f64; 2], want: [f64; 2]| {
            let far = got.into_iter().zip(want).any(|(got, want)| (got - want).abs() > 1e-9);
            assert!(!far, "{got:?}, expected {want:?}");
        };
        close(waits(Algorithm::Fast, Algorithm::Slow), [1.0, 1.0]);
        close(waits(Algorithm::Tight, Algorithm::Tight), [0.0, 0.0]);
        let [synchronous, adversarial] = waits(Algorithm::Fast, Algorithm::Fast);
        assert!(synchronous.abs() < 1e-9 && adversarial > 0.5, "{synchronous} {adversarial}");
    }
}
