//! What the network and the memory allow: how often a party speaks, and when it begins a stage.
use prefinal_engine::Engine;

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

/// Nobody has to say that the network is idle here.
#[test]
fn a_party_whose_memory_holds_no_stage_begins_none_and_goes_on_when_it_does() {
    let config = Config { idleness: Idleness::Delivered, max_batch_bytes: 1000, ..config(0) };
    let mut engine = Dispel::new(config, Vec::new()).unwrap();
    // Four batches of a thousand bytes.
    Engine::memory(&mut engine, Instant::START, 3999);
    Engine::handle(&mut engine, Instant::START, prefinal_engine::Input::Start);
    let begun = |engine: &mut Dispel| {
        let outputs = std::iter::from_fn(|| Engine::poll(engine));
        let effects = outputs.filter_map(prefinal_engine::Output::<Dispel>::effect);
        let batch = |effect: &prefinal_engine::Effect<Dispel>| {
            let prefinal_engine::Effect::Send { message, .. } = effect else { return false };
            matches!(message, Message::Batch { .. })
        };
        effects.filter(batch).count()
    };
    assert_eq!(begun(&mut engine), 0);
    let later = Instant::at(SECOND / 2);
    Engine::handle(&mut engine, later, prefinal_engine::Input::Tick);
    assert_eq!(begun(&mut engine), 0, "time makes no room");
    Engine::memory(&mut engine, later, 4000);
    assert_eq!(begun(&mut engine), 1);
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

impl Net {
    fn requests_of(&self, me: u32) -> Vec<(Recipient<Party>, u64)> {
        let of = |(from, to, message): &(Party, Recipient<Party>, Message)| {
            let Message::Request { stage, .. } = message else { return None };
            (*from == party(me)).then_some((*to, stage.get()))
        };
        self.sent.iter().filter_map(of).collect()
    }
}

/// Party 3 is down, so that every echo counts, and a batch to party 0 is lost in two stages.
#[test]
fn who_lacks_a_batch_asks_its_proposer_when_nothing_goes_on_and_stage_by_stage() {
    let mut net = Net::new(&[0, 1, 2]);
    net.loses = |from, message| from == party(1) && matches!(message, Message::Batch { .. });
    (0..3)
        .for_each(|me| net.give(me, Input::Submit(Transaction::new([u8::try_from(me).unwrap()]))));
    for _ in 0..2 {
        (0..3).for_each(|me| net.give(me, Input::Idle));
    }
    net.wait(SECOND / 2);
    assert!(net.blocks.is_empty() && net.requests_of(0).is_empty(), "it may be on its way");
    net.wait(SECOND * 3 / 5);
    assert_eq!(net.requests_of(0), [(Recipient::One(party(1)), 1)]);
    net.wait(SECOND * 2);
    assert_eq!(net.blocks[&party(0)].len(), 2, "{:?}", net.blocks);
    assert_eq!(net.transactions(0).len(), 3, "all batches are in");
}

/// What was sent to it meanwhile is lost for certain.
#[test]
fn who_was_down_asks_at_once_for_all_stages() {
    let mut net = Net::new(&[0, 1, 2]);
    net.cut.extend([1, 2].map(|peer| (party(peer), party(0))));
    for _ in 0..3 {
        (0..3).for_each(|me| net.give(me, Input::Idle));
    }
    net.wait(SECOND / 2);
    net.cut.clear();
    net.sent.clear();
    net.restart(0);
    net.wait(SECOND / 2);
    let stages: BTreeSet<u64> = net.requests_of(0).into_iter().map(|(_, stage)| stage).collect();
    assert_eq!(stages, BTreeSet::from([1, 2, 3]));
    assert_eq!(net.blocks[&party(0)].len(), 3, "{:?}", net.blocks);
}

#[test]
fn a_decided_batch_is_waited_for_before_others_are_asked_for_it() {
    let mut net = Net::new(&[0, 1, 2, 3]);
    net.cut.insert((party(3), party(0)));
    (0..4).for_each(|me| net.give(me, Input::Idle));
    net.wait(99 * MS);
    assert_eq!(net.requests_of(0), []);
    net.wait(2 * MS);
    assert_eq!(net.requests_of(0).len(), 1);
    assert_eq!(net.blocks[&party(0)].len(), 1);
}

/// What was to come, and was over when all stages were looked at last, is to come again.
#[test]
fn a_clock_that_is_set_back_leaves_out_nothing() {
    let mut net = Net::new(&[0]);
    let late = batch(&[1]);
    net.votes(1, 0, 1, &[(1, Vote::Batch(BatchVote::Echo(id_of(1, 1, &late))))]);
    net.now = Instant::at(SECOND);
    net.give(0, Input::Tick);
    assert_eq!(net.requests_of(0), [(Recipient::One(party(1)), 1)]);
    net.say(1, 0, Message::Batch { stage: slot(1), batch: late });
    for (at, wakes) in [(2500, 3500), (1500, 2000)] {
        net.now = Instant::at(at * MS);
        net.give(0, Input::Tick);
        assert_eq!(Machine::wake_at(&net.engines[&party(0)]), Some(Instant::at(wakes * MS)));
    }
}
