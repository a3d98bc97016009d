//! A seeded run, event by event, for analysis in other programs.
//!
//! The committee, the engines, the links and the prices are those of the latency experiment; [`Fault`]s may be added.
//! Nothing is printed or written: the caller gets the events in portions, in the order of virtual time, and at the end
//! when each slot was final and computable. The same order of a run gives the same events, unless costs are measured.
//!
//! The Python package uses this. The experiment with its summary is in `latency`.

use crate::priced::Priced;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

pub use ::prefinal_beacon::Path;
use prefinal_crypto_core::access::Party;
use prefinal_engine::Engine;
use prefinal_sim::{Geography, Jitter, Network, Note, Placement, Seat};
pub use prefinal_sim::{Interface, Rate, RateError};
use prefinal_weighted_rounding::{Ratio, Stake};

use super::committee::{Ground, Observation, Prices, Subject};
use super::costs::Costs;
use super::latency::{Experiment, Goal};
use crate::campaign::{Forge, Junk};
use crate::failure::Failure;
use crate::faults::Fault;
use crate::finality::Ballot;
use crate::global::{Exceptions, GlobalClocks, SlotTimes};
use crate::legible::Act;
use crate::local::Imperfections;
use crate::machine::MessageOf;
use crate::place::{place, place_on};
use crate::seating::Seating;
use crate::weighing::Weighing;
use prefinal_registry::{engine, scheme};
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

impl CostModel {
    /// The costs, measured or read; `None` if nothing costs anything.
    ///
    /// # Errors
    /// If the text is none of costs.
    pub fn costs(&self) -> Result<Option<Costs>, Failure> {
        Ok(match self {
            Self::Nothing => None,
            Self::Measured => Some(Costs::measure()?),
            Self::Given(text) => {
                let costs = serde_json::from_str(text);
                Some(costs.map_err(|error| Failure::bad_input(format!("costs: {error}")))?)
            }
        })
    }
}

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct Order {
    /// The stakes of the parties, in their order.
    pub stakes: Vec<Stake>,
    /// Their weights and thresholds.
    pub weighing: Weighing,
    /// Regions in which the parties are placed in turn; or `all` or `none` alone, as for the command.
    pub regions: Vec<String>,
    /// Round trips between regions, as CSV with the columns `from,to,p50_ms,p90_ms`; `None` takes those of AWS.
    pub round_trips: Option<String>,
    /// The engine that orders the slots.
    pub engine: engine::Name,
    /// The scheme that is evaluated.
    pub scheme: scheme::Name,
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
    /// Rate of each party's interface in each direction; `None` limits nothing.
    pub interface: Option<Rate>,
    /// Rate of each connection between two parties in each direction; `None` limits nothing.
    pub connection: Option<Rate>,
    /// Number of cores of each party.
    pub cores: NonZeroU32,
    /// The costs of cryptography.
    pub charge: CostModel,
    /// Whether each message that arrives is reported as an event.
    pub messages: bool,
    /// Losses, partitions, crashes and wrongs that parties do, all at once.
    pub faults: Vec<Fault>,
}

/// An event of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happened, in virtual time.
    pub at: Duration,
    /// The index of the party, the same for both twins.
    pub party: u32,
    /// The kind of event: `ready`, `proposed`, `voted`, `released`, `finalized`, `revealed`, `skipped`,
    /// `timed-out`, `accused`; or for a message that arrives `partial`, or what the engine calls it, such as
    /// `proposal`, `vote`, `order-vote`, `timeout`.
    pub kind: &'static str,
    /// The slot; rounds of the engine are slots. Zero for `accused`.
    pub slot: u64,
    /// The path, for a partial or a value.
    pub path: Option<Path>,
    /// The sender of a message; the party that is `accused`.
    pub from: Option<u32>,
}

/// Makes the run. `take` gets the events in portions, each with the number of slots of which every
/// party has the value, but for parties that crash for good. It may end the run. The result says when slots were final
/// and their values computable, whether or not anybody knew it.
///
/// # Errors
/// If a committee, region, cost or fault makes no sense, or if honest parties disagree or do not finish.
pub fn observe(
    order: &Order,
    take: &mut dyn FnMut(Vec<Event>, u64) -> ControlFlow<()>,
) -> Result<Vec<SlotTimes>, Failure> {
    prefinal_registry::types!(order.scheme, order.engine, S, E => run::<S, E>(order, take))
}

impl Order {
    /// Stakes, weights and thresholds of the committee that is asked for.
    ///
    /// # Errors
    /// If there is no such committee.
    pub fn plan(&self) -> Result<Plan, Failure> {
        Ok(self.weighing.plan(self.stakes.clone(), self.algorithm, self.fast)?)
    }

    /// The prices of work: those of the costs, or nothing.
    ///
    /// # Errors
    /// If the text is none of costs.
    pub fn prices(&self) -> Result<Prices, Failure> {
        let costs = self.charge.costs()?;
        Ok(costs.map_or(Prices::FREE, |costs| Prices::Measured { costs, cores: self.cores }))
    }

    /// Where so many parties are; `None` is one room.
    ///
    /// # Errors
    /// If a table of round trips is none, or a region is not in it.
    pub fn placement(&self, parties: usize) -> Result<Option<Placement>, Failure> {
        let Some(table) = &self.round_trips else {
            return place(&self.regions, parties, self.seed);
        };
        let geography = Geography::parse(table);
        let geography =
            geography.map_err(|error| Failure::bad_input(format_args!("round trips: {error}")))?;
        place_on(&geography, &self.regions, parties, self.seed)
    }

    /// The links between so many parties, with their faults.
    ///
    /// # Errors
    /// If a table of round trips is none, or a region is not in it.
    pub fn network(&self, parties: usize) -> Result<Network, Failure> {
        let mut network = match self.placement(parties)? {
            Some(mut placement) => {
                // Twins sit where their party sits.
                self.twins()
                    .iter()
                    .for_each(|party| placement.place_beside(Seat::new(party.get())));
                Network::placed(placement, Jitter::Percent(self.jitter))
            }
            None => Network::constant(Duration::ZERO),
        };
        if let Some(rate) = self.interface {
            network = network.with_interfaces(Interface::duplex(rate));
        }
        if let Some(rate) = self.connection {
            network = network.with_connections(rate);
        }
        let mut seating = Seating::new((0..).map(Party::new).take(parties));
        seating.extend(self.twins());
        Ok(self.faults.iter().fold(network, |network, fault| fault.on(network, &seating)))
    }

    fn twins(&self) -> BTreeSet<Party> {
        self.faults.iter().filter_map(Fault::twin).collect()
    }

    fn exceptions(&self, imperfections: Imperfections) -> Exceptions {
        let mut exceptions = Exceptions { imperfections, ..Exceptions::default() };
        self.faults.iter().for_each(|fault| fault.add_to(&mut exceptions));
        exceptions
    }
}

fn experiment<S: Priced>(order: &Order) -> Result<Experiment<S>, Failure> {
    let plan = order.plan()?;
    let seats = u32::try_from(plan.parties()).map_err(Failure::bad_input)?;
    order.faults.iter().try_for_each(|fault| fault.check(seats))?;
    let network = order.network(plan.parties())?;
    let prices = order.prices()?;
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

fn run<S: Priced + Forge, E: Subject>(
    order: &Order,
    take: &mut dyn FnMut(Vec<Event>, u64) -> ControlFlow<()>,
) -> Result<Vec<SlotTimes>, Failure>
where
    <E as Engine>::Message: Junk,
{
    let experiment = experiment::<S>(order)?;
    let mut simulation = experiment.stage_with_twins::<E>(order.algorithm, order.twins())?;
    order.faults.iter().try_for_each(|fault| fault.arm(&mut simulation))?;
    let seating = simulation.host().seating().clone();
    let absent = order.faults.iter().filter_map(Fault::ends).collect();
    let goal = Goal::Each { absent: seating.all_of(&absent) };
    let awaited = goal.awaited(simulation.host().seats()).max(1);
    let arrived: Rc<RefCell<Vec<Event>>> = Rc::default();
    if order.messages {
        let arrived = Rc::clone(&arrived);
        simulation.host_mut().watch = Some(Box::new(move |now, at, from, message| {
            if let Some((kind, slot, path)) = received::<S, E>(message) {
                let (party, from) = (seating.party(at).get(), Some(seating.party(from).get()));
                let event = Event { at: now.since_start(), party, kind, slot, path, from };
                arrived.borrow_mut().push(event);
            }
        }));
    }
    let imperfections = Imperfections::new(experiment.prices, &experiment.network);
    let exceptions = order.exceptions(imperfections);
    let mut clocks = GlobalClocks::new(exceptions.clone());
    experiment.watch(&mut simulation, &goal, |notes, revealed, host| {
        clocks.learn(&host.setups());
        let mut events = arrived.take();
        for note in &notes {
            let party = host.party(note.seat);
            clocks.take(party, note);
            events.extend(told(party, note, &exceptions.faulty)?);
        }
        // Stable: at one instant what arrived comes before what it brought about.
        events.sort_by_key(|event| event.at);
        Ok(take(events, revealed / awaited))
    })?;
    Ok(clocks.close()?)
}

type What = (&'static str, u64, Option<Path>);

fn received<S: Priced, E: Subject>(message: &MessageOf<S, E>) -> Option<What> {
    match message {
        Message::Beacon(_, ::prefinal_beacon::Message::Partial { path, slot, .. }) => {
            Some(("partial", slot.get(), Some(*path)))
        }
        Message::Engine(_, message) => {
            let (kind, slot) = E::kind(message)?;
            Some((kind, slot.get(), None))
        }
        Message::Beacon(..) | Message::Beside(_) | Message::Ask { .. } | Message::Final { .. } => {
            None
        }
    }
}

/// The event of a note. What faulty parties say of others proves nothing.
fn told<S: Priced>(
    party: Party,
    note: &Note<Observation<S>>,
    faulty: &BTreeSet<Party>,
) -> Result<Option<Event>, Failure> {
    let is_faulty = faulty.contains(&party);
    let (at, party) = (note.at.since_start(), party.get());
    let wrong = |what: &str| match is_faulty {
        true => Ok(None),
        false => Err(Failure::Disagreement(format!("party {party}: {what}"))),
    };
    let (kind, slot, path) = match &note.event {
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
        Observation::Accused(whom, _) if faulty.contains(whom) => {
            let (slot, path, from) = (0, None, Some(whom.get()));
            return Ok(Some(Event { at, party, kind: "accused", slot, path, from }));
        }
        Observation::Accused(whom, fault) => return wrong(&format!("accuses {whom}: {fault}")),
        Observation::Refused(why) => return wrong(why),
        _ => return Ok(None),
    };
    Ok(Some(Event { at, party, kind, slot, path, from: None }))
}
