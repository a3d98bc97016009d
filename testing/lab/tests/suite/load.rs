//! Replicas under load, where there are closed forms: a closed loop, an interface, and a processor that is full.

use std::num::NonZeroU32;
use std::time::Duration;

use prefinal_lab::Costs;
use prefinal_lab::load::{Batching, Hardware, Improvement, Load, Vice};
use prefinal_sim::{Interface, Network};

const CORES: NonZeroU32 = NonZeroU32::new(2).unwrap();

pub(crate) fn free() -> Costs {
    serde_json::from_str(
        r#"{"g1_multiplication":0,"g2_multiplication":0,"g1_hash":0,"g2_hash":0,"g1_decode":0,
        "g2_decode":0,"miller_loop":0,"miller_loop_of_many":0,"final_exponentiation":0,
        "g1_term":[0,0,0],"g2_term":[0,0,0],"g1_short":0}"#,
    )
    .unwrap()
}

fn load(network: Network, costs: Costs) -> Load {
    let (timeout, pause) = (Duration::from_millis(20), Duration::from_millis(5));
    let batching = Batching { timeout, transactions: 2048, pause };
    let hardware = Hardware { network, cores: CORES, costs };
    let mut load = Load::new(NonZeroU32::new(4).unwrap(), hardware, batching, 3).unwrap();
    (load.warm_up, load.counted) = (Duration::from_millis(500), Duration::from_secs(1));
    load
}

fn network() -> Network {
    Network::constant(Duration::from_millis(10))
}

fn close(got: u64, expected: u64, percent: u64) {
    assert!(got.abs_diff(expected) * 100 <= expected * percent, "{got}, expected {expected}");
}

#[test]
fn clients_of_a_closed_loop_are_as_many_as_throughput_times_latency() {
    // A turn of four leaders comes every 20 ms, then proposal, prepare and commit take 10 ms each.
    let at_once = (&[][..], 35..=60);
    // With a batch's time and its acknowledgements before.
    let certified = (&[Improvement::OwnBatches][..], 70..=110);
    for (without, expected) in [at_once, certified] {
        let mut load = load(network(), free());
        load.without = without.iter().copied().collect();
        let point = load.run(50).unwrap();
        assert_eq!((point.clients, point.skipped, point.busy), (200, 0, 0));
        let mean = u64::try_from(point.waits.mean().unwrap().as_micros()).unwrap();
        close(point.per_second * mean / 1_000_000, 200, 10);
        let median = point.waits.percentile(50).unwrap();
        assert!(expected.contains(&median.as_millis()), "{median:?}, expected {expected:?}");
    }
}

#[test]
fn an_interface_carries_what_it_carries_and_no_more() {
    let rate = "4MB/s".parse().unwrap();
    let limited = network().with_interfaces(Interface::duplex(rate));
    let mut load = load(limited, free());
    load.counted = Duration::from_secs(2);
    let point = load.run(1000).unwrap();
    // Each replica hears three quarters of all transactions, of 512 bytes, a header of 48 and a length of 4. The
    // clients go in step, so the interfaces rest while their transactions are ordered.
    let most = 4_000_000 * 4 / 3 / 564;
    assert!((most * 7 / 10..=most).contains(&point.per_second), "{}", point.per_second);
}

#[test]
fn a_full_core_orders_what_it_orders_and_no_more() {
    let costs = Costs { transaction: 500_000, ..free() };
    let mut load = load(network(), costs);
    // The clients go in step, so what is delivered comes in lumps.
    load.counted = Duration::from_secs(4);
    let point = load.run(400).unwrap();
    close(point.per_second, 2000, 10);
    assert!((45..=55).contains(&point.busy), "one of two cores: {}", point.busy);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || load(network(), free()).run(3).unwrap();
    let (one, other) = (run(), run());
    assert_eq!(one.waits.cells(), other.waits.cells());
}

/// One of four leads a quarter of the heights. With all as leaders they cost a time-out every two epochs, which
/// overlap; else it is left out for ever more epochs.
#[test]
fn a_replica_that_is_down_or_equivocates_costs_ever_less_if_it_is_left_out() {
    for vice in [Vice::Crash, Vice::Equivocation] {
        let delivered = |without: &[Improvement]| {
            let mut load = load(network(), free());
            (load.warm_up, load.counted) = (Duration::from_secs(1), Duration::from_secs(29));
            load.vice = Some(vice);
            load.without = without.iter().copied().collect();
            load.run(20).unwrap().seconds.iter().skip(15).sum::<u64>()
        };
        let (left_out, leads_on) = (delivered(&[]), delivered(&[Improvement::BackOff]));
        assert!(left_out > 2 * leads_on, "{vice:?}: {left_out} against {leads_on}");
    }
}
