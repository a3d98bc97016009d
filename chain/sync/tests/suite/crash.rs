//! A follower that ends after any output goes on where it was.
use prefinal_disk::Left;
use prefinal_execution::{Height, Store};
use prefinal_sync::{Config, Keep, Replay};

use crate::chain::chain;
use crate::world::{TestPeer, World, config};

/// Over the border of an epoch.
const TO: u64 = 10;
/// The height of the state that can be fetched.
const STATE: u64 = 6;

fn world(config: Config) -> World {
    let mut peer = TestPeer::honest(20);
    peer.tip = TO;
    peer.claim = Some(|mut summary| {
        summary.snapshots = vec![Height::new(STATE)];
        summary
    });
    World::new(config, vec![peer])
}

fn ends_anywhere(config: Config) {
    let mut whole = world(config);
    whole.run(TO, 60);
    let steps = whole.outputs;
    assert!(steps > 15, "{steps}");
    // Every second one, for each run takes pairings.
    for step in (0..steps).step_by(2) {
        let mut world = world(config);
        while world.outputs <= step && world.tip() < TO {
            assert!(world.step());
        }
        let before = world.tip();
        world.crash([Left::Nothing, Left::All, Left::Torn(step as u64)][step % 3]);
        world.is_true();
        assert!(world.tip() >= before, "what was durable is there");
        world.run(TO, 60);
        assert_eq!((world.tip(), world.banned()), (TO, [].into()), "after output {step}");
        let truth = chain().store.view_at(Height::new(TO)).unwrap();
        let root = world.store.view().unwrap().state_root();
        assert_eq!(root, truth.state_root());
        let lowest = match (config.snapshot_beyond, config.keep.blocks) {
            (Some(_), _) => STATE,
            (None, Some(_)) => Keep::STEP,
            (None, None) => 0,
        };
        assert_eq!(world.store.lowest(), Height::new(lowest));
        assert_eq!(world.store.recover().unwrap().optimistic.len(), 0);
    }
}

#[test]
fn while_it_executes() {
    ends_anywhere(config(Replay::Execute));
}

/// Block 9 is one too many, and the first 8 go before block 10 comes.
#[test]
fn while_it_forgets() {
    let keep = Keep { blocks: Some(8), bytes: None, floor: 0 };
    ends_anywhere(Config { keep, ..config(Replay::Deltas) });
}

#[test]
fn while_it_fetches_a_state_and_then_deltas() {
    let mut config = config(Replay::Deltas);
    config.snapshot_beyond = Some(2);
    config.limits.answer_bytes = 40_000;
    ends_anywhere(config);
}
