//! When a message arrives, and whether it does: delay, jitter, loss, partitions.
//!
//! Half of a round trip is the one-way delay `d`, with `d50` and `d90` from the table's median and
//! 90th percentile. An envelope's delay is drawn from one of these, by [`Jitter`]:
//!
//! | jitter    | distribution                                                                     |
//! |-----------|----------------------------------------------------------------------------------|
//! | `None`    | `d50`, always                                                                    |
//! | `Percent` | uniform on `d50 ± p %`; 5 % is the default                                        |
//! | `Tail`    | quantiles joined by lines: 0 at `d50 − s/4`, 1/2 at `d50`, 9/10 at `d90`, 1 at `d90 + s`, where `s = d90 − d50` |
//!
//! `Tail` has the measured median and 90th percentile. Its ends are our choice, because the table says
//! nothing about them. It draws again for every envelope, while the table's spread was collected over
//! days, so `Tail` is the pessimistic model. Between two seats in one region both values are those of
//! the table's line for that region, a few milliseconds. A seat reaches itself at once.
//!
//! Delays of one link are independent, so envelopes overtake each other, unless
//! [`in_order`](Network::in_order) asks for the behaviour of a TCP or QUIC stream.
//!
//! A message takes its delay, however long it is, unless links are limited: see `interface`.
//!
//! Faults of one seat are in `rule`, and crashes in `Simulation::crash`.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::dice::{Chance, Dice};
use crate::host::Seat;
use crate::interface::{Interface, Limits, Rate, Retransmission};
use crate::placement::{Placement, RelocationError};
use crate::time::{Window, instant, nanos, since_start};

/// How delays scatter. The documentation of this module defines the distributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// None: the median, always.
    None,
    /// Uniform within this percentage of the median. More than a hundred counts as a hundred.
    Percent(u8),
    /// Through the measured median and 90th percentile.
    Tail,
}

impl Default for Jitter {
    fn default() -> Self {
        Self::Percent(5)
    }
}

/// Envelopes sent in the window are lost with this probability, each independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The time in which envelopes are lost.
    pub window: Window,
    /// The probability of a loss.
    pub chance: Chance,
}

/// What a partition does to an envelope sent across it. An envelope that is under way when the
/// partition begins still arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionEffect {
    /// The envelope never arrives.
    Dropped,
    /// The envelope leaves when the partition heals, as in the partially synchronous model.
    Held,
}

/// A time in which seats reach only seats of the same group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The time of the partition.
    pub window: Window,
    /// The groups. All seats that are in none of them form one more group.
    pub groups: Vec<BTreeSet<Seat>>,
    /// What happens to envelopes across groups.
    pub blocked: PartitionEffect,
}

impl Partition {
    fn group(&self, seat: Seat) -> Option<usize> {
        self.groups.iter().position(|group| group.contains(&seat))
    }

    fn separates(&self, at: u64, from: Seat, to: Seat) -> bool {
        self.window.holds(instant(at)) && self.group(from) != self.group(to)
    }
}

/// The links between all seats.
#[derive(Clone, Debug)]
pub struct Network {
    delays: Delays,
    losses: Vec<Loss>,
    partitions: Vec<Partition>,
    /// Last arrival per link, where order is kept.
    arrivals: Option<Arrivals>,
    limits: Limits,
}

#[derive(Clone, Debug)]
enum Delays {
    Constant(u64),
    Uniform { least: u64, most: u64 },
    Placed { placement: Placement, jitter: Jitter },
}

/// Rows by sender, columns by receiver, extended as needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    last: Vec<Vec<u64>>,
}

/// What happens to an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It leaves then, and reaches the other end after `delay`. A partition may have held it until then.
    Leaves {
        departure: u64,
        delay: u64,
        held: bool,
    },
    Lost,
    Cut,
}

impl Network {
    /// A network in which every envelope takes exactly `delay`, for counting message delays.
    #[must_use]
    pub fn constant(delay: Duration) -> Self {
        Self::over(Delays::Constant(nanos(delay)))
    }

    /// A network in which every envelope takes its own time between the two, so that messages overtake
    /// each other.
    #[must_use]
    pub fn uniform(least: Duration, most: Duration) -> Self {
        Self::over(Delays::Uniform { least: nanos(least), most: nanos(most) })
    }

    /// A network whose delays follow from where the seats are.
    #[must_use]
    pub fn placed(placement: Placement, jitter: Jitter) -> Self {
        Self::over(Delays::Placed { placement, jitter })
    }

    fn over(delays: Delays) -> Self {
        Self {
            delays,
            losses: Vec::new(),
            partitions: Vec::new(),
            arrivals: None,
            limits: Limits::default(),
        }
    }

    /// Adds a loss to those that were set before.
    #[must_use]
    pub fn with_loss(mut self, loss: Loss) -> Self {
        self.losses.push(loss);
        self
    }

    /// Adds a partition to those that were set before.
    #[must_use]
    pub fn with_partition(mut self, partition: Partition) -> Self {
        self.partitions.push(partition);
        self
    }

    /// Keeps the order on each link: an envelope arrives no earlier than those sent before it.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.arrivals = Some(Arrivals::default());
        self
    }

    /// Gives every seat this interface, except those that [`with_interface`](Self::with_interface) names.
    #[must_use]
    pub const fn with_interfaces(mut self, interface: Interface) -> Self {
        self.limits.interface = interface;
        self
    }

    /// Gives one seat another interface than the rest.
    #[must_use]
    pub fn with_interface(mut self, seat: Seat, interface: Interface) -> Self {
        self.limits.interfaces.insert(seat, interface);
        self
    }

    /// Limits every connection to this rate, in each direction, except those that
    /// [`with_connection`](Self::with_connection) names.
    #[must_use]
    pub const fn with_connections(mut self, rate: Rate) -> Self {
        self.limits.connection = Some(rate);
        self
    }

    /// Limits what one seat sends to another.
    #[must_use]
    pub fn with_connection(mut self, from: Seat, to: Seat, rate: Rate) -> Self {
        self.limits.connections.insert((from, to), rate);
        self
    }

    /// Packets are lost and sent again. [`Loss`] loses envelopes for good.
    #[must_use]
    pub const fn with_retransmission(mut self, retransmission: Retransmission) -> Self {
        self.limits.retransmission = Some(retransmission);
        self
    }

    /// The limits of the links, if there are any.
    pub(crate) fn limits(&self) -> Option<&Limits> {
        Some(&self.limits).filter(|limits| !limits.are_none())
    }

    /// Whether all that one step sends to a seat arrives there at one instant, if it arrives: links have no limits.
    #[must_use]
    pub fn keeps_together(&self) -> bool {
        self.limits().is_none()
    }

    /// Whether every envelope arrives after its delay: none is lost, and no partition holds one back.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.losses.is_empty() && self.partitions.is_empty()
    }

    /// Whether order is kept on each link.
    pub(crate) const fn is_in_order(&self) -> bool {
        self.arrivals.is_some()
    }

    /// Number of seats that have a place, if places matter.
    pub(crate) const fn places(&self) -> Option<usize> {
        match &self.delays {
            Delays::Constant(_) | Delays::Uniform { .. } => None,
            Delays::Placed { placement, .. } => Some(placement.seats()),
        }
    }

    /// Moves a seat: what leaves from now on takes the round trips of its new region.
    pub(crate) fn relocate(&mut self, seat: Seat, region: &str) -> Result<(), RelocationError> {
        match &mut self.delays {
            Delays::Placed { placement, .. } => placement.relocate(seat, region),
            Delays::Constant(_) | Delays::Uniform { .. } => Err(RelocationError::NoPlace { seat }),
        }
    }

    /// Whether and when an envelope leaves. Draws happen here, in the order in which envelopes are sent.
    pub(crate) fn transit(&mut self, from: Seat, to: Seat, sent: u64, dice: &mut Dice) -> Fate {
        if from == to {
            return Fate::Leaves { departure: sent, delay: 0, held: false };
        }
        let lossy = |loss: &Loss| loss.window.holds(instant(sent)) && dice.happens(loss.chance);
        if self.losses.iter().any(lossy) {
            return Fate::Lost;
        }
        let Some(departure) = self.departure(from, to, sent) else { return Fate::Cut };
        let delay = self.delays.draw(from, to, dice);
        Fate::Leaves { departure, delay, held: departure > sent }
    }

    /// When an envelope arrives that nothing holds up after `at`.
    pub(crate) fn arrival(&mut self, from: Seat, to: Seat, at: u64) -> u64 {
        match &mut self.arrivals {
            Some(arrivals) if from != to => arrivals.after_the_last(from, to, at),
            _ => at,
        }
    }

    /// When the last partition on the way is over; `None` if one of them drops the envelope.
    fn departure(&self, from: Seat, to: Seat, sent: u64) -> Option<u64> {
        let mut departure = sent;
        // The end of one partition may lie in another. Each round leaves at least one behind.
        while let Some(partition) =
            self.partitions.iter().find(|partition| partition.separates(departure, from, to))
        {
            match partition.blocked {
                PartitionEffect::Dropped => return None,
                PartitionEffect::Held => departure = since_start(partition.window.until),
            }
            if departure == u64::MAX {
                return None;
            }
        }
        Some(departure)
    }
}

impl Arrivals {
    /// `at`, or the time of the link's last arrival if that is later.
    pub(crate) fn after_the_last(&mut self, from: Seat, to: Seat, at: u64) -> u64 {
        if self.last.len() <= from.index() {
            self.last.resize_with(from.index() + 1, Vec::new);
        }
        let Some(row) = self.last.get_mut(from.index()) else { return at };
        if row.len() <= to.index() {
            row.resize(to.index() + 1, 0);
        }
        let Some(last) = row.get_mut(to.index()) else { return at };
        *last = at.max(*last);
        *last
    }
}

impl Delays {
    fn draw(&self, from: Seat, to: Seat, dice: &mut Dice) -> u64 {
        let (placement, jitter) = match self {
            Self::Constant(delay) => return *delay,
            Self::Uniform { least, most } => return dice.between(*least, *most),
            Self::Placed { placement, jitter } => (placement, *jitter),
        };
        let trip = placement.round_trip(from, to).unwrap_or_default();
        let (d50, d90) = (nanos(trip.p50) / 2, nanos(trip.p90) / 2);
        match jitter {
            Jitter::None => d50,
            Jitter::Percent(percent) => {
                let reach = d50 / 100 * u64::from(percent.min(100));
                dice.between(d50 - reach, d50 + reach)
            }
            Jitter::Tail => tail(d50, d90.saturating_sub(d50), dice),
        }
    }
}

/// One draw of [`Jitter::Tail`]: first the piece, then uniform inside it.
fn tail(d50: u64, spread: u64, dice: &mut Dice) -> u64 {
    match dice.below(10) {
        0..=4 => dice.between(d50.saturating_sub(spread / 4), d50),
        5..=8 => dice.between(d50, d50 + spread),
        _ => dice.between(d50 + spread, d50 + spread * 2),
    }
}

#[cfg(test)]
mod tests {
    use prefinal_protocol::Instant;

    use super::*;
    use crate::geography::Geography;

    const A: Seat = Seat::new(0);
    const B: Seat = Seat::new(1);
    const C: Seat = Seat::new(2);

    fn ms(count: u64) -> Instant {
        Instant::at(Duration::from_millis(count))
    }

    fn far_apart(jitter: Jitter) -> (Network, u64, u64) {
        let aws = Geography::aws().unwrap();
        let placement = Placement::listed(&aws, &["eu-west-1", "ap-east-1"]).unwrap();
        let trip = placement.round_trip(A, B).unwrap();
        (Network::placed(placement, jitter), nanos(trip.p50) / 2, nanos(trip.p90) / 2)
    }

    fn sample(network: &mut Network, count: usize) -> Vec<u64> {
        let mut dice = Dice::new(11);
        let mut draw = || match network.transit(A, B, 0, &mut dice) {
            Fate::Leaves { delay, .. } => delay,
            fate => panic!("{fate:?}"),
        };
        let mut delays: Vec<u64> = (0..count).map(|_| draw()).collect();
        delays.sort_unstable();
        delays
    }

    #[test]
    fn delay_is_half_a_round_trip_and_jitter_keeps_its_promise() {
        let (mut network, d50, _) = far_apart(Jitter::None);
        assert!(sample(&mut network, 10).iter().all(|&delay| delay == d50));
        let (mut network, d50, _) = far_apart(Jitter::Percent(5));
        let delays = sample(&mut network, 10_000);
        let (low, high) = (delays[0], delays[9999]);
        assert!(low >= d50 / 100 * 95 && low < d50 / 1000 * 951, "{low} {d50}");
        assert!(high <= d50 / 100 * 106 && high > d50 / 1000 * 1049, "{high} {d50}");
        assert!(delays[5000].abs_diff(d50) < d50 / 500);
    }

    #[test]
    fn a_seat_without_a_place_cannot_move() {
        let error = Network::constant(Duration::ZERO).relocate(A, "eu-west-1").unwrap_err();
        assert_eq!(error, RelocationError::NoPlace { seat: A });
        let (mut network, before, _) = far_apart(Jitter::None);
        network.relocate(B, "eu-west-2").unwrap();
        assert!(sample(&mut network, 1)[0] < before);
    }

    #[test]
    fn uniform_delays_fill_their_range_and_stay_in_it() {
        let mut network = Network::uniform(Duration::from_nanos(100), Duration::from_nanos(103));
        let delays = sample(&mut network, 4000);
        let distinct: BTreeSet<u64> = delays.iter().copied().collect();
        assert_eq!(distinct, BTreeSet::from([100, 101, 102, 103]));
        assert!(delays[1000].abs_diff(delays[2000]) <= 1 && delays[2000].abs_diff(102) <= 1);
    }

    #[test]
    fn the_tail_has_the_measured_percentiles() {
        let (mut network, d50, d90) = far_apart(Jitter::Tail);
        assert!(d90 > d50 + d50 / 100);
        let delays = sample(&mut network, 20_000);
        let spread = d90 - d50;
        assert!(delays[10_000].abs_diff(d50) < spread / 20);
        assert!(delays[18_000].abs_diff(d90) < spread / 20);
        assert!(delays[19_999] <= d90 + spread && delays[19_999] > d90 + spread / 2);
        assert!(delays[0] >= d50 - spread / 4);
    }

    #[test]
    fn a_seat_reaches_itself_at_once_whatever_the_links_do() {
        let loss = Loss { window: Window::ALWAYS, chance: Chance::ALWAYS };
        let mut network = Network::constant(Duration::from_millis(9)).with_loss(loss);
        let mut dice = Dice::new(0);
        let at_once = Fate::Leaves { departure: 5, delay: 0, held: false };
        assert_eq!(network.transit(A, A, 5, &mut dice), at_once);
        assert_eq!(network.transit(A, B, 5, &mut dice), Fate::Lost);
    }

    #[test]
    fn a_partition_drops_or_holds_by_group_and_window() {
        let parted = |blocked, from, until| Partition {
            window: Window::new(ms(from), ms(until)),
            groups: vec![BTreeSet::from([A])],
            blocked,
        };
        let mut dice = Dice::new(0);
        let mut dropping = Network::constant(Duration::ZERO).with_partition(parted(
            PartitionEffect::Dropped,
            10,
            20,
        ));
        let fate = |network: &mut Network, from, to, at: u64, dice: &mut Dice| {
            network.transit(from, to, at * 1_000_000, dice)
        };
        assert_eq!(fate(&mut dropping, A, B, 10, &mut dice), Fate::Cut);
        assert_eq!(fate(&mut dropping, B, A, 19, &mut dice), Fate::Cut);
        let through = |at: u64, held| Fate::Leaves { departure: at * 1_000_000, delay: 0, held };
        assert_eq!(fate(&mut dropping, B, C, 15, &mut dice), through(15, false));
        assert_eq!(fate(&mut dropping, A, B, 9, &mut dice), through(9, false));
        assert_eq!(fate(&mut dropping, A, B, 20, &mut dice), through(20, false));
        let mut holding = Network::constant(Duration::ZERO)
            .with_partition(parted(PartitionEffect::Held, 18, 30))
            .with_partition(parted(PartitionEffect::Held, 10, 20));
        assert_eq!(fate(&mut holding, A, B, 12, &mut dice), through(30, true));
        let mut forever = Network::constant(Duration::ZERO).with_partition(Partition {
            window: Window::ALWAYS,
            groups: vec![BTreeSet::from([A]), BTreeSet::from([B])],
            blocked: PartitionEffect::Held,
        });
        assert_eq!(fate(&mut forever, A, B, 1, &mut dice), Fate::Cut);
    }

    #[test]
    fn order_is_kept_only_where_it_was_asked_for() {
        let overtakes = |network: &mut Network| {
            let mut dice = Dice::new(3);
            let mut last = 0;
            (0..1000).any(|sent| match network.transit(A, B, sent, &mut dice) {
                Fate::Leaves { departure, delay, .. } => {
                    let at = network.arrival(A, B, departure + delay);
                    std::mem::replace(&mut last, at) > at
                }
                fate => panic!("{fate:?}"),
            })
        };
        let (network, ..) = far_apart(Jitter::Percent(5));
        assert!(overtakes(&mut network.clone()));
        assert!(!overtakes(&mut network.in_order()));
    }
}
