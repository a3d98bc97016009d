//! Falling behind and catching up: decisions, blocks, and what a server gives away.

use prefinal_crypto_core::access::Party;
use prefinal_protocol::Slot;

use super::bench::{Bench, at, body, faults, finalized, malformed, requests, sent, view};
use crate::block::skipped;
use crate::certificate::Stage;
use crate::engine::{Input, Output};
use crate::fault::Fault;
use crate::message::{BodyRequest, Decision, MAX_DECISIONS, Message, ShapeError};

fn responses(outputs: &[Output]) -> Vec<Vec<Decision>> {
    let response = |message: &&Message| match message {
        Message::Response(decisions) => Some(decisions.clone()),
        _ => None,
    };
    sent(outputs).iter().filter_map(response).collect()
}

#[test]
fn a_party_that_is_behind_asks_one_peer_at_a_time_until_it_has_all() {
    let mut bench = Bench::new();
    for party in [1, 2] {
        bench.receive(party, Message::Progress(Slot::new(4)));
    }
    assert_eq!(requests(&bench.input(Input::Tick)), [], "it may be on its way");
    bench.now = at(20);
    assert_eq!(requests(&bench.input(Input::Tick)), [(1, 1)]);
    bench.now = at(100);
    assert_eq!(requests(&bench.input(Input::Tick)), [(2, 1)], "the other one");
    let all: Vec<Decision> =
        (1..4).map(|slot| bench.forger.decision(slot, Some(&body(&[])))).collect();
    let outputs = bench.receive(1, Message::Response(all));
    assert_eq!(finalized(&outputs), [(1, Some(0)), (2, Some(0)), (3, Some(0))]);
    assert_eq!(requests(&outputs), [(1, 4)], "more, if there is more");
    bench.now = at(1000);
    assert_eq!(requests(&bench.input(Input::Tick)), []);
}

#[test]
fn decisions_are_believed_on_their_certificates_only() {
    let mut bench = Bench::new();
    let (one, two) = (body(&[b"a"]), body(&[b"b"]));
    let mut decision = bench.forger.decision(1, Some(&one));
    decision.body = Some(two.clone());
    let outputs = bench.receive(1, Message::Response(vec![decision.clone()]));
    assert_eq!(malformed(&outputs), ShapeError::OtherBody { slot: Slot::new(1) });
    decision.body = None;
    let outputs = bench.receive(1, Message::Response(vec![decision.clone()]));
    assert_eq!(malformed(&outputs), ShapeError::OtherBody { slot: Slot::new(1) });
    // Prepares are no commits, and commits of one block none of another.
    let name = bench.forger.value(1, &one);
    decision.body = Some(one.clone());
    decision.certificate = bench.forger.certificate(Stage::Prepare, &[1, 2, 3], view(1, 0), name);
    let outputs = bench.receive(1, Message::Response(vec![decision.clone()]));
    assert_eq!(faults(&outputs), [(1, Fault::ForgedCertificate { view: view(1, 0) })]);
    decision.certificate.value = bench.forger.value(1, &two);
    decision.body = Some(two);
    let outputs = bench.receive(1, Message::Response(vec![decision]));
    assert_eq!(faults(&outputs), [(1, Fault::ForgedCertificate { view: view(1, 0) })]);
    assert_eq!(bench.engine.next(), Slot::new(1));
    // One bad decision among good ones: nothing of the message is taken.
    let mut both = vec![bench.forger.decision(1, Some(&one)), bench.forger.decision(2, None)];
    both[1].certificate =
        bench.forger.certificate(Stage::Prepare, &[1, 2, 3], view(2, 0), skipped(Slot::new(2)));
    assert_eq!(finalized(&bench.receive(1, Message::Response(both))), []);
}

#[test]
fn responses_have_bounds_and_no_gaps() {
    let mut bench = Bench::new();
    let decision = |bench: &Bench, slot| bench.forger.decision(slot, None);
    let gap = vec![decision(&bench, 1), decision(&bench, 3)];
    let (got, expected) = (Slot::new(3), Slot::new(2));
    let outputs = bench.receive(1, Message::Response(gap));
    assert_eq!(malformed(&outputs), ShapeError::Gap { got, expected });
    let one = decision(&bench, 1);
    let many = vec![one; MAX_DECISIONS + 1];
    let (what, got, most) = ("decisions", MAX_DECISIONS + 1, MAX_DECISIONS);
    let outputs = bench.receive(1, Message::Response(many));
    assert_eq!(malformed(&outputs), ShapeError::TooMuch { what, got, most });
    let large = body(&[&[0; 997]]);
    let outputs = bench.receive(1, Message::BodyResponse(Slot::new(1), large));
    let (what, got, most) = ("bytes of transactions", 1001, 1000);
    assert_eq!(malformed(&outputs), ShapeError::TooMuch { what, got, most });
}

#[test]
fn a_server_gives_what_it_has_reported_within_the_size_of_a_block() {
    let mut bench = Bench::new();
    let large = body(&[&[7; 400]]);
    bench.spread(&[&[7; 400]]);
    for slot in 1..=4 {
        let decision = bench.forger.decision(slot, Some(&large));
        bench.receive(1, Message::Response(vec![decision]));
    }
    let outputs = bench.receive(2, Message::Request(Slot::new(2)));
    let slots: Vec<u64> =
        responses(&outputs)[0].iter().map(|it| it.certificate.view.slot.get()).collect();
    assert_eq!(slots, [2, 3], "404 bytes each, 1000 allowed");
    for nothing in [0, 5, u64::MAX] {
        assert!(responses(&bench.receive(2, Message::Request(Slot::new(nothing)))).is_empty());
    }
    let value = bench.forger.value(3, &large);
    let request = |slot, value| Message::BodyRequest(BodyRequest { slot: Slot::new(slot), value });
    let outputs = bench.receive(3, request(3, value));
    assert_eq!(sent(&outputs), [&Message::BodyResponse(Slot::new(3), large)]);
    assert!(sent(&bench.receive(3, request(4, value))).is_empty());
    let served = (0..100).filter(|_| !sent(&bench.receive(3, request(3, value))).is_empty());
    assert_eq!(served.count(), 31, "and no more for a while");
}

#[test]
fn what_was_decided_long_ago_is_forgotten() {
    let mut bench = Bench::new();
    bench.decide(1..=400);
    let last = bench.engine.next().get() - 1;
    assert_eq!(last, 400);
    let kept = bench.engine.decided.keys().next().unwrap().get();
    assert_eq!(kept, last - crate::records::KEPT);
    let open = bench.engine.bodies.range(bench.engine.next()..).count();
    assert_eq!(bench.engine.bodies.len() - open, bench.engine.decided.len());
    assert!(bench.engine.open.len() <= 8);
    let (later, outputs) = bench.restart();
    assert_eq!(later.engine.next(), bench.engine.next());
    assert_eq!(later.engine.schedule(), bench.engine.schedule());
    let again = finalized(&outputs);
    assert!(again.len() <= 400, "what was noted is not reported again: {again:?}");
}

#[test]
fn early_proposals_of_the_next_epoch_wait_and_their_number_is_bounded() {
    let mut bench = Bench::new();
    bench.decide(1..=15);
    // The next epoch starts with party 1, at height 17.
    let block = body(&[&[1; 300]]);
    for slot in [17, 21, 25, 29, 33, 37] {
        let outputs = bench.receive(1, bench.forger.proposal(1, slot, &block));
        assert_eq!(faults(&outputs), [], "its leader is not known yet");
    }
    assert_eq!(bench.engine.early[&Party::new(1)].len(), 4);
    let outputs = bench.decide(16..=16);
    let prepared: Vec<u64> =
        super::bench::prepares(&outputs).iter().map(|(view, _)| view.slot.get()).collect();
    assert!(prepared.contains(&17) && prepared.contains(&21), "{prepared:?}");
}
