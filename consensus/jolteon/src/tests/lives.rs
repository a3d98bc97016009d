//! One engine through timeouts and restarts.

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::SecretKey;
use prefinal_crypto_core::curve::Scalar;
use prefinal_crypto_core::secret::Secret;

use super::bench::{
    Bench, FOUR, faults, finalized, malformed, order_votes, prefinalized, proposals, shifted, votes,
};
use super::{Forger, config, context, ms, round, secret};
use prefinal_protocol::Recipient;

use crate::block::{BlockId, Round, Transaction};
use crate::certificate::{Stage, TIMEOUT, timeout_statement};
use crate::config::{Member, Replicas};
use crate::engine::{Effect, Input, Jolteon, Output};
use crate::fault::Fault;
use crate::message::{Message, Request, ShapeError, Status, Timeout};
use crate::records::Records;

#[test]
fn timeouts_become_a_certificate_and_the_leader_is_told() {
    let mut bench = Bench::new(&FOUR);
    let genesis = bench.forger.genesis();
    bench.time_out();
    bench.receive(2, bench.forger.timeout(2, 1, &genesis, None));
    let outputs = bench.receive(3, bench.forger.timeout(3, 1, &genesis, None));
    assert_eq!(bench.engine.round(), round(2));
    let told = outputs.iter().any(|output| match output {
        Output::Do(Effect::Send { to, message: Message::Status(status) }) => {
            *to == Recipient::One(Party::new(2)) && status.tc.is_some()
        }
        _ => false,
    });
    assert!(told);
    // A party that is behind is told as well.
    let outputs = bench.receive(3, bench.forger.timeout(3, 1, &genesis, None));
    assert!(matches!(
        &outputs[..],
        [Output::Do(Effect::Send { to: Recipient::One(to), message: Message::Status(_) })] if to.get() == 3
    ));
}

#[test]
fn a_timeout_is_sent_again_until_the_round_is_over() {
    let mut bench = Bench::new(&FOUR);
    let sent = |outputs: &[Output]| {
        let timeout = |o: &&Output| {
            matches!(o, Output::Do(Effect::Send { message: Message::Timeout(_), .. }))
        };
        let abandoned = |o: &&Output| matches!(o, Output::Do(Effect::Abandoned { .. }));
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
fn a_timeout_certificate_without_the_certificate_it_speaks_of_moves_nobody() {
    let mut bench = Bench::new(&FOUR);
    let (_, qc) = bench.chain(1).remove(0);
    let tc = Some(bench.forger.tc(2, &[(1, 1), (2, 1), (3, 1)]));
    bench.receive(1, Message::Status(Box::new(Status { qc: qc.clone(), tc: tc.clone() })));
    assert_eq!(bench.engine.round(), round(3));
    // Two honest timeouts, and one of a party that claims a certificate that does not
    // exist. A party that enters a round by these three has nothing to extend there, and nothing that it
    // says is believed.
    let poisoned = bench.forger.tc(3, &[(1, 2), (2, 1), (3, 1)]);
    let mut forged = bench.forger.qc(2, BlockId::new([7; 32]), &[1, 2, 3]);
    forged.block = BlockId::new([8; 32]);
    let forged = Status { qc: forged, tc: Some(poisoned) };
    let outputs = bench.receive(1, Message::Status(Box::new(forged)));
    assert_eq!(faults(&outputs), [(1, Fault::ForgedCertificate { round: round(2) })]);
    assert_eq!(bench.engine.round(), round(3));

    let mut outputs = bench.time_out();
    for party in [2, 3] {
        let timeout = bench.forger.timeout(party, 3, &qc, tc.as_ref());
        outputs.extend(bench.receive(party, timeout));
    }
    assert_eq!(bench.engine.round(), round(4));
    let proposal = Message::Proposal(Box::new(proposals(&outputs).remove(0)));
    assert_eq!(proposal.check_shape(Party::new(0), &bench.forger.committee, 1000), Ok(()));
}

/// Seven parties, of which the last two have keys that cancel.
fn with_accomplices() -> (Forger, Jolteon, [SecretKey; 2]) {
    let scalar = Scalar::from_bytes(secret(5).to_secret_bytes().expose()).unwrap();
    let negated = Secret::new((-scalar).to_bytes());
    let accomplices = [secret(5), SecretKey::from_secret_bytes(&negated).unwrap()];
    let mut config = config(&[1; 7], 0);
    for (member, secret) in config.members[5..].iter_mut().zip(&accomplices) {
        let proof = secret.prove_possession();
        let key = secret.public_key().verify_possession(&proof).unwrap();
        *member = Member { key, stake: member.stake };
    }
    let committee = Replicas::new(&context(0), config.members.clone()).unwrap();
    let engine = Jolteon::new(config, secret(0), Records::default()).unwrap();
    (Forger { committee }, engine, accomplices)
}

#[test]
fn timeouts_under_keys_that_cancel_hold_nobody_up() {
    let (forger, engine, accomplices) = with_accomplices();
    let genesis = forger.genesis();
    let (_, qc) = Bench::chain_of(&forger, &[0, 1, 2, 3, 4], 1).remove(0);
    let (mut bench, _) = Bench::around(engine, forger, Records::default());
    bench.status(&qc);
    bench.time_out();
    // They say that they know of nothing, and nobody else says the same.
    for (party, secret) in (5..).zip(&accomplices) {
        let statement = timeout_statement(&bench.forger.committee, round(2), Round::GENESIS);
        let tc = Some(bench.forger.tc(1, &[(1, 0), (2, 0), (3, 0), (4, 0), (0, 0)]));
        let signature = secret.sign(TIMEOUT, &statement);
        let timeout = Timeout { round: round(2), qc: genesis.clone(), tc, signature };
        bench.receive(party, Message::Timeout(Box::new(timeout)));
    }
    for party in 1..=4 {
        bench.receive(party, bench.forger.timeout(party, 2, &qc, None));
    }
    assert_eq!(bench.engine.round(), round(3));
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
        Output::Do(Effect::Send { message: Message::Timeout(timeout), .. }) => {
            timeout.qc.round < qc.round
        }
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
        [Output::Do(Effect::Send { message: Message::Response(response), .. })] if response.blocks.len() == 3
    ));
}
