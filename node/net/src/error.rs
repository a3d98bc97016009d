//! What can go wrong, and what the other end is told.
use prefinal_protocol::{ChainId, Party};
use quinn::{ConnectionError, VarInt};

use crate::options::StreamId;

/// Why a connection ended, or never carried a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The peer runs a release that says other things on the streams.
    #[error(
        "the peer speaks version {theirs}, this process version {ours}: one of them needs an upgrade"
    )]
    Version {
        /// The version of this process.
        ours: u16,
        /// The version of the peer.
        theirs: u16,
    },
    /// The peer has the key of a member and is on another chain.
    #[error("the peer is on chain {theirs:?}, this process on {ours:?}")]
    Chain {
        /// The chain of this process.
        ours: ChainId,
        /// The chain of the peer.
        theirs: ChainId,
    },
    /// The peer's first stream is no greeting.
    #[error("the peer's greeting is malformed")]
    Hello,
    /// A frame is longer than its stream allows.
    #[error("a frame of {got} bytes on stream {}, at most {limit} are taken", stream.get())]
    TooLong {
        /// The stream that it was announced on.
        stream: StreamId,
        /// The length that the peer announced.
        got: u32,
        /// The longest that is taken.
        limit: u32,
    },
    /// A stream that this version does not have.
    #[error("a stream with number {0}, which does not exist")]
    UnknownStream(u8),
    /// The peer opened one stream twice, or ended it.
    #[error("stream {0} begins twice or ends")]
    BrokenStream(u8),
    /// A frame that the reader of the links does not accept ([`Links::reject`](crate::Links::reject)).
    #[error("{0}")]
    Rejected(String),
    /// The peer did not greet in time.
    #[error("the peer connected and said nothing")]
    Silent,
    /// The peer closed the connection and said why.
    #[error("the peer closed the connection: {reason} (code {code})")]
    Closed {
        /// The peer's code; see [`LinkError::close_code`].
        code: u64,
        /// Its words, without control characters.
        reason: String,
    },
    /// The connection broke: a network that failed, a process that was killed, a key that was refused.
    #[error("{0}")]
    Lost(String),
    /// The peer has connected again.
    #[error("replaced by a newer connection")]
    Replaced,
    /// The peer is not a member any more, or has another key.
    #[error("the peer is no member with this key")]
    NotMember,
    /// This process stops.
    #[error("the process stops")]
    Stopped,
}

/// Codes that both ends know.
const VERSION: u32 = 1;
const CHAIN: u32 = 2;

impl LinkError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Version { .. } => "wrong-version",
            Self::Chain { .. } => "other-chain",
            Self::Hello => "malformed",
            Self::TooLong { .. } => "too-long",
            Self::UnknownStream(_) => "unknown-stream",
            Self::BrokenStream(_) => "broken-stream",
            Self::Rejected(_) => "frame-rejected",
            Self::Silent => "silent-peer",
            Self::Closed { .. } => "closed-by-peer",
            Self::Lost(_) => "connection-lost",
            Self::Replaced => "connection-replaced",
            Self::NotMember => "not-a-member",
            Self::Stopped => "shut-down",
        }
    }

    /// The number that closes the connection, which the peer is told with the text: stable, for programs.
    #[must_use]
    pub const fn close_code(&self) -> u32 {
        match self {
            Self::Stopped => 0,
            Self::Version { .. } => VERSION,
            Self::Chain { .. } => CHAIN,
            Self::Hello => 3,
            Self::TooLong { .. } => 4,
            Self::UnknownStream(_) => 5,
            Self::BrokenStream(_) => 6,
            Self::Silent => 7,
            Self::Replaced => 8,
            Self::NotMember => 9,
            Self::Closed { .. } | Self::Lost(_) => 10,
            Self::Rejected(_) => 11,
        }
    }

    /// Whether no honest peer of this version is the cause.
    #[must_use]
    pub const fn is_hostile(&self) -> bool {
        matches!(
            self,
            Self::Hello
                | Self::TooLong { .. }
                | Self::UnknownStream(_)
                | Self::BrokenStream(_)
                | Self::Rejected(_)
        )
    }

    /// Whether the two ends do not fit, whichever of them said so: they speak other versions, or are on other chains.
    /// It stays so until an operator acts.
    #[must_use]
    pub fn is_mismatch(&self) -> bool {
        match self {
            Self::Version { .. } | Self::Chain { .. } => true,
            Self::Closed { code, .. } => [VERSION, CHAIN].map(u64::from).contains(code),
            _ => false,
        }
    }

    pub(crate) fn close(&self, connection: &quinn::Connection) {
        connection.close(VarInt::from_u32(self.close_code()), self.to_string().as_bytes());
    }
}

/// The longest text of a peer that is passed on.
const MAX_REASON: usize = 200;

impl From<ConnectionError> for LinkError {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::ApplicationClosed(close) => {
                let reason = String::from_utf8_lossy(&close.reason);
                let reason = reason.chars().filter(|char| !char.is_control()).take(MAX_REASON);
                Self::Closed { code: close.error_code.into_inner(), reason: reason.collect() }
            }
            ConnectionError::LocallyClosed => Self::Stopped,
            other => Self::Lost(other.to_string()),
        }
    }
}

impl From<quinn::WriteError> for LinkError {
    fn from(error: quinn::WriteError) -> Self {
        match error {
            quinn::WriteError::ConnectionLost(error) => error.into(),
            other => Self::Lost(other.to_string()),
        }
    }
}

impl From<quinn::ReadError> for LinkError {
    fn from(error: quinn::ReadError) -> Self {
        match error {
            quinn::ReadError::ConnectionLost(error) => error.into(),
            other => Self::Lost(other.to_string()),
        }
    }
}

/// Why a frame was not taken for a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// No link to this party: it is no member, or it is this process.
    #[error("no link to {0}")]
    NoLink(Party),
    /// There is no stream with this number.
    #[error("no stream with number {}", .0.get())]
    NoStream(StreamId),
    /// No stream carries frames of this length.
    #[error("a frame of {got} bytes, at most {limit} are sent")]
    TooLong {
        /// The frame's length.
        got: usize,
        /// The longest of this stream.
        limit: u32,
    },
    /// The peer reads more slowly than this process writes, or is away.
    #[error("{waiting} bytes wait for {to} already, at most {limit} may")]
    Full {
        /// The peer.
        to: Party,
        /// Bytes that wait, with this frame.
        waiting: usize,
        /// The limit of the stream.
        limit: usize,
    },
}

impl SendError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoLink(_) => "no-link",
            Self::NoStream(_) => "unknown-stream",
            Self::TooLong { .. } => "too-long",
            Self::Full { .. } => "queue-full",
        }
    }
}
