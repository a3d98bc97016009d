//! Why a configuration makes no beacon: what schemes refuse, and what configurations.
use crypto_core::access::Party;
use crypto_core::threshold::Purpose;

use contract::{Path, ThresholdError};
use protocol::Slot;

/// Why a configuration makes no beacon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The committee ends before this party.
    #[error("{party} is not among the {members} parties of the {path} path")]
    NotMember {
        /// The party that the configuration says this one is.
        party: Party,
        /// The path whose committee does not have it.
        path: Path,
        /// How many parties that committee has.
        members: usize,
    },
    /// Both paths are of the same parties.
    #[error("slow path has {slow} parties, fast path {fast}")]
    Members {
        /// Of the slow path.
        slow: usize,
        /// Of the fast path.
        fast: usize,
    },
    /// What leaves earlier must not need less.
    #[error("fast path takes a weight of {fast}, slow path {slow}")]
    Thresholds {
        /// Of the slow path.
        slow: u128,
        /// Of the fast path.
        fast: u128,
    },
    /// Not one stake for each party.
    #[error("{path} path has {parties} parties, the table {stakes} stakes")]
    Stakes {
        /// The path whose committee and stake table differ in size.
        path: Path,
        /// How many parties that committee has.
        parties: usize,
        /// How many stakes are known.
        stakes: usize,
    },
    /// The stake table is of other weights.
    #[error("{party} weighs {got} on the {path} path, {expected} in the table")]
    Weight {
        /// The path on which the weight differs.
        path: Path,
        /// Whose weight it is.
        party: Party,
        /// What it holds on the path.
        got: u128,
        /// What its stake was made into.
        expected: u128,
    },
    /// A threshold that the engine's finality does not allow.
    #[error(transparent)]
    Threshold(#[from] ThresholdError),
    /// With one blinding the fast partial is the slow partial, and the slow threshold would hold at
    /// prefinalization.
    #[error("{party} uses one blinding for both paths")]
    SharedBlinding {
        /// The party whose partials on the two paths would be equal.
        party: Party,
    },
    /// With a share on both paths the fast partial is the slow partial.
    #[error("{party} has one share on both paths")]
    SharedShare {
        /// This party, which has one share on both paths.
        party: Party,
    },
    /// The two paths would give two outputs.
    #[error("slow and fast path have different group keys")]
    GroupKeys,
    /// Partials under this key would fail everybody's check.
    #[error("secret of the {path} path does not fit the committee's keys")]
    WrongKey {
        /// The path for which this party was given another secret.
        path: Path,
    },
    /// What is counted in exact stake is complete as soon as the value is final: there is nothing that
    /// a second path could need more of, and one key on both has one partial for both.
    #[error("a multi-signature has one path")]
    OnePath,
    /// Both paths decrypt the same.
    #[error("slow and fast path have different bounds on what a slot decrypts")]
    Bounds,
    /// Only threshold BLS has rounds.
    #[error("outputs are no rounds of drand: they are bound to the slot or to its value")]
    NoRounds,
    /// The function is of the value.
    #[error("outputs must depend on the slot's value")]
    Unbound,
    /// One key is for outputs of one kind.
    #[error("key of the {path} path is for {got:?}, these outputs need one for {expected:?}")]
    Purpose {
        /// The path whose key is for outputs of another kind.
        path: Path,
        /// What the key is for.
        got: Purpose,
        /// What the outputs need.
        expected: Purpose,
    },
    /// A first life has no records yet; a party that has some is in a later life.
    #[error("first life, but {records} records of an earlier one")]
    FirstLife {
        /// How many records the party was started with.
        records: usize,
    },
    /// Slots end with the last number, which has no slot after it.
    #[error("{first} cannot be the first with an output: no slot comes after it")]
    LastSlot {
        /// The configured first slot, which is the last number there is.
        first: Slot,
    },
    /// The function is not defined there.
    #[error("{first} cannot be the first with an output: there is nothing to evaluate on")]
    NoInput {
        /// The configured first slot, for which the scheme has no input.
        first: Slot,
    },
}
