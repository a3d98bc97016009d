//! What a devnet serves of its run: rounds over HTTP, those of earlier lives included if it keeps journals.
//!
//! A served chain's slots are due at their times, counted from a whole second, as drand counts. After a
//! restart the parties' clocks go on where the chain's time is: rounds that were missed meanwhile are made
//! up for as fast as the committee can, as drand's nodes do.
//!
//! [`crate::http`] answers the requests; [`crate::archive`] stores old rounds.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use axum::Router;
use tokio::time::Instant as Clock;

use crate::archive::Archive;
use crate::execution::SlotValues;
use crate::http::{self, Board, HttpOptions, Server, SlotReport, VufBoard};
use crate::journal::JournalFolder;
use crate::party::Time;
use prefinal_lab::Failure;
use prefinal_registry::{NamedScheme, scheme};
use prefinal_validator::Event;
use prefinal_validator::setup::{FIRST, Plan, Setup};

/// What is served; nothing, perhaps.
pub(super) struct Served {
    board: Option<Arc<Board>>,
    vuf: Option<Arc<VufBoard>>,
    archive: Option<Arc<Archive>>,
    /// Whether it is told which chain this is: by the archive's values on the board, or by the first epoch's pin.
    is_named: AtomicBool,
    time: Time,
}

impl Served {
    /// Serves rounds, if that is asked for, and says when the parties' clocks begin. `used` says whether the
    /// parties' journals are.
    ///
    /// # Errors
    /// If address, page or archive are not to be had.
    pub(super) async fn open<S: NamedScheme>(
        options: &HttpOptions,
        setup: &Setup,
        later: &[Plan],
        (shelf, used): (&JournalFolder, bool),
        routes: Option<Router>,
    ) -> Result<Self, Failure> {
        let Some(address) = options.http else {
            return Ok(Self::nothing(Time { started: Clock::now(), before: Duration::ZERO }));
        };
        if S::NAME == scheme::Name::Wvuf {
            let board = VufBoard::new(setup, later);
            let board = board.ok_or_else(|| Failure::bad_input("a committee without stake"))?;
            return Self::open_vuf(options, address, Arc::new(board), routes).await;
        }
        let page = options.files();
        let archive = shelf.archive(used, http::genesis().0).map_err(Failure::bad_input)?;
        let start = archive.as_ref().map_or_else(|| http::genesis().0, Archive::start);
        let (period, time) = (options.period, Self::time_since(start));
        let board = Arc::new(Board::new(start, period, *setup.context.chain.as_bytes()));
        board.describe(&setup.keygen);
        let (page_folder, shown) = (page.as_deref(), Arc::clone(&board));
        let server = match routes {
            Some(routes) => {
                Server::open_with(address, page_folder, routes, shown, &options.limits).await?
            }
            None => Server::open(address, page_folder, shown, &options.limits).await?,
        };
        let address = server.address().map_err(Failure::bad_input)?;
        let shows = if page.is_some() { "shows the slots, and " } else { "" };
        say!(
            "http://{address}/ {shows}serves rounds as drand does, one each {period} s; Ctrl-C ends it"
        );
        tokio::spawn(server.run());
        let archive = archive.map(Arc::new);
        Ok(Self { board: Some(board), archive, ..Self::nothing(time) })
    }

    /// Serves values of the weighted VUF, each with the partials that show it.
    async fn open_vuf(
        options: &HttpOptions,
        address: SocketAddr,
        board: Arc<VufBoard>,
        routes: Option<Router>,
    ) -> Result<Self, Failure> {
        let (page, shown) = (options.files(), Arc::clone(&board));
        let page_folder = page.as_deref();
        let server = Server::open_vuf(address, page_folder, routes, shown, &options.limits).await?;
        let (address, period) = (server.address().map_err(Failure::bad_input)?, options.period);
        let shows = if page.is_some() { "shows the slots, and " } else { "" };
        say!(
            "http://{address}/ {shows}serves values of the VUF, one each {period} s; Ctrl-C ends it"
        );
        tokio::spawn(server.run());
        let time = Self::time_since(http::genesis().0);
        Ok(Self { vuf: Some(board), ..Self::nothing(time) })
    }

    fn nothing(time: Time) -> Self {
        Self { board: None, vuf: None, archive: None, is_named: false.into(), time }
    }

    /// The parties' clock of a chain that began, or begins, at this second of Unix time.
    fn time_since(start: u64) -> Time {
        let start = Duration::from_secs(start);
        let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Time {
            started: Clock::now() + start.saturating_sub(unix),
            before: unix.saturating_sub(start),
        }
    }

    /// Blocks that were not committed in an earlier life may have read its values.
    pub(super) fn keep_past(&self, values: &SlotValues) {
        let past = self.archive.iter().flat_map(|archive| archive.past());
        past.for_each(|(slot, signature)| values.insert(slot, signature));
    }

    pub(super) fn archive(&self) -> Option<Arc<Archive>> {
        self.archive.clone()
    }

    pub(super) fn vuf(&self) -> Option<Arc<VufBoard>> {
        self.vuf.clone()
    }

    pub(super) const fn time(&self) -> Time {
        self.time
    }

    /// Tells what a party noticed.
    pub(super) fn post<S: NamedScheme>(&self, event: &Event<S>) {
        if let Some(board) = &self.vuf
            && matches!(event, Event::Ready { epoch: FIRST, .. })
            && let Some(pin) = board.pin(FIRST)
            && !self.is_named.swap(true, Ordering::Relaxed)
        {
            say!("pin of epoch 0: {}", hex::encode(pin));
        }
        let Some(board) = &self.board else { return };
        match event {
            // Later epochs have the same key, and count on.
            Event::Ready { epoch: FIRST, first_slot, committees } => {
                if let Some(key) = S::public_key(&committees.slow) {
                    board.open(&key, *first_slot);
                    self.tell_past(board);
                }
            }
            Event::Revealed(reveal) => {
                if let Some(signature) = S::signature(&reveal.output) {
                    board.reveal(reveal.slot, signature);
                }
            }
            _ => {}
        }
    }

    /// Once: the first party that has its keys says which chain it is.
    fn tell_past(&self, board: &Board) {
        if self.is_named.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(hash) = board.chain_hash() {
            say!("chain: {hash}");
        }
        let past = self.archive.iter().flat_map(|archive| archive.take_past());
        past.for_each(|(slot, signature)| board.reveal(slot, signature));
    }

    /// All parties have a slot's value.
    pub(super) fn show(&self, shown: &SlotReport) {
        self.board.iter().for_each(|board| board.show(shown));
        self.vuf.iter().for_each(|board| board.show(shown));
    }
}
