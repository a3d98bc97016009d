//! A party that was away goes on behind a stage that others have shown, far ahead of what it has.
use prefinal_engine::{Engine, FinalBlock};

use super::*;
use crate::engine::RETAINED;

const AWAY: u32 = 3;

/// All four are there for stage 1. In stage 2 what the last one says is lost, and then it is away.
fn away() -> Net {
    let mut net = Net::new(&[0, 1, 2, 3]);
    order(&mut net, 1);
    net.loses = |from, _| from == party(AWAY);
    net.give(AWAY, Input::Submit(Transaction::new(*b"mine")));
    net.give(AWAY, Input::Idle);
    net.give(0, Input::Submit(Transaction::new(2_u64.to_be_bytes())));
    net.give(0, Input::Idle);
    net.run();
    net.engines.remove(&party(AWAY));
    net.loses = |_, _| false;
    net.wait(SECOND);
    net
}

/// It is away until so many stages are over.
fn left_behind(stages: u64) -> Net {
    let mut net = away();
    (3..=stages).for_each(|stage| order(&mut net, stage));
    net
}

/// Those that are there order this transaction in the next stage.
fn order(net: &mut Net, number: u64) {
    net.give(0, Input::Submit(Transaction::new(number.to_be_bytes())));
    (0..4).for_each(|me| net.give(me, Input::Idle));
    net.wait(SECOND / 2);
}

/// A faulty party repeats the transaction of this number, in the next stage.
fn repeat(net: &mut Net, number: u64) {
    let stage = net.engines[&party(0)].next;
    let batch = batch(&number.to_be_bytes());
    net.engines.remove(&party(2));
    for to in [0, 1, AWAY] {
        net.say(2, to, Message::Batch { stage, batch: batch.clone() });
    }
    net.wait(SECOND);
    net.restart(2);
    net.wait(SECOND * 2);
}

/// What the host shows: the blocks of the last stages, up to this one.
fn shown(net: &Net, last: u64) -> Vec<FinalBlock> {
    let blocks = (1..=last).map(slot).zip(net.blocks[&party(0)].clone());
    let shown = blocks.filter(|(stage, _)| stage.get().saturating_add(RETAINED) > last);
    shown.map(|(slot, block)| FinalBlock { slot, block }).collect()
}

/// The next life of the party that was away begins behind the last of these blocks.
fn adopt(net: &mut Net, shown: Vec<FinalBlock>) {
    let last = usize::try_from(shown.last().unwrap().slot.get()).unwrap();
    let adopted = Dispel::adopted(shown.into_iter());
    net.records.entry(party(AWAY)).or_default().extend(adopted);
    let passed = net.blocks[&party(0)][..last].to_vec();
    net.blocks.insert(party(AWAY), passed);
    net.restart(AWAY);
}

/// It comes back when this many stages are over.
fn back(stages: u64) -> Net {
    let mut net = left_behind(stages);
    let shown = shown(&net, stages);
    adopt(&mut net, shown);
    net
}

/// Both have the same blocks, and the last of them has this transaction or has it not.
fn last_has(net: &Net, number: u64) -> bool {
    let [theirs, own] = [0, AWAY].map(|me| &net.blocks[&party(me)]);
    assert_eq!(theirs, own);
    let number = number.to_be_bytes();
    own.last().unwrap().transactions.iter().any(|one| **one == number)
}

#[test]
fn behind_an_adopted_stage_a_party_takes_part_again() {
    let mut net = back(40);
    net.give(AWAY, Input::Idle);
    net.wait(SECOND * 2);
    assert_eq!(net.blocks[&party(0)].len(), 41, "it has begun one stage");
    (41..43).for_each(|number| order(&mut net, number));
    assert!(last_has(&net, 42));
    assert!(net.prefinalized[&party(AWAY)].iter().any(|(stage, _)| *stage == slot(42)));
    assert!(net.faults.is_empty(), "{:?}", net.faults);
    // What it had proposed before it went away is not lost.
    assert!(net.transactions(0).contains(&b"mine".to_vec()));
    // It is there after another crash too.
    net.restart(AWAY);
    order(&mut net, 43);
    assert!(last_has(&net, 43));
}

#[test]
fn stages_behind_the_adopted_one_are_fetched_and_none_before() {
    // The others are ahead by more than they tell at once.
    let mut net = left_behind(60);
    net.sent.clear();
    let shown = shown(&net, 30);
    adopt(&mut net, shown);
    net.wait(SECOND * 10);
    assert!(last_has(&net, 60));
    let asked = net.sent.iter().filter_map(|(from, _, message)| match message {
        Message::Request { stage, .. } | Message::Status { next: stage } => {
            (*from == party(AWAY)).then_some(*stage)
        }
        _ => None,
    });
    assert_eq!(asked.min(), Some(slot(31)));
}

/// It has echoed a batch in a stage that it passes over, and may still take part there.
#[test]
fn behind_an_adopted_stage_no_vote_is_taken_back() {
    for (stages, is_far) in [(3, false), (40, true)] {
        let mut net = back(stages);
        let first = id_of(2, 0, &batch(&2_u64.to_be_bytes()));
        let is_kept = |kept: &Record, id| {
            matches!(kept, Record::Said { stage, steps } if *stage == slot(2)
            && steps.iter().any(|step| matches!(step, Step::Echo(all) if all.contains(&(party(0), id)))))
        };
        let echoed = |net: &Net, id| net.records[&party(AWAY)].iter().any(|one| is_kept(one, id));
        assert!(echoed(&net, first));
        let other = batch(b"other");
        net.say(0, AWAY, Message::Batch { stage: slot(2), batch: other.clone() });
        net.wait(SECOND);
        assert!(!echoed(&net, id_of(2, 0, &other)));
        let fault = (party(AWAY), party(0), Fault::Contradiction(slot(2)));
        assert_eq!(net.faults.contains(&fault), !is_far, "far behind nothing is read");
    }
}

#[test]
fn what_others_ordered_lately_is_left_out_and_what_they_forgot_is_not() {
    let last = RETAINED + 20;
    let mut net = back(last);
    net.wait(SECOND * 2);
    let first_known = last + 1 - RETAINED;
    repeat(&mut net, first_known);
    assert!(!last_has(&net, first_known));
    repeat(&mut net, first_known);
    assert!(last_has(&net, first_known));
}

/// What it has ordered itself long ago, and others again while it was away, they remember by its second place.
#[test]
fn a_transaction_is_remembered_where_others_ordered_it_last() {
    let mut net = left_behind(RETAINED + 1);
    order(&mut net, 1);
    let last = RETAINED + 2;
    let shown = shown(&net, last);
    assert!(
        shown.last().unwrap().block.transactions.iter().any(|one| **one == 1_u64.to_be_bytes())
    );
    adopt(&mut net, shown);
    net.wait(SECOND * 2);
    repeat(&mut net, 1);
    assert!(!last_has(&net, 1));
}

/// The report of stage 1 is a note, which the crash may take. The host has the block, and shows those behind it.
#[test]
fn what_it_ordered_itself_is_left_out_though_its_report_is_not_on_record() {
    let mut net = left_behind(20);
    let records = net.records.get_mut(&party(AWAY)).unwrap();
    records.retain(|record| *record != Record::Finalized(slot(1)));
    let shown = shown(&net, 20).split_off(1);
    adopt(&mut net, shown);
    net.wait(SECOND * 2);
    repeat(&mut net, 1);
    assert!(!last_has(&net, 1));
}

/// A stage that it has decided and not reported repeats what others have forgotten by the end of what is shown: it is no
/// new transaction for that.
#[test]
fn what_others_left_out_long_ago_is_left_out_though_its_report_is_not_on_record() {
    let mut net = Net::new(&[0, 1, 2, 3]);
    (1..=59).for_each(|number| order(&mut net, number));
    repeat(&mut net, 1);
    assert!(!last_has(&net, 1));
    let repeated = u64::try_from(net.blocks[&party(0)].len()).unwrap();
    net.engines.remove(&party(AWAY));
    let records = net.records.get_mut(&party(AWAY)).unwrap();
    records.retain(|record| *record != Record::Finalized(slot(repeated)));
    let last = RETAINED + 40;
    (repeated + 1..=last).for_each(|number| order(&mut net, number));
    let mut shown = shown(&net, last);
    shown.retain(|block| block.slot > slot(repeated));
    adopt(&mut net, shown);
    net.wait(SECOND * 2);
    repeat(&mut net, 1);
    assert!(last_has(&net, 1), "it was ordered again");
}

/// A crash on the way left some of what was shown on record, and not that it is all.
#[test]
fn what_is_shown_in_part_changes_nothing() {
    let mut net = left_behind(10);
    let mut part = Dispel::adopted(shown(&net, 10).into_iter());
    assert_eq!(part.pop(), Some(Record::Adopted(slot(10))));
    net.records.entry(party(AWAY)).or_default().extend(part);
    net.restart(AWAY);
    net.wait(SECOND * 10);
    assert!(last_has(&net, 10));
}
