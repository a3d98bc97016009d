//! The callbacks.
use protocol::Recipient;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use async_channel::Receiver;
use beacon::{
    Beacon, Config, ConfigError, Content, Effect, Input, LateKey, Message, Path, Record, Scheme,
    Slot, Switch, Value, View,
};
use crypto_core::access::Party;
use journal::{Journal, JournalError, Journaled, OpenError};

use crate::event::{Event, MessageError, Stopped};
use crate::pool::Pool;
use crate::shared::Shared;

/// What bounds memory, and where a restart goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many messages of one peer wait at most; later ones are dropped.
    pub per_peer: usize,
    /// How many bytes the waiting messages of one peer have at most; a single message of the longest
    /// that the protocol has always fits. All peers together have as many times what one has.
    pub per_peer_bytes: usize,
    /// How many messages a callback works off at most, after what it was called for. The pool goes on
    /// with the rest, so that no flood holds the engine's thread.
    pub turn: usize,
    /// From how many jobs on the pool on messages wait.
    pub jobs: usize,
    /// From how many unread events on messages wait.
    pub events: usize,
    /// After what time a job that has not come back is handed out again.
    pub patience: Duration,
    /// After what pause a job that the pool dropped is handed out again.
    pub pause: Duration,
    /// After how many records the journal is replaced by the beacon's summary of it.
    pub shorten: NonZeroUsize,
    /// The last slot that the reader of the events has dealt with for good, whatever crashes. What
    /// was revealed after it is revealed again, and what was off or skipped is said again. `None` if the stream's word is enough: then what it
    /// held unread at a crash is not shown again.
    pub read: Option<Slot>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            per_peer: 256,
            per_peer_bytes: 1 << 18,
            turn: 32,
            jobs: 64,
            events: 4096,
            patience: Duration::from_secs(10),
            pause: Duration::from_millis(100),
            shorten: NonZeroUsize::new(1024).unwrap_or(NonZeroUsize::MIN),
            read: None,
        }
    }
}

/// Why a driver does not start.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StartError {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The configuration contradicts itself.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The reader is so far behind that the journal has forgotten what it lacks.
    #[error("{next} is to be revealed again, the journal goes back to {oldest:?} only")]
    Forgotten {
        /// The slot after the last that was read.
        next: Slot,
        /// The oldest final slot in the journal.
        oldest: Option<Slot>,
    },
}

/// How a driver is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Messages in the inbox.
    pub waiting: usize,
    /// Bytes that these are encoded in. In memory a point takes twice as many.
    pub bytes: usize,
    /// Messages that were dropped since the start, for their sender's places or bytes were taken.
    pub dropped: u64,
    /// Jobs on the pool.
    pub jobs: usize,
    /// Jobs that were handed out again since the start.
    pub repeated: u64,
    /// Events that nobody has read.
    pub unread: usize,
    /// The next slot to be revealed.
    pub head: Slot,
}

/// A beacon that is called from threads and tasks. Clones are handles of one beacon; when the last is
/// gone, so is the beacon, and the stream of its events ends.
pub struct Driver<S: Scheme> {
    shared: Arc<Shared<S>>,
    /// How many bytes of each may wait.
    members: Arc<BTreeMap<Party, usize>>,
}

impl<S: Scheme> Clone for Driver<S> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), members: Arc::clone(&self.members) }
    }
}

impl<S: Scheme> fmt::Debug for Driver<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("members", &self.members.len()).finish_non_exhaustive()
    }
}

impl<S: Scheme> Driver<S> {
    /// Starts a beacon that goes on where its journal ends. The events are read by
    /// `recv().await`, by `recv_blocking()`, or as a `Stream`; what the last life had to say once more
    /// is among them already.
    ///
    /// # Errors
    /// If the journal cannot be read, the configuration contradicts itself, or [`Options::read`] lies
    /// before what the journal knows.
    pub fn start(
        config: Config<S>,
        journal: impl Journal + Send + 'static,
        pool: impl Pool,
        options: Options,
    ) -> Result<(Self, Receiver<Event<S>>), StartError> {
        let journal: Box<dyn Journal + Send> = Box::new(journal);
        let machine = Journaled::open(journal, |records| {
            Ok::<_, StartError>(Beacon::new(config, &unread(records, options.read)?)?)
        });
        let machine = machine.map_err(|error| match error {
            OpenError::Journal(error) => StartError::Journal(error),
            OpenError::Machine(error) => error,
        })?;
        let machine = machine.shortened(options.shorten.get(), Beacon::snapshot);
        let members = Arc::new(members(machine.machine(), options.per_peer_bytes));
        let (sender, events) = async_channel::unbounded();
        let shared = Arc::new(Shared::new(machine, Box::new(pool), sender, options));
        match shared.urgent(|running| shared.begin(running)) {
            Err(Stopped::Journal(error)) => Err(StartError::Journal(error)),
            // Nobody could have asked it to stop yet.
            _ => Ok((Self { shared, members }, events)),
        }
    }

    /// This party is about to vote for the value, and enough such votes in this view make it final.
    /// Gives the partial that belongs into the vote's envelope; its record is durable. `None` if
    /// nothing may leave early, and why is among the events.
    ///
    /// Call it before the vote is sent; with a journal in the engine's own log, after the vote is
    /// entered there, so that one write makes both durable.
    ///
    /// # Errors
    /// [`Stopped`], and then the vote must do without.
    pub fn on_prefinalize(
        &self,
        slot: Slot,
        view: View,
        value: Value,
    ) -> Result<Option<Message<S>>, Stopped> {
        self.shared.urgent(|running| {
            let mut early = None;
            self.shared.step(running, Input::Prefinalized { slot, view, value }, |effect| {
                match effect {
                    Effect::Send { to: Recipient::All, message } if is_early(&message, slot) => {
                        early = Some(message);
                        None
                    }
                    other => Some(other),
                }
            })?;
            Ok(early)
        })
    }

    /// The engine knows that the slot is final; `None` if it was skipped.
    ///
    /// # Errors
    /// [`Stopped`]: tell it again in the next life.
    pub fn on_finalize(&self, slot: Slot, value: Option<Value>) -> Result<(), Stopped> {
        self.tell(Input::Finalized { slot, value })
    }

    /// This party is about to sign a timeout or nullify for this view.
    ///
    /// # Errors
    /// [`Stopped`], and then nothing may be signed: after a restart the partial might leave that the
    /// signature rules out.
    pub fn on_view_abandoned(&self, view: View) -> Result<(), Stopped> {
        self.tell(Input::Abandoned { view })
    }

    /// A party's key came after the start.
    ///
    /// # Errors
    /// [`Stopped`]
    pub fn on_key(&self, path: Path, key: LateKey<S>) -> Result<(), Stopped> {
        self.tell(Input::Admitted { path, key })
    }

    /// The chain or the operator switches the beacon, or its fast path, off or on.
    ///
    /// # Errors
    /// [`Stopped`]
    pub fn on_switch(&self, switch: Switch) -> Result<(), Stopped> {
        self.tell(Input::Switch(switch))
    }

    /// The chain had switched these slots off, and the engine told that they are final before anybody
    /// knew. [`Event::Off`] reports them in their turn.
    ///
    /// # Errors
    /// [`Stopped`]
    pub fn on_was_off(&self, first: Slot, last: Slot) -> Result<(), Stopped> {
        self.tell(Input::WasOff { first, last })
    }

    /// What is in a slot's value, for a scheme that needs more of it than its hash: best before the value
    /// is prefinalized, and after a restart again for what has no output yet.
    ///
    /// # Errors
    /// [`Stopped`]. A content that is not the slot's comes back as [`Event::Refused`].
    pub fn on_content(&self, content: Content<S>) -> Result<(), Stopped> {
        self.tell(Input::Content(content))
    }

    /// A peer's message, over a link that authenticates the peer. Never waits.
    ///
    /// # Errors
    /// If the sender is not of the committee, or the message is dropped, or nothing is taken any more.
    /// That it is dropped is no reason to end a link, much less the engine: see [`MessageError`].
    pub fn on_message(&self, from: Party, message: Message<S>) -> Result<(), MessageError> {
        let Some(&limit) = self.members.get(&from) else {
            return Err(MessageError::NotMember { from, members: self.members.len() });
        };
        if let Some(why) = self.shared.stopped() {
            return Err(why.into());
        }
        let taken = self.shared.inbox.message(from, message, limit);
        self.shared.work();
        taken
    }

    /// Asks again for what is missing and hands out again what the pool lost, if it is time. Costs
    /// nothing if it is not: call it at a steady pace, say ten times in
    /// [`Limits::retry`](beacon::Limits::retry), or when [`next_tick`](Self::next_tick) says so.
    ///
    /// # Errors
    /// [`Stopped`]
    pub fn tick(&self) -> Result<(), Stopped> {
        self.shared.urgent(|running| self.shared.tick(running))
    }

    /// How long from now until something is to be done if nothing happens before; every callback may
    /// bring it closer.
    ///
    /// # Errors
    /// [`Stopped`]
    pub fn next_tick(&self) -> Result<Option<Duration>, Stopped> {
        self.shared.urgent(|running| Ok(self.shared.next_tick(running)))
    }

    /// Ticks at this pace on the calling thread, until the driver stops. Gives the reason.
    pub fn run_clock(&self, pace: Duration) -> Stopped {
        loop {
            thread::sleep(pace);
            if let Err(why) = self.tick() {
                return why;
            }
        }
    }

    /// How it is doing.
    ///
    /// # Errors
    /// [`Stopped`]
    pub fn figures(&self) -> Result<Figures, Stopped> {
        self.shared.urgent(|running| Ok(self.shared.figures(running)))
    }

    /// Ends it: the journal is synced and closed, jobs on the pool are abandoned, the stream ends
    /// after the events that it holds. Every later call is refused. A restart computes anew what was
    /// abandoned.
    ///
    /// # Errors
    /// If the journal fails, or the driver had stopped for another reason before.
    pub fn shut_down(&self) -> Result<(), Stopped> {
        self.shared.shut_down()
    }

    fn tell(&self, input: Input<S>) -> Result<(), Stopped> {
        self.shared.urgent(|running| self.shared.step(running, input, Some))
    }
}

fn is_early<S: Scheme>(message: &Message<S>, at: Slot) -> bool {
    matches!(message, Message::Partial { path: Path::Fast | Path::Tight, slot, .. } if *slot == at)
}

/// The parties, which are the same on all paths, and how many bytes of each may wait.
fn members<S: Scheme>(beacon: &Beacon<S>, bytes: usize) -> BTreeMap<Party, usize> {
    let keys = beacon.keys();
    let committee = [Path::Slow, Path::Tight].iter().find_map(|path| keys.committee(*path));
    let count = committee.map_or(0, S::parties);
    let parties = (0..).map(Party::new).take(count);
    parties.map(|party| (party, bytes.max(beacon.longest_message(party)))).collect()
}

/// The records as if nothing had been revealed after the last slot that was read.
fn unread(records: Vec<Record>, read: Option<Slot>) -> Result<Vec<Record>, StartError> {
    let Some(read) = read else { return Ok(records) };
    let next = read.next();
    let finals = || {
        records.iter().filter_map(|record| match record {
            Record::Finalized { slot, .. } => Some(*slot),
            _ => None,
        })
    };
    let revealed = records.iter().filter_map(|record| match record {
        Record::Revealed { slot } => Some(*slot),
        _ => None,
    });
    // One that is missing would hold up all after it.
    let last = revealed.max().unwrap_or(read);
    let known: BTreeSet<Slot> = finals().filter(|slot| (next..=last).contains(slot)).collect();
    if u64::try_from(known.len()) != Ok(last.get().saturating_sub(read.get())) {
        return Err(StartError::Forgotten { next, oldest: finals().min() });
    }
    let shown = |record| match record {
        Record::Revealed { slot } => Record::Revealed { slot: slot.min(read) },
        other => other,
    };
    Ok(records.into_iter().map(shown).collect())
}
