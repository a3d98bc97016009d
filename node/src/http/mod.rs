//! Rounds over HTTP, as drand serves them, and the devnet's values as they come.
//!
//! Threshold BLS over slots is drand's scheme `bls-unchained-g1-rfc9380` as it stands: the message is
//! `SHA-256(round)`, the signature in 𝔾₁ under the tag of RFC 9380, the key in 𝔾₂ (`prefinal_beacon::Bls`).
//! So a slot's output *is* a round, nothing is signed a second time or under a looser tag for the sake of
//! this interface, and drand's clients verify our rounds and encrypt to them as they are. A key that signs
//! rounds signs nothing else (`prefinal_crypto_core::threshold`).
//!
//! The committee makes its key in the chain's first slots, which have no value. The first slot that has one
//! is round 1, which drand's clients take for granted: `round = slot − first + 1`, and this round is what is
//! signed (`prefinal_beacon::Binding::Rounds`). Round `r` is due at `genesis + (r − 1) · period`, so the
//! genesis is when that slot is due; the devnet's leaders keep to it, and the chain's hash names both numbers
//! ([`prefinal_crypto_core::drand`]).
//!
//! | path                                                      | answers like                         |
//! |-----------------------------------------------------------|--------------------------------------|
//! | `/chains`, `/info`, `/health`, `/public/{round}`, `/public/latest`, the last four also behind `/{hash}` | drand's own node, [`handler/http`] |
//! | `/v2/chains`, `/v2/beacons`, behind a hash or name `/info`, `/health`, `/rounds/{round}`, `/rounds/latest`, `/rounds/next` | drand's [`http-relay`] |
//! | `/ping`                                                   | drand's relay: somebody is here      |
//! | `/events`                                                 | a stream of values, for pages        |
//! | `/committee`                                              | who shares the key, for pages        |
//! | `/transactions`, `/accounts`                              | wallets, if blocks are executed ([`transactions`]) |
//! | `/sync`, `/genesis`                                       | nodes that follow such a chain ([`sync`]) |
//! | `/vuf`, with `/ping`, `/events`, `/transactions` and `/accounts` in the place of all others, with `--scheme wvuf` | readers who have pinned an epoch of a weighted VUF (`vuf`) |
//! | anything else                                             | a file of the page, if there is one  |
//!
//! A client that asks for the next round waits for it. While the key is made, paths that name the chain
//! or a round answer 503 with `Retry-After`; `/info` says besides what is known of the chain by then.
//!
//! | answer                                     | to be kept (`Cache-Control`)                     |
//! |--------------------------------------------|--------------------------------------------------|
//! | a round or the chain's info, behind a hash | for ever: `immutable`                            |
//! | the same without a hash, files of the page | `no-cache`: until asked again, which costs a 304 |
//! | the newest round                           | until the next is due; not at all if one is late |
//! | a future round                             | until it is due, at most a day                   |
//!
//! These have an `ETag`, a `Last-Modified` if there is a time that means something (when a round was due),
//! and take conditional and range requests (`content`). Files of the page are sent as gzip to those who
//! take it.
//!
//! Limits, so that nobody takes what is meant for all. Numbers are defaults, see [`Limits`]; what an address
//! is, and why the loopback is different, says `doors`.
//!
//! | what                  | in all      | each address | each on the loopback | beyond it              |
//! |-----------------------|-------------|--------------|----------------------|------------------------|
//! | connections           | 256         | 32           | 128                  | the longest idle makes room, else 503 |
//! | followers             | 32          | 4            | 16                   | 503                    |
//! | requests              |             | 50 a second, 200 at once | that for each connection | 429    |
//! | a connection's life   | an hour     |              |                      | closed                 |
//! | a request's head      | 16 KiB, 64 headers, 10 seconds, also between two | | | 431, or closed         |
//! | a request's body      | none, but a transaction or a follower's question where blocks are executed | | | 413 |
//! | what a follower has not read | 256 values |        |                      | closed                 |
//! | rounds kept           | the newest 100 000 |       |                      | 404                    |
//!
//! Memory for these rounds is taken when it starts, 4.9 MB; nothing that is served grows with the chain.
//!
//! Ours: paths without a hash are not to be kept, since the next devnet at this address is another
//! chain. `checkout` chooses the page that is served if none is named, and
//! [`prefinal_crypto_core::drand`] has the checks of drand's clients.
//!
//! [`handler/http`]: https://github.com/drand/drand/blob/master/handler/http/server.go
//! [`http-relay`]: https://github.com/drand/http-relay/blob/main/routes.go

mod board;
mod checkout;
mod committee;
mod content;
mod doors;
mod drand;
mod events;
mod gate;
mod page;
mod rounds;
pub mod sync;
pub mod transactions;
mod vuf;
mod vuf_board;

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router, middleware};
use clap::Args;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};

pub use self::board::{Board, PathWaits, SlotReport, genesis};
use self::doors::Doors;
pub use self::doors::Limits;
use self::gate::{Gate, Rates};
use self::page::Page;
pub use self::vuf_board::VufBoard;
use prefinal_lab::Failure;

const LIFE: Duration = Duration::from_secs(3600);
const HEAD: Duration = Duration::from_secs(10);
const HEAD_BYTES: usize = 16 << 10;
const HEADERS: usize = 64;

/// Whether and where to serve.
#[derive(Args, Clone, Debug)]
pub struct HttpOptions {
    /// Serve the values as drand's nodes serve theirs, or with --scheme wvuf with what verifies them, until
    /// Ctrl-C unless there is --slots
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:8787",
          value_parser = address)]
    pub http: Option<SocketAddr>,
    /// Seconds from slot to slot
    #[arg(long, value_name = "SECONDS", default_value = "1", requires = "http")]
    pub period: NonZeroU32,
    /// Serve the files of this folder beside the values [default: in a checkout the project's page, which
    /// is built if it is not yet]
    #[arg(long, value_name = "FOLDER", requires = "http")]
    pub page: Option<PathBuf>,
    /// Serve the values alone
    #[arg(long, requires = "http", conflicts_with = "page")]
    pub no_page: bool,
    /// What clients may take
    #[command(flatten)]
    pub limits: Limits,
}

impl HttpOptions {
    /// The folder whose files are served, if there is one; it may have to be built, which takes minutes.
    #[must_use]
    pub fn files(&self) -> Option<PathBuf> {
        self.page.clone().or_else(|| (!self.no_page).then(checkout::page).flatten())
    }
}

/// An address in digits, or by a name such as `localhost`, whose IPv4 address works on every machine.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().map_err(|error| error.to_string())?;
    found.min_by_key(SocketAddr::is_ipv6).ok_or_else(|| "no address has this name".to_owned())
}

/// What a connection is told for which there is no place.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\
    Access-Control-Allow-Origin: *\r\nConnection: close\r\n\r\n";

/// A listener, and what it answers.
pub struct Server {
    listener: TcpListener,
    router: Router,
    doors: Arc<Doors>,
}

impl Server {
    /// Takes the address and reads the page.
    ///
    /// # Errors
    /// If the address is not to be had, or the page is not readable.
    pub async fn open(
        address: SocketAddr,
        page: Option<&std::path::Path>,
        board: Arc<Board>,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        let page = page.map_or_else(|| Ok(Page::default()), Page::read)?;
        Self::bind(address, (page, Router::new(), false), board, limits).await
    }

    /// As [`Self::open`], with routes of which some take bodies.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_with(
        address: SocketAddr,
        page: Option<&std::path::Path>,
        routes: Router,
        board: Arc<Board>,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        let page = page.map_or_else(|| Ok(Page::default()), Page::read)?;
        Self::bind(address, (page, routes, true), board, limits).await
    }

    /// Takes the address; besides values it serves other routes, and no page.
    ///
    /// # Errors
    /// If the address is not to be had.
    pub async fn open_beside(
        address: SocketAddr,
        routes: Router,
        board: Arc<Board>,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        Self::bind(address, (Page::default(), routes, false), board, limits).await
    }

    /// Takes the address and reads the page, for values of a weighted VUF; other routes may take bodies.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_vuf(
        address: SocketAddr,
        page: Option<&std::path::Path>,
        routes: Option<Router>,
        board: Arc<VufBoard>,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        let page = page.map_or_else(|| Ok(Page::default()), Page::read)?.beside(vuf::PATHS);
        let takes_bodies = routes.is_some();
        let routes = vuf::routes(board).merge(routes.unwrap_or_default());
        Self::serve(address, (page, routes, takes_bodies), limits).await
    }

    /// Takes the address, for routes of which some take bodies, and nothing else.
    ///
    /// # Errors
    /// If the address is not to be had.
    pub async fn open_routes(
        address: SocketAddr,
        routes: Router,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        Self::serve(address, (Page::default(), routes, true), limits).await
    }

    async fn bind(
        address: SocketAddr,
        (page, routes, takes_bodies): (Page, Router, bool),
        board: Arc<Board>,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        let feed = events::routes(Arc::clone(&board.feed));
        let values = drand::routes().merge(committee::routes()).with_state(board);
        let routes = values.merge(feed).merge(routes);
        Self::serve(address, (page, routes, takes_bodies), limits).await
    }

    async fn serve(
        address: SocketAddr,
        (page, routes, takes_bodies): (Page, Router, bool),
        limits: &Limits,
    ) -> Result<Self, Failure> {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| Failure::bad_input(format_args!("--http {address}: {error}")))?;
        let page = Arc::new(page);
        let files = move |method, uri, headers| {
            let page = Arc::clone(&page);
            async move { page.file(&method, &uri, &headers) }
        };
        let gate = Arc::new(Gate { rates: Rates::new(limits), takes_bodies });
        let router =
            routes.fallback(files).layer(middleware::from_fn_with_state(gate, gate::guard));
        Ok(Self { listener, router, doors: Doors::new(*limits) })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until the task is dropped.
    pub async fn run(self) {
        loop {
            // Out of descriptors, perhaps: others may end.
            let Ok((stream, peer)) = self.listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let Some((pass, closed)) = self.doors.enter(peer.ip()) else {
                refuse(stream);
                continue;
            };
            let pass = Arc::new(pass);
            let router = self.router.clone().layer(Extension(Arc::clone(&pass)));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_headers(HEADERS)
                .max_buf_size(HEAD_BYTES)
                .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
            tokio::spawn(async move {
                // However it ends, it is the other end's affair.
                tokio::select! {
                    _ended = tokio::time::timeout(LIFE, connection) => {}
                    _closed = closed => {}
                }
                drop(pass);
            });
        }
    }
}

/// Says that there is no place. So few bytes go into an empty buffer, or nowhere.
fn refuse(stream: TcpStream) {
    if let Ok(mut stream) = stream.into_std() {
        drop(stream.write(FULL));
    }
}
