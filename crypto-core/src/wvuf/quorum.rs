//! Checks partials and collects them into a quorum, which gives the output.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Range;

use sha2::{Digest, Sha256};

use super::admission::Places;
use super::audit::Proof;
use super::committee::VufCommittee;
use super::input::{Input, Partial};
use crate::access::Party;
use crate::bisect::{self, Weight};
use crate::challenge::Transcript;
use crate::curve::hazmat::{
    Factor, Gt, challenge, check_pairing_product, pairing_product, vartime_sums,
};
use crate::curve::{G1Affine, G2Affine, Scalar};
use crate::generators;

const VERIFY_TAG: &[u8] = b"PREFINAL-V1-WVUF-VERIFY";
const RANDOMNESS_TAG: &[u8] = b"PREFINAL-V1-WVUF-RANDOMNESS";

/// Why one partial does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartialError {
    /// The party has no admitted key to check the partial against.
    #[error("{party} has no admitted key")]
    NotAdmitted {
        /// The party that sent the partial.
        party: Party,
    },
    /// The partial does not match its key and the input: `e(πᵢ, σᵢ) ≠ e(h, H(m))`.
    #[error("partial of {party} does not match its key and the input")]
    Mismatch {
        /// The party that sent the partial.
        party: Party,
    },
}

impl PartialError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotAdmitted { .. } => "not-admitted",
            Self::Mismatch { .. } => "partial-mismatch",
        }
    }
}

/// Why partials did not become a [`Quorum`].
pub type QuorumError = crate::quorum::QuorumError<NotAdmitted>;

/// The caller gave a partial of a party that has no admitted key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{party} has no admitted key")]
pub struct NotAdmitted {
    /// The party whose partial was given although it has no key.
    pub party: Party,
}

impl NotAdmitted {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "not-admitted"
    }
}

/// Verified partials of distinct parties of one committee on one input, with at least `t` shares in
/// all. So [`combine`](super::combine) cannot fail.
///
/// It borrows its committee, so the partials of one path are never combined with the keys of another.
/// Other code cannot construct it:
///
/// ```compile_fail,E0451
/// use prefinal_crypto_core::wvuf::{Input, Partial, Quorum, VufCommittee};
/// fn unchecked(committee: &VufCommittee, input: Input) -> Quorum<'_> {
///     Quorum { committee, input, partials: Default::default() }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Quorum<'c> {
    committee: &'c VufCommittee,
    input: Input,
    partials: BTreeMap<Party, Partial>,
}

impl<'c> Quorum<'c> {
    pub(super) fn committee(&self) -> &'c VufCommittee {
        self.committee
    }

    /// The input that the partials are on.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// The partials, by party. They prove the output, see [`audit`](super::audit).
    #[must_use]
    pub fn partials(&self) -> &BTreeMap<Party, Partial> {
        &self.partials
    }

    /// The partials together with their input: everything that
    /// [`Audit::open`](super::audit::Audit::open) needs.
    #[must_use]
    pub fn proof(&self) -> Proof {
        Proof {
            context: *self.input.context(),
            slot: self.input.slot(),
            value: self.input.value(),
            partials: self.partials.clone(),
        }
    }
}

/// The output of the function, `e(h^f(0), H(m))`. Every quorum of every path gives the same output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output(Gt);

impl Output {
    pub(super) fn new(value: Gt) -> Self {
        Self(value)
    }

    /// The encoding of the output as an element of 𝔾ₜ, 576 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 576] {
        self.0.to_bytes()
    }

    /// Randomness from the output: SHA-256 of a tag and the element, 32 bytes that nobody could
    /// predict.
    #[must_use]
    pub fn randomness(&self) -> [u8; 32] {
        Sha256::new().chain_update(RANDOMNESS_TAG).chain_update(self.to_bytes()).finalize().into()
    }
}

impl VufCommittee {
    /// Checks the partial of one party.
    ///
    /// # Errors
    /// If the party has no admitted key, or the partial is not the party's evaluation of `input`.
    pub fn verify(
        &self,
        party: Party,
        input: &Input,
        partial: &Partial,
    ) -> Result<(), PartialError> {
        let key = self.keys().get(&party).ok_or(PartialError::NotAdmitted { party })?;
        check_pairing_product([(key.pi(), partial.point()), (-generators::h(), input.point())])
            .map_err(|_| PartialError::Mismatch { party })
    }

    /// Checks all partials with one equation and, if that fails, finds the culprits by halving. Give
    /// it the [fewest](VufCommittee::fewest) parties that suffice, because each party costs a
    /// pairing.
    ///
    /// # Errors
    /// If a party has no admitted key, the weight is too low, or a partial is wrong.
    pub fn verify_all(
        &self,
        input: &Input,
        partials: BTreeMap<Party, Partial>,
    ) -> Result<Quorum<'_>, QuorumError> {
        let mut got = 0;
        for party in partials.keys().copied() {
            if !self.keys().contains_key(&party) {
                return Err(NotAdmitted { party }.into());
            }
            got += self.weight_of(party);
        }
        let need = self.threshold().t();
        if got < need.get() {
            return Err(QuorumError::BelowThreshold { got, need });
        }
        self.check_all(input, &partials)?;
        Ok(Quorum { committee: self, input: input.clone(), partials })
    }

    /// The same check as [`verify_all`](VufCommittee::verify_all), but without a minimum weight.
    ///
    /// # Errors
    /// If a party has no admitted key, or a partial is wrong. Too little weight is not an error here.
    pub fn check_all(
        &self,
        input: &Input,
        partials: &BTreeMap<Party, Partial>,
    ) -> Result<(), QuorumError> {
        let mut terms = Vec::with_capacity(partials.len());
        for (&party, partial) in partials {
            let key = self.keys().get(&party).ok_or(NotAdmitted { party })?;
            terms.push(Term { party, pi: key.pi(), sigma: partial.point() });
        }
        let culprits = culprits(self, input, &terms);
        if culprits.is_empty() { Ok(()) } else { Err(QuorumError::Faulty { culprits }) }
    }
}

/// A partial together with the key that it is checked against.
struct Term {
    party: Party,
    pi: G1Affine,
    sigma: G2Affine,
}

fn culprits(committee: &VufCommittee, input: &Input, terms: &[Term]) -> BTreeSet<Party> {
    let coefficients = verify_coefficients(committee, input, terms);
    let factors = coefficients.iter().map(|tau| Factor::challenge(*tau));
    let scaled: Vec<_> = terms.iter().map(|term| term.pi).zip(factors).collect();
    let singles: Vec<usize> = (1..=scaled.len()).collect();
    let scaled = vartime_sums(&scaled, &singles);
    let coefficients: Vec<Scalar> = coefficients.into_iter().map(challenge).collect();
    let product = |range: Range<usize>, weight: Weight| {
        let scaled = scaled.get(range.clone()).unwrap_or_default();
        let taus = coefficients.get(range.clone()).unwrap_or_default();
        let places = Places::of(range.clone());
        let (scaled, sum): (_, Scalar) = match weight {
            Weight::One => (scaled.to_vec(), taus.iter().copied().sum()),
            Weight::Place => {
                let taus = taus.iter().zip(places.scalars());
                (places.multiply(scaled), taus.map(|(tau, place)| *tau * place).sum())
            }
        };
        let right = (-(generators::h() * sum).to_affine(), input.point());
        let sigmas = terms.get(range).unwrap_or_default().iter().map(|term| term.sigma);
        pairing_product(&scaled.into_iter().zip(sigmas).chain([right]).collect::<Vec<_>>())
    };
    let positions = bisect::locate(terms.len(), product);
    positions.into_iter().filter_map(|i| terms.get(i)).map(|term| term.party).collect()
}

fn verify_coefficients(committee: &VufCommittee, input: &Input, terms: &[Term]) -> Vec<u128> {
    let mut transcript = Transcript::new(VERIFY_TAG);
    transcript.append(b"committee", &committee.id());
    transcript.append_point(b"input", &input.point());
    for term in terms {
        transcript.append_u64(b"party", term.party.get().into());
        transcript.append_point(b"pi", &term.pi);
        transcript.append_point(b"sigma", &term.sigma);
    }
    transcript.coefficients_128(b"coefficients", terms.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Access, Threshold};
    use crate::context::{ChainId, Context, EpochId, Slot};

    #[test]
    fn coefficients_are_of_everything_in_the_equation() {
        let context = Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(2) };
        let input = |slot| Input::new(&context, Slot::new(slot), None);
        let committee = |weights: &[u32]| {
            let access = Access::new(weights).unwrap();
            let threshold = Threshold::new(1, access.total()).unwrap();
            let points = access.points();
            let public = points.iter().map(|x| (generators::g_hat() * x).to_affine()).collect();
            VufCommittee::new(access, threshold, public).unwrap()
        };
        let (g, g2) = (G1Affine::generator(), G2Affine::generator());
        let mixed = |weights: &[u32], slot, (party, pi, sigma)| {
            let first = Term { party: Party::new(0), pi: g, sigma: g2 };
            let second = Term { party: Party::new(party), pi, sigma };
            verify_coefficients(&committee(weights), &input(slot), &[first, second])
        };
        let own = mixed(&[1, 1], 7, (1, g, g2));
        assert_ne!(mixed(&[2, 1], 7, (1, g, g2)), own);
        assert_ne!(mixed(&[1, 1], 8, (1, g, g2)), own);
        assert_ne!(mixed(&[1, 1], 7, (2, g, g2)), own);
        assert_ne!(mixed(&[1, 1], 7, (1, -g, g2)), own);
        assert_ne!(mixed(&[1, 1], 7, (1, g, -g2)), own);
    }
}
