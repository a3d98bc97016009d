//! What one peer may ask for or send, and what it costs.
use super::*;
use crate::batch::MAX_TRANSACTIONS;
use crate::message::BitMaps;

fn votes_to_all(net: &Net) -> usize {
    let is = |(from, to, message): &&(Party, Recipient<Party>, Message)| {
        let votes = matches!(message, Message::Votes { stage, .. } if *stage == slot(1));
        *from == party(0) && *to == Recipient::All && votes
    };
    net.sent.iter().filter(is).count()
}

/// Another one that is over with the stage, and has lost others' votes in a crash, asks for nothing itself.
#[test]
fn who_lacks_votes_of_a_stage_that_is_over_makes_all_hear_them_again() {
    let mut net = Net::new(&[0, 1, 2, 3]);
    net.give(0, Input::Idle);
    net.run();
    assert_eq!(net.blocks[&party(0)].len(), 1);
    // At the start everybody asks.
    net.now = net.now + SECOND;
    net.sent.clear();
    let ask = |net: &mut Net, from| net.say(from, 0, Message::Status { next: slot(1) });
    ask(&mut net, 3);
    assert_eq!(votes_to_all(&net), 1);
    // However many ask, once in a while.
    ask(&mut net, 2);
    assert_eq!(votes_to_all(&net), 1);
    net.now = net.now + SECOND;
    ask(&mut net, 2);
    assert_eq!(votes_to_all(&net), 2);
    // Who lacks nothing makes nobody speak.
    net.now = net.now + SECOND;
    net.say(3, 0, Message::Status { next: slot(2) });
    assert_eq!(votes_to_all(&net), 2);
}

#[test]
fn maps_of_more_proposers_than_there_are_are_refused_by_their_length() {
    for (zeros, ones) in [(vec![0; 2], Vec::new()), (Vec::new(), vec![0xff; 1 << 20])] {
        let mut net = Net::new(&[0]);
        let steps = vec![Step::Auxiliary { round: 1, bits: BitMaps::new(zeros, ones) }];
        net.say(1, 0, Message::Votes { stage: slot(1), steps });
        assert_eq!(net.faults, [(party(0), party(1), Fault::Malformed(slot(1)))]);
    }
    // Many steps with few votes each.
    let mut net = Net::new(&[0]);
    let step = Step::Auxiliary { round: 1, bits: BitMaps::new(vec![1], Vec::new()) };
    net.say(1, 0, Message::Votes { stage: slot(1), steps: vec![step; 1000] });
    assert_eq!(net.faults, [(party(0), party(1), Fault::Malformed(slot(1)))]);
}

#[test]
fn a_batch_of_too_many_transactions_is_refused_before_they_are_read() {
    let read = |count: usize| {
        let mut bytes = u32::try_from(count).unwrap().to_le_bytes().to_vec();
        bytes.extend(vec![0; count.min(MAX_TRANSACTIONS) * 4]);
        borsh::from_slice::<Batch>(&bytes)
    };
    assert_eq!(read(MAX_TRANSACTIONS).unwrap().transactions.len(), MAX_TRANSACTIONS);
    let refused = read(MAX_TRANSACTIONS + 1).unwrap_err().to_string();
    assert!(refused.contains("too many transactions"), "{refused}");
}

/// Batches are large: where many wait for what is on its way, sending it twice would make them wait longer.
#[test]
fn who_asks_what_it_missed_is_told_votes_and_sent_no_batch() {
    let mut net = Net::new(&[0]);
    net.give(0, Input::Idle);
    net.now = net.now + SECOND;
    net.sent.clear();
    net.say(3, 0, Message::Status { next: slot(1) });
    let to_it = |kind: fn(&Message) -> bool| {
        let is = |(_, to, message): &&(Party, Recipient<Party>, Message)| {
            *to == Recipient::One(party(3)) && kind(message)
        };
        net.sent.iter().filter(is).count()
    };
    assert_eq!(to_it(|one| matches!(one, Message::Votes { .. })), 1);
    assert_eq!(to_it(|one| matches!(one, Message::Batch { .. } | Message::Answer { .. })), 0);
}

/// Before anything is decided nobody but the proposer can say what its batch is.
#[test]
fn a_batch_that_is_not_decided_is_taken_from_its_proposer_alone() {
    let mut net = Net::new(&[0]);
    let answer = || Message::Answer { stage: slot(1), proposer: party(1), batch: batch(&[5]) };
    net.say(2, 0, answer());
    assert!(!net.records.contains_key(&party(0)), "{:?}", net.records);
    net.say(1, 0, answer());
    assert!(
        matches!(net.records[&party(0)][0], Record::Stored { proposer, .. } if proposer == party(1))
    );
}

/// Where a faulty party makes up a quorum because an honest one is away, rounds go on as fast as the links.
#[test]
fn what_was_said_in_many_rounds_is_said_again_in_messages_that_peers_take() {
    let votes = (1..=40).flat_map(|round| {
        let estimate = BitVote::Estimate { round, bit: true, own: true };
        let auxiliary = BitVote::Auxiliary { round, bits: Bits::only(round % 2 == 0) };
        [estimate, auxiliary].map(|vote| (party(2), Vote::Bit(vote)))
    });
    let said = Record::Said { stage: slot(1), steps: Step::group(votes) };
    let mut net = Net::new(&[0]);
    net.engines.insert(party(1), Dispel::new(config(1), vec![said]).unwrap());
    net.give(1, Input::Start);
    net.run();
    let said = net.sent.iter().filter(|(from, ..)| *from == party(1));
    let said = said.filter_map(|(.., message)| match message {
        Message::Votes { steps, .. } => Some(steps.len()),
        _ => None,
    });
    assert!(said.sum::<usize>() >= 80);
    assert_eq!(net.faults, []);
}
