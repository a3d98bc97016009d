//! One engine against proposals and certificates of all kinds.

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::certificate::CertificateError as Reason;

use super::bench::{Bench, FOUR, faults, malformed, order_votes, votes};
use super::{Forger, round};
use crate::block::{Block, BlockId, Round};
use crate::certificate::{CertificateError, QuorumCertificate, Stage, TimeoutCertificate};
use crate::engine::{Effect, Output};
use crate::fault::{EvidenceError, Fault};
use crate::message::{Message, ShapeError};

#[test]
fn a_justified_proposal_gets_one_vote_and_the_promise_is_durable_first() {
    let mut bench = Bench::new(&FOUR);
    let genesis = bench.forger.genesis();
    let block = bench.forger.block(1, &genesis, &[b"tx"]);
    let id = bench.forger.id(&block);
    let proposal = bench.forger.proposal(&block, &genesis, None);
    let outputs = bench.receive(1, proposal.clone());
    assert_eq!(votes(&outputs), [(1, id)]);
    let send = outputs
        .iter()
        .position(|output| matches!(output, Output::Do(Effect::Send { .. })))
        .unwrap();
    let durable = outputs[..send].iter().filter(|output| matches!(output, Output::Keep(_)));
    assert_eq!(durable.count(), 2, "block and promise");
    assert_eq!(votes(&bench.receive(1, proposal)), []);
}

#[test]
fn a_second_proposal_of_a_round_gets_no_vote_but_convicts() {
    let mut bench = Bench::new(&FOUR);
    let genesis = bench.forger.genesis();
    let blocks = [&b"a"[..], b"b", b"c"].map(|tx| bench.forger.block(1, &genesis, &[tx]));
    let [first, second, third] = blocks.map(|b| bench.forger.proposal(&b, &genesis, None));
    assert_eq!(votes(&bench.receive(1, first)).len(), 1);
    let outputs = bench.receive(1, second);
    assert_eq!(votes(&outputs), []);
    let [(1, Fault::Equivocation(evidence))] = &faults(&outputs)[..] else { panic!() };
    let committee = &bench.forger.committee;
    assert_eq!(evidence.verify(committee, Party::new(1)), Ok(()));
    assert!(matches!(evidence.verify(committee, Party::new(2)), Err(EvidenceError::Signature(_))));
    let mut same = (**evidence).clone();
    same.second = same.first;
    let block = same.first.block;
    assert_eq!(same.verify(committee, Party::new(1)), Err(EvidenceError::SameBlock { block }));
    assert_eq!(faults(&bench.receive(1, third)), [], "convicted once");
}

#[test]
fn a_proposal_must_have_the_right_shape() {
    let mut bench = Bench::new(&FOUR);
    let chain = bench.chain(2);
    let genesis = bench.forger.genesis();
    let (block, qc) = &chain[0];
    let good = bench.forger.proposal(block, &genesis, None);
    let shape = malformed(&bench.receive(2, good));
    assert_eq!(shape, ShapeError::NotTheLeader { from: Party::new(2), round: round(1) });

    let foreign = Block::new(round(2), (round(1), BlockId::new([9; 32])), Party::new(2), vec![]);
    let shape = malformed(&bench.receive(2, bench.forger.proposal(&foreign, qc, None)));
    assert_eq!(shape, ShapeError::NotItsParent { round: round(2), qc: round(1) });

    let gap = bench.forger.block(3, qc, &[]);
    let unjustified = ShapeError::Unjustified { round: round(3), qc: round(1) };
    let shape = malformed(&bench.receive(3, bench.forger.proposal(&gap, qc, None)));
    assert_eq!(shape, unjustified);
    let early = bench.forger.tc(1, &[(1, 0), (2, 0), (3, 0)]);
    let shape = malformed(&bench.receive(3, bench.forger.proposal(&gap, qc, Some(&early))));
    assert_eq!(shape, unjustified);
    let parent = bench.forger.genesis();
    let hidden = bench.forger.block(3, &parent, &[]);
    let lock = bench.forger.tc(2, &[(1, 0), (2, 1), (3, 0)]);
    let shape = malformed(&bench.receive(3, bench.forger.proposal(&hidden, &parent, Some(&lock))));
    assert_eq!(shape, ShapeError::Unjustified { round: round(3), qc: round(0) });

    let large = bench.forger.block(1, &genesis, &[&[0; 997]]);
    let shape = malformed(&bench.receive(1, bench.forger.proposal(&large, &genesis, None)));
    let (what, got, most) = ("payload bytes", 1001, 1000);
    assert_eq!(shape, ShapeError::TooMuch { what, got, most });
    let fits = bench.forger.block(1, &genesis, &[&[0; 996]]);
    assert_eq!(votes(&bench.receive(1, bench.forger.proposal(&fits, &genesis, None))).len(), 1);
}

#[test]
fn a_payload_that_was_swapped_on_the_way_is_refused() {
    let mut bench = Bench::new(&FOUR);
    let genesis = bench.forger.genesis();
    let block = bench.forger.block(1, &genesis, &[b"pay A"]);
    let bytes = borsh::to_vec(&bench.forger.proposal(&block, &genesis, None)).unwrap();
    let at = bytes.windows(5).position(|window| window == b"pay A").unwrap();
    let mut swapped = bytes;
    swapped[at + 4] = b'B';
    let message = borsh::from_slice(&swapped).unwrap();
    assert!(matches!(malformed(&bench.receive(1, message)), ShapeError::Payload(_)));
}

#[test]
fn a_proposal_is_believed_only_from_its_leader() {
    let mut bench = Bench::new(&FOUR);
    let genesis = bench.forger.genesis();
    let block = bench.forger.block(1, &genesis, &[]);
    let mut message = bench.forger.proposal(&block, &genesis, None);
    if let Message::Proposal(proposal) = &mut message {
        proposal.signature = bench.forger.sign(Stage::Proposal, 2, 1, bench.forger.id(&block));
    }
    let outputs = bench.receive(1, message);
    let fault = Fault::BadSignature { what: "proposal", round: round(1) };
    assert_eq!(faults(&outputs), [(1, fault)]);
    assert_eq!(votes(&outputs), []);
}

#[test]
fn forged_certificates_move_nobody() {
    let mut bench = Bench::new(&FOUR);
    let (block, good) = bench.chain(1).remove(0);
    let id = bench.forger.id(&block);
    let mut claims_more = bench.forger.qc(1, id, &[1, 2]);
    let honest = bench.forger.qc(1, id, &[1, 2, 3]);
    let (some, all) = (claims_more.votes.as_mut().unwrap(), honest.votes.as_ref().unwrap());
    some.signers = all.signers.clone();
    let other_block = QuorumCertificate { block: BlockId::new([1; 32]), ..good.clone() };
    let other_round = QuorumCertificate { round: round(7), ..good.clone() };
    let other_chain = Forger::on_chain(1, &FOUR).qc(1, id, &[1, 2, 3]);
    for forged in [claims_more, other_block, other_round, other_chain] {
        let fault = Fault::ForgedCertificate { round: forged.round };
        let outputs = bench.status(&forged);
        assert_eq!(faults(&outputs), [(1, fault)]);
        assert_eq!((order_votes(&outputs), bench.engine.round()), (vec![], round(1)));
    }
    assert_eq!(order_votes(&bench.status(&good)), [1]);
}

#[test]
fn order_votes_do_not_make_a_certificate_of_votes() {
    let mut bench = Bench::new(&FOUR);
    let (block, mut qc) = bench.chain(1).remove(0);
    let id = bench.forger.id(&block);
    let signed = [1, 2, 3].map(|party| bench.forger.sign(Stage::Order, party, 1, id));
    qc.votes.as_mut().unwrap().signature =
        prefinal_crypto_core::bls::min_sig::aggregate(&signed).unwrap();
    let fault = Fault::ForgedCertificate { round: round(1) };
    assert_eq!(faults(&bench.status(&qc)), [(1, fault)]);
}

#[test]
fn a_certificate_that_cannot_be_one_is_refused_before_any_pairing() {
    let mut bench = Bench::new(&FOUR);
    let (block, good) = bench.chain(1).remove(0);
    let id = bench.forger.id(&block);
    let few = bench.forger.qc(1, id, &[1, 2]);
    let unsigned = QuorumCertificate { votes: None, ..good.clone() };
    let signed_genesis = QuorumCertificate { round: Round::GENESIS, ..good.clone() };
    let other_genesis = QuorumCertificate { block: id, ..bench.forger.genesis() };
    let bitmap = |bytes: &[u8]| {
        let mut qc = good.clone();
        let encoded = borsh::to_vec(bytes).unwrap();
        qc.votes.as_mut().unwrap().signers = borsh::from_slice(&encoded).unwrap();
        qc
    };
    let cases = [
        (few, Reason::BelowQuorum { got: 2, need: 3 }.into()),
        (unsigned, CertificateError::Genesis { round: round(1) }),
        (signed_genesis, CertificateError::Genesis { round: round(0) }),
        (other_genesis, CertificateError::Genesis { round: round(0) }),
        (bitmap(&[0b1111, 0]), Reason::Bitmap { got: 2, parties: 4 }.into()),
        (bitmap(&[0b1_1110]), Reason::Bitmap { got: 1, parties: 4 }.into()),
    ];
    for (qc, error) in cases {
        assert_eq!(malformed(&bench.status(&qc)), ShapeError::Certificate(error));
    }
    assert!(bench.jobs.is_empty());
}

#[test]
fn a_quorum_is_counted_in_stake_and_not_in_heads() {
    let stakes = [10, 40, 30, 20];
    let mut bench = Bench::new(&stakes);
    let genesis = bench.forger.genesis();
    let id = bench.forger.id(&bench.forger.block(1, &genesis, &[]));
    let low = Reason::BelowQuorum { got: 60, need: 67 }.into();
    let three = bench.forger.qc(1, id, &[0, 2, 3]);
    assert_eq!(malformed(&bench.status(&three)), ShapeError::Certificate(low));
    let two = bench.forger.qc(1, id, &[1, 2]);
    assert_eq!(order_votes(&bench.status(&two)), [1]);
}

#[test]
fn a_timeout_certificate_is_what_its_signers_said() {
    let bench = Bench::new(&FOUR);
    let verify = |tc: &TimeoutCertificate| tc.verify(&bench.forger.committee);
    let good = bench.forger.tc(5, &[(1, 3), (2, 4), (3, 3)]);
    assert_eq!((verify(&good), good.highest_qc()), (Ok(()), round(4)));
    let mut lowered = good.clone();
    let signers = lowered.timeouts.remove(&round(4)).unwrap();
    lowered.timeouts.insert(round(2), signers.clone());
    assert!(matches!(verify(&lowered), Err(CertificateError::Quorum(Reason::Signature(_)))));
    let mut twice = good.clone();
    twice.timeouts.insert(round(1), signers);
    let party = Party::new(2);
    assert_eq!(verify(&twice), Err(Reason::SignedTwice { party }.into()));
    let future = bench.forger.tc(5, &[(1, 5), (2, 0), (3, 0)]);
    let error = CertificateError::FromTheFuture { round: round(5), qc: round(5) };
    assert_eq!(verify(&future), Err(error));
    let few = bench.forger.tc(5, &[(1, 3), (2, 3)]);
    assert_eq!(verify(&few), Err(Reason::BelowQuorum { got: 2, need: 3 }.into()));
    let foreign = Forger::on_chain(1, &FOUR).tc(5, &[(1, 3), (2, 4), (3, 3)]);
    assert!(matches!(verify(&foreign), Err(CertificateError::Quorum(Reason::Signature(_)))));
}
