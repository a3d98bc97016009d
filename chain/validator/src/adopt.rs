//! A party that was away goes on behind a certified block that its store has from peers.
//!
//! Engines of its peers give the last blocks only, and their beacons the last values: a party that missed more is
//! never with them again by its own messages. So it follows the chain as a full node does, into its own store, with
//! everything verified, and then starts from its journal as after any crash. What is new are records behind those that
//! are there:
//!
//! | record of        | says                                        | what is skipped                            |
//! |------------------|---------------------------------------------|--------------------------------------------|
//! | key generations  | these transactions of theirs were ordered   | nothing: dealings are checked, keys opened |
//! | the engine       | this slot is final, with this value         | blocks that are final and older            |
//! | the beacon       | the slots up to this one were passed over   | values, of which peers keep the last ones  |
//! | certificates     | the same of the states' certificates        | certificates: the store has them           |
//! | the application  | the order goes on behind this block         | executing what is stored                   |
//!
//! **Why this is safe.** A state is certified by a quorum's stake, which signs only what is final, so the block is
//! the one that the engine would have decided. Over changes of the committee that takes that every committee since the
//! chain's first one has kept its keys, as for all that follow a chain. No record is taken back: what the engine has
//! promised, the beacon has released and the pipeline has signed stays on record, and each of them refuses to contradict
//! that. A slot that is passed over is finished for the beacon, and nothing is released for it early. Peers that lack its
//! partial of such a slot get it when they ask: a value may be stuck there for want of it, and all values behind. So the
//! beacon keeps the secrets of an epoch with such slots longer than others ([`prefinal_beacon::epochs`]). A crash between
//! the store and the journal, or behind any of these records, is repaired at the next start, by the same comparison.
//!
//! The record for certificates stands also where the others are missing: wherever the order goes on, states that the
//! store has are executed by nobody here again, so nobody here could say any more what their certificates are about.
//!
//! **Epochs.** Blocks carry what is not executed, the transactions that make keys and change committees among them, and
//! the store keeps it: the certificate of a block covers it like what is executed. So a party reads all of them in their
//! order, opens its shares of each epoch's key and deals on, as any other party did. It must have the blocks of the
//! chain's first slots in its journal, for nobody executes those. Where an epoch begins is in the state
//! ([`StoredBlocks::first_slot`]). A committee that never announced itself there ends the way (`execution`, module
//! `committees`). Key generations are judged again from the first one on, as at any restart. If that takes longer than
//! peers' engines remember, the party is behind again, and goes on at its next start from what it has.
//!
//! **What an engine has to be shown**, beside its own records ([`Engine::RECALLS`]), of the epoch's own slots:
//!
//! | engine    | of the past its rules look at                             | it is shown                          |
//! |-----------|-----------------------------------------------------------|--------------------------------------|
//! | Jolteon   | certified blocks behind the last final one                | the last block's name                |
//! | Malachite | nothing: each height is by itself                         | the last height                      |
//! | DISPEL    | what 256 stages have ordered, which is not ordered again  | the transactions of the last blocks  |
//! | Trantor   | which batches 1024 heights have ordered, in which of 256 heights each transaction stood last, and which leaders failed | all blocks: the last transaction of each is its engine's note of the first two, and slots without a block are the third |
//!
//! The store has all transactions of a block; of their order it has that of those that are executed and that of all
//! others.
//!
//! **What engines still do by themselves**: all of them fetch what was decided a short while ago. It is how a party comes
//! from the last block of its store to the tip, how one that missed less comes back, and the only way on a chain that
//! executes nothing. Checkpoints and state transfer of Trantor's `Replica` are for chains whose state is
//! Trantor's application, without certificates of states by this crate. So nothing of that is given up.
use std::collections::BTreeMap;
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
use crate::setup::Setup;
use crate::transaction::Kind;
use crate::words::Record;

/// The channel of the states' certificates: the first beside the beacon.
const CERTIFICATES: Channel = Channel::new(1);

/// A record of a validator that executes its blocks.
type ExecutedRecord<E> = Record<<E as Engine>::Record, execution::Record>;

/// The committed blocks of a store.
pub trait StoredBlocks {
    /// The place of the block at this height; `None` if it cannot be read.
    fn header(&self, height: Height) -> Option<Header>;

    /// The epoch of the committee that certified the block at this height; `None` if it cannot be read.
    fn epoch(&self, height: Height) -> Option<EpochId>;

    /// The first slot of this epoch, if the last committed state announces it.
    fn first_slot(&self, epoch: EpochId) -> Option<Slot>;

    /// What is kept of the block at this height; `None` if it cannot be read.
    fn transactions(&self, height: Height) -> Option<StoredTransactions>;
}

/// All transactions of a block, as a store keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredTransactions {
    /// Those that were executed, in their order.
    pub executed: Vec<Vec<u8>>,
    /// All others, in their order.
    pub carried: Vec<Vec<u8>>,
}

/// The slots of an epoch that the store has.
#[derive(Clone, Copy)]
struct Term {
    epoch: EpochId,
    first: Slot,
    last: Slot,
}

/// The records behind `records` with which a party goes on behind `committed`, the last block of its store. Make them
/// durable before it starts. None if it was there already.
pub fn adopted<E: Engine>(
    setup: &Setup,
    records: &[ExecutedRecord<E>],
    committed: Header,
    blocks: &impl StoredBlocks,
) -> Vec<ExecutedRecord<E>> {
    if committed.height == Height::GENESIS {
        return Vec::new();
    }
    let Some(terms) = terms(setup, committed, blocks) else { return Vec::new() };
    let own = || records.iter().filter_map(of_participant);
    let over = |channel| passed_over(own(), channel, &terms).into_iter().map(Record::Participant);
    let mut added: Vec<_> = over(CERTIFICATES).collect();
    let (placed, read) = (placed(records), read(records, &terms));
    if placed < committed.slot
        && let Some(term) = terms.last().copied()
        && let Some(missed) = missed(committed, read, blocks)
        && let Some(ordered) = ordered(setup, read, &missed, &terms, blocks)
        && let Some(engine) = shown::<E>(committed, placed, term, blocks)
    {
        added.extend(ordered.into_iter().map(Record::Participant));
        added.extend(engine.into_iter().map(|record| Record::Engine(term.epoch, record)));
        added.extend(over(DEALT));
        // The last one, for it says that all are there.
        added.push(Record::Application(execution::Record::Adopted(committed)));
    }
    added
}

/// The records behind `records` by which a participant is finished with certificates of states that its store has, up to
/// the block `committed`: nobody here executes those blocks again. This is for a participant whose blocks another part
/// of the process executes. Make the records durable before it starts.
pub fn certified(
    setup: &Setup,
    records: &[participant::Record],
    committed: Header,
    blocks: &impl StoredBlocks,
) -> Vec<participant::Record> {
    let terms = terms(setup, committed, blocks).unwrap_or_default();
    passed_over(records.iter(), CERTIFICATES, &terms)
}

/// The epochs that have slots up to the committed block, from the first one on; `None` if the store does not lead to that
/// of the block.
fn terms(setup: &Setup, committed: Header, blocks: &impl StoredBlocks) -> Option<Vec<Term>> {
    let begin = (setup.context.epoch, Slot::new(0));
    let mut firsts = vec![begin];
    while let Some((epoch, first)) = firsts.last().copied()
        && let Some(next) = blocks.first_slot(epoch.next())
        && first < next
        && next <= committed.slot
    {
        firsts.push((epoch.next(), next));
    }
    let ends = firsts.iter().skip(1).map(|(_, next)| Slot::new(next.get().saturating_sub(1)));
    let ends: Vec<_> = ends.chain([committed.slot]).collect();
    let terms = firsts.iter().zip(ends).map(|((epoch, first), last)| Term {
        epoch: *epoch,
        first: *first,
        last,
    });
    let terms: Vec<_> = terms.collect();
    let certified = blocks.epoch(committed.height);
    (terms.last().map(|term| term.epoch) == certified).then_some(terms)
}

/// The record of each epoch by which a channel is finished with the slots that the store has.
fn passed_over<'a>(
    records: impl Iterator<Item = &'a participant::Record> + Clone,
    channel: Channel,
    terms: &[Term],
) -> Vec<participant::Record> {
    let over = |term: &Term| {
        let own = records.clone().filter_map(|record| of_beacon(record, channel, term.epoch));
        let handed_over = own.filter_map(|record| match record {
            BeaconRecord::Revealed { slot: last } | BeaconRecord::PassedOver { last, .. } => {
                Some(*last)
            }
            _ => None,
        });
        let handed_over = handed_over.max();
        let first = handed_over.map_or(term.first, Slot::next);
        let record = BeaconRecord::PassedOver { first, last: term.last };
        let record = participant::Record::Beacon(channel, term.epoch, record);
        (handed_over < Some(term.last)).then_some(record)
    };
    terms.iter().filter_map(over).collect()
}

/// The last slot that the order has come to here.
fn placed<R>(records: &[Record<R, execution::Record>]) -> Slot {
    let placed = records.iter().filter_map(|record| match record {
        Record::Application(execution::Record::Ordered { slot, .. }) => Some(*slot),
        Record::Application(execution::Record::Adopted(header)) => Some(header.slot),
        _ => None,
    });
    placed.max().unwrap_or(Slot::new(0))
}

/// The last slot whose block the party has read: it knows the keys that were made and the committees that were named up
/// to there. What the engine of an epoch that is over has finalized behind its end was read by nobody.
fn read<R, A>(records: &[Record<R, A>], terms: &[Term]) -> Slot {
    let read = records.iter().filter_map(|record| match record {
        Record::Participant(participant::Record::Ordered { epoch, slot, .. }) => {
            (epoch_of(terms, *slot) == Some(*epoch)).then_some(*slot)
        }
        Record::Participant(participant::Record::Beacon(
            DEALT,
            _,
            BeaconRecord::Finalized { slot, .. }
            | BeaconRecord::Revealed { slot }
            | BeaconRecord::PassedOver { last: slot, .. },
        )) => Some(*slot),
        _ => None,
    });
    read.max().unwrap_or(Slot::new(0))
}

fn epoch_of(terms: &[Term], slot: Slot) -> Option<EpochId> {
    terms.iter().rev().find(|term| term.first <= slot).map(|term| term.epoch)
}

/// The blocks behind a slot up to the committed one, by their slots; `None` if the store does not have all.
fn missed(
    committed: Header,
    behind: Slot,
    blocks: &impl StoredBlocks,
) -> Option<BTreeMap<Slot, Header>> {
    let (mut missed, mut first) = (BTreeMap::new(), committed);
    while first.slot > behind {
        missed.insert(first.slot, first);
        if first.slot == behind.next() {
            break;
        }
        // The chain's first blocks are executed by nobody. They may make keys.
        let height = first.height.get().checked_sub(1).map(Height::new);
        let height = height.filter(|height| *height > Height::GENESIS)?;
        let is_right = |before: &Header| before.height == height && before.slot < first.slot;
        first = blocks.header(height).filter(is_right)?;
    }
    Some(missed)
}

/// The records of key generations; `None` if a block cannot be read.
fn ordered(
    setup: &Setup,
    read: Slot,
    missed: &BTreeMap<Slot, Header>,
    terms: &[Term],
    blocks: &impl StoredBlocks,
) -> Option<Vec<participant::Record>> {
    let (mut added, mut next) = (Vec::new(), read.next());
    for (&slot, header) in missed {
        // Where blocks decide on committees every slot counts, the empty ones as well.
        let decides = setup.succession.is_some();
        for empty in (next.get()..slot.get()).map(Slot::new).filter(|_| decides) {
            let epoch = epoch_of(terms, empty)?;
            let (block, transactions) = (None, Vec::new());
            added.push(participant::Record::Ordered { epoch, slot: empty, block, transactions });
        }
        let mut carried = blocks.transactions(header.height)?.carried;
        carried.retain(|one| Kind::of(one).is_some());
        if decides || !carried.is_empty() {
            let epoch = epoch_of(terms, slot)?;
            let block = Some(Value::new(header.id.to_bytes()));
            let transactions = carried.into_iter().map(Arc::from).collect();
            added.push(participant::Record::Ordered { epoch, slot, block, transactions });
        }
        next = slot.next();
    }
    Some(added)
}

/// The engine's records behind the last committed block, in the slots of its epoch's engine; `None` if it cannot be shown
/// all that it has to recall: of the epoch's last slots, those behind the last one that the order has come to here. The same
/// if it finds that these blocks are not what engines have made.
fn shown<E: Engine>(
    committed: Header,
    placed: Slot,
    term: Term,
    blocks: &impl StoredBlocks,
) -> Option<Vec<E::Record>> {
    let before = term.first.get().saturating_sub(1);
    let forgotten = Slot::new(committed.slot.get().saturating_sub(E::RECALLS));
    let known = forgotten.max(Slot::new(before)).max(placed);
    // The chain's first blocks may have ordered what is not to be ordered again, and no store has them.
    let recalled = missed(committed, known, blocks)?;
    let block_of = |header: &Header| {
        let StoredTransactions { executed, carried } = blocks.transactions(header.height)?;
        let value = Value::new(header.id.to_bytes());
        let executed = executed.iter().map(|one| Arc::from(marked(one)));
        let transactions = executed.chain(carried.into_iter().map(Arc::from)).collect();
        let slot = Slot::new(header.slot.get().saturating_sub(before));
        Some(FinalBlock { slot, block: Block { value, transactions } })
    };
    let mut all_read = true;
    // One by one, for many blocks together may be large.
    let records = E::adopted(recalled.values().map_while(|header| {
        let block = block_of(header);
        all_read &= block.is_some();
        block
    }));
    Some(records).filter(|records| all_read && !records.is_empty())
}

const fn of_participant<R, A>(record: &Record<R, A>) -> Option<&participant::Record> {
    match record {
        Record::Participant(record) => Some(record),
        Record::Engine(..) | Record::Application(_) => None,
    }
}

/// What this record says of a channel's beacon in an epoch, if it is about that.
fn of_beacon(record: &participant::Record, of: Channel, during: EpochId) -> Option<&BeaconRecord> {
    match record {
        participant::Record::Beacon(channel, epoch, record) => {
            ((*channel, *epoch) == (of, during)).then_some(record)
        }
        _ => None,
    }
}
