//! Rounds over HTTP, as drand serves them, and the devnet's values as they come.
//!
//! Threshold BLS over slots is drand's scheme `bls-unchained-g1-rfc9380` as it stands: the message is
//! `SHA-256(slot)`, the signature in 𝔾₁ under the tag of RFC 9380, the key in 𝔾₂ (`beacon::Bls`). So a
//! slot *is* a round, nothing is signed a second time or under a looser tag for the sake of this
//! interface, and drand's clients verify our rounds and encrypt to them as they are. A key that signs
//! rounds signs nothing else (`crypto_core::threshold`).
//!
//! | path                                                      | answers like                         |
//! |-----------------------------------------------------------|--------------------------------------|
//! | `/chains`, `/info`, `/health`, `/public/{round}`, `/public/latest`, the last four also behind `/{hash}` | drand's own node, [`handler/http`] |
//! | `/v2/chains`, `/v2/beacons`, behind a hash or name `/info`, `/health`, `/rounds/{round}`, `/rounds/latest`, `/rounds/next` | drand's [`http-relay`] |
//! | `/events`                                                 | a stream of values, for pages        |
//! | anything else                                             | a file of the page, if there is one  |
//!
//! Round `r` is due at `genesis + (r − 1) · period`; the devnet's leaders keep to that, and the chain's
//! hash names both numbers ([`crypto_core::drand`]). Who asks for the round that is next waits for it.
//! Rounds before the committee's first slot do not exist, which drand does not know.
//!
//! Limits, so that nobody takes what is meant for all:
//!
//! | what               | limit                                             | beyond it              |
//! |--------------------|---------------------------------------------------|------------------------|
//! | connections        | 256, each for at most an hour                     | wait at the door       |
//! | a request's head   | 16 KiB, 64 headers, 10 seconds, also between two  | 431, or closed         |
//! | a request's body   | none                                              | 413                    |
//! | requests           | 50 a second for each address, 200 at once         | 429                    |
//! | followers          | 32; who does not read is let go                   | 503                    |
//! | rounds kept        | the newest 100 000                                | 404                    |
//!
//! Ours: paths without a hash are not to be cached, since the next devnet at this address is another
//! chain. Elsewhere: which page there is if none is named (`checkout`), what drand's clients check
//! ([`crypto_core::drand`]), who signs (`beacon`).
//!
//! [`handler/http`]: https://github.com/drand/drand/blob/master/handler/http/server.go
//! [`http-relay`]: https://github.com/drand/http-relay/blob/main/routes.go

mod board;
mod checkout;
mod drand;
mod events;
mod gate;
mod page;

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router, middleware};
use clap::Args;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

pub use self::board::{Board, Shown, Way, genesis};
use self::gate::Rates;
use self::page::Page;
use crate::failure::Failure;

const CONNECTIONS: usize = 256;
const LIFE: Duration = Duration::from_secs(3600);
const HEAD: Duration = Duration::from_secs(10);
const HEAD_BYTES: usize = 16 << 10;
const HEADERS: usize = 64;

/// Whether and where to serve.
#[derive(Args, Clone, Debug)]
pub struct HttpOptions {
    /// Serve the values as drand's nodes serve theirs, until Ctrl-C unless there is --slots
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:8787",
          conflicts_with = "journal")]
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
}

impl HttpOptions {
    /// The folder whose files are served, if there is one; it may have to be built, which takes minutes.
    #[must_use]
    pub fn files(&self) -> Option<PathBuf> {
        self.page.clone().or_else(|| (!self.no_page).then(checkout::page).flatten())
    }
}

/// Who is at the other end of a connection.
#[derive(Clone, Copy)]
struct Peer(IpAddr);

/// A listener, and what it answers.
pub struct Server {
    listener: TcpListener,
    router: Router,
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
    ) -> Result<Self, Failure> {
        let page = page.map_or_else(|| Ok(Page::default()), Page::read)?;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| Failure::bad_input(format_args!("--http {address}: {error}")))?;
        let page = Arc::new(page);
        let files = move |uri| {
            let page = Arc::clone(&page);
            async move { page.file(&uri) }
        };
        let router = drand::routes()
            .merge(events::routes())
            .fallback(files)
            .layer(middleware::from_fn_with_state(Arc::new(Rates::default()), gate::guard))
            .with_state(board);
        Ok(Self { listener, router })
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
        let doors = Arc::new(Semaphore::new(CONNECTIONS));
        while let Ok(permit) = Arc::clone(&doors).acquire_owned().await {
            // Out of descriptors, perhaps: others may end.
            let Ok((stream, peer)) = self.listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let router = self.router.clone().layer(Extension(Peer(peer.ip())));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_headers(HEADERS)
                .max_buf_size(HEAD_BYTES)
                .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
            tokio::spawn(async move {
                // However it ends, it is the other end's affair.
                drop(tokio::time::timeout(LIFE, connection).await);
                drop(permit);
            });
        }
    }
}
