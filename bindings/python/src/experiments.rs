//! Experiments of many runs: thresholds against each other, and campaigns under attack.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use prefinal_lab::campaign::{
    EngineName, ExecutionReport, Function, Order, Signatures, Sums, Watch,
};
use prefinal_lab::observe;
use prefinal_lab::stakes::StakeTable;
use prefinal_lab::thresholds::{self, Delays, Row};
use prefinal_lab::{Costs, Failure};
use prefinal_registry::{engine, types};
use prefinal_weighted_rounding::Ratio;
use pyo3::prelude::*;

use crate::error::{argument, refused};
use crate::input::{number, within};
use crate::order::{Arguments, failed, named};
use crate::waits::WaitColumns;
use crate::work::{Progress, Thread, interruptible};

/// Executions of a campaign: more take months.
const MOST_EXECUTIONS: u64 = 100_000_000;

/// Message delays until a value, column by column.
#[derive(Default, IntoPyObject)]
pub(crate) struct DelayColumns {
    kind: Vec<String>,
    synchronous: Vec<f64>,
    adversarial: Vec<f64>,
}

impl DelayColumns {
    fn of(all: Vec<Delays>) -> Self {
        let mut columns = Self::default();
        for Delays { kind, synchronous, adversarial } in all {
            columns.kind.push(kind.to_owned());
            columns.synchronous.push(synchronous);
            columns.adversarial.push(adversarial);
        }
        columns
    }
}

/// Profiles under three ways to compute, one row for each of both, column by column.
#[derive(Default, IntoPyObject)]
pub(crate) struct ProfileColumns {
    profile: Vec<String>,
    total_weight: Vec<Option<u128>>,
    needs: Vec<Option<(u128, u128)>>,
    combining: Vec<&'static str>,
}

impl ProfileColumns {
    /// The other columns, and those of the waits.
    fn of(rows: &[Row]) -> (Self, WaitColumns) {
        let (mut columns, mut all) = (Self::default(), WaitColumns::default());
        for row in rows {
            let ways = [("free", &row.free), ("behind", &row.behind), ("ahead", &row.ahead)];
            for (way, waits) in ways.into_iter().filter(|(_, waits)| waits.count() > 0) {
                columns.push(row, way);
                all.push(waits);
            }
        }
        (columns, all)
    }

    fn push(&mut self, row: &Row, way: &'static str) {
        self.profile.push(row.profile.name.clone());
        self.total_weight.push(row.total());
        self.needs.push(row.profile.needs.map(|needs| (needs.numerator(), needs.denominator())));
        self.combining.push(way);
    }
}

/// Measures message delays with each kind of thresholds, and waits with those of each total weight.
#[pyfunction(name = "thresholds")]
pub(crate) fn compare(
    py: Python<'_>,
    arguments: Arguments<'_>,
) -> PyResult<(DelayColumns, ProfileColumns, WaitColumns)> {
    let order = arguments.order()?;
    let measured = interruptible(py, move || measure(&order))?;
    let (delays, rows) = measured.map_err(failed)?;
    let (profiles, waits) = ProfileColumns::of(&rows);
    Ok((DelayColumns::of(delays), profiles, waits))
}

/// The costs of cryptography here and now, as JSON.
#[pyfunction]
pub(crate) fn measure_costs(py: Python<'_>) -> PyResult<String> {
    let costs = interruptible(py, Costs::measure)?.map_err(failed)?;
    serde_json::to_string_pretty(&costs).map_err(|error| argument(&error.to_string(), None))
}

fn measure(order: &observe::Order) -> Result<(Vec<Delays>, Vec<Row>), Failure> {
    let plan = order.plan()?;
    let costs = order.charge.costs()?;
    let costs = costs.ok_or_else(|| Failure::bad_input("costs: expected some"))?;
    let network = order.network(plan.parties())?;
    let (cores, seed, slots) = (order.cores, order.seed, order.slots);
    let second = thresholds::Order { network, cores, seed, slots, costs };
    types!(order.scheme, order.engine, S, E => Ok((
        thresholds::delays::<S, E>(&plan, order.fast, order.seed)?,
        thresholds::weights::<S, E>(&plan, second)?,
    )))
}

/// What Python passes for a campaign.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CampaignArguments<'py> {
    executions: Bound<'py, PyAny>,
    seed: Bound<'py, PyAny>,
    engine: Option<String>,
    function: Option<String>,
    real_signatures: bool,
    without_rule: Option<Bound<'py, PyAny>>,
    stakes: Option<String>,
    fast: (u128, u128),
    handover: bool,
    each: bool,
}

impl CampaignArguments<'_> {
    fn order(&self) -> PyResult<Order> {
        let rule = self.without_rule.as_ref().map(|rule| number::<u8>(rule, "without_rule"));
        let without = rule.transpose()?.map(|rule| {
            let found = prefinal_lab::campaign::Rule::ALL.into_iter();
            let found = found.into_iter().find(|one| one.number() == rule);
            found.ok_or_else(|| argument(&format!("without_rule is {rule}, expected 1 to 9"), None))
        });
        let table = self.stakes.as_deref().map(|text| StakeTable::parse("stakes", text));
        let fast = Ratio::new(self.fast.0, self.fast.1);
        let order = Order {
            first: number(&self.seed, "seed")?,
            executions: within(&self.executions, "executions", 1..=MOST_EXECUTIONS)?,
            engine: self.engine()?,
            function: self.function()?,
            signatures: self.real_signatures.then_some(Signatures::Real),
            without: without.transpose()?,
            table: table.transpose().map_err(|error| failed(error.into()))?,
            fast: fast.map_err(|error| refused(&error))?,
            handover: self.handover,
        };
        let is_alone = matches!(
            order.engine,
            Some(EngineName::Replica | EngineName::Pipeline | EngineName::Sync)
        );
        let is_more = order.function.is_some() || order.without.is_some() || order.handover;
        if is_alone && is_more {
            let why = "replica, pipeline and sync have no function, rules and handover to choose";
            return Err(argument(why, None));
        }
        Ok(order)
    }

    fn engine(&self) -> PyResult<Option<EngineName>> {
        use EngineName::{Listed, Permissive, Pipeline, Replica, Sync};
        let mut all = vec![Permissive, Replica, Pipeline, Sync];
        all.extend(engine::Name::ALL.iter().copied().map(Listed));
        self.engine.as_deref().map(|name| named("engine", name, &all)).transpose()
    }

    fn function(&self) -> PyResult<Option<Function>> {
        let all = [Function::Ideal, Function::Bls, Function::Wvuf];
        self.function.as_deref().map(|name| named("function", name, &all)).transpose()
    }
}

/// What did not hold in an execution.
#[derive(IntoPyObject)]
struct RawViolation {
    seed: u64,
    engine: String,
    function: String,
    what: String,
}

/// Executions, column by column.
#[derive(Default, IntoPyObject)]
struct ExecutionColumns {
    seed: Vec<u64>,
    engine: Vec<String>,
    function: Vec<String>,
    violation: Vec<Option<String>>,
    slots: Vec<Option<usize>>,
    slow: Vec<Option<usize>>,
    fast: Vec<Option<usize>>,
    tight: Vec<Option<usize>>,
    most_kept: Vec<usize>,
    seconds: Vec<f64>,
    fingerprint: Vec<u64>,
    /// What was done to it, and how often.
    done: Vec<Vec<(String, u64)>>,
}

impl ExecutionColumns {
    fn push(&mut self, (engine, function): Played, seed: u64, played: &ExecutionReport) {
        let summary = played.outcome.as_ref().ok();
        self.seed.push(seed);
        self.engine.push(engine.to_string());
        self.function.push(function.to_string());
        self.violation.push(played.outcome.as_ref().err().map(ToString::to_string));
        self.slots.push(summary.map(|summary| summary.slots));
        self.slow.push(summary.map(|summary| summary.slow));
        self.fast.push(summary.map(|summary| summary.fast));
        self.tight.push(summary.map(|summary| summary.tight));
        self.most_kept.push(played.most_kept);
        self.seconds.push(played.took.as_secs_f64());
        self.fingerprint.push(played.fingerprint);
        let done = played.tally.rows().map(|(kind, count)| (kind.to_string(), count.times));
        self.done.push(done.collect());
    }
}

/// A campaign's executions taken together.
#[derive(IntoPyObject)]
pub(crate) struct CampaignResult {
    executions: u64,
    fingerprint: u64,
    slots: usize,
    /// By the slow path, the fast path, tight thresholds.
    values: [usize; 3],
    most_kept: usize,
    seconds: f64,
    played: Vec<(String, String, u64)>,
    counts: Vec<(String, u64, u64)>,
    violations: Vec<RawViolation>,
    each: ExecutionColumns,
}

impl CampaignResult {
    fn of(sums: &Sums, violations: Vec<RawViolation>, each: ExecutionColumns) -> Self {
        let counts = sums.tally.rows();
        let played = sums.played.iter();
        Self {
            executions: sums.executions,
            fingerprint: sums.fingerprint,
            slots: sums.slots,
            values: sums.values,
            most_kept: sums.most_kept,
            seconds: sums.took.as_secs_f64(),
            played: played.map(|((e, f), count)| (e.to_string(), f.to_string(), *count)).collect(),
            counts: counts.map(|(k, c)| (k.to_string(), c.executions, c.times)).collect(),
            violations,
            each,
        }
    }
}

/// The engine and the function of an execution.
type Played = (EngineName, Function);

/// An execution as a thread of the campaign tells of it, or the campaign's end.
enum Told {
    Played(Played, u64, Box<ExecutionReport>),
    Ended(Result<(), Failure>),
}

/// Tells the caller's thread of each execution, until nobody listens.
struct Teller {
    tell: SyncSender<Told>,
    is_alone: AtomicBool,
}

impl Watch for Teller {
    fn played(&self, kind: Played, seed: u64, played: &ExecutionReport) {
        let told = Told::Played(kind, seed, Box::new(played.clone()));
        if self.tell.send(told).is_err() {
            self.is_alone.store(true, Ordering::Relaxed);
        }
    }

    fn is_over(&self) -> bool {
        self.is_alone.load(Ordering::Relaxed)
    }
}

/// Plays executions under attack, one for each seed.
#[pyfunction]
pub(crate) fn campaign<'py>(
    py: Python<'py>,
    arguments: CampaignArguments<'py>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<CampaignResult> {
    let (order, progress) = (arguments.order()?, Progress::new(progress));
    let mut each = arguments.each.then(ExecutionColumns::default);
    let mut thread = Thread::start(move |tell| {
        let teller = Teller { tell, is_alone: AtomicBool::new(false) };
        let ended = order.run(&teller);
        drop(teller.tell.send(Told::Ended(ended)));
    })?;
    let (mut sums, mut violations) = (Sums::default(), Vec::new());
    loop {
        match thread.wait(py)? {
            Told::Played(kind, seed, played) => {
                sums.add(kind, &played);
                if let Some(each) = &mut each {
                    each.push(kind, seed, &played);
                }
                if let Err(violation) = &played.outcome {
                    let (engine, function) = (kind.0.to_string(), kind.1.to_string());
                    let what = violation.to_string();
                    violations.push(RawViolation { seed, engine, function, what });
                }
                progress.advance(py, 1)?;
            }
            Told::Ended(Ok(())) => {
                return Ok(CampaignResult::of(&sums, violations, each.unwrap_or_default()));
            }
            Told::Ended(Err(failure)) => return Err(failed(failure)),
        }
    }
}
