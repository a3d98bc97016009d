//! One lie at a time, in an execution without accidents.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use prefinal_sim::Network;

use super::*;
use crate::campaign::tally::Tally;
use crate::check::Summary;

/// The parties of a board of these stakes.
fn company(stakes: &[u128]) -> Company {
    let stakes = stakes.iter().map(|one| Stake::new(*one)).collect();
    Company::new(&Layout::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap()).unwrap()
}

/// Equal links, nothing but what the scenario says; party 0 is faulty.
fn draw() -> Draw {
    Draw {
        board: 0,
        vices: [(Party::new(0), Vec::new())].into(),
        network: Network::constant(Duration::from_millis(30)),
        lossy: false,
        partitions: 0,
        crashes: Vec::new(),
        stumbles: Vec::new(),
        leaps: Vec::new(),
        heals: Instant::at(Duration::from_secs(5)),
    }
}

/// The second party sleeps.
fn scenario(company: &Company, lies: &[Lie]) -> Scenario {
    let configuration = company.configurations[0].clone();
    let at = |ms| Instant::at(Duration::from_millis(ms));
    Scenario {
        settings: Settings { configuration, config_offset: 1, retained_epochs: 0 },
        changes: Vec::new(),
        sleeper: Some((Seat::new(1), at(500))),
        values: vec![(Seat::new(2), at(100), 80_000), (Seat::new(3), at(200), 80_000)],
        lies: Some(lies.to_vec()),
    }
}

fn outcome(company: &Company, scenario: &Scenario) -> (Tally, Summary) {
    let played = play_as(1, Signatures::Seen, &draw(), company, scenario).unwrap();
    (played.tally, played.outcome.unwrap())
}

#[test]
fn a_party_that_slept_takes_the_state_of_others_whatever_one_says_of_it() {
    // Without the liar and the sleeper there is a quorum, so the others go on meanwhile.
    let company = company(&[1; 7]);
    for (lie, told, found) in [
        (Lie::Pieces, Kind::FalsePiece, Some(Kind::FoundPiece)),
        (Lie::Silence, Kind::AnswerWithheld, None),
        (Lie::State, Kind::FalseState, Some(Kind::FoundState)),
        (Lie::TwoStates, Kind::FalseState, Some(Kind::FoundState)),
        (Lie::BadVote, Kind::BadSignature, Some(Kind::FoundSignature)),
        (Lie::Checkpoints, Kind::FalseCheckpoint, Some(Kind::FoundForgery)),
    ] {
        let (tally, summary) = outcome(&company, &scenario(&company, &[lie]));
        assert!(tally.count(told).times > 0, "{lie:?}: {tally:?}");
        assert!(tally.count(Kind::Restored).times > 0, "{lie:?}: {tally:?}");
        if let Some(found) = found {
            assert_eq!(tally.count(found).times, 1, "{lie:?}: {tally:?}");
        }
        assert!(summary.slots > 60, "{lie:?}: {summary:?}");
    }
}

#[test]
fn a_newcomer_takes_the_place_of_a_founder_that_comes_back() {
    let company = company(&[1; 4]);
    let mut scenario = scenario(&company, &[]);
    scenario.sleeper = None;
    let later = company.configurations.iter().skip(1).cloned();
    let at = |number| Instant::at(Duration::from_millis(1200) * number);
    scenario.changes = (0..).map(at).zip(later).collect();
    let (tally, summary) = outcome(&company, &scenario);
    assert_eq!(tally.count(Kind::Change).times, 2);
    // The newcomer.
    assert!(tally.count(Kind::Restored).times > 0, "{tally:?}");
    assert!(summary.slots > 60, "{summary:?}");
}

#[test]
fn an_execution_is_the_same_again_and_with_signatures_on_the_curve() {
    let company = company(&[3, 2, 2, 2, 1]);
    let stakes = [Company::stakes(
        &Layout::new([3, 2, 2, 2, 1].map(Stake::new).to_vec(), Algorithm::Fast, Ratio::FIVE_SIXTHS)
            .unwrap(),
    )];
    for seed in 0..2 {
        let draw = Draw::new(seed, &stakes);
        let play = |signatures| play(seed, signatures, &draw, &company).unwrap();
        let (seen, real) = (play(Signatures::Seen), play(Signatures::Real));
        assert_eq!(seen.fingerprint, real.fingerprint, "seed {seed}");
        assert_eq!((seen.outcome, seen.tally), (real.outcome, real.tally), "seed {seed}");
    }
}
