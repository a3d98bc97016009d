//! Checks all blinded keys with one equation.
//!
//! ```text
//! ∏ᵢ e(πᵢ, ∏ⱼ Aⱼ^γⱼ) = e(∏ⱼ ρⱼ^γⱼ, ĝ)
//! ```
//!
//! The check costs one pairing for each party, because every party has a different `πᵢ`. In addition
//! it costs a small sum in 𝔾₂ for each party and one large sum in 𝔾₁. The `γⱼ` have 128 bits, in the
//! form that keeps the small sums short (`curve::hazmat::vartime_sums`). If the equation fails,
//! `bisect` locates the culprits. The sums are reused for that, and one culprit costs one more
//! product of pairings.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Range;

use super::blind::BlindedKey;
use crate::access::Party;
use crate::bisect::{self, Weight};
use crate::challenge::Transcript;
use crate::curve::hazmat::{
    Factor, Gt, pairing_product, vartime_msm_bytes, vartime_msm_challenges, vartime_sums,
};
use crate::curve::{Affine, G1Affine, G1Projective, G2Affine, Group, Scalar};
use crate::generators;

const ADMIT_TAG: &[u8] = b"PREFINAL-V1-WVUF-ADMIT";

/// A key of the right shape, and the public shares that it is checked against.
pub(super) type Candidate<'c> = (Party, BlindedKey, &'c [G2Affine]);

/// The positions of the keys that do not match their public shares.
pub(super) fn faulty(committee: &[u8; 32], keys: &[Candidate<'_>]) -> BTreeSet<usize> {
    if keys.is_empty() {
        return BTreeSet::new();
    }
    let gammas = coefficients(committee, keys);
    let rho: Vec<G1Affine> = keys.iter().flat_map(|(_, key, _)| key.rho()).copied().collect();
    let public: Vec<G2Affine> = keys.iter().flat_map(|(_, _, public)| *public).copied().collect();
    let ends: Vec<usize> = keys
        .iter()
        .scan(0, |end, (_, key, _)| {
            *end += key.rho().len();
            Some(*end)
        })
        .collect();
    let terms: Vec<_> =
        keys.iter().map(|(_, key, _)| key.pi()).zip(sums(&public, &gammas, &ends)).collect();
    let plain = product(&terms, vartime_msm_challenges(&rho, &gammas));
    if plain == Gt::one() {
        return BTreeSet::new();
    }
    let rho = sums(&rho, &gammas, &ends);
    bisect::locate_in(keys.len(), plain, |range, weight| part(&terms, &rho, range, weight))
}

fn coefficients(committee: &[u8; 32], keys: &[Candidate<'_>]) -> Vec<u128> {
    let mut transcript = Transcript::new(ADMIT_TAG);
    transcript.append(b"committee", committee);
    for (party, key, _) in keys {
        transcript.append_u64(b"party", party.get().into());
        transcript.append_point(b"pi", &key.pi());
        transcript.append_point(b"nonce", &key.possession().nonce);
        transcript.append_scalar(b"response", &key.possession().response);
        transcript.append_points(b"rho", key.rho());
    }
    let total = keys.iter().map(|(_, key, _)| key.rho().len()).sum();
    transcript.coefficients_128(b"coefficients", total)
}

/// The sum of each party's points, each multiplied by its coefficient.
fn sums<G: Group>(points: &[Affine<G>], gammas: &[u128], ends: &[usize]) -> Vec<Affine<G>> {
    let factors = gammas.iter().map(|gamma| Factor::challenge(*gamma));
    let terms: Vec<_> = points.iter().copied().zip(factors).collect();
    vartime_sums(&terms, ends)
}

/// `∏ᵢ e(πᵢ, ∏ⱼ Aⱼ^γⱼ)·e(∏ⱼ ρⱼ^γⱼ, ĝ)⁻¹`
fn product(terms: &[(G1Affine, G2Affine)], rho: G1Projective) -> Gt {
    let own = (-rho.to_affine(), generators::g_hat());
    pairing_product(&terms.iter().copied().chain([own]).collect::<Vec<_>>())
}

/// The same product over a range of parties, each factor raised to its [`Weight`].
fn part(
    terms: &[(G1Affine, G2Affine)],
    rho: &[G1Affine],
    range: Range<usize>,
    weight: Weight,
) -> Gt {
    let own = terms.get(range.clone()).unwrap_or_default();
    let rho = rho.get(range.clone()).unwrap_or_default();
    match weight {
        Weight::One => product(own, rho.iter().copied().sum()),
        Weight::Place => {
            let (pi, public): (Vec<_>, Vec<_>) = own.iter().copied().unzip();
            let places = Places::of(range);
            let terms: Vec<_> = places.multiply(&pi).into_iter().zip(public).collect();
            product(&terms, vartime_msm_bytes(rho, &places.numbers))
        }
    }
}

/// The places of equations in the batch, counted from one, as short scalars.
pub(super) struct Places {
    /// The places, each little-endian.
    numbers: Vec<[u8; 8]>,
}

impl Places {
    pub(super) fn of(positions: Range<usize>) -> Self {
        let number = |at: usize| u64::try_from(at + 1).unwrap_or(u64::MAX).to_le_bytes();
        Self { numbers: positions.map(number).collect() }
    }

    /// Multiplies each point by its place.
    pub(super) fn multiply(&self, points: &[G1Affine]) -> Vec<G1Affine> {
        let single = |(point, place): (&G1Affine, &[u8; 8])| {
            vartime_msm_bytes(core::slice::from_ref(point), core::slice::from_ref(place))
        };
        let products: Vec<_> = points.iter().zip(&self.numbers).map(single).collect();
        G1Projective::batch_to_affine(&products)
    }

    pub(super) fn scalars(&self) -> impl Iterator<Item = Scalar> {
        self.numbers.iter().map(|number| Scalar::from_u64(u64::from_le_bytes(*number)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::possession::Possession;
    use super::*;

    #[test]
    fn coefficients_are_of_everything_in_the_equation() {
        let g = G1Affine::generator();
        let mixed = |committee: u8, party, (pi, rho): (G1Affine, [G1Affine; 2])| {
            let possession = Possession { nonce: g, response: Scalar::ONE };
            let key = BlindedKey::from_parts(pi, possession, rho.to_vec());
            // The public shares are in the committee's digest.
            coefficients(&[committee; 32], &[(Party::new(party), key, &[])])
        };
        let own = mixed(1, 0, (g, [g, g]));
        assert_eq!(own.len(), 2);
        assert_ne!(mixed(2, 0, (g, [g, g])), own);
        assert_ne!(mixed(1, 1, (g, [g, g])), own);
        assert_ne!(mixed(1, 0, (-g, [g, g])), own);
        assert_ne!(mixed(1, 0, (g, [g, -g])), own);
    }
}
