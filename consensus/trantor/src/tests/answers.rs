//! What a replica tells peers of the history of the committee, and what that costs.

use super::bench::{FOUR, ms};
use super::histories::{asking, certified_in, change, committee, tell};
use super::service::{Net, seats};
use crate::replica::history::{Change, MAX_CHANGES};
use crate::replica::message::{ReplicaMessage, tag_of};

/// What party 2 is told that asks for what came after a committee.
fn answers(net: &mut Net, committee: [u8; 8]) -> Vec<Vec<Change>> {
    let _before = net.take_sent_to(2);
    tell(net, 2, ReplicaMessage::ChangesRequest { committee });
    let answers = net.take_sent_to(2).into_iter();
    let answer = |message| match message {
        ReplicaMessage::Changes(changes) => Some(changes),
        _ => None,
    };
    answers.filter_map(answer).collect()
}

#[test]
fn a_peer_is_told_the_changes_behind_the_committee_that_it_knows_within_a_limit() {
    let mut net = asking();
    let plans: Vec<[u128; 4]> = (1..=20).map(|stake| [stake, 1, 1, 1]).collect();
    let chain: Vec<Change> = (1..)
        .zip(plans.windows(2))
        .map(|(at, pair)| certified_in([(at * 4, seats(&pair[1]))].into(), at * 4, &pair[0]))
        .collect();
    for part in chain.chunks(MAX_CHANGES) {
        tell(&mut net, 1, ReplicaMessage::Changes(part.to_vec()));
    }
    assert_eq!(net.nodes[&3].history.changes().len(), 19);
    net.pass(ms(500));
    let mut ask = |committee| answers(&mut net, committee);
    assert_eq!(ask(tag_of(&committee(&plans[0]))), [chain[..16].to_vec()]);
    assert_eq!(ask(tag_of(&committee(&plans[10]))), [chain[10..].to_vec()]);
    assert_eq!(ask([0; 8]), [chain[..16].to_vec()]);
    assert_eq!(ask(tag_of(&committee(&plans[19]))), Vec::<Vec<Change>>::new());
    assert!((0..100).filter(|_| !ask([0; 8]).is_empty()).count() < 32);
}

#[test]
fn an_answer_is_no_larger_than_a_block_or_is_one_change() {
    let plan = |stake| [stake, 9, 9, 1, 1, 1, 1, 1, 1, 1];
    // Changes of half a block, and of more than a block.
    let long = |epoch, epochs, from: &[u128], to: &[u128]| {
        let next = seats(to);
        let configurations = (epoch..epoch + epochs).map(|at| (at, next.clone())).collect();
        certified_in(configurations, epoch, from)
    };
    let chain = [
        long(1000, 300, &FOUR, &plan(9)),
        long(2000, 300, &plan(9), &plan(10)),
        long(3000, 700, &plan(10), &plan(11)),
    ];
    let mut net = asking();
    tell(&mut net, 1, ReplicaMessage::Changes(chain.to_vec()));
    for (known, answer) in [(FOUR.to_vec(), &chain[..2]), (plan(10).to_vec(), &chain[2..])] {
        net.pass(ms(500));
        assert_eq!(answers(&mut net, tag_of(&committee(&known))), [answer.to_vec()]);
    }
}

#[test]
fn a_change_costs_so_many_bytes_for_a_seat() {
    let bytes = |seats: usize| {
        let stakes = vec![1; seats];
        borsh::to_vec(&change(5, &FOUR, &stakes)).unwrap().len()
    };
    assert_eq!(bytes(9) - bytes(8), 2 * 160);
    assert!(bytes(4) < 8 * 160 + 256);
}
