//! Why what parties sent is no quorum: of partial signatures, evaluations or decryption shares alike.
use alloc::collections::BTreeSet;
use core::num::NonZeroU32;

use crate::access::Party;

/// Why partials did not become a quorum, or a quorum not what it stands for. `M` is what a caller of this
/// scheme can mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuorumError<M> {
    /// The caller asked for something that cannot count, and no peer is at fault.
    #[error(transparent)]
    Misuse(#[from] M),
    /// Wait for more and try again. Nothing was verified.
    #[error("partials hold {got} shares, threshold is {need}")]
    BelowThreshold {
        /// Shares of all parties given.
        got: u32,
        /// Shares that it takes.
        need: NonZeroU32,
    },
    /// Known to us alone; convincing others takes the culprits' signed messages.
    #[error("{} partial(s) are not what their parties' keys say", culprits.len())]
    Faulty {
        /// Every party whose partial is wrong, and nobody else.
        culprits: BTreeSet<Party>,
    },
}
