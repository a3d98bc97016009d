//! Brings up the parties of a devnet, and those that were away when they have caught up.
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ::prefinal_beacon::Life;
use futures_util::future::BoxFuture;
use prefinal_crypto_core::access::Party;
use prefinal_journal::Journaled;
use prefinal_lab::Failure;
use prefinal_lab::cache::ResultCache;
use prefinal_net::Frame;
use prefinal_registry::{NamedEngine, NamedScheme};
use prefinal_sim::{Placement, Seat};
use prefinal_validator::setup::{Identity, Setup};
use prefinal_validator::{ChainApplication, PastLife, Record, RecordOf, StartError, Validator};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant as Clock;

use super::pulse::Pulse;
use super::{PATIENCE, SPARE_SLOTS};
use crate::archive::Archive;
use crate::execution::{Line, Told, Workload};
use crate::http::VufBoard;
use crate::journal::{AnyJournal, JournalFolder};
use crate::party::{self, Desk, PartyContext, PartyEvent, Time, network};

/// What outlives the process, and what is served.
pub(super) struct Durable {
    pub(super) shelf: JournalFolder,
    pub(super) journals: Vec<AnyJournal>,
    /// Whether anything is on record: then the parties go on in later lives.
    pub(super) used: bool,
    pub(super) archive: Option<Arc<Archive>>,
    pub(super) vuf: Option<Arc<VufBoard>>,
}

/// A committee at work.
pub(super) struct Run<S: NamedScheme, E: NamedEngine, A: ChainApplication> {
    pub(super) noticed: UnboundedReceiver<PartyEvent<S>>,
    pub(super) told: UnboundedReceiver<Told<A>>,
    /// How many jobs of the key generation are done.
    jobs: Arc<AtomicU64>,
    pub(super) pulse: Pulse,
    /// Parties that have caught up, to be [seated](Self::seat).
    pub(super) back: UnboundedReceiver<Waiting<MessageOf<S, E, A>>>,
    context: Option<RunContext<S, A>>,
    /// How many parties are not seated.
    waiting: usize,
}

/// What parties run in, as long as one of them is not seated.
struct RunContext<S: NamedScheme, A: ChainApplication> {
    setup: Arc<Setup>,
    shared: Arc<PartyContext<S, A>>,
    /// Whether their journals had records.
    used: bool,
}

/// A committee that is to run.
pub(super) struct Committee {
    pub(super) setup: Arc<Setup>,
    pub(super) identities: Vec<Identity>,
    pub(super) placement: Option<Placement>,
    pub(super) durable: Durable,
    /// The parties that do not take part in this run.
    pub(super) away: BTreeSet<Party>,
    pub(super) time: Time,
}

impl Committee {
    /// Leaves those out that are away.
    fn present(mut self) -> Self {
        let both = self.identities.into_iter().zip(self.durable.journals);
        let present = both.filter(|(identity, _)| !self.away.contains(&identity.me));
        (self.identities, self.durable.journals) = present.unzip();
        self
    }
}

/// A party that has its links and does not run yet.
pub(super) struct Waiting<M> {
    identity: Arc<Identity>,
    journal: AnyJournal,
    links: network::Ends<M>,
    desk: Desk,
    submitted: UnboundedReceiver<Vec<u8>>,
}

/// What the parties of a run say to each other.
type MessageOf<S, E, A> = prefinal_validator::Message<
    S,
    <E as prefinal_engine::Engine>::Message,
    <A as ChainApplication>::Channels,
>;

/// One task per party, each told how much memory it may use more. Those that were away for long run when they have caught
/// up: [`Run::back`].
pub(super) async fn start<S: NamedScheme, E: NamedEngine, W: Workload>(
    committee: Committee,
    memory: watch::Receiver<u64>,
    work: &mut W,
) -> Result<Run<S, E, W::Application>, Failure> {
    let parties = committee.identities.len();
    let Committee { setup, identities, placement, durable, time, .. } = committee.present();
    make_room(identities.len())?;
    let ends = network::connect_all(&setup, &identities, |from, to| {
        delay(placement.as_ref(), from, to)
    })
    .map_err(|error| Failure::bad_input(format_args!("no links on the loopback: {error}")))?;
    let Durable { shelf, journals, used, archive, vuf } = durable;
    let (events, noticed) = unbounded_channel();
    let (tell, told) = unbounded_channel();
    let (come_back, back) = unbounded_channel();
    let jobs = Arc::default();
    let shared = Arc::new(PartyContext {
        time,
        events,
        told: tell,
        shelf,
        archive,
        vuf,
        values: work.values(),
        once: ResultCache::default(),
        dealers: Arc::new(Semaphore::new(cores().saturating_sub(1).max(1))),
        jobs: Arc::clone(&jobs),
        memory,
    });
    // From the last key to the first value, or from one value to the next, there may be so many slots.
    let slots = u32::try_from(setup.lead.saturating_add(SPARE_SLOTS)).unwrap_or(u32::MAX);
    let patience = PATIENCE.saturating_add(setup.pace.period.saturating_mul(slots));
    let pulse = Pulse::new(time.started, identities.len(), patience);
    let waiting = identities.len();
    let context = Some(RunContext { setup, shared, used });
    let mut run = Run { noticed, told, back, jobs, pulse, context, waiting };
    // What is submitted to a party that is away is refused.
    let mut doors: Vec<UnboundedSender<Vec<u8>>> =
        (0..parties).map(|_| unbounded_channel().0).collect();
    let identities = identities.into_iter().map(Arc::new);
    for ((identity, journal), links) in identities.zip(journals).zip(ends) {
        let (door, submitted) = unbounded_channel();
        if let Some(place) = doors.get_mut(identity.me.index()) {
            *place = door;
        }
        let desk = Desk::new(work.librarian(identity.me), Arc::new(links.0.clone()));
        let waiting = Waiting { identity, journal, links, desk, submitted };
        match waiting.catch_up(work, used) {
            None => run.seat::<W>(waiting, work)?,
            Some(returning) => drop(tokio::spawn(waiting.come_back(returning, come_back.clone()))),
        }
    }
    work.start(time, doors);
    Ok(run)
}

/// What brings a party near its peers, and where their answers go.
struct Returning {
    done: BoxFuture<'static, ()>,
    answers: UnboundedSender<Frame>,
}

impl<M> Waiting<M> {
    /// What brings it near its peers; `None` if it goes on from its records at once.
    fn catch_up<W: Workload>(&self, work: &W, used: bool) -> Option<Returning> {
        let (answers, heard) = unbounded_channel();
        let line = Line { links: Arc::new(self.links.0.clone()), answers: heard };
        let done = used.then(|| work.catch_up(self.identity.me, line)).flatten()?;
        Some(Returning { done, answers })
    }

    async fn come_back(mut self, returning: Returning, back: UnboundedSender<Self>) {
        let Returning { done, answers } = returning;
        party::aside(&mut self.links.1, &mut self.desk, &answers, done).await;
        // The run may be over.
        drop(back.send(self));
    }
}

impl<S: NamedScheme, E: NamedEngine, A: ChainApplication> Run<S, E, A> {
    /// Why the run is stuck, if it is. A party that catches up ends that by itself.
    pub(super) fn stuck(&mut self, now: Clock) -> Option<String> {
        if self.waiting > 0 {
            self.pulse.rest(now);
        }
        self.pulse.stuck(now, self.jobs.load(Ordering::Relaxed))
    }

    /// Lets a party run, from its records and what it has caught up with.
    ///
    /// # Errors
    /// If it does not go on from there.
    pub(super) fn seat<W: Workload<Application = A>>(
        &mut self,
        waiting: Waiting<MessageOf<S, E, A>>,
        work: &W,
    ) -> Result<(), Failure> {
        let Waiting { identity, journal, links, desk, submitted } = waiting;
        let Some(RunContext { setup, shared, used }) = &self.context else { return Ok(()) };
        let (life, me) = (life(*used)?, identity.me);
        let validator = Journaled::open_behind(
            journal,
            |records| work.adopted::<E>(me, records),
            |records| {
                let past = past_life::<E, W>(work, &identity, (life, records))?;
                Validator::<S, E, _>::with_application(setup, Arc::clone(&identity), past, E::begin)
            },
        );
        let validator =
            validator.map_err(|error| Failure::bad_input(shared.shelf.unopened(me, error)))?;
        let workers = work.workers(me)?;
        let seat = party::Seat { identity, validator, workers, submitted, desk };
        tokio::spawn(party::run(Arc::clone(shared), seat, links));
        self.waiting = self.waiting.saturating_sub(1);
        if self.waiting == 0 {
            // The run ends when all parties have.
            self.context = None;
        }
        Ok(())
    }
}

/// What is left of a party, with its application continued.
fn past_life<E: NamedEngine, W: Workload>(
    work: &W,
    identity: &Identity,
    (life, records): (Life, Vec<RecordOf<E, W::Application>>),
) -> Result<PastLife<E, W::Application>, StartError> {
    let own = records.iter().filter_map(|record| match record {
        Record::Application(record) => Some(record.clone()),
        _ => None,
    });
    let application = work.application(identity.me, own.collect());
    let application = application.map_err(StartError::Application)?;
    Ok(PastLife { life, records, application })
}

pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Journals with records may be older copies: their parties go on in a later life.
fn life(used: bool) -> Result<Life, Failure> {
    if !used {
        return Ok(Life::First);
    }
    let mut number = [0; 16];
    getrandom::fill(&mut number)
        .map_err(|error| Failure::bad_input(format_args!("no randomness: {error}")))?;
    Ok(Life::later(number))
}

/// Half of the round trip between the regions of two parties; none if all are in one room.
fn delay(placement: Option<&Placement>, from: Party, to: Party) -> Duration {
    let seat = |party: Party| Seat::new(party.get());
    let trip = placement.and_then(|at| at.round_trip(seat(from), seat(to)));
    trip.map_or(Duration::ZERO, |trip| trip.p50 / 2)
}

/// Raises the number of files that this process may open, if its parties need more: a socket and a journal
/// each, and some to spare.
#[cfg(unix)]
fn make_room(parties: usize) -> Result<(), Failure> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const SPARE: usize = 64;
    let files = parties.saturating_mul(2).saturating_add(SPARE);
    let need = u64::try_from(files).map_err(Failure::bad_input)?;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= need) {
        return Ok(());
    }
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(need), maximum });
    raised.map_err(|_| {
        Failure::bad_input(format_args!(
            "--parties {parties} takes {need} open files, the limit is {}: raise it with ulimit -n",
            maximum.unwrap_or(u64::MAX)
        ))
    })
}

#[cfg(not(unix))]
fn make_room(_parties: usize) -> Result<(), Failure> {
    Ok(())
}
