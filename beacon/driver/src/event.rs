//! What the engine reads, and why calls are refused.
use beacon::{Fault, Message, Refusal, Reveal, Scheme, Slot};
use crypto_core::access::Party;
use journal::JournalError;
use protocol::Recipient;

/// What a beacon wants done or has to say, in this order.
#[derive(Clone, Debug)]
pub enum Event<S: Scheme> {
    /// Send this. Its record is durable.
    Send {
        /// To whom.
        to: Recipient<Party>,
        /// What.
        message: Message<S>,
    },
    /// The next slot's output.
    Reveal(Box<Reveal<S>>),
    /// The next slot was skipped and has no output.
    Skipped {
        /// The slot.
        slot: Slot,
    },
    /// The next slot has no output, for the beacon was switched off.
    Off {
        /// The slot.
        slot: Slot,
    },
    /// A peer lacks outputs that the beacon keeps no more: send it what an archive has of these, by
    /// [`Reveal::message`]. Without an archive do nothing, other peers are asked too.
    Lookup {
        /// Whom to send it to.
        to: Party,
        /// Outputs of which slots.
        slots: Vec<Slot>,
    },
    /// A peer did wrong.
    Accuse {
        /// Who.
        party: Party,
        /// What, with the evidence.
        fault: Fault<S>,
    },
    /// A callback led to nothing.
    Refused(Refusal),
}

/// Why a driver takes nothing any more.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Stopped {
    /// It was asked to.
    #[error("the driver was shut down")]
    ShutDown,
    /// The journal failed: nothing may leave that could be forgotten. Restart from what is stored.
    #[error("the driver stopped: {0}")]
    Journal(#[from] JournalError),
    /// Nobody reads its events, so nothing that it promises could be sent.
    #[error("the driver stopped: nobody reads its events")]
    Unheard,
    /// A call panicked in the middle of a step.
    #[error("the driver stopped: a thread panicked inside of it")]
    Panicked,
}

/// Why a peer's message was not taken. It is not the peer's fault, except for the first.
///
/// [`Full`](Self::Full) and [`TooLarge`](Self::TooLarge) are back-pressure and no failure: let the message
/// go and read on. What the protocol needs of it, it asks for again.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MessageError {
    /// Not one of the committee.
    #[error("{from} is not among the {members} parties of the committee")]
    NotMember {
        /// Who sent it.
        from: Party,
        /// How many there are.
        members: usize,
    },
    /// The message is dropped: what this peer sent before waits still.
    #[error("{waiting} messages of {from} wait already, at most {limit} may")]
    Full {
        /// Who sent it.
        from: Party,
        /// How many of its messages wait.
        waiting: usize,
        /// How many may.
        limit: usize,
    },
    /// The message is dropped: with what this peer sent before it is too much.
    #[error("message of {got} bytes, {waiting} bytes of {from} wait already, at most {limit} may")]
    TooLarge {
        /// Who sent it.
        from: Party,
        /// How many bytes it has.
        got: usize,
        /// How many bytes of its messages wait.
        waiting: usize,
        /// How many may.
        limit: usize,
    },
    /// Nothing is taken any more.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}
