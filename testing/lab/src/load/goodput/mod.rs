//! Goodput and latency under an open load: DISPEL with and without its pipeline, and an engine with a leader.
//!
//! After the experiments of [DISPEL](https://arxiv.org/abs/1912.10367), sections 5 and 6. Transactions come at a steady
//! rate at each replica; goodput counts payload that the replica delivers which it came to, in whole blocks: from the first
//! that it delivers of those that are counted to the last. Interfaces and connections limit what is sent, and the network
//! is what opens stages:
//!
//! ```text
//! idle    an interface sent less than 5 % of what it can in the last three samples of 2 ms, and a transaction waits
//! room    memory / (replicas · batch), less the blocks that are ordered and not worked off
//! ```
//! Votes of older stages leave before those of later ones and before batches, in the queue of every connection.
//!
//! What work costs: decoding and hashing payload, on any core; decoding and counting votes, what a message costs an engine
//! besides, and taking transactions into the order, on the core that the engine runs on; signatures of transactions, if
//! they have any, on all cores but two. Not charged: encryption on the links, disks, and clients' links. Jolteon's votes are
//! sums of BLS signatures at measured prices, and its steps are free.
mod carrier;
mod fed;
mod price;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_dispel::Dispel;
use prefinal_engine::IdleMeter;
use prefinal_jolteon::Jolteon;
use prefinal_protocol::{Instant, Recipient};
use prefinal_sim::{Host, Interface, Network, Rate, Seat, Setup, Simulation, Step};

use self::carrier::{BUNDLE, Carrier, Seating};
use self::fed::{Effect, Fed, Input, Means, Source};
pub(crate) use self::price::staging;
use crate::costs::Costs;
use crate::dealt::AROUND;
use crate::failure::Failure;
use crate::waits::Waits;

/// Cores that do not work on blocks: the engine's, and one that reads.
const OTHER_CORES: u32 = 2;

/// The engine that orders transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orderer {
    /// DISPEL with so many stages at a time; with one it has no pipeline.
    Dispel {
        /// Stages that may be open at a time.
        max_stages: u64,
    },
    /// Jolteon, whose leader sends all payloads.
    Jolteon,
}

/// What goes wrong at some time: a replica is down from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The replica that is down.
    pub seat: Seat,
    /// When it stops, counted from the start.
    pub at: Duration,
}

/// What replicas run on.
#[derive(Clone, Debug)]
pub struct Machines {
    /// How long messages take from place to place.
    pub network: Network,
    /// The interface of each, in either direction.
    pub interface: Rate,
    /// Each connection between two of them, in either direction.
    pub connection: Option<Rate>,
    /// Processor cores of each replica.
    pub cores: NonZeroU32,
    /// Bytes of memory of each, for stages.
    pub memory: u64,
    /// The prices of work.
    pub costs: Costs,
}

/// An experiment: one committee, for several loads.
#[derive(Clone, Debug)]
pub struct Goodput {
    /// Replicas of equal stake.
    pub replicas: NonZeroU32,
    /// What they run on.
    pub machines: Machines,
    /// The engine, and how many stages it may have open.
    pub orderer: Orderer,
    /// Bytes of a transaction.
    pub transaction: u64,
    /// Bytes of what a replica proposes at a time.
    pub batch: u64,
    /// Transactions that are played as one.
    pub bundle: u64,
    /// Whether each transaction has a signature, which each replica checks.
    pub signed: bool,
    /// The least time between two messages of votes from one replica.
    pub gather: Duration,
    /// How long a coordinator or a leader is waited for.
    pub timeout: Duration,
    /// Gives keys, places and delays.
    pub seed: u64,
    /// Virtual time before the counting begins.
    pub warm_up: Duration,
    /// Virtual time that is counted.
    pub counted: Duration,
    /// Replicas that stop on the way.
    pub crashes: Vec<Crash>,
}

/// What came of one load.
#[derive(Debug)]
pub struct GoodputPoint {
    /// Bytes a second that clients submitted, of all replicas.
    pub offered: u64,
    /// Bytes a second that were delivered, from block to block; zero if no replica delivered two.
    pub goodput: u64,
    /// Bytes delivered in each tenth of a second, from the start.
    pub tenths: Vec<u64>,
    /// From submission to delivery, one for each bundle.
    pub waits: Waits,
    /// Blocks with transactions that the first replica reported.
    pub blocks: u64,
    /// Bundles that came when too many were on their way, of all that came, in percent.
    pub discarded: u64,
    /// The part of its cores that the busiest replica used, in percent.
    pub busy: u64,
    /// Where the time went: from proposing to the first batch that is delivered (a leader's block), from there to the first
    /// auxiliary (order) vote, from there to the report. Means over slots that this replica proposed in.
    pub phases: [Duration; 3],
    /// What interfaces sent, of what they could, in percent.
    pub sent: u64,
}

impl Goodput {
    /// Payload a second that interfaces and connections carry. Each byte goes to all replicas but one: out of all
    /// interfaces, or out of one at a time if a leader sends all.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        let (replicas, rate) = (u64::from(self.replicas.get()), self.machines.interface.get());
        let each = rate / replicas.saturating_sub(1).max(1);
        let each = self.machines.connection.map_or(each, |connection| each.min(connection.get()));
        match self.orderer {
            Orderer::Dispel { .. } => each.saturating_mul(replicas),
            Orderer::Jolteon => each,
        }
    }

    /// Payload a second whose signatures each replica can check; no limit if there are none or they cost nothing.
    #[must_use]
    pub fn checked(&self) -> u64 {
        let each = if self.signed { self.machines.costs.ed25519_verify } else { 0 };
        let all = self.workers().saturating_mul(self.transaction).saturating_mul(1_000_000_000);
        all.checked_div(each).unwrap_or(u64::MAX)
    }

    /// Cores that work on blocks.
    fn workers(&self) -> u64 {
        self.machines.cores.get().saturating_sub(OTHER_CORES).max(1).into()
    }

    /// Bytes of a bundle on the wire.
    fn bundle_bytes(&self) -> u64 {
        self.bundle.saturating_mul(self.transaction.saturating_add(4))
    }

    /// Lets clients submit so many bytes a second, over all replicas, and counts what is delivered.
    ///
    /// # Errors
    /// If there can be no such committee, or a replica accuses another one.
    pub fn run(&self, offered: u64) -> Result<GoodputPoint, Failure> {
        match self.orderer {
            Orderer::Dispel { .. } => self.run_on::<Dispel>(offered),
            Orderer::Jolteon => self.run_on::<Jolteon>(offered),
        }
    }

    fn seating<E: Carrier>(&self) -> Result<Seating, Failure> {
        let (replicas, seed) = (self.replicas.get(), self.seed);
        let bundles = (self.batch / self.bundle_bytes().max(1)).max(1);
        Ok(Seating {
            replicas,
            seed,
            members: E::members(replicas, seed)?,
            bundles: usize::try_from(bundles).map_err(Failure::bad_input)?,
            max_stages: match self.orderer {
                Orderer::Dispel { max_stages } => max_stages,
                Orderer::Jolteon => 1,
            },
            gather: self.gather,
            timeout: self.timeout,
        })
    }

    /// Stages that the memory holds.
    fn room(&self) -> u64 {
        let stage = self.batch.saturating_mul(self.replicas.get().into());
        (self.machines.memory / stage.max(1)).max(1)
    }

    fn source(&self, seat: u32, offered: u64, seating: &Seating) -> Source {
        let each = u128::from((offered / u64::from(self.replicas.get())).max(1));
        let payload = u128::from(self.bundle.saturating_mul(self.transaction));
        let nanos = u64::try_from(payload * 1_000_000_000 / each).unwrap_or(u64::MAX);
        let interval = Duration::from_nanos(nanos.max(1));
        let batches = if self.orderer == Orderer::Jolteon { 2 } else { seating.max_stages + 2 };
        let batches = usize::try_from(batches).unwrap_or(usize::MAX);
        let waiting = if self.orderer == Orderer::Jolteon { usize::MAX } else { 2 };
        Source {
            first: Instant::START + interval * (seat + 1) / self.replicas.get(),
            interval,
            window: seating.bundles.saturating_mul(batches),
            waiting: seating.bundles.saturating_mul(waiting),
        }
    }

    fn run_on<E: Carrier>(&self, offered: u64) -> Result<GoodputPoint, Failure> {
        let seating = self.seating::<E>()?;
        let workers = if self.signed { usize::try_from(self.workers()).unwrap_or(1) } else { 0 };
        let means = Means { stages: self.room(), workers };
        let seats = (0..self.replicas.get()).map(|seat| {
            let me = Party::new(seat);
            let source = self.source(seat, offered, &seating);
            Ok(Some(Fed::new(E::seat(&seating, me)?, me, source, means)))
        });
        let mut host = GoodputHost {
            experiment: self,
            seats: seats.collect::<Result<Vec<_>, Failure>>()?,
            memo: E::Memo::default(),
            from: Instant::at(self.warm_up),
            tally: Tally::default(),
        };
        E::idealize(&mut host.memo);
        let interface = Interface::duplex(self.machines.interface);
        let mut network = self.machines.network.clone().with_interfaces(interface);
        if let Some(rate) = self.machines.connection {
            network = network.with_connections(rate);
        }
        let mut setup = Setup::new(self.replicas.get(), self.seed, network);
        setup.cores = self.machines.cores;
        let mut simulation = Simulation::new(host, setup).map_err(Failure::bad_input)?;
        for Crash { seat, at } in &self.crashes {
            simulation.crash(*seat, Instant::at(*at)).map_err(Failure::bad_input)?;
        }
        self.watch(&mut simulation)?;
        self.point(offered, simulation)
    }

    /// Runs to the end, and tells replicas when their network is idle.
    fn watch<E: Carrier>(
        &self,
        simulation: &mut Simulation<GoodputHost<'_, E>>,
    ) -> Result<(), Failure> {
        let end = Instant::at(self.warm_up + self.counted);
        if !E::BEGINS_WHEN_IDLE {
            simulation.run(end);
            return Ok(());
        }
        let rate = self.machines.interface.get();
        let seats = (0..self.replicas.get()).map(Seat::new);
        let mut meters: Vec<_> = seats.map(|seat| (seat, IdleMeter::new(rate))).collect();
        while simulation.now() < end {
            let now = simulation.now() + IdleMeter::SAMPLE;
            simulation.run(now.min(end));
            for (seat, meter) in &mut meters {
                if meter.sample(simulation.traffic(*seat).sent) {
                    simulation.input(*seat, now, Input::Idle).map_err(Failure::bad_input)?;
                }
            }
        }
        Ok(())
    }

    fn point<E: Carrier>(
        &self,
        offered: u64,
        simulation: Simulation<GoodputHost<'_, E>>,
    ) -> Result<GoodputPoint, Failure> {
        let seats = || (0..self.replicas.get()).map(Seat::new);
        let all = (self.warm_up + self.counted).as_micros().max(1);
        let busiest = seats().map(|seat| simulation.busy(seat)).max().unwrap_or_default();
        let cores = u128::from(self.machines.cores.get());
        let busy = busiest.as_micros() * 100 / (all * cores);
        let sent: u128 = seats().map(|seat| u128::from(simulation.traffic(seat).sent)).sum();
        let could = u128::from(self.machines.interface.get()) * u128::from(self.replicas.get());
        let sent = sent * 100 * 1_000_000 / (could * all).max(1);
        let fed = seats().filter_map(|seat| simulation.machine(seat));
        let (discarded, came) = fed
            .fold((0, 0), |(discarded, came), fed| (discarded + fed.discarded, came + fed.came()));
        let tally = simulation.into_host().tally;
        if let Some(wrong) = tally.wrong {
            return Err(Failure::Disagreement(wrong));
        }
        let payload = self.bundle.saturating_mul(self.transaction);
        let rate: u128 = tally.spans.values().map(Span::rate).sum();
        let goodput = rate * u128::from(payload) / 1000;
        let mean = |sum: Duration| sum / u32::try_from(tally.slots).unwrap_or(u32::MAX).max(1);
        Ok(GoodputPoint {
            offered,
            goodput: u64::try_from(goodput).unwrap_or(u64::MAX),
            tenths: tally.tenths.iter().map(|bundles| bundles.saturating_mul(payload)).collect(),
            waits: tally.waits.into_iter().collect(),
            blocks: tally.blocks,
            discarded: discarded * 100 / came.max(1),
            busy: u64::try_from(busy).unwrap_or(u64::MAX),
            phases: tally.phases.map(mean),
            sent: u64::try_from(sent).unwrap_or(u64::MAX),
        })
    }
}

/// What one replica delivered from one block on.
struct Span {
    from: Instant,
    to: Instant,
    /// Own bundles in the blocks after the first.
    bundles: u64,
}

impl Span {
    const fn from(now: Instant) -> Self {
        Self { from: now, to: now, bundles: 0 }
    }

    fn extend(&mut self, now: Instant, bundles: usize) {
        if now > self.from {
            self.to = now;
            self.bundles = self.bundles.saturating_add(u64::try_from(bundles).unwrap_or(u64::MAX));
        }
    }

    /// Bundles in 1000 seconds.
    fn rate(&self) -> u128 {
        let micros = self.to.since(self.from).as_micros();
        (u128::from(self.bundles) * 1_000_000_000).checked_div(micros).unwrap_or(0)
    }
}

/// What is counted while an experiment runs.
#[derive(Default)]
struct Tally {
    waits: Vec<Duration>,
    spans: BTreeMap<Seat, Span>,
    /// Bundles in each tenth of a second.
    tenths: Vec<u64>,
    blocks: u64,
    /// Slots whose phases are known, and the sums of these.
    slots: u64,
    phases: [Duration; 3],
    wrong: Option<String>,
}

struct GoodputHost<'a, E: Carrier> {
    experiment: &'a Goodput,
    /// Taken when a seat boots.
    seats: Vec<Option<Fed<E>>>,
    memo: E::Memo,
    /// What is delivered before is not counted.
    from: Instant,
    tally: Tally,
}

impl<E: Carrier> GoodputHost<'_, E> {
    fn costs(&self) -> &Costs {
        &self.experiment.machines.costs
    }

    /// Bytes of payload that a message has more than its encoding here.
    fn excess(&self, bundles: usize) -> u64 {
        let more =
            self.experiment.bundle_bytes().saturating_sub(u64::try_from(BUNDLE).unwrap_or(0));
        u64::try_from(bundles).unwrap_or(u64::MAX).saturating_mul(more)
    }

    /// Decoding or encoding payload, and hashing it.
    fn payload(&self, message: &E::Message) -> Duration {
        let bundles = u64::try_from(E::bundles(message).unwrap_or(0)).unwrap_or(u64::MAX);
        self.costs().payload(bundles.saturating_mul(self.experiment.bundle_bytes()))
    }

    fn deliver(&mut self, seat: Seat, now: Instant, since: &[Instant]) {
        let tenth = now.since_start().as_millis() / 100;
        let tenth = usize::try_from(tenth).unwrap_or(usize::MAX);
        if self.tally.tenths.len() <= tenth {
            self.tally.tenths.resize(tenth.saturating_add(1), 0);
        }
        if let Some(count) = self.tally.tenths.get_mut(tenth) {
            *count = count.saturating_add(u64::try_from(since.len()).unwrap_or(u64::MAX));
        }
        if now >= self.from && !since.is_empty() {
            self.tally.waits.extend(since.iter().map(|at| now.since(*at)));
            self.tally
                .spans
                .entry(seat)
                .or_insert_with(|| Span::from(now))
                .extend(now, since.len());
        }
    }

    fn enter(&mut self, now: Instant, phases: &[Duration]) {
        if now < self.from {
            return;
        }
        self.tally.slots = self.tally.slots.saturating_add(1);
        for (sum, phase) in self.tally.phases.iter_mut().zip(phases) {
            *sum += *phase;
        }
    }
}

/// Work outside of the machine.
enum Job<E: Carrier> {
    Engine(E::Job),
    /// One worker's share of a block with so many bundles.
    Block(usize),
}

enum Verdict<E: Carrier> {
    Engine(E::Verdict),
    Block,
}

impl<E: Carrier> Host for GoodputHost<'_, E> {
    type Machine = Fed<E>;
    type Message = Arc<E::Message>;
    type Job = Job<E>;
    type Verdict = Verdict<E>;
    type Event = ();

    fn boot(&mut self, seat: Seat, _: &[()]) -> Fed<E> {
        let fed = self.seats.get_mut(seat.index()).and_then(Option::take);
        fed.unwrap_or_else(|| unreachable!("each seat boots once"))
    }

    fn first_input(&mut self, _: Seat) -> Option<Input<E>> {
        Some(Input::Start)
    }

    fn encoded_len(&mut self, message: &Self::Message) -> u64 {
        let Some(bundles) = E::bundles(message) else { return 0 };
        let length = borsh::object_length(&**message).unwrap_or_default().saturating_add(AROUND);
        u64::try_from(length).unwrap_or(u64::MAX).saturating_add(self.excess(bundles))
    }

    fn rank(&mut self, message: &Self::Message) -> u64 {
        E::place(message)
    }

    fn received(&mut self, _: Seat, from: Seat, message: &Self::Message) -> Input<E> {
        Input::Received { from: Party::new(from.get()), message: (**message).clone() }
    }

    fn checked(&mut self, _: Seat, verdict: Verdict<E>) -> Input<E> {
        match verdict {
            Verdict::Engine(verdict) => Input::Checked(verdict),
            Verdict::Block => Input::Worked,
        }
    }

    fn tick(&mut self, _: Seat) -> Input<E> {
        Input::Tick
    }

    fn decoding_cost(&mut self, _: Seat, message: &Self::Message) -> Duration {
        if E::bundles(message).is_none() {
            return Duration::ZERO;
        }
        E::receiving(self.costs(), message) + self.payload(message)
    }

    fn input_cost(&mut self, _: Seat, input: &Input<E>) -> Duration {
        let Input::Received { message, .. } = input else { return Duration::ZERO };
        E::counting(self.costs(), message)
    }

    fn carry_out(&mut self, effect: Effect<E>, step: &mut Step<'_, Self>) {
        match effect {
            Effect::Send { to, message } => {
                E::see(&mut self.memo, Party::new(step.seat().get()), &message);
                if E::bundles(&message).is_some() {
                    step.spend(E::signing(self.costs(), &message) + self.payload(&message));
                }
                let to = match to {
                    Recipient::All => Recipient::All,
                    Recipient::One(party) => Recipient::One(Seat::new(party.get())),
                };
                step.send(to, Arc::new(message));
            }
            Effect::Check(job) => step.run(Job::Engine(job)),
            Effect::Work(bundles) => step.run(Job::Block(bundles)),
            Effect::Submitted => step.spend(self.costs().submit(self.experiment.bundle)),
            Effect::Ordered(bundles) => {
                let bundles = u64::try_from(bundles).unwrap_or(u64::MAX);
                step.spend(self.costs().take(bundles.saturating_mul(self.experiment.bundle)));
                self.tally.blocks += u64::from(step.seat() == Seat::new(0) && bundles > 0);
            }
            Effect::Delivered(since) => self.deliver(step.seat(), step.now(), &since),
            Effect::Phases(phases) => self.enter(step.now(), &phases),
            Effect::Accused(party) => {
                self.tally.wrong.get_or_insert(format!("{party} is accused"));
            }
        }
    }

    fn run(&mut self, _: Seat, job: Job<E>) -> (Verdict<E>, Duration) {
        match job {
            Job::Engine(job) => {
                let cost = E::working(self.costs(), &job);
                (Verdict::Engine(E::run(&mut self.memo, &job)), cost)
            }
            Job::Block(bundles) => {
                let count = u64::try_from(bundles).unwrap_or(u64::MAX);
                let count = count.saturating_mul(self.experiment.bundle);
                let share = count.div_ceil(self.experiment.workers());
                (Verdict::Block, self.costs().check_transactions(share))
            }
        }
    }
}
