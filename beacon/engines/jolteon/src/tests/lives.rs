//! One engine through timeouts and restarts.

use crypto_core::access::Party;

use super::bench::{
    Bench, FOUR, faults, finalized, malformed, order_votes, prefinalized, proposals, shifted, votes,
};
use super::{ms, round};
use crate::block::{BlockId, Round, Transaction};
use crate::certificate::Stage;
use crate::engine::{Input, Output, Recipient};
use crate::fault::Fault;
use crate::message::{Message, Request, ShapeError, Timeout};

#[test]
fn timeouts_become_a_certificate_and_the_leader_is_told() {
    let mut bench = Bench::new(&FOUR);
    let genesis = bench.forger.genesis();
    bench.time_out();
    bench.receive(2, bench.forger.timeout(2, 1, &genesis, None));
    let outputs = bench.receive(3, bench.forger.timeout(3, 1, &genesis, None));
    assert_eq!(bench.engine.round(), round(2));
    let told = outputs.iter().any(|output| match output {
        Output::Send { to, message: Message::Status(status) } => {
            *to == Recipient::One(Party::new(2)) && status.tc.is_some()
        }
        _ => false,
    });
    assert!(told);
    // Who is behind is told as well.
    let outputs = bench.receive(3, bench.forger.timeout(3, 1, &genesis, None));
    assert!(matches!(
        &outputs[..],
        [Output::Send { to: Recipient::One(to), message: Message::Status(_) }] if to.get() == 3
    ));
}

#[test]
fn a_timeout_is_sent_again_until_the_round_is_over() {
    let mut bench = Bench::new(&FOUR);
    let sent = |outputs: &[Output]| {
        let timeout = |o: &&Output| matches!(o, Output::Send { message: Message::Timeout(_), .. });
        let abandoned = |o: &&Output| matches!(o, Output::Abandoned { .. });
        (outputs.iter().filter(timeout).count(), outputs.iter().filter(abandoned).count())
    };
    assert_eq!(sent(&bench.time_out()), (1, 1));
    assert_eq!(sent(&bench.time_out()), (1, 0));
    assert_eq!(sent(&bench.time_out()), (1, 0));
    let (_, qc) = bench.chain(1).remove(0);
    bench.status(&qc);
    bench.now = bench.now + ms(1);
    assert_eq!(sent(&bench.input(Input::Tick)), (0, 0));
}

#[test]
fn a_timeout_with_a_forged_certificate_is_not_counted() {
    let mut bench = Bench::new(&FOUR);
    let genesis = bench.forger.genesis();
    bench.time_out();
    let mut forged = bench.forger.qc(7, BlockId::new([7; 32]), &[1, 2, 3]);
    forged.block = BlockId::new([8; 32]);
    let outputs = bench.receive(2, bench.forger.timeout(2, 8, &forged, None));
    assert_eq!(faults(&outputs), [(2, Fault::ForgedCertificate { round: round(7) })]);
    bench.receive(3, bench.forger.timeout(3, 1, &genesis, None));
    assert_eq!(bench.engine.round(), round(1));
    bench.receive(1, bench.forger.timeout(1, 1, &genesis, None));
    assert_eq!(bench.engine.round(), round(2));
}

#[test]
fn a_badly_signed_timeout_is_struck_out() {
    let mut bench = Bench::new(&FOUR);
    let genesis = bench.forger.genesis();
    bench.time_out();
    let mut bad = bench.forger.timeout(2, 1, &genesis, None);
    if let Message::Timeout(timeout) = &mut bad {
        timeout.signature = shifted(&timeout.signature, true);
    }
    bench.receive(2, bad);
    let outputs = bench.receive(3, bench.forger.timeout(3, 1, &genesis, None));
    let fault = Fault::BadSignature { what: "timeout", round: round(1) };
    assert_eq!(faults(&outputs), [(2, fault)]);
    assert_eq!(bench.engine.round(), round(1));
    bench.receive(1, bench.forger.timeout(1, 1, &genesis, None));
    assert_eq!(bench.engine.round(), round(2));
}

#[test]
fn certificates_in_a_timeout_pull_a_party_forward() {
    let mut bench = Bench::new(&FOUR);
    let chain = bench.chain(6);
    let tc = bench.forger.tc(8, &[(1, 6), (2, 5), (3, 6)]);
    let qc = &chain[5].1;
    let outputs = bench.receive(2, bench.forger.timeout(2, 9, qc, Some(&tc)));
    assert_eq!(faults(&outputs), []);
    assert_eq!(bench.engine.round(), round(9));
    let inconsistent = Timeout {
        round: round(12),
        qc: chain[4].1.clone(),
        tc: Some(bench.forger.tc(11, &[(1, 6), (2, 5), (3, 6)])),
        signature: bench.forger.sign(Stage::Vote, 3, 1, qc.block),
    };
    let shape = malformed(&bench.receive(3, Message::Timeout(Box::new(inconsistent))));
    assert_eq!(shape, ShapeError::Unjustified { round: round(12), qc: round(5) });
}

#[test]
fn a_vote_is_not_repeated_after_a_restart() {
    let mut bench = Bench::new(&FOUR);
    let genesis = bench.forger.genesis();
    let [one, other] = [&b"a"[..], b"b"].map(|tx| {
        let block = bench.forger.block(1, &genesis, &[tx]);
        bench.forger.proposal(&block, &genesis, None)
    });
    assert_eq!(votes(&bench.receive(1, one.clone())).len(), 1);
    for proposal in [one, other] {
        let (mut again, _) = bench.restart(&FOUR);
        assert_eq!(votes(&again.receive(1, proposal)), []);
    }
}

#[test]
fn an_order_vote_is_not_repeated_after_a_restart_and_its_certificate_not_forgotten() {
    let mut bench = Bench::new(&FOUR);
    let (_, qc) = bench.chain(1).remove(0);
    assert_eq!(prefinalized(&bench.status(&qc)), [1]);
    let (mut again, outputs) = bench.restart(&FOUR);
    assert_eq!(prefinalized(&outputs), []);
    assert_eq!(prefinalized(&again.status(&qc)), []);
    assert_eq!(again.engine.round(), round(2));
    let outputs = again.time_out();
    let hidden = outputs.iter().any(|output| match output {
        Output::Send { message: Message::Timeout(timeout), .. } => timeout.qc.round < qc.round,
        _ => false,
    });
    assert!(!hidden);
}

#[test]
fn a_timeout_still_forbids_votes_after_a_restart() {
    let mut bench = Bench::new(&FOUR);
    let (block, qc) = bench.chain(1).remove(0);
    let genesis = bench.forger.genesis();
    bench.time_out();
    let (mut again, _) = bench.restart(&FOUR);
    assert_eq!(votes(&again.receive(1, bench.forger.proposal(&block, &genesis, None))), []);
    let outputs = again.status(&qc);
    assert_eq!((prefinalized(&outputs), order_votes(&outputs)), (vec![], vec![]));
}

#[test]
fn a_leader_does_not_propose_again_after_a_restart() {
    let mut bench = Bench::new(&FOUR);
    let chain = bench.chain(3);
    bench.input(Input::Submit(Transaction::new(b"first life".to_vec())));
    let proposed = proposals(&bench.status(&chain[2].1));
    assert_eq!(proposed.len(), 1);
    assert_eq!(proposed[0].block.round(), round(4));
    let (mut again, outputs) = bench.restart(&FOUR);
    assert_eq!(again.engine.round(), round(4));
    assert!(proposals(&outputs).is_empty());
    assert!(proposals(&again.input(Input::Tick)).is_empty());
}

#[test]
fn finality_goes_on_where_it_was() {
    let mut bench = Bench::new(&FOUR);
    let chain = bench.chain(4);
    let mut parent = bench.forger.genesis();
    for (block, qc) in &chain[..3] {
        let author = block.author().get();
        bench.receive(author, bench.forger.proposal(block, &parent, None));
        bench.status(qc);
        parent = qc.clone();
    }
    assert_eq!(bench.engine.finalized(), round(2));
    let (mut again, outputs) = bench.restart(&FOUR);
    assert_eq!((again.engine.finalized(), finalized(&outputs)), (round(2), vec![]));
    let outputs = [1, 2, 3]
        .map(|party| again.receive(party, bench.forger.order_vote(party, &chain[2].1)))
        .concat();
    assert_eq!(finalized(&outputs), [(3, true)], "the block was durable");
    let request = Request { block: chain[2].1.block, above: Round::GENESIS };
    let outputs = again.receive(2, Message::Request(request));
    assert!(matches!(
        &outputs[..],
        [Output::Send { message: Message::Response(response), .. }] if response.blocks.len() == 3
    ));
}
