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
//! **Where it is refused.** Blocks that decide on committees or make keys must be read, all of them. So the chain's
//! committee has to stay, the scheme's parties have to count from the start, and the party must have its keys.
use ::prefinal_beacon::Record as BeaconRecord;
use ::prefinal_beacon::stack::Channel;
use prefinal_engine::Engine;
use prefinal_execution::{Header, Height};
use prefinal_protocol::{EpochId, Slot, Value};

use crate::beacons::DEALT;
use crate::execution;
use crate::participant;
use crate::scheme::KeyedScheme;
use crate::setup::Setup;
use crate::words::Record;

/// The channel of the states' certificates: the first beside the beacon.
const CERTIFICATES: Channel = Channel::new(1);

/// A record of a validator that executes its blocks.
type ExecutedRecord<E> = Record<<E as Engine>::Record, execution::Record>;

/// The records behind `records` with which a party goes on behind `committed`, the last block of its store. Make them
/// durable before it starts. None if it was there already.
pub fn adopted<S: KeyedScheme, E: Engine>(
    setup: &Setup,
    records: &[ExecutedRecord<E>],
    committed: Header,
) -> Vec<ExecutedRecord<E>> {
    let (epoch, slot) = (setup.context.epoch, committed.slot);
    if committed.height == Height::GENESIS || !is_possible::<S, E>(setup) {
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
    let is_there = ordered.max().is_some_and(|ordered| ordered >= slot);
    let mut added: Vec<_> = passed_over(CERTIFICATES).into_iter().collect();
    // A beacon begins when the party has its keys.
    let has_keys = records.iter().any(|record| of_beacon(record, DEALT, epoch).is_some());
    if is_there || !has_keys {
        return added;
    }
    // The engine of the first epoch counts slots as the chain does.
    let engine = E::adopted(slot, Value::new(committed.id.to_bytes()));
    added.extend(engine.map(|engine| Record::Engine(epoch, engine)));
    added.extend(passed_over(DEALT));
    // The last one, for it says that all are there.
    added.push(Record::Application(execution::Record::Adopted(committed)));
    added
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
pub fn is_possible<S: KeyedScheme, E: Engine>(setup: &Setup) -> bool {
    let engine_can = E::adopted(Slot::new(1), Value::new([0; 32])).is_some();
    engine_can && setup.succession.is_none() && S::keys_bytes(1, 1).is_none()
}
