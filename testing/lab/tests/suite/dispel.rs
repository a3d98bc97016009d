//! Committees on DISPEL in the simulator: campaigns under attack, and whole validators.
//!
//! | claim                                                          | where                                      |
//! |----------------------------------------------------------------|--------------------------------------------|
//! | nobody leaks, nobody disagrees, everybody reveals               | executions from seeds, with all vices      |
//! | delays between finality and value: fast 0, slow 1               | whole validators, constant delay, zero compute |
//!
//! `consensus/dispel` tests the engine alone.
use std::time::Duration;

use prefinal_lab::campaign::{Kind, Order};
use prefinal_lab::stakes::StakeTable;
use prefinal_registry::{Dispel, engine};

use crate::committee::{LINK, on_equal_links};
use crate::trantor::{campaign, order_on};

/// Executions of four parties with equal stake, in which a bit is split most easily.
fn of_four(first: u64, executions: u64) -> Order {
    let table = StakeTable::parse("four", "party,stake\na,1\nb,1\nc,1\nd,1").unwrap();
    Order { table: Some(table), ..order_on(engine::Name::Dispel, first, executions) }
}

#[test]
fn a_campaign_of_attacks_breaks_nothing() {
    let tally = campaign(&of_four(20, 12));
    for kind in [
        Kind::Twins,
        Kind::Equivocation,
        Kind::WrongBit,
        Kind::BatchWithheld,
        Kind::AnswerWithheld,
        Kind::FalseAnswer,
        Kind::StageBegun,
        Kind::MadeUp,
        Kind::Mute,
        Kind::Forget,
        Kind::Crash,
        Kind::CrashAtRecord,
        Kind::FoundContradiction,
    ] {
        assert!(tally.count(kind).times > 0, "{kind}: {tally:?}");
    }
}

#[test]
#[ignore = "takes long; the seeds are others than above"]
fn a_long_campaign_of_attacks_breaks_nothing() {
    drop(campaign(&of_four(2_000, 10_000)));
    drop(campaign(&order_on(engine::Name::Dispel, 1_000, 1_000)));
}

#[test]
fn values_come_with_finality_on_the_fast_path_and_one_delay_later_on_the_slow_one() {
    let (slow, fast) = on_equal_links(24).both::<Dispel>().unwrap();
    assert!(slow.waits.count() >= 120 && fast.waits.count() >= 120);
    assert_eq!(slow.waits.percentile(50), Some(LINK));
    assert_eq!(fast.waits.percentile(50), Some(Duration::ZERO));
    assert_eq!(slow.by_fast_path, 0);
}
