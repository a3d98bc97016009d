//! From one committee to the next: what a chain writes into its state, and what a client is shown of it.
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::Certificate;
use prefinal_protocol::{ChainId, EpochId, Slot};
use prefinal_state::proof::{StateKey, StateProof};

use crate::block::CertifiedBlock;
use crate::members::{MemberChanges, MemberList};

/// The kind of an epoch's row, see [`StateKey::new`].
const EPOCH: u8 = 6;

/// The row of the state in which a chain announces an epoch, while the epoch before it runs.
///
/// The chain writes it once, when the next committee and its first slot are final, and never changes it. Nothing
/// else may write rows of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct EpochRow {
    /// The epoch that is announced.
    pub epoch: EpochId,
    /// The first slot whose state the committee certifies.
    pub first: Slot,
    /// The committee, by [`MemberList::id`].
    pub members: [u8; 32],
}

/// What a client trusts from the start: an epoch of a chain, with its committee. That of the first epoch comes
/// from the genesis, a later one from somebody who followed the chain. 80 bytes, 82 when encoded.
///
/// ```compile_fail,E0308
/// let waypoint: prefinal_light::Waypoint = prefinal_light::MemberList::default();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Waypoint {
    /// The chain that is followed.
    pub chain: ChainId,
    /// The epoch and its committee.
    pub epoch: EpochRow,
}

/// Shows the next committee to somebody who knows the committee of an epoch: a block of the epoch whose certified
/// state announces it.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct EpochEnding {
    /// Any block of the epoch that is behind the announcement.
    pub block: CertifiedBlock<Certificate<MinSig>>,
    /// The first slot of the next epoch.
    pub first: Slot,
    /// How the next committee differs from this one.
    pub changes: MemberChanges,
    /// Shows the next epoch's row in the state that the block leaves.
    pub proof: StateProof,
}

impl EpochRow {
    /// The row that announces this committee.
    #[must_use]
    pub fn new(epoch: EpochId, first: Slot, members: &MemberList) -> Self {
        Self { epoch, first, members: members.id() }
    }

    /// Where the row is in the state.
    #[must_use]
    pub fn key(&self) -> StateKey {
        Self::key_of(self.epoch)
    }

    /// Where the row of this epoch is in the state.
    #[must_use]
    pub fn key_of(epoch: EpochId) -> StateKey {
        StateKey::new(EPOCH, &epoch.get().to_be_bytes())
    }

    /// The row of this epoch, as [`to_row`](Self::to_row) writes it; `None` if it is none.
    #[must_use]
    pub fn from_row(epoch: EpochId, row: &[u8]) -> Option<Self> {
        let (first, members) = row.split_first_chunk()?;
        let first = Slot::new(u64::from_be_bytes(*first));
        Some(Self { epoch, first, members: members.try_into().ok()? })
    }

    /// The row's value: first slot (8, big-endian) ‖ [`MemberList::id`] (32).
    #[must_use]
    pub fn to_row(&self) -> [u8; 40] {
        let mut row = [0; 40];
        let bytes = self.first.get().to_be_bytes().into_iter().chain(self.members);
        row.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
        row
    }
}
