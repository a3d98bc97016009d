//! What a replica must not forget in a crash, and how it is read again.
use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::Slot;

use crate::records::{Record as OrderRecord, Records};
use crate::replica::checkpoint::CertifiedStatement;
use crate::replica::history::{Change, Newcomer};

/// What must survive a crash.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum ReplicaRecord {
    /// A record of the ordering.
    Order(OrderRecord),
    /// A certified checkpoint with its state. Of what came before it little is needed any more, see
    /// [`ReplicaRecord::retain`].
    Checkpoint(CertifiedStatement, Vec<u8>),
    /// A change of the committee that a quorum has certified. It is kept for good: a peer may have slept since
    /// the one before.
    Change(Change),
}

impl ReplicaRecord {
    /// The records that a restart needs: the last checkpoint, what came after it, all changes of the
    /// committee, and of what came before the checkpoint the batches that may still be ordered, since this
    /// party has acknowledged them, and decisions of later heights, for a peer that has certified the
    /// checkpoint earlier may be ahead.
    #[must_use]
    pub fn retain(mut records: Vec<Self>) -> Vec<Self> {
        let last = records.iter().rposition(|record| matches!(record, Self::Checkpoint(..)));
        let later = records.split_off(last.unwrap_or(0));
        let first = match later.first() {
            Some(Self::Checkpoint(certified, _)) => certified.statement.slot,
            _ => Slot::new(0),
        };
        records.retain(|record| match record {
            Self::Order(record) => record.reaches(first),
            Self::Checkpoint(..) => false,
            Self::Change(_) => true,
        });
        records.extend(later);
        records
    }
}

/// What the records of earlier lives say.
#[derive(Debug, Default)]
pub(super) struct EarlierLives {
    /// What the ordering has kept.
    pub(super) ordering: Records,
    /// The last checkpoint and its state.
    pub(super) checkpoint: Option<(CertifiedStatement, Vec<u8>)>,
    /// The changes of the committee, by their epochs.
    pub(super) changes: BTreeMap<u64, Change>,
    /// Present if this party joins and has no state yet.
    pub(super) newcomer: Option<Newcomer>,
}

impl EarlierLives {
    pub(super) fn read(records: impl IntoIterator<Item = ReplicaRecord>) -> Self {
        let mut lives = Self::default();
        for record in records {
            match record {
                ReplicaRecord::Order(record) => lives.ordering.apply(record),
                ReplicaRecord::Checkpoint(certified, state) => {
                    lives.checkpoint = Some((certified, state));
                }
                ReplicaRecord::Change(change) => {
                    lives.changes.insert(change.epoch(), change);
                }
            }
        }
        lives
    }
}
