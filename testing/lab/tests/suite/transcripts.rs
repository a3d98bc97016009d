//! Key generation by transcripts, with one aggregate on the chain and with every dealing on it.

use std::num::NonZeroU32;
use std::time::Duration;

use prefinal_lab::committee::Prices;
use prefinal_lab::dealt::World;
use prefinal_lab::transcripts::{Agreement, Report, Transcripts};
use prefinal_registry::Wvuf;
use prefinal_sim::{Interface, Network};
use prefinal_validator::setup::{Algorithm, Plan};
use prefinal_weighted_rounding::{Ratio, Stake};

const PARTIES: usize = 4;

fn transcripts() -> Transcripts {
    let stakes = vec![Stake::new(1); PARTIES];
    let plan = Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
    Transcripts::new(&plan, 1).unwrap()
}

/// Links of 50 ms, and interfaces of this rate.
fn world(rate: &str) -> World {
    let network = Network::constant(Duration::from_millis(50));
    let network = network.with_interfaces(Interface::duplex(rate.parse().unwrap()));
    let cores = NonZeroU32::new(4).unwrap();
    World { prices: Prices::FREE, network, cores, seed: 2, slots: 0 }
}

fn run(transcripts: &Transcripts, agreement: Agreement, rate: &str) -> Report {
    transcripts.run::<Wvuf>(agreement, &world(rate)).unwrap()
}

fn mean(waits: &prefinal_lab::waits::Waits) -> Duration {
    waits.mean().unwrap()
}

#[test]
fn one_aggregate_is_on_the_chain_or_every_dealing() {
    let transcripts = transcripts();
    let one = run(&transcripts, Agreement::OneAggregate, "1GB/s");
    // Three of four equal parties hold more than two thirds.
    assert_eq!((one.dealers, one.transactions), (3, 1));
    // Version, count, signature and sums, and 164 bytes for each dealer.
    let sums = one.transcript - (1 + 4 + 48 + 48 + 32 + 48 + 64);
    let around = usize::try_from(one.on_chain).unwrap() - 3 * 164;
    assert!(around.abs_diff(sums) < 150, "{around} {sums}");
    let each = run(&transcripts, Agreement::EachDealing, "1GB/s");
    // Two hold more than a third.
    assert!(each.dealers >= 2 && each.transactions >= 2, "{each:?}");
    let transcript = u64::try_from(each.transcript).unwrap();
    assert_eq!(each.on_chain, each.transactions * transcript);
    assert_eq!(each.dissemination.count(), 0);
    for report in [&one, &each] {
        assert_eq!((report.total.count(), report.agreement.count()), (PARTIES, PARTIES));
    }
    // A transcript is there after one delay, and an order takes three at least.
    let [came, agreed] = [mean(&one.dissemination), mean(&one.agreement)];
    assert!(came >= Duration::from_millis(50) && came < Duration::from_millis(52), "{came:?}");
    assert!(agreed >= Duration::from_millis(150), "{agreed:?}");
}

#[test]
fn a_slow_interface_delays_the_dissemination_by_what_it_carries() {
    let transcripts = transcripts();
    let fast = run(&transcripts, Agreement::OneAggregate, "1GB/s");
    let slow = run(&transcripts, Agreement::OneAggregate, "20kB/s");
    let bytes = u32::try_from(slow.transcript).unwrap();
    // Two transcripts that are needed come in, each after it has left to one of three at least.
    let carried = Duration::from_secs(1) * bytes * 2 / 20_000;
    let longer = mean(&slow.dissemination) - mean(&fast.dissemination);
    assert!(longer > carried && longer < carried * 3, "{longer:?} {carried:?}");
    assert!(slow.sent > 3 * u64::from(bytes));
    assert_eq!(slow.on_chain, fast.on_chain);
}
