//! Answers that are known already, or wanted in part, or compressed.
use std::io::Read;
use std::time::SystemTime;

use axum::http::HeaderValue;
use flate2::read::GzDecoder;
use headers::{Header, LastModified};

use crate::client::{ask, get, json, say};
use crate::{HOUR, Relay};

#[test]
fn a_client_that_has_a_round_already_is_not_sent_it_again() {
    let relay = Relay::open();
    let hash = json(relay.address, "/chains")[0].as_str().unwrap().to_owned();
    for path in [
        "/public/4".to_owned(),
        format!("/{hash}/public/4"),
        "/public/latest".into(),
        "/info".into(),
        "/v2/beacons/default/info".into(),
        "/v2/beacons/default/rounds/4".into(),
    ] {
        let whole = get(relay.address, &path);
        let [tag, time] = ["etag", "last-modified"].map(|name| whole.headers[name].as_str());
        for (name, value, status) in [
            ("If-None-Match", tag, 304),
            ("If-None-Match", "*", 304),
            ("If-None-Match", "\"other\"", 200),
            ("If-Modified-Since", time, 304),
            ("If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT", 200),
            ("If-Modified-Since", "yesterday", 200),
            ("If-Match", tag, 200),
            ("If-Match", "\"other\"", 412),
            ("If-Unmodified-Since", time, 200),
            ("If-Unmodified-Since", "Thu, 01 Jan 1970 00:00:00 GMT", 412),
        ] {
            let reply = ask(relay.address, &path, &[(name, value)]);
            assert_eq!(reply.status, status, "{path}, {name}: {value}");
            let expected = if status == 200 { whole.body.as_str() } else { "" };
            assert_eq!(reply.body, expected, "{path}, {name}: {value}");
            if status == 304 {
                assert_eq!(reply.headers["etag"], tag);
                assert_eq!(reply.headers["cache-control"], whole.headers["cache-control"]);
            }
        }
        // A tag counts for more than a time.
        let both = [("If-None-Match", "\"other\""), ("If-Modified-Since", time)];
        assert_eq!(ask(relay.address, &path, &both).status, 200);
        let head = format!("HEAD {path} HTTP/1.1\r\nHost: relay\r\nConnection: close\r\n\r\n");
        let head = say(relay.address, &head);
        assert_eq!((head.status, head.body.as_str()), (200, ""));
        assert_eq!(head.headers["content-length"], whole.body.len().to_string());
        assert_eq!(head.headers["etag"], tag);
    }
    // The newest is another one as soon as there is one.
    let before = get(relay.address, "/public/latest").headers["etag"].clone();
    relay.reveal(6);
    assert_eq!(ask(relay.address, "/public/latest", &[("If-None-Match", &before)]).status, 200);
}

#[test]
fn a_round_is_as_old_as_it_is_due() {
    let relay = Relay::open();
    let info = json(relay.address, "/info");
    let genesis = info["genesis_time"].as_u64().unwrap();
    let time = |path: &str| {
        let text = get(relay.address, path).headers["last-modified"].clone();
        let date = HeaderValue::from_str(&text).unwrap();
        let time = LastModified::decode(&mut [&date].into_iter()).unwrap();
        SystemTime::from(time).duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
    };
    assert_eq!(time("/public/1"), genesis);
    assert_eq!(time("/public/4"), genesis + 3 * u64::from(HOUR));
}

#[test]
fn a_part_is_sent_to_who_wants_a_part() {
    let relay = Relay::open();
    let whole = get(relay.address, "/public/4");
    let (text, length) = (&whole.body, whole.body.len());
    assert_eq!(whole.headers["accept-ranges"], "bytes");
    for (range, part) in [
        ("bytes=0-4", Some(0..5)),
        ("bytes=5-5", Some(5..6)),
        ("bytes=10-", Some(10..length)),
        ("bytes=-7", Some(length - 7..length)),
        ("bytes=3-100000", Some(3..length)),
        // A server may leave out what is several parts, or no range.
        ("bytes=0-1,4-5", None),
        ("bytes=x-y", None),
        ("rounds=0-1", None),
        ("bytes=", None),
    ] {
        let reply = ask(relay.address, "/public/4", &[("Range", range)]);
        let Some(part) = part else {
            assert_eq!((reply.status, &reply.body), (200, text), "{range}");
            continue;
        };
        assert_eq!((reply.status, reply.body.as_str()), (206, &text[part.clone()]), "{range}");
        let said = format!("bytes {}-{}/{length}", part.start, part.end - 1);
        assert_eq!(reply.headers["content-range"], said);
    }
    let none = ask(relay.address, "/public/4", &[("Range", &format!("bytes={length}-"))]);
    assert_eq!((none.status, none.body.as_str()), (416, ""));
    assert_eq!(none.headers["content-range"], format!("bytes */{length}"));
    // A part of what is another by now is the whole.
    let tag = whole.headers["etag"].as_str();
    for (tag, status) in [(tag, 206), ("\"other\"", 200)] {
        let asked = [("Range", "bytes=0-4"), ("If-Range", tag)];
        assert_eq!(ask(relay.address, "/public/4", &asked).status, status);
    }
}

#[test]
fn files_of_the_page_are_compressed_for_those_who_take_it() {
    let folder = tempfile::TempDir::new().unwrap();
    let text = "let there = be(light);\n".repeat(200);
    std::fs::write(folder.path().join("main.js"), &text).unwrap();
    std::fs::write(folder.path().join("tiny.txt"), "x").unwrap();
    let relay = Relay::new(5, HOUR, Some(folder.path()));
    let plain = get(relay.address, "/main.js");
    assert_eq!((plain.body.as_str(), plain.headers.get("content-encoding")), (text.as_str(), None));
    let packed = ask(relay.address, "/main.js", &[("Accept-Encoding", "br, gzip;q=0.8")]);
    assert_eq!(packed.headers["content-encoding"], "gzip");
    assert_eq!(packed.headers["content-type"], "text/javascript; charset=utf-8");
    assert_eq!(packed.headers["content-length"], packed.bytes.len().to_string());
    assert!(packed.bytes.len() < text.len() / 10);
    let mut unpacked = String::new();
    GzDecoder::new(packed.bytes.as_slice()).read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked, text);
    // What is kept between is told apart, and each is known again by its own tag.
    assert_ne!(packed.headers["etag"], plain.headers["etag"]);
    for reply in [&plain, &packed] {
        assert_eq!(reply.headers["vary"], "accept-encoding");
        assert_eq!(reply.headers["cache-control"], "no-cache");
    }
    let known = [("Accept-Encoding", "gzip"), ("If-None-Match", &packed.headers["etag"])];
    assert_eq!(ask(relay.address, "/main.js", &known).status, 304);
    let modified = [("If-Modified-Since", plain.headers["last-modified"].as_str())];
    assert_eq!(ask(relay.address, "/main.js", &modified).status, 304);
    let part = ask(relay.address, "/main.js", &[("Range", "bytes=4-8")]);
    assert_eq!((part.status, part.body.as_str()), (206, "there"));
    // What would not become smaller is sent as it is.
    let tiny = ask(relay.address, "/tiny.txt", &[("Accept-Encoding", "gzip")]);
    assert_eq!((tiny.body.as_str(), tiny.headers.get("content-encoding")), ("x", None));
    let post = "POST /main.js HTTP/1.1\r\nHost: relay\r\nConnection: close\r\n\r\n";
    let post = say(relay.address, post);
    assert_eq!((post.status, post.headers["allow"].as_str()), (405, "GET, HEAD"));
}
