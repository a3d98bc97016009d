//! Who holds which shares.
//!
//! A committee of parties with weights `w₀, w₁, …` of total `W` shares a polynomial. Party `i` holds
//! `wᵢ` consecutive share indices, in the order of the parties, starting with index 1. A weight of
//! zero is normal: such a party holds no share.
//!
//! | index | at roots of unity           | at numbers               |
//! |-------|-----------------------------|--------------------------|
//! | `j`   | `ω^(j−1)`, `j = 1, …, W`    | `j`, `j = 1, …, W`       |
//! | none  | `0`, where the secret is    | `0`, where the secret is |
//!
//! `ω` generates the smallest multiplicative subgroup of power-of-two order at least `W`; no power of
//! it is zero, so no index ever falls on the secret. Which of the two it is, [`Points`] says; dealings
//! and the weighted VUF have theirs at roots of unity, and so do [`Access::points`] and
//! [`Access::domain`].
//!
//! [`Points`]: crate::polynomial::Points
//!
//! Elsewhere: how stake becomes weight (`weighted_rounding`), arithmetic on the points
//! ([`crate::polynomial`]).
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;
use core::iter;
use core::num::NonZeroU32;
use core::ops::Range;

use borsh::io::{Error, ErrorKind, Read, Result as IoResult, Write};
use borsh::{BorshDeserialize, BorshSerialize};

pub use protocol::Party;

use crate::curve::Scalar;
use crate::polynomial::Domain;

/// Where a share sits on the polynomial. One-based, for index 0 would be the secret.
///
/// ```compile_fail,E0308
/// use crypto_core::access::ShareIndex;
/// let index: ShareIndex = 7_u32;
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct ShareIndex(NonZeroU32);

impl ShareIndex {
    /// The share index with this number; none for zero.
    #[must_use]
    pub const fn new(number: u32) -> Option<Self> {
        match NonZeroU32::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Its number, from one.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0.get()
    }

    /// Its place in a slice of all shares, from zero.
    #[must_use]
    pub fn position(self) -> usize {
        usize::try_from(self.0.get() - 1).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for ShareIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "share {}", self.0)
    }
}

/// Any `t` of `n` shares rebuild the secret, `t − 1` say nothing. `new` checks `1 ≤ t ≤ n`, nobody
/// else.
///
/// ```compile_fail,E0277
/// use crypto_core::access::Threshold;
/// let threshold: Threshold = (3_u32, 5_u32).into();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, BorshSerialize)]
pub struct Threshold {
    t: NonZeroU32,
    n: NonZeroU32,
}

/// Why two numbers are not a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("threshold is {t} of {n} shares, expected 1 to {n}")]
pub struct ThresholdError {
    /// Shares that should suffice.
    pub t: u32,
    /// Shares there are.
    pub n: u32,
}

impl Threshold {
    /// `t` of `n`.
    ///
    /// # Errors
    /// Unless `1 ≤ t ≤ n`.
    pub const fn new(t: u32, n: u32) -> Result<Self, ThresholdError> {
        match (NonZeroU32::new(t), NonZeroU32::new(n)) {
            (Some(some_t), Some(some_n)) if t <= n => Ok(Self { t: some_t, n: some_n }),
            _ => Err(ThresholdError { t, n }),
        }
    }

    /// Shares that suffice.
    #[must_use]
    pub const fn t(self) -> NonZeroU32 {
        self.t
    }

    /// Shares there are.
    #[must_use]
    pub const fn n(self) -> NonZeroU32 {
        self.n
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.t, self.n)
    }
}

impl BorshDeserialize for Threshold {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        let (t, n) = <(u32, u32)>::deserialize_reader(reader)?;
        Self::new(t, n).map_err(invalid)
    }
}

/// Why weights do not make an access structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// Nobody would hold a share.
    #[error("all {parties} weights are zero")]
    NoShares {
        /// Parties there are.
        parties: usize,
    },
    /// More shares than any committee needs; the rounding keeps totals in the thousands.
    #[error("weights sum to {total}, at most {max} is supported")]
    TooManyShares {
        /// Sum of the weights.
        total: u64,
        /// The most that is supported.
        max: u32,
    },
    /// More parties than any committee has.
    #[error("{parties} parties, at most {max} are supported")]
    TooManyParties {
        /// Parties there are.
        parties: usize,
        /// The most that is supported.
        max: u32,
    },
}

/// Which party holds which share indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// `starts[i]` shares lie before those of party `i`; one more entry holds the total.
    starts: Vec<u32>,
}

impl Access {
    /// The most shares, and the most parties, that are supported.
    pub const MAX: u32 = 1 << 20;

    /// Hands out consecutive indices according to `weights`.
    ///
    /// # Errors
    /// If all weights are zero, or if there are too many shares or parties.
    pub fn new(weights: &[u32]) -> Result<Self, AccessError> {
        let parties = weights.len();
        if u32::try_from(parties).map_or(true, |count| count > Self::MAX) {
            return Err(AccessError::TooManyParties { parties, max: Self::MAX });
        }
        let total: u64 = weights.iter().copied().map(u64::from).sum();
        if total > u64::from(Self::MAX) {
            return Err(AccessError::TooManyShares { total, max: Self::MAX });
        }
        if total == 0 {
            return Err(AccessError::NoShares { parties });
        }
        let mut starts = Vec::with_capacity(parties + 1);
        let mut start = 0;
        starts.push(start);
        for weight in weights {
            start += weight;
            starts.push(start);
        }
        Ok(Self { starts })
    }

    /// Number of parties, those without shares included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Never true: there is at least one share, and it has a holder.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Total weight `W`: how many shares there are.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// All parties in order.
    pub fn parties(&self) -> impl DoubleEndedIterator<Item = Party> + use<> {
        (0..u32::try_from(self.len()).unwrap_or(u32::MAX)).map(Party::new)
    }

    /// Whether the committee has this party.
    #[must_use]
    pub fn contains(&self, party: Party) -> bool {
        party.index() < self.len()
    }

    /// How many shares the party holds; zero for a party outside the committee.
    #[must_use]
    pub fn weight(&self, party: Party) -> u32 {
        let (start, end) = self.bounds(party);
        end - start
    }

    /// All weights in the order of the parties.
    #[must_use]
    pub fn weights(&self) -> Vec<u32> {
        self.parties().map(|party| self.weight(party)).collect()
    }

    /// The places of the party's shares in a slice of all shares.
    #[must_use]
    pub fn range(&self, party: Party) -> Range<usize> {
        let place = |start| usize::try_from(start).unwrap_or(usize::MAX);
        let (start, end) = self.bounds(party);
        place(start)..place(end)
    }

    /// The roots of unity at which the shares sit, in the order of their indices.
    #[must_use]
    pub fn points(&self) -> Vec<Scalar> {
        let step = Domain::root(self.total());
        let count = usize::try_from(self.total()).unwrap_or(usize::MAX);
        iter::successors(Some(Scalar::ONE), |point| Some(*point * step)).take(count).collect()
    }

    /// The smallest domain that holds these roots.
    #[must_use]
    pub fn domain(&self) -> Domain {
        Domain::new(self.total())
    }

    /// The share indices of the party.
    pub fn indices(&self, party: Party) -> impl Iterator<Item = ShareIndex> + use<> {
        let (start, end) = self.bounds(party);
        (start..end).filter_map(|before| ShareIndex::new(before + 1))
    }

    /// The [fewest](fn@fewest) of `candidates` that hold `need` shares.
    #[must_use]
    pub fn fewest(
        &self,
        need: NonZeroU32,
        candidates: impl IntoIterator<Item = Party>,
    ) -> Option<BTreeSet<Party>> {
        let weighed = candidates.into_iter().map(|party| (party, u128::from(self.weight(party))));
        fewest(u128::from(need.get()), weighed)
    }

    /// Who holds a share; nobody if there is no such share.
    #[must_use]
    pub fn owner(&self, index: ShareIndex) -> Option<Party> {
        let after = self.starts.partition_point(|start| *start < index.get());
        let party = Party::new(u32::try_from(after.checked_sub(1)?).ok()?);
        self.contains(party).then_some(party)
    }

    /// `(shares before the party's, shares up to its last)`
    fn bounds(&self, party: Party) -> (u32, u32) {
        let place = party.index();
        match (self.starts.get(place), place.checked_add(1).and_then(|next| self.starts.get(next)))
        {
            (Some(start), Some(end)) => (*start, *end),
            _ => (0, 0),
        }
    }
}

/// The fewest of the candidates that weigh `need` together, in shares or in stake, heaviest first: each
/// may cost a pairing, and each may be the one that is wrong. `None` if all together do not. Who is
/// named twice counts once.
#[must_use]
pub fn fewest(
    need: u128,
    candidates: impl IntoIterator<Item = (Party, u128)>,
) -> Option<BTreeSet<Party>> {
    let distinct: BTreeMap<Party, u128> = candidates.into_iter().collect();
    let mut heaviest: Vec<_> =
        distinct.into_iter().map(|(party, weight)| (Reverse(weight), party)).collect();
    heaviest.sort_unstable();
    let mut missing = need;
    let mut chosen = BTreeSet::new();
    for (Reverse(weight), party) in heaviest.into_iter().filter(|(weight, _)| weight.0 > 0) {
        chosen.insert(party);
        missing = missing.saturating_sub(weight);
        if missing == 0 {
            return Some(chosen);
        }
    }
    None
}

impl BorshSerialize for Access {
    fn serialize<W: Write>(&self, writer: &mut W) -> IoResult<()> {
        self.weights().serialize(writer)
    }
}

impl BorshDeserialize for Access {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        Self::new(&Vec::<u32>::deserialize_reader(reader)?).map_err(invalid)
    }
}

fn invalid(error: impl fmt::Display) -> Error {
    use alloc::string::ToString;
    Error::new(ErrorKind::InvalidData, error.to_string())
}
