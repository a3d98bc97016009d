//! A replica: the ordering, an application that carries it out, and checkpoints of its state.
//!
//! ```text
//! ordering ──blocks──► application                within an epoch
//! the epoch is over:  snapshot ► vote ► certificate ► keep it ► the next epoch begins
//! fell behind:        certified statement ► pieces from one peer at a time ► restore
//! ```
//! An epoch begins when the checkpoint at its beginning is certified. So fewer than a third of the stake can be
//! behind by more than one epoch, an application that does not compute the same everywhere halts in
//! place of going on wrong, and what is kept is bounded: decisions of `retained_epochs` epochs before,
//! as many checkpoints, and for those that fetch one at most two more (`lease`). The first height that is kept is the *retention index*. A peer that asks for earlier
//! heights gets the latest certified statement instead, and fetches the state.
//!
//! After a crash a replica begins with its last checkpoint and orders the epoch again from its records. It
//! comes to the same state and votes for the same statement, so the vote needs no record.
//!
//! A replica that slept through changes of the committee, or joins later, learns the present committee from
//! the certified changes that its peers keep (`history`).
pub(crate) mod certifier;
pub(crate) mod checkpoint;
pub(crate) mod contents;
mod epochs;
pub(crate) mod history;
pub(crate) mod job;
pub(crate) mod lease;
pub(crate) mod message;
mod receive;
mod records;
mod transfer;

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::SecretKey;
use prefinal_crypto_core::context::Context;
use prefinal_protocol::{Instant, Machine, Recipient, Slot, Value};
use thiserror::Error;

use crate::app::{Application, Configuration, ConfigurationError, SeatedCommittee};
use crate::block::Transaction;
use crate::config::{Config, ConfigError};
use crate::engine::{Effect as OrderEffect, Input as OrderInput, Output as OrderOutput, Trantor};
use crate::message::Message as OrderMessage;
use crate::order::Ordered;
use crate::schedule::Schedule;
use certifier::Certifier;
use checkpoint::{CertifiedStatement, State, Statement};
use contents::{Contents, RestoreFailure};
use history::{History, Newcomer};
use job::{ReplicaJob, ReplicaVerdict};
use lease::{CheckpointStore, StoredCheckpoint};
use message::{CheckpointVote, CommitteeTag, ReplicaFault, ReplicaMessage};
use records::EarlierLives;
pub use records::ReplicaRecord;
use transfer::Transfer;

/// Most epochs between the choice of a configuration and its first epoch. Every checkpoint names the configurations
/// of so many epochs.
pub const MAX_OFFSET: u64 = 64;

/// What a replica is started with, beside the configuration of its ordering.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The committee of the first `config_offset` epochs. For a party that joins later, see [`Replica::join`].
    pub configuration: Configuration,
    /// After how many epochs a configuration takes effect, 1 to [`MAX_OFFSET`]. All replicas have the same.
    pub config_offset: u64,
    /// Number of epochs before the present one whose decisions and checkpoints are kept for peers. A checkpoint that a
    /// peer fetches is kept longer, and decisions are not. So if a transfer takes more epochs, a peer that fell
    /// behind goes from state to state, and takes part when it is needed: then the others wait for it. Choose more
    /// for a large state.
    pub retained_epochs: u64,
}

/// What a replica replicates, and how.
#[derive(Debug)]
pub struct Service<A> {
    /// The application in its first state.
    pub app: A,
    /// How checkpoints are certified.
    pub certifier: Arc<dyn Certifier>,
    /// The first committee, and what holds for all epochs.
    pub settings: Settings,
}

/// Why a replica cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The ordering refuses its configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The first configuration is refused.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// The last checkpoint in the records is refused.
    #[error(transparent)]
    Restore(#[from] RestoreFailure),
    /// A configuration would take effect at once, before others know of it, or after too many epochs.
    #[error("config_offset is {got}, it must be 1 to {MAX_OFFSET}")]
    Offset {
        /// The offset that was asked for.
        got: u64,
    },
}

impl StartError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Config(error) => error.code(),
            Self::Configuration(error) => error.code(),
            Self::Restore(error) => error.code(),
            Self::Offset { .. } => "invalid-value",
        }
    }
}

/// What a driver tells a replica.
#[derive(Clone, Debug)]
pub enum ReplicaInput {
    /// The first input: the ordering begins to work.
    Start,
    /// A peer has sent a message.
    Received {
        /// The sender, as the link knows it.
        from: Party,
        /// The message that the peer has sent.
        message: ReplicaMessage,
    },
    /// A transaction that should be ordered.
    Submit(Transaction),
    /// A job has ended with this verdict.
    Checked(ReplicaVerdict),
    /// The key for checkpoints was handed over to the committee of the present epoch. It should come before
    /// the epoch ends: until then votes are made, and checked, with what was there before.
    Certifier(Arc<dyn Certifier>),
    /// The time of [`Machine::wake_at`] has come.
    Tick,
}

/// What a replica wants done, except for its records.
#[derive(Clone, Debug)]
pub enum ReplicaEffect {
    /// Send this message to a peer, or to all.
    Send {
        /// One party, or all others.
        to: Recipient<Party>,
        /// The message to send.
        message: ReplicaMessage,
    },
    /// Run this job and return its verdict.
    Run(ReplicaJob),
    /// The application has carried out a height; `None` if it was skipped.
    Applied {
        /// The height that was carried out.
        slot: Slot,
        /// The name of its block.
        value: Option<Value>,
    },
    /// A checkpoint is certified, and its epoch begins.
    Stable(Statement),
    /// The state was taken from peers, and its epoch begins.
    Restored(Statement),
    /// A certified state was refused: this replica runs another application than the others, or has no place
    /// among them yet.
    NotRestored(RestoreFailure),
    /// The application chose a configuration that cannot be; the one before goes on.
    ConfigurationRefused(ConfigurationError),
    /// A party did wrong.
    Accuse {
        /// The party that did it.
        party: Party,
        /// The fault, with evidence if there is any.
        fault: ReplicaFault,
    },
    /// What else the ordering has to say.
    Order(OrderEffect),
}

/// What a replica wants done, in this order.
pub type ReplicaOutput = prefinal_protocol::Output<ReplicaRecord, ReplicaEffect>;

/// This party's state at the end of an epoch, until it is certified.
#[derive(Debug)]
pub(crate) struct OpenCheckpoint {
    pub(crate) statement: Statement,
    state: State,
    schedule: Schedule,
    vote: Option<CheckpointVote>,
    /// When the vote is sent again.
    again: Instant,
    /// Whether votes are being combined.
    combining: bool,
    /// Whether the votes that are being combined are checked with a key that was handed over meanwhile.
    outdated: bool,
    /// Parties whose votes are not valid with the present key.
    refused: BTreeSet<Party>,
    /// Parties that have cast a second vote for the state.
    corrected: BTreeSet<Party>,
}

/// A replica of an application.
#[derive(Debug)]
pub struct Replica<A> {
    context: Context,
    me: Party,
    engine: Trantor,
    app: A,
    certifier: Arc<dyn Certifier>,
    settings: Settings,
    /// The committees of this epoch and the next ones.
    seated: BTreeMap<u64, SeatedCommittee>,
    /// The first heights of the retained epochs.
    firsts: BTreeMap<u64, Slot>,
    pub(crate) stable: CheckpointStore,
    pub(crate) own: Option<OpenCheckpoint>,
    /// The latest vote of each party.
    votes: BTreeMap<Party, CheckpointVote>,
    /// Senders of a checkpoint whose certificate is being checked.
    checking: BTreeSet<Party>,
    /// What peers said in the next epoch's committee, if it is another one than this epoch's.
    pub(crate) early: BTreeMap<Party, Vec<OrderMessage>>,
    /// Peers whose certificate was not valid, and until when no other one of theirs is checked.
    muted: BTreeMap<Party, Instant>,
    pub(crate) transfer: Option<Transfer>,
    pub(crate) history: History,
    patience: Duration,
    now: Instant,
    outputs: VecDeque<ReplicaOutput>,
}

impl<A: Application> Replica<A> {
    /// A founder's replica, which continues where `records` end. Give no records for a fresh start. The
    /// members are those of the service's configuration, which is in force from epoch 0 on;
    /// `config.members` is not used.
    ///
    /// # Errors
    /// [`StartError`] says what is refused.
    pub fn new(
        config: Config,
        secret: SecretKey,
        service: Service<A>,
        records: impl IntoIterator<Item = ReplicaRecord>,
    ) -> Result<Self, StartError> {
        let lives = EarlierLives::read(records);
        Self::restart(config, secret, service, lives)
    }

    /// The replica of a party that joins later, with a configuration that it has a place in. It knows these
    /// members and not in which epochs they are the committee. So until it has taken a certified state it
    /// takes part in nothing, accuses nobody because of a committee, and asks for a checkpoint. Give it
    /// its records as to [`Replica::new`]; with a checkpoint in them it goes on as any other.
    ///
    /// It needs a checkpoint that its configuration, or a later one, has signed: start it with one that is in
    /// force already, or it waits until that has ended an epoch.
    ///
    /// # Errors
    /// [`StartError`] says what is refused.
    pub fn join(
        config: Config,
        secret: SecretKey,
        service: Service<A>,
        records: impl IntoIterator<Item = ReplicaRecord>,
    ) -> Result<Self, StartError> {
        let lives = EarlierLives::read(records);
        let newcomer = lives.checkpoint.is_none().then(Newcomer::default);
        Self::restart(config, secret, service, EarlierLives { newcomer, ..lives })
    }

    fn restart(
        config: Config,
        secret: SecretKey,
        service: Service<A>,
        lives: EarlierLives,
    ) -> Result<Self, StartError> {
        let Service { mut app, certifier, settings } = service;
        let got = settings.config_offset;
        if !(1..=MAX_OFFSET).contains(&got) {
            return Err(StartError::Offset { got });
        }
        let (context, me, patience) = (config.context, config.me, config.timeout);
        let EarlierLives { ordering: mut kept, checkpoint: last, changes, newcomer } = lives;
        let genesis = SeatedCommittee::new(&context, settings.configuration.clone())?;
        let mut seated: BTreeMap<u64, SeatedCommittee> =
            (0..settings.config_offset).map(|epoch| (epoch, genesis.clone())).collect();
        let (mut schedule, mut ordered) = (Schedule::new(&genesis.committee), Ordered::default());
        let mut stable = CheckpointStore::new(settings.retained_epochs, patience);
        if let Some((certified, bytes)) = last {
            let state = State::new(bytes);
            let contents = Contents::open(&state, &certified.statement)?;
            seated = contents.seat(&context, &seated, settings.config_offset)?;
            app.restore(&contents.application).map_err(RestoreFailure::from)?;
            (schedule, ordered) = (contents.schedule, Ordered::from_checkpoint(contents.ordered));
            stable.insert(Instant::START, StoredCheckpoint::new(certified, state));
        }
        let epoch = schedule.epoch();
        let firsts = [(epoch, schedule.first())].into();
        kept.begin_at(schedule, ordered);
        let committee = seated.get(&epoch).map(|seated| Arc::clone(&seated.committee));
        let committee = committee.unwrap_or(genesis.committee);
        let engine = Trantor::restore_in(config, committee, secret, kept)?;
        let mut replica = Self {
            context,
            me,
            engine,
            app,
            certifier,
            settings,
            seated,
            firsts,
            stable,
            own: None,
            votes: BTreeMap::new(),
            checking: BTreeSet::new(),
            early: BTreeMap::new(),
            muted: BTreeMap::new(),
            transfer: None,
            history: History::new(newcomer),
            patience,
            now: Instant::START,
            outputs: VecDeque::new(),
        };
        replica.begin_again(epoch, changes);
        Ok(replica)
    }

    /// The application in its present state.
    #[must_use]
    pub const fn app(&self) -> &A {
        &self.app
    }

    /// The engine that orders what the application carries out.
    #[must_use]
    pub const fn ordering(&self) -> &Trantor {
        &self.engine
    }

    /// The latest certified checkpoint.
    #[must_use]
    pub fn stable(&self) -> Option<&CertifiedStatement> {
        self.stable.latest().map(|stable| &stable.certified)
    }

    #[cfg(test)]
    pub(crate) fn seated_tag(&self, epoch: u64) -> CommitteeTag {
        let seated = self.seated.get(&epoch).map(|one| message::tag_of(&one.committee));
        seated.unwrap_or_default()
    }

    fn tag(&self) -> CommitteeTag {
        message::tag_of(self.engine.committee())
    }

    fn effect(&mut self, effect: ReplicaEffect) {
        self.outputs.push_back(prefinal_protocol::Output::Do(effect));
    }

    fn send(&mut self, to: Recipient<Party>, message: ReplicaMessage) {
        self.effect(ReplicaEffect::Send { to, message });
    }

    fn accuse(&mut self, party: Party, fault: ReplicaFault) {
        self.effect(ReplicaEffect::Accuse { party, fault });
    }

    fn translate(&mut self, output: OrderOutput) -> Option<ReplicaOutput> {
        use prefinal_protocol::Output::{Do, Keep, Note};
        let effect = match output {
            Keep(record) => return Some(Keep(ReplicaRecord::Order(record))),
            // The checkpoint says how far the application is.
            Note(_) => return None,
            Do(effect) => effect,
        };
        Some(Do(match effect {
            OrderEffect::Send { to, message } => {
                let (committee, message) = (self.tag(), Box::new(message));
                ReplicaEffect::Send { to, message: ReplicaMessage::Order { committee, message } }
            }
            OrderEffect::Check(job) => ReplicaEffect::Run(ReplicaJob::Order(job)),
            OrderEffect::Finalized { slot, block } => {
                if let Some(block) = &block {
                    self.app.apply(slot, &block.transactions);
                }
                ReplicaEffect::Applied { slot, value: block.map(|block| block.value) }
            }
            other => ReplicaEffect::Order(other),
        }))
    }
}

impl<A: Application> Machine for Replica<A> {
    type Input = ReplicaInput;
    type Record = ReplicaRecord;
    type Effect = ReplicaEffect;

    fn handle(&mut self, now: Instant, input: ReplicaInput) {
        self.now = now;
        match input {
            ReplicaInput::Start => self.start(),
            ReplicaInput::Received { from, message } => self.receive(from, message),
            ReplicaInput::Submit(transaction) => {
                Machine::handle(&mut self.engine, now, OrderInput::Submit(transaction));
            }
            ReplicaInput::Checked(ReplicaVerdict::Order(verdict)) => {
                Machine::handle(&mut self.engine, now, OrderInput::Checked(verdict));
            }
            ReplicaInput::Checked(ReplicaVerdict::Certify(verdict)) => self.certified(verdict),
            ReplicaInput::Certifier(certifier) => self.take_certifier(certifier),
            ReplicaInput::Tick => Machine::handle(&mut self.engine, now, OrderInput::Tick),
        }
        self.repeat_vote();
        self.watch_transfer();
        self.seek();
    }

    fn poll(&mut self) -> Option<ReplicaOutput> {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return Some(output);
            }
            match Machine::poll(&mut self.engine) {
                Some(output) => {
                    if let Some(output) = self.translate(output) {
                        return Some(output);
                    }
                }
                None if self.close_epoch() => {}
                None => return None,
            }
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        let vote = self.own.as_ref().map(|own| own.again);
        let transfer = self.transfer.as_ref().map(Transfer::deadline);
        let seeks = self.history.wake_at();
        [Machine::wake_at(&self.engine), vote, transfer, seeks].into_iter().flatten().min()
    }
}
