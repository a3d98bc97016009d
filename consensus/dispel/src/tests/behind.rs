//! A party that was away comes back by what others tell, while they go on; and what one that only says so may take.
use super::*;
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
