//! `/events`: values as they come, for a page to follow.
//!
//! ```text
//! event: info                 the chain, as `/info` has it; once, when it is known
//! event: value                a slot's value, round, path and waits, when all parties have it
//! id: 12                      its slot: a client that comes back with it is told what it missed
//! ```
//! A client that connects for the first time gets the newest values that are kept. A client that does not read falls
//! behind what is kept, and is let go: a browser comes back by itself.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use futures_util::stream;
use tokio::sync::broadcast::Receiver;

use super::board::{Board, Notification};
use super::doors::{Pass, Seat};
use super::drand::plain;

/// Something is said at least so often, so that what stands between does not close the connection.
const SILENCE: Duration = Duration::from_secs(15);

pub(super) fn routes() -> Router<Arc<Board>> {
    Router::new().route("/events", get(events))
}

struct Follower {
    /// The last slot that it heard of before. Parties that were killed may show such a slot again.
    after: u64,
    past: VecDeque<Notification>,
    live: Receiver<Notification>,
    _seat: Seat,
}

async fn events(
    State(board): State<Arc<Board>>,
    Extension(pass): Extension<Arc<Pass>>,
    headers: HeaderMap,
) -> Response {
    let Some(seat) = pass.seat() else {
        let refusal = plain(StatusCode::SERVICE_UNAVAILABLE, "too many follow already");
        return ([(RETRY_AFTER, "15")], refusal).into_response();
    };
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let after = last.unwrap_or(0);
    let (past, live) = board.follow(after);
    let follower = Follower { after, past, live, _seat: seat };
    let silence = KeepAlive::new().interval(SILENCE);
    Sse::new(stream::unfold(follower, next)).keep_alive(silence).into_response()
}

async fn next(mut follower: Follower) -> Option<(Result<Event, Infallible>, Follower)> {
    loop {
        let told = match follower.past.pop_front() {
            Some(told) => told,
            None => follower.live.recv().await.ok()?,
        };
        if told.slot.is_none_or(|slot| slot > follower.after) {
            return Some((Ok(event(&told)), follower));
        }
    }
}

fn event(told: &Notification) -> Event {
    let event = match told.slot {
        None => Event::default().event("info"),
        Some(slot) => Event::default().event("value").id(slot.to_string()),
    };
    event.data(&*told.data)
}
