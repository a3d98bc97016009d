//! `/events`: values as they come, for a page to follow.
//!
//! ```text
//! event: info                 the chain, as `/info` has it, or the first epoch, as `/vuf/epochs` lists it; once, when
//!                             it is known
//! event: value                a slot's value, with what shows it, path and waits, when all parties have it
//! id: 12                      its slot: a client that comes back with it is told what it missed
//! ```
//! A client that connects for the first time gets the newest values that are kept. A client that does not read falls
//! behind what is kept, and is let go: a browser comes back by itself.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use futures_util::stream;
use tokio::sync::broadcast::{Receiver, Sender};

use super::doors::{Pass, Seat};
use super::drand::plain;

/// Something is said at least so often, so that what stands between does not close the connection.
const SILENCE: Duration = Duration::from_secs(15);

/// Number of values that a later follower is told again, and that a follower may lag behind.
const TOLD: usize = 256;

/// One event that followers of the stream receive.
#[derive(Clone)]
struct Notification {
    /// Of this slot; of the chain itself if of none.
    slot: Option<u64>,
    data: Arc<str>,
}

/// What followers are told.
pub(super) struct Feed {
    past: Mutex<Past>,
    live: Sender<Notification>,
}

/// What a later follower is told again.
#[derive(Default)]
struct Past {
    info: Option<Notification>,
    values: VecDeque<Notification>,
}

impl Feed {
    pub(super) fn new() -> Self {
        Self { past: Mutex::default(), live: Sender::new(TOLD) }
    }

    /// Says which chain it is, once for all.
    pub(super) fn introduce(&self, info: String) {
        let mut past = self.past();
        if past.info.is_none() {
            let told = Notification { slot: None, data: info.into() };
            past.info = Some(told.clone());
            // Nobody follows, perhaps.
            drop(self.live.send(told));
        }
    }

    /// Tells a slot's value.
    pub(super) fn tell(&self, slot: u64, value: String) {
        let mut past = self.past();
        let told = Notification { slot: Some(slot), data: value.into() };
        past.values.push_back(told.clone());
        while past.values.len() > TOLD {
            past.values.pop_front();
        }
        drop(self.live.send(told));
    }

    /// What was told after this slot, and what will be: nothing twice, nothing left out.
    fn follow(&self, after: u64) -> (VecDeque<Notification>, Receiver<Notification>) {
        let past = self.past();
        let values = past.values.iter().filter(|told| told.slot.is_some_and(|slot| slot > after));
        (past.info.iter().chain(values).cloned().collect(), self.live.subscribe())
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn routes(feed: Arc<Feed>) -> Router {
    Router::new().route("/events", get(events)).with_state(feed)
}

struct Follower {
    /// The last slot that it heard of before. Parties that were killed may show such a slot again.
    after: u64,
    past: VecDeque<Notification>,
    live: Receiver<Notification>,
    _seat: Seat,
}

async fn events(
    State(feed): State<Arc<Feed>>,
    Extension(pass): Extension<Arc<Pass>>,
    headers: HeaderMap,
) -> Response {
    let Some(seat) = pass.seat() else {
        let refusal = plain(StatusCode::SERVICE_UNAVAILABLE, "too many follow already");
        return ([(RETRY_AFTER, "15")], refusal).into_response();
    };
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let after = last.unwrap_or(0);
    let (past, live) = feed.follow(after);
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
