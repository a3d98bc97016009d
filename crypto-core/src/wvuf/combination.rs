//! Interpolation that is done once for each set of parties.
//!
//! ```text
//! ∏ᵢ e(Bᵢ, σᵢ)      Bᵢ = ∏ⱼ ρⱼ^λⱼ
//! ```
//!
//! The bases `Bᵢ` depend on the set of parties, not on the slot. Computing them is about half of the
//! cost of [`combine`] among 129 parties; the other half is a pairing for each party. In a committee
//! without faults, the same heaviest parties are first in slot after slot. So a driver keeps the
//! [`Combination`] of the set that it expects, and falls back to [`combine`] if another set is first.
//!
//! The `λⱼ` are not kept, because the bases already contain them. Lines of Miller loops are not kept
//! either: they belong to points of 𝔾₂, and every `σᵢ` is new in each slot.
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

/// Why a [`Combination`] cannot combine a quorum: the caller made a mistake, or another set of
/// parties came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CombinationError {
    /// The combination was made for another path or epoch.
    #[error("combination and quorum are of different committees")]
    OtherCommittee,
    /// The quorum consists of another set of parties. [`combine`] takes any set.
    #[error("the quorum has no partial of {party}")]
    Missing {
        /// The first party of the combination that the quorum lacks.
        party: Party,
    },
}

impl CombinationError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::OtherCommittee => "other-committee",
            Self::Missing { .. } => "partial-missing",
        }
    }
}

/// The bases `Bᵢ` of one set of parties. They can be used for any number of slots.
///
/// ```compile_fail,E0451
/// use prefinal_crypto_core::wvuf::Combination;
/// let none = Combination { committee: [0; 32], bases: vec![] };
/// ```
///
/// ```
/// # use std::collections::BTreeMap;
/// # use prefinal_crypto_core::access::{Access, Party, Threshold};
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
/// # use prefinal_crypto_core::wvuf::{Input, KeyShares, VufCommittee, blind};
/// use prefinal_crypto_core::wvuf::{Combination, combine};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # use prefinal_crypto_core::curve::{G1Affine, G2Affine, Scalar};
/// # use prefinal_crypto_core::generators::{g_hat, h};
/// # use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// # let (access, threshold) = (Access::new(&[2, 1, 2])?, Threshold::new(3, 5)?);
/// # let f = Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
/// # let shares = f.shares(&Points::of(&access, Placement::RootsOfUnity));
/// # let public: Vec<G2Affine> =
/// #     shares.expose().iter().map(|share| (g_hat() * share).to_affine()).collect();
/// # let secret: Vec<G1Affine> = shares.expose().iter().map(|share| (h() * share).to_affine()).collect();
/// # let key_shares: std::collections::BTreeMap<_, _> =
/// #     access.parties().map(|party| (party, secret[access.range(party)].to_vec())).collect();
/// # let mut committee = VufCommittee::new(access, threshold, public)?;
/// # let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(3) };
/// # let input = Input::new(&context, Slot::new(9), None);
/// # let mut partials = BTreeMap::new();
/// # for (party, shares) in key_shares {
/// #     let (key, blinded) = blind(&committee, party, &KeyShares::new(shares), &mut rng);
/// #     committee.insert(committee.admit(party, blinded)?)?;
/// #     partials.insert(party, key.evaluate(&input));
/// # }
///
/// // The parties that are usually first, computed once for all slots.
/// let usual = Combination::new(&committee, [0, 1].map(Party::new)).unwrap();
/// let quorum = committee.verify_all(&input, partials)?;
/// assert_eq!(usual.combine(&quorum)?, combine(&quorum));
/// // One party with two of five shares cannot reach the threshold of three.
/// assert!(Combination::new(&committee, [Party::new(0)]).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    committee: [u8; 32],
    bases: Vec<(Party, G1Affine)>,
}

impl Combination {
    /// Computes the bases for exactly `t` shares of the heaviest among `parties`, because these are
    /// the fewest. `None` if the parties with admitted keys hold fewer than `t` shares. Costs the
    /// same multi-scalar multiplications over `t` shares as [`combine`].
    #[must_use]
    pub fn new(committee: &VufCommittee, parties: impl IntoIterator<Item = Party>) -> Option<Self> {
        let bases = bases(committee, committee.fewest(parties)?);
        Some(Self { committee: committee.id(), bases })
    }

    /// The parties whose partials are needed, heaviest first.
    pub fn parties(&self) -> impl Iterator<Item = Party> {
        self.bases.iter().map(|(party, _)| *party)
    }

    fn loops(&self, partials: &BTreeMap<Party, Partial>) -> MillerLoop {
        let bases = self.bases.iter();
        MillerLoop::from_terms(
            bases.filter_map(|(party, base)| Some((*base, partials.get(party)?.point()))),
        )
    }

    /// The same output as [`combine`], computed with pairings alone.
    ///
    /// # Errors
    /// If the quorum is of another committee, or lacks one of the parties.
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

/// A slot's product of pairings while some of its partials are still missing. The same parties are
/// usually first in every slot. So the partials of an expected set are verified and multiplied in as
/// they arrive, and little is left to do when the last one arrives.
///
/// Its namesake of threshold BLS has the same functions and an example:
/// [`RunningCombination`](crate::threshold::RunningCombination).
#[derive(Clone, Debug)]
pub struct RunningCombination {
    combination: Arc<Combination>,
    input: Input,
    verified: BTreeMap<Party, Partial>,
    product: MillerLoop,
}

/// `product` is not compared, because it follows from the other fields.
impl PartialEq for RunningCombination {
    fn eq(&self, other: &Self) -> bool {
        (&self.combination, &self.input, &self.verified)
            == (&other.combination, &other.input, &other.verified)
    }
}

impl Eq for RunningCombination {}

impl RunningCombination {
    /// Starts the product for this set of parties and this slot, without partials.
    #[must_use]
    pub fn new(combination: &Arc<Combination>, input: &Input) -> Self {
        let (combination, input) = (Arc::clone(combination), input.clone());
        Self { combination, input, verified: BTreeMap::new(), product: MillerLoop::one() }
    }

    /// Verifies the given partials and multiplies the right ones into the product. Partials of
    /// parties outside the set, and partials that are in the product already, are skipped.
    /// [`finish`](RunningCombination::finish) names the wrong ones. Does nothing if `committee` is not
    /// the one of the combination.
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

    /// The output that [`VufCommittee::verify_all`] and [`combine`] give for these partials, without
    /// repeating the work that is done already. If the partials do not fit the expected set,
    /// everything is computed from the start.
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

    /// Whether `partials` has every party of the set, and the partials that were verified are
    /// unchanged.
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

/// Combines a quorum into the output: `∏ᵢ e(∏ⱼ ρⱼ^λⱼ, σᵢ)`, with one Miller loop for each party and
/// one final exponentiation.
///
/// It interpolates over exactly `t` shares of the heaviest parties, because these are the fewest
/// parties.
///
/// See the example at [`VufCommittee`].
#[must_use]
pub fn combine(quorum: &Quorum<'_>) -> Output {
    output(&bases(quorum.committee(), quorum.partials().keys().copied()), quorum)
}

/// The output from these bases. The quorum has a partial for each of them.
fn output(bases: &[(Party, G1Affine)], quorum: &Quorum<'_>) -> Output {
    let partial = |party| quorum.partials().get(party).map(Partial::point);
    let terms = bases.iter().filter_map(|(party, base)| Some((*base, partial(party)?)));
    Output::new(pairing_product(&terms.collect::<Vec<_>>()))
}

/// The bases `Bᵢ` over `t` shares of the heaviest of these parties. The parties must be distinct and
/// hold at least `t` shares.
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
