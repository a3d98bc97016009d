//! Every mode reaches the tip, in the time that its stages take.
use std::time::Duration;

use prefinal_disk::Left;
use prefinal_execution::{Height, Store};
use prefinal_protocol::Instant;
use prefinal_sync::{Config, Keep, Replay, Source, StopReason, StoreSource, Strategy};

use crate::chain::{DRAW, TIP, chain};
use crate::world::{TestPeer, World, config};

fn peers() -> Vec<TestPeer> {
    [40, 60, 150].map(TestPeer::honest).into()
}

#[test]
fn every_mode_reaches_the_tip_and_the_same_state() {
    for replay in [Replay::Execute, Replay::Deltas] {
        for strategy in [Strategy::Pipelined, Strategy::Naive] {
            for snapshot_beyond in [None, Some(10)] {
                let config = Config { strategy, snapshot_beyond, ..config(replay) };
                let mut world = World::new(config, peers());
                world.run(TIP, 60);
                let name = format!("{replay:?} {strategy:?} {snapshot_beyond:?}");
                assert_eq!((world.tip(), &world.stopped), (TIP, &None), "{name}");
                assert_eq!(world.banned(), [].into(), "{name}");
                let root = |store: &crate::chain::TestStore| store.view().unwrap().state_root();
                assert_eq!(root(&world.store), root(&chain().store), "{name}");
                // With a snapshot it has nothing of what was before.
                let lowest = world.store.lowest();
                assert_eq!(lowest > Height::GENESIS, snapshot_beyond.is_some(), "{name}");
                assert_eq!(world.endings.len(), 2, "{name}");
                assert_eq!(world.store.committed().unwrap(), chain().store.committed().unwrap());
            }
        }
    }
}

#[test]
fn blocks_are_fetched_while_others_are_verified_executed_and_written() {
    let took = |strategy| {
        let config = Config { strategy, ..config(Replay::Execute) };
        let mut world = World::new(config, vec![TestPeer::honest(150)]);
        world.run(TIP, 60);
        world.now
    };
    let (pipelined, naive) = (took(Strategy::Pipelined), took(Strategy::Naive));
    // Naive: a round trip for four blocks, each executed and written behind the one before.
    let blocks = Duration::from_millis(TIP * (6 + 5));
    assert!(naive > Instant::at(blocks + Duration::from_millis(150 * TIP / 4)), "{naive:?}");
    // Pipelined: the endings of two epochs are asked for when they are needed.
    assert!(pipelined.since_start() * 10 < naive.since_start() * 6, "{pipelined:?} {naive:?}");
}

#[test]
fn the_fast_and_near_are_asked_more_and_the_slow_fade() {
    let mut config = config(Replay::Execute);
    config.limits.answer_blocks = 1;
    let mut far = TestPeer::honest(30);
    far.hops = 5;
    let mut world = World::new(config, vec![TestPeer::honest(30), TestPeer::honest(900), far]);
    world.run(TIP, 60);
    assert_eq!(world.tip(), TIP);
    let [near, slow, far] = [0, 1, 2].map(|at: usize| world.peers[at].asked.len());
    assert!(near > 2 * slow && near > far, "{near} {slow} {far}");
}

#[test]
fn a_follower_goes_on_with_a_chain_that_goes_on() {
    let mut world = World::new(config(Replay::Deltas), peers());
    for tip in 1..=TIP {
        world.peers.iter_mut().for_each(|peer| peer.tip = tip);
        world.run(tip, 5);
        assert_eq!(world.tip(), tip);
    }
}

#[test]
fn what_is_beyond_the_limits_is_forgotten_and_peers_are_told() {
    // By blocks; by bytes, of which there are too many from the first one on.
    for (blocks, bytes) in [(Some(12), None), (None, Some(1))] {
        let keep = Keep { blocks, bytes, floor: 4 };
        let mut world = World::new(Config { keep, ..config(Replay::Deltas) }, peers());
        while world.tip() < TIP {
            assert!(world.step());
            let kept = world.follower.kept();
            assert!(
                kept.blocks() <= 13 && kept.bytes > 0 || kept.tip == Height::GENESIS,
                "{kept:?}"
            );
        }
        assert_eq!(world.store.lowest(), Height::new(16));
        let source = StoreSource {
            store: &world.store,
            endings: &world.endings,
            snapshot_every: 6,
            hops: 1,
        };
        let summary = source.summary().unwrap();
        assert_eq!(summary.blocks.unwrap().first, Height::new(17));
        assert_eq!(summary.snapshots, [18, 24].map(Height::new));
        assert_eq!(source.block(Height::new(16)).unwrap(), None);
    }
}

#[test]
fn another_life_with_a_smaller_limit_forgets_what_is_there() {
    let mut world = World::new(config(Replay::Execute), peers());
    world.run(TIP, 60);
    assert_eq!(world.store.lowest(), Height::GENESIS);
    world.config.keep = Keep { blocks: Some(10), bytes: None, floor: 2 };
    world.crash(Left::All);
    world.peers.iter_mut().for_each(|peer| peer.claim = None);
    while world.store.lowest() < Height::new(16) {
        assert!(world.step(), "nothing else goes on");
    }
    let truth = chain().store.view_at(Height::new(TIP)).unwrap();
    assert_eq!(world.store.view().unwrap().state_root(), truth.state_root());
}

#[test]
fn a_state_that_nobody_has_any_more_is_given_up_for_another_one() {
    let config = Config { snapshot_beyond: Some(3), ..config(Replay::Deltas) };
    let mut peer = TestPeer::honest(100);
    peer.tip = 14;
    peer.claim = Some(|mut summary| {
        summary.snapshots = vec![Height::new(12)];
        summary
    });
    let mut world = World::new(config, vec![peer]);
    while !world.follower.is_restoring() {
        assert!(world.step());
    }
    let begun = world.store.restoring().unwrap().map(|anchor| anchor.header.height);
    assert_eq!(begun, Some(Height::new(12)));
    // It prunes.
    world.peers[0].tip = TIP;
    world.peers[0].claim = Some(|mut summary| {
        summary.snapshots.retain(|height| height.get() > 12);
        summary
    });
    world.peers[0].lie = Some(|_, request, payload| {
        use prefinal_sync::wire::{Answer, Ask, Compression, Payload};
        let gone = matches!(request.ask, Ask::Range(ask) if ask.height.get() <= 12);
        let payload = if gone { Payload::Absent } else { payload };
        Answer::of(&payload, Compression::None).to_wire(request.id)
    });
    world.run(TIP, 100);
    assert_eq!((world.tip(), world.banned()), (TIP, [].into()));
    assert_eq!(world.store.lowest(), Height::new(24));
}

/// The first blocks do not come, and those behind them do, from a peer that has no others.
#[test]
fn the_naive_protocol_asks_again_for_what_others_wait_for() {
    let config = Config { strategy: Strategy::Naive, ..config(Replay::Deltas) };
    let mut whole = TestPeer::honest(100);
    whole.lie = Some(|peer, request, payload| match peer.asked.len() {
        1 => Vec::new(),
        _ => {
            use prefinal_sync::wire::{Answer, Compression};
            Answer::of(&payload, Compression::None).to_wire(request.id)
        }
    });
    let mut pruned = TestPeer::honest(20);
    pruned.claim = Some(|mut summary| {
        summary.blocks.as_mut().unwrap().first = Height::new(5);
        summary.deltas = summary.blocks;
        summary
    });
    let mut world = World::new(config, vec![whole, pruned]);
    world.run(TIP, 60);
    assert_eq!((world.tip(), world.banned()), (TIP, [].into()));
}

/// Only one peer says that it has the state, and it answers nothing: another state is fetched.
#[test]
fn a_peer_that_says_it_has_the_state_does_not_hold_it_up() {
    for strategy in [Strategy::Pipelined, Strategy::Naive] {
        let snapshot_beyond = Some(3);
        let config = Config { snapshot_beyond, strategy, ..config(Replay::Deltas) };
        let mut first = TestPeer::honest(40);
        first.claim = Some(|mut summary| {
            summary.snapshots = vec![Height::new(12)];
            summary
        });
        first.lie = Some(|_, request, payload| {
            use prefinal_sync::wire::{Answer, Ask, Compression};
            match request.ask {
                Ask::Range(_) => Vec::new(),
                _ => Answer::of(&payload, Compression::None).to_wire(request.id),
            }
        });
        let mut world = World::new(config, vec![first, TestPeer::honest(300)]);
        world.peers[1].claim = Some(|mut summary| {
            summary.snapshots.retain(|height| height.get() > 12);
            summary
        });
        // The other state is not known before this one is begun.
        world.peers[1].tip = 12;
        while !world.follower.is_restoring() {
            assert!(world.step());
        }
        world.peers[1].tip = TIP;
        world.run(TIP, 400);
        assert_eq!((world.tip(), world.banned()), (TIP, [].into()), "{strategy:?}");
    }
}

#[test]
fn without_a_beacon_it_stops_at_a_block_that_reads_its_value() {
    let config = Config { beacon: None, ..config(Replay::Execute) };
    let mut world = World::new(config, peers());
    world.run(TIP, 60);
    assert_eq!(world.tip(), DRAW - 1);
    assert!(matches!(&world.stopped, Some(StopReason::Failed(why)) if why.contains("deltas")));
    assert_eq!(world.banned(), [].into(), "it is nobody's fault");
}

#[test]
fn what_is_asked_for_and_held_stays_within_its_bytes() {
    for window in [40_000_u64, 4_000_000] {
        let mut config = config(Replay::Deltas);
        (config.limits.answer_bytes, config.limits.window_bytes) = (8_000, window);
        // Many small answers, so that it is the bytes that bind.
        config.limits.answer_blocks = 1;
        let mut world = World::new(config, peers());
        // The peer of the lowest blocks is silent for a while: the others fill the window.
        world.peers[0].claim = None;
        world.run(TIP, 60);
        assert_eq!(world.tip(), TIP);
        assert!(world.most_bytes <= window + 8_000, "{} of {window}", world.most_bytes);
    }
}
