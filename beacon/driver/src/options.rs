//! Limits of a driver, and figures for monitoring it.
use std::num::NonZeroUsize;
use std::time::Duration;

use prefinal_beacon::Slot;

/// Limits on memory and time, and where a restart continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most messages of one peer that may wait. Later ones are dropped.
    pub per_peer: usize,
    /// The most bytes that the waiting messages of one peer may have. A single message of the longest
    /// kind in the protocol always fits. The limit for all peers together is this times their number.
    pub per_peer_bytes: usize,
    /// The most messages that a callback handles after its own work. The pool handles the rest, so that
    /// a flood of messages does not hold the engine's thread.
    pub turn: usize,
    /// With this many jobs on the pool, messages stay in the inbox.
    pub jobs: usize,
    /// With this many unread effects, messages stay in the inbox.
    pub effects: usize,
    /// How long a job may take before it is handed out again. It must be longer than the longest job takes:
    /// some milliseconds for partials, seconds for a dealing to hundreds of parties.
    pub patience: Duration,
    /// The pause before a job that the pool dropped is handed out again.
    pub pause: Duration,
    /// After this many records the journal is replaced by the machine's own summary of it.
    pub shorten: NonZeroUsize,
    /// The last slot that the reader of the effects has handled durably, so that no crash undoes it. After
    /// a restart, the outputs of later slots are revealed again, and slots that were off or skipped are
    /// reported again. With `None`, an effect counts as handled when it enters the stream: effects that
    /// were unread at a crash are not shown again.
    pub read: Option<Slot>,
    /// The same for the channels beside the first, where others read their outputs; `None`: as [`Self::read`].
    pub read_beside: Option<Slot>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            per_peer: 256,
            per_peer_bytes: 1 << 18,
            turn: 32,
            jobs: 64,
            effects: 4096,
            patience: Duration::from_secs(10),
            pause: Duration::from_millis(100),
            shorten: NonZeroUsize::new(1024).unwrap_or(NonZeroUsize::MIN),
            read: None,
            read_beside: None,
        }
    }
}

/// Figures about a running driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Messages in the inbox.
    pub waiting: usize,
    /// Encoded size in bytes of these messages. In memory a curve point takes twice as much.
    pub bytes: usize,
    /// Messages dropped since the start, because their sender's places or bytes were taken.
    pub dropped: u64,
    /// Jobs that the pool has, or has lost.
    pub jobs: usize,
    /// How many times a job was handed out again since the start.
    pub repeated: u64,
    /// Effects in the stream that nobody has read.
    pub unread: usize,
    /// The next slot to be revealed.
    pub head: Slot,
    /// The highest slot that the engine has reported as final; `None` before the first report. If it moves and
    /// [`head`](Self::head) does not, a slot was not reported, or its partials do not arrive.
    pub last_final: Option<Slot>,
}
