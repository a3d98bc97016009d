//! How many bytes links carry: network interfaces, connections, and loss that is repaired.
//!
//! Without any of these a message takes its delay, however long it is. With them its encoded length counts
//! ([`Host::encoded_len`](crate::Host::encoded_len)), and the delay is added behind:
//!
//! | limit                 | stands for                                                                     |
//! |-----------------------|--------------------------------------------------------------------------------|
//! | [`Interface`]         | a machine's network card: bytes per second out and in, shared by its connections |
//! | connection            | one TCP or QUIC connection: its window over its round trip, or a congested path |
//! | [`Retransmission`]    | packets that are lost and sent again                                            |
//!
//! **Out, connections take turns.** A seat has one connection to each other seat. Each sends up to 64 KiB
//! in its turn, as Linux does by default on hosts: `fq` and `fq_codel` serve flows round robin, and segmentation
//! offload makes pieces of up to 64 KiB. So flows share the interface equally, a small message waits for the
//! bytes in front of it on its own connection and for at most one piece of each other one.
//!
//! **What is more urgent leaves first** on its connection, if the host ranks messages
//! ([`Host::rank`](crate::Host::rank)), as with streams of several priorities on one QUIC connection. It waits for the
//! piece that is leaving.
//!
//! **In, pieces queue in the order in which they come**, as at the port of a switch, whose buffer never
//! overflows here. A piece counts when all of it is there (store and forward), so the last piece of a message
//! is paid for at both ends. What came interleaved is taken interleaved: there too flows share.
//!
//! **A connection spaces its pieces** (`fq`'s pacing): bytes of one connection never arrive faster than its
//! rate, and the interface serves others meanwhile.
//!
//! **A lost packet** comes one round trip later, or after the timeout if that is longer; if it is lost again, that
//! much later again. With [`Network::in_order`](crate::Network::in_order) everything behind it on its
//! connection waits: the head-of-line blocking of TCP. Otherwise only its own message waits, as with one QUIC
//! stream for each message. Retransmissions take time, not bytes, and loss slows no sender down: for that, give
//! the connection a rate.
//!
//! A message to the own seat passes no interface. What a crashed seat has handed over still leaves. Not
//! modelled: headers of packets, unless the host counts them, and shared links between interfaces.
//!
//! The queues are in `traffic`.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::dice::{Chance, Dice};
use crate::host::Seat;
use crate::time::nanos;

const BILLION: u128 = 1_000_000_000;

/// Largest payload of a packet, for which a loss is drawn: a frame of Ethernet without headers.
const PACKET: u64 = 1448;

/// Largest number of times that one packet is lost, as in Linux (`tcp_retries2`).
const MOST_LOSSES: u32 = 15;

/// Units of a rate, in bytes per second, largest first.
const UNITS: [(&str, u64); 8] = [
    ("Gbit/s", 125_000_000),
    ("Mbit/s", 125_000),
    ("kbit/s", 125),
    ("GB/s", 1_000_000_000),
    ("MB/s", 1_000_000),
    ("kB/s", 1_000),
    ("B/s", 1),
    ("bytes/s", 1),
];

/// Bytes per second.
///
/// ```
/// let rate: prefinal_sim::Rate = "5Gbit/s".parse()?;
/// assert_eq!(rate.get(), 625_000_000);
/// assert_eq!(rate.time(625), std::time::Duration::from_micros(1));
/// # Ok::<(), prefinal_sim::RateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(NonZeroU64);

/// Why a text is not a rate.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RateError {
    /// The unit is missing or unknown.
    #[error("`{text}` is not a rate: expected a number with one of {}", units())]
    Unit {
        /// The text.
        text: String,
    },
    /// The number is no integer, is zero, or is too large.
    #[error(
        "`{text}` is not a rate: the number must be an integer from 1 to 2^64 bytes per second"
    )]
    Number {
        /// The text.
        text: String,
    },
}

fn units() -> String {
    UNITS.map(|(unit, _)| unit).join(", ")
}

impl Rate {
    /// So many bytes per second.
    #[must_use]
    pub const fn bytes_per_second(bytes: NonZeroU64) -> Self {
        Self(bytes)
    }

    /// Bytes per second.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The time that so many bytes take, rounded up to a nanosecond.
    #[must_use]
    pub fn time(self, bytes: u64) -> Duration {
        Duration::from_nanos(self.nanos(bytes))
    }

    fn nanos(self, bytes: u64) -> u64 {
        let time = (u128::from(bytes) * BILLION).div_ceil(u128::from(self.get()));
        u64::try_from(time).unwrap_or(u64::MAX)
    }
}

/// The time at this rate; without a rate none.
pub(crate) fn time(rate: Option<Rate>, bytes: u64) -> u64 {
    rate.map_or(0, |rate| rate.nanos(bytes))
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let of = |(unit, factor): &(&str, u64)| Some((text.strip_suffix(unit)?, *factor));
        let found = UNITS.iter().find_map(of);
        let (number, factor) = found.ok_or_else(|| RateError::Unit { text: text.to_owned() })?;
        let count: Option<u64> = number.trim_end().parse().ok();
        let bytes = count.and_then(|count| NonZeroU64::new(count.checked_mul(factor)?));
        bytes.map(Self).ok_or_else(|| RateError::Number { text: text.to_owned() })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.get();
        let whole = UNITS.iter().find(|(_, factor)| bytes.is_multiple_of(*factor));
        let (unit, factor) = whole.copied().unwrap_or(("B/s", 1));
        write!(f, "{} {unit}", bytes / factor)
    }
}

/// A seat's network interface. Without a rate a direction takes no time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// What leaves the seat.
    pub outgoing: Option<Rate>,
    /// What comes to the seat.
    pub incoming: Option<Rate>,
}

impl Interface {
    /// An interface that limits nothing.
    pub const UNLIMITED: Self = Self { outgoing: None, incoming: None };

    /// An interface with one rate for each direction, both at once (full duplex).
    #[must_use]
    pub const fn duplex(rate: Rate) -> Self {
        Self { outgoing: Some(rate), incoming: Some(rate) }
    }
}

/// Packets are lost and sent again, at most 15 times each. This module's head says what waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// The probability that a packet of up to 1448 bytes is lost.
    pub chance: Chance,
    /// The least time until it is there after all. Zero stands for fast retransmission, which takes a round
    /// trip; Linux waits at least 200 ms for the last packet of a burst.
    pub timeout: Duration,
}

impl Retransmission {
    /// How much later the last packet of this piece is there, over a link with this delay.
    pub(crate) fn draw(&self, bytes: u64, delay: u64, dice: &mut Dice) -> u64 {
        let once = delay.saturating_mul(2).max(nanos(self.timeout));
        let mut latest = 0;
        for _ in 0..bytes.div_ceil(PACKET).max(1) {
            let lost = (0..MOST_LOSSES).take_while(|_| dice.happens(self.chance)).count();
            latest = latest.max(lost);
        }
        once.saturating_mul(u64::try_from(latest).unwrap_or(u64::MAX))
    }
}

/// All limits of a network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) interface: Interface,
    pub(crate) interfaces: BTreeMap<Seat, Interface>,
    pub(crate) connection: Option<Rate>,
    pub(crate) connections: BTreeMap<(Seat, Seat), Rate>,
    pub(crate) retransmission: Option<Retransmission>,
}

impl Limits {
    /// Whether nothing is limited.
    pub(crate) fn are_none(&self) -> bool {
        let unlimited = |interface: &Interface| *interface == Interface::UNLIMITED;
        unlimited(&self.interface)
            && self.interfaces.values().all(unlimited)
            && self.connection.is_none()
            && self.connections.is_empty()
            && self.retransmission.is_none()
    }

    pub(crate) fn interface(&self, seat: Seat) -> Interface {
        self.interfaces.get(&seat).copied().unwrap_or(self.interface)
    }

    pub(crate) fn connection(&self, from: Seat, to: Seat) -> Option<Rate> {
        self.connections.get(&(from, to)).copied().or(self.connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Rate {
        text.parse().unwrap()
    }

    #[test]
    fn rates_are_read_and_shown_in_bits_and_bytes() {
        for (text, bytes) in [("5Gbit/s", 625_000_000), ("100 Mbit/s", 12_500_000), ("3B/s", 3)] {
            assert_eq!(rate(text).get(), bytes);
            assert_eq!(rate(&rate(text).to_string()), rate(text));
        }
        assert_eq!(rate("625MB/s").to_string(), "5 Gbit/s");
        for text in ["5", "5Gbit", "", "Gbit", "5 gbit/s"] {
            assert!(matches!(text.parse::<Rate>(), Err(RateError::Unit { .. })), "{text}");
        }
        let most = format!("{}GB/s", u64::MAX);
        for text in ["0B/s", "-1B/s", "1.5GB/s", "B/s", most.as_str()] {
            assert!(matches!(text.parse::<Rate>(), Err(RateError::Number { .. })), "{text}");
        }
    }

    #[test]
    fn time_is_rounded_up_and_saturates() {
        assert_eq!(rate("3B/s").nanos(1), 333_333_334);
        assert_eq!(rate("1GB/s").nanos(0), 0);
        assert_eq!(rate("1B/s").nanos(u64::MAX), u64::MAX);
        assert_eq!(time(None, 1 << 40), 0);
    }

    #[test]
    fn a_packet_is_lost_again_as_often_as_chance_says() {
        let mut dice = Dice::new(5);
        let always = Retransmission { chance: Chance::ALWAYS, timeout: Duration::ZERO };
        assert_eq!(always.draw(1, 10, &mut dice), 15 * 20);
        let never = Retransmission { chance: Chance::NEVER, ..always };
        assert_eq!(never.draw(1 << 20, 10, &mut dice), 0);
        let slow = Retransmission { timeout: Duration::from_nanos(33), ..always };
        assert_eq!(slow.draw(1, 10, &mut dice), 15 * 33);
        // One packet in a hundred: of 20 000 pieces of one packet about 200, of two packets about 400.
        let some = Retransmission { chance: Chance::percent(1), ..always };
        let mut count = |bytes| (0..20_000).filter(|_| some.draw(bytes, 1, &mut dice) > 0).count();
        let (one, two) = (count(PACKET), count(PACKET + 1));
        assert!((140..260).contains(&one) && (310..490).contains(&two), "{one} {two}");
    }
}
