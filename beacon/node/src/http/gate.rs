//! Before a request is answered: how often its sender asks, and what it brings.
//!
//! A sender is an address. Its budget is one point in time, that until which it has asked in advance: each
//! request moves it by a fiftieth of a second, and whoever is more than 200 requests ahead is refused. Who
//! is not ahead is forgotten.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    RETRY_AFTER,
};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Peer;
use super::drand::plain;

/// One request's share of time: 50 a second.
const SHARE: Duration = Duration::from_millis(20);
/// 200 requests at once.
const AHEAD: Duration = Duration::from_secs(4);
/// Addresses that may be ahead at a time.
const SENDERS: usize = 4096;

/// Who has asked in advance, and until when.
#[derive(Default)]
pub(super) struct Rates {
    until: Mutex<BTreeMap<IpAddr, Instant>>,
}

impl Rates {
    /// Whether this sender may ask now.
    fn admits(&self, sender: IpAddr, now: Instant) -> bool {
        let mut senders = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        if senders.len() >= SENDERS {
            senders.retain(|_, until| *until > now);
        }
        let until = senders.get(&sender).map_or(now, |until| *until.max(&now));
        let admits = until.saturating_duration_since(now) < AHEAD
            && (senders.len() < SENDERS || senders.contains_key(&sender));
        if admits {
            senders.insert(sender, until + SHARE);
        }
        admits
    }
}

/// Anybody's page may read what is public, so every answer says that it may.
pub(super) async fn guard(
    State(rates): State<Arc<Rates>>,
    Extension(Peer(sender)): Extension<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = if !rates.admits(sender, Instant::now()) {
        let refusal = plain(StatusCode::TOO_MANY_REQUESTS, "too many requests");
        ([(RETRY_AFTER, "1")], refusal).into_response()
    } else if !request.body().is_end_stream() {
        plain(StatusCode::PAYLOAD_TOO_LARGE, "no request has a body here")
    } else if request.method() == Method::OPTIONS {
        let allowed = [(ACCESS_CONTROL_ALLOW_METHODS, "GET"), (ACCESS_CONTROL_ALLOW_HEADERS, "*")];
        (StatusCode::NO_CONTENT, allowed).into_response()
    } else {
        next.run(request).await
    };
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number).into()
    }

    #[test]
    fn who_asks_too_often_waits_and_nobody_else_does() {
        let (rates, now) = (Rates::default(), Instant::now());
        let admitted = (0..1000).filter(|_| rates.admits(address(1), now)).count();
        assert_eq!(admitted, 200);
        assert!(rates.admits(address(2), now));
        let later = now + Duration::from_secs(1);
        let admitted = (0..1000).filter(|_| rates.admits(address(1), later)).count();
        assert_eq!(admitted, 50);
    }

    #[test]
    fn a_crowd_takes_no_more_memory_than_there_is() {
        let (rates, now) = (Rates::default(), Instant::now());
        let admitted = (0..10_000).filter(|number| rates.admits(address(*number), now)).count();
        assert_eq!(admitted, SENDERS);
        assert!(rates.admits(address(0), now), "who is known is served");
        let later = now + SHARE * 2;
        assert!(rates.admits(address(20_000), later));
        assert_eq!(rates.until.lock().unwrap().len(), 1);
    }
}
