//! A seeded discrete-event simulator for machines.
//!
//! Time is virtual: an event at nanosecond 7 happens before one at nanosecond 8. Two events of one
//! nanosecond happen in the order in which they were scheduled. Nothing else decides the order, so a
//! run is a function of the host, the set-up and the seed. With the printed seed anybody can replay it.
//!
//! ```text
//!            inbox        Machine::handle      effects, in order
//! envelope ─────────▶ lane 0 ───────────▶ persist · send · run · note
//!     ▲                  ▲                   disk    │      │     └─▶ notes, read by checkers
//!     │                  └── verdict ◀── lanes ◀─────┼──────┘
//!     └ delay ◀ interfaces ◀ loss · cuts ◀ rules ◀───┘
//! ```
//!
//! - A **seat** is where one machine runs. Mostly seat `i` is party `i`. A twin, which is two machines
//!   with one key, takes two seats.
//! - A **step** is one `handle` and the `poll`s after it. It occupies lane 0 for the time that the
//!   [`Host`] charges, and its effects count when it ends. Everything that one step sends to one seat
//!   travels in one envelope, in order.
//! - A **job** runs on any free lane, lane 0 last. Its verdict is an input when it ends.
//! - A **crash** drops machine, inbox and jobs. Of the step that it interrupts, the part that was
//!   already paid for has happened. So a machine that writes a record after the send that needs it is
//!   found out.
//! - A **rule** stands between a Byzantine seat and the network and rewrites what leaves.
//!
//! Every scheduling number is a `u64` of nanoseconds; there are no floats. A seat's clock runs as fast
//! as virtual time and may be set ([`Simulation::leap`]). Links carry any number of bytes at once, unless
//! [`Interface`]s and connections are given rates. Not modelled: preemption of a running job, clocks that drift. What the machines do is in `beacon` and `jolteon`. The costs of
//! cryptography are measured by `node`, which gives them through its [`Host`].
#![forbid(unsafe_code)]

pub mod check;
mod dice;
mod drive;
mod geography;
mod host;
mod interface;
mod network;
mod placement;
mod post;
mod reader;
pub mod rule;
mod schedule;
mod simulation;
mod station;
mod table;
mod time;
mod traffic;

pub use dice::{Chance, Dice};
pub use geography::{Geography, Region, RoundTrip, TableError, UnknownRegion};
pub use host::{EffectOf, Host, InputOf, RecordOf, Seat, Step};
pub use interface::{Interface, Rate, RateError, Retransmission};
pub use network::{Jitter, Loss, Network, Partition, PartitionEffect};
pub use placement::{
    DISPEL_EUROPE, DISPEL_WORLD, GLOBAL, Placement, PlacementError, RelocationError, RoundTrips,
    TRANTOR, ZAPTOS,
};
pub use simulation::{Counters, Disk, Note, Setup, SetupError, Simulation, Stop, UnknownSeat};
pub use table::{Table, addressees};
pub use time::{ClockJump, Window};
pub use traffic::Traffic;
