//! What programs learn of an error.
use core::num::NonZeroU32;

use prefinal_crypto_core::access::{Party, ShareIndex};
use prefinal_weighted_rounding::{Stake, Weight};

/// An error that bindings raise.
pub trait Coded {
    /// Its code, as its own `code()` says, and its fields.
    fn detail(&self) -> Detail;
}

/// A code and the fields that have a meaning with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// One of [`CODES`](crate::CODES).
    pub code: &'static str,
    /// Whose input it is, by position in the committee.
    pub party: Option<u32>,
    /// Where: position in a list from zero, byte of an encoding, number of a share.
    pub index: Option<u64>,
    /// How much was expected.
    pub need: Option<u128>,
    /// How much there was.
    pub got: Option<u128>,
    /// Who, or which entries of a batch, failed a check; in ascending order.
    pub culprits: Vec<u64>,
}

impl Detail {
    /// A code without fields.
    pub(crate) const fn of(code: &'static str) -> Self {
        Self { code, party: None, index: None, need: None, got: None, culprits: Vec::new() }
    }

    pub(crate) const fn party(mut self, party: Party) -> Self {
        self.party = Some(party.get());
        self
    }

    pub(crate) fn index(mut self, index: &impl Count) -> Self {
        self.index = u64::try_from(index.count()).ok();
        self
    }

    pub(crate) fn need(mut self, need: &impl Count) -> Self {
        self.need = Some(need.count());
        self
    }

    pub(crate) fn got(mut self, got: &impl Count) -> Self {
        self.got = Some(got.count());
        self
    }

    pub(crate) fn culprits<'a>(
        mut self,
        culprits: impl IntoIterator<Item = &'a (impl Count + 'a)>,
    ) -> Self {
        let culprits = culprits.into_iter();
        self.culprits =
            culprits.filter_map(|culprit| u64::try_from(culprit.count()).ok()).collect();
        self
    }
}

/// Whatever counts something.
pub(crate) trait Count {
    fn count(&self) -> u128;
}

macro_rules! counts {
    ($($of:ty: |$this:ident| $count:expr;)*) => {$(
        impl Count for $of {
            fn count(&self) -> u128 {
                let $this = self;
                $count
            }
        }
    )*};
}

counts! {
    u8: |n| u128::from(*n);
    u32: |n| u128::from(*n);
    u64: |n| u128::from(*n);
    u128: |n| *n;
    usize: |n| u128::try_from(*n).unwrap_or(u128::MAX);
    NonZeroU32: |n| u128::from(n.get());
    Party: |party| u128::from(party.get());
    ShareIndex: |index| u128::from(index.get());
    Stake: |stake| stake.get();
    Weight: |weight| u128::from(weight.get());
}
