//! `/vuf`: values of a weighted VUF, with everything that a reader needs who has pinned one of its epochs.
//!
//! | request                       | answer                                                                   |
//! |-------------------------------|--------------------------------------------------------------------------|
//! | `GET /vuf/epochs`             | number, first slot and pin of the epochs that are kept, oldest first     |
//! | `GET /vuf/epochs/{epoch}`     | an epoch: its key and weights, the blinded keys with their proofs, its members, and how the epoch before hands over to it; `latest` is the newest |
//! | `GET /vuf/values/{slot}`      | a slot's value with the partials that show it; `latest` is the newest    |
//!
//! ```text
//! {"epoch":1,"first":37,"pin":"…","public_key":"…","weights":[3,2,2],"slow":4,"fast":6,
//!  "vuf_epoch":"…","members":"…","keys":"…","handover":"…"}
//! {"slot":41,"epoch":1,"path":"fast","randomness":"…","parties":[0,2],"proof":"…"}
//! ```
//! The last four fields of an epoch and `proof` are objects of [`prefinal_light::wire`], in hex; all others say in plain
//! what is in these, and nobody needs to believe them. `handover` is null in the first epoch, and as long as the
//! committee before has not signed. Keys of late parties are added to `keys`. Answers have an `ETag` and are to be
//! asked for again (`no-cache`); 400 if the number is none; 404 if nothing is kept of it; 503 with `Retry-After` before
//! the first key, and before the first value.
//!
//! The newest [`EPOCHS`] epochs are kept, and the newest values: [`VALUES`], or as many as have [`PARTIALS`] partials.
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prefinal_light::{LightObject, VufKeys, VufPath, VufProof};
use prefinal_protocol::{EpochId, Slot};
use serde_json::{Value as Json, json};

use super::content::Content;
use super::drand::plain;
use super::vuf_board::{Term, VufBoard};

/// The most epochs that are kept.
pub(super) const EPOCHS: usize = 64;
/// The most values that are kept.
pub(super) const VALUES: usize = 10_000;
/// The most partials that are kept, of all values together: 16 MB in memory.
pub(super) const PARTIALS: usize = 100_000;

/// All paths, as a client that asks for another is told.
pub(super) const PATHS: &str = "GET /ping
GET /vuf/epochs
GET /vuf/epochs/latest
GET /vuf/epochs/{epoch}
GET /vuf/values/latest
GET /vuf/values/{slot}
";

type Shared = State<Arc<VufBoard>>;

/// The routes in front of a board.
pub(super) fn routes(board: Arc<VufBoard>) -> Router {
    Router::new()
        .route("/ping", get(async || "."))
        .route("/vuf/epochs", get(epochs))
        .route("/vuf/epochs/{epoch}", get(epoch))
        .route("/vuf/values/{slot}", get(value))
        .with_state(board)
}

/// What a path names by number, or as the newest.
enum Wanted {
    Latest,
    Number(u64),
}

impl Wanted {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "latest" => Some(Self::Latest),
            // `parse` takes a sign.
            _ if !text.bytes().all(|byte| byte.is_ascii_digit()) => None,
            _ => text.parse().ok().map(Self::Number),
        }
    }
}

async fn epochs(State(board): Shared, asked: HeaderMap) -> Response {
    let listed = board.epochs(|terms| terms.values().map(summary).collect::<Vec<_>>());
    answer(&json!(listed), &asked)
}

async fn epoch(State(board): Shared, Path(text): Path<String>, asked: HeaderMap) -> Response {
    let Some(wanted) = Wanted::parse(&text) else {
        return plain(StatusCode::BAD_REQUEST, "an epoch is a number, or latest");
    };
    let found = board.epochs(|terms| {
        let term = match wanted {
            Wanted::Latest => terms.values().next_back(),
            Wanted::Number(number) => terms.get(&EpochId::new(number)),
        };
        (term.map(|term| whole(term, &board.members(term))), terms.is_empty())
    });
    match found {
        (Some(json), _) => answer(&json, &asked),
        (None, true) => early("the committee makes its key"),
        (None, false) => plain(StatusCode::NOT_FOUND, "nothing is kept of this epoch"),
    }
}

async fn value(State(board): Shared, Path(text): Path<String>, asked: HeaderMap) -> Response {
    let Some(wanted) = Wanted::parse(&text) else {
        return plain(StatusCode::BAD_REQUEST, "a slot is a number, or latest");
    };
    let found = board.values(|values| {
        let found = match wanted {
            Wanted::Latest => values.values().next_back(),
            Wanted::Number(number) => values.get(&Slot::new(number)),
        };
        (found.map(|(proof, randomness)| shown(proof, randomness)), values.is_empty())
    });
    match found {
        (Some(json), _) => answer(&json, &asked),
        (None, true) => early("no value is there yet"),
        (None, false) => plain(StatusCode::NOT_FOUND, "nothing is kept of this slot"),
    }
}

fn summary(term: &Term) -> Json {
    let row = term.epoch.waypoint.epoch;
    json!({
        "epoch": row.epoch.get(),
        "first": row.first.get(),
        "pin": hex::encode(term.epoch.id()),
    })
}

fn whole(term: &Term, members: &[u8]) -> Json {
    let VufKeys { weights, slow, fast } = &term.keys;
    let mut json = summary(term);
    let more = json!({
        "public_key": hex::encode(term.public_key),
        "weights": weights,
        "slow": slow.threshold,
        "fast": fast.as_ref().map(|fast| fast.threshold),
        "vuf_epoch": hex::encode(term.epoch.to_wire()),
        "members": hex::encode(members),
        "keys": hex::encode(term.keys.to_wire()),
        "handover": term.handover.as_ref().map(|handover| hex::encode(handover.to_wire())),
    });
    if let (Json::Object(json), Json::Object(more)) = (&mut json, more) {
        json.extend(more);
    }
    json
}

fn shown(proof: &VufProof, randomness: &[u8; 32]) -> Json {
    let path = match proof.path {
        VufPath::Slow => "slow",
        VufPath::Fast => "fast",
    };
    json!({
        "slot": proof.slot.get(),
        "epoch": proof.epoch.get(),
        "path": path,
        "randomness": hex::encode(randomness),
        "parties": proof.partials.keys().map(|party| party.get()).collect::<Vec<_>>(),
        "proof": hex::encode(proof.to_wire()),
    })
}

/// The next devnet at this address is another chain.
fn answer(json: &Json, asked: &HeaderMap) -> Response {
    Content::new("application/json", "no-cache", json.to_string().into()).answer(asked)
}

fn early(why: &str) -> Response {
    ([(RETRY_AFTER, "1")], plain(StatusCode::SERVICE_UNAVAILABLE, why)).into_response()
}
