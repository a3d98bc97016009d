//! The jobs that are on the pool, and the jobs that the pool lost.
//!
//! A job is pure data. Running it twice costs time and changes nothing: a second verdict for the same
//! number is ignored. So a lost job is simple to handle. If a task is dropped or panics, its number is
//! reported, and after a pause the job is handed out again. If a task is neither run nor dropped, for
//! example because the pool hangs, its job is handed out again when `patience` ends. No job is given up,
//! because a slot would wait for it for ever.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use prefinal_protocol::Instant;

use crate::driven::DrivenMachine;

/// Numbers the jobs in the order in which they were first handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number(u64);

/// A job for the pool.
pub(crate) struct Ordered<M: DrivenMachine> {
    pub(crate) number: Number,
    pub(crate) job: Arc<M::Job>,
    /// Whether a verdict came. A copy that starts later does nothing.
    pub(crate) done: Arc<AtomicBool>,
}

/// Jobs without a verdict.
pub(crate) struct Jobs<M: DrivenMachine> {
    out: BTreeMap<Number, Out<M>>,
    next: u64,
    patience: Duration,
    pause: Duration,
    repeated: u64,
}

struct Out<M: DrivenMachine> {
    job: Arc<M::Job>,
    done: Arc<AtomicBool>,
    /// When the job is handed out again if no verdict has come.
    again: Instant,
}

impl<M: DrivenMachine> Jobs<M> {
    pub(crate) const fn new(patience: Duration, pause: Duration) -> Self {
        Self { out: BTreeMap::new(), next: 0, patience, pause, repeated: 0 }
    }

    pub(crate) fn order(&mut self, now: Instant, job: M::Job) -> Ordered<M> {
        let number = Number(self.next);
        self.next = self.next.saturating_add(1);
        let (job, done) = (Arc::new(job), Arc::<AtomicBool>::default());
        let again = now + self.patience;
        self.out.insert(number, Out { job: Arc::clone(&job), done: Arc::clone(&done), again });
        Ordered { number, job, done }
    }

    /// Records that a verdict came. `false` if it is the second one.
    pub(crate) fn done(&mut self, number: Number) -> bool {
        let out = self.out.remove(&number);
        out.is_some_and(|out| !out.done.swap(true, SeqCst))
    }

    /// Records that the pool dropped the job.
    pub(crate) fn lost(&mut self, now: Instant, number: Number) {
        if let Some(out) = self.out.get_mut(&number) {
            out.again = now + self.pause;
        }
    }

    /// The jobs that are to be handed out again at time `now`.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<Ordered<M>> {
        let mut due = Vec::new();
        for (number, out) in self.out.iter_mut().filter(|(_, out)| out.again <= now) {
            out.again = now + self.patience;
            self.repeated = self.repeated.saturating_add(1);
            let (job, done) = (Arc::clone(&out.job), Arc::clone(&out.done));
            due.push(Ordered { number: *number, job, done });
        }
        due
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.out.values().map(|out| out.again).min()
    }

    pub(crate) fn len(&self) -> usize {
        self.out.len()
    }

    /// How many times a job was handed out again.
    pub(crate) const fn repeated(&self) -> u64 {
        self.repeated
    }
}
