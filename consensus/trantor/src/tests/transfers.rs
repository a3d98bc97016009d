//! State transfer to replicas that fell behind, from peers of which some lie.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::Slot;

use super::bench::{FOUR, ms, value};
use super::replicas::shared_key;
use super::service::{Net, again, order_faults, put, settings, start};
use super::{context, members};
use crate::batch::BatchId;
use crate::config::Replicas;
use crate::message::{BodyRequest, Message};
use crate::replica::certifier::{Certifier, StakeCertifier};
use crate::replica::checkpoint::{CertifiedStatement, PIECE, Piece, PieceError, Statement};
use crate::replica::contents::RestoreFailure;
use crate::replica::lease::StoredCheckpoint;
use crate::replica::message::{ReplicaFault, ReplicaMessage};
use crate::replica::{ReplicaEffect, ReplicaInput, ReplicaRecord, Settings, StartError};

/// Three of four replicas, far ahead of the fourth, with a state of several pieces.
fn three_ahead(mut net: Net) -> Net {
    (0..3).for_each(|party| net.up(party, settings(&FOUR)));
    for number in 0..4 {
        let value = vec![u8::try_from(number).unwrap(); PIECE - 100];
        net.input(1, ReplicaInput::Submit(put(number, &format!("key {number}"), &value)));
    }
    net.run("all is carried out", |net| net.nodes.values().all(|node| node.app().applied() == 4));
    net.run_to_epoch(net.epochs()[0] + 3);
    net
}

fn come_back(net: &mut Net) {
    net.up(3, settings(&FOUR));
    net.run("it has the state", |net| net.restored(3) > 0);
    net.run_to_epoch(net.epochs()[0] + 2);
    assert_eq!(net.nodes[&3].app(), net.nodes[&0].app());
    assert_eq!(net.nodes[&3].app().get("key 2").map(<[u8]>::len), Some(PIECE - 100));
}

#[test]
fn a_replica_that_comes_back_after_garbage_collection_restores_and_goes_on() {
    let mut net = three_ahead(Net::new(4));
    let first = net.nodes[&0].ordering().decided.keys().next().copied().unwrap();
    assert!(first > Slot::new(17), "the first epochs are forgotten: {first}");
    assert!(net.nodes[&0].stable.iter().count() <= 2);
    come_back(&mut net);
    // It is needed from now on.
    net.down(0);
    let epoch = net.epochs()[0];
    net.run_to_epoch(epoch + 2);
    assert_eq!((net.faults(), order_faults(&net)), (vec![], vec![]));
}

#[test]
fn a_short_absence_needs_no_transfer() {
    let mut net = Net::new(4);
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    net.run_to_epoch(2);
    net.down(3);
    let next = net.nodes[&0].ordering().next().after(6);
    net.run("some heights", |net| net.nodes[&0].ordering().next() >= next);
    net.up(3, settings(&FOUR));
    net.run_to_epoch(4);
    assert_eq!((net.restored(3), net.faults()), (0, vec![]));
}

#[test]
fn a_wrong_piece_is_refused_and_its_sender_accused_and_the_next_peer_asked() {
    let mut net = three_ahead(Net::new(4));
    // Two of three lie, each in another way; and a fourth of what is asked is lost.
    // Nothing is ordered meanwhile, or the state would be out of date before the time-outs are over.
    let frozen = Rc::new(Cell::new(true));
    let (freeze, mut count) = (Rc::clone(&frozen), 0);
    net.tamper = Box::new(move |from, _, message| match (from, message) {
        (_, ReplicaMessage::Order { message, .. }) if freeze.get() && message.is_signed() => None,
        (0, ReplicaMessage::Piece(mut piece)) => {
            piece.bytes[10] ^= 1;
            Some(ReplicaMessage::Piece(piece))
        }
        (1, ReplicaMessage::Piece(mut piece)) => {
            piece.bytes.push(0);
            Some(ReplicaMessage::Piece(piece))
        }
        (3, request @ ReplicaMessage::PieceRequest { .. }) => {
            count += 1;
            (count % 4 != 0).then_some(request)
        }
        (_, message) => Some(message),
    });
    net.up(3, settings(&FOUR));
    net.run("it has the state", |net| net.restored(3) > 0);
    frozen.set(false);
    net.run_to_epoch(net.epochs()[0] + 1);
    assert_eq!(net.nodes[&3].app(), net.nodes[&2].app());
    let faults = net.faults();
    let of = |party, wanted: fn(&PieceError) -> bool| {
        faults.iter().any(|(by, accused, fault)| {
            (*by, *accused) == (3, party)
                && matches!(fault, ReplicaFault::BadPiece { error, .. } if wanted(error))
        })
    };
    assert!(of(0, |error| matches!(error, PieceError::Root { .. })), "{faults:?}");
    assert!(of(1, |error| matches!(error, PieceError::Size { .. })), "{faults:?}");
    assert!(faults.iter().all(|(_, accused, _)| *accused != 2));
}

#[test]
fn a_state_is_refused_if_the_others_announce_configurations_further_ahead_or_less_far() {
    for own in [1, 3] {
        let mut net = three_ahead(Net::new(4));
        let other = || Settings { config_offset: own, ..settings(&FOUR) };
        let failure = RestoreFailure::Offset { own, others: 2 };
        net.up(3, other());
        let refused = |(party, effect): &(u32, ReplicaEffect)| {
            *party == 3 && matches!(effect, ReplicaEffect::NotRestored(why) if *why == failure)
        };
        net.run("it refuses", |net| net.effects.iter().any(refused));
        assert_eq!(net.restored(3), 0);
        // Neither does a replica go on from its own.
        let certifier = Arc::new(StakeCertifier::new(again(0)));
        let started = start(0, other(), certifier, net.records[&0].clone());
        assert_eq!(started.err(), Some(StartError::Restore(failure)));
    }
}

fn asked(net: &mut Net, from: u32, certified: CertifiedStatement) -> bool {
    let message = ReplicaMessage::Stable(Box::new(certified));
    net.input(3, ReplicaInput::Received { from: Party::new(from), message });
    net.nodes[&3].transfer.is_some()
}

/// The fourth replica alone with a forger, and the checkpoint that the others have.
fn alone() -> (Net, CertifiedStatement) {
    let mut net = three_ahead(Net::new(4));
    let certified = net.nodes[&0].stable().unwrap().clone();
    (0..3).for_each(|party| net.down(party));
    net.up(3, settings(&FOUR));
    (net, certified)
}

#[test]
fn a_forged_certificate_moves_nothing() {
    let (mut net, good) = alone();
    let committee = Replicas::new(&context(0), members(&FOUR)).unwrap();
    // Another state, with the certificate of the true one.
    let lie = Statement { root: [3; 32], ..good.statement };
    let far = Statement { epoch: 99, ..lie };
    let forged = CertifiedStatement { statement: far, certificate: good.certificate.clone() };
    assert!(!asked(&mut net, 1, forged));
    // The committee of that epoch is not known for sure to this replica, so that is no fault yet.
    assert_eq!(net.faults(), []);
    // Of a known committee it is one; the signature of one party is no quorum.
    let statement = Statement { epoch: 1, ..lie };
    let vote = StakeCertifier::new(again(1)).vote(&committee, &statement.to_bytes(&context(0)));
    let alone = CertifiedStatement { statement, certificate: vote.unwrap() };
    assert!(!asked(&mut net, 0, alone));
    assert_eq!(net.faults(), [(3, 0, ReplicaFault::ForgedCheckpoint { epoch: 1 })]);
    let long = CertifiedStatement { certificate: vec![0; 1 << 20], ..good.clone() };
    assert!(!asked(&mut net, 2, long));
    assert!(matches!(net.faults()[1], (3, 2, ReplicaFault::TooLong { .. })));
    let huge =
        CertifiedStatement { statement: Statement { bytes: u64::MAX, ..lie }, ..good.clone() };
    assert!(!asked(&mut net, 2, huge));
    assert!(asked(&mut net, 2, good));
}

#[test]
fn an_old_checkpoint_moves_nothing_back() {
    let mut net = three_ahead(Net::new(4));
    let old = net.nodes[&0].stable.iter().next().unwrap().certified.clone();
    come_back(&mut net);
    let before = net.epochs()[3];
    assert!(old.statement.epoch < before);
    net.jobs = Some(Vec::new());
    assert!(!asked(&mut net, 0, old.clone()));
    assert_eq!(net.jobs.take().map(|jobs| jobs.len()), Some(0), "it is not even checked");
    assert!(!asked(&mut net, 0, old));
    let present = net.nodes[&3].stable().unwrap().clone();
    assert!(!asked(&mut net, 0, present));
    assert_eq!((net.epochs()[3], net.faults()), (before, vec![]));
}

/// The epoch whose state party 3 fetches, the peer that it asks, and the pieces that are here.
fn transfer(net: &Net) -> (u64, u32, u32) {
    let one = net.nodes[&3].transfer.as_ref().unwrap();
    (one.epoch(), one.peer().get(), one.received())
}

fn give(net: &mut Net, from: u32, piece: Piece) {
    let message = ReplicaMessage::Piece(Box::new(piece));
    net.input(3, ReplicaInput::Received { from: Party::new(from), message });
}

#[test]
fn another_state_is_taken_from_the_peer_that_is_asked_if_nothing_is_lost_or_nobody_gives_this_one()
{
    let mut net = three_ahead(Net::new(4));
    let kept: Vec<StoredCheckpoint> = net.nodes[&0].stable.iter().cloned().collect();
    let [old, new] = &kept[..] else { panic!("two are kept") };
    let (before, after) = (old.certified.statement.epoch, new.certified.statement.epoch);
    (0..3).for_each(|party| net.down(party));
    net.up(3, settings(&FOUR));
    let offer = |net: &mut Net, from, stable: &StoredCheckpoint| {
        asked(net, from, stable.certified.clone());
        transfer(net)
    };
    assert_eq!(offer(&mut net, 0, old), (before, 0, 0));
    assert_eq!(offer(&mut net, 1, new), (before, 0, 0), "another peer than the one that is asked");
    assert_eq!(offer(&mut net, 0, new), (after, 0, 0), "once in its turn");
    assert_eq!(offer(&mut net, 0, old), (after, 1, 0), "and no more");
    assert_eq!(offer(&mut net, 1, old), (before, 1, 0), "the next one has its turn");
    assert_eq!(offer(&mut net, 1, new), (before, 2, 0));
    assert_eq!(offer(&mut net, 2, new), (after, 2, 0));
    give(&mut net, 2, new.state.piece(after, 0).unwrap());
    assert_eq!(offer(&mut net, 2, new), (after, 2, 1), "the same");
    // Nothing that is here is lost before all others were asked for the rest.
    assert_eq!(offer(&mut net, 2, old), (after, 0, 1));
    assert_eq!(offer(&mut net, 0, old), (after, 1, 1));
    assert_eq!(offer(&mut net, 1, old), (before, 1, 0));
    assert_eq!(net.faults(), []);
}

#[test]
fn a_peer_that_is_always_slow_loses_its_turn_and_what_it_gave_stays() {
    let (mut net, good) = alone();
    let epoch = good.statement.epoch;
    let state = three_ahead(Net::new(4)).nodes[&0].stable.latest().unwrap().state.clone();
    assert_eq!(state.root(), good.statement.root);
    let after = |net: &mut Net, millis| {
        net.pass(ms(millis));
        net.input(3, ReplicaInput::Tick);
        transfer(net)
    };
    assert!(asked(&mut net, 2, good));
    assert_eq!(after(&mut net, 490), (epoch, 2, 0));
    give(&mut net, 2, state.piece(epoch, 0).unwrap());
    assert_eq!(after(&mut net, 130), (epoch, 2, 1));
    // It would have answered again within the patience of 500 milliseconds.
    assert_eq!(after(&mut net, 10), (epoch, 0, 1));
    for (index, millis) in [(1, 120), (2, 120), (3, 10)] {
        assert_eq!(after(&mut net, millis), (epoch, 0, index));
        give(&mut net, 0, state.piece(epoch, index).unwrap());
    }
    assert_eq!(after(&mut net, 490), (epoch, 0, 4), "one that was quick may be slow once");
    assert_eq!(after(&mut net, 20), (epoch, 1, 4), "but for no longer than the patience");
}

#[test]
fn a_peer_that_sends_forged_certificates_has_one_checked_within_the_patience() {
    let (mut net, good) = alone();
    let forged = Statement { epoch: 1, root: [3; 32], ..good.statement };
    let forged = CertifiedStatement { statement: forged, ..good.clone() };
    for round in 1..4 {
        for _ in 0..9 {
            assert!(!asked(&mut net, 1, forged.clone()));
        }
        assert_eq!(net.faults().len(), round);
        assert!(!asked(&mut net, 1, good.clone()), "not even a good one");
        net.pass(ms(500));
    }
    assert!(asked(&mut net, 1, good.clone()));
    assert!(asked(&mut net, 1, forged));
    assert_eq!(transfer(&net), (good.statement.epoch, 2, 0), "the next peer is asked");
}

#[test]
fn a_party_without_stake_is_asked_for_pieces_only_if_it_offered_them() {
    let stakes = [1, 1, 1, 0, 1];
    let mut net = Net::new(5);
    (0..3).for_each(|party| net.up(party, settings(&stakes)));
    net.run_to_epoch(4);
    let certified = net.nodes[&0].stable().unwrap().clone();
    (0..3).for_each(|party| net.down(party));
    net.up(4, settings(&stakes));
    let message = ReplicaMessage::Stable(Box::new(certified));
    net.input(4, ReplicaInput::Received { from: Party::new(3), message });
    let mut peers = Vec::new();
    for _ in 0..6 {
        peers.push(net.nodes[&4].transfer.as_ref().unwrap().peer().get());
        net.pass(ms(500));
        net.input(4, ReplicaInput::Tick);
    }
    assert_eq!(peers, [3, 0, 1, 2, 0, 1]);
}

#[test]
fn a_certificate_is_judged_by_what_was_known_when_its_check_began() {
    let (mut net, good) = alone();
    let others = three_ahead(Net::new(4));
    let kept = &others.nodes[&0].stable;
    let (old, state) =
        (kept.iter().next().unwrap().certified.clone(), &kept.latest().unwrap().state);
    let epoch = good.statement.epoch;
    // The committee that signs this one is not known for sure before that of `good` is.
    let later = Statement { epoch: epoch + 1, ..good.statement };
    let later = CertifiedStatement { statement: later, ..good.clone() };
    net.jobs = Some(Vec::new());
    assert!(!asked(&mut net, 1, later));
    assert!(!asked(&mut net, 0, old));
    let jobs = net.jobs.take().unwrap();
    assert!(asked(&mut net, 2, good.clone()));
    for index in 0..good.statement.pieces().unwrap() {
        give(&mut net, 2, state.piece(epoch, index).unwrap());
    }
    assert_eq!(net.epochs(), [epoch]);
    let verdicts: Vec<_> = jobs.into_iter().map(|(_, job)| job.run()).collect();
    assert_eq!(verdicts.len(), 2);
    verdicts.into_iter().for_each(|verdict| net.input(3, ReplicaInput::Checked(verdict)));
    assert_eq!(net.faults(), []);
    assert!(net.nodes[&3].transfer.is_none(), "the old one is valid, and of no use any more");
}

#[test]
fn if_no_peer_gives_the_next_piece_any_that_offers_it_is_asked_and_late_pieces_count() {
    let (mut net, good) = alone();
    let state = three_ahead(Net::new(4)).nodes[&0].stable.latest().unwrap().state.clone();
    let epoch = good.statement.epoch;
    let late = |net: &mut Net| {
        net.pass(ms(500));
        net.input(3, ReplicaInput::Tick);
        transfer(net)
    };
    assert!(asked(&mut net, 0, good.clone()));
    give(&mut net, 1, state.piece(epoch, 0).unwrap());
    assert_eq!(transfer(&net), (epoch, 0, 0), "1 was not asked");
    assert_eq!(late(&mut net), (epoch, 1, 0));
    asked(&mut net, 2, good.clone());
    assert_eq!(transfer(&net), (epoch, 1, 0), "it is the turn of 1");
    give(&mut net, 0, state.piece(epoch, 0).unwrap());
    assert_eq!(transfer(&net), (epoch, 1, 1), "late, but good");
    for peer in [2, 0, 1] {
        assert_eq!(late(&mut net), (epoch, peer, 1));
    }
    asked(&mut net, 0, good);
    assert_eq!(transfer(&net), (epoch, 0, 1), "nobody has given it");
    let mut bad = state.piece(epoch, 1).unwrap();
    bad.bytes[0] ^= 1;
    give(&mut net, 2, bad.clone());
    give(&mut net, 2, bad);
    assert_eq!(transfer(&net), (epoch, 0, 1), "it was not the turn of 2");
    assert_eq!(net.faults().len(), 1, "it is not believed again before it is asked");
}

/// Party 2 alone has the certificate of the state that the other two are at as well, since it keeps its vote
/// from them. It tells party 3 of it, and does not give it the state. All three others are needed.
#[test]
fn one_that_alone_has_a_certificate_and_keeps_the_state_back_halts_nobody() {
    let mut net = three_ahead(Net::new(4));
    let last = net.epochs().into_iter().max().unwrap() + 1;
    net.tamper = Box::new(move |from, to, message| {
        let withheld = match &message {
            ReplicaMessage::Vote(vote) => to < 2 && vote.statement.epoch >= last,
            ReplicaMessage::Stable(stable) => to < 2 && stable.statement.epoch >= last,
            ReplicaMessage::Piece(_) => true,
            _ => false,
        };
        if from == 2 && withheld { None } else { Some(message) }
    });
    net.run("it has the certificate", |net| net.epochs() == [last - 1, last - 1, last]);
    net.run("the others are as far", |net| (0..2).all(|party| net.nodes[&party].own.is_some()));
    let certified = net.nodes[&2].stable().unwrap().clone();
    net.up(3, settings(&FOUR));
    assert!(asked(&mut net, 2, certified));
    net.run("they go on", |net| (0..2).all(|party| net.epochs()[party] > last));
    assert_eq!(net.faults(), []);
}

#[test]
fn a_crash_in_the_middle_of_a_transfer_leaves_the_state_before() {
    let mut net = three_ahead(Net::new(4));
    net.up(3, settings(&FOUR));
    net.run("two pieces are here", |net| {
        net.nodes[&3].transfer.as_ref().is_some_and(|transfer| transfer.received() == 2)
    });
    let written = net.records.get(&3).into_iter().flatten();
    assert_eq!(written.filter(|one| matches!(one, ReplicaRecord::Checkpoint(..))).count(), 0);
    net.down(3);
    come_back(&mut net);
    // And after it, a restart finds the new state.
    net.down(3);
    net.up(3, settings(&FOUR));
    assert!(net.nodes[&3].ordering().schedule().epoch() > 3);
    assert_eq!(net.nodes[&3].app().applied(), 4);
    net.run_to_epoch(net.epochs()[0] + 2);
    assert_eq!(net.nodes[&3].app(), net.nodes[&0].app());
}

#[test]
fn nothing_is_taken_that_was_not_asked_for() {
    let mut net = three_ahead(Net::new(4));
    let piece = net.nodes[&0].stable.latest().unwrap().state.piece(1, 0).unwrap();
    (0..3).for_each(|party| net.down(party));
    net.up(3, settings(&FOUR));
    for from in 0..3 {
        let message = ReplicaMessage::Piece(Box::new(piece.clone()));
        net.input(3, ReplicaInput::Received { from: Party::new(from), message });
    }
    assert!(net.nodes[&3].transfer.is_none());
    assert_eq!(net.faults(), []);
}

#[test]
fn a_peer_is_given_pieces_of_what_is_kept_and_a_statement_in_place_of_the_rest() {
    let mut net = three_ahead(Net::new(4));
    let epoch = net.nodes[&0].stable().unwrap().statement.epoch;
    let mut ask = |message: ReplicaMessage| {
        let _before = net.take_sent_to(3);
        net.input(0, ReplicaInput::Received { from: Party::new(3), message });
        let answers = net.take_sent_to(3).into_iter();
        answers.filter(|one| !matches!(one, ReplicaMessage::Order { .. })).collect::<Vec<_>>()
    };
    let request = |epoch, first| ReplicaMessage::PieceRequest { epoch, first, count: 1 };
    assert!(matches!(&ask(request(epoch, 1))[..], [ReplicaMessage::Piece(_)]));
    assert_eq!(ask(request(epoch, 99)), []);
    assert!(matches!(&ask(request(1, 0))[..], [ReplicaMessage::Stable(_)]));
    let old = Message::Request(Slot::new(1));
    let old = ReplicaMessage::Order { committee: [0; 8], message: Box::new(old) };
    assert!(matches!(&ask(old)[..], [ReplicaMessage::Stable(_)]));
    let body = BodyRequest { slot: Slot::new(1), value: value(1) };
    let batch = BatchId::new([1; 32]);
    for message in [Message::BodyRequest(body), Message::BatchRequest(batch)] {
        let message = ReplicaMessage::Order { committee: [0; 8], message: Box::new(message) };
        assert!(matches!(&ask(message)[..], [ReplicaMessage::Stable(_)]));
    }
    let served = (0..100).filter(|_| !ask(request(epoch, 0)).is_empty()).count();
    assert!(served < 32, "and no more for a while: {served}");
    assert_eq!(ask(request(1, 0)), [], "nor of anything else");
}

#[test]
fn under_a_shared_key_a_replica_needs_to_know_no_committee_in_between() {
    let mut net = three_ahead(Net::with_certifiers(4, shared_key()));
    come_back(&mut net);
    assert_eq!(net.faults(), []);
}
