//! Whole committees: how fast, and what they survive.

use std::time::Duration;

use prefinal_crypto_core::access::Party;

use super::net::{Net, constant, lossy};
use super::{Forger, at, ms, round};
use crate::block::{Block, Transaction};
use crate::fault::Fault;
use crate::message::{Message, Proposal};

const EQUAL_4: [u128; 4] = [1; 4];
const EQUAL_7: [u128; 7] = [1; 7];

#[test]
fn a_block_is_told_after_a_delay_prefinalized_after_two_and_final_after_three() {
    for stakes in [&EQUAL_4[..], &EQUAL_7[..], &[40, 25, 20, 15]] {
        let mut net = Net::new(stakes, 0, constant(ms(10))).start();
        net.run_for(ms(300));
        for log in &net.logs {
            // Each party leads sometimes, and has its own block at once.
            let told = |number: u64| log.proposed[&round(number)];
            assert!((1..=13).any(|number| told(number).0 == at((number - 1) * 20 + 10)));
            for number in 1..=13 {
                let proposed = (number - 1) * 20;
                assert!([at(proposed), at(proposed + 10)].contains(&told(number).0));
                let (prefinalized, block) = log.prefinalized[&round(number)];
                assert_eq!(told(number).1, block);
                let (finalized, of) = &log.finalized[&round(number)];
                assert_eq!(prefinalized, at(proposed + 20));
                assert_eq!(*finalized, at(proposed + 30));
                assert_eq!(of.as_ref().unwrap().id(net.committee.context()), block);
            }
            assert_eq!(log.accused, []);
        }
    }
}

#[test]
fn one_party_alone_is_a_committee() {
    let mut net = Net::new(&[5], 0, constant(ms(1)));
    net.crash_after = Some((0, 200));
    let mut net = net.start();
    net.run_for(ms(10));
    assert!(net.height(0) >= 10);
}

#[test]
fn a_large_holder_can_outvote_many_small_ones_but_not_without_a_quorum() {
    let stakes = [70, 5, 5, 5, 5, 5, 5];
    let mut net = Net::new(&stakes, 0, constant(ms(10))).start();
    for party in 1..6 {
        net.crash(party);
    }
    net.run_for(Duration::from_secs(60));
    assert!(net.all_reach(5), "75 of 100 go on");
    net.crash(0);
    net.restart(1);
    let before = net.height(6);
    net.run_for(Duration::from_secs(100));
    assert!(net.height(6) <= before + 2, "10 of 100 do not");
}

#[test]
fn transactions_are_final_once_and_in_one_order() {
    for seed in 0..2 {
        let mut net = Net::new(&EQUAL_4, seed, lossy(ms(30), 0)).start();
        for i in 0..40_u8 {
            net.submit(u32::from(i % 4), &[i; 100]);
            net.run_for(ms(17));
        }
        net.run_for(ms(1000));
        for party in 0..4 {
            assert!((0..40).all(|i| net.count(party, &[i; 100]) == 1), "seed {seed}");
        }
    }
}

#[test]
fn a_leader_that_is_down_costs_its_rounds_and_nothing_else() {
    for seed in 0..4 {
        let mut net = Net::new(&EQUAL_4, seed, lossy(ms(30), 0)).start();
        net.crash(2);
        net.submit(0, b"survives");
        net.run_for(Duration::from_secs(7));
        assert!(net.all_reach(20), "seed {seed}: {}", net.height(0));
        let log = &net.logs[0];
        for (round, (_, block)) in &log.finalized {
            assert!(block.is_some() || round.get() % 4 == 2, "seed {seed}: only its own rounds");
        }
        assert!(net.logs[0].finalized[&round(2)].1.is_none());
        assert_eq!(net.count(0, b"survives"), 1);
    }
}

#[test]
fn f_may_be_down_and_one_more_stops_everything_until_it_is_back() {
    let mut net = Net::new(&EQUAL_7, 0, lossy(ms(30), 0)).start();
    net.run_for(ms(300));
    net.crash(1);
    net.crash(5);
    let before = net.height(0);
    net.run_for(Duration::from_secs(6));
    assert!(net.all_reach(before + 10));
    net.crash(6);
    net.run_for(ms(100));
    let stopped = net.height(0);
    net.run_for(Duration::from_secs(20));
    assert_eq!(net.height(0), stopped);
    net.restart(6);
    net.run_for(Duration::from_secs(20));
    assert!(net.all_reach(stopped + 10));
}

#[test]
fn lost_messages_slow_the_chain_down_and_do_not_stop_it() {
    for seed in 0..2 {
        let stakes: &[u128] = if seed % 2 == 0 { &EQUAL_4 } else { &[5, 4, 3, 3, 2, 2, 1] };
        let percent = 10 + 10 * u32::try_from(seed % 2).unwrap();
        let mut net = Net::new(stakes, seed, lossy(ms(30), percent)).start();
        net.submit(1, b"through the storm");
        net.run_for(Duration::from_secs(15));
        assert!(net.all_reach(8), "seed {seed}: {}", net.height(0));
        for party in 0..net.size() {
            assert_eq!(net.count(party, b"through the storm"), 1, "seed {seed}");
            assert_eq!(net.logs[usize::try_from(party).unwrap()].accused, [], "seed {seed}");
        }
    }
}

#[test]
fn a_partition_heals() {
    for seed in 0..2 {
        // Three and one, then two and two, then whole.
        let mut net = Net::new(&EQUAL_4, seed, lossy(ms(30), 0)).start();
        net.run_for(ms(200));
        let apart = |side: fn(u32) -> bool| {
            let inner = lossy(ms(30), 0);
            move |rng: &mut _, now, from, to| {
                if side(from) == side(to) { inner(rng, now, from, to) } else { None }
            }
        };
        net.link = Box::new(apart(|party| party == 3));
        net.run_for(Duration::from_secs(6));
        let ahead = net.height(0);
        assert!(ahead > net.height(3) + 20, "seed {seed}");
        net.link = Box::new(apart(|party| party < 2));
        net.run_for(Duration::from_secs(5));
        net.link = lossy(ms(30), 0);
        net.run_for(Duration::from_secs(8));
        assert!(net.all_reach(ahead + 20), "seed {seed}: {} {}", ahead, net.height(3));
    }
}

#[test]
fn a_long_absence_is_fetched_in_pieces() {
    let mut net = Net::new(&EQUAL_4, 0, constant(ms(2))).start();
    net.run_for(ms(10));
    net.crash(3);
    // Timeouts in a quarter of the rounds; then far more blocks than one response may hold.
    net.run_for(Duration::from_secs(20));
    let ahead = net.height(0);
    assert!(ahead > 100, "{ahead}");
    net.restart(3);
    net.run_for(ms(600));
    assert!(net.height(3) >= ahead);
}

#[test]
fn a_crash_at_any_output_breaks_no_promise() {
    // The harness checks every promise against everything the party said in all its lives.
    for outputs in (0..48).step_by(3) {
        let mut net = Net::new(&EQUAL_4, outputs, lossy(ms(30), 5));
        net.crash_after = Some((1, usize::try_from(outputs).unwrap()));
        let mut net = net.start();
        net.run_for(ms(500));
        if !net.is_up(1) {
            net.restart(1);
        }
        net.run_for(ms(500));
        net.crash(1);
        net.restart(1);
        net.run_for(ms(2000));
        assert!(net.all_reach(4), "crash at output {outputs}");
    }
}

/// Sends one half of the parties another block of the same round.
fn two_faced(stakes: &'static [u128]) -> super::net::Rule {
    Box::new(move |from, to, message| {
        let Message::Proposal(proposal) = message else { return vec![message] };
        let Proposal { block, qc, tc, .. } = &*proposal;
        let parent = (block.parent_round(), block.parent());
        let payload = vec![Transaction::new(vec![7])];
        let other = Block::new(block.round(), parent, Party::new(from), payload);
        let other = Forger::new(stakes).proposal(&other, qc, tc.as_ref());
        match to % 3 {
            0 => vec![other],
            1 => vec![Message::Proposal(proposal)],
            _ => vec![Message::Proposal(proposal), other],
        }
    })
}

#[test]
fn a_two_faced_leader_is_convicted_and_splits_nobody() {
    for seed in 0..3 {
        let mut net = Net::new(&EQUAL_7, seed, lossy(ms(30), 0));
        net.rules.insert(1, two_faced(&EQUAL_7));
        net.rules.insert(4, two_faced(&EQUAL_7));
        let mut net = net.start();
        net.run_for(Duration::from_secs(5));
        assert!(net.all_reach(15), "seed {seed}");
        let convicted = |party: u32| {
            net.logs.iter().flat_map(|log| &log.accused).any(|(who, fault)| match fault {
                Fault::Equivocation(evidence) if who.get() == party => {
                    evidence.verify(&net.committee, *who).is_ok()
                }
                _ => false,
            })
        };
        assert!(convicted(1) && convicted(4), "seed {seed}");
        let accused = net.logs.iter().flat_map(|log| &log.accused);
        assert!(accused.clone().all(|(who, _)| [1, 4].contains(&who.get())), "seed {seed}");
    }
}

#[test]
fn garbage_for_votes_delays_nobody_for_long() {
    for seed in 0..3 {
        let mut net = Net::new(&EQUAL_7, seed, lossy(ms(30), 0));
        for party in [2, 3] {
            let rule = move |from: u32, _: u32, mut message: Message| {
                let forger = Forger::new(&EQUAL_7);
                let other = forger.sign(crate::Stage::Proposal, from, 99, forger.genesis().block);
                match &mut message {
                    Message::Vote(vote) => vote.signature = other,
                    Message::OrderVote(vote) => vote.signature = other,
                    Message::Timeout(timeout) => timeout.signature = other,
                    _ => {}
                }
                vec![message]
            };
            net.rules.insert(party, Box::new(rule));
        }
        let mut net = net.start();
        net.run_for(Duration::from_secs(2));
        assert!(net.all_reach(15), "seed {seed}: {}", net.height(0));
        let accused = net.logs.iter().flat_map(|log| &log.accused);
        assert!(accused.clone().all(|(who, _)| [2, 3].contains(&who.get())), "seed {seed}");
        assert!(accused.count() > 0);
    }
}

#[test]
fn silence_towards_some_is_not_contagious() {
    for seed in 0..4 {
        // Party 1 talks to party 0 only; what it proposes reaches the others by its certificate or
        // not at all.
        let mut net = Net::new(&EQUAL_4, seed, lossy(ms(30), 0));
        net.rules
            .insert(1, Box::new(|_, to, message| if to == 0 { vec![message] } else { vec![] }));
        let mut net = net.start();
        net.run_for(Duration::from_secs(8));
        assert!(net.all_reach(20), "seed {seed}");
    }
}
