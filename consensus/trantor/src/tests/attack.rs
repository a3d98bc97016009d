//! What one faulty party tries: to fill what is bounded, to have work done for nothing, to hold back what
//! another honest party needs.

use std::collections::BTreeSet;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::Slot;

use super::bench::{
    Bench, at, batch, body, changes, commits, faults, finalized, malformed, ms, prepares, requests,
    sent, value, view,
};
use super::certify;
use crate::batch::{Batch, BatchLabel};
use crate::block::{Body, Transaction};
use crate::certificate::Stage;
use crate::engine::{Effect, Input, Output};
use crate::fetch::{Fetch, Item};
use crate::job::Work;
use crate::message::{Message, ShapeError};

/// A batch of party 3 with one transaction.
fn small(number: u8, until: u64) -> Batch {
    Batch::new(Party::new(3), Slot::new(until), vec![Transaction::new(vec![number])])
}

fn submit(bench: &mut Bench, bytes: &[u8]) -> Vec<Output> {
    let mut outputs = bench.input(Input::Submit(Transaction::new(bytes.to_vec())));
    bench.now = bench.now + ms(20);
    outputs.extend(bench.input(Input::Tick));
    outputs
}

fn spread(outputs: &[Output]) -> Vec<Batch> {
    let batch = |message: &&Message| match message {
        Message::Batch(batch) => Some((**batch).clone()),
        _ => None,
    };
    sent(outputs).iter().filter_map(batch).collect()
}

fn acks(outputs: &[Output]) -> usize {
    sent(outputs).iter().filter(|message| matches!(message, Message::Ack(..))).count()
}

/// Party 3 spreads its batches to one honest party only, lets them grow old, and gives the certificates to
/// party 0, which has none of the batches.
#[test]
fn certificates_that_no_block_may_hold_any_more_keep_nobody_from_spreading() {
    for early in [true, false] {
        let mut bench = Bench::new();
        let old = (0..16).map(|number| certify(&small(number, 4), &[1, 3])).collect();
        if !early {
            bench.decide(1..=9);
        }
        bench.receive(3, Message::Certificates(old));
        if early {
            bench.decide(1..=9);
        }
        let fresh = (20..30).map(|number| certify(&small(number, 500), &[1, 3])).collect();
        bench.receive(3, Message::Certificates(fresh));
        assert_eq!(spread(&submit(&mut bench, b"pay")).len(), 1, "its transactions");
        let none = BTreeSet::new();
        let taken = bench.engine.store.select(Slot::new(13), 9999, &none);
        assert_eq!(taken.len(), 10, "the fresh ones of party 3 have room, too");
    }
}

#[test]
fn certificates_that_wait_for_a_block_already_cost_no_work() {
    let mut bench = Bench::new();
    bench.jobs.clear();
    let all: Vec<_> = (0..16).map(|number| certify(&small(number, 500), &[1, 3])).collect();
    for _ in 0..20 {
        bench.receive(3, Message::Certificates(all.clone()));
    }
    assert_eq!(bench.jobs.len(), 1);
    // Nor do those of which there is no room.
    let more: Vec<_> = (16..32).map(|number| certify(&small(number, 500), &[1, 3])).collect();
    bench.receive(3, Message::Certificates(more));
    assert_eq!(bench.jobs.len(), 1);
}

/// A leader that is a little ahead proposes twice before this party has the last decision of the epoch.
#[test]
fn early_proposals_of_full_blocks_are_all_there_when_their_epoch_begins() {
    let mut bench = Bench::new();
    bench.decide(1..=15);
    let block = body(&[&[1; 900]]);
    for slot in [17, 21] {
        bench.receive(1, bench.forger.proposal(1, slot, &block));
    }
    let outputs = bench.decide(16..=16);
    let slots: Vec<u64> = prepares(&outputs).iter().map(|(view, _)| view.slot.get()).collect();
    assert!(slots.contains(&17) && slots.contains(&21), "{slots:?}");
}

/// Party 1 leads height 2 and shows it to all others but this one. They move on, and wait for this party
/// at its height 13. If it heard of height 2 only when its own time runs out, it would lead none in the
/// next epochs.
#[test]
fn a_party_that_one_leader_leaves_behind_asks_the_others_long_before_its_time_is_over() {
    for by_vote in [false, true] {
        let mut bench = Bench::new();
        bench.decide(1..=1);
        bench.decide(3..=8);
        bench.receive(3, bench.forger.proposal(3, 8, &body(&[])));
        bench.now = at(30);
        assert_eq!(requests(&bench.input(Input::Tick)), [], "8 is within the window behind 1");
        let outputs = if by_vote {
            bench.votes(Stage::Prepare, &[2], view(11, 0), bench.forger.value(11, &body(&[])))
        } else {
            bench.receive(2, bench.forger.proposal(2, 11, &body(&[])))
        };
        assert_eq!(requests(&outputs), [], "it may be on its way");
        bench.now = at(50);
        assert_eq!(requests(&bench.input(Input::Tick)), [(2, 2)]);
    }
}

#[test]
fn a_proposal_of_the_next_epoch_tells_that_this_one_is_over_for_its_leader() {
    let mut bench = Bench::new();
    bench.decide(1..=13);
    bench.decide(15..=16);
    bench.receive(1, bench.forger.proposal(1, 17, &body(&[])));
    bench.now = at(20);
    assert_eq!(requests(&bench.input(Input::Tick)), [(1, 14)]);
}

/// The batch is withheld, so nothing is reported; but the decision is there.
#[test]
fn a_decision_is_served_although_its_batches_are_missing() {
    let mut bench = Bench::new();
    let decision = bench.forger.decision(1, Some(&body(&[b"pay"])));
    let outputs = bench.receive(1, Message::Response(vec![decision.clone()]));
    assert_eq!(finalized(&outputs), []);
    let outputs = bench.receive(2, Message::Request(Slot::new(1)));
    assert_eq!(sent(&outputs), [&Message::Response(vec![decision])]);
}

#[test]
fn votes_of_the_next_epoch_are_a_certificate_when_it_begins() {
    let mut bench = Bench::new();
    bench.decide(1..=15);
    let block = body(&[]);
    let name = bench.forger.value(17, &block);
    bench.receive(1, bench.forger.proposal(1, 17, &block));
    assert_eq!(commits(&bench.votes(Stage::Prepare, &[1, 2, 3], view(17, 0), name)), []);
    let outputs = bench.decide(16..=16);
    assert!(commits(&outputs).contains(&(view(17, 0), name, None)), "{:?}", commits(&outputs));
}

#[test]
fn what_was_ordered_is_not_spread_again_after_a_restart() {
    let mut bench = Bench::new();
    bench.keeps_notes = true;
    let own = spread(&submit(&mut bench, b"pay"))[0].clone();
    bench.decide(1..=1);
    let block = Body::new(vec![certify(&own, &[1, 2])]);
    let decision = bench.forger.decision(2, Some(&block));
    assert_eq!(finalized(&bench.receive(1, Message::Response(vec![decision]))), [(2, Some(1))]);
    bench.decide(3..=300);
    let (mut later, outputs) = bench.restart();
    assert_eq!(spread(&outputs), []);
    // Nor is it reported again, if a faulty leader orders it a second time.
    for bench in [&mut bench, &mut later] {
        let decision = bench.forger.decision(301, Some(&block));
        let outputs = bench.receive(1, Message::Response(vec![decision]));
        assert_eq!(finalized(&outputs), [(301, Some(0))]);
    }
}

#[test]
fn a_bad_acknowledgement_costs_work_once_for_each_party_and_batch() {
    let mut bench = Bench::new();
    let label = spread(&submit(&mut bench, b"pay"))[0].label();
    let forged = certify(&batch(&[b"else"]), &[2]).acks.signature;
    bench.jobs.clear();
    let outputs: Vec<Output> =
        (0..20).flat_map(|_| bench.receive(2, Message::Ack(label, forged))).collect();
    let jobs = bench.jobs.iter().filter(|work| matches!(work, Work::Acks { .. }));
    assert_eq!((jobs.count(), faults(&outputs).len()), (1, 1));
    let good =
        super::secret(3).sign(BatchLabel::domain(), &label.statement(&bench.forger.committee));
    bench.receive(3, Message::Ack(label, good));
    assert_eq!(bench.engine.store.own(Party::new(0)).len(), 1, "the others' count");
}

#[test]
fn a_batch_that_is_sent_again_and_again_is_signed_so_often_and_no_more() {
    let mut bench = Bench::new();
    let signed: usize = (0..100).map(|_| acks(&bench.spread(&[b"pay"]))).sum();
    assert!(signed <= 33, "{signed}");
    bench.now = at(80);
    assert_eq!(acks(&bench.spread(&[b"pay"])), 1);
}

/// Otherwise an author could fill its allowance at every height again, and all journals with it.
#[test]
fn a_batch_that_ends_soon_is_not_stored() {
    let mut bench = Bench::new();
    for until in [1, 2, 100] {
        let outputs = bench.receive(3, Message::Batch(Box::new(small(1, until))));
        assert_eq!(acks(&outputs), 0, "{until}");
    }
    assert_eq!(acks(&bench.receive(3, Message::Batch(Box::new(small(1, 257))))), 1);
    // What is stored is acknowledged to its end.
    bench.decide(1..=200);
    bench.now = at(100);
    assert_eq!(acks(&bench.receive(3, Message::Batch(Box::new(small(1, 257))))), 1);
}

#[test]
fn a_batch_of_very_many_transactions_is_refused_before_they_are_hashed() {
    let most = crate::batch::MAX_TRANSACTIONS;
    let many = vec![Transaction::new(Vec::new()); most + 1];
    let batch = Batch::new(Party::new(1), Slot::new(500), many);
    let bytes = borsh::to_vec(&Message::Batch(Box::new(batch.clone()))).unwrap();
    assert!(borsh::from_slice::<Message>(&bytes).is_err());
    let mut bench = Bench::new();
    bench.engine.max_block_bytes = 1 << 20;
    let (what, got) = ("transactions", most + 1);
    let outputs = bench.receive(1, Message::Batch(Box::new(batch)));
    assert_eq!(malformed(&outputs), ShapeError::TooMuch { what, got, most });
    let just = Batch::new(Party::new(1), Slot::new(500), vec![Transaction::new(Vec::new()); most]);
    let bytes = borsh::to_vec(&just).unwrap();
    assert_eq!(borsh::from_slice::<Batch>(&bytes).unwrap(), just);
}

#[test]
fn a_party_that_forges_certificates_has_a_few_messages_checked_and_no_more() {
    let mut bench = Bench::new();
    bench.jobs.clear();
    for number in 0..30 {
        let mut decision = bench.forger.decision(1, Some(&body(&[&[number]])));
        decision.certificate.votes =
            bench.forger.certificate(Stage::Prepare, &[1, 2, 3], view(9, 0), value(1)).votes;
        bench.receive(3, Message::Response(vec![decision]));
    }
    assert_eq!(bench.jobs.len(), 8);
    // The others are heard.
    assert_eq!(finalized(&bench.decide(1..=1)), [(1, Some(0))]);
}

#[test]
fn a_certificate_below_the_highest_is_not_checked_in_a_view_change() {
    let mut bench = Bench::new();
    let old = bench.forger.certificate(Stage::Prepare, &[1, 2, 3], view(1, 0), value(5));
    let new = bench.forger.certificate(Stage::Prepare, &[1, 2, 3], view(1, 1), value(6));
    bench.receive(2, bench.forger.change(2, view(1, 2), Some(new)));
    bench.jobs.clear();
    for attempt in 2..20 {
        bench.receive(3, bench.forger.change(3, view(1, attempt), Some(old.clone())));
    }
    assert_eq!(bench.jobs.len(), 0);
    assert_eq!(bench.engine.open[&Slot::new(1)].prepared.as_ref().unwrap().view, view(1, 1));
}

#[test]
fn view_changes_of_a_suspect_are_checked_as_far_as_they_may_count_soon() {
    let mut bench = Bench::new();
    bench.engine.suspects.insert(Party::new(3));
    bench.jobs.clear();
    for attempt in 1..50 {
        bench.receive(3, bench.forger.change(3, view(1, attempt), None));
    }
    assert!(bench.jobs.len() <= 2, "{}", bench.jobs.len());
    // It counts all the same.
    let outputs = bench.receive(2, bench.forger.change(2, view(1, 1), None));
    assert_eq!(changes(&outputs), [(view(1, 1), None)]);
}

#[test]
fn a_missing_batch_that_its_author_sends_is_reported_at_once() {
    let mut bench = Bench::new();
    let block = body(&[b"pay"]);
    bench.receive(1, Message::Response(vec![bench.forger.decision(1, Some(&block))]));
    assert_eq!(finalized(&bench.spread(&[b"pay"])), [(1, Some(1))]);
    assert_eq!(bench.engine.fetch.wake_at(), None, "it is not asked for any more");
}

/// The message may have been lost in the crash, and nobody else can give this vote.
#[test]
fn a_vote_behind_the_window_is_said_again_after_a_restart() {
    let mut bench = Bench::new();
    let block = body(&[]);
    let name = bench.forger.value(10, &block);
    assert_eq!(prepares(&bench.receive(1, bench.forger.proposal(1, 10, &block))).len(), 1);
    let (_, outputs) = bench.restart();
    assert!(prepares(&outputs).contains(&(view(10, 0), name)), "{:?}", prepares(&outputs));
}

#[test]
fn decisions_far_ahead_take_no_memory() {
    let mut bench = Bench::new();
    let far: Vec<_> =
        (900..960).map(|slot| bench.forger.decision(slot, Some(&body(&[])))).collect();
    bench.jobs.clear();
    bench.receive(3, Message::Response(far));
    assert_eq!((bench.engine.decided.len(), bench.jobs.len()), (0, 0));
}

/// Of a weak quorum of signers, all but one may keep silent. They are not waited for one by one.
#[test]
fn many_signers_that_withhold_a_batch_cost_a_few_rounds_and_not_one_each() {
    let (grace, id) = (ms(10), batch(&[b"pay"]).id());
    let mut fetch = Fetch::new(grace);
    fetch.want(at(0), Item::Batch(id), (0..40).map(Party::new).collect());
    let mut asked = Vec::new();
    for round in 0..8_u64 {
        let now = at(10 + 40 * round);
        asked.extend(fetch.inquiries(now).into_iter().map(|inquiry| inquiry.to.get()));
        if round < 3 {
            assert_eq!(asked.len(), usize::try_from(round).unwrap() + 1, "first one at a time");
        }
    }
    let all: BTreeSet<u32> = asked.iter().copied().collect();
    assert_eq!(all.len(), 40, "{asked:?}");
}

#[test]
fn a_peer_is_sent_so_many_bytes_of_batches_for_its_small_requests_and_no_more() {
    let mut bench = Bench::new();
    bench.spread(&[&[1; 900]]);
    let id = batch(&[&[1; 900]]).id();
    let served = |bench: &mut Bench, party| {
        let outputs = (0..30).flat_map(|_| bench.receive(party, Message::BatchRequest(id)));
        outputs.filter(|it| matches!(it, Output::Do(Effect::Send { .. }))).count()
    };
    assert_eq!(served(&mut bench, 3), 4, "904 bytes each, four blocks of 1000 are allowed");
    assert_eq!(served(&mut bench, 2), 4, "the others are not made to pay");
    bench.now = at(80);
    assert_eq!(served(&mut bench, 3), 4);
}
