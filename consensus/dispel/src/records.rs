//! What survives a crash: nothing that was said may be said differently afterwards.
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::{Party, Slot};

use crate::batch::{Batch, StageOutcome, TransactionId};
use crate::message::Step;

/// A record of the engine.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Record {
    /// A batch is here: this party's own before it leaves, another one before it is echoed or counts as decided.
    Stored {
        /// The stage that the batch is proposed in.
        stage: Slot,
        /// Whose batch it is.
        proposer: Party,
        /// The batch with all its transactions.
        batch: Batch,
    },
    /// This party says something in a stage.
    Said {
        /// The stage that is voted in.
        stage: Slot,
        /// The votes, as they leave in one message.
        steps: Vec<Step>,
    },
    /// A stage is decided.
    Decided {
        /// The stage that is decided.
        stage: Slot,
        /// The batches in it.
        outcome: StageOutcome,
    },
    /// The block of a stage was reported. Need not be durable: a report may be repeated.
    Finalized(Slot),
    /// Others have ordered this in a stage while this party was away.
    Ordered {
        /// The stage of their block.
        stage: Slot,
        /// Its transactions, which are not ordered again for a while.
        transactions: Vec<TransactionId>,
    },
    /// The stages up to this one are over, as others have shown, and what they ordered lately is on record.
    Adopted(Slot),
}
