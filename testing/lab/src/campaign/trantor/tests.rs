//! One vice at a time, in an execution without accidents.
#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use super::super::calm::{self, DELAY, seats};
use super::*;
use crate::check::Summary;

/// What is done, seen and found if party 0 of these does this, and then how many slots have values.
fn play(stakes: &[u128], vice: Vice) -> (Tally, Summary) {
    calm::play::<Trantor>(stakes, Duration::from_secs(4), vice)
}

#[test]
fn a_leader_that_proposes_late_is_not_given_up_and_one_that_is_too_late_is() {
    let late = |late| play(&[1; 4], Vice::Straggle { late }).0;
    let tally = late(ROUND - DELAY * 5);
    assert!(tally.count(Kind::LateProposal).times > 10, "{tally:?}");
    assert_eq!(tally.count(Kind::GaveUp).times, 0, "{tally:?}");
    assert!(late(ROUND + DELAY).count(Kind::GaveUp).times > 0);
}

#[test]
fn a_leader_that_shows_two_blocks_is_convicted_if_one_party_sees_both() {
    for (both, votes) in [(true, true), (true, false), (false, true), (false, false)] {
        let (tally, _) = play(&[1; 4], Vice::Equivocate { fooled: seats(&[1]), both, votes });
        assert!(tally.count(Kind::Equivocation).times > 0, "{tally:?}");
        assert_eq!(tally.count(Kind::FoundContradiction).times, u64::from(both), "{tally:?}");
    }
}

/// Each for itself, so that each check is missed.
#[test]
fn false_certificates_are_found() {
    for flaw in FLAWS {
        let found = match flaw {
            Flaw::Stake => Kind::FoundMalformed,
            Flaw::Signature | Flaw::Statement => Kind::FoundForgery,
        };
        let views = VIEWS.map(|of| (of, Vice::FalseVotes { of: vec![of], flaws: vec![flaw] }));
        let batch = (Certificate::Availability, Vice::FalseAvailability { flaws: vec![flaw] });
        for (certificate, vice) in views.into_iter().chain([batch]) {
            let (tally, _) = play(&[1; 4], vice);
            let kind = Kind::False(certificate, flaw);
            assert!(tally.count(kind).times > 0, "{kind}: {tally:?}");
            // Without accidents everybody has decided what a quorum has prepared, and looks at no proof of it.
            if (certificate, flaw) == (Certificate::Committed, Flaw::Statement) {
                continue;
            }
            assert_eq!(tally.count(found).times, 1, "{kind}: {tally:?}");
        }
    }
}

#[test]
fn bad_signatures_are_found() {
    let (tally, _) = play(&[1; 4], Vice::BadSignatures);
    assert!(tally.count(Kind::BadSignature).times > 10, "{tally:?}");
    assert_eq!(tally.count(Kind::FoundSignature).times, 1, "{tally:?}");
    // The others are a quorum, and each signature is found at once.
    assert_eq!(tally.count(Kind::GaveUp).times, 0, "{tally:?}");
}

/// Parties 0 and 1 of 3 that see the block, with party 0 itself, are a quorum; nobody learns that.
#[test]
fn a_block_that_only_faulty_parties_see_prepared_is_skipped_and_their_proof_is_no_decision() {
    let (tally, summary) = play(&[1; 4], Vice::Conceal { confides: false });
    assert!(tally.count(Kind::Concealed).times > 0, "{tally:?}");
    let posing = Kind::False(Certificate::Committed, Flaw::Statement);
    assert!(tally.count(posing).times > 0, "{tally:?}");
    assert_eq!(tally.count(Kind::FoundForgery).times, 1, "{tally:?}");
    assert!(tally.count(Kind::GaveUp).times > 0 && summary.slots > 10, "{tally:?}");
    let (tally, _) = play(&[1; 4], Vice::Conceal { confides: true });
    assert!(tally.count(Kind::GaveUp).times > 0, "{tally:?}");
}

/// Party 0 gives its batches to party 1 alone: that is more than a third of the stake. All others get them
/// from party 1.
#[test]
fn batches_that_one_honest_party_has_reach_everybody() {
    let (tally, summary) = play(&[1; 4], Vice::Hoard { to: seats(&[1]) });
    assert!(tally.count(Kind::BatchWithheld).times > 0, "{tally:?}");
    assert!(summary.slots > 20, "{summary:?}");
}
