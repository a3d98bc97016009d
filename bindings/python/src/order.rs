//! What a run in virtual time is asked for: committee, places, engine, costs, faults.
use std::collections::BTreeSet;
use std::fmt::Display;
use std::num::NonZeroU32;
use std::time::Duration;

use prefinal_lab::Failure;
use prefinal_lab::faults::{
    Chance, Disk, Fault, Loss, Partition, PartitionEffect, Seat, Vice, Window,
};
use prefinal_lab::observe::{CostModel, Order, Rate, RateError};
use prefinal_lab::weighing::{Weighing, WeightSource};
use prefinal_protocol::Instant;
use prefinal_registry::{engine, scheme};
use prefinal_validator::setup::Algorithm;
use prefinal_weighted_rounding::{Ratio, Weight};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::{argument, refused, wrong_type};
use crate::input::{at_least_one, number, stakes, weights, within};
use crate::rounding::{RawPair, pair};

/// Slots of a run: more take days.
const MOST_SLOTS: u64 = 1_000_000;

/// The keyword arguments of a run, as the functions in Python pass them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Arguments<'py> {
    stakes: Bound<'py, PyAny>,
    weights: Option<Bound<'py, PyAny>>,
    budget: Option<Bound<'py, PyAny>>,
    slow: RawPair<'py>,
    regions: Vec<String>,
    round_trips: Option<String>,
    engine: String,
    scheme: String,
    path: String,
    fast: (u128, u128),
    slots: Bound<'py, PyAny>,
    seed: Bound<'py, PyAny>,
    jitter: Bound<'py, PyAny>,
    interface: Option<String>,
    connection: Option<String>,
    cores: Bound<'py, PyAny>,
    costs: Option<String>,
    messages: bool,
    faults: Vec<RawFault>,
}

impl Arguments<'_> {
    pub(crate) fn order(&self) -> PyResult<Order> {
        let fast = Ratio::new(self.fast.0, self.fast.1);
        let cores = NonZeroU32::new(within(&self.cores, "cores", 1..=u32::MAX)?);
        Ok(Order {
            stakes: stakes(&self.stakes)?,
            weighing: self.weighing()?,
            regions: self.regions.clone(),
            round_trips: self.round_trips.clone(),
            engine: named("engine", &self.engine, engine::Name::ALL)?,
            scheme: named("scheme", &self.scheme, scheme::Name::ALL)?,
            algorithm: match self.path.as_str() {
                "slow" => Algorithm::Slow,
                "fast" => Algorithm::Fast,
                "tight" => Algorithm::Tight,
                other => return Err(unknown("path", other, "slow, fast or tight")),
            },
            fast: fast.map_err(|error| refused(&error))?,
            slots: within(&self.slots, "slots", 1..=MOST_SLOTS)?,
            seed: number(&self.seed, "seed")?,
            jitter: within(&self.jitter, "jitter", 0..=100)?,
            interface: rate("interface", self.interface.as_deref())?,
            connection: rate("connection", self.connection.as_deref())?,
            cores: cores.ok_or_else(|| argument("cores is 0", None))?,
            charge: match self.costs.as_deref() {
                None => CostModel::Nothing,
                Some("measured") => CostModel::Measured,
                Some(text) => CostModel::Given(text.to_owned()),
            },
            messages: self.messages,
            faults: self.faults.iter().map(RawFault::read).collect::<PyResult<_>>()?,
        })
    }

    fn weighing(&self) -> PyResult<Weighing> {
        let weights = match (&self.weights, &self.budget) {
            (None, None) => WeightSource::LeastTotal,
            (None, Some(budget)) => WeightSource::Budget(Weight::new(number(budget, "budget")?)),
            (Some(given), None) => {
                WeightSource::Given(weights(given)?.into_iter().map(Weight::new).collect())
            }
            (Some(_), Some(_)) => {
                return Err(argument("expected weights or a budget, got both", None));
            }
        };
        Ok(Weighing { slow: pair(&self.slow)?, weights })
    }
}

/// A rate such as `1Gbit/s`, if there is one.
fn rate(what: &str, text: Option<&str>) -> PyResult<Option<Rate>> {
    let rate = text.map(str::parse).transpose();
    rate.map_err(|error: RateError| argument(&format!("{what}: {error}"), None))
}

/// Rates in their order.
pub(crate) fn rates(what: &str, texts: &Bound<'_, PyAny>) -> PyResult<Vec<Rate>> {
    at_least_one(texts, what, |at, value| {
        let text: String =
            value.extract().map_err(|_| wrong_type(&format!("{what} at {at} as str"), value))?;
        let rate = text.parse();
        rate.map_err(|error: RateError| argument(&format!("{what} at {at}: {error}"), Some(at)))
    })
}

/// One of several things by its name.
pub(crate) fn named<T: Copy + Display>(what: &str, name: &str, all: &[T]) -> PyResult<T> {
    let found = all.iter().find(|one| one.to_string() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<String> = all.iter().map(ToString::to_string).collect();
        unknown(what, name, &names.join(", "))
    })
}

fn unknown(what: &str, got: &str, expected: &str) -> PyErr {
    argument(&format!("{what} {got:?}, expected {expected}"), None)
}

/// The exception for a run that failed.
pub(crate) fn failed(failure: Failure) -> PyErr {
    match failure {
        Failure::BadInput(why) => argument(&why, None),
        Failure::Disagreement(why) => PyRuntimeError::new_err(why),
    }
}

/// A fault as `prefinal.faults` hands it over: times in microseconds, parties by position.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct RawFault {
    kind: String,
    /// The party that does it; none for links.
    party: u32,
    /// The parties that it is done to, in groups.
    groups: Vec<Vec<u32>>,
    from_us: u64,
    until_us: Option<u64>,
    /// Millionths of a loss, microseconds of a delay, 1 or 0 of a choice.
    number: u32,
}

impl RawFault {
    fn read(&self) -> PyResult<Fault> {
        let at = |us| Instant::at(Duration::from_micros(us));
        let (from, until) = (at(self.from_us), self.until_us.map_or(Window::ALWAYS.until, at));
        let (window, is_set) = (Window::new(from, until), self.number != 0);
        let vice = match self.kind.as_str() {
            "loss" => return Ok(Fault::Loss(Loss { window, chance: self.chance() })),
            "partition" => {
                let groups = self.groups.iter().map(seats).collect();
                let blocked = if is_set { PartitionEffect::Held } else { PartitionEffect::Dropped };
                return Ok(Fault::Partition(Partition { window, groups, blocked }));
            }
            "crash" => {
                let down = self.until_us.map(|until| until.saturating_sub(self.from_us));
                return Ok(Fault::Crash {
                    seat: Seat::new(self.party),
                    at: from,
                    down: down.map(Duration::from_micros),
                    disk: if is_set { Disk::Lost } else { Disk::Kept },
                });
            }
            "mute" => Vice::Mute { from },
            "withhold" => Vice::Withhold { from: self.others(), all: is_set },
            "two-faced" => Vice::TwoFaced { to: self.others(), both: is_set },
            "twins" => Vice::Twins { side: self.others() },
            "wrong" => Vice::Wrong,
            "delay" => Vice::Delay { most: Duration::from_micros(self.number.into()) },
            "flood" => Vice::Flood { until },
            "replay" => Vice::Replay { until },
            other => return Err(unknown("fault", other, "one of prefinal.faults")),
        };
        Ok(Fault::Byzantine(Seat::new(self.party), vice))
    }

    fn chance(&self) -> Chance {
        Chance::per_million(self.number)
    }

    fn others(&self) -> BTreeSet<Seat> {
        seats(self.groups.iter().flatten())
    }
}

fn seats<'a>(parties: impl IntoIterator<Item = &'a u32>) -> BTreeSet<Seat> {
    parties.into_iter().copied().map(Seat::new).collect()
}
