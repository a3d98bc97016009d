//! The engine as a [`Machine`]: its state, inputs and outputs.
//!
//! ```text
//!  leader     ──proposal──▶ all                        1 delay
//!  all        ──vote──────▶ all   quorum: a QC          2 delays: order vote, Prefinalized
//!  all        ──order vote▶ all   quorum: final         3 delays: Finalized
//!  next leader ─proposal──▶ ...   as soon as it has the QC
//! ```
//!
//! A party does not send messages to itself; they take effect in the step that makes them. `Keep` comes
//! before everything that depends on it. For an order vote the order is `Keep`, `Prefinalized`, `Send`.
//! So a partial that travels with the vote never leaves without the promise behind it.
//!
//! See also `round` (rounds and promises), `receive` (messages), `verdict` (results of jobs) and
//! `finality` (what is certified and final).
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{SecretKey, Signature};
use prefinal_engine::collector::{Collector, Votes};
use prefinal_protocol::{Instant, Machine, Recipient};

use crate::block::{Block, BlockId, Round, Transaction};
use crate::certificate::{QuorumCertificate, Stage, TimeoutCertificate};
use crate::config::{Config, ConfigError, Replicas};
use crate::fault::{Equivocation, Fault, SignedBlock};
use crate::fetch::Fetch;
use crate::job::{Claim, Fingerprint, Job, Verdict, Work};
use crate::message::{Message, ShapeError, Timeout, check_transaction};
use crate::pacemaker::Pacemaker;
use crate::pool::Pool;
use crate::records::{Promises, Record, Records};
use crate::safety::Safety;
use crate::tree::{Point, Tree};

/// What the driver tells the engine.
#[derive(Clone, Debug)]
pub enum Input {
    /// Start working. Inputs before it are ignored, except submitted transactions.
    Start,
    /// A message arrived.
    Received {
        /// The sender, as the link knows it.
        from: Party,
        /// The message.
        message: Message,
    },
    /// A transaction that should be put into a block. See [`Jolteon::may_submit`] for the limits.
    Submit(Transaction),
    /// A job has ended with this verdict.
    Checked(Verdict),
    /// The time of [`Machine::wake_at`] has come.
    Tick,
}

/// What the engine wants done, in this order. See [`Effect`].
pub type Output = prefinal_protocol::Output<Record, Effect>;

/// What the engine wants done, except for its records.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Send this message.
    Send {
        /// One party, or all others.
        to: Recipient<Party>,
        /// The message to send.
        message: Message,
    },
    /// Run this job and return its verdict as [`Input::Checked`].
    Check(Job),
    /// A justified block has arrived, or is this party's own. This is reported before the vote for it, at most
    /// once per round.
    Proposed {
        /// The block, whose header and certificate are valid.
        block: Block,
    },
    /// This party order-votes the block; the vote is the next `Send`. This is reported at most once per
    /// round, in ascending order, and never for ancestors that become final with the block.
    Prefinalized {
        /// The round.
        round: Round,
        /// The block.
        block: BlockId,
    },
    /// The round is final, with this block or without one. Every round is reported, in ascending order.
    Finalized {
        /// The round.
        round: Round,
        /// Its block; `None` if the round was skipped.
        block: Option<Block>,
    },
    /// This party signs a timeout of the round: it will not prefinalize in this round or an earlier one.
    Abandoned {
        /// The round.
        round: Round,
    },
    /// A party did wrong.
    Accuse {
        /// The party.
        party: Party,
        /// The fault, with evidence if there is any.
        fault: Fault,
    },
}

/// Why a transaction is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// It would not fit into any block.
    #[error(transparent)]
    TooLarge(#[from] ShapeError),
    /// Too many of this party's transactions wait already.
    #[error("no room for {bytes} bytes, too many transactions wait")]
    Full {
        /// Bytes that it would take in a block.
        bytes: usize,
    },
}

impl SubmitError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge(error) => error.code(),
            Self::Full { .. } => "queue-full",
        }
    }
}

/// The purpose of a job that is running.
#[derive(Debug)]
pub(crate) enum Pending {
    /// Votes of a quorum.
    Votes { stage: Stage, round: Round, block: BlockId, parties: Vec<Party> },
    /// Timeouts of a quorum.
    Timeouts { round: Round, votes: Votes<Round, Signature> },
    /// One vote of a suspect.
    Suspect { ballot: BallotKind, round: Round, party: Party },
    /// Certificates in a message; other messages wait for the same ones.
    Claims { claims: Vec<Claim>, held: Vec<(Party, Message)> },
    /// Two votes that contradict each other.
    Evidence { party: Party, equivocation: Box<Equivocation> },
}

/// The collector that a ballot is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BallotKind {
    Vote,
    Order,
    Timeout,
}

/// A proposal that was seen. A second one in the same round is then noticed.
#[derive(Debug)]
pub(crate) struct SeenProposal {
    pub(crate) said: SignedBlock,
    pub(crate) accused: bool,
}

/// Jolteon with order votes.
#[derive(Debug)]
pub struct Jolteon {
    pub(crate) me: Party,
    pub(crate) committee: Arc<Replicas>,
    pub(crate) secret: SecretKey,
    pub(crate) max_block_bytes: usize,
    pub(crate) started: bool,
    pub(crate) safety: Safety,
    /// The highest quorum certificate.
    pub(crate) qc: QuorumCertificate,
    /// The highest timeout certificate.
    pub(crate) tc: Option<TimeoutCertificate>,
    pub(crate) pacemaker: Pacemaker,
    pub(crate) tree: Tree,
    pub(crate) fetch: Fetch,
    pub(crate) pool: Pool,
    pub(crate) votes: Collector<Round, BlockId, Signature>,
    pub(crate) orders: Collector<Round, BlockId, Signature>,
    pub(crate) timeouts: Collector<Round, Round, Signature>,
    pub(crate) proposals: BTreeMap<Round, SeenProposal>,
    /// Blocks with a verified certificate, of recent rounds.
    pub(crate) certified: BTreeMap<Round, BlockId>,
    /// This round's timeout of this party, which is sent again.
    pub(crate) timeout: Option<Timeout>,
    pub(crate) suspects: BTreeSet<Party>,
    pub(crate) jobs: BTreeMap<Fingerprint, Pending>,
    outputs: VecDeque<Output>,
}

impl Jolteon {
    /// An engine that continues where `records` end. Give no records for a fresh start.
    ///
    /// # Errors
    /// [`ConfigError`] if the configuration does not make a committee, or if the key is not this party's.
    pub fn new(config: Config, secret: SecretKey, records: Records) -> Result<Self, ConfigError> {
        let Config { context, me, members, timeout, pace, fetch_after, max_block_bytes } = config;
        let committee = Replicas::new(&context, members)?;
        let members = committee.size();
        let member = committee.member(me).ok_or(ConfigError::NotAMember { me, members })?;
        if *member.key.get() != secret.public_key() {
            return Err(ConfigError::WrongKey { me });
        }
        if timeout.is_zero() {
            return Err(ConfigError::Timeout);
        }
        if max_block_bytes == 0 || u32::try_from(max_block_bytes).is_err() {
            return Err(ConfigError::BlockBytes { got: max_block_bytes });
        }
        let fresh = || {
            let qc = QuorumCertificate::genesis(&committee);
            Promises { safety: Safety::default(), qc, tc: None }
        };
        let Promises { safety, qc, tc } = records.promises.unwrap_or_else(fresh);
        let (round, block) = records.finalized.unwrap_or((Round::GENESIS, committee.genesis()));
        let mut tree = Tree::new(Point { round, block }, max_block_bytes);
        for block in records.blocks.into_values().flatten() {
            let _missing = tree.insert(block.id(committee.context()), block);
        }
        Ok(Self {
            me,
            committee: Arc::new(committee),
            secret,
            max_block_bytes,
            started: false,
            safety,
            qc,
            tc,
            pacemaker: Pacemaker::new(timeout, pace),
            tree,
            fetch: Fetch::new(fetch_after),
            pool: Pool::new(max_block_bytes),
            votes: Collector::default(),
            orders: Collector::default(),
            timeouts: Collector::default(),
            proposals: BTreeMap::new(),
            certified: BTreeMap::new(),
            timeout: None,
            suspects: BTreeSet::new(),
            jobs: BTreeMap::new(),
            outputs: VecDeque::new(),
        })
    }

    /// The members of this engine's committee.
    #[must_use]
    pub fn committee(&self) -> &Replicas {
        &self.committee
    }

    /// The round that the engine is in; genesis before it is started.
    #[must_use]
    pub const fn round(&self) -> Round {
        self.pacemaker.round()
    }

    /// The last round that was finalized with a block.
    #[must_use]
    pub const fn finalized(&self) -> Round {
        self.tree.root().round
    }

    /// The promises that this party has made so far.
    #[must_use]
    pub const fn safety(&self) -> &Safety {
        &self.safety
    }

    /// Whether a transaction would be taken.
    ///
    /// # Errors
    /// [`SubmitError`] if it is too large or there is no room.
    pub fn may_submit(&self, transaction: &Transaction) -> Result<(), SubmitError> {
        check_transaction(transaction, self.max_block_bytes)?;
        let bytes = transaction.encoded_len();
        if self.pool.has_room(self.me, bytes) { Ok(()) } else { Err(SubmitError::Full { bytes }) }
    }

    fn start(&mut self, now: Instant) {
        if self.started {
            return;
        }
        self.started = true;
        let newest = Point { round: self.qc.round, block: self.qc.block };
        self.certified.insert(newest.round, newest.block);
        self.certify(now, newest, self.qc.signers().collect());
        self.advance(now);
    }

    fn submit(&mut self, transaction: Transaction) {
        let taken =
            self.may_submit(&transaction).is_ok() && self.pool.add(self.me, transaction.clone());
        if taken {
            self.send(Recipient::All, Message::Transactions(vec![transaction]));
        }
    }

    /// Does what is due at this time.
    fn tick(&mut self, now: Instant) {
        self.propose(now);
        if self.pacemaker.expired(now) {
            self.time_out();
        }
        self.request_missing(now);
    }

    pub(crate) fn keep(&mut self, record: Record) {
        self.outputs.push_back(Output::Keep(record));
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.outputs.push_back(Output::Do(effect));
    }

    pub(crate) fn send(&mut self, to: Recipient<Party>, message: Message) {
        self.effect(Effect::Send { to, message });
    }

    pub(crate) fn accuse(&mut self, party: Party, fault: impl Into<Fault>) {
        self.effect(Effect::Accuse { party, fault: fault.into() });
    }

    /// Makes the promises durable.
    pub(crate) fn persist(&mut self) {
        let promises = Promises { safety: self.safety, qc: self.qc.clone(), tc: self.tc.clone() };
        self.keep(Record::Safety(Box::new(promises)));
    }

    /// Sends work out as a job. The same work is not sent out again while it is running.
    pub(crate) fn check(&mut self, work: Work, pending: Pending) {
        let job = Job::new(Arc::clone(&self.committee), work);
        let fingerprint = job.fingerprint();
        if let Entry::Vacant(entry) = self.jobs.entry(fingerprint) {
            entry.insert(pending);
            self.effect(Effect::Check(job));
        }
    }
}

impl Machine for Jolteon {
    type Input = Input;
    type Record = Record;
    type Effect = Effect;

    fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Start => self.start(now),
            Input::Submit(transaction) => self.submit(transaction),
            _ if !self.started => return,
            Input::Received { from, message } => self.receive(now, from, message),
            Input::Checked(verdict) => self.checked(now, verdict),
            Input::Tick => {}
        }
        if self.started {
            self.tick(now);
        }
    }

    fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        if !self.started {
            return None;
        }
        let propose = self.is_to_propose().then(|| self.pacemaker.proposes_at());
        let due = [Some(self.pacemaker.deadline()), propose, self.fetch.wake_at()];
        due.into_iter().flatten().min()
    }
}
