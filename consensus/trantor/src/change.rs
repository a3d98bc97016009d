//! Later views of a height: giving one up, asking for the next, leading it, entering it.
//!
//! Only the lowest undecided height is given up. So when a party asks for view `v` of height `h`, all
//! heights before `h` are decided here, and "no commit in a view before (h, v)" is true in the plain
//! order of heights and views, although many heights are open. The heights behind `h` go on meanwhile.
//!
//! - A height expires `timeout` after its leader could propose, `2^k · timeout` in attempt `k`. A leader that has
//!   failed and not yet made up for it gets half of the first, and a quarter if it left a height of this epoch or the
//!   one before empty and proposes nothing. All leaders' time runs at once, so several failed leaders cost about one
//!   timeout and not one each.
//! - The time of a later attempt runs as soon as a strong quorum has asked for it or a later one. Until
//!   then the view change is only sent again, since messages get lost.
//! - A party joins when a weak quorum has gone further: an honest party is among them.
//! - A primary sends what it proposes in a later view again to a party that asks for that view once more.
use core::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_engine::collector::Standing;
use prefinal_protocol::{Instant, Recipient, View};

use crate::block::skipped;
use crate::certificate::{CHANGE, ChangeCertificate, VoteCertificate};
use crate::engine::{Ask, Effect, Pending, Trantor};
use crate::fault::{Contradiction, Said, Signed};
use crate::job::{Asks, Work};
use crate::message::{Message, NewView, ViewChange};
use crate::open::{Open, patience};
use crate::records::Record;
use crate::vote::ATTEMPTS_AHEAD;

impl Trantor {
    /// How long the leader of the lowest undecided height has for its first view.
    fn first_patience(&self) -> Duration {
        let timeout = self.timing.timeout;
        let Some(leader) = self.schedule.leader(self.next) else { return timeout };
        let failed = self.failed.contains(&leader) || self.schedule.is_suspect(leader);
        let proposed = |open: &Open| open.proposals.contains_key(&0);
        let silent = !self.open.get(&self.next).is_some_and(proposed);
        match (failed, self.schedule.is_penalized(leader)) {
            (true, _) if silent => timeout / 4,
            (true, _) | (_, true) => timeout / 2,
            (false, false) => timeout,
        }
    }

    /// When the lowest undecided height has to be looked at.
    pub(crate) fn changes_at(&self) -> Option<Instant> {
        let open = self.open.get(&self.next)?;
        let again = open.asked.as_ref().map(|(_, again)| *again);
        [open.expires_at(self.first_patience()), again].into_iter().flatten().min()
    }

    /// Gives the lowest undecided height's view up if it has taken too long.
    pub(crate) fn watch(&mut self, now: Instant) {
        let (first, timeout) = (self.first_patience(), self.timing.timeout);
        let Some(open) = self.open.get_mut(&self.next) else { return };
        if open.expires_at(first).is_some_and(|end| end <= now) {
            let attempt = open.attempt.saturating_add(1);
            self.ask(now, attempt);
        } else if let Some((change, again)) = &mut open.asked
            && *again <= now
        {
            *again = now + timeout;
            let change = Message::ViewChange(Box::new(change.clone()));
            self.send(Recipient::All, change);
        }
    }

    /// Asks for this attempt at the lowest undecided height, and gives all before it up.
    fn ask(&mut self, now: Instant, attempt: u32) {
        let slot = self.next;
        let Some(open) = self.open.get_mut(&slot) else { return };
        let prepared = open.prepared.clone();
        let after = prepared.as_ref().map_or(0, |it| it.view.attempt.saturating_add(1));
        let attempt = attempt.max(after);
        open.enter(attempt, None);
        let view = View::new(slot, attempt);
        let given_up = View::new(slot, attempt.saturating_sub(1));
        self.abandoned = self.abandoned.max(Some(given_up));
        self.keep(Record::Change { view, prepared: prepared.clone().map(Box::new) });
        self.effect(Effect::Abandoned { view: given_up });
        self.send_change(now, view, prepared);
    }

    /// Sends a view change whose record is written.
    pub(crate) fn send_change(
        &mut self,
        now: Instant,
        view: View,
        prepared: Option<VoteCertificate>,
    ) {
        let claim = prepared.as_ref().map(|prepared| prepared.view.attempt);
        let message = self.committee.change_statement(view, claim);
        let signature = self.secret.sign(CHANGE, &message);
        let change = ViewChange { view, prepared, signature };
        let again = now + self.timing.timeout;
        if let Some(open) = self.open.get_mut(&view.slot) {
            open.asked = Some((change.clone(), again));
            open.deadline = None;
        }
        self.send(Recipient::All, Message::ViewChange(Box::new(change)));
        let ask = Ask { view, claim, signature, standing: Standing::Verified };
        self.asks.insert(self.me, ask);
        self.review(now);
    }

    /// A view change arrived. Its certificate is valid.
    pub(crate) fn accept_change(&mut self, now: Instant, from: Party, change: &ViewChange) {
        let (view, claim, signature) = (change.view, change.claim(), change.signature);
        self.open_early(view.slot);
        let standing = self.standing(from);
        let Some(open) = self.open.get_mut(&view.slot) else { return };
        if let Some(prepared) = &change.prepared {
            open.learn(prepared);
        }
        if standing == Standing::Suspected
            && view.attempt > open.attempt.saturating_add(ATTEMPTS_AHEAD)
        {
            // Each is checked alone, and there are as many attempts as it likes.
            return;
        }
        let said = |claim| Said::Change { view, prepared: claim };
        let second = Signed { said: said(claim), signature };
        match self.asks.get(&from) {
            Some(ask) if ask.view > view => return,
            Some(ask) if ask.view == view => {
                if ask.claim != claim {
                    let first = Signed { said: said(ask.claim), signature: ask.signature };
                    self.charge(from, Contradiction { first, second });
                } else {
                    self.lead_again(now, from, view);
                }
                return;
            }
            _ => {}
        }
        self.compare_with_commit(from, second);
        self.asks.insert(from, Ask { view, claim, signature, standing });
        if standing == Standing::Suspected {
            let votes: Asks = [(from, (claim, signature))].into();
            self.check(
                Work::Changes { view, votes: votes.clone() },
                Pending::Changes { view, votes },
            );
        }
        self.review(now);
    }

    /// Looks at what others ask for at the lowest undecided height.
    pub(crate) fn review(&mut self, now: Instant) {
        let slot = self.next;
        let Some(open) = self.open.get(&slot) else { return };
        let attempt = open.attempt;
        let asks = self.asks.iter();
        let mut asks: Vec<(u32, u128)> = asks
            .filter(|(_, ask)| ask.view.slot == slot && ask.standing.counts())
            .map(|(party, ask)| (ask.view.attempt, self.committee.stake(*party)))
            .filter(|(asked, _)| *asked >= attempt)
            .collect();
        asks.sort_unstable_by(|one, other| other.cmp(one));
        let mut stake = 0_u128;
        let mut joined = None;
        for (asked, held) in asks {
            stake = stake.saturating_add(held);
            if joined.is_none() && asked > attempt && self.committee.is_weak(stake) {
                joined = Some(asked);
            }
        }
        if let Some(attempt) = joined {
            self.ask(now, attempt);
            return;
        }
        let end = now + patience(self.timing.timeout, attempt);
        let strong = self.committee.is_strong(stake);
        if let Some(open) = self.open.get_mut(&slot).filter(|_| strong) {
            open.deadline.get_or_insert(end);
        }
        self.sum_changes(View::new(slot, attempt));
    }

    /// As the primary of a view that a quorum asks for, sums the view changes.
    fn sum_changes(&mut self, view: View) {
        let mine = self.schedule.primary(view, &self.committee) == Some(self.me);
        if !mine || view.attempt == 0 || self.leading >= Some(view) {
            return;
        }
        let of_view = self.asks.iter().filter(|(_, ask)| ask.view == view && ask.standing.counts());
        let votes: Asks =
            of_view.map(|(party, ask)| (*party, (ask.claim, ask.signature))).collect();
        let stake = votes.keys().map(|party| self.committee.stake(*party));
        if self.committee.is_strong(stake.fold(0, u128::saturating_add)) {
            self.leading = Some(view);
            self.check(
                Work::Changes { view, votes: votes.clone() },
                Pending::Changes { view, votes },
            );
        }
    }

    /// Proposes in a later view: the value of the highest prepared certificate, or to skip the height.
    pub(crate) fn lead(&mut self, change: ChangeCertificate) {
        let view = change.view;
        let Some(open) = self.open.get(&view.slot) else { return };
        let voted = open.prepare.map(|(attempt, _)| attempt);
        let prepared = open.prepared.clone().filter(|it| it.view.attempt < view.attempt);
        let got = prepared.as_ref().map(|prepared| prepared.view.attempt);
        if open.attempt != view.attempt || voted >= Some(view.attempt) || got < change.highest() {
            return;
        }
        let skip = || skipped(view.slot);
        let value = prepared.as_ref().map_or_else(skip, |prepared| prepared.value);
        self.promise(view, value);
        let signature = self.note_proposal(view, value);
        let new = NewView { change, prepared, signature };
        if let Some(open) = self.open.get_mut(&view.slot) {
            open.led = Some(new.clone());
        }
        self.send(Recipient::All, Message::NewView(Box::new(new)));
        self.send_prepare(view, value);
    }

    /// A party asks once more for a view that this party has begun: it has not seen the proposal, which was lost or
    /// came before its epoch. It gets it again.
    fn lead_again(&mut self, now: Instant, to: Party, view: View) {
        let led = self.open.get(&view.slot).and_then(|open| open.led.as_ref());
        let Some(new) = led.filter(|new| new.change.view == view).cloned() else { return };
        if self.fetch.may_serve(to, now) {
            self.send(Recipient::One(to), Message::NewView(Box::new(new)));
        }
    }

    /// A new view arrived from its primary. Its certificates are valid.
    pub(crate) fn accept_new_view(&mut self, now: Instant, from: Party, new: &NewView) {
        let view = new.change.view;
        let value = new.value();
        self.open_early(view.slot);
        let end = now + patience(self.timing.timeout, view.attempt);
        let Some(open) = self.open.get_mut(&view.slot) else { return };
        if let Some(prepared) = &new.prepared {
            open.learn(prepared);
        }
        if view.attempt < open.attempt {
            return;
        }
        if !open.proposals.contains_key(&view.attempt) {
            open.enter(view.attempt, Some(end));
        }
        self.propose_in(from, view, (value, new.signature));
        self.prepare(view, value);
    }

    /// Whether a party may propose in this view; only some views have a primary that is known.
    pub(crate) fn is_primary(&self, party: Party, view: View) -> bool {
        self.schedule.primary(view, &self.committee) == Some(party)
    }
}
