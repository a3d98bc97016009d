//! One run of the engine, with the time at which each partial arrived.
//!
//! Engine, links and beacon are real, and only the links take time. Every party holds one share, so
//! every party sends a partial on either path. The time of its arrival does not depend on weights.

use crate::priced::Priced;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::rc::Rc;

use ::prefinal_beacon::{Message as Partial, Path, Slot};
use prefinal_protocol::Instant;
use prefinal_pvss_dkg::{Paths, Shape};
use prefinal_sim::Seat;
use prefinal_weighted_rounding::Weight;

use crate::committee::{Observation, Subject};
use crate::failure::Failure;
use crate::latency::{Experiment, PATIENCE};
use crate::legible::partial_in;
use prefinal_validator::Message;
use prefinal_validator::setup::{Algorithm, Plan};

/// When a partial came, by receiver, then sender; none if it never did.
type Arrivals = BTreeMap<(Path, Slot), Vec<Option<Instant>>>;

/// What happened when.
pub(super) struct Trace {
    parties: usize,
    /// When each party knew that a slot was final.
    finalized: BTreeMap<Slot, Vec<Option<Instant>>>,
    arrivals: Arrivals,
}

/// The plan of a committee in which every party holds one share.
pub(super) fn one_each(plan: &Plan) -> Result<Plan, Failure> {
    let parties = u32::try_from(plan.parties()).map_err(Failure::bad_input)?;
    let all_but = |part| Weight::new(parties - parties.div_ceil(part));
    let thresholds = Paths { slow: all_but(3), fast: Some(all_but(6)) };
    let shape = Shape::new(&vec![Weight::new(1); plan.parties()], thresholds);
    let shape = shape.map_err(Failure::bad_input)?;
    Ok(Plan { shape, choice: Algorithm::Fast, rounding: None, ..plan.clone() })
}

impl Trace {
    /// Runs the experiment until every party has so many values.
    pub(super) fn record<S: Priced, E: Subject>(
        experiment: &Experiment<S>,
    ) -> Result<Self, Failure> {
        let mut simulation = experiment.stage::<E>(Algorithm::Fast)?;
        let seats = simulation.host().seats();
        let parties = Seat::new(seats).index();
        let arrivals: Rc<RefCell<Arrivals>> = Rc::default();
        let seen = Rc::clone(&arrivals);
        simulation.host_mut().watch = Some(Box::new(move |now, at, from, message| {
            let in_vote = match message {
                Message::Engine(_, message) => partial_in::<S, E>(message),
                _ => None,
            };
            let partial = match message {
                Message::Beacon(_, message) => Some(message),
                _ => in_vote.as_ref(),
            };
            if let Some(Partial::Partial { path, slot, .. }) = partial {
                enter(&mut seen.borrow_mut(), parties, (*path, *slot), (at, from, now));
            }
        }));
        let wanted = experiment.slots.saturating_mul(seats.into());
        let mut revealed = 0_u64;
        simulation.run_watching(Instant::at(PATIENCE), |note| {
            revealed += u64::from(matches!(note.event, Observation::Revealed(_)));
            let over = revealed >= wanted || matches!(note.event, Observation::Halted(_));
            if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        simulation.host().check_halted()?;
        if revealed < wanted {
            let what = format!("{revealed} of {wanted} values");
            return Err(Failure::Disagreement(what));
        }
        let mut finalized: BTreeMap<Slot, Vec<Option<Instant>>> = BTreeMap::new();
        let mut valued = BTreeMap::new();
        for note in simulation.notes() {
            match &note.event {
                Observation::Finalized(slot, _) => {
                    let places = finalized.entry(*slot).or_insert_with(|| vec![None; parties]);
                    if let Some(place) = places.get_mut(note.seat.index()) {
                        place.get_or_insert(note.at);
                    }
                }
                Observation::Released(_, path, slot) => {
                    let own = (note.seat, note.seat, note.at);
                    enter(&mut arrivals.borrow_mut(), parties, (*path, *slot), own);
                }
                Observation::Revealed(reveal) => *valued.entry(reveal.slot).or_insert(0) += 1,
                _ => {}
            }
        }
        // The last slots are not complete everywhere.
        finalized.retain(|slot, _| valued.get(slot) == Some(&parties));
        let arrivals = arrivals.take();
        Ok(Self { parties, finalized, arrivals })
    }

    /// Slots, oldest first.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.finalized.keys().copied()
    }

    /// How many parties there are.
    pub(super) const fn parties(&self) -> usize {
        self.parties
    }

    /// When a party knew that a slot was final.
    pub(super) fn finalized(&self, slot: Slot, party: usize) -> Option<Instant> {
        self.finalized.get(&slot)?.get(party).copied().flatten()
    }

    /// When a party got whose partial.
    pub(super) fn arrivals(
        &self,
        path: Path,
        slot: Slot,
        party: usize,
    ) -> impl Iterator<Item = (Instant, usize)> {
        let row = self
            .arrivals
            .get(&(path, slot))
            .and_then(|all| all.get(party * self.parties..(party + 1) * self.parties));
        let row = row.unwrap_or_default().iter().enumerate();
        row.filter_map(|(from, at)| Some(((*at)?, from)))
    }
}

fn enter(
    arrivals: &mut Arrivals,
    parties: usize,
    of: (Path, Slot),
    (to, from, at): (Seat, Seat, Instant),
) {
    let all = arrivals.entry(of).or_insert_with(|| vec![None; parties * parties]);
    if let Some(place) = all.get_mut(to.index() * parties + from.index()) {
        place.get_or_insert(at);
    }
}
