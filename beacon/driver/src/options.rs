//! What bounds a driver, and how it is doing.
use std::num::NonZeroUsize;
use std::time::Duration;

use beacon::Slot;

/// What bounds memory, and where a restart goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many messages of one peer wait at most; later ones are dropped.
    pub per_peer: usize,
    /// How many bytes the waiting messages of one peer have at most; a single message of the longest
    /// that the protocol has always fits. All peers together have as many times what one has.
    pub per_peer_bytes: usize,
    /// How many messages a callback works off at most, after what it was called for. The pool goes on
    /// with the rest, so that no flood holds the engine's thread.
    pub turn: usize,
    /// From how many jobs on the pool on messages wait.
    pub jobs: usize,
    /// From how many unread effects on messages wait.
    pub effects: usize,
    /// After what time a job that has not come back is handed out again: longer than the longest takes, which
    /// is some milliseconds for partials and seconds for a dealing to hundreds of parties.
    pub patience: Duration,
    /// After what pause a job that the pool dropped is handed out again.
    pub pause: Duration,
    /// After how many records the journal is replaced by the beacon's summary of it.
    pub shorten: NonZeroUsize,
    /// The last slot that the reader of the effects has dealt with for good, whatever crashes. What
    /// was revealed after it is revealed again, and what was off or skipped is said again. `None` if the stream's word is enough: then what it
    /// held unread at a crash is not shown again.
    pub read: Option<Slot>,
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
        }
    }
}

/// How a driver is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Messages in the inbox.
    pub waiting: usize,
    /// Bytes that these are encoded in. In memory a point takes twice as many.
    pub bytes: usize,
    /// Messages that were dropped since the start, for their sender's places or bytes were taken.
    pub dropped: u64,
    /// Jobs that are on the pool, or that it has lost.
    pub jobs: usize,
    /// Jobs that were handed out again since the start.
    pub repeated: u64,
    /// Events that nobody has read.
    pub unread: usize,
    /// The next slot to be revealed.
    pub head: Slot,
    /// The highest slot that the engine has reported as final; `None` before the first report. If it moves and
    /// [`head`](Self::head) does not, a slot was not reported, or its partials do not arrive.
    pub last_final: Option<Slot>,
}
