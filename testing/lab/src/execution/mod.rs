//! From a client's transaction to its certified, durable state: throughput against end-to-end latency.
//!
//! After the common case of Zaptos (Xiang, Li, Arun, Zhang, Spiegelman, 2025), section 6: 100 validators and 30
//! full nodes in 10 regions, transfers of 300 bytes from an open loop, batches every 200 ms, a block every
//! 150 ms. The pipeline is the real one (`prefinal_execution`) in every seat, and so are its votes on the
//! links. Two things are not run but computed:
//!
//! - **Ordering** (`order`): a leader's proposal, votes and order votes of more than two thirds, three rounds
//!   over the same links, without signatures. A leader has the batches that have reached it. Some leaders may
//!   equivocate; a validator then gives their round up after a time-out, which the paper does not name. Partials of
//!   the slot's value travel beside the votes, and take no time to compute.
//! - **Executing and writing** (`Prices`): a time for each block and one for each transaction. The paper
//!   gives no such figures. The default ones are fitted to two facts of it: the difference of 170 ms between
//!   both pipelines at 1000 transactions per second, and where throughput ends (about 15 000 with 32 cores, more
//!   than 20 000 with 64). All other points are predictions.
//!
//! A full node stands beside its validator, and a client beside its full node, as in the paper.
//!
//! **Readers.** Some transactions may read the slot's value. By the pipeline's rules they are executed behind the
//! others of their block, when it is ordered and the value is known; or the whole block waits, as where a value is
//! given to a block and not to a transaction. The root of such a state cannot be voted for before the value is
//! known, so a message delay between validators stands behind it, which hides behind the order in other blocks.
mod node;
mod order;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use prefinal_execution::{Height, Switches};
use prefinal_protocol::Instant;
use prefinal_sim::{Geography, Jitter, Network, Note, Placement, Seat, Setup, Simulation};

use self::node::{Event, Input, Stations};
use self::order::{Plan, PlannedBlock};
use crate::failure::Failure;
use crate::waits::Waits;

/// How long a node works on a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// Executing, whatever the block.
    pub execute_block: Duration,
    /// Transactions that are executed in a second beside that.
    pub execute_per_second: NonZeroU64,
    /// Writing, whatever the block.
    pub write_block: Duration,
    /// Writing, for each transaction.
    pub write_each: Duration,
    /// Turning the mark of a written block, or reverting it.
    pub mark: Duration,
}

/// Transactions that read the slot's random value, and what waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readers {
    /// How many of a hundred transactions read the value, of each batch at least one if any do.
    pub percent: u8,
    /// How the value comes.
    pub path: ValuePath,
    /// What waits for it.
    pub waiting: Waiting,
}

/// How the random value of a slot comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValuePath {
    /// Partials leave with the order votes, and 5/6 of them make the value; or the slow path, if it is earlier.
    Fast,
    /// Partials leave when the block is ordered, and those of a quorum make the value.
    Slow,
}

/// What waits for the value of a block with readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// The readers alone.
    Readers,
    /// The whole block, as in systems that give the value to a block and not to a transaction.
    Block,
}

impl Readers {
    /// Nothing reads the value.
    pub const NONE: Self = Self { percent: 0, path: ValuePath::Fast, waiting: Waiting::Readers };
}

/// An experiment: one committee, for several loads and settings.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Where all nodes are: first the validators, then the full nodes. Full node `i` follows validator `i` and
    /// stands beside it.
    pub placement: Placement,
    /// Number of validators, each with the same stake.
    pub validators: NonZeroU32,
    /// Number of full nodes, at most one for each validator. Clients are at these.
    pub full_nodes: NonZeroU32,
    /// How long a validator collects transactions before it sends them to all as a batch.
    pub batch_interval: Duration,
    /// The least time from one proposal to the next.
    pub block_interval: Duration,
    /// The time that executing and writing blocks takes.
    pub prices: Prices,
    /// The transactions that read the slot's value.
    pub readers: Readers,
    /// How many leaders show one block to half of the validators and another one to the others. Neither is ordered.
    pub equivocating: u32,
    /// How long a validator waits in a round before it gives the round up.
    pub round_timeout: Duration,
    /// Virtual time before the counting begins.
    pub warm_up: Duration,
    /// Virtual time that is counted.
    pub counted: Duration,
    /// Gives the order of leaders and when validators send their batches.
    pub seed: u64,
}

/// The mean time that a transaction spends in each stage as far as the stages before it have not hidden it, so
/// that the parts add up to the mean latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// From the full node to the proposal of a leader.
    pub disseminate: Duration,
    /// From the proposal until it is ordered.
    pub order: Duration,
    /// From the order until the block is executed.
    pub execute: Duration,
    /// Until the certificate is there.
    pub certify: Duration,
    /// Until the state is durable at the validator.
    pub commit: Duration,
    /// Until it is durable at the full node.
    pub full_node: Duration,
}

/// What came of one load.
#[derive(Clone, Debug)]
pub struct Point {
    /// Transactions that clients submitted in a second.
    pub load: u64,
    /// Transactions that were committed in a second.
    pub per_second: u64,
    /// From submission to the full node's commit. Four transactions of each batch stand for all.
    pub waits: Waits,
    /// Where the time went.
    pub parts: Parts,
    /// The mean time from the order of a block until its value is known.
    pub value: Duration,
}

impl Prices {
    /// The paper's validators with 32 cores.
    pub const CORES_32: Self = Self {
        execute_block: Duration::from_millis(12),
        execute_per_second: NonZeroU64::new(17_500).unwrap(),
        write_block: Duration::from_millis(10),
        write_each: Duration::from_micros(5),
        mark: Duration::from_millis(1),
    };

    /// The paper's validators with 64 cores.
    pub const CORES_64: Self =
        Self { execute_per_second: NonZeroU64::new(28_000).unwrap(), ..Self::CORES_32 };

    /// How long executing so many transactions takes.
    #[must_use]
    pub fn execute(&self, transactions: u64) -> Duration {
        self.execute_block + self.each(transactions)
    }

    /// How long so many more transactions take.
    #[must_use]
    pub fn each(&self, transactions: u64) -> Duration {
        let nanos = u128::from(transactions) * 1_000_000_000;
        let nanos = nanos / u128::from(self.execute_per_second.get());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How long writing so many transactions takes.
    #[must_use]
    pub fn write(&self, transactions: u64) -> Duration {
        let each = u32::try_from(transactions).unwrap_or(u32::MAX);
        self.write_block + self.write_each.saturating_mul(each)
    }

    /// The most transactions that are executed in this time.
    #[must_use]
    pub fn most(&self, time: Duration) -> u64 {
        let nanos = time.saturating_sub(self.execute_block).as_nanos();
        let most = nanos * u128::from(self.execute_per_second.get()) / 1_000_000_000;
        u64::try_from(most).unwrap_or(u64::MAX)
    }
}

impl Parts {
    /// From the order of a block until its state is durable at the validator.
    #[must_use]
    pub fn behind_order(&self) -> Duration {
        self.execute + self.certify + self.commit
    }

    /// The mean latency: the sum of all parts.
    #[must_use]
    pub fn total(&self) -> Duration {
        let Self { disseminate, order, execute, certify, commit, full_node } = *self;
        disseminate + order + execute + certify + commit + full_node
    }

    fn add(&mut self, other: &Self) {
        self.disseminate += other.disseminate;
        self.order += other.order;
        self.execute += other.execute;
        self.certify += other.certify;
        self.commit += other.commit;
        self.full_node += other.full_node;
    }

    fn over(&self, count: u32) -> Self {
        let count = count.max(1);
        Self {
            disseminate: self.disseminate / count,
            order: self.order / count,
            execute: self.execute / count,
            certify: self.certify / count,
            commit: self.commit / count,
            full_node: self.full_node / count,
        }
    }
}

/// How many transactions of a batch stand for all of it.
const SAMPLES: u32 = 4;

impl Experiment {
    /// The paper's common case, with these validators: full nodes beside the first three tenths of them, at
    /// least one. Two seconds are left out and six counted.
    ///
    /// # Errors
    /// If there is no validator.
    pub fn common_case(validators: &Placement, prices: Prices, seed: u64) -> Result<Self, Failure> {
        let number = u32::try_from(validators.seats()).map_err(Failure::bad_input)?;
        let none = || Failure::bad_input("no validator");
        let full_nodes = NonZeroU32::new(number * 3 / 10).unwrap_or(NonZeroU32::MIN);
        let seats = (0..number).chain(0..full_nodes.get()).map(Seat::new);
        let regions: Vec<&str> = seats.filter_map(|seat| validators.region(seat)).collect();
        let geography = Geography::aws().map_err(Failure::bad_input)?;
        let experiment = Self {
            placement: Placement::listed(&geography, &regions).map_err(Failure::bad_input)?,
            validators: NonZeroU32::new(number).ok_or_else(none)?,
            full_nodes,
            batch_interval: Duration::from_millis(200),
            block_interval: Duration::from_millis(150),
            prices,
            readers: Readers::NONE,
            equivocating: 0,
            round_timeout: Duration::from_secs(1),
            warm_up: Duration::from_secs(2),
            counted: Duration::from_secs(6),
            seed,
        };
        experiment.check()?;
        Ok(experiment)
    }

    fn check(&self) -> Result<(), Failure> {
        let seats = self.validators.get().saturating_add(self.full_nodes.get());
        let places = self.placement.seats();
        if usize::try_from(seats).is_ok_and(|seats| seats > places) {
            return Err(Failure::bad_input(format_args!("{seats} nodes and {places} places")));
        }
        if self.full_nodes > self.validators {
            return Err(Failure::bad_input("more full nodes than validators"));
        }
        if self.equivocating > (self.validators.get() - 1) / 3 {
            return Err(Failure::bad_input("a third of the validators equivocates, or more"));
        }
        if self.readers.percent > 100 {
            return Err(Failure::bad_input("more than all transactions read the value"));
        }
        Ok(())
    }

    /// Runs the pipeline with these switches under a load, in transactions per second.
    ///
    /// # Errors
    /// If the parameters contradict each other.
    pub fn run(&self, load: u64, switches: Switches) -> Result<Point, Failure> {
        self.check()?;
        let plan = Plan::new(self, load);
        let network = Network::placed(self.placement.clone(), Jitter::None);
        let seats = self.validators.get().saturating_add(self.full_nodes.get());
        let cores = NonZeroU32::new(4).unwrap_or(NonZeroU32::MIN);
        let setup = Setup { cores, ..Setup::new(seats, self.seed, network) };
        let stations = Stations::new(self, switches);
        let mut simulation = Simulation::new(stations, setup).map_err(Failure::bad_input)?;
        for block in &plan.blocks {
            let seats = (0..).map(Seat::new).zip(&block.seats);
            for (seat, times) in seats {
                let inputs = [
                    (times.arrives, Input::Proposed(block.block.clone())),
                    (times.order_vote, Input::OrderVote(block.block.header)),
                    (times.ordered, Input::Ordered(block.block.clone())),
                    (times.value, Input::Value(block.block.header.slot)),
                ];
                for (at, input) in inputs {
                    let at = Instant::at(at);
                    simulation.input(seat, at, input).map_err(Failure::bad_input)?;
                }
            }
        }
        for fork in &plan.forks {
            for &(seat, at) in &fork.arrives {
                let input = Input::Proposed(fork.block.clone());
                simulation.input(seat, Instant::at(at), input).map_err(Failure::bad_input)?;
            }
        }
        simulation.run(Instant::at(plan.end + Duration::from_secs(60)));
        let seen = Times::new(&simulation.take_notes());
        Ok(self.point(load, &plan, &seen))
    }

    fn point(&self, load: u64, plan: &Plan, seen: &Times) -> Point {
        let (mut waits, mut parts, mut samples, mut committed) =
            (Vec::new(), Parts::default(), 0, 0);
        let counted = self.warm_up..self.warm_up + self.counted;
        for block in plan.blocks.iter().filter(|block| counted.contains(&block.proposed)) {
            committed += block.batches.iter().map(|batch| batch.transactions).sum::<u64>();
            for batch in &block.batches {
                let full_node = Seat::new(self.validators.get() + batch.validator.get());
                let height = block.block.header.height;
                let Some(mut share) = self.parts(block, batch.validator, seen) else { continue };
                let Some(end) = seen.at(full_node, height, Event::Committed) else { continue };
                for sample in 0..SAMPLES {
                    // In the middle of each quarter of the time in which the batch was collected.
                    let age = self.batch_interval * (2 * sample + 1) / (2 * SAMPLES);
                    let submitted = batch.sent.saturating_sub(age);
                    share.disseminate = block.proposed.saturating_sub(submitted);
                    waits.push(end.saturating_sub(submitted));
                    parts.add(&share);
                    samples += 1;
                }
            }
        }
        let seconds = self.counted.as_secs().max(1);
        let waits = waits.into_iter().collect();
        let times = plan.blocks.iter().flat_map(|block| &block.seats);
        let values: Waits = times.map(|times| times.value - times.ordered).collect();
        let value = values.mean().unwrap_or_default();
        Point { load, per_second: committed / seconds, waits, parts: parts.over(samples), value }
    }

    /// The stages of a block at a validator and its full node, except for dissemination.
    fn parts(&self, block: &PlannedBlock, validator: Seat, seen: &Times) -> Option<Parts> {
        let height = block.block.header.height;
        let full_node = Seat::new(self.validators.get() + validator.get());
        let ordered = block.seats.get(validator.index())?.ordered;
        let executed = seen.at(validator, height, Event::Executed)?.max(ordered);
        let certified = seen.at(validator, height, Event::Certified)?.max(executed);
        let committed = seen.at(validator, height, Event::Committed)?.max(certified);
        let end = seen.at(full_node, height, Event::Committed)?;
        Some(Parts {
            disseminate: Duration::ZERO,
            order: ordered.saturating_sub(block.proposed),
            execute: executed - ordered,
            certify: certified - executed,
            commit: committed - certified,
            full_node: end.saturating_sub(committed),
        })
    }
}

/// The times of all events of a run, by node and height.
struct Times {
    times: BTreeMap<(Seat, Height, Event), Duration>,
}

impl Times {
    fn new(notes: &[Note<(Height, Event)>]) -> Self {
        let time = |note: &Note<(Height, Event)>| {
            let (height, event) = note.event;
            ((note.seat, height, event), note.at.since_start())
        };
        Self { times: notes.iter().map(time).collect() }
    }

    fn at(&self, seat: Seat, height: Height, event: Event) -> Option<Duration> {
        self.times.get(&(seat, height, event)).copied()
    }
}
