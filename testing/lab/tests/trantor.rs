//! Committees on Trantor in the simulator: campaigns under attack, and whole validators.
//!
//! | claim                                                                 | where                          |
//! |-----------------------------------------------------------------------|--------------------------------|
//! | nobody leaks, nobody disagrees, everybody reveals                      | executions from seeds, with all vices |
//! | delays between finality and value: tight 0, fast 0, slow 1             | constant delay, zero compute   |
//! | a leader that is down costs the fast path of its own heights only      | a party that never starts      |
//!
//! `consensus/trantor/tests` tests the engine alone.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::sync::Mutex;

use prefinal_lab::campaign::{EngineName, Function, Order, Played, Watch};
use prefinal_registry::engine;
use prefinal_weighted_rounding::Ratio;

/// Fails with the first execution that does not keep everything.
#[derive(Default)]
struct First {
    failed: Mutex<Option<String>>,
    blocks: Mutex<u64>,
}

impl Watch for First {
    fn played(&self, _: (EngineName, Function), seed: u64, played: &Played) {
        *self.blocks.lock().unwrap() += 1;
        if let Err(violation) = &played.outcome {
            let failed = format!("seed {seed}: {violation}");
            println!("{failed}");
            self.failed.lock().unwrap().get_or_insert(failed);
        }
    }
}

fn campaign(function: Function, first: u64, executions: u64) {
    let watch = First::default();
    let order = Order {
        first,
        executions,
        engine: Some(EngineName::Listed(engine::Name::Trantor)),
        function: Some(function),
        without: None,
        table: None,
        fast: Ratio::FIVE_SIXTHS,
        handover: false,
    };
    order.run(&watch).unwrap();
    assert_eq!(watch.failed.into_inner().unwrap(), None);
    assert_eq!(watch.blocks.into_inner().unwrap(), executions);
}

#[test]
fn a_campaign_of_attacks_breaks_nothing() {
    campaign(Function::Ideal, 1, 60);
}

#[test]
#[ignore = "takes long; the seeds are others than above"]
fn a_long_campaign_of_attacks_breaks_nothing() {
    campaign(Function::Ideal, 1_000, 10_000);
}
