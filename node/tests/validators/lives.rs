//! Starts, crashes, restarts and ends.
use std::io::{Read, Write};
use std::net::TcpStream;

use std::path::Path;

use serde_json::Value as Json;

use crate::net::{Net, run};

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
    let peers = run(&["peers", "--json", "--home", home]);
    let peers: Json = serde_json::from_slice(&peers.stdout).unwrap();
    assert_eq!(peers.as_array().unwrap().len(), 3, "{peers}");
    assert!(peers.as_array().unwrap().iter().all(|peer| peer["is_up"] == true), "{peers}");

    let http = net.config(1).http.listen.unwrap();
    let get = |path: &str| {
        let mut stream = TcpStream::connect(http).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
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

fn prefinal_at(home: &Path, line: &[&str]) {
    let done = run(&[line, &["--home", home.to_str().unwrap()]].concat());
    let (out, error) =
        (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{line:?}: {out}{error}");
}

#[test]
fn a_fifth_joins_and_one_leaves_and_the_key_stays() {
    let mut net = Net::make(4, &[&PACE[..], &["--spare", "1"]].concat());
    let file = |name: &str| net.home(0).parent().unwrap().join(name).to_str().unwrap().to_owned();
    let (application, draft) = (file("application"), file("draft"));
    let consents: Vec<_> = (0..3).map(|one| file(&format!("consent-{one}"))).collect();
    (0..4).for_each(|validator| net.start(validator));
    net.advance(&[0, 1, 2, 3], 5);
    let (key, _) = net.agree(&[0, 1, 2, 3]);

    // The newcomer applies, members draft and approve: it comes in, the fourth leaves.
    prefinal_at(&net.home(4), &["committee", "apply", "--epoch", "1", "--out", &application]);
    let newcomer = format!("{application}=100");
    let line = [
        "committee",
        "draft",
        "--stake",
        "validator-3=0",
        "--newcomer",
        &newcomer,
        "--out",
        &draft,
    ];
    prefinal_at(&net.home(0), &line);
    prefinal_at(&net.home(4), &["committee", "join", &draft]);
    let registration = net.home(4).join("registration.json");
    for validator in 0..4 {
        prefinal_at(&net.home(validator), &["peers", "--add", registration.to_str().unwrap()]);
    }
    net.start(4);
    for (validator, consent) in (0..3).zip(&consents) {
        prefinal_at(&net.home(validator), &["committee", "approve", &draft, "--out", consent]);
    }
    let consents: Vec<_> = consents.iter().map(String::as_str).collect();
    prefinal_at(&net.home(1), &[&["committee", "submit", &draft], &consents[..]].concat());
    let epoch = |net: &Net, one| net.status(one).is_some_and(|status| status["epoch"] == 1);
    net.wait("all are in the next epoch", move |net| (0..5).all(|one| epoch(net, one)));
    net.advance(&[0, 1, 2, 4], 5);
    // Without the one that left, and one more: three of four are enough, so the newcomer's shares count.
    net.kill(3);
    net.kill(2);
    net.advance(&[0, 1, 4], 5);
    net.start(2);
    net.advance(&[0, 1, 2, 4], 3);
    let (same, _) = net.agree(&[0, 1, 2]);
    assert_eq!(same, key);
    let (same, rounds) = net.values(4);
    let (_, all) = net.values(0);
    assert_eq!(same, key);
    assert!(rounds.len() >= 10, "{} values", rounds.len());
    assert!(rounds.iter().all(|(round, value)| all.get(round).is_none_or(|other| other == value)));
}
