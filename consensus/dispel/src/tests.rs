//! The machine as an attacker sees it: four parties on links without delay, the last of which may be anybody.
mod adopts;
mod behind;
mod hostile;
mod resources;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use core::time::Duration;
use prefinal_engine::Block;
use prefinal_protocol::{
    ChainId, Context, EpochId, Instant, Machine, Party, Recipient, Slot, Value,
};
use prefinal_weighted_rounding::Stake;

use crate::batch::{Batch, BatchId, StageOutcome, Transaction, value_of};
use crate::binary::{Binary, BitVote, Bits};
use crate::broadcast::BatchVote;
use crate::config::{Config, Idleness};
use crate::engine::{Dispel, Effect, Fault, Input, Output};
use crate::message::{Message, Step, Vote};
use crate::quorum::{ConfigError, Replicas};
use crate::records::Record;
use crate::votes::BitVotes;

const CONTEXT: Context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
const SECOND: Duration = Duration::from_secs(1);

fn party(number: u32) -> Party {
    Party::new(number)
}

fn slot(number: u64) -> Slot {
    Slot::new(number)
}

/// Stages are opened one by one, when the test says so.
fn config(me: u32) -> Config {
    let config = Config::new(CONTEXT, party(me), vec![Stake::new(1); 4]);
    Config { idleness: Idleness::Told, ..config }
}

struct Net {
    engines: BTreeMap<Party, Dispel>,
    records: BTreeMap<Party, Vec<Record>>,
    queue: VecDeque<(Party, Party, Message)>,
    /// Links that carry nothing, from and to.
    cut: BTreeSet<(Party, Party)>,
    /// Messages that are lost, by their sender.
    loses: fn(Party, &Message) -> bool,
    /// What comes of a message on a link, from and to.
    alters: fn(Party, Party, Message) -> Message,
    config: fn(u32) -> Config,
    sent: Vec<(Party, Recipient<Party>, Message)>,
    blocks: BTreeMap<Party, Vec<Block>>,
    prefinalized: BTreeMap<Party, Vec<(Slot, Value)>>,
    faults: Vec<(Party, Party, Fault)>,
    now: Instant,
}

impl Net {
    /// These parties run; the others say what the test lets them say.
    fn new(parties: &[u32]) -> Self {
        Self::of(config, parties)
    }

    fn of(config: fn(u32) -> Config, parties: &[u32]) -> Self {
        let mut net = Self {
            engines: BTreeMap::new(),
            records: BTreeMap::new(),
            queue: VecDeque::new(),
            cut: BTreeSet::new(),
            loses: |_, _| false,
            alters: |_, _, message| message,
            config,
            sent: Vec::new(),
            blocks: BTreeMap::new(),
            prefinalized: BTreeMap::new(),
            faults: Vec::new(),
            now: Instant::START,
        };
        for me in parties {
            net.engines.insert(party(*me), Dispel::new(config(*me), Vec::new()).unwrap());
            net.give(*me, Input::Start);
        }
        net
    }

    fn give(&mut self, to: u32, input: Input) {
        let to = party(to);
        let Some(engine) = self.engines.get_mut(&to) else { return };
        engine.handle(self.now, input);
        while let Some(output) = engine.poll() {
            match output {
                Output::Keep(record) | Output::Note(record) => {
                    self.records.entry(to).or_default().push(record);
                }
                Output::Do(Effect::Send { to: recipient, message }) => {
                    self.sent.push((to, recipient, message.clone()));
                    let all = (0..4).map(party).filter(|one| *one != to);
                    let reached = all.filter(|one| match recipient {
                        Recipient::All => true,
                        Recipient::One(only) => only == *one,
                    });
                    let is_lost = (self.loses)(to, &message);
                    let arrives = |one: &Party| !is_lost && !self.cut.contains(&(to, *one));
                    for one in reached.filter(arrives) {
                        let message = (self.alters)(to, one, message.clone());
                        self.queue.push_back((to, one, message));
                    }
                }
                Output::Do(Effect::Prefinalized { view, value }) => {
                    self.prefinalized.entry(to).or_default().push((view.slot, value));
                }
                Output::Do(Effect::Finalized { slot, block }) => {
                    let blocks = self.blocks.entry(to).or_default();
                    assert_eq!(slot.get(), u64::try_from(blocks.len()).unwrap() + 1);
                    blocks.push(block);
                }
                Output::Do(Effect::Accuse { party, fault }) => self.faults.push((to, party, fault)),
                Output::Do(Effect::Refused(why)) => panic!("{why}"),
            }
        }
    }

    fn say(&mut self, from: u32, to: u32, message: Message) {
        self.give(to, Input::Received { from: party(from), message });
    }

    fn votes(&mut self, from: u32, to: u32, stage: u64, votes: &[(u32, Vote)]) {
        let steps = Step::group(votes.iter().map(|(proposer, vote)| (party(*proposer), *vote)));
        self.say(from, to, Message::Votes { stage: slot(stage), steps });
    }

    fn run(&mut self) {
        while let Some((from, to, message)) = self.queue.pop_front() {
            self.say(from.get(), to.get(), message);
        }
    }

    /// Delivers everything, and ticks whenever an engine asks to be woken within this time.
    fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            self.run();
            let next = self.engines.values().filter_map(Machine::wake_at).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = next;
            let all: Vec<u32> = self.engines.keys().map(|one| one.get()).collect();
            all.into_iter().for_each(|me| self.give(me, Input::Tick));
        }
        self.now = end;
    }

    fn restart(&mut self, me: u32) {
        let records = self.records.get(&party(me)).cloned().unwrap_or_default();
        self.engines.insert(party(me), Dispel::new((self.config)(me), records).unwrap());
        self.give(me, Input::Start);
    }

    fn transactions(&self, me: u32) -> Vec<Vec<u8>> {
        let blocks = self.blocks.get(&party(me)).into_iter().flatten();
        blocks.flat_map(|block| block.transactions.iter().map(|one| one.to_vec())).collect()
    }
}

fn batch(bytes: &[u8]) -> Batch {
    Batch { transactions: vec![Transaction::new(bytes)] }
}

fn id_of(stage: u64, proposer: u32, batch: &Batch) -> BatchId {
    let engine = Dispel::new(config(0), Vec::new()).unwrap();
    batch.id(engine.context(), slot(stage), party(proposer))
}

#[test]
fn a_stage_that_one_party_begins_holds_what_all_have() {
    let mut net = Net::new(&[0, 1, 2, 3]);
    for me in 0..4 {
        net.give(me, Input::Submit(Transaction::new([u8::try_from(me).unwrap()])));
    }
    net.give(2, Input::Idle);
    net.run();
    for me in 0..4 {
        assert_eq!(net.transactions(me), [[0], [1], [2], [3]]);
        let value = net.blocks[&party(me)][0].value;
        assert_eq!(net.prefinalized[&party(me)], [(slot(1), value)]);
    }
    assert!(net.faults.is_empty());
}

#[test]
fn stages_side_by_side_are_reported_in_their_order() {
    let mut net = Net::new(&[0, 1, 2, 3]);
    for round in 0..3 {
        for me in 0..4 {
            net.give(me, Input::Submit(Transaction::new([round, u8::try_from(me).unwrap()])));
            net.give(me, Input::Idle);
        }
    }
    // Messages of later stages come first.
    let mut queue = std::mem::take(&mut net.queue);
    queue.make_contiguous().reverse();
    net.queue = queue;
    net.wait(SECOND);
    assert_eq!(net.blocks[&party(0)].len(), 3);
    // What came too late for its stage is in the next one.
    (0..4).for_each(|me| net.give(me, Input::Idle));
    net.wait(SECOND);
    let all: Vec<_> = (0..3).flat_map(|round| (0..4).map(move |me| vec![round, me])).collect();
    for me in 0..4 {
        let mut ordered = net.transactions(me);
        assert_eq!(ordered, net.transactions(0));
        ordered.sort();
        assert_eq!(ordered, all);
    }
}

#[test]
fn there_are_no_more_stages_than_memory_has_room_for() {
    let mut net = Net::new(&[0]);
    net.give(0, Input::Room(2));
    for _ in 0..5 {
        net.give(0, Input::Idle);
    }
    let batches = net.sent.iter().filter(|(.., one)| matches!(one, Message::Batch { .. })).count();
    assert_eq!(batches, 2);
}

#[test]
fn a_batch_that_is_kept_from_some_is_fetched_from_those_who_echoed_it() {
    let mut net = Net::new(&[0, 1, 2, 3]);
    net.cut.insert((party(3), party(0)));
    net.give(3, Input::Submit(Transaction::new([9])));
    for me in [3, 1, 2] {
        net.give(me, Input::Idle);
    }
    net.wait(SECOND);
    assert!(net.transactions(0).contains(&vec![9]), "{:?}", net.blocks);
    let asked = |(from, _, message): &&(Party, Recipient<Party>, Message)| {
        *from == party(0) && matches!(message, Message::Request { .. })
    };
    assert_eq!(net.sent.iter().filter(asked).count(), 1, "one peer is enough");
}

#[test]
fn a_false_answer_is_not_taken() {
    let mut net = Net::new(&[0, 1, 2, 3]);
    net.cut.insert((party(3), party(0)));
    for peer in [1, 2, 3] {
        net.cut.insert((party(0), party(peer)));
    }
    net.give(3, Input::Submit(Transaction::new([9])));
    for me in [3, 1, 2, 0] {
        net.give(me, Input::Idle);
    }
    net.wait(SECOND / 5);
    assert!(!net.blocks.contains_key(&party(0)), "its requests are lost");
    let answer = |batch| Message::Answer { stage: slot(1), proposer: party(3), batch };
    net.say(1, 0, answer(batch(&[8])));
    assert!(!net.blocks.contains_key(&party(0)));
    net.say(1, 0, answer(batch(&[9])));
    assert_eq!(net.transactions(0), [[9]]);
}

/// Party 3 is silent, and the last votes of party 0 are lost. It is alone in knowing the outcome, and then over with it.
#[test]
fn who_is_over_with_a_stage_says_its_votes_again() {
    let mut net = Net::new(&[0, 1, 2]);
    net.loses = |from, message| {
        let Message::Votes { steps, .. } = message else { return false };
        from == party(0) && steps.iter().any(|one| matches!(one, Step::Auxiliary { round: 2, .. }))
    };
    (0..3).for_each(|me| net.give(me, Input::Idle));
    net.wait(SECOND / 2);
    assert_eq!(net.blocks.keys().copied().collect::<Vec<_>>(), [party(0)]);
    net.loses = |_, _| false;
    net.wait(SECOND * 2);
    assert_eq!(net.blocks.len(), 3, "{:?}", net.blocks);
}

/// Who is over with a stage and has crashed since has no other way to learn of these votes.
#[test]
fn who_waits_says_its_votes_again_without_being_asked() {
    let mut net = Net::new(&[0]);
    net.give(0, Input::Idle);
    net.sent.clear();
    net.wait(SECOND);
    let again = |(_, to, message): &(Party, Recipient<Party>, Message)| {
        *to == Recipient::All
            && matches!(message, Message::Votes { stage, .. } if *stage == slot(1))
    };
    assert_eq!(net.sent.iter().filter(|one| again(one)).count(), 1, "{:?}", net.sent);
}

#[test]
fn an_outcome_is_believed_if_a_weak_quorum_tells_it() {
    let mut net = Net::new(&[0]);
    let outcome: StageOutcome = vec![(party(1), id_of(1, 1, &batch(&[5])))];
    let told =
        |outcome: &StageOutcome| Message::Decided { stage: slot(1), outcome: outcome.clone() };
    net.say(1, 0, told(&outcome));
    net.say(1, 0, told(&outcome));
    let answer = || Message::Answer { stage: slot(1), proposer: party(1), batch: batch(&[5]) };
    net.say(1, 0, answer());
    assert!(net.blocks.is_empty(), "one party of four is no weak quorum");
    net.say(2, 0, told(&Vec::new()));
    assert!(net.blocks.is_empty(), "another outcome does not add to it");
    net.say(3, 0, told(&outcome));
    net.say(1, 0, answer());
    assert_eq!(net.transactions(0), [[5]]);
    let value = value_of(net.engines[&party(0)].context(), slot(1), &outcome);
    assert_eq!(net.blocks[&party(0)][0].value, value);
}

#[test]
fn an_outcome_in_another_order_or_with_strangers_is_none() {
    let mut net = Net::new(&[0]);
    let id = id_of(1, 1, &Batch::default());
    let outcomes: [StageOutcome; 3] = [
        vec![(party(2), id), (party(1), id)],
        vec![(party(1), id), (party(1), id)],
        vec![(party(4), id)],
    ];
    for outcome in outcomes {
        for from in 1..4 {
            net.say(from, 0, Message::Decided { stage: slot(1), outcome: outcome.clone() });
        }
    }
    let far = Message::Decided { stage: slot(1000), outcome: Vec::new() };
    (1..4).for_each(|from| net.say(from, 0, far.clone()));
    let kept = net.records.get(&party(0)).map_or(0, Vec::len);
    assert_eq!(kept, 0);
}

#[test]
fn two_things_of_which_one_may_be_said_are_found_out_once() {
    let mut net = Net::new(&[0]);
    let own = |bit| Vote::Bit(BitVote::Estimate { round: 1, bit, own: true });
    let set = |bit| Vote::Bit(BitVote::Auxiliary { round: 1, bits: Bits::only(bit) });
    let echo = |byte| Vote::Batch(BatchVote::Echo(BatchId::new([byte; 32])));
    for (from, votes) in
        [(1, [own(true), own(false)]), (2, [set(true), set(false)]), (3, [echo(1), echo(2)])]
    {
        for vote in votes.into_iter().chain(votes) {
            net.votes(from, 0, 1, &[(2, vote)]);
        }
    }
    for byte in [1, 1, 2] {
        net.say(1, 0, Message::Batch { stage: slot(2), batch: batch(&[byte]) });
    }
    let found: Vec<_> = net.faults.iter().map(|(_, who, fault)| (who.get(), *fault)).collect();
    let fault = Fault::Contradiction(slot(1));
    let second = Fault::Contradiction(slot(2));
    assert_eq!(found, [(1, fault), (2, fault), (3, fault), (1, second)]);
}

#[test]
fn what_is_too_large_or_speaks_of_strangers_is_not_read() {
    let mut net = Net::new(&[0]);
    let large = batch(&vec![0; 1 << 20]);
    net.say(1, 0, Message::Batch { stage: slot(1), batch: large });
    let many = Batch { transactions: vec![Transaction::new([]); (1 << 14) + 1] };
    net.say(2, 0, Message::Batch { stage: slot(1), batch: many });
    net.votes(3, 0, 1, &[(4, Vote::Batch(BatchVote::Ready(BatchId::new([1; 32]))))]);
    let found: Vec<_> = net.faults.iter().map(|(_, who, fault)| (who.get(), *fault)).collect();
    let (large, strange) = (Fault::LargeBatch(slot(1)), Fault::Malformed(slot(1)));
    assert_eq!(found, [(1, large), (2, large), (3, strange)]);
    let echo = |round| Vote::Bit(BitVote::Estimate { round, bit: true, own: false });
    let flood: Vec<_> = (1..=300).map(|round| (0, echo(round))).collect();
    net.votes(1, 0, 2, &flood);
    assert_eq!(net.faults.last().unwrap().2, Fault::Malformed(slot(2)));
    assert!(net.records.is_empty());
}

#[test]
fn stages_far_ahead_take_no_memory() {
    let mut net = Net::new(&[0]);
    for stage in [17, 1000, u64::MAX] {
        net.say(1, 0, Message::Batch { stage: slot(stage), batch: batch(&[1]) });
    }
    net.say(1, 0, Message::Batch { stage: slot(0), batch: batch(&[1]) });
    let ready = Vote::Batch(BatchVote::Ready(BatchId::new([1; 32])));
    for stage in [0, 17, u64::MAX] {
        (1..4).for_each(|from| net.votes(from, 0, stage, &[(0, ready)]));
    }
    assert!(net.records.is_empty());
    net.say(1, 0, Message::Batch { stage: slot(16), batch: batch(&[1]) });
    assert_eq!(net.records[&party(0)].len(), 2, "the batch and its echo");
}

#[test]
fn a_peer_that_asks_again_and_again_is_answered_now_and_then() {
    let mut net = Net::new(&[0, 1, 2, 3]);
    (0..4).for_each(|me| net.give(me, Input::Idle));
    net.run();
    net.sent.clear();
    let decided = |net: &Net| {
        let is = |(.., one): &&(Party, Recipient<Party>, Message)| {
            matches!(one, Message::Decided { .. })
        };
        net.sent.iter().filter(is).count()
    };
    for _ in 0..20 {
        net.say(3, 0, Message::Status { next: slot(1) });
    }
    assert_eq!(decided(&net), 1, "what it was not told is told at once, and once");
    net.now = net.now + SECOND;
    net.say(3, 0, Message::Status { next: slot(1) });
    net.say(3, 0, Message::Status { next: slot(1) });
    assert_eq!(decided(&net), 2);
    net.sent.clear();
    for _ in 0..2000 {
        net.say(3, 0, Message::Request { stage: slot(1), proposer: party(1) });
    }
    assert_eq!(net.sent.len(), 64 * 16, "small batches");
}

#[test]
fn what_was_said_is_said_again_after_a_crash_and_nothing_else() {
    for crashes in 1..40 {
        let mut net = Net::new(&[0, 1, 2, 3]);
        for me in 0..4 {
            net.give(me, Input::Submit(Transaction::new([u8::try_from(me).unwrap()])));
            net.give(me, Input::Idle);
        }
        for _ in 0..crashes {
            let Some((from, to, message)) = net.queue.pop_front() else { break };
            net.say(from.get(), to.get(), message);
        }
        let before = net.blocks.remove(&party(2)).map_or(0, |blocks| blocks.len());
        net.restart(2);
        if before > 0 {
            net.blocks.insert(party(2), Vec::new());
        }
        net.wait(SECOND * 3);
        assert!(net.faults.is_empty(), "{crashes}: {:?}", net.faults);
        let blocks = &net.blocks[&party(0)];
        assert_eq!(blocks.len(), 1, "{crashes}");
        let again = net.blocks.get(&party(2)).map_or(0, Vec::len);
        assert_eq!(before + again, 1, "{crashes}: reported once");
    }
}

#[test]
fn records_of_another_committee_are_refused() {
    let mut net = Net::new(&[0, 1, 2, 3]);
    (0..4).for_each(|me| net.give(me, Input::Idle));
    net.run();
    let records = net.records[&party(0)].clone();
    assert!(Dispel::new(config(0), records.clone()).is_ok());
    let more = Config { stakes: vec![Stake::new(1); 5], ..config(0) };
    assert_eq!(Dispel::new(more, records).unwrap_err(), ConfigError::OtherRecords);
    let stored = Record::Stored { stage: slot(1), proposer: party(9), batch: Batch::default() };
    assert_eq!(Dispel::new(config(0), vec![stored]).unwrap_err(), ConfigError::OtherRecords);
    let decided = |stage| Record::Decided { stage: slot(stage), outcome: Vec::new() };
    let gap = vec![decided(1), decided(2), Record::Finalized(slot(2))];
    assert_eq!(Dispel::new(config(0), gap).unwrap_err(), ConfigError::OtherRecords);
    let open = vec![Record::Finalized(slot(1))];
    assert_eq!(Dispel::new(config(0), open).unwrap_err(), ConfigError::OtherRecords);
}

#[test]
fn a_transaction_that_several_bring_or_one_brings_twice_is_ordered_once() {
    let mut net = Net::new(&[0, 1, 2, 3]);
    for me in 0..4 {
        net.give(me, Input::Submit(Transaction::new([1])));
        net.give(me, Input::Idle);
    }
    net.run();
    assert_eq!(net.transactions(0), [[1]]);
    // Again, which is no refusal.
    net.give(2, Input::Submit(Transaction::new([1])));
    (0..4).for_each(|me| net.give(me, Input::Idle));
    net.run();
    assert_eq!(net.blocks[&party(3)].len(), 2);
    assert_eq!(net.transactions(3), [[1]]);
}

/// All honest parties estimate one, and the faulty one says that it has zeros.
#[test]
fn a_bit_that_is_justified_nowhere_moves_nobody() {
    let committee = Replicas::new(&[Stake::new(1); 4]).unwrap();
    let mut one = Binary::new(party(0), party(0), SECOND);
    let mut votes = BitVotes::default();
    one.propose(true);
    let mut said = one.advance(&mut votes, &committee, Instant::START);
    for round in [1, 2] {
        for from in [1, 2] {
            let vote = BitVote::Estimate { round, bit: true, own: true };
            one.receive(&mut votes, &committee, party(from), vote).unwrap();
        }
        for (from, bit) in [(1, true), (3, false)] {
            let vote = BitVote::Auxiliary { round, bits: Bits::only(bit) };
            one.receive(&mut votes, &committee, party(from), vote).unwrap();
        }
        said.extend(one.advance(&mut votes, &committee, Instant::at(SECOND * 100)));
    }
    let beyond = |vote: &&BitVote| matches!(vote, BitVote::Estimate { round: 2.., own: true, .. });
    assert_eq!(
        said.iter().find(beyond),
        None,
        "the first round has two sets that count, not three"
    );
}
