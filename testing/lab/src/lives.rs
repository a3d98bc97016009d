//! The life that a simulated seat is in: the first, or one after a crash. Each life has a number.

use std::collections::BTreeMap;

use ::prefinal_beacon::Life;
use prefinal_sim::Seat;

/// Number of lives that each seat had.
#[derive(Clone, Debug, Default)]
pub struct Lives(BTreeMap<Seat, u128>);

impl Lives {
    /// The number of the life that a seat begins now.
    pub fn begin(&mut self, seat: Seat) -> Life {
        let before = self.0.entry(seat).or_insert(0);
        let life = match *before {
            0 => Life::First,
            number => Life::later(number.to_le_bytes()),
        };
        *before = before.saturating_add(1);
        life
    }
}
