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
//! | the beacon       | the values up to this slot were revealed    | values, which peers and archives have      |
//! | certificates     | the same of the states' certificates        | certificates: the store has them           |
//! | the application  | the order goes on behind this block         | executing what is stored                   |
//!
//! **Why this is safe.** A state is certified by a quorum's stake, which signs only what is final, so the block is
//! the one that the engine would have decided. No record is taken back: what the engine has promised, the beacon
//! has released and the pipeline has signed stays on record, and each of them refuses to contradict that. A slot
//! that is passed over is finished for the beacon, and nothing is released for it any more. A crash between the
//! store and the journal is repaired at the next start, by the same comparison.
//!
//! **Where it is refused.** Blocks that decide on committees or make keys must be read, all of them. So the chain's
//! committee has to stay, the scheme's parties have to count from the start, and the party must have its keys.
use ::prefinal_beacon::stack::Channel;
use prefinal_engine::Engine;
use prefinal_execution::Header;
use prefinal_protocol::{Slot, Value};

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
/// durable before it starts. None if it was there already, or cannot go on there.
pub fn adopted<S: KeyedScheme, E: Engine>(
    setup: &Setup,
    records: &[ExecutedRecord<E>],
    committed: Header,
) -> Vec<ExecutedRecord<E>> {
    let (epoch, slot) = (setup.context.epoch, committed.slot);
    let ordered = records.iter().filter_map(|record| match record {
        Record::Application(execution::Record::Ordered { slot, .. }) => Some(*slot),
        Record::Application(execution::Record::Adopted(header)) => Some(header.slot),
        _ => None,
    });
    let is_there = ordered.max().is_some_and(|ordered| ordered >= slot);
    if is_there || !is_possible::<S, E>(setup) || !has_keys::<E>(setup, records) {
        return Vec::new();
    }
    // The engine of the first epoch counts slots as the chain does.
    let Some(engine) = E::adopted(slot, Value::new(committed.id.to_bytes())) else {
        return Vec::new();
    };
    let revealed = |channel| {
        let record = ::prefinal_beacon::Record::Revealed { slot };
        Record::Participant(participant::Record::Beacon(channel, epoch, record))
    };
    vec![
        Record::Engine(epoch, engine),
        revealed(DEALT),
        revealed(CERTIFICATES),
        Record::Application(execution::Record::Adopted(committed)),
    ]
}

/// Whether parties of a chain that begins with this set-up may pass over blocks at all.
#[must_use]
pub fn is_possible<S: KeyedScheme, E: Engine>(setup: &Setup) -> bool {
    let engine_can = E::adopted(Slot::new(1), Value::new([0; 32])).is_some();
    engine_can && setup.succession.is_none() && S::keys_bytes(1, 1).is_none()
}

fn has_keys<E: Engine>(setup: &Setup, records: &[ExecutedRecord<E>]) -> bool {
    let of_beacon = |record: &ExecutedRecord<E>| match record {
        Record::Participant(participant::Record::Beacon(channel, epoch, _)) => {
            (*channel, *epoch) == (DEALT, setup.context.epoch)
        }
        _ => false,
    };
    records.iter().any(of_beacon)
}
