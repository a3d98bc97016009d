//! What the work of followers and servers costs in virtual time: measured on the chain that is followed.
use std::collections::VecDeque;
use std::time::{Duration, Instant as Clock};

use prefinal_execution::Store;
use prefinal_protocol::{Instant, Machine, Output};
use prefinal_sim::Dice;
use prefinal_sync::{
    Config, Effect, Follower, HashedNames, Input, JobSize, Past, PeerId, Replay, Server,
    ServerLimits,
};
use serde::{Deserialize, Serialize};

use super::chain::{EXECUTOR, SampleChain};
use super::source::{Part, PartSource};
use crate::costs::on_one_thread;
use crate::failure::Failure;

/// Nanoseconds of the work of followers and servers, on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncPrices {
    /// Verifying the certificate of a block.
    pub certificate: u64,
    /// Decompressing, decoding and hashing a transaction.
    pub check_each: u64,
    /// The same with what it changes.
    pub check_delta_each: u64,
    /// Executing a transaction, signature included, and its part of the new root.
    pub execute_each: u64,
    /// Applying what a transaction changes, and its part of the new root.
    pub apply_each: u64,
    /// Making a write durable, however much it is.
    pub flush: u64,
    /// Writing a transaction with what it changes.
    pub write_each: u64,
    /// Verifying a row of a state.
    pub check_row: u64,
    /// Writing a row of a state.
    pub write_row: u64,
    /// Reading, encoding and compressing a byte of an answer that is not in the cache, in picoseconds.
    pub serve_byte_picos: u64,
}

/// A durable write on a solid-state disk of a data centre.
const FLUSH: u64 = 1_000_000;

impl SyncPrices {
    /// Fitted to three facts of the post: 1200 transactions a second one request after the other, 4500 in a pipeline
    /// that executes, and 55 % of the processor's time for executing beside 40 % for verifying and writing. How the
    /// latter divide is not said; with 100 µs for writing a pipeline of deltas ends at 10 000.
    #[must_use]
    pub const fn post() -> Self {
        Self {
            certificate: 1_000_000,
            check_each: 62_000,
            check_delta_each: 62_000,
            execute_each: 222_000,
            apply_each: 0,
            flush: 0,
            write_each: 100_000,
            check_row: 20_000,
            write_row: 20_000,
            serve_byte_picos: 100_000,
        }
    }

    /// Measures on the blocks of a chain, the least of all jobs of a kind: a disturbance can only make them longer.
    pub(super) fn measure(chain: &SampleChain) -> Result<Self, Failure> {
        on_one_thread(|| measured(chain))?
    }
}

/// The least time of a kind of job for each of its items.
#[derive(Clone, Copy)]
struct Least(u64);

impl Least {
    const NONE: Self = Self(u64::MAX);

    fn take(&mut self, began: Clock, items: u64) {
        let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.0 = self.0.min(nanos.checked_div(items).unwrap_or(u64::MAX));
    }

    const fn or_nothing(self) -> u64 {
        if self.0 == u64::MAX { 0 } else { self.0 }
    }
}

struct Pass {
    check: Least,
    check_row: Least,
    process: Least,
    write: Least,
    write_row: Least,
    serve_kib: Least,
}

fn measured(chain: &SampleChain) -> Result<SyncPrices, Failure> {
    let replay = |replay| Config::new(replay, [1; 32]);
    let deltas = pass(chain, replay(Replay::Deltas))?;
    let execute = pass(chain, replay(Replay::Execute))?;
    let snapshot = Config { snapshot_beyond: Some(1), ..replay(Replay::Deltas) };
    let rows = pass(chain, snapshot)?;
    let mut certificate = Least::NONE;
    for height in 1..chain.tip().get().min(12) {
        let began = Clock::now();
        chain.verify_afresh(prefinal_execution::Height::new(height))?;
        certificate.take(began, 1);
    }
    Ok(SyncPrices {
        certificate: certificate.or_nothing(),
        check_each: execute.check.or_nothing(),
        check_delta_each: deltas.check.or_nothing(),
        execute_each: execute.process.or_nothing(),
        apply_each: deltas.process.or_nothing(),
        flush: FLUSH,
        write_each: deltas.write.or_nothing(),
        check_row: rows.check_row.or_nothing(),
        write_row: rows.write_row.or_nothing(),
        serve_byte_picos: deltas.serve_kib.or_nothing().saturating_mul(1000) >> 10,
    })
}

/// A follower and a server without a network, and how long each job takes.
fn pass(chain: &SampleChain, config: Config) -> Result<Pass, Failure> {
    let none = Least::NONE;
    let mut pass = Pass {
        check: none,
        check_row: none,
        process: none,
        write: none,
        write_row: none,
        serve_kib: none,
    };
    let disk = chain.disk();
    let mut store = chain.open(&disk).map_err(Failure::bad_input)?;
    let past = Past::of(&store).map_err(Failure::bad_input)?;
    let mut follower = Follower::new(config, chain.trust(), HashedNames, past);
    let mut server = Server::new(ServerLimits::default());
    let part = Part { snapshot_every: chain.tip().get(), ..Part::whole(chain.tip()) };
    let source = PartSource { chain, part, now: Instant::START };
    let peer = PeerId::new(1);
    let mut inputs = VecDeque::from([Input::Connected(peer)]);
    while let Some(input) = inputs.pop_front() {
        follower.handle(Instant::START, input);
        while let Some(output) = follower.poll() {
            let Output::Do(effect) = output else { continue };
            let began = Clock::now();
            match effect {
                Effect::Send { peer, bytes } => {
                    let bytes = server.answer(&source, &bytes).map_err(Failure::bad_input)?;
                    let kib = u64::try_from(bytes.len() >> 10).unwrap_or(0);
                    pass.serve_kib.take(began, kib);
                    inputs.push_back(Input::Received { peer, bytes });
                }
                Effect::Check(job) => {
                    let verdict = job.run();
                    let JobSize { blocks, items } = verdict.size();
                    let least = if blocks > 0 { &mut pass.check } else { &mut pass.check_row };
                    least.take(began, items);
                    inputs.push_back(Input::Checked(verdict));
                }
                Effect::Execute(job) => {
                    let size = job.size();
                    let verdict = job.run(&EXECUTOR);
                    pass.process.take(began, size.items);
                    inputs.push_back(Input::Executed(verdict));
                }
                Effect::Store(job) => {
                    let JobSize { blocks, items } = job.size();
                    let verdict = job.run(&mut store);
                    let least = if blocks > 0 { &mut pass.write } else { &mut pass.write_row };
                    least.take(began, items);
                    inputs.push_back(Input::Stored(verdict));
                }
                Effect::Ban(_) | Effect::Committed { .. } | Effect::Stopped(_) => {}
            }
        }
    }
    let committed = store.committed().map_err(Failure::bad_input)?;
    if committed.height != chain.tip() {
        return Err(Failure::bad_input("a follower that measures does not arrive"));
    }
    Ok(pass)
}

/// Where prices come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum WorkPrices {
    /// By how much there is to do.
    Measured(SyncPrices),
    /// Each time another one, up to these for verifying, executing and writing.
    Drawn([Duration; 3]),
}

impl WorkPrices {
    fn drawn(most: Duration, dice: &mut Dice) -> Duration {
        dice.duration(Duration::ZERO, most)
    }

    pub(super) fn check(&self, size: JobSize, deltas: bool, dice: &mut Dice) -> Duration {
        match self {
            Self::Drawn([check, ..]) => Self::drawn(*check, dice),
            Self::Measured(prices) => {
                let each = match (size.blocks, deltas) {
                    (0, _) => prices.check_row,
                    (_, false) => prices.check_each,
                    (_, true) => prices.check_delta_each,
                };
                // A false answer takes a certificate, too.
                nanos(size.blocks.max(1) * prices.certificate + size.items * each)
            }
        }
    }

    pub(super) fn execute(&self, size: JobSize, deltas: bool, dice: &mut Dice) -> Duration {
        match self {
            Self::Drawn([_, execute, _]) => Self::drawn(*execute, dice),
            Self::Measured(prices) => {
                nanos(size.items * if deltas { prices.apply_each } else { prices.execute_each })
            }
        }
    }

    pub(super) fn store(&self, size: JobSize, dice: &mut Dice) -> Duration {
        match self {
            Self::Drawn([.., write]) => Self::drawn(*write, dice),
            Self::Measured(prices) => {
                let each = if size.blocks > 0 { prices.write_each } else { prices.write_row };
                nanos(prices.flush + size.items * each)
            }
        }
    }

    /// An answer of so many bytes, from the cache or not.
    pub(super) fn serve(&self, bytes: usize, is_read: bool) -> Duration {
        match self {
            Self::Measured(prices) if is_read => {
                let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
                nanos(bytes.saturating_mul(prices.serve_byte_picos) / 1000)
            }
            Self::Measured(_) | Self::Drawn(_) => Duration::ZERO,
        }
    }
}

const fn nanos(count: u64) -> Duration {
    Duration::from_nanos(count)
}
