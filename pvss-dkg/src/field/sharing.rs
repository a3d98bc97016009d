//! The proof of sharing: the chunks of each share add up to the share that is committed to.
//!
//! With `Rⱼ = ∏ₗ R_jl^(2^16l) = g^rⱼ` and `C_k = ∏ₗ C_kl^(2^16l)`, the claim is `C_k = ekᵢ^rⱼ·g^f(k)` and
//! `V̂ₖ = g₂^f(k)` for every share. All shares are tested as one, at random `x_k` of 128 bits:
//!
//! | step   | equation                                                                          |
//! |--------|-----------------------------------------------------------------------------------|
//! | nonces | `Fⱼ = g^ρⱼ`, `A = g₂^α`, `Y' = g^α · ∏ⱼ (∏_(k on j) ekᵢ^x_k)^ρⱼ`                     |
//! | ask    | `c`                                                                               |
//! | answer | `zⱼ = c·rⱼ + ρⱼ`, `z_α = c·∑ x_k·f(k) + α`                                         |
//! | check  | `Rⱼ^c·Fⱼ = g^zⱼ`, `(∏ V̂ₖ^x_k)^c·A = g₂^z_α`,                                       |
//! |        | `(∏ C_k^x_k)^c·Y' = g^z_α·∏ⱼ (∏_(k on j) ekᵢ^x_k)^zⱼ`                               |
//!
//! After Groth 2021/339, section 6.4, with one randomness for each level instead of one in all. If one
//! share differs, the product over all of them agrees for at most one value of its `x_k`.
use prefinal_crypto_core::curve::hazmat::{multiply_each, vartime_msm_128};
use prefinal_crypto_core::curve::{G1Affine, G1Projective, G2Affine, Scalar};
use prefinal_crypto_core::secret::Secret;
use rand_core::CryptoRng;

use super::layout::Layout;
use crate::deal::TABLE_G;
use crate::proof::widen;

/// `∏_(k on j) ekᵢ^x_k` for every level.
pub(crate) fn level_keys(layout: &Layout, shares: &[u128]) -> Vec<G1Affine> {
    let mut keys = vec![(Vec::new(), Vec::new()); layout.levels];
    for entry in layout.entries() {
        let key = layout.holders.get(entry.holder).map(|holder| holder.key);
        if let (Some(key), Some(x), Some((points, weights))) =
            (key, shares.get(entry.item), keys.get_mut(entry.level))
        {
            points.push(key);
            weights.push(*x);
        }
    }
    let sums: Vec<G1Projective> =
        keys.iter().map(|(points, weights)| vartime_msm_128(points, weights)).collect();
    G1Projective::batch_to_affine(&sums)
}

/// The secrets behind the nonces of this proof.
pub(crate) struct Nonce {
    /// `ρⱼ`
    pub(crate) levels: Secret<Vec<Scalar>>,
    /// `α`
    pub(crate) shares: Secret<Scalar>,
}

impl Nonce {
    pub(crate) fn random(levels: usize, rng: &mut impl CryptoRng) -> Self {
        let levels = (0..levels).map(|_| Scalar::random(rng)).collect();
        Self { levels: Secret::new(levels), shares: Secret::new(Scalar::random(rng)) }
    }

    /// `Y'`
    pub(crate) fn of_shares(&self, keys: &[G1Affine]) -> G1Projective {
        let masked = Secret::new(multiply_each(keys, self.levels.expose()));
        masked.expose().iter().copied().sum::<G1Projective>()
            + TABLE_G.multiply(self.shares.expose())
    }

    /// `A`
    pub(crate) fn commitment(&self) -> G2Affine {
        (G2Affine::generator() * self.shares.expose()).into()
    }

    /// `z_α`
    pub(crate) fn answer_shares(&self, c: &Scalar, x: &[u128], values: &[Scalar]) -> Scalar {
        let sum: Scalar = x.iter().zip(values).map(|(x, value)| widen(*x) * *value).sum();
        *c * sum + *self.shares.expose()
    }
}
