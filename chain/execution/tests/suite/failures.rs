//! What stops a node, what keeps it from starting, and what it refuses to keep.
use prefinal_execution::{
    Config, Height, Input, Limits, Past, Record, Refusal, Roots, StartError, StateClaim, Stop,
    Store, Switches,
};
use prefinal_protocol::{Slot, View};

use crate::bench::{Bench, Machine, certified, prefinalized, validator, value};
use crate::ledger::{Disk, GENESIS, Ledger, block, computed, draw, id, pay};

const ROOTS: Roots = Roots { state: [1; 32], receipts: [2; 32] };

#[test]
fn an_executor_that_cannot_go_on_stops_the_node() {
    let mut bench =
        Bench::with(validator(Switches::ON), Ledger { broken: true, ..Ledger::default() });
    bench.give(Input::Proposed(block(1, GENESIS, 1, vec![])));
    let why = "no memory".to_owned();
    assert_eq!(bench.stop(), Some(&Stop::Executor { block: id(1), why }));
    // The next life may have more memory.
    assert_eq!(bench.would_start(), Ok(()));
}

#[test]
fn a_store_that_cannot_go_on_stops_the_node() {
    let mut bench = Bench::new(validator(Switches::ON));
    bench.disk.content().full = true;
    bench.give(Input::Proposed(block(1, GENESIS, 1, vec![])));
    let why = "no room".to_owned();
    assert_eq!(bench.stop(), Some(&Stop::Store { block: id(1), why }));
    assert_eq!(bench.would_start(), Ok(()));
}

fn start(config: Config, disk: &Disk, records: Vec<Record<Vec<u32>>>) -> Result<(), StartError> {
    let recovered = disk.clone().recover().unwrap();
    Machine::new(config, Past { recovered, records }).map(|_| ())
}

#[test]
fn a_limit_of_zero_is_refused() {
    let config = validator(Switches::ON);
    let full = config.limits;
    for (what, limits) in [
        ("forks", Limits { forks: 0, ..full }),
        ("proposals", Limits { proposals: 0, ..full }),
        ("bytes", Limits { bytes: 0, ..full }),
        ("window", Limits { window: 0, ..full }),
    ] {
        let started = start(Config { limits, ..config }, &Disk::new(), Vec::new());
        assert_eq!(started, Err(StartError::Limit { what }));
    }
}

#[test]
fn a_store_that_contradicts_this_partys_vote_is_refused() {
    let mut bench = Bench::new(validator(Switches::ON));
    let paid = block(1, GENESIS, 1, vec![pay(1, 5)]);
    bench.give(Input::Proposed(paid.clone()));
    let (height, block) = (paid.header.height, id(1));
    let with = |roots| {
        let vote = Record::Voted(StateClaim { height, block, roots });
        start(bench.config, &bench.disk, vec![vote])
    };
    assert_eq!(with(computed(&[(&paid, None)])), Ok(()));
    assert_eq!(with(ROOTS), Err(StartError::OtherVote { height, block }));
}

#[test]
fn certificates_beyond_the_window_are_refused() {
    let mut bench = Bench::new(validator(Switches::ON));
    let last = Height::new(bench.config.limits.window);
    for height in [last, last.next()] {
        bench.give(certified(&block(1, GENESIS, height.get(), vec![]), ROOTS));
    }
    assert_eq!(bench.refusals(), [Refusal::Beyond { block: id(1), got: last.next(), last }]);
}

#[test]
fn values_are_bounded_and_the_first_one_stands() {
    let mut bench = Bench::new(validator(Switches::ON));
    let most = usize::try_from(bench.config.limits.window).unwrap();
    bench.give(value(10, 9));
    bench.give(value(10, 8));
    for slot in 11..10 + bench.config.limits.window {
        bench.give(value(slot, 1));
    }
    assert_eq!(bench.refusals(), []);
    bench.give(value(1_000, 1));
    assert_eq!(bench.refusals(), [Refusal::Value { slot: Slot::new(1_000), most }]);
    let drawn = block(1, GENESIS, 1, vec![draw(3)]);
    bench.give(Input::Ordered(drawn.clone()));
    let value = prefinal_execution::Randomness::new([9; 32]);
    assert_eq!(bench.votes()[0].claim.roots, computed(&[(&drawn, Some(value))]));
}

/// The contract allows an early release in one view only, so a vote in a later view must not hide it.
#[test]
fn the_first_view_of_an_order_vote_stands() {
    let mut bench = Bench::new(validator(Switches::ON));
    let paid = block(1, GENESIS, 1, vec![pay(1, 5)]);
    bench.hold(Input::Proposed(paid.clone()));
    bench.hold(prefinalized(&paid));
    let (height, block) = (paid.header.height, id(1));
    let view = View::new(paid.header.slot, 7);
    bench.hold(Input::Prefinalized { height, block, view });
    while bench.work() {}
    assert_eq!(bench.votes()[0].view, Some(View::new(paid.header.slot, 0)));
}
