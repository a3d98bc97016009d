//! A seeded run, event by event, for analysis in other programs.
//!
//! The committee, the engine, the links and the prices are those of the latency experiment. Nothing is
//! printed or written: the caller gets the events in portions, in the order of virtual time. The same
//! order of a run gives the same events, unless costs are measured.
//!
//! The Python package uses this. The experiment with its summary is in `latency`.

use crate::priced::Priced;
use std::cell::RefCell;
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

pub use ::prefinal_beacon::Path;
use ::prefinal_beacon::{Bls, Wvuf};
use prefinal_jolteon::Jolteon;
use prefinal_sim::{Jitter, Network};
use prefinal_weighted_rounding::{Ratio, Stake};

use super::committee::{Ground, Observation, Prices};
use super::costs::Costs;
use super::latency::Experiment;
use crate::failure::Failure;
use crate::finality::Ballot;
use crate::legible::{Act, ReadableEngine};
use crate::machine::MessageOf;
use crate::place::place;
use prefinal_registry::scheme::Name;
use prefinal_validator::Message;
use prefinal_validator::setup::{Algorithm, Plan};

/// The costs of cryptography in virtual time.
#[derive(Clone, Debug)]
pub enum CostModel {
    /// Nothing: the network alone.
    Nothing,
    /// The costs as measured now on this machine.
    Measured,
    /// The costs that an earlier run measured, as JSON.
    Given(String),
}

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct Order {
    /// The stakes of the parties, in their order.
    pub stakes: Vec<Stake>,
    /// Regions in which the parties are placed in turn; or `all` or `none` alone, as for the command.
    pub regions: Vec<String>,
    /// The scheme that is evaluated.
    pub scheme: Name,
    /// The algorithm, which decides on the paths.
    pub algorithm: Algorithm,
    /// The part of the stake that the fast path may need.
    pub fast: Ratio,
    /// Number of slots that get a value.
    pub slots: u64,
    /// Seed of all randomness.
    pub seed: u64,
    /// How far the delay of a link varies, in percent.
    pub jitter: u8,
    /// Number of cores of each party.
    pub cores: NonZeroU32,
    /// The costs of cryptography.
    pub charge: CostModel,
    /// Whether each message that arrives is reported as an event.
    pub messages: bool,
}

/// An event of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happened, in virtual time.
    pub at: Duration,
    /// The index of the party.
    pub party: u32,
    /// The kind of event: `ready`, `proposed`, `voted`, `released`, `finalized`, `revealed`, `skipped`,
    /// `timed-out`; or for a message that arrives `proposal`, `vote`, `order-vote`, `timeout`,
    /// `partial`.
    pub kind: &'static str,
    /// The slot; rounds of the engine are slots.
    pub slot: u64,
    /// The path, for a partial or a value.
    pub path: Option<Path>,
    /// The sender, for a message.
    pub from: Option<u32>,
}

/// Makes the run. `take` gets the events in portions, each with the number of slots of which every
/// party has the value. It may end the run.
///
/// # Errors
/// If a committee, region or cost makes no sense, or if parties disagree or do not finish.
pub fn observe(
    order: &Order,
    take: &mut dyn FnMut(Vec<Event>, u64) -> ControlFlow<()>,
) -> Result<(), Failure> {
    match order.scheme {
        Name::Bls => run::<Bls>(order, take),
        Name::Wvuf => run::<Wvuf>(order, take),
    }
}

fn experiment<S: Priced>(order: &Order) -> Result<Experiment<S>, Failure> {
    let plan = Plan::new(order.stakes.clone(), order.algorithm, order.fast);
    let plan = plan.map_err(Failure::bad_input)?;
    let network = match place(&order.regions, plan.parties(), order.seed)? {
        Some(placement) => Network::placed(placement, Jitter::Percent(order.jitter)),
        None => Network::constant(Duration::ZERO),
    };
    let costs = match &order.charge {
        CostModel::Nothing => None,
        CostModel::Measured => Some(Costs::measure()?),
        CostModel::Given(text) => Some(serde_json::from_str(text).map_err(Failure::bad_input)?),
    };
    let prices = costs.map_or(Prices::FREE, |costs| Prices::Measured { costs, cores: order.cores });
    let ground = Ground::new(&plan, order.seed).map_err(Failure::bad_input)?;
    Ok(Experiment {
        ground: Arc::new(ground),
        prices,
        network,
        cores: order.cores,
        seed: order.seed,
        slots: order.slots,
    })
}

fn run<S: Priced>(
    order: &Order,
    take: &mut dyn FnMut(Vec<Event>, u64) -> ControlFlow<()>,
) -> Result<(), Failure> {
    let experiment = experiment::<S>(order)?;
    let mut simulation = experiment.stage::<Jolteon>(order.algorithm)?;
    let seats = u64::from(simulation.host().seats());
    let arrived: Rc<RefCell<Vec<Event>>> = Rc::default();
    if order.messages {
        let arrived = Rc::clone(&arrived);
        simulation.host_mut().watch = Some(Box::new(move |now, at, from, message| {
            if let Some((kind, slot, path)) = received(message) {
                let (at, from) = (now.since_start(), (at.get(), Some(from.get())));
                let event = Event { at, party: from.0, kind, slot, path, from: from.1 };
                arrived.borrow_mut().push(event);
            }
        }));
    }
    experiment.watch(&mut simulation, |notes, revealed, _| {
        let mut events = arrived.take();
        for note in notes {
            let (at, party) = (note.at.since_start(), note.seat.get());
            if let Some((kind, slot, path)) = told(&note.event, party)? {
                events.push(Event { at, party, kind, slot, path, from: None });
            }
        }
        // Stable: at one instant what arrived comes before what it brought about.
        events.sort_by_key(|event| event.at);
        Ok(take(events, revealed / seats.max(1)))
    })
}

type What = (&'static str, u64, Option<Path>);

fn received<S: Priced>(message: &MessageOf<S>) -> Option<What> {
    match message {
        Message::Beacon(_, ::prefinal_beacon::Message::Partial { path, slot, .. }) => {
            Some(("partial", slot.get(), Some(*path)))
        }
        Message::Engine(_, message) => {
            let (kind, slot) = Jolteon::kind(message)?;
            Some((kind, slot.get(), None))
        }
        Message::Beacon(..) | Message::Beside(_) | Message::Ask { .. } | Message::Final { .. } => {
            None
        }
    }
}

fn told<S: Priced>(event: &Observation<S>, party: u32) -> Result<Option<What>, Failure> {
    let wrong = |what: &str| Err(Failure::Disagreement(format!("party {party}: {what}")));
    Ok(Some(match event {
        Observation::Ready { first, .. } => ("ready", first.get(), None),
        Observation::Act(_, Act::Ballot(Ballot::Proposed { round, .. })) => {
            ("proposed", *round, None)
        }
        Observation::Act(_, Act::Ballot(Ballot::Voted { round, .. })) => ("voted", *round, None),
        Observation::Act(_, Act::GaveUp(view)) => ("timed-out", view.slot.get(), None),
        Observation::Released(_, path, slot) => ("released", slot.get(), Some(*path)),
        Observation::Finalized(slot, _) => ("finalized", slot.get(), None),
        Observation::Revealed(reveal) => ("revealed", reveal.slot.get(), Some(reveal.path)),
        Observation::Skipped(slot) => ("skipped", slot.get(), None),
        Observation::Accused(whom, fault) => return wrong(&format!("accuses {whom}: {fault}")),
        Observation::Refused(why) => return wrong(why),
        _ => return Ok(None),
    }))
}
