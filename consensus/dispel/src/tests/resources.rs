//! What the network and the memory allow: how often a party speaks, and when it begins a stage.
use super::*;

const MS: Duration = Duration::from_millis(1);

impl Net {
    /// One party, set up in its own way.
    fn of_one(config: Config) -> Self {
        let mut net = Self::new(&[]);
        net.engines.insert(party(0), Dispel::new(config, Vec::new()).unwrap());
        net.give(0, Input::Start);
        net
    }

    fn sent_votes(&self) -> Vec<&[Step]> {
        let votes = self.sent.iter().filter_map(|(.., message)| match message {
            Message::Votes { steps, .. } => Some(&steps[..]),
            _ => None,
        });
        votes.collect()
    }

    fn batches(&self) -> usize {
        self.sent.iter().filter(|(.., one)| matches!(one, Message::Batch { .. })).count()
    }
}

#[test]
fn what_comes_due_meanwhile_leaves_in_one_message() {
    let mut net = Net::of_one(Config { gather: 10 * MS, ..config(0) });
    net.give(0, Input::Idle);
    assert_eq!(net.sent_votes().len(), 1, "the first one waits for nothing");
    for from in 1..4 {
        net.say(from, 0, Message::Batch { stage: slot(1), batch: Batch::default() });
    }
    net.wait(9 * MS);
    assert_eq!(net.sent_votes().len(), 1);
    net.wait(MS);
    let all = net.sent_votes();
    let [_, gathered] = all[..] else { panic!("{all:?}") };
    assert!(matches!(gathered, [Step::Echo(named)] if named.len() == 3), "{gathered:?}");
    // It has rested long enough.
    net.wait(20 * MS);
    let echo = |proposer: u32| {
        (proposer, Vote::Batch(BatchVote::Echo(id_of(1, proposer, &Batch::default()))))
    };
    for from in 1..3 {
        net.votes(from, 0, 1, &[echo(0)]);
    }
    assert_eq!(net.sent_votes().len(), 3);
}

#[test]
fn without_room_a_party_begins_nothing_and_takes_part_in_what_others_need() {
    let mut net = Net::new(&[0]);
    net.give(0, Input::Room(0));
    net.give(0, Input::Idle);
    assert_eq!(net.batches(), 0);
    let begins = || Message::Batch { stage: slot(1), batch: Batch::default() };
    net.say(1, 0, begins());
    assert_eq!(net.batches(), 0, "one party may be faulty");
    net.say(2, 0, begins());
    assert_eq!(net.batches(), 1);
    net.give(0, Input::Idle);
    net.give(0, Input::Room(2));
    assert_eq!(net.batches(), 1, "by now the network may be busy");
    net.give(0, Input::Idle);
    assert_eq!(net.batches(), 2);
}

/// The first stage begins in any case, and its batch is not delivered.
#[test]
fn an_idle_network_begins_a_stage_for_transactions_that_wait() {
    let delivered = Config { idleness: Idleness::Delivered, ..config(0) };
    let mut net = Net::of_one(delivered);
    assert_eq!(net.batches(), 1);
    net.give(0, Input::Idle);
    assert_eq!(net.batches(), 1, "nothing waits");
    net.give(0, Input::Submit(Transaction::new([7])));
    assert_eq!(net.batches(), 1, "the network may be busy");
    net.give(0, Input::Idle);
    assert_eq!(net.batches(), 2);
    net.give(0, Input::Idle);
    assert_eq!(net.batches(), 2, "it is on its way");
}

#[test]
fn no_room_is_larger_than_what_votes_are_taken_of() {
    let mut net = Net::of_one(Config { max_stages: 3, ..config(0) });
    net.give(0, Input::Room(100));
    for _ in 0..9 {
        net.give(0, Input::Idle);
    }
    assert_eq!(net.batches(), 3);
}

/// Others may be as far ahead as the memory allowed when all began.
#[test]
fn a_party_that_has_little_room_takes_votes_of_all_stages_that_others_may_have_open() {
    let mut net = Net::new(&[0]);
    net.give(0, Input::Room(1));
    for from in [1, 2] {
        for stage in 1..=8 {
            net.say(from, 0, Message::Batch { stage: slot(stage), batch: Batch::default() });
        }
    }
    assert_eq!(net.batches(), 8);
}
