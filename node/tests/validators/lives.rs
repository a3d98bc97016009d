//! Starts, crashes, restarts and ends.
use std::net::{Ipv4Addr, SocketAddr};

use serde_json::Value as Json;

use crate::change;
use crate::net::{Net, dialled, name, ports, run};

const PACE: [&str; 4] = ["--pace", "200ms", "--round-timeout", "1s"];

#[test]
fn four_processes_make_a_key_and_one_that_is_killed_comes_back_with_the_same_values() {
    let mut net = Net::make(4, &PACE);
    (0..4).for_each(|validator| net.start(validator));
    net.advance(&[0, 1, 2, 3], 10);
    // Three of four go on without it, by the slow path.
    net.kill(3);
    net.advance(&[0, 1, 2], 10);
    net.start(3);
    net.advance(&[0, 1, 2, 3], 10);
    let (_, rounds) = net.agree(&[0, 1, 2, 3]);
    assert!(rounds >= 30, "{rounds}");

    // Twice on one home: refused, and the first goes on.
    let home = net.home(0);
    let second = run(&["run", "--home", home.to_str().unwrap()]);
    let why = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(2));
    assert!(why.contains("lock"), "{why}");

    // All end as a service manager ends them, and go on where they were.
    for validator in 0..4 {
        assert!(net.terminate(validator).success(), "validator {validator}");
        assert!(!net.home(validator).join("operator.sock").exists());
    }
    (0..4).for_each(|validator| net.start(validator));
    net.advance(&[0, 1, 2, 3], 5);
    let (_, later) = net.agree(&[0, 1, 2, 3]);
    assert!(later > rounds, "{later} after {rounds}");
}

#[test]
fn an_operator_sees_and_switches() {
    let mut net = Net::make(4, &PACE);
    (0..4).for_each(|validator| net.start(validator));
    net.advance(&[0, 1, 2, 3], 5);
    let home = net.home(1);
    let home = home.to_str().unwrap();
    let status = run(&["status", "--json", "--home", home]);
    let status: Json = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["validator"][0], "validator-1", "{status}");
    assert!(!status["key"].is_null(), "{status}");
    let peers = run(&["peers", "--json", "--home", home]);
    let peers: Json = serde_json::from_slice(&peers.stdout).unwrap();
    assert_eq!(peers.as_array().unwrap().len(), 3, "{peers}");
    assert!(peers.as_array().unwrap().iter().all(|peer| peer["is_up"] == true), "{peers}");

    let get = |path: &str| net.http(1, path);
    assert!(get("/healthz").ends_with("ok\n"));
    assert!(get("/readyz").ends_with("ok\n"), "{}", get("/readyz"));
    let metrics = get("/metrics");
    for name in [
        "prefinal_wait_seconds_bucket{",
        "prefinal_values_total{",
        "prefinal_link_up{peer=\"validator-0\"} 1",
        "prefinal_journal_sync_seconds_count",
        "prefinal_head_slot ",
        "malachitebft_",
    ] {
        assert!(metrics.contains(name), "{name} in {metrics}");
    }
    assert!(get("/public/latest").contains("signature"));

    // Off from a slot on that is ahead of all: no slot after it has a value anywhere. Then on again.
    let slot = net.head(1) + 15;
    for (mode, slot) in [("off", slot), ("on", slot + 10)] {
        for validator in 0..4 {
            let home = net.home(validator);
            let line =
                ["switch", mode, "--slot", &slot.to_string(), "--home", home.to_str().unwrap()];
            let switched = run(&line);
            assert!(switched.status.success(), "{}", String::from_utf8_lossy(&switched.stderr));
        }
    }
    net.wait("values come again", |net| (0..4).all(|one| net.head(one) > slot + 15));
    let first = net.status(0).unwrap()["key"][1].as_u64().unwrap();
    for validator in 0..4 {
        let (_, rounds) = net.values(validator);
        for off in slot..slot + 10 {
            assert!(!rounds.contains_key(&(off + 1 - first)), "slot {off} has a value");
        }
        assert!(rounds.contains_key(&(slot + 10 + 1 - first)));
    }
}

#[test]
fn a_home_whose_journal_is_lost_is_refused() {
    let mut net = Net::make(4, &PACE);
    (0..4).for_each(|validator| net.start(validator));
    net.advance(&[0, 1, 2, 3], 3);
    net.kill(2);
    std::fs::remove_file(net.home(2).join("data/journal.redb")).unwrap();
    let home = net.home(2);
    let refused = run(&["run", "--home", home.to_str().unwrap()]);
    let why = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{why}");
    assert!(why.contains("journal.redb") && why.contains("forgotten"), "{why}");
    // The others go on.
    net.advance(&[0, 1, 3], 3);
}

#[test]
fn a_fifth_joins_and_one_leaves_and_the_key_stays() {
    let mut net = Net::make(4, &[&PACE[..], &["--spare", "1"]].concat());
    (0..4).for_each(|validator| net.start(validator));
    net.advance(&[0, 1, 2, 3], 5);
    let (key, _) = net.agree(&[0, 1, 2, 3]);
    change::replace(&mut net, 3, 4, &[0, 1, 2]);
    net.wait("the one that leaves sees it", |net| change::epoch(net, 3) == Some(1));
    net.advance(&[0, 1, 2, 4], 5);
    // Without the one that left, and one more: three of four are enough, so the newcomer's shares count.
    net.kill(3);
    net.kill(2);
    net.advance(&[0, 1, 4], 5);
    net.start(2);
    net.advance(&[0, 1, 2, 4], 3);
    let (same, _) = net.agree(&[0, 1, 2, 4]);
    assert_eq!(same, key);
    assert!(net.values(4).1.len() >= 10);
}

/// The one that moves does not know where the engines of the others are. So it gets no block unless they have heard
/// by a reload where its own is now.
#[test]
fn a_machine_that_moves_is_found_by_processes_that_read_its_address_again() {
    let mut net = Net::make(4, &PACE);
    (0..4).for_each(|validator| net.start(validator));
    net.advance(&[0, 1, 2, 3], 3);
    assert!(net.terminate(3).success());
    let port = ports(2);
    let [links, engine] =
        [port, port + 1].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let mut moved = net.config(3);
    (moved.links.listen, moved.engine.listen) = (links, engine);
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    for other in 0..3 {
        moved.links.peers.insert(name(other), dialled(nowhere));
        moved.engine.peers.insert(name(other), dialled(nowhere));
    }
    net.set_config(3, &moved);
    net.start(3);
    net.advance(&[0, 1, 2], 3);
    for other in 0..3 {
        let mut config = net.config(other);
        config.links.peers.insert(name(3), dialled(links));
        config.engine.peers.insert(name(3), dialled(engine));
        net.set_config(other, &config);
        net.reload(other);
    }
    net.advance(&[0, 1, 2, 3], 5);
    // Values come with shares of two others already.
    net.wait("links with all three", |net| {
        net.status(3).is_some_and(|status| status["links"][0] == 3)
    });
    net.agree(&[0, 1, 2, 3]);
}
