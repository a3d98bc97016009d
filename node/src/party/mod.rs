//! One party as a task: messages, verdicts and deadlines in, outputs carried out in their order.
//!
//! Jobs run on the runtime's blocking threads, of which there are as many as cores, and links decode;
//! the task itself only hands over to its [`prefinal_validator`], encodes, and waits for its journal if that
//! is a file.
//!
//! Dealing takes long, and a party's vote must not wait for a hundred others to deal: dealings are made one
//! at a time on each thread but one, in the order of the parties, and a party whose dealing is not needed
//! any more by the time that it is its turn makes none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ::prefinal_protocol::Instant;
use prefinal_crypto_core::access::Party;
use prefinal_journal::JournalError;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant as Clock, MissedTickBehavior};

mod desk;
pub mod frames;
pub mod network;
#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]
mod tests;

pub use self::desk::{Desk, SyncLinks, aside};
use self::network::{Ends, Incoming, Letter, Outbox};
use crate::archive::Archive;
use crate::execution::{SlotValues, Told};
use crate::http::VufBoard;
use crate::journal::{FolderError, JournalFolder, JournaledValidator};
use prefinal_engine::{Engine, IdleMeter, Work};
use prefinal_lab::cache::ResultCache;
use prefinal_registry::NamedEngine;
use prefinal_registry::NamedScheme;
use prefinal_validator::keygen::Progress;
use prefinal_validator::participant;
use prefinal_validator::setup::Identity;
use prefinal_validator::{ChainApplication, Effect, Event, Input, Job, Message, Verdict};

/// An event of one party's validator, and when it happened.
pub struct PartyEvent<S: NamedScheme> {
    /// The party that reports the event.
    pub by: Party,
    /// When it happened, on the parties' clock.
    pub at: Instant,
    /// The event of its validator.
    pub event: Event<S>,
}

/// What the tasks of all parties share.
pub struct PartyContext<S: NamedScheme, A: ChainApplication> {
    /// The parties' clock.
    pub time: Time,
    /// Where parties tell what they notice.
    pub events: UnboundedSender<PartyEvent<S>>,
    /// Where their applications tell.
    pub told: UnboundedSender<Told<A>>,
    /// Where the journals are, for what is said of them when they fail.
    pub shelf: JournalFolder,
    /// Where values are kept, if the chain is served and durable.
    pub archive: Option<Arc<Archive>>,
    /// Where values of a weighted VUF are served from, with what verifies them.
    pub vuf: Option<Arc<VufBoard>>,
    /// Where values are left for blocks that read them, if any do.
    pub values: Option<Arc<SlotValues>>,
    /// Jobs that all parties would compute alike.
    pub once: ResultCache<S>,
    /// Dealings that may be made at a time.
    pub dealers: Arc<Semaphore>,
    /// Jobs of the key generation that are done.
    pub jobs: Arc<AtomicU64>,
    /// Bytes of memory that each party may use more.
    pub memory: watch::Receiver<u64>,
}

/// The clock that all parties of a devnet share.
#[derive(Clone, Copy)]
pub struct Time {
    /// When this life begins.
    pub started: Clock,
    /// How much there was before it.
    pub before: Duration,
}

impl Time {
    /// The time on the clock.
    #[must_use]
    pub fn now(self) -> Instant {
        Instant::at(self.before.saturating_add(self.started.elapsed()))
    }

    fn at(self, instant: Instant) -> Clock {
        self.started + instant.since_start().saturating_sub(self.before)
    }
}

/// A party that is to run.
pub struct Seat<S: NamedScheme, E: Engine, A: ChainApplication> {
    /// The secrets that the party signs and decrypts with.
    pub identity: Arc<Identity>,
    /// The machine, which gives out nothing before its records are durable.
    pub validator: JournaledValidator<S, E, A>,
    /// What runs its application's jobs.
    pub workers: A::Workers,
    /// Transactions of the chain that are given to it.
    pub submitted: UnboundedReceiver<Vec<u8>>,
    /// What answers peers that were away.
    pub desk: Desk,
}

/// Bytes a second that a party's interface to the network sends at most: a gigabit.
const INTERFACE: u64 = 125_000_000;

struct Task<S: NamedScheme, E: Engine, A: ChainApplication> {
    shared: Arc<PartyContext<S, A>>,
    identity: Arc<Identity>,
    validator: JournaledValidator<S, E, A>,
    workers: A::Workers,
    desk: Desk,
    outbox: Outbox,
    verdicts: UnboundedSender<Verdict<S, E::Verdict, A>>,
    /// How many epochs have enough dealings that count for this party.
    qualified: Arc<AtomicU64>,
}

/// A party's links.
pub type Links<S, E, A> =
    Ends<Message<S, <E as Engine>::Message, <A as ChainApplication>::Channels>>;

/// What the links hand to a party with this scheme, engine and application.
type IncomingOf<S, E, A> =
    Incoming<Message<S, <E as Engine>::Message, <A as ChainApplication>::Channels>>;

/// Runs a party until its inbox closes, its journal fails or the task is dropped.
pub async fn run<S: NamedScheme, E: NamedEngine, A: ChainApplication>(
    shared: Arc<PartyContext<S, A>>,
    seat: Seat<S, E, A>,
    links: Links<S, E, A>,
) {
    let (verdicts, done) = unbounded_channel();
    let (outbox, inbox) = links;
    let qualified = Arc::default();
    let Seat { identity, validator, workers, submitted, desk } = seat;
    let mut task = Task { shared, identity, validator, workers, desk, outbox, verdicts, qualified };
    if let Err(failed) = task.live(inbox, done, submitted).await {
        // What it says from here on could be forgotten, so it says nothing.
        task.note(Event::Refused(failed.to_string()));
    }
}

impl<S: NamedScheme, E: Engine, A: ChainApplication> Task<S, E, A> {
    async fn live(
        &mut self,
        mut inbox: Receiver<IncomingOf<S, E, A>>,
        mut done: UnboundedReceiver<Verdict<S, E::Verdict, A>>,
        mut submitted: UnboundedReceiver<Vec<u8>>,
    ) -> Result<(), FolderError> {
        let mut memory = self.shared.memory.clone();
        if E::BEGINS_WHEN_IDLE {
            let bytes = *memory.borrow_and_update();
            self.take(Input::Memory(bytes))?;
        }
        self.take(Input::Start)?;
        let mut meter = IdleMeter::new(INTERFACE);
        let mut samples = tokio::time::interval(IdleMeter::SAMPLE);
        samples.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let deadline = self.deadline();
            tokio::select! {
                incoming = inbox.recv() => match incoming {
                    Some(incoming) => self.receive(incoming)?,
                    None => return Ok(()),
                },
                Some(verdict) = done.recv() => self.take(Input::Checked(verdict))?,
                Some(transaction) = submitted.recv() => self.take(Input::Submit(transaction))?,
                () = tokio::time::sleep_until(deadline) => self.take(Input::Tick)?,
                _ = samples.tick(), if E::BEGINS_WHEN_IDLE => {
                    if meter.sample(self.outbox.links().datagrams()) {
                        self.take(Input::Idle)?;
                    }
                }
                Ok(()) = memory.changed(), if E::BEGINS_WHEN_IDLE => {
                    let bytes = *memory.borrow_and_update();
                    self.take(Input::Memory(bytes))?;
                }
            }
        }
    }

    fn now(&self) -> Instant {
        self.shared.time.now()
    }

    fn deadline(&self) -> Clock {
        const FAR: Duration = Duration::from_secs(3600);
        match self.validator.wake_at() {
            Some(at) => self.shared.time.at(at),
            None => Clock::now() + FAR,
        }
    }

    fn receive(&mut self, incoming: IncomingOf<S, E, A>) -> Result<(), FolderError> {
        match incoming {
            Incoming::Frame { frame, messages } => {
                let from = frame.from;
                for message in messages {
                    let input = Input::Received { from, message };
                    self.validator.handle(self.now(), input).map_err(|error| self.failed(error))?;
                }
                self.carry_out()
            }
            Incoming::Sync(frame) => {
                self.desk.answer(frame);
                Ok(())
            }
            Incoming::Dropped { peer, reason } => {
                self.note(Event::Accused { party: peer, fault: reason.to_string() });
                Ok(())
            }
        }
    }

    fn take(&mut self, input: Input<S, E, A>) -> Result<(), FolderError> {
        self.validator.handle(self.now(), input).map_err(|error| self.failed(error))?;
        self.carry_out()
    }

    fn failed(&self, error: JournalError) -> FolderError {
        self.shared.shelf.failed(self.identity.me, error)
    }

    /// In order; what is sent leaves at the end of the step, behind every record of it.
    fn carry_out(&mut self) -> Result<(), FolderError> {
        let rank = |message: &Message<S, E::Message, A::Channels>| match message {
            Message::Engine(_, message) => E::rank(message),
            _ => 0,
        };
        let mut letters = Vec::new();
        while let Some(effect) = self.validator.poll().map_err(|error| self.failed(error))? {
            match effect {
                Effect::Send { to, message } => {
                    letters.push(Letter { to, rank: rank(&message), message });
                }
                Effect::Run(job) => self.start(job),
                Effect::Tell(event) => {
                    self.keep(&event)?;
                    self.note(event);
                }
                Effect::Application(event) => {
                    let told = Told { by: self.identity.me, at: self.now(), event };
                    // As with the events.
                    drop(self.shared.told.send(told));
                }
            }
        }
        self.outbox.deliver(&letters);
        Ok(())
    }

    /// Hands a job to a thread.
    fn start(&self, job: Job<S, E::Job, A>) {
        let (verdicts, shared) = (self.verdicts.clone(), Arc::clone(&self.shared));
        let (identity, workers) = (Arc::clone(&self.identity), self.workers.clone());
        let dealt_for = match &job {
            Job::Participant(participant::Job::Keygen(setup, job)) if job.is_deal() => {
                Some(setup.context.epoch.get())
            }
            _ => None,
        };
        let work = move || {
            // The task may have ended; then nobody needs the verdict.
            drop(verdicts.send(compute(&shared, &identity, &workers, job)));
        };
        let Some(epoch) = dealt_for else {
            drop(tokio::task::spawn_blocking(work));
            return;
        };
        let (dealers, qualified) = (Arc::clone(&self.shared.dealers), Arc::clone(&self.qualified));
        tokio::spawn(async move {
            let _turn = dealers.acquire().await;
            if qualified.load(Ordering::Relaxed) <= epoch {
                drop(tokio::task::spawn_blocking(work).await);
            }
        });
    }

    /// What outlives the process besides the party's records. It is durable before anything that follows.
    fn keep(&self, event: &Event<S>) -> Result<(), FolderError> {
        if let Some(board) = &self.shared.vuf {
            board.note(&self.identity, event);
        }
        match event {
            Event::Dealing { epoch, progress: Progress::Qualified, .. } => {
                self.qualified.fetch_max(epoch.next().get(), Ordering::Relaxed);
            }
            Event::Revealed(reveal) => {
                let Some(signature) = S::signature(&reveal.output) else { return Ok(()) };
                if let Some(values) = &self.shared.values {
                    values.insert(reveal.slot, signature);
                }
                if let Some(archive) = &self.shared.archive {
                    return archive.keep(reveal.slot, signature);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn note(&self, event: Event<S>) {
        let noticed = PartyEvent { by: self.identity.me, at: self.now(), event };
        // The observer stops listening when the run ends.
        drop(self.shared.events.send(noticed));
    }
}

fn compute<S: NamedScheme, J: Work, A: ChainApplication>(
    shared: &PartyContext<S, A>,
    identity: &Identity,
    workers: &A::Workers,
    job: Job<S, J, A>,
) -> Verdict<S, J::Verdict, A> {
    let Job::Participant(participant::Job::Keygen(setup, job)) = job else {
        return job.run(identity, workers);
    };
    let verdict = shared.once.run(&setup, identity, &job);
    shared.jobs.fetch_add(1, Ordering::Relaxed);
    Verdict::Participant(participant::Verdict::Keygen(setup.context.epoch, verdict))
}
