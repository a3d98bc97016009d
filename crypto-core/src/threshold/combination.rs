//! Interpolation ahead of time, for a set of parties that is expected.
//!
//! ```text
//! σ = ∏ⱼ σⱼ^λⱼ
//! ```
//!
//! Every `λⱼ` depends on the whole set of indices, so nothing of the sum can be had before the set is
//! known. But whose partials come first is much the same from slot to slot: a driver guesses the set,
//! adds terms as they arrive, and when the last is here has little left to do but verify the result. If
//! the guess was wrong, [`OptimisticQuorum::combine`](super::OptimisticQuorum::combine) takes any set.
//!
//! Nothing is trusted on the way: the result is verified, and what does not verify is combined and
//! searched for culprits in the ordinary way.
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

/// The `λⱼ` of one set of parties, for any number of messages.
///
/// ```compile_fail,E0451
/// use crypto_core::threshold::Combination;
/// let none = Combination { committee: [0; 32], lambda: Default::default() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    committee: [u8; 32],
    /// For each party, for the indices that count: of the last party maybe not all.
    lambda: BTreeMap<Party, Vec<Scalar>>,
}

/// One message's sum before all of its partials are there.
#[derive(Clone, Debug)]
pub struct Ahead<V: Variant> {
    combination: Arc<Combination>,
    added: BTreeMap<Party, Partial<V>>,
    sum: Projective<V::SignatureGroup>,
}

/// The sum follows from the rest.
impl<V: Variant> PartialEq for Ahead<V> {
    fn eq(&self, other: &Self) -> bool {
        (&self.combination, &self.added) == (&other.combination, &other.added)
    }
}

impl<V: Variant> Eq for Ahead<V> {}

impl Combination {
    /// For the `t` lowest indices of these parties. `None` if they hold fewer.
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

    /// Whose partials it takes.
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

impl<V: Variant> Ahead<V> {
    /// For this set, with no partials yet.
    #[must_use]
    pub fn new(combination: &Arc<Combination>) -> Self {
        let combination = Arc::clone(combination);
        Self { combination, added: BTreeMap::new(), sum: Projective::identity() }
    }

    /// Adds the terms of those of these partials that belong to the set and are not in the sum yet: a
    /// sum of products.
    pub fn add(&mut self, partials: &BTreeMap<Party, Partial<V>>) {
        let new = partials.iter().filter(|(party, _)| !self.added.contains_key(party));
        let (sum, added) = self.combination.sum(new);
        self.sum += sum;
        self.added.extend(added);
    }

    /// The group's signature, verified, from the terms that are there and the partials that are not. If
    /// it is not valid, or the partials are not what was expected, they are combined from the start.
    ///
    /// # Errors
    /// As [`SigningCommittee::optimistic`] and
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

    /// Whether all of the set are there, with the partials that were added.
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
