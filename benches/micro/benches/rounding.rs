//! Stake to small weights on every table of `data/stakes` that TARGETS names: time, and total weight.
//!
//! | row          | quantity | limit                                                          |
//! |--------------|----------|----------------------------------------------------------------|
//! | scan         | time     | none: nobody knows what finding it must cost                    |
//! | scan         | weight   | the least that branch and bound leaves possible in 1000 regions |
//!
//! The pair (1/2, 2/3) alone, by the scan alone; the largest tables have no bound.
#![expect(clippy::unwrap_used, reason = "a bench that cannot be set up must not give figures")]
use std::fs;
use std::path::Path;

use prefinal_bench::fixture::stakes;
use prefinal_bench::suite::Suite;
use prefinal_weighted_rounding::{Bound, Objective, Profile, Rounding};

/// With the number of parties. From the first of the large ones on, only in full runs.
const TABLES: [(&str, usize); 13] = [
    ("aptos_mainnet_129", 129),
    ("swiper_aptos", 104),
    ("aptos_mainnet_112", 112),
    ("aptos_mainnet_152", 152),
    ("swiper_tezos", 382),
    ("cosmos_hub_leap2022", 175),
    ("cosmos_hub_block1_2019", 100),
    ("ethereum_entities_2023", 67),
    ("sui_epoch_100", 105),
    ("sui_epoch_1200", 125),
    ("solana_epoch_860", 962),
    ("swiper_filecoin", 3700),
    ("swiper_algorand", 42_920),
];

/// From here on a run takes seconds.
const LARGE: usize = 1000;

fn main() {
    let mut suite = Suite::new("micro", "rounding");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/stakes");
    let profile = Profile::slow();
    let scan = Objective::least_total().prove(0);
    for (name, parties) in TABLES {
        let id = format!("rounding::scan/{name} n={parties}");
        if !suite.is_asked(&id) || suite.is_quick() && parties >= LARGE {
            continue;
        }
        let file = folder.join(name).with_extension("csv");
        let stakes = stakes(&fs::read_to_string(file).unwrap());
        assert_eq!(stakes.len(), parties, "{name}");
        let solve = || Rounding::solve(&stakes, &profile, scan).unwrap();
        let ours = if parties < LARGE {
            suite.measure(&id, solve)
        } else {
            suite.measure_long(&id, solve)
        };
        suite.row(&ours, &[], None);
        let total = f64::from(solve().total().get());
        let least = (parties < LARGE).then(|| {
            let proven = Rounding::solve(&stakes, &profile, Objective::least_total()).unwrap();
            match proven.bound() {
                Bound::Total(least) => f64::from(least.get()),
                Bound::Sufficient(_) => total,
            }
        });
        suite.figure(&id, ("weight", "shares"), (total, least));
    }
    suite.finish();
}
