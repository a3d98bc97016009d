//! Jolteon against Malachite: the same committee in the same places, nothing takes time but the links.
//!
//! The whole validator runs on either engine: key generation in blocks, the beacon, real signatures.
//! What parties would compute over and over is computed once (`Ground`, `Known`); what the engines
//! check they check each for itself, which takes real time and no virtual one. Most of it is Malachite's:
//! at every height each party verifies three signatures of each other, one by one, so twice the parties
//! take four times as long; and some heights pass before there are keys.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a bench that cannot be set up must not give figures"
)]
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use beacon::{Known, Slot, Wvuf};
use crypto_core::access::Party;
use jolteon::Jolteon;
use malachite::Malachite;
use prefinal_node::engine::{Engine, Listed, Work};
use prefinal_node::setup::{Algorithm, Plan, Setup};
use prefinal_node::simulate::committee::Ground;
use prefinal_node::simulate::lives::Lives;
use prefinal_node::stakes::StakeTable;
use prefinal_node::validator::{Effect, Event, Input, Job, Message, Record, Validator, Verdict};
use protocol::{Instant, Recipient};
use rows::{OURS, Sheet};
use sim::{GLOBAL, Geography, Host, Jitter, Network, Placement, Seat, Simulation, Step};
use weighted_rounding::{Ratio, Stake};

use crate::{Outcome, put_waits};

const SEED: u64 = 1;
/// In percent of half a round trip, as `prefinal simulate` has it.
const JITTER: u8 = 5;
const PATIENCE: Duration = Duration::from_secs(3600);

/// What is noted of a run.
enum Seen {
    Finalized(Slot),
    Revealed(Slot, [u8; 32]),
    Wrong(String),
}

struct Committee<E: Engine> {
    ground: Arc<Ground<Wvuf>>,
    setup: Arc<Setup>,
    known: Known<Wvuf>,
    lives: Lives,
    engine: std::marker::PhantomData<E>,
}

impl<E: Listed> Host for Committee<E> {
    type Machine = Validator<Wvuf, E>;
    type Message = Arc<Message<Wvuf, E::Message>>;
    type Job = Job<Wvuf, E::Job>;
    type Verdict = Verdict<Wvuf, E::Verdict>;
    type Event = Seen;

    fn boot(&mut self, seat: Seat, records: &[Record<E::Record>]) -> Self::Machine {
        let identity = Arc::clone(&self.ground.identities()[seat.index()]);
        let life = self.lives.begin(seat);
        Validator::new(Arc::clone(&self.setup), identity, life, records.to_vec())
            .unwrap_or_else(|error| panic!("{error}"))
    }

    fn first_input(&mut self, _: Seat) -> Option<Input<Wvuf, E>> {
        Some(Input::Start)
    }

    fn received(&mut self, _: Seat, from: Seat, message: &Self::Message) -> Input<Wvuf, E> {
        Input::Received { from: Party::new(from.get()), message: Message::clone(message) }
    }

    fn checked(&mut self, _: Seat, verdict: Self::Verdict) -> Input<Wvuf, E> {
        Input::Checked(verdict)
    }

    fn tick(&mut self, _: Seat) -> Input<Wvuf, E> {
        Input::Tick
    }

    fn carry_out(&mut self, effect: Effect<Wvuf, E>, step: &mut Step<'_, Self>) {
        match effect {
            Effect::Send { to, message } => {
                let to = match to {
                    Recipient::All => Recipient::All,
                    Recipient::One(party) => Recipient::One(Seat::new(party.get())),
                };
                step.send(to, Arc::new(message));
            }
            Effect::Run(job) => step.run(job),
            Effect::Tell(event) => step.note(match event {
                Event::Finalized { slot, .. } => Seen::Finalized(slot),
                Event::Revealed(reveal) => Seen::Revealed(reveal.slot, reveal.randomness()),
                Event::Accused { party, fault } => Seen::Wrong(format!("accuses {party}: {fault}")),
                Event::Skipped(slot) => Seen::Wrong(format!("{slot} has no value")),
                Event::Refused(why) => Seen::Wrong(why),
                Event::Halted(why) => Seen::Wrong(why.to_string()),
                Event::Dealing { .. } | Event::Ready { .. } | Event::Admitted(_) => return,
            }),
        }
    }

    fn run(&mut self, seat: Seat, job: Self::Job) -> (Self::Verdict, Duration) {
        let verdict = match job {
            Job::Engine(job) => Verdict::Engine(job.run()),
            Job::Keygen(job) => {
                let identity = &self.ground.identities()[seat.index()];
                Verdict::Keygen(self.ground.run(&self.setup, identity, &job))
            }
            Job::Beacon(job) => Verdict::Beacon(job.run_knowing(&mut self.known)),
        };
        (verdict, Duration::ZERO)
    }
}

/// What a run showed.
struct Run {
    waits: Vec<f64>,
    /// From one final slot to the next.
    slot: f64,
}

/// Both engines on both paths.
pub(crate) fn compare(sheet: &mut Sheet, quick: bool) -> Outcome<()> {
    let (parties, slots) = if quick { (16, 10) } else { (32, 20) };
    let stakes = StakeTable::embedded()?.largest(parties).ok_or("too few holders")?;
    // In thousandths of a coin: Malachite counts to a third of 2⁶⁴.
    let stakes: Vec<Stake> =
        stakes.into_iter().map(|stake| Stake::new(stake.get() / 100_000)).collect();
    let plan = Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS)?;
    let ground = Arc::new(Ground::new(&plan, SEED)?);
    ground.deal();
    sheet.command("cargo run --release -p prefinal-geo");
    for (path, fast_after) in [("slow", u64::MAX), ("fast", 0)] {
        let runs = std::thread::scope(|scope| {
            let one = scope.spawn(|| {
                run::<Jolteon>(&ground, fast_after, slots).map_err(|error| error.to_string())
            });
            let other = run::<Malachite>(&ground, fast_after, slots)?;
            let one = one.join().map_err(|_| "a run ended in a panic")??;
            Outcome::Ok([("Jolteon", one), ("Malachite", other)])
        })?;
        for (engine, run) in runs {
            let case = format!("{engine}, {path} path, {parties} parties, {slots} slots");
            put_waits(sheet, ("geo::engines", &case), &run.waits)?;
            sheet.of("geo::engines", &case).put(OURS, "slot", run.slot, "ms");
        }
    }
    Ok(())
}

fn run<E: Listed>(ground: &Arc<Ground<Wvuf>>, fast_after: u64, slots: usize) -> Outcome<Run> {
    let mut setup = ground.setup().clone();
    setup.fast_after = fast_after;
    let seats = u32::try_from(setup.members.len())?;
    let placement = Placement::dealt(&Geography::aws()?, seats, &GLOBAL, SEED)?;
    let (setup, known) = (Arc::new(setup), Known::default());
    let (lives, engine) = (Lives::default(), std::marker::PhantomData);
    let host: Committee<E> = Committee { ground: Arc::clone(ground), setup, known, lives, engine };
    let network = Network::placed(placement, Jitter::Percent(JITTER));
    let mut simulation = Simulation::new(host, sim::Setup::new(seats, SEED, network))?;
    let wanted = slots * usize::try_from(seats)?;
    let mut revealed = 0;
    simulation.run_watching(Instant::at(PATIENCE), |note| {
        revealed += usize::from(matches!(note.event, Seen::Revealed(..)));
        if revealed < wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let (mut finalized, mut values) = (BTreeMap::new(), BTreeMap::new());
    let mut waits = Vec::with_capacity(wanted);
    for note in simulation.take_notes() {
        match note.event {
            Seen::Finalized(slot) => drop(finalized.insert((note.seat, slot), note.at)),
            Seen::Revealed(slot, value) => {
                if *values.entry(slot).or_insert(value) != value {
                    return Err(format!("{slot} has two values").into());
                }
                let final_at = finalized.get(&(note.seat, slot)).copied().unwrap_or(note.at);
                waits.push(note.at.since(final_at).as_secs_f64() * 1e3);
            }
            Seen::Wrong(what) => return Err(format!("{}: {what}", note.seat).into()),
        }
    }
    if waits.len() < wanted {
        return Err(format!("{} of {wanted} values", waits.len()).into());
    }
    let first = |slot: &Slot| finalized.get(&(Seat::new(0), *slot)).copied();
    let ends =
        values.keys().next().and_then(first).zip(values.keys().filter_map(first).next_back());
    let (start, end) = ends.ok_or("no slots")?;
    let gaps = f64::from(u32::try_from(values.keys().filter_map(first).count() - 1)?);
    Ok(Run { waits, slot: end.since(start).as_secs_f64() * 1e3 / gaps })
}
