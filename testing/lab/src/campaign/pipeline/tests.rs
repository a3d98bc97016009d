//! Executions from fixed seeds.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::OnceLock;

use prefinal_weighted_rounding::{Ratio, Stake};

use super::super::board::Layout;
use super::super::draw::Stakes;
use super::super::tally::Tally;
use super::*;
use prefinal_validator::setup::Algorithm;

/// Others are played by the program.
const EXECUTIONS: u64 = 6;

/// Four equal parties with both paths, and seven unequal ones with the slow path alone.
fn guilds() -> &'static [(Arc<Guild>, Stakes)] {
    static GUILDS: OnceLock<Vec<(Arc<Guild>, Stakes)>> = OnceLock::new();
    GUILDS.get_or_init(|| {
        let boards: [(&[u128], Algorithm); 2] =
            [(&[1; 4], Algorithm::Fast), (&[40, 30, 20, 20, 10, 10, 9], Algorithm::Slow)];
        let guild = |(stakes, algorithm): (&[u128], Algorithm)| {
            let stakes: Vec<Stake> = stakes.iter().map(|one| Stake::new(*one)).collect();
            let layout = Layout::new(stakes, algorithm, Ratio::FIVE_SIXTHS).unwrap();
            (Arc::new(Guild::new(&layout).unwrap()), layout.stakes())
        };
        boards.map(guild).into()
    })
}

fn played(seed: u64) -> ExecutionReport {
    played_with(None, seed)
}

fn played_with(mistake: Option<Mistake>, seed: u64) -> ExecutionReport {
    let stakes: Vec<Stakes> = guilds().iter().map(|(_, stakes)| stakes.clone()).collect();
    let mut draw = Draw::new(seed, &stakes);
    draw.heals = draw.heals.min(Instant::at(MS * 1500));
    play_with(mistake, seed, &draw, &guilds()[draw.board].0).unwrap()
}

#[test]
fn what_is_drawn_happens_and_everything_holds() {
    let mut tally = Tally::default();
    let (mut slots, mut values) = (0, [0; 2]);
    for seed in 0..EXECUTIONS {
        let ExecutionReport { outcome, tally: more, .. } = played(seed);
        let summary = outcome.unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
        tally.merge(&more);
        slots += summary.slots;
        values = [values[0] + summary.slow, values[1] + summary.fast];
    }
    for kind in [Kind::Crash, Kind::CrashAtWrite, Kind::Late] {
        assert!(tally.count(kind).times > 0, "{kind}: {tally:?}");
    }
    assert!(
        slots > 10 * usize::try_from(EXECUTIONS).unwrap() && values.iter().any(|count| *count > 0),
        "{slots} {values:?}"
    );
}

#[test]
fn an_execution_is_the_same_again() {
    for seed in 5..6 {
        let (one, other) = (played(seed), played(seed));
        assert_eq!((one.fingerprint, one.tally), (other.fingerprint, other.tally), "seed {seed}");
        assert_eq!(one.outcome, other.outcome);
    }
}

/// Each with a seed that was found by trying.
#[test]
fn mistakes_of_hosts_are_caught() {
    for (mistake, seed, words) in [
        (Mistake::SignsOtherRoot, 0, "another certified state"),
        (Mistake::MovesCertificate, 0, "stops: height 2"),
        (Mistake::TrustsOwnState, 1, "commits its own state"),
    ] {
        let found = played_with(Some(mistake), seed).outcome.unwrap_err().to_string();
        assert!(found.contains(words), "{mistake:?}: {found}");
    }
}
