//! One vice at a time, in an execution without accidents.

use std::sync::OnceLock;

use ::prefinal_beacon::Binding;
use prefinal_validator::setup::Algorithm;
use prefinal_weighted_rounding::Ratio;

use super::super::Signatures;
use super::super::board::Layout;
use super::super::calm::{self, seats};
use super::super::draw::{Draw, Stakes};
use super::super::ideal::Ideal;
use super::super::table::{Cast, Table};
use super::mistaken::{Mistake, Mistaken, VoteKind};
use super::*;
use crate::check::{Summary, Violation};

/// What is done, seen and found if party 0 of four does this, and then how many slots have values.
fn play(vice: Vice) -> (Tally, Summary) {
    calm::play::<Dispel>(&[1; 4], Duration::from_secs(3), vice)
}

#[test]
fn two_batches_for_one_place_are_found_where_both_come() {
    for (both, votes) in [(true, true), (true, false), (false, true), (false, false)] {
        let (tally, _) = play(Vice::TwoBatches { fooled: seats(&[1]), both, votes });
        assert!(tally.count(Kind::Equivocation).times > 0, "{tally:?}");
        assert_eq!(tally.count(Kind::FoundContradiction).times, u64::from(both), "{tally:?}");
    }
}

#[test]
fn a_bit_and_its_contrary_are_found_and_a_wrong_one_is_no_contradiction() {
    for both in [true, false] {
        let (tally, _) = play(Vice::WrongBits { fooled: seats(&[1, 2]), both });
        assert!(tally.count(Kind::WrongBit).times > 0, "{tally:?}");
        assert_eq!(tally.count(Kind::FoundContradiction).times, u64::from(both), "{tally:?}");
    }
}

#[test]
fn a_batch_that_is_kept_from_some_delays_nobody_for_long() {
    for vice in [
        Vice::Split { ones: seats(&[1]) },
        Vice::Split { ones: seats(&[1, 2]) },
        Vice::Hoard { to: seats(&[1, 2]) },
    ] {
        let (tally, summary) = play(vice);
        assert!(tally.count(Kind::BatchWithheld).times > 0, "{tally:?}");
        assert!(summary.slots > 8, "{summary:?}");
    }
}

/// It is found for the strangers that it now and then votes on.
#[test]
fn what_is_made_up_holds_nobody_up() {
    let (tally, summary) = play(Vice::Babble);
    assert!(tally.count(Kind::MadeUp).times > 30, "{tally:?}");
    assert!(summary.slots > 15, "{summary:?}");
    let (tally, summary) = play(Vice::Rush);
    assert!(tally.count(Kind::StageBegun).times > 30, "{tally:?}");
    assert!(summary.slots > 15, "{summary:?}");
}

/// After healing, until everybody must have the values that are due.
const PATIENCE: Duration = Duration::from_secs(4);

/// Four equal parties, and five unequal ones.
fn tables() -> &'static [(Table<Ideal>, Vec<Stake>)] {
    static TABLES: OnceLock<Vec<(Table<Ideal>, Vec<Stake>)>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let table = |stakes: &[u128]| {
            let stakes: Vec<Stake> = stakes.iter().copied().map(Stake::new).collect();
            let layout = Layout::new(stakes.clone(), Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
            (Table::ideal(&layout).unwrap().impatient(PATIENCE), stakes)
        };
        vec![table(&[1; 4]), table(&[40, 30, 20, 20, 10])]
    })
}

fn played(mistake: Mistake, seed: u64) -> Result<Summary, Violation> {
    let stakes: Vec<Stakes> = tables().iter().map(|(_, stakes)| Stakes::from(&**stakes)).collect();
    let mut draw = Draw::new(seed, &stakes);
    draw.heals = draw.heals.min(Instant::at(Duration::from_millis(2000)));
    let (table, stakes) = &tables()[draw.board];
    let terms = table.terms::<Mistaken>(Binding::Slot, Mistaken::FAST_ATTEMPT, None).unwrap();
    let start = table.cast::<Dispel>(Signatures::Seen).start;
    let start = Mistaken::start(mistake, stakes.clone(), start);
    let cast = Cast { start, world: None, vices: None, signatures: Signatures::Seen };
    table.play_on::<Mistaken>(seed, &draw, terms, cast).unwrap().outcome
}

/// What is found of mistakes, each with a seed that was found by trying. Without them nothing is found.
fn find(mistakes: &[(Mistake, u64, &str)]) {
    for (mistake, seed, words) in mistakes {
        let found = played(*mistake, *seed).expect_err("a mistake is found").to_string();
        assert!(found.contains(words), "{mistake:?}: {found}");
    }
    for seed in mistakes.iter().map(|(_, seed, _)| *seed).collect::<BTreeSet<u64>>() {
        let right = played(Mistake::Nothing, seed);
        assert!(right.is_ok(), "seed {seed}: {right:?}");
    }
}

#[test]
fn what_is_told_before_it_is_final_is_found() {
    find(&[
        (Mistake::IgnoresProposals, 1, "on the fast path"),
        (Mistake::ForgetsLastVote, 1, "on the fast path"),
        (Mistake::FinalizesAlone, 1, "on the slow path"),
        (Mistake::CountsOneAsAll(VoteKind::Auxiliary), 1, "on the slow path"),
    ]);
}

#[test]
fn who_contradicts_itself_or_slanders_is_found() {
    find(&[
        (Mistake::LosesVotes, 10, "which is honest: contradicts itself"),
        (Mistake::LosesBatches, 1, "which is honest: contradicts itself"),
        (Mistake::WritesLate, 3, "which is honest: contradicts itself"),
        (Mistake::AccusesWhoAsks, 1, "which is honest: asks"),
    ]);
}

#[test]
fn another_order_is_found() {
    find(&[
        (Mistake::NamesByItself, 1, "disagreement on Slot(1)"),
        (Mistake::OrdersFromItself, 1, "the transactions of one block differ"),
        (Mistake::OrdersTwice, 1, "is ordered again"),
        (Mistake::SwapsStages, 1, "slot 2 is final at seat 1 before slot 1"),
        (Mistake::SkipsStage, 1, "slot 4 is final at seat 1 before slot 3"),
    ]);
}

#[test]
fn what_leaves_parties_behind_is_found() {
    find(&[
        (Mistake::CountsOneAsAll(VoteKind::Echo), 3, "liveness: "),
        (Mistake::CountsOneAsAll(VoteKind::Ready), 11, "liveness: "),
        (Mistake::CountsOneAsAll(VoteKind::Estimate), 1, "liveness: "),
        (Mistake::BelievesOne, 10, "disagreement on Slot(2)"),
        (Mistake::AnswersNoRequest, 3, "liveness: "),
        (Mistake::AnswersNoStatus, 3, "liveness: "),
    ]);
}
