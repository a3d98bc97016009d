//! A party that was away goes on behind blocks that others have shown, and orders what they order.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, OnceLock};

use ::prefinal_engine::{Block, Effect, Engine, FinalBlock, Input, Launch, Output, Pace};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Slot};

use super::bench::{FOUR, Forger, ms};
use super::{context, members, secret};
use crate::batch::Batch;
use crate::block::{Body, Transaction};
use crate::client::{Client, ClientHeader};
use crate::engine::Trantor;
use crate::job::{Fingerprint, Verdict};
use crate::message::{Decision, Message};
use crate::order::BATCHES_KEPT;
use crate::records::{KEPT, Record};
use crate::schedule::Schedule;

/// The heights that leaders leave empty.
const EMPTY: [u64; 10] = [3, 9, 40, 41, 600, 601, 1000, 1090, 1099, 1120];
/// The last block that is shown, and the last of the chain.
const LAST: u64 = 1100;
const END: u64 = 1160;

/// A height as others decide it.
struct Height {
    decision: Decision,
    batches: Vec<Batch>,
}

/// A chain, and what a party that was there all the time makes of it.
struct World {
    heights: Vec<Height>,
    blocks: Vec<Option<Block>>,
    schedules: Vec<Schedule>,
}

impl World {
    fn get() -> &'static Self {
        static WORLD: OnceLock<World> = OnceLock::new();
        WORLD.get_or_init(|| {
            let (mut heights, mut schedules) = (Vec::new(), Vec::new());
            let mut witness = Member::start(Vec::new());
            for slot in 1..=END {
                let height = height(slot, batches(slot, &heights));
                witness.learn(&height);
                heights.push(height);
                schedules.push(witness.engine.schedule().clone());
            }
            let blocks = witness.blocks.into_values().collect();
            Self { heights, blocks, schedules }
        })
    }

    fn block(&self, slot: u64) -> Option<&Block> {
        self.blocks[usize::try_from(slot - 1).unwrap()].as_ref()
    }

    /// What the host shows a party that has read the blocks up to `read`.
    fn shown(&self, read: u64, last: u64) -> impl Iterator<Item = FinalBlock> {
        (read + 1..=last).filter_map(|number| {
            let (slot, block) = (Slot::new(number), self.block(number)?.clone());
            Some(FinalBlock { slot, block })
        })
    }
}

fn height(slot: u64, batches: Option<Vec<Batch>>) -> Height {
    static FORGER: OnceLock<Forger> = OnceLock::new();
    let body = batches
        .as_ref()
        .map(|batches| Body::default().and_uncertified(batches.iter().map(Batch::label).collect()));
    let decision = FORGER.get_or_init(|| Forger::new(&FOUR)).decision(slot, body.as_ref());
    Height { decision, batches: batches.unwrap_or_default() }
}

fn batch(until: u64, transactions: &[Vec<u8>]) -> Batch {
    let all = transactions.iter().cloned().map(Transaction::new).collect();
    Batch::new(Party::new(1), Slot::new(until), all)
}

/// A transaction that looks like that of a client.
fn numbered(number: u64, body: &[u8]) -> Vec<u8> {
    let header = ClientHeader { client: Client::new([5; 32]), number };
    header.transaction(body).bytes().to_vec()
}

fn named(names: &[&str]) -> Vec<Vec<u8>> {
    names.iter().map(|name| name.as_bytes().to_vec()).collect()
}

/// What is ordered at a height.
fn batches(slot: u64, before: &[Height]) -> Option<Vec<Batch>> {
    let of = |slot: u64| before[usize::try_from(slot - 1).unwrap()].batches.clone();
    let transactions = match slot {
        _ if EMPTY.contains(&slot) => return None,
        // It may be ordered up to the height behind the last one that is shown.
        77 => return Some(vec![batch(LAST + 1, &named(&["x"]))]),
        500 => vec![numbered(7, b"long ago")],
        700 => named(&["r"]),
        844 => named(&["z"]),
        845 => named(&["y"]),
        880 => vec![numbered(0, b"one"), numbered(0, b"other")],
        900 => named(&["r", "n"]),
        1101 => {
            let mut all = named(&["y", "z", "r", "s"]);
            all.extend([numbered(0, b"one"), numbered(7, b"long ago")]);
            return Some([of(77), vec![batch(slot + 600, &all)]].concat());
        }
        // Each of nine is repeated before it is forgotten.
        _ if slot.is_multiple_of(5) => {
            vec![format!("t{}", slot * 7 % 45).into_bytes(), format!("u{slot}").into_bytes()]
        }
        _ if slot.is_multiple_of(13) && slot > 26 => return Some(of(slot - 26)),
        _ => return Some(Vec::new()),
    };
    Some(vec![batch(slot + 600, &transactions)])
}

/// Party 0 as its chain runs it.
struct Member {
    engine: Trantor,
    now: Instant,
    records: Vec<Record>,
    blocks: BTreeMap<Slot, Option<Block>>,
    sent: Vec<Message>,
}

impl Member {
    fn start(records: Vec<Record>) -> Self {
        let config = ::prefinal_engine::Config {
            context: context(0),
            me: Party::new(0),
            members: members(&FOUR),
            timeout: ms(500),
            pace: Pace::NONE,
            max_block_bytes: 1000,
        };
        let (engine, _) = <Trantor as Launch>::start(config, secret(0), records.clone()).unwrap();
        let (now, blocks, sent) = (Instant::START, BTreeMap::new(), Vec::new());
        let mut member = Self { engine, now, records, blocks, sent };
        member.input(Input::Start);
        member
    }

    fn input(&mut self, input: Input<Trantor>) {
        static KNOWN: Mutex<BTreeMap<Fingerprint, Verdict>> = Mutex::new(BTreeMap::new());
        Engine::handle(&mut self.engine, self.now, input);
        while let Some(output) = Engine::poll(&mut self.engine) {
            match output {
                Output::Keep(record) | Output::Note(record) => self.records.push(record),
                Output::Do(Effect::Run(job)) => {
                    let mut known = KNOWN.lock().unwrap();
                    let verdict = known.entry(job.fingerprint()).or_insert_with(|| job.run());
                    let input = Input::Checked(verdict.clone());
                    Engine::handle(&mut self.engine, self.now, input);
                }
                Output::Do(Effect::Send { message, .. }) => self.sent.push(message),
                Output::Do(Effect::Finalized { slot, block }) => {
                    self.blocks.insert(slot, block);
                }
                Output::Do(_) => {}
            }
        }
    }

    fn receive(&mut self, message: Message) {
        self.input(Input::Received { from: Party::new(1), message });
    }

    /// Hears that a height is decided, and gets those of its batches that it lacks.
    fn learn(&mut self, height: &Height) {
        self.now = self.now + ms(30);
        for batch in &height.batches {
            self.receive(Message::Batch(Box::new(batch.clone())));
        }
        self.receive(Message::Response(vec![height.decision.clone()]));
        for batch in &height.batches {
            self.receive(Message::BatchResponse(Box::new(batch.clone())));
        }
    }

    fn live(&mut self, slots: RangeInclusive<u64>) {
        for slot in slots {
            self.learn(&World::get().heights[usize::try_from(slot - 1).unwrap()]);
        }
    }

    /// Another life with these records behind its own.
    fn behind(&self, adopted: Vec<Record>) -> Self {
        Self::start([self.records.clone(), adopted].concat())
    }

    /// Takes part in these heights, and finds in them what all others find.
    fn agrees(&mut self, slots: RangeInclusive<u64>) {
        self.blocks.clear();
        self.live(slots.clone());
        let world = World::get();
        for slot in slots.clone() {
            let own = self.blocks.get(&Slot::new(slot)).map(Option::as_ref);
            assert_eq!(own, Some(world.block(slot)), "{slots:?}: {slot}");
        }
        let last = usize::try_from(slots.end() - 1).unwrap();
        assert_eq!(self.engine.schedule(), &world.schedules[last], "{slots:?}");
    }

    fn next(&self) -> u64 {
        self.engine.next().get()
    }
}

/// It was there up to `read` and comes back behind `last`.
fn back(read: u64, last: u64) -> Member {
    let mut member = Member::start(Vec::new());
    member.live(1..=read);
    let back = member.behind(Trantor::adopted(World::get().shown(read, last)));
    assert_eq!(back.next(), last + 1);
    let asks = |one: &Message| matches!(one, Message::Progress(next) if next.get() == last + 1);
    assert!(back.sent.iter().any(asks));
    back
}

#[test]
fn what_others_make_of_the_heights_behind_is_what_this_test_is_about() {
    let block = World::get().block(LAST + 1).unwrap();
    let expected = [named(&["z", "s"]), vec![numbered(7, b"long ago")]].concat();
    // `x` is in a batch that was ordered; `y`, `r` and the first of the numbered stood in the last 256 heights.
    let delivered = block.transactions.split_last().unwrap().1;
    assert_eq!(delivered.iter().map(|one| one.to_vec()).collect::<Vec<_>>(), expected);
    let both = World::get().block(880).unwrap();
    assert_eq!(both.transactions.len(), 3, "a number tells nothing apart");
    let leaders = |slots: RangeInclusive<usize>| {
        slots.map(|slot| World::get().schedules[slot].leaders().len()).min()
    };
    assert_eq!((leaders(0..=60), leaders(1130..=1159)), (Some(1), Some(1)), "some have failed");
}

#[test]
fn behind_blocks_that_others_have_shown_a_party_orders_what_they_order() {
    let from_afar = [0, 2, 8, 10, 45, 590, 900, 1095].map(|read| (read, LAST));
    for (read, last) in from_afar.into_iter().chain([(0, 20), (10, 60), (2, 1089), (39, 599)]) {
        let mut member = back(read, last);
        member.agrees(last + 1..=last + 30);
        // The same after a crash, near what was shown and further on.
        let mut member = member.behind(Vec::new());
        member.agrees(last + 31..=last + 60);
    }
}

#[test]
fn reports_that_a_crash_took_and_blocks_that_are_shown_twice_change_nothing() {
    let world = World::get();
    for lost in [20, 60] {
        let mut member = Member::start(Vec::new());
        member.live(1..=60);
        let is_lost = |record: &Record| match record {
            Record::Finalized(slot) | Record::History(slot, _) => slot.get() > 60 - lost,
            _ => false,
        };
        member.records.retain(|record| !is_lost(record));
        for read in [0, 30, 60] {
            let mut back = member.behind(Trantor::adopted(world.shown(read, LAST)));
            back.agrees(LAST + 1..=LAST + 20);
        }
        // Its own decisions reach further than what is shown.
        let mut back = member.behind(Trantor::adopted(world.shown(0, 30)));
        assert_eq!(back.next(), 61);
        back.agrees(61..=100);
    }
}

#[test]
fn a_party_may_be_away_again_and_again() {
    let mut member = back(10, 80);
    member.agrees(81..=100);
    let mut member = member.behind(Trantor::adopted(World::get().shown(100, 640)));
    member.agrees(641..=700);
    let mut member = member.behind(Trantor::adopted(World::get().shown(700, LAST)));
    member.agrees(LAST + 1..=END);
}

#[test]
fn what_is_kept_of_a_long_absence_is_bounded() {
    let adopted = Trantor::adopted(World::get().shown(0, LAST));
    let contents = |record: &Record| match record {
        Record::Shown(contents) => Some((contents.slot(), contents.transactions().len())),
        _ => None,
    };
    let all: Vec<_> = adopted.iter().filter_map(contents).collect();
    let first = |least: usize| all.iter().find(|(_, count)| *count >= least).map(|it| it.0.get());
    assert_eq!((first(0), first(1)), (Some(LAST + 1 - BATCHES_KEPT), Some(LAST + 1 - KEPT)));
    let Some(Record::Adopted(runs)) = adopted.last() else { panic!("not that all are there") };
    let gaps: Vec<_> = runs.windows(2).map(|two| (two[0].last.get(), two[1].first.get())).collect();
    assert_eq!(
        gaps,
        [(2, 4), (8, 10), (39, 42), (599, 602), (999, 1001), (1089, 1091), (1098, 1100)]
    );
    // A party forgets it when it no longer matters.
    let mut records = crate::records::Records::default();
    adopted.into_iter().for_each(|record| records.apply(record));
    let heights = records.shown.len();
    records.apply(Record::Finalized(Slot::new(LAST + 100)));
    assert!(records.shown.len() <= heights - 90);
    records.apply(Record::Epoch(Schedule::starting_at(99, Slot::new(LAST + 90))));
    assert!(records.runs.is_empty());
}

#[test]
fn behind_an_adopted_height_every_promise_is_kept() {
    let world = World::get();
    let mut member = Member::start(Vec::new());
    member.live(1..=45);
    let forger = Forger::new(&FOUR);
    let leader = |slot| member.engine.schedule().leader(Slot::new(slot)).unwrap().get();
    let [passed, open] = [46, 52].map(|slot| (slot, leader(slot)));
    assert!(passed.1 != 0 && open.1 != 0);
    for (slot, leader) in [passed, open] {
        member.input(Input::Received {
            from: Party::new(leader),
            message: forger.proposal(leader, slot, &Body::default()),
        });
    }
    let voted = |member: &Member, slot| {
        let is_for =
            |one: &&Message| matches!(one, Message::Prepare(vote) if vote.view.slot.get() == slot);
        let values = member.sent.iter().filter(is_for).map(|one| match one {
            Message::Prepare(vote) => vote.value,
            other => panic!("{other:?}"),
        });
        values.collect::<Vec<_>>()
    };
    assert_eq!((voted(&member, 46).len(), voted(&member, 52).len()), (1, 1));
    let mut back = member.behind(Trantor::adopted(world.shown(45, 50)));
    // Another block at both heights.
    let label = batch(600, &named(&["other"])).label();
    for (slot, leader) in [passed, open] {
        let other = Batch::new(Party::new(leader), Slot::new(600), Vec::new()).label();
        let body = Body::default().and_uncertified(vec![other]);
        assert_ne!(other, label);
        let message = forger.proposal(leader, slot, &body);
        back.input(Input::Received { from: Party::new(leader), message });
    }
    assert_eq!(voted(&back, 46), [], "nothing about a height that is over");
    assert_eq!(voted(&back, 52), voted(&member, 52), "the same vote again");
}

#[test]
fn peers_that_lag_are_given_what_is_here_and_no_more() {
    let mut member = back(45, LAST);
    member.live(LAST + 1..=LAST + 10);
    let mut answer = |first: u64| {
        member.now = member.now + ms(1000);
        member.sent.clear();
        member.receive(Message::Request(Slot::new(first)));
        let heights = member.sent.iter().find_map(|message| match message {
            Message::Response(decisions) => {
                Some(decisions.iter().map(|one| one.certificate.view.slot.get()).collect())
            }
            _ => None,
        });
        heights.unwrap_or_else(Vec::<u64>::new)
    };
    assert_eq!(answer(500), []);
    assert_eq!(answer(LAST), []);
    assert_eq!(answer(LAST + 1), (LAST + 1..=LAST + 10).collect::<Vec<_>>());
}

#[test]
fn a_batch_that_others_ordered_is_not_spread_again_and_another_one_is() {
    let mut away = Member::start(Vec::new());
    let own = |away: &Member| {
        let batches = away.records.iter().filter_map(|record| match record {
            Record::Batch(batch) => Some(batch.clone()),
            _ => None,
        });
        batches.collect::<Vec<_>>()
    };
    for name in [b"mine", b"late"] {
        away.input(Input::Submit(name.to_vec()));
        away.now = away.now + ms(30);
        away.input(Input::Tick);
    }
    let [mine, late] = &own(&away)[..] else { panic!("two batches") };
    let mut peer = Member::start(Vec::new());
    let first = height(1, Some(vec![mine.clone()]));
    peer.learn(&first);
    let block = peer.blocks[&Slot::new(1)].clone().unwrap();
    assert_eq!(block.transactions.len(), 2);
    let shown = [FinalBlock { slot: Slot::new(1), block }];
    let mut back = away.behind(Trantor::adopted(shown.into_iter()));
    let spread = back.sent.iter().filter_map(|message| match message {
        Message::Batch(batch) => Some(batch.id()),
        _ => None,
    });
    assert_eq!(spread.collect::<Vec<_>>(), [late.id()]);
    // A faulty leader orders the first one again.
    let again = height(2, Some(vec![mine.clone(), late.clone()]));
    peer.learn(&again);
    back.learn(&again);
    assert_eq!(back.blocks[&Slot::new(2)], peer.blocks[&Slot::new(2)]);
}

/// A crash on the way left some of what was shown on record, and not that it is all.
#[test]
fn what_is_shown_in_part_changes_nothing() {
    let mut member = Member::start(Vec::new());
    member.live(1..=10);
    let mut part = Trantor::adopted(World::get().shown(10, LAST));
    assert!(matches!(part.pop(), Some(Record::Adopted(_))));
    let mut back = member.behind(part.clone());
    assert_eq!(back.next(), 11);
    back.agrees(11..=60);
    // The rest comes at the next start.
    let whole = Trantor::adopted(World::get().shown(60, LAST));
    back.behind([part, whole].concat()).agrees(LAST + 1..=LAST + 40);
}

#[test]
fn behind_blocks_that_a_store_has_damaged_no_party_goes_on() {
    let shown = || World::get().shown(0, 60).collect::<Vec<_>>();
    assert!(!Trantor::adopted(shown().into_iter()).is_empty());
    assert!(Trantor::adopted(std::iter::empty()).is_empty());
    let damages: [fn(&mut Vec<FinalBlock>); 6] = [
        |all| drop(all[22].block.transactions.pop()),
        |all| all[22].block.transactions.push(Arc::from(*b"behind")),
        |all| all[22].block.transactions.reverse(),
        |all| all[22].slot = all[22].slot.next(),
        |all| all.swap(2, 3),
        |all| all.push(all[0].clone()),
    ];
    // That height has a block with a batch.
    assert!(shown()[22].block.transactions.len() > 2);
    for damage in damages {
        let mut all = shown();
        damage(&mut all);
        assert!(Trantor::adopted(all.into_iter()).is_empty());
    }
}
