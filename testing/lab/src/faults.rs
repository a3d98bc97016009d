//! Faults that an observed run is given: losses, partitions, crashes, parties that do wrong.
//!
//! What parties do wrong is that of the campaign ([`Vice`]). The campaign draws all of this from a seed; here the
//! caller says what happens, to whom and when.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_engine::Engine;
use prefinal_protocol::Instant;
pub use prefinal_sim::{Chance, Disk, Loss, Partition, PartitionEffect, Seat, Window};
use prefinal_sim::{Network, Simulation, UnknownSeat};
use prefinal_validator::Input;

pub use crate::campaign::Vice;
use crate::campaign::{Forge, Junk, Sinner, Tally};
use crate::committee::{Subject, ValidatorHost};
use crate::failure::Failure;
use crate::global::Exceptions;
use crate::priced::Priced;
use crate::seating::Seating;

/// How often twins are told different transactions.
const WHISPERS: u32 = 64;

/// Between two of these times.
const BETWEEN_WHISPERS: Duration = Duration::from_millis(300);

/// Something that goes wrong. Each party has the seat of its number, and one more if it has a twin.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Messages on all links are lost with a chance, in a window of time.
    Loss(Loss),
    /// Groups of parties do not reach each other.
    Partition(Partition),
    /// A party stops, and may come back with its disk or without.
    Crash {
        /// The seat of the party that stops.
        seat: Seat,
        /// When it stops, since the start.
        at: Instant,
        /// How long it is down; `None` if it does not come back.
        down: Option<Duration>,
        /// What its disk has when it comes back. A party that lost its disk counts as faulty.
        disk: Disk,
    },
    /// A party does wrong.
    Byzantine(Seat, Vice),
}

impl Fault {
    /// All parties that it names.
    fn seats(&self) -> BTreeSet<Seat> {
        match self {
            Self::Loss(_) => BTreeSet::new(),
            Self::Partition(partition) => partition.groups.iter().flatten().copied().collect(),
            Self::Crash { seat, .. } => BTreeSet::from([*seat]),
            Self::Byzantine(seat, vice) => match vice {
                Vice::Withhold { from: others, .. }
                | Vice::TwoFaced { to: others, .. }
                | Vice::Twins { side: others } => others.iter().copied().chain([*seat]).collect(),
                _ => BTreeSet::from([*seat]),
            },
        }
    }

    /// Refuses what cannot be played among so many parties.
    pub(crate) fn check(&self, parties: u32) -> Result<(), Failure> {
        if let Some(seat) = self.seats().into_iter().find(|seat| seat.get() >= parties) {
            let why = format_args!("a fault names party {seat}, there are {parties} parties");
            return Err(Failure::bad_input(why));
        }
        if let Self::Byzantine(_, Vice::Forget { .. }) = self {
            return Err(Failure::bad_input("a crash without a disk is not a rule of one party"));
        }
        if let Self::Partition(Partition { groups, .. }) = self {
            let named: usize = groups.iter().map(BTreeSet::len).sum();
            if named > self.seats().len() {
                return Err(Failure::bad_input("a partition names a party in two groups"));
            }
        }
        Ok(())
    }

    /// The party that runs twice.
    pub(crate) fn twin(&self) -> Option<Party> {
        match self {
            Self::Byzantine(seat, Vice::Twins { .. }) => Some(Party::new(seat.get())),
            _ => None,
        }
    }

    /// The links with this fault.
    pub(crate) fn on(&self, network: Network, seating: &Seating) -> Network {
        match self {
            Self::Loss(loss) => network.with_loss(*loss),
            Self::Partition(Partition { window, groups, blocked }) => {
                let groups = groups.iter().map(|group| seating.all_of(group)).collect();
                let (window, blocked) = (*window, *blocked);
                network.with_partition(Partition { window, groups, blocked })
            }
            Self::Crash { .. } | Self::Byzantine(..) => network,
        }
    }

    /// The party whose values nobody waits for: it is down for good, or each of its twins knows a part of what happens.
    pub(crate) fn ends(&self) -> Option<Seat> {
        match self {
            Self::Crash { seat, down: None, .. } | Self::Byzantine(seat, Vice::Twins { .. }) => {
                Some(*seat)
            }
            _ => None,
        }
    }

    /// Adds the parties that are not as the paper's honest ones are.
    pub(crate) fn add_to(&self, exceptions: &mut Exceptions) {
        match self {
            Self::Byzantine(seat, _) | Self::Crash { seat, disk: Disk::Lost, .. } => {
                exceptions.faulty.insert(Party::new(seat.get()));
            }
            Self::Crash { seat, .. } => {
                exceptions.crashed.insert(Party::new(seat.get()));
            }
            Self::Loss(_) | Self::Partition(_) => {}
        }
    }

    /// Sets it up in a simulation.
    pub(crate) fn arm<S: Priced + Forge, E: Subject>(
        &self,
        simulation: &mut Simulation<ValidatorHost<S, E>>,
    ) -> Result<(), Failure>
    where
        <E as Engine>::Message: Junk,
    {
        let (Self::Crash { seat: of, .. } | Self::Byzantine(of, _)) = self else { return Ok(()) };
        let seating = simulation.host().seating().clone();
        for seat in seating.all_of(&BTreeSet::from([*of])) {
            self.arm_seat(seat, &seating, simulation).map_err(Failure::bad_input)?;
        }
        Ok(())
    }

    fn arm_seat<S: Priced + Forge, E: Subject>(
        &self,
        seat: Seat,
        seating: &Seating,
        simulation: &mut Simulation<ValidatorHost<S, E>>,
    ) -> Result<(), UnknownSeat>
    where
        <E as Engine>::Message: Junk,
    {
        match self {
            Self::Loss(_) | Self::Partition(_) => Ok(()),
            Self::Crash { at, down, disk, .. } => {
                simulation.crash(seat, *at)?;
                down.map_or(Ok(()), |down| simulation.restart(seat, *at + down, *disk))
            }
            Self::Byzantine(_, vice) => {
                if let Vice::Twins { .. } = vice {
                    tell_apart(seat, simulation)?;
                }
                let uncounted = Rc::<RefCell<Tally>>::default();
                let vice = of_seat(vice, seat, seating);
                simulation.rule(seat, Sinner::<S, _>::new(vice, &uncounted))
            }
        }
    }
}

/// What the party in this seat does, to all seats of the parties that it is done to.
fn of_seat(vice: &Vice, seat: Seat, seating: &Seating) -> Vice {
    match vice.clone() {
        Vice::Withhold { from, all } => Vice::Withhold { from: seating.all_of(&from), all },
        Vice::TwoFaced { to, both } => Vice::TwoFaced { to: seating.all_of(&to), both },
        Vice::Twins { side } => Vice::Twins { side: seating.half_of(seat, &seating.all_of(&side)) },
        vice => vice,
    }
}

/// Each twin gets transactions that the other does not get, so that they propose different blocks.
fn tell_apart<S: Priced, E: Subject>(
    seat: Seat,
    simulation: &mut Simulation<ValidatorHost<S, E>>,
) -> Result<(), UnknownSeat> {
    (0..WHISPERS).try_for_each(|times| {
        let transaction = [seat.get().to_be_bytes(), times.to_be_bytes()].concat();
        let at = Instant::at(BETWEEN_WHISPERS * times);
        simulation.input(seat, at, Input::Submit(transaction))
    })
}
