//! What is said about the next epoch before this one is over, and about this one after it.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::Slot;

use super::bench::{Bench, FOUR, Forger, commits, sent, view};
use super::replicas::configure;
use super::service::{Net, order_faults, settings};
use crate::block::{Body, skipped};
use crate::certificate::Stage;
use crate::engine::Input;
use crate::message::{Decision, Message};
use crate::order::Ordered;
use crate::records::Record;
use crate::replica::message::ReplicaMessage;
use crate::replica::{ReplicaEffect, ReplicaInput, ReplicaRecord};

/// The heights that a message of the ordering decides, votes on or proposes.
fn heights(message: &ReplicaMessage) -> Vec<u64> {
    let ReplicaMessage::Order { message, .. } = message else { return Vec::new() };
    match &**message {
        Message::Proposal(proposal) => vec![proposal.slot.get()],
        Message::Prepare(vote) => vec![vote.view.slot.get()],
        Message::Commit(commit) => vec![commit.vote.view.slot.get()],
        Message::Response(all) => all.iter().map(|one| one.certificate.view.slot.get()).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_height_that_was_skipped_before_its_epoch_began_here_still_costs_its_leader_the_next_one() {
    let mut bench = Bench::new();
    bench.decide(1..=15);
    // The first height of the next epoch, which party 1 leads, before the last height of this one.
    bench.votes(Stage::Commit, &[1, 2, 3], view(17, 1), skipped(Slot::new(17)));
    bench.decide(16..=16);
    assert_eq!((bench.engine.schedule().epoch(), bench.engine.next().get()), (1, 18));
    bench.decide(18..=32);
    let leaders: BTreeSet<u32> =
        bench.engine.schedule().leaders().iter().map(|party| party.get()).collect();
    assert_eq!((bench.engine.schedule().epoch(), leaders), (2, [0, 2, 3].into()));
}

#[test]
fn what_is_decided_behind_the_epoch_waits_until_its_state_is_certified() {
    let mut net = Net::new(4);
    // Party 3 hears nothing of the epoch's last height, and of no checkpoint.
    let held = Rc::new(Cell::new(true));
    let hold = Rc::clone(&held);
    net.tamper = Box::new(move |_, to, message| {
        let lost = heights(&message).contains(&16) || matches!(message, ReplicaMessage::Stable(_));
        if hold.get() && to == 3 && lost { None } else { Some(message) }
    });
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    net.run("it has a block of the next epoch", |net| {
        net.nodes[&3].ordering().bodies.contains_key(&Slot::new(17))
    });
    assert_eq!(net.nodes[&3].ordering().next(), Slot::new(16));
    held.set(false);
    net.run_to_epoch(4);
    let by_three = net.effects.iter().filter(|(by, _)| *by == 3).map(|(_, effect)| effect);
    let order: Vec<&ReplicaEffect> = by_three
        .filter(|effect| match effect {
            ReplicaEffect::Applied { slot, .. } => slot.get() == 17,
            ReplicaEffect::Stable(statement) => statement.epoch == 1,
            _ => false,
        })
        .collect();
    assert!(matches!(&order[..], [ReplicaEffect::Stable(_), ReplicaEffect::Applied { .. }]));
    assert_eq!(net.nodes[&3].app(), net.nodes[&0].app());
    assert_eq!((net.restored(3), net.faults(), order_faults(&net)), (0, vec![], vec![]));
}
