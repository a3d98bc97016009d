//! A toy engine with a beacon in it: four parties on threads, both paths, every value verified.
//!
//! `cargo run --release -p prefinal-driver --example embed`
//!
//! The engine is the simplest one that has prefinality: a leader proposes, everybody votes, a quorum of votes
//! makes everybody commit, a quorum of commits is final. Its leaders all propose the same block for a
//! slot, so it needs no locks; a real engine does. The leader of every third slot sleeps, so that the
//! slot is decided in its second view, where only the slow path releases.
//!
//! See also: a trusted dealer in place of the key generation (`dealer`).
//!
//! Look for `BEACON`: there are seven such places. An engine has to do nothing else.

mod dealer;

use prefinal_protocol::Recipient;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use prefinal_beacon::{Beacon, Bls, Effect, Message, Reveal, Slot, Value, View};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_crypto_core::threshold;
use prefinal_driver::{Driver, MessageError, Options, StopReason};
use prefinal_journal::{Journal, JournalError};
use sha2::{Digest, Sha256};

use self::dealer::{Committee, Dealer};

const PARTIES: u32 = 4;
/// More than two thirds.
const QUORUM: usize = 3;
const SLOTS: u64 = 6;
const TIMEOUT: Duration = Duration::from_millis(200);

type Failure = Box<dyn Error + Send + Sync>;

// --- the engine ---------------------------------------------------------------------------------

/// Messages between the parties of the engine.
#[derive(Clone)]
enum Wire {
    Propose(View, Value),
    Vote(View, Value),
    /// BEACON 1: a commit has room for the partial that is released with it.
    Commit(View, Value, Option<Message<Bls>>),
    /// BEACON 2: other messages of the beacon travel separately, on the same authenticated links.
    Beacon(Message<Bls>),
}

/// The engine's write-ahead log, here in memory: entries that are flushed would survive a crash.
#[derive(Default)]
struct Log {
    batch: Vec<Entry>,
    disk: Vec<Entry>,
    flushes: u32,
}

enum Entry {
    /// An entry of the engine: this party committed.
    Commit(View, Value),
    /// BEACON 3: the beacon's records are in the same log, and so in the same write.
    Beacon(Vec<u8>),
}

#[derive(Clone, Default)]
struct SharedLog(Arc<Mutex<Log>>);

impl SharedLog {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn committed(&self) -> BTreeMap<View, Value> {
        let log = self.log();
        let votes = log.disk.iter().filter_map(|entry| match entry {
            Entry::Commit(view, value) => Some((*view, *value)),
            Entry::Beacon(_) => None,
        });
        votes.collect()
    }
}

impl Journal for SharedLog {
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError> {
        self.log().batch.push(Entry::Beacon(record.to_vec()));
        Ok(())
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        let mut log = self.log();
        let Log { batch, disk, flushes } = &mut *log;
        disk.append(batch);
        *flushes += 1;
        Ok(())
    }

    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        let log = self.log();
        let ours = log.disk.iter().filter_map(|entry| match entry {
            Entry::Beacon(record) => Some(record.clone()),
            Entry::Commit(..) => None,
        });
        Ok(ours.collect())
    }

    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
        let mut log = self.log();
        log.disk.retain(|entry| matches!(entry, Entry::Commit(..)));
        log.batch.extend(records.iter().cloned().map(Entry::Beacon));
        drop(log);
        self.sync()
    }
}

/// One party of the engine.
struct Engine {
    me: Party,
    links: Vec<Sender<(Party, Wire)>>,
    log: SharedLog,
    driver: Driver<Beacon<Bls>>,
    view: View,
    /// When the view is given up.
    until: Instant,
    said: BTreeMap<(View, Value, bool), BTreeSet<Party>>,
    committed: BTreeMap<View, Value>,
}

impl Engine {
    fn run(mut self, inbox: &Receiver<(Party, Wire)>) -> Result<(), Failure> {
        self.enter(self.view);
        while self.view.slot.get() <= SLOTS {
            match inbox.recv_timeout(self.until.saturating_duration_since(Instant::now())) {
                Ok((from, wire)) => self.receive(from, wire)?,
                Err(RecvTimeoutError::Timeout) => self.abandon_for(self.view.attempt + 1)?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
        // The engine is done, but its peers' beacons may still lack something.
        while let Ok((from, wire)) = inbox.recv_timeout(TIMEOUT * 2) {
            if let Wire::Beacon(message) | Wire::Commit(_, _, Some(message)) = wire {
                self.deliver(from, message)?;
            }
        }
        Ok(())
    }

    /// Only a stopped beacon is an error for the engine. A beacon without room drops the message and asks
    /// again for what it lacks. A link that is allowed to wait could stop reading for a while.
    fn deliver(&self, from: Party, message: Message<Bls>) -> Result<(), StopReason> {
        match self.driver.on_message(from, message) {
            Err(MessageError::Stopped(why)) => Err(why),
            Ok(())
            | Err(
                MessageError::UnknownEpoch { .. }
                | MessageError::Full { .. }
                | MessageError::TooLarge { .. },
            ) => Ok(()),
            // `NotMember`, and what later versions may add.
            Err(error) => {
                eprintln!("{error}");
                Ok(())
            }
        }
    }

    fn abandon_for(&mut self, attempt: u32) -> Result<(), StopReason> {
        // BEACON 4: before the timeout is signed.
        self.driver.on_view_abandoned(self.view)?;
        self.enter(View::new(self.view.slot, attempt));
        Ok(())
    }

    fn enter(&mut self, view: View) {
        (self.view, self.until) = (view, Instant::now() + TIMEOUT);
        let View { slot, attempt } = view;
        let leader = (slot.get() + u64::from(attempt)) % u64::from(PARTIES);
        let asleep = slot.get().is_multiple_of(3) && attempt == 0;
        if leader == u64::from(self.me.get()) && !asleep {
            let value = Value::new(Sha256::digest(slot.get().to_be_bytes()).into());
            self.broadcast(&Wire::Propose(self.view, value));
        }
    }

    fn receive(&mut self, from: Party, wire: Wire) -> Result<(), Failure> {
        match wire {
            // A party that is behind follows: clocks alone would not bring all parties into one view.
            Wire::Propose(view, value) if view.slot == self.view.slot && view >= self.view => {
                if view > self.view {
                    self.abandon_for(view.attempt)?;
                }
                self.broadcast(&Wire::Vote(view, value));
            }
            Wire::Propose(..) => {}
            Wire::Vote(view, value) => {
                let votes = self.count(from, (view, value, false));
                if votes >= QUORUM && view == self.view && !self.committed.contains_key(&view) {
                    self.commit(view, value)?;
                }
            }
            Wire::Commit(view, value, partial) => {
                // BEACON 5: the beacon gets the partial, whatever happens to the vote.
                if let Some(message) = partial.filter(|_| from != self.me) {
                    self.deliver(from, message)?;
                }
                self.count(from, (view, value, true));
                self.finalize()?;
            }
            Wire::Beacon(message) => self.deliver(from, message)?,
        }
        Ok(())
    }

    /// Commits of later slots may have come before those of this one.
    fn finalize(&mut self) -> Result<(), StopReason> {
        let is_final = |slot, what: &(View, Value, bool), who: &BTreeSet<Party>| {
            what.0.slot == slot && what.2 && who.len() >= QUORUM
        };
        while let Some((&(View { slot, .. }, value, _), _)) =
            self.said.iter().find(|(what, who)| is_final(self.view.slot, what, who))
        {
            // BEACON 6: the slot is final.
            self.driver.on_finalize(slot, Some(value))?;
            self.enter(View::new(slot.next(), 0));
        }
        Ok(())
    }

    fn commit(&mut self, view: View, value: Value) -> Result<(), Failure> {
        self.committed.insert(view, value);
        self.log.log().batch.push(Entry::Commit(view, value));
        // BEACON 7: one write makes the vote and the record of its partial durable; then both leave.
        let partial = self.driver.on_prefinalize(view.slot, view, value)?;
        // A record that was written before is not written again, but the vote must be.
        if !self.log.log().batch.is_empty() {
            self.log.sync()?;
        }
        self.broadcast(&Wire::Commit(view, value, partial));
        Ok(())
    }

    fn count(&mut self, from: Party, what: (View, Value, bool)) -> usize {
        let said = self.said.entry(what).or_default();
        said.insert(from);
        said.len()
    }

    fn broadcast(&self, wire: &Wire) {
        for link in &self.links {
            // A party that has left needs no more messages.
            drop(link.send((self.me, wire.clone())));
        }
    }
}

// --- around it ----------------------------------------------------------------------------------

/// Reads a beacon's effects until it has revealed every slot.
fn read(
    me: Party,
    links: &[Sender<(Party, Wire)>],
    effects: &prefinal_driver::Receiver<Effect<Bls>>,
) -> Result<Vec<Reveal<Bls>>, Failure> {
    let mut reveals = Vec::new();
    while let Ok(event) = effects.recv_blocking() {
        match event {
            Effect::Send { to, message } => {
                for (peer, link) in (0..).map(Party::new).zip(links) {
                    if peer != me && (to == Recipient::All || to == Recipient::One(peer)) {
                        drop(link.send((me, Wire::Beacon(message.clone()))));
                    }
                }
            }
            Effect::Reveal(reveal) => reveals.push(*reveal),
            // No fast path in a second view: as it must be.
            Effect::Refused(_)
            | Effect::Check(_)
            | Effect::Skipped { .. }
            | Effect::Off { .. }
            | Effect::Lookup { .. } => {}
            Effect::Stalled { slot } => return Err(format!("{slot} is missing").into()),
            Effect::Accuse { party, fault } => return Err(format!("{party}: {fault}").into()),
        }
    }
    Ok(reveals)
}

fn main() -> Result<(), Failure> {
    run(Options::default()).map(drop)
}

/// Runs all parties. Gives how many messages were dropped.
fn run(options: Options) -> Result<u64, Failure> {
    let mut dealer = Dealer::new(PARTIES, 7)?;
    let (links, inboxes): (Vec<_>, Vec<_>) = (0..PARTIES).map(|_| channel()).unzip();
    let (mut engines, mut readers, mut logs) = (Vec::new(), Vec::new(), Vec::new());
    for (me, inbox) in (0..PARTIES).map(Party::new).zip(inboxes) {
        let log = SharedLog::default();
        // Empty here. After a crash it has the votes that this party must not contradict, and the life is a
        // later one.
        let committed = log.committed();
        let pool = rayon::spawn::<prefinal_driver::Task>;
        let config = dealer.config(me)?;
        let (driver, effects) =
            Driver::start(|records| Beacon::new(config, &records), log.clone(), pool, options)?;
        logs.push(log.clone());
        let clock = driver.clone();
        thread::spawn(move || clock.run_clock(Duration::from_millis(100)));
        let outgoing = links.clone();
        readers.push(thread::spawn(move || read(me, &outgoing, &effects)));
        let engine = Engine {
            me,
            links: links.clone(),
            log,
            driver,
            view: View::new(Slot::new(1), 0),
            until: Instant::now(),
            said: BTreeMap::new(),
            committed,
        };
        engines.push(thread::spawn(move || {
            let driver = engine.driver.clone();
            let done = engine.run(&inbox);
            let dropped = driver.figures()?.dropped;
            driver.shut_down()?;
            done.map(|()| dropped)
        }));
    }
    let mut dropped = 0;
    for engine in engines {
        dropped += engine.join().map_err(|_| "an engine panicked")??;
    }
    let readers =
        readers.into_iter().map(|reader| reader.join().map_err(|_| "a reader panicked")?);
    let reveals = readers.collect::<Result<Vec<_>, _>>()?;
    show(dealer.public(), &reveals)?;
    let flushes: Vec<_> = logs.iter().map(|log| log.log().flushes).collect();
    println!("writes of each party's log, votes included: {flushes:?}");
    Ok(dropped)
}

/// Compares the parties and verifies each value with nothing but the committee's public key.
fn show(committee: &Committee, reveals: &[Vec<Reveal<Bls>>]) -> Result<(), Failure> {
    let first = reveals.first().ok_or("nobody is there")?;
    for (number, reveal) in (1..=SLOTS).zip(first) {
        let round = RoundNumber::new(number).ok_or("rounds count from one")?;
        committee.verify_result(&threshold::Message::round(round), &reveal.output)?;
        let same = |other: &Vec<Reveal<Bls>>| {
            other.iter().any(|one| one.slot == reveal.slot && one.output == reveal.output)
        };
        if reveal.slot.get() != number || !reveals.iter().all(same) {
            return Err(format!("slot {number}: the parties disagree").into());
        }
        let paths: Vec<_> =
            reveals.iter().flatten().filter(|one| one.slot == reveal.slot).collect();
        let paths: Vec<_> = paths.iter().map(|one| one.path.to_string()).collect();
        let value: String =
            reveal.randomness().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        println!("slot {number}: {value}, verified; by the paths {}", paths.join(", "));
    }
    if first.len() < usize::try_from(SLOTS)? {
        return Err(format!("{} of {SLOTS} slots have a value", first.len()).into());
    }
    Ok(())
}

#[test]
fn it_runs() {
    main().map_err(|failure| failure.to_string()).expect("every value verifies");
}

/// No message finds room; what is needed is asked for again, and every output comes.
#[test]
fn back_pressure_ends_nothing() {
    let narrow = Options { per_peer: 1, jobs: 1, turn: 1, ..Options::default() };
    let dropped = run(narrow).map_err(|failure| failure.to_string()).expect("every value verifies");
    println!("{dropped} dropped");
}
