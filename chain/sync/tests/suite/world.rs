//! A follower, its store and its peers in virtual time.
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use prefinal_disk::{Disk, Left};
use prefinal_execution::{Height, Store};
use prefinal_light::{EpochEnding, StakeVerifier};
use prefinal_protocol::{EpochId, Instant, Machine, Output};
use prefinal_state::transfers::Transfers;
use prefinal_sync::wire::{Ask, Compression, HeightRange, Payload, Request, Summary};
use prefinal_sync::{
    Config, Effect, Follower, FollowerLimits, HashedNames, Input, Misconduct, Past, PeerId, Replay,
    Server, ServerLimits, StopReason, StoreSource,
};

use crate::chain::{Cert, EXECUTOR, TIP, TestStore, beacon, chain, open};

pub(crate) type TestFollower = Follower<Transfers, StakeVerifier, HashedNames>;
type TestInput = Input<Transfers, StakeVerifier>;

/// What a peer makes of an honest answer, a summary, or a request.
pub(crate) type Lie = fn(&mut TestPeer, &Request, Payload<Cert>) -> Vec<u8>;

pub(crate) struct TestPeer {
    pub(crate) latency: Duration,
    /// Its highest block, as its summary says.
    pub(crate) tip: u64,
    pub(crate) hops: u8,
    pub(crate) lie: Option<Lie>,
    /// `None`: never answers. Otherwise what it says that it has.
    pub(crate) claim: Option<fn(Summary) -> Summary>,
    pub(crate) server: Server,
    /// Requests that it was sent, without those for summaries.
    pub(crate) asked: Vec<Ask>,
    /// What a liar keeps for later.
    pub(crate) memory: Vec<Payload<Cert>>,
}

impl TestPeer {
    pub(crate) fn honest(latency: u64) -> Self {
        Self {
            latency: Duration::from_millis(latency),
            tip: TIP,
            hops: 1,
            lie: None,
            claim: Some(|summary| summary),
            server: Server::new(ServerLimits::default()),
            asked: Vec::new(),
            memory: Vec::new(),
        }
    }

    pub(crate) fn lying(lie: Lie) -> Self {
        // Close to the follower, so that it is asked first.
        Self { lie: Some(lie), hops: 0, ..Self::honest(5) }
    }

    fn source(&self) -> StoreSource<'static, TestStore> {
        let chain = chain();
        let (store, endings) = (&chain.store, &chain.endings);
        StoreSource { store, endings, snapshot_every: 6, hops: self.hops }
    }

    /// What it sends for a request.
    fn answer(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let request = Request::from_wire(bytes).unwrap();
        let source = self.source();
        if request.ask == Ask::Summary {
            let claim = self.claim?;
            let honest = self.server.answer(&source, bytes).unwrap();
            let mut summary = Summary::from_wire(&honest).unwrap();
            let last = Height::new(self.tip);
            let blocks = summary.blocks.map(|blocks| HeightRange { last, ..blocks });
            (summary.blocks, summary.deltas) = (blocks, blocks);
            summary.snapshots.retain(|height| *height <= last);
            return Some(claim(summary).to_wire());
        }
        self.asked.push(request.ask);
        let Some(lie) = self.lie else {
            return Some(self.server.answer(&source, bytes).unwrap());
        };
        let plain = Request { accepts: Compression::None, ..request };
        let honest = self.server.answer(&source, &plain.to_wire()).unwrap();
        let payload = Payload::decode(&honest[prefinal_sync::wire::ANSWER_HEAD..]).unwrap();
        let sent = lie(self, &request, payload);
        (!sent.is_empty()).then_some(sent)
    }
}

enum Event {
    ToPeer(PeerId, Vec<u8>),
    ToFollower(Box<TestInput>),
}

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) follower: TestFollower,
    pub(crate) store: TestStore,
    disk: Disk,
    pub(crate) endings: BTreeMap<EpochId, EpochEnding>,
    pub(crate) peers: Vec<TestPeer>,
    pub(crate) config: Config,
    queue: BTreeMap<(Instant, u64), Event>,
    events: u64,
    steps: u64,
    pub(crate) banned: BTreeMap<PeerId, Misconduct>,
    pub(crate) stopped: Option<StopReason>,
    /// How many outputs it has given so far.
    pub(crate) outputs: usize,
    pub(crate) most_bytes: u64,
    /// Values of slots may be missing in what is stored.
    pub(crate) bare_values: bool,
    /// When each height became durable.
    pub(crate) durable: BTreeMap<u64, Instant>,
}

/// How long a job of this kind takes in virtual time.
const CHECK: Duration = Duration::from_millis(4);
const EXECUTE: Duration = Duration::from_millis(6);
const STORE: Duration = Duration::from_millis(5);

pub(crate) fn config(replay: Replay) -> Config {
    let limits = FollowerLimits { answer_blocks: 4, ..FollowerLimits::default() };
    Config { limits, beacon: Some(beacon()), ..Config::new(replay, [1; 32]) }
}

fn follower(
    config: Config,
    store: &TestStore,
    endings: &BTreeMap<EpochId, EpochEnding>,
) -> TestFollower {
    let past = Past::of(store).unwrap();
    let mut trust = chain().trust();
    past.advance(&mut trust, endings.values()).unwrap();
    Follower::new(config, trust, HashedNames, past)
}

impl World {
    pub(crate) fn new(config: Config, peers: Vec<TestPeer>) -> Self {
        let disk = Disk::holding(Vec::new());
        let store = open(disk.clone(), &chain().genesis);
        let mut world = Self {
            now: Instant::START,
            follower: follower(config, &store, &BTreeMap::new()),
            store,
            disk,
            endings: BTreeMap::new(),
            peers,
            config,
            queue: BTreeMap::new(),
            events: 0,
            steps: 0,
            banned: BTreeMap::new(),
            stopped: None,
            outputs: 0,
            most_bytes: 0,
            bare_values: config.beacon.is_none(),
            durable: BTreeMap::new(),
        };
        world.connect();
        world
    }

    fn connect(&mut self) {
        for peer in 0..self.peers.len() as u64 {
            self.input(Duration::ZERO, Input::Connected(PeerId::new(peer)));
        }
    }

    fn input(&mut self, delay: Duration, input: TestInput) {
        self.push(delay, Event::ToFollower(Box::new(input)));
    }

    fn push(&mut self, delay: Duration, event: Event) {
        self.events += 1;
        self.queue.insert((self.now + delay, self.events), event);
    }

    /// The process ends; what was not durable is lost. It starts again with what is there.
    pub(crate) fn crash(&mut self, left: Left) {
        self.queue.clear();
        self.disk = Disk::holding(self.disk.after_crash(left));
        self.store = open(self.disk.clone(), &chain().genesis);
        self.follower = follower(self.config, &self.store, &self.endings);
        self.connect();
        let input = Input::Tick;
        self.handle(input);
    }

    pub(crate) fn tip(&self) -> u64 {
        self.store.committed().unwrap().height.get()
    }

    /// Runs until the store is at this height, or until so much time has passed.
    pub(crate) fn run(&mut self, height: u64, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        while self.tip() < height && self.stopped.is_none() && self.now < end {
            if !self.step() {
                return;
            }
        }
    }

    /// The next thing happens.
    pub(crate) fn step(&mut self) -> bool {
        self.steps += 1;
        assert!(self.steps < 50_000, "nothing comes of it");
        let next = self.queue.first_key_value().map(|((at, _), _)| *at);
        let wake = self.follower.wake_at().map(|at| at.max(self.now));
        if let Some(at) = wake.filter(|at| next.is_none_or(|next| *at < next)) {
            self.now = at;
            self.handle(Input::Tick);
            return true;
        }
        let Some(((at, _), event)) = self.queue.pop_first() else { return false };
        self.now = at;
        match event {
            Event::ToPeer(peer, bytes) => {
                let one = &mut self.peers[peer.get() as usize];
                let latency = one.latency / 2;
                if let Some(bytes) = one.answer(&bytes) {
                    let received = Input::Received { peer, bytes };
                    self.input(latency, received);
                }
            }
            Event::ToFollower(input) => self.handle(*input),
        }
        true
    }

    pub(crate) fn handle(&mut self, input: TestInput) {
        self.follower.handle(self.now, input);
        while let Some(output) = self.follower.poll() {
            self.outputs += 1;
            match output {
                Output::Keep(ending) | Output::Note(ending) => {
                    self.endings.insert(ending.block.epoch, ending);
                }
                Output::Do(effect) => self.act(effect),
            }
        }
        self.most_bytes = self.most_bytes.max(self.follower.bytes());
    }

    fn act(&mut self, effect: Effect<Transfers, StakeVerifier, HashedNames>) {
        match effect {
            Effect::Send { peer, bytes } => {
                let delay = self.peers[peer.get() as usize].latency / 2;
                self.push(delay, Event::ToPeer(peer, bytes));
            }
            Effect::Check(job) => {
                self.input(CHECK, Input::Checked(job.run()));
            }
            Effect::Execute(job) => {
                self.input(EXECUTE, Input::Executed(job.run(&EXECUTOR)));
            }
            Effect::Store(job) => {
                let verdict = job.run(&mut self.store);
                self.is_true();
                self.input(STORE, Input::Stored(verdict));
            }
            Effect::Ban(misconduct) => {
                let before = self.banned.insert(misconduct.peer, misconduct);
                assert_eq!(before, None, "banned twice");
            }
            Effect::Committed { committed, .. } => {
                self.durable.insert(committed.height.get(), self.now);
            }
            Effect::Stopped(reason) => self.stopped = Some(reason),
        }
    }

    /// What is stored is what the chain has: nothing else ever is.
    pub(crate) fn is_true(&self) {
        let committed = self.store.committed().unwrap();
        let truth = chain().store.block(committed.height).unwrap();
        assert_eq!((committed.block, committed.roots), (truth.header.id, truth.roots));
        if committed.height > self.store.lowest() {
            let mine = self.store.export(committed.height).unwrap();
            let mut theirs = chain().store.export(committed.height).unwrap();
            if self.bare_values && mine.certificate.randomness.is_none() {
                theirs.certificate.randomness = None;
            }
            assert_eq!(mine, theirs);
        }
    }

    pub(crate) fn follower_wakes(&self) -> Option<Instant> {
        self.follower.wake_at()
    }

    pub(crate) fn banned(&self) -> BTreeSet<u64> {
        self.banned.keys().map(|peer| peer.get()).collect()
    }
}
