//! A party dies anywhere in a step and goes on from its log.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use prefinal_malachite::{
    BlockId, Effect, Entry, Log, Message, NilOrVal, Output, Record, Round, SignedVote, VoteType,
};
use prefinal_protocol::{Machine, Party};

use crate::net::{Net, Observation, resign_vote};

const STAKES: [u128; 4] = [1, 1, 1, 1];
const ALL: [u32; 4] = [0, 1, 2, 3];
const ME: u32 = 2;

fn precommit(vote: &SignedVote, height: u64) -> bool {
    let vote = &vote.message;
    vote.kind == VoteType::Precommit
        && vote.height.get() == height
        && vote.voter.party() == Party::new(ME)
        && vote.value != NilOrVal::Nil
}

/// Kills the party once, at the first output of its kind.
fn die_at(net: &mut Net, wanted: impl Fn(&Output) -> bool + 'static) -> Rc<Cell<bool>> {
    let died = Rc::new(Cell::new(false));
    let flag = Rc::clone(&died);
    net.death = Box::new(move |party, output| {
        let now = party == Party::new(ME) && !flag.get() && wanted(output);
        flag.set(flag.get() || now);
        now
    });
    died
}

fn logged(net: &Net, height: u64) -> Option<SignedVote> {
    net.logs[2].iter().find_map(|record| match record {
        Record::Entry { entry: Entry::Vote(vote), .. } if precommit(vote, height) => {
            Some(vote.clone())
        }
        _ => None,
    })
}

/// Precommits of the party at a height, as they left.
fn sent(net: &Net, height: u64) -> Vec<SignedVote> {
    let sent = net.of(ME).iter().filter_map(|(_, seen)| match seen {
        Observation::Sent(Message::Vote(vote)) if precommit(vote, height) => Some(vote.clone()),
        _ => None,
    });
    sent.collect()
}

fn released(net: &Net) -> Option<(u64, BlockId)> {
    let mut log = Log::default();
    net.logs[2].iter().cloned().for_each(|record| log.apply(record));
    log.released(Party::new(ME)).map(|(height, block)| (height.get(), block))
}

#[test]
fn what_was_logged_leaves_again_byte_by_byte() {
    let mut net = Net::all(&STAKES);
    // After the log has the vote, before the vote leaves.
    let died = die_at(
        &mut net,
        |output| matches!(output, Output::Do(Effect::Send { message: Message::Vote(vote), .. }) if precommit(vote, 3)),
    );
    while !died.get() {
        net.step();
    }
    let vote = logged(&net, 3).expect("in the log");
    assert!(!vote.message.extension.as_ref().unwrap().message.is_empty());
    assert_eq!(released(&net).map(|(height, _)| height), Some(3));
    assert!(sent(&net, 3).is_empty());
    // In its second life the beacon would answer otherwise; it is not asked.
    net.partial =
        Box::new(|_, height, _| Some(format!("another partial at {height}").into_bytes()));
    let lived = net.of(ME).len();
    net.boot(ME);
    let again: Vec<_> = net.of(ME)[lived..].to_vec();
    assert!(!again.iter().any(|(_, seen)| matches!(seen, Observation::Prefinalized(3, ..))));
    assert_eq!(sent(&net, 3), [vote]);
    net.run_until(&ALL, 6);
    net.blocks();
}

#[test]
fn before_the_log_has_the_vote_nothing_has_left_and_the_beacon_is_asked_again() {
    let mut net = Net::all(&STAKES);
    let died = die_at(
        &mut net,
        |output| matches!(output, Output::Keep(Record::Entry { entry: Entry::Vote(vote), .. }) if precommit(vote, 3)),
    );
    while !died.get() {
        net.step();
    }
    assert_eq!((logged(&net, 3), released(&net)), (None, None));
    net.boot(ME);
    assert!(
        net.of(ME)
            .iter()
            .filter(|(_, seen)| matches!(seen, Observation::Prefinalized(3, ..)))
            .count()
            == 2
    );
    assert_eq!(sent(&net, 3), [logged(&net, 3).expect("logged in the second life")]);
    net.run_until(&ALL, 6);
    net.blocks();
}

#[test]
fn a_crash_at_every_record_changes_nothing() {
    for crash_at in 1..90_u32 {
        let mut net = Net::all(&STAKES);
        let count = Cell::new(0);
        let died = die_at(&mut net, move |output| {
            count.set(count.get() + u32::from(matches!(output, Output::Keep(_))));
            count.get() == crash_at
        });
        while !died.get() {
            net.step();
        }
        net.boot(ME);
        net.run_until(&ALL, 5);
        let blocks = net.blocks();
        // Never two precommits of one round, whatever became of the first.
        for height in 1..=5 {
            let sent = sent(&net, height);
            let in_first = sent.iter().filter(|vote| vote.message.round == Round::ZERO);
            let mut votes: Vec<_> = in_first.cloned().collect();
            votes.dedup();
            assert!(votes.len() <= 1, "record {crash_at}, height {height}");
            if let Some(vote) = votes.first() {
                assert_eq!(vote.message.value, NilOrVal::Val(blocks[&height]));
            }
        }
    }
}

/// A vote that waited behind the one that decides is logged after the decision.
#[test]
fn a_log_may_end_with_votes_of_a_decided_height() {
    let mut net = Net::all(&STAKES);
    net.run_until(&ALL, 3);
    let log = &net.logs[2];
    let decided = log.iter().position(|record| matches!(record, Record::Decided(_))).unwrap();
    let mut late = log[..=decided].to_vec();
    late.push(log[decided - 1].clone());
    assert!(matches!(&late[decided + 1], Record::Entry { height, .. } if height.get() == 1));
    net.logs[2] = late;
    net.seen[2]
        .retain(|(_, seen)| !matches!(seen, Observation::Finalized(height, ..) if *height > 1));
    net.boot(ME);
    net.run_until(&ALL, 5);
    net.blocks();
}

#[test]
fn a_party_that_was_away_is_told_what_was_decided() {
    let mut net = Net::all(&STAKES);
    let died = die_at(
        &mut net,
        |output| matches!(output, Output::Do(Effect::Finalized { block }) if block.height().get() == 2),
    );
    while !died.get() {
        net.step();
    }
    net.run_until(&[0, 1, 3], 12);
    assert_eq!(net.decided(ME), 1);
    // Nobody is asked twice in a row: who answers late holds up one height and not all.
    let asked = Rc::new(RefCell::new(Vec::new()));
    let note = Rc::clone(&asked);
    net.rule = Box::new(move |_, to, message| {
        if let Message::Request { .. } = message {
            note.borrow_mut().push(to);
        }
        Some(message)
    });
    net.boot(ME);
    net.run_until(&ALL, 16);
    assert!(asked.borrow().len() >= 10, "{asked:?}");
    assert!(asked.borrow().windows(2).all(|pair| pair[0] != pair[1]), "{asked:?}");
    net.blocks();
    // It is back for good: it votes itself again.
    assert!(!sent(&net, 15).is_empty());
}

/// A log in which this party's vote is not the one that its own entries lead to, as after a fault of the
/// disk or of the program: whatever is signed now may be a second vote.
#[test]
fn a_log_that_contradicts_itself_ends_all_signing() {
    for kind in [VoteType::Prevote, VoteType::Precommit] {
        let mut net = Net::all(&STAKES);
        let died = die_at(
            &mut net,
            |output| matches!(output, Output::Do(Effect::Send { message: Message::Vote(vote), .. }) if precommit(vote, 3)),
        );
        while !died.get() {
            net.step();
        }
        let other = net.blocks()[&1];
        for record in &mut net.logs[2] {
            if let Record::Entry { height, entry: Entry::Vote(vote) } = record
                && (height.get(), vote.message.kind) == (3, kind)
                && vote.message.voter.party() == Party::new(ME)
            {
                vote.message.value = NilOrVal::Val(other);
                vote.signature = resign_vote(&STAKES, Party::new(ME), &vote.message);
            }
        }
        let (lived, kept) = (net.of(ME).len(), net.logs[2].len());
        net.boot(ME);
        let halted =
            net.of(ME)[lived..].iter().filter(|(_, seen)| matches!(seen, Observation::Halted(_)));
        assert_eq!(halted.count(), 1, "{kind:?}");
        // The others vote on, and ask; nothing comes from this party any more, whatever time it is.
        let halted = net.of(ME).len();
        net.run_until(&[0, 1, 3], 8);
        net.submit(ME, b"anything");
        assert_eq!(net.of(ME).len(), halted);
        assert_eq!(net.logs[2].len(), kept);
        let after = &net.of(ME)[lived..];
        let signed = |seen: &Observation| matches!(seen, Observation::Sent(Message::Vote(vote)) if vote.message.kind == kind);
        assert!(!after.iter().any(|(_, seen)| signed(seen)), "{kind:?}");
        let Some((_, Observation::Halted(why))) = after.last() else { panic!("{kind:?}") };
        assert!(why.contains("does not match"), "{why}");
        let engine = net.table.machine(Party::new(ME));
        assert!(engine.is_some_and(|engine| engine.wake_at().is_none()));
        net.blocks();
    }
}
