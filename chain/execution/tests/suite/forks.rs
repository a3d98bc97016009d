//! Several proposals at once: the ordered one goes on, the others leave no trace, and there are bounds.
use prefinal_execution::{BlockId, Committed, Height, Input, Refusal, Switches, Unkept};

use crate::bench::{Bench, Block, Job, all_switches, certified, validator};
use crate::ledger::{GENESIS, block, computed, id, optimistic, pay};

fn proposals() -> [Block; 4] {
    let one = block(1, GENESIS, 1, vec![pay(1, 1)]);
    let other = block(2, GENESIS, 1, vec![pay(1, 100)]);
    let child_of_one = block(3, id(1), 2, vec![pay(2, 1)]);
    let child_of_other = block(4, id(2), 2, vec![pay(2, 100)]);
    [one, other, child_of_one, child_of_other]
}

fn unkept(bench: &Bench) -> Vec<(BlockId, Unkept)> {
    let kept = |refusal| match refusal {
        Refusal::Proposal { block, why } => (block, why),
        other => panic!("{other}"),
    };
    bench.refusals().into_iter().map(kept).collect()
}

#[test]
fn the_ordered_fork_goes_on_and_the_executed_one_is_reverted_children_first() {
    let [one, other, child_of_one, child_of_other] = proposals();
    let mut bench = Bench::new(validator(Switches::ON));
    for block in [&one, &child_of_one, &other, &child_of_other] {
        bench.give(Input::Proposed(block.clone()));
    }
    assert_eq!(optimistic(&bench.disk), [id(1), id(2), id(3), id(4)].into());
    bench.give(Input::Ordered(other.clone()));
    assert_eq!(optimistic(&bench.disk), [id(2), id(4)].into());
    let calls = bench.disk.content().calls.clone();
    assert_eq!(calls[calls.len() - 2..], [("revert", id(3)), ("revert", id(1))]);

    bench.give(certified(&other, computed(&[(&other, None)])));
    bench.give(Input::Ordered(child_of_other.clone()));
    let roots = computed(&[(&other, None), (&child_of_other, None)]);
    bench.give(certified(&child_of_other, roots));
    let last = Committed { height: Height::new(2), block: id(4), roots };
    assert_eq!(bench.committed().last(), Some(&last));
    assert!(optimistic(&bench.disk).is_empty());
    assert_eq!(bench.votes().len(), 2, "no vote for what was not ordered");
}

#[test]
fn what_builds_on_a_lost_fork_is_lost_with_it() {
    let [one, other, child_of_one, _] = proposals();
    let mut bench = Bench::new(validator(Switches::ON));
    let grandchild = block(5, id(3), 3, vec![pay(5, 5)]);
    for block in [&one, &child_of_one, &grandchild, &other] {
        bench.give(Input::Proposed(block.clone()));
    }
    assert_eq!(optimistic(&bench.disk), [id(1), id(2), id(3), id(5)].into());
    bench.give(Input::Ordered(other));
    assert_eq!(optimistic(&bench.disk), [id(2)].into());
}

/// Children of blocks that never arrived, at a height where another block's children come next.
#[test]
fn children_of_unknown_blocks_give_up_their_room_when_the_height_is_ordered() {
    let config = validator(Switches::ON);
    let [one, _, child_of_one, _] = proposals();
    let mut bench = Bench::new(config);
    for slot in 1..=u8::try_from(config.limits.proposals).unwrap() {
        let mut stray = block(100 + slot, id(99), 2, vec![]);
        stray.header.slot = prefinal_protocol::Slot::new(slot.into());
        bench.give(Input::Proposed(stray));
    }
    bench.give(Input::Ordered(one));
    bench.give(Input::Proposed(child_of_one));
    assert_eq!(unkept(&bench), []);
}

#[test]
fn a_block_that_is_being_written_is_reverted_when_it_is_written() {
    let [one, other, ..] = proposals();
    let mut bench = Bench::new(validator(Switches::ON));
    bench.hold(Input::Proposed(one));
    assert!(bench.work(), "it is executed");
    assert!(matches!(bench.jobs.front(), Some(Job::Store(_))), "and being written");
    let write = bench.jobs.pop_front().unwrap();
    bench.give(Input::Ordered(other));
    assert_eq!(optimistic(&bench.disk), [id(2)].into());
    bench.jobs.push_back(write);
    while bench.work() {}
    assert_eq!(optimistic(&bench.disk), [id(2)].into());
    assert_eq!(bench.disk.content().calls.last(), Some(&("revert", id(1))));
}

fn stores(bench: &Bench) -> usize {
    bench.jobs.iter().filter(|job| matches!(job, Job::Store(_))).count()
}

#[test]
fn a_block_is_written_after_its_parent() {
    let [one, _, child_of_one, _] = proposals();
    let mut bench = Bench::new(validator(Switches::ON));
    bench.hold(Input::Proposed(one));
    bench.hold(Input::Proposed(child_of_one));
    assert!(bench.work(), "the parent is executed");
    let write = bench.jobs.pop_back().unwrap();
    assert!(matches!(write, Job::Store(_)), "and being written");
    assert!(bench.work(), "the child is executed");
    assert_eq!(stores(&bench), 0, "and not written yet");
    bench.jobs.push_back(write);
    while bench.work() {}
    assert_eq!(optimistic(&bench.disk), [id(1), id(3)].into());
}

/// A proposal made room and is ordered after all, while the store is still about to forget it.
#[test]
fn a_block_that_comes_back_is_written_after_its_revert() {
    let config = validator(Switches::ON);
    let [one, ..] = proposals();
    let mut bench = Bench::new(config);
    bench.give(Input::Proposed(one.clone()));
    let most = u8::try_from(config.limits.proposals).unwrap();
    for slot in 1..=most {
        let mut earlier = block(100 + slot, id(99), 2, vec![]);
        earlier.header.slot = prefinal_protocol::Slot::new(slot.into());
        bench.hold(Input::Proposed(earlier));
    }
    assert_eq!(unkept(&bench), [(id(1), Unkept::Evicted)]);
    let revert = bench.jobs.pop_front().unwrap();
    bench.hold(Input::Ordered(one.clone()));
    assert!(bench.work(), "it is executed again");
    assert_eq!(stores(&bench), 0);
    bench.give(certified(&one, computed(&[(&one, None)])));
    assert_eq!(stores(&bench), 0);
    bench.jobs.push_back(revert);
    while bench.work() {}
    assert_eq!(bench.committed().len(), 1);
    assert!(optimistic(&bench.disk).is_empty());
}

/// In every setting all nodes come to the same chain, whatever was proposed beside it.
#[test]
fn every_setting_commits_the_ordered_chain() {
    for switches in all_switches() {
        let [one, other, child_of_one, child_of_other] = proposals();
        let mut bench = Bench::new(validator(switches));
        for block in [&child_of_other, &one, &child_of_one, &other] {
            bench.give(Input::Proposed(block.clone()));
        }
        let chain = [(&one, None), (&child_of_one, None)];
        for (length, (block, _)) in (1..).zip(&chain) {
            bench.give(Input::Ordered((*block).clone()));
            bench.give(certified(block, computed(&chain[..length])));
        }
        assert_eq!(bench.committed().len(), 2, "{switches:?}");
        assert_eq!(bench.disk.content().committed.block, id(3));
        assert!(optimistic(&bench.disk).is_empty(), "{switches:?}");
        assert_eq!(bench.jobs.len(), 0);
        let calls = bench.disk.content().calls.clone();
        let early = calls.iter().any(|(_, block)| *block == id(2));
        assert_eq!(early, switches.opt_execute && switches.opt_commit, "{switches:?}");
    }
}

/// A leader sends thousands of proposals, with and without parents. What is kept is bounded, and the
/// proposal that is ordered in the end is executed all the same.
#[test]
fn what_somebody_makes_up_is_bounded() {
    let config = validator(Switches::ON);
    let mut bench = Bench::new(config);
    let mut jobs = 0;
    for number in 0..5_000_u64 {
        let name = BlockId::new(prefixed(number));
        let height = 1 + number % 20;
        let parent = if height == 1 { GENESIS } else { BlockId::new([0xee; 32]) };
        let mut made_up = block(0, parent, height, vec![pay(1, number)]);
        made_up.header.id = name;
        made_up.header.slot = prefinal_protocol::Slot::new(1 + number % 1_000);
        bench.hold(Input::Proposed(made_up));
        jobs = jobs.max(bench.jobs.len());
    }
    let whys: Vec<_> = unkept(&bench).into_iter().map(|(_, why)| why).collect();
    assert!(jobs <= config.limits.proposals, "{jobs} blocks were executed at once");
    assert!(whys.iter().any(|why| matches!(why, Unkept::TooFar { .. })));
    assert!(whys.contains(&Unkept::Room));
    assert!(whys.contains(&Unkept::Evicted) || whys.len() > 4_900);
    assert!(whys.len() >= 5_000 - config.limits.proposals);

    let ordered = block(1, GENESIS, 1, vec![pay(1, 1)]);
    bench.give(Input::Ordered(ordered.clone()));
    bench.give(certified(&ordered, computed(&[(&ordered, None)])));
    assert_eq!(bench.committed().len(), 1);
}

fn prefixed(number: u64) -> [u8; 32] {
    let mut name = [0xff; 32];
    name[..8].copy_from_slice(&number.to_be_bytes());
    name
}

#[test]
fn proposals_for_later_slots_make_room_for_one_of_the_present() {
    let config = validator(Switches::ON);
    let most = u8::try_from(config.limits.proposals).unwrap();
    let mut bench = Bench::new(config);
    for number in 0..most {
        bench.give(Input::Proposed(block(100 + number, id(99), 2 + u64::from(number), vec![])));
    }
    assert!(unkept(&bench).is_empty());
    let present = block(1, GENESIS, 1, vec![pay(1, 1)]);
    bench.give(Input::Proposed(present));
    assert_eq!(unkept(&bench), [(id(100 + most - 1), Unkept::Evicted)]);
    assert_eq!(optimistic(&bench.disk), [id(1)].into(), "it is executed and written");
    bench.give(Input::Proposed(block(90, id(99), 16, vec![])));
    assert_eq!(unkept(&bench).last(), Some(&(id(90), Unkept::Room)));
}

#[test]
fn bytes_and_forks_of_one_slot_are_bounded() {
    let mut bench = Bench::new(validator(Switches::ON));
    let big = vec![pay(1, 1); 900];
    assert!(block(1, GENESIS, 1, big.clone()).bytes() > bench.config.limits.bytes / 2);
    bench.give(Input::Proposed(block(1, GENESIS, 1, big.clone())));
    bench.give(Input::Proposed(block(2, GENESIS, 1, big)));
    assert_eq!(unkept(&bench), [(id(2), Unkept::Room)]);

    let mut bench = Bench::new(validator(Switches::ON));
    for name in 1..=3 {
        bench.give(Input::Proposed(block(name, GENESIS, 1, vec![])));
    }
    let why = Unkept::Forks { slot: prefinal_protocol::Slot::new(10), most: 2 };
    assert_eq!(unkept(&bench), [(id(3), why)]);
}

#[test]
fn heights_are_checked_against_parents_and_what_is_ordered() {
    let mut bench = Bench::new(validator(Switches::ON));
    let [one, other, child_of_one, child_of_other] = proposals();
    bench.give(Input::Proposed(one.clone()));
    bench.give(Input::Proposed(block(5, id(1), 3, vec![])));
    bench.give(Input::Proposed(block(6, GENESIS, 2, vec![])));
    let parent = |height| Height::new(height);
    assert_eq!(
        unkept(&bench),
        [
            (id(5), Unkept::Height { parent: parent(1), got: parent(3) }),
            (id(6), Unkept::Height { parent: parent(0), got: parent(2) })
        ]
    );
    bench.give(Input::Ordered(one));
    bench.give(Input::Proposed(other));
    bench.give(Input::Proposed(child_of_other));
    let orphan = Unkept::Orphan { ordered: parent(1) };
    assert_eq!(unkept(&bench)[2..], [(id(2), orphan), (id(4), orphan)]);
    bench.give(Input::Proposed(child_of_one));
    assert_eq!(unkept(&bench).len(), 4);
}

#[test]
fn the_order_has_no_gap_and_no_second_block() {
    let [one, other, child_of_one, child_of_other] = proposals();
    let mut bench = Bench::new(validator(Switches::OFF));
    bench.give(Input::Ordered(child_of_one.clone()));
    let expected = Height::new(1);
    let gap = Refusal::Gap { block: id(3), got: Height::new(2), expected };
    assert_eq!(bench.refusals(), [gap]);
    bench.give(Input::Ordered(one.clone()));
    bench.give(Input::Ordered(one));
    bench.give(Input::Ordered(other));
    let height = Height::new(1);
    let second = Refusal::SecondOrder { height, first: id(1), second: id(2) };
    assert_eq!(bench.refusals()[1..], [second]);
    // Of the right height, and the child of another block.
    bench.give(Input::Ordered(child_of_other));
    assert_eq!(bench.refusals().len(), 3);
    bench.give(Input::Ordered(child_of_one));
    assert_eq!(bench.refusals().len(), 3);
}

#[test]
fn ordered_blocks_beyond_the_window_are_given_again() {
    let mut bench = Bench::new(validator(Switches::OFF));
    let window = u8::try_from(bench.config.limits.window).unwrap();
    let mut parent = GENESIS;
    let mut chain = Vec::new();
    for name in 1..=window + 1 {
        chain.push(block(name, parent, u64::from(name), vec![pay(1, 1)]));
        parent = id(name);
    }
    for block in &chain {
        bench.give(Input::Ordered(block.clone()));
    }
    let last = Height::new(u64::from(window));
    let beyond = Refusal::Beyond { block: parent, got: last.next(), last };
    assert_eq!(bench.refusals(), [beyond]);
    bench.give(certified(&chain[0], computed(&[(&chain[0], None)])));
    bench.give(Input::Ordered(chain.last().unwrap().clone()));
    assert_eq!(bench.refusals().len(), 1);
}

/// Written and certified, but not ordered here: a validator waits for its own engine.
#[test]
fn a_certificate_alone_commits_nothing() {
    let paid = block(1, GENESIS, 1, vec![pay(1, 5)]);
    let roots = computed(&[(&paid, None)]);
    let mut bench = Bench::new(validator(Switches::ON));
    bench.give(Input::Proposed(paid.clone()));
    bench.give(certified(&paid, roots));
    assert!(bench.committed().is_empty());
    assert!(bench.disk.content().chain.is_empty());
    bench.give(Input::Ordered(paid));
    assert_eq!(bench.committed().len(), 1);
}
