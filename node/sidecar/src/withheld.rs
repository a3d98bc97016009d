//! Why a vote leaves without a partial, for the engine's log.
//!
//! A participant releases, or it does not; it gives no reasons. So the reason is looked up after a refusal,
//! with the contract's own predicate over what the participant has on record. In between another call may
//! have changed that. It is for people: nothing is decided by it.
use std::collections::BTreeMap;

use prefinal_beacon::contract::{self, Claim, Standing};
use prefinal_beacon::{Beacon, Record, Slot, Value, View, Withheld};
use prefinal_crypto_core::context::EpochId;
use prefinal_validator::extra::ExtraChannels;
use prefinal_validator::participant::Participant;
use prefinal_validator::scheme::KeyedScheme;

use crate::proto;

/// A vote that the engine is about to cast.
#[derive(Clone, Copy)]
pub(crate) struct Vote {
    pub(crate) slot: Slot,
    pub(crate) view: View,
    pub(crate) value: Value,
}

/// Why nothing leaves with this vote. `declared` is the attempt whose votes release.
pub(crate) fn reason<S: KeyedScheme, L: ExtraChannels>(
    participant: &Participant<S, L>,
    declared: Option<u32>,
    vote: Vote,
) -> proto::Withheld {
    let Vote { slot, view, .. } = vote;
    if let Some(limit) = participant.limit()
        && (slot >= limit || view.slot >= limit)
    {
        let text = format!("the next epoch may begin at {limit}, which is not decided yet");
        return withheld("boundary-unknown", text);
    }
    let Some(beacon) = beacon_at(participant, slot) else {
        return withheld("no-keys-yet", format!("no keys of this party are for {slot}"));
    };
    let why = if beacon.holds_secrets() {
        let (standing, claim) = recorded(beacon, vote);
        // With no objection there is nothing that could leave.
        contract::early(declared, &standing, &claim).err().unwrap_or(Withheld::SlowOnly { slot })
    } else {
        Withheld::NoShares { party: participant.identity().me }
    };
    withheld(why.code(), why.to_string())
}

fn withheld(code: &str, reason: String) -> proto::Withheld {
    proto::Withheld { code: code.to_owned(), reason }
}

/// The beacon of the epoch that a slot is in, if it runs.
fn beacon_at<S: KeyedScheme, L: ExtraChannels>(
    participant: &Participant<S, L>,
    slot: Slot,
) -> Option<&Beacon<S>> {
    let mut epoch = participant.awaited().get();
    while let Some(before) = epoch.checked_sub(1) {
        epoch = before;
        let beacon = participant.beacon(EpochId::new(epoch))?;
        if beacon.first() <= slot {
            return Some(beacon);
        }
    }
    None
}

/// What the beacon has said, and what it knows of the vote's slot.
fn recorded<S: KeyedScheme>(beacon: &Beacon<S>, vote: Vote) -> (Standing, Claim) {
    let Vote { slot, view, value } = vote;
    let mut standing = Standing { lost: beacon.lost(), ..Standing::default() };
    let mut released = BTreeMap::new();
    let mut finality = None;
    for record in beacon.snapshot() {
        match record {
            Record::Released { slot, value } => drop(released.insert(slot, value)),
            Record::Abandoned { view } => standing.abandoned = Some(view),
            Record::Finalized { slot: at, value } if at == slot => finality = Some(value),
            _ => {}
        }
    }
    standing.released = released;
    (standing, Claim { slot, view, value, finality, finished: slot < beacon.head() })
}

/// The value that a slot is on record with; `Some(None)` if it was skipped, `None` if that is not known any
/// more.
pub(crate) fn recorded_value<S: KeyedScheme, L: ExtraChannels>(
    participant: &Participant<S, L>,
    slot: Slot,
) -> Option<Option<Value>> {
    let records = beacon_at(participant, slot)?.snapshot();
    records.into_iter().find_map(|record| match record {
        Record::Finalized { slot: at, value } if at == slot => Some(value),
        _ => None,
    })
}
