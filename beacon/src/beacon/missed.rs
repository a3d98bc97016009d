//! Missed outputs are fetched from peers that have them.
//!
//! Peers answer requests for the partials of a slot only while the slot is fresh. A party that comes back
//! after thousands of slots, or lost more messages than the others still answer for, asks for outputs:
//!
//! ```text
//!  final, no output for a while ─► Show{first, count} ─► one peer ─► Output ─► job ─► result ─► FIFO
//!                                   ▲  silent: the next peer          │
//!                                   └──────────── false: accused, never asked again
//! ```
//! An output is accepted because of its proof and nothing else: under the group key, or as a qualified set of
//! partials. It is checked only if the slot is final here, lacks its output, and was asked of this peer. So
//! it cannot precede finality, nor take part in deciding a value. A peer that shows a false output costs
//! one check for each slot that it was asked for, once. An output that depends on parties that do not count
//! here yet also ends the asking, without blame. Peers are asked in turn: at once if an answer was of no
//! use for the first time, after a pause otherwise.
//!
//! This beacon shows outputs of finished slots that it keeps, or that the driver's archive has
//! ([`Effect::Lookup`]). One peer is shown a bounded number in a pause, each output once, and in all some
//! again (`history`). A request of 13 bytes is answered with at most `outputs` outputs. A skipped slot with
//! an input is treated like any other. A skipped slot without an input has no output. A slot that is off is
//! neither asked for nor shown.
use std::collections::{BTreeMap, BTreeSet};

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Recipient, Slot};

use super::Beacon;
use crate::collector::Lane;
use crate::event::{Effect, Fault};
use crate::job::{Job, Work};
use crate::schemes::{OutputError, ProvenOutput, Scheme};
use crate::switch::Mode;
use crate::wire::Message;
use prefinal_contract::Path;
use prefinal_contract::bound_value;

/// Which peers were asked for which outputs, and the result.
#[derive(Clone, Debug, Default)]
pub(super) struct Missed {
    /// The last range that each peer was asked for, both ends included.
    asked: BTreeMap<Party, (Slot, Slot)>,
    /// Peers that have shown a false output.
    pub(super) liars: BTreeSet<Party>,
    /// Peers whose last shown output depends on keys that are not known here.
    uncounted: BTreeSet<Party>,
    last: Option<Party>,
    again: Instant,
}

impl Missed {
    fn was_asked(&self, party: Party, slot: Slot) -> bool {
        let range = self.asked.get(&party).filter(|_| !self.liars.contains(&party));
        range.is_some_and(|(first, last)| (*first..=*last).contains(&slot))
    }

    /// Notes that the range asked of the last peer is done: the next peer can be asked without a pause.
    pub(super) fn reached(&mut self, head: Slot) {
        let range = self.last.and_then(|last| self.asked.get(&last));
        if range.is_some_and(|(_, last)| *last < head) {
            self.again = Instant::START;
        }
    }

    /// How many notes are kept of a peer.
    pub(super) fn notes_of(&self, party: Party) -> usize {
        let parties = [&self.liars, &self.uncounted];
        let noted = parties.into_iter().filter(|parties| parties.contains(&party)).count();
        usize::from(self.asked.contains_key(&party)) + noted
    }
}

impl<S: Scheme> Beacon<S> {
    /// Asks the next peer for the outputs of slots whose partials did not come, if it is time.
    pub(super) fn ask_for_outputs(&mut self, now: Instant) {
        let stuck = |open: &super::Open<S>| open.asked && !open.opening && !open.collector.busy();
        let first = self.lacking().find(|(_, open)| stuck(open)).map(|(slot, _)| slot);
        let Some(first) = first.filter(|_| self.missed.again <= now) else { return };
        let Some(peer) = self.next_peer() else { return };
        let end = self.local.min(self.head.after(self.limits.backlog));
        let most = u32::try_from(self.limits.outputs).unwrap_or(u32::MAX);
        // Outputs that are here already are not asked for again, because peers do not show them for ever.
        let here = self.open.range(first..end).find(|(_, open)| open.result.is_some());
        let end = here.map_or(end, |(slot, _)| *slot);
        let count = u32::try_from(end.get().saturating_sub(first.get())).unwrap_or(most).min(most);
        let last = first.after(u64::from(count).saturating_sub(1));
        self.missed.asked.insert(peer, (first, last));
        self.missed.last = Some(peer);
        self.missed.again = now + self.limits.retry;
        self.send(Recipient::One(peer), Message::Show { first, count });
    }

    /// The next peer in turn that has not shown a false output.
    fn next_peer(&self) -> Option<Party> {
        let last = self.missed.last.unwrap_or(self.me);
        let after = self.parties().filter(|party| *party > last);
        let until = self.parties().filter(|party| *party <= last);
        let mut peers = after.chain(until);
        peers.find(|party| *party != self.me && !self.missed.liars.contains(party))
    }

    /// Shows a peer the outputs of finished slots.
    pub(super) fn show(&mut self, now: Instant, to: Party, first: Slot, count: u32) {
        let mut archived = Vec::new();
        for slot in self.shows.asked(first, count) {
            if slot >= self.head {
                break;
            }
            if self.is_off(slot) {
                continue;
            }
            if !self.shows.give(to, slot, now) {
                break;
            }
            let known = self.history.get(slot).and_then(|answer| answer.shown.clone());
            match known {
                Some((path, shown)) => {
                    let message = Message::Output { slot, path, shown: *shown };
                    self.send(Recipient::One(to), message);
                }
                None => archived.push(slot),
            }
        }
        if !archived.is_empty() {
            self.effect(Effect::Lookup { to, slots: archived });
        }
    }

    /// Starts a check of an output that a peer has shown, if it was asked for and is still lacking.
    pub(super) fn look_at(
        &mut self,
        from: Party,
        slot: Slot,
        (path, shown): (Path, S::OutputMessage),
    ) {
        if !self.plan.counts(path, Mode::On) {
            self.accuse_once(from, Fault::UnusedPath { path, slot });
            return;
        }
        if !self.missed.was_asked(from, slot) || !self.keeps(slot) || self.is_off(slot) {
            return;
        }
        let lacking = self.open.get(&slot).filter(|open| open.result.is_none() && !open.opening);
        let Some(value) = lacking.and_then(super::Open::value) else { return };
        let Some(bound) = bound_value(self.binding, value) else { return };
        let Some(subject) = self.subject(slot, bound) else { return };
        if let Some(open) = self.open.get_mut(&slot) {
            open.opening = true;
        }
        let job = Job::new(&self.keys, &subject, path, Work::Open(from, shown));
        self.effect(Effect::Check(job));
    }

    /// Takes the result of the check: the output is right, or its sender is accused.
    pub(super) fn opened(
        &mut self,
        slot: Slot,
        Lane { path, value }: Lane,
        (from, shown): (Party, Box<S::OutputMessage>),
        result: Result<Box<ProvenOutput<S>>, OutputError>,
    ) {
        let kept = self.keeps(slot);
        let open = self.open.get_mut(&slot).filter(|open| open.opening);
        let Some(open) = open else { return };
        open.opening = false;
        match result {
            Ok(combined) => {
                self.missed.uncounted.remove(&from);
                let bound = open.value().and_then(|last| bound_value(self.binding, last));
                if kept && open.result.is_none() && bound == Some(value) {
                    open.result = Some((path, combined));
                    open.collector.clear();
                    self.reveal();
                }
            }
            // The output may be right, but that cannot be decided here: another peer's may depend on other
            // parties. Once all peers have been asked, each waits for its turn. What is missing is a key, and
            // asking does not bring it.
            Err(OutputError::NotCounted) => {
                self.missed.asked.remove(&from);
                if self.missed.uncounted.insert(from) {
                    self.missed.again = Instant::START;
                }
            }
            Err(OutputError::False) => {
                self.missed.again = Instant::START;
                if self.missed.liars.insert(from) {
                    let fault = Fault::FalseOutput { slot, path, shown };
                    self.effect(Effect::Accuse { party: from, fault });
                }
            }
        }
    }
}
