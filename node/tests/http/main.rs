//! The HTTP interface from outside: rounds that verify, what drand says of bad questions, limits.
//!
//! The server has its own key here and rounds that the test signs; a committee behind it, and drand's
//! published clients in front, are in `devnet`.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod changes;
mod client;
mod content;
mod devnet;
mod durable;
mod endpoints;
#[cfg(feature = "evm")]
mod evm;
mod execution;
mod follow;
mod limits;
#[cfg(unix)]
mod page;
mod stream;
#[cfg(feature = "timelock")]
mod timelock;
mod vuf;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use prefinal_beacon::{Path, Slot};
use prefinal_crypto_core::bls::Domain;
use prefinal_crypto_core::bls::min_sig::{SecretKey, Signature};
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_node::http::{Board, Limits, PathWaits, Server, SlotReport, genesis};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use tokio::runtime::Runtime;

/// Seconds from round to round, unless a test says otherwise: the clock plays no role then.
const HOUR: u32 = 3600;

/// Slots in which the committee made its key: the next one is round 1.
const BEFORE: u64 = 8;

/// A server with the key and rounds that a test gives it.
struct Relay {
    board: Arc<Board>,
    address: SocketAddr,
    secret: SecretKey,
    /// Answers as long as it is there.
    _runtime: Runtime,
}

impl Relay {
    /// Round `due` is due by now, the next in `period` seconds. There is no key yet.
    fn new(due: u64, period: u32, page: Option<&std::path::Path>) -> Self {
        Self::limited(due, period, page, &Limits::default())
    }

    fn limited(due: u64, period: u32, page: Option<&std::path::Path>, limits: &Limits) -> Self {
        let began = genesis().0 - 1 - (BEFORE + due - 1) * u64::from(period);
        let board = Arc::new(Board::new(began, NonZeroU32::new(period).unwrap(), [7; 32]));
        let runtime = Runtime::new().unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = runtime.block_on(Server::open(any, page, Arc::clone(&board), limits)).unwrap();
        let address = server.address().unwrap();
        runtime.spawn(server.run());
        let secret = SecretKey::random(&mut ChaCha20Rng::from_seed([1; 32]));
        Self { board, address, secret, _runtime: runtime }
    }

    /// With a key, and rounds 1 to 5 of which the last is due.
    fn open() -> Self {
        Self::open_limited(&Limits::default())
    }

    fn open_limited(limits: &Limits) -> Self {
        let relay = Self::limited(5, HOUR, None, limits);
        relay.key();
        (1..=5).for_each(|round| relay.reveal(round));
        relay
    }

    /// The committee has made its key.
    fn key(&self) {
        self.board.open(&self.secret.public_key(), Slot::new(BEFORE + 1));
    }

    fn sign(&self, round: u64) -> Signature {
        let message = RoundNumber::new(round).unwrap().message();
        self.secret.sign(Domain::BASIC, &message)
    }

    fn reveal(&self, round: u64) {
        self.board.reveal(Slot::new(BEFORE + round), self.sign(round));
    }

    /// Three parties had the value after 1, 2 and 6 ms.
    fn show(&self, round: u64) {
        let way = |waits: &[u64]| {
            let waits: Vec<_> = waits.iter().copied().map(Duration::from_millis).collect();
            PathWaits { parties: waits.len(), waits }
        };
        let ways = BTreeMap::from([(Path::Fast, way(&[1, 2])), (Path::Slow, way(&[6]))]);
        self.board.show(&SlotReport { slot: Slot::new(BEFORE + round), block: None, ways });
    }
}
