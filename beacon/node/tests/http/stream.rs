//! `/events`: everything once and in order, for those who read.
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{connect, get, json as ask};
use crate::{HOUR, Relay};

/// Follows a stream, perhaps from behind an event.
pub(crate) struct Follower {
    stream: BufReader<TcpStream>,
    /// Of the last event, as a browser keeps it.
    id: Option<String>,
}

impl Follower {
    pub(crate) fn new(address: SocketAddr, last: Option<&str>) -> Self {
        let mut stream = connect(address);
        let last = last.map_or(String::new(), |id| format!("Last-Event-ID: {id}\r\n"));
        let head = format!("GET /events HTTP/1.1\r\nHost: relay\r\n{last}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        Self { stream: BufReader::new(stream), id: None }
    }

    /// The next event, its kind and its data; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<(String, Value)> {
        let mut kind = String::new();
        loop {
            let mut line = String::new();
            // Between the lines are the lengths of chunks.
            if self.stream.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(name) = line.strip_prefix("event: ") {
                name.trim().clone_into(&mut kind);
            }
            if let Some(id) = line.strip_prefix("id: ") {
                self.id = Some(id.trim().to_owned());
            }
            if let Some(data) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(data).unwrap();
                // The rest of the event comes with the next one.
                return Some((kind, data)).filter(|(kind, _)| !kind.is_empty());
            }
        }
    }

    fn slot(&mut self) -> u64 {
        self.value()["slot"].as_u64().unwrap()
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
    relay.reveal(6);
    std::thread::sleep(Duration::from_millis(300));
    relay.show(6);
    let info = ask(relay.address, "/info");
    for follower in [&mut early, &mut late] {
        assert_eq!(follower.next(), Some(("info".to_owned(), info.clone())));
        assert_eq!([(); 4].map(|()| follower.slot()), [3, 4, 5, 6]);
    }
}

#[test]
fn who_comes_back_is_told_what_it_missed() {
    let relay = Relay::open();
    (3..=4).for_each(|round| relay.show(round));
    let mut first = Follower::new(relay.address, None);
    first.next().unwrap();
    assert_eq!(first.id, None, "the chain itself is told to everybody");
    assert_eq!([first.slot(), first.slot()], [3, 4]);
    relay.show(5);
    // As a browser does: with the last id that it was told.
    let mut back = Follower::new(relay.address, first.id.as_deref());
    back.next().unwrap();
    assert_eq!(back.slot(), 5);
    // Nobody was told these.
    for id in ["", "x", "-1", "3.5", "18446744073709551616"] {
        let mut new = Follower::new(relay.address, Some(id));
        new.next().unwrap();
        assert_eq!(new.slot(), 3, "{id}");
    }
    let mut ahead = Follower::new(relay.address, Some("9"));
    ahead.next().unwrap();
    relay.reveal(6);
    relay.show(6);
    assert_eq!((ahead.slot(), back.slot()), (6, 6));
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
    follower.stream.read_to_string(&mut rest).expect("the stream ends");
    assert!(rest.matches("event: value").count() < TOLD);
}
