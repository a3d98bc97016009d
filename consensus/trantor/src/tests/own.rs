//! A leader's own batches in its block, before anybody has acknowledged them.

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Recipient, Slot};

use super::bench::{
    Bench, at, batch, body, config, faults, finalized, malformed, ms, prepares, sent, view,
};
use super::certify;
use crate::batch::{Batch, BatchLabel};
use crate::block::{Body, Transaction};
use crate::certificate::Stage;
use crate::config::{Config, OwnBatches};
use crate::engine::{Effect, Input, Output, Trantor};
use crate::fault::Fault;
use crate::fetch::Item;
use crate::message::{MAX_BATCHES, Message, ShapeError};
use crate::records::Record;

/// Party 1's block of batches that nobody has acknowledged.
fn uncertified(batches: &[Batch]) -> Body {
    Body::default().and_uncertified(batches.iter().map(Batch::label).collect())
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

/// Party 0, whose batches go into its blocks at once.
fn leader() -> Bench {
    let mut bench = Bench::new();
    let config = Config { own_batches: OwnBatches::AtOnce, ..config(&super::bench::FOUR, 0) };
    bench.engine = Trantor::new(config, super::secret(0), Vec::new()).unwrap();
    bench
}

#[test]
fn what_waits_leaves_as_a_batch_and_in_the_block_behind_it_when_the_leader_may_propose() {
    let mut bench = leader();
    for bytes in [b"a", b"b"] {
        bench.input(Input::Submit(Transaction::new(bytes.to_vec())));
    }
    let outputs = bench.input(Input::Start);
    let mut sent = sent(&outputs);
    sent.retain(|message| matches!(message, Message::Batch(_) | Message::Proposal(_)));
    let [Message::Batch(batch), Message::Proposal(proposal), ..] = &sent[..] else {
        panic!("{sent:?}")
    };
    assert_eq!(batch.transactions().len(), 2);
    assert_eq!(proposal.body.uncertified(), [batch.label()]);
    let durable = outputs.iter().position(|it| matches!(it, Output::Keep(Record::Batch(_))));
    let leaves = outputs
        .iter()
        .position(|it| matches!(it, Output::Do(Effect::Send { message: Message::Batch(_), .. })));
    assert!(durable < leaves, "it is not lost in a crash");
    // No second block holds it, while the first may be decided or is.
    let value = bench.forger.value(1, &proposal.body);
    bench.decide(2..=8);
    let again = bench.engine.store.select_uncertified(
        Slot::new(9),
        9999,
        &bench.engine.carried[&Slot::new(1)],
        MAX_BATCHES,
    );
    assert_eq!(again, []);
    let outputs = bench.votes(Stage::Commit, &[1, 2, 3], view(1, 0), value);
    assert_eq!(finalized(&outputs).first(), Some(&(1, Some(2))));
    assert!(bench.engine.store.spreading.is_empty());
}

#[test]
fn a_batch_of_a_skipped_height_goes_into_the_next_block() {
    let mut bench = leader();
    bench.input(Input::Submit(Transaction::new(b"a".to_vec())));
    bench.input(Input::Start);
    let skip = bench.forger.decision(1, None);
    let outputs = bench.receive(1, Message::Response(vec![skip]));
    let bodies: Vec<Body> = sent(&outputs)
        .into_iter()
        .filter_map(|message| match message {
            Message::Proposal(proposal) => Some(proposal.body.clone()),
            _ => None,
        })
        .collect();
    assert!(matches!(&bodies[..], [body] if body.uncertified().len() == 1), "{bodies:?}");
}

#[test]
fn a_block_is_prepared_when_the_batch_is_here_and_its_author_is_asked_for_it() {
    let mut bench = Bench::new();
    let (pay, other) = (batch(&[b"pay"]), batch(&[b"else"]));
    let block = uncertified(std::slice::from_ref(&pay));
    assert_eq!(prepares(&bench.receive(1, bench.forger.proposal(1, 2, &block))), []);
    assert_eq!(prepares(&bench.receive(1, Message::Batch(Box::new(other)))), []);
    bench.now = at(20);
    assert_eq!(batch_requests(&bench.input(Input::Tick)), [1]);
    let outputs = bench.receive(1, Message::BatchResponse(Box::new(pay)));
    assert_eq!(prepares(&outputs), [(view(2, 0), bench.forger.value(2, &block))]);
    let stored = outputs.iter().position(|it| matches!(it, Output::Keep(Record::Batch(_))));
    let voted = outputs.iter().position(|it| matches!(it, Output::Keep(Record::Prepare { .. })));
    assert!(stored < voted, "it vouches for what it can serve after a crash");
    // Spread later than the block, as it may be on another path.
    let late = batch(&[b"late"]);
    let block = uncertified(std::slice::from_ref(&late));
    assert_eq!(prepares(&bench.receive(1, bench.forger.proposal(1, 6, &block))), []);
    assert_eq!(prepares(&bench.spread(&[b"late"])).len(), 1);
}

#[test]
fn a_batch_of_another_author_or_of_another_size_is_not_vouched_for() {
    let mut bench = Bench::new();
    bench.spread(&[b"pay"]);
    let block = uncertified(&[batch(&[b"pay"])]);
    let outputs = bench.receive(2, bench.forger.proposal(2, 3, &block));
    assert_eq!(faults(&outputs), [(2, Fault::ForeignBatch { author: Party::new(1) })]);
    assert_eq!(prepares(&outputs), []);
    let small = BatchLabel { bytes: 1, ..batch(&[b"pay"]).label() };
    let lie = Body::default().and_uncertified(vec![small]);
    assert_eq!(prepares(&bench.receive(1, bench.forger.proposal(1, 2, &lie))), []);
    assert_eq!(prepares(&bench.receive(1, bench.forger.proposal(1, 6, &block))).len(), 1);
    // Once among the certified ones and once behind them.
    let both = Body::new(vec![certify(&batch(&[b"pay"]), &[1, 2])]);
    let both = both.and_uncertified(vec![batch(&[b"pay"]).label()]);
    let outputs = bench.receive(1, bench.forger.proposal(1, 10, &both));
    assert_eq!(malformed(&outputs), ShapeError::RepeatedBatch);
    let many: Vec<Batch> = (0..=MAX_BATCHES).map(|it| batch(&[&it.to_be_bytes()])).collect();
    let outputs = bench.receive(1, bench.forger.proposal(1, 10, &uncertified(&many)));
    assert!(matches!(malformed(&outputs), ShapeError::TooMuch { what: "batches", .. }));
}

#[test]
fn nobody_asks_for_a_batch_that_may_end_too_late_or_whose_height_is_decided_without_it() {
    let mut bench = Bench::new();
    let far = Batch::new(Party::new(1), Slot::new(2000), vec![Transaction::new(b"far".to_vec())]);
    bench.receive(1, bench.forger.proposal(1, 2, &uncertified(&[far])));
    let (missing, wanted) = (batch(&[b"missing"]), batch(&[b"wanted"]));
    bench.receive(1, bench.forger.proposal(1, 6, &uncertified(&[missing])));
    bench.decide(1..=5);
    let skip = bench.forger.decision(6, None);
    bench.receive(1, Message::Response(vec![skip]));
    bench.now = at(100);
    assert_eq!(batch_requests(&bench.input(Input::Tick)), []);
    // Decided with it: those that voted are asked.
    let block = uncertified(std::slice::from_ref(&wanted));
    let decision = bench.forger.decision(7, Some(&block));
    assert_eq!(finalized(&bench.receive(2, Message::Response(vec![decision]))), []);
    bench.now = bench.now + ms(20);
    assert_eq!(batch_requests(&bench.input(Input::Tick)), [1]);
    let outputs = bench.receive(1, Message::BatchResponse(Box::new(wanted)));
    assert_eq!(finalized(&outputs), [(7, Some(1))]);
}

#[test]
fn empty_blocks_and_certified_batches_need_no_waiting() {
    let mut bench = Bench::new();
    assert_eq!(prepares(&bench.receive(1, bench.forger.proposal(1, 2, &body(&[])))).len(), 1);
    let mixed = body(&[b"proven"]).and_uncertified(vec![batch(&[b"here"]).label()]);
    bench.spread(&[b"here"]);
    assert_eq!(prepares(&bench.receive(1, bench.forger.proposal(1, 6, &mixed))).len(), 1);
}

#[test]
fn what_may_never_be_decided_leaves_room_for_what_is() {
    for (wanted, asked) in [(31, vec![1]), (32, vec![])] {
        let mut bench = Bench::new();
        for number in 0..wanted {
            let item = Item::Batch(batch(&[&[number]]).id());
            bench.engine.fetch.want(at(1000), item, vec![Party::new(2)]);
        }
        let block = uncertified(&[batch(&[b"missing"])]);
        bench.receive(1, bench.forger.proposal(1, 2, &block));
        bench.now = at(20);
        assert_eq!(batch_requests(&bench.input(Input::Tick)), asked, "beside {wanted}");
    }
}
