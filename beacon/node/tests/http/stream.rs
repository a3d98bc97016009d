//! `/events`: everything once and in order, for those who read.
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{connect, get, json as ask};
use crate::{HOUR, Relay};

/// Follows a stream from behind a slot.
pub(crate) struct Follower(BufReader<TcpStream>);

impl Follower {
    pub(crate) fn new(address: SocketAddr, last: Option<u64>) -> Self {
        let mut stream = connect(address);
        let last = last.map_or(String::new(), |slot| format!("Last-Event-ID: {slot}\r\n"));
        let head = format!("GET /events HTTP/1.1\r\nHost: relay\r\n{last}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        Self(BufReader::new(stream))
    }

    /// The next event, its kind and its data; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<(String, Value)> {
        let mut kind = String::new();
        loop {
            let mut line = String::new();
            // Between the lines are the lengths of chunks.
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(name) = line.strip_prefix("event: ") {
                name.trim().clone_into(&mut kind);
            }
            if let Some(data) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(data).unwrap();
                // The rest of the event comes with the next one.
                return Some((kind, data)).filter(|(kind, _)| !kind.is_empty());
            }
        }
    }

    pub(crate) fn value(&mut self) -> Value {
        let (kind, value) = self.next().expect("the stream goes on");
        assert_eq!(kind, "value");
        value
    }
}

#[test]
fn who_follows_is_told_everything_once_and_in_order() {
    let relay = Relay::new(5, HOUR, None);
    let mut early = Follower::new(relay.address, None);
    // So that it is there before the key is.
    std::thread::sleep(Duration::from_millis(300));
    relay.board.open(&relay.secret.public_key());
    for round in 3..=5 {
        relay.reveal(round);
        relay.show(round);
    }
    let mut late = Follower::new(relay.address, None);
    let mut back = Follower::new(relay.address, Some(4));
    relay.reveal(6);
    std::thread::sleep(Duration::from_millis(300));
    relay.show(6);
    let info = ask(relay.address, "/info");
    for (follower, first) in [(&mut early, 3), (&mut late, 3), (&mut back, 5)] {
        assert_eq!(follower.next(), Some(("info".to_owned(), info.clone())));
        let slots: Vec<u64> =
            (first..=6).map(|_| follower.value()["slot"].as_u64().unwrap()).collect();
        assert_eq!(slots, (first..=6).collect::<Vec<_>>());
    }
}

#[test]
fn a_value_is_told_with_its_waits() {
    let relay = Relay::open();
    relay.show(4);
    // There is no such round, so nothing is told of it.
    relay.show(9);
    relay.show(5);
    let mut follower = Follower::new(relay.address, None);
    follower.next().unwrap();
    let round = ask(relay.address, "/public/4");
    assert_eq!(
        follower.value(),
        json!({
            "slot": 4, "round": 4, "path": "fast", "wait_ms": 3.0, "longest_ms": 6.0,
            "value": round["randomness"], "signature": round["signature"], "block": null,
            "waits": {
                "fast": { "parties": 2, "mean_ms": 1.5, "longest_ms": 2.0 },
                "slow": { "parties": 1, "mean_ms": 6.0, "longest_ms": 6.0 },
            },
        })
    );
    assert_eq!(follower.value()["slot"], 5);
}

#[test]
fn there_are_so_many_seats_and_who_leaves_frees_one() {
    let relay = Relay::open();
    let mut seated: Vec<_> = (0..32).map(|_| Follower::new(relay.address, None)).collect();
    seated.iter_mut().for_each(|follower| drop(follower.next()));
    let refused = get(relay.address, "/events");
    assert_eq!((refused.status, refused.body.as_str()), (503, "too many follow already\n"));
    seated.pop();
    let free = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        Follower::new(relay.address, None).next().is_some()
    });
    assert!(free);
}

#[test]
fn who_does_not_read_is_let_go() {
    let relay = Relay::open();
    let mut follower = Follower::new(relay.address, None);
    follower.next().unwrap();
    // Far more than sockets hold.
    const TOLD: usize = 60_000;
    (0..TOLD).for_each(|_| relay.show(5));
    let mut rest = String::new();
    follower.0.read_to_string(&mut rest).expect("the stream ends");
    assert!(rest.matches("event: value").count() < TOLD);
}
