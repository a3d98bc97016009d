//! The latency of every setting of the switches, to the nanosecond, with constant delays.
use std::time::Duration;

use prefinal_execution::Switches;

use crate::bench::all_switches;
use crate::ledger::{draw, pay};
use crate::network::{Delays, latency};

/// Nanoseconds; odd numbers, so that no two sums are equal by accident.
const CLIENT: i64 = 1_000_003;
const FULL_NODE: i64 = 2_000_011;
const VALIDATORS: i64 = 50_000_021;
const CONSENSUS: i64 = 4 * VALIDATORS;

/// Shorter and longer than one message delay and two, and equal to them.
const GRID: [i64; 9] = [
    1,
    20_000_033,
    VALIDATORS - 1,
    VALIDATORS,
    VALIDATORS + 1,
    80_000_057,
    2 * VALIDATORS,
    110_000_069,
    170_000_087,
];

fn span(nanos: i64) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap())
}

fn measured(execute: i64, write: i64, switches: Switches) -> i64 {
    let delays = Delays {
        client: span(CLIENT),
        full_node: span(FULL_NODE),
        validators: span(VALIDATORS),
        execute: span(execute),
        write: span(write),
    };
    i64::try_from(latency(delays, switches, vec![pay(1, 5)]).as_nanos()).unwrap()
}

const fn plus(number: i64) -> i64 {
    if number > 0 { number } else { 0 }
}

/// What every transaction takes.
const FLOOR: i64 = 2 * CLIENT + 2 * FULL_NODE + CONSENSUS;

/// The table in the head of the crate.
fn on_top(execute: i64, write: i64, switches: Switches) -> i64 {
    let Switches { opt_execute, opt_commit, piggyback } = switches;
    let delay = VALIDATORS;
    match (opt_execute, opt_commit, piggyback) {
        (false, false, _) => delay + 2 * execute + 2 * write,
        (false, true, _) => 2 * execute + write + write.max(delay),
        (true, false, false) => delay + plus(execute - 2 * delay) + 2 * write,
        (true, false, true) => plus(execute - delay) + 2 * write,
        (true, true, false) => (execute + write - 2 * delay).max(plus(execute - 2 * delay) + delay),
        (true, true, true) => (execute + write - 2 * delay).max(plus(execute - delay)),
    }
}

fn for_all_costs(mut check: impl FnMut(i64, i64)) {
    for execute in GRID {
        for write in GRID {
            check(execute, write);
        }
    }
}

#[test]
fn every_setting_of_the_switches_has_the_latency_of_the_table() {
    for switches in all_switches() {
        for_all_costs(|execute, write| {
            let expected = FLOOR + on_top(execute, write, switches);
            let got = measured(execute, write, switches);
            assert_eq!(got, expected, "{switches:?}, E {execute}, C {write}");
        });
    }
}

#[test]
fn all_off_is_the_first_formula_of_theorem_4_3() {
    for_all_costs(|execute, write| {
        let theorem = 2 * CLIENT + 2 * FULL_NODE + VALIDATORS + CONSENSUS + 2 * execute + 2 * write;
        assert_eq!(measured(execute, write, Switches::OFF), theorem);
    });
}

#[test]
fn all_on_is_the_second_formula_of_theorem_4_3_where_nothing_is_counted_twice() {
    let mut equal = 0;
    for_all_costs(|execute, write| {
        let theorem = FLOOR
            + plus(execute + write - 2 * VALIDATORS)
            + plus(execute - VALIDATORS)
            + plus(write - VALIDATORS);
        let got = measured(execute, write, Switches::ON);
        assert!(got <= theorem, "E {execute}, C {write}");
        let tight = write <= VALIDATORS && execute + write <= 2 * VALIDATORS;
        assert_eq!(got == theorem, tight, "E {execute}, C {write}");
        equal += i64::from(tight);
    });
    assert!(equal > 15, "{equal} points of the grid are equal");
}

#[test]
fn the_gain_of_corollary_4_4_is_five_delays_or_more() {
    for_all_costs(|execute, write| {
        if execute >= VALIDATORS && write >= VALIDATORS {
            let off = measured(execute, write, Switches::OFF);
            let on = measured(execute, write, Switches::ON);
            assert!(off - on >= 5 * VALIDATORS);
            // What the paper counts twice.
            assert_eq!(off - on - 5 * VALIDATORS, execute + write - 2 * VALIDATORS);
        }
    });
}

/// The value is there with the order. From then on only the tail remains, and writing beside the certify votes.
/// The head hides behind consensus as it does otherwise; full nodes get the value at once.
#[test]
fn a_block_that_reads_randomness_waits_for_its_tail_alone() {
    for (execute, write) in [(20_000_033, 7), (20_000_033, 30_000_041), (45_000_051, 80_000_057)] {
        let delays = Delays {
            client: span(CLIENT),
            full_node: span(FULL_NODE),
            validators: span(VALIDATORS),
            execute: span(execute),
            write: span(write),
        };
        let entries = vec![draw(3), pay(1, 5)];
        let got = latency(delays, Switches::ON, entries);
        let got = i64::try_from(got.as_nanos()).unwrap();
        let expected = FLOOR + execute + write.max(VALIDATORS);
        assert_eq!(got, expected, "E {execute}, C {write}");
    }
}
