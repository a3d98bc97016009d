//! What a validator tells its application, and does for it.
use std::sync::Arc;

use ::prefinal_beacon::Slot;
use ::prefinal_beacon::stack::{Envelope, OneOf};
use prefinal_engine::Engine;
use prefinal_protocol::{Instant, Machine, Recipient};

use super::Validator;
use crate::application::{self, ChainApplication};
use crate::event::Event;
use crate::participant;
use crate::scheme::KeyedScheme;
use crate::setup::Setup;
use crate::words::{Effect, Job, Record};

impl<S: KeyedScheme, E: Engine, A: ChainApplication> Validator<S, E, A> {
    /// Tells the application what has become known of committees. Whether that was anything.
    pub(super) fn tell_judged(&mut self, now: Instant) -> bool {
        let judged = self.participant.judged();
        if let Some((setup, first)) = self.participant.following() {
            self.tell_follows(now, &setup, first);
        }
        if judged == self.told_judged {
            return false;
        }
        self.told_judged = judged;
        self.apply(now, application::Input::Judged(judged));
        true
    }

    pub(super) fn tell_follows(&mut self, now: Instant, setup: &Arc<Setup>, first: Slot) {
        if setup.context.epoch > self.told_epoch {
            self.told_epoch = setup.context.epoch;
            let setup = Arc::clone(setup);
            self.apply(now, application::Input::Follows { setup, first });
        }
    }

    /// Tells the application, and does at once what it wants done.
    pub(super) fn apply(&mut self, now: Instant, input: application::Input<A>) {
        self.application.handle(now, input);
        while let Some(output) = self.application.poll() {
            match output.split(Record::Application) {
                Ok(application::Effect::Beside(input)) => {
                    self.participant.handle(now, participant::Input::Beside(input));
                }
                Ok(application::Effect::Show { to, epoch, message }) => {
                    self.send(Recipient::One(to), Envelope::one(epoch, OneOf::Rest(message)));
                }
                Ok(application::Effect::Run(job)) => {
                    self.effect(Effect::Run(Job::Application(job)));
                }
                Ok(application::Effect::Tell(event)) => self.effect(Effect::Application(event)),
                Err(record) => self.outputs.push_back(record),
            }
        }
    }

    /// Tells the application what the beacon says of slots.
    pub(super) fn apply_event(&mut self, now: Instant, event: &Event<S>) {
        match event {
            Event::Ready { epoch, first_slot, .. } => {
                self.apply(now, application::Input::Began { epoch: *epoch, first: *first_slot });
            }
            Event::Revealed(reveal) => {
                let value = S::randomness(&reveal.output);
                self.apply(now, application::Input::Value { slot: reveal.slot, value });
            }
            _ => {}
        }
    }

    /// Whether a committee that is not known yet may decide this slot.
    pub(super) fn is_beyond(&self, slot: Slot) -> bool {
        self.participant.limit().is_some_and(|limit| slot >= limit)
    }
}
