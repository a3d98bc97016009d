//! What an operator asks of a running validator, over a Unix socket in its home folder.
//!
//! Only the user that the process runs as can open the socket, so there is nothing to log in to. Answers are
//! JSON; `prefinal status`, `peers`, `export`, `switch` and `committee submit` ask here.
//!
//! | request                  | answer                                                     |
//! |--------------------------|------------------------------------------------------------|
//! | `GET /status`            | [`StatusReport`]                                           |
//! | `GET /peers`             | a list of [`PeerReport`]                                   |
//! | `POST /reload`           | the configuration and the folder `peers` are read again    |
//! | `GET /values?from=&most=`| [`ValuesReport`]: values that are kept, oldest first       |
//! | `POST /switch`           | a [`SwitchRequest`]: from that slot on no partial leaves, or they leave again |
//! | `GET /committee`         | the parties with their stakes                              |
//! | `POST /committee/draft`, `/approve`, `/submit` | the steps of a change of the committee |
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use http_body_util::{BodyExt, Full, Limited};
use hyper::Request;
use hyper_util::rt::TokioIo;
use prefinal_beacon::Mode;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::net::{UnixListener, UnixStream};

use super::committee::{ChangeRequest, DraftRequest, MemberReport};
use super::state::Validator;
use prefinal_lab::Failure;

/// The longest answer that a command reads.
const MAX_ANSWER: usize = 64 << 20;
/// Values in one answer.
pub(crate) const MAX_VALUES: usize = 10_000;

/// The state of a validator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StatusReport {
    /// The program's release.
    pub(crate) version: String,
    /// The chain's name in the genesis, and its identifier as hex.
    pub(crate) chain: (String, String),
    /// The validator's name and its number in the committee; no number before it has joined.
    pub(crate) validator: (String, Option<u32>),
    /// The epoch that it is in.
    pub(crate) epoch: u64,
    /// The height that the engine works on.
    pub(crate) height: u64,
    /// The highest final slot.
    pub(crate) last_final: Option<u64>,
    /// The next slot to be revealed, or to get the certificate of its state; zero before there are keys.
    pub(crate) head: u64,
    /// The group's public key and the first slot with a value, once there is one.
    pub(crate) key: Option<(String, u64)>,
    /// Values that this process has revealed, by path.
    pub(crate) revealed: Vec<(String, u64)>,
    /// Links that are up, of how many.
    pub(crate) links: (usize, usize),
    /// The last height whose state is certified and durable here, if this validator executes.
    pub(crate) states: Option<u64>,
    /// Why it does nothing any more, if so.
    pub(crate) stopped: Option<String>,
}

/// The state of the link to one peer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PeerReport {
    /// The peer's name and number.
    pub(crate) peer: (String, u32),
    /// Where it is dialled, if that is known.
    pub(crate) address: Option<String>,
    /// `up` with its program, or why it is down.
    pub(crate) state: String,
    /// Whether the link is up.
    pub(crate) is_up: bool,
    /// Bytes sent and received.
    pub(crate) bytes: (u64, u64),
    /// Bytes that wait for it, and frames refused because too much waited.
    pub(crate) waiting: (usize, u64),
}

/// Values that are kept, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ValuesReport {
    /// The group's public key as hex, and the first slot with a value.
    pub(crate) key: (String, u64),
    /// Slots with their signatures as hex.
    pub(crate) values: Vec<(u64, String)>,
}

/// From which slot on partials leave or do not.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SwitchRequest {
    /// The slot from which this holds.
    pub(crate) slot: u64,
    /// What leaves from there on.
    pub(crate) mode: SwitchMode,
}

/// What a validator releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SwitchMode {
    /// Both paths
    On,
    /// The slow path alone
    SlowOnly,
    /// Nothing: slots have no value
    Off,
}

impl From<SwitchMode> for Mode {
    fn from(mode: SwitchMode) -> Self {
        match mode {
            SwitchMode::On => Self::On,
            SwitchMode::SlowOnly => Self::Late,
            SwitchMode::Off => Self::Off,
        }
    }
}

/// Which values are asked for.
#[derive(Debug, Deserialize)]
struct Range {
    from: u64,
    most: usize,
}

type Refusal = (StatusCode, String);

fn refused(why: impl Display) -> Refusal {
    (StatusCode::CONFLICT, why.to_string())
}

/// Answers an operator until the task is dropped.
///
/// # Errors
/// If the socket cannot be made.
pub(super) fn serve(
    socket: &Path,
    validator: Arc<Validator>,
) -> io::Result<impl Future<Output = ()> + use<>> {
    // The home is locked: what is there was left by a process that is gone.
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(socket)?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(socket, mode)?;
    // A draft and the consents to it, as text.
    let longest = validator.max_block_bytes().saturating_mul(4);
    let router = Router::new()
        .route("/status", get(status))
        .route("/peers", get(peers))
        .route("/reload", post(reload))
        .route("/values", get(values))
        .route("/switch", post(switch))
        .route("/committee", get(committee))
        .route("/committee/draft", post(draft))
        .route("/committee/approve", post(approve))
        .route("/committee/submit", post(submit))
        .layer(DefaultBodyLimit::max(longest))
        .with_state(validator);
    Ok(async move {
        // It ends with the task.
        let _ended = axum::serve(listener, router).await;
    })
}

async fn status(State(validator): State<Arc<Validator>>) -> Json<StatusReport> {
    Json(validator.status())
}

async fn peers(State(validator): State<Arc<Validator>>) -> Json<Vec<PeerReport>> {
    Json(validator.peers())
}

async fn reload(State(validator): State<Arc<Validator>>) {
    validator.reload.notify_one();
}

async fn values(
    State(validator): State<Arc<Validator>>,
    Query(Range { from, most }): Query<Range>,
) -> Result<Json<ValuesReport>, Refusal> {
    let none = || refused("no key yet: the committee is making it");
    validator.values(from, most.min(MAX_VALUES)).map(Json).ok_or_else(none)
}

async fn switch(
    State(validator): State<Arc<Validator>>,
    Json(request): Json<SwitchRequest>,
) -> Result<(), Refusal> {
    validator.switch(request).map_err(refused)
}

async fn committee(State(validator): State<Arc<Validator>>) -> Json<Vec<MemberReport>> {
    Json(validator.committee())
}

async fn draft(
    State(validator): State<Arc<Validator>>,
    Json(request): Json<DraftRequest>,
) -> Result<Json<String>, Refusal> {
    validator.draft(&request).map(Json).map_err(refused)
}

async fn approve(
    State(validator): State<Arc<Validator>>,
    Json(draft): Json<String>,
) -> Result<Json<String>, Refusal> {
    validator.approve(&draft).map(Json).map_err(refused)
}

async fn submit(
    State(validator): State<Arc<Validator>>,
    Json(request): Json<ChangeRequest>,
) -> Result<Json<()>, Refusal> {
    validator.change(&request).map(Json).map_err(refused)
}

/// Asks the validator that runs on this home.
pub(crate) struct Client<'a> {
    socket: &'a Path,
}

impl<'a> Client<'a> {
    /// A client of the validator behind this socket.
    pub(crate) const fn new(socket: &'a Path) -> Self {
        Self { socket }
    }

    /// Asks for a report.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let answer = self.ask("GET", path, Vec::new())?;
        serde_json::from_slice(&answer).map_err(|error| {
            Failure::bad_input(format_args!("the validator answers {path} with no report: {error}"))
        })
    }

    /// Sends a request, and reads the answer to it.
    pub(crate) fn ask_for<T: DeserializeOwned>(
        &self,
        path: &str,
        request: &impl Serialize,
    ) -> Result<T, Failure> {
        let body = serde_json::to_vec(request).map_err(Failure::bad_input)?;
        let answer = self.ask("POST", path, body)?;
        serde_json::from_slice(&answer).map_err(|error| {
            Failure::bad_input(format_args!(
                "the validator answers {path} with something else: {error}"
            ))
        })
    }

    /// Asks for something to be done.
    pub(crate) fn send(&self, method: &str, path: &str, body: Vec<u8>) -> Result<(), Failure> {
        self.ask(method, path, body).map(drop)
    }

    fn ask(&self, method: &str, path: &str, body: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::bad_input)?;
        runtime.block_on(self.answer(method, path, body))
    }

    async fn answer(&self, method: &str, path: &str, body: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let socket = self.socket.display();
        let stream =
            UnixStream::connect(self.socket).await.map_err(|error| match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Failure::bad_input(
                    format_args!("no validator runs here: nothing listens at {socket}"),
                ),
                _ => Failure::bad_input(format_args!("{socket}: {error}")),
            })?;
        let failed = |error: &dyn Display| Failure::bad_input(format_args!("{socket}: {error}"));
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|error| failed(&error))?;
        tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "validator")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| failed(&error))?;
        let answer = sender.send_request(request).await.map_err(|error| failed(&error))?;
        let code = answer.status();
        let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
        let body = body.map_err(|error| failed(&error))?.to_bytes().to_vec();
        if code.is_success() {
            return Ok(body);
        }
        let why = String::from_utf8_lossy(&body);
        Err(Failure::bad_input(format_args!("the validator refuses: {why}")))
    }
}
