//! The inputs and outputs of a validator.
use ::prefinal_beacon::stack::Envelope;
use ::prefinal_beacon::{Life, Slot};
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_engine::{Block, Engine, PastVotes, Work};
use prefinal_protocol::Recipient;

use crate::application::ChainApplication;
use crate::event::{Event, StartError};
use crate::extra::ExtraChannels;
use crate::participant;
use crate::scheme::KeyedScheme;
use crate::setup::{Identity, Setup};

/// The messages between validators.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub enum Message<S: KeyedScheme, M, L: ExtraChannels = ()> {
    /// A message between engines of this epoch.
    Engine(EpochId, M),
    /// A message between beacons of this epoch.
    Beacon(
        EpochId,
        #[borsh(bound(serialize = "", deserialize = ""))] ::prefinal_beacon::Message<S>,
    ),
    /// The sender is behind: it heard of a later epoch, and asks what is final in this slot.
    Ask {
        /// The first slot that is not final at the sender.
        slot: Slot,
    },
    /// The answer: what is final in the slot at the sender.
    Final {
        /// The slot that was asked for.
        slot: Slot,
        /// Its block; `None` if it was skipped.
        block: Option<Block>,
    },
    /// Messages of the channels beside the beacon.
    Beside(#[borsh(bound(serialize = "", deserialize = ""))] Envelope<(S, L)>),
}

/// A record. It must be durable before anything that follows it leaves.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub enum Record<R, T = ()> {
    /// Written by the engine of an epoch.
    Engine(EpochId, R),
    /// Written by the participant around the engine.
    Participant(participant::Record),
    /// Written by the application.
    Application(T),
}

/// Work for a pool of threads.
pub enum Job<S: KeyedScheme, J, A: ChainApplication = ()> {
    /// Checking signatures for an epoch's engine.
    Engine(EpochId, J),
    /// Work on dealings, keys and partials.
    Participant(participant::Job<S, A::Channels>),
    /// Work of the application.
    Application(A::Job),
}

/// The result of a [`Job`].
pub enum Verdict<S: KeyedScheme, V, A: ChainApplication = ()> {
    /// Signatures of an epoch's engine were checked.
    Engine(EpochId, V),
    /// Dealings were made or checked, keys opened, or partials combined.
    Participant(participant::Verdict<S, A::Channels>),
    /// A job of the application has ended.
    Application(A::Verdict),
}

/// What the driver tells a validator.
pub enum Input<S: KeyedScheme, E: Engine, A: ChainApplication = ()> {
    /// The driver is ready.
    Start,
    /// A peer's message, from an authenticated link.
    Received {
        /// The peer at the other end of the link.
        from: Party,
        /// The message, not checked yet.
        message: Message<S, E::Message, A::Channels>,
    },
    /// Have this transaction ordered: one that changes the committee ([`crate::change`]), or one of the chain
    /// itself. It is offered to later engines too, as long as it can count.
    Submit(Vec<u8>),
    /// A job that was asked for has ended.
    Checked(Verdict<S, E::Verdict, A>),
    /// The time of `wake_at` has come.
    Tick,
    /// The network has room for more now, see [`Engine::idle`].
    Idle,
    /// The engine may use so many bytes of memory more, see [`Engine::memory`].
    Memory(u64),
}

/// What a validator wants done, in this order. See [`Effect`].
pub type Output<S, E, A = ()> = prefinal_protocol::Output<RecordOf<E, A>, Effect<S, E, A>>;

/// A record of a validator with this engine and application.
pub type RecordOf<E, A = ()> = Record<<E as Engine>::Record, <A as ChainApplication>::Record>;

/// What is left of a validator from the process before.
pub struct PastLife<E: Engine, A: ChainApplication> {
    /// Whether it may have released something before that its records do not show.
    pub life: Life,
    /// Its records, oldest first. Those of the application are its own matter.
    pub records: Vec<RecordOf<E, A>>,
    /// The application, which continues where its records end.
    pub application: A,
}

/// What a validator wants done, except for its records.
pub enum Effect<S: KeyedScheme, E: Engine, A: ChainApplication = ()> {
    /// Send this message over authenticated links.
    Send {
        /// One party, or all others.
        to: Recipient<Party>,
        /// The message to send.
        message: Message<S, E::Message, A::Channels>,
    },
    /// Run this job and return its verdict as [`Input::Checked`].
    Run(Job<S, E::Job, A>),
    /// Tell this to logs, statistics and checkers.
    Tell(Event<S>),
    /// Tell this of the application's work.
    Application(A::Event),
}

/// Starts this party's engine of an epoch. The engine continues where its records of that epoch end.
///
/// # Errors
/// If the engine refuses its configuration or its records.
pub type Begin<E> =
    fn(&Setup, &Identity, Vec<<E as Engine>::Record>) -> Result<(E, PastVotes), StartError>;

impl<S: KeyedScheme, J: Work, A: ChainApplication> Job<S, J, A> {
    /// Does the work. Which secrets it uses is said at the kinds of jobs.
    #[must_use]
    pub fn run(self, identity: &Identity, workers: &A::Workers) -> Verdict<S, J::Verdict, A> {
        match self {
            Self::Engine(epoch, job) => Verdict::Engine(epoch, job.run()),
            Self::Participant(job) => Verdict::Participant(job.run(identity)),
            Self::Application(job) => Verdict::Application(A::run(job, workers)),
        }
    }
}
