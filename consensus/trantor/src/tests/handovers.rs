//! Committees and keys that change while replicas are at different places.

use std::collections::BTreeSet;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::Slot;

use super::bench::{FOUR, Forger, ms, value, view};
use super::replicas::{configure, shared_key, sharing};
use super::service::{Net, again, order_faults, settings};
use super::{context, members};
use crate::certificate::Stage;
use crate::config::Replicas;
use crate::message::{Commit, Message, Vote};
use crate::replica::certifier::{Certifier, StakeCertifier};
use crate::replica::checkpoint::{CertifiedStatement, Statement};
use crate::replica::message::{CheckpointVote, ReplicaFault, ReplicaMessage};
use crate::replica::{ReplicaEffect, ReplicaInput};

fn hand_over(net: &mut Net, party: u32, certifier: Arc<dyn Certifier>) {
    net.input(party, ReplicaInput::Certifier(certifier));
}

fn wait_for_votes(net: &mut Net) {
    net.run("the epoch is over everywhere", |net| {
        net.nodes.values().all(|node| node.own.is_some()) && net.is_quiet()
    });
}

#[test]
fn a_party_that_gets_its_shares_after_the_end_of_the_epoch_votes_then() {
    let (key, again) = (sharing(0), sharing(0));
    let mut net = Net::with_certifiers(4, move |party| key(party, party < 2));
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    wait_for_votes(&mut net);
    assert_eq!(net.epochs(), [0; 4]);
    hand_over(&mut net, 2, again(2, true));
    net.run_to_epoch(2);
    assert_eq!(net.faults(), []);
}

#[test]
fn votes_with_shares_of_before_the_handover_are_cast_again_and_counted() {
    let (old, new) = (sharing(0), sharing(1));
    let mut net = Net::with_certifiers(4, move |party| old(party, true));
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    for party in [0, 1] {
        hand_over(&mut net, party, new(party, true));
    }
    wait_for_votes(&mut net);
    assert_eq!(net.epochs(), [0; 4], "two and two");
    hand_over(&mut net, 2, new(2, true));
    net.run("three have the new shares", |net| (0..3).all(|party| net.epochs()[party] > 0));
}

/// Party 0 at the end of the first epoch, with its own vote alone.
fn with_own_vote(certifiers: impl Fn(u32) -> Arc<dyn Certifier> + 'static) -> (Net, Statement) {
    let mut net = Net::with_certifiers(4, certifiers);
    net.tamper = Box::new(|_, to, message| match message {
        ReplicaMessage::Vote(_) | ReplicaMessage::Stable(_) if to == 0 => None,
        message => Some(message),
    });
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    net.run_to_own(0);
    let statement = net.nodes[&0].own.as_ref().unwrap().statement;
    (net, statement)
}

fn vote(net: &mut Net, from: u32, statement: Statement, vote: Vec<u8>) {
    let message = ReplicaMessage::Vote(Box::new(CheckpointVote { statement, vote }));
    net.input(0, ReplicaInput::Received { from: Party::new(from), message });
}

fn committee() -> Replicas {
    Replicas::new(&context(0), members(&FOUR)).unwrap()
}

#[test]
fn a_party_may_correct_its_vote_once_and_spoils_no_more_sums() {
    let sign = |party| StakeCertifier::new(again(party));
    let (mut net, statement) = with_own_vote(move |party| Arc::new(sign(party)));
    let good = |party| sign(party).vote(&committee(), &statement.to_bytes(&context(0))).unwrap();
    vote(&mut net, 1, statement, good(1));
    for junk in 0..9 {
        vote(&mut net, 3, statement, vec![junk]);
    }
    let epoch = 1;
    let fault = || (0, 3, ReplicaFault::BadVote { epoch });
    assert_eq!(net.faults(), [fault(), fault()]);
    // Another state is no correction, and an earlier epoch comes too late.
    let (mut net, statement) = with_own_vote(move |party| Arc::new(sign(party)));
    vote(&mut net, 1, statement, good(1));
    vote(&mut net, 3, Statement { root: [9; 32], ..statement }, vec![1]);
    vote(&mut net, 3, statement, good(3));
    vote(&mut net, 2, Statement { epoch: 2, ..statement }, vec![1]);
    vote(&mut net, 2, statement, good(2));
    assert_eq!((net.epochs()[0], net.faults()), (0, vec![]));
    // Nor does anybody take evidence back.
    let (mut net, statement) = with_own_vote(move |party| Arc::new(sign(party)));
    let wrong = Statement { root: [9; 32], ..statement };
    let signed = sign(3).vote(&committee(), &wrong.to_bytes(&context(0))).unwrap();
    vote(&mut net, 3, wrong, signed);
    vote(&mut net, 3, wrong, vec![1]);
    vote(&mut net, 1, statement, good(1));
    vote(&mut net, 2, statement, good(2));
    assert!(matches!(&net.faults()[..], [(0, 3, ReplicaFault::WrongState(_))]));
}

#[test]
fn a_vote_without_stake_spoils_nothing() {
    let stakes = [1, 1, 1, 0];
    let mut net = Net::new(4);
    net.tamper = Box::new(|_, to, message| match message {
        ReplicaMessage::Vote(_) | ReplicaMessage::Stable(_) if to == 0 => None,
        message => Some(message),
    });
    (0..4).for_each(|party| net.up(party, settings(&stakes)));
    net.run_to_own(0);
    let statement = net.nodes[&0].own.as_ref().unwrap().statement;
    let committee = Replicas::new(&context(0), members(&stakes)).unwrap();
    vote(&mut net, 3, statement, vec![1]);
    for party in [1, 2] {
        let bytes = statement.to_bytes(&context(0));
        let good = StakeCertifier::new(again(party)).vote(&committee, &bytes).unwrap();
        vote(&mut net, party, statement, good);
    }
    assert_eq!((net.epochs()[0], net.faults()), (1, vec![]));
}

#[test]
fn votes_that_the_old_key_refused_count_with_the_new_one() {
    let (old, new) = (sharing(0), sharing(1));
    let (mut net, statement) = with_own_vote(move |party| old(party, true));
    for party in [1, 2] {
        let bytes = statement.to_bytes(&context(0));
        let with_new = new(party, true).vote(&committee(), &bytes).unwrap();
        vote(&mut net, party, statement, with_new);
    }
    assert_eq!(net.epochs()[0], 0);
    hand_over(&mut net, 0, new(0, true));
    assert_eq!((net.epochs()[0], net.faults()), (1, vec![]), "who is ahead did no wrong");
}

/// Nor did one that has fallen behind, though its vote is for another state than the certified one.
#[test]
fn a_vote_with_shares_that_are_not_known_here_is_no_fault() {
    let (old, new) = (sharing(0), sharing(1));
    let (mut net, statement) = with_own_vote(move |party| new(party, true));
    let new = sharing(1);
    let sign = |certifier: Arc<dyn Certifier>, statement: Statement| {
        certifier.vote(&committee(), &statement.to_bytes(&context(0))).unwrap()
    };
    let wrong = Statement { root: [9; 32], ..statement };
    vote(&mut net, 3, wrong, sign(old(3, true), wrong));
    vote(&mut net, 1, statement, sign(new(1, true), statement));
    vote(&mut net, 2, statement, sign(new(2, true), statement));
    assert_eq!((net.epochs()[0], net.faults()), (1, vec![]));
}

#[test]
fn a_false_vote_that_names_this_sharing_is_a_fault() {
    let (first, again) = (sharing(0), sharing(0));
    let (mut net, statement) = with_own_vote(move |party| first(party, true));
    let sign = |party, statement: Statement| {
        again(party, true).vote(&committee(), &statement.to_bytes(&context(0))).unwrap()
    };
    let wrong = Statement { root: [9; 32], ..statement };
    vote(&mut net, 3, statement, sign(3, wrong));
    vote(&mut net, 1, statement, sign(1, statement));
    assert_eq!(
        (net.epochs()[0], net.faults()),
        (0, vec![(0, 3, ReplicaFault::BadVote { epoch: 1 })])
    );
    vote(&mut net, 2, statement, sign(2, statement));
    assert_eq!(net.epochs()[0], 1);
}

#[test]
fn votes_that_were_being_checked_with_the_old_key_at_the_handover_are_checked_again() {
    let (old, new) = (sharing(0), sharing(1));
    let (mut net, statement) = with_own_vote(move |party| old(party, true));
    net.jobs = Some(Vec::new());
    for party in [1, 2] {
        let bytes = statement.to_bytes(&context(0));
        let with_new = new(party, true).vote(&committee(), &bytes).unwrap();
        vote(&mut net, party, statement, with_new);
    }
    let jobs = net.jobs.take().unwrap();
    hand_over(&mut net, 0, new(0, true));
    for (_, job) in jobs {
        net.input(0, ReplicaInput::Checked(job.run()));
    }
    assert_eq!((net.epochs()[0], net.faults()), (1, vec![]));
}

#[test]
fn votes_are_corrected_with_each_key_that_is_handed_over() {
    let keys = [0, 1, 2].map(sharing);
    let first = sharing(0);
    let (mut net, statement) = with_own_vote(move |party| first(party, true));
    let bytes = statement.to_bytes(&context(0));
    let cast = |key: usize, party| keys[key](party, true).vote(&committee(), &bytes).unwrap();
    vote(&mut net, 1, statement, cast(0, 1));
    for key in [1, 2] {
        hand_over(&mut net, 0, keys[key](0, true));
        vote(&mut net, 1, statement, cast(key, 1));
    }
    vote(&mut net, 2, statement, cast(2, 2));
    assert_eq!((net.epochs()[0], net.faults()), (1, vec![]));
}

/// The committee changes with epoch 3, which party 0 alone has begun. What it says there reaches the others
/// before they begin it.
#[test]
fn what_is_said_in_the_next_committee_waits_until_it_begins() {
    let mut net = Net::new(4);
    net.tamper = Box::new(|_, to, message| match message {
        ReplicaMessage::Vote(vote) if to > 0 && vote.statement.epoch == 3 => None,
        ReplicaMessage::Stable(_) => None,
        message => Some(message),
    });
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    configure(&mut net, 0, &[2; 4]);
    net.run("party 0 has begun it", |net| net.epochs() == [3, 2, 2, 2] && net.is_quiet());
    let certified = net.nodes[&0].stable().unwrap().clone();
    for party in 1..4 {
        let message = ReplicaMessage::Stable(Box::new(certified.clone()));
        net.input(party, ReplicaInput::Received { from: Party::new(0), message });
    }
    net.run_to_epoch(4);
    let skipped: BTreeSet<Slot> = net
        .effects
        .iter()
        .filter_map(|(_, effect)| match effect {
            ReplicaEffect::Applied { slot, value: None } => Some(*slot),
            _ => None,
        })
        .collect();
    assert_eq!(skipped, BTreeSet::new());
    assert_eq!((net.faults(), order_faults(&net)), (vec![], vec![]));
}

/// Four replicas, of which party 3 hears of no certificate, and of no vote from epoch 3 on.
fn without_votes_from_epoch_3() -> Net {
    let mut net = Net::new(4);
    net.tamper = Box::new(|_, to, message| match &message {
        ReplicaMessage::Vote(vote) if vote.statement.epoch >= 3 && to == 3 => None,
        ReplicaMessage::Stable(_) if to == 3 => None,
        _ => Some(message),
    });
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    net
}

#[test]
fn what_waits_for_an_epoch_is_forgotten_if_a_state_of_a_later_one_is_taken() {
    let mut net = without_votes_from_epoch_3();
    configure(&mut net, 0, &[2; 4]);
    net.run("the others have gone on", |net| (0..3).all(|party| net.epochs()[party] == 6));
    assert!(!net.nodes[&3].early.is_empty());
    net.tamper = Box::new(|_, _, message| Some(message));
    net.run("it has the state", |net| net.restored(3) > 0);
    assert!(net.nodes[&3].early.is_empty());
}

/// Party 3 is at the end of epoch 2, with the state that was certified then. The others have begun epoch 4.
#[test]
fn a_party_that_votes_late_gets_the_certificate_of_its_own_state() {
    let mut net = without_votes_from_epoch_3();
    net.run("the others have gone on", |net| (0..3).all(|party| net.epochs()[party] == 4));
    net.down(2);
    net.tamper = Box::new(|_, _, message| Some(message));
    net.run_to_epoch(5);
    assert_eq!((net.restored(3), net.faults()), (0, vec![]));
}

/// Under a shared key a party verifies checkpoints of epochs in which it has no place yet.
#[test]
fn a_state_of_an_epoch_without_this_party_is_not_taken() {
    let key = shared_key();
    let mut net = Net::with_certifiers(5, move |party| key(party % 4));
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    net.run_to_epoch(2);
    let stable = net.nodes[&0].stable.latest().unwrap().clone();
    let epoch = stable.certified.statement.epoch;
    net.up(4, settings(&[1; 5]));
    let certified = ReplicaMessage::Stable(Box::new(stable.certified));
    let piece = ReplicaMessage::Piece(Box::new(stable.state.piece(epoch, 0).unwrap()));
    for message in [certified, piece] {
        net.input(4, ReplicaInput::Received { from: Party::new(0), message });
    }
    let refused = |(by, effect): &(u32, ReplicaEffect)| {
        *by == 4 && matches!(effect, ReplicaEffect::NotRestored(_))
    };
    assert!(net.effects.iter().any(refused));
    net.down(4);
    net.up(4, settings(&[1; 5]));
}

/// Parties 4 to 6 have the stake from epoch 3 on, and places from then on as well.
#[test]
fn parties_that_join_later_are_heard_as_far_as_their_committee_is_known() {
    let mut net = Net::new(7);
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    let say = |net: &mut Net, message: Message| {
        let committee = net.nodes[&0].seated_tag(3);
        let message = ReplicaMessage::Order { committee, message: Box::new(message) };
        net.input(0, ReplicaInput::Received { from: Party::new(4), message });
    };
    let vote = || Forger::new(&FOUR).vote(Stage::Prepare, 4, view(49, 0), value(1));
    net.run_to_epoch(0);
    say(&mut net, vote());
    configure(&mut net, 0, &[0, 0, 0, 1, 1, 1, 1]);
    net.run("epoch 2 has begun", |net| net.epochs()[0] == 2);
    assert!(net.nodes[&0].early.is_empty());
    let next = net.nodes[&0].ordering().next();
    (1..4).for_each(|party| net.down(party));
    let Message::Prepare(prepare) = vote() else { panic!("it is one") };
    let large = Message::Commit(Box::new(Commit { vote: prepare, partial: Some(vec![1]) }));
    let nowhere = Message::Prepare(Vote { view: view(0, 0), ..prepare });
    for message in [large, nowhere, Message::Request(Slot::new(49))] {
        say(&mut net, message);
    }
    assert_eq!(net.nodes[&0].early.values().map(Vec::len).sum::<usize>(), 0);
    say(&mut net, vote());
    assert_eq!(net.nodes[&0].early.values().map(Vec::len).collect::<Vec<_>>(), [1]);
    (0..99).for_each(|_| say(&mut net, vote()));
    assert_eq!(net.nodes[&0].early.values().map(Vec::len).collect::<Vec<_>>(), [64]);
    let _before = net.take_sent_to(4);
    say(&mut net, Message::Progress(next.after(100)));
    net.pass(ms(20));
    net.input(0, ReplicaInput::Tick);
    let asked = net.take_sent_to(4).into_iter();
    let asked = asked.filter(|one| match one {
        ReplicaMessage::Order { message, .. } => matches!(**message, Message::Request(_)),
        _ => false,
    });
    assert_eq!((asked.count(), order_faults(&net)), (1, vec![]));
    // It is given nothing before it has a place.
    let epoch = net.nodes[&0].stable().unwrap().statement.epoch;
    let message = ReplicaMessage::PieceRequest { epoch, first: 0, count: 1 };
    net.input(0, ReplicaInput::Received { from: Party::new(4), message });
    assert!(!net.take_sent_to(4).iter().any(|one| matches!(one, ReplicaMessage::Piece(_))));
    // One without a place in any committee is no peer, and nothing that it says is read.
    let certified = net.nodes[&0].stable().unwrap().clone();
    let long = CertifiedStatement { certificate: vec![0; 1 << 20], ..certified };
    let message = ReplicaMessage::Stable(Box::new(long));
    net.input(0, ReplicaInput::Received { from: Party::new(7), message });
    assert_eq!(net.faults(), []);
}
