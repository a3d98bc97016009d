//! Interpolation ahead of time, for an expected set of parties.
//!
//! ```text
//! σ = ∏ⱼ σⱼ^λⱼ
//! ```
//!
//! Every `λⱼ` depends on the whole set of indices, so no term of the sum can be computed before the
//! set is known. But the same parties are usually first in every slot. So a driver guesses the set
//! and adds terms as they arrive. When the last partial arrives, little more than the check of the
//! result is left to do. If the guess was wrong,
//! [`OptimisticQuorum::combine`](super::OptimisticQuorum::combine) takes any set.
//!
//! The partials are not trusted: the result is verified. If it is not valid, the partials are
//! combined and searched for culprits in the ordinary way.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::access::Party;
use crate::bls::{Signature, SignaturePoint, Variant};
use crate::curve::hazmat::vartime_msm;
use crate::curve::{Projective, Scalar};

use super::committee::SigningCommittee;
use super::message::Message;
use super::partial::Partial;
use super::quorum::QuorumError;

/// The Lagrange coefficients `λⱼ` of one set of parties. They can be used for any number of messages.
///
/// ```compile_fail,E0451
/// use prefinal_crypto_core::threshold::Combination;
/// let none = Combination { committee: [0; 32], lambda: Default::default() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    committee: [u8; 32],
    /// The coefficients of each party, for those of its indices that are used. Some indices of the
    /// last party may be unused.
    lambda: BTreeMap<Party, Vec<Scalar>>,
}

/// The sum for one message while some of its partials are still missing.
///
/// ```
/// # use std::collections::BTreeMap;
/// # use std::sync::Arc;
/// # use prefinal_crypto_core::access::{Access, Party, Threshold};
/// # use prefinal_crypto_core::bls::MinSig;
/// # use prefinal_crypto_core::commitment::Commitment;
/// # use prefinal_crypto_core::curve::Scalar;
/// # use prefinal_crypto_core::drand::RoundNumber;
/// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// # use prefinal_crypto_core::threshold::{KeyShares, Message, Purpose, Setup, SigningCommittee};
/// use prefinal_crypto_core::threshold::{RunningCombination, Combination};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let (access, threshold) = (Access::new(&[2, 1, 2])?, Threshold::new(3, 5)?);
/// # let f = Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
/// # let (placement, purpose) = (Placement::Consecutive, Purpose::Rounds);
/// # let setup = Setup { access, threshold, placement, purpose };
/// # let committee = SigningCommittee::<MinSig>::from_commitment(setup, &Commitment::commit(&f))?;
/// # let shares = f.shares(committee.points());
/// # let signers: Vec<_> = committee.access().parties().map(|party| {
/// #     let own = Secret::new(shares.expose()[committee.access().range(party)].to_vec());
/// #     KeyShares::new(party, own).check(&committee)
/// # }).collect::<Result<_, _>>()?;
/// # let round = Message::round(RoundNumber::FIRST);
///
/// // The parties that are usually first, computed once for all rounds.
/// let usual = Combination::new(&committee, [0, 1].map(Party::new)).unwrap();
/// let mut sum = RunningCombination::new(&Arc::new(usual));
/// let mut partials = BTreeMap::new();
/// for signer in &signers[..2] {
///     partials.insert(signer.party(), signer.partial(&round)?);
///     sum.add(&partials); // as each arrives
/// }
/// let signature = sum.finish(&committee, &round, &partials)?;
/// assert!(committee.verify_result(&round, &signature).is_ok());
/// // One party with two of five shares cannot reach the threshold of three.
/// assert!(Combination::new(&committee, [Party::new(0)]).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RunningCombination<V: Variant> {
    combination: Arc<Combination>,
    added: BTreeMap<Party, Partial<V>>,
    sum: Projective<V::SignatureGroup>,
}

/// `sum` is not compared, because it follows from the other fields.
impl<V: Variant> PartialEq for RunningCombination<V> {
    fn eq(&self, other: &Self) -> bool {
        (&self.combination, &self.added) == (&other.combination, &other.added)
    }
}

impl<V: Variant> Eq for RunningCombination<V> {}

impl Combination {
    /// Computes the coefficients for the `t` lowest indices of these parties. `None` if they hold
    /// fewer than `t`.
    #[must_use]
    pub fn new<V: Variant>(
        committee: &SigningCommittee<V>,
        parties: impl IntoIterator<Item = Party>,
    ) -> Option<Self> {
        let t = usize::try_from(committee.threshold().t().get()).ok()?;
        let access = committee.access();
        let parties: BTreeSet<Party> = parties.into_iter().collect();
        let held = parties
            .into_iter()
            .flat_map(|party| access.indices(party).map(move |index| (party, index)));
        let (parties, indices): (Vec<_>, Vec<_>) = held.take(t).unzip();
        if indices.len() < t {
            return None;
        }
        let scalars = committee.points().lagrange_at_zero(&indices).ok()?.to_scalars();
        let mut lambda = BTreeMap::<Party, Vec<Scalar>>::new();
        for (party, scalar) in parties.into_iter().zip(scalars) {
            lambda.entry(party).or_default().push(scalar);
        }
        Some(Self { committee: committee.id(), lambda })
    }

    /// The parties whose partials are needed.
    pub fn parties(&self) -> impl Iterator<Item = Party> {
        self.lambda.keys().copied()
    }

    fn sum<'p, V: Variant>(
        &self,
        partials: impl Iterator<Item = (&'p Party, &'p Partial<V>)>,
    ) -> (Projective<V::SignatureGroup>, BTreeMap<Party, Partial<V>>) {
        let mut added = BTreeMap::new();
        let (mut points, mut scalars) = (Vec::<SignaturePoint<V>>::new(), Vec::new());
        for (party, partial) in partials {
            let Some(lambda) = self.lambda.get(party) else { continue };
            points.extend(partial.points().iter().take(lambda.len()));
            scalars.extend(lambda.iter().take(partial.points().len()));
            added.insert(*party, partial.clone());
        }
        (vartime_msm(&points, &scalars), added)
    }
}

impl<V: Variant> RunningCombination<V> {
    /// Starts the sum for this set of parties, without partials.
    #[must_use]
    pub fn new(combination: &Arc<Combination>) -> Self {
        let combination = Arc::clone(combination);
        Self { combination, added: BTreeMap::new(), sum: Projective::identity() }
    }

    /// Adds the terms of the given partials. Partials of parties outside the set, and partials that
    /// are in the sum already, are skipped. Costs a multi-scalar multiplication.
    pub fn add(&mut self, partials: &BTreeMap<Party, Partial<V>>) {
        let new = partials.iter().filter(|(party, _)| !self.added.contains_key(party));
        let (sum, added) = self.combination.sum(new);
        self.sum += sum;
        self.added.extend(added);
    }

    /// The group's signature, verified. It is made from the sum so far and from the partials that are
    /// not in it yet. If it is not valid, or if the partials do not fit the expected set, they are
    /// combined from the start.
    ///
    /// # Errors
    /// The errors of [`SigningCommittee::optimistic`] and
    /// [`OptimisticQuorum::combine`](super::OptimisticQuorum::combine).
    pub fn finish(
        &self,
        committee: &SigningCommittee<V>,
        message: &Message<V>,
        partials: &BTreeMap<Party, Partial<V>>,
    ) -> Result<Signature<V>, QuorumError> {
        if self.fits(committee, partials) {
            let rest = partials.iter().filter(|(party, _)| !self.added.contains_key(party));
            let (sum, _) = self.combination.sum(rest);
            let signature = Signature::from_sum((self.sum + sum).to_affine());
            if committee.verify_result(message, &signature).is_ok() {
                return Ok(signature);
            }
        }
        committee.optimistic(message, partials.clone())?.combine()
    }

    /// Whether `partials` has every party of the set, and the partials that were added are unchanged.
    fn fits(
        &self,
        committee: &SigningCommittee<V>,
        partials: &BTreeMap<Party, Partial<V>>,
    ) -> bool {
        committee.id() == self.combination.committee
            && self.combination.parties().all(|party| partials.contains_key(&party))
            && self.added.iter().all(|(party, known)| partials.get(party) == Some(known))
    }
}
