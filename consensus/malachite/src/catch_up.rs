//! Decisions that others made while this party was absent.
//!
//! A party that votes at a later height has decided this one. If that lasts for a while, one of the
//! parties that are ahead is asked, and after the same time the next one. A decision comes with its
//! certificate, which Malachite verifies. Only the answer of the party that was asked is accepted, so
//! that nobody can have certificates verified at will.
use std::collections::BTreeMap;

use malachitebft_core_consensus::{self as consensus, PeerId};
use malachitebft_core_types::ValueResponse;
use prefinal_protocol::{Instant, Party, Recipient};

use crate::context::Height;
use crate::engine::{Effect, Malachite, Task};
use crate::message::{Decision, Message};

/// Malachite wants a name for the peer of every decision and does not use it; `asked` holds the real one.
const PEER: [u8; 2] = [0, 0];

/// The parties that are ahead, and the party that was asked.
#[derive(Debug, Default)]
pub(crate) struct CatchUp {
    /// The latest height that each party has shown to be at.
    heights: BTreeMap<Party, Height>,
    asked: Option<Party>,
    ask_at: Option<Instant>,
    /// For each party, the last height that it got an answer for, and when.
    answered: BTreeMap<Party, (Height, Instant)>,
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
    /// Notes the height that a message shows for its sender.
    pub(crate) fn claim(&mut self, from: Party, height: Height) {
        let at = self.catch_up.heights.entry(from).or_insert(height);
        *at = height.max(*at);
        if height > self.height && self.catch_up.ask_at.is_none() {
            self.catch_up.ask_at = Some(self.now + self.config.catch_up_after);
        }
    }

    /// If it is time, asks the next of the parties that are ahead.
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

    /// A new height has begun: after an answer the next party in turn is asked at once. So a party that
    /// always answers as late as allowed delays only one height in as many as there are parties ahead.
    pub(crate) fn catch_up_further(&mut self) {
        if self.catch_up.asked.is_some() {
            self.catch_up.ask_at = Some(self.now);
            return self.ask_for_decision();
        }
        let later = self.now + self.config.catch_up_after;
        let ahead = self.catch_up.ahead_of(self.height).next().is_some();
        self.catch_up.ask_at = ahead.then_some(later);
    }

    /// Answers a request for a decision. A height is answered again after half of the time that an
    /// honest party waits before it asks again.
    pub(crate) fn answer(&mut self, to: Party, height: Height) {
        let rested = |at: Instant| at + self.config.catch_up_after / 2 <= self.now;
        let last = self.catch_up.answered.get(&to);
        if last.is_some_and(|(last, at)| height <= *last && !rested(*at)) {
            return;
        }
        if let Some(decision) = self.decided.get(&height) {
            let decision = Box::new(Decision::clone(decision));
            self.catch_up.answered.insert(to, (height, self.now));
            self.send(Recipient::One(to), Message::Decided(decision));
        }
    }

    pub(crate) fn told(&mut self, from: Party, decision: &Decision) {
        // An honest answer may come when another party was asked since, or when it is not needed any more.
        if self.catch_up.asked != Some(from) || decision.block.height() != self.height {
            return;
        }
        let Ok(peer) = PeerId::from_bytes(&PEER) else { return };
        // Writing into memory cannot fail.
        let block = borsh::to_vec(&decision.block).unwrap_or_default();
        let response = ValueResponse::new(peer, block.into(), decision.extended());
        self.tasks.push_back(Task::Feed(consensus::Input::SyncValueResponse(response)));
    }

    pub(crate) fn accuse_asked(&mut self, error: &str) {
        if let Some(party) = self.catch_up.asked {
            let fault = format!("sent a decision that is none: {error}");
            self.effect(Effect::Accuse { party, fault });
        }
    }
}
