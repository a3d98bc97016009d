//! The proof that a party knows the factor with which it blinds its shares.
//!
//! | step     | equation                                                                | by whom   |
//! |----------|-------------------------------------------------------------------------|-----------|
//! | bind     | `s = (committee, party, π, ρ₁, …)`                                      | everyone  |
//! | draw     | `κ = H(r, fresh, s)`                                                    | the party |
//! | prove    | `T = h^κ`, `c = H(s, T)`, `z = κ + c·r`                                 | the party |
//! | check    | `h^z = T·π^c`                                                           | anyone    |
//! | check all | `h^∑εᵢzᵢ = ∏ᵢ Tᵢ^εᵢ·πᵢ^(εᵢcᵢ)`, `εᵢ` of 128 bits from a transcript     | anyone    |
//!
//! **Why a proof.** The pairing equation of admission also holds for `(π^k, ρ^k)` with any `k`, and
//! anybody can compute such a copy from a published key. The first key of a party counts, so a copy
//! that is ordered first would lock the owner out for the epoch. The copier knows `k` but not `r·k`,
//! the logarithm of the `π` that it publishes. If it knew `r·k`, it would also know `r = (r·k)/k`,
//! the logarithm of the original `π`. So it cannot make the proof.
//!
//! **Why a proof of `r` alone suffices.** From a prover, `r` can be extracted (Schnorr). The pairing
//! equation then says `ρⱼ = aⱼ^r`, so `ρⱼ^(1/r) = aⱼ`. An admitted key was therefore made by someone
//! who knows all shares of the party, and nobody else can find these shares while the threshold
//! holds. This is why no share may be the identity, because everybody knows that share
//! ([`VufCommittee::new`](super::VufCommittee::new)).
//!
//! **What the proof is bound to.** `s` is hashed before `T` is chosen. The committee's digest covers
//! weights, threshold and public shares, so a proof for one path or epoch is not valid for another. A
//! proof for one key is not valid for a copy of that key.
//!
//! **The nonce.** Two proofs with one `κ` and different challenges give `r` away. `κ` depends on the
//! secret, on `s` and on fresh randomness ([`Hedge`]): with a generator that repeats itself, the same
//! statement gets the same proof bytes again, and other statements get other nonces.
use alloc::vec::Vec;

use borsh::io::{Read, Result as IoResult};
use borsh::{BorshDeserialize, BorshSerialize};
use rand_core::CryptoRng;

use super::blind::BlindedKey;
use crate::access::Party;
use crate::challenge::Transcript;
use crate::curve::hazmat::{challenge, vartime_msm};
use crate::curve::{DecodeError, G1Affine, Scalar};
use crate::generators;
use crate::hedge::Hedge;
use crate::secret::Secret;

pub(super) const TAG: &[u8] = b"PREFINAL-V1-WVUF-POSSESSION";
const BATCH_TAG: &[u8] = b"PREFINAL-V1-WVUF-POSSESSIONS";
const NONCE_TAG: &[u8] = b"PREFINAL-V1-WVUF-NONCE";

/// The proof `(T, z)`, 80 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize)]
pub(crate) struct Possession {
    pub(crate) nonce: G1Affine,
    pub(crate) response: Scalar,
}

impl Possession {
    /// Proves knowledge of `factor`, the logarithm of `π`, in constant time.
    pub(super) fn prove(
        statement: Transcript,
        factor: &Secret<Scalar>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let kappa = draw(&statement, factor, rng);
        let nonce = (generators::h() * kappa.expose()).to_affine();
        let response = *kappa.expose() + challenged(statement, &nonce) * *factor.expose();
        Self { nonce, response }
    }

    /// Whether the proof's maker knows the logarithm of `π`.
    fn holds(&self, statement: Transcript, pi: &G1Affine) -> bool {
        let c = challenged(statement, &self.nonce);
        generators::h() * self.response == *pi * c + self.nonce
    }
}

impl BorshDeserialize for Possession {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        let nonce = G1Affine::deserialize_reader(reader)?;
        if nonce.is_identity() {
            return Err(DecodeError::Identity.into());
        }
        Ok(Self { nonce, response: Scalar::deserialize_reader(reader)? })
    }
}

/// The statement of the proof: the committee, the party, and the whole key.
pub(super) fn statement(
    committee: &[u8; 32],
    party: Party,
    pi: &G1Affine,
    rho: &[G1Affine],
) -> Transcript {
    let mut transcript = Transcript::new(TAG);
    transcript.append(b"committee", committee);
    transcript.append_u64(b"party", party.get().into());
    transcript.append_point(b"pi", pi);
    transcript.append_points(b"rho", rho);
    transcript
}

/// The positions of the keys whose maker does not know the factor. Computes one sum for all keys and,
/// if that fails, one sum for each key.
pub(super) fn unproved(committee: &[u8; 32], keys: &[(Party, &BlindedKey)]) -> Vec<usize> {
    let stated: Vec<(Transcript, &BlindedKey)> = keys
        .iter()
        .map(|(party, key)| (statement(committee, *party, &key.pi(), key.rho()), *key))
        .collect();
    if hold_together(&stated) {
        return Vec::new();
    }
    let alone = stated.into_iter().enumerate();
    let fail =
        alone.filter(|(_, (statement, key))| !key.possession().holds(statement.clone(), &key.pi()));
    fail.map(|(position, _)| position).collect()
}

fn hold_together(stated: &[(Transcript, &BlindedKey)]) -> bool {
    let mut batch = Transcript::new(BATCH_TAG);
    for (statement, key) in stated {
        batch.append(b"statement", &statement.clone().bytes(b"statement"));
        batch.append_point(b"nonce", &key.possession().nonce);
        batch.append_scalar(b"response", &key.possession().response);
    }
    let epsilons = batch.coefficients_128(b"epsilon", stated.len());
    let (mut points, mut factors) = (Vec::new(), Vec::new());
    let mut response = Scalar::ZERO;
    for ((statement, key), epsilon) in stated.iter().zip(epsilons.into_iter().map(challenge)) {
        let Possession { nonce, response: z } = key.possession();
        response += epsilon * *z;
        points.extend([*nonce, key.pi()]);
        factors.extend([epsilon, epsilon * challenged(statement.clone(), nonce)]);
    }
    generators::h() * response == vartime_msm(&points, &factors)
}

fn challenged(mut statement: Transcript, nonce: &G1Affine) -> Scalar {
    statement.append_point(b"nonce", nonce);
    statement.scalar(b"challenge")
}

/// Draws `κ` from the secret factor, fresh randomness and the statement.
fn draw(
    statement: &Transcript,
    factor: &Secret<Scalar>,
    rng: &mut impl CryptoRng,
) -> Secret<Scalar> {
    let hedge = Hedge::new(NONCE_TAG)
        .public(b"statement", &statement.clone().bytes(b"statement"))
        .scalar(b"factor", factor);
    Secret::new(Scalar::random(&mut hedge.rng(rng)))
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;

    fn prove(party: u32, pi: &G1Affine, rho: &[G1Affine], seed: u64) -> Possession {
        let factor = Secret::new(Scalar::from_u64(5));
        let statement = statement(&[1; 32], Party::new(party), pi, rho);
        Possession::prove(statement, &factor, &mut ChaCha20Rng::seed_from_u64(seed))
    }

    /// `z − z' = (c − c')·r` would give `r` away, were the nonces one.
    #[test]
    fn one_state_of_the_generator_gives_other_nonces_for_other_statements_and_secrets() {
        let pi = (generators::h() * Scalar::from_u64(5)).to_affine();
        let g = G1Affine::generator();
        let own = prove(0, &pi, &[g], 1);
        assert_eq!(prove(0, &pi, &[g], 1), own);
        for other in [prove(1, &pi, &[g], 1), prove(0, &pi, &[-g], 1), prove(0, &pi, &[g], 2)] {
            assert_ne!(other.nonce, own.nonce);
        }
        let other = Secret::new(Scalar::from_u64(6));
        let stated = statement(&[1; 32], Party::new(0), &pi, &[g]);
        let other = Possession::prove(stated, &other, &mut ChaCha20Rng::seed_from_u64(1));
        assert_ne!(other.nonce, own.nonce);
    }

    #[test]
    fn a_proof_is_of_everything_in_its_statement() {
        let pi = (generators::h() * Scalar::from_u64(5)).to_affine();
        let g = G1Affine::generator();
        let own = prove(0, &pi, &[g, g], 1);
        let holds = |committee: u8, party, pi: &G1Affine, rho: &[G1Affine]| {
            own.holds(statement(&[committee; 32], Party::new(party), pi, rho), pi)
        };
        assert!(holds(1, 0, &pi, &[g, g]));
        assert!(!holds(2, 0, &pi, &[g, g]));
        assert!(!holds(1, 1, &pi, &[g, g]));
        assert!(!holds(1, 0, &-pi, &[g, g]));
        // Were `π` not in the challenge, one could be found that fits it.
        let stated = |pi: &G1Affine| statement(&[1; 32], Party::new(0), pi, &[g, g]);
        assert!(own.holds(stated(&pi), &pi) && !own.holds(stated(&-pi), &pi));
        assert!(!holds(1, 0, &pi, &[g, -g]));
        assert!(!holds(1, 0, &pi, &[g]));
    }
}
