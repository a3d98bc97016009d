//! Throughput and latency under load: Trantor's ordering with clients beside each replica.
//!
//! After the experiment of [Trantor](https://arxiv.org/abs/2308.15849), section 7: clients in a closed loop,
//! a transaction counts as delivered when the replica beside its client carries it out. Interfaces, connections
//! and cores limit the replicas; signatures are ideal at real prices ([`crate::legible`]).
//!
//! What work costs: signatures as everywhere here; decoding and hashing a batch, by its length; ordering a
//! transaction, with all that a client's submission takes. Messages are decoded outside of the machine, those of
//! several links on several cores, as real nodes do it. Not charged: encryption on the links, and disks.
//!
//! Each [`Improvement`] over the paper's system can be left out; [`Floor`] is what distances alone cost.
mod floor;
pub mod goodput;
mod price;
mod replica;
mod scheme;

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::SecretKey;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_engine::Pace;
use prefinal_protocol::{Instant, Recipient, View};
use prefinal_sim::{Host, Network, Seat, Setup, Simulation, Step};
use prefinal_trantor::{
    Body, Config, Epochs, Job, Leaders, Member, Message, OwnBatches, Proposal, Replicas, Stage,
    Trantor, Verdict,
};
use prefinal_weighted_rounding::Stake;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

pub use self::floor::Floor;
pub(crate) use self::goodput::staging;
pub(crate) use self::price::ordering;
use self::replica::{Demand, Effect, Input, Replica};
use self::scheme::Signatures;
use crate::costs::Costs;
use crate::dealt::AROUND;
use crate::failure::Failure;
use crate::legible::ReadableEngine;
use crate::waits::Waits;

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

/// What replicas run on.
#[derive(Clone, Debug)]
pub struct Hardware {
    /// The links between the replicas.
    pub network: Network,
    /// Cores of each replica.
    pub cores: NonZeroU32,
    /// The prices of work.
    pub costs: Costs,
}

/// What is wrong with the last replica from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vice {
    /// The replica is down.
    Crash,
    /// As a leader it proposes one block to a third of the others, and an empty one to the rest. No quorum has
    /// either.
    Equivocation,
}

/// What replicas have here and not in the paper's system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Improvement {
    /// A leader's own batches go into its block as they leave. Without: after a round trip to a weak quorum.
    OwnBatches,
    /// Heights of two epochs are open at a time. Without: each epoch waits for the end of the one before.
    Overlap,
    /// Certificates are sums of signatures. Without: lists of Ed25519 signatures, each of which is checked.
    Aggregation,
    /// Messages are decoded on any core. Without: on the core that the replica itself runs on.
    Decoding,
    /// Leaders that left heights empty are left out. Without: all lead.
    BackOff,
}

/// An experiment: one committee, for several loads.
pub struct Load {
    members: Vec<Member>,
    hardware: Hardware,
    /// Bytes of a transaction, beside its client's name and number.
    pub bytes: usize,
    batching: Batching,
    seed: u64,
    /// Virtual time before the counting begins.
    pub warm_up: Duration,
    /// Virtual time that is counted.
    pub counted: Duration,
    /// What goes wrong when the counting begins.
    pub vice: Option<Vice>,
    /// What the replicas do not have.
    pub without: BTreeSet<Improvement>,
}

/// What came of one load.
#[derive(Debug)]
pub struct Point {
    /// Clients of all replicas.
    pub clients: u64,
    /// Transactions that a second delivered.
    pub per_second: u64,
    /// Transactions delivered in each second, from the start.
    pub seconds: Vec<u64>,
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
fn members(replicas: u32, seed: u64) -> Result<Vec<Member>, Failure> {
    let member = |party: u32| {
        let secret = secret(seed, party.into());
        let key = secret.public_key().verify_possession(&secret.prove_possession());
        Ok(Member { key: key.map_err(Failure::bad_input)?, stake: Stake::new(1) })
    };
    (0..replicas).map(member).collect()
}

impl Load {
    /// An experiment with so many replicas of equal stake: transactions of 512 bytes, ten seconds that are counted
    /// after four. `seed` gives keys and delays.
    ///
    /// # Errors
    /// If there can be no such committee.
    pub fn new(
        replicas: NonZeroU32,
        hardware: Hardware,
        batching: Batching,
        seed: u64,
    ) -> Result<Self, Failure> {
        let members = members(replicas.get(), seed)?;
        Ok(Self {
            members,
            hardware,
            bytes: 512,
            batching,
            seed,
            warm_up: Duration::from_secs(4),
            counted: Duration::from_secs(10),
            vice: None,
            without: BTreeSet::new(),
        })
    }

    /// Lets so many clients of each replica submit, and counts what is delivered.
    ///
    /// # Errors
    /// If a replica accuses another one or refuses a transaction for good.
    pub fn run(&self, clients: usize) -> Result<Point, Failure> {
        let replicas = u32::try_from(self.members.len()).map_err(Failure::bad_input)?;
        let last = Seat::new(replicas.saturating_sub(1));
        let engines = (0..replicas).map(|me| self.engine(Party::new(me)));
        let host = LoadHost {
            engines: engines.map(|engine| engine.map(Some)).collect::<Result<_, _>>()?,
            committee: Replicas::new(&context(), self.members.clone())
                .map_err(Failure::bad_input)?,
            seed: self.seed,
            demand: Demand { clients, bytes: self.bytes, patience: self.batching.timeout },
            costs: self.hardware.costs,
            signatures: self.either(
                Improvement::Aggregation,
                Default::default(),
                Signatures::Lists,
            ),
            decodes_apart: !self.without.contains(&Improvement::Decoding),
            verdicts: Default::default(),
            from: Instant::at(self.warm_up),
            equivocator: (self.vice == Some(Vice::Equivocation)).then_some(last),
            replicas,
            waits: Vec::new(),
            seconds: Vec::new(),
            skipped: 0,
            wrong: None,
        };
        let mut setup = Setup::new(replicas, self.seed, self.hardware.network.clone());
        setup.cores = self.hardware.cores;
        let mut simulation = Simulation::new(host, setup).map_err(Failure::bad_input)?;
        Trantor::idealize(&mut simulation.host_mut().verdicts);
        if self.vice == Some(Vice::Crash) {
            simulation.crash(last, Instant::at(self.warm_up)).map_err(Failure::bad_input)?;
        }
        let all = self.warm_up + self.counted;
        simulation.run(Instant::at(all));
        let busiest = (0..replicas).map(|seat| simulation.busy(Seat::new(seat))).max();
        let busiest = busiest.unwrap_or_default().as_millis().saturating_mul(100);
        let busy = busiest / (all.as_millis() * u128::from(self.hardware.cores.get())).max(1);
        let host = simulation.into_host();
        if let Some(wrong) = host.wrong {
            return Err(Failure::Disagreement(wrong));
        }
        let delivered = u64::try_from(host.waits.len()).unwrap_or(u64::MAX);
        let per_second = delivered.saturating_mul(1000)
            / u64::try_from(self.counted.as_millis()).unwrap_or(u64::MAX).max(1);
        Ok(Point {
            clients: u64::from(replicas) * u64::try_from(clients).unwrap_or(u64::MAX),
            per_second,
            seconds: host.seconds,
            waits: host.waits.into_iter().collect(),
            skipped: host.skipped,
            busy: u64::try_from(busy).unwrap_or(u64::MAX),
        })
    }

    /// What replicas have with an improvement, or without it.
    fn either<T>(&self, improvement: Improvement, with: T, without: T) -> T {
        if self.without.contains(&improvement) { without } else { with }
    }

    fn engine(&self, me: Party) -> Result<Trantor, Failure> {
        let pace = Pace { pause: self.batching.pause, ..Pace::NONE };
        let config = Config {
            pace,
            timeout: Duration::from_secs(4),
            batch_timeout: self.batching.timeout,
            max_transactions: self.batching.transactions,
            max_block_bytes: 16 << 20,
            leaders: self.either(Improvement::BackOff, Leaders::BackOff, Leaders::All),
            epochs: self.either(Improvement::Overlap, Epochs::Overlapping, Epochs::OneByOne),
            own_batches: self.either(
                Improvement::OwnBatches,
                OwnBatches::AtOnce,
                OwnBatches::Certified,
            ),
            ..Config::new(context(), me, self.members.clone())
        };
        let secret = secret(self.seed, me.get().into());
        Trantor::new(config, secret, Vec::new()).map_err(Failure::bad_input)
    }
}

impl LoadHost {
    /// The block to a third of the others, an empty one to the rest, both signed.
    fn equivocate(&self, proposal: &Proposal, step: &mut Step<'_, Self>) {
        let body = Body::default();
        let value = body.value(self.committee.context(), proposal.slot);
        let statement = self.committee.statement(View::new(proposal.slot, 0), value);
        let me = step.seat();
        let signature =
            secret(self.seed, me.get().into()).sign(Stage::Propose.domain(), &statement);
        let other = Proposal { slot: proposal.slot, body, signature };
        for seat in (0..self.replicas).map(Seat::new).filter(|seat| *seat != me) {
            let one = if seat.get().is_multiple_of(3) { proposal } else { &other };
            let message = Message::Proposal(Box::new(one.clone()));
            step.send(Recipient::One(seat), Arc::new(message));
        }
    }
}

struct LoadHost {
    /// The committee, and the seed of its keys.
    committee: Replicas,
    seed: u64,
    /// Taken when a seat boots.
    engines: Vec<Option<Trantor>>,
    demand: Demand,
    costs: Costs,
    signatures: Signatures,
    /// Whether messages are decoded outside of the machine.
    decodes_apart: bool,
    verdicts: <Trantor as ReadableEngine>::Memo,
    /// What is delivered before is not counted.
    from: Instant,
    /// The seat that proposes two blocks, once the counting has begun.
    equivocator: Option<Seat>,
    replicas: u32,
    waits: Vec<Duration>,
    seconds: Vec<u64>,
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
        Replica::new(engine, Party::new(seat.get()), self.demand)
    }

    fn first_input(&mut self, _: Seat) -> Option<Input> {
        Some(Input::Start)
    }

    fn encoded_len(&mut self, message: &Self::Message) -> u64 {
        let length = borsh::object_length(&**message).unwrap_or_default();
        let length = length.saturating_add(AROUND).saturating_add(self.signatures.excess(message));
        u64::try_from(length).unwrap_or(u64::MAX)
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

    fn decoding_cost(&mut self, _: Seat, message: &Self::Message) -> Duration {
        let cost = self.signatures.receiving(&self.costs, message);
        if self.decodes_apart { cost } else { Duration::ZERO }
    }

    fn input_cost(&mut self, _: Seat, input: &Input) -> Duration {
        match input {
            Input::Received { message, .. } if !self.decodes_apart => {
                self.signatures.receiving(&self.costs, message)
            }
            _ => Duration::ZERO,
        }
    }

    fn carry_out(&mut self, effect: Effect, step: &mut Step<'_, Self>) {
        match effect {
            Effect::Send { to, message } => {
                let from = Party::new(step.seat().get());
                Trantor::see(&mut self.verdicts, from, &message);
                step.spend(self.signatures.signing(&self.costs, &message));
                let equivocates = self.equivocator == Some(step.seat()) && step.now() >= self.from;
                let to = match (to, &message) {
                    (Recipient::All, Message::Proposal(proposal)) if equivocates => {
                        self.equivocate(proposal, step);
                        return;
                    }
                    (Recipient::All, _) => Recipient::All,
                    (Recipient::One(party), _) => Recipient::One(Seat::new(party.get())),
                };
                step.send(to, Arc::new(message));
            }
            Effect::Check(job) => step.run(job),
            Effect::Ordered { transactions, waits } => {
                step.spend(self.costs.order(transactions));
                let second = usize::try_from(step.now().since_start().as_secs());
                let second = second.unwrap_or(usize::MAX);
                if self.seconds.len() <= second {
                    self.seconds.resize(second.saturating_add(1), 0);
                }
                if let Some(count) = self.seconds.get_mut(second) {
                    *count += u64::try_from(waits.len()).unwrap_or(u64::MAX);
                }
                if step.now() >= self.from {
                    self.waits.extend(waits);
                }
            }
            Effect::Skipped if step.seat() == Seat::new(0) => self.skipped += 1,
            Effect::Skipped => {}
            Effect::Accused(party) if self.equivocator == Some(Seat::new(party.get())) => {}
            Effect::Accused(party) => {
                self.wrong.get_or_insert(format!("{party} is accused"));
            }
            Effect::Wrong(what) => {
                self.wrong.get_or_insert(what);
            }
        }
    }

    fn run(&mut self, _: Seat, job: Job) -> (Verdict, Duration) {
        let cost = self.signatures.working(&self.costs, &job);
        (Trantor::run(&mut self.verdicts, &job), cost)
    }
}
