//! What happens to a follower, and what it wants done.
use std::fmt;

use prefinal_execution::{Committed, Executor};
use prefinal_light::EpochEnding;

use crate::check::{CheckJob, CheckVerdict};
use crate::fault::{Fault, StopReason};
use crate::peers::PeerId;
use crate::persist::{StoreJob, StoreVerdict};
use crate::process::{ExecuteJob, ExecuteVerdict};
use crate::trust::Trust;
use crate::wire::Ask;

/// What the host tells a follower.
pub enum Input<X: Executor, T: Trust> {
    /// There is a link to this peer.
    Connected(PeerId),
    /// The link is gone.
    Disconnected(PeerId),
    /// A peer's message, whole. Hosts refuse those that are longer than
    /// [`Follower::longest`](crate::Follower::longest) while they come.
    Received {
        /// The peer at the other end of the link.
        peer: PeerId,
        /// The message, as its sender has encoded it.
        bytes: Vec<u8>,
    },
    /// An answer is verified.
    Checked(CheckVerdict<X, T>),
    /// A block is executed, or its delta applied.
    Executed(ExecuteVerdict<X, T::Certificate>),
    /// The store has done its job.
    Stored(StoreVerdict),
    /// The time is over that the follower wanted to be woken at.
    Tick,
}

/// What a follower wants the host to do.
pub enum Effect<X: Executor, T: Trust, N> {
    /// Carry a message to a peer.
    Send {
        /// The peer that the message is for.
        peer: PeerId,
        /// The message, to be carried whole.
        bytes: Vec<u8>,
    },
    /// To a pool, with others; the verdict comes back as [`Input::Checked`].
    Check(Box<CheckJob<X, T, N>>),
    /// To a pool; the verdict comes back as [`Input::Executed`]. There is one at a time.
    Execute(Box<ExecuteJob<X, T::Certificate>>),
    /// To the thread of the store; the verdict comes back as [`Input::Stored`]. There is one at a time.
    Store(Box<StoreJob<X, T::Certificate>>),
    /// The peer did wrong: close the link, and open none to it.
    Ban(Misconduct),
    /// This block is durable.
    Committed {
        /// The block, with the roots that are certified.
        committed: Committed,
        /// How many transactions came with it; none with a state that is fetched whole.
        transactions: usize,
    },
    /// Nothing is done any more.
    Stopped(StopReason),
}

/// What a peer did wrong, and in answer to what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misconduct {
    /// The peer that is banned for it.
    pub peer: PeerId,
    /// What it was asked for: if a block of several was found false later, as if that one alone had been. `None` if the
    /// message answers no request.
    pub ask: Option<Ask>,
    /// The check that failed.
    pub fault: Fault,
}

/// An output of a follower. Endings are kept for ever, for peers that come later.
pub type Output<X, T, N> = prefinal_protocol::Output<EpochEnding, Effect<X, T, N>>;

impl<X: Executor, T: Trust, N> fmt::Debug for Effect<X, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send { peer, bytes } => {
                let bytes = bytes.len();
                f.debug_struct("Send").field("peer", peer).field("bytes", &bytes).finish()
            }
            Self::Check(_) => f.write_str("Check"),
            Self::Execute(_) => f.write_str("Execute"),
            Self::Store(_) => f.write_str("Store"),
            Self::Ban(misconduct) => f.debug_tuple("Ban").field(misconduct).finish(),
            Self::Committed { committed, transactions } => {
                let mut shown = f.debug_struct("Committed");
                shown.field("committed", committed).field("transactions", transactions).finish()
            }
            Self::Stopped(reason) => f.debug_tuple("Stopped").field(reason).finish(),
        }
    }
}
