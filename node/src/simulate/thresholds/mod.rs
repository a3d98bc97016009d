//! `prefinal simulate --thresholds`: Theorem 6.1 as an experiment.
//!
//! The theorem: with ramp thresholds no protocol has every value the moment its block is final, in
//! every execution; with tight thresholds (Algorithm 2) there is one. First, in message delays, on
//! links of one delay each and with nothing else taking time, by the real machines:
//!
//! | execution   | what                                                                             |
//! |-------------|----------------------------------------------------------------------------------|
//! | synchronous | everybody prefinalizes at one time                                                |
//! | adversarial | as in the theorem's proof: who is not needed for a quorum prefinalizes late        |
//!
//! Then over the geography: what decides the wait is the gap between two thirds of the stake, which
//! finalize, and the stake that the fast path needs to reconstruct; total weight closes it. The engine
//! runs once, for real, and it is recorded when which partial was where (`trace`); how long a committee
//! with given weights waits follows from that (`profile`), so that a total weight of 4096 costs no more
//! to look at than one of 162. What is real: engine, links, envelopes, roundings, and the prices of
//! primitives, measured here. What is charged: decoding and combining, after these prices. What is left
//! out: what the engine computes, which delays finality and partials alike.

mod profile;
mod trace;

use std::path::Path as File;
use std::sync::Arc;
use std::time::Duration;

use plotters::chart::SeriesLabelPosition;
use sim::rule::{self, Letter};
use sim::{Network, Seat};
use weighted_rounding::{Guarantee, Objective, Profile as Pairs, Ratio, Rounding, Stake, Weight};

use self::profile::{Compute, Machine, Profile};
use self::trace::Trace;
use super::committee::{Ground, Prices};
use super::latency::Experiment;
use super::{Options, costs};
use crate::chart::{Axis, Chart, Line, Scale};
use crate::failure::Failure;
use crate::output::Sink;
use crate::scheme::Keyed;
use crate::setup::{Algorithm, Plan};
use crate::table;
use crate::validator::Message;
use crate::waits::{self, Waits, milliseconds};

/// Total weights that are tried above the least, each about half an octave above the one before.
const BUDGETS: [u32; 11] = [181, 219, 256, 362, 512, 724, 1024, 1448, 2048, 2896, 4096];

/// One message delay.
const DELAY: Duration = Duration::from_millis(100);
/// How many of the largest holders count message delays, and for how many slots.
const FEW: usize = 16;
const SLOTS: u64 = 10;

/// Runs both parts.
pub(super) fn run<S: Keyed>(options: &Options) -> Result<(), Failure> {
    let (plan, placement) = options.committee.gather(options.parties(), Algorithm::Fast)?;
    let machine = Machine { costs: costs(options)?, cores: options.cores, scheme: S::NAME };
    delays::<S>(&plan, options)?;
    let ground = Ground::<S>::new(&trace::one_each(&plan)?, options.committee.seed);
    let ground = Arc::new(ground.map_err(Failure::bad_input)?);
    ground.deal();
    let experiment = Experiment {
        ground,
        prices: Prices::FREE,
        network: options.network(placement),
        cores: options.cores,
        seed: options.committee.seed,
        slots: options.slots,
    };
    let trace = Trace::record(&experiment)?;
    let rows: Vec<Row> =
        profiles(&plan)?.into_iter().map(|profile| Row::new(profile, &trace, machine)).collect();
    show(&rows);
    write(&options.out, &rows)
}

// Message delays.

/// Who is not needed for a quorum, the largest first.
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
fn wait_in_delays<S: Keyed>(
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
    let mut simulation = experiment.stage(algorithm)?;
    for seat in late {
        let rule = rule::delay_when(DELAY, |_, letter: &Letter<Arc<Message<S>>>| {
            let vote = matches!(*letter.message, Message::Engine(jolteon::Message::OrderVote(_)));
            vote || matches!(*letter.message, Message::Beacon(_))
        });
        simulation.rule(*seat, rule).map_err(Failure::bad_input)?;
    }
    let outcome = experiment.play(simulation)?;
    let mean = outcome.waits.mean().unwrap_or_default();
    Ok(mean.as_secs_f64() / DELAY.as_secs_f64())
}

fn delays<S: Keyed>(plan: &Plan, options: &Options) -> Result<(), Failure> {
    let few: Vec<Stake> = plan.stakes.iter().copied().take(FEW).collect();
    let fast = options.committee.fast;
    let ground = |algorithm| -> Result<(Arc<Ground<S>>, Vec<Seat>), Failure> {
        let plan = Plan::new(few.clone(), algorithm, fast).map_err(Failure::bad_input)?;
        let ground = Ground::new(&plan, options.committee.seed).map_err(Failure::bad_input)?;
        Ok((Arc::new(ground), spare(&plan.stakes)))
    };
    let (ramp, tight) = (ground(Algorithm::Fast)?, ground(Algorithm::Tight)?);
    let kinds = [
        ("ramp, slow path alone", &ramp, Algorithm::Slow),
        ("ramp, fast and slow", &ramp, Algorithm::Fast),
        ("tight", &tight, Algorithm::Tight),
    ];
    let mut rows = Vec::new();
    for (name, (ground, late), algorithm) in kinds {
        let synchronous = wait_in_delays(ground, algorithm, &[])?;
        let adversarial = wait_in_delays(ground, algorithm, late)?;
        let cells = [synchronous, adversarial].map(|delays| format!("{delays:.2}"));
        rows.push([&[name.to_owned()], &cells[..]].concat());
    }
    let header = ["message delays from finality to value", "synchronous", "adversarial"];
    say!("{}", table::table(&header, rows.clone()));
    let header = ["kind", "synchronous", "adversarial"].map(str::to_owned);
    let file = options.out.join("delays.csv");
    records(&file, std::iter::once(header.to_vec()).chain(rows))
}

/// Writes a table with its header; the folder is made if it is not there.
fn records(file: &File, records: impl Iterator<Item = Vec<String>>) -> Result<(), Failure> {
    let at = |error: &dyn std::fmt::Display| {
        Failure::bad_input(format_args!("{}: {error}", file.display()))
    };
    std::fs::create_dir_all(file.parent().unwrap_or(File::new("."))).map_err(|error| at(&error))?;
    let mut writer = csv::Writer::from_path(file).map_err(|error| at(&error))?;
    for record in records {
        writer.write_record(&record).map_err(|error| at(&error))?;
    }
    writer.flush().map_err(|error| at(&error))
}

// Total weights.

/// The slow path alone, the profile that was asked for, those of the budgets, exact stake.
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
    });
    Ok(profiles)
}

fn of_rounding(name: &str, rounding: &Rounding) -> Profile {
    let threshold = |found: &Guarantee| u128::from(found.threshold().get());
    let needs = rounding.fast().map(Guarantee::reconstruction);
    Profile {
        name: name.to_owned(),
        weights: rounding.weights().iter().map(|weight| weight.get().into()).collect(),
        slow: rounding.slow().map(threshold),
        fast: rounding.fast().map(threshold),
        needs: needs.map(|needs| crate::round::parts_of(needs, 10_000)),
    }
}

/// One profile's waits.
struct Row {
    profile: Profile,
    free: Waits,
    behind: Waits,
    ahead: Waits,
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

    /// On the curve: reached by total weight.
    fn is_fast(&self) -> bool {
        self.profile.needs.is_some()
    }

    fn total(&self) -> String {
        if self.profile.slow.is_some() { self.profile.total().to_string() } else { "-".to_owned() }
    }

    /// Name, total weight, and the stake that the fast path needs.
    fn head(&self) -> [String; 3] {
        let needs = self
            .profile
            .needs
            .map_or("-".to_owned(), |parts| format!("{}.{:02}", parts / 100, parts % 100));
        [self.profile.name.clone(), self.total(), needs]
    }

    fn cells(&self) -> Vec<String> {
        let mut cells = self.head().to_vec();
        for waits in [&self.free, &self.behind, &self.ahead] {
            cells.extend(waits.cells());
        }
        cells
    }
}

/// Some of a row's waits.
type Of = fn(&Row) -> &Waits;

fn show(rows: &[Row]) {
    let kinds: [(&str, Of); 3] = [
        ("wait, ms: links alone", |row| &row.free),
        ("wait, ms: combining behind", |row| &row.behind),
        ("wait, ms: combining ahead", |row| &row.ahead),
    ];
    for (kind, waits) in kinds {
        let header = [kind, "weight", "needs, %", "mean", "p50", "p90", "p99"];
        let timed = rows.iter().filter(|row| waits(row).count() > 0);
        let cells = timed.map(|row| [&row.head()[..], &waits(row).cells()].concat());
        say!("{}", table::table(&header, cells));
    }
    say!(
        "means of links alone, of combining behind the last partial, and of combining ahead, as far as \
         partials are there"
    );
    let least = |waits: Of| {
        let fast = rows.iter().filter(|row| row.is_fast());
        fast.filter_map(|row| Some((waits(row).mean()?, row))).min_by_key(|(mean, _)| *mean)
    };
    for (how, best) in [("behind", least(|row| &row.behind)), ("ahead", least(|row| &row.ahead))] {
        if let Some((mean, row)) = best {
            let (name, mean) = (&row.profile.name, milliseconds(mean));
            say!("best {how}: {name}, total weight {}, mean {mean} ms", row.total());
        }
    }
}

fn write(folder: &File, rows: &[Row]) -> Result<(), Failure> {
    let (csv, svg, waits) = (
        folder.join("thresholds.csv"),
        folder.join("thresholds.svg"),
        folder.join("thresholds-waits.svg"),
    );
    let header = ["profile", "weight", "needs_percent"].map(str::to_owned).into_iter();
    let kinds = ["links", "behind", "ahead"]
        .into_iter()
        .flat_map(|kind| ["mean", "p50", "p90", "p99"].map(|what| format!("{kind}_{what}_ms")));
    let header: Vec<String> = header.chain(kinds).collect();
    records(&csv, std::iter::once(header).chain(rows.iter().map(Row::cells)))?;
    draw(&svg, rows)?;
    let shown = rows.iter().filter(|row| {
        let name = row.profile.name.as_str();
        !row.is_fast() || ["asked for", "budget 512", "budget 1448", "budget 4096"].contains(&name)
    });
    let shown: Vec<(&str, &Waits)> =
        shown.map(|row| (row.profile.name.as_str(), &row.free)).collect();
    waits::plot(&waits, "Wait between finality and value, links alone", &shown)?;
    let delays = folder.join("delays.csv");
    say!(
        "written: {}, {}, {}, {}",
        delays.display(),
        csv.display(),
        svg.display(),
        waits.display()
    );
    Ok(())
}

/// Mean wait against total weight.
fn draw(path: &File, rows: &[Row]) -> Result<(), Failure> {
    let fast = || rows.iter().filter(|row| row.is_fast());
    let weight = |row: &Row| f64::from(u32::try_from(row.profile.total()).unwrap_or(u32::MAX));
    let line = |name: &str, waits: Of| {
        let points =
            fast().filter_map(|row| Some((weight(row), waits(row).mean()?.as_secs_f64() * 1e3)));
        Line { name: name.to_owned(), points: points.collect() }
    };
    let lines = vec![
        line("links alone", |row| &row.free),
        line("combining behind the last partial", |row| &row.behind),
        line("combining ahead", |row| &row.ahead),
    ];
    let points = || lines.iter().flat_map(|line| &line.points);
    let left = points().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
    let right = points().map(|(x, _)| *x).fold(left + 1.0, f64::max);
    let top = points().map(|(_, y)| *y).fold(1.0, f64::max).ceil();
    let chart = Chart {
        title: "What total weight buys: the fast path's wait",
        across: Axis { label: "total weight", range: left..right },
        scale: Scale::Doubling,
        up: Axis { label: "mean wait after finality, ms", range: 0.0..top },
        legend: SeriesLabelPosition::UpperRight,
        lines,
    };
    chart.draw(Sink::open(path)?)
}

#[cfg(test)]
mod tests {
    use ::beacon::Bls;
    use sim::{GLOBAL, Geography, Jitter, Placement};

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
        let trace = Trace::record(&experiment(&trace::one_each(&plan).unwrap())).unwrap();
        let by_trace = asked.waits(&trace, Compute::Free);
        let real = experiment(&plan).run(Algorithm::Fast).unwrap().waits;
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
        let trace = Trace::record(&experiment(&trace::one_each(&plan).unwrap())).unwrap();
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
        let experiment = experiment(&plan.counting_one_each());
        let run = experiment.run(Algorithm::Fast).map(drop);
        let trace = Trace::record(&experiment).map(drop);
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
            [&[][..], &late[..]].map(|late| wait_in_delays(&ground, run, late).unwrap())
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
