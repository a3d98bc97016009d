//! Makes nodes, starts them again after crashes, does their work, and looks at what they store.
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use prefinal_disk::{Disk, Left};
use prefinal_execution::{Height, Store};
use prefinal_light::EpochEnding;
use prefinal_protocol::{EpochId, Instant, Recipient};
use prefinal_sim::{Dice, Host, Seat, Step};
use prefinal_sync::wire::{Compression, Request};
use prefinal_sync::{
    CacheCounts, Config, Follower, HashedNames, Input, Past, Replay, Server, ServerLimits,
    StoreSource,
};

use super::chain::{EXECUTOR, SampleCertificate, SampleChain, SampleStore};
use super::node::{
    Bytes, Event, Happens, Job, Mistake, Node, NodePlan, SampleFollower, Service, Wants,
};
use super::price::WorkPrices;
use super::source::PartSource;

/// A disk with the store on it, which fails as often as is drawn, at any change.
struct NodeDisk {
    disk: Disk,
    store: Option<SampleStore>,
    endings: BTreeMap<EpochId, EpochEnding>,
    failures: u64,
    is_armed: bool,
    dice: Dice,
    /// The last height that was reported as durable.
    durable: Height,
}

/// Changes of a disk within which it fails, if it does. A block takes some dozen.
const CHANGES_TO_FAILURE: u64 = 300;

impl NodeDisk {
    fn new(chain: &SampleChain, failures: u64, dice: Dice) -> Self {
        let (disk, durable) = (chain.disk(), Height::GENESIS);
        Self {
            disk,
            store: None,
            endings: BTreeMap::new(),
            failures,
            is_armed: false,
            dice,
            durable,
        }
    }

    /// Opens what a crash left. Sometimes the disk fails in the middle of that, and it begins again.
    fn boot(&mut self, chain: &SampleChain) -> Result<Past<SampleCertificate>, String> {
        self.crash();
        if self.failures > 0 && self.dice.below(4) == 0 {
            self.arm(20);
            match self.open(chain) {
                Ok(past) => return Ok(past),
                Err(_) => self.crash(),
            }
        }
        let past = self.open(chain)?;
        if self.failures > 0 {
            self.arm(CHANGES_TO_FAILURE);
        }
        Ok(past)
    }

    fn open(&mut self, chain: &SampleChain) -> Result<Past<SampleCertificate>, String> {
        let store = self.store.insert(chain.open(&self.disk)?);
        Past::of(store).map_err(|error| error.to_string())
    }

    fn arm(&mut self, most: u64) {
        self.failures -= 1;
        self.is_armed = true;
        self.disk.fail_after_changes(usize::try_from(self.dice.below(most)).unwrap_or(0));
    }

    fn crash(&mut self) {
        // The first time there is nothing to lose.
        if self.store.is_none() && !self.is_armed && self.disk.changes() == 0 {
            return;
        }
        let left = match self.dice.below(3) {
            0 => Left::Nothing,
            1 => Left::All,
            _ => Left::Torn(self.dice.below(u64::MAX)),
        };
        let bytes = self.disk.after_crash(left);
        self.store = None;
        self.is_armed = false;
        self.disk = Disk::holding(bytes);
    }
}

/// Makes nodes, starts them again after crashes, and does their work.
pub(super) struct SyncHost {
    pub(super) chain: Arc<SampleChain>,
    nodes: Vec<NodePlan>,
    prices: WorkPrices,
    disks: BTreeMap<Seat, NodeDisk>,
    servers: BTreeMap<Seat, Server>,
    limits: ServerLimits,
    /// Compares what is stored with the chain after each write.
    pub(super) judges: bool,
    pub(super) mistake: Option<Mistake>,
    /// How often each follower's disk fails.
    pub(super) failures: u64,
    most: BTreeMap<Seat, Rc<Cell<u64>>>,
    lives: BTreeMap<Seat, u32>,
    /// The first thing that is not true of what is stored.
    pub(super) broken: Option<String>,
    dice: Dice,
}

impl SyncHost {
    pub(super) fn new(
        chain: &Arc<SampleChain>,
        nodes: Vec<NodePlan>,
        prices: WorkPrices,
        seed: u64,
    ) -> Self {
        Self {
            chain: Arc::clone(chain),
            nodes,
            prices,
            disks: BTreeMap::new(),
            servers: BTreeMap::new(),
            limits: ServerLimits::default(),
            judges: false,
            mistake: None,
            failures: 0,
            most: BTreeMap::new(),
            lives: BTreeMap::new(),
            broken: None,
            dice: Dice::new(seed ^ 0x73_79_6e_63),
        }
    }

    /// Whether the node's disk was made to fail.
    pub(super) fn may_fail(&self, seat: Seat) -> bool {
        self.disks.get(&seat).is_some_and(|disk| disk.is_armed)
    }

    /// How often a node's answers were in its cache, and the bytes of these.
    pub(super) fn cache(&self, seat: Seat) -> (CacheCounts, usize) {
        let server = self.servers.get(&seat);
        server.map_or((CacheCounts::default(), 0), |one| (one.counts(), one.cached_bytes()))
    }

    /// Most bytes that a node's follower has had, in all its lives.
    pub(super) fn most_bytes(&self, seat: Seat) -> u64 {
        self.most.get(&seat).map_or(0, |most| most.get())
    }

    pub(super) fn store(&self, seat: Seat) -> Option<&SampleStore> {
        self.disks.get(&seat)?.store.as_ref()
    }

    fn start(
        &mut self,
        seat: Seat,
        config: Config,
        kept: &[EpochEnding],
    ) -> Result<SampleFollower, String> {
        let dice = Dice::new(self.dice.below(u64::MAX));
        let (chain, failures) = (Arc::clone(&self.chain), self.failures);
        let fresh = || NodeDisk::new(&chain, failures, dice);
        let disk = self.disks.entry(seat).or_insert_with(fresh);
        disk.endings = kept.iter().map(|one| (one.block.epoch, one.clone())).collect();
        let endings = disk.endings.clone();
        let past = disk.boot(&chain)?;
        let mut trust = chain.trust();
        if self.mistake == Some(Mistake::BelievesCertificates) {
            trust = trust.believing();
        }
        past.advance(&mut trust, endings.values()).map_err(|error| error.to_string())?;
        Ok(Follower::new(config, trust, HashedNames, past))
    }

    fn serve(&mut self, seat: Seat, request: &[u8], now: Instant) -> (Option<Vec<u8>>, bool) {
        let limits = self.limits;
        let server = self.servers.entry(seat).or_insert_with(|| Server::new(limits));
        let before = server.counts().misses;
        let node = self.nodes.get(seat.index());
        let plain = Request::from_wire(request).ok().filter(|_| node.is_some_and(|one| one.plain));
        let plain = plain.map(|one| Request { accepts: Compression::None, ..one }.to_wire());
        let request = plain.as_deref().unwrap_or(request);
        let answer = match node.and_then(|node| node.serves) {
            Some(Service::Chain(part)) => {
                let source = PartSource { chain: &self.chain, part, now };
                server.answer(&source, request).ok()
            }
            Some(Service::Own { hops }) => {
                let disk = self.disks.get(&seat);
                let source = disk.and_then(|disk| {
                    let store = disk.store.as_ref()?;
                    Some(StoreSource { store, endings: &disk.endings, snapshot_every: 0, hops })
                });
                source.and_then(|source| server.answer(&source, request).ok())
            }
            None => None,
        };
        let is_read = server.counts().misses > before;
        (answer, is_read)
    }

    fn applies_deltas(&self, seat: Seat) -> bool {
        let config = self.nodes.get(seat.index()).and_then(|node| node.follows);
        config.is_some_and(|config| config.replay == Replay::Deltas)
    }

    fn look(&mut self, seat: Seat) {
        if self.judges
            && let Err(why) = self.judge(seat)
        {
            self.broken.get_or_insert(why);
        }
    }

    /// What is stored is what the chain has, and what was durable is there.
    fn judge(&self, seat: Seat) -> Result<(), String> {
        let Some(disk) = self.disks.get(&seat) else { return Ok(()) };
        let Some(store) = &disk.store else { return Ok(()) };
        let text = |error: prefinal_state::StateError| error.to_string();
        // A disk that has failed says nothing. What it has is looked at when it is opened again.
        let Ok(committed) = store.committed() else { return Ok(()) };
        if committed.height < disk.durable {
            return Err(format!("{} was durable, {} is there", disk.durable, committed.height));
        }
        let height = committed.height;
        let truth = self.chain.store.block(height).map_err(text)?;
        if (committed.block, committed.roots) != (truth.header.id, truth.roots) {
            return Err(format!("another block of {height} is stored"));
        }
        if height > store.lowest()
            && let Ok(mine) = store.export(height)
        {
            let truth = self.chain.store.export(height).map_err(text)?;
            let (one, other) = (&mine.transactions, &truth.transactions);
            if (mine.header, mine.roots, one) != (truth.header, truth.roots, other) {
                return Err(format!("other content of {height} is stored"));
            }
            if !self.chain.attests(height, &mine.certificate) {
                return Err(format!("another attestation of {height} is stored"));
            }
        }
        if let Ok(Some(anchor)) = store.restoring() {
            let truth = self.chain.store.block(anchor.header.height).map_err(text)?;
            let is_true = (anchor.header, anchor.roots) == (truth.header, truth.roots)
                && self.chain.attests(anchor.header.height, &anchor.certificate);
            if !is_true {
                return Err(format!("another state of {} is fetched", anchor.header.height));
            }
        }
        Ok(())
    }
}

impl Host for SyncHost {
    type Machine = Node;
    type Message = Bytes;
    type Job = Job;
    type Verdict = Happens;
    type Event = Event;

    fn boot(&mut self, seat: Seat, kept: &[EpochEnding]) -> Node {
        let plan = self.nodes.get(seat.index()).cloned();
        let (follows, peers, begins, serves) = match plan {
            Some(NodePlan { follows, peers, begins, serves, .. }) => {
                (follows, peers, begins, serves.is_some())
            }
            None => (None, Vec::new(), Duration::ZERO, false),
        };
        let follower = follows.and_then(|config| match self.start(seat, config, kept) {
            Ok(follower) => Some(follower),
            Err(why) => {
                self.broken.get_or_insert(format!("it does not start: {why}"));
                None
            }
        });
        self.look(seat);
        let outputs = VecDeque::new();
        let bound = follows.map_or(0, |config| {
            let answers = u64::from(config.limits.answer_bytes).saturating_mul(3);
            config.limits.window_bytes.saturating_add(answers)
        });
        let most = Rc::clone(self.most.entry(seat).or_default());
        let (begins, now, mistake) = (Instant::at(begins), Instant::START, self.mistake);
        let life = self.lives.entry(seat).or_default();
        *life = life.wrapping_add(1);
        let life = *life;
        Node { follower, peers, serves, mistake, bound, most, life, outputs, begins, now }
    }

    fn first_input(&mut self, _: Seat) -> Option<Happens> {
        Some(Happens::Start)
    }

    fn encoded_len(&mut self, message: &Bytes) -> u64 {
        u64::try_from(message.len()).unwrap_or(u64::MAX)
    }

    fn received(&mut self, _: Seat, from: Seat, message: &Bytes) -> Happens {
        Happens::Received(from, Arc::clone(message))
    }

    fn checked(&mut self, _: Seat, verdict: Happens) -> Happens {
        verdict
    }

    fn tick(&mut self, _: Seat) -> Happens {
        Happens::Tick
    }

    fn carry_out(&mut self, wants: Wants, step: &mut Step<'_, Self>) {
        match wants {
            Wants::Send(to, bytes) => step.send(Recipient::One(to), bytes),
            Wants::Run(job) => step.run(job),
            Wants::Note(event) => {
                if let (Event::Committed(height), Some(disk)) =
                    (&event, self.disks.get_mut(&step.seat()))
                {
                    disk.durable = disk.durable.max(*height);
                }
                step.note(event);
            }
        }
    }

    fn run(&mut self, seat: Seat, job: Job) -> (Happens, Duration) {
        let follower = |input| Happens::Follower(Box::new(input));
        let deltas = self.applies_deltas(seat);
        match job {
            Job::Check(job) => {
                let verdict = job.run();
                let cost = self.prices.check(verdict.size(), deltas, &mut self.dice);
                (follower(Input::Checked(verdict)), cost)
            }
            Job::Execute(job) => {
                let cost = self.prices.execute(job.size(), deltas, &mut self.dice);
                (follower(Input::Executed(job.run(&EXECUTOR))), cost)
            }
            Job::Store(job) => {
                let cost = self.prices.store(job.size(), &mut self.dice);
                let store = self.disks.get_mut(&seat).and_then(|disk| disk.store.as_mut());
                let verdict = store.map(|store| job.run(store));
                self.look(seat);
                (verdict.map_or(Happens::Tick, |one| follower(Input::Stored(one))), cost)
            }
            Job::Serve { to, request, now } => {
                let (answer, is_read) = self.serve(seat, &request, now);
                let bytes = answer.as_ref().map_or(0, Vec::len);
                let cost = self.prices.serve(bytes, is_read);
                (answer.map_or(Happens::Tick, |bytes| Happens::Served(to, bytes)), cost)
            }
        }
    }
}
