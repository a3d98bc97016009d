//! drand's public endpoints, of one chain.
//!
//! Paths, fields, statuses and bodies are drand's: what its node says in version 1 (plain words behind a
//! 404 or a 400, or no body), what its relay says in version 2 (425 for a future round, a list of the
//! paths behind a 404). Both print what Go's libraries say of bad hex and bad numbers.
//!
//! Ours is what drand's nodes need not say, for they have a key before they serve: 503 while the committee
//! makes its key, and until the first round is there.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use serde::Deserialize;
use serde_json::json;

use super::board::{Answer, BEACON, Board, Chain, Prospect};
use super::content::Content;

/// What never changes under this path.
const FOR_EVER: &str = "public, max-age=604800, immutable";
/// What another devnet at this address would answer otherwise.
const NOT_AT_ALL: &str = "no-cache";
/// Seconds for which nobody need ask again for what comes later still.
const A_DAY: u64 = 86_400;

/// All paths, as a client that asks for another is told.
pub(super) const PATHS: &str = "GET /chains
GET /events
GET /health
GET /info
GET /ping
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
        .route("/ping", get(async || "."))
        .route("/v2/beacons", get(async || json_of(json!([BEACON]).to_string(), NOT_AT_ALL)))
}

async fn chains(State(board): State<Arc<Board>>) -> Response {
    let hashes: Vec<String> = board.chain().iter().map(|chain| chain.hash.clone()).collect();
    json_of(json!(hashes).to_string(), NOT_AT_ALL)
}

// Version 1, after drand's node.

async fn info(
    State(board): State<Arc<Board>>,
    names: Option<Path<Names>>,
    asked: HeaderMap,
) -> Response {
    let names = named(names);
    match known(&board, &names) {
        Ok(chain) => info_of(&chain, &chain.v1, &names).answer(&asked),
        Err(Refusal::NoKey(prospect)) => early(prospect.wait, prospect.v1),
        Err(Refusal::Said(StatusCode::NOT_FOUND, _)) => {
            plain(StatusCode::NOT_FOUND, "group not found")
        }
        Err(refusal) => refusal.into_response(),
    }
}

async fn health(State(board): State<Arc<Board>>, names: Option<Path<Names>>) -> Response {
    match known(&board, &named(names)) {
        Ok(chain) => state_of(&board, &chain),
        Err(refusal) => refusal.into_health(),
    }
}

async fn latest(
    State(board): State<Arc<Board>>,
    names: Option<Path<Names>>,
    asked: HeaderMap,
) -> Response {
    match known(&board, &named(names)) {
        Ok(chain) => newest(&board, &chain).into_v1(&asked),
        Err(refusal) => refusal.into_response(),
    }
}

async fn public(
    State(board): State<Arc<Board>>,
    names: Option<Path<Names>>,
    asked: HeaderMap,
) -> Response {
    let names = named(names);
    let Ok(number) = number(names.round.as_deref()) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let chain = match known(&board, &names) {
        Ok(chain) => chain,
        Err(refusal) => return refusal.into_response(),
    };
    // drand's client asks for round 0 when it wants the newest.
    if number == 0 {
        return newest(&board, &chain).into_v1(&asked);
    }
    let answer = board.round(&chain, number).await;
    RoundResponse { answer, chain, caching: names.caching().to_owned() }.into_v1(&asked)
}

/// The chain that a path of version 1 names.
fn known(board: &Board, names: &Names) -> Result<Arc<Chain>, Refusal> {
    let bytes = names.hash.as_deref().map(from_hex).transpose();
    let bytes = bytes.map_err(|why| Refusal::Said(StatusCode::BAD_REQUEST, why))?;
    // Any hash may be the one that it will have.
    let chain = board.chain().ok_or_else(|| Refusal::NoKey(board.prospect()))?;
    match bytes.map(hex::encode) {
        Some(wanted) if wanted != chain.hash => {
            let why = format!(
                "there is no BeaconHandler for beaconHash [{wanted}] in our beacons [{}]. \
                 Is the chain hash correct?. Please check it",
                chain.hash
            );
            Err(Refusal::Said(StatusCode::NOT_FOUND, why))
        }
        _ => Ok(chain),
    }
}

// Version 2, after drand's relay.

async fn v2_info(
    State(board): State<Arc<Board>>,
    names: Option<Path<Names>>,
    asked: HeaderMap,
) -> Response {
    let names = named(names);
    match v2_find(&board, &names, "Failed to get ChainInfo") {
        Ok(chain) => info_of(&chain, &chain.v2, &names).answer(&asked),
        Err(Refusal::NoKey(prospect)) => early(prospect.wait, prospect.v2),
        Err(refusal) => refusal.into_response(),
    }
}

async fn v2_health(State(board): State<Arc<Board>>, names: Option<Path<Names>>) -> Response {
    match v2_find(&board, &named(names), "Failed to get latest beacon for health") {
        Ok(chain) => state_of(&board, &chain),
        Err(refusal) => refusal.into_health(),
    }
}

async fn v2_round(
    State(board): State<Arc<Board>>,
    names: Option<Path<Names>>,
    asked: HeaderMap,
) -> Response {
    let names = named(names);
    let text = names.round.as_deref().unwrap_or_default();
    let wanted = match (text, number(Some(text))) {
        ("latest", _) => Some(0),
        ("next", _) => None,
        (_, Ok(number)) => Some(number),
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
    let chain = match v2_find(&board, &names, "Failed to get beacon") {
        Ok(chain) => chain,
        Err(refusal) => return refusal.into_response(),
    };
    let (number, caching) = match wanted {
        Some(0) => return newest(&board, &chain).into_v2(&asked),
        Some(number) => (number, names.caching()),
        None => (chain.due().saturating_add(1), NOT_AT_ALL),
    };
    let answer = board.round(&chain, number).await;
    RoundResponse { answer, chain, caching: caching.to_owned() }.into_v2(&asked)
}

/// The chain that a path of version 2 names.
fn v2_find(board: &Board, names: &Names, failed: &str) -> Result<Arc<Chain>, Refusal> {
    let failed = || Refusal::Said(StatusCode::INTERNAL_SERVER_ERROR, failed.to_owned());
    if let Some(hash) = &names.hash {
        // The relay's paths have exactly such hashes.
        if hash.len() != 64 || from_hex(hash).is_err() {
            return Err(Refusal::Said(StatusCode::NOT_FOUND, PATHS.trim_end().to_owned()));
        }
    }
    if names.id.as_deref().is_some_and(|id| id != BEACON) {
        return Err(failed());
    }
    let chain = board.chain().ok_or_else(|| Refusal::NoKey(board.prospect()))?;
    let hash = names.hash.as_ref();
    let fits = hash.is_none_or(|hash| hash.eq_ignore_ascii_case(&chain.hash));
    if fits { Ok(chain) } else { Err(failed()) }
}

// Both.

/// Why a path leads nowhere.
enum Refusal {
    /// An error, in drand's words.
    Said(StatusCode, String),
    /// The committee makes its key.
    NoKey(Prospect),
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Said(status, why) => plain(status, &why),
            Self::NoKey(prospect) => {
                let refusal = plain(StatusCode::SERVICE_UNAVAILABLE, "the committee makes its key");
                with(refusal, RETRY_AFTER, &prospect.wait.to_string())
            }
        }
    }
}

impl Refusal {
    /// Without a key no round is there, and none is due.
    fn into_health(self) -> Response {
        match self {
            Self::NoKey(prospect) => early(prospect.wait, health_of(0, 0)),
            said @ Self::Said(..) => said.into_response(),
        }
    }
}

/// What is known, and that there is more to come.
fn early(wait: u32, body: String) -> Response {
    let known = (StatusCode::SERVICE_UNAVAILABLE, json_of(body, NOT_AT_ALL)).into_response();
    with(known, RETRY_AFTER, &wait.to_string())
}

impl Names {
    fn caching(&self) -> &'static str {
        if self.hash.is_some() { FOR_EVER } else { NOT_AT_ALL }
    }
}

/// What becomes of a request for a round, and how long that is true.
struct RoundResponse {
    answer: Answer,
    chain: Arc<Chain>,
    caching: String,
}

impl RoundResponse {
    fn into_v1(self, asked: &HeaderMap) -> Response {
        let Self { answer, chain, caching } = self;
        match answer {
            Answer::Is(round) => {
                let time = chain.time_of(round.number());
                content(json!(round).to_string(), &caching).since(time).answer(asked)
            }
            Answer::None => no_round(&chain),
            Answer::Early(seconds) => {
                let caching = until(seconds);
                (StatusCode::NOT_FOUND, [(CACHE_CONTROL, caching)]).into_response()
            }
            Answer::Missing => {
                let caching = "must-revalidate, no-cache, max-age=0";
                (StatusCode::NOT_FOUND, [(CACHE_CONTROL, caching)]).into_response()
            }
        }
    }

    fn into_v2(self, asked: &HeaderMap) -> Response {
        let Self { answer, chain, caching } = self;
        match answer {
            Answer::Is(round) => {
                let time = chain.time_of(round.number());
                content(json!(round.bare()).to_string(), &caching).since(time).answer(asked)
            }
            Answer::None => no_round(&chain),
            Answer::Early(seconds) => {
                let refusal = plain(StatusCode::TOO_EARLY, "Requested future beacon");
                with(refusal, CACHE_CONTROL, &until(seconds))
            }
            Answer::Missing => {
                let refusal = plain(StatusCode::INTERNAL_SERVER_ERROR, "Failed to get beacon");
                with(refusal, CACHE_CONTROL, NOT_AT_ALL)
            }
        }
    }
}

/// The newest round, to be kept until the next is due. If one is late, nobody knows how long.
fn newest(board: &Board, chain: &Arc<Chain>) -> RoundResponse {
    let (answer, due) = (board.latest(), chain.due());
    let seconds = if board.newest() < due { 0 } else { chain.until(due.saturating_add(1)) };
    RoundResponse { answer, chain: Arc::clone(chain), caching: until(seconds) }
}

/// There is a key, and the first value is on its way.
fn no_round(chain: &Chain) -> Response {
    let refusal = plain(StatusCode::SERVICE_UNAVAILABLE, "no round is there yet");
    with(refusal, RETRY_AFTER, &chain.until(1).max(1).to_string())
}

fn until(seconds: u64) -> String {
    format!("public, must-revalidate, max-age={}", seconds.min(A_DAY))
}

fn content(json: String, caching: &str) -> Content {
    Content::new("application/json", caching, json.into())
}

fn info_of(chain: &Chain, body: &str, names: &Names) -> Content {
    content(body.to_owned(), names.caching()).since(chain.time_of(0))
}

/// The last round may be on its way still.
fn state_of(board: &Board, chain: &Chain) -> Response {
    let (current, expected) = (board.newest(), chain.due());
    let well = current > 0 && current.saturating_add(1) >= expected;
    let status = if well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, json_of(health_of(current, expected), NOT_AT_ALL)).into_response()
}

fn health_of(current: u64, expected: u64) -> String {
    json!({ "current": current, "expected": expected }).to_string()
}

fn no_such_path() -> Response {
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
