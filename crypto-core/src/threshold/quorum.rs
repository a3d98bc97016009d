//! Partials become a signature.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::ops::Range;

use crate::access::{Party, ShareIndex};
use crate::bisect::{self, Weight};
use crate::bls::{KeyPoint, Signature, SignaturePoint, Variant};
use crate::challenge::Transcript;
use crate::curve::{Affine, Gt, pairing_product, vartime_msm_bits};

use super::committee::Committee;
use super::message::{Message, PurposeError};
use super::partial::{Partial, PartialError};

const VERIFY_TAG: &[u8] = b"PREFINAL-V1-THRESHOLD-BLS-VERIFY";

/// Why partials did not become a quorum, or a quorum no signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuorumError {
    /// The caller's mistake.
    #[error(transparent)]
    Purpose(#[from] PurposeError),
    /// The caller's mistake: it counts partials of parties that have no shares.
    #[error("{party} holds no shares in this committee")]
    NoShares {
        /// Who.
        party: Party,
    },
    /// Wait for more and try again. Nothing was verified.
    #[error("partials hold {got} shares, threshold is {need}")]
    BelowThreshold {
        /// Shares of all parties given.
        got: u32,
        /// Shares a signature takes.
        need: NonZeroU32,
    },
    /// Known to us alone; convincing others takes the culprits' signed messages.
    #[error("{} partial(s) are not what their parties' keys say", culprits.len())]
    Faulty {
        /// Every party whose partial is wrong, and nobody else.
        culprits: BTreeSet<Party>,
    },
}

impl<V: Variant> Committee<V> {
    /// Checks all partials with one equation and, if that fails, names the culprits. Two pairings, and
    /// a sum of products in either group over scalars of 128 bits, one for each share.
    ///
    /// # Errors
    /// If the message is not what the key is for, there is a party without shares, not enough weight,
    /// or a partial that is wrong.
    pub fn verify_all(
        &self,
        message: &Message<V>,
        partials: BTreeMap<Party, Partial<V>>,
    ) -> Result<Quorum<'_, V>, QuorumError> {
        self.check_weight(message, &partials)?;
        self.check_all(message, &partials)?;
        Ok(Quorum { committee: self, message: *message, partials })
    }

    /// The check of [`verify_all`](Committee::verify_all) alone, however little the partials weigh.
    ///
    /// # Errors
    /// As there, but never for lack of weight.
    pub fn check_all(
        &self,
        message: &Message<V>,
        partials: &BTreeMap<Party, Partial<V>>,
    ) -> Result<(), QuorumError> {
        message.check(self.purpose())?;
        let mut culprits = self.misshapen(partials)?;
        let rest = partials.iter().map(|(party, partial)| (*party, partial));
        let terms = Terms::new(self, message, rest.filter(|(party, _)| !culprits.contains(party)));
        culprits.extend(terms.culprits());
        if culprits.is_empty() { Ok(()) } else { Err(QuorumError::Faulty { culprits }) }
    }

    /// Takes partials as they come: weight and shapes are checked, and the result is when it is there.
    ///
    /// # Errors
    /// If the message is not what the key is for, there is a party without shares, not enough weight,
    /// or a partial with more or fewer points than its party has shares.
    pub fn optimistic(
        &self,
        message: &Message<V>,
        partials: BTreeMap<Party, Partial<V>>,
    ) -> Result<OptimisticQuorum<'_, V>, QuorumError> {
        self.check_weight(message, &partials)?;
        let culprits = self.misshapen(&partials)?;
        if culprits.is_empty() {
            let message = *message;
            Ok(OptimisticQuorum(Quorum { committee: self, message, partials }))
        } else {
            Err(QuorumError::Faulty { culprits })
        }
    }

    fn check_weight(
        &self,
        message: &Message<V>,
        partials: &BTreeMap<Party, Partial<V>>,
    ) -> Result<(), QuorumError> {
        message.check(self.purpose())?;
        let got = partials.keys().map(|party| self.access().weight(*party)).sum();
        let need = self.threshold().t();
        if got < need.get() { Err(QuorumError::BelowThreshold { got, need }) } else { Ok(()) }
    }

    /// Whose partial has not one point for each share.
    fn misshapen(
        &self,
        partials: &BTreeMap<Party, Partial<V>>,
    ) -> Result<BTreeSet<Party>, QuorumError> {
        let mut culprits = BTreeSet::new();
        for (&party, partial) in partials {
            match partial.check_shape(self, party) {
                Ok(()) => {}
                Err(PartialError::ShareCount { .. }) => {
                    culprits.insert(party);
                }
                Err(_) => return Err(QuorumError::NoShares { party }),
            }
        }
        Ok(culprits)
    }
}

/// Verified partials of distinct parties of one committee on one message, at least `t` shares in all:
/// [`combine`](Quorum::combine) is total.
///
/// It borrows its committee, so the partials of one cannot meet the keys of another, and nobody else
/// makes one:
///
/// ```compile_fail,E0451
/// use crypto_core::bls::MinSig;
/// use crypto_core::threshold::{Committee, Message, Quorum};
/// fn unchecked(committee: &Committee<MinSig>, message: Message<MinSig>) -> Quorum<'_, MinSig> {
///     Quorum { committee, message, partials: Default::default() }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Quorum<'c, V: Variant> {
    committee: &'c Committee<V>,
    message: Message<V>,
    partials: BTreeMap<Party, Partial<V>>,
}

impl<V: Variant> Quorum<'_, V> {
    /// What the partials are on.
    #[must_use]
    pub const fn message(&self) -> &Message<V> {
        &self.message
    }

    /// The partials.
    #[must_use]
    pub const fn partials(&self) -> &BTreeMap<Party, Partial<V>> {
        &self.partials
    }

    /// `∏ⱼ σⱼ^λⱼ` over the `t` lowest indices: the group's signature. One sum of products, shorter
    /// the fewer indices are left out, if shares sit at consecutive numbers.
    #[must_use]
    pub fn combine(&self) -> Signature<V> {
        let t = usize::try_from(self.committee.threshold().t().get()).unwrap_or(usize::MAX);
        let access = self.committee.access();
        // Parties are in order, and so are the indices they hold.
        let (indices, points): (Vec<ShareIndex>, Vec<SignaturePoint<V>>) = self
            .partials
            .iter()
            .flat_map(|(party, partial)| access.indices(*party).zip(partial.points().to_vec()))
            .take(t)
            .unzip();
        // The indices are distinct and of this committee, so neither step fails.
        let lambda = self.committee.points().lagrange_at_zero(&indices);
        let sum = lambda.and_then(|lambda| lambda.combine(&points));
        Signature::from_sum(sum.map_or(Affine::identity(), |sum| sum.to_affine()))
    }
}

/// Partials of distinct parties of one committee, at least `t` shares in all, of which nothing was
/// verified: combining may fail.
#[derive(Clone, Debug)]
pub struct OptimisticQuorum<'c, V: Variant>(Quorum<'c, V>);

impl<V: Variant> OptimisticQuorum<'_, V> {
    /// What the partials are on.
    #[must_use]
    pub const fn message(&self) -> &Message<V> {
        self.0.message()
    }

    /// The partials.
    #[must_use]
    pub const fn partials(&self) -> &BTreeMap<Party, Partial<V>> {
        self.0.partials()
    }

    /// The group's signature, verified: a sum of products and two pairings. If it is not valid, all
    /// partials are verified.
    ///
    /// # Errors
    /// Names the parties whose partials are wrong.
    pub fn combine(&self) -> Result<Signature<V>, QuorumError> {
        let Self(quorum) = self;
        let signature = quorum.combine();
        if quorum.committee.verify_result(&quorum.message, &signature).is_ok() {
            return Ok(signature);
        }
        quorum.committee.check_all(&quorum.message, &quorum.partials)?;
        // Keys are on one polynomial, so with valid partials the result was valid.
        Err(QuorumError::Faulty { culprits: quorum.partials.keys().copied().collect() })
    }
}

/// The equations of some partials, one for each party, with a coefficient for each share.
pub(super) struct Terms<V: Variant> {
    message: Message<V>,
    parties: Vec<Party>,
    /// Where each party's shares end in the lists below.
    ends: Vec<usize>,
    sigmas: Vec<SignaturePoint<V>>,
    keys: Vec<KeyPoint<V>>,
    coefficients: Vec<u128>,
}

impl<V: Variant> Terms<V> {
    /// The partials must have passed [`Partial::check_shape`].
    pub(super) fn new<'p>(
        committee: &Committee<V>,
        message: &Message<V>,
        partials: impl IntoIterator<Item = (Party, &'p Partial<V>)>,
    ) -> Self {
        let (mut parties, mut ends) = (Vec::new(), Vec::new());
        let (mut sigmas, mut keys) = (Vec::new(), Vec::new());
        let mut transcript = Transcript::new(VERIFY_TAG);
        transcript.append(b"committee", &committee.id());
        transcript.append_point(b"message", &message.point());
        for (party, partial) in partials {
            transcript.append_u64(b"party", party.get().into());
            transcript.append_points(b"partial", partial.points());
            sigmas.extend_from_slice(partial.points());
            keys.extend_from_slice(committee.keys_of(party));
            parties.push(party);
            ends.push(sigmas.len());
        }
        let coefficients = match sigmas.len() {
            // Nothing to mix.
            0 | 1 => alloc::vec![1; sigmas.len()],
            count => transcript.coefficients_128(b"coefficients", count),
        };
        Self { message: *message, parties, ends, sigmas, keys, coefficients }
    }

    pub(super) fn hold(&self) -> bool {
        self.parties.is_empty() || self.product(0..self.parties.len(), Weight::One) == Gt::one()
    }

    /// The parties whose equation does not hold.
    fn culprits(&self) -> BTreeSet<Party> {
        let found = bisect::locate(self.parties.len(), |range, weight| self.product(range, weight));
        found.into_iter().filter_map(|at| self.parties.get(at).copied()).collect()
    }

    /// `e(∏ⱼ σⱼ^cⱼ, g)·e(H(m), ∏ⱼ pkⱼ^−cⱼ)` over the shares of some parties, with `cⱼ = τⱼ` or `τⱼ`
    /// times the place of the party.
    fn product(&self, parties: Range<usize>, weight: Weight) -> Gt {
        let end = |parties: usize| {
            parties.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0)
        };
        let shares = end(parties.start)..end(parties.end);
        let sigmas = self.sigmas.get(shares.clone()).unwrap_or_default();
        let keys = self.keys.get(shares).unwrap_or_default();
        let (sigma, key) = match (sigmas, keys, self.coefficients.as_slice()) {
            ([sigma], [key], [1]) => (*sigma, *key),
            _ => {
                let scalars: Vec<_> =
                    parties.flat_map(|place| self.weighted(place, weight)).collect();
                let bits = weight.bits(self.parties.len());
                let sigma = vartime_msm_bits(sigmas, &scalars, bits);
                (sigma.to_affine(), vartime_msm_bits(keys, &scalars, bits).to_affine())
            }
        };
        pairing_product(&[V::pair(sigma, Affine::generator()), V::pair(-self.message.point(), key)])
    }

    /// The coefficients of one party's shares.
    fn weighted(&self, place: usize, weight: Weight) -> impl Iterator<Item = [u8; 24]> {
        let start = place.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0);
        let end = self.ends.get(place).copied().unwrap_or(start);
        let own = self.coefficients.get(start..end).unwrap_or_default();
        own.iter().map(move |coefficient| weight.apply(*coefficient, place))
    }
}
