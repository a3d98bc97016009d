//! Clients: which transaction of which client this is, and which of them were ordered.
//!
//! A client numbers its transactions from zero and writes its name and the number before them:
//! ```text
//! "trantor\xff" (8 bytes) ‖ client (32 bytes) ‖ number (8 bytes, big-endian) ‖ body
//! ```
//! The transaction with a number is reported once. A client may have [`WINDOW`] numbers open, counted from the
//! lowest one that was not ordered, so one client takes a fixed number of bytes however long it lives:
//! ```text
//! number    0 … 40   41   42   43   44 …  168   169 …
//!           ordered   ·  ordered ·    ·    ·    ahead: refused
//!                    └──────── window ───────┘
//! ```
//! The window moves when its lowest number is ordered. That depends on the order alone, so it is the same for
//! all parties. A number that one party takes as open is open when the order comes to it, for windows only
//! move up.
//!
//! **Bytes without this beginning have no client**, and are known by their digest for as many heights as
//! blocks are kept (`order`). The validator's own transactions, dealings and keys, are of this kind: each stands
//! alone, its party cannot remember over a crash which numbers it has used, and the session that it is for
//! refuses a second one anyway. Their first byte is a small number, so they cannot be taken for a client's.
//!
//! A name is not authenticated here: an application that gives names to clients checks their signatures
//! itself. A party that spreads a number in another client's name can thus use it up; the paper leaves that to
//! the layer above, too.
//!
//! After [Trantor](https://arxiv.org/abs/2308.15849), section 5.5; there the window moves once an epoch.
use std::collections::BTreeMap;
use std::fmt;

use borsh::{BorshDeserialize, BorshSerialize};
use thiserror::Error;

use crate::block::Transaction;

/// Transactions of a client that may be open at a time.
pub const WINDOW: u64 = 128;
/// Most clients. Further ones are refused: whatever forgets a client would order its transactions twice.
pub const MAX_CLIENTS: usize = 1 << 16;

/// How a transaction of a client begins.
const TAG: [u8; 8] = *b"trantor\xff";

/// The name of a client, for instance the hash of its key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
pub struct Client([u8; 32]);

impl Client {
    /// The client with this name.
    #[must_use]
    pub const fn new(name: [u8; 32]) -> Self {
        Self(name)
    }

    /// The bytes of the name.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "Client({a:02x}{b:02x}{c:02x}{d:02x}…)")
    }
}

/// The place of a transaction among those of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientHeader {
    /// The client that the transaction is from.
    pub client: Client,
    /// The number, counted from zero.
    pub number: u64,
}

impl ClientHeader {
    /// Bytes of the header.
    pub const BYTES: usize = TAG.len() + 32 + 8;

    /// The transaction with this header and body.
    #[must_use]
    pub fn transaction(self, body: &[u8]) -> Transaction {
        let number = self.number.to_be_bytes();
        Transaction::new([&TAG[..], &self.client.0, &number, body].concat())
    }

    /// Splits a transaction into its header and body. `None` if it has no client.
    #[must_use]
    pub fn split(transaction: &[u8]) -> Option<(Self, &[u8])> {
        let rest = transaction.strip_prefix(&TAG)?;
        let (client, rest) = rest.split_first_chunk()?;
        let (number, body) = rest.split_first_chunk()?;
        let number = u64::from_be_bytes(*number);
        Some((Self { client: Client(*client), number }, body))
    }
}

/// Why a number of a client is not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WindowError {
    /// A transaction with this number was ordered.
    #[error("number {number} was ordered before")]
    Used {
        /// The number that was used before.
        number: u64,
    },
    /// Too many numbers before it were not ordered. Try again when they are.
    #[error("number {number} is ahead of the window, which ends before {end}")]
    Ahead {
        /// The number that is too far ahead.
        number: u64,
        /// The first number behind the window.
        end: u64,
    },
    /// It is the first transaction of a client, and as many clients are known as may be.
    #[error("{most} clients are known, and there is no room for more")]
    TooManyClients {
        /// Largest number of clients that are known at once.
        most: usize,
    },
}

impl WindowError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Used { .. } => "number-used",
            Self::Ahead { .. } => "number-ahead",
            Self::TooManyClients { .. } => "too-many-clients",
        }
    }
}

/// The open numbers of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
struct Window {
    /// The lowest number that was not ordered.
    lowest: u64,
    /// The numbers from `lowest` on that were; the lowest bit is always zero.
    used: u128,
}

impl Window {
    /// The bit of an open number.
    fn open(&self, number: u64) -> Result<u128, WindowError> {
        let Some(place) = number.checked_sub(self.lowest) else {
            return Err(WindowError::Used { number });
        };
        if place >= WINDOW {
            return Err(WindowError::Ahead { number, end: self.lowest.saturating_add(WINDOW) });
        }
        let bit = 1_u128 << place;
        if self.used & bit == 0 { Ok(bit) } else { Err(WindowError::Used { number }) }
    }

    fn take(&mut self, number: u64) -> Result<(), WindowError> {
        let used = self.used | self.open(number)?;
        let passed = used.trailing_ones();
        self.lowest = self.lowest.saturating_add(u64::from(passed));
        self.used = used.checked_shr(passed).unwrap_or(0);
        Ok(())
    }
}

/// The windows of all clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Clients(BTreeMap<Client, Window>);

impl Clients {
    /// Checks that a number is open.
    pub(crate) fn check(&self, header: ClientHeader) -> Result<(), WindowError> {
        if !self.0.contains_key(&header.client) && self.0.len() >= MAX_CLIENTS {
            return Err(WindowError::TooManyClients { most: MAX_CLIENTS });
        }
        let window = self.0.get(&header.client).copied().unwrap_or_default();
        window.open(header.number).map(|_bit| ())
    }

    /// Notes that a number is ordered.
    pub(crate) fn take(&mut self, header: ClientHeader) -> Result<(), WindowError> {
        self.check(header)?;
        self.0.entry(header.client).or_default().take(header.number)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn header(client: u8, number: u64) -> ClientHeader {
        ClientHeader { client: Client::new([client; 32]), number }
    }

    #[test]
    fn a_header_is_read_as_it_was_written_and_anything_else_has_no_client() {
        let pay = header(7, 300).transaction(b"pay");
        assert_eq!(ClientHeader::split(pay.bytes()), Some((header(7, 300), &b"pay"[..])));
        let empty = header(7, 300).transaction(b"");
        assert_eq!(empty.bytes().len(), ClientHeader::BYTES);
        for length in 0..ClientHeader::BYTES {
            assert_eq!(ClientHeader::split(&empty.bytes()[..length]), None);
        }
        // Kind and epoch of a validator's transaction.
        for kind in 0..=2 {
            assert_eq!(ClientHeader::split(&[&[kind][..], &[0xff; 60]].concat()), None);
        }
    }

    #[test]
    fn every_number_is_taken_once_in_any_order_and_the_window_moves_with_the_lowest() {
        let mut clients = Clients::default();
        let used = |number| Err(WindowError::Used { number });
        for number in (0..WINDOW).rev() {
            let ahead = WindowError::Ahead { number: WINDOW, end: WINDOW };
            assert_eq!(clients.take(header(1, WINDOW)), Err(ahead));
            assert_eq!(clients.take(header(1, number)), Ok(()));
            assert_eq!(clients.take(header(1, number)), used(number));
        }
        assert_eq!(clients.0[&Client::new([1; 32])], Window { lowest: WINDOW, used: 0 });
        for (number, lowest) in [(129, 128), (131, 128), (128, 130), (130, 132)] {
            assert_eq!(clients.take(header(1, number)), Ok(()));
            assert_eq!(clients.0[&Client::new([1; 32])].lowest, lowest);
        }
        assert_eq!((clients.take(header(1, 0)), clients.take(header(2, 0))), (used(0), Ok(())));
    }

    #[test]
    fn the_last_number_does_not_come_round_to_the_first() {
        let mut window = Window { lowest: u64::MAX, used: 0 };
        assert_eq!(window.take(u64::MAX), Ok(()));
        assert_eq!(window.open(0), Err(WindowError::Used { number: 0 }));
    }

    #[test]
    fn the_number_of_clients_is_bounded_and_those_that_are_known_go_on() {
        let named = |number: usize| {
            let mut name = [0; 32];
            name[..8].copy_from_slice(&number.to_be_bytes());
            ClientHeader { client: Client::new(name), number: 0 }
        };
        let mut clients = Clients::default();
        for number in 0..MAX_CLIENTS {
            assert_eq!(clients.take(named(number)), Ok(()));
        }
        let full = Err(WindowError::TooManyClients { most: MAX_CLIENTS });
        assert_eq!((clients.check(named(MAX_CLIENTS)), clients.0.len()), (full, MAX_CLIENTS));
        assert_eq!(clients.take(ClientHeader { number: 1, ..named(3) }), Ok(()));
    }
}
