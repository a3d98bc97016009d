//! How a sidecar carries partials, and its limits.
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use prefinal_beacon::stack::Envelope;
use prefinal_protocol::Slot;
use prefinal_validator::extra::ExtraChannels;
use prefinal_validator::scheme::KeyedScheme;
use prefinal_validator::setup::Setup;

/// A message between the parties of scheme `S` with channels `L` beside it, in Borsh's encoding on the wire.
pub type Message<S, L = ()> = Envelope<(S, L)>;

/// What carries partials that are released with a vote to the other parties.
pub enum PartialCarrier<S: KeyedScheme, L: ExtraChannels = ()> {
    /// In the vote: the engine gets them as the answer, and calls `Receive` with those of its peers.
    Vote,
    /// Over this process's own links: the function sends to all other parties. It is called when the record
    /// is durable and before the engine has the answer, on a thread that may wait; it should not.
    Links(Arc<dyn Fn(Message<S, L>) + Send + Sync>),
}

impl<S: KeyedScheme, L: ExtraChannels> Clone for PartialCarrier<S, L> {
    fn clone(&self) -> Self {
        match self {
            Self::Vote => Self::Vote,
            Self::Links(send) => Self::Links(Arc::clone(send)),
        }
    }
}

impl<S: KeyedScheme, L: ExtraChannels> fmt::Debug for PartialCarrier<S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vote => "Vote",
            Self::Links(_) => "Links",
        })
    }
}

/// The configuration of a sidecar.
#[derive(Debug)]
pub struct Options<S: KeyedScheme, L: ExtraChannels = ()> {
    /// How partials that are released with a vote reach the others.
    pub carry: PartialCarrier<S, L>,
    /// The attempt whose votes release, as the participant's `Host` has it. Only the reasons of refusals are
    /// computed from it here.
    pub fast_attempt: Option<u32>,
    /// The first slot of the chain.
    pub first: Slot,
    /// The most bytes that the transactions of a final block may have.
    pub max_block_bytes: usize,
    /// How many slots `Values` can go back. A slot takes some 400 bytes.
    pub values: NonZeroUsize,
    /// How many calls of the engine work at once, and as many `Receive` beside them. More wait.
    pub calls: NonZeroUsize,
    /// How many streams may be open. More are refused.
    pub streams: NonZeroUsize,
    /// How many connections may be open. More wait for one to close.
    pub connections: NonZeroUsize,
}

const fn count(number: usize) -> NonZeroUsize {
    match NonZeroUsize::new(number) {
        Some(number) => number,
        None => NonZeroUsize::MIN,
    }
}

impl<S: KeyedScheme, L: ExtraChannels> Options<S, L> {
    /// The usual limits: partials leave in votes, the chain begins at slot 1, and blocks are as long as the
    /// set-up says.
    #[must_use]
    pub fn new(setup: &Setup, fast_attempt: Option<u32>) -> Self {
        Self {
            carry: PartialCarrier::Vote,
            fast_attempt,
            first: Slot::new(1),
            max_block_bytes: setup.max_block_bytes,
            values: count(4096),
            calls: count(16),
            streams: count(64),
            connections: count(16),
        }
    }
}
