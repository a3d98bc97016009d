//! `/sync` and `/genesis`: what a node that follows the chain asks for.
//!
//! | request         | answer                                                                              |
//! |-----------------|-------------------------------------------------------------------------------------|
//! | `POST /sync`    | the body is a request of [`prefinal_sync::wire`], the answer too: 400 if it is none; 413 if it is longer than any; 408 if it does not come within 10 seconds; 503 with `Retry-After` if it asks for what leads to the next committee, and a node that has begun again does not know that yet |
//! | `GET /genesis`  | how the chain begins ([`Beginning`](crate::execution::Beginning)); 503 with `Retry-After` before the first block is certified |
//!
//! Nobody needs to believe the answers: those that follow verify all of it. An answer has 4 MiB at most.
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use prefinal_protocol::EpochId;
use prefinal_sync::wire::MAX_SMALL;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::drand::plain;

/// How long a body may take.
const BODY: Duration = Duration::from_secs(10);

/// Most bytes of a request: version, kind and body.
const MOST: usize = MAX_SMALL + 2;

/// Why a request gets no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The bytes are no request; described in words.
    #[error("not a request: {0}")]
    Malformed(String),
    /// What is asked for cannot be read.
    #[error("the state cannot be read")]
    Unreadable,
    /// What leads from an epoch to the next one is not known again since the node began.
    #[error("what ends {0} is not known here yet")]
    NotYet(EpochId),
}

impl SyncError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed-message",
            Self::Unreadable => "input-output",
            Self::NotYet(_) => "unknown-epoch",
        }
    }
}

/// What answers. Its methods may wait for a disk.
pub trait Librarian: Send + Sync + 'static {
    /// The answer to a request, encoded.
    ///
    /// # Errors
    /// If it is none, or if what it asks for cannot be read.
    fn answer(&self, request: &[u8]) -> Result<Vec<u8>, SyncError>;

    /// How the chain begins, encoded; `None` before there is a certified block.
    ///
    /// # Errors
    /// If that cannot be read.
    fn beginning(&self) -> Result<Option<Vec<u8>>, SyncError>;
}

type Shared = State<Arc<dyn Librarian>>;

/// The routes in front of a librarian.
pub fn routes(librarian: Arc<dyn Librarian>) -> Router {
    Router::new()
        .route("/sync", post(answer))
        .route("/genesis", get(beginning))
        .with_state(librarian)
}

async fn answer(State(librarian): Shared, body: Body) -> Response {
    let request = match timeout(BODY, to_bytes(body, MOST)).await {
        Ok(Ok(request)) => request,
        Ok(Err(_)) => {
            let why = format!("a request has at most {MOST} bytes");
            return plain(StatusCode::PAYLOAD_TOO_LARGE, &why);
        }
        Err(_) => return plain(StatusCode::REQUEST_TIMEOUT, "the body does not come"),
    };
    match spawn_blocking(move || librarian.answer(&request)).await {
        Ok(Ok(answer)) => bytes_of(answer),
        Ok(Err(error)) => refused(&error),
        Err(_) => refused(&SyncError::Unreadable),
    }
}

async fn beginning(State(librarian): Shared) -> Response {
    match spawn_blocking(move || librarian.beginning()).await {
        Ok(Ok(Some(beginning))) => bytes_of(beginning),
        Ok(Ok(None)) => early("no block is certified yet"),
        Ok(Err(error)) => refused(&error),
        Err(_) => refused(&SyncError::Unreadable),
    }
}

fn refused(error: &SyncError) -> Response {
    let why = error.to_string();
    match error {
        SyncError::Malformed(_) => plain(StatusCode::BAD_REQUEST, &why),
        SyncError::Unreadable => plain(StatusCode::INTERNAL_SERVER_ERROR, &why),
        SyncError::NotYet(_) => early(&why),
    }
}

fn early(why: &str) -> Response {
    let early = plain(StatusCode::SERVICE_UNAVAILABLE, why);
    ([(RETRY_AFTER, "1")], early).into_response()
}

fn bytes_of(bytes: Vec<u8>) -> Response {
    let headers = [(CONTENT_TYPE, "application/octet-stream"), (CACHE_CONTROL, "no-store")];
    (headers, bytes).into_response()
}
