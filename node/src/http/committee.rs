//! `/committee`: who shares the key, and how many shares make a value, for pages.
//!
//! ```text
//! {"stakes":["30","20","20"],"weights":[3,2,2],"shares":7,"slow":4,"fast":6}
//! ```
//! By position; stakes are texts, for they have up to 128 bits. Without a fast path `fast` is null. It is
//! known before there is a key.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prefinal_pvss_dkg::{Config, SharePath};
use serde_json::json;

use super::board::Board;
use super::drand::plain;

pub(super) fn routes() -> Router<Arc<Board>> {
    Router::new().route("/committee", get(committee))
}

async fn committee(State(board): State<Arc<Board>>) -> Response {
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    match board.committee.get() {
        Some(text) => (headers, text.clone()).into_response(),
        None => plain(StatusCode::NOT_FOUND, "nobody has said who the committee is"),
    }
}

/// The committee of this key generation, written.
pub(super) fn written(config: &Config) -> String {
    let (shape, members) = (config.shape(), config.members());
    let stakes = members.iter().map(|member| member.stake.get().to_string());
    json!({
        "stakes": stakes.collect::<Vec<_>>(),
        "weights": shape.access().weights(),
        "shares": shape.access().total(),
        "slow": shape.slow().t(),
        "fast": shape.threshold(SharePath::Fast).map(|threshold| threshold.t()),
    })
    .to_string()
}
