//! Seven real validators of unequal stake in the simulator, in each scheme.
//!
//! Engine, key generation, beacon and cryptography are the real ones; the simulator supplies links,
//! crashes and Byzantine rules. Keys are the same in every run, so what the key generation computes
//! is computed once for all tests; what differs from seed to seed is where the parties sit and every
//! delay. What must hold of every run is in `prefinal_lab::check`.

use prefinal_lab::local::Imperfections;
use prefinal_lab::priced::Priced;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use prefinal_beacon::{Bls, Path, Reveal, Slot, Wvuf};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::curve::{G1Affine, G2Affine, Scalar};
use prefinal_lab::check::{Trial, Violation};
pub(crate) use prefinal_lab::committee::{
    Ground, Knowledge, Observation, Prices, Tamper, ValidatorHost,
};
use prefinal_lab::global::SlotTimes;
use prefinal_lab::latency::Experiment;
use prefinal_protocol::Instant;
use prefinal_sim::{Disk, GLOBAL, Geography, Jitter, Network, Note, Placement, Seat, Simulation};
use prefinal_validator::setup::{Algorithm, Plan};
use prefinal_weighted_rounding::{Ratio, Stake};

/// Of 1000 in all: a quorum is 667, and at most 333 may be faulty.
const STAKES: [u128; 7] = [310, 240, 150, 110, 90, 60, 40];

/// Between any two parties, where nothing but messages takes time.
pub(crate) const LINK: Duration = Duration::from_millis(50);

/// Five parties on equal links, whose computation takes no time.
pub(crate) fn on_equal_links(slots: u64) -> Experiment<Wvuf> {
    let stakes = [30, 25, 20, 15, 10].map(Stake::new).to_vec();
    let plan = Plan::new(stakes, Algorithm::Fast, Ratio::new(84, 100).unwrap()).unwrap();
    Experiment {
        ground: Arc::new(Ground::new(&plan, 1).unwrap()),
        prices: Prices::FREE,
        network: Network::constant(LINK),
        cores: NonZeroU32::MIN,
        seed: 1,
        slots,
    }
}

/// Virtual time after which a run has failed.
const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) use prefinal_lab::machine::MessageOf;
pub(crate) use prefinal_validator::Message;

/// A scheme that is tested.
pub(crate) trait Lab: Priced {
    /// The committee that follows an algorithm.
    fn ground(algorithm: Algorithm) -> Arc<Ground<Self>>;

    /// Points that are nobody's evaluation of anything, as many as asked for if they matter.
    fn junk(points: usize) -> Self::Partial;

    /// How many points a partial has.
    fn points(partial: &Self::Partial) -> usize;
}

impl Lab for Bls {
    fn ground(algorithm: Algorithm) -> Arc<Ground<Self>> {
        static BOTH: LazyLock<Arc<Ground<Bls>>> = LazyLock::new(|| found(Algorithm::Fast));
        static TIGHT: LazyLock<Arc<Ground<Bls>>> = LazyLock::new(|| found(Algorithm::Tight));
        Arc::clone(if algorithm == Algorithm::Tight { &TIGHT } else { &BOTH })
    }

    fn junk(points: usize) -> Self::Partial {
        static POINT: LazyLock<G1Affine> =
            LazyLock::new(|| (G1Affine::generator() * Scalar::from_u64(77)).to_affine());
        borsh::from_slice(&borsh::to_vec(&vec![*POINT; points]).unwrap()).unwrap()
    }

    fn points(partial: &Self::Partial) -> usize {
        partial.points().len()
    }
}

impl Lab for Wvuf {
    fn ground(algorithm: Algorithm) -> Arc<Ground<Self>> {
        static BOTH: LazyLock<Arc<Ground<Wvuf>>> = LazyLock::new(|| found(Algorithm::Fast));
        static TIGHT: LazyLock<Arc<Ground<Wvuf>>> = LazyLock::new(|| found(Algorithm::Tight));
        Arc::clone(if algorithm == Algorithm::Tight { &TIGHT } else { &BOTH })
    }

    fn junk(_: usize) -> Self::Partial {
        static POINT: LazyLock<G2Affine> =
            LazyLock::new(|| (G2Affine::generator() * Scalar::from_u64(77)).to_affine());
        borsh::from_slice(&POINT.to_bytes()).unwrap()
    }

    fn points(_: &Self::Partial) -> usize {
        1
    }
}

fn found<S: Priced>(algorithm: Algorithm) -> Arc<Ground<S>> {
    Arc::new(Ground::new(&plan(algorithm), 1).expect("the plan fits together"))
}

/// The parties that take part.
pub(crate) fn plan(algorithm: Algorithm) -> Plan {
    let stakes = STAKES.into_iter().map(Stake::new).collect();
    let fast = Ratio::new(5, 6).expect("below one");
    Plan::new(stakes, algorithm, fast).expect("seven can be rounded")
}

/// Path and slot, if the message is a partial.
pub(crate) fn partial_of<S: Priced>(message: &MessageOf<S>) -> Option<(Path, Slot)> {
    match message {
        Message::Beacon(_, prefinal_beacon::Message::Partial { path, slot, .. }) => {
            Some((*path, *slot))
        }
        _ => None,
    }
}

pub(crate) fn party(seat: Seat) -> Party {
    Party::new(seat.get())
}

pub(crate) fn seats() -> impl Iterator<Item = Seat> {
    (0..7).map(Seat::new)
}

/// What a run starts from.
pub(crate) struct Scene {
    pub(crate) name: String,
    pub(crate) seed: u64,
    pub(crate) algorithm: Algorithm,
    pub(crate) network: Network,
    pub(crate) compute: Duration,
    /// How many slots every honest seat has to reveal.
    pub(crate) slots: u64,
    /// Seats that need not be right, reveal, or be spared from accusations.
    pub(crate) faulty: BTreeSet<Seat>,
    /// Whether every seat checks everything itself.
    pub(crate) alone: bool,
}

impl Scene {
    /// Both paths, parties spread over the world by the seed, a little compute, four slots.
    pub(crate) fn new(name: impl Into<String>, seed: u64) -> Self {
        let geography = Geography::aws().expect("the table is part of the crate");
        let placement = Placement::dealt(&geography, 7, &GLOBAL, seed).expect("known regions");
        Self {
            name: name.into(),
            seed,
            algorithm: Algorithm::Fast,
            network: Network::placed(placement, Jitter::Percent(5)),
            compute: Duration::from_millis(1),
            slots: 4,
            faulty: BTreeSet::new(),
            alone: false,
        }
    }

    pub(crate) fn faulty(mut self, seats: impl IntoIterator<Item = u32>) -> Self {
        self.faulty = seats.into_iter().map(Seat::new).collect();
        self
    }

    pub(crate) fn stage<S: Lab>(self) -> Run<S> {
        let ground = S::ground(self.algorithm);
        let mut setup = ground.setup().clone();
        setup.choice = self.algorithm;
        setup.fast_after = if self.algorithm == Algorithm::Slow { u64::MAX } else { 0 };
        let host = ValidatorHost::new(ground, setup, Prices::Flat(self.compute));
        let knowledge = (!self.alone).then(Knowledge::default);
        let host = host.expect("the set-up is legal").knowing(knowledge);
        let mut world = prefinal_sim::Setup::new(7, self.seed, self.network);
        world.cores = NonZeroU32::new(4).expect("four");
        let simulation = Simulation::new(host, world).expect("seven seats");
        let label = format!("{}, seed {}", self.name, self.seed);
        Run { simulation, label, faulty: self.faulty, slots: self.slots }
    }
}

/// A run under way, then over.
pub(crate) struct Run<S: Priced> {
    pub(crate) simulation: Simulation<ValidatorHost<S>>,
    pub(crate) label: String,
    pub(crate) faulty: BTreeSet<Seat>,
    slots: u64,
}

/// Which slots each seat has revealed, and the first with a value.
#[derive(Default)]
struct Progress {
    first: Option<Slot>,
    revealed: BTreeMap<Seat, BTreeSet<Slot>>,
}

impl Progress {
    fn see<S: Priced>(&mut self, note: &Note<Observation<S>>) {
        match &note.event {
            Observation::Ready { first, .. } => self.first = Some(*first),
            Observation::Revealed(reveal) => {
                self.revealed.entry(note.seat).or_default().insert(reveal.slot);
            }
            _ => {}
        }
    }

    fn lacks(&self, seat: Seat, slots: u64) -> Option<Slot> {
        let first = self.first?;
        let mut wanted = (0..slots).map(|ahead| first.after(ahead));
        wanted.find(|slot| !self.revealed.get(&seat).is_some_and(|seen| seen.contains(slot)))
    }
}

impl<S: Priced> Run<S> {
    pub(crate) fn honest(&self) -> impl Iterator<Item = Seat> {
        seats().filter(|seat| !self.faulty.contains(seat))
    }

    /// Runs until every honest seat has revealed its slots, and checks what must hold.
    pub(crate) fn finish(&mut self) -> &mut Self {
        let waiting: Vec<Seat> = self.honest().collect();
        self.run_until_revealed(&waiting);
        self.verdict().unwrap_or_else(|violation| panic!("{}: {violation}", self.label));
        self
    }

    /// What must hold of every run.
    pub(crate) fn verdict(&self) -> Result<(), Violation> {
        self.verdict_of(self.simulation.notes())
    }

    /// The global times of the slots.
    pub(crate) fn times(&self) -> Vec<SlotTimes> {
        self.judge(self.simulation.notes(), |trial| trial.global_times()).unwrap()
    }

    /// The same of other notes.
    pub(crate) fn verdict_of(&self, notes: &[Note<Observation<S>>]) -> Result<(), Violation> {
        self.judge(notes, |trial| trial.check().map(drop))
    }

    fn judge<T>(&self, notes: &[Note<Observation<S>>], by: impl Fn(&Trial<'_, S>) -> T) -> T {
        let faulty = self.faulty.iter().map(|seat| party(*seat)).collect();
        let crashed = self.simulation.crashed().map(party).collect();
        let trial = Trial {
            ground: self.simulation.host().ground(),
            setups: &self.simulation.host().setups(),
            parties: &party,
            faulty: &faulty,
            crashed: &crashed,
            imperfections: Imperfections::new(
                self.simulation.host().prices(),
                self.simulation.network(),
            ),
            before: &[],
            notes,
        };
        by(&trial)
    }

    /// Runs until these seats have revealed their slots.
    pub(crate) fn run_until_revealed(&mut self, waiting: &[Seat]) {
        let slots = self.slots;
        let mut progress = Progress::default();
        self.simulation.notes().iter().for_each(|note| progress.see(note));
        let done = |progress: &Progress| {
            progress.first.is_some()
                && waiting.iter().all(|seat| progress.lacks(*seat, slots).is_none())
        };
        if done(&progress) {
            return;
        }
        let stop = self.simulation.run_watching(Instant::at(PATIENCE), |note| {
            progress.see(note);
            let revealed = matches!(note.event, Observation::Revealed(_));
            if revealed && done(&progress) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        let late: Vec<_> = waiting
            .iter()
            .filter(|seat| progress.first.is_none() || progress.lacks(**seat, slots).is_some())
            .map(|seat| (*seat, progress.lacks(*seat, slots)))
            .collect();
        assert!(
            late.is_empty(),
            "{}: {stop:?} at {:?}, first slot {:?}, these lack a slot: {late:?}",
            self.label,
            self.simulation.now(),
            progress.first
        );
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        let until = self.simulation.now() + span;
        self.simulation.run(until);
    }

    /// Runs until a seat that was to crash is down.
    pub(crate) fn run_until_down(&mut self, seat: Seat) {
        for _ in 0..100_000 {
            self.run_for(Duration::from_millis(5));
            if self.simulation.machine(seat).is_none() {
                return;
            }
        }
        panic!("{}: {seat} does not crash", self.label);
    }

    pub(crate) fn restart(&mut self, seat: Seat, after: Duration, disk: Disk) {
        let at = self.simulation.now() + after;
        self.simulation.restart(seat, at, disk).expect("the seat exists");
    }

    /// The notes of honest seats.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &Note<Observation<S>>> {
        self.simulation.notes().iter().filter(|note| !self.faulty.contains(&note.seat))
    }

    /// The first note of a seat for which this gives something.
    pub(crate) fn find<T>(
        &self,
        seat: Seat,
        mut what: impl FnMut(&Observation<S>) -> Option<T>,
    ) -> (Instant, T) {
        let mut notes = self.simulation.notes().iter().filter(|note| note.seat == seat);
        let found = notes.find_map(|note| Some((note.at, what(&note.event)?)));
        found.unwrap_or_else(|| panic!("{}: {seat} has noted nothing of the kind", self.label))
    }

    pub(crate) fn ready_at(&self, seat: Seat) -> Duration {
        self.find(seat, |seen| matches!(seen, Observation::Ready { .. }).then_some(()))
            .0
            .since_start()
    }

    pub(crate) fn first_value_at(&self, seat: Seat) -> Duration {
        self.find(seat, |seen| matches!(seen, Observation::Revealed(_)).then_some(()))
            .0
            .since_start()
    }

    /// All reveals of honest seats.
    pub(crate) fn reveals(&self) -> impl Iterator<Item = (Seat, Instant, &Reveal<S>)> {
        self.notes().filter_map(|note| match &note.event {
            Observation::Revealed(reveal) => Some((note.seat, note.at, &**reveal)),
            _ => None,
        })
    }

    /// Between finality and value, for every reveal of an honest seat.
    pub(crate) fn waits(&self) -> Vec<Duration> {
        let finalized: BTreeMap<(Seat, Slot), Instant> = self
            .notes()
            .filter_map(|note| match note.event {
                Observation::Finalized(slot, _) => Some(((note.seat, slot), note.at)),
                _ => None,
            })
            .collect();
        let waits =
            self.reveals().map(|(seat, at, reveal)| at.since(finalized[&(seat, reveal.slot)]));
        waits.collect()
    }

    /// Whom honest seats accuse, and of what.
    pub(crate) fn accusations(&self) -> BTreeSet<(Party, String)> {
        let accused = self.notes().filter_map(|note| match &note.event {
            Observation::Accused(party, fault) => Some((*party, fault.clone())),
            _ => None,
        });
        accused.collect()
    }

    /// What honest seats refused.
    pub(crate) fn refusals(&self) -> BTreeSet<String> {
        let refused = self.notes().filter_map(|note| match &note.event {
            Observation::Refused(why) => Some(why.clone()),
            _ => None,
        });
        refused.collect()
    }
}
