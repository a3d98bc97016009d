//! One party as a task: messages, verdicts and deadlines in, outputs carried out in their order.
//!
//! Jobs run on the runtime's blocking threads, of which there are as many as cores, and links decode;
//! the task itself only hands over and encodes. The journal is kept in memory: the devnet's parties live and
//! die together.
//!
//! Elsewhere: what a party decides ([`crate::validator`]), when the run ends (`devnet`).

use std::sync::Arc;
use std::time::Duration;

use crypto_core::access::Party;
use machine::{Instant, Machine};
use tokio::sync::mpsc::{Receiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant as Clock;

use super::link::Incoming;
use super::network::Outbox;
use crate::engine::Engine;
use crate::scheme::Keyed;
use crate::setup::{Identity, Setup};
use crate::validator::{Event, Input, Message, Output, Validator, Verdict};

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
    validator: Validator<S, E>,
    outbox: Outbox,
    verdicts: UnboundedSender<Verdict<S, E::Verdict>>,
}

/// A party's links.
pub(super) type Links<S, E> = (Outbox, Receiver<Incoming<Message<S, <E as Engine>::Message>>>);

/// Runs a party until its inbox closes or the task is dropped.
pub(super) async fn run<S: Keyed, E: Engine>(
    shared: Arc<Shared<S>>,
    identity: Arc<Identity>,
    validator: Validator<S, E>,
    links: Links<S, E>,
) {
    let (verdicts, mut done) = unbounded_channel();
    let (outbox, mut inbox) = links;
    let mut task = Task { shared, identity, validator, outbox, verdicts };
    task.take(Input::Start);
    loop {
        let deadline = task.deadline();
        tokio::select! {
            incoming = inbox.recv() => match incoming {
                Some(incoming) => task.receive(incoming),
                None => return,
            },
            Some(verdict) = done.recv() => task.take(Input::Checked(verdict)),
            () = tokio::time::sleep_until(deadline) => task.take(Input::Tick),
        }
    }
}

impl<S: Keyed, E: Engine> Task<S, E> {
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

    fn receive(&mut self, incoming: Incoming<Message<S, E::Message>>) {
        match incoming {
            Incoming::Frame { from, messages } => {
                for message in messages {
                    self.validator.handle(self.now(), Input::Received { from, message });
                }
                self.carry_out();
            }
            Incoming::Dropped { peer, reason } => {
                self.note(Event::Accused { party: peer, fault: reason.to_string() });
            }
        }
    }

    fn take(&mut self, input: Input<S, E>) {
        self.validator.handle(self.now(), input);
        self.carry_out();
    }

    /// In order; what is sent leaves at the end of the step, behind every record of it.
    fn carry_out(&mut self) {
        let mut letters = Vec::new();
        while let Some(output) = self.validator.poll() {
            match output {
                // In memory, so durable at once.
                Output::Persist(_record) => {}
                Output::Send { to, message } => letters.push((to, message)),
                Output::Run(job) => {
                    let (verdicts, shared) = (self.verdicts.clone(), Arc::clone(&self.shared));
                    let identity = Arc::clone(&self.identity);
                    tokio::task::spawn_blocking(move || {
                        // The task may have ended; then nobody needs the verdict.
                        drop(verdicts.send(job.run(&shared.setup, &identity)));
                    });
                }
                Output::Note(event) => self.note(event),
            }
        }
        self.outbox.deliver(&letters);
    }

    fn note(&self, event: Event<S>) {
        let noticed = Noticed { by: self.identity.me, at: self.now(), event };
        // The observer stops listening when the run ends.
        drop(self.shared.events.send(noticed));
    }
}
