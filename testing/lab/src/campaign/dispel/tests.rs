//! One vice at a time, in an execution without accidents.

use super::super::calm::{self, seats};
use super::*;
use crate::check::Summary;

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
