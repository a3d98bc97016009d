//! Committees on Trantor in the simulator: campaigns under attack, and whole validators.
//!
//! | claim                                                                 | where                          |
//! |-----------------------------------------------------------------------|--------------------------------|
//! | nobody leaks, nobody disagrees, everybody reveals                      | executions from seeds, with all vices |
//! | the same while one party leaves and another one joins                   | whole validators with generated keys  |
//! | delays between finality and value: fast 0, slow 1                      | whole validators, constant delay, zero compute |
//!
//! `consensus/trantor/tests` tests the engine alone.
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prefinal_beacon::{Path, Wvuf};
use prefinal_lab::campaign::{
    Certificate, EngineName, ExecutionReport, Flaw, Function, Kind, Order, Tally, Watch,
};
use prefinal_lab::committee::{Ground, Prices};
use prefinal_lab::latency::Experiment;
use prefinal_registry::{Trantor, engine};
use prefinal_sim::Network;
use prefinal_validator::setup::{Algorithm, Plan};
use prefinal_weighted_rounding::{Ratio, Stake};

/// Fails with the first execution that does not keep everything.
#[derive(Default)]
struct First {
    failed: Mutex<Option<String>>,
    blocks: Mutex<u64>,
    tally: Mutex<Tally>,
}

impl Watch for First {
    fn played(&self, _: (EngineName, Function), seed: u64, played: &ExecutionReport) {
        *self.blocks.lock().unwrap() += 1;
        self.tally.lock().unwrap().merge(&played.tally);
        if let Err(violation) = &played.outcome {
            let failed = format!("seed {seed}: {violation}");
            println!("{failed}");
            self.failed.lock().unwrap().get_or_insert(failed);
        }
    }
}

/// What was done in these executions, without effect.
fn campaign((function, handover): (Function, bool), first: u64, executions: u64) -> Tally {
    let watch = First::default();
    let order = Order {
        first,
        executions,
        engine: Some(EngineName::Listed(engine::Name::Trantor)),
        function: Some(function),
        without: None,
        table: None,
        fast: Ratio::FIVE_SIXTHS,
        handover,
    };
    order.run(&watch).unwrap();
    assert_eq!(watch.failed.into_inner().unwrap(), None);
    assert_eq!(watch.blocks.into_inner().unwrap(), executions);
    watch.tally.into_inner().unwrap()
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
    let tally = campaign((Function::Ideal, false), 1, 60);
    for kind in all_kinds() {
        assert!(tally.count(kind).times > 0, "{kind}: {tally:?}");
    }
}

#[test]
#[ignore = "takes long; the seeds are others than above"]
fn a_long_campaign_of_attacks_breaks_nothing() {
    drop(campaign((Function::Ideal, false), 1_000, 10_000));
}

#[test]
fn a_committee_that_changes_under_attack_goes_on() {
    let tally = campaign((Function::Bls, true), 1, 3);
    assert!(tally.count(Kind::Handover).times > 0, "{tally:?}");
}

#[test]
fn values_come_with_finality_on_the_fast_path_and_one_delay_later_on_the_slow_one() {
    let stakes = [30, 25, 20, 15, 10].map(Stake::new).to_vec();
    let plan = Plan::new(stakes, Algorithm::Fast, Ratio::new(84, 100).unwrap()).unwrap();
    let delay = Duration::from_millis(50);
    let experiment = Experiment::<Wvuf> {
        ground: Arc::new(Ground::new(&plan, 1).unwrap()),
        prices: Prices::FREE,
        network: Network::constant(delay),
        cores: NonZeroU32::MIN,
        seed: 1,
        slots: 12,
    };
    let (slow, fast) = experiment.both::<Trantor>().unwrap();
    assert!(slow.waits.count() >= 60 && fast.waits.count() >= 60);
    assert_eq!(slow.waits.percentile(50), Some(delay));
    assert_eq!(fast.waits.percentile(50), Some(Duration::ZERO));
    assert_eq!(slow.by_fast_path, 0);
    // Heights that were open when the keys came were committed before there was anything to release.
    let late: BTreeSet<_> =
        fast.rows.iter().filter(|row| row.path == Path::Slow).map(|row| row.slot).collect();
    let first = fast.rows.iter().map(|row| row.slot).min().unwrap();
    assert!(late.iter().all(|slot| slot.get() < first.get() + 10), "{late:?} from {first:?} on");
}
