//! What a follower allows for, and why it stops.
use prefinal_disk::Left;
use prefinal_execution::Height;
use prefinal_protocol::EpochId;
use prefinal_sync::wire::{Answer, BlockItem, Compression, Payload, Request};
use prefinal_sync::{
    Fault, HashedNames, Past, Replay, Server, ServerLimits, StopReason, StoreSource, Trust,
};

use crate::chain::{Cert, DRAW, EPOCHS, TIP, certify, chain, epoch};
use crate::world::{TestPeer, World, config};

/// A height of the first epoch that neither is empty nor reads a value.
const FALSE: u64 = 7;

/// Alters one block, which is then certified by more than two thirds of the stake.
fn certified(
    request: &Request,
    mut payload: Payload<Cert>,
    alter: fn(&mut BlockItem<Cert>),
) -> Vec<u8> {
    if let Payload::Blocks(items) = &mut payload {
        for item in items.iter_mut().filter(|item| item.header.height.get() == FALSE) {
            alter(item);
            item.header.id = HashedNames.name(&item.header, &item.attestation.content);
            item.attestation.certificate = certify(&item.header, item.roots, epoch(FALSE));
        }
    }
    Answer::of(&payload, Compression::None).to_wire(request.id)
}

#[test]
fn a_certified_block_that_is_no_child_of_the_last_one_stops_the_follower() {
    let peer = TestPeer::lying(|_, request, payload| {
        certified(request, payload, |item| item.header.parent = item.header.id)
    });
    let mut world = World::new(config(Replay::Execute), vec![peer]);
    world.run(TIP, 60);
    let stopped = world.stopped.clone();
    assert!(
        matches!(&stopped, Some(StopReason::Forked { header }) if header.height.get() == FALSE),
        "{stopped:?}"
    );
    assert_eq!((world.tip(), world.banned()), (FALSE - 1, [].into()));
    assert_eq!(world.follower_wakes(), None, "it does nothing any more");
}

#[test]
fn a_certified_state_that_is_not_the_computed_one_stops_the_follower() {
    let peer = TestPeer::lying(|_, request, payload| {
        certified(request, payload, |item| item.roots.state[0] ^= 1)
    });
    let mut world = World::new(config(Replay::Execute), vec![peer]);
    world.run(TIP, 60);
    let truth = chain().store.block(Height::new(FALSE)).unwrap().roots;
    let Some(StopReason::Diverged { header, certified, computed }) = world.stopped.clone() else {
        panic!("{:?}", world.stopped)
    };
    assert_eq!((header.height.get(), computed), (FALSE, truth));
    assert_ne!(certified, computed);
    assert_eq!((world.tip(), world.banned()), (FALSE - 1, [].into()), "it is nobody's fault");
}

#[test]
fn blocks_of_an_epoch_that_is_over_are_refused() {
    let peer = TestPeer::lying(|_, request, mut payload| {
        if let Payload::Blocks(items) = &mut payload {
            for item in items.iter_mut().filter(|item| item.header.height.get() > EPOCHS[0] + 3) {
                // The committee of before has signed it.
                item.attestation.epoch = EpochId::new(0);
                item.attestation.certificate = certify(&item.header, item.roots, 0);
            }
        }
        Answer::of(&payload, Compression::None).to_wire(request.id)
    });
    let mut world = World::new(config(Replay::Deltas), vec![peer, TestPeer::honest(300)]);
    world.run(TIP, 60);
    assert_eq!((world.tip(), world.banned()), (TIP, [0].into()));
    let fault = world.banned.into_values().next().unwrap().fault;
    let [here, got] = [1, 0].map(EpochId::new);
    assert_eq!(fault, Fault::Epoch { here, got });
}

/// It says that it has everything and answers nothing, and is the nearest by its own account.
#[test]
fn a_peer_that_does_not_answer_is_left_alone_for_longer_each_time() {
    let mut config = config(Replay::Deltas);
    config.limits.answer_blocks = 1;
    config.limits.requests_to_one = 1;
    let mut world =
        World::new(config, vec![TestPeer::lying(|_, _, _| Vec::new()), TestPeer::honest(900)]);
    world.run(TIP, 200);
    assert_eq!((world.tip(), world.banned()), (TIP, [].into()));
    let (asked, seconds) = (world.peers[0].asked.len(), world.now.since_start().as_secs());
    // With a pause that stays the same it would be every second or third second.
    assert!(seconds > 15 && asked <= 5, "{asked} times in {seconds} s");
}

#[test]
fn trust_is_not_advanced_beyond_the_last_block() {
    let endings = &chain().endings;
    for (to, expected) in [(4, 0), (EPOCHS[0] - 1, 0), (EPOCHS[0], 1), (EPOCHS[1] + 1, 2)] {
        let mut peer = TestPeer::honest(20);
        peer.tip = to;
        let mut world = World::new(config(Replay::Deltas), vec![peer]);
        world.run(to, 60);
        let mut trust = chain().trust();
        // Also the endings of epochs whose blocks are not all there.
        Past::of(&world.store).unwrap().advance(&mut trust, endings.values()).unwrap();
        assert_eq!(Trust::epoch(&trust), Some(EpochId::new(expected)), "at {to}");
    }
    let mut trust = chain().trust();
    let past = Past::of(&chain().store).unwrap();
    let wrong = endings.values().cloned().map(|mut ending| {
        ending.first = ending.first.next();
        ending
    });
    let wrong: Vec<_> = wrong.collect();
    past.advance(&mut trust, &wrong).unwrap_err();
}

/// Its store goes on in a later epoch than the first one, from which alone it is led.
#[test]
fn one_that_kept_no_endings_is_led_again_from_the_first_committee() {
    for to in [EPOCHS[0] - 1, EPOCHS[0], EPOCHS[1] - 1, EPOCHS[1], EPOCHS[1] + 3] {
        let mut world = World::new(config(Replay::Deltas), vec![TestPeer::honest(20)]);
        world.peers[0].tip = to;
        world.run(to, 60);
        world.peers[0].tip = TIP;
        world.endings.clear();
        world.crash(Left::All);
        world.run(TIP, 60);
        assert_eq!((world.tip(), world.banned()), (TIP, [].into()), "from {to}");
        assert_eq!(world.endings.len(), EPOCHS.len(), "from {to}");
    }
}

#[test]
fn a_state_that_is_all_there_when_it_crashes_is_the_last_one_when_it_starts_again() {
    let mut config = config(Replay::Deltas);
    config.snapshot_beyond = Some(3);
    for left in [Left::Nothing, Left::All] {
        let mut world = World::new(config, vec![TestPeer::honest(100)]);
        while world.store.restoring().unwrap().is_none() || !world.store.missing().is_empty() {
            assert!(world.step());
        }
        assert!(world.store.restoring().unwrap().is_some());
        world.crash(left);
        // Nobody needs to be asked.
        world.peers[0].claim = None;
        world.run(TIP, 20);
        assert_eq!((world.tip(), world.store.lowest().get()), (TIP, TIP));
    }
}

/// The block whose state may be fetched is verified while the block itself is being executed.
#[test]
fn a_state_is_not_fetched_if_replaying_gets_there_first() {
    for later in 0..4 {
        let mut config = config(Replay::Execute);
        config.snapshot_beyond = Some(1);
        let mut world = World::new(config, [10, 10 + later].map(TestPeer::honest).into());
        world.peers[0].claim = Some(|mut summary| {
            summary.snapshots.clear();
            summary
        });
        world.peers[1].claim = Some(|mut summary| {
            summary.snapshots = summary.blocks.map(|blocks| blocks.last).into_iter().collect();
            (summary.blocks, summary.deltas) = (None, None);
            summary
        });
        for tip in 1..DRAW {
            world.peers.iter_mut().for_each(|peer| peer.tip = tip);
            world.run(tip, 5);
            assert_eq!((world.tip(), &world.stopped), (tip, &None), "{later} ms later");
        }
    }
}

#[test]
fn an_answer_that_is_larger_than_the_cache_leaves_it_as_it_is() {
    let chain = chain();
    let (store, endings) = (&chain.store, &chain.endings);
    let source = StoreSource { store, endings, snapshot_every: 6, hops: 0 };
    let limits = ServerLimits { cache_bytes: 3_000, ..ServerLimits::default() };
    let mut server = Server::new(limits);
    let mut ask = |first, count| {
        let ask = prefinal_sync::wire::Ask::Blocks(prefinal_sync::wire::BlockAsk {
            first: Height::new(first),
            count,
            deltas: true,
            bytes: 1 << 20,
        });
        let id = prefinal_sync::wire::RequestId::new(1);
        let request = Request { id, accepts: Compression::None, ask };
        let length = server.answer(&source, &request.to_wire()).unwrap().len();
        (length, server.cached_bytes())
    };
    let (small, cached) = ask(3, 1);
    assert_eq!(cached, small);
    let (large, cached) = ask(4, 8);
    assert!(large > 3_000 && cached == small, "{large} {cached}");
}
