//! The way from the process to the engine: what its driver's effects say of values, transactions and
//! committees.
use std::sync::Arc;

use prefinal_beacon::{Path, Reveal, Slot};
use prefinal_crypto_core::context::EpochId;
use prefinal_driver::StopReason;
use prefinal_validator::Event;
use prefinal_validator::extra::ExtraChannels;
use prefinal_validator::participant::Effect;
use prefinal_validator::scheme::KeyedScheme;
use prefinal_validator::setup::Setup;

use crate::board::Board;
use crate::error::CallError;
use crate::proto::{self, Key, Revealed};

/// Why something for the engine is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeedError {
    /// More transactions wait to be ordered than a party can have: the engine orders nothing.
    #[error(
        "{waiting} transactions wait to be ordered, with this one {bytes} bytes, at most {limit} may"
    )]
    TooManyTransactions {
        /// Number of transactions that wait.
        waiting: usize,
        /// The bytes of all of them, and of the one that is refused.
        bytes: usize,
        /// The most bytes that may wait.
        limit: usize,
    },
}

impl FeedError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooManyTransactions { .. } => "queue-full",
        }
    }
}

/// The process's end of the streams. No call waits, for no reader; what is kept is bounded. Clones are
/// handles of the same feed. When the last one is dropped, all streams end.
#[derive(Clone)]
pub struct Feed {
    end: Arc<End>,
}

/// Ends the streams when it is dropped.
struct End {
    board: Arc<Board>,
    first_epoch: EpochId,
}

impl Drop for End {
    fn drop(&mut self) {
        self.board.stop(CallError::ShutDown);
    }
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

impl Feed {
    pub(crate) fn new(board: Arc<Board>, first_epoch: EpochId) -> Self {
        Self { end: Arc::new(End { board, first_epoch }) }
    }

    /// Takes from an effect of the driver what is for the engine, if anything. Call it with every effect, in
    /// order. Messages to other parties are the caller's.
    ///
    /// # Errors
    /// See [`Self::submit`].
    pub fn effect<S: KeyedScheme, L: ExtraChannels>(
        &self,
        effect: &Effect<S, L>,
    ) -> Result<(), FeedError> {
        match effect {
            Effect::Prepare { setup, first } => self.prepare(setup, *first),
            Effect::Enter { setup, .. } => self.entered(setup.context.epoch),
            Effect::Submit { epoch, transaction } => return self.submit(*epoch, transaction),
            Effect::Tell(Event::Ready { epoch, first_slot, committees }) => {
                self.ready::<S>(*epoch, *first_slot, &committees.slow);
            }
            Effect::Tell(Event::Revealed(reveal)) => self.revealed(reveal),
            Effect::Tell(Event::Skipped(slot)) => self.skipped(*slot),
            Effect::Tell(Event::Halted(why)) => {
                self.stopped(StopReason::Halted(why.to_string()));
            }
            _ => {}
        }
        Ok(())
    }

    /// The committee of the next epoch and its first slot are known.
    pub fn prepare(&self, setup: &Setup, first: Slot) {
        self.end.board.change(|shown| shown.committees.prepare(setup, first));
    }

    /// All slots before this epoch are final.
    pub fn entered(&self, epoch: EpochId) {
        self.end.board.change(|shown| shown.orders.entered(epoch));
    }

    /// The engine must order this transaction.
    ///
    /// # Errors
    /// If too much waits. The party cannot make its keys then: the engine orders nothing that it is given.
    pub fn submit(&self, epoch: EpochId, transaction: &[u8]) -> Result<(), FeedError> {
        self.end.board.change(|shown| shown.orders.submit(epoch, transaction))
    }

    /// The keys of an epoch suffice.
    pub fn ready<S: KeyedScheme>(
        &self,
        epoch: EpochId,
        first_slot: Slot,
        committee: &S::Committee,
    ) {
        let public_key = S::public_key(committee);
        let public_key = public_key.map_or_else(Vec::new, |key| key.to_bytes().to_vec());
        let key = Key { epoch: epoch.get(), first_slot: first_slot.get(), public_key };
        let is_first = epoch == self.end.first_epoch;
        self.end.board.change(|shown| {
            shown.values.key(key, is_first);
            shown.orders.ready(epoch);
        });
    }

    /// A slot has its value. Slots come in order. After a restart, a process with an archive first gives what
    /// it has there, from the oldest slot on that the engine may ask for; otherwise `Values` begins with the
    /// first slot that is revealed.
    pub fn revealed<S: KeyedScheme>(&self, reveal: &Reveal<S>) {
        let signature = S::signature(&reveal.output);
        let revealed = Revealed {
            randomness: reveal.randomness().to_vec(),
            round: reveal.round.map(prefinal_crypto_core::drand::RoundNumber::get),
            signature: signature.map_or_else(Vec::new, |signature| signature.to_bytes().to_vec()),
            value: reveal.value.map_or_else(Vec::new, |value| value.to_bytes().to_vec()),
            path: path(reveal.path).into(),
            key: None,
        };
        self.end.board.change(|shown| shown.values.reveal(reveal.slot, revealed));
    }

    /// A slot has no value.
    pub fn skipped(&self, slot: Slot) {
        self.end.board.change(|shown| shown.values.skip(slot));
    }

    /// The driver has stopped: all streams end with the reason, and no call is taken any more. A call that
    /// the driver refuses does the same.
    pub fn stopped(&self, why: StopReason) {
        self.end.board.stop(why.into());
    }
}

const fn path(path: Path) -> proto::Path {
    match path {
        Path::Slow => proto::Path::Slow,
        Path::Fast => proto::Path::Fast,
        Path::Tight => proto::Path::Tight,
    }
}
