//! The last transaction of a block for a chain: a note of what its transactions do not tell.
//!
//! ```text
//! NOTE (1 byte) ‖ Borsh of: height ‖ batches ordered at the height ‖ transactions that it repeats
//! ```
//! A block is reported without what was ordered before, and without its batches. Both decide what later heights
//! order. The note says both, so a store of blocks has all that the order depends on. It follows from the order, so
//! all parties write the same one; a block without batches has none. Only the last transaction of a block is read as a
//! note, so one of a client that looks like it is a transaction like any other.
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::Slot;

use crate::batch::{BatchId, MAX_TRANSACTIONS};
use crate::block::{Transaction, TransactionId};
use crate::message::MAX_BATCHES;

/// First byte of a note. What a chain executes begins with `0xe0`, and its key generations with 0, 1 and 2.
pub const NOTE: u8 = 0xe1;

/// The longest note: the byte, the height, two lengths, and as many names as a block may have.
pub(crate) const MAX_NOTE: usize = 1 + 8 + 2 * 4 + 32 * MAX_BATCHES * (1 + MAX_TRANSACTIONS);

/// What stands at a height, by its names.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct HeightContents {
    slot: Slot,
    batches: Vec<BatchId>,
    transactions: Vec<TransactionId>,
}

impl HeightContents {
    pub(crate) const fn new(
        slot: Slot,
        batches: Vec<BatchId>,
        transactions: Vec<TransactionId>,
    ) -> Self {
        Self { slot, batches, transactions }
    }

    /// The height at which these stand.
    #[must_use]
    pub const fn slot(&self) -> Slot {
        self.slot
    }

    /// The batches that are ordered at the height and were not ordered before.
    #[must_use]
    pub fn batches(&self) -> &[BatchId] {
        &self.batches
    }

    /// The transactions in them; in a note those of them that the block leaves out, for they were ordered before.
    pub(crate) fn transactions(&self) -> &[TransactionId] {
        &self.transactions
    }

    /// The same height without its transactions.
    pub(crate) fn without_transactions(self) -> Self {
        Self { transactions: Vec::new(), ..self }
    }

    /// The transaction behind all others of the block; `None` if it has no batches.
    pub(crate) fn to_note(&self) -> Option<Arc<[u8]>> {
        // Writing into memory cannot fail.
        let bytes = borsh::to_vec(&(NOTE, self)).ok()?;
        (!self.batches.is_empty()).then(|| bytes.into())
    }

    /// What stands at a height by the transactions of its block, in any order but for the last one; `None` if that is
    /// not the height's note.
    pub(crate) fn of_block(slot: Slot, transactions: &[Arc<[u8]>]) -> Option<Self> {
        let Some((note, delivered)) = transactions.split_last() else {
            return Some(Self::new(slot, Vec::new(), Vec::new()));
        };
        let (mark, mut contents): (u8, Self) = borsh::from_slice(note).ok()?;
        let delivered = delivered.iter().map(|bytes| Transaction::new(Arc::clone(bytes)).id());
        contents.transactions.extend(delivered);
        (mark == NOTE && contents.slot == slot).then_some(contents)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Arc<[u8]> {
        Arc::from(text.as_bytes())
    }

    fn id(text: &str) -> TransactionId {
        Transaction::new(bytes(text)).id()
    }

    #[test]
    fn a_block_and_its_note_say_what_stands_at_the_height() {
        let (slot, batch) = (Slot::new(7), BatchId::new([3; 32]));
        let contents = HeightContents::new(slot, vec![batch], vec![id("old")]);
        let note = contents.to_note().unwrap();
        let read = |all: &[Arc<[u8]>]| HeightContents::of_block(slot, all);
        let all = vec![id("old"), id("a"), id("b")];
        let whole = HeightContents::new(slot, vec![batch], all);
        assert_eq!(read(&[bytes("a"), bytes("b"), note.clone()]), Some(whole));
        // A note in another place is a transaction.
        assert_eq!(read(&[note.clone(), bytes("a")]), None);
        let twice = read(&[note.clone(), note.clone()]).unwrap();
        assert_eq!(twice.transactions.len(), 2);
        let empty = HeightContents::new(slot, Vec::new(), Vec::new());
        assert_eq!((empty.to_note(), read(&[])), (None, Some(empty)));
        // Of another height, of another kind, cut off, or longer.
        assert_eq!(HeightContents::of_block(slot.next(), std::slice::from_ref(&note)), None);
        for damaged in [
            [&[NOTE ^ 1], &note[1..]].concat(),
            note[..note.len() - 1].to_vec(),
            [&note[..], &[0]].concat(),
            vec![NOTE],
            Vec::new(),
        ] {
            assert_eq!(read(&[damaged.into()]), None);
        }
    }

    #[test]
    fn the_longest_note_is_as_long_as_said() {
        let batches = vec![BatchId::new([3; 32]); MAX_BATCHES];
        let all = vec![id("x"); MAX_BATCHES * MAX_TRANSACTIONS];
        let note = HeightContents::new(Slot::new(1), batches, all).to_note();
        assert_eq!(note.map(|bytes| bytes.len()), Some(MAX_NOTE));
    }
}
