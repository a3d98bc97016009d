//! Placing seats in regions.
//!
//! Regions are like a deck of cards. It is shuffled by the seed and dealt, and an empty deck is
//! shuffled again. So `n` seats over `k` regions differ by at most one seat per region, and a region
//! named twice weighs double. Dealing varies less from seed to seed than independent draws do, and has
//! the same mean.
//!
//! [`GLOBAL`] is the default: all 33 regions, Asia-Pacific twice, and Sydney, Melbourne, São Paulo
//! and Cape Town three times. One card per region gives round trips of 153 ms in the median and
//! 257 ms at the 90th percentile; the public network that the latency papers measure has its
//! 90th percentile near 300 ms, and these copies bring it there (161 ms and 301 ms).
//!
//! The round trips themselves are in `geography`.

use std::time::Duration;

use thiserror::Error;

use crate::dice::Dice;
use crate::geography::{Geography, Region, RoundTrip, UnknownRegion};
use crate::host::Seat;

/// A deck that resembles the validators of a public network: median 161 ms, 90th percentile 301 ms.
#[rustfmt::skip]
pub const GLOBAL: [&str; 52] = [
    "af-south-1", "af-south-1", "af-south-1", "ap-east-1", "ap-east-1", "ap-east-2", "ap-east-2",
    "ap-northeast-1", "ap-northeast-1", "ap-northeast-2", "ap-northeast-2", "ap-northeast-3",
    "ap-northeast-3", "ap-south-1", "ap-south-1", "ap-south-2", "ap-south-2", "ap-southeast-1",
    "ap-southeast-1", "ap-southeast-2", "ap-southeast-2", "ap-southeast-2", "ap-southeast-3",
    "ap-southeast-3", "ap-southeast-4", "ap-southeast-4", "ap-southeast-4", "ap-southeast-5",
    "ap-southeast-5", "ap-southeast-7", "ap-southeast-7", "ca-central-1", "ca-west-1",
    "eu-central-1", "eu-central-2", "eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1",
    "eu-west-2", "eu-west-3", "il-central-1", "me-central-1", "me-south-1", "mx-central-1",
    "sa-east-1", "sa-east-1", "sa-east-1", "us-east-1", "us-east-2", "us-west-1", "us-west-2",
];

/// The regions of Trantor's evaluation, with 4 or 8 replicas in each.
#[rustfmt::skip]
pub const TRANTOR: [&str; 8] = [
    "us-east-1", "us-west-1", "ap-northeast-2", "ap-southeast-2", "ca-central-1", "eu-central-1",
    "eu-west-1", "sa-east-1",
];

/// The regions in which DISPEL's performance was measured.
#[rustfmt::skip]
pub const DISPEL_EUROPE: [&str; 4] = [
    "eu-west-1", "eu-west-2", "eu-west-3", "eu-central-1",
];

/// The regions in which DISPEL's application was measured.
#[rustfmt::skip]
pub const DISPEL_WORLD: [&str; 11] = [
    "eu-west-1", "eu-west-2", "eu-west-3", "eu-central-1", "us-west-1", "ca-central-1", "us-east-1",
    "us-east-2", "us-west-2", "ap-southeast-2", "ap-northeast-1",
];

/// The regions nearest to those of Zaptos' evaluation, which used others.
#[rustfmt::skip]
pub const ZAPTOS: [&str; 10] = [
    "us-west-2", "us-east-1", "eu-central-1", "eu-south-2", "sa-east-1", "af-south-1",
    "ap-southeast-2", "ap-northeast-2", "ap-southeast-1", "ap-south-1",
];

/// The region of every seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    geography: Geography,
    regions: Vec<Region>,
}

/// Why seats could not be placed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlacementError {
    /// A region that the table does not have.
    #[error(transparent)]
    Unknown(#[from] UnknownRegion),
    /// There are seats, but no region to put them in.
    #[error("no region to place {seats} seats in")]
    NoRegion {
        /// Number of seats to place.
        seats: u32,
    },
}

/// Why a seat could not move.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RelocationError {
    /// A region that the table does not have.
    #[error(transparent)]
    Unknown(#[from] UnknownRegion),
    /// The seat is not in any region.
    #[error("{seat} has no place to move from")]
    NoPlace {
        /// The seat that was to move.
        seat: Seat,
    },
}

/// Statistics of the median round trips of all pairs of two different seats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundTrips {
    sorted: Vec<Duration>,
}

impl Placement {
    /// Deals `seats` seats over `regions` by `seed`, as described in this module.
    ///
    /// # Errors
    /// If the geography does not know a region, or there is no region.
    pub fn dealt(
        geography: &Geography,
        seats: u32,
        regions: &[&str],
        seed: u64,
    ) -> Result<Self, PlacementError> {
        let deck: Vec<Region> =
            regions.iter().map(|name| geography.region(name)).collect::<Result<_, _>>()?;
        if deck.is_empty() && seats > 0 {
            return Err(PlacementError::NoRegion { seats });
        }
        let mut dice = Dice::new(seed);
        let mut hand = Vec::new();
        let mut placed = Vec::new();
        for _ in 0..seats {
            if hand.is_empty() {
                hand.clone_from(&deck);
                dice.shuffle(&mut hand);
            }
            placed.extend(hand.pop());
        }
        Ok(Self { geography: geography.clone(), regions: placed })
    }

    /// Puts seat `i` in the `i`-th of these regions.
    ///
    /// # Errors
    /// If the geography does not know a region.
    pub fn listed(geography: &Geography, regions: &[&str]) -> Result<Self, PlacementError> {
        let regions =
            regions.iter().map(|name| geography.region(name)).collect::<Result<_, _>>()?;
        Ok(Self { geography: geography.clone(), regions })
    }

    /// Places one more seat, behind the others, in the region of this one, if that has a place.
    pub fn place_beside(&mut self, seat: Seat) {
        let region = self.regions.get(seat.index()).copied();
        self.regions.extend(region);
    }

    /// Number of seats that are placed.
    #[must_use]
    pub const fn seats(&self) -> usize {
        self.regions.len()
    }

    /// The region of a seat, if it is placed.
    #[must_use]
    pub fn region(&self, seat: Seat) -> Option<&str> {
        self.regions.get(seat.index()).map(|&region| self.geography.name(region))
    }

    /// Moves a seat to another region.
    ///
    /// # Errors
    /// If the geography does not know the region, or the seat has no place.
    pub fn relocate(&mut self, seat: Seat, region: &str) -> Result<(), RelocationError> {
        let region = self.geography.region(region)?;
        let place = self.regions.get_mut(seat.index());
        *place.ok_or(RelocationError::NoPlace { seat })? = region;
        Ok(())
    }

    /// The round trip between two placed seats; `None` if one of them has no place.
    #[must_use]
    pub fn round_trip(&self, one: Seat, other: Seat) -> Option<RoundTrip> {
        let (one, other) = (self.regions.get(one.index())?, self.regions.get(other.index())?);
        Some(self.geography.round_trip(*one, *other))
    }

    /// The median round trips between any two seats, each pair once, not weighted by stake.
    #[must_use]
    pub fn round_trips(&self) -> RoundTrips {
        let mut sorted = Vec::new();
        for (index, &one) in (1..).zip(&self.regions) {
            let others = self.regions.iter().skip(index);
            sorted.extend(others.map(|&other| self.geography.round_trip(one, other).p50));
        }
        sorted.sort_unstable();
        RoundTrips { sorted }
    }
}

impl RoundTrips {
    /// The least value that this percentage of the pairs does not exceed. Zero if there are no pairs.
    #[must_use]
    pub fn percentile(&self, percent: u8) -> Duration {
        let rank = (self.sorted.len() * usize::from(percent.min(100))).div_ceil(100);
        self.sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// The mean over all pairs. Zero if there are no pairs.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let pairs = u32::try_from(self.sorted.len()).unwrap_or(u32::MAX).max(1);
        self.sorted.iter().sum::<Duration>() / pairs
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn global(seats: u32, seed: u64) -> Placement {
        Placement::dealt(&Geography::aws().unwrap(), seats, &GLOBAL, seed).unwrap()
    }

    #[test]
    fn dealing_is_even_and_depends_on_the_seed_alone() {
        let aws = Geography::aws().unwrap();
        let placement = Placement::dealt(&aws, 20, &TRANTOR, 4).unwrap();
        let mut seats = BTreeMap::<&str, u32>::new();
        for seat in 0..20 {
            *seats.entry(placement.region(Seat::new(seat)).unwrap()).or_default() += 1;
        }
        assert_eq!(seats.len(), 8);
        assert!(seats.values().all(|&count| count == 2 || count == 3), "{seats:?}");
        assert_eq!(placement, Placement::dealt(&aws, 20, &TRANTOR, 4).unwrap());
        assert_ne!(placement, Placement::dealt(&aws, 20, &TRANTOR, 5).unwrap());
    }

    #[test]
    fn every_deck_names_known_regions_and_global_names_all() {
        let aws = Geography::aws().unwrap();
        for deck in [&GLOBAL[..], &TRANTOR, &DISPEL_EUROPE, &DISPEL_WORLD, &ZAPTOS] {
            assert_eq!(Placement::listed(&aws, deck).unwrap().seats(), deck.len());
        }
        assert!(aws.names().all(|name| GLOBAL.contains(&name)));
    }

    #[test]
    fn the_default_resembles_the_public_network() {
        for seed in 0..20 {
            let trips = global(129, seed).round_trips();
            let (p50, p90) = (trips.percentile(50).as_millis(), trips.percentile(90).as_millis());
            assert!((150..=172).contains(&p50), "seed {seed}: p50 {p50}");
            assert!((280..=320).contains(&p90), "seed {seed}: p90 {p90}");
        }
    }

    #[test]
    fn percentiles_count_each_pair_once() {
        let aws = Geography::aws().unwrap();
        let here = ["eu-west-1", "eu-west-1", "us-east-1"];
        let trips = Placement::listed(&aws, &here).unwrap().round_trips();
        let (near, far) = (trips.percentile(33), trips.percentile(34));
        assert_eq!(near, Duration::from_nanos(3_178_000));
        assert!(far > Duration::from_millis(60));
        assert_eq!((trips.percentile(0), trips.percentile(100)), (near, far));
        assert_eq!(trips.mean(), (near + far + far) / 3);
        let alone = Placement::listed(&aws, &["eu-west-1"]).unwrap().round_trips();
        assert_eq!((alone.percentile(50), alone.mean()), (Duration::ZERO, Duration::ZERO));
    }

    #[test]
    fn a_seat_that_moves_has_the_round_trips_of_its_new_region() {
        let aws = Geography::aws().unwrap();
        let mut placement = Placement::listed(&aws, &["eu-west-1", "us-east-1"]).unwrap();
        let there = Placement::listed(&aws, &["eu-west-1", "ap-east-1"]).unwrap();
        let [one, other, nobody] = [0, 1, 2].map(Seat::new);
        assert_ne!(placement.round_trip(one, other), there.round_trip(one, other));
        placement.relocate(other, "ap-east-1").unwrap();
        assert_eq!(placement, there);
        let error = placement.relocate(nobody, "ap-east-1").unwrap_err();
        assert_eq!(error, RelocationError::NoPlace { seat: nobody });
        let error = placement.relocate(one, "eu-west-9").unwrap_err();
        assert!(matches!(error, RelocationError::Unknown(_)));
        assert_eq!(placement, there);
    }

    #[test]
    fn nowhere_and_unknown_are_errors() {
        let aws = Geography::aws().unwrap();
        let error = Placement::dealt(&aws, 3, &[], 0).unwrap_err();
        assert_eq!(error.to_string(), "no region to place 3 seats in");
        let error = Placement::dealt(&aws, 3, &["eu-west-1", "eu-west-9"], 0).unwrap_err();
        assert!(
            error.to_string().starts_with("unknown region `eu-west-9`; known are af-south-1, ")
        );
        assert_eq!(global(0, 1).round_trips().percentile(90), Duration::ZERO);
    }
}
