//! One party as a task: messages, verdicts and deadlines in, outputs carried out in their order.
//!
//! Jobs run on the runtime's blocking threads, of which there are as many as cores, and links decode;
//! the task itself only hands over, encodes, and waits for its journal if that is a file.
//!
//! Elsewhere: what a party decides ([`crate::validator`]), when the run ends (`devnet`).

use std::sync::Arc;
use std::time::Duration;

use crypto_core::access::Party;
use journal::JournalError;
use machine::Instant;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant as Clock;

use super::link::Incoming;
use super::network::Outbox;
use crate::engine::Engine;
use crate::journal::{Act, Kept};
use crate::scheme::Keyed;
use crate::setup::{Identity, Setup};
use crate::validator::{Event, Input, Message, Verdict};

/// What a party noticed, and when.
pub(super) struct Noticed<S: Keyed> {
    pub(super) by: Party,
    pub(super) at: Instant,
    pub(super) event: Event<S>,
}

/// What all tasks share.
pub(super) struct Shared<S: Keyed> {
    pub(super) setup: Arc<Setup>,
    pub(super) started: Clock,
    pub(super) events: UnboundedSender<Noticed<S>>,
}

struct Task<S: Keyed, E: Engine> {
    shared: Arc<Shared<S>>,
    identity: Arc<Identity>,
    validator: Kept<S, E>,
    outbox: Outbox,
    verdicts: UnboundedSender<Verdict<S, E::Verdict>>,
}

/// A party's links.
pub(super) type Links<S, E> = (Outbox, Receiver<Incoming<Message<S, <E as Engine>::Message>>>);

/// Runs a party until its inbox closes, its journal fails or the task is dropped.
pub(super) async fn run<S: Keyed, E: Engine>(
    shared: Arc<Shared<S>>,
    identity: Arc<Identity>,
    validator: Kept<S, E>,
    links: Links<S, E>,
) {
    let (verdicts, done) = unbounded_channel();
    let (outbox, inbox) = links;
    let mut task = Task { shared, identity, validator, outbox, verdicts };
    if let Err(failed) = task.live(inbox, done).await {
        // What it says from here on could be forgotten, so it says nothing.
        task.note(Event::Refused(failed.to_string()));
    }
}

impl<S: Keyed, E: Engine> Task<S, E> {
    async fn live(
        &mut self,
        mut inbox: Receiver<Incoming<Message<S, E::Message>>>,
        mut done: UnboundedReceiver<Verdict<S, E::Verdict>>,
    ) -> Result<(), JournalError> {
        self.take(Input::Start)?;
        loop {
            let deadline = self.deadline();
            tokio::select! {
                incoming = inbox.recv() => match incoming {
                    Some(incoming) => self.receive(incoming)?,
                    None => return Ok(()),
                },
                Some(verdict) = done.recv() => self.take(Input::Checked(verdict))?,
                () = tokio::time::sleep_until(deadline) => self.take(Input::Tick)?,
            }
        }
    }

    fn now(&self) -> Instant {
        Instant::at(self.shared.started.elapsed())
    }

    fn deadline(&self) -> Clock {
        const FAR: Duration = Duration::from_secs(3600);
        match self.validator.wake_at() {
            Some(at) => self.shared.started + at.since_start(),
            None => Clock::now() + FAR,
        }
    }

    fn receive(&mut self, incoming: Incoming<Message<S, E::Message>>) -> Result<(), JournalError> {
        match incoming {
            Incoming::Frame { from, messages } => {
                for message in messages {
                    self.validator.handle(self.now(), Input::Received { from, message })?;
                }
                self.carry_out()
            }
            Incoming::Dropped { peer, reason } => {
                self.note(Event::Accused { party: peer, fault: reason.to_string() });
                Ok(())
            }
        }
    }

    fn take(&mut self, input: Input<S, E>) -> Result<(), JournalError> {
        self.validator.handle(self.now(), input)?;
        self.carry_out()
    }

    /// In order; what is sent leaves at the end of the step, behind every record of it.
    fn carry_out(&mut self) -> Result<(), JournalError> {
        let mut letters = Vec::new();
        while let Some(act) = self.validator.poll()? {
            match act {
                Act::Send { to, message } => letters.push((to, message)),
                Act::Run(job) => {
                    let (verdicts, shared) = (self.verdicts.clone(), Arc::clone(&self.shared));
                    let identity = Arc::clone(&self.identity);
                    tokio::task::spawn_blocking(move || {
                        // The task may have ended; then nobody needs the verdict.
                        drop(verdicts.send(job.run(&shared.setup, &identity)));
                    });
                }
                Act::Note(event) => self.note(event),
            }
        }
        self.outbox.deliver(&letters);
        Ok(())
    }

    fn note(&self, event: Event<S>) {
        let noticed = Noticed { by: self.identity.me, at: self.now(), event };
        // The observer stops listening when the run ends.
        drop(self.shared.events.send(noticed));
    }
}
