//! The engine as a [`Machine`]: its state, what goes in and what comes out.
//!
//! ```text
//!  proposer ──proposal──▶ all                            1 delay
//!  all      ──prevote───▶ all   quorum: a polka           2 delays: precommit, Prefinalized
//!  all      ──precommit─▶ all   quorum: decided           3 delays: Finalized
//!  proposer of the next height ─proposal──▶ ...           at once
//! ```
//! Inputs wait in a queue, since one may lead to others: a height that ends starts the next one, a
//! request for a block is answered with a proposal. Between [`Effect::Prefinalized`] and the next output
//! the coroutine stands still; what [`Malachite::carry`] is given then becomes the vote's extension.
//!
//! Elsewhere: what effects do (`effects`), what messages do (`inbox`), decisions of others (`catch_up`).
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use malachitebft_core_consensus::{self as consensus, LocallyProposedValue, Params, Resume};
use malachitebft_core_types::{
    Round, SignedMessage, ThresholdParams, Timeout, TimeoutKind, ValuePayload, VoteExtensionPolicy,
};
use protocol::{Instant, Machine, Party, Recipient};

use crate::catch_up::CatchUp;
use crate::config::{Config, ConfigError, Validators};
use crate::context::{Address, Block, BlockId, Height, Tendermint};
use crate::message::{Decision, Limits, MAX_EXTENSION, Message};
use crate::record::{Log, Record};
use crate::routine::{Progress, Routine, State};
use crate::sign::{Scope, SecretKey, Statement};

/// Bytes of transactions that wait here, in blocks of the largest size.
const POOL_BLOCKS: usize = 4;

/// What happens to the engine.
#[derive(Clone, Debug)]
pub enum Input {
    /// Begin. What comes before it is ignored.
    Start,
    /// A message came in.
    Received {
        /// Who sent it, as the link knows.
        from: Party,
        /// The message.
        message: Message,
    },
    /// Please put this into a block. Refused if too much waits.
    Submit(Arc<[u8]>),
    /// [`Machine::wake_at`] is reached.
    Tick,
}

/// What the engine wants done, in this order.
pub type Output = protocol::Output<Record, Effect>;

/// What the engine wants done, its records aside.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Send this.
    Send {
        /// To whom.
        to: Recipient<Party>,
        /// What.
        message: Message,
    },
    /// This party is about to precommit the block. What [`Malachite::carry`] is given before the next
    /// output is polled travels in that vote, if the round is 0.
    Prefinalized {
        /// At which height.
        height: Height,
        /// In which round.
        round: u32,
        /// The block.
        block: BlockId,
    },
    /// What a peer's round-0 precommit carried. It signed these bytes; nothing else is known of them.
    Carried {
        /// Whose vote it was.
        from: Party,
        /// The bytes, at least one.
        partial: Vec<u8>,
    },
    /// The height is decided. Every height, ascending; after a crash the last one may come again.
    Finalized {
        /// The block.
        block: Block,
    },
    /// This party will not precommit a block in this round of the height or an earlier one any more.
    Abandoned {
        /// The height.
        height: Height,
        /// The round.
        round: u32,
    },
    /// A party did wrong, in words.
    Accuse {
        /// Who.
        party: Party,
        /// What.
        fault: String,
    },
    /// An input led to nothing though it should have, in words.
    Refused(String),
    /// What the log leads to is not what the log says that this party signed. Signing on would be signing
    /// twice, so nothing is said or done any more, in this life. Nothing follows.
    Halted(String),
}

/// What waits to be done.
#[allow(clippy::large_enum_variant, reason = "nearly all are inputs")]
#[derive(Debug)]
pub(crate) enum Task {
    /// Hand this to Malachite.
    Feed(consensus::Input<Tendermint>),
    /// Start a height, then take what came early for it.
    Begin(Height),
    /// The log is read to its end.
    EndReplay,
    /// Propose what waited for its time.
    Propose,
}

pub(crate) enum Process {
    Idle(State),
    /// A precommit waits for its extension.
    Asking(Routine, Scope),
    /// For good.
    Halted,
    /// Only while it is taken out.
    Running,
}

/// One party's Malachite.
pub struct Malachite {
    pub(crate) committee: Validators,
    pub(crate) config: Config,
    pub(crate) secret: SecretKey,
    pub(crate) process: Process,
    pub(crate) tasks: VecDeque<Task>,
    pub(crate) outputs: VecDeque<Output>,
    pub(crate) now: Instant,
    pub(crate) started: bool,
    /// The log while it is read: what it holds is not logged again, and nothing is proposed.
    pub(crate) log: Vec<consensus::Input<Tendermint>>,
    /// The height that is being decided.
    pub(crate) height: Height,
    /// Since when.
    pub(crate) since: Instant,
    /// What is proposed once the log is read and the time has come.
    pub(crate) wanted: Option<(Height, Round)>,
    /// What the next precommit carries.
    pub(crate) carried: Option<Vec<u8>>,
    /// When a step of a round has taken too long.
    pub(crate) timers: BTreeMap<(u8, Round), (Instant, Timeout)>,
    /// Blocks that were proposed at this height.
    pub(crate) blocks: BTreeMap<BlockId, Block>,
    pub(crate) pool: VecDeque<Arc<[u8]>>,
    /// Messages of heights to come.
    pub(crate) ahead: BTreeMap<Height, BTreeMap<Party, Vec<Message>>>,
    pub(crate) decided: BTreeMap<Height, Arc<Decision>>,
    /// Whose late precommits of decided heights have been read.
    pub(crate) late: BTreeSet<(Height, Party)>,
    pub(crate) catch_up: CatchUp,
}

impl Malachite {
    /// An engine that goes on where its log ends.
    ///
    /// # Errors
    /// If the configuration or the log is none for this member.
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
        // Messages of heights to come wait here (`inbox`), not in Malachite's own queue.
        let state = consensus::State::new(Tendermint, height, validators, params, 1, 1);
        Ok(Self {
            committee,
            config,
            secret,
            process: Process::Idle(Box::new(state)),
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

    /// The committee.
    #[must_use]
    pub const fn committee(&self) -> &Validators {
        &self.committee
    }

    /// What the precommit that was prefinalized last carries. To be called before anything else is
    /// polled.
    ///
    /// # Errors
    /// The bytes, if there is no such vote, its round is not the first, or they are too long.
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

    /// The log, once its height has started: first what this party said itself, so that it is said
    /// again and not anew; then all of it in order.
    fn replay(&mut self, state: &mut State) {
        if self.log.is_empty() {
            return;
        }
        state.record_recovered_own_precommit_extensions(&self.log);
        state.index_wal_entries(&self.log);
        self.tasks.extend(self.log.iter().cloned().map(Task::Feed));
        self.tasks.push_back(Task::EndReplay);
    }

    /// Does what waits, until nothing does or the beacon has to be asked.
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

    /// What waits to leave rests on the same log, so it stays.
    fn halt(&mut self, why: String) {
        self.process = Process::Halted;
        self.tasks.clear();
        self.outputs.clear();
        self.effect(Effect::Halted(why));
    }

    /// The precommit goes on with what it carries.
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

    /// A round that follows a failed one has waited long enough.
    fn proposes_at(&self, round: Round) -> Instant {
        match round {
            Round::ZERO => self.config.pace.proposes_at(self.since, self.height.get()),
            _ => self.since,
        }
    }

    /// Unless the log had it, or the round is over.
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
        // Who restarts submits again what may have been ordered meanwhile.
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
        // Asked for a round that is none it would panic.
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
