//! What one of many may take.
use std::io::{Read, Write};
use std::net::TcpStream;
#[cfg(target_os = "linux")]
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use prefinal_node::http::Limits;

use crate::client::{connect, get, say};
#[cfg(target_os = "linux")]
use crate::client::{connect_from, say_on};
use crate::{HOUR, Relay};

const PLAIN: &str = "GET /chains HTTP/1.1\r\nHost: relay\r\nConnection: close\r\n\r\n";

#[test]
fn a_request_has_a_small_head_and_no_body() {
    let relay = Relay::open();
    let head = "GET /chains HTTP/1.1\r\nHost: relay\r\nConnection: close\r\n";
    let status = |request: String| say(relay.address, &request).status;
    assert_eq!(status(format!("{head}\r\n")), 200);
    assert_eq!(status(format!("{head}Content-Length: 5\r\n\r\nhello")), 413);
    assert_eq!(status(format!("{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")), 413);
    assert_eq!(status(format!("{head}X: {}\r\n\r\n", "x".repeat(20_000))), 431);
    assert_eq!(status(format!("{head}{}\r\n", "X: x\r\n".repeat(80))), 431);
    assert_eq!(status("nonsense\r\n\r\n".to_owned()), 400);
}

#[test]
fn any_page_may_ask() {
    let relay = Relay::open();
    let asked = "OPTIONS /info HTTP/1.1\r\nHost: relay\r\nOrigin: http://elsewhere\r\n\
                 Access-Control-Request-Headers: user-agent\r\nConnection: close\r\n\r\n";
    let reply = say(relay.address, asked);
    assert_eq!(reply.status, 204);
    for (name, value) in [("origin", "*"), ("methods", "GET, HEAD"), ("headers", "*")] {
        assert_eq!(reply.headers[&format!("access-control-allow-{name}")], value);
    }
}

/// All that comes back while this is sent.
fn say_raw(mut stream: TcpStream, words: &str) -> String {
    let (mut writer, words) = (stream.try_clone().unwrap(), words.to_owned());
    let said = std::thread::spawn(move || writer.write_all(words.as_bytes()));
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    said.join().unwrap().unwrap();
    answers
}

#[test]
fn a_client_that_asks_too_often_is_told_to_wait() {
    let relay = Relay::open();
    let request = PLAIN.replace("Connection: close\r\n", "");
    let all = request.repeat(2000) + PLAIN;
    let answers = say_raw(connect(relay.address), &all);
    let count = |status: &str| answers.matches(&format!("HTTP/1.1 {status} ")).count();
    let (served, refused) = (count("200"), count("429"));
    assert!(served >= 200 && refused > 0, "{served} served, {refused} refused");
    assert_eq!(served + refused, 2001);
    assert!(answers.contains("retry-after: 1\r\n"));
}

/// A client that holds places by silence, or by half a request, loses them to one that asks.
#[cfg(target_os = "linux")]
#[test]
fn one_address_cannot_take_all_places() {
    let limits = Limits { strict_loopback: true, ..Limits::default() };
    for relay in [Relay::open(), Relay::open_limited(&limits)] {
        let words = ["", "GET /chains HTTP/1.1\r\nHost:"];
        let hoard = |from: &str| -> Vec<_> {
            let hold = |words: &&str| {
                let mut stream = connect_from(from, relay.address);
                // Closed already, perhaps, to make room for the next one.
                drop(stream.write_all(words.as_bytes()));
                stream
            };
            words.iter().cycle().take(300).map(hold).collect()
        };
        let held = hoard("127.0.0.2");
        // Another address is served, and so is the same.
        for from in ["127.0.0.3", "127.0.0.2"] {
            let reply = say_on(connect_from(from, relay.address), PLAIN);
            assert_eq!(reply.status, 200, "{from}");
        }
        // Together they take all there are.
        let more: Vec<_> = (4..14).map(|last| hoard(&format!("127.0.0.{last}"))).collect();
        assert_eq!(say_on(connect_from("127.0.0.20", relay.address), PLAIN).status, 200);
        drop((held, more));
    }
}

/// Who waits for an answer is not interrupted, so at the limit its address gets no more.
#[cfg(target_os = "linux")]
#[test]
fn an_address_has_so_many_connections_at_work() {
    let limits = Limits { strict_loopback: true, ..Limits::default() };
    let relay = Relay::open_limited(&limits);
    let next = PLAIN.replace("/chains", "/public/6");
    let wait = |from: &str| {
        let mut stream = connect_from(from, relay.address);
        stream.write_all(next.as_bytes()).unwrap();
        stream
    };
    let waiting: Vec<_> = (0..32).map(|_| wait("127.0.0.2")).collect();
    // Until their requests are read, they are idle.
    let refused = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        let reply = say_on(connect_from("127.0.0.2", relay.address), PLAIN);
        (reply.status == 503).then_some(reply)
    });
    assert_eq!(refused.expect("a refusal").headers["retry-after"], "1");
    assert_eq!(say_on(connect_from("127.0.0.3", relay.address), PLAIN).status, 200);
    relay.reveal(6);
    let mut served = 0;
    for mut stream in waiting {
        let mut text = String::new();
        drop(stream.read_to_string(&mut text));
        served += usize::from(text.contains("\"round\":6"));
    }
    assert!(served >= 31, "{served} of those that were at work have their answer");
}

/// What is asked for at once, of which so much is served, on each of two connections.
#[cfg(target_os = "linux")]
fn served(relay: &Relay, times: usize) -> [usize; 2] {
    let all = PLAIN.replace("Connection: close\r\n", "").repeat(times) + PLAIN;
    ["127.0.0.2", "127.0.0.2"].map(|from| {
        let answers = say_raw(connect_from(from, relay.address), &all);
        answers.matches("HTTP/1.1 200 ").count()
    })
}

/// So long a time to the next request that none comes back while the test runs.
#[cfg(target_os = "linux")]
#[test]
fn an_address_has_one_budget_and_on_the_loopback_each_connection_has_its_own() {
    let number = |number| NonZeroU32::new(number).unwrap();
    let limits = Limits { rate: number(1), burst: number(100), ..Limits::default() };
    let [one, two] = served(&Relay::open_limited(&limits), 300);
    assert!(one >= 100 && two >= 100, "{one} and {two}");
    let strict = Limits { strict_loopback: true, ..limits };
    let [one, two] = served(&Relay::open_limited(&strict), 300);
    assert!(one >= 100 && two < 100, "{one} and {two}");
}

#[test]
fn a_client_that_says_nothing_is_let_go() {
    let relay = Relay::open();
    let ends = ["", "GET /chains HTTP/1.1\r\nHost:", &PLAIN.replace("Connection: close\r\n", "")];
    let asked = Instant::now();
    let all = ends.map(|words| {
        let mut stream = connect(relay.address);
        stream.write_all(words.as_bytes()).unwrap();
        std::thread::spawn(move || stream.read_to_end(&mut Vec::new()))
    });
    for one in all {
        one.join().unwrap().expect("closed before the reader loses patience");
    }
    assert!(asked.elapsed() > Duration::from_secs(5));
}

#[test]
fn a_page_is_what_was_in_its_folder() {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("inner")).unwrap();
    for (name, text) in
        [("index.html", "<p>"), ("inner/it.mjs", "it"), (".hidden", "no"), ("a.wasm", "")]
    {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let relay = Relay::new(5, HOUR, Some(folder.path()));
    for (path, body, kind) in [
        ("/", "<p>", "text/html; charset=utf-8"),
        ("/index.html?again", "<p>", "text/html; charset=utf-8"),
        ("/inner/it.mjs", "it", "text/javascript; charset=utf-8"),
        ("/a.wasm", "", "application/wasm"),
    ] {
        let reply = get(relay.address, path);
        assert_eq!((reply.status, reply.body.as_str()), (200, body), "{path}");
        assert_eq!(reply.headers["content-type"], kind);
    }
    let out =
        ["/.hidden", "/inner", "/inner/", "/inner/../index.html", "/%2e%2e/x", "//index.html"];
    for path in out {
        assert_eq!(get(relay.address, path).status, 404, "{path}");
    }
}
