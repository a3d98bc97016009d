//! How wide a processor's registers are.

/// Values that are computed at once.
pub(crate) const LANES: usize = 8;
