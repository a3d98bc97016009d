//! The experiments of a post on state sync, with real followers, servers, blocks and stores.
//!
//! The post is *The evolution of state sync* by Joshua Lind (Aptos).
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::num::{NonZeroU32, NonZeroU64};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use prefinal_execution::{Height, Store};
use prefinal_protocol::Instant;
use prefinal_sim::rule::{Letter, from_fn};
use prefinal_sim::{Chance, Dice, Interface, Network, Rate, Seat, Setup, Simulation};
use prefinal_sync::wire::{Ask, BlockAsk, Compression, Request, RequestId, Summary};
use prefinal_sync::{Config, FollowerLimits, Replay, Server, ServerLimits, Strategy};

use super::campaign::{Liar, Told, Vice};
use super::chain::{ChainPlan, SampleChain};
use super::host::SyncHost;
use super::node::{Bytes, Event, NodePlan, Service};
use super::price::{SyncPrices, WorkPrices};
use super::source::{Part, PartSource};
use crate::failure::Failure;
use crate::waits::Waits;

/// What a run is made of.
#[derive(Clone, Copy, Debug)]
pub struct SyncParameters {
    /// Blocks of the chain.
    pub blocks: u64,
    /// Transfers of a block.
    pub transfers: u64,
    /// Accounts, each a row of the state.
    pub accounts: u64,
    /// Peers of the follower.
    pub peers: u32,
    /// The time from any node to any other and back.
    pub round_trip: Duration,
    /// What a node's interface carries, in each direction.
    pub interface: Rate,
    /// Blocks of an answer.
    pub answer_blocks: u32,
    /// The time between two questions what a peer has.
    pub poll: Duration,
    /// What a peer that is slow takes longer to answer. What it has, it says in time.
    pub slow: Duration,
    /// Cores of each node.
    pub cores: NonZeroU32,
    /// Draws keys, peers, and the times when nodes begin.
    pub seed: u64,
}

/// The peers of a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crowd {
    /// All do what they should.
    Honest,
    /// A third answers late.
    Slow,
    /// A third lies in every answer.
    Lying,
}

/// How a follower catches up, and among whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncSetting {
    /// How the state behind a block is reached.
    pub replay: Replay,
    /// How requests are made.
    pub strategy: Strategy,
    /// Whether the last state is fetched whole.
    pub snapshot: bool,
    /// How the peers behave: all well, a third slow, or a third lying.
    pub crowd: Crowd,
}

/// A follower that has caught up.
#[derive(Clone, Copy, Debug)]
pub struct CatchUp {
    /// From the genesis to the last block, durable.
    pub took: Duration,
    /// Transactions of the chain for each second of it.
    pub per_second: u64,
    /// Bytes that the follower has received.
    pub received: u64,
    /// Peers that it has banned.
    pub banned: usize,
    /// Most bytes that it has asked for and held at once.
    pub most_bytes: u64,
}

/// What servers have in their caches when all have caught up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheUse {
    /// Requests whose answers were there.
    pub hits: u64,
    /// All requests but those for summaries.
    pub requests: u64,
    /// Bytes of the answers in all caches together.
    pub bytes: usize,
}

/// Bytes of all answers from the first block to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerBytes {
    /// As they are encoded.
    pub plain: u64,
    /// Bytes of the same answers after compression.
    pub packed: u64,
}

/// A chain that was made for experiments, with what work on it costs.
pub struct SyncExperiment {
    parameters: SyncParameters,
    prices: SyncPrices,
    chain: Arc<SampleChain>,
    /// For many followers at once: blocks of a tenth.
    small: Arc<SampleChain>,
}

/// Servers that many ask.
const SERVERS: u32 = 4;
/// Within this time all that ask begin.
const BEGINNINGS: Duration = Duration::from_secs(5);
/// Nodes of each tier between the validators and the follower whose distance to the tip is measured.
const TIER: u32 = 3;
/// What is not counted.
const WARM_UP: Duration = Duration::from_secs(2);
/// No experiment takes as long.
const PATIENCE: Duration = Duration::from_secs(4000);
const FOLLOWER: Seat = Seat::new(0);

impl SyncParameters {
    /// The post's round trips, and answers of about 400 transactions, as its naive protocol must have had.
    #[must_use]
    pub fn usual(seed: u64) -> Self {
        let gigabit = NonZeroU64::new(125_000_000).unwrap_or(NonZeroU64::MIN);
        Self {
            blocks: 240,
            transfers: 100,
            accounts: 2_000,
            peers: 9,
            round_trip: Duration::from_millis(150),
            interface: Rate::bytes_per_second(gigabit),
            answer_blocks: 4,
            poll: Duration::from_millis(100),
            slow: Duration::from_secs(2),
            cores: NonZeroU32::new(4).unwrap_or(NonZeroU32::MIN),
            seed,
        }
    }

    fn plan(&self) -> ChainPlan {
        ChainPlan {
            blocks: self.blocks,
            transfers: self.transfers,
            accounts: self.accounts,
            members: 4,
            epochs: Vec::new(),
            empty: BTreeSet::new(),
            draws: BTreeSet::new(),
            seed: self.seed,
        }
    }

    fn limits(&self) -> FollowerLimits {
        let (answer_blocks, poll) = (self.answer_blocks, self.poll);
        FollowerLimits { answer_blocks, poll, ..FollowerLimits::default() }
    }

    fn network(&self) -> Network {
        let interface = Interface::duplex(self.interface);
        Network::constant(self.round_trip / 2).with_interfaces(interface)
    }
}

impl SyncExperiment {
    /// Makes the chain, and measures what work on it costs if no prices are given. Takes some seconds.
    ///
    /// # Errors
    /// If no such chain can be made.
    pub fn new(parameters: SyncParameters, prices: Option<SyncPrices>) -> Result<Self, Failure> {
        let plan = parameters.plan();
        let chain = Arc::new(SampleChain::new(&plan)?);
        let prices = prices.map_or_else(|| SyncPrices::measure(&chain), Ok)?;
        let transfers = plan.transfers.div_ceil(10);
        let small = ChainPlan { blocks: plan.blocks.min(120), transfers, accounts: 500, ..plan };
        let small = Arc::new(SampleChain::new(&small)?);
        Ok(Self { parameters, prices, chain, small })
    }

    /// The parameters of all runs.
    #[must_use]
    pub const fn parameters(&self) -> &SyncParameters {
        &self.parameters
    }

    /// What each kind of work costs here, as it was measured on these blocks.
    #[must_use]
    pub const fn prices(&self) -> &SyncPrices {
        &self.prices
    }

    /// The same chain at other prices.
    #[must_use]
    pub fn at_prices(&self, prices: SyncPrices) -> Self {
        let (chain, small) = (Arc::clone(&self.chain), Arc::clone(&self.small));
        Self { parameters: self.parameters, prices, chain, small }
    }

    /// The same chain with other round trips.
    #[must_use]
    pub fn with_round_trip(&self, round_trip: Duration) -> Self {
        let parameters = SyncParameters { round_trip, ..self.parameters };
        Self { parameters, ..self.at_prices(self.prices) }
    }

    /// From the genesis to this height.
    ///
    /// # Errors
    /// If the follower does not get there.
    pub fn catch_up(&self, height: u64, setting: SyncSetting) -> Result<CatchUp, Failure> {
        let SyncSetting { replay, strategy, snapshot, crowd } = setting;
        let parameters = &self.parameters;
        let config = Config {
            strategy,
            snapshot_beyond: snapshot.then_some(1),
            limits: parameters.limits(),
            ..Config::new(replay, Dice::new(parameters.seed).bytes())
        };
        let peers: Vec<Seat> = (1..=parameters.peers).map(Seat::new).collect();
        let snapshot_every = if snapshot { height } else { 0 };
        let part = Part { snapshot_every, ..Part::whole(Height::new(height)) };
        let is_bad = |seat: &Seat| crowd != Crowd::Honest && seat.get() % 3 == 1;
        let server = |seat: &Seat| NodePlan {
            plain: is_bad(seat) && crowd == Crowd::Lying,
            ..serving(Service::Chain(part))
        };
        let servers = peers.iter().map(server);
        let nodes = std::iter::once(following(config, peers.clone())).chain(servers).collect();
        let mut simulation = self.simulation(&self.chain, nodes)?;
        for seat in peers.iter().filter(|seat| is_bad(seat)) {
            match crowd {
                Crowd::Lying => simulation.rule(*seat, self.liar()),
                Crowd::Slow | Crowd::Honest => {
                    let slow = parameters.slow;
                    let late = from_fn(move |_, letter: Letter<Bytes>, leaves: &mut Vec<_>| {
                        let is_answer = Summary::from_wire(&letter.message).is_err();
                        let late = if is_answer { slow } else { Duration::ZERO };
                        leaves.push(Letter { delay: letter.delay.saturating_add(late), ..letter });
                    });
                    simulation.rule(*seat, late)
                }
            }
            .map_err(Failure::bad_input)?;
        }
        let (mut banned, mut end) = (0, None);
        simulation.run_watching(Instant::at(PATIENCE), |note| match &note.event {
            Event::Banned(_) => {
                banned += 1;
                ControlFlow::Continue(())
            }
            Event::Committed(at) if at.get() == height => {
                end = Some(note.at.since_start());
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        let took =
            end.ok_or_else(|| Failure::Disagreement(format!("{setting:?}: it does not arrive")))?;
        self.is_true(&simulation, height)?;
        let transactions = u128::from(height) * u128::from(parameters.transfers);
        let per_second = transactions.saturating_mul(1_000_000_000).checked_div(took.as_nanos());
        Ok(CatchUp {
            took,
            per_second: per_second.and_then(|rate| u64::try_from(rate).ok()).unwrap_or(u64::MAX),
            received: simulation.traffic(FOLLOWER).received,
            banned,
            most_bytes: simulation.host().most_bytes(FOLLOWER),
        })
    }

    fn liar(&self) -> Liar {
        Liar {
            vices: vec![Vice::Fabricate],
            often: Chance::ALWAYS,
            longest: usize::MAX,
            chain: Arc::clone(&self.chain),
            told: Rc::new(RefCell::new(Told::default())),
            memory: Vec::new(),
        }
    }

    /// What was stored is the chain's.
    fn is_true(&self, simulation: &Simulation<SyncHost>, height: u64) -> Result<(), Failure> {
        let store = simulation.host().store(FOLLOWER);
        let stored = store.and_then(|store| store.committed().ok());
        let truth = self.chain.store.block(Height::new(height)).map_err(Failure::bad_input)?;
        let same = |one: prefinal_execution::Committed| {
            (one.block, one.roots) == (truth.header.id, truth.roots)
        };
        let wrong = || Failure::Disagreement(format!("another block of height {height} is stored"));
        stored.filter(|one| same(*one)).map(drop).ok_or_else(wrong)
    }

    fn simulation(
        &self,
        chain: &Arc<SampleChain>,
        nodes: Vec<NodePlan>,
    ) -> Result<Simulation<SyncHost>, Failure> {
        let seats = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        let seed = self.parameters.seed;
        let host = SyncHost::new(chain, nodes, WorkPrices::Measured(self.prices), seed);
        let setup = Setup::new(seats, seed, self.parameters.network());
        let setup = Setup { cores: self.parameters.cores, ..setup };
        Simulation::new(host, setup).map_err(Failure::bad_input)
    }

    /// How far a follower is behind the tip while the chain grows by so many transactions a second. Between it and the
    /// validators are two tiers of followers of the same kind; it has peers in both.
    ///
    /// # Errors
    /// If the parameters contradict each other.
    pub fn behind_tip(
        &self,
        replay: Replay,
        strategy: Strategy,
        rate: NonZeroU32,
    ) -> Result<Waits, Failure> {
        let parameters = &self.parameters;
        let mut dice = Dice::new(parameters.seed);
        let transfers = u32::try_from(parameters.transfers).unwrap_or(u32::MAX);
        let every = Duration::from_secs(1).saturating_mul(transfers) / rate.get();
        let part = Part { start: 1, every, ..Part::whole(self.chain.tip()) };
        let tier = |number: u32| (0..TIER).map(move |at| Seat::new(1 + number * TIER + at));
        let mut config = || Config {
            strategy,
            limits: parameters.limits(),
            ..Config::new(replay, dice.bytes())
        };
        // Seats: the follower, the validators, who are near them, who are far.
        let mut nodes = vec![following(config(), tier(1).chain(tier(2)).collect())];
        nodes.extend(tier(0).map(|_| serving(Service::Chain(part))));
        for hops in [1, 2] {
            nodes.extend(tier(u32::from(hops)).map(|_| NodePlan {
                serves: Some(Service::Own { hops }),
                ..following(config(), tier(u32::from(hops) - 1).collect())
            }));
        }
        let mut simulation = self.simulation(&self.chain, nodes)?;
        let last = part.appears(parameters.blocks);
        simulation.run(Instant::at(last));
        let waits = simulation.take_notes().into_iter().filter_map(|note| match note.event {
            Event::Committed(height) if note.seat == FOLLOWER => {
                let appeared = part.appears(height.get());
                let counts = appeared >= WARM_UP;
                counts.then(|| note.at.since_start().saturating_sub(appeared))
            }
            _ => None,
        });
        Ok(waits.collect())
    }

    /// How often servers have answers in their caches if so many ask, each from its own beginning on.
    ///
    /// # Errors
    /// If the parameters contradict each other.
    pub fn cache(&self, askers: u32) -> Result<CacheUse, Failure> {
        let mut dice = Dice::new(self.parameters.seed);
        let tip = self.small.tip().get();
        // The last blocks come meanwhile.
        let grown = tip.saturating_sub(20).max(1);
        let every = Duration::from_millis(250);
        let part = Part { start: grown, every, ..Part::whole(self.small.tip()) };
        let servers: Vec<Seat> = (askers..askers.saturating_add(SERVERS)).map(Seat::new).collect();
        let asker = |_| NodePlan {
            begins: dice.duration(Duration::from_millis(1), BEGINNINGS),
            ..following(
                Config {
                    limits: self.parameters.limits(),
                    ..Config::new(Replay::Deltas, dice.bytes())
                },
                servers.clone(),
            )
        };
        let mut nodes: Vec<NodePlan> = (0..askers).map(asker).collect();
        nodes.extend(servers.iter().map(|_| serving(Service::Chain(part))));
        let mut simulation = self.simulation(&self.small, nodes)?;
        let mut missing: BTreeSet<u32> = (0..askers).collect();
        simulation.run_watching(Instant::at(PATIENCE), |note| {
            if matches!(note.event, Event::Committed(height) if height.get() == tip) {
                missing.remove(&note.seat.get());
            }
            if missing.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if !missing.is_empty() {
            return Err(Failure::Disagreement(format!("{} do not arrive", missing.len())));
        }
        let mut all = CacheUse { hits: 0, requests: 0, bytes: 0 };
        for server in servers {
            let (counts, bytes) = simulation.host().cache(server);
            all.hits += counts.hits;
            all.requests += counts.hits + counts.misses;
            all.bytes += bytes;
        }
        Ok(all)
    }

    /// What the whole chain takes on the wire.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn answer_bytes(&self, replay: Replay) -> Result<AnswerBytes, Failure> {
        let mut server = Server::new(ServerLimits::default());
        let source = PartSource {
            chain: &self.chain,
            part: Part::whole(self.chain.tip()),
            now: Instant::START,
        };
        let mut bytes = AnswerBytes { plain: 0, packed: 0 };
        let step = usize::try_from(self.parameters.answer_blocks.max(1)).unwrap_or(1);
        for first in (1..=self.chain.tip().get()).step_by(step) {
            let ask = Ask::Blocks(BlockAsk {
                first: Height::new(first),
                count: self.parameters.answer_blocks,
                deltas: replay == Replay::Deltas,
                bytes: FollowerLimits::default().answer_bytes,
            });
            for accepts in [Compression::None, Compression::Lz4] {
                let request = Request { id: RequestId::new(first), accepts, ask }.to_wire();
                let answer = server.answer(&source, &request).map_err(Failure::bad_input)?;
                let length = u64::try_from(answer.len()).unwrap_or(u64::MAX);
                match accepts {
                    Compression::None => bytes.plain += length,
                    Compression::Lz4 => bytes.packed += length,
                }
            }
        }
        Ok(bytes)
    }
}

fn following(config: Config, peers: Vec<Seat>) -> NodePlan {
    NodePlan { follows: Some(config), peers, begins: Duration::ZERO, serves: None, plain: false }
}

const fn serving(service: Service) -> NodePlan {
    NodePlan {
        follows: None,
        peers: Vec::new(),
        begins: Duration::ZERO,
        serves: Some(service),
        plain: false,
    }
}
