//! What a process is told about its links, with the limits that hold for each peer.
use std::net::SocketAddr;
use std::num::NonZeroU32;

use prefinal_protocol::{ChainId, Party};

/// The longest [`Options::agent`] in bytes.
pub const MAX_AGENT: usize = 64;

/// The configuration of a process's links.
#[derive(Clone, Debug)]
pub struct Options {
    /// The party that this process is.
    pub me: Party,
    /// The chain. A peer on another chain is told so and turned away.
    pub chain: ChainId,
    /// The version of what is sent over the streams. A peer with another one is told so and turned away.
    pub version: u16,
    /// The program and its release, shown to peers; what is longer than [`MAX_AGENT`] is cut off.
    pub agent: String,
    /// Where this process listens. Its own connections leave from the same port.
    pub listen: SocketAddr,
    /// How many bytes may be on their way to a peer, or from it and not read yet. On a link with a round trip of
    /// `t` seconds no more than `window / t` bytes a second arrive.
    pub window: NonZeroU32,
    /// The streams, by their number. All members must have the same.
    pub streams: Vec<StreamOptions>,
}

/// One stream of frames in each direction, with its limits. They hold for each peer separately, so that one
/// peer cannot use up what another needs.
#[derive(Clone, Debug)]
pub struct StreamOptions {
    /// A name for logs.
    pub name: &'static str,
    /// The longest frame in bytes. A peer that announces more has broken the rules and is cut off.
    pub max_frame: NonZeroU32,
    /// How many bytes may wait to be sent to a peer. What comes on top is refused.
    pub queue: usize,
    /// How many bytes of a peer may have arrived and not been dropped by the reader, at least one longest
    /// frame. Then nothing more is read, and the peer has to wait.
    pub inbox: usize,
    /// How many bytes per second a peer may send on average; a longest frame may come at once. What comes
    /// faster is read later.
    pub rate: NonZeroU32,
    /// Streams with a higher number send first.
    pub priority: i32,
}

impl StreamOptions {
    /// A stream with room for two longest frames of each peer in both directions, which is the least that lets the
    /// next one arrive while one is handled.
    #[must_use]
    pub fn new(name: &'static str, max_frame: NonZeroU32, rate: NonZeroU32, priority: i32) -> Self {
        let room = usize::try_from(max_frame.get()).unwrap_or(usize::MAX).saturating_mul(2);
        Self { name, max_frame, queue: room, inbox: room, rate, priority }
    }

    /// At least so many bytes that wait to be sent to a peer, and of a peer to be handled.
    #[must_use]
    pub fn with_room(mut self, queue: usize, inbox: usize) -> Self {
        self.queue = self.queue.max(queue);
        self.inbox = self.inbox.max(inbox);
        self
    }
}

/// The number of a stream: its place in [`Options::streams`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId(u8);

impl StreamId {
    /// The stream with this number.
    #[must_use]
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// The stream's number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    pub(crate) fn index(self) -> usize {
        self.0.into()
    }
}
