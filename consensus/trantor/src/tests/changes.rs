//! View changes: who gives up what, what a new view may propose, and what is hidden or forged.

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::certificate::CertificateError as Reason;
use prefinal_protocol::{Recipient, Slot};

use super::bench::{
    Bench, FOUR, at, body, changes, commits, convicts, faults, finalized, malformed, ms, new_views,
    position, prefinalized, prepares, value, view,
};
use crate::block::skipped;
use crate::certificate::{CertificateError, Stage};
use crate::engine::{Effect, Input, Output};
use crate::fault::Fault;
use crate::message::{Message, ShapeError};
use crate::records::Record;

fn abandoned(outputs: &[Output]) -> Vec<prefinal_protocol::View> {
    let given_up = |output: &Output| match output {
        Output::Do(Effect::Abandoned { view }) => Some(*view),
        _ => None,
    };
    outputs.iter().filter_map(given_up).collect()
}

#[test]
fn only_the_lowest_undecided_height_is_given_up_and_the_record_comes_first() {
    let mut bench = Bench::new();
    // Party 0 leads height 1 and has proposed; the others stay silent.
    let outputs = bench.time_out();
    assert_eq!(changes(&outputs), [(view(1, 1), None)]);
    assert_eq!(abandoned(&outputs), [view(1, 0)]);
    let record = position(&outputs, |it| matches!(it, Output::Keep(Record::Change { .. })));
    let notice = position(&outputs, |it| matches!(it, Output::Do(Effect::Abandoned { .. })));
    let sent = position(&outputs, |it| {
        matches!(it, Output::Do(Effect::Send { message: Message::ViewChange(_), .. }))
    });
    assert!(record < notice && notice < sent);
    // Height 2 has waited as long, but it is not its turn.
    assert_eq!(bench.engine.open[&Slot::new(2)].attempt, 0);
    let block = body(&[]);
    let outputs = bench.receive(1, bench.forger.proposal(1, 2, &block));
    assert_eq!(prepares(&outputs).len(), 1);
    let outputs = bench.votes(Stage::Prepare, &[1, 2], view(2, 0), bench.forger.value(2, &block));
    assert_eq!(prefinalized(&outputs), [view(2, 0)], "the heights behind go on");
}

#[test]
fn there_is_no_commit_in_a_view_that_was_given_up_not_even_after_a_restart() {
    let mut bench = Bench::new();
    bench.time_out();
    let outputs = bench.votes(Stage::Prepare, &[1, 2, 3], view(1, 0), value(5));
    assert_eq!((prefinalized(&outputs), commits(&outputs)), (vec![], vec![]));
    let (mut later, outputs) = bench.restart();
    assert_eq!(changes(&outputs), [(view(1, 1), None)], "said again");
    let outputs = later.votes(Stage::Prepare, &[1, 2, 3], view(1, 0), value(5));
    assert_eq!((prefinalized(&outputs), commits(&outputs)), (vec![], vec![]));
    // A quorum that is in the next view is another matter.
    let outputs = later.votes(Stage::Prepare, &[1, 2, 3], view(1, 1), value(5));
    assert_eq!(prefinalized(&outputs), [view(1, 1)]);
}

/// The sum of the prepares is on a thread when the time runs out, and comes back valid.
#[test]
fn a_certificate_that_comes_after_the_view_change_is_not_committed() {
    use prefinal_protocol::Machine;
    let mut bench = Bench::new();
    for party in 1..4 {
        let message = bench.forger.vote(Stage::Prepare, party, view(1, 0), value(5));
        bench.engine.handle(bench.now, Input::Received { from: Party::new(party), message });
    }
    let mut jobs = Vec::new();
    while let Some(output) = bench.engine.poll() {
        if let Output::Do(Effect::Check(job)) = output {
            jobs.push(job);
        }
    }
    let outputs = bench.time_out();
    assert_eq!((jobs.len(), changes(&outputs)), (1, vec![(view(1, 1), None)]));
    let outputs = bench.input(Input::Checked(jobs[0].run()));
    assert_eq!((prefinalized(&outputs), commits(&outputs)), (vec![], vec![]));
    // It is no secret: the next view change names it.
    bench.now = at(2000);
    for party in [1, 2] {
        bench.receive(party, bench.forger.change(party, view(1, 1), None));
    }
    bench.now = at(3000);
    assert_eq!(changes(&bench.input(Input::Tick)), [(view(1, 2), Some(0))]);
}

#[test]
fn a_view_change_names_what_was_committed_also_after_a_restart() {
    let mut bench = Bench::new();
    bench.votes(Stage::Prepare, &[1, 2, 3], view(1, 0), value(5));
    assert_eq!(changes(&bench.time_out()), [(view(1, 1), Some(0))]);
    let (_, outputs) = bench.restart();
    assert_eq!(changes(&outputs), [(view(1, 1), Some(0))]);
    let mut bench = Bench::new();
    bench.votes(Stage::Prepare, &[1, 2, 3], view(1, 0), value(5));
    let (mut later, _) = bench.restart();
    assert_eq!(changes(&later.time_out()), [(view(1, 1), Some(0))]);
}

#[test]
fn a_weak_quorum_takes_a_party_along_and_one_liar_does_not() {
    let mut bench = Bench::new();
    let outputs = bench.receive(1, bench.forger.change(1, view(1, 7), None));
    assert_eq!(changes(&outputs), []);
    let outputs = bench.receive(2, bench.forger.change(2, view(1, 3), None));
    assert_eq!(changes(&outputs), [(view(1, 3), None)], "as far as an honest one may be");
    assert_eq!(abandoned(&outputs), [view(1, 2)]);
}

#[test]
fn others_asking_about_a_later_height_move_nobody() {
    let mut bench = Bench::new();
    for party in 1..4 {
        let outputs = bench.receive(party, bench.forger.change(party, view(2, 1), None));
        assert_eq!((changes(&outputs), abandoned(&outputs)), (vec![], vec![]));
    }
    // They have decided height 1. When this party has it too, it goes with them.
    let outputs = bench.decide(1..=1);
    assert_eq!(changes(&outputs), [(view(2, 1), None)]);
}

#[test]
fn the_time_of_a_later_view_runs_when_a_quorum_is_there_and_doubles() {
    let mut bench = Bench::new();
    bench.time_out();
    let alone = bench.time_out();
    assert_eq!(changes(&alone), [(view(1, 1), None)], "the same, again");
    bench.now = at(2000);
    for party in [1, 2] {
        bench.receive(party, bench.forger.change(party, view(1, 1), None));
    }
    assert_eq!(bench.engine.open[&Slot::new(1)].deadline, Some(at(3000)));
    bench.now = at(3000);
    assert_eq!(changes(&bench.input(Input::Tick)), [(view(1, 2), None)]);
}

#[test]
fn a_leader_that_failed_gets_little_time_for_its_other_heights() {
    let mut bench = Bench::new();
    // Party 1 leads 2, 6, 10, 14; height 2 was skipped.
    bench.decide(1..=1);
    let skip = bench.forger.decision(2, None);
    assert_eq!(finalized(&bench.receive(1, Message::Response(vec![skip]))), [(2, None)]);
    bench.decide(3..=4);
    bench.now = at(10);
    bench.decide(5..=5);
    let waits = |bench: &Bench, slot| {
        bench.engine.changes_at().unwrap().since(bench.engine.open[&Slot::new(slot)].due)
    };
    assert_eq!(waits(&bench, 6), ms(125));
    bench.receive(1, bench.forger.proposal(1, 6, &body(&[])));
    assert_eq!(waits(&bench, 6), ms(250), "it does propose");
    bench.decide(6..=16);
    let leads = |bench: &Bench, slot| {
        bench.engine.schedule().leader(Slot::new(slot)) == Some(Party::new(1))
    };
    assert!((17..=28).all(|slot| !leads(&bench, slot)));
    bench.decide(17..=64);
    let back = (65..=68).find(|slot| leads(&bench, *slot)).unwrap();
    bench.decide(65..=back - 1);
    assert_eq!(waits(&bench, back), ms(250), "it comes back");
    bench.decide(back..=back);
    assert_eq!(waits(&bench, back + 1), ms(500), "no other one has failed");
}

#[test]
fn the_primary_of_a_later_view_skips_what_nobody_was_prepared_for() {
    // Party 1 is the primary of the view behind party 0's.
    let mut bench = Bench::begin(&FOUR, 1, Vec::new()).0;
    for party in [0, 2] {
        bench.receive(party, bench.forger.change(party, view(1, 1), None));
    }
    let mut again = Bench::begin(&FOUR, 1, bench.records.clone()).0;
    assert_eq!(bench.engine.open[&Slot::new(1)].prepare, Some((1, skipped(Slot::new(1)))));
    // After a restart it proposes nothing else in that view.
    for party in [0, 2, 3] {
        let prepared = bench.forger.certificate(Stage::Prepare, &[0, 2, 3], view(1, 0), value(5));
        let change = bench.forger.change(party, view(1, 1), Some(prepared));
        assert_eq!(new_views(&again.receive(party, change)), []);
    }
}

#[test]
fn the_primary_of_a_later_view_proposes_the_latest_prepared_value() {
    let mut bench = Bench::begin(&FOUR, 2, Vec::new()).0;
    let old = bench.forger.certificate(Stage::Prepare, &[0, 1, 3], view(1, 0), value(5));
    let new = bench.forger.certificate(Stage::Prepare, &[0, 1, 3], view(1, 1), value(6));
    bench.receive(0, bench.forger.change(0, view(1, 2), Some(new)));
    let outputs = bench.receive(1, bench.forger.change(1, view(1, 2), Some(old)));
    let [new] = &new_views(&outputs)[..] else { panic!() };
    assert_eq!((new.value(), new.change.view), (value(6), view(1, 2)));
    assert_eq!(new.change.verify(&bench.forger.committee), Ok(()));
    assert_eq!(prepares(&outputs), [(view(1, 2), value(6))]);
}

#[test]
fn a_new_view_is_entered_on_its_proof_and_its_value_is_prepared() {
    let mut bench = Bench::new();
    let change = bench.forger.changes(view(1, 1), &[(1, None), (2, None), (3, None)]);
    let outputs = bench.receive(1, bench.forger.new_view(1, change.clone(), None));
    assert_eq!(prepares(&outputs), [(view(1, 1), skipped(Slot::new(1)))]);
    let outputs = bench.votes(Stage::Prepare, &[1, 2], view(1, 1), skipped(Slot::new(1)));
    assert_eq!(prefinalized(&outputs), [view(1, 1)]);
    let outputs = bench.votes(Stage::Commit, &[1, 2], view(1, 1), skipped(Slot::new(1)));
    assert_eq!(finalized(&outputs), [(1, None)]);
    // From a party that is not its primary it is a lie.
    let mut bench = Bench::new();
    let outputs = bench.receive(2, bench.forger.new_view(2, change, None));
    let from = Party::new(2);
    assert_eq!(malformed(&outputs), ShapeError::NotThePrimary { from, view: view(1, 1) });
}

#[test]
fn a_new_view_may_not_pass_over_a_certificate_that_a_signer_names() {
    let mut bench = Bench::new();
    let old = bench.forger.certificate(Stage::Prepare, &[1, 2, 3], view(1, 0), value(5));
    let change = bench.forger.changes(view(1, 5), &[(1, None), (2, Some(1)), (3, Some(0))]);
    // The primary of attempt 5 behind party 0 is party 1.
    let shape = |got, highest| ShapeError::HidesCertificate { view: view(1, 5), got, highest };
    let outputs = bench.receive(1, bench.forger.new_view(1, change.clone(), None));
    assert_eq!(malformed(&outputs), shape(None, Some(1)));
    let outputs = bench.receive(1, bench.forger.new_view(1, change.clone(), Some(old)));
    assert_eq!(malformed(&outputs), shape(Some(0), Some(1)));
    let other = bench.forger.certificate(Stage::Prepare, &[1, 2, 3], view(2, 1), value(5));
    let outputs = bench.receive(1, bench.forger.new_view(1, change.clone(), Some(other)));
    let foreign = ShapeError::ForeignCertificate { view: view(1, 5), got: view(2, 1) };
    assert_eq!(malformed(&outputs), foreign);
    let good = bench.forger.certificate(Stage::Prepare, &[1, 2, 3], view(1, 1), value(6));
    let outputs = bench.receive(1, bench.forger.new_view(1, change, Some(good)));
    assert_eq!(prepares(&outputs), [(view(1, 5), value(6))]);
}

#[test]
fn forged_certificates_move_nobody() {
    let mut bench = Bench::new();
    let forger =
        |bench: &Bench| bench.forger.changes(view(1, 1), &[(1, None), (2, None), (3, None)]);
    let mut few = bench.forger.changes(view(1, 1), &[(1, None), (2, None)]);
    let outputs = bench.receive(1, bench.forger.new_view(1, few.clone(), None));
    let (got, need) = (2, 3);
    let below = ShapeError::Certificate(Reason::BelowQuorum { got, need }.into());
    assert_eq!(malformed(&outputs), below);
    // It names more signers than have signed.
    few.claims = forger(&bench).claims;
    let outputs = bench.receive(1, bench.forger.new_view(1, few, None));
    assert_eq!(faults(&outputs), [(1, Fault::ForgedCertificate { view: view(1, 1) })]);
    // Commits are no prepares.
    let commits = bench.forger.certificate(Stage::Commit, &[1, 2, 3], view(1, 0), value(5));
    let change = bench.forger.change(2, view(1, 1), Some(commits.clone()));
    let outputs = bench.receive(2, change);
    assert_eq!(faults(&outputs), [(2, Fault::ForgedCertificate { view: view(1, 0) })]);
    let outputs = bench.receive(1, bench.forger.new_view(1, forger(&bench), Some(commits)));
    assert_eq!(faults(&outputs), [(1, Fault::ForgedCertificate { view: view(1, 0) })]);
    assert_eq!(bench.engine.open[&Slot::new(1)].attempt, 0);
    assert_eq!(bench.engine.open[&Slot::new(1)].prepared, None);
}

#[test]
fn a_view_change_must_have_the_right_shape() {
    let mut bench = Bench::new();
    let late = bench.forger.certificate(Stage::Prepare, &[1, 2, 3], view(1, 4), value(5));
    let outputs = bench.receive(1, bench.forger.change(1, view(1, 0), None));
    assert_eq!(malformed(&outputs), ShapeError::Certificate(CertificateError::FirstView));
    let outputs = bench.receive(1, bench.forger.change(1, view(1, 4), Some(late.clone())));
    let (attempt, prepared) = (4, 4);
    let future = CertificateError::FromTheFuture { attempt, prepared };
    assert_eq!(malformed(&outputs), ShapeError::Certificate(future));
    let outputs = bench.receive(1, bench.forger.change(1, view(2, 5), Some(late)));
    let foreign = ShapeError::ForeignCertificate { view: view(2, 5), got: view(1, 4) };
    assert_eq!(malformed(&outputs), foreign);
}

#[test]
fn a_party_that_hides_its_commit_is_convicted_in_either_order() {
    for commit_first in [true, false] {
        let mut bench = Bench::new();
        let commit = bench.forger.vote(Stage::Commit, 2, view(1, 0), value(5));
        let hides = bench.forger.change(2, view(1, 1), None);
        let (first, second) = if commit_first { (commit, hides) } else { (hides, commit) };
        assert_eq!(faults(&bench.receive(2, first)), []);
        let outputs = bench.receive(2, second);
        assert_eq!(convicts(&outputs, &bench.forger.committee), [2]);
    }
    let mut bench = Bench::new();
    bench.votes(Stage::Commit, &[2], view(1, 0), value(5));
    let prepared = bench.forger.certificate(Stage::Prepare, &[1, 2, 3], view(1, 0), value(5));
    let outputs = bench.receive(2, bench.forger.change(2, view(1, 1), Some(prepared)));
    assert_eq!(faults(&outputs), [], "it names it");
}

#[test]
fn two_view_changes_to_one_view_that_differ_convict() {
    let mut bench = Bench::new();
    let prepared = bench.forger.certificate(Stage::Prepare, &[1, 2, 3], view(1, 0), value(5));
    bench.receive(2, bench.forger.change(2, view(1, 1), None));
    let outputs = bench.receive(2, bench.forger.change(2, view(1, 1), Some(prepared)));
    assert_eq!(convicts(&outputs, &bench.forger.committee), [2]);
}

#[test]
fn a_bad_signature_on_a_view_change_spoils_the_sum_once() {
    // Party 1 is the primary and needs three of four.
    let mut bench = Bench::begin(&FOUR, 1, Vec::new()).0;
    bench.receive(0, bench.forger.change(0, view(1, 1), None));
    let foreign = bench.forger.ask(3, view(1, 1), Some(0));
    let mut bad = bench.forger.change(2, view(1, 1), None);
    if let Message::ViewChange(change) = &mut bad {
        change.signature = foreign;
    }
    let outputs = bench.receive(2, bad);
    let fault = Fault::BadSignature { what: "view change", view: view(1, 1) };
    assert_eq!(faults(&outputs), [(2, fault)]);
    assert_eq!(new_views(&outputs), []);
    let outputs = bench.receive(3, bench.forger.change(3, view(1, 1), None));
    assert_eq!(new_views(&outputs).len(), 1);
    // What the culprit asks for next is checked alone before it counts.
    bench.jobs.clear();
    let outputs = bench.receive(2, bench.forger.change(2, view(1, 2), None));
    assert_eq!((bench.jobs.len(), faults(&outputs)), (1, vec![]));
}

#[test]
fn a_party_that_asks_about_a_decided_height_is_told_that_it_is_behind() {
    let mut bench = Bench::new();
    bench.decide(1..=3);
    let outputs = bench.receive(2, bench.forger.change(2, view(2, 1), None));
    let told = super::bench::sent(&outputs);
    assert_eq!(told, [&Message::Progress(Slot::new(4))]);
}

/// Party 3 did not see the proposal, or had not begun the epoch when it came.
#[test]
fn a_party_that_asks_once_more_for_a_view_that_has_begun_gets_its_proposal_again() {
    let mut bench = Bench::begin(&FOUR, 1, Vec::new()).0;
    let mut ask = |party| {
        let change = bench.forger.change(party, view(1, 1), None);
        bench.receive(party, change)
    };
    let shown = |outputs: &[Output]| {
        let to = outputs.iter().filter_map(|output| match output {
            Output::Do(Effect::Send { to, message: Message::NewView(new) }) => {
                Some((*to, new.change.view))
            }
            _ => None,
        });
        to.collect::<Vec<_>>()
    };
    assert_eq!(shown(&ask(0)), []);
    assert_eq!(shown(&ask(2)), [(Recipient::All, view(1, 1))]);
    assert_eq!(shown(&ask(3)), [], "it may be on its way");
    assert_eq!(shown(&ask(3)), [(Recipient::One(Party::new(3)), view(1, 1))]);
    assert!((0..99).filter(|_| !shown(&ask(3)).is_empty()).count() < 32, "but not for ever");
    // It says what it said.
    assert_eq!(shown(&ask(2)), [(Recipient::One(Party::new(2)), view(1, 1))]);
}
