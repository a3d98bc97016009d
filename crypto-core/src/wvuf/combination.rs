//! Interpolation, once for each set of parties.
//!
//! ```text
//! ∏ᵢ e(Bᵢ, σᵢ)      Bᵢ = ∏ⱼ ρⱼ^λⱼ
//! ```
//!
//! The bases `Bᵢ` depend on who takes part, not on the slot, and making them is about half of
//! [`combine`] among 129 parties; what is left is a pairing for each party. A committee without faults
//! sees the same heaviest parties in slot after slot, so a driver keeps the [`Combination`] of the set
//! that it expects and falls back to [`combine`] if another set is first.
//!
//! Not kept: `λⱼ`, of no use beside the bases; lines of Miller loops, for they belong to points of 𝔾₂,
//! and every `σᵢ` is new in each slot.
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::committee::VufCommittee;
use super::input::{Input, Partial};
use super::quorum::{Output, Quorum, QuorumError};
use crate::access::Party;
use crate::curve::G1Affine;
use crate::curve::hazmat::{Factor, MillerLoop, pairing_product, vartime_sums};

/// Why a [`Combination`] does not serve a quorum: the caller's mistake, or another set came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CombinationError {
    /// Made for another path or epoch.
    #[error("combination and quorum are of different committees")]
    OtherCommittee,
    /// Some other set suffices: [`combine`] takes any.
    #[error("the quorum has no partial of {party}")]
    Missing {
        /// The first that it lacks.
        party: Party,
    },
}

/// The bases of one set of parties, for any number of slots.
///
/// ```compile_fail,E0451
/// use crypto_core::wvuf::Combination;
/// let none = Combination { committee: [0; 32], bases: vec![] };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    committee: [u8; 32],
    bases: Vec<(Party, G1Affine)>,
}

impl Combination {
    /// For exactly `t` shares of the heaviest of `parties`, since these are the fewest. `None` if those
    /// among them whose keys are admitted hold less. Costs the sums of products over `t` shares that
    /// [`combine`] would make.
    #[must_use]
    pub fn new(committee: &VufCommittee, parties: impl IntoIterator<Item = Party>) -> Option<Self> {
        let bases = bases(committee, committee.fewest(parties)?);
        Some(Self { committee: committee.id(), bases })
    }

    /// Whose partials it takes, heaviest first.
    pub fn parties(&self) -> impl Iterator<Item = Party> {
        self.bases.iter().map(|(party, _)| *party)
    }

    fn loops(&self, partials: &BTreeMap<Party, Partial>) -> MillerLoop {
        let bases = self.bases.iter();
        MillerLoop::from_terms(
            bases.filter_map(|(party, base)| Some((*base, partials.get(party)?.point()))),
        )
    }

    /// What [`combine`] makes of the quorum, by pairings alone.
    ///
    /// # Errors
    /// If the quorum is of another committee, or one of the parties is not in it.
    pub fn combine(&self, quorum: &Quorum<'_>) -> Result<Output, CombinationError> {
        if quorum.committee().id() != self.committee {
            return Err(CombinationError::OtherCommittee);
        }
        match self.parties().find(|party| !quorum.partials().contains_key(party)) {
            Some(party) => Err(CombinationError::Missing { party }),
            None => Ok(output(&self.bases, quorum)),
        }
    }
}

/// A slot's product of pairings before all of its partials are there: whose partials come first is much
/// the same from slot to slot, so those of an expected set are verified and multiplied in as they come,
/// and when the last is here little is left to do.
#[derive(Clone, Debug)]
pub struct Ahead {
    combination: Arc<Combination>,
    input: Input,
    verified: BTreeMap<Party, Partial>,
    product: MillerLoop,
}

/// The product follows from the rest.
impl PartialEq for Ahead {
    fn eq(&self, other: &Self) -> bool {
        (&self.combination, &self.input, &self.verified)
            == (&other.combination, &other.input, &other.verified)
    }
}

impl Eq for Ahead {}

impl Ahead {
    /// For this set and slot, with no partials yet.
    #[must_use]
    pub fn new(combination: &Arc<Combination>, input: &Input) -> Self {
        let (combination, input) = (Arc::clone(combination), input.clone());
        Self { combination, input, verified: BTreeMap::new(), product: MillerLoop::one() }
    }

    /// Verifies those of these partials that belong to the set and are not in the product yet, and
    /// multiplies in those that are right. Those that are wrong are named by
    /// [`finish`](Ahead::finish).
    pub fn add(&mut self, committee: &VufCommittee, partials: &BTreeMap<Party, Partial>) {
        if committee.id() != self.combination.committee {
            return;
        }
        let mut new: BTreeMap<Party, Partial> = self
            .combination
            .parties()
            .filter(|party| !self.verified.contains_key(party))
            .filter_map(|party| Some((party, *partials.get(&party)?)))
            .collect();
        match committee.check_all(&self.input, &new) {
            Ok(()) => {}
            Err(QuorumError::Faulty { culprits }) => {
                new.retain(|party, _| !culprits.contains(party));
            }
            Err(_) => return,
        }
        self.product = self.product * self.combination.loops(&new);
        self.verified.append(&mut new);
    }

    /// What [`VufCommittee::verify_all`] and [`combine`] make of these partials, without doing again what
    /// is done. If they are not what was expected, all is done from the start.
    ///
    /// # Errors
    /// If [`VufCommittee::verify_all`] refuses these partials.
    pub fn finish(
        &self,
        committee: &VufCommittee,
        input: &Input,
        partials: &BTreeMap<Party, Partial>,
    ) -> Result<Output, QuorumError> {
        if !self.fits(committee, input, partials) {
            return Ok(combine(&committee.verify_all(input, partials.clone())?));
        }
        let rest = partials.iter().filter(|(party, _)| !self.verified.contains_key(party));
        let rest = rest.map(|(party, partial)| (*party, *partial)).collect();
        committee.check_all(input, &rest)?;
        let product = self.product * self.combination.loops(&rest);
        Ok(Output::new(product.final_exponentiation()))
    }

    /// Whether all of the set are there, with the partials that were verified.
    fn fits(
        &self,
        committee: &VufCommittee,
        input: &Input,
        partials: &BTreeMap<Party, Partial>,
    ) -> bool {
        committee.id() == self.combination.committee
            && self.input == *input
            && self.combination.parties().all(|party| partials.contains_key(&party))
            && self.verified.iter().all(|(party, known)| partials.get(party) == Some(known))
    }
}

/// `∏ᵢ e(∏ⱼ ρⱼ^λⱼ, σᵢ)`: one Miller loop for each party, one final exponentiation.
///
/// Interpolates over exactly `t` shares of the heaviest parties, for these are the fewest.
#[must_use]
pub fn combine(quorum: &Quorum<'_>) -> Output {
    output(&bases(quorum.committee(), quorum.partials().keys().copied()), quorum)
}

/// Over partials that are all there.
fn output(bases: &[(Party, G1Affine)], quorum: &Quorum<'_>) -> Output {
    let partial = |party| quorum.partials().get(party).map(Partial::point);
    let terms = bases.iter().filter_map(|(party, base)| Some((*base, partial(party)?)));
    Output::new(pairing_product(&terms.collect::<Vec<_>>()))
}

/// `Bᵢ` over `t` shares of the heaviest of these parties, who are distinct and hold as many.
fn bases(
    committee: &VufCommittee,
    parties: impl IntoIterator<Item = Party>,
) -> Vec<(Party, G1Affine)> {
    let mut heaviest: Vec<Party> = parties.into_iter().collect();
    heaviest.sort_by_key(|party| (Reverse(committee.weight_of(*party)), *party));
    let mut missing = usize::try_from(committee.threshold().t().get()).unwrap_or(usize::MAX);
    let (mut parties, mut ends) = (Vec::new(), Vec::new());
    let (mut indices, mut rho) = (Vec::new(), Vec::new());
    for party in heaviest {
        let Some(key) = committee.keys().get(&party).filter(|_| missing > 0) else { continue };
        let own = key.rho().get(..missing).unwrap_or(key.rho());
        missing -= own.len();
        indices.extend(committee.access().indices(party).take(own.len()));
        rho.extend_from_slice(own);
        parties.push(party);
        ends.push(rho.len());
    }
    let lambda = committee.domain().lagrange_at_zero(&indices);
    let terms: Vec<_> = rho.into_iter().zip(lambda.iter().map(Factor::new)).collect();
    let bases = vartime_sums(&terms, &ends);
    parties.into_iter().zip(bases).collect()
}
