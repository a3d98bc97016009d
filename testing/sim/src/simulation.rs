//! The interface of the simulation: set it up, schedule faults, run it, read the results.

use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::time::Duration;

use prefinal_protocol::{Instant, Recipient};
use thiserror::Error;

use crate::dice::Dice;
use crate::drive::Event;
use crate::host::{Host, InputOf, RecordOf, Seat};
use crate::network::Network;
use crate::placement::RelocationError;
use crate::post::Shared;
use crate::rule::Rule;
use crate::schedule::Schedule;
use crate::station::Station;
use crate::time::{ClockJump, instant, since_start};
use crate::traffic::{Traffic, Traffics};

/// Largest number of seats, more than any committee has. It catches typing errors.
const MOST_SEATS: u32 = 65_536;

/// Everything that a run depends on, besides the host.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Number of seats.
    pub seats: u32,
    /// Number of lanes of each seat.
    pub cores: NonZeroU32,
    /// Seed of all randomness. Print it with the results of the run.
    pub seed: u64,
    /// The links between the seats, with their faults.
    pub network: Network,
    /// The run stops after this number of events, in case it would not end by itself.
    pub most_events: u64,
}

impl Setup {
    /// One core per seat and no bound on events.
    #[must_use]
    pub const fn new(seats: u32, seed: u64, network: Network) -> Self {
        Self { seats, cores: NonZeroU32::MIN, seed, network, most_events: u64::MAX }
    }
}

/// Why a simulation cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SetupError {
    /// Too few or too many seats.
    #[error("{got} seats, expected 1 to {MOST_SEATS}")]
    Seats {
        /// Number of seats that was asked for.
        got: u32,
    },
    /// The placement has fewer places than there are seats.
    #[error("{seats} seats, but the network has places for {places}")]
    Places {
        /// Number of seats that was asked for.
        seats: u32,
        /// Number of places in the placement.
        places: usize,
    },
}

/// A seat that the simulation does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no {seat} among {seats}")]
pub struct UnknownSeat {
    /// The seat that was asked for.
    pub seat: Seat,
    /// Number of seats.
    pub seats: usize,
}

/// The content of a restarted seat's disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// Every record that was written.
    Kept,
    /// No record: the disk was lost.
    Lost,
}

/// Why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing is left to happen.
    Idle,
    /// The time is up, and more events would happen later.
    Deadline,
    /// The watcher stopped it.
    Watcher,
    /// [`Setup::most_events`] have happened.
    Events,
    /// This seat's machine, or one of its rules, asks without end to be woken at the same instant.
    Spinning(Seat),
}

/// An event that a machine reported, with time and seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note<E> {
    /// When it was reported, in virtual time.
    pub at: Instant,
    /// When the step ended in which it was reported. What the step sends leaves then, all together.
    pub left: Instant,
    /// The seat that reported it.
    pub seat: Seat,
    /// The event.
    pub event: E,
}

/// Counters of what has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events of the schedule that were processed.
    pub events: u64,
    /// Inputs that machines handled.
    pub steps: u64,
    /// Jobs that were started.
    pub jobs: u64,
    /// Envelopes that left, counted once per recipient.
    pub sent: u64,
    /// Envelopes that arrived at a machine.
    pub arrived: u64,
    /// Messages in these envelopes.
    pub delivered: u64,
    /// Envelopes that were lost by a [`Loss`](crate::Loss).
    pub lost: u64,
    /// Envelopes that a partition dropped.
    pub cut: u64,
    /// Envelopes that a partition held back.
    pub held: u64,
    /// Envelopes that arrived while the seat was down.
    pub down: u64,
    /// Messages for seats that do not exist.
    pub misaddressed: u64,
}

/// A run: machines in seats, links between them, one clock.
///
/// Two seats, one message, and the time it takes:
/// ```
/// use std::time::Duration;
///
/// use prefinal_protocol::{Instant, Machine, Output, Recipient};
/// use prefinal_sim::{Host, Network, Seat, Setup, Simulation, Step, Stop};
///
/// /// Greets when it starts; hears what others say.
/// #[derive(Default)]
/// struct Greeter(Option<Said>);
/// enum Said { Start, Heard(String) }
///
/// impl Machine for Greeter {
///     type Input = Said;
///     type Record = ();
///     type Effect = Said;
///     fn handle(&mut self, _: Instant, input: Said) { self.0 = Some(input) }
///     fn poll(&mut self) -> Option<Output<(), Said>> { self.0.take().map(Output::Do) }
///     fn wake_at(&self) -> Option<Instant> { None }
/// }
///
/// struct Greeters;
/// impl Host for Greeters {
///     type Machine = Greeter;
///     type Message = String;
///     type Job = ();
///     type Verdict = ();
///     type Event = String;
///     fn boot(&mut self, _: Seat, _: &[()]) -> Greeter { Greeter::default() }
///     fn first_input(&mut self, _: Seat) -> Option<Said> { Some(Said::Start) }
///     fn received(&mut self, _: Seat, from: Seat, words: &String) -> Said {
///         Said::Heard(format!("{words} from {from}"))
///     }
///     fn checked(&mut self, _: Seat, (): ()) -> Said { Said::Start }
///     fn tick(&mut self, _: Seat) -> Said { Said::Start }
///     fn carry_out(&mut self, effect: Said, step: &mut Step<'_, Self>) {
///         match effect {
///             Said::Start => step.send(Recipient::All, "hello".to_owned()),
///             Said::Heard(words) => step.note(words),
///         }
///     }
///     fn run(&mut self, _: Seat, (): ()) -> ((), Duration) { ((), Duration::ZERO) }
/// }
///
/// let network = Network::constant(Duration::from_millis(40));
/// let mut simulation = Simulation::new(Greeters, Setup::new(2, 7, network))?;
/// assert_eq!(simulation.run(Instant::at(Duration::from_secs(1))), Stop::Idle);
/// let first = &simulation.notes()[0];
/// assert_eq!((first.seat, first.event.as_str()), (Seat::new(1), "hello from seat 0"));
/// assert_eq!(first.at, Instant::at(Duration::from_millis(40)));
/// # Ok::<(), prefinal_sim::SetupError>(())
/// ```
pub struct Simulation<H: Host> {
    pub(crate) host: H,
    pub(crate) stations: Vec<Station<H>>,
    pub(crate) schedule: Schedule<Event<H>>,
    pub(crate) network: Network,
    /// Interfaces, where links have limits.
    pub(crate) traffic: Option<Traffics<Shared<H>>>,
    pub(crate) dice: Dice,
    pub(crate) now: u64,
    pub(crate) notes: Vec<Note<H::Event>>,
    pub(crate) counters: Counters,
    pub(crate) spinning: Option<Seat>,
    /// Letters of the step being finished; kept for its allocation.
    pub(crate) mail: Vec<(Recipient<Seat>, H::Message)>,
    fingerprint: u64,
    most_events: u64,
    seed: u64,
}

impl<H: Host> Simulation<H> {
    /// Puts a machine into every seat. The machines boot at time zero, in order, when the run begins.
    ///
    /// # Errors
    /// If there are no seats, too many, or fewer places than seats.
    pub fn new(host: H, setup: Setup) -> Result<Self, SetupError> {
        let Setup { seats, cores, seed, network, most_events } = setup;
        if !(1..=MOST_SEATS).contains(&seats) {
            return Err(SetupError::Seats { got: seats });
        }
        if let Some(places) = network.places().filter(|&places| places < Seat::new(seats).index()) {
            return Err(SetupError::Places { seats, places });
        }
        let mut schedule = Schedule::new();
        for seat in 0..seats {
            schedule.push(0, Event::Boot { seat: Seat::new(seat), disk: Disk::Kept });
        }
        let limits = network.limits().cloned();
        Ok(Self {
            host,
            traffic: limits.map(|limits| Traffics::new(limits, seats, network.is_in_order())),
            stations: (0..seats).map(|_| Station::new(cores)).collect(),
            schedule,
            network,
            dice: Dice::new(seed),
            now: 0,
            notes: Vec::new(),
            counters: Counters::default(),
            spinning: None,
            mail: Vec::new(),
            fingerprint: seed,
            most_events,
            seed,
        })
    }

    /// The links between the seats.
    #[must_use]
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// Gives a machine an input from outside that arrives at `at`, or now if `at` is past.
    ///
    /// # Errors
    /// If there is no such seat.
    pub fn input(&mut self, seat: Seat, at: Instant, input: InputOf<H>) -> Result<(), UnknownSeat> {
        self.plan(seat, at, Event::Input { seat, input: Box::new(input) })
    }

    /// Crashes a seat. Effects of its current step up to that time have happened; the rest never happens.
    ///
    /// # Errors
    /// If there is no such seat.
    pub fn crash(&mut self, seat: Seat, at: Instant) -> Result<(), UnknownSeat> {
        self.plan(seat, at, Event::Crash { seat })
    }

    /// Crashes a seat after it has written `records` more records, before the next effect. That is the
    /// worst moment for a machine that sends first and writes later.
    ///
    /// # Errors
    /// If there is no such seat.
    pub fn crash_after_records(&mut self, seat: Seat, records: u64) -> Result<(), UnknownSeat> {
        let seats = self.stations.len();
        let station = self.stations.get_mut(seat.index()).ok_or(UnknownSeat { seat, seats })?;
        station.records_to_crash = Some(records.max(1));
        Ok(())
    }

    /// Crashes a seat after this number of its next effects, counting records and notes. With every
    /// number in turn, a test crashes the seat everywhere in a step.
    ///
    /// # Errors
    /// If there is no such seat.
    pub fn crash_after_effects(&mut self, seat: Seat, effects: u64) -> Result<(), UnknownSeat> {
        let seats = self.stations.len();
        let station = self.stations.get_mut(seat.index()).ok_or(UnknownSeat { seat, seats })?;
        station.effects_to_crash = Some(effects.max(1));
        Ok(())
    }

    /// Boots a seat again, after crashing it if it is up. With [`Disk::Kept`] its machine gets every
    /// record that was written before.
    ///
    /// # Errors
    /// If there is no such seat.
    pub fn restart(&mut self, seat: Seat, at: Instant, disk: Disk) -> Result<(), UnknownSeat> {
        self.plan(seat, at, Event::Boot { seat, disk })
    }

    /// Sets a seat's clock: its machine sees time leap, while its links and work do not. The clock
    /// belongs to the seat, so a restart does not correct it.
    ///
    /// # Errors
    /// If there is no such seat.
    pub fn leap(&mut self, seat: Seat, at: Instant, leap: ClockJump) -> Result<(), UnknownSeat> {
        self.plan(seat, at, Event::Leap { seat, leap })
    }

    /// Moves a seat to another region from now on, as between two runs. What is under way arrives as it would have.
    ///
    /// # Errors
    /// If the seats have no places, the seat has none, or the region is unknown.
    pub fn relocate(&mut self, seat: Seat, region: &str) -> Result<(), RelocationError> {
        self.network.relocate(seat, region)
    }

    /// Puts records onto a seat's disk, as from an earlier life. Call it before the run begins.
    ///
    /// # Errors
    /// If there is no such seat.
    pub fn load(
        &mut self,
        seat: Seat,
        records: impl IntoIterator<Item = RecordOf<H>>,
    ) -> Result<(), UnknownSeat> {
        let seats = self.stations.len();
        let station = self.stations.get_mut(seat.index()).ok_or(UnknownSeat { seat, seats })?;
        station.disk.extend(records);
        Ok(())
    }

    /// Makes a seat Byzantine with this rule, in addition to the rules that it has.
    ///
    /// # Errors
    /// If there is no such seat.
    pub fn rule(
        &mut self,
        seat: Seat,
        rule: impl Rule<H::Message> + 'static,
    ) -> Result<(), UnknownSeat> {
        let seats = self.stations.len();
        let station = self.stations.get_mut(seat.index()).ok_or(UnknownSeat { seat, seats })?;
        station.rules.push(Box::new(rule));
        self.arm_rules(seat);
        Ok(())
    }

    /// Runs until no event is left or `until` is past. Events at `until` still happen.
    pub fn run(&mut self, until: Instant) -> Stop {
        self.run_watching(until, |_| ControlFlow::Continue(()))
    }

    /// Runs like [`run`](Self::run) and shows each note to `watch`, which may stop the run.
    pub fn run_watching(
        &mut self,
        until: Instant,
        mut watch: impl FnMut(&Note<H::Event>) -> ControlFlow<()>,
    ) -> Stop {
        let until = since_start(until);
        loop {
            if self.counters.events >= self.most_events {
                return Stop::Events;
            }
            let Some((at, event)) = self.schedule.pop_until(until) else {
                if self.schedule.is_empty() {
                    return Stop::Idle;
                }
                self.now = until;
                return Stop::Deadline;
            };
            self.now = at;
            self.counters.events += 1;
            self.fold(at);
            self.fold(event.trace());
            let noted = self.notes.len();
            self.happen(event);
            if let Some(seat) = self.spinning.take() {
                return Stop::Spinning(seat);
            }
            let mut fresh = self.notes.iter().skip(noted);
            if fresh.any(|note| watch(note).is_break()) {
                return Stop::Watcher;
            }
        }
    }

    /// All notes that were not taken yet. The notes of a step come when it ends, so times of different
    /// seats may be out of order by the length of a step.
    #[must_use]
    pub fn notes(&self) -> &[Note<H::Event>] {
        &self.notes
    }

    /// Takes the notes out, so that a long run does not have to keep them.
    pub fn take_notes(&mut self) -> Vec<Note<H::Event>> {
        std::mem::take(&mut self.notes)
    }

    /// The machine of a seat, unless the seat is down.
    #[must_use]
    pub fn machine(&self, seat: Seat) -> Option<&H::Machine> {
        self.stations.get(seat.index())?.machine.as_ref()
    }

    /// The seats that have crashed, whether or not they run again.
    pub fn crashed(&self) -> impl Iterator<Item = Seat> {
        // The first boot begins the first life.
        let seats = (0..).map(Seat::new).zip(&self.stations);
        seats.filter(|(_, station)| station.life > 1).map(|(seat, _)| seat)
    }

    /// The records on a seat's disk, oldest first.
    #[must_use]
    pub fn records(&self, seat: Seat) -> &[RecordOf<H>] {
        self.stations.get(seat.index()).map_or(&[], |station| &station.disk)
    }

    /// The time that a seat's lanes have worked, added up. Work is charged when it starts.
    #[must_use]
    pub fn busy(&self, seat: Seat) -> Duration {
        let busy = self.stations.get(seat.index()).map_or(0, |station| station.busy);
        Duration::from_nanos(busy)
    }

    /// The bytes that passed a seat's interface. Zero if no link has limits.
    #[must_use]
    pub fn traffic(&self, seat: Seat) -> Traffic {
        self.traffic.as_ref().map(|traffic| traffic.of(seat)).unwrap_or_default()
    }

    /// The host.
    #[must_use]
    pub const fn host(&self) -> &H {
        &self.host
    }

    /// The host, to change it between two runs.
    pub const fn host_mut(&mut self) -> &mut H {
        &mut self.host
    }

    /// Returns the host, when the run is over.
    #[must_use]
    pub fn into_host(self) -> H {
        self.host
    }

    /// The current virtual time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        instant(self.now)
    }

    /// The seed that this run can be replayed with.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Counters of what has happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// A hash of the seed and of every event's time, kind and seats, in order: equal for equal
    /// runs. Not cryptographic.
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn plan(&mut self, seat: Seat, at: Instant, event: Event<H>) -> Result<(), UnknownSeat> {
        let seats = self.stations.len();
        if seat.index() >= seats {
            return Err(UnknownSeat { seat, seats });
        }
        self.schedule.push(since_start(at).max(self.now), event);
        Ok(())
    }

    /// FNV-1a, a word at a time, with a rotation so that high bits matter.
    fn fold(&mut self, word: u64) {
        self.fingerprint = (self.fingerprint ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
    }
}
