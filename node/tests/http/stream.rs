//! `/events`: everything once and in order, for those who read.
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{connect, json as ask};
#[cfg(target_os = "linux")]
use crate::client::{connect_from, say_on};
use crate::{BEFORE, HOUR, Relay};

/// Follows a stream, perhaps from behind an event.
pub(crate) struct Follower {
    stream: BufReader<TcpStream>,
    /// Of the last event, as a browser keeps it.
    id: Option<String>,
}

impl Follower {
    pub(crate) fn new(address: SocketAddr, last: Option<&str>) -> Self {
        Self::on(connect(address), last)
    }

    fn on(mut stream: TcpStream, last: Option<&str>) -> Self {
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

    /// Of the next value, which says the slot as well.
    fn round(&mut self) -> u64 {
        let value = self.value();
        let [round, slot] = ["round", "slot"].map(|name| value[name].as_u64().unwrap());
        assert_eq!(slot, BEFORE + round);
        round
    }

    pub(crate) fn value(&mut self) -> Value {
        let (kind, value) = self.next().expect("the stream goes on");
        assert_eq!(kind, "value");
        value
    }
}

#[test]
fn a_client_that_follows_is_told_everything_once_and_in_order() {
    let relay = Relay::new(5, HOUR, None);
    let mut early = Follower::new(relay.address, None);
    // So that it is there before the key is.
    std::thread::sleep(Duration::from_millis(300));
    relay.key();
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
        assert_eq!([(); 4].map(|()| follower.round()), [3, 4, 5, 6]);
    }
}

#[test]
fn a_client_that_comes_back_is_told_what_it_missed() {
    let relay = Relay::open();
    (3..=4).for_each(|round| relay.show(round));
    let mut first = Follower::new(relay.address, None);
    first.next().unwrap();
    assert_eq!(first.id, None, "the chain itself is told to everybody");
    assert_eq!([first.round(), first.round()], [3, 4]);
    relay.show(5);
    // As a browser does: with the last id that it was told.
    let mut back = Follower::new(relay.address, first.id.as_deref());
    back.next().unwrap();
    assert_eq!(back.round(), 5);
    // Nobody was told these.
    for id in ["", "x", "-1", "3.5", "18446744073709551616"] {
        let mut new = Follower::new(relay.address, Some(id));
        new.next().unwrap();
        assert_eq!(new.round(), 3, "{id}");
    }
    let mut ahead = Follower::new(relay.address, Some("13"));
    ahead.next().unwrap();
    relay.reveal(6);
    relay.show(6);
    assert_eq!((ahead.round(), back.round()), (6, 6));
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
            "slot": 12, "round": 4, "path": "fast", "wait_ms": 3.0, "longest_ms": 6.0,
            "value": round["randomness"], "signature": round["signature"], "block": null,
            "waits": {
                "fast": { "parties": 2, "mean_ms": 1.5, "longest_ms": 2.0 },
                "slow": { "parties": 1, "mean_ms": 6.0, "longest_ms": 6.0 },
            },
        })
    );
    assert_eq!(follower.value()["round"], 5);
}

/// One address of the loopback takes half of the seats, and another the other half.
#[cfg(target_os = "linux")]
#[test]
fn there_are_so_many_seats_and_who_leaves_frees_one() {
    let relay = Relay::open();
    let seat = |from: &str| {
        let mut follower = Follower::on(connect_from(from, relay.address), None);
        follower.next().map(|_| follower)
    };
    let refused = |from: &str| {
        let request = "GET /events HTTP/1.1\r\nHost: relay\r\nConnection: close\r\n\r\n";
        let reply = say_on(connect_from(from, relay.address), request);
        assert_eq!((reply.status, reply.body.as_str()), (503, "too many follow already\n"));
        assert!(reply.headers.contains_key("retry-after"));
    };
    let mut seated: Vec<_> = (0..16).map(|_| seat("127.0.0.1").expect("a seat")).collect();
    refused("127.0.0.1");
    let others: Vec<_> = (0..16).map(|_| seat("127.0.0.2").expect("a seat")).collect();
    refused("127.0.0.3");
    seated.pop();
    let free = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        seat("127.0.0.3").is_some()
    });
    assert!(free);
    drop(others);
}

#[test]
fn a_client_that_does_not_read_is_let_go() {
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
