//! Transactions on Jolteon without a beacon, with the slow path alone, and with both paths.

use std::num::NonZeroU32;
use std::time::Duration;

use prefinal_lab::committee::Prices;
use prefinal_lab::dealt::World;
use prefinal_lab::dealt::transactions::{Beside, Demand, Experiment, Point};
use prefinal_registry::{Jolteon, Wvuf};
use prefinal_sim::{Interface, Network};
use prefinal_validator::setup::{Algorithm, Plan};
use prefinal_weighted_rounding::{Ratio, Stake};

const DELAY: Duration = Duration::from_millis(50);

/// Four equal parties, each 50 ms from every other.
fn points(per_second: u64, rate: &str) -> [Point; 3] {
    let plan = Plan::new(vec![Stake::new(1); 4], Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
    let network = Network::constant(DELAY);
    let network = network.with_interfaces(Interface::duplex(rate.parse().unwrap()));
    let cores = NonZeroU32::new(4).unwrap();
    let world = World { prices: Prices::FREE, network, cores, seed: 2, slots: 0 };
    let experiment = Experiment::<Wvuf>::new(&plan, 1, world).unwrap();
    let (warm_up, counted) = (Duration::from_secs(2), Duration::from_secs(6));
    let demand = Demand { per_second, warm_up, counted };
    [Beside::Nothing, Beside::SlowPath, Beside::BothPaths]
        .map(|beside| experiment.run::<Jolteon>(beside, demand).unwrap())
}

fn mean(waits: &prefinal_lab::waits::Waits) -> Duration {
    waits.mean().unwrap()
}

#[test]
fn the_slow_path_adds_a_delay_to_every_transaction_and_the_fast_path_none() {
    let [nothing, slow, both] = points(640, "1GB/s");
    for point in [&nothing, &slow, &both] {
        assert!((600..=680).contains(&point.per_second), "{}", point.per_second);
        assert!(point.slots > 20, "{}", point.slots);
    }
    assert_eq!(nothing.value_waits.count(), 0);
    // All links are alike: with both paths a value can be computed when its slot is final.
    let [late, early] = [mean(&slow.value_waits), mean(&both.value_waits)];
    assert!(late.abs_diff(DELAY) < Duration::from_millis(3), "{late:?}");
    assert!(early < Duration::from_millis(3), "{early:?}");
    assert!(slow.value_waits.mean_of_longest().unwrap() >= late);
    let added = mean(&slow.waits) - mean(&nothing.waits);
    assert!(added.abs_diff(DELAY) < Duration::from_millis(5), "{added:?}");
    assert!(mean(&both.waits).abs_diff(mean(&nothing.waits)) < Duration::from_millis(5));
}
