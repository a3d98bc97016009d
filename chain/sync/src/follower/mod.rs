//! The follower: decides what to ask whom, and what happens with it.
mod plan;
mod verdicts;

use std::collections::VecDeque;
use std::marker::PhantomData;

use prefinal_execution::{Committed, Executor, Height};
use prefinal_protocol::{EpochId, Instant, Machine, OutputOf};
use prefinal_state::proof::StateRoot;
use prefinal_state::{SnapshotBlock, StateExecutor};

use self::verdicts::Turn;
use crate::check::{CheckJob, Question, Rules, Unchecked};
use crate::config::{Config, Past, Replay, Strategy};
use crate::event::{Effect, Input, Misconduct, Output};
use crate::fault::{Fault, StopReason};
use crate::fetch::{Outstanding, Purpose, Requests, Times, Wanted};
use crate::keep::Kept;
use crate::names::BlockNames;
use crate::peers::{PeerId, PeerScore, Peers};
use crate::persist::{StoreCall, StoreJob};
use crate::process::ExecuteJob;
use crate::replay::{Chunk, Head, ReplayStages};
use crate::restore::{Restore, Seek};
use crate::trust::{Attestation, Trust};
use crate::wire::{ANSWER_HEAD, Ask, BlockAsk, Received, Request, RequestId, WireError, received};

/// Follows a chain through peers that may lie: see the head of the crate.
pub struct Follower<X: Executor, T: Trust, N> {
    config: Config,
    names: N,
    trust: T,
    committed: Committed,
    kept: Kept,
    /// Whether the last thing that the store did was to forget.
    has_pruned: bool,
    peers: Peers,
    requests: Requests,
    stages: ReplayStages<X, T::Certificate>,
    /// The epoch of the last block that was stored at the start.
    stored: Option<EpochId>,
    /// The next epoch, which a block is said to be of.
    turn: Option<Turn<T>>,
    seek: Option<Seek<T>>,
    /// The anchor of a later epoch that the search waits with.
    sought: Option<SnapshotBlock<Attestation<T::Certificate>>>,
    /// A verified anchor; its state is fetched when nothing is written any more.
    adopting: Option<SnapshotBlock<Attestation<T::Certificate>>>,
    restore: Option<Restore<T::Certificate>>,
    outputs: VecDeque<Output<X, T, N>>,
    is_stopped: bool,
    now: Instant,
    executor: PhantomData<fn() -> X>,
}

impl<X, T, N> Follower<X, T, N>
where
    X: StateExecutor,
    T: Trust,
    N: BlockNames,
{
    /// A follower that goes on where the store is, with a trust that was advanced to there ([`Past::advance`]) or not as
    /// far: then its peers show the endings that lead there.
    ///
    /// Costs nothing; what is missing is asked for when there are peers.
    #[must_use]
    pub fn new(config: Config, trust: T, names: N, past: Past<T::Certificate>) -> Self {
        let Past { committed, view, restoring, kept, epoch } = past;
        let limits = config.limits;
        let head = Head { height: committed.height, id: committed.block };
        let restore = restoring.map(|now| Restore::new(now.anchor, &now.missing));
        let mut follower = Self {
            config,
            names,
            trust,
            committed,
            kept,
            has_pruned: false,
            peers: Peers::new(limits, config.strategy, config.seed),
            requests: Requests::new(limits),
            stages: ReplayStages::new(head, view),
            stored: epoch,
            turn: None,
            seek: None,
            sought: None,
            adopting: None,
            restore,
            outputs: VecDeque::new(),
            is_stopped: false,
            now: Instant::START,
            executor: PhantomData,
        };
        // All ranges may have been durable when it crashed.
        follower.finish_restore();
        follower
    }

    /// The last durable block.
    #[must_use]
    pub const fn committed(&self) -> Committed {
        self.committed
    }

    /// What of the past is in the store.
    #[must_use]
    pub const fn kept(&self) -> Kept {
        self.kept
    }

    /// The trust, as far as endings have led.
    #[must_use]
    pub const fn trust(&self) -> &T {
        &self.trust
    }

    /// The peers and how they do. Those that are banned are not among them.
    pub fn scores(&self) -> impl Iterator<Item = (PeerId, &PeerScore)> {
        self.peers.scores()
    }

    /// How many answers are asked for at once.
    #[must_use]
    pub const fn window(&self) -> usize {
        self.requests.window()
    }

    /// Whether a state is being fetched whole.
    #[must_use]
    pub const fn is_restoring(&self) -> bool {
        self.restore.is_some()
    }

    /// Bytes that are asked for, or in memory and not durable.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.requests.bytes().saturating_add(self.held())
    }

    /// The longest message that a host needs to take from a peer.
    #[must_use]
    pub fn longest(&self) -> usize {
        // What does not become shorter is not compressed.
        usize::try_from(self.config.limits.answer_bytes)
            .unwrap_or(usize::MAX)
            .saturating_add(ANSWER_HEAD)
    }

    fn held(&self) -> u64 {
        let restoring = self.restore.as_ref().map_or(0, Restore::bytes);
        self.stages.bytes().saturating_add(restoring)
    }

    fn act(&mut self, effect: Effect<X, T, N>) {
        self.outputs.push_back(Output::Do(effect));
    }

    fn stop(&mut self, reason: StopReason) {
        self.is_stopped = true;
        self.act(Effect::Stopped(reason));
    }

    fn send(&mut self, wanted: &Wanted, peer: PeerId) {
        let deadline = self.now + self.peers.patience(peer, wanted.attempt);
        let bytes = self.requests.send(wanted, peer, Times { now: self.now, deadline });
        self.peers.asked(peer);
        self.act(Effect::Send { peer, bytes });
    }

    fn check(&mut self, question: Question, purpose: Purpose, answer: Unchecked<T::Certificate>) {
        let trust = match (purpose, &self.seek, &self.turn) {
            (Purpose::Seek, Some(seek), _) => seek.trust.clone(),
            (Purpose::Turn, _, Some(turn)) => turn.trust.clone(),
            _ => self.trust.clone(),
        };
        let Config { beacon, replay, .. } = self.config;
        let rules = Rules { trust, names: self.names.clone(), beacon, replay };
        self.act(Effect::Check(Box::new(CheckJob {
            question,
            answer,
            rules,
            executor: PhantomData,
        })));
    }

    fn receive(&mut self, peer: PeerId, bytes: &[u8]) {
        if !self.peers.knows(peer) {
            return;
        }
        let (got, most) = (bytes.len(), self.longest());
        if got > most {
            return self.ban(peer, None, WireError::TooLong { got, most }.into());
        }
        match received(bytes) {
            Err(error) => self.ban(peer, None, error.into()),
            Ok(Received::Summary(summary)) => self.peers.summary(peer, summary),
            Ok(Received::Answer(head, payload)) => {
                // One that is late was asked of another peer by now.
                let Some(one) = self.requests.answered(head.id, peer) else { return };
                self.peers.answered(peer, one.took(self.now));
                let bytes = u64::from(head.length.min(one.question.bytes));
                self.requests.check(head.id, one.checking(bytes));
                let payload = payload.to_vec();
                self.check(one.question, one.purpose, Unchecked::Encoded { head, payload });
            }
        }
    }

    /// A peer did wrong. What it was asked for is asked of others.
    fn ban(&mut self, peer: PeerId, ask: Option<Ask>, fault: Fault) {
        if self.peers.ban(peer) {
            self.act(Effect::Ban(Misconduct { peer, ask, fault }));
        }
        self.lose(peer);
        self.stages.drop_peer(peer);
    }

    /// A block that a peer has shown was found false when its turn came.
    fn ban_for_block(&mut self, peer: PeerId, height: Height, fault: Fault) {
        let (deltas, bytes) =
            (self.config.replay == Replay::Deltas, self.config.limits.answer_bytes);
        let ask = Ask::Blocks(BlockAsk { first: height, count: 1, deltas, bytes });
        self.ban(peer, Some(ask), fault);
    }

    /// A peer answers nothing any more.
    fn lose(&mut self, peer: PeerId) {
        for one in self.requests.of_peer(peer) {
            self.give_back(&one.question, one.purpose, one.attempt);
        }
        self.stages.drop_later(peer);
    }

    fn late(&mut self, one: &Outstanding) {
        self.peers.late(one.question.peer, self.now);
        self.give_back(&one.question, one.purpose, one.attempt);
    }

    fn next_job(&mut self) {
        self.execute_next();
        self.store_next();
    }

    /// Blocks are executed ahead of what is durable, unless everything is done one after the other.
    fn execute_next(&mut self) {
        let most = match self.config.strategy {
            Strategy::Pipelined => self.config.limits.unstored,
            Strategy::Naive => 1,
        };
        let is_busy = self.stages.executing.is_some() || self.stages.unstored() >= most;
        if is_busy || self.adopting.is_some() || self.restore.is_some() {
            return;
        }
        let Some(checked) = self.stages.take_next() else { return };
        let (header, got) = (checked.block.header, checked.attestation.epoch);
        // It was verified before the epoch began. Members of a committee that is over may have nothing to lose.
        if let Some(here) = self.trust.epoch().filter(|here| got < *here) {
            self.ban_for_block(checked.peer, header.height, Fault::Epoch { here, got });
            return self.stages.ask_again(Chunk { first: header.height, count: 1, attempt: 1 });
        }
        if header.parent != self.stages.head.id {
            return self.stop(StopReason::Forked { header });
        }
        self.stages.executing = Some(checked.bytes);
        let parent = self.stages.view.clone();
        self.act(Effect::Execute(Box::new(ExecuteJob { parent, checked })));
    }

    fn store_next(&mut self) {
        if self.stages.storing.is_some() {
            return;
        }
        if let Some(below) = self.due() {
            self.stages.storing = Some(0);
            return self.store(StoreCall::Prune(below));
        }
        if let Some(done) = self.stages.take_unstored() {
            self.stages.storing = Some(done.bytes);
            return self.store(StoreCall::Block(Box::new(done)));
        }
        if self.stages.is_drained()
            && self.restore.as_ref().is_none_or(|restore| restore.storing.is_none())
            && let Some(anchor) = self.adopting.take()
        {
            let (head, view) = (self.stages.head, self.stages.view.clone());
            self.stages = ReplayStages::new(head, view);
            // The block that was being executed has led there meanwhile.
            if anchor.header.height <= head.height {
                return;
            }
            let mut restore = Restore::new(anchor.clone(), &[]);
            restore.storing = Some(0);
            self.restore = Some(restore);
            return self.store(StoreCall::Begin(Box::new(anchor)));
        }
        if let Some(restore) = self.restore.as_mut().filter(|restore| restore.storing.is_none())
            && let Some((range, bytes)) = restore.take_verified()
        {
            restore.storing = Some(bytes);
            self.store(StoreCall::Range(range));
        }
    }

    /// Below which height states are to be forgotten now. A block that waits comes between two such steps.
    fn due(&self) -> Option<Height> {
        let is_turn = !self.has_pruned || self.stages.unstored() == 0;
        // A state that is being fetched replaces all that is there.
        let is_replaced = self.restore.is_some() || self.adopting.is_some();
        self.config.keep.due(self.kept).filter(|_| is_turn && !is_replaced)
    }

    fn store(&mut self, call: StoreCall<X, T::Certificate>) {
        self.act(Effect::Store(Box::new(StoreJob { call })));
    }
}

impl<X, T, N> Machine for Follower<X, T, N>
where
    X: StateExecutor,
    T: Trust,
    N: BlockNames,
{
    type Input = Input<X, T>;
    type Record = prefinal_light::EpochEnding;
    type Effect = Effect<X, T, N>;

    fn handle(&mut self, now: Instant, input: Input<X, T>) {
        if self.is_stopped {
            return;
        }
        self.now = now;
        match input {
            Input::Connected(peer) => self.peers.connect(peer, now),
            Input::Disconnected(peer) => {
                self.peers.disconnect(peer);
                self.lose(peer);
            }
            Input::Received { peer, bytes } => self.receive(peer, &bytes),
            Input::Checked(verdict) => self.checked(verdict),
            Input::Executed(verdict) => self.executed(verdict),
            Input::Stored(verdict) => self.stored(verdict),
            Input::Tick => {}
        }
        for one in self.requests.late(now) {
            self.late(&one);
        }
        if !self.is_stopped {
            self.next_job();
            self.plan();
        }
    }

    fn poll(&mut self) -> Option<OutputOf<Self>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        if self.is_stopped {
            return None;
        }
        self.requests.wake_at().into_iter().chain(self.peers.wake_at(self.now)).min()
    }
}

/// Summaries have no numbers: they replace each other.
fn summary_request() -> Vec<u8> {
    let accepts = crate::wire::Compression::None;
    Request { id: RequestId::new(u64::MAX), accepts, ask: Ask::Summary }.to_wire()
}

/// Of what is not a range.
const NO_ROOT: StateRoot = StateRoot::EMPTY;
