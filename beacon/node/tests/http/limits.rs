//! What one of many may take.
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use crate::client::{connect, get, say};
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
    for (name, value) in [("origin", "*"), ("methods", "GET"), ("headers", "*")] {
        assert_eq!(reply.headers[&format!("access-control-allow-{name}")], value);
    }
}

#[test]
fn who_asks_too_often_is_told_to_wait() {
    let relay = Relay::open();
    let request = PLAIN.replace("Connection: close\r\n", "");
    let all = request.repeat(2000) + PLAIN;
    let mut stream = connect(relay.address);
    let mut writer = stream.try_clone().unwrap();
    let said = std::thread::spawn(move || writer.write_all(all.as_bytes()));
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    said.join().unwrap().unwrap();
    let count = |status: &str| answers.matches(&format!("HTTP/1.1 {status} ")).count();
    let (served, refused) = (count("200"), count("429"));
    assert!(served >= 200 && refused > 0, "{served} served, {refused} refused");
    assert_eq!(served + refused, 2001);
    assert!(answers.contains("retry-after: 1\r\n"));
}

#[test]
fn connections_beyond_the_limit_wait_at_the_door() {
    let relay = Relay::open();
    let idle: Vec<_> = (0..256).map(|_| connect(relay.address)).collect();
    let mut late = connect(relay.address);
    late.write_all(PLAIN.as_bytes()).unwrap();
    late.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut byte = [0];
    let kind = late.read(&mut byte).unwrap_err().kind();
    assert!(matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{kind}");
    drop(idle);
    late.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    assert_eq!(late.read(&mut byte).unwrap(), 1);
}

#[test]
fn who_says_nothing_is_let_go() {
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
