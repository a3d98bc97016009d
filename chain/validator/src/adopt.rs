//! A party that was away goes on behind a certified block that its store has from peers.
//!
//! Engines of its peers give the last blocks only, and their beacons the last values: a party that missed more is
//! never with them again by its own messages. So it follows the chain as a full node does, into its own store, with
//! everything verified, and then starts from its journal as after any crash. What is new are four records behind
//! those that are there:
//!
//! | record of        | says                                        | what is skipped                            |
//! |------------------|---------------------------------------------|--------------------------------------------|
//! | the engine       | this slot is final, with this value         | blocks that are final and older            |
//! | the beacon       | the slots up to this one were passed over   | values, which peers and archives have      |
//! | certificates     | the same of the states' certificates        | certificates: the store has them           |
//! | the application  | the order goes on behind this block         | executing what is stored                   |
//!
//! **Why this is safe.** A state is certified by a quorum's stake, which signs only what is final, so the block is
//! the one that the engine would have decided. No record is taken back: what the engine has promised, the beacon
//! has released and the pipeline has signed stays on record, and each of them refuses to contradict that. A slot
//! that is passed over is finished for the beacon, and nothing is released for it early. Peers that lack its partial
//! of such a slot get it when they ask: a value may be stuck there for want of it, and all values behind. A crash
//! between the store and the journal is repaired at the next start, by the same comparison.
//!
//! The record for certificates does not depend on the others: wherever the order goes on, states that the store has
//! are executed by nobody here again, so nobody here could say any more what their certificates are about.
//!
//! **What an engine has to be shown**, beside its own records ([`Engine::RECALLS`]):
//!
//! | engine    | of the past its rules look at                             | it is shown                          |
//! |-----------|-----------------------------------------------------------|--------------------------------------|
//! | Jolteon   | certified blocks behind the last final one                | the last block's name                |
//! | Malachite | nothing: each height is by itself                         | the last height                      |
//! | DISPEL    | what 256 stages have ordered, which is not ordered again  | the transactions of the last blocks  |
//! | Trantor   | which batches 1024 heights have ordered, in which of 256 heights each transaction stood last, and which leaders failed | it cannot be shown that: see its `adapter` |
//!
//! The store has those transactions that are executed. An engine may order others a second time, which nobody executes.
//!
//! **What engines still do by themselves**: all of them fetch what was decided a short while ago. It is how a party comes
//! from the last block of its store to the tip, how one that missed less comes back, and the only way on a chain that
//! executes nothing, while committees change, and on Trantor. Checkpoints and state transfer of Trantor's `Replica`
//! are for chains whose state is Trantor's application, without certificates of states by this crate. So nothing of that
//! is given up.
//!
//! **Where it is refused.** Blocks that decide on committees or make keys must be read, all of them. So the chain's
//! committee has to stay, and the party must have its keys. Where parties count by keys that they publish, it must have
//! on record that all have done so ([`participant::Record::KeysComplete`]).
use std::sync::Arc;

use ::prefinal_beacon::Record as BeaconRecord;
use ::prefinal_beacon::stack::Channel;
use prefinal_engine::{Block, Engine, FinalBlock};
use prefinal_execution::{Header, Height};
use prefinal_protocol::{EpochId, Slot, Value};

use crate::beacons::DEALT;
use crate::execution;
use crate::execution::marked;
use crate::participant;
use crate::scheme::KeyedScheme;
use crate::setup::Setup;
use crate::words::Record;

/// The channel of the states' certificates: the first beside the beacon.
const CERTIFICATES: Channel = Channel::new(1);

/// A record of a validator that executes its blocks.
type ExecutedRecord<E> = Record<<E as Engine>::Record, execution::Record>;

/// The committed blocks of a store.
pub trait StoredBlocks {
    /// The place of the block at this height; `None` if it cannot be read.
    fn header(&self, height: Height) -> Option<Header>;

    /// What is executed of the block at this height, in its order; `None` if it cannot be read.
    fn transactions(&self, height: Height) -> Option<Vec<Vec<u8>>>;
}

/// The records behind `records` with which a party goes on behind `committed`, the last block of its store. Make them
/// durable before it starts. None if it was there already.
pub fn adopted<S: KeyedScheme, E: Engine>(
    setup: &Setup,
    records: &[ExecutedRecord<E>],
    committed: Header,
    blocks: &impl StoredBlocks,
) -> Vec<ExecutedRecord<E>> {
    let (epoch, slot) = (setup.context.epoch, committed.slot);
    if committed.height == Height::GENESIS || !is_possible::<E>(setup) {
        return Vec::new();
    }
    let passed_over = |channel| {
        let own = records.iter().filter_map(|record| of_beacon(record, channel, epoch));
        let last = own.filter_map(handed_over).max();
        let first = last.map_or(Slot::new(0), Slot::next);
        let record = BeaconRecord::PassedOver { first, last: slot };
        let record = Record::Participant(participant::Record::Beacon(channel, epoch, record));
        (last < Some(slot)).then_some(record)
    };
    let ordered = records.iter().filter_map(|record| match record {
        Record::Application(execution::Record::Ordered { slot, .. }) => Some(*slot),
        Record::Application(execution::Record::Adopted(header)) => Some(header.slot),
        _ => None,
    });
    let ordered = ordered.max();
    let is_there = ordered.is_some_and(|ordered| ordered >= slot);
    let mut added: Vec<_> = passed_over(CERTIFICATES).into_iter().collect();
    // A beacon begins when the party has its keys.
    let has_keys = records.iter().any(|record| of_beacon(record, DEALT, epoch).is_some())
        && (S::keys_bytes(1, 1).is_none() || has_all_published(records, epoch));
    if is_there || !has_keys {
        return added;
    }
    // The engine of the first epoch counts slots as the chain does.
    let Some(engine) = shown::<E>(committed, ordered, blocks) else { return added };
    added.extend(engine.into_iter().map(|engine| Record::Engine(epoch, engine)));
    added.extend(passed_over(DEALT));
    // The last one, for it says that all are there.
    added.push(Record::Application(execution::Record::Adopted(committed)));
    added
}

/// The engine's records behind the last committed block; `None` if it cannot be shown all that it has to recall: of the
/// last slots, at least those behind the last one that was ordered here.
fn shown<E: Engine>(
    committed: Header,
    ordered: Option<Slot>,
    blocks: &impl StoredBlocks,
) -> Option<Vec<E::Record>> {
    let forgotten = Slot::new(committed.slot.get().saturating_sub(E::RECALLS?));
    let known = forgotten.max(ordered.unwrap_or(Slot::new(0)));
    let mut headers = vec![committed];
    while let Some(first) = headers.last().copied()
        && first.slot > known.next()
    {
        // The chain's first blocks are executed by nobody, and may have ordered what is not to be ordered again.
        let height = Height::new(first.height.get().checked_sub(1)?);
        let is_right = |header: &Header| header.height == height && height > Height::GENESIS;
        let header = blocks.header(height).filter(is_right)?;
        headers.push(header);
    }
    let block_of = |header: &Header| {
        let executed = blocks.transactions(header.height)?;
        let value = Value::new(header.id.to_bytes());
        let transactions = executed.iter().map(|one| Arc::from(marked(one))).collect();
        Some(FinalBlock { slot: header.slot, block: Block { value, transactions } })
    };
    let mut all_read = true;
    // One by one, for many blocks together may be large.
    let records = E::adopted(headers.iter().rev().map_while(|header| {
        let block = block_of(header);
        all_read &= block.is_some();
        block
    }));
    all_read.then_some(records)
}

/// Whether no later block can have a key of the epoch that counts.
fn has_all_published<R, A>(records: &[Record<R, A>], during: EpochId) -> bool {
    records.iter().any(|record| match record {
        Record::Participant(participant::Record::KeysComplete(epoch)) => *epoch == during,
        _ => false,
    })
}

/// What this record says of a channel's beacon in an epoch, if it is about that.
fn of_beacon<R, A>(record: &Record<R, A>, of: Channel, during: EpochId) -> Option<&BeaconRecord> {
    match record {
        Record::Participant(participant::Record::Beacon(channel, epoch, record)) => {
            ((*channel, *epoch) == (of, during)).then_some(record)
        }
        _ => None,
    }
}

/// The last slot whose output a beacon handed over or passed over, if its record says so.
const fn handed_over(record: &BeaconRecord) -> Option<Slot> {
    match record {
        BeaconRecord::Revealed { slot: last } | BeaconRecord::PassedOver { last, .. } => {
            Some(*last)
        }
        _ => None,
    }
}

/// Whether parties of a chain that begins with this set-up may pass over blocks at all.
#[must_use]
pub fn is_possible<E: Engine>(setup: &Setup) -> bool {
    E::RECALLS.is_some() && setup.succession.is_none()
}
