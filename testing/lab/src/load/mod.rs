//! Throughput and latency under load: Trantor's ordering with clients beside each replica.
//!
//! After the experiment of [Trantor](https://arxiv.org/abs/2308.15849), section 7: clients in a closed loop,
//! a transaction counts as delivered when the replica beside its client carries it out. Interfaces, connections
//! and cores limit the replicas; signatures are ideal at real prices ([`crate::legible`]).
//!
//! What work costs: signatures as everywhere here; decoding and hashing a batch, by its length; ordering a
//! transaction, with all that a client's submission takes. Not charged: encryption on the links, and disks.
mod price;
mod replica;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::SecretKey;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_engine::Pace;
use prefinal_protocol::{Instant, Recipient};
use prefinal_sim::{Host, Network, Seat, Setup, Simulation, Step};
use prefinal_trantor::{Config, Job, Member, Message, Trantor, Verdict};
use prefinal_weighted_rounding::Stake;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

pub(crate) use self::price::ordering;
use self::replica::{Effect, Input, Replica};
use crate::costs::Costs;
use crate::failure::Failure;
use crate::legible::ReadableEngine;
use crate::waits::Waits;

/// Bytes of a frame beside its message.
const FRAME: usize = 4 + 1 + 8;

/// How batches and blocks are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// How long a transaction waits for others to fill its batch.
    pub timeout: Duration,
    /// Most transactions of a batch.
    pub transactions: usize,
    /// Time from one proposal to the next, over all leaders.
    pub pause: Duration,
}

/// An experiment: one committee, for several loads.
pub struct Load {
    committee: Vec<(SecretKey, Member)>,
    /// The links between the replicas.
    pub network: Network,
    /// Cores of each replica.
    pub cores: NonZeroU32,
    /// The prices of work.
    pub costs: Costs,
    /// Bytes of a transaction, beside its client's name and number.
    pub bytes: usize,
    /// How batches and blocks are made.
    pub batching: Batching,
    /// Seed of the simulation.
    pub seed: u64,
    /// Virtual time before what is counted, and the time that is counted.
    pub times: (Duration, Duration),
}

/// What came of one load.
#[derive(Debug)]
pub struct Point {
    /// Clients of all replicas.
    pub clients: u64,
    /// Transactions that a second delivered.
    pub per_second: u64,
    /// From submission to delivery.
    pub waits: Waits,
    /// Heights that were left empty, as the first replica saw it.
    pub skipped: u64,
    /// The part of its cores that the busiest replica used, in percent.
    pub busy: u64,
}

fn secret(seed: u64, party: u64) -> SecretKey {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    rng.set_stream(party);
    SecretKey::random(&mut rng)
}

fn context() -> Context {
    Context { chain: ChainId::new([0; 32]), epoch: EpochId::new(1) }
}

/// Members of equal stake.
fn members(replicas: u32, seed: u64) -> Result<Vec<(SecretKey, Member)>, Failure> {
    let member = |party: u32| {
        let (secret, again) = (secret(seed, party.into()), secret(seed, party.into()));
        let key = secret.public_key().verify_possession(&secret.prove_possession());
        let key = key.map_err(Failure::bad_input)?;
        Ok((again, Member { key, stake: Stake::new(1) }))
    };
    (0..replicas).map(member).collect()
}

impl Load {
    /// An experiment with so many replicas of equal stake.
    ///
    /// # Errors
    /// If there can be no such committee.
    pub fn new(
        replicas: NonZeroU32,
        (network, cores): (Network, NonZeroU32),
        costs: Costs,
        batching: Batching,
        seed: u64,
    ) -> Result<Self, Failure> {
        let committee = members(replicas.get(), seed)?;
        let times = (Duration::from_secs(4), Duration::from_secs(10));
        Ok(Self { committee, network, cores, costs, bytes: 512, batching, seed, times })
    }

    /// Lets so many clients of each replica submit, and counts what is delivered.
    ///
    /// # Errors
    /// If a replica accuses another one or refuses a transaction for good.
    pub fn run(&self, clients: usize) -> Result<Point, Failure> {
        let replicas = u32::try_from(self.committee.len()).map_err(Failure::bad_input)?;
        let engines = (0..replicas).map(|me| self.engine(Party::new(me)));
        let host = LoadHost {
            engines: engines.map(|engine| engine.map(Some)).collect::<Result<_, _>>()?,
            load: (clients, self.bytes, self.batching.timeout),
            costs: self.costs,
            verdicts: Default::default(),
            from: Instant::at(self.times.0),
            waits: Vec::new(),
            skipped: 0,
            wrong: None,
        };
        let mut setup = Setup::new(replicas, self.seed, self.network.clone());
        setup.cores = self.cores;
        let mut simulation = Simulation::new(host, setup).map_err(Failure::bad_input)?;
        Trantor::idealize(&mut simulation.host_mut().verdicts);
        let (before, counted) = self.times;
        let all = before + counted;
        simulation.run(Instant::at(all));
        let busiest = (0..replicas).map(|seat| simulation.busy(Seat::new(seat))).max();
        let busiest = busiest.unwrap_or_default().as_millis().saturating_mul(100);
        let busy = busiest / (all.as_millis() * u128::from(self.cores.get())).max(1);
        let host = simulation.into_host();
        if let Some(wrong) = host.wrong {
            return Err(Failure::Disagreement(wrong));
        }
        let delivered = u64::try_from(host.waits.len()).unwrap_or(u64::MAX);
        let per_second = delivered.saturating_mul(1000)
            / u64::try_from(counted.as_millis()).unwrap_or(u64::MAX).max(1);
        Ok(Point {
            clients: u64::from(replicas) * u64::try_from(clients).unwrap_or(u64::MAX),
            per_second,
            waits: host.waits.into_iter().collect(),
            skipped: host.skipped,
            busy: u64::try_from(busy).unwrap_or(u64::MAX),
        })
    }

    fn engine(&self, me: Party) -> Result<Trantor, Failure> {
        let members = self.committee.iter().map(|(_, member)| member.clone()).collect();
        let pace = Pace { pause: self.batching.pause, ..Pace::NONE };
        let config = Config {
            pace,
            timeout: Duration::from_secs(4),
            batch_timeout: self.batching.timeout,
            max_transactions: self.batching.transactions,
            max_block_bytes: 16 << 20,
            ..Config::new(context(), me, members)
        };
        let secret = secret(self.seed, me.get().into());
        Trantor::new(config, secret, Vec::new()).map_err(Failure::bad_input)
    }
}

struct LoadHost {
    /// Taken when a seat boots.
    engines: Vec<Option<Trantor>>,
    load: (usize, usize, Duration),
    costs: Costs,
    verdicts: <Trantor as ReadableEngine>::Memo,
    /// What is delivered before is not counted.
    from: Instant,
    waits: Vec<Duration>,
    skipped: u64,
    wrong: Option<String>,
}

impl Host for LoadHost {
    type Machine = Replica;
    type Message = Arc<Message>;
    type Job = Job;
    type Verdict = Verdict;
    type Event = ();

    fn boot(&mut self, seat: Seat, _: &[()]) -> Replica {
        let engine = self.engines.get_mut(seat.index()).and_then(Option::take);
        let engine = engine.unwrap_or_else(|| unreachable!("each seat boots once"));
        let (clients, bytes, patience) = self.load;
        Replica::new(engine, Party::new(seat.get()), (clients, bytes), patience)
    }

    fn first_input(&mut self, _: Seat) -> Option<Input> {
        Some(Input::Start)
    }

    fn encoded_len(&mut self, message: &Self::Message) -> u64 {
        let length = borsh::object_length(&**message).unwrap_or_default();
        u64::try_from(length.saturating_add(FRAME)).unwrap_or(u64::MAX)
    }

    fn received(&mut self, _: Seat, from: Seat, message: &Self::Message) -> Input {
        Input::Received { from: Party::new(from.get()), message: (**message).clone() }
    }

    fn checked(&mut self, _: Seat, verdict: Verdict) -> Input {
        Input::Checked(verdict)
    }

    fn tick(&mut self, _: Seat) -> Input {
        Input::Tick
    }

    fn input_cost(&mut self, _: Seat, input: &Input) -> Duration {
        let Input::Received { message, .. } = input else { return Duration::ZERO };
        Trantor::receiving(&self.costs, message)
    }

    fn carry_out(&mut self, effect: Effect, step: &mut Step<'_, Self>) {
        match effect {
            Effect::Send { to, message } => {
                let from = Party::new(step.seat().get());
                Trantor::see(&mut self.verdicts, from, &message);
                step.spend(Trantor::signing(&self.costs, &message));
                let to = match to {
                    Recipient::All => Recipient::All,
                    Recipient::One(party) => Recipient::One(Seat::new(party.get())),
                };
                step.send(to, Arc::new(message));
            }
            Effect::Check(job) => step.run(job),
            Effect::Ordered { transactions, waits } => {
                step.spend(self.costs.order(transactions));
                if step.now() >= self.from {
                    self.waits.extend(waits);
                }
            }
            Effect::Skipped if step.seat() == Seat::new(0) => self.skipped += 1,
            Effect::Skipped => {}
            Effect::Wrong(what) => {
                self.wrong.get_or_insert(what);
            }
        }
    }

    fn run(&mut self, _: Seat, job: Job) -> (Verdict, Duration) {
        let cost = Trantor::working(&self.costs, &job);
        (Trantor::run(&mut self.verdicts, &job), cost)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests;
