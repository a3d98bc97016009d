//! The error type for partials that are not a quorum. It is the same for partial signatures, VUF
//! evaluations and decryption shares.
use alloc::collections::BTreeSet;
use core::num::NonZeroU32;

use crate::access::Party;
use crate::elgamal::OtherKey;
use crate::threshold::MisuseError;
use crate::wvuf::NotAdmitted;

/// Why partials did not become a quorum, or why a quorum did not give a result. `M` is the scheme's
/// type for mistakes of the caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuorumError<M> {
    /// The caller made a mistake. No peer is at fault.
    #[error(transparent)]
    Misuse(#[from] M),
    /// The partials hold too few shares. Wait for more and try again. Nothing was verified.
    #[error("partials hold {got} shares, threshold is {need}")]
    BelowThreshold {
        /// Number of shares of all parties together.
        got: u32,
        /// Number of shares that are needed.
        need: NonZeroU32,
    },
    /// Some partials are wrong. Only this party knows it; to prove it to others, keep the culprits'
    /// signed messages.
    #[error("{} partial(s) are not what their parties' keys say", culprits.len())]
    Faulty {
        /// Every party whose partial is wrong, and nobody else.
        culprits: BTreeSet<Party>,
    },
}

macro_rules! codes {
    ($($misuse:ty),*) => {$(
        impl QuorumError<$misuse> {
            /// The error's code: stable, for programs; the text is for people and may change.
            #[must_use]
            pub const fn code(&self) -> &'static str {
                match self {
                    Self::Misuse(error) => error.code(),
                    Self::BelowThreshold { .. } => "below-threshold",
                    Self::Faulty { .. } => "faulty",
                }
            }
        }
    )*};
}

codes!(OtherKey, MisuseError, NotAdmitted);
