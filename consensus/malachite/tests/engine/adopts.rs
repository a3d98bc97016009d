//! A party that was away goes on behind a height that others have shown, far ahead of what it has.
use prefinal_engine::{Block, Engine, FinalBlock, Launch};
use prefinal_malachite::{Malachite, Message, SignedVote};
use prefinal_protocol::{Slot, Value};
use prefinal_weighted_rounding::Stake;

use crate::net::{Net, Observation, config, secret};

const STAKES: [u128; 4] = [1, 1, 1, 1];
const ALL: [u32; 4] = [0, 1, 2, 3];
const ME: u32 = 2;
/// More than peers have decisions of.
const FAR: u64 = 300;

/// It has released a partial at height 3, and is away before that is decided. It comes back behind this height.
fn back(height: u64) -> Net {
    let mut net = Net::all(&STAKES);
    let prefinalized = |(_, seen): &(_, _)| matches!(seen, Observation::Prefinalized(3, ..));
    while !net.of(ME).iter().any(prefinalized) {
        net.step();
    }
    net.table.clear(prefinal_protocol::Party::new(ME));
    assert_eq!(net.decided(ME), 2);
    net.run_until(&[0, 1, 3], FAR);
    let value = Value::new(net.blocks()[&height].to_bytes());
    let block = Block { value, transactions: Vec::new() };
    let last = FinalBlock { slot: Slot::new(height), block };
    net.logs[2].extend(Malachite::adopted([last].into_iter()));
    // What it saw before does not count: heights are reported in ascending order.
    net.seen[2].clear();
    net.boot(ME);
    net
}

fn finalized(net: &Net) -> Vec<u64> {
    let finalized = net.of(ME).iter().filter_map(|(_, seen)| match seen {
        Observation::Finalized(height, ..) => Some(*height),
        _ => None,
    });
    finalized.collect()
}

fn votes(net: &Net) -> impl Iterator<Item = &SignedVote> {
    net.of(ME).iter().filter_map(|(_, seen)| match seen {
        Observation::Sent(Message::Vote(vote)) => Some(vote),
        _ => None,
    })
}

#[test]
fn heights_behind_the_adopted_one_are_fetched_and_reported_and_none_before() {
    let mut net = back(FAR - 8);
    net.run_until(&ALL, FAR + 8);
    assert_eq!(finalized(&net), (FAR - 7..=FAR + 8).collect::<Vec<_>>());
    // It votes again, and for nothing before.
    assert!(votes(&net).any(|vote| vote.message.height.get() >= FAR));
    assert!(votes(&net).all(|vote| vote.message.height.get() > FAR - 8));
    // It is there after another crash too.
    net.table.clear(prefinal_protocol::Party::new(ME));
    net.seen[2].clear();
    net.boot(ME);
    net.run_until(&ALL, FAR + 12);
    assert!(finalized(&net)[0] >= FAR + 8);
}

#[test]
fn what_it_released_before_it_was_away_is_reported() {
    let net = back(FAR - 8);
    let own = config(&STAKES, ME);
    let members = own
        .members
        .iter()
        .map(|member| prefinal_engine::Member { key: member.key, stake: Stake::new(1) });
    let config = prefinal_engine::Config {
        context: own.context,
        me: own.me,
        members: members.collect(),
        timeout: own.catch_up_after,
        pace: own.pace,
        max_block_bytes: own.max_block_bytes,
    };
    let (_, past) = <Malachite as Launch>::start(config, secret(ME), net.logs[2].clone()).unwrap();
    let slots: Vec<u64> = past.released.iter().map(|(slot, _)| slot.get()).collect();
    assert_eq!(slots, [1, 2, 3]);
}

/// Its votes at the height where it was are on record, and that height goes on: nothing is adopted there.
#[test]
fn a_height_before_the_one_where_it_is_changes_nothing() {
    let mut net = Net::all(&STAKES);
    net.run_until(&ALL, 5);
    let before = finalized(&net).len();
    let block = Block { value: Value::new(net.blocks()[&3].to_bytes()), transactions: Vec::new() };
    let adopted = Malachite::adopted([FinalBlock { slot: Slot::new(3), block }].into_iter());
    net.logs[2].extend(adopted);
    net.table.clear(prefinal_protocol::Party::new(ME));
    net.boot(ME);
    net.run_until(&ALL, 9);
    assert!(finalized(&net)[before] >= 5);
    net.blocks();
}
