//! `/transactions` and `/accounts`: what a wallet needs of a chain that executes its blocks.
//!
//! | request                    | answer                                                                    |
//! |----------------------------|---------------------------------------------------------------------------|
//! | `POST /transactions`       | the body is a transaction as it stands in a block: 202 with its hash as `id`; 400 with the reason if it is none or would change nothing; 503 with `Retry-After` if too many wait, or while the key is made; 413 if it is longer than any; 403 at a node that only follows; 408 if it does not come within 10 seconds |
//! | `GET /transactions/{id}`   | `status` `waiting`, or `committed` with its place, `outcome` and `proof`; 404 if nothing is known of it |
//! | `GET /accounts/{name}`     | the account in the last certified state, with its `proof`; 404 if there is no such name, or no certified state yet |
//!
//! | `GET /waypoint`            | what a [light client](prefinal_light::StakeVerifier) begins with: `waypoint` and `members` of the chain's first epoch |
//!
//! All bytes are hex. A `proof` is a [`StakeProof`](prefinal_light::StakeProof): with it, and a waypoint that comes
//! from elsewhere, nobody needs to believe this node.
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use prefinal_state::StateError;
use serde_json::{Value as Json, json};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::drand::plain;
use crate::execution::SubmitError;

/// How long a body may take.
const BODY: Duration = Duration::from_secs(10);

/// What knows of transactions and accounts. Its methods may wait for a disk.
pub trait Ledger: Send + Sync + 'static {
    /// Length of the longest transaction in bytes.
    fn most_bytes(&self) -> usize;

    /// Takes a transaction, and gives its hash.
    ///
    /// # Errors
    /// If it is not taken.
    fn submit(&self, bytes: &[u8]) -> Result<[u8; 32], SubmitError>;

    /// What became of a transaction; `None` if nothing is known of it.
    ///
    /// # Errors
    /// If the state cannot be read.
    fn transaction(&self, id: &[u8; 32]) -> Result<Option<Json>, StateError>;

    /// An account in the last certified state; `None` if no account can have this name.
    ///
    /// # Errors
    /// If the state cannot be read.
    fn account(&self, name: &[u8]) -> Result<Option<Json>, StateError>;
}

type Shared = State<Arc<dyn Ledger>>;

/// The routes in front of a ledger. `waypoint` is what light clients of its chain begin with.
pub fn routes(ledger: Arc<dyn Ledger>, waypoint: Json) -> Router {
    Router::new()
        .route("/waypoint", get(async move || json_of(StatusCode::OK, &waypoint)))
        .route("/transactions", post(submit))
        .route("/transactions/{id}", get(transaction))
        .route("/accounts/{name}", get(account))
        .with_state(ledger)
}

async fn submit(State(ledger): Shared, body: Body) -> Response {
    let most = ledger.most_bytes();
    let bytes = match timeout(BODY, to_bytes(body, most)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            let why = format!("a transaction has at most {most} bytes");
            return plain(StatusCode::PAYLOAD_TOO_LARGE, &why);
        }
        Err(_) => return plain(StatusCode::REQUEST_TIMEOUT, "the body does not come"),
    };
    let taken = spawn_blocking(move || ledger.submit(&bytes)).await;
    let Ok(taken) = taken else { return unreadable() };
    let error = match taken {
        Ok(id) => return json_of(StatusCode::ACCEPTED, &json!({ "id": hex::encode(id) })),
        Err(error) => error,
    };
    let status = match error {
        SubmitError::Malformed(_) | SubmitError::Rejected(_) => StatusCode::BAD_REQUEST,
        SubmitError::Busy { .. } | SubmitError::NotReady => StatusCode::SERVICE_UNAVAILABLE,
        SubmitError::ReadOnly => StatusCode::FORBIDDEN,
        SubmitError::State(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let said = json!({ "code": error.code(), "error": error.to_string() });
    let answer = json_of(status, &said);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        return ([(RETRY_AFTER, "1")], answer).into_response();
    }
    answer
}

async fn transaction(State(ledger): Shared, Path(id): Path<String>) -> Response {
    let mut bytes = [0; 32];
    if hex::decode_to_slice(&id, &mut bytes).is_err() {
        return plain(StatusCode::BAD_REQUEST, "an id is 64 hexadecimal digits");
    }
    found(spawn_blocking(move || ledger.transaction(&bytes)).await)
}

async fn account(State(ledger): Shared, Path(name): Path<String>) -> Response {
    let Ok(name) = hex::decode(&name) else {
        return plain(StatusCode::BAD_REQUEST, "an account is named in hexadecimal digits");
    };
    found(spawn_blocking(move || ledger.account(&name)).await)
}

fn found<E>(found: Result<Result<Option<Json>, StateError>, E>) -> Response {
    match found {
        Ok(Ok(Some(found))) => json_of(StatusCode::OK, &found),
        Ok(Ok(None)) => plain(StatusCode::NOT_FOUND, "nothing is known of it"),
        Ok(Err(_)) | Err(_) => unreadable(),
    }
}

fn unreadable() -> Response {
    plain(StatusCode::INTERNAL_SERVER_ERROR, "the state cannot be read")
}

fn json_of(status: StatusCode, json: &Json) -> Response {
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    (status, headers, json.to_string()).into_response()
}
