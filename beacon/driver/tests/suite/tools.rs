//! Journals and pools that do what a test needs.
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver as Inlet, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use prefinal_beacon::{Beacon, Config, Effect, Message, Path, Reveal};
use prefinal_driver::{Driver, Options, Receiver, Task};
use prefinal_journal::{Journal, JournalError, JournalOperation, Memory};

use crate::fixture::*;

/// A journal in memory that a test can look at, and that outlives its driver.
#[derive(Clone, Default)]
pub(crate) struct Paper {
    pub(crate) memory: Arc<Mutex<Memory>>,
    /// What it does instead of the next sync.
    pub(crate) fails: Arc<Mutex<Option<Fails>>>,
}

#[derive(Clone, Copy)]
pub(crate) enum Fails {
    Error,
    Panic,
}

impl Paper {
    /// What is left after a crash.
    pub(crate) fn torn_off(&self) -> Self {
        let memory = self.memory.lock().unwrap().after_crash(0);
        Self { memory: Arc::new(Mutex::new(memory)), fails: Arc::default() }
    }

    pub(crate) fn records(&self) -> Vec<prefinal_beacon::Record> {
        let bytes = self.memory.lock().unwrap().after_crash(0).replay().unwrap();
        bytes.iter().map(|bytes| borsh::from_slice(bytes).unwrap()).collect()
    }
}

impl Journal for Paper {
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError> {
        self.memory.lock().unwrap().append(record)
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        match *self.fails.lock().unwrap() {
            None => self.memory.lock().unwrap().sync(),
            Some(Fails::Error) => {
                Err(JournalError::storage(JournalOperation::Sync, "no space left"))
            }
            Some(Fails::Panic) => std::panic::resume_unwind(Box::new("a journal that panics")),
        }
    }

    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        self.memory.lock().unwrap().replay()
    }

    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
        self.memory.lock().unwrap().replace(records)
    }
}

/// A pool that runs nothing before it is told to.
#[derive(Clone, Default)]
pub(crate) struct DeferredPool(Arc<Mutex<VecDeque<Task>>>);

impl DeferredPool {
    pub(crate) fn pool(&self) -> impl Fn(Task) + Send + Sync + 'static {
        let shelf = self.clone();
        move |task| shelf.0.lock().unwrap().push_back(task)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(crate) fn take(&self) -> Option<Task> {
        self.0.lock().unwrap().pop_front()
    }

    /// Runs what is there and what comes of it.
    pub(crate) fn run(&self) {
        while let Some(task) = self.take() {
            task();
        }
    }
}

/// On the spot.
pub(crate) fn here(task: Task) {
    task();
}

/// Party `A`, in the life that its journal says.
pub(crate) fn config<S: Instance>(world: &World<S>, journal: &mut impl Journal) -> Config<S> {
    let life = life_of(journal.replay().unwrap().len());
    Config { life, ..world.config(A, &BOTH) }
}

/// Party `A` on this journal and pool.
pub(crate) fn start<S: Instance>(
    world: &World<S>,
    journal: &Paper,
    pool: impl prefinal_driver::Pool,
    options: Options,
) -> (Driver<Beacon<S>>, Receiver<Effect<S>>) {
    let config = config(world, &mut journal.clone());
    Driver::start(|records| Beacon::new(config, &records), journal.clone(), pool, options).unwrap()
}

/// All that can be read now.
pub(crate) fn unread<S: Instance>(effects: &Receiver<Effect<S>>) -> Vec<Effect<S>> {
    std::iter::from_fn(|| effects.try_recv().ok()).collect()
}

pub(crate) fn to_send<S: Instance>(effects: &[Effect<S>]) -> Vec<Message<S>> {
    let sent = effects.iter().filter_map(|event| match event {
        Effect::Send { message, .. } => Some(message.clone()),
        _ => None,
    });
    sent.collect()
}

pub(crate) fn revealed<S: Instance>(effects: &[Effect<S>]) -> Vec<Reveal<S>> {
    let reveals = effects.iter().filter_map(|event| match event {
        Effect::Reveal(reveal) => Some((**reveal).clone()),
        _ => None,
    });
    reveals.collect()
}

/// What peer `B` sends once the slot is final: with `A`'s own it suffices in [`World::four`].
pub(crate) fn slow<S: Instance>(world: &World<S>, number: u64) -> Message<S> {
    world.message(B, Path::Slow, slot(number), None)
}

/// Until something is so, which it will be soon.
pub(crate) fn until(what: &str, so: impl Fn() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} takes too long");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A journal whose next sync waits until the test says so.
pub(crate) struct Slow {
    paper: Paper,
    armed: Arc<AtomicBool>,
    entered: Sender<()>,
    go_on: Inlet<()>,
}

/// The test's side of it.
pub(crate) struct Grip {
    pub(crate) armed: Arc<AtomicBool>,
    pub(crate) entered: Inlet<()>,
    pub(crate) go_on: Sender<()>,
}

impl Slow {
    pub(crate) fn new() -> (Self, Grip) {
        let ((entered, was_entered), (go, go_on)) = (channel(), channel());
        let armed = Arc::new(AtomicBool::new(false));
        let grip = Grip { armed: Arc::clone(&armed), entered: was_entered, go_on: go };
        (Self { paper: Paper::default(), armed, entered, go_on }, grip)
    }
}

impl Journal for Slow {
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError> {
        self.paper.append(record)
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        if self.armed.swap(false, SeqCst) {
            self.entered.send(()).unwrap();
            self.go_on.recv().unwrap();
        }
        self.paper.sync()
    }

    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        self.paper.replay()
    }

    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
        self.paper.replace(records)
    }
}
