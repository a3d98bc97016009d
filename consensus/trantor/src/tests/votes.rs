//! Proposals and votes, good, bad and contradictory, and what it takes to decide.

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Slot, View};

use super::bench::{
    Bench, FOUR, at, batch, body, commits, convicts, faults, finalized, malformed, position,
    prefinalized, prepares, sent, shifted, value, view,
};
use crate::block::Transaction;
use crate::certificate::Stage;
use crate::engine::{Effect, Input, Output};
use crate::fault::{Contradiction, EvidenceError, Fault, Said, Signed};
use crate::job::Work;
use crate::message::{Commit, Message, ShapeError, Vote};
use crate::records::Record;

#[test]
fn a_proposal_gets_one_prepare_and_block_and_promise_are_durable_first() {
    let mut bench = Bench::new();
    let block = body(&[b"tx"]);
    let name = bench.forger.value(2, &block);
    let outputs = bench.receive(1, bench.forger.proposal(1, 2, &block));
    assert_eq!(prepares(&outputs), [(view(2, 0), name)]);
    let send = position(&outputs, |output| matches!(output, Output::Do(Effect::Send { .. })));
    let durable = outputs[..send].iter().filter(|output| matches!(output, Output::Keep(_)));
    assert_eq!(durable.count(), 2, "block and promise");
    assert_eq!(prepares(&bench.receive(1, bench.forger.proposal(1, 2, &block))), []);
}

#[test]
fn a_leader_proposes_at_its_own_heights_as_many_as_it_may_have_open() {
    let (mut bench, outputs) = Bench::begin(&FOUR, 0, Vec::new());
    let slots = |outputs: &[Output]| -> Vec<u64> {
        let slot = |message: &&Message| match message {
            Message::Proposal(proposal) => Some(proposal.slot.get()),
            _ => None,
        };
        sent(outputs).iter().filter_map(slot).collect()
    };
    assert_eq!(slots(&outputs), [1, 5], "two of the segment 1, 5, 9, 13");
    assert_eq!(slots(&bench.decide(1..=1)), [9]);
    assert_eq!(slots(&bench.decide(2..=4)), []);
    assert_eq!(slots(&bench.decide(5..=5)), [13]);
    // The next epoch's leaders are known when this one is decided.
    assert_eq!(slots(&bench.decide(6..=15)), []);
    assert_eq!(slots(&bench.decide(16..=16)), [20, 24]);
}

#[test]
fn only_the_leader_of_a_height_is_listened_to() {
    let mut bench = Bench::new();
    let block = body(&[]);
    let outputs = bench.receive(2, bench.forger.proposal(2, 2, &block));
    let from = Party::new(2);
    assert_eq!(malformed(&outputs), ShapeError::NotThePrimary { from, view: view(2, 0) });
    assert_eq!(prepares(&outputs), []);
}

#[test]
fn a_second_proposal_for_a_height_gets_no_vote_but_convicts_once() {
    let mut bench = Bench::new();
    let blocks = [&b"a"[..], b"b", b"c"].map(|tx| body(&[tx]));
    let [first, second, third] = blocks.map(|block| bench.forger.proposal(1, 2, &block));
    assert_eq!(prepares(&bench.receive(1, first)).len(), 1);
    let outputs = bench.receive(1, second);
    assert_eq!(prepares(&outputs), []);
    assert_eq!(convicts(&outputs, &bench.forger.committee), [1]);
    assert_eq!(faults(&bench.receive(1, third)), [], "convicted once");
}

#[test]
fn a_restarted_party_prepares_no_other_block_and_says_the_same_again() {
    let mut bench = Bench::new();
    let (one, two) = (body(&[b"a"]), body(&[b"b"]));
    bench.receive(1, bench.forger.proposal(1, 2, &one));
    let (mut later, outputs) = bench.restart();
    let name = bench.forger.value(2, &one);
    assert!(prepares(&outputs).contains(&(view(2, 0), name)));
    assert_eq!(prepares(&later.receive(1, bench.forger.proposal(1, 2, &two))), []);
    // Its own proposals are the same as well.
    let own = |outputs: &[Output]| -> Vec<Message> {
        let is_own = |message: &&&Message| matches!(message, Message::Proposal(_));
        sent(outputs).iter().filter(is_own).map(|&message| message.clone()).collect()
    };
    let before = Bench::begin(&FOUR, 0, Vec::new()).1;
    assert_eq!(own(&outputs), own(&before));
}

#[test]
fn votes_are_not_checked_before_they_are_a_quorum_and_then_their_sum() {
    let mut bench = Bench::new();
    bench.jobs.clear();
    let name = value(5);
    bench.votes(Stage::Prepare, &[1, 2], view(2, 0), name);
    assert!(bench.jobs.is_empty());
    let outputs = bench.votes(Stage::Prepare, &[3], view(2, 0), name);
    assert_eq!(bench.jobs.len(), 1);
    assert_eq!(prefinalized(&outputs), [view(2, 0)]);
    assert_eq!(commits(&outputs), [(view(2, 0), name, None)]);
}

#[test]
fn prepares_of_two_views_or_of_two_values_do_not_add_up() {
    let mut bench = Bench::new();
    bench.votes(Stage::Prepare, &[1, 2], view(2, 0), value(5));
    let outputs = bench.votes(Stage::Prepare, &[3], view(2, 1), value(5));
    assert_eq!(commits(&outputs), []);
    let outputs = bench.votes(Stage::Prepare, &[3], view(2, 0), value(6));
    assert_eq!(commits(&outputs), []);
}

#[test]
fn the_notice_comes_before_the_record_and_the_record_with_the_partial_before_the_vote() {
    let mut bench = Bench::new();
    bench.partial = Some(vec![7; 9]);
    let outputs = bench.votes(Stage::Prepare, &[1, 2, 3], view(2, 0), value(5));
    let notice = position(&outputs, |it| matches!(it, Output::Do(Effect::Prefinalized { .. })));
    let record = position(&outputs, |it| matches!(it, Output::Keep(Record::Commit { .. })));
    let is_vote =
        |it: &Output| matches!(it, Output::Do(Effect::Send { message: Message::Commit(_), .. }));
    let vote = position(&outputs, is_vote);
    assert!(notice < record && record < vote);
    let carried = Some(vec![7; 9]);
    assert_eq!(commits(&outputs), [(view(2, 0), value(5), carried.clone())]);
    // After a crash the same vote leaves with the same partial, and is not announced again.
    let (later, outputs) = bench.restart();
    assert_eq!(commits(&outputs), [(view(2, 0), value(5), carried)]);
    assert_eq!(prefinalized(&outputs), []);
    assert!(later.engine.open.contains_key(&Slot::new(2)));
}

#[test]
fn bytes_are_taken_for_the_vote_announced_last_and_for_no_other() {
    let mut bench = Bench::new();
    assert_eq!(bench.engine.carry(vec![1]), Err(vec![1]), "no vote");
    let mut late = Vec::new();
    for party in 1..4 {
        let vote = bench.forger.vote(Stage::Prepare, party, view(2, 0), value(5));
        bench.engine.handle(bench.now, Input::Received { from: Party::new(party), message: vote });
    }
    use prefinal_protocol::Machine;
    while let Some(output) = bench.engine.poll() {
        match output {
            Output::Do(Effect::Check(job)) => {
                let verdict = job.run();
                bench.engine.handle(bench.now, Input::Checked(verdict));
            }
            Output::Do(Effect::Prefinalized { .. }) => {
                let long = vec![0; crate::message::MAX_PARTIAL + 1];
                assert_eq!(bench.engine.carry(long.clone()), Err(long));
                let _record = bench.engine.poll();
                late.push(bench.engine.carry(vec![1]));
            }
            _ => {}
        }
    }
    assert_eq!(late, [Err(vec![1])], "the record is out already");
}

#[test]
fn what_a_first_view_commit_carries_is_passed_on_once_also_when_it_is_late() {
    let mut bench = Bench::new();
    let carried = |bench: &Bench, view, partial| {
        let signature = bench.forger.sign(Stage::Commit, 1, view, value(5));
        let vote = Vote { view, value: value(5), signature };
        Message::Commit(Box::new(Commit { vote, partial }))
    };
    let passed = |outputs: &[Output]| {
        outputs.iter().filter(|it| matches!(it, Output::Do(Effect::Carried { .. }))).count()
    };
    let first = carried(&bench, view(2, 0), Some(vec![1]));
    assert_eq!(passed(&bench.receive(1, first.clone())), 1);
    assert_eq!(passed(&bench.receive(1, first)), 0, "again");
    bench.decide(1..=9);
    let late = carried(&bench, view(9, 0), Some(vec![1]));
    assert_eq!(passed(&bench.receive(1, late)), 1, "the height is decided already");
    let early = carried(&bench, view(1000, 0), Some(vec![1]));
    assert_eq!(passed(&bench.receive(1, early)), 0, "out of reach");
    let outputs = bench.receive(1, carried(&bench, view(12, 1), Some(vec![1])));
    assert_eq!(malformed(&outputs), ShapeError::LatePartial { view: view(12, 1) });
}

#[test]
fn a_height_is_decided_by_commits_and_reported_when_its_block_is_here() {
    let mut bench = Bench::new();
    let block = body(&[b"tx"]);
    bench.spread(&[b"tx"]);
    let name = bench.forger.value(2, &block);
    let outputs = bench.votes(Stage::Commit, &[1, 2, 3], view(2, 0), name);
    assert_eq!(finalized(&outputs), [], "height 1 comes first");
    let outputs = bench.decide(1..=1);
    assert_eq!(finalized(&outputs), [(1, Some(0))]);
    bench.now = at(20);
    let outputs = bench.input(Input::Tick);
    let asked = |message: &&Message| matches!(message, Message::BodyRequest(_));
    assert_eq!(sent(&outputs).iter().filter(|it| asked(it)).count(), 1, "one signer is asked");
    let wrong = bench.receive(1, Message::BodyResponse(Slot::new(2), body(&[b"other"])));
    assert_eq!(finalized(&wrong), []);
    let outputs = bench.receive(1, Message::BodyResponse(Slot::new(2), block));
    assert_eq!(finalized(&outputs), [(2, Some(1))]);
}

#[test]
fn one_vote_less_than_a_quorum_decides_nothing() {
    let mut bench = Bench::begin(&[3, 3, 3, 1], 3, Vec::new()).0;
    let block = body(&[]);
    let name = bench.forger.value(1, &block);
    bench.receive(0, bench.forger.proposal(0, 1, &block));
    // 3 + 3 of 10; its own one makes 7, which is a quorum.
    let outputs = bench.votes(Stage::Commit, &[0, 1], view(1, 0), name);
    assert_eq!(finalized(&outputs), []);
    let outputs = bench.votes(Stage::Prepare, &[0, 1], view(1, 0), name);
    assert_eq!(finalized(&outputs), [(1, Some(0))]);
}

#[test]
fn errors_that_cancel_are_found_as_soon_as_they_matter() {
    let stakes = [3, 1, 1, 1, 3, 3, 3];
    let mut bench = Bench::begin(&stakes, 0, Vec::new()).0;
    let name = value(5);
    let vote = |bench: &Bench, party, error: Option<bool>| {
        let good = bench.forger.sign(Stage::Prepare, party, view(2, 0), name);
        let signature = error.map_or(good, |sign| shifted(&good, sign));
        Message::Prepare(Vote { view: view(2, 0), value: name, signature })
    };
    for (party, error) in [(1, Some(true)), (2, Some(false)), (3, Some(true)), (4, None), (5, None)]
    {
        bench.receive(party, vote(&bench, party, error));
    }
    let outputs = bench.receive(6, vote(&bench, 6, None));
    let culprits: Vec<u32> = faults(&outputs).into_iter().map(|(party, _)| party).collect();
    assert_eq!(culprits, [1, 2, 3], "also the two that cancel");
    assert_eq!(commits(&outputs), [], "9 of 15 are left");
    // From now on what they send is looked at at once, and counts if it is good.
    bench.jobs.clear();
    bench.receive(1, bench.forger.vote(Stage::Prepare, 1, view(3, 0), name));
    assert!(matches!(&bench.jobs[..], [Work::Votes { votes, .. }] if votes.len() == 1));
    let outputs = bench.receive(2, bench.forger.vote(Stage::Prepare, 1, view(3, 0), name));
    let fault = Fault::BadSignature { what: "prepare", view: view(3, 0) };
    assert_eq!(faults(&outputs), [(2, fault)]);
}

#[test]
fn two_votes_in_a_view_convict_if_both_are_signed() {
    for stage in [Stage::Prepare, Stage::Commit] {
        let mut bench = Bench::new();
        bench.votes(stage, &[2], view(3, 0), value(1));
        let outputs = bench.votes(stage, &[2], view(3, 0), value(2));
        assert_eq!(convicts(&outputs, &bench.forger.committee), [2]);
    }
    let mut bench = Bench::new();
    bench.votes(Stage::Prepare, &[2], view(3, 0), value(1));
    let unsigned = bench.forger.vote(Stage::Prepare, 3, view(3, 0), value(2));
    let fault = Fault::BadSignature { what: "prepare", view: view(3, 0) };
    assert_eq!(faults(&bench.receive(2, unsigned)), [(2, fault)], "no proof of anything");
}

#[test]
fn what_an_honest_party_may_say_is_no_evidence() {
    let bench = Bench::new();
    let (committee, party) = (&bench.forger.committee, Party::new(2));
    let vote = |stage, at, name| Signed {
        said: Said::Vote { stage, view: at, value: name },
        signature: bench.forger.sign(stage, 2, at, name),
    };
    let change = |at, prepared| Signed {
        said: Said::Change { view: at, prepared },
        signature: bench.forger.ask(2, at, prepared),
    };
    let commit = vote(Stage::Commit, view(3, 1), value(1));
    let fine = [
        (commit, vote(Stage::Commit, view(3, 1), value(1))),
        (commit, vote(Stage::Commit, view(3, 2), value(2))),
        (commit, vote(Stage::Prepare, view(3, 1), value(2))),
        (commit, change(view(3, 2), Some(1))),
        (commit, change(view(3, 1), Some(0))),
        (commit, change(view(4, 2), None)),
        (change(view(3, 2), None), change(view(3, 3), Some(0))),
    ];
    for (first, second) in fine {
        for (first, second) in [(first, second), (second, first)] {
            let claim = Contradiction { first, second };
            assert_eq!(claim.verify(committee, party), Err(EvidenceError::Compatible), "{claim}");
        }
    }
    let hides = Contradiction { first: change(view(3, 2), Some(0)), second: commit };
    assert_eq!(hides.verify(committee, party), Ok(()));
    assert!(matches!(hides.verify(committee, Party::new(1)), Err(EvidenceError::Signature(_))));
}

#[test]
fn votes_far_ahead_take_no_memory() {
    let mut bench = Bench::new();
    for slot in 1..2000 {
        bench.votes(Stage::Commit, &[1], view(slot, 0), value(1));
    }
    assert_eq!(bench.engine.commits.stored(), 32);
    for attempt in 0..1000 {
        bench.votes(Stage::Prepare, &[1], view(3, attempt), value(1));
    }
    assert_eq!(bench.engine.prepares.stored(), 2 + 3, "two are its votes");
}

#[test]
fn a_transaction_that_is_ordered_twice_is_reported_once() {
    let mut bench = Bench::new();
    let block = body(&[b"pay", b"pay"]);
    bench.spread(&[b"pay", b"pay"]);
    for slot in 1..=3 {
        let decision = bench.forger.decision(slot, Some(&block));
        let outputs = bench.receive(1, Message::Response(vec![decision]));
        let fresh = usize::from(slot == 1);
        assert_eq!(finalized(&outputs), [(slot, Some(fresh))]);
    }
    let pay = Transaction::new(b"pay".to_vec());
    bench.input(Input::Submit(pay));
    assert_eq!(bench.engine.spreads_at(), None, "it was ordered already");
}

#[test]
fn a_full_pool_says_that_it_is_busy() {
    let mut bench = Bench::new();
    let refused =
        |outputs: &[Output]| outputs.iter().any(|it| matches!(it, Output::Do(Effect::Refused(_))));
    // Four blocks' worth is spread at once, and as much may wait.
    for number in 0..8_u8 {
        let large = Transaction::new(vec![number; 996]);
        assert!(!refused(&bench.input(Input::Submit(large))));
    }
    assert!(refused(&bench.input(Input::Submit(Transaction::new(vec![9; 10])))), "busy");
    assert!(refused(&bench.input(Input::Submit(Transaction::new(vec![9; 997])))), "too large");
}

/// After a crash the beacon assumes that this party has spoken of no slot further ahead.
#[test]
fn a_height_far_after_what_is_reported_is_committed_when_reports_come_near() {
    let mut bench = Bench::new();
    // The batch of the first height is withheld, so nothing is reported.
    let decision = bench.forger.decision(1, Some(&body(&[b"pay"])));
    bench.receive(1, Message::Response(vec![decision]));
    let prepare = |bench: &mut Bench, leader: u32, slot| {
        let block = body(&[]);
        bench.receive(leader, bench.forger.proposal(leader, slot, &block));
        let name = bench.forger.value(slot, &block);
        commits(&bench.votes(Stage::Prepare, &[1, 2, 3], view(slot, 0), name))
    };
    bench.decide(2..=63);
    assert_eq!(prepare(&mut bench, 3, 64).len(), 1, "the last that is near");
    bench.decide(64..=65);
    assert_eq!(prepare(&mut bench, 1, 66), []);
    let outputs = bench.receive(2, Message::BatchResponse(Box::new(batch(&[b"pay"]))));
    assert_eq!(finalized(&outputs).last(), Some(&(65, Some(0))));
    let late: Vec<View> = commits(&outputs).into_iter().map(|(view, ..)| view).collect();
    assert_eq!(late, [view(66, 0)]);
}
