//! The party in each seat. A party with twins has more than one seat.
use std::collections::BTreeSet;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::Recipient;
use prefinal_sim::{Host, Seat, Step};

/// The party of each seat.
#[derive(Clone)]
pub(crate) struct Seating(Vec<Party>);

impl Seating {
    pub(crate) fn new(parties: impl IntoIterator<Item = Party>) -> Self {
        Self(parties.into_iter().collect())
    }

    /// One more seat for each of these parties, behind the seats that there are.
    pub(crate) fn extend(&mut self, parties: impl IntoIterator<Item = Party>) {
        self.0.extend(parties);
    }

    /// How many seats there are.
    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Whose seat it is.
    pub(crate) fn party(&self, seat: Seat) -> Party {
        self.0.get(seat.index()).copied().unwrap_or_else(|| Party::new(seat.get()))
    }

    /// The seats of a party.
    pub(crate) fn seats_of(&self, party: Party) -> impl Iterator<Item = Seat> {
        let seats = (0..).map(Seat::new).zip(&self.0);
        seats.filter(move |(_, one)| **one == party).map(|(seat, _)| seat)
    }

    /// All seats of parties, each of which is named by its first seat.
    pub(crate) fn all_of(&self, parties: &BTreeSet<Seat>) -> BTreeSet<Seat> {
        parties.iter().flat_map(|seat| self.seats_of(self.party(*seat))).collect()
    }

    /// The seats that a twin talks to: the first of the two to `side`, the second to all others, and neither to its
    /// twin.
    pub(crate) fn half_of(&self, twin: Seat, side: &BTreeSet<Seat>) -> BTreeSet<Seat> {
        let own = self.party(twin);
        let is_first = self.seats_of(own).next() == Some(twin);
        let seats = (0..self.count()).map(Seat::new);
        seats.filter(|to| self.party(*to) != own && side.contains(to) == is_first).collect()
    }

    /// Sends a message to everybody, or to all seats of a party.
    pub(crate) fn post<M, H: Host<Message = Arc<M>>>(
        &self,
        to: Recipient<Party>,
        message: M,
        step: &mut Step<'_, H>,
    ) {
        let message = Arc::new(message);
        match to {
            Recipient::All => step.send(Recipient::All, message),
            Recipient::One(party) => {
                for seat in self.seats_of(party) {
                    step.send(Recipient::One(seat), Arc::clone(&message));
                }
            }
        }
    }
}
