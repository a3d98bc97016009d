//! What those who watch a validator ask over HTTP, beside its values.
//!
//! | path       | answer                                                                          |
//! |------------|---------------------------------------------------------------------------------|
//! | `/metrics` | figures for Prometheus                                                          |
//! | `/healthz` | 200 as long as the process does its work, else 503 and why not                  |
//! | `/readyz`  | 200 if the validator takes part: keys, links to a quorum, values; else 503 and what is missing |
use std::num::NonZeroU32;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prefinal_home::config::HttpConfig;

use super::state::Validator;
use crate::http::Limits;

/// The format of [`Metrics`](super::metrics::Metrics).
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The routes beside those of the values.
pub(super) fn router(validator: Arc<Validator>) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .with_state(validator)
}

async fn metrics(State(validator): State<Arc<Validator>>) -> Response {
    match validator.metrics() {
        Ok(text) => ([(CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn healthz(State(validator): State<Arc<Validator>>) -> Response {
    answer(validator.health())
}

async fn readyz(State(validator): State<Arc<Validator>>) -> Response {
    answer(validator.readiness())
}

fn answer(is_well: Result<(), String>) -> Response {
    match is_well {
        Ok(()) => "ok\n".into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, why + "\n").into_response(),
    }
}

/// What clients may take, as the configuration says.
pub(super) fn limits(config: &HttpConfig) -> Limits {
    let number = |number: u32| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
    Limits {
        rate: number(config.rate),
        burst: number(config.burst),
        connections: number(config.connections),
        connections_each: number(config.connections_each),
        followers: number(config.followers),
        followers_each: number(config.followers_each),
        strict_loopback: config.strict_loopback,
    }
}
