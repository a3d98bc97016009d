//! Peers that lie. Nothing that they say is stored, they are banned, and nobody else is.
use std::time::Duration;

use prefinal_execution::Height;
use prefinal_light::BlockError;
use prefinal_protocol::EpochId;
use prefinal_sync::wire::{
    Answer, Ask, BlockItem, Compression, Payload, Request, Summary, WireError,
};
use prefinal_sync::{BlockNames, Fault, HashedNames, Replay, Strategy};

use crate::chain::{Cert, DRAW, EMPTY, TIP, certify, chain};
use crate::world::{Lie, TestPeer, World, config};

fn send(request: &Request, payload: &Payload<Cert>) -> Vec<u8> {
    Answer::of(payload, Compression::None).to_wire(request.id)
}

/// Alters the last block of an answer.
fn block(request: &Request, payload: Payload<Cert>, alter: fn(&mut BlockItem<Cert>)) -> Vec<u8> {
    let Payload::Blocks(mut items) = payload else { return send(request, &payload) };
    alter(items.last_mut().unwrap());
    send(request, &Payload::Blocks(items))
}

fn rename(item: &mut BlockItem<Cert>) {
    item.attestation.content = HashedNames.content(&item.transactions);
    item.header.id = HashedNames.name(&item.header, &item.attestation.content);
}

/// A liar, one honest peer far away, and what the liar is banned for.
fn caught(replay: Replay, snapshot_beyond: Option<u64>, lie: Lie) -> Fault {
    let mut config = config(replay);
    config.snapshot_beyond = snapshot_beyond;
    // Into the second epoch, or behind the states that there are.
    let to = if snapshot_beyond.is_some() { TIP } else { 12 };
    let peers = [TestPeer::lying(lie), TestPeer::honest(300)];
    let mut world = World::new(config, peers.map(|peer| TestPeer { tip: to, ..peer }).into());
    world.run(to, 200);
    assert_eq!((world.tip(), &world.stopped), (to, &None), "{:?}", world.banned);
    assert_eq!(world.banned(), [0].into());
    let misconduct = world.banned.into_values().next().unwrap();
    // What was asked stands beside what came, whenever it was found false.
    assert!(
        misconduct.ask.is_some() || matches!(misconduct.fault, Fault::Wire(_)),
        "{misconduct:?}"
    );
    misconduct.fault
}

fn caught_replaying(lie: Lie) -> [Fault; 2] {
    [Replay::Execute, Replay::Deltas].map(|replay| caught(replay, None, lie))
}

#[test]
fn fabricated_blocks() {
    // Another transaction, under the name of the block; under another name; and another root.
    let content = caught_replaying(|_, request, payload| {
        block(request, payload, |item| drop(item.transactions.pop()))
    });
    assert_eq!(content, [Fault::Name, Fault::Name]);
    let named = caught_replaying(|_, request, payload| {
        block(request, payload, |item| {
            item.transactions.pop();
            rename(item);
        })
    });
    for fault in named {
        assert!(matches!(fault, Fault::Certificate(BlockError::Certificate(_))), "{fault:?}");
    }
    let roots = caught_replaying(|_, request, payload| {
        block(request, payload, |item| item.roots.state[0] ^= 1)
    });
    for fault in roots {
        assert!(matches!(fault, Fault::Certificate(BlockError::Certificate(_))), "{fault:?}");
    }
    // Signed by a committee, but of another epoch.
    let epoch = caught_replaying(|_, request, payload| {
        block(request, payload, |item| {
            item.roots.state[0] ^= 1;
            item.attestation.certificate = certify(&item.header, item.roots, 2);
        })
    });
    for fault in epoch {
        assert!(matches!(fault, Fault::Certificate(BlockError::Certificate(_))), "{fault:?}");
    }
}

/// Slots have gaps, and a block without transactions changes nothing: only names say that it is there.
#[test]
fn a_block_that_changes_nothing_is_left_out() {
    let lie: Lie = |_, request, payload| match payload {
        Payload::Blocks(mut items) => {
            if let Some(at) = items.iter().position(|item| item.header.height.get() == EMPTY) {
                items.remove(at);
                for item in items.iter_mut().skip(at) {
                    item.header.height = Height::new(item.header.height.get() - 1);
                }
            }
            let mut parents: Vec<_> = items.iter().map(|item| item.header.id).collect();
            parents.pop();
            for (item, parent) in items.iter_mut().skip(1).zip(parents) {
                item.header.parent = parent;
            }
            send(request, &Payload::Blocks(items))
        }
        other => send(request, &other),
    };
    assert_eq!(caught_replaying(lie), [Fault::Name, Fault::Name]);
}

#[test]
fn reordered_replayed_and_stale_blocks() {
    let reordered = caught_replaying(|_, request, payload| match payload {
        Payload::Blocks(mut items) if items.len() > 1 => {
            items.swap(0, 1);
            send(request, &Payload::Blocks(items))
        }
        other => send(request, &other),
    });
    assert_eq!(reordered, [Fault::Order, Fault::Order]);
    let replayed = caught_replaying(|peer, request, payload| {
        if matches!(payload, Payload::Blocks(_)) {
            peer.memory.push(payload.clone());
        }
        send(request, peer.memory.first().unwrap_or(&payload))
    });
    assert_eq!(replayed, [Fault::Order, Fault::Order]);
    let stale = caught_replaying(|_, request, payload| match payload {
        Payload::Blocks(mut items) => {
            items.rotate_left(1);
            send(request, &Payload::Blocks(items))
        }
        other => send(request, &other),
    });
    assert_eq!(stale, [Fault::Order, Fault::Order]);
    let more = caught_replaying(|_, request, payload| match payload {
        // True ones, which are asked of others too, and would be held twice.
        Payload::Blocks(mut items) => {
            let (store, last) = (&chain().store, items.last().unwrap());
            let (next, deltas) = (last.header.height.next(), last.delta.is_some());
            if let Ok(block) = store.export(next) {
                items.push(BlockItem {
                    header: block.header,
                    roots: block.roots,
                    attestation: block.certificate,
                    transactions: block.transactions,
                    delta: deltas.then(|| store.delta(next).unwrap()),
                });
            }
            send(request, &Payload::Blocks(items))
        }
        other => send(request, &other),
    });
    assert_eq!(more, [Fault::Order, Fault::Order]);
}

#[test]
fn truncated_and_oversized_messages() {
    let truncated = caught_replaying(|_, request, payload| {
        let mut bytes = send(request, &payload);
        bytes.truncate(bytes.len() - 1);
        bytes
    });
    assert_eq!(truncated, [(); 2].map(|()| Fault::Wire(WireError::Compression)));
    let oversized = caught_replaying(|_, request, payload| {
        let mut bytes = send(request, &payload);
        bytes.resize(5 << 20, 0);
        bytes
    });
    let short = caught_replaying(|_, _, _| vec![1, 3, 0]);
    let announced = caught_replaying(|_, request, payload| {
        let mut bytes = send(request, &payload);
        // The length before compression, of which memory would be taken.
        bytes[10] = 1;
        bytes[11..15].copy_from_slice(&u32::MAX.to_le_bytes());
        bytes
    });
    for fault in [oversized, announced].concat() {
        assert!(matches!(fault, Fault::Wire(WireError::TooLong { .. })), "{fault:?}");
    }
    assert!(matches!(short[0], Fault::Wire(WireError::Malformed { .. })));
    let items = caught_replaying(|_, request, _| {
        // Four thousand million blocks.
        let mut bytes = send(request, &Payload::Blocks(Vec::new()));
        bytes[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
        bytes
    });
    assert!(matches!(items[0], Fault::Wire(WireError::TooMany { .. })));
    let kind = caught_replaying(|_, _, payload| {
        let Payload::Blocks(items) = payload else { return Vec::new() };
        Request {
            id: prefinal_sync::wire::RequestId::new(0),
            accepts: Compression::None,
            ask: Ask::Anchor(items[0].header.height),
        }
        .to_wire()
    });
    assert_eq!(kind, [(); 2].map(|()| Fault::Wire(WireError::Kind { got: 2 })));
}

#[test]
fn false_deltas() {
    let changed = caught(Replay::Deltas, None, |_, request, payload| {
        block(request, payload, |item| {
            let delta = item.delta.as_mut().unwrap();
            if let Some(change) = delta.changes.first_mut() {
                change.value = Some(vec![1; 16]);
            }
        })
    });
    assert_eq!(changed, Fault::Delta);
    let results = caught(Replay::Deltas, None, |_, request, payload| {
        block(request, payload, |item| {
            drop(item.delta.as_mut().unwrap().results.pop());
        })
    });
    assert_eq!(results, Fault::Results);
    let receipt = caught(Replay::Deltas, None, |_, request, payload| {
        block(request, payload, |item| {
            if let Some(result) = item.delta.as_mut().unwrap().results.first_mut() {
                result.receipt.push(0);
            }
        })
    });
    assert_eq!(receipt, Fault::Results);
    let missing = caught(Replay::Deltas, None, |_, request, payload| {
        block(request, payload, |item| item.delta = None)
    });
    assert_eq!(missing, Fault::DeltaMissing);
}

/// Not the value of its slot, but a signature.
fn false_value(_: &mut TestPeer, request: &Request, mut payload: Payload<Cert>) -> Vec<u8> {
    if let Payload::Blocks(items) = &mut payload {
        for item in items.iter_mut().filter(|item| item.header.height.get() == DRAW) {
            item.attestation.randomness = Some(item.attestation.certificate.signature);
        }
    }
    send(request, &payload)
}

#[test]
fn a_false_value_of_a_slot() {
    for fault in caught_replaying(false_value) {
        assert!(matches!(fault, Fault::Randomness(_)), "{fault:?}");
    }
}

/// Others would ban this follower for a value that it passes on, so none is kept that was not verified.
#[test]
fn a_value_that_is_not_verified_is_not_kept() {
    let everywhere: Lie = |_, request, mut payload| {
        if let Payload::Blocks(items) = &mut payload {
            for item in items.iter_mut() {
                item.attestation.randomness = Some(item.attestation.certificate.signature);
            }
        }
        if let Payload::Anchor(anchor) = &mut payload {
            anchor.certificate.randomness = Some(anchor.certificate.certificate.signature);
        }
        send(request, &payload)
    };
    for snapshot_beyond in [None, Some(5)] {
        // Without a beacon nothing is known of values, and deltas need none.
        let config =
            prefinal_sync::Config { beacon: None, snapshot_beyond, ..config(Replay::Deltas) };
        let mut world = World::new(config, vec![TestPeer::lying(everywhere)]);
        world.run(12, 200);
        assert_eq!(world.banned(), [].into());
        let lowest = world.store.lowest().get().max(1);
        assert!(world.tip() >= 12 && (lowest > 1) == snapshot_beyond.is_some());
        for height in lowest..=world.tip() {
            let kept = world.store.certificate(Height::new(height)).unwrap().unwrap();
            assert_eq!(kept.randomness, None, "{height}");
        }
    }
}

/// It may follow without a beacon. So it is asked less, and not banned.
#[test]
fn a_peer_without_the_value_of_a_slot_is_no_liar() {
    let lie: Lie = |_, request, mut payload| {
        if let Payload::Blocks(items) = &mut payload {
            items.iter_mut().for_each(|item| item.attestation.randomness = None);
        }
        send(request, &payload)
    };
    for replay in [Replay::Execute, Replay::Deltas] {
        let peers = [TestPeer::lying(lie), TestPeer::honest(300)];
        let mut world = World::new(config(replay), peers.into());
        world.bare_values = replay == Replay::Deltas;
        world.run(TIP, 200);
        assert_eq!((world.tip(), &world.stopped), (TIP, &None));
        assert_eq!(world.banned(), [].into());
    }
}

#[test]
fn false_states() {
    let anchor = caught(Replay::Deltas, Some(5), |_, request, mut payload| {
        if let Payload::Anchor(anchor) = &mut payload {
            anchor.roots.state[0] ^= 1;
        }
        send(request, &payload)
    });
    assert!(matches!(anchor, Fault::Certificate(_)), "{anchor:?}");
    let other = caught(Replay::Deltas, Some(5), |_, request, mut payload| {
        if let Payload::Anchor(anchor) = &mut payload {
            anchor.header.height = anchor.header.height.next();
        }
        send(request, &payload)
    });
    assert_eq!(other, Fault::Order);
    let rows: [Lie; 3] = [
        |_, request, mut payload| {
            if let Payload::Range(range) = &mut payload {
                drop(range.rows.pop());
            }
            send(request, &payload)
        },
        |_, request, mut payload| {
            if let Payload::Range(range) = &mut payload
                && let Some(row) = range.rows.first_mut()
            {
                row.value.push(1);
            }
            send(request, &payload)
        },
        |_, request, mut payload| {
            if let Payload::Range(range) = &mut payload {
                range.proof.nodes.clear();
            }
            send(request, &payload)
        },
    ];
    for lie in rows {
        let fault = caught(Replay::Deltas, Some(5), lie);
        assert!(matches!(fault, Fault::Proof(_)), "{fault:?}");
    }
    // A range of the same state, but another one.
    let range = caught(Replay::Deltas, Some(5), |peer, request, payload| {
        if matches!(payload, Payload::Range(_)) {
            peer.memory.push(payload.clone());
        }
        match payload {
            Payload::Range(_) => send(request, &peer.memory[0]),
            other => send(request, &other),
        }
    });
    assert_eq!(range, Fault::Range);
}

#[test]
fn false_epochs() {
    // It says that the next epoch has begun, and shows the true ending: it is announced already.
    let early = caught_replaying(|_, request, payload| {
        block(request, payload, |item| item.attestation.epoch = item.attestation.epoch.next())
    });
    for fault in early {
        assert!(matches!(fault, Fault::Certificate(_)), "{fault:?}");
    }
    let far = caught_replaying(|_, request, payload| {
        block(request, payload, |item| item.attestation.epoch = EpochId::new(7))
    });
    for fault in far {
        assert!(matches!(fault, Fault::Epoch { .. }), "{fault:?}");
    }
    let ending = caught_replaying(|_, request, mut payload| {
        if let Payload::Ending(ending) = &mut payload {
            ending.first = ending.first.next();
        }
        send(request, &payload)
    });
    for fault in ending {
        assert!(matches!(fault, Fault::Ending(_)), "{fault:?}");
    }
}

/// A peer that says nothing false is not banned, and does not hold up the others for long.
#[test]
fn silent_slow_and_boasting_peers_fade() {
    let absent: Lie = |_, request, _| send(request, &Payload::Absent);
    let silent: Lie = |_, _, _| Vec::new();
    let boast: fn(Summary) -> Summary = |mut summary| {
        let blocks = summary.blocks.as_mut().unwrap();
        blocks.last = Height::new(1 << 40);
        summary.deltas = summary.blocks;
        summary.snapshots = vec![Height::new(1 << 30)];
        summary.epoch = EpochId::new(900);
        summary
    };
    for replay in [Replay::Execute, Replay::Deltas] {
        for strategy in [Strategy::Pipelined, Strategy::Naive] {
            for snapshot_beyond in [None, Some(5)] {
                let mut config = config(replay);
                (config.strategy, config.snapshot_beyond) = (strategy, snapshot_beyond);
                let mut peers = vec![
                    TestPeer::lying(silent),
                    TestPeer::lying(absent),
                    TestPeer::lying(silent),
                    TestPeer::honest(300),
                    // A byte a second.
                    TestPeer { latency: Duration::from_secs(40_000), ..TestPeer::honest(0) },
                ];
                peers[1].claim = Some(boast);
                peers[2].claim = Some(boast);
                let mut world = World::new(config, peers);
                world.run(TIP, 400);
                let name = format!("{replay:?} {strategy:?} {snapshot_beyond:?}");
                assert_eq!((world.tip(), world.banned()), (TIP, [].into()), "{name}");
                let most = if strategy == Strategy::Naive { 120 } else { 30 };
                assert!(
                    world.now.since_start() < Duration::from_secs(most),
                    "{name} {:?}",
                    world.now
                );
            }
        }
    }
}

/// Nine liars of all kinds around one honest peer, which they outrun.
#[test]
fn an_eclipse_of_all_but_one_honest_peer_is_survived() {
    let lies: [Lie; 8] = [
        |_, _, _| Vec::new(),
        |_, request, _| send(request, &Payload::Absent),
        |_, request, payload| block(request, payload, |item| item.roots.receipts[3] ^= 1),
        |_, request, payload| {
            block(request, payload, |item| item.attestation.epoch = item.attestation.epoch.next())
        },
        |_, request, payload| block(request, payload, |item| item.delta = Some(Default::default())),
        |_, request, _| send(request, &Payload::Blocks(Vec::new())),
        |_, _, _| vec![9; 40],
        |_, request, mut payload| {
            if let Payload::Range(range) = &mut payload {
                range.rows.clear();
            }
            send(request, &payload)
        },
    ];
    for (replay, beyond) in
        [(Replay::Execute, None), (Replay::Deltas, None), (Replay::Deltas, Some(4))]
    {
        let mut config = config(replay);
        config.snapshot_beyond = beyond;
        let mut peers: Vec<TestPeer> = lies.into_iter().map(TestPeer::lying).collect();
        peers.push(TestPeer::honest(200));
        let mut world = World::new(config, peers);
        world.run(TIP, 200);
        assert_eq!((world.tip(), &world.stopped), (TIP, &None));
        assert!(!world.banned().contains(&8));
        assert!(world.banned().is_subset(&[2, 3, 4, 6, 7].into()), "{:?}", world.banned);
        assert!(world.now.since_start() < Duration::from_secs(60), "{:?}", world.now);
    }
}
