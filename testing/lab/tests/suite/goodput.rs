//! Replicas under an open load, where there are closed forms: what interfaces carry, one stage alone, full cores.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use prefinal_lab::load::goodput::{Crash, Goodput, GoodputPoint, Machines, Orderer};
use prefinal_sim::{Network, Rate, Seat};

use crate::load::free;

const PIPELINE: Orderer = Orderer::Dispel { max_stages: 8 };
const ONE_STAGE: Orderer = Orderer::Dispel { max_stages: 1 };

/// Interfaces on which a batch of 512 KiB leaves for each of three others in 157 ms, and links of 10 ms.
fn goodput(replicas: u32, orderer: Orderer) -> Goodput {
    let rate = Rate::bytes_per_second(NonZeroU64::new(10_000_000).unwrap());
    Goodput {
        replicas: NonZeroU32::new(replicas).unwrap(),
        machines: Machines {
            network: Network::constant(Duration::from_millis(10)),
            interface: rate,
            connection: None,
            cores: NonZeroU32::new(4).unwrap(),
            memory: 1 << 30,
            costs: free(),
        },
        orderer,
        transaction: 1024,
        batch: 512 << 10,
        bundle: 32,
        signed: false,
        gather: Duration::from_millis(1),
        timeout: Duration::from_secs(1),
        seed: 3,
        warm_up: Duration::from_secs(1),
        counted: Duration::from_secs(2),
        crashes: Vec::new(),
    }
}

fn at(percent: u64, goodput: &Goodput) -> GoodputPoint {
    goodput.run(goodput.capacity() * percent / 100).unwrap()
}

#[test]
fn the_pipeline_fills_interfaces_and_a_stage_alone_does_not() {
    let (pipeline, alone) = (goodput(4, PIPELINE), goodput(4, ONE_STAGE));
    assert_eq!(pipeline.capacity(), 10_000_000 / 3 * 4);
    let (full, half) = (at(120, &pipeline), at(120, &alone));
    assert!(full.goodput * 10 >= pipeline.capacity() * 9, "{}", full.goodput);
    // Blocks are counted as a whole.
    assert!(full.goodput * 20 <= pipeline.capacity() * 21 && full.sent <= 100, "{}", full.goodput);
    assert!(half.goodput * 100 <= full.goodput * 85, "{} and {}", half.goodput, full.goodput);
}

/// 10 ms for a batch, echo, ready, estimate and auxiliary each, and what was waited for a look at the interface.
#[test]
fn at_low_load_the_pipeline_is_as_fast_as_a_stage_alone() {
    let median = |orderer, percent| at(percent, &goodput(4, orderer)).waits.percentile(50).unwrap();
    let (alone, pipeline) = (median(ONE_STAGE, 1), median(PIPELINE, 10));
    assert!((50..70).contains(&alone.as_millis()), "{alone:?}");
    assert!(pipeline * 10 <= alone * 12, "{pipeline:?} against {alone:?}");
}

#[test]
fn a_leader_that_sends_all_payloads_is_as_fast_as_its_interface() {
    for replicas in [4, 7] {
        let leader = goodput(replicas, Orderer::Jolteon);
        assert_eq!(leader.capacity(), 10_000_000 / (u64::from(replicas) - 1));
        let point = at(120, &leader);
        let part = point.goodput * 100 / leader.capacity();
        assert!((60..=100).contains(&part), "{replicas} replicas: {part} %");
    }
}

/// What is delivered in the second half of the time before and after a crash.
#[test]
fn who_is_down_costs_its_own_batches_alone() {
    let delivered = |orderer| {
        let mut goodput = goodput(7, orderer);
        goodput.counted = Duration::from_secs(9);
        goodput.crashes = vec![Crash { seat: Seat::new(6), at: Duration::from_secs(5) }];
        let tenths = at(90, &goodput).tenths;
        let sum = |from: usize| tenths.iter().skip(from).take(30).sum::<u64>();
        (sum(20), sum(60))
    };
    let (before, after) = delivered(PIPELINE);
    assert!(after * 100 >= before * 80, "a seventh sends nothing: {before} and {after}");
    let (before, after) = delivered(Orderer::Jolteon);
    assert!(
        after * 10 <= before * 8,
        "each seventh round waits for a leader: {before} and {after}"
    );
}

/// Queues of eight stages are longer than the time-out, so that everybody asks for what is on its way.
#[test]
fn queues_longer_than_the_time_out_do_not_end_in_standstill() {
    let mut overload = goodput(7, PIPELINE);
    overload.machines.connection =
        Some(Rate::bytes_per_second(NonZeroU64::new(3_000_000).unwrap()));
    overload.timeout = Duration::from_millis(300);
    overload.counted = Duration::from_secs(20);
    let point = at(120, &overload);
    let sum = |from: usize| point.tenths.iter().skip(from).take(50).sum::<u64>();
    let (first, last) = (sum(10), sum(160));
    assert!(last * 10 >= first * 9, "{last} after {first}");
}

/// Two workers that check a signature in a millisecond: 2000 a second, however many replicas there are.
#[test]
fn where_signatures_bind_replicas_do_not() {
    for replicas in [4, 7] {
        let mut goodput = goodput(replicas, PIPELINE);
        goodput.machines.costs.ed25519_verify = 1_000_000;
        goodput.machines.memory = 4 << 20;
        (goodput.signed, goodput.batch) = (true, 128 << 10);
        let point = goodput.run(2 * 2000 * 1024).unwrap();
        let part = point.goodput * 100 / (2000 * 1024);
        assert!((90..=110).contains(&part), "{replicas} replicas: {part} %");
        assert!((40..=52).contains(&point.busy), "two of four cores: {}", point.busy);
    }
}

#[test]
fn the_same_seed_gives_the_same_goodput() {
    let short = Goodput { counted: Duration::from_secs(1), ..goodput(4, PIPELINE) };
    let run = || at(50, &short);
    let (one, other) = (run(), run());
    assert_eq!((one.waits.cells(), one.tenths), (other.waits.cells(), other.tenths));
}
