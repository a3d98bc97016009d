//! The beacon's side towards its peers: their messages, requests to them, and their faults.
use std::collections::BTreeMap;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Recipient, Slot};

use super::{Beacon, partial_message};
use crate::collector::{Arrival, Lane};
use crate::event::{Effect, Fault, Refusal};
use crate::history::Answer;
use crate::schemes::{Scheme, parties};
use crate::switch::Mode;
use crate::wire::Message;
use prefinal_contract::Binding;
use prefinal_contract::Path;
use prefinal_contract::bound_value;

/// Kinds of faults of which a party is accused only once. Repeating most of them costs it nothing; and where a
/// host has confused two parties, every partial of an honest one is false.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    UnusedPath,
    NoShares,
    ValueShape,
    Shape,
    Equivocation,
    FalsePartial,
}

impl Kind {
    /// The number of kinds.
    pub(super) const COUNT: usize = 6;
}

impl<S: Scheme> Beacon<S> {
    pub(super) fn received(&mut self, now: Instant, from: Party, message: Message<S>) {
        if from == self.me {
            return;
        }
        if !self.keys.has(from) {
            self.effect(Effect::Accuse { party: from, fault: Fault::NotMember });
            return;
        }
        match message {
            Message::Partial { path, slot, value, partial } => {
                if let Err(fault) = self.check_shape(from, slot, Lane { path, value }, &partial) {
                    self.accuse_once(from, fault);
                } else if self.awaits(slot, Lane { path, value }) {
                    self.collect(from, slot, Lane { path, value }, partial);
                }
            }
            Message::Request { slot } => self.answer(now, from, slot),
            Message::Show { first, count } => self.show(now, from, first, count),
            Message::Output { slot, path, shown } => self.look_at(from, slot, (path, shown)),
            Message::AskHead { life } => self.answer_head(from, life),
            Message::Head { life, next } => self.note_head(from, life, next),
        }
    }

    fn check_shape(
        &self,
        from: Party,
        slot: Slot,
        lane: Lane,
        partial: &S::Partial,
    ) -> Result<(), Fault<S>> {
        let Lane { path, value } = lane;
        // A path that is switched off is no fault: the peer may not have been told yet.
        if !self.plan.counts(path, Mode::On) {
            return Err(Fault::UnusedPath { path, slot });
        }
        if self.keys.holding(path, from) == 0 {
            return Err(Fault::NoShares { path });
        }
        let present = value.is_some();
        if present != (self.binding == Binding::Value) {
            return Err(Fault::ValueShape { present });
        }
        let committee = self.keys.committee(path).ok_or(Fault::UnusedPath { path, slot })?;
        S::check_shape(committee, from, partial).map_err(|error| Fault::Shape { path, error })
    }

    /// Rule 9: the slot is not finished, has no output yet, is within the window, and, if it is final, the
    /// partial is of the final value.
    fn awaits(&self, slot: Slot, Lane { path, value }: Lane) -> bool {
        if slot < self.head || !self.keeps(slot) {
            return false;
        }
        if !self.plan.counts(path, self.schedule.mode(slot)) {
            return false;
        }
        let Some(open) = self.open.get(&slot) else { return true };
        let bound = open.value().map(|last| bound_value(self.binding, last));
        open.result.is_none() && bound.is_none_or(|bound| bound == Some(value))
    }

    fn collect(&mut self, from: Party, slot: Slot, lane: Lane, partial: S::Partial) {
        let Some(committee) = self.keys.committee(lane.path) else { return };
        // An honest party may send a tight partial of a prefinalized value, and later one of the final value.
        let most = if lane.path == Path::Tight && lane.value.is_some() { 2 } else { 1 };
        let open = self.open.entry(slot).or_default();
        match open.collector.arrive(lane, (from, &partial), most, committee) {
            Arrival::New => self.advance(slot),
            Arrival::Duplicate => {}
            Arrival::Second => {
                let second = (lane.value, Box::new(partial));
                self.accuse_once(from, Fault::Equivocation { slot, path: lane.path, second });
            }
        }
    }

    /// Repeats to one peer the partial that was released on finalize, not too often.
    fn answer(&mut self, now: Instant, to: Party, slot: Slot) {
        if self.is_off(slot) {
            return;
        }
        let released = self.released_late(slot).map(|it| (it.value, it.partial.clone()));
        // Nobody else may be able to give what this party would have released.
        let is_passed = self.passed_over.as_ref().is_some_and(|slots| slots.contains(&slot));
        let Some((value, known)) = released.or(is_passed.then_some((None, None))) else { return };
        // Behind the backlog nothing is kept, so every answer costs an evaluation. A peer gets one answer,
        // and it is the one that it needs most: a peer asks for its oldest slots first.
        let kept = slot < self.head || self.keeps(slot);
        let given = if kept { &mut self.given } else { &mut self.behind };
        if !given.give(to, slot, now) {
            return;
        }
        let Some(bound) = bound_value(self.binding, value) else { return };
        let lane = Lane { path: self.plan.late(), value: bound };
        let Some(partial) = known.or_else(|| self.evaluate(lane, slot)) else { return };
        if let Some(answer) = self.released_late(slot).filter(|_| kept) {
            answer.partial = Some(partial.clone());
        }
        self.send(Recipient::One(to), partial_message(lane, slot, partial));
    }

    fn released_late(&mut self, slot: Slot) -> Option<&mut Answer<S>> {
        if slot < self.head {
            self.history.get_mut(slot)
        } else {
            self.open.get_mut(&slot)?.finality.as_mut()
        }
    }

    /// Asks again for the partials that final slots lack, when it is time.
    pub(super) fn ask(&mut self, now: Instant) {
        let due = self.lacking().filter(|(_, open)| open.ask_at <= now);
        for slot in due.map(|(slot, _)| slot).collect::<Vec<_>>() {
            let missing = self.missing(slot);
            if let Some(open) = self.open.get_mut(&slot) {
                open.ask_at = now + self.limits.retry;
                open.asked = true;
            }
            for party in missing {
                self.send(Recipient::One(party), Message::Request { slot });
            }
        }
        self.ask_for_outputs(now);
        self.ask_for_heads(now);
    }

    /// The parties whose late partial is not here. None while a job is running that may make them needless.
    fn missing(&self, slot: Slot) -> Vec<Party> {
        let path = self.plan.late();
        let (Some(committee), Some(open)) = (self.keys.committee(path), self.open.get(&slot))
        else {
            return Vec::new();
        };
        let bound = open.value().and_then(|value| bound_value(self.binding, value));
        let Some(bound) = bound.filter(|_| !open.collector.busy()) else { return Vec::new() };
        let lane = Lane { path, value: bound };
        let holders = parties::<S>(committee).filter(|party| S::holding(committee, *party) > 0);
        holders.filter(|party| *party != self.me && !open.collector.has(lane, *party)).collect()
    }

    /// Drops false partials, accuses their senders, and checks them one by one from now on.
    pub(super) fn caught(&mut self, slot: Slot, lane: Lane, faulty: BTreeMap<Party, S::Partial>) {
        let Lane { path, value } = lane;
        let (Some(committee), Some(open)) = (self.keys.committee(path), self.open.get_mut(&slot))
        else {
            return;
        };
        let own = faulty.contains_key(&self.me);
        let mut accusations = Vec::new();
        for (party, partial) in faulty.into_iter().filter(|(party, _)| *party != self.me) {
            if open.collector.reject(lane, (party, &partial), committee) {
                self.suspects.insert(party);
                let partial = Box::new(partial);
                let fault = Fault::FalsePartial { slot, path, value, partial };
                accusations.push((party, fault));
            }
        }
        for (party, fault) in accusations {
            self.accuse_once(party, fault);
        }
        if own {
            self.disown(path);
        }
    }

    /// Stops evaluating on this path, because this party's own secret does not fit its key.
    fn disown(&mut self, path: Path) {
        let Some(committee) = self.keys.committee(path) else { return };
        if self.secrets.remove(&path).is_none() {
            return;
        }
        for open in self.open.values_mut() {
            open.collector.disown(path, self.me, committee);
        }
        self.effect(Effect::Refused(Refusal::OwnSecret { path }));
    }

    pub(super) fn accuse_once(&mut self, party: Party, fault: Fault<S>) {
        let kind = match fault {
            Fault::UnusedPath { .. } => Kind::UnusedPath,
            Fault::NoShares { .. } => Kind::NoShares,
            Fault::ValueShape { .. } => Kind::ValueShape,
            Fault::Shape { .. } => Kind::Shape,
            Fault::Equivocation { .. } => Kind::Equivocation,
            Fault::FalsePartial { .. } => Kind::FalsePartial,
            // Accused where they are found: the first has no party to remember, the second happens once.
            Fault::NotMember | Fault::FalseOutput { .. } => return,
        };
        if self.accused.insert((party, kind)) {
            self.effect(Effect::Accuse { party, fault });
        }
    }
}
