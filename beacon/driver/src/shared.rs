//! The machine under its lock: inputs in, effects and jobs out.
//!
//! A thread that has something for the machine puts it into the inbox and tries the lock. If it gets the
//! lock, it handles what is in the inbox. If it does not, it returns: the holder looks into the inbox once
//! more after it releases the lock. So a message never waits for a write to a disk or for another thread's
//! messages. Only the engine's callbacks wait for the lock, and while one of them waits, the other threads
//! give up the lock. No thread handles more than one turn of messages, because it may be the engine's
//! thread and peers may send faster than it handles. If messages are left after a turn, a task on the pool
//! continues. There is one such task at a time, and it handles no more than a turn either.
//!
//! Jobs and turns are handed to the pool after the lock is free, by one thread at a time. So a pool that
//! runs tasks at once on the calling thread gets them one after another, however long the chain of verdicts
//! and jobs is.
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time;

use async_channel::Sender;
use prefinal_crypto_core::context::EpochId;
use prefinal_journal::{Journal, Journaled};
use prefinal_protocol::Instant;

use crate::driven::DrivenMachine;
use crate::error::StopReason;
use crate::inbox::{Inbox, Letter};
use crate::jobs::{Jobs, Number, Ordered};
use crate::options::{Figures, Options};
use crate::pool::Pool;

/// What all clones of a driver share.
pub(crate) struct Shared<M: DrivenMachine> {
    state: Mutex<State<M>>,
    pub(crate) inbox: Inbox<M>,
    /// How many of the engine's callbacks wait for the lock.
    urgent: AtomicUsize,
    /// Whether a thread is handing jobs to the pool.
    handing_out: AtomicBool,
    /// Whether a pool task should continue with the inbox, and whether one is out (`turn_out`).
    turn_wanted: AtomicBool,
    turn_out: AtomicBool,
    /// The number of jobs in `jobs`, readable without the lock.
    jobs_out: AtomicUsize,
    effects: Sender<M::Effect>,
    pool: Box<dyn Pool>,
    options: Options,
    started: time::Instant,
}

enum State<M: DrivenMachine> {
    Running(Box<Running<M>>),
    Stopped(StopReason),
}

/// A machine with its journal.
pub(crate) type Machine<M> = Journaled<M, Box<dyn Journal + Send>>;

pub(crate) struct Running<M: DrivenMachine> {
    machine: Machine<M>,
    jobs: Jobs<M>,
    /// The epoch and the number of parties that the inbox has room for.
    room: Option<(EpochId, usize)>,
}

impl<M: DrivenMachine> Shared<M> {
    pub(crate) fn new(
        machine: Machine<M>,
        pool: Box<dyn Pool>,
        effects: Sender<M::Effect>,
        options: Options,
    ) -> Self {
        let jobs = Jobs::new(options.patience, options.pause);
        Self {
            state: Mutex::new(State::Running(Box::new(Running { machine, jobs, room: None }))),
            inbox: Inbox::new(options.per_peer),
            urgent: AtomicUsize::new(0),
            handing_out: AtomicBool::new(false),
            turn_wanted: AtomicBool::new(false),
            turn_out: AtomicBool::new(false),
            jobs_out: AtomicUsize::new(0),
            effects,
            pool,
            options,
            started: time::Instant::now(),
        }
    }

    /// Waits for the lock and acts on the machine, before any waiting messages.
    pub(crate) fn urgent<T>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut Running<M>) -> Result<T, StopReason>,
    ) -> Result<T, StopReason> {
        self.urgent.fetch_add(1, SeqCst);
        let locked = self.state.lock();
        self.urgent.fetch_sub(1, SeqCst);
        let mut state = locked.unwrap_or_else(|poisoned| self.broken(poisoned));
        let done = self.act(&mut state, act);
        drop(state);
        self.work();
        done
    }

    /// Gives the machine one input and carries out what follows. `keep` may take effects out of the stream.
    pub(crate) fn step(
        &self,
        running: &mut Running<M>,
        input: M::Input,
        mut keep: impl FnMut(M::Effect) -> Option<M::Effect>,
    ) -> Result<(), StopReason> {
        let now = self.now();
        running.machine.handle(now, input)?;
        self.carry_out(running, now, &mut keep)
    }

    /// Carries out what the machine wants done before its first event.
    pub(crate) fn begin(&self, running: &mut Running<M>) -> Result<(), StopReason> {
        let now = self.now();
        if let Some(input) = M::start() {
            running.machine.handle(now, input)?;
        }
        self.carry_out(running, now, &mut Some)
    }

    /// Calls the machine without an input and carries out what follows.
    pub(crate) fn change<T>(
        &self,
        running: &mut Running<M>,
        act: impl FnOnce(&mut M) -> T,
    ) -> Result<T, StopReason> {
        let done = running.machine.change(act)?;
        self.carry_out(running, self.now(), &mut Some)?;
        // Channels may come to an epoch one after another.
        self.set_rooms(running);
        Ok(done)
    }

    /// Hands lost jobs out again and tells the machine that time has passed.
    pub(crate) fn tick(&self, running: &mut Running<M>) -> Result<(), StopReason> {
        let now = self.now();
        for number in self.inbox.take_lost() {
            running.jobs.lost(now, number);
        }
        for job in running.jobs.due(now) {
            self.inbox.job(job);
        }
        self.step(running, M::tick(), Some)
    }

    /// The time from now until the next tick is due.
    pub(crate) fn next_tick(&self, running: &Running<M>) -> Option<time::Duration> {
        if self.inbox.has_lost() {
            return Some(time::Duration::ZERO);
        }
        let due = running.machine.wake_at().into_iter().chain(running.jobs.wake_at()).min();
        due.map(|due| due.since(self.now()))
    }

    /// Makes everything durable and refuses every later call.
    pub(crate) fn shut_down(&self) -> Result<(), StopReason> {
        let locked = self.state.lock();
        let mut state = locked.unwrap_or_else(|poisoned| self.broken(poisoned));
        match std::mem::replace(&mut *state, State::Stopped(StopReason::ShutDown)) {
            State::Running(running) => {
                let closed = running.machine.close().map_err(StopReason::from);
                if let Err(why) = &closed {
                    *state = State::Stopped(why.clone());
                }
                self.silence();
                closed.map(drop)
            }
            State::Stopped(why) => {
                *state = State::Stopped(why.clone());
                if matches!(why, StopReason::ShutDown) { Ok(()) } else { Err(why) }
            }
        }
    }

    /// Figures for monitoring.
    pub(crate) fn figures(&self, running: &Running<M>) -> Figures {
        let (waiting, bytes, dropped) = self.inbox.counts();
        Figures {
            waiting,
            bytes,
            dropped,
            jobs: running.jobs.len(),
            repeated: running.jobs.repeated(),
            unread: self.effects.len(),
            head: running.machine.machine().head(),
            last_final: running.machine.machine().last_final(),
        }
    }

    /// Why the driver has stopped; `None` while it runs. Does not wait while the stream is open.
    pub(crate) fn stopped(&self) -> Option<StopReason> {
        if !self.effects.is_closed() {
            return None;
        }
        let locked = self.state.lock();
        let state = locked.unwrap_or_else(|poisoned| self.broken(poisoned));
        Some(match &*state {
            State::Running(_) => StopReason::Unheard,
            State::Stopped(why) => why.clone(),
        })
    }

    /// Handles a turn of the inbox and hands out the resulting jobs.
    pub(crate) fn work(self: &Arc<Self>) {
        if self.empty_inbox() && !self.turn_out.load(SeqCst) {
            self.turn_wanted.store(true, SeqCst);
        }
        self.hand_out();
    }

    fn now(&self) -> Instant {
        Instant::at(self.started.elapsed())
    }

    /// Whether messages of peers may be taken from the inbox now.
    fn room(&self) -> bool {
        self.jobs_out.load(SeqCst) < self.options.jobs && self.effects.len() < self.options.effects
    }

    fn act<T>(
        &self,
        state: &mut State<M>,
        act: impl FnOnce(&mut Running<M>) -> Result<T, StopReason>,
    ) -> Result<T, StopReason> {
        let running = match state {
            State::Running(running) => running,
            State::Stopped(why) => return Err(why.clone()),
        };
        let done = act(running);
        if let Err(why) = &done {
            *state = State::Stopped(why.clone());
            self.silence();
        }
        done
    }

    /// Closes the stream. Effects that are in it already can still be read.
    fn silence(&self) {
        self.effects.close();
        self.inbox.clear();
    }

    /// A thread panicked under the lock, perhaps in the journal. The state may be half changed, so stop.
    fn broken<'a>(
        &self,
        poisoned: PoisonError<MutexGuard<'a, State<M>>>,
    ) -> MutexGuard<'a, State<M>> {
        let mut state = poisoned.into_inner();
        if matches!(*state, State::Running(_)) {
            *state = State::Stopped(StopReason::Panicked);
            self.silence();
        }
        state
    }

    fn carry_out(
        &self,
        running: &mut Running<M>,
        now: Instant,
        keep: &mut impl FnMut(M::Effect) -> Option<M::Effect>,
    ) -> Result<(), StopReason> {
        while let Some(effect) = running.machine.poll()? {
            let Some(effect) = keep(effect) else { continue };
            match running.machine.machine().job(effect) {
                Ok(job) => {
                    self.inbox.job(running.jobs.order(now, job));
                    self.jobs_out.store(running.jobs.len(), SeqCst);
                }
                Err(other) => self.effects.try_send(other).map_err(|_| StopReason::Unheard)?,
            }
        }
        let machine = running.machine.machine();
        if let Some(why) = machine.halted() {
            return Err(StopReason::Halted(why));
        }
        if running.room != Some((machine.newest(), machine.senders())) {
            self.set_rooms(running);
        }
        Ok(())
    }

    /// Sets which parties may send. They change with the epoch, and when newcomers are named.
    fn set_rooms(&self, running: &mut Running<M>) {
        let machine = running.machine.machine();
        running.room = Some((machine.newest(), machine.senders()));
        let bytes = self.options.per_peer_bytes;
        let rooms = machine.peers().into_iter();
        self.inbox.set_rooms(rooms.map(|(peer, longest)| (peer, bytes.max(longest))).collect());
    }

    /// Handles up to one turn of messages. `true` if the turn is over and messages are left.
    fn empty_inbox(&self) -> bool {
        let mut left = self.options.turn.max(1);
        loop {
            let mut state = match self.state.try_lock() {
                Ok(state) => state,
                // The holder looks into the inbox after it releases the lock.
                Err(TryLockError::WouldBlock) => return false,
                Err(TryLockError::Poisoned(poisoned)) => self.broken(poisoned),
            };
            while left > 0 && self.urgent.load(SeqCst) == 0 {
                let Some(letter) = self.inbox.take(self.room()) else { break };
                left = left.saturating_sub(1);
                if self.act(&mut state, |running| self.open(running, letter)).is_err() {
                    self.inbox.clear();
                }
            }
            drop(state);
            // An urgent call that waits for the lock handles the inbox next.
            if self.urgent.load(SeqCst) > 0 || !self.inbox.has(self.room()) {
                return false;
            }
            if left == 0 {
                return true;
            }
        }
    }

    fn open(&self, running: &mut Running<M>, letter: Letter<M>) -> Result<(), StopReason> {
        match letter {
            Letter::Message(from, message) => self.step(running, M::received(from, message), Some),
            Letter::Verdict(number, verdict) => {
                let first = running.jobs.done(number);
                self.jobs_out.store(running.jobs.len(), SeqCst);
                if first { self.step(running, M::checked(verdict), Some) } else { Ok(()) }
            }
        }
    }

    fn hand_out(self: &Arc<Self>) {
        let wanted = || self.inbox.has_jobs() || self.turn_wanted.load(SeqCst);
        while wanted() && !self.handing_out.swap(true, SeqCst) {
            if self.turn_wanted.swap(false, SeqCst) {
                self.hand_out_turn();
            }
            while let Some(job) = self.inbox.take_job() {
                let Ordered { number, job, done } = job;
                let ticket = Ticket { shared: Arc::downgrade(self), number, open: true };
                let task = Box::new(move || {
                    if !done.load(SeqCst) && ticket.is_wanted() {
                        ticket.hand_in(M::run(&job));
                    }
                });
                // If the pool panics, it has dropped the task, and the ticket notices that.
                let _panicked = catch_unwind(AssertUnwindSafe(|| self.pool.spawn(task)));
            }
            self.handing_out.store(false, SeqCst);
        }
    }
}

impl<M: DrivenMachine> Shared<M> {
    fn hand_out_turn(self: &Arc<Self>) {
        self.turn_out.store(true, SeqCst);
        let turn = Turn(Arc::downgrade(self));
        let task = Box::new(move || {
            let shared = turn.0.upgrade();
            drop(turn);
            if let Some(shared) = shared {
                shared.work();
            }
        });
        // If the pool drops the task, `Turn` notices.
        let _panicked = catch_unwind(AssertUnwindSafe(|| self.pool.spawn(task)));
    }
}

/// A turn on the pool. It is out until the pool starts it or drops it. If the pool does neither, each call
/// still handles a turn.
struct Turn<M: DrivenMachine>(Weak<Shared<M>>);

impl<M: DrivenMachine> Drop for Turn<M> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.upgrade() {
            shared.turn_out.store(false, SeqCst);
        }
    }
}

/// Brings a job's verdict back, or reports that the job was lost. Does nothing if the driver is gone.
struct Ticket<M: DrivenMachine> {
    shared: Weak<Shared<M>>,
    number: Number,
    open: bool,
}

impl<M: DrivenMachine> Ticket<M> {
    fn is_wanted(&self) -> bool {
        self.shared.upgrade().is_some_and(|shared| !shared.effects.is_closed())
    }

    fn hand_in(mut self, verdict: M::Verdict) {
        self.open = false;
        if let Some(shared) = self.shared.upgrade() {
            shared.inbox.verdict(self.number, verdict);
            shared.work();
        }
    }
}

impl<M: DrivenMachine> Drop for Ticket<M> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade().filter(|_| self.open) {
            shared.inbox.lost(self.number);
        }
    }
}
