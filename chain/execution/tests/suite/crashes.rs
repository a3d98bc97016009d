//! The process dies between any two outputs, and goes on from its disk and its journal.
use std::collections::{BTreeMap, VecDeque};

use prefinal_execution::{BlockId, Input, Roots, Switches};

use crate::bench::{Bench, Block, Given, all_switches, certified, prefinalized, validator, value};
use crate::ledger::{GENESIS, block, computed, draw, id, optimistic, pay};

struct Story {
    chain: [Block; 3],
    roots: [Roots; 3],
    fork: Block,
}

fn story() -> Story {
    let chain = [
        block(1, GENESIS, 1, vec![pay(1, 5)]),
        block(2, id(1), 2, vec![draw(2), pay(1, 1)]),
        block(3, id(2), 3, vec![pay(3, 7)]),
    ];
    let fork = block(9, id(1), 2, vec![pay(9, 9)]);
    let drawn = Some(prefinal_execution::Randomness::new([4; 32]));
    let of = [(&chain[0], None), (&chain[1], drawn), (&chain[2], None)];
    let roots = [computed(&of[..1]), computed(&of[..2]), computed(&of)];
    Story { roots, fork, chain }
}

/// What happens to the node, in order. Certificates are given once their quorum can exist.
fn inputs(story: &Story) -> Vec<Given> {
    let Story { chain: [one, two, three], roots, fork } = story;
    vec![
        Input::Proposed(one.clone()),
        Input::Proposed(fork.clone()),
        prefinalized(one),
        Input::Proposed(two.clone()),
        Input::Ordered(one.clone()),
        prefinalized(two),
        certified(one, roots[0]),
        Input::Ordered(two.clone()),
        value(20, 4),
        Input::Proposed(three.clone()),
        certified(two, roots[1]),
        prefinalized(three),
        Input::Ordered(three.clone()),
        certified(three, roots[2]),
    ]
}

/// What a host gives again after a restart: what is ordered, with its values, and the certificates
/// that it has.
fn again(story: &Story, given: usize, bench: &Bench) -> Vec<Given> {
    let from = bench.disk.content().committed.height.get();
    let mut repeated = Vec::new();
    for (height, ordered, certificate) in [(1, 4, 6), (2, 7, 10), (3, 12, 13)] {
        let place = usize::try_from(height - 1).unwrap();
        if height > from && given > ordered {
            repeated.push(Input::Ordered(story.chain[place].clone()));
            if height == 2 {
                repeated.push(value(20, 4));
            }
            if given > certificate {
                repeated.push(certified(&story.chain[place], story.roots[place]));
            }
        }
    }
    repeated
}

/// Checks what must hold at every moment.
fn check(bench: &Bench, story: &Story, given: usize, votes: &mut BTreeMap<BlockId, Roots>) {
    for vote in bench.votes() {
        let before = *votes.entry(vote.claim.block).or_insert(vote.claim.roots);
        assert_eq!(before, vote.claim.roots, "the same vote again");
    }
    let ordered_and_certified = [6, 10, 13].iter().filter(|at| given > **at).count();
    let content = bench.disk.content();
    assert!(content.chain.len() <= ordered_and_certified, "committed is certified and ordered");
    for ((header, roots, _), place) in content.chain.iter().zip(0..) {
        assert_eq!((header.id, *roots), (story.chain[place].header.id, story.roots[place]));
    }
}

/// When the process dies.
#[derive(Clone, Copy, Debug)]
enum Death {
    /// Before this step; a step is an input or the end of a job.
    Step(usize),
    /// Before this step, and again two steps later.
    StepTwice(usize),
    /// Behind this output: what the same step would have said after it is never said.
    Output(usize),
}

/// Plays the story and kills the process. Returns whether the story was long enough for it.
fn play(switches: Switches, death: Death) -> bool {
    let story = story();
    let mut bench = Bench::new(validator(switches));
    if let Death::Output(number) = death {
        bench.life = Some(number + 1);
    }
    let (mut step, mut died) = (0, false);
    let mut votes = BTreeMap::new();
    for (given, input) in (1..).zip(inputs(&story)) {
        let (mut input, mut repeated) = (Some(input), VecDeque::new());
        loop {
            let dies = match death {
                Death::Step(number) => step == number,
                Death::StepTwice(number) => step == number || step == number + 2,
                Death::Output(_) => bench.is_dead(),
            };
            if dies {
                died = true;
                bench = bench.restart();
                let before = given - usize::from(input.is_some());
                repeated = again(&story, before, &bench).into();
            }
            step += 1;
            if let Some(next) = repeated.pop_front().or_else(|| input.take()) {
                bench.hold(next);
            } else if !bench.work() && !bench.is_dead() {
                break;
            }
            check(&bench, &story, given, &mut votes);
        }
    }
    let why = format!("{switches:?}, {death:?}");
    assert_eq!(bench.disk.content().committed.block, id(3), "{why}");
    assert!(optimistic(&bench.disk).is_empty(), "{why}");
    assert_eq!(votes.get(&id(9)), None, "{why}");
    assert!(bench.stop().is_none(), "{why}: {:?}", bench.stop());
    died
}

fn for_all_deaths(death: fn(usize) -> Death) {
    for switches in all_switches() {
        let deaths = (0..).take_while(|number| play(switches, death(*number))).count();
        assert!(deaths >= 15, "{switches:?}: {deaths} deaths");
    }
}

#[test]
fn a_crash_before_any_step_changes_no_vote_and_loses_nothing() {
    for_all_deaths(Death::Step);
}

#[test]
fn two_crashes_close_together_change_nothing_either() {
    for_all_deaths(Death::StepTwice);
}

#[test]
fn nor_does_a_crash_between_two_outputs_of_one_step() {
    for_all_deaths(Death::Output);
}

/// A vote's record is durable when the vote comes out, and the vote comes again.
#[test]
fn the_vote_of_before_comes_again() {
    let story = story();
    let mut bench = Bench::new(validator(Switches::ON));
    bench.give(Input::Proposed(story.chain[0].clone()));
    bench.give(prefinalized(&story.chain[0]));
    let first = bench.votes();
    assert_eq!(first.len(), 1);
    let mut bench = bench.restart();
    assert!(bench.votes().is_empty(), "not before the engine says that the block is ordered");
    bench.give(Input::Ordered(story.chain[0].clone()));
    assert_eq!(bench.votes()[0].claim, first[0].claim);
    let writes = bench.disk.content().calls.iter().filter(|(call, _)| *call == "write").count();
    assert_eq!(writes, 1, "what is on the disk is not executed and written again");
}

/// A crash between two reverts leaves a child on the disk without its parent, or a block without hope.
#[test]
fn what_hangs_on_nothing_is_reverted_at_the_start() {
    let mut bench = Bench::new(validator(Switches::ON));
    let fork = [block(8, GENESIS, 1, vec![pay(8, 8)]), block(9, id(8), 2, vec![pay(9, 9)])];
    let one = block(1, GENESIS, 1, vec![pay(1, 5)]);
    for block in [&fork[0], &fork[1], &one] {
        bench.give(Input::Proposed(block.clone()));
    }
    bench.hold(Input::Ordered(one.clone()));
    let roots = computed(&[(&one, None)]);
    // Committed, but neither of the two is reverted yet.
    bench.jobs.clear();
    bench.hold(certified(&one, roots));
    assert!(bench.work());
    assert_eq!(bench.disk.content().committed.block, id(1));
    assert_eq!(optimistic(&bench.disk), [id(8), id(9)].into());
    let mut bench = bench.restart();
    while bench.work() {}
    assert!(optimistic(&bench.disk).is_empty());
    let calls = bench.disk.content().calls.clone();
    assert_eq!(calls[calls.len() - 2..], [("revert", id(9)), ("revert", id(8))]);
}
