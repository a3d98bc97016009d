//! Committees on Trantor in the simulator: campaigns under attack, and whole validators.
//!
//! | claim                                                                 | where                          |
//! |-----------------------------------------------------------------------|--------------------------------|
//! | nobody leaks, nobody disagrees, everybody reveals                      | executions from seeds, with all vices |
//! | executions are the same with signatures on the curve and without         | the same seeds, both ways             |
//! | replicas have one state, and get it from others whatever is said of it    | executions from seeds, with an application |
//! | the same while one party leaves and another one joins                   | whole validators with generated keys  |
//! | delays between finality and value: fast 0, slow 1                      | whole validators, constant delay, zero compute |
//!
//! `consensus/trantor/tests` tests the engine alone.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use prefinal_beacon::Path;
use prefinal_lab::campaign::{
    Certificate, EngineName, ExecutionReport, Flaw, Function, Kind, Order, Signatures, Tally, Watch,
};
use prefinal_registry::{Trantor, engine};
use prefinal_weighted_rounding::Ratio;

use crate::committee::{LINK, on_equal_links};

/// Fails with the first execution that does not keep everything.
#[derive(Default)]
struct First {
    failed: Mutex<Option<String>>,
    fingerprints: Mutex<BTreeMap<u64, u64>>,
    tally: Mutex<Tally>,
}

impl Watch for First {
    fn played(&self, _: (EngineName, Function), seed: u64, played: &ExecutionReport) {
        self.fingerprints.lock().unwrap().insert(seed, played.fingerprint);
        self.tally.lock().unwrap().merge(&played.tally);
        if let Err(violation) = &played.outcome {
            let failed = format!("seed {seed}: {violation}");
            println!("{failed}");
            self.failed.lock().unwrap().get_or_insert(failed);
        }
    }

    fn is_over(&self) -> bool {
        self.failed.lock().unwrap().is_some()
    }
}

/// Executions on Trantor with the ideal function.
fn order(first: u64, executions: u64) -> Order {
    order_on(engine::Name::Trantor, first, executions)
}

/// Executions on this engine with the ideal function.
pub(crate) fn order_on(engine: engine::Name, first: u64, executions: u64) -> Order {
    Order {
        first,
        executions,
        engine: Some(EngineName::Listed(engine)),
        function: Some(Function::Ideal),
        signatures: None,
        without: None,
        table: None,
        fast: Ratio::FIVE_SIXTHS,
        handover: false,
    }
}

/// The executions of an order, in which nothing was broken.
fn play(order: &Order) -> First {
    let watch = First::default();
    order.run(&watch).unwrap();
    assert_eq!(*watch.failed.lock().unwrap(), None);
    let played = watch.fingerprints.lock().unwrap().len();
    assert_eq!(u64::try_from(played), Ok(order.executions));
    watch
}

/// What was done in these executions, without effect.
pub(crate) fn campaign(order: &Order) -> Tally {
    play(order).tally.into_inner().unwrap()
}

/// What must have been done, seen or found.
fn all_kinds() -> Vec<Kind> {
    let certificates = [
        Certificate::Availability,
        Certificate::Prepared,
        Certificate::Change,
        Certificate::Committed,
    ];
    let flaws = [Flaw::Signature, Flaw::Stake, Flaw::Statement];
    let mut kinds: Vec<Kind> = certificates
        .iter()
        .flat_map(|certificate| flaws.map(|flaw| Kind::False(*certificate, flaw)))
        .collect();
    kinds.extend([
        Kind::Twins,
        Kind::Equivocation,
        Kind::Concealed,
        Kind::Hidden,
        Kind::BadSignature,
        Kind::BatchWithheld,
        Kind::AnswerWithheld,
        Kind::FalseAnswer,
        Kind::LateProposal,
        Kind::Mute,
        Kind::Forget,
        Kind::Crash,
        Kind::CrashAtRecord,
        Kind::GaveUp,
        Kind::FoundContradiction,
        Kind::FoundForgery,
        Kind::FoundSignature,
        Kind::FoundMalformed,
    ]);
    kinds
}

#[test]
fn a_campaign_of_attacks_breaks_nothing() {
    let tally = campaign(&order(1, 30));
    for kind in all_kinds() {
        assert!(tally.count(kind).times > 0, "{kind}: {tally:?}");
    }
}

#[test]
#[ignore = "takes long; the seeds are others than above"]
fn a_long_campaign_of_attacks_breaks_nothing() {
    drop(campaign(&order(1_000, 10_000)));
}

#[test]
#[ignore = "takes long; the seeds are others than below"]
fn a_long_campaign_on_replicas_breaks_nothing() {
    drop(campaign(&Order { engine: Some(EngineName::Replica), ..order(1_000, 2_000) }));
}

#[test]
fn executions_are_the_same_with_signatures_on_the_curve() {
    let [seen, real] = [Signatures::Seen, Signatures::Real]
        .map(|signatures| play(&Order { signatures: Some(signatures), ..order(100, 3) }));
    assert_eq!(*seen.fingerprints.lock().unwrap(), *real.fingerprints.lock().unwrap());
    assert_eq!(*seen.tally.lock().unwrap(), *real.tally.lock().unwrap());
}

#[test]
fn replicas_keep_one_state_under_attack() {
    let tally = campaign(&Order { engine: Some(EngineName::Replica), ..order(1, 12) });
    for kind in [Kind::Sleep, Kind::Change, Kind::FalseState, Kind::FalseCheckpoint, Kind::Restored]
    {
        assert!(tally.count(kind).times > 0, "{kind}: {tally:?}");
    }
}

#[test]
fn a_committee_that_changes_under_attack_goes_on() {
    let changing = Order { function: Some(Function::Bls), handover: true, ..order(1, 2) };
    let tally = campaign(&changing);
    assert!(tally.count(Kind::Handover).times > 0, "{tally:?}");
}

#[test]
fn values_come_with_finality_on_the_fast_path_and_one_delay_later_on_the_slow_one() {
    let (slow, fast) = on_equal_links(48).both::<Trantor>().unwrap();
    assert!(slow.waits.count() >= 240 && fast.waits.count() >= 240);
    assert_eq!(slow.waits.percentile(50), Some(LINK));
    assert_eq!(fast.waits.percentile(50), Some(Duration::ZERO));
    assert_eq!(slow.by_fast_path, 0);
    // Heights that were open when the keys came, four of each leader, were committed before there was anything to
    // release.
    let late: BTreeSet<_> =
        fast.rows.iter().filter(|row| row.path == Path::Slow).map(|row| row.slot).collect();
    let first = fast.rows.iter().map(|row| row.slot).min().unwrap();
    assert!(late.iter().all(|slot| slot.get() < first.get() + 20), "{late:?} from {first:?} on");
}
