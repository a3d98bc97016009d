//! Blocks with transactions that read the slot's random value.
use prefinal_execution::{Config, Delivery, Effect, Input, Part, Randomness, Role, Switches};

use crate::bench::{Bench, Job, certificate, certified, prefinalized, validator, value};
use crate::ledger::{Call, Entry, GENESIS, block, computed, draw, id, optimistic, pay};

const VALUE: Randomness = Randomness::new([9; 32]);

#[test]
fn the_head_runs_at_once_and_the_tail_when_order_and_value_are_here() {
    let mixed = block(1, GENESIS, 1, vec![draw(3), pay(1, 5)]);
    for value_first in [false, true] {
        let mut bench = Bench::new(validator(Switches::ON));
        bench.hold(Input::Proposed(mixed.clone()));
        let head = match bench.jobs.front() {
            Some(Job::Execute(job)) => job.part(),
            _ => panic!("no head"),
        };
        assert_eq!(head, Part::Head);
        while bench.work() {}
        // The order vote leaves, and there is nothing to vote for yet.
        bench.give(prefinalized(&mixed));
        assert!(bench.votes().is_empty() && optimistic(&bench.disk).is_empty());
        let mut inputs = [Input::Ordered(mixed.clone()), value(10, 9)];
        if value_first {
            inputs.reverse();
        }
        for input in inputs {
            assert!(bench.votes().is_empty(), "both are needed");
            bench.give(input);
        }
        let votes = bench.votes();
        assert_eq!(votes.len(), 1);
        assert_eq!(votes[0].claim.roots, computed(&[(&mixed, Some(VALUE))]));
        assert_eq!(votes[0].view, None, "the block is ordered");
        bench.give(certified(&mixed, votes[0].claim.roots));
        assert_eq!(bench.committed().len(), 1);
        let delivered = bench.said.iter().find_map(|said| match said {
            Effect::Deliver(delivery) => delivery.value,
            _ => None,
        });
        assert_eq!(delivered, Some(VALUE), "full nodes get the value");
    }
}

#[test]
fn a_block_that_reads_nothing_needs_no_value() {
    let plain = block(1, GENESIS, 1, vec![pay(1, 5)]);
    let mut bench = Bench::new(validator(Switches::ON));
    bench.give(Input::Proposed(plain.clone()));
    bench.give(prefinalized(&plain));
    assert_eq!(bench.votes().len(), 1, "with the order vote");
    assert!(bench.votes()[0].view.is_some());
}

/// A value of an unordered proposal's slot is of no use: another proposal of the slot may be ordered.
#[test]
fn a_proposal_that_is_not_ordered_never_sees_a_value() {
    let one = block(1, GENESIS, 1, vec![draw(3)]);
    let other = block(2, GENESIS, 1, vec![draw(4)]);
    let mut bench = Bench::new(validator(Switches::ON));
    bench.give(Input::Proposed(one.clone()));
    bench.give(Input::Proposed(other.clone()));
    bench.give(value(10, 9));
    assert!(bench.jobs.is_empty() && bench.votes().is_empty());
    bench.hold(Input::Ordered(other));
    let tails: Vec<_> = bench
        .jobs
        .iter()
        .map(|job| match job {
            Job::Execute(job) => (job.block().header.id, job.part()),
            Job::Store(_) => panic!("nothing is stored yet"),
        })
        .collect();
    assert_eq!(tails, [(id(2), Part::Tail)]);
}

/// A full node learns the order with the certificate, but the value before: it is at work meanwhile, and a
/// proposal that is not ordered after all leaves nothing.
#[test]
fn a_full_node_runs_the_tail_when_it_has_the_value() {
    let config = Config { role: Role::FullNode, ..validator(Switches::ON) };
    let [one, other] = [1, 2].map(|name| block(name, GENESIS, 1, vec![draw(name)]));
    let mut bench = Bench::new(config);
    bench.give(Input::Proposed(one.clone()));
    bench.give(Input::Proposed(other.clone()));
    bench.give(value(10, 9));
    assert_eq!(optimistic(&bench.disk), [id(1), id(2)].into());
    let roots = computed(&[(&other, Some(VALUE))]);
    let certified = certificate(other.header.height, id(2), roots);
    let delivery = Delivery { block: other, value: Some(VALUE), certified };
    bench.give(Input::Delivered(Box::new(delivery)));
    assert_eq!(bench.committed().len(), 1);
    assert!(optimistic(&bench.disk).is_empty());
    let calls = bench.disk.content().calls.clone();
    assert_eq!(calls[2..], [("certify", id(2)), ("revert", id(1))], "nothing is written again");
}

/// The children of a block with a tail build on its state, so they wait for it.
#[test]
fn a_child_waits_for_its_parents_tail() {
    let parent = block(1, GENESIS, 1, vec![draw(3)]);
    let child = block(2, id(1), 2, vec![pay(3, 1)]);
    let mut bench = Bench::new(validator(Switches::ON));
    bench.give(Input::Proposed(parent.clone()));
    bench.give(Input::Proposed(child.clone()));
    bench.give(Input::Ordered(parent.clone()));
    assert!(optimistic(&bench.disk).is_empty());
    bench.give(value(10, 9));
    assert_eq!(optimistic(&bench.disk), [id(1), id(2)].into());
    bench.give(Input::Ordered(child.clone()));
    let roots = computed(&[(&parent, Some(VALUE)), (&child, None)]);
    assert_eq!(bench.votes()[1].claim.roots, roots);
}

/// Attempts to look at the value and undo what follows from it. All of them fail in the same way, whatever
/// the value is, so nobody learns from an attempt what to try next.
#[test]
fn nobody_can_test_a_value_and_abort() {
    let attempts = [
        // From the head, where there is no value yet.
        Entry { call: Call::Draw { account: 1 }, declares: false },
        // From code that goes on behind the draw and could fail then.
        Entry { call: Call::Script(vec![Call::Draw { account: 1 }]), declares: true },
        Entry {
            call: Call::Script(vec![
                Call::Pay { account: 1, amount: 1 },
                Call::Draw { account: 1 },
                Call::DrawAtLeast { account: 1, least: 200 },
            ]),
            declares: true,
        },
        Entry { call: Call::DrawAtLeast { account: 1, least: 200 }, declares: true },
        Entry { call: Call::DrawAtLeast { account: 1, least: 200 }, declares: false },
    ];
    let outcome = |byte: u8| {
        let mut entries = attempts.to_vec();
        entries.push(draw(2));
        let mixed = block(1, GENESIS, 1, entries);
        let mut bench = Bench::new(validator(Switches::ON));
        bench.give(Input::Proposed(mixed.clone()));
        bench.give(Input::Ordered(mixed.clone()));
        bench.give(value(10, byte));
        let roots = bench.votes()[0].claim.roots;
        bench.give(certified(&mixed, roots));
        roots
    };
    let [low, high] = [outcome(0), outcome(255)];
    assert_eq!(low.receipts, high.receipts, "every attempt fails, whatever the value");
    assert_ne!(low.state, high.state, "the honest draw depends on it");
    let honest = |byte| {
        let drawn = block(1, GENESIS, 1, vec![draw(2)]);
        computed(&[(&drawn, Some(Randomness::new([byte; 32])))]).state
    };
    assert_eq!((low.state, high.state), (honest(0), honest(255)), "and leaves nothing behind");
}
