//! The pipeline at work, on its own thread.
//!
//! ```text
//!  start ──► follows ──► near its peers, and all blocks before its first slot are stored ──► executes
//!               ▲                                                                            │
//!               └─────────────────────────── many blocks wait ───────────────────────────────┘
//! ```
//! A party follows as any full node does: what blocks change comes from its peers, over the validators' links, and is
//! verified against the chain's first committee. Nothing is executed then. Certificates of slots that it has stored so are
//! passed over in its channel.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant as Clock};

use prefinal_beacon::stack::{Envelope, OneOf};
use prefinal_beacon::{Slot, epochs};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_engine::Quorum;
use prefinal_execution::{Executor, Header, Height};
use prefinal_protocol::{Instant, Recipient};
use prefinal_state::transfers::Transfers;
use prefinal_validator::ChainApplication;
use prefinal_validator::adopt::StoredBlocks as _;
use prefinal_validator::application::{Effect, Input};
use prefinal_validator::execution::{BlockEvent, Workers, shown};
use prefinal_validator::participant;
use prefinal_validator::setup::Setup;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::super::links;
use super::super::state::{Validator, lock};
use super::files::{Files, JournaledHost, last};
use super::held::Held;
use super::{
    BesideInput, BesideMessage, Execution, Note, Pending, Pipeline, Question, Store, look_up_of,
};
use crate::execution::{
    Announcements, BeaconKey, Ended, Following, Line, NamedExecutor as _, Shelf, TransactionId,
    Witnesses, certificate_of,
};

/// If so many blocks wait, the party looks whether its peers are ahead.
const BEHIND: usize = 256;

/// It follows until it is so few blocks behind its peers.
const NEAR: u64 = 64;

/// So long it waits for peers that do not say what they have.
const SURVEY: Duration = Duration::from_secs(2);

/// How long it waits after its peers were of no use.
const PAUSE: Duration = Duration::from_secs(1);

/// What comes after a party has followed its peers.
enum Next {
    Execute,
    /// It follows them again: it cannot do without.
    Again,
}

/// A block that waits for its state.
struct Open {
    slot: Slot,
    /// When it was told as ordered.
    since: Clock,
    transactions: Vec<TransactionId>,
}

/// The pipeline at work.
pub(in crate::validator) struct Worker {
    validator: Arc<Validator>,
    execution: Arc<Execution>,
    files: Files,
    /// The pipeline, while it runs.
    host: Option<JournaledHost>,
    /// The first slot that a committee with this party certifies, once it is known.
    first: Option<Slot>,
    held: Held,
    notes: UnboundedReceiver<Note>,
    workers: Workers<Store>,
    announcements: Announcements,
    /// The blocks that are not committed yet.
    open: BTreeMap<Height, Open>,
    /// Jobs that are at work.
    jobs: usize,
    /// The last ordered slot.
    ordered: Slot,
    /// The last block that was stored by following.
    followed: Option<Header>,
    /// If more blocks wait than this, the party looks whether its peers are ahead.
    behind: usize,
    begun: Clock,
    pool: tokio::runtime::Handle,
}

impl Worker {
    pub(in crate::validator) fn new(
        validator: Arc<Validator>,
        execution: Arc<Execution>,
        pending: Pending,
    ) -> Self {
        let Pending { files, first, notes, workers, announcements } = pending;
        Self {
            validator,
            execution,
            files,
            host: None,
            first,
            held: Held::new(),
            notes,
            workers,
            announcements,
            open: BTreeMap::new(),
            jobs: 0,
            ordered: Slot::new(0),
            followed: None,
            behind: BEHIND,
            begun: Clock::now(),
            pool: tokio::runtime::Handle::current(),
        }
    }

    /// Works until the process ends, or the pipeline stops.
    pub(in crate::validator) fn run(mut self) {
        if let Err(why) = self.work() {
            self.validator.end(format_args!("states: {why}"));
        }
    }

    fn work(&mut self) -> Result<(), String> {
        // It may have been away.
        self.end_pipeline()?;
        loop {
            if self.host.is_none() {
                let pool = self.pool.clone();
                if !pool.block_on(self.follow())? {
                    return Ok(());
                }
            }
            let note = self.notes.blocking_recv();
            let Some(input) = note.and_then(|note| self.heard(note)) else { return Ok(()) };
            self.note(&input);
            self.take(input)?;
            self.tell_waiting();
            if self.open.len() > self.behind && !self.leave()? {
                return Ok(());
            }
        }
    }

    /// What the thread was told; `None` if the process ends.
    fn heard(&self, note: Note) -> Option<Input<Pipeline>> {
        match note {
            Note::Input(input) if !self.execution.ending.load(Ordering::Relaxed) => Some(*input),
            Note::Input(_) | Note::Stop => None,
        }
    }

    /// Notes what has to be known although the pipeline does not run.
    fn note(&mut self, input: &Input<Pipeline>) {
        self.held.note(input);
        match input {
            Input::Follows { .. } => {
                self.first = self.first.or(self.held.first_with(self.validator.me))
            }
            Input::Ordered { slot, .. } => self.ordered = self.ordered.max(*slot),
            Input::Checked(_) => self.jobs = self.jobs.saturating_sub(1),
            Input::Beside(effect) => {
                if let Some(question) = look_up_of(effect) {
                    self.look_up(&question);
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, input: Input<Pipeline>) -> Result<(), String> {
        let is_stored = match &input {
            Input::Ordered { slot, .. } => self.followed.is_some_and(|last| *slot <= last.slot),
            Input::Began { .. } => true,
            _ => false,
        };
        // The participant has cast its vote already, so the channel is asked for its part behind the content.
        let vote = match &input {
            // What is final leaves by itself.
            Input::Prefinalized { slot, view, value } if *slot > self.ordered => {
                let (slot, view, value) = (*slot, *view, *value);
                Some(epochs::Input::Prefinalized { slot, view, value })
            }
            _ => None,
        };
        let Some(host) = &mut self.host else { return Ok(()) };
        host.handle(Instant::at(self.begun.elapsed()), input).map_err(|error| error.to_string())?;
        while let Some(host) = &mut self.host
            && let Some(effect) = host.poll().map_err(|error| error.to_string())?
        {
            self.act(effect)?;
        }
        if let Some(vote) = vote {
            self.tell_channels(OneOf::First(vote))?;
        }
        if is_stored { self.pass_over() } else { Ok(()) }
    }

    /// Certificates of blocks that were stored by following are not waited for in the channel. It takes those of slots
    /// that are final here.
    fn pass_over(&self) -> Result<(), String> {
        let Some(stored) = self.followed else { return Ok(()) };
        let input = epochs::Input::PassedOver { last: stored.slot.min(self.ordered) };
        self.tell_channels(OneOf::First(input))
    }

    /// Ends the pipeline and what is at work for it, to follow. Gives false if the process ends.
    fn leave(&mut self) -> Result<bool, String> {
        while self.jobs > 0 {
            let note = self.notes.blocking_recv();
            let Some(input) = note.and_then(|note| self.heard(note)) else { return Ok(false) };
            self.note(&input);
            self.held.keep(input, self.first);
        }
        self.end_pipeline().map(|()| true)
    }

    /// What it has committed is where following begins.
    fn end_pipeline(&mut self) -> Result<(), String> {
        self.host = None;
        self.followed = last(&lock(&self.workers.store)).map_err(|error| error.to_string())?;
        if let Some(last) = self.followed {
            self.held.forget(last.slot);
        }
        Ok(())
    }

    /// Follows until this party executes on. Gives false if the process ends.
    async fn follow(&mut self) -> Result<bool, String> {
        let mut following = None;
        loop {
            // Before the chain has its key there is nothing to follow.
            if following.is_none() && self.first.is_some() && self.held.has_begun() {
                following = Some(self.begin_following()?);
            }
            if let Some(at_work) = &mut following
                && let Some(next) = self.judge(at_work)?
            {
                at_work.finish().await;
                self.is_stored(at_work.committed().height)?;
                if let Some(Ended::Failed(why)) = at_work.ended() {
                    return Err(why.clone());
                }
                let (bytes, taken) = at_work.spent();
                let height = self.execution.committed();
                tracing::info!(height, bytes, ?taken, "followed its peers");
                following = None;
                match next {
                    Next::Execute => break,
                    Next::Again => tokio::time::sleep(PAUSE).await,
                }
                continue;
            }
            let step = async {
                match &mut following {
                    Some(following) => following.step().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                note = self.notes.recv() => {
                    let Some(input) = note.and_then(|note| self.heard(note)) else {
                        return Ok(false);
                    };
                    self.note(&input);
                    self.held.keep(input, self.first);
                            self.tell_waiting();
                }
                () = step => {}
            }
        }
        *lock(&self.execution.answers) = None;
        self.enter().map(|()| true)
    }

    fn begin_following(&self) -> Result<Following<Transfers>, String> {
        let newest = || self.held.newest().rev().chain([self.files.setup()]);
        let staked = |setup: &Arc<Setup>| {
            let members = (0..).map(Party::new).zip(&setup.members);
            let staked = members.filter(|(_, member)| member.stake.get() > 0);
            staked.map(|(party, _)| party).collect::<Vec<_>>()
        };
        let mut peers: BTreeSet<_> = newest().take(2).flat_map(staked).collect();
        peers.remove(&self.validator.me);
        let (answers, heard) = unbounded_channel();
        *lock(&self.execution.answers) = Some(answers);
        let links = links::SyncPeers {
            links: self.validator.links.clone(),
            peers: peers.into_iter().collect(),
        };
        let line = Line { links: Arc::new(links), answers: heard };
        // The committee before the newest one has the states that a newcomer lacks.
        let witness = |setup| Witnesses { setup: Arc::clone(setup), quorum: Quorum::BYZANTINE };
        let witnesses = newest().take(2).map(witness).collect();
        let Workers { executor, store } = self.workers.clone();
        let beacon = self.execution.library.beacon().map(BeaconKey::verifier);
        let shelf = Shelf { executor, store, beacon };
        Following::start(self.files.setup(), witnesses, shelf, line)
    }

    /// Takes note of what was stored, and says what is next, if following ends here: this party executes on if no state
    /// before its first slot is missing, and its peers are not far ahead, or of no use.
    fn judge(&mut self, following: &mut Following<Transfers>) -> Result<Option<Next>, String> {
        for misconduct in following.bans() {
            let (peer, fault) = (misconduct.peer.get(), &misconduct.fault);
            tracing::warn!(party = peer, %fault, "not followed any more");
        }
        let height = following.committed().height;
        self.is_stored(height)?;
        let is_there = self.held.lacks_none() && self.first <= Some(self.ordered.next());
        let is_near = following.tip().is_none_or(|tip| height.after(NEAR) >= tip);
        let is_near = is_near && (following.has_heard_all() || following.spent().1 >= SURVEY);
        Ok(match following.ended() {
            Some(Ended::Failed(why)) => return Err(why.clone()),
            Some(Ended::InVain(why)) => {
                tracing::warn!(why, "peers are of no use");
                Some(if is_there { Next::Execute } else { Next::Again })
            }
            None => (is_there && is_near).then_some(Next::Execute),
        })
    }

    /// Takes note of what is stored.
    fn is_stored(&mut self, height: Height) -> Result<(), String> {
        let before = self.followed.map_or(Height::GENESIS, |last| last.height);
        if before != height {
            let store = lock(&self.workers.store);
            self.followed = last(&store).map_err(|error| error.to_string())?;
            if let Some(Header { slot, height, .. }) = self.followed {
                self.execution.commit(height, slot);
                self.held.forget(slot);
                let wanted = before.get().saturating_add(1)..=height.get();
                for height in wanted.filter(|_| self.execution.door.is_awaited()) {
                    let height = Height::new(height);
                    self.execution.door.commit(height, &executed(&store, height));
                }
                self.execution.door.commit(height, &[]);
            }
        }
        Ok(())
    }

    /// Lets the pipeline run behind what is stored.
    fn enter(&mut self) -> Result<(), String> {
        self.open.clear();
        self.host = Some(self.files.open(&self.workers.store).map_err(|error| error.to_string())?);
        self.pass_over()?;
        let inputs = self.held.of_epochs().into_iter().chain(self.held.take_blocks());
        for input in inputs.chain(self.held.of_slots()) {
            self.take(input)?;
        }
        self.behind = self.most_waiting();
        self.tell_waiting();
        let waiting = self.open.len();
        tracing::info!(height = self.execution.committed(), waiting, "executes from here on");
        self.settle()
    }

    /// With more blocks that wait, this party looks again what its peers have. It has just looked.
    fn most_waiting(&self) -> usize {
        self.open.len().saturating_mul(2).max(BEHIND)
    }

    fn tell_waiting(&self) {
        let waiting = self.open.len().max(self.held.len());
        self.execution.waiting.store(waiting, Ordering::Relaxed);
    }

    fn tell_channels(&self, input: BesideInput) -> Result<(), String> {
        let told = self.validator.driver.tell(participant::Input::Beside(input));
        told.map_err(|why| why.to_string())
    }

    fn act(&mut self, effect: Effect<Pipeline>) -> Result<(), String> {
        match effect {
            Effect::Beside(input) => self.tell_channels(input)?,
            Effect::Show { to, epoch, message } => self.show(to, epoch, message),
            Effect::Run(job) => {
                self.jobs = self.jobs.saturating_add(1);
                let (workers, execution) = (self.workers.clone(), Arc::clone(&self.execution));
                let validator = Arc::clone(&self.validator);
                let work = self.pool.spawn_blocking(move || Pipeline::run(job, &workers));
                drop(self.pool.spawn(async move {
                    match work.await {
                        Ok(verdict) => execution.tell(Input::Checked(verdict)),
                        Err(why) if why.is_panic() => {
                            validator.end(format_args!("states: {why}"));
                        }
                        // The process ends.
                        Err(_) => {}
                    }
                }));
            }
            Effect::Tell(event) => self.hear(event)?,
        }
        Ok(())
    }

    fn show(&self, to: Party, epoch: EpochId, message: BesideMessage) {
        let envelope = Envelope::one(epoch, OneOf::Rest(message));
        links::send(&self.validator.links, Recipient::One(to), &envelope);
    }

    /// Shows a peer the certificates that it missed, as far as the store has them.
    fn look_up(&self, question: &Question<'_>) {
        let Question { epoch, from, slots } = *question;
        self.execution.questions.fetch_sub(1, Ordering::Relaxed);
        for slot in slots {
            let found = certificate_of(lock(&self.workers.store).states(), *slot);
            // What cannot be read is not shown; the peer asks the next one.
            let Ok(Some((root, of))) = found else { continue };
            if of.epoch == epoch {
                let message = OneOf::First(shown(*slot, root, of.certificate));
                self.show(from, epoch, message);
            }
        }
    }

    fn hear(
        &mut self,
        event: BlockEvent<<Transfers as Executor>::Transaction>,
    ) -> Result<(), String> {
        match event {
            BlockEvent::Ordered(block) => {
                self.execution.door.open();
                let Header { height, slot, .. } = block.header;
                let transactions = block.transactions().iter().map(Transfers::hash).collect();
                self.open.insert(height, Open { slot, since: Clock::now(), transactions });
            }
            BlockEvent::Committed(committed) => {
                let height = committed.height;
                if let Some(Open { slot, transactions, .. }) = self.open.remove(&height) {
                    self.execution.commit(height, slot);
                    self.held.forget(slot);
                    self.execution.door.commit(height, &transactions);
                }
                self.behind = self.behind.min(self.most_waiting());
                self.settle()?;
            }
            BlockEvent::Follows { setup, first } => {
                self.announcements.follow(setup, first);
                self.settle()?;
            }
            BlockEvent::Accused { party, fault } => {
                let name = self.validator.name_of(party);
                self.validator.metrics.accused(name.clone());
                tracing::warn!(party = party.get(), name, fault, "accused");
            }
            BlockEvent::Refused(refusal) => tracing::warn!(%refusal, "state refused"),
            BlockEvent::Stopped(stop) => return Err(stop.to_string()),
            BlockEvent::Executed(height) => {
                // Of what is ordered the last one comes last.
                if self.open.last_key_value().is_none_or(|(last, _)| *last < height) {
                    self.validator.metrics.executed_early.inc();
                }
            }
            BlockEvent::Certified(height) => {
                if let Some(open) = self.open.get(&height) {
                    self.validator.metrics.certified(open.since.elapsed());
                }
            }
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), String> {
        let store = lock(&self.workers.store);
        self.announcements.settle::<Transfers>(store.states()).map_err(|error| error.to_string())
    }
}

/// The transactions of a stored block that were executed. What cannot be read nobody is told of.
fn executed(store: &Store, height: Height) -> Vec<TransactionId> {
    let stored = store.transactions(height).unwrap_or_default();
    let decoded = stored.executed.iter().filter_map(|one| Transfers::decode(one).ok());
    decoded.map(|one| Transfers::hash(&one)).collect()
}
