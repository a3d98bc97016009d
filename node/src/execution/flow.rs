//! How blocks pass their stages at each party, and whether all parties come to the same states.
//!
//! A transaction's times are those of the party that it was given to, counted from there. Like the ledger of
//! values the flow believes nobody: the results of every block are compared over all parties.
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_execution::{Committed, Height, Roots};
use prefinal_lab::Failure;
use prefinal_lab::waits::{Waits, milliseconds};
use prefinal_protocol::Instant;
use prefinal_validator::execution::{BlockEvent, PipelineHost};

use super::Told;
use super::door::{Door, TransactionId};
use super::executor::NamedExecutor;
use super::store::AttestedStore;
use crate::table;

/// Transactions whose times are kept.
const KEPT: usize = 1 << 16;

/// Blocks that not all parties have committed yet, before the oldest are given up.
const OPEN: usize = 4096;

/// When a block passed its stages at a party.
#[derive(Clone, Copy, Debug, Default)]
struct Stages {
    ordered: Option<Instant>,
    executed: Option<Instant>,
    certified: Option<Instant>,
}

/// How long a transaction took to each stage.
#[derive(Clone, Copy, Debug)]
struct Parts {
    ordered: Duration,
    executed: Duration,
    certified: Duration,
    durable: Duration,
}

#[derive(Default)]
struct OpenBlock {
    transactions: Vec<TransactionId>,
    stages: BTreeMap<Party, Stages>,
    roots: BTreeMap<Party, Roots>,
    parts: Vec<Parts>,
}

/// All blocks of a run.
pub(super) struct Flow<X: NamedExecutor> {
    parties: usize,
    door: Arc<Door<X>>,
    open: BTreeMap<Height, OpenBlock>,
    parts: VecDeque<Parts>,
    executed: u64,
    agreed: u64,
    /// When the first transaction was committed, and the last.
    span: Option<(Instant, Instant)>,
}

type ToldOf<X> = Told<PipelineHost<AttestedStore<X>>>;

impl<X: NamedExecutor> Flow<X> {
    pub(super) const fn new(parties: usize, door: Arc<Door<X>>) -> Self {
        Self {
            parties,
            door,
            open: BTreeMap::new(),
            parts: VecDeque::new(),
            executed: 0,
            agreed: 0,
            span: None,
        }
    }

    /// So many parties are away.
    pub(super) const fn without(&mut self, away: usize) {
        self.parties = self.parties.saturating_sub(away);
    }

    /// Takes what a party told; the line of a block that all parties have committed.
    pub(super) fn take(&mut self, told: ToldOf<X>) -> Result<Option<String>, Failure> {
        let Told { by, at, event } = told;
        match event {
            BlockEvent::Ordered(block) => {
                let open = self.open.entry(block.header.height).or_default();
                // Executed and voted for it may be before.
                if open.transactions.is_empty() {
                    open.transactions = block.transactions().iter().map(X::hash).collect();
                }
                open.stages.entry(by).or_default().ordered = Some(at);
            }
            BlockEvent::Executed(height) => {
                self.stages(height, by).executed.get_or_insert(at);
            }
            BlockEvent::Certified(height) => {
                self.stages(height, by).certified.get_or_insert(at);
            }
            BlockEvent::Committed(committed) => return self.committed(by, at, committed),
            BlockEvent::Follows { .. } => {}
            BlockEvent::Accused { party, fault } => {
                let why = format!("{by} accuses {party}: {fault}");
                return Err(Failure::Disagreement(why));
            }
            BlockEvent::Refused(refusal) => {
                return Err(Failure::Disagreement(format!("{by} refuses: {refusal}")));
            }
            BlockEvent::Stopped(stop) => {
                return Err(Failure::Disagreement(format!("{by} stops: {stop}")));
            }
        }
        Ok(None)
    }

    fn stages(&mut self, height: Height, by: Party) -> &mut Stages {
        self.open.entry(height).or_default().stages.entry(by).or_default()
    }

    fn committed(
        &mut self,
        by: Party,
        at: Instant,
        committed: Committed,
    ) -> Result<Option<String>, Failure> {
        let Committed { height, roots, .. } = committed;
        let open = self.open.entry(height).or_default();
        let other = open.roots.iter().find(|(_, other)| **other != roots);
        if let Some((other, _)) = other {
            let why = format!("{height}: {by} and {other} have different states");
            return Err(Failure::Disagreement(why));
        }
        if open.roots.is_empty() {
            self.door.place(height, &open.transactions);
        }
        open.roots.insert(by, roots);
        let Stages { ordered, executed, certified } =
            open.stages.get(&by).copied().unwrap_or_default();
        for id in &open.transactions {
            let Some(submitted) = self.door.settle(id, by) else { continue };
            let since = |stage: Option<Instant>| stage.unwrap_or(at).since(submitted.at);
            open.parts.push(Parts {
                ordered: since(ordered),
                executed: since(executed),
                certified: since(certified),
                durable: at.since(submitted.at),
            });
        }
        if !open.parts.is_empty() {
            let first = self.span.map_or(at, |(first, _)| first);
            self.span = Some((first, at));
        }
        let is_everywhere = open.roots.len() == self.parties;
        let closed = is_everywhere.then(|| self.open.remove(&height)).flatten();
        while self.open.len() > OPEN {
            self.open.pop_first();
        }
        Ok(closed.and_then(|closed| self.close(height, closed)))
    }

    fn close(&mut self, height: Height, closed: OpenBlock) -> Option<String> {
        self.agreed += 1;
        let count = closed.transactions.len();
        self.executed = self.executed.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        let medians = medians(closed.parts.iter());
        let medians = medians.map(|wait| wait.map_or(0, |wait| wait.as_millis()));
        self.parts.extend(closed.parts);
        let late = self.parts.len().saturating_sub(KEPT);
        self.parts.drain(..late);
        if count == 0 {
            return None;
        }
        let mut line = format!("block {}: {count} txs", height.get());
        for (name, median) in ["order", "executed", "certified", "durable"].iter().zip(medians) {
            // Writing into memory does not fail.
            let _written = write!(line, ", {name} {median}");
        }
        Some(line + " ms")
    }

    /// The table at the end.
    pub(super) fn print_summary(&self) {
        let seconds = self.span.map_or(Duration::ZERO, |(first, last)| last.since(first));
        let span = u64::try_from(seconds.as_millis()).unwrap_or(u64::MAX);
        let rate = self.executed.saturating_mul(1000).checked_div(span);
        let [ordered, executed, certified, durable] = medians(self.parts.iter())
            .map(|wait| wait.map_or_else(|| "-".to_owned(), milliseconds));
        let rate = rate.map_or_else(|| "-".to_owned(), |rate| rate.to_string());
        let row = [self.executed.to_string(), rate, ordered, executed, certified, durable];
        let header =
            ["transactions", "a second", "to order", "to execution", "to certificate", "durable"];
        say!("{}", table::table(&header, [row]));
        say!("median ms from submission; blocks may be executed before they are ordered");
        let (agreed, parties) = (self.agreed, self.parties);
        say!("{agreed} blocks leave the same states at {parties} parties, certified and durable");
    }
}

/// The median to each stage.
fn medians<'a>(parts: impl Iterator<Item = &'a Parts> + Clone) -> [Option<Duration>; 4] {
    let stages: [fn(&Parts) -> Duration; 4] =
        [|one| one.ordered, |one| one.executed, |one| one.certified, |one| one.durable];
    stages.map(|stage| {
        let waits: Waits = parts.clone().map(stage).collect();
        waits.percentile(50)
    })
}
