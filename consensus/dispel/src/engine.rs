//! The machine: stages side by side, reported in their order.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use prefinal_engine::Block;
use prefinal_protocol::{Context, Instant, Machine, Party, Recipient, Slot, Value, View};
use prefinal_weighted_rounding::Stake;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::batch::{Batch, BatchId, StageOutcome, Transaction, TransactionId, value_of};
use crate::config::{Config, Idleness};
use crate::message::Message;
use crate::pool::{Ordered, Pool, SubmitError};
use crate::quorum::{ConfigError, Replicas};
use crate::receive::{Answered, MAX_VOTES_EACH, Served, Told};
use crate::records::Record;
use crate::stage::Stage;

/// Outcomes in one answer, and the fewest stages behind the last reported one in which this party still takes part.
pub(crate) const LINGER: u64 = 12;
/// Stages whose outcomes and batches are kept for peers, and whose transactions are not ordered again.
pub(crate) const RETAINED: u64 = 256;

/// What the driver tells the engine.
#[derive(Clone, Debug)]
pub enum Input {
    /// Start working. Inputs before it are ignored, except submitted transactions.
    Start,
    /// A peer has sent a message.
    Received {
        /// The sender, as the link knows it.
        from: Party,
        /// The message that the peer has sent.
        message: Message,
    },
    /// A transaction that should be put into a block.
    Submit(Transaction),
    /// The network has room for another stage now; see [`Idleness::Told`].
    Idle,
    /// The memory of this party holds so many stages from now on, but no more than [`Config::max_stages`]. It takes part
    /// in what a weak quorum has begun whatever it holds, so that nobody can be left behind.
    Room(u64),
    /// The time of [`Machine::wake_at`] has come.
    Tick,
}

/// A fault of a peer. Nothing is signed, so nobody else can be shown it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// It said two things of which it may say one.
    #[error("contradicts itself in {0}")]
    Contradiction(Slot),
    /// Its batch is larger than batches may be.
    #[error("sent a batch in {0} that is too large")]
    LargeBatch(Slot),
    /// A message says more than an honest party has to say, or speaks of somebody who is no member.
    #[error("sent a message of {0} that no honest party sends")]
    Malformed(Slot),
}

impl Fault {
    /// The fault's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Contradiction(_) => "contradiction",
            Self::LargeBatch(_) => "too-long",
            Self::Malformed(_) => "malformed-message",
        }
    }
}

/// What the engine wants done, except for its records.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Send this message to a peer, or to all.
    Send {
        /// One party, or all others.
        to: Recipient<Party>,
        /// The message to send.
        message: Message,
    },
    /// This party's next vote is the last that it takes to decide the stage so.
    Prefinalized {
        /// The stage, attempt 0.
        view: View,
        /// The value of the block.
        value: Value,
    },
    /// The stage is final with this block. Every stage is reported, in ascending order.
    Finalized {
        /// The stage that is final.
        slot: Slot,
        /// Its block; without transactions if nobody had any.
        block: Block,
    },
    /// A peer did wrong.
    Accuse {
        /// The peer that broke the protocol.
        party: Party,
        /// What it did, which nobody else can be shown.
        fault: Fault,
    },
    /// A transaction was not taken.
    Refused(SubmitError),
}

/// What the engine wants done, in this order.
pub type Output = prefinal_protocol::Output<Record, Effect>;

/// A stage that is over.
#[derive(Debug)]
pub(crate) struct Past {
    pub(crate) outcome: StageOutcome,
    pub(crate) batches: BTreeMap<BatchId, Batch>,
}

/// When open stages have something to do by themselves, so that not every message looks at all of them.
#[derive(Debug)]
pub(crate) struct Timers {
    /// Whether any of it has changed.
    pub(crate) are_old: bool,
    /// The first stage says something.
    due: Option<Instant>,
    /// Somebody is asked for a batch that is decided and missing.
    asks: Option<Instant>,
    /// The first of all that was still to come when it was looked at.
    wake: Option<Instant>,
}

/// The engine of one party. See the [crate's head](crate).
#[derive(Debug)]
pub struct Dispel {
    pub(crate) committee: Replicas,
    pub(crate) context: [u8; 32],
    pub(crate) config: Config,
    pub(crate) stages: BTreeMap<Slot, Stage>,
    /// Stages of which something may have come since.
    news: BTreeSet<Slot>,
    pub(crate) timers: Timers,
    /// The first stage that is not reported.
    pub(crate) next: Slot,
    /// The last stage in which this party has proposed, and when it did.
    opened: Slot,
    opened_at: Instant,
    is_idle: bool,
    /// Stages that this party may have open now.
    room: u64,
    /// When votes may leave again.
    speaks_at: Instant,
    /// Stages behind the last reported one in which this party still takes part: as many as anybody takes at a time.
    linger: u64,
    pub(crate) past: BTreeMap<Slot, Past>,
    /// What peers say of stages that are over there.
    pub(crate) claims: BTreeMap<Slot, BTreeMap<Party, StageOutcome>>,
    pool: Pool,
    ordered: Ordered,
    /// When peers are asked what was missed, if nothing goes on before.
    ask_at: Instant,
    pub(crate) answered: BTreeMap<Party, Answered>,
    pub(crate) served: BTreeMap<Party, Served>,
    /// What others have told, as long as this party has found no later end itself.
    pub(crate) told: Option<Told>,
    /// When all may be told again what this party said.
    repeats_at: Instant,
    accused: BTreeMap<Party, Slot>,
    started: bool,
    /// Until when this party asks for whatever was sent while it was down.
    missed_until: Option<Instant>,
    /// What was due by then is done.
    now: Instant,
    outputs: VecDeque<Output>,
}

impl Dispel {
    /// An engine that continues where its records end.
    ///
    /// # Errors
    /// If the members are no committee, this party is none of them, or the records are another engine's.
    pub fn new(config: Config, records: Vec<Record>) -> Result<Self, ConfigError> {
        let committee = Replicas::new(&config.stakes)?;
        if config.me.index() >= committee.size() {
            return Err(ConfigError::NotAMember { party: config.me });
        }
        let mut engine = Self {
            context: committee_hash(&config.context, &config.stakes),
            committee,
            stages: BTreeMap::new(),
            news: BTreeSet::new(),
            timers: Timers { are_old: true, due: None, asks: None, wake: None },
            next: Slot::new(1),
            opened: Slot::new(0),
            opened_at: Instant::START,
            is_idle: false,
            room: config.max_stages.max(1),
            speaks_at: Instant::START,
            linger: LINGER.max(config.max_stages.saturating_mul(2)),
            past: BTreeMap::new(),
            claims: BTreeMap::new(),
            pool: Pool::new(config.max_batch_bytes),
            ordered: Ordered::default(),
            ask_at: Instant::START,
            answered: BTreeMap::new(),
            served: BTreeMap::new(),
            told: None,
            repeats_at: Instant::START,
            accused: BTreeMap::new(),
            started: false,
            missed_until: None,
            now: Instant::START,
            outputs: VecDeque::new(),
            config,
        };
        engine.restore(records)?;
        Ok(engine)
    }

    /// The [hash of the committee](committee_hash).
    #[must_use]
    pub const fn context(&self) -> &[u8; 32] {
        &self.context
    }

    fn restore(&mut self, records: Vec<Record>) -> Result<(), ConfigError> {
        let me = self.config.me;
        // What others have ordered counts when this party goes on behind it, and not before.
        let mut shown = Vec::new();
        for record in records {
            match record {
                Record::Stored { stage, proposer, batch } => {
                    if proposer.index() >= self.committee.size() {
                        return Err(ConfigError::OtherRecords);
                    }
                    let id = batch.id(&self.context, stage, proposer);
                    if proposer == me {
                        self.pool.fly(stage, batch.clone());
                        self.opened = self.opened.max(stage);
                    }
                    let open = self.stage(stage);
                    open.is_proposed |= proposer == me;
                    if open.outcome.is_none() {
                        open.receive_batch(proposer, id, batch);
                    } else {
                        open.receive_answer(proposer, id, batch);
                    }
                }
                Record::Said { stage, steps } => {
                    self.stage(stage);
                    if let Some(open) = self.stages.get_mut(&stage) {
                        open.restore(&self.committee, me, &steps);
                    }
                }
                Record::Decided { stage, outcome } => self.conclude(stage, outcome),
                Record::Finalized(stage) => {
                    if stage != self.next || self.take_block(stage).is_none() {
                        return Err(ConfigError::OtherRecords);
                    }
                }
                Record::Ordered { stage, transactions } => shown.push((stage, transactions)),
                Record::Adopted(stage) => self.adopt(stage, std::mem::take(&mut shown)),
            }
        }
        Ok(())
    }

    /// Goes on behind a stage that is over at others. Stages in which this party may still take part stay as they are,
    /// so it says nothing else than it has said there.
    fn adopt(&mut self, stage: Slot, shown: Vec<(Slot, Vec<TransactionId>)>) {
        // That the last of them were reported need not be on record. What they repeat is known by what was ordered
        // before them, so they come first.
        while self.next <= stage && self.take_block(self.next).is_some() {}
        for (stage, transactions) in shown {
            // As at those that were there: what they have forgotten by then is ordered again.
            self.ordered.forget_below(Slot::new(stage.get().saturating_sub(RETAINED)));
            for id in transactions {
                self.ordered.insert(stage, id);
            }
        }
        if self.next <= stage {
            self.pass(stage);
        }
    }

    /// A stage is decided, as this party found or others told.
    pub(crate) fn conclude(&mut self, number: Slot, outcome: StageOutcome) {
        self.stage(number).conclude(outcome);
        self.timers.asks = Some(Instant::START);
    }

    /// A stage of which something has come.
    pub(crate) fn stage(&mut self, number: Slot) -> &mut Stage {
        self.news.insert(number);
        let (committee, me, timeout) = (&self.committee, self.config.me, self.config.timeout);
        self.stages.entry(number).or_insert_with(|| Stage::new(committee, me, timeout))
    }

    pub(crate) fn keep(&mut self, record: Record) {
        self.outputs.push_back(Output::Keep(record));
    }

    fn effect(&mut self, effect: Effect) {
        self.outputs.push_back(Output::Do(effect));
    }

    pub(crate) fn send(&mut self, to: Recipient<Party>, message: Message) {
        self.effect(Effect::Send { to, message });
    }

    pub(crate) fn accuse(&mut self, party: Party, stage: Slot, fault: Fault) {
        if self.accused.insert(party, stage) != Some(stage) {
            self.effect(Effect::Accuse { party, fault });
        }
    }

    /// Stages of which votes are taken: those behind were reported, those ahead would take memory.
    pub(crate) fn takes(&self, stage: Slot) -> bool {
        let last = self.next.get().saturating_add(self.config.max_stages.max(1).saturating_mul(2));
        stage.get() > 0 && (self.lingering().get()..last).contains(&stage.get())
    }

    /// The first stage in which this party still takes part. Others may have voted in all stages that they take before
    /// they know the end of their first, and it may be this party's votes of that one which they lack.
    fn lingering(&self) -> Slot {
        Slot::new(self.next.get().saturating_sub(self.linger))
    }

    fn start(&mut self, now: Instant) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        self.opened_at = now;
        let was_here = self.next > Slot::new(1) || !self.stages.is_empty();
        self.missed_until = was_here.then(|| now + self.config.timeout.saturating_mul(2));
        let open: Vec<Slot> = self.stages.keys().copied().collect();
        for stage in open {
            let own = self.stages.get(&stage).filter(|open| open.is_proposed);
            if let Some(batch) = own.and_then(|open| open.batch_of(self.config.me)).cloned() {
                self.send(Recipient::All, Message::Batch { stage, batch });
            }
            self.repeat(stage, Recipient::All);
        }
        self.ask(now);
    }

    /// Says again what this party said in a stage. Who lacks its batch asks for it then.
    pub(crate) fn repeat(&mut self, stage: Slot, to: Recipient<Party>) {
        let steps = self.stages.get(&stage).map(Stage::all_said).unwrap_or_default();
        // Of many rounds it is more than a peer takes in one message.
        for steps in steps.chunks(MAX_VOTES_EACH) {
            self.send(to, Message::Votes { stage, steps: steps.to_vec() });
        }
    }

    fn ask(&mut self, now: Instant) {
        let timeout = self.config.timeout;
        // As long as it comes back, others go on meanwhile.
        self.told = self.told.filter(|told| now.since(told.at) < timeout);
        let quick = self.config.patience.max(timeout / 10);
        self.ask_at = now + self.told.map_or(timeout, |_| quick);
        self.send(Recipient::All, Message::Status { next: self.next });
        // What follows has many bytes.
        if now < self.repeats_at {
            return;
        }
        self.repeats_at = now + timeout;
        // A peer that was over with this stage and has crashed since knows nothing of it but its own votes, and asks for
        // nothing. What it has to say in further rounds depends on these.
        self.repeat(self.next, Recipient::All);
        self.request(self.next, |_, open| open.ask_proposers(now, timeout));
    }

    /// Everything that follows from what is here.
    fn progress(&mut self, now: Instant) {
        if !self.started {
            return;
        }
        loop {
            self.advance(now);
            let before = (self.next, self.opened);
            self.report(now);
            self.open(now);
            if (self.next, self.opened) == before {
                break;
            }
        }
        self.fetch(now);
        if now >= self.ask_at {
            self.ask(now);
        }
    }

    fn advance(&mut self, now: Instant) {
        if now < self.speaks_at {
            return;
        }
        let mut numbers = std::mem::take(&mut self.news);
        if self.timers.due.is_some_and(|due| due <= now) {
            numbers.extend(self.stages.keys());
        }
        for stage in numbers {
            let Some(open) = self.stages.get_mut(&stage) else { continue };
            if !open.is_due(now) {
                continue;
            }
            self.timers.are_old = true;
            let steps = open.advance(&self.committee, now, self.config.patience);
            let value = if open.is_prefinalized {
                None
            } else {
                open.prefinalized(&self.committee, &self.context, stage)
            };
            open.is_prefinalized |= value.is_some();
            if !steps.is_empty() {
                self.speaks_at = now + self.config.gather;
                self.keep(Record::Said { stage, steps: steps.clone() });
            }
            if let Some(value) = value {
                self.effect(Effect::Prefinalized { view: View::new(stage, 0), value });
            }
            if !steps.is_empty() {
                self.send(Recipient::All, Message::Votes { stage, steps });
            }
            let open = self.stages.get_mut(&stage).filter(|open| open.outcome.is_none());
            if let Some(open) = open
                && let Some(outcome) = open.decide(&self.committee)
            {
                self.keep(Record::Decided { stage, outcome: outcome.clone() });
                self.conclude(stage, outcome);
            }
        }
    }

    /// The block of the next stage, if it is decided and all its batches are here. The stage is over then.
    fn take_block(&mut self, stage: Slot) -> Option<Block> {
        let open = self.stages.get(&stage)?;
        if !open.is_complete() {
            return None;
        }
        let outcome = open.outcome.clone()?;
        let value = value_of(&self.context, stage, &outcome);
        let mut transactions = Vec::new();
        for batch in outcome.iter().filter_map(|(_, id)| open.batch(*id)) {
            let new = batch.transactions.iter().filter(|one| self.ordered.insert(stage, one.id()));
            transactions.extend(new.map(Transaction::share));
        }
        self.pass(stage);
        Some(Block { value, transactions })
    }

    /// The stages up to this one are over.
    fn pass(&mut self, stage: Slot) {
        self.timers.are_old = true;
        self.next = stage.next();
        self.opened = self.opened.max(stage);
        self.claims.remove(&stage);
        self.ordered.forget_below(Slot::new(self.next.get().saturating_sub(RETAINED)));
        self.pool.landed(stage, &self.ordered);
        self.pool.drop_ordered(&self.ordered);
        let lingering = self.lingering();
        while let Some(first) = self.stages.first_entry().filter(|first| *first.key() < lingering) {
            let (number, stage) = first.remove_entry();
            if let Some(outcome) = stage.outcome.clone() {
                self.past.insert(number, Past { outcome, batches: stage.into_batches() });
            }
        }
        let retained = Slot::new(self.next.get().saturating_sub(RETAINED));
        self.past = self.past.split_off(&retained);
    }

    fn report(&mut self, now: Instant) {
        while let Some(block) = self.take_block(self.next) {
            let slot = Slot::new(self.next.get().saturating_sub(1));
            self.effect(Effect::Finalized { slot, block });
            self.outputs.push_back(Output::Note(Record::Finalized(slot)));
            self.ask_at = now + self.config.timeout;
            match self.told {
                // They may tell more by now.
                Some(Told { last, .. }) if slot == last => self.ask_at = now,
                Some(Told { last, .. }) if slot > last => self.told = None,
                _ => {}
            }
        }
    }

    /// Proposes in stages that others have begun, and in another one if the network is idle, as long as there is
    /// room. A stage that a weak quorum has begun is joined in any case.
    fn open(&mut self, now: Instant) {
        loop {
            let stage = self.opened.next();
            let begun = self.stages.get(&stage).map_or(0, |open| open.begun.stake());
            let joins = begun > 0 && self.has_room(now);
            if !(self.committee.is_weak(begun) || joins || self.is_idle() && self.has_room(now)) {
                return;
            }
            self.is_idle = false;
            (self.opened, self.opened_at) = (stage, now);
            if self.stage(stage).outcome.is_some() {
                continue;
            }
            let batch = self.pool.take(stage);
            let me = self.config.me;
            let id = batch.id(&self.context, stage, me);
            self.keep(Record::Stored { stage, proposer: me, batch: batch.clone() });
            let open = self.stage(stage);
            open.is_proposed = true;
            open.receive_batch(me, id, batch.clone());
            self.send(Recipient::All, Message::Batch { stage, batch });
        }
    }

    fn has_room(&self, now: Instant) -> bool {
        let stage = self.opened.next();
        let open = stage.get().saturating_sub(self.next.get());
        open < self.room && now >= self.opens_at(stage)
    }

    fn is_idle(&self) -> bool {
        match self.config.idleness {
            Idleness::Delivered => {
                let last = self.stages.get(&self.opened).filter(|_| self.opened >= self.next);
                self.is_idle && !self.pool.is_empty()
                    || last.is_none_or(|last| last.has_delivered(&self.committee, self.config.me))
            }
            Idleness::Told => self.is_idle,
        }
    }

    fn opens_at(&self, stage: Slot) -> Instant {
        self.config.pace.proposes_at(self.opened_at, stage.get())
    }

    fn fetch(&mut self, now: Instant) {
        let (patience, timeout) = (self.config.patience, self.config.timeout);
        let all = Slot::new(u64::MAX);
        if self.timers.asks.is_some_and(|at| at <= now) {
            self.request(all, |committee, open| open.ask(committee, now, patience, timeout / 2));
            let open = self.stages.range(self.next..);
            self.timers.asks = open.filter_map(|(_, open)| open.asks_at()).min();
        }
        if self.missed_until.is_some_and(|until| now < until) {
            self.request(all, |_, open| open.ask_proposers(now, timeout));
        }
    }

    /// Requests batches of stages from the next one to this one: `ask` names holders and proposers. What is reported
    /// lacks nothing.
    fn request(
        &mut self,
        last: Slot,
        mut ask: impl FnMut(&Replicas, &mut Stage) -> Vec<(Party, Party)>,
    ) {
        self.timers.are_old = true;
        let mut requests = Vec::new();
        for (stage, open) in self.stages.range_mut(self.next..=last) {
            let asks = ask(&self.committee, open).into_iter();
            requests.extend(asks.map(|(holder, proposer)| (holder, *stage, proposer)));
        }
        let me = self.config.me;
        for (holder, stage, proposer) in requests.into_iter().filter(|(holder, ..)| *holder != me) {
            self.send(Recipient::One(holder), Message::Request { stage, proposer });
        }
    }

    /// Looks at all stages if one of them has changed or its time has come.
    fn set_timers(&mut self, now: Instant) {
        if self.timers.are_old || self.timers.wake.is_some_and(|at| at <= now) {
            let stages = self.stages.values();
            self.timers.are_old = false;
            self.timers.due = stages.clone().filter_map(Stage::due).min();
            self.timers.wake = stages.flat_map(Stage::wakes_at).filter(|at| *at > now).min();
        }
    }
}

impl Machine for Dispel {
    type Input = Input;
    type Record = Record;
    type Effect = Effect;

    fn handle(&mut self, now: Instant, input: Input) {
        // A clock may be set back, and what was over is to come again.
        self.timers.are_old |= now < self.now;
        self.now = now;
        match input {
            Input::Start => self.start(now),
            Input::Received { from, message } if self.started => self.receive(now, from, message),
            Input::Received { .. } | Input::Tick => {}
            Input::Submit(transaction) => match self.pool.submit(&self.ordered, transaction) {
                // Who submits again, after a crash for one, has what it wants.
                Ok(()) | Err(SubmitError::Known) => {}
                Err(refusal) => self.effect(Effect::Refused(refusal)),
            },
            // If there is no room for a stage now, the network may be busy when there is.
            Input::Idle => self.is_idle = true,
            Input::Room(stages) => self.room = stages.min(self.config.max_stages.max(1)),
        }
        self.progress(now);
        self.is_idle = false;
        self.set_timers(now);
    }

    fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        if !self.started {
            return None;
        }
        let opens = self.opens_at(self.opened.next());
        let own = [opens, self.ask_at, self.speaks_at].into_iter().filter(|at| *at > self.now);
        own.chain(self.timers.wake).min()
    }
}

/// The hash of a committee, on which batches and blocks are named: context and stakes. Costs one hash.
#[must_use]
pub fn committee_hash(context: &Context, stakes: &[Stake]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"prefinal/dispel/v1/committee");
    hash.update(context.to_bytes());
    for stake in stakes {
        hash.update(stake.get().to_be_bytes());
    }
    hash.finalize().into()
}
