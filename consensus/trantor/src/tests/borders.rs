//! What is said about the next epoch before this one is over, and about this one after it.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Machine, Slot};

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

/// Party 3 loses these messages, until the others have reached a height. Then one of the others is gone, so
/// nothing goes on without party 3. The committee changes after height 48.
fn one_behind(lost: impl Fn(&ReplicaMessage) -> bool + 'static, reached: u64) -> Net {
    let mut net = Net::new(4);
    let held = Rc::new(Cell::new(true));
    let hold = Rc::clone(&held);
    net.tamper = Box::new(move |_, to, message| {
        let lost = lost(&message) || matches!(message, ReplicaMessage::Stable(_));
        if hold.get() && to == 3 && lost { None } else { Some(message) }
    });
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    configure(&mut net, 0, &[2; 4]);
    net.run("the others have gone on", |net| {
        net.nodes[&0].ordering().next() >= Slot::new(reached)
            && net.nodes[&1].ordering().next() >= Slot::new(reached)
    });
    net.down(2);
    held.set(false);
    net
}

#[test]
fn decisions_of_two_committees_in_one_answer_are_taken_as_far_as_the_committee_is_known() {
    let mut net = one_behind(|message| heights(message).iter().any(|slot| *slot >= 46), 50);
    assert!(net.nodes[&3].ordering().next() < Slot::new(48));
    net.run_to_epoch(5);
    assert_eq!((net.restored(3), net.faults(), order_faults(&net)), (0, vec![], vec![]));
}

#[test]
fn a_late_answer_about_an_epoch_with_another_committee_is_no_fault() {
    let mut net = Net::new(4);
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    configure(&mut net, 0, &[1, 1, 1, 1, 0, 0, 0, 0, 0]);
    net.run_to_epoch(2);
    net.run("a height is decided", |net| net.nodes[&0].ordering().next() > Slot::new(40));
    let engine = net.nodes[&0].ordering();
    let slot = Slot::new(40);
    let certificate = engine.decided[&slot].clone();
    let body = engine.bodies[&slot][&certificate.value].clone();
    let decision = Decision { certificate, body: Some(body) };
    net.run_to_epoch(3);
    // The signers of a batch are a list as long as the committee of then.
    let block = super::bench::body(&[b"x"]);
    for message in [Message::Response(vec![decision]), Message::BodyResponse(slot, block)] {
        let message = ReplicaMessage::Order { committee: [0; 8], message: Box::new(message) };
        net.input(3, ReplicaInput::Received { from: Party::new(0), message });
    }
    assert_eq!(order_faults(&net), Vec::<String>::new());
}

#[test]
fn a_party_that_lacks_a_block_which_nobody_keeps_gets_the_checkpoint() {
    let block = |message: &ReplicaMessage| match message {
        ReplicaMessage::Order { message, .. } => match &**message {
            Message::Proposal(proposal) => proposal.slot == Slot::new(47),
            Message::BodyResponse(..) => true,
            Message::Response(all) => all.iter().any(|one| one.body.is_some()),
            _ => false,
        },
        _ => false,
    };
    let mut net = one_behind(block, 50);
    let lagging = net.nodes[&3].ordering();
    assert_eq!((lagging.unreported.get(), lagging.next().get()), (47, 49));
    for party in [0, 1] {
        net.down(party);
        let records = net.records.remove(&party).unwrap();
        net.records.insert(party, ReplicaRecord::retain(records));
        net.up(party, settings(&FOUR));
    }
    net.run_to_epoch(5);
    assert_eq!(net.nodes[&3].app(), net.nodes[&0].app());
    assert_eq!((net.restored(3), net.faults(), order_faults(&net)), (1, vec![], vec![]));
}

#[test]
fn records_about_later_heights_are_retained_although_they_come_before_the_checkpoint() {
    let mut net = Net::new(4);
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    net.run_to_epoch(1);
    let all = net.records[&0].clone();
    let checkpoint = all.iter().find(|one| matches!(one, ReplicaRecord::Checkpoint(..))).unwrap();
    let decided = |slot| {
        let certificate = Forger::new(&FOUR).certificate(
            Stage::Commit,
            &[0, 1, 2],
            view(slot, 0),
            super::bench::value(1),
        );
        ReplicaRecord::Order(Record::Decided(Box::new(certificate)))
    };
    let body = |slot| {
        let slot = Slot::new(slot);
        ReplicaRecord::Order(Record::Body { slot, body: Body::default() })
    };
    let batch = |until| {
        let transactions = vec![crate::block::Transaction::new(vec![1])];
        let batch = crate::batch::Batch::new(Party::new(1), Slot::new(until), transactions);
        ReplicaRecord::Order(Record::Batch(batch))
    };
    let (old, new) = ([decided(16), body(16), batch(16)], [decided(17), body(17), batch(17)]);
    let before = old.iter().chain(&new).cloned();
    let log: Vec<ReplicaRecord> = before.chain([checkpoint.clone()]).collect();
    let kept: Vec<ReplicaRecord> = new.iter().chain([checkpoint]).cloned().collect();
    assert!(ReplicaRecord::retain(log) == kept);
}

/// An engine under a replica, at the end of the first epoch.
fn at_the_end() -> Bench {
    let mut bench = Bench::new();
    bench.engine.retained = Some(Slot::new(1));
    bench.decide(1..=16);
    assert!(bench.engine.is_epoch_over());
    bench
}

#[test]
fn prepares_that_came_before_the_epoch_count_when_it_begins() {
    let mut bench = at_the_end();
    let value = bench.forger.value(17, &Body::default());
    bench.votes(Stage::Prepare, &[1, 2, 3], view(17, 0), value);
    let (committee, now) = (std::sync::Arc::clone(&bench.engine.committee), bench.now);
    let schedule = bench.engine.next_schedule(&committee);
    bench.engine.enter(now, committee, schedule, Slot::new(1));
    let outputs = bench.input(Input::Tick);
    assert_eq!(commits(&outputs).first().map(|(view, ..)| view.slot.get()), Some(17));
}

#[test]
fn batches_that_a_jump_leaves_behind_are_given_up_and_this_party_spreads_its_own_again() {
    let mut bench = at_the_end();
    bench.spread(&[b"of another"]);
    bench.input(Input::Submit(crate::block::Transaction::new(b"mine".to_vec())));
    bench.now = bench.now + super::bench::ms(20);
    bench.input(Input::Tick);
    let (committee, now) = (std::sync::Arc::clone(&bench.engine.committee), bench.now);
    let none = BTreeSet::new();
    let later = (0..40).fold(bench.engine.schedule().clone(), |one, _| one.next(&none, &committee));
    bench.engine.jump(now, committee, later, Ordered::default());
    let outputs = bench.input(Input::Tick);
    let spread: Vec<_> = sent(&outputs)
        .into_iter()
        .filter_map(|message| match message {
            Message::Batch(batch) => Some(batch.transactions()[0].bytes().to_vec()),
            _ => None,
        })
        .collect();
    assert_eq!(spread, [b"mine".to_vec()]);
    let whole = 4 * bench.engine.max_block_bytes;
    assert!(bench.engine.store.has_room(Party::new(1), whole), "its allowance is free again");
}

#[test]
fn a_batch_whose_acknowledgements_were_being_checked_at_a_jump_is_spread_again() {
    let mut bench = at_the_end();
    bench.input(Input::Submit(crate::block::Transaction::new(b"mine".to_vec())));
    bench.now = bench.now + super::bench::ms(20);
    bench.input(Input::Tick);
    let id = bench.engine.store.spreading.keys().next().copied().unwrap();
    let label = bench.engine.store.get(id).unwrap().label();
    let message = label.statement(&bench.engine.committee);
    let signature = super::secret(1).sign(crate::batch::BatchLabel::domain(), &message);
    let (from, message) = (Party::new(1), Message::Ack(label, signature));
    // Its job is running when the jump comes.
    Machine::handle(&mut bench.engine, bench.now, Input::Received { from, message });
    assert!(bench.engine.store.spreading[&id].checking);
    let (committee, now) = (std::sync::Arc::clone(&bench.engine.committee), bench.now);
    let later = bench.engine.next_schedule(&committee).next(&BTreeSet::new(), &committee);
    bench.engine.jump(now, committee, later, Ordered::default());
    bench.input(Input::Tick);
    bench.receive(1, Message::Ack(label, signature));
    assert_eq!(bench.engine.store.own(Party::new(0)).len(), 1);
}
