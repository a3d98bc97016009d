//! Transactions of clients: each number is reported once, also after a restart.

use prefinal_crypto_core::access::Party;
use prefinal_protocol::Slot;

use super::bench::{Bench, FOUR, finalized};
use super::certify;
use crate::batch::Batch;
use crate::block::{Body, Transaction};
use crate::client::{Client, ClientHeader, WINDOW, WindowError};
use crate::engine::{Effect, Input, Output};
use crate::mempool::SubmitError;
use crate::message::Message;
use crate::records::Record;

fn pay(number: u64, body: &[u8]) -> Transaction {
    ClientHeader { client: Client::new([5; 32]), number }.transaction(body)
}

/// Has these transactions of party 1 ordered at a height.
fn order(bench: &mut Bench, slot: u64, transactions: &[Transaction]) -> Vec<Output> {
    let batch = Batch::new(Party::new(1), Slot::new(slot + 500), transactions.to_vec());
    let body = Body::new(vec![certify(&batch, &[1, 2])]);
    bench.receive(1, Message::Batch(Box::new(batch)));
    let decision = bench.forger.decision(slot, Some(&body));
    bench.receive(2, Message::Response(vec![decision]))
}

fn refusals(outputs: &[Output]) -> Vec<SubmitError> {
    let refusal = |output: &Output| match output {
        Output::Do(Effect::Refused(error)) => Some(*error),
        _ => None,
    };
    outputs.iter().filter_map(refusal).collect()
}

#[test]
fn a_number_is_reported_once_whatever_stands_in_its_transactions() {
    let mut bench = Bench::new();
    let outputs = order(&mut bench, 1, &[pay(0, b"a"), pay(0, b"b"), pay(2, b"c")]);
    assert_eq!(finalized(&outputs), [(1, Some(2))]);
    let outputs = order(&mut bench, 2, &[pay(2, b"d"), pay(1, b"e"), pay(WINDOW + 3, b"f")]);
    assert_eq!(finalized(&outputs), [(2, Some(1))], "used, open, ahead");
    let outputs = order(&mut bench, 3, &[pay(WINDOW + 2, b"g")]);
    assert_eq!(finalized(&outputs), [(3, Some(1))], "the window has moved");
}

#[test]
fn a_submitter_is_told_that_a_number_is_used_or_ahead() {
    let mut bench = Bench::new();
    order(&mut bench, 1, &[pay(0, b"a"), pay(2, b"c")]);
    let mut submit = |number, body: &[u8]| refusals(&bench.input(Input::Submit(pay(number, body))));
    let used = |number| [SubmitError::Window(WindowError::Used { number })];
    assert_eq!((submit(0, b"a"), submit(2, b"x")), (used(0).into(), used(2).into()));
    let (number, end) = (WINDOW + 1, WINDOW + 1);
    let ahead = [SubmitError::Window(WindowError::Ahead { number, end })];
    assert_eq!(submit(number, b"x"), ahead);
    assert_eq!((submit(WINDOW, b"x"), submit(WINDOW, b"x")), (vec![], vec![]));
    assert_eq!(submit(WINDOW, b"y"), [SubmitError::NumberWaits { number: WINDOW }]);
}

/// A life in which numbers 0 and 1 were ordered long ago, one ahead of the window was left out, and 3 was
/// ordered since the last record of windows.
fn old_life() -> Bench {
    let mut bench = Bench::new();
    bench.keeps_notes = true;
    for slot in 1..=400 {
        match slot {
            1 => order(&mut bench, 1, &[pay(0, b"a"), pay(1, b"b")]),
            300 => order(&mut bench, 300, &[pay(WINDOW + 2, b"z")]),
            310 => order(&mut bench, 310, &[pay(2, b"c")]),
            390 => order(&mut bench, 390, &[pay(3, b"d")]),
            _ => bench.decide(slot..=slot),
        };
    }
    bench
}

#[test]
fn numbers_are_known_after_a_restart_however_long_ago_they_were_ordered() {
    let bench = old_life();
    let (mut later, _) = bench.restart();
    assert_eq!(later.engine.next(), Slot::new(401));
    let used: Vec<_> = (0..4).map(|number| pay(number, b"again")).collect();
    assert_eq!(finalized(&order(&mut later, 401, &used)), [(401, Some(0))]);
    let left_out = [pay(WINDOW + 2, b"z")];
    assert_eq!(
        finalized(&order(&mut later, 402, &left_out)),
        [(402, Some(1))],
        "as for the others"
    );
}

#[test]
fn heights_that_are_reported_again_keep_their_transactions() {
    // The crash took the notes since height 389, but not what is kept.
    let bench = old_life();
    let lost = |record: &Record| match record {
        Record::Finalized(slot) | Record::History(slot, _) => slot.get() >= 390,
        _ => false,
    };
    let records = bench.records.into_iter().filter(|record| !lost(record)).collect();
    let (_, outputs) = Bench::begin(&FOUR, 0, records);
    assert_eq!(finalized(&outputs)[0], (390, Some(1)));
}
