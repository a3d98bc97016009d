//! Which party holds which shares.
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
//! it is zero, so no index ever falls on the secret. [`Points`] says which of the two placements is
//! used. Dealings and the weighted VUF use roots of unity, and so do [`Access::points`] and
//! [`Access::domain`].
//!
//! [`Points`]: crate::polynomial::Points
//!
//! See also: the crate `prefinal_weighted_rounding` turns stake into weight, and [`crate::polynomial`] has the
//! arithmetic on the points.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;
use core::iter;
use core::num::NonZeroU32;
use core::ops::Range;

use borsh::io::{Error, ErrorKind, Read, Result as IoResult, Write};
use borsh::{BorshDeserialize, BorshSerialize};

pub use prefinal_protocol::Party;

use crate::curve::Scalar;
use crate::polynomial::Domain;

/// The index of a share, which fixes its point on the polynomial. Indices start at one, because zero
/// is the point of the secret.
///
/// ```compile_fail,E0308
/// use prefinal_crypto_core::access::ShareIndex;
/// let index: ShareIndex = 7_u32;
/// ```
///
/// ```
/// use prefinal_crypto_core::access::ShareIndex;
/// let first = ShareIndex::new(1).unwrap();
/// assert_eq!(first.position(), 0);
/// assert_eq!(ShareIndex::new(0), None); // the value at zero is the secret
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct ShareIndex(NonZeroU32);

impl ShareIndex {
    /// The share index with this number. `None` for zero.
    #[must_use]
    pub const fn new(number: u32) -> Option<Self> {
        match NonZeroU32::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The index as a number, counted from one.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0.get()
    }

    /// The position of the share in a slice of all shares, counted from zero.
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

/// A threshold: any `t` of `n` shares rebuild the secret, and `t − 1` shares reveal nothing about it.
/// A value always satisfies `1 ≤ t ≤ n`.
///
/// ```compile_fail,E0277
/// use prefinal_crypto_core::access::Threshold;
/// let threshold: Threshold = (3_u32, 5_u32).into();
/// ```
///
/// ```
/// use prefinal_crypto_core::access::Threshold;
/// let threshold = Threshold::new(3, 5)?;
/// assert_eq!(threshold.to_string(), "3 of 5");
/// assert!(Threshold::new(6, 5).is_err());
/// # Ok::<(), prefinal_crypto_core::access::ThresholdError>(())
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
    /// The number of shares that should suffice.
    pub t: u32,
    /// The number of all shares.
    pub n: u32,
}

impl ThresholdError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "threshold-range"
    }
}

impl Threshold {
    /// A threshold of `t` of `n` shares.
    ///
    /// # Errors
    /// Unless `1 ≤ t ≤ n`.
    pub const fn new(t: u32, n: u32) -> Result<Self, ThresholdError> {
        match (NonZeroU32::new(t), NonZeroU32::new(n)) {
            (Some(some_t), Some(some_n)) if t <= n => Ok(Self { t: some_t, n: some_n }),
            _ => Err(ThresholdError { t, n }),
        }
    }

    /// The number of shares that suffice.
    #[must_use]
    pub const fn t(self) -> NonZeroU32 {
        self.t
    }

    /// The number of all shares.
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
#[non_exhaustive]
pub enum AccessError {
    /// All weights are zero, so nobody would hold a share.
    #[error("all {parties} weights are zero")]
    NoShares {
        /// The number of parties.
        parties: usize,
    },
    /// There are more shares than are supported. No committee needs that many, because rounding keeps
    /// totals in the thousands.
    #[error("weights sum to {total}, at most {max} is supported")]
    TooManyShares {
        /// The sum of the weights.
        total: u64,
        /// The greatest supported number.
        max: u32,
    },
    /// There are more parties than are supported.
    #[error("{parties} parties, at most {max} are supported")]
    TooManyParties {
        /// The number of parties.
        parties: usize,
        /// The greatest supported number.
        max: u32,
    },
}

impl AccessError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoShares { .. } => "no-shares",
            Self::TooManyShares { .. } => "too-many-shares",
            Self::TooManyParties { .. } => "too-many-parties",
        }
    }
}

/// Which party holds which share indices.
///
/// ```
/// use prefinal_crypto_core::access::{Access, Party, ShareIndex};
/// let access = Access::new(&[2, 0, 1])?; // the second party holds no share
/// assert_eq!((access.len(), access.total()), (3, 3));
/// assert_eq!(access.range(Party::new(0)), 0..2);
/// assert_eq!(access.owner(ShareIndex::new(3).unwrap()), Some(Party::new(2)));
/// assert!(Access::new(&[0, 0]).is_err());
/// # Ok::<(), prefinal_crypto_core::access::AccessError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// `starts[i]` is the number of shares before those of party `i`. One more entry holds the total.
    starts: Vec<u32>,
}

impl Access {
    /// The greatest supported number of shares, and also of parties.
    pub const MAX: u32 = 1 << 20;

    /// Gives each party as many consecutive indices as its weight. `weights` has one entry for each
    /// party.
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

    /// Number of parties, including those without shares.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Always `false`, because there is at least one share and a party that holds it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Total weight `W`: how many shares there are.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// All parties in order, including those without shares.
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

    /// The positions of the party's shares in a slice of all shares.
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

    /// The smallest domain that contains the roots of unity of all shares.
    #[must_use]
    pub fn domain(&self) -> Domain {
        Domain::new(self.total())
    }

    /// The share indices of the party.
    pub fn indices(&self, party: Party) -> impl Iterator<Item = ShareIndex> + use<> {
        let (start, end) = self.bounds(party);
        (start..end).filter_map(|before| ShareIndex::new(before + 1))
    }

    /// The [fewest](fn@fewest) of `candidates` that together hold `need` shares. `None` if all of
    /// them hold fewer.
    #[must_use]
    pub fn fewest(
        &self,
        need: NonZeroU32,
        candidates: impl IntoIterator<Item = Party>,
    ) -> Option<BTreeSet<Party>> {
        let weighed = candidates.into_iter().map(|party| (party, u128::from(self.weight(party))));
        fewest(u128::from(need.get()), weighed)
    }

    /// The party that holds a share. `None` if there is no such share.
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

/// The smallest set of candidates that together have the weight `need`, counted in shares or in
/// stake. It takes the heaviest first. A small set is good because each party may cost a pairing, and
/// each may be one whose partial is wrong. `None` if all candidates together have less. A party that
/// is named twice counts once.
///
/// ```
/// use prefinal_crypto_core::access::{Party, fewest};
/// let [a, b, c] = [0, 1, 2].map(Party::new);
/// assert_eq!(fewest(5, [(a, 1), (b, 3), (c, 2)]), Some([b, c].into()));
/// assert_eq!(fewest(7, [(a, 1), (b, 3), (c, 2)]), None);
/// ```
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
