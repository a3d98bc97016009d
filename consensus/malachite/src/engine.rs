//! The engine as a [`Machine`]: its state, inputs and outputs.
//!
//! ```text
//!  proposer ──proposal──▶ all                            1 delay
//!  all      ──prevote───▶ all   quorum: a polka           2 delays: precommit, Prefinalized
//!  all      ──precommit─▶ all   quorum: decided           3 delays: Finalized
//!  proposer of the next height ─proposal──▶ ...           at once
//! ```
//! Inputs wait in a queue, because one may lead to others: a height that ends starts the next one, and
//! a request for a block is answered with a proposal. Between [`Effect::Prefinalized`] and the next
//! output the coroutine stands still. The bytes that [`Malachite::carry`] gets then become the vote's
//! extension.
//!
//! See also `effects` (what effects do), `inbox` (what messages do) and `catch_up` (decisions of others).
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use malachitebft_core_consensus::{self as consensus, LocallyProposedValue, Params, Resume};
use malachitebft_core_types::{
    Round, SignedMessage, ThresholdParams, Timeout, TimeoutKind, ValuePayload, VoteExtensionPolicy,
};
use prefinal_protocol::{Instant, Machine, Party, Recipient};

use crate::catch_up::CatchUp;
use crate::config::{Config, ConfigError, Validators};
use crate::context::{Address, Block, BlockId, Height, Tendermint};
use crate::message::{Decision, Limits, MAX_EXTENSION, Message};
use crate::record::{Log, Record};
use crate::routine::{Progress, Routine, State};
use crate::sign::{Scope, SecretKey, Statement};

/// Limit of the transactions that wait here, in blocks of the largest size.
const POOL_BLOCKS: usize = 4;

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
    /// A transaction that should be put into a block. Refused if too many bytes wait.
    Submit(Arc<[u8]>),
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
    /// This party is about to precommit the block. If the round is 0, the bytes given to
    /// [`Malachite::carry`] before the next output is polled travel in that vote.
    Prefinalized {
        /// The height.
        height: Height,
        /// The round.
        round: u32,
        /// The block.
        block: BlockId,
    },
    /// The bytes that a peer's round-0 precommit carried. The peer signed them; nothing else is checked yet.
    Carried {
        /// The party whose vote it was.
        from: Party,
        /// The bytes, at least one.
        partial: Vec<u8>,
    },
    /// The height is decided. Every height is reported, in ascending order. After a crash the last one
    /// may be reported again.
    Finalized {
        /// The block.
        block: Block,
    },
    /// From now on this party precommits no block in this round of the height or an earlier one.
    Abandoned {
        /// The height.
        height: Height,
        /// The round.
        round: u32,
    },
    /// A party did wrong; the fault is described in words.
    Accuse {
        /// The party.
        party: Party,
        /// The fault.
        fault: String,
    },
    /// An input had no effect though it should have had one; described in words.
    Refused(String),
    /// The replay of the log leads to another vote than the one that this party signed according to the
    /// log. To continue could mean to sign twice. So the engine does nothing more in this life, and
    /// this is its last output.
    Halted(String),
}

/// The tasks that wait to be done.
#[allow(clippy::large_enum_variant, reason = "nearly all are inputs")]
#[derive(Debug)]
pub(crate) enum Task {
    /// Pass this input to Malachite.
    Feed(consensus::Input<Tendermint>),
    /// Start a height, then take the early messages for it.
    Begin(Height),
    /// The log has been read to its end.
    EndReplay,
    /// Make the proposal that waited for its time.
    Propose,
}

pub(crate) enum Process {
    Idle(State),
    /// A precommit waits for its extension.
    Asking(Routine, Scope),
    /// The engine has halted for good.
    Halted,
    /// Only while the process is taken out of its place.
    Running,
}

/// The Malachite engine of one party.
pub struct Malachite {
    pub(crate) committee: Validators,
    pub(crate) config: Config,
    pub(crate) secret: SecretKey,
    pub(crate) process: Process,
    pub(crate) tasks: VecDeque<Task>,
    pub(crate) outputs: VecDeque<Output>,
    pub(crate) now: Instant,
    pub(crate) started: bool,
    /// The log while it is read. Its entries are not logged again, and nothing is proposed before its end.
    pub(crate) log: Vec<consensus::Input<Tendermint>>,
    /// The height that is being decided.
    pub(crate) height: Height,
    /// When this height started.
    pub(crate) since: Instant,
    /// The round to propose in, once the log is read and the time has come.
    pub(crate) wanted: Option<(Height, Round)>,
    /// The bytes that the next precommit carries.
    pub(crate) carried: Option<Vec<u8>>,
    /// Timers of steps that may take too long.
    pub(crate) timers: BTreeMap<(u8, Round), (Instant, Timeout)>,
    /// Blocks that were proposed at this height.
    pub(crate) blocks: BTreeMap<BlockId, Block>,
    pub(crate) pool: VecDeque<Arc<[u8]>>,
    /// Messages of later heights.
    pub(crate) ahead: BTreeMap<Height, BTreeMap<Party, Vec<Message>>>,
    pub(crate) decided: BTreeMap<Height, Arc<Decision>>,
    /// Heights and parties whose late precommits have been read.
    pub(crate) late: BTreeSet<(Height, Party)>,
    pub(crate) catch_up: CatchUp,
}

impl Malachite {
    /// An engine that continues where its log ends.
    ///
    /// # Errors
    /// If the configuration or the log does not belong to this member.
    pub fn new(config: Config, secret: SecretKey, log: Log) -> Result<Self, ConfigError> {
        let committee = Validators::new(&config.context, &config.members)?;
        committee.check_member(config.me, &secret)?;
        let height = log.height();
        if let Some((got, _)) = log.entries.iter().find(|(at, _)| *at != height) {
            return Err(ConfigError::Log { got: got.get(), expected: height.get() });
        }
        let params = Params {
            address: Address::new(config.me),
            threshold_params: ThresholdParams::default(),
            value_payload: ValuePayload::ProposalOnly,
            enabled: true,
        };
        let validators = committee.validators().clone();
        // Messages of later heights wait here (`inbox`), not in Malachite's own queue.
        let state = consensus::State::new(Tendermint, height, validators, params, 1, 1);
        Ok(Self {
            committee,
            config,
            secret,
            process: Process::Idle(State::new(state)),
            tasks: VecDeque::new(),
            outputs: VecDeque::new(),
            now: Instant::START,
            started: false,
            log: log.entries.into_iter().map(|(_, entry)| entry.into_input()).collect(),
            height,
            since: Instant::START,
            wanted: None,
            carried: None,
            timers: BTreeMap::new(),
            blocks: BTreeMap::new(),
            pool: VecDeque::new(),
            ahead: BTreeMap::new(),
            decided: log.decided,
            late: BTreeSet::new(),
            catch_up: CatchUp::default(),
        })
    }

    /// The height that is being decided.
    #[must_use]
    pub const fn height(&self) -> Height {
        self.height
    }

    /// The members of this engine's committee.
    #[must_use]
    pub const fn committee(&self) -> &Validators {
        &self.committee
    }

    /// Sets the bytes that the precommit prefinalized last carries. Call it before anything else is
    /// polled.
    ///
    /// # Errors
    /// The bytes, if there is no such vote, its round is not 0, or they are too long.
    pub fn carry(&mut self, partial: Vec<u8>) -> Result<(), Vec<u8>> {
        let waits =
            matches!(&self.process, Process::Asking(_, scope) if scope.round == Round::ZERO);
        if !waits || !self.outputs.is_empty() || partial.len() > MAX_EXTENSION {
            return Err(partial);
        }
        self.carried = Some(partial);
        Ok(())
    }

    pub(crate) const fn limits(&self) -> Limits {
        let (members, max_block_bytes) = (self.committee.size(), self.config.max_block_bytes);
        Limits { members, max_block_bytes }
    }

    fn start(&mut self) {
        if self.started {
            return;
        }
        self.started = true;
        self.tasks.push_back(Task::Begin(self.height));
    }

    /// Replays the log, once its height has started. First Malachite learns this party's own
    /// statements, so that it repeats them and makes no new ones. Then it gets all entries in order.
    fn replay(&mut self, state: &mut State) {
        if self.log.is_empty() {
            return;
        }
        state.record_recovered_own_precommit_extensions(&self.log);
        state.index_wal_entries(&self.log);
        self.tasks.extend(self.log.iter().cloned().map(Task::Feed));
        self.tasks.push_back(Task::EndReplay);
    }

    /// Does the waiting tasks, until none is left or the beacon has to be asked.
    pub(crate) fn run(&mut self) {
        loop {
            match std::mem::replace(&mut self.process, Process::Running) {
                Process::Idle(state) => {
                    let Some(task) = self.tasks.pop_front() else {
                        self.process = Process::Idle(state);
                        return;
                    };
                    self.take(state, task);
                }
                waiting => {
                    self.process = waiting;
                    return;
                }
            }
        }
    }

    fn take(&mut self, mut state: State, task: Task) {
        match task {
            Task::Feed(input) => self.follow(Routine::start(state, input)),
            Task::Begin(height) => self.begin(state, height),
            Task::EndReplay => {
                state.reset_entries_index();
                self.log.clear();
                self.propose_wanted(&state);
                self.process = Process::Idle(state);
            }
            Task::Propose => {
                self.propose_wanted(&state);
                self.process = Process::Idle(state);
            }
        }
    }

    fn begin(&mut self, state: State, height: Height) {
        self.height = height;
        self.since = self.now;
        self.blocks.clear();
        let validators = self.committee.validators().clone();
        let policy = VoteExtensionPolicy::Required;
        let input = consensus::Input::StartHeight(height, validators, false, None, policy);
        self.follow(Routine::start(state, input));
        match std::mem::replace(&mut self.process, Process::Running) {
            Process::Idle(mut state) => {
                self.replay(&mut state);
                self.process = Process::Idle(state);
            }
            waiting => self.process = waiting,
        }
        self.take_early(height);
        self.catch_up_further();
    }

    /// Carries effects out until one cannot be answered here.
    fn follow(&mut self, mut progress: Progress) {
        loop {
            match progress {
                Progress::Yielded(routine, effect) => match self.carry_out(effect) {
                    Ok(answer) => progress = routine.resume(answer),
                    Err(scope) => {
                        self.process = Process::Asking(routine, scope);
                        return;
                    }
                },
                Progress::Complete(state, ended) => {
                    self.process = Process::Idle(state);
                    match ended {
                        Ok(()) => {}
                        Err(error @ consensus::Error::ReplayDivergence(..)) => {
                            self.halt(error.to_string());
                        }
                        Err(error) => self.effect(Effect::Refused(error.to_string())),
                    }
                    return;
                }
            }
        }
    }

    /// Halts the engine. Outputs that wait rest on the same log, so they are dropped.
    fn halt(&mut self, why: String) {
        self.process = Process::Halted;
        self.tasks.clear();
        self.outputs.clear();
        self.effect(Effect::Halted(why));
    }

    /// Continues the precommit with the bytes that it carries.
    fn resume(&mut self) -> bool {
        match std::mem::replace(&mut self.process, Process::Running) {
            Process::Asking(routine, scope) => {
                let bytes = self.carried.take().unwrap_or_default();
                let statement = Statement::extension(self.committee.context(), scope, &bytes);
                let signature = self.secret.sign(&statement);
                let extension = Some(SignedMessage::new(bytes, signature));
                self.follow(routine.resume(Resume::VoteExtension(extension)));
                self.run();
                true
            }
            other => {
                self.process = other;
                false
            }
        }
    }

    /// Answers Malachite's request for a block, now or when it is time.
    pub(crate) fn propose(&mut self, height: Height, round: Round) {
        if !self.log.is_empty() || self.now < self.proposes_at(round) {
            self.wanted = Some((height, round));
            return;
        }
        let mut room = self.config.max_block_bytes;
        let fits = |transaction: &&Arc<[u8]>| {
            let left = room.checked_sub(transaction.len());
            room = left.unwrap_or(room);
            left.is_some()
        };
        let block = Block::new(height, self.pool.iter().filter(fits).cloned().collect());
        let value = LocallyProposedValue::new(height, round, block);
        self.tasks.push_front(Task::Feed(consensus::Input::Propose(value)));
    }

    /// When to propose in a round. A round that follows a failed one need not wait any longer.
    fn proposes_at(&self, round: Round) -> Instant {
        match round {
            Round::ZERO => self.config.pace.proposes_at(self.since, self.height.get()),
            _ => self.since,
        }
    }

    /// Makes the wanted proposal, unless the log had it or the round is over.
    fn propose_wanted(&mut self, state: &State) {
        let Some((height, round)) = self.wanted.take() else { return };
        let own = Address::new(self.config.me);
        let known = state.full_proposal_at_round_and_proposer(&height, round, &own);
        if (state.height(), state.round()) == (height, round) && known.is_none() {
            self.propose(height, round);
        }
    }

    fn submit(&mut self, transaction: Arc<[u8]>) {
        let waiting: usize = self.pool.iter().map(|one| one.len()).sum();
        let most = self.config.max_block_bytes.saturating_mul(POOL_BLOCKS);
        let bytes = transaction.len();
        if bytes > self.config.max_block_bytes || waiting.saturating_add(bytes) > most {
            let why = format!("no room for a transaction of {bytes} bytes, {waiting} wait");
            self.effect(Effect::Refused(why));
            return;
        }
        // A party that restarts submits transactions again that may have been ordered meanwhile.
        let mut ordered = self.decided.values().flat_map(|decision| decision.block.transactions());
        if !ordered.any(|one| *one == transaction) && !self.pool.contains(&transaction) {
            self.pool.push_back(transaction);
        }
    }

    fn tick(&mut self) {
        let due: BTreeMap<_, _> = self
            .timers
            .iter()
            .filter(|(_, (at, _))| *at <= self.now)
            .map(|(key, (at, timeout))| ((*at, *key), *timeout))
            .collect();
        for ((_, key), timeout) in due {
            self.timers.remove(&key);
            self.tasks.push_back(Task::Feed(consensus::Input::TimeoutElapsed(timeout)));
        }
        if self.wanted.is_some_and(|(_, round)| self.proposes_at(round) <= self.now) {
            self.tasks.push_back(Task::Propose);
        }
        self.ask_for_decision();
    }

    pub(crate) fn span(&self, timeout: Timeout) -> Duration {
        // For an undefined round this would panic.
        if timeout.round.is_nil() {
            return Duration::ZERO;
        }
        let span = self.config.timeouts.duration_for(timeout);
        match timeout.kind {
            TimeoutKind::Propose => span + self.proposes_at(timeout.round).since(self.now),
            _ => span,
        }
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.outputs.push_back(Output::Do(effect));
    }

    pub(crate) fn send(&mut self, to: Recipient<Party>, message: Message) {
        self.effect(Effect::Send { to, message });
    }
}

impl Machine for Malachite {
    type Input = Input;
    type Record = Record;
    type Effect = Effect;

    fn handle(&mut self, now: Instant, input: Input) {
        self.now = now;
        if matches!(self.process, Process::Halted) {
            return;
        }
        match input {
            Input::Start => self.start(),
            Input::Submit(transaction) => self.submit(transaction),
            _ if !self.started => {}
            Input::Received { from, message } => self.receive(from, message),
            Input::Tick => self.tick(),
        }
        self.run();
    }

    fn poll(&mut self) -> Option<Output> {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return Some(output);
            }
            if !self.resume() {
                return None;
            }
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        if matches!(self.process, Process::Halted) {
            return None;
        }
        let timers = self.timers.values().map(|(at, _)| *at);
        let wanted = self.wanted.map(|(_, round)| self.proposes_at(round));
        timers.chain(wanted).chain(self.catch_up.ask_at()).min()
    }
}
