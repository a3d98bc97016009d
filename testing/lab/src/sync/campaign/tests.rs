//! Executions from fixed seeds.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::campaign::Tally;

/// Others are played by the program.
const EXECUTIONS: u64 = 24;

#[test]
fn what_is_drawn_happens_and_everything_holds() {
    let mut tally = Tally::default();
    for seed in 0..EXECUTIONS {
        let ExecutionReport { outcome, tally: more, .. } = play(seed).unwrap();
        outcome.unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
        tally.merge(&more);
    }
    for kind in [
        Kind::Fabricated,
        Kind::Cut,
        Kind::Reordered,
        Kind::Replay,
        Kind::FalseSummary,
        Kind::Oversized,
        Kind::Drip,
        Kind::Denied,
        Kind::Junk,
        Kind::AnswerWithheld,
        Kind::LinkLost,
        Kind::Crash,
        Kind::CrashAtRecord,
        Kind::CrashAtWrite,
        Kind::Restored,
        Kind::Banned,
    ] {
        assert!(tally.count(kind).times > 0, "{kind}: {tally:?}");
    }
}

#[test]
fn an_execution_is_the_same_again() {
    let (one, other) = (play(3).unwrap(), play(3).unwrap());
    assert_eq!((one.fingerprint, one.tally), (other.fingerprint, other.tally));
    assert_eq!(one.outcome, other.outcome);
}

/// Each with a seed that was found by trying.
#[test]
fn mistakes_are_caught() {
    for (mistake, seed, words) in
        [(Mistake::BelievesCertificates, 57, "is stored"), (Mistake::MixesUpPeers, 3, "of nothing")]
    {
        let found = play_with(Some(mistake), seed).unwrap().outcome.unwrap_err().to_string();
        assert!(found.contains(words), "{mistake:?}: {found}");
    }
}
