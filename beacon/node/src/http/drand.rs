//! drand's public endpoints, of one chain.
//!
//! Paths, fields, statuses and bodies are drand's: what its node says in version 1 (plain words behind a
//! 404 or a 400, or no body), what its relay says in version 2 (425 for a future round, a list of the
//! paths behind a 404). Both print what Go's libraries say of bad hex and bad numbers.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use serde::Deserialize;
use serde_json::json;

use super::board::{Answer, BEACON, Board, Chain};

/// What never changes under this path.
const FOR_EVER: &str = "public, max-age=604800, immutable";
/// What another devnet at this address would answer otherwise.
const NOT_AT_ALL: &str = "no-cache";

/// All paths, as who asks for another is told.
pub(super) const PATHS: &str = "GET /chains
GET /events
GET /health
GET /info
GET /public/latest
GET /public/{round}
GET /{chainhash}/health
GET /{chainhash}/info
GET /{chainhash}/public/latest
GET /{chainhash}/public/{round}
GET /v2/beacons
GET /v2/beacons/{beaconID}/health
GET /v2/beacons/{beaconID}/info
GET /v2/beacons/{beaconID}/rounds/latest
GET /v2/beacons/{beaconID}/rounds/next
GET /v2/beacons/{beaconID}/rounds/{round}
GET /v2/chains
GET /v2/chains/{chainhash}/health
GET /v2/chains/{chainhash}/info
GET /v2/chains/{chainhash}/rounds/latest
GET /v2/chains/{chainhash}/rounds/next
GET /v2/chains/{chainhash}/rounds/{round}
";

type Routes = Router<Arc<Board>>;

/// What a path names.
#[derive(Default, Deserialize)]
struct Names {
    hash: Option<String>,
    id: Option<String>,
    round: Option<String>,
}

pub(super) fn routes() -> Routes {
    let first = ["", "/{hash}"].into_iter().fold(Router::new(), |routes, chain| {
        let at = |end: &str| format!("{chain}{end}");
        routes
            .route(&at("/info"), get(info))
            .route(&at("/health"), get(health))
            .route(&at("/public/latest"), get(latest))
            .route(&at("/public/{round}"), get(public))
    });
    let second =
        ["/v2/chains/{hash}", "/v2/beacons/{id}"].into_iter().fold(first, |routes, chain| {
            let at = |end: &str| format!("{chain}{end}");
            routes
                .route(&at("/info"), get(v2_info))
                .route(&at("/health"), get(v2_health))
                .route(&at("/rounds/{round}"), get(v2_round))
        });
    let hashes: MethodRouter<_> = get(chains);
    second
        .route("/chains", hashes.clone())
        .route("/v2/chains", hashes)
        .route("/v2/beacons", get(async || json_of(json!([BEACON]).to_string(), NOT_AT_ALL)))
}

async fn chains(State(board): State<Arc<Board>>) -> Response {
    let hashes: Vec<String> = board.chain().iter().map(|chain| chain.hash.clone()).collect();
    json_of(json!(hashes).to_string(), NOT_AT_ALL)
}

// Version 1, after drand's node.

async fn info(State(board): State<Arc<Board>>, names: Option<Path<Names>>) -> Response {
    let names = named(names);
    let bytes = match names.hash.as_deref().map(from_hex).transpose() {
        Ok(bytes) => bytes,
        Err(why) => return plain(StatusCode::BAD_REQUEST, &why),
    };
    match find(&board, bytes.as_deref()) {
        Ok(chain) => json_of(chain.v1.clone(), names.caching()),
        Err(_) => plain(StatusCode::NOT_FOUND, "group not found"),
    }
}

async fn health(State(board): State<Arc<Board>>, names: Option<Path<Names>>) -> Response {
    match known(&board, &named(names)) {
        Ok(()) => state_of(&board),
        Err(refusal) => refusal.into_response(),
    }
}

async fn latest(State(board): State<Arc<Board>>, names: Option<Path<Names>>) -> Response {
    match known(&board, &named(names)) {
        Ok(()) => v1_newest(&board),
        Err(refusal) => refusal.into_response(),
    }
}

/// Where there is none yet drand's node says no more than that.
fn v1_newest(board: &Board) -> Response {
    let none = StatusCode::INTERNAL_SERVER_ERROR.into_response();
    newest(board, Answer::into_v1).unwrap_or(none)
}

async fn public(State(board): State<Arc<Board>>, names: Option<Path<Names>>) -> Response {
    let names = named(names);
    let Ok(number) = number(names.round.as_deref()) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    if let Err(refusal) = known(&board, &names) {
        return refusal.into_response();
    }
    // drand's client asks for round 0 when it wants the newest.
    if number == 0 {
        return v1_newest(&board);
    }
    board.round(number).await.into_v1(names.caching())
}

/// Whether a path of version 1 names the chain that is here.
fn known(board: &Board, names: &Names) -> Result<(), Refusal> {
    let bytes = names.hash.as_deref().map(from_hex).transpose();
    let bytes = bytes.map_err(|why| Refusal(StatusCode::BAD_REQUEST, why))?;
    find(board, bytes.as_deref()).map(drop).map_err(|why| Refusal(StatusCode::NOT_FOUND, why))
}

/// The chain of this hash; without one, the chain.
fn find(board: &Board, hash: Option<&[u8]>) -> Result<Arc<Chain>, String> {
    let wanted = hash.map_or_else(|| BEACON.to_owned(), hex::encode);
    let chain = board.chain();
    let hashes = chain.as_ref().map_or("", |chain| chain.hash.as_str()).to_owned();
    let fits = |chain: &Arc<Chain>| hash.is_none() || chain.hash == wanted;
    chain.filter(fits).ok_or_else(|| {
        format!(
            "there is no BeaconHandler for beaconHash [{wanted}] in our beacons [{hashes}]. \
             Is the chain hash correct?. Please check it"
        )
    })
}

// Version 2, after drand's relay.

async fn v2_info(State(board): State<Arc<Board>>, names: Option<Path<Names>>) -> Response {
    match v2_find(&board, &named(names), "Failed to get ChainInfo") {
        Ok(chain) => json_of(chain.v2.clone(), NOT_AT_ALL),
        Err(refusal) => refusal.into_response(),
    }
}

async fn v2_health(State(board): State<Arc<Board>>, names: Option<Path<Names>>) -> Response {
    match v2_find(&board, &named(names), "Failed to get latest beacon for health") {
        Ok(_) => state_of(&board),
        Err(refusal) => refusal.into_response(),
    }
}

async fn v2_round(State(board): State<Arc<Board>>, names: Option<Path<Names>>) -> Response {
    let names = named(names);
    let text = names.round.as_deref().unwrap_or_default();
    let next = board.progress().1.saturating_add(1);
    let wanted = match (text, number(Some(text))) {
        ("latest", _) => 0,
        ("next", _) => next,
        (_, Ok(number)) => number,
        // Beyond 64 bits; what is no number at all is no path of the relay's.
        (digits, Err(())) if is_digits(digits) => {
            let why = format!(
                "Failed to parse round parameter {digits:?}: strconv.ParseUint: parsing {digits:?}: \
                 value out of range"
            );
            return plain(StatusCode::BAD_REQUEST, &why);
        }
        _ => return no_such_path(),
    };
    if let Err(refusal) = v2_find(&board, &names, "Failed to get beacon") {
        return refusal.into_response();
    }
    if wanted == 0 {
        let none = || Answer::Missing.into_v2(NOT_AT_ALL);
        return newest(&board, Answer::into_v2).unwrap_or_else(none);
    }
    let caching = if text == "next" { NOT_AT_ALL } else { names.caching() };
    board.round(wanted).await.into_v2(caching)
}

fn v2_find(board: &Board, names: &Names, failed: &str) -> Result<Arc<Chain>, Refusal> {
    let chain = board.chain();
    if let Some(hash) = &names.hash {
        // The relay's paths have exactly such hashes.
        if hash.len() != 64 || from_hex(hash).is_err() {
            return Err(Refusal(StatusCode::NOT_FOUND, PATHS.trim_end().to_owned()));
        }
    }
    let fits = |chain: &Arc<Chain>| {
        let hash = names.hash.as_ref();
        hash.is_none_or(|hash| hash.eq_ignore_ascii_case(&chain.hash))
            && names.id.as_deref().is_none_or(|id| id == BEACON)
    };
    let failed = || Refusal(StatusCode::INTERNAL_SERVER_ERROR, failed.to_owned());
    chain.filter(fits).ok_or_else(failed)
}

// Both.

/// Why a path leads nowhere.
struct Refusal(StatusCode, String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        plain(self.0, &self.1)
    }
}

impl Names {
    fn caching(&self) -> &'static str {
        if self.hash.is_some() { FOR_EVER } else { NOT_AT_ALL }
    }
}

impl Answer {
    fn into_v1(self, caching: &'static str) -> Response {
        match self {
            Self::Is(round) => json_of(json!(round).to_string(), caching),
            Self::Early(seconds) => {
                let caching = format!("public, must-revalidate, max-age={seconds}");
                (StatusCode::NOT_FOUND, [(CACHE_CONTROL, caching)]).into_response()
            }
            Self::Missing => {
                let caching = "must-revalidate, no-cache, max-age=0";
                (StatusCode::NOT_FOUND, [(CACHE_CONTROL, caching)]).into_response()
            }
        }
    }

    fn into_v2(self, caching: &'static str) -> Response {
        match self {
            Self::Is(round) => json_of(json!(round.bare()).to_string(), caching),
            Self::Early(seconds) => {
                let caching = format!("must-revalidate, public, max-age={seconds}");
                let refusal = plain(StatusCode::TOO_EARLY, "Requested future beacon");
                with(refusal, CACHE_CONTROL, &caching)
            }
            Self::Missing => {
                let refusal = plain(StatusCode::INTERNAL_SERVER_ERROR, "Failed to get beacon");
                with(refusal, CACHE_CONTROL, NOT_AT_ALL)
            }
        }
    }
}

/// The newest round, to be kept until the next is due.
fn newest(board: &Board, into: fn(Answer, &'static str) -> Response) -> Option<Response> {
    let seconds = board.until(board.progress().1.saturating_add(1));
    match board.latest() {
        Answer::Missing => None,
        answer => {
            let caching = format!("public, must-revalidate, max-age={seconds}");
            Some(with(into(answer, NOT_AT_ALL), CACHE_CONTROL, &caching))
        }
    }
}

/// The last round may be on its way still.
fn state_of(board: &Board) -> Response {
    let (current, expected) = board.progress();
    let well = current.saturating_add(1) >= expected;
    let status = if well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({ "current": current, "expected": expected }).to_string();
    (status, json_of(body, NOT_AT_ALL)).into_response()
}

pub(super) fn no_such_path() -> Response {
    plain(StatusCode::NOT_FOUND, PATHS.trim_end())
}

fn json_of(body: String, caching: &'static str) -> Response {
    ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, caching)], body).into_response()
}

/// As Go writes an error.
pub(super) fn plain(status: StatusCode, body: &str) -> Response {
    let headers =
        [(CONTENT_TYPE, "text/plain; charset=utf-8"), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (status, headers, format!("{body}\n")).into_response()
}

fn with(mut response: Response, name: HeaderName, value: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
    response
}

fn named(names: Option<Path<Names>>) -> Names {
    names.map(|Path(names)| names).unwrap_or_default()
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// No sign, no spaces.
fn number(text: Option<&str>) -> Result<u64, ()> {
    text.filter(|text| is_digits(text)).and_then(|text| text.parse().ok()).ok_or(())
}

/// What Go says of a hash that is no hex.
fn from_hex(text: &str) -> Result<Vec<u8>, String> {
    hex::decode(text).map_err(|_| {
        let bad = text.bytes().find(|byte| !byte.is_ascii_hexdigit());
        let why = match bad {
            None => "odd length hex string".to_owned(),
            Some(byte) if byte.is_ascii_graphic() || byte == b' ' => {
                format!("invalid byte: U+{byte:04X} '{}'", char::from(byte))
            }
            Some(byte) => format!("invalid byte: U+{byte:04X}"),
        };
        format!("unable to decode chain hash {text}: encoding/hex: {why}")
    })
}
