//! The paper's other measurements: hours of a committee, key generation, transactions beside a beacon.
//!
//! As `prefinal simulate` makes them with `--hours`, `--keygen` and `--load --engine jolteon`, column by column.
use std::ops::ControlFlow;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_lab::Failure;
use prefinal_lab::dealt::World;
use prefinal_lab::dealt::deployment::{Deployment, Report, Schedule};
use prefinal_lab::dealt::transactions::{Beside, Demand, Experiment, Point};
use prefinal_lab::observe::{Interface, Order, Rate};
use prefinal_lab::transcripts::{self, Agreement, Transcripts};
use prefinal_lab::waits::Waits;
use prefinal_protocol::Instant;
use prefinal_registry::{Bls, Jolteon, Wvuf, scheme};
use prefinal_weighted_rounding::Stake;
use pyo3::prelude::*;

use crate::input::{at_least_one, within};
use crate::order::{Arguments, failed, rates};
use crate::simulation::Slots;
use crate::waits::WaitColumns;
use crate::work::stepwise;

/// Hours of a run: ten days.
const MOST_HOURS: u64 = 240;
/// Restarts and moves of a run.
const MOST_INCIDENTS: u32 = 10_000;
/// Seconds that are counted, and seconds before these.
const MOST_SECONDS: u64 = 3600;
/// Transactions that are submitted in a second.
const MOST_TRANSACTIONS: u64 = 1_000_000;

/// Tells of steps; breaks when nobody listens any more.
type Tell<'a> = &'a mut dyn FnMut(usize) -> ControlFlow<()>;

/// What a run takes place in.
fn world(order: &Order, parties: usize) -> Result<World, Failure> {
    Ok(World {
        prices: order.prices()?,
        network: order.network(parties)?,
        cores: order.cores,
        seed: order.seed,
        slots: order.slots,
    })
}

fn seconds(at: Instant) -> f64 {
    at.since_start().as_secs_f64()
}

/// What Python passes for hours, beside the committee.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RawSchedule<'py> {
    hours: Bound<'py, PyAny>,
    every: Bound<'py, PyAny>,
    restarts: Bound<'py, PyAny>,
    moves: Bound<'py, PyAny>,
}

impl RawSchedule<'_> {
    fn read(&self) -> PyResult<Schedule> {
        let hours: u64 = within(&self.hours, "hours", 1..=MOST_HOURS)?;
        Ok(Schedule {
            length: Duration::from_secs(3600 * hours),
            period: Duration::from_secs(within(&self.every, "every", 1..=60)?),
            restarts: within(&self.restarts, "restarts", 0..=MOST_INCIDENTS)?,
            moves: within(&self.moves, "moves", 0..=MOST_INCIDENTS)?,
        })
    }
}

/// Minutes, column by column.
#[derive(Default, IntoPyObject)]
struct MinuteColumns {
    minute: Vec<u32>,
    paths: Vec<&'static str>,
    slots: Vec<u64>,
    values: Vec<usize>,
    by_fast_path: Vec<usize>,
    caught_up: Vec<usize>,
    down: Vec<Vec<u32>>,
    down_stake: Vec<(u128, u128)>,
    moved: Vec<Vec<u32>>,
}

/// What happened to parties, column by column.
#[derive(Default, IntoPyObject)]
struct IncidentColumns {
    what: Vec<&'static str>,
    party: Vec<u32>,
    from_s: Vec<f64>,
    until_s: Vec<f64>,
    from_region: Vec<Option<String>>,
    to_region: Vec<Option<String>>,
}

/// The parts of a run, column by column.
#[derive(Default, IntoPyObject)]
struct PhaseColumns {
    paths: Vec<&'static str>,
    outage: Vec<bool>,
    values: Vec<usize>,
    by_fast_path: Vec<usize>,
}

/// What a committee went through in hours.
#[derive(IntoPyObject)]
pub(crate) struct HoursResult {
    minutes: MinuteColumns,
    minute_waits: WaitColumns,
    phases: PhaseColumns,
    phase_waits: WaitColumns,
    incidents: IncidentColumns,
    slots: Slots,
    fast_from: u64,
    switched_s: f64,
}

impl HoursResult {
    fn of(report: Report, stakes: &[Stake]) -> Self {
        let (mut minutes, mut minute_waits) = (MinuteColumns::default(), WaitColumns::default());
        for (number, minute) in (0..).zip(&report.minutes) {
            let down = report.down(number);
            let stake = |party: &Party| stakes.get(party.index()).map_or(0, |stake| stake.get());
            let total = stakes.iter().map(|stake| stake.get()).sum();
            minutes.minute.push(number);
            minutes.paths.push(report.paths(number));
            minutes.slots.push(minute.slots);
            minutes.values.push(minute.waits.count());
            minutes.by_fast_path.push(minute.by_fast_path);
            minutes.caught_up.push(minute.caught_up);
            minutes.down_stake.push((down.iter().map(stake).sum(), total));
            minutes.down.push(down.into_iter().map(Party::get).collect());
            minutes.moved.push(report.moved(number).map(|one| one.party.get()).collect());
            minute_waits.push(&minute.waits);
        }
        let (phases, phase_waits) = Self::phases(&report);
        Self {
            minutes,
            minute_waits,
            phases,
            phase_waits,
            incidents: Self::incidents(&report),
            fast_from: report.fast_from.get(),
            switched_s: seconds(report.switched),
            slots: Slots::of(report.global),
        }
    }

    fn phases(report: &Report) -> (PhaseColumns, WaitColumns) {
        let (mut columns, mut waits) = (PhaseColumns::default(), WaitColumns::default());
        for (outage, phases) in [(false, &report.phases), (true, &report.outages)] {
            for (paths, phase) in ["slow", "both"].into_iter().zip(phases) {
                columns.paths.push(paths);
                columns.outage.push(outage);
                columns.values.push(phase.waits.count());
                columns.by_fast_path.push(phase.by_fast_path);
                waits.push(&phase.waits);
            }
        }
        (columns, waits)
    }

    fn incidents(report: &Report) -> IncidentColumns {
        let mut columns = IncidentColumns::default();
        for pause in &report.pauses {
            columns.what.push("down");
            columns.party.push(pause.party.get());
            columns.from_s.push(seconds(pause.from));
            columns.until_s.push(seconds(pause.until));
            columns.from_region.push(None);
            columns.to_region.push(None);
        }
        for one in &report.moves {
            columns.what.push("moves");
            columns.party.push(one.party.get());
            columns.from_s.push(seconds(one.at));
            columns.until_s.push(seconds(one.at));
            columns.from_region.push(Some(one.from.clone()));
            columns.to_region.push(Some(one.to.clone()));
        }
        columns
    }
}

/// Runs one committee for hours, whose parties restart and move.
#[pyfunction]
pub(crate) fn hours<'py>(
    py: Python<'py>,
    arguments: Arguments<'py>,
    schedule: RawSchedule<'py>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<HoursResult> {
    let (order, schedule) = (arguments.order()?, schedule.read()?);
    let ran = stepwise(py, progress, move |tell| {
        deploy(&order, &schedule, tell).map(|report| HoursResult::of(report, &order.stakes))
    });
    ran?.map_err(failed)
}

fn deploy(order: &Order, schedule: &Schedule, tell: Tell<'_>) -> Result<Report, Failure> {
    let plan = &order.plan()?;
    let placement = order.placement(plan.parties())?;
    let world = &world(order, plan.parties())?;
    let (keys, placement) = (order.seed, placement.as_ref());
    let run = Deployment { plan, keys, world, schedule, placement };
    let watch = &mut |_| tell(1);
    match order.scheme {
        scheme::Name::Bls => run.run::<Bls, Jolteon>(watch),
        scheme::Name::Wvuf => run.run::<Wvuf, Jolteon>(watch),
    }
}

/// One stage of key generation over parties, in seconds.
#[derive(Default, IntoPyObject)]
struct StageColumns {
    mean_s: Vec<Option<f64>>,
    last_s: Vec<Option<f64>>,
}

impl StageColumns {
    fn push(&mut self, waits: &Waits) {
        self.mean_s.push(waits.mean().map(|span| span.as_secs_f64()));
        self.last_s.push(waits.longest().map(|span| span.as_secs_f64()));
    }
}

/// Key generations, column by column.
#[derive(Default, IntoPyObject)]
pub(crate) struct KeyColumns {
    on_chain: Vec<&'static str>,
    interface: Vec<String>,
    dealing: StageColumns,
    dissemination: StageColumns,
    aggregation: StageColumns,
    agreement: StageColumns,
    all: StageColumns,
    transactions: Vec<u64>,
    bytes_on_chain: Vec<u64>,
    bytes_sent: Vec<u64>,
    transcript_bytes: Vec<usize>,
    dealers: Vec<usize>,
}

impl KeyColumns {
    fn push(&mut self, rate: Rate, agreement: Agreement, report: &transcripts::Report) {
        self.on_chain.push(match agreement {
            Agreement::OneAggregate => "aggregate",
            Agreement::EachDealing => "dealings",
        });
        self.interface.push(rate.to_string());
        self.dealing.push(&report.dealing);
        self.dissemination.push(&report.dissemination);
        self.aggregation.push(&report.aggregation);
        self.agreement.push(&report.agreement);
        self.all.push(&report.total);
        self.transactions.push(report.transactions);
        self.bytes_on_chain.push(report.on_chain);
        self.bytes_sent.push(report.sent);
        self.transcript_bytes.push(report.transcript);
        self.dealers.push(report.dealers);
    }
}

/// Generates keys of the weighted VUF over interfaces of each rate, by one aggregate and by every dealing.
#[pyfunction]
pub(crate) fn key_generation<'py>(
    py: Python<'py>,
    arguments: Arguments<'py>,
    interfaces: Bound<'py, PyAny>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<KeyColumns> {
    let (order, rates) = (arguments.order()?, rates("rates", &interfaces)?);
    let ran = stepwise(py, progress, move |tell| generate(&order, &rates, tell));
    ran?.map_err(failed)
}

fn generate(order: &Order, rates: &[Rate], tell: Tell<'_>) -> Result<KeyColumns, Failure> {
    let plan = order.plan()?;
    let mut world = world(order, plan.parties())?;
    let transcripts = Transcripts::new(&plan, order.seed)?;
    let mut columns = KeyColumns::default();
    for &rate in rates {
        world.network = world.network.with_interfaces(Interface::duplex(rate));
        for agreement in [Agreement::OneAggregate, Agreement::EachDealing] {
            let report = transcripts.run::<Wvuf>(agreement, &world)?;
            columns.push(rate, agreement, &report);
            if tell(1).is_break() {
                return Ok(columns);
            }
        }
    }
    Ok(columns)
}

/// What Python passes for transactions, beside the committee.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RawDemand<'py> {
    submitted: Bound<'py, PyAny>,
    seconds: Bound<'py, PyAny>,
    warm_up: Bound<'py, PyAny>,
}

impl RawDemand<'_> {
    fn read(&self) -> PyResult<Vec<Demand>> {
        let span =
            |value, what, least| within(value, what, least..=MOST_SECONDS).map(Duration::from_secs);
        let counted = span(&self.seconds, "seconds", 1)?;
        let warm_up = span(&self.warm_up, "warm_up", 0)?;
        at_least_one(&self.submitted, "submitted", |at, value| {
            let per_second = within(value, &format!("submitted at {at}"), 1..=MOST_TRANSACTIONS)?;
            Ok(Demand { per_second, warm_up, counted })
        })
    }
}

/// Transactions under each load, column by column.
#[derive(Default, IntoPyObject)]
pub(crate) struct TransactionColumns {
    beside: Vec<&'static str>,
    submitted_per_second: Vec<u64>,
    executable_per_second: Vec<u64>,
    slots: Vec<u64>,
    waits: WaitColumns,
    values: WaitColumns,
}

impl TransactionColumns {
    fn push(&mut self, name: &'static str, demand: Demand, point: &Point) {
        self.beside.push(name);
        self.submitted_per_second.push(demand.per_second);
        self.executable_per_second.push(point.per_second);
        self.slots.push(point.slots);
        self.waits.push(&point.waits);
        self.values.push(&point.value_waits);
    }
}

/// Lets transactions come to Jolteon without a beacon, with the slow path, and with both paths.
#[pyfunction]
pub(crate) fn transactions<'py>(
    py: Python<'py>,
    arguments: Arguments<'py>,
    demand: RawDemand<'py>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<TransactionColumns> {
    let (order, demands) = (arguments.order()?, demand.read()?);
    let ran = stepwise(py, progress, move |tell| submit(&order, &demands, tell));
    ran?.map_err(failed)
}

fn submit(
    order: &Order,
    demands: &[Demand],
    tell: Tell<'_>,
) -> Result<TransactionColumns, Failure> {
    let plan = order.plan()?;
    let world = world(order, plan.parties())?;
    let experiment = Experiment::<Wvuf>::new(&plan, order.seed, world)?;
    let mut columns = TransactionColumns::default();
    let ways = [
        (Beside::Nothing, "no beacon"),
        (Beside::SlowPath, "slow path"),
        (Beside::BothPaths, "both paths"),
    ];
    for (beside, name) in ways {
        for &demand in demands {
            let point = experiment.run::<Jolteon>(beside, demand)?;
            columns.push(name, demand, &point);
            if tell(1).is_break() {
                return Ok(columns);
            }
        }
    }
    Ok(columns)
}
