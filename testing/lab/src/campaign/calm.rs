//! One vice at a time, in an execution without accidents, for the tests of each engine's vices.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ::prefinal_beacon::Binding;
use prefinal_crypto_core::access::Party;
use prefinal_protocol::Instant;
use prefinal_registry::engine::NamedEngine;
use prefinal_sim::{Network, Seat};
use prefinal_validator::setup::Algorithm;
use prefinal_weighted_rounding::{Ratio, Stake};

use super::Signatures;
use super::board::Layout;
use super::corrupt::Corruptible;
use super::draw::Draw;
use super::table::{Cast, Table};
use super::tally::Tally;
use crate::check::Summary;

/// Between any two parties.
pub(super) const DELAY: Duration = Duration::from_millis(40);

/// What is done, seen and found if party 0 of these does this, and then how many slots have values.
pub(super) fn play<E: NamedEngine + Corruptible>(
    stakes: &[u128],
    heals: Duration,
    vice: E::Vice,
) -> (Tally, Summary) {
    let stakes: Vec<Stake> = stakes.iter().copied().map(Stake::new).collect();
    let layout = Layout::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
    let table = Table::ideal(&layout).unwrap();
    let draw = Draw {
        board: 0,
        vices: BTreeMap::from([(Party::new(0), Vec::new())]),
        network: Network::constant(DELAY),
        lossy: false,
        partitions: 0,
        crashes: Vec::new(),
        stumbles: Vec::new(),
        leaps: Vec::new(),
        heals: Instant::at(heals),
    };
    let terms = table.terms::<E>(Binding::Slot, E::FAST_ATTEMPT, None).unwrap();
    let cast = Cast { vices: Some(vec![vice]), ..table.cast(Signatures::Seen) };
    let played = table.play_on::<E>(1, &draw, terms, cast).unwrap();
    (played.tally, played.outcome.unwrap())
}

pub(super) fn seats(numbers: &[u32]) -> BTreeSet<Seat> {
    numbers.iter().copied().map(Seat::new).collect()
}
