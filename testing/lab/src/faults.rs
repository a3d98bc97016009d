//! Faults that an observed run is given: losses, partitions, crashes, parties that do wrong.
//!
//! What parties do wrong is that of the campaign ([`Vice`]), but for twins. The campaign draws all of this from a seed;
//! here the caller says what happens, to whom and when.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_engine::Engine;
use prefinal_protocol::Instant;
pub use prefinal_sim::{Chance, Disk, Loss, Partition, PartitionEffect, Seat, Window};
use prefinal_sim::{Network, Simulation};

pub use crate::campaign::Vice;
use crate::campaign::{Forge, Junk, Sinner, Tally};
use crate::committee::{Subject, ValidatorHost};
use crate::failure::Failure;
use crate::global::Exceptions;
use crate::priced::Priced;

/// Something that goes wrong. Each party has the seat of its number.
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
        if let Self::Byzantine(_, Vice::Twins { .. } | Vice::Forget { .. }) = self {
            return Err(Failure::bad_input("twins and forgetting are not rules of one party"));
        }
        if let Self::Partition(Partition { groups, .. }) = self {
            let named: usize = groups.iter().map(BTreeSet::len).sum();
            if named > self.seats().len() {
                return Err(Failure::bad_input("a partition names a party in two groups"));
            }
        }
        Ok(())
    }

    /// The links with this fault.
    pub(crate) fn on(&self, network: Network) -> Network {
        match self {
            Self::Loss(loss) => network.with_loss(*loss),
            Self::Partition(partition) => network.with_partition(partition.clone()),
            Self::Crash { .. } | Self::Byzantine(..) => network,
        }
    }

    /// Whether this party gets no more values from some time on.
    pub(crate) fn ends(&self) -> Option<Seat> {
        match self {
            Self::Crash { seat, down: None, .. } => Some(*seat),
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
        let armed = match self {
            Self::Loss(_) | Self::Partition(_) => Ok(()),
            Self::Crash { seat, at, down, disk } => {
                let crashed = simulation.crash(*seat, *at);
                let back = down.map(|down| simulation.restart(*seat, *at + down, *disk));
                crashed.and(back.unwrap_or(Ok(())))
            }
            Self::Byzantine(seat, vice) => {
                let uncounted = Rc::<RefCell<Tally>>::default();
                simulation.rule(*seat, Sinner::<S, _>::new(vice.clone(), &uncounted))
            }
        };
        armed.map_err(Failure::bad_input)
    }
}
