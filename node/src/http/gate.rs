//! Before a request is answered: how often its sender asks, and what it brings.
//!
//! Its budget is one point in time, that until which a sender has asked in advance: each request moves it
//! by one share of a second, and a client that is more than a burst of requests ahead is refused. A
//! client that is not ahead is forgotten. What counts as one client, and how much it may ask: `doors`.
//!
//! The rate is that of the generic cell rate algorithm, as in `governor`, whose tables of senders have no bound and
//! say of no sender whether it is known; with a table of ours behind it there would be more code, not less.
//! `tower-http` answers `OPTIONS` with 200 and takes a body that does not say how long it is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, RETRY_AFTER,
};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::doors::{Limits, Pass, Sender};
use super::drand::plain;

/// Senders that may be ahead at a time.
const SENDERS: usize = 4096;

/// The clients that have asked in advance, and until when.
pub(super) struct Rates {
    /// One request's share of time.
    share: Duration,
    /// How far ahead a sender may be.
    ahead: Duration,
    until: Mutex<BTreeMap<Sender, Instant>>,
}

impl Rates {
    pub(super) fn new(limits: &Limits) -> Self {
        let share = Duration::from_secs(1) / limits.rate.get();
        Self { share, ahead: share * limits.burst.get(), until: Mutex::default() }
    }

    /// Whether this sender may ask now.
    fn admits(&self, sender: Sender, now: Instant) -> bool {
        let mut senders = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        if senders.len() >= SENDERS {
            senders.retain(|_, until| *until > now);
        }
        let until = senders.get(&sender).map_or(now, |until| *until.max(&now));
        let admits = until.saturating_duration_since(now) < self.ahead
            && (senders.len() < SENDERS || senders.contains_key(&sender));
        if admits {
            senders.insert(sender, until + self.share);
        }
        admits
    }
}

/// What every request passes.
pub(super) struct Gate {
    pub(super) rates: Rates,
    /// Whether there are routes that take a body, which they bound themselves.
    pub(super) takes_bodies: bool,
}

/// Anybody's page may read what is public, so every answer says that it may.
pub(super) async fn guard(
    State(gate): State<Arc<Gate>>,
    Extension(pass): Extension<Arc<Pass>>,
    request: Request,
    next: Next,
) -> Response {
    let _busy = pass.busy();
    let takes_body = gate.takes_bodies && request.method() == Method::POST;
    let mut response = if !gate.rates.admits(pass.sender(), Instant::now()) {
        let refusal = plain(StatusCode::TOO_MANY_REQUESTS, "too many requests");
        ([(RETRY_AFTER, "1")], refusal).into_response()
    } else if !takes_body && !request.body().is_end_stream() {
        plain(StatusCode::PAYLOAD_TOO_LARGE, "no request has a body here")
    } else if request.method() == Method::OPTIONS {
        let methods = if gate.takes_bodies { "GET, HEAD, POST" } else { "GET, HEAD" };
        let allowed =
            [(ACCESS_CONTROL_ALLOW_METHODS, methods), (ACCESS_CONTROL_ALLOW_HEADERS, "*")];
        (StatusCode::NO_CONTENT, allowed).into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
    response
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(number: u32) -> Sender {
        Sender::Address(Ipv4Addr::from_bits(number).into())
    }

    fn rates() -> Rates {
        Rates::new(&Limits::default())
    }

    #[test]
    fn a_client_that_asks_too_often_waits_and_nobody_else_does() {
        let (rates, now) = (rates(), Instant::now());
        let admitted = (0..1000).filter(|_| rates.admits(address(1), now)).count();
        assert_eq!(admitted, 200);
        assert!(rates.admits(address(2), now));
        let later = now + Duration::from_secs(1);
        let admitted = (0..1000).filter(|_| rates.admits(address(1), later)).count();
        assert_eq!(admitted, 50);
    }

    #[test]
    fn a_crowd_takes_no_more_memory_than_there_is() {
        let (rates, now) = (rates(), Instant::now());
        let admitted = (0..10_000).filter(|number| rates.admits(address(*number), now)).count();
        assert_eq!(admitted, SENDERS);
        assert!(rates.admits(address(0), now), "who is known is served");
        let later = now + rates.share * 2;
        assert!(rates.admits(address(20_000), later));
        assert_eq!(rates.until.lock().unwrap().len(), 1);
    }
}
