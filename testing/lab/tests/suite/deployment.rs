//! A committee whose parties restart and move, with the fast path from the middle on.

use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::time::Duration;

use prefinal_lab::Failure;
use prefinal_lab::committee::Prices;
use prefinal_lab::dealt::World;
use prefinal_lab::dealt::deployment::{Deployment, MINUTE, Report, Schedule};
use prefinal_protocol::Instant;
use prefinal_registry::{Jolteon, Wvuf};
use prefinal_sim::{Jitter, Network};
use prefinal_validator::setup::{Algorithm, Plan};
use prefinal_weighted_rounding::{Ratio, Stake};

fn run(seed: u64) -> Report {
    watched(seed, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn watched(
    seed: u64,
    watch: &mut dyn FnMut(Instant) -> ControlFlow<()>,
) -> Result<Report, Failure> {
    let (length, period) = (MINUTE * 24, Duration::from_secs(5));
    scheduled(Schedule { length, period, restarts: 6, moves: 2 }, seed, watch)
}

fn scheduled(
    schedule: Schedule,
    seed: u64,
    watch: &mut dyn FnMut(Instant) -> ControlFlow<()>,
) -> Result<Report, Failure> {
    let stakes = [310_u64, 240, 150, 110, 90, 60, 40].map(|stake| Stake::new(stake.into()));
    let plan = Plan::new(stakes.to_vec(), Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
    let placement = prefinal_lab::place(&["all".to_owned()], 7, 3).unwrap().unwrap();
    let network = Network::placed(placement.clone(), Jitter::Percent(5));
    let cores = NonZeroU32::new(2).unwrap();
    let world = World { prices: Prices::FREE, network, cores, seed, slots: 0 };
    let (plan, world, schedule) = (&plan, &world, &schedule);
    let run = Deployment { plan, keys: 1, world, schedule, placement: Some(&placement) };
    run.run::<Wvuf, Jolteon>(watch)
}

#[test]
fn a_caller_looks_at_every_minute_and_may_end_the_run() {
    let mut looks = Vec::new();
    let ended = watched(4, &mut |at| {
        looks.push(at.since_start());
        if looks.len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert!(ended.is_err_and(|failure| failure.to_string().contains("ended")));
    assert_eq!(looks, [MINUTE, MINUTE * 2, MINUTE * 3]);
}

/// Others keep 256 slots: at one a second, a party that is down for longer would never have their values.
#[test]
fn with_a_slot_every_second_all_that_were_down_catch_up() {
    let (length, period) = (MINUTE * 40, Duration::from_secs(1));
    let schedule = Schedule { length, period, restarts: 20, moves: 2 };
    let report = scheduled(schedule, 4, &mut |_| ControlFlow::Continue(())).unwrap();
    let longest = report.pauses.iter().map(|pause| pause.until.since(pause.from)).max().unwrap();
    assert!(
        longest > Duration::from_secs(180) && longest <= Duration::from_secs(192),
        "{longest:?}"
    );
    let slots: u64 = report.minutes.iter().map(|minute| minute.slots).sum();
    assert!((2300..=2400).contains(&slots), "{slots}");
}

#[test]
fn the_fast_path_begins_in_the_middle_and_is_out_of_reach_in_an_outage() {
    let report = run(4);
    let [slow, both] = &report.phases;
    let [slow_out, both_out] = &report.outages;
    assert_eq!((slow.by_fast_path, slow_out.by_fast_path), (0, 0));
    // 144 slots in each half, of seven parties, without what parties missed.
    for phase in [slow, both] {
        assert!((800..=1008).contains(&phase.waits.count()), "{}", phase.waits.count());
    }
    assert!(slow_out.waits.count() > 40 && both_out.waits.count() > 40);
    let rest = both.waits.count() - both_out.waits.count();
    let by_fast = both.by_fast_path - both_out.by_fast_path;
    assert!(by_fast * 10 > rest * 7, "{by_fast} of {rest}");
    // What was on its way when the outage began.
    assert!(both_out.by_fast_path < 8, "{}", both_out.by_fast_path);
    let means = [slow, both, both_out].map(|phase| phase.waits.mean().unwrap());
    assert!(means[1] * 3 < means[0] * 2, "{means:?}");
    assert!(means[2] > means[1], "{means:?}");
    let middle = report.switched.since_start();
    assert!(middle > MINUTE * 12 && middle < MINUTE * 13, "{middle:?}");
    assert_eq!(report.fast_from.get(), 145);
}

#[test]
fn those_that_were_down_learn_what_they_missed() {
    let report = run(4);
    assert_eq!((report.minutes.len(), report.moves.len()), (24, 2));
    assert!(report.pauses.len() >= 8);
    let caught_up: usize = report.minutes.iter().map(|minute| minute.caught_up).sum();
    assert!(caught_up > 100, "{caught_up}");
    let slots: u64 = report.minutes.iter().map(|minute| minute.slots).sum();
    assert!((280..=288).contains(&slots), "{slots}");
    // All of them were judged: none could be computed before it was final.
    assert!(report.global.len() >= 280);
    let down = report.down(6);
    assert!(!down.is_empty(), "the outage of the first half");
    assert_eq!((0..24).map(|minute| report.moved(minute).count()).sum::<usize>(), 2);
    assert_eq!(run(4).events, report.events);
    assert_ne!(run(5).events, report.events);
}
