//! How a party that was away goes on behind blocks that others have shown, and how one that restarts learns what was
//! ordered: both from what is at hand of the heights before.
//!
//! What is ordered next depends on three things:
//!
//! | what                                                          | a block shows it by                              |
//! |---------------------------------------------------------------|--------------------------------------------------|
//! | which batches the last 1024 heights have ordered              | its [note](crate::note)                          |
//! | in which of the last 256 heights each transaction stood last  | its transactions, and its note for those it repeats |
//! | which leaders have failed, epoch by epoch                     | its height: one without a block has failed       |
//!
//! The third depends on all heights of the chain. So the party is shown all that it has not reported itself, and keeps of
//! the older ones only which they are. A height that neither its own records nor the blocks know was skipped.
//!
//! Names of clients and their numbers are no part of it: an engine of a chain tells transactions apart by their hashes
//! ([`Identification::Hashes`](crate::Identification)), for numbers that were used would have to be shown for ever.
//!
//! A note that differs from what was ordered would part this party from its peers. The host has it from a store whose
//! every block is certified by a quorum; if a block has no note of its height, the store is damaged, and there are no
//! records. A block's value is a hash over more than a note says, so it is not compared.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ::prefinal_engine::FinalBlock;
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::Slot;

use crate::batch::BatchId;
use crate::block::{Body, skipped};
use crate::engine::Trantor;
use crate::note::HeightContents;
use crate::order::BATCHES_KEPT;
use crate::records::{KEPT, Record};

/// Heights in a row that have blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Run {
    /// The first of them.
    pub first: Slot,
    /// The last of them.
    pub last: Slot,
}

/// Blocks that others have shown, as far as later heights depend on them.
#[derive(Default)]
struct Shown {
    runs: Vec<Run>,
    /// Heights whose batches count still, and those whose transactions do as well.
    older: VecDeque<HeightContents>,
    recent: VecDeque<HeightContents>,
}

impl Shown {
    /// Takes the next block; `None` if it does not come behind the last one.
    fn take(&mut self, contents: HeightContents) -> Option<()> {
        let slot = contents.slot();
        match self.runs.last_mut() {
            Some(run) if run.last >= slot => return None,
            Some(run) if run.last.next() == slot => run.last = slot,
            _ => self.runs.push(Run { first: slot, last: slot }),
        }
        self.recent.push_back(contents);
        let is_over = |kept: u64| move |one: &mut HeightContents| one.slot().after(kept) <= slot;
        while let Some(contents) = self.recent.pop_front_if(is_over(KEPT)) {
            self.older.push_back(contents.without_transactions());
        }
        while self.older.pop_front_if(is_over(BATCHES_KEPT)).is_some() {}
        Some(())
    }
}

/// The records behind these blocks, see [`Engine::adopted`](::prefinal_engine::Engine::adopted). None if there are no
/// blocks, or one lacks its note.
pub(crate) fn adopted(mut blocks: impl Iterator<Item = FinalBlock>) -> Vec<Record> {
    let mut shown = Shown::default();
    let all = blocks.try_for_each(|FinalBlock { slot, block }| {
        shown.take(HeightContents::of_block(slot, &block.transactions)?)
    });
    let Shown { runs, older, recent } = shown;
    if all.is_none() || runs.is_empty() {
        return Vec::new();
    }
    let shown = older.into_iter().chain(recent).map(Record::Shown);
    // The last one, for it says that all are there.
    shown.chain([Record::Adopted(runs)]).collect()
}

impl Trantor {
    /// Takes the blocks of earlier lives and of what others have shown, and what they ordered.
    pub(crate) fn remember(
        &mut self,
        bodies: BTreeMap<Slot, Vec<Body>>,
        shown: &BTreeMap<Slot, HeightContents>,
    ) {
        for (slot, bodies) in bodies {
            for body in bodies {
                let value = body.value(self.committee.context(), slot);
                self.bodies.entry(slot).or_default().insert(value, body);
            }
        }
        let own = self.decided.range(..self.unreported).map(|(slot, _)| *slot);
        let slots: BTreeSet<Slot> = own.chain(shown.keys().copied()).collect();
        for slot in slots {
            if let Some(contents) = shown.get(&slot) {
                self.ordered.take_shown(contents);
                continue;
            }
            let decided = self.decided.get(&slot).map(|certificate| certificate.value);
            let bodies = self.bodies.get(&slot);
            let body = decided.and_then(|value| bodies.and_then(|bodies| bodies.get(&value)));
            let Some(body) = body else { continue };
            let ids: Vec<BatchId> = body.batches().map(|batch| batch.id).collect();
            let _reported = self.ordered.take_block(slot, ids.into_iter(), &self.store);
        }
    }

    /// Goes on behind these heights, the runs by their first ones.
    pub(crate) fn pass_over(&mut self, runs: &BTreeMap<Slot, Slot>) {
        let Some(last) = runs.values().max().copied() else { return };
        while self.next <= last {
            let is_shown = runs.range(..=self.next).any(|(_, last)| self.next <= *last);
            let decided = self.decided.get(&self.next).map(|certificate| certificate.value);
            self.pass(decided.map_or(!is_shown, |value| value == skipped(self.next)));
            if self.next >= self.schedule.end() {
                self.turn_epoch();
            }
        }
        // It votes at none of these any more.
        self.promises = self.promises.split_off(&last.next());
    }
}
