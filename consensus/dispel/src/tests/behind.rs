//! A party that was away comes back by what others tell, while they go on; and what one that only says so may take.
use super::*;
use crate::batch::MAX_TRANSACTIONS;
use crate::engine::LINGER;

const AWAY: u32 = 3;

/// Those that are there order a transaction in the next stage.
fn order(net: &mut Net, number: u64, time: Duration) {
    net.give(0, Input::Submit(Transaction::new(number.to_be_bytes())));
    (0..4).for_each(|me| net.give(me, Input::Idle));
    net.wait(time);
}

/// The last party is down while others order in so many stages.
fn left_behind(stages: u64) -> Net {
    let mut net = Net::new(&[0, 1, 2]);
    (1..=stages).for_each(|number| order(&mut net, number, SECOND / 2));
    net
}

impl Net {
    fn count(&self, from: u32, is: impl Fn(&Recipient<Party>, &Message) -> bool) -> usize {
        let mut sent = self.sent.iter().map(|(by, to, message)| (*by, to, message));
        sent.by_ref().filter(|(by, to, message)| *by == party(from) && is(to, message)).count()
    }
}

/// 200 stages behind others that end 40 in a second.
#[test]
fn who_is_far_behind_comes_back_though_others_go_on() {
    let mut net = left_behind(200);
    net.sent.clear();
    net.engines.insert(party(AWAY), Dispel::new(config(AWAY), Vec::new()).unwrap());
    net.give(AWAY, Input::Start);
    (201..=400).for_each(|number| order(&mut net, number, SECOND / 40));
    let [theirs, own] = [0, AWAY].map(|me| &net.blocks[&party(me)]);
    assert!(theirs.len() >= 400, "{}", theirs.len());
    assert!(own.len() + 2 >= theirs.len(), "{} of {}", own.len(), theirs.len());
    assert_eq!(own[..], theirs[..own.len()]);
    // Several have what it lacks, and each is asked for a part.
    let asked = [0, 1, 2].map(|holder| {
        let holder = Recipient::One(party(holder));
        net.count(AWAY, |to, one| *to == holder && matches!(one, Message::Request { .. }))
    });
    let all: usize = asked.iter().sum();
    assert!(all > 200 && asked.iter().all(|part| part * 5 > all), "{asked:?}");
}

#[test]
fn who_asks_for_everything_again_and_again_is_told_each_outcome_once() {
    let stages = 40;
    let mut net = left_behind(stages);
    net.sent.clear();
    for _ in 0..10 {
        for next in 1..=stages + 20 {
            net.say(AWAY, 0, Message::Status { next: slot(next) });
        }
    }
    let told = net.count(0, |_, one| matches!(one, Message::Decided { .. }));
    assert_eq!(u64::try_from(told).unwrap(), stages);
    let votes = net.count(0, |to, one| {
        *to == Recipient::One(party(AWAY)) && matches!(one, Message::Votes { .. })
    });
    assert!(votes <= usize::try_from(stages).unwrap(), "{votes}");
    // Half a timeout later it may ask for some of it once more.
    net.now = net.now + SECOND;
    for _ in 0..10 {
        net.say(AWAY, 0, Message::Status { next: slot(1) });
    }
    let again = net.count(0, |_, one| matches!(one, Message::Decided { .. })) - told;
    assert_eq!(u64::try_from(again).unwrap(), LINGER);
}

#[test]
fn no_more_than_so_many_full_batches_are_given_to_one_that_asks() {
    let mut net = Net::new(&[0, 1, 2]);
    let full = config(0).max_batch_bytes - 8;
    net.give(0, Input::Submit(Transaction::new(vec![7; full])));
    (0..3).for_each(|me| net.give(me, Input::Idle));
    net.run();
    net.sent.clear();
    let ask = |net: &mut Net| {
        for _ in 0..100 {
            net.say(AWAY, 1, Message::Request { stage: slot(1), proposer: party(0) });
        }
        net.count(1, |_, one| matches!(one, Message::Answer { .. }))
    };
    assert_eq!(ask(&mut net), 64);
    net.now = net.now + SECOND + SECOND;
    assert_eq!(ask(&mut net), 128);
}

/// Batches without transactions are four bytes, also where no more fits in.
#[test]
fn a_batch_of_nothing_is_given_where_no_transactions_fit() {
    let mut net = Net::of(|me| Config { max_batch_bytes: 0, ..config(me) }, &[0, 1, 2, 3]);
    net.loses = |from, message| from == party(0) && matches!(message, Message::Batch { .. });
    net.give(0, Input::Idle);
    net.wait(SECOND * 10);
    assert_eq!([0, 1, 2, 3].map(|me| net.blocks[&party(me)].len()), [1; 4]);
}

#[test]
fn many_short_transactions_count_as_much_as_few_long_ones() {
    let mut net = Net::new(&[0, 1, 2]);
    let many = vec![Transaction::new([]); MAX_TRANSACTIONS];
    net.say(AWAY, 1, Message::Batch { stage: slot(1), batch: Batch { transactions: many } });
    net.sent.clear();
    for _ in 0..100 {
        net.say(2, 1, Message::Request { stage: slot(1), proposer: party(AWAY) });
    }
    assert_eq!(net.count(1, |_, one| matches!(one, Message::Answer { .. })), 64);
}

/// Others have told it how one stage ended, and nothing of the next, which does not end: its votes have many bytes.
#[test]
fn who_is_told_no_more_asks_often_for_a_timeout_and_repeats_its_votes_seldom() {
    let mut net = left_behind(1);
    net.restart(AWAY);
    net.wait(SECOND / 4);
    assert_eq!(net.blocks[&party(AWAY)].len(), 1);
    // One of the others is not heard of any more, and no two of them hear each other.
    net.engines.remove(&party(0));
    net.cut.extend([(party(1), party(2)), (party(2), party(1))]);
    net.give(AWAY, Input::Idle);
    net.sent.clear();
    let timeouts = 10;
    net.wait(config(AWAY).timeout * timeouts);
    let to_all = |is: fn(&Message) -> bool| {
        net.count(AWAY, |to, message| *to == Recipient::All && is(message))
    };
    let votes = to_all(|one| matches!(one, Message::Votes { .. }));
    let most = usize::try_from(timeouts).unwrap() + 3;
    assert!((5..=most).contains(&votes), "{votes}");
    // Ten in the first timeout, less what is over of it.
    let asked = to_all(|one| matches!(one, Message::Status { .. }));
    assert!((12..most + 10).contains(&asked), "{asked}");
}

/// Stakes of 1, 1, 3 and 2, of which the last is faulty.
fn unequal(me: u32) -> Config {
    let stakes = [1, 1, 3, 2].map(Stake::new).to_vec();
    Config { idleness: Idleness::Told, ..Config::new(CONTEXT, party(me), stakes) }
}

/// A weak quorum is one honest party, and a faulty one that tells nobody else. Party 2 lacks a vote of the faulty one,
/// and would lack that of party 1 as well.
#[test]
fn who_is_told_an_end_by_a_weak_quorum_speaks_all_the_same() {
    let [late, lacking, liar] = [1, 2, 3];
    let mut net = Net::of(unequal, &[0, late, lacking, liar]);
    net.alters = |from, to, message| match message {
        Message::Votes { stage, mut steps } if (from, to) == (party(3), party(2)) => {
            steps.retain(|step| !matches!(step, Step::Auxiliary { round: 2.., .. }));
            Message::Votes { stage, steps }
        }
        message => message,
    };
    for other in [0, lacking, liar] {
        net.cut.extend([(party(late), party(other)), (party(other), party(late))]);
    }
    net.give(0, Input::Idle);
    net.wait(SECOND / 5);
    let decided = net.records[&party(0)].iter().find_map(|record| match record {
        Record::Decided { outcome, .. } => Some(outcome.clone()),
        _ => None,
    });
    assert!(!net.blocks.contains_key(&party(lacking)));
    // The links are whole again, and the faulty one says no more than this.
    net.cut.clear();
    net.engines.remove(&party(liar));
    let told = Message::Decided { stage: slot(1), outcome: decided.expect("by party 0") };
    net.say(liar, late, told);
    net.now = net.now + SECOND;
    net.give(late, Input::Tick);
    net.wait(SECOND * 60);
    assert_eq!([0, late, lacking].map(|me| net.blocks[&party(me)].len()), [1; 3]);
}
