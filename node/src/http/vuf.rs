//! `/vuf`: values of a weighted VUF, with everything that a reader needs who has pinned one of its epochs.
//!
//! | request                       | answer                                                                   |
//! |-------------------------------|--------------------------------------------------------------------------|
//! | `GET /vuf/epochs`             | number, first slot and pin of the epochs that are kept, oldest first     |
//! | `GET /vuf/epochs/{epoch}`     | an epoch: its key and weights, the blinded keys with their proofs, its members, and how the epoch before hands over to it; `latest` is the newest |
//! | `GET /vuf/values/{slot}`      | a slot's value with the partials that show it; `latest` is the newest    |
//! | `GET /events`                 | values with `epoch` and `proof`, as they come (`events`)                 |
//!
//! ```text
//! {"epoch":1,"first":37,"pin":"…","public_key":"…","stakes":["30","20","20"],"weights":[3,2,2],"slow":4,"fast":6,
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
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prefinal_light::{LightObject, MemberList, VufKeys, VufPath, VufProof};
use prefinal_protocol::{EpochId, Slot};
use serde_json::{Value as Json, json};

use super::board::joined;
use super::content::Content;
use super::drand::plain;
use super::events;
use super::vuf_board::{Term, VufBoard};

/// The most epochs that are kept.
pub(super) const EPOCHS: usize = 64;
/// The most values that are kept.
pub(super) const VALUES: usize = 10_000;
/// The most partials that are kept, of all values together: 16 MB in memory.
pub(super) const PARTIALS: usize = 100_000;

/// All paths, as a client that asks for another is told.
pub(super) const PATHS: &str = "GET /events
GET /ping
GET /vuf/epochs
GET /vuf/epochs/latest
GET /vuf/epochs/{epoch}
GET /vuf/values/latest
GET /vuf/values/{slot}
";

type Shared = State<Arc<VufBoard>>;

/// The routes in front of a board.
pub(super) fn routes(board: Arc<VufBoard>) -> Router {
    let feed = events::routes(Arc::clone(&board.feed));
    Router::new()
        .route("/ping", get(async || "."))
        .route("/vuf/epochs", get(epochs))
        .route("/vuf/epochs/{epoch}", get(epoch))
        .route("/vuf/values/{slot}", get(value))
        .with_state(board)
        .merge(feed)
}

/// What there is under the number that a path names, or under the newest.
enum Found {
    Is(Json),
    /// The path names no number.
    NoNumber,
    /// It is not kept, or does not exist.
    Nothing,
    /// There is no epoch or value yet, so the client should come again.
    Early,
}

impl Found {
    fn of<K: Ord, V>(
        kept: &BTreeMap<K, V>,
        text: &str,
        key: impl Fn(u64) -> K,
        shown: impl Fn(&V) -> Json,
    ) -> Self {
        let found = match text {
            "latest" => kept.values().next_back(),
            // `parse` takes a sign.
            _ if !text.bytes().all(|byte| byte.is_ascii_digit()) => return Self::NoNumber,
            _ => match text.parse() {
                Ok(number) => kept.get(&key(number)),
                Err(_) => return Self::NoNumber,
            },
        };
        match found {
            Some(found) => Self::Is(shown(found)),
            None if kept.is_empty() => Self::Early,
            None => Self::Nothing,
        }
    }

    /// `what` is the name of the number, `early` why nothing exists yet.
    fn answer(self, asked: &HeaderMap, what: &str, early: &str) -> Response {
        match self {
            Self::Is(json) => answer(&json, asked),
            Self::NoNumber => {
                plain(StatusCode::BAD_REQUEST, &format!("{what}: expected a number, or latest"))
            }
            Self::Nothing => {
                plain(StatusCode::NOT_FOUND, &format!("nothing is kept of this {what}"))
            }
            Self::Early => {
                let refusal = plain(StatusCode::SERVICE_UNAVAILABLE, early);
                ([(RETRY_AFTER, "1")], refusal).into_response()
            }
        }
    }
}

async fn epochs(State(board): Shared, asked: HeaderMap) -> Response {
    let listed = board.epochs(|terms| terms.values().map(summary).collect::<Vec<_>>());
    answer(&json!(listed), &asked)
}

async fn epoch(State(board): Shared, Path(text): Path<String>, asked: HeaderMap) -> Response {
    let whole = |term: &Term| whole(term, board.members(term));
    let found = board.epochs(|terms| Found::of(terms, &text, EpochId::new, whole));
    found.answer(&asked, "epoch", "the committee makes its key")
}

async fn value(State(board): Shared, Path(text): Path<String>, asked: HeaderMap) -> Response {
    let found = board.values(|values| Found::of(values, &text, Slot::new, shown));
    found.answer(&asked, "slot", "no value is there yet")
}

/// What names an epoch.
pub(super) fn summary(term: &Term) -> Json {
    let row = term.epoch.waypoint.epoch;
    json!({
        "epoch": row.epoch.get(),
        "first": row.first.get(),
        "pin": hex::encode(term.epoch.id()),
    })
}

fn whole(term: &Term, members: Option<&MemberList>) -> Json {
    let VufKeys { weights, slow, fast } = &term.keys;
    let stakes = members.iter().flat_map(|list| &list.members).map(|one| one.stake.to_string());
    let more = json!({
        "public_key": hex::encode(term.public_key),
        "stakes": stakes.collect::<Vec<_>>(),
        "weights": weights,
        "slow": slow.threshold,
        "fast": fast.as_ref().map(|fast| fast.threshold),
        "vuf_epoch": hex::encode(term.epoch.to_wire()),
        "members": members.map(|members| hex::encode(members.to_wire())),
        "keys": hex::encode(term.keys.to_wire()),
        "handover": term.handover.as_ref().map(|handover| hex::encode(handover.to_wire())),
    });
    joined(summary(term), more)
}

fn shown((proof, randomness): &(VufProof, [u8; 32])) -> Json {
    let path = match proof.path {
        VufPath::Slow => "slow",
        VufPath::Fast => "fast",
    };
    let plain = json!({
        "slot": proof.slot.get(),
        "path": path,
        "randomness": hex::encode(randomness),
        "parties": proof.partials.keys().map(|party| party.get()).collect::<Vec<_>>(),
    });
    joined(plain, shown_by(proof))
}

/// The fields that a reader needs to verify a value.
pub(super) fn shown_by(proof: &VufProof) -> Json {
    json!({ "epoch": proof.epoch.get(), "proof": hex::encode(proof.to_wire()) })
}

/// The next devnet at this address is another chain.
fn answer(json: &Json, asked: &HeaderMap) -> Response {
    Content::new("application/json", "no-cache", json.to_string().into()).answer(asked)
}
