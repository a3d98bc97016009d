//! The width of a processor's registers.

/// Number of values that are computed at once.
pub(crate) const LANES: usize = 8;
