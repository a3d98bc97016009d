//! Runs without liars.

use std::time::Duration;

use prefinal_engine::Pace;
use prefinal_malachite::{Message, NilOrVal, VoteType};
use prefinal_protocol::Instant;

use crate::net::{DELAY, Net, Observation, partial};

/// Of 100 a quorum is 67.
const STAKES: [u128; 5] = [40, 25, 15, 12, 8];
const ALL: [u32; 5] = [0, 1, 2, 3, 4];

#[test]
fn parties_of_unequal_stake_agree_on_blocks_and_transactions() {
    let mut net = Net::all(&STAKES);
    for party in ALL {
        net.submit(party, &[1, u8::try_from(party).unwrap()]);
    }
    net.run_until(&ALL, 12);
    let blocks = net.blocks();
    assert!((1..=12).all(|height| blocks.contains_key(&height)));
    for party in ALL {
        let mut ordered = Vec::new();
        for (_, seen) in net.of(party) {
            if let Observation::Finalized(_, _, transactions) = seen {
                ordered.extend(transactions.clone());
            }
        }
        ordered.sort();
        let all: Vec<Vec<u8>> = (0..5).map(|from| vec![1, from]).collect();
        assert_eq!(ordered, all, "each transaction once");
    }
    // Submitted once more, it is not ordered once more.
    net.submit(0, &[1, 0]);
    net.run_until(&ALL, 18);
    let again = net.of(0).iter().filter(|(_, seen)| {
        matches!(seen, Observation::Finalized(_, _, transactions) if transactions.contains(&vec![1, 0]))
    });
    assert_eq!(again.count(), 1);
}

#[test]
fn a_proposer_takes_its_time_and_nobody_gives_it_up() {
    let second = Duration::from_secs(1);
    let resting = Pace { pause: second, ..Pace::NONE };
    let due = Pace { period: second, ..Pace::NONE };
    for (pace, first) in [(resting, 1), (due, 0)] {
        let mut net = Net::new(&STAKES);
        net.pace = pace;
        ALL.iter().for_each(|party| net.boot(*party));
        net.run_until(&ALL, 6);
        for (at, seen) in ALL.iter().flat_map(|party| net.of(*party)) {
            match seen {
                Observation::Finalized(height, ..) => {
                    let proposed = Instant::at(second * u32::try_from(height - 1 + first).unwrap());
                    let late = at.since(proposed);
                    assert!(*at > proposed, "{height} is final at {at:?}");
                    assert!(pace == resting || late < DELAY * 5, "{height} comes {late:?} late");
                }
                Observation::Abandoned(height, round) => {
                    panic!("round {round} of {height} is given up")
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_party_that_decides_has_the_partials_of_a_quorum_already() {
    let mut net = Net::all(&STAKES);
    net.run_until(&ALL, 6);
    let blocks = net.blocks();
    for me in ALL {
        for height in 1..=6 {
            let finalized = |seen: &Observation| matches!(seen, Observation::Finalized(at, ..) if *at == height);
            let events = net.of(me);
            let end = events.iter().position(|(_, seen)| finalized(seen)).unwrap();
            let mut stake = 0;
            for (_, seen) in &events[..end] {
                match seen {
                    Observation::Prefinalized(at, round, block) if *at == height => {
                        assert_eq!((*round, *block), (0, blocks[&height]));
                        stake += STAKES[usize::try_from(me).unwrap()];
                    }
                    Observation::Carried(from, bytes) => {
                        let party = prefinal_protocol::Party::new(*from);
                        if *bytes == partial(party, height, blocks[&height]) {
                            stake += STAKES[usize::try_from(*from).unwrap()];
                        }
                    }
                    _ => {}
                }
            }
            assert!(stake >= 67, "{me} decides {height} with partials of {stake}");
        }
    }
}

#[test]
fn precommits_after_the_decision_still_hand_over_what_they_carry() {
    let mut net = Net::all(&STAKES);
    // There is a quorum without two parties that party 0 hears late.
    let (sender, held) = std::sync::mpsc::channel();
    net.rule = Box::new(move |from, to, message| {
        if from.get() >= 3 && to.get() == 0 && is_precommit(&message) {
            sender.send((from, to, message)).unwrap();
            return None;
        }
        Some(message)
    });
    net.run_until(&ALL, 3);
    let late: Vec<_> = held.try_iter().collect();
    assert!(late.len() >= 6);
    let before = carried_by(&net, 3);
    assert!(before.is_empty());
    for (from, to, message) in late {
        net.post(from, to, message.clone());
        net.post(from, to, message);
    }
    net.run_until(&ALL, 5);
    let blocks = net.blocks();
    for party in [3, 4] {
        let carried = carried_by(&net, party);
        let party = prefinal_protocol::Party::new(party);
        for height in 1..=2 {
            let expected = partial(party, height, blocks[&height]);
            assert_eq!(carried.iter().filter(|bytes| **bytes == expected).count(), 1, "once");
        }
    }
}

fn carried_by(net: &Net, party: u32) -> Vec<Vec<u8>> {
    let carried = net.of(0).iter().filter_map(|(_, seen)| match seen {
        Observation::Carried(from, bytes) if *from == party => Some(bytes.clone()),
        _ => None,
    });
    carried.collect()
}

fn is_precommit(message: &Message) -> bool {
    matches!(message, Message::Vote(vote) if vote.message.kind == VoteType::Precommit)
}

#[test]
fn a_silent_proposer_leads_to_a_later_round_that_releases_nothing() {
    let mut net = Net::new(&STAKES);
    // Party 1 would propose at height 1 in round 0.
    [0, 2, 3, 4].into_iter().for_each(|party| net.boot(party));
    net.run_until(&[0, 2, 3, 4], 1);
    for me in [0, 2, 3, 4] {
        let events = net.of(me);
        let at = |wanted: &dyn Fn(&Observation) -> bool| {
            events.iter().position(|(_, seen)| wanted(seen))
        };
        let abandoned = at(&|seen| matches!(seen, Observation::Abandoned(1, 0))).expect("says so");
        let nil = at(&|seen| {
            matches!(seen, Observation::Sent(Message::Vote(vote))
                if vote.message.kind == VoteType::Precommit && vote.message.value == NilOrVal::Nil)
        });
        assert!(nil.is_none_or(|nil| abandoned < nil), "before its nil precommit leaves");
        let later =
            at(&|seen| matches!(seen, Observation::Prefinalized(1, 1, _))).expect("in round 1");
        assert!(abandoned < later);
        let first: Vec<_> = events
            .iter()
            .take_while(|(_, seen)| !matches!(seen, Observation::Finalized(..)))
            .collect();
        assert!(!first.iter().any(|(_, seen)| matches!(
            seen,
            Observation::Carried(..) | Observation::Prefinalized(1, 0, _)
        )));
    }
    net.boot(1);
    net.run_until(&[0, 1, 2, 3, 4], 4);
    net.blocks();
}

#[test]
fn with_constant_delay_a_height_takes_three_delays() {
    let mut net = Net::all(&[1, 1, 1, 1]);
    net.run_until(&[0, 1, 2, 3], 5);
    let at = |height| {
        let events = net.of(0).iter();
        let mut ends = events
            .filter(|(_, seen)| matches!(seen, Observation::Finalized(h, ..) if *h == height));
        ends.next().map_or(Instant::START, |(at, _)| *at)
    };
    assert_eq!(at(1) - Instant::START, DELAY * 3);
    // Who proposes next hears of the decision last: it decides with the others or a delay later.
    assert!(at(5) - at(1) <= DELAY * 16);
}
