//! A client that says exactly what it is told to say.
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
    /// The body as it came.
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// From an address of the loopback. Linux has all of 127.0.0.0/8.
#[cfg(target_os = "linux")]
pub(crate) fn connect_from(from: &str, address: SocketAddr) -> TcpStream {
    let from: IpAddr = from.parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(from, 0)).unwrap();
        socket.connect(address).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// How long an answer may take to its end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends these bytes and reads until the other end closes.
pub(crate) fn say(address: SocketAddr, request: &str) -> Reply {
    say_on(connect(address), request)
}

/// The same on a connection that is there.
pub(crate) fn say_on(mut stream: TcpStream, request: &str) -> Reply {
    stream.write_all(request.as_bytes()).unwrap();
    let (mut bytes, mut portion, began) = (Vec::new(), [0; 4096], Instant::now());
    loop {
        // A stream of events has no end, and is never silent for long.
        let rest = PATIENCE.checked_sub(began.elapsed());
        let rest = rest.filter(|rest| !rest.is_zero()).expect("an answer that ends");
        stream.set_read_timeout(Some(rest)).unwrap();
        match stream.read(&mut portion) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&portion[..read]),
            // A client that is refused early may find the connection reset behind the answer.
            _ => break,
        }
    }
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer: {bytes:?}"));
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let bytes = bytes.split_off(end + 4);
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_lowercase(), value.to_owned())
    });
    let body = String::from_utf8_lossy(&bytes).into_owned();
    Reply { status, headers: headers.collect(), body, bytes }
}

/// With these headers.
pub(crate) fn ask(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Reply {
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = "Host: relay\r\nConnection: close";
    say(address, &format!("GET {path} HTTP/1.1\r\n{head}\r\n{headers}\r\n"))
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
