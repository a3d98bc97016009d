//! False claims about views: that a value is prepared or decided, that a quorum asks for a view, that nothing
//! was prepared before.

use std::time::Duration;

use ::prefinal_trantor::{Decision, Message, NewView, Stage, ViewChange, VoteCertificate, skipped};
use prefinal_protocol::{Slot, Value, View};
use prefinal_sim::{Chance, Dice};

use super::super::execution::ROUND;
use super::super::tally::{Certificate, Flaw, Kind};
use super::certificates::CHANGE;
use super::{Intriguer, Told};

impl Intriguer {
    /// Adds false claims to what the party says about views, and to its proposals a view in which they are
    /// given up.
    pub(super) fn claim_in(&self, dice: &mut Dice, message: &Message) -> Option<Vec<Told>> {
        match message {
            Message::Proposal(proposal) if dice.happens(Chance::percent(40)) => {
                // The leader's turn among the primaries of later views.
                let committee = self.conspiracy.committees.all.get(&self.epoch)?;
                let turn = u32::try_from(committee.stakeholders().len()).ok()?;
                let later = dice.duration(Duration::ZERO, ROUND / 4);
                let new = self.new_view(dice, View::new(proposal.slot, turn))?;
                let own = Told(message.clone(), Duration::ZERO);
                Some(vec![own, Told(new, later)])
            }
            Message::ViewChange(change) if dice.happens(Chance::percent(60)) => {
                let view = change.view;
                let told = if change.prepared.is_some() {
                    self.count(Kind::Hidden);
                    self.view_change(view, None)?
                } else {
                    self.false_change(dice, view)?
                };
                Some(vec![Told(told, Duration::ZERO)])
            }
            Message::NewView(new) if dice.happens(Chance::percent(70)) => {
                Some(vec![Told(self.changed(dice, new)?, Duration::ZERO)])
            }
            _ => None,
        }
    }

    fn view_change(&self, view: View, prepared: Option<VoteCertificate>) -> Option<Message> {
        let committee = self.conspiracy.committees.all.get(&self.epoch)?;
        let claim = prepared.as_ref().map(|prepared| prepared.view.attempt);
        let signature = self.sign(CHANGE, &committee.change_statement(view, claim))?;
        Some(Message::ViewChange(Box::new(ViewChange { view, prepared, signature })))
    }

    /// Asks for a view with a false certificate that a value is prepared, or that nothing is.
    pub(super) fn false_change(&self, dice: &mut Dice, view: View) -> Option<Message> {
        let before = View::new(view.slot, view.attempt.checked_sub(1)?);
        self.makes(Certificate::Prepared)?;
        let (flaw, value) = (self.flaw(dice)?, made_up(dice, view.slot));
        let prepared = self.forge(|forger| forger.prepared(flaw, before, value))?;
        let message = self.view_change(view, Some(prepared))?;
        self.count(Kind::False(Certificate::Prepared, flaw));
        Some(message)
    }

    /// A new view that nobody has asked for.
    fn new_view(&self, dice: &mut Dice, view: View) -> Option<Message> {
        self.makes(Certificate::Change)?;
        let flaw = self.flaw(dice)?;
        let change = self.forge(|forger| forger.change(flaw, view, None))?;
        let signature = self.vote(Stage::Propose, (view, skipped(view.slot)))?.signature;
        self.count(Kind::False(Certificate::Change, flaw));
        Some(Message::NewView(Box::new(NewView { change, prepared: None, signature })))
    }

    /// A new view that others have asked for, with another value or without their request.
    fn changed(&self, dice: &mut Dice, new: &NewView) -> Option<Message> {
        let view = new.change.view;
        if new.prepared.is_some() && dice.happens(Chance::percent(40)) {
            self.count(Kind::Hidden);
            let signature = self.vote(Stage::Propose, (view, skipped(view.slot)))?.signature;
            let new = NewView { change: new.change.clone(), prepared: None, signature };
            return Some(Message::NewView(Box::new(new)));
        }
        if dice.happens(Chance::percent(50)) {
            return self.new_view(dice, view);
        }
        let before = View::new(view.slot, view.attempt.checked_sub(1)?);
        self.makes(Certificate::Prepared)?;
        let (flaw, value) = (self.flaw(dice)?, made_up(dice, view.slot));
        let prepared = self.forge(|forger| forger.prepared(flaw, before, value))?;
        let signature = self.vote(Stage::Propose, (view, value))?.signature;
        self.count(Kind::False(Certificate::Prepared, flaw));
        let (change, prepared) = (new.change.clone(), Some(prepared));
        Some(Message::NewView(Box::new(NewView { change, prepared, signature })))
    }

    /// A height that is said to be decided: with the block that was proposed there, or else without one. If the
    /// statement is another, a quorum has prepared it.
    pub(super) fn decision(&self, dice: &mut Dice, slot: Slot) -> Option<Message> {
        self.makes(Certificate::Committed)?;
        let flaw = self.flaw(dice)?;
        let decision = self.forge(|forger| {
            let context = forger.committee.context();
            let named = |slot: Slot| {
                let body = forger.overheard.body(self.epoch, slot);
                let skip = || skipped(slot);
                (body.map_or_else(skip, |body| body.value(context, slot)), body.cloned())
            };
            let mut prepared = forger.overheard.prepared(self.epoch, forger.committee);
            let posing = prepared.find(|one| named(one.view.slot).0 == one.value);
            let view = match posing {
                Some(prepared) if flaw == Flaw::Statement => prepared.view,
                _ => View::new(slot, 0),
            };
            let (value, body) = named(view.slot);
            let certificate = forger.committed(flaw, view, value)?;
            Some(Decision { certificate, body })
        })?;
        self.count(Kind::False(Certificate::Committed, flaw));
        Some(Message::Response(vec![decision]))
    }
}

/// A value that nobody has proposed: of no block, or of the height without one.
fn made_up(dice: &mut Dice, slot: Slot) -> Value {
    if dice.happens(Chance::percent(70)) { skipped(slot) } else { Value::new(dice.bytes()) }
}
