//! In a later life a beacon asks its peers where they are. It also answers peers that ask.
//!
//! ```text
//!  Life::Later ─► AskHead{life} ─► all peers ─► Head{life, next} ─► enough? ─► first slot that is free
//!                    ▲  silent: asked again after a pause  │
//! ```
//! As soon as enough peers have answered, the free slot is known. But one of them may lie. Each further
//! answer can only bring the free slot closer, so the other peers are asked too, until this party has
//! reached it.
//!
//! Until then nothing new leaves early. Releases that are on record are repeated, and partials of final slots
//! always leave. An intact journal looks like an older copy, so every restart takes the slow path for about
//! the window.
//!
//! The answer to a peer is the slot after all slots that this party has spoken of. A party that is not past
//! its own lost slots adds the window: slots that it voted for without a release are not on record, and lie
//! no further.
//!
//! See also: why so many peers are enough, and why the window
//! ([`prefinal_contract::lost`](crate::contract::lost)).
use std::collections::BTreeMap;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Recipient, Slot};

use super::Beacon;
use crate::schemes::Scheme;
use crate::wire::Message;
use prefinal_contract::lost::{Life, LifeId, LostSlots, recollect};

/// The answers of peers in this life.
#[derive(Clone, Debug)]
pub(super) struct Recall {
    /// `None` in the first life.
    life: Option<LifeId>,
    /// The first answer of each peer.
    heads: BTreeMap<Party, Slot>,
    ask_at: Instant,
    /// The slot after all slots that were prefinalized here in this life, released or not.
    spoken: Slot,
    /// The slot after all slots that are on record.
    recorded: Slot,
}

impl Recall {
    pub(super) const fn new(life: Life, first: Slot) -> Self {
        let life = match life {
            Life::First => None,
            Life::Later(life) => Some(life),
        };
        let heads = BTreeMap::new();
        Self { life, heads, ask_at: Instant::START, spoken: first, recorded: first }
    }

    /// Notes that this party is about to vote for a slot.
    pub(super) fn speaks(&mut self, slot: Slot) {
        self.spoken = self.spoken.max(slot.next());
    }

    /// How many notes are kept of a peer.
    pub(super) fn notes_of(&self, party: Party) -> usize {
        usize::from(self.heads.contains_key(&party))
    }
}

impl<S: Scheme> Beacon<S> {
    /// The slots that earlier lives may have released for without a record.
    #[must_use]
    pub const fn lost(&self) -> LostSlots {
        self.standing.lost
    }

    /// The life in which the next epoch's beacon continues.
    pub(crate) fn life(&self) -> Life {
        match (self.standing.lost, self.recall.life) {
            (LostSlots::Nothing, _) | (_, None) => Life::First,
            (_, Some(life)) => Life::Later(life),
        }
    }

    /// The number to ask with; `None` when peers need not be asked.
    fn asks(&self) -> Option<LifeId> {
        let early = self.plan.early()?;
        let needed = !self.is_past_lost_slots() && self.secrets.contains_key(&early);
        self.recall.life.filter(|_| needed)
    }

    /// When peers are to be asked next; `None` when they need not be asked.
    pub(super) fn asks_at(&self) -> Option<Instant> {
        self.asks().filter(|_| self.silent().next().is_some()).map(|_| self.recall.ask_at)
    }

    fn silent(&self) -> impl Iterator<Item = Party> {
        let silent = |party: &Party| *party != self.me && !self.recall.heads.contains_key(party);
        self.parties().filter(silent)
    }

    /// Asks every peer that has not answered, if it is time.
    pub(super) fn ask_for_heads(&mut self, now: Instant) {
        let Some(life) = self.asks().filter(|_| self.recall.ask_at <= now) else { return };
        self.recall.ask_at = now + self.limits.retry;
        for party in self.silent().collect::<Vec<_>>() {
            self.send(Recipient::One(party), Message::AskHead { life });
        }
    }

    pub(super) fn answer_head(&mut self, to: Party, life: LifeId) {
        let next = self.next_to_say();
        self.send(Recipient::One(to), Message::Head { life, next });
    }

    /// Notes the first answer of each peer. Later answers would move on with the slots.
    pub(super) fn note_head(&mut self, from: Party, life: LifeId, next: Slot) {
        if self.asks() == Some(life) {
            self.recall.heads.entry(from).or_insert(next);
            self.settle();
        }
    }

    /// Starts a life from the records.
    pub(super) fn recall(&mut self) {
        self.recall.recorded = self.spoken_until();
        self.settle();
    }

    /// Decides what is lost, from the answers so far.
    fn settle(&mut self) {
        if self.asks().is_none() {
            return;
        }
        let own = self.recall.recorded;
        let (heads, window) = (&self.recall.heads, self.limits.window);
        self.standing.lost = recollect(&self.finality, self.me, heads, own, window);
    }

    fn spoken_until(&self) -> Slot {
        let gave_up = self.standing.abandoned.map_or(self.recall.spoken, |view| view.slot.next());
        self.unspoken().max(self.recall.spoken).max(gave_up)
    }

    /// The first slot of which this party has said nothing, in any life.
    fn next_to_say(&self) -> Slot {
        let next = self.spoken_until();
        if self.is_past_lost_slots() { next } else { next.after(self.limits.window) }
    }

    fn is_past_lost_slots(&self) -> bool {
        match self.standing.lost {
            LostSlots::Nothing => true,
            LostSlots::Unknown => false,
            LostSlots::Before(first) => self.local >= first,
        }
    }
}
