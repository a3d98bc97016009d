//! Requests to one peer over HTTP: connections that are used again, and bounds for all that a peer can do.
//!
//! | what                    | bound                          |
//! |-------------------------|--------------------------------|
//! | an answer, from request to last byte | 10 seconds        |
//! | bytes of an answer      | what the caller says           |
//! | requests                | 40 a second, 100 at once: less than a node allows for ([`crate::http`]) |
use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HOST;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};

use crate::execution::lock;

const PATIENCE: Duration = Duration::from_secs(10);
const SHARE: Duration = Duration::from_millis(25);
const BURST: u32 = 100;
/// Connections that wait to be used again.
const IDLE: usize = 16;

/// Where a peer listens: `http://HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PeerUrl {
    /// Host and port, as they stand in the URL.
    authority: String,
}

impl FromStr for PeerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("http://").ok_or("a node is named as http://HOST:PORT")?;
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let parsed: hyper::http::uri::Authority =
            authority.parse().map_err(|error| format!("{authority}: {error}"))?;
        let host = parsed.host();
        if host.is_empty() || rest.contains(['@', '?', '#']) || authority.contains('/') {
            return Err("a node is named as http://HOST:PORT".to_owned());
        }
        let port = parsed.port_u16().unwrap_or(80);
        Ok(Self { authority: format!("{host}:{port}") })
    }
}

impl fmt::Display for PeerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority)
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    #[error("cannot be reached: {0}")]
    Unreachable(std::io::Error),
    #[error("breaks off: {0}")]
    Broken(#[from] hyper::Error),
    #[error("does not answer within {} s", PATIENCE.as_secs())]
    Late,
    #[error("answers {0}")]
    Status(StatusCode),
    #[error("cannot be asked: {0}")]
    Request(#[from] hyper::http::Error),
}

/// A peer over HTTP.
pub(super) struct Client {
    url: PeerUrl,
    idle: Mutex<Vec<SendRequest<Full<Bytes>>>>,
    /// Until when it was asked in advance.
    ahead: Mutex<Instant>,
}

impl Client {
    pub(super) fn new(url: PeerUrl) -> Self {
        Self { url, idle: Mutex::default(), ahead: Mutex::new(Instant::now()) }
    }

    pub(super) const fn url(&self) -> &PeerUrl {
        &self.url
    }

    /// What it answers, if the status is 200. An answer that is longer than `most` is cut behind the byte that is too
    /// much.
    pub(super) async fn get(&self, path: &str, most: usize) -> Result<Vec<u8>, ClientError> {
        self.ask(Method::GET, path, Bytes::new(), most).await
    }

    /// As [`Self::get`], with a body.
    pub(super) async fn post(
        &self,
        path: &str,
        body: Vec<u8>,
        most: usize,
    ) -> Result<Vec<u8>, ClientError> {
        self.ask(Method::POST, path, body.into(), most).await
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        most: usize,
    ) -> Result<Vec<u8>, ClientError> {
        sleep_until(self.turn()).await;
        let answer = async {
            let request = || {
                let request = Request::builder().method(&method).uri(path);
                request.header(HOST, &self.url.authority).body(Full::new(body.clone()))
            };
            let (mut connection, response) = self.send(request).await?;
            let status = response.status();
            if status != StatusCode::OK {
                return Err(ClientError::Status(status));
            }
            let (bytes, is_whole) = read(response.into_body(), most).await?;
            if is_whole && connection.ready().await.is_ok() {
                let mut idle = lock(&self.idle);
                if idle.len() < IDLE {
                    idle.push(connection);
                }
            }
            Ok(bytes)
        };
        timeout(PATIENCE, answer).await.map_err(|_| ClientError::Late)?
    }

    /// On a connection that is there, if one is; it may have been closed meanwhile.
    async fn send(
        &self,
        request: impl Fn() -> hyper::http::Result<Request<Full<Bytes>>>,
    ) -> Result<(SendRequest<Full<Bytes>>, Response<Incoming>), ClientError> {
        let idle = lock(&self.idle).pop();
        if let Some(mut connection) = idle
            && let Ok(response) = connection.send_request(request()?).await
        {
            return Ok((connection, response));
        }
        let stream = TcpStream::connect(&self.url.authority).await;
        let stream = stream.map_err(ClientError::Unreachable)?;
        // Requests are small, and each waits for its answer.
        let _no_matter = stream.set_nodelay(true);
        let (mut connection, driver) = handshake(TokioIo::new(stream)).await?;
        // It ends with the connection.
        tokio::spawn(driver);
        let response = connection.send_request(request()?).await?;
        Ok((connection, response))
    }

    /// When the next request may leave.
    fn turn(&self) -> Instant {
        let now = Instant::now();
        let mut ahead = lock(&self.ahead);
        *ahead = (*ahead).max(now) + SHARE;
        let burst = SHARE * BURST;
        (*ahead).checked_sub(burst).map_or(now, |turn| turn.max(now))
    }
}

/// The bytes of an answer, and whether these are all.
async fn read(mut body: Incoming, most: usize) -> Result<(Vec<u8>, bool), ClientError> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        let room = most.saturating_add(1).saturating_sub(bytes.len());
        bytes.extend(data.iter().take(room));
        if bytes.len() > most {
            return Ok((bytes, false));
        }
    }
    Ok((bytes, true))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_named_by_host_and_port() {
        for (text, name) in [
            ("http://127.0.0.1:8787", "http://127.0.0.1:8787"),
            ("http://localhost:8787/", "http://localhost:8787"),
            ("http://node.example", "http://node.example:80"),
            ("http://[::1]:9", "http://[::1]:9"),
        ] {
            assert_eq!(text.parse::<PeerUrl>().unwrap().to_string(), name);
        }
        for text in ["127.0.0.1:8787", "https://a:1", "http://", "http://a:1/b", "http://u@a:1"] {
            assert!(text.parse::<PeerUrl>().is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn requests_leave_no_faster_than_a_node_allows_for() {
        let client = Client::new("http://127.0.0.1:1".parse().unwrap());
        let now = Instant::now();
        let turns: Vec<Duration> = (0..BURST + 40).map(|_| client.turn() - now).collect();
        let at_once = turns.iter().filter(|turn| **turn < SHARE).count();
        assert!((90..=101).contains(&at_once), "{at_once}");
        assert!(*turns.last().unwrap() > Duration::from_millis(900), "{turns:?}");
    }
}
