//! Decisions of others, for a party that was absent.
//!
//! Whoever votes at a later height has decided this one. If it goes on for a while, one of those who are
//! ahead is asked, and the next one after the same while again. A decision comes with its certificate,
//! which Malachite verifies; it is taken from who was asked and from nobody else, so that nobody can have
//! certificates verified at will.
use std::collections::BTreeMap;

use crypto_core::access::Party;
use machine::Instant;
use malachitebft_core_consensus::{self as consensus, PeerId};
use malachitebft_core_types::ValueResponse;

use crate::context::Height;
use crate::engine::{Malachite, Output, Recipient, Task};
use crate::message::{Decision, Message};

/// What Malachite calls the peer of every decision: it has a name for it and no use (`asked` knows).
const PEER: [u8; 2] = [0, 0];

/// Who is ahead, and who was asked.
#[derive(Debug, Default)]
pub(crate) struct CatchUp {
    /// The latest height that a party has shown itself to be at.
    heights: BTreeMap<Party, Height>,
    asked: Option<Party>,
    ask_at: Option<Instant>,
}

impl CatchUp {
    pub(crate) const fn ask_at(&self) -> Option<Instant> {
        self.ask_at
    }

    fn ahead_of(&self, height: Height) -> impl Iterator<Item = Party> {
        self.heights.iter().filter(move |(_, at)| **at > height).map(|(party, _)| *party)
    }
}

impl Malachite {
    /// A message shows where its sender is.
    pub(crate) fn claim(&mut self, from: Party, height: Height) {
        let at = self.catch_up.heights.entry(from).or_insert(height);
        *at = height.max(*at);
        if height > self.height && self.catch_up.ask_at.is_none() {
            self.catch_up.ask_at = Some(self.now + self.config.catch_up_after);
        }
    }

    /// If the time has come, asks the next of those who are ahead.
    pub(crate) fn ask_for_decision(&mut self) {
        if self.catch_up.ask_at.is_none_or(|at| at > self.now) {
            return;
        }
        let asked = self.catch_up.asked;
        let ahead: Vec<Party> = self.catch_up.ahead_of(self.height).collect();
        let next = ahead.iter().find(|party| Some(**party) > asked).or(ahead.first());
        self.catch_up.asked = next.copied();
        self.catch_up.ask_at = next.map(|_| self.now + self.config.catch_up_after);
        if let Some(party) = next {
            self.send(Recipient::One(*party), Message::Request { height: self.height });
        }
    }

    /// A new height: whoever answered for the last one may have this one as well.
    pub(crate) fn catch_up_further(&mut self) {
        let later = self.now + self.config.catch_up_after;
        let asked = self.catch_up.asked.take();
        let ahead: Vec<Party> = self.catch_up.ahead_of(self.height).collect();
        let further = asked.filter(|asked| ahead.contains(asked));
        self.catch_up.ask_at = (!ahead.is_empty()).then_some(later);
        if let Some(party) = further {
            self.catch_up.asked = further;
            self.send(Recipient::One(party), Message::Request { height: self.height });
        }
    }

    pub(crate) fn answer(&mut self, to: Party, height: Height) {
        if let Some(decision) = self.decided.get(&height) {
            let decision = Box::new(Decision::clone(decision));
            self.send(Recipient::One(to), Message::Decided(decision));
        }
    }

    pub(crate) fn told(&mut self, from: Party, decision: &Decision) {
        // An honest answer may come when somebody else was asked, or when it is not needed any more.
        if self.catch_up.asked != Some(from) || decision.block.height() != self.height {
            return;
        }
        let Ok(peer) = PeerId::from_bytes(&PEER) else { return };
        // Writing into memory does not fail.
        let block = borsh::to_vec(&decision.block).unwrap_or_default();
        let response = ValueResponse::new(peer, block.into(), decision.extended());
        self.tasks.push_back(Task::Feed(consensus::Input::SyncValueResponse(response)));
    }

    pub(crate) fn accuse_asked(&mut self, error: &str) {
        if let Some(party) = self.catch_up.asked {
            let fault = format!("sent a decision that is none: {error}");
            self.outputs.push_back(Output::Accuse { party, fault });
        }
    }
}
