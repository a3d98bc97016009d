//! A client that says exactly what it is told to say.
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// How long an answer may take to its end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends these bytes and reads until the other end closes.
pub(crate) fn say(address: SocketAddr, request: &str) -> Reply {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    let (mut bytes, mut portion, began) = (Vec::new(), [0; 4096], Instant::now());
    loop {
        // A stream of events has no end, and is never silent for long.
        let rest = PATIENCE.checked_sub(began.elapsed());
        let rest = rest.filter(|rest| !rest.is_zero()).expect("an answer that ends");
        stream.set_read_timeout(Some(rest)).unwrap();
        match stream.read(&mut portion) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&portion[..read]),
            // Whoever is refused early may find the connection reset behind the answer.
            _ => break,
        }
    }
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_lowercase(), value.to_owned())
    });
    Reply { status, headers: headers.collect(), body: body.to_owned() }
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Reply {
    say(address, &format!("GET {path} HTTP/1.1\r\nHost: relay\r\nConnection: close\r\n\r\n"))
}

pub(crate) fn json(address: SocketAddr, path: &str) -> Value {
    let reply = get(address, path);
    assert_eq!(reply.status, 200, "{path}: {reply:?}");
    assert_eq!(reply.headers["content-type"], "application/json");
    assert_eq!(reply.headers["access-control-allow-origin"], "*");
    serde_json::from_str(&reply.body).unwrap()
}
