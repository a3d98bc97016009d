//! Batches: stored before they are acknowledged, certified by a weak quorum, fetched from one signer.

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_protocol::{Recipient, Slot};

use super::bench::{
    Bench, FOUR, at, batch, body, faults, finalized, malformed, ms, prepares, sent, view,
};
use super::{certify, certify_in, secret};
use crate::batch::{AvailabilityCertificate, Batch, BatchLabel};
use crate::block::{Body, Transaction};
use crate::certificate::Stage;
use crate::engine::{Effect, Input, Output};
use crate::fault::Fault;
use crate::message::{MAX_BATCHES, Message, ShapeError};
use crate::records::Record;

fn ack(bench: &Bench, party: u32, label: &BatchLabel) -> Signature {
    secret(party).sign(BatchLabel::domain(), &label.statement(&bench.forger.committee))
}

fn acks(outputs: &[Output]) -> Vec<(u32, BatchLabel)> {
    let ack = |output: &Output| match output {
        Output::Do(Effect::Send { to: Recipient::One(to), message: Message::Ack(label, _) }) => {
            Some((to.get(), *label))
        }
        _ => None,
    };
    outputs.iter().filter_map(ack).collect()
}

fn spread(outputs: &[Output]) -> Vec<Batch> {
    let batch = |message: &&Message| match message {
        Message::Batch(batch) => Some((**batch).clone()),
        _ => None,
    };
    sent(outputs).iter().filter_map(batch).collect()
}

fn batch_requests(outputs: &[Output]) -> Vec<u32> {
    let request = |output: &Output| match output {
        Output::Do(Effect::Send { to: Recipient::One(to), message: Message::BatchRequest(_) }) => {
            Some(to.get())
        }
        _ => None,
    };
    outputs.iter().filter_map(request).collect()
}

fn submit(bench: &mut Bench, bytes: &[u8]) -> Vec<Output> {
    let mut outputs = bench.input(Input::Submit(Transaction::new(bytes.to_vec())));
    bench.now = bench.now + ms(20);
    outputs.extend(bench.input(Input::Tick));
    outputs
}

#[test]
fn a_batch_is_durable_before_it_is_acknowledged_and_an_acknowledgement_is_repeated() {
    let mut bench = Bench::new();
    let outputs = bench.spread(&[b"pay"]);
    assert_eq!(acks(&outputs), [(1, batch(&[b"pay"]).label())]);
    assert!(matches!(&outputs[0], Output::Keep(Record::Batch(_))));
    let again = bench.spread(&[b"pay"]);
    assert_eq!((again.len(), acks(&again).len()), (1, 1), "no second record");
    let (mut later, _) = bench.restart();
    assert_eq!(later.spread(&[b"pay"]).len(), 1, "it is still here");
}

#[test]
fn a_batch_is_taken_from_its_author_only_and_within_its_allowance() {
    let mut bench = Bench::new();
    let outputs = bench.receive(2, Message::Batch(Box::new(batch(&[b"pay"]))));
    assert_eq!(faults(&outputs), [(2, Fault::ForeignBatch { author: Party::new(1) })]);
    assert_eq!(acks(&outputs), []);
    let stored = (0..100_u8).filter(|&number| !acks(&bench.spread(&[&[number; 496]])).is_empty());
    assert_eq!(stored.count(), 8, "500 bytes each, four blocks of 1000 are allowed");
    let other = Batch::new(Party::new(2), Slot::new(500), vec![Transaction::new(vec![1; 496])]);
    assert_eq!(acks(&bench.receive(2, Message::Batch(Box::new(other)))).len(), 1);
    // What is ordered makes room.
    let decision = bench.forger.decision(1, Some(&body(&[&[0; 496]])));
    bench.receive(1, Message::Response(vec![decision]));
    assert_eq!(acks(&bench.spread(&[&[99; 496]])).len(), 1);
    let outputs = bench.spread(&[&[0; 997]]);
    assert!(matches!(malformed(&outputs), ShapeError::TooMuch { .. }));
}

#[test]
fn a_weak_quorum_of_acknowledgements_is_a_certificate_and_goes_into_the_next_block() {
    let mut bench = Bench::new();
    let outputs = submit(&mut bench, b"pay");
    let [own] = &spread(&outputs)[..] else { panic!("{outputs:?}") };
    let label = own.label();
    assert_eq!(bench.engine.store.own(Party::new(0)), []);
    // Of another batch, or of another size: not counted.
    let other = batch(&[b"else"]).label();
    bench.receive(1, Message::Ack(other, ack(&bench, 1, &other)));
    let bigger = BatchLabel { bytes: 9, ..label };
    bench.receive(1, Message::Ack(bigger, ack(&bench, 1, &bigger)));
    assert_eq!(bench.engine.store.own(Party::new(0)), []);
    bench.receive(2, Message::Ack(label, ack(&bench, 2, &label)));
    let [certificate] = &bench.engine.store.own(Party::new(0))[..] else { panic!() };
    assert_eq!(certificate.verify(&bench.forger.committee), Ok(()));
    let outputs = bench.decide(1..=1);
    let proposed = sent(&outputs).into_iter().find_map(|message| match message {
        Message::Proposal(proposal) => Some(proposal.clone()),
        _ => None,
    });
    let proposal = proposed.unwrap();
    assert_eq!(proposal.body.certificates(), std::slice::from_ref(certificate));
    // And into no other while that one is open; when it is ordered, into none.
    let again =
        bench.engine.store.select(Slot::new(13), 9999, &bench.engine.carried[&Slot::new(9)]);
    assert_eq!(again, []);
    let value = bench.forger.value(9, &proposal.body);
    bench.decide(2..=8);
    let outputs = bench.votes(Stage::Commit, &[1, 2, 3], view(9, 0), value);
    assert_eq!(finalized(&outputs), [(9, Some(1))]);
    assert_eq!(bench.engine.store.own(Party::new(0)), []);
}

#[test]
fn a_bad_acknowledgement_is_found_and_named_and_the_batch_is_sent_until_it_is_certified() {
    let mut bench = Bench::new();
    let outputs = submit(&mut bench, b"pay");
    let label = spread(&outputs)[0].label();
    let forged = ack(&bench, 3, &label);
    let outputs = bench.receive(2, Message::Ack(label, forged));
    assert_eq!(faults(&outputs), [(2, Fault::BadAck { batch: label.id })]);
    assert_eq!(bench.engine.store.own(Party::new(0)), []);
    bench.now = at(520);
    assert_eq!(spread(&bench.input(Input::Tick)).len(), 1, "again");
    let (later, outputs) = bench.restart();
    assert_eq!(spread(&outputs).len(), 1, "after a restart, too");
    drop(later);
    bench.receive(3, Message::Ack(label, ack(&bench, 3, &label)));
    assert_eq!(bench.engine.store.own(Party::new(0)).len(), 1);
    bench.now = at(5000);
    assert_eq!(spread(&bench.input(Input::Tick)).len(), 0);
}

#[test]
fn a_block_is_prepared_if_its_batches_are_here_or_proven() {
    let mut bench = Bench::new();
    // Nobody has signed this; but a party that has stored the batch needs no proof.
    let mut forged = certify(&batch(&[b"a"]), &[1, 2]);
    forged.acks.signature = certify(&batch(&[b"b"]), &[1, 2]).acks.signature;
    let block = Body::new(vec![forged.clone()]);
    let outputs = bench.receive(1, bench.forger.proposal(1, 2, &block));
    let batch_id = forged.batch.id;
    assert_eq!(faults(&outputs), [(1, Fault::ForgedAvailability { batch: batch_id })]);
    assert_eq!(prepares(&outputs), []);
    bench.spread(&[b"a"]);
    assert_eq!(prepares(&bench.receive(1, bench.forger.proposal(1, 2, &block))).len(), 1);
    let proven = body(&[b"c"]);
    assert_eq!(prepares(&bench.receive(2, bench.forger.proposal(2, 3, &proven))).len(), 1);
}

#[test]
fn a_certificate_that_lies_about_size_or_stake_is_refused() {
    let mut bench = Bench::new();
    let few = certify(&batch(&[b"a"]), &[1]);
    let block = Body::new(vec![few]);
    let outputs = bench.receive(1, bench.forger.proposal(1, 2, &block));
    assert!(matches!(malformed(&outputs), ShapeError::Certificate(_)));
    // One byte, so that more fits: the batch that is here has another size.
    bench.spread(&[b"a"]);
    let mut small = certify(&batch(&[b"a"]), &[1, 2]);
    small.batch.bytes = 1;
    let outputs = bench.receive(1, bench.forger.proposal(1, 2, &Body::new(vec![small])));
    assert!(matches!(&faults(&outputs)[..], [(1, Fault::ForgedAvailability { .. })]));
    let one = certify(&batch(&[b"a"]), &[1, 2]);
    let twice = Body::new(vec![one.clone(), one.clone()]);
    let outputs = bench.receive(1, bench.forger.proposal(1, 2, &twice));
    assert_eq!(malformed(&outputs), ShapeError::RepeatedBatch);
    let many: Vec<AvailabilityCertificate> = (0..=MAX_BATCHES)
        .map(|number| certify(&batch(&[&number.to_be_bytes()]), &[1, 2]))
        .collect();
    let outputs = bench.receive(1, Message::Certificates(many));
    assert!(matches!(malformed(&outputs), ShapeError::TooMuch { what: "batches", .. }));
}

#[test]
fn a_missing_batch_is_fetched_from_one_signer_after_the_other_and_checked() {
    let mut bench = Bench::new();
    let decision = bench.forger.decision(1, Some(&body(&[b"pay"])));
    let outputs = bench.receive(1, Message::Response(vec![decision]));
    assert_eq!(finalized(&outputs), []);
    bench.now = at(20);
    assert_eq!(batch_requests(&bench.input(Input::Tick)), [1], "of 1 and 2, which signed");
    bench.now = at(100);
    assert_eq!(batch_requests(&bench.input(Input::Tick)), [2]);
    bench.now = at(180);
    assert_eq!(batch_requests(&bench.input(Input::Tick)), [3], "then the others");
    let wrong = Message::BatchResponse(Box::new(batch(&[b"else"])));
    assert_eq!(finalized(&bench.receive(2, wrong)), []);
    let right = Message::BatchResponse(Box::new(batch(&[b"pay"])));
    assert_eq!(finalized(&bench.receive(2, right)), [(1, Some(1))]);
    bench.now = at(900);
    assert_eq!(batch_requests(&bench.input(Input::Tick)), []);
    let id = batch(&[b"pay"]).id();
    let outputs = bench.receive(3, Message::BatchRequest(id));
    assert!(matches!(&sent(&outputs)[..], [Message::BatchResponse(_)]), "it serves it, too");
}

#[test]
fn a_party_that_does_not_lead_passes_its_certificates_on() {
    let stakes = [0, 1, 1, 1];
    let mut bench = Bench::begin(&stakes, 0, Vec::new()).0;
    let outputs = submit(&mut bench, b"pay");
    let label = spread(&outputs)[0].label();
    let mut passed = Vec::new();
    for party in [1, 2] {
        let outputs = bench.receive(party, Message::Ack(label, ack(&bench, party, &label)));
        passed.extend(outputs.iter().filter_map(|output| match output {
            Output::Do(Effect::Send {
                to: Recipient::One(to),
                message: Message::Certificates(all),
            }) => Some((to.get(), all.len())),
            _ => None,
        }));
    }
    assert_eq!(passed, [(1, 1)]);
    // The leader takes it if it is true.
    let mut leader = Bench::begin(&stakes, 1, Vec::new()).0;
    let pay = Batch::new(Party::new(0), Slot::new(500), vec![Transaction::new(b"pay".to_vec())]);
    let mut forged = certify_in(&stakes, &pay, &[1, 2]);
    let good = forged.clone();
    forged.acks.signature = certify_in(&stakes, &batch(&[b"else"]), &[1, 2]).acks.signature;
    let outputs = leader.receive(0, Message::Certificates(vec![forged]));
    assert!(matches!(&faults(&outputs)[..], [(0, Fault::ForgedAvailability { .. })]));
    leader.receive(0, Message::Certificates(vec![good.clone()]));
    let empty = std::collections::BTreeSet::new();
    assert_eq!(leader.engine.store.select(Slot::new(2), 999, &empty), [good]);
}

#[test]
fn the_buffer_is_bounded_and_then_the_mempool_is_full() {
    let mut bench = Bench::begin(&FOUR, 0, Vec::new()).0;
    let mut count = 0;
    for number in 0..40_u8 {
        count += spread(&submit(&mut bench, &[number]))
            .iter()
            .filter(|it| it.transactions().iter().any(|one| **one.bytes() == [number]))
            .count();
    }
    assert_eq!(count, crate::store::BUFFER, "nobody acknowledges");
    assert!(bench.engine.mempool.due().is_some(), "the others wait");
}

#[test]
fn nobody_need_keep_a_batch_beyond_its_last_height_so_no_later_block_may_hold_it() {
    let mut bench = Bench::new();
    let old = Batch::new(Party::new(1), Slot::new(5), vec![Transaction::new(b"old".to_vec())]);
    let block = Body::new(vec![certify(&old, &[1, 2])]);
    let outputs = bench.receive(1, bench.forger.proposal(1, 6, &block));
    let (slot, until) = (Slot::new(6), Slot::new(5));
    assert_eq!(malformed(&outputs), ShapeError::Expired { slot, until });
    assert_eq!(prepares(&bench.receive(1, bench.forger.proposal(1, 2, &block))).len(), 1);
    // It is not acknowledged when its time is over, nor for an age.
    for until in [0, 2000] {
        let all = vec![Transaction::new(b"late".to_vec())];
        let batch = Batch::new(Party::new(1), Slot::new(until), all);
        assert_eq!(acks(&bench.receive(1, Message::Batch(Box::new(batch)))), [], "{until}");
    }
    // What was not ordered in its time makes room, and is forgotten with the next blocks.
    let old = Batch::new(Party::new(1), Slot::new(260), old.transactions().to_vec());
    bench.receive(1, Message::Batch(Box::new(old.clone())));
    bench.decide(1..=259);
    assert_eq!(bench.engine.store.waiting_of(Party::new(1)), [old.id()]);
    bench.decide(260..=264);
    assert_eq!(bench.engine.store.waiting_of(Party::new(1)), []);
    bench.decide(265..=300);
    assert!(bench.engine.store.get(old.id()).is_none());
}

#[test]
fn a_batch_that_was_not_ordered_in_its_time_is_spread_once_more() {
    let mut bench = Bench::new();
    let outputs = submit(&mut bench, b"pay");
    let first = spread(&outputs)[0].clone();
    let outputs = bench.decide(1..=first.until().get());
    let [second] = &spread(&outputs)[..] else { panic!("{:?}", spread(&outputs)) };
    assert_eq!(second.transactions(), first.transactions());
    assert!(second.until() > first.until());
}
