//! What a beacon costs transactions: latency and throughput without one, with the slow path alone, and with both paths.
//!
//! Bundles of transactions come to every party at a steady rate, whatever becomes of those before. The engine spreads
//! them and puts them into blocks. A transaction has waited when the party that it came to can execute it:
//!
//! | run          | when that is                                                       |
//! |--------------|--------------------------------------------------------------------|
//! | no beacon    | its block is final there                                            |
//! | slow path    | the value of its slot is there too, made of partials sent on finality |
//! | both paths   | the same, of whichever path is first                                |
//!
//! Blocks are executed in order, so a transaction that asks for no randomness waits for the value too: with values as the
//! paper's chain has them, every block does. Bundles are real bytes on every link, twice: from the party that a client
//! chose, and in the block. Not charged: hashing and execution of payload, and the links of clients.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_beacon::Slot;
use prefinal_crypto_core::access::Party;
use prefinal_protocol::Instant;
use prefinal_sim::{Seat, Simulation};

use super::{Committee, Fact, Mode, World};
use crate::campaign::ideal::Ideal;
use crate::campaign::member::Input;
use crate::committee::Subject;
use crate::failure::Failure;
use crate::global::{Exceptions, GlobalClock};
use crate::priced::Priced;
use crate::waits::{Wait, Waits};
use prefinal_validator::setup::{Algorithm, Plan};

/// Bytes of a bundle: party and number, and payload.
const BUNDLE: usize = 32 << 10;
/// Length of a transaction in bytes.
pub const TRANSACTION: usize = 512;
/// How many transactions come as one.
pub const BUNDLED: u64 = 64;
/// The time that is simulated at once.
const SLICE: Duration = Duration::from_millis(500);

/// What stands beside the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// No beacon: transactions are executed when they are final.
    Nothing,
    /// A beacon with the slow path alone.
    SlowPath,
    /// A beacon with both paths.
    BothPaths,
}

/// How much comes, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Transactions a second, of all parties together.
    pub per_second: u64,
    /// Virtual time before the counting begins.
    pub warm_up: Duration,
    /// Virtual time that is counted.
    pub counted: Duration,
}

/// What came of one load.
#[derive(Debug)]
pub struct Point {
    /// Transactions a second that parties could execute while it was counted.
    pub per_second: u64,
    /// From the submission of a bundle until it can be executed where it was submitted.
    pub waits: Waits,
    /// The wait of these slots for their values alone.
    pub value_waits: Waits,
    /// How many slots with transactions became final while it was counted, as the first party saw it.
    pub slots: u64,
}

/// A committee under load, for several runs.
pub struct Experiment<S> {
    committee: Committee<Ideal<true>, S>,
    world: World,
}

impl<S: Priced> Experiment<S> {
    /// A committee whose keys were dealt before.
    ///
    /// # Errors
    /// If the plan's parts do not fit together.
    pub fn new(plan: &Plan, keys: u64, world: World) -> Result<Self, Failure> {
        Ok(Self { committee: Committee::ideal(plan, keys)?, world })
    }

    /// Lets so many transactions come, and counts what can be executed.
    ///
    /// # Errors
    /// If a party accuses another one, if a slot's global times are not what the paper says, or if nobody submits.
    pub fn run<E: Subject>(&self, beside: Beside, demand: Demand) -> Result<Point, Failure> {
        let (hand, mode) = self.committee.usual(match beside {
            Beside::BothPaths => Algorithm::Fast,
            Beside::Nothing | Beside::SlowPath => Algorithm::Slow,
        });
        let mode = Mode { is_alone: beside == Beside::Nothing, ..mode };
        let host = self.committee.host::<E>(hand, mode, self.world.prices)?;
        let seats = host.seating.count();
        let mut clock = GlobalClock::new(&host.setup, Exceptions::default()).keyed();
        let mut around =
            prefinal_sim::Setup::new(seats, self.world.seed, self.world.network.clone());
        around.cores = self.world.cores;
        let mut simulation = Simulation::new(host, around).map_err(Failure::bad_input)?;
        let end = Instant::at(demand.warm_up + demand.counted);
        let mut source = Source::new(seats, demand.per_second)?;
        let mut account = Account::new(beside, demand);
        let mut now = Instant::START;
        while now < end {
            let until = end.min(now + SLICE);
            for (at, seat, bytes) in source.until(until) {
                account.submitted(seat, &bytes, at);
                simulation.input(seat, at, Input::Submit(bytes)).map_err(Failure::bad_input)?;
            }
            // Nobody ends the run before.
            simulation.run_watching(until, |_| ControlFlow::Continue(()));
            for note in simulation.take_notes() {
                let party = Party::new(note.seat.get());
                if let Some(sign) = note.event.sign().filter(|_| beside != Beside::Nothing) {
                    clock.take(party, sign, note.left);
                }
                account.take(party, note.event, note.at)?;
            }
            now = until;
        }
        clock.close(None)?;
        Ok(account.close())
    }
}

/// What clients submit: bundles at a steady rate, party after party.
struct Source {
    seats: u32,
    interval: Duration,
    next_at: Instant,
    number: u64,
}

impl Source {
    fn new(seats: u32, per_second: u64) -> Result<Self, Failure> {
        if per_second == 0 {
            return Err(Failure::bad_input("no transaction in a second shows nothing"));
        }
        let nanos = BUNDLED.saturating_mul(1_000_000_000) / per_second;
        let interval = Duration::from_nanos(nanos.max(1));
        Ok(Self { seats, interval, next_at: Instant::START, number: 0 })
    }

    /// What comes before `until`, and where.
    fn until(&mut self, until: Instant) -> Vec<(Instant, Seat, Vec<u8>)> {
        let mut came = Vec::new();
        while self.next_at < until {
            let seat = self.number % u64::from(self.seats.max(1));
            let seat = Seat::new(u32::try_from(seat).unwrap_or_default());
            let mut bytes = self.number.to_be_bytes().to_vec();
            bytes.resize(BUNDLE, 0);
            came.push((self.next_at, seat, bytes));
            self.number = self.number.saturating_add(1);
            self.next_at = self.next_at + self.interval;
        }
        came
    }
}

/// The number of a bundle.
fn number(bundle: &[u8]) -> Option<u64> {
    bundle.first_chunk().copied().map(u64::from_be_bytes)
}

/// What became of the bundles.
struct Account {
    beside: Beside,
    demand: Demand,
    /// Who has which bundle on its way, and since when.
    open: BTreeMap<u64, (Party, Instant)>,
    /// Bundles of a party in a slot whose value it does not have, and since when it is final.
    waiting: BTreeMap<(Party, Slot), (Instant, Vec<Instant>)>,
    waits: Vec<Duration>,
    value_waits: Vec<Wait>,
    slots: u64,
}

impl Account {
    fn new(beside: Beside, demand: Demand) -> Self {
        let (open, waiting) = (BTreeMap::new(), BTreeMap::new());
        let (waits, value_waits) = (Vec::new(), Vec::new());
        Self { beside, demand, open, waiting, waits, value_waits, slots: 0 }
    }

    fn submitted(&mut self, seat: Seat, bundle: &[u8], at: Instant) {
        let number = number(bundle);
        self.open.extend(number.map(|number| (number, (Party::new(seat.get()), at))));
    }

    fn take(&mut self, party: Party, fact: Fact, at: Instant) -> Result<(), Failure> {
        match fact {
            Fact::Ordered(slot, bundles) => self.ordered(party, slot, &bundles, at),
            Fact::Revealed { slot, .. } => {
                if let Some((known, since)) = self.waiting.remove(&(party, slot)) {
                    self.executable(since, at);
                    if at.since_start() >= self.demand.warm_up {
                        self.value_waits.push(Wait { slot, span: at.since(known) });
                    }
                }
            }
            Fact::Wrong(what) => return Err(Failure::Disagreement(format!("{party}: {what}"))),
            Fact::Act(_) | Fact::Released(..) | Fact::Finalized(_) | Fact::Heard(_) => {}
        }
        Ok(())
    }

    fn ordered(&mut self, party: Party, slot: Slot, bundles: &[Arc<[u8]>], at: Instant) {
        let counts = at.since_start() >= self.demand.warm_up;
        self.slots += u64::from(counts && party == Party::new(0));
        let numbers: Vec<u64> = bundles.iter().filter_map(|bundle| number(bundle)).collect();
        let own = |number: &u64| self.open.get(number).is_some_and(|(owner, _)| *owner == party);
        let own: Vec<u64> = numbers.into_iter().filter(own).collect();
        let since = own.iter().filter_map(|number| self.open.remove(number));
        let since: Vec<Instant> = since.map(|(_, since)| since).collect();
        match self.beside {
            Beside::Nothing => self.executable(since, at),
            Beside::SlowPath | Beside::BothPaths => {
                self.waiting.insert((party, slot), (at, since));
            }
        }
    }

    fn executable(&mut self, since: Vec<Instant>, at: Instant) {
        if at.since_start() >= self.demand.warm_up {
            self.waits.extend(since.into_iter().map(|since| at.since(since)));
        }
    }

    fn close(self) -> Point {
        let executed = u64::try_from(self.waits.len()).unwrap_or(u64::MAX).saturating_mul(BUNDLED);
        let counted = u64::try_from(self.demand.counted.as_millis()).unwrap_or(u64::MAX);
        Point {
            per_second: executed.saturating_mul(1000) / counted.max(1),
            waits: self.waits.into_iter().collect(),
            value_waits: self.value_waits.into_iter().collect(),
            slots: self.slots,
        }
    }
}
