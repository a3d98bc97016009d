//! One engine and single votes, good, bad and contradictory; and what it takes to be final.

use std::collections::BTreeSet;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{Signature, aggregate};

use super::bench::{
    Bench, FOUR, faults, finalized, malformed, order_votes, prefinalized, shifted, votes,
};
use super::{Forger, at, round};
use prefinal_protocol::Recipient;

use crate::block::{BlockId, Round};
use crate::certificate::Stage;
use crate::engine::{Effect, Input, Output};
use crate::fault::Fault;
use crate::job::{Claim, Job, Outcome, Verdict, Work};
use crate::message::{Message, Request, Response, ShapeError, Vote};

#[test]
fn votes_are_not_checked_before_they_are_a_quorum() {
    let mut bench = Bench::new(&FOUR);
    let id = BlockId::new([5; 32]);
    for party in [1, 2] {
        bench.receive(party, bench.forger.vote(party, 1, id));
    }
    assert!(bench.jobs.is_empty());
    let outputs = bench.receive(3, bench.forger.vote(3, 1, id));
    assert_eq!(bench.jobs.len(), 1);
    assert_eq!((prefinalized(&outputs), order_votes(&outputs)), (vec![1], vec![1]));
    assert_eq!(bench.engine.round(), round(2));
}

#[test]
fn votes_of_another_chain_are_struck_out() {
    let mut bench = Bench::new(&FOUR);
    let (foreign, id) = (Forger::on_chain(1, &FOUR), BlockId::new([5; 32]));
    bench.receive(1, bench.forger.vote(1, 1, id));
    bench.receive(2, bench.forger.vote(2, 1, id));
    let outputs = bench.receive(3, foreign.vote(3, 1, id));
    let fault = Fault::BadSignature { what: "vote", round: round(1) };
    assert_eq!(faults(&outputs), [(3, fault)]);
    assert_eq!(order_votes(&outputs), []);
    assert_eq!(bench.engine.round(), round(1));
}

#[test]
fn errors_that_cancel_are_found_as_soon_as_they_matter() {
    let stakes = [3, 1, 1, 1, 3, 3, 3];
    let mut bench = Bench::new(&stakes);
    let genesis = bench.forger.genesis();
    let block = bench.forger.block(1, &genesis, &[]);
    let id = bench.forger.id(&block);
    let vote = |bench: &Bench, party, error: Option<bool>| {
        let good = bench.forger.sign(Stage::Vote, party, 1, id);
        let signature = error.map_or(good, |sign| shifted(&good, sign));
        Message::Vote(Vote { round: round(1), block: id, signature })
    };
    bench.receive(1, bench.forger.proposal(&block, &genesis, None));
    for (party, error) in [(1, Some(true)), (2, Some(false)), (3, Some(true)), (4, None)] {
        bench.receive(party, vote(&bench, party, error));
    }
    let outputs = bench.receive(5, vote(&bench, 5, None));
    let culprits: BTreeSet<u32> = faults(&outputs).into_iter().map(|(party, _)| party).collect();
    assert_eq!(culprits, BTreeSet::from([1, 2, 3]), "also the two that cancel");
    assert_eq!(order_votes(&outputs), []);
    let outputs = bench.receive(6, vote(&bench, 6, None));
    assert_eq!(order_votes(&outputs), [1]);
    let signers: Vec<_> = bench.engine.qc.signers().map(Party::get).collect();
    assert_eq!(signers, [0, 4, 5, 6]);
    assert_eq!(bench.engine.qc.verify(&bench.forger.committee), Ok(()));

    // From now on what they send is looked at at once, and counts if it is good.
    bench.jobs.clear();
    let outputs = bench.receive(1, bench.forger.vote(1, 2, id));
    assert!(matches!(&bench.jobs[..], [Work::Votes { votes, .. }] if votes.len() == 1));
    assert_eq!(faults(&outputs), []);
    let outputs = bench.receive(2, bench.forger.vote(1, 2, id));
    assert_eq!(faults(&outputs).len(), 1);
}

#[test]
fn errors_that_cancel_in_a_good_sum_hurt_nobody() {
    let mut bench = Bench::new(&FOUR);
    let id = BlockId::new([5; 32]);
    for (party, error) in [(1, Some(true)), (2, Some(false)), (3, None)] {
        let good = bench.forger.sign(Stage::Vote, party, 1, id);
        let signature = error.map_or(good, |sign| shifted(&good, sign));
        let outputs =
            bench.receive(party, Message::Vote(Vote { round: round(1), block: id, signature }));
        assert_eq!(faults(&outputs), []);
    }
    assert_eq!(bench.engine.qc.round, round(1));
    assert_eq!(bench.engine.qc.verify(&bench.forger.committee), Ok(()));
}

#[test]
fn two_votes_in_a_round_convict_if_both_are_signed() {
    for stage in [Stage::Vote, Stage::Order] {
        let mut bench = Bench::new(&FOUR);
        let (one, other) = (BlockId::new([1; 32]), BlockId::new([2; 32]));
        let vote = |bench: &Bench, party: u32, block| match stage {
            Stage::Order => bench.forger.order_vote(party, &bench.forger.qc(1, block, &[1, 2, 3])),
            _ => bench.forger.vote(party, 1, block),
        };
        bench.receive(2, vote(&bench, 2, one));
        let outputs = bench.receive(2, vote(&bench, 2, other));
        let faults = faults(&outputs);
        let Some((2, Fault::Equivocation(evidence))) = faults.last() else { panic!("{faults:?}") };
        assert_eq!(evidence.stage, stage);
        assert_eq!(evidence.verify(&bench.forger.committee, Party::new(2)), Ok(()));
    }
    let mut bench = Bench::new(&FOUR);
    bench.receive(2, bench.forger.vote(2, 1, BlockId::new([1; 32])));
    let unsigned = bench.forger.vote(3, 1, BlockId::new([2; 32]));
    let fault = Fault::BadSignature { what: "vote", round: round(1) };
    assert_eq!(faults(&bench.receive(2, unsigned)), [(2, fault)], "no proof of anything");
}

#[test]
fn votes_far_ahead_take_no_memory() {
    let mut bench = Bench::new(&FOUR);
    for number in 1..1000 {
        bench.receive(1, bench.forger.vote(1, number, BlockId::new([1; 32])));
    }
    assert_eq!(format!("{:?}", bench.engine.votes).matches("Tally").count(), 65);
}

#[test]
fn genesis_and_strangers_have_no_votes() {
    let mut bench = Bench::new(&FOUR);
    let vote = bench.forger.vote(1, 0, bench.forger.genesis().block);
    assert_eq!(malformed(&bench.receive(1, vote)), ShapeError::Genesis);
    for stranger in [0, 4] {
        let vote = bench.forger.vote(1, 1, BlockId::new([1; 32]));
        let from = Party::new(stranger);
        assert_eq!(malformed(&bench.receive(stranger, vote)), ShapeError::Stranger { from });
    }
}

#[test]
fn the_notice_comes_after_the_promise_and_before_the_vote() {
    let mut bench = Bench::new(&FOUR);
    let (_, qc) = bench.chain(1).remove(0);
    let outputs = bench.status(&qc);
    let at = |wanted: fn(&Output) -> bool| outputs.iter().position(wanted).unwrap();
    let persist = at(|output| matches!(output, Output::Keep(_)));
    let notice = at(|output| matches!(output, Output::Do(Effect::Prefinalized { .. })));
    let vote = at(|o| matches!(o, Output::Do(Effect::Send { message: Message::OrderVote(_), .. })));
    assert!(persist < notice && notice < vote);
}

#[test]
fn there_is_no_order_vote_after_a_timeout() {
    let mut bench = Bench::new(&FOUR);
    let chain = bench.chain(2);
    let outputs = bench.time_out();
    let at = |wanted: fn(&Output) -> bool| outputs.iter().position(wanted).unwrap();
    let abandoned = at(|output| matches!(output, Output::Do(Effect::Abandoned { .. })));
    let persist = at(|output| matches!(output, Output::Keep(_)));
    let sent = at(|o| matches!(o, Output::Do(Effect::Send { message: Message::Timeout(_), .. })));
    assert!(persist < abandoned && abandoned < sent);
    let outputs = bench.status(&chain[0].1);
    assert_eq!((prefinalized(&outputs), order_votes(&outputs)), (vec![], vec![]));
    assert_eq!(bench.engine.round(), round(2), "the certificate counts all the same");
    assert_eq!(prefinalized(&bench.status(&chain[1].1)), [2], "the next round is another matter");
}

#[test]
fn ancestors_become_final_without_being_prefinalized() {
    let mut bench = Bench::new(&FOUR);
    let chain = bench.chain(3);
    let (_, qc) = &chain[2];
    let mut outputs = bench.status(qc);
    for party in [1, 2, 3] {
        outputs.extend(bench.receive(party, bench.forger.order_vote(party, qc)));
    }
    assert_eq!(finalized(&outputs), [], "no blocks yet");
    bench.now = at(20);
    outputs.extend(bench.input(Input::Tick));
    let request = outputs.iter().find_map(|output| match output {
        Output::Do(Effect::Send { to, message: Message::Request(request) }) => {
            Some((*to, *request))
        }
        _ => None,
    });
    let wanted = Request { block: qc.block, above: Round::GENESIS };
    let (Recipient::One(provider), request) = request.unwrap() else { panic!() };
    assert!(request == wanted && provider.get() != 0);
    let blocks = chain.iter().rev().map(|(block, _)| block.clone()).collect();
    outputs.extend(bench.receive(provider.get(), Message::Response(Response { blocks })));
    assert_eq!(finalized(&outputs), [(1, true), (2, true), (3, true)]);
    assert_eq!(prefinalized(&outputs), [3]);
    // Nor later, when their certificates arrive after all.
    for (block, qc) in &chain[..2] {
        outputs.extend(bench.status(qc));
        let author = block.author().get();
        outputs.extend(bench.receive(author, bench.forger.proposal(block, qc, None)));
    }
    assert_eq!(prefinalized(&outputs), [3]);
}

#[test]
fn two_certificates_in_consecutive_rounds_are_enough() {
    let mut bench = Bench::new(&FOUR);
    let chain = bench.chain(2);
    let genesis = bench.forger.genesis();
    bench.receive(1, bench.forger.proposal(&chain[0].0, &genesis, None));
    let outputs = bench.receive(2, bench.forger.proposal(&chain[1].0, &chain[0].1, None));
    assert_eq!(finalized(&outputs), []);
    assert_eq!(finalized(&bench.status(&chain[1].1)), [(1, true)]);
}

#[test]
fn certificates_with_a_gap_between_them_are_not() {
    let mut bench = Bench::new(&FOUR);
    let (first, qc) = bench.chain(1).remove(0);
    let genesis = bench.forger.genesis();
    bench.receive(1, bench.forger.proposal(&first, &genesis, None));
    bench.status(&qc);
    let tc = bench.forger.tc(2, &[(1, 1), (2, 1), (3, 1)]);
    let third = bench.forger.block(3, &qc, &[]);
    let outputs = bench.receive(3, bench.forger.proposal(&third, &qc, Some(&tc)));
    assert_eq!(votes(&outputs).len(), 1);
    let qc = bench.forger.qc(3, bench.forger.id(&third), &[1, 2, 3]);
    let outputs = bench.status(&qc);
    assert_eq!(finalized(&outputs), []);
    let outputs = [1, 2].map(|party| bench.receive(party, bench.forger.order_vote(party, &qc)));
    assert_eq!(finalized(&outputs.concat()), [(1, true), (2, false), (3, true)]);
}

/// A caller that checks votes one by one, as one does that has met them before; `None` if one of them is
/// bad, for then the sum decides.
fn judged(job: &Job) -> Option<Verdict> {
    let committee = job.committee();
    let is_good = |stage: Stage, message: &[u8], party: &Party, vote: &Signature| {
        let member = committee.member(*party);
        member.is_some_and(|it| vote.verify(it.key.get(), stage.domain(), message).is_ok())
    };
    let outcome = match job.work() {
        Work::Votes { stage, round, block, votes } => {
            let message = committee.statement(*round, *block);
            let mut each = votes.iter();
            let all = each.all(|(party, vote)| is_good(*stage, &message, party, vote));
            Outcome::Sum(Ok(all.then(|| aggregate(votes.values()))?.unwrap()))
        }
        Work::Claims(claims) => {
            let bad = claims.iter().enumerate().filter(|(_, claim)| !claim.holds(committee));
            Outcome::Claims(bad.map(|(position, _)| position).collect())
        }
        Work::Timeouts { .. } | Work::Evidence { .. } => return None,
    };
    Some(Verdict { job: job.fingerprint(), outcome })
}

#[test]
fn a_caller_that_has_checked_votes_before_gives_the_same_verdicts() {
    let bench = Bench::new(&FOUR);
    let id = BlockId::new([5; 32]);
    let vote = |party: u32, error: Option<bool>| {
        let good = bench.forger.sign(Stage::Vote, party, 1, id);
        (Party::new(party), error.map_or(good, |sign| shifted(&good, sign)))
    };
    // Which votes, of which round, and whether each is good.
    let cases = [
        (vec![vote(0, None), vote(1, None), vote(2, None)], 1, true),
        (vec![vote(1, None), vote(2, None), vote(3, None)], 1, true),
        (vec![vote(0, None), vote(1, Some(true)), vote(2, None)], 1, false),
        (vec![vote(0, Some(false)), vote(1, Some(true)), vote(2, None)], 1, false),
        (vec![vote(0, None), vote(1, None), vote(3, Some(true))], 1, false),
        // The same votes in another round are other votes.
        (vec![vote(0, None), vote(1, None), vote(2, None)], 2, false),
    ];
    let committee = Arc::new(bench.forger.committee.clone());
    for (votes, number, good) in cases {
        let (stage, round, votes) = (Stage::Vote, round(number), votes.into_iter().collect());
        let work = Work::Votes { stage, round, block: id, votes };
        let job = Job::new(Arc::clone(&committee), work);
        assert_eq!(judged(&job), good.then(|| job.run()));
    }
    // Certificates: good, with another sum, of others, of nobody.
    let good = bench.forger.qc(1, id, &[0, 1, 2]);
    let mut other = good.clone();
    other.votes.as_mut().unwrap().signature = vote(0, None).1;
    let claims = [good, other, bench.forger.qc(1, id, &[1, 2, 3]), bench.forger.genesis()];
    let job = Job::new(Arc::clone(&committee), Work::Claims(claims.map(Claim::Quorum).to_vec()));
    assert_eq!(job.run().outcome, Outcome::Claims(BTreeSet::from([1])));
    assert_eq!(judged(&job), Some(job.run()));
}
