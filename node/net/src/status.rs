//! What an operator asks of a link.
use std::net::SocketAddr;

use crate::error::LinkError;

/// The state of the link to one peer, and what it has carried since the process began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Whether the link is up.
    pub state: State,
    /// Bytes sent in frames, with the frames' lengths and without those of QUIC.
    pub sent: u64,
    /// Bytes sent in UDP datagrams: the same with all that QUIC adds, and what was sent again.
    pub datagrams: u64,
    /// Bytes received in frames.
    pub received: u64,
    /// Bytes that wait to be sent.
    pub waiting: usize,
    /// Frames that were refused because too much waited.
    pub refused: u64,
}

/// Whether a link is up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// No connection has been made yet.
    New,
    /// Frames go both ways.
    Up {
        /// Where the peer's packets come from.
        address: SocketAddr,
        /// Its program and release, as it says.
        agent: String,
    },
    /// There is no connection.
    Down {
        /// Why the last one ended or was not made.
        why: LinkError,
    },
}

impl Status {
    pub(crate) const fn of(state: State) -> Self {
        Self { state, sent: 0, datagrams: 0, received: 0, waiting: 0, refused: 0 }
    }
}
