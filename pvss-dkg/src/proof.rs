//! The dealer's signature and its proof that it knows the secret it deals.
//!
//! | step  | equation                                                                   | by whom |
//! |-------|----------------------------------------------------------------------------|---------|
//! | prove | `F = g^f(0)`, `T = g^κ`, `z = κ + c·f(0)`, `c = H(config, dealer, F, body, T)` | dealer  |
//! | sign  | `sign(config, dealer, F, body, T, z)`                                      | dealer  |
//! | check | `g^z = T·F^c`, and the signature under the key of that dealer              | anyone  |
//! | many  | `∏ᵢ (T·F^c·g^(−z))^εᵢ = 1`, and the product of the signatures              | anyone  |
//!
//! Without the proof, the last dealer could choose the key: it could publish its own commitment minus
//! the sum of the others' commitments. The proof is Schnorr's. `config` is the digest of chain, epoch,
//! attempt and committee, and `body` is the hash of everything else in the dealing. So proof and
//! signature say nothing about another session, another dealer or another dealing. A contribution that
//! stays in an aggregate still names the one dealing it came from.
//!
//! Differences from the paper (Das et al.): the signature covers the whole dealing and not only `F` and
//! `c`, so nobody can add a sharing of zero to a dealing under its dealer's name. This costs 32 bytes
//! per dealer in an aggregate, where the signatures are one sum (their messages differ, their keys are
//! proven). `(T, z)` instead of `(c, z)` lets the proofs of all dealers be checked as one sum with
//! independent 128-bit `εᵢ`, drawn from a hash of all of them. A false one survives with probability
//! 2⁻¹²⁸ per attempt of a cheater, the level of the curve itself.
use std::collections::BTreeSet;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::hazmat::{vartime_msm, vartime_msm_128};
use prefinal_crypto_core::curve::{G1Affine, G1Projective, Scalar};
use prefinal_crypto_core::hedge::Hedge;
use prefinal_crypto_core::secret::Secret;
use rand_core::CryptoRng;
use thiserror::Error;

use crate::config::{Config, Dealer};
use crate::wire::{DecodeError, Reader};

const DOMAIN: min_sig::Domain = min_sig::Domain::new("pvss dealing");

/// Why a contribution is not accepted as its dealer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProofError {
    /// The dealer is not a party of the committee.
    #[error("dealer {dealer} of a committee of {members}")]
    Dealer {
        /// The dealer that was named.
        dealer: u32,
        /// Number of parties in the committee.
        members: usize,
    },
    /// The named dealer did not sign it, or something was changed after it signed.
    #[error("dealer's signature does not match")]
    Signature,
    /// The proof fails: its maker does not know the secret, or made it for another dealing or session.
    #[error("proof of knowledge of the secret fails")]
    Knowledge,
}

impl ProofError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Dealer { .. } => "not-a-member",
            Self::Signature => "signature-mismatch",
            Self::Knowledge => "knowledge-proof",
        }
    }
}

/// One dealer's contribution to the secret, with the proof that it knows its part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contribution {
    pub(crate) dealer: Party,
    /// `F = g^f(0)`.
    pub(crate) commitment: G1Affine,
    /// Hash of the rest of the dealing.
    pub(crate) body: [u8; 32],
    /// `T = g^κ`.
    pub(crate) nonce: G1Affine,
    /// `z = κ + c·f(0)`.
    pub(crate) response: Scalar,
}

impl Contribution {
    /// Length in an aggregate: dealer, commitment, body, nonce, response.
    pub(crate) const BYTES: usize = 4 + 48 + 32 + 48 + 32;

    pub(crate) fn read(config: &Config, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            dealer: reader.dealer(config.dealers().len())?,
            commitment: reader.g1()?,
            body: reader.hash()?,
            nonce: reader.g1()?,
            response: reader.scalar()?,
        })
    }

    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.dealer.get().to_be_bytes());
        bytes.extend_from_slice(&self.commitment.to_bytes());
        bytes.extend_from_slice(&self.body);
        bytes.extend_from_slice(&self.nonce.to_bytes());
        bytes.extend_from_slice(&self.response.to_bytes());
    }

    /// Proves knowledge of `secret`. The nonce depends on what is proven and on the secret, because
    /// responses to two challenges with one nonce would reveal the secret.
    pub(crate) fn prove(
        config: &Config,
        dealer: Party,
        body: [u8; 32],
        secret: &Secret<Scalar>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let hedge = Hedge::new(b"PREFINAL-V1-PVSS-KNOWLEDGE-NONCE")
            .scalar(b"secret", secret)
            .public(b"config", config.digest())
            .public(b"dealer", &dealer.get().to_be_bytes())
            .public(b"body", &body);
        let kappa = Secret::new(Scalar::random(&mut hedge.rng(rng)));
        let mut contribution = Self {
            dealer,
            commitment: (G1Affine::generator() * secret.expose()).into(),
            body,
            nonce: (G1Affine::generator() * kappa.expose()).into(),
            response: Scalar::ZERO,
        };
        let challenge = contribution.challenge(config);
        contribution.response = *kappa.expose() + challenge * *secret.expose();
        contribution
    }

    /// `c`, from everything except the response.
    pub(crate) fn challenge(&self, config: &Config) -> Scalar {
        self.statement(config).scalar(b"challenge")
    }

    fn statement(&self, config: &Config) -> Transcript {
        let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-KNOWLEDGE");
        transcript.append(b"config", config.digest());
        transcript.append_u64(b"dealer", u64::from(self.dealer.get()));
        transcript.append_point(b"commitment", &self.commitment);
        transcript.append(b"body", &self.body);
        transcript.append_point(b"nonce", &self.nonce);
        transcript
    }

    /// The hash of everything, the response included. The dealer signs it, and later challenges include it.
    pub(crate) fn digest(&self, config: &Config) -> [u8; 32] {
        let mut transcript = self.statement(config);
        transcript.append_scalar(b"response", &self.response);
        transcript.bytes(b"digest")
    }

    pub(crate) fn sign(&self, config: &Config, signer: &min_sig::SecretKey) -> min_sig::Signature {
        signer.sign(DOMAIN, &self.digest(config))
    }

    /// Checks that the dealer signed the contribution.
    pub(crate) fn check_signature(
        &self,
        config: &Config,
        signature: &min_sig::Signature,
    ) -> Result<(), ProofError> {
        let dealer = self.signer(config)?;
        let verdict = signature.verify(&dealer.signer, DOMAIN, &self.digest(config));
        verdict.map_err(|_| ProofError::Signature)
    }

    /// Checks that the dealer knows the secret that it commits to.
    pub(crate) fn check_knowledge(&self, config: &Config) -> Result<(), ProofError> {
        let expected = self.commitment * self.challenge(config) + self.nonce;
        if G1Affine::generator() * self.response == expected {
            return Ok(());
        }
        Err(ProofError::Knowledge)
    }

    pub(crate) fn signer<'a>(&self, config: &'a Config) -> Result<&'a Dealer, ProofError> {
        let (dealer, members) = (self.dealer.get(), config.dealers().len());
        config.dealer(self.dealer).ok_or(ProofError::Dealer { dealer, members })
    }
}

/// Positions of the contributions that their dealers did not sign.
pub(crate) fn forged<'a>(
    config: &Config,
    contributions: impl IntoIterator<Item = (&'a Contribution, &'a min_sig::Signature)>,
) -> BTreeSet<usize> {
    let (mut digests, mut keys) = (Vec::new(), Vec::new());
    let (mut forged, mut places) = (BTreeSet::new(), Vec::new());
    for (place, (one, signature)) in contributions.into_iter().enumerate() {
        match one.signer(config) {
            Ok(dealer) => {
                digests.push(one.digest(config));
                keys.push((*dealer.signer, *signature));
                places.push(place);
            }
            Err(_) => _ = forged.insert(place),
        }
    }
    let signed = keys.iter().zip(&digests).map(|((key, signature), message)| {
        min_sig::SignedMessage { key: *key, message, signature: *signature }
    });
    let verdict = min_sig::verify_batch(DOMAIN, &signed.collect::<Vec<_>>());
    let culprits = verdict.err().map(|culprits| culprits.positions).unwrap_or_default();
    forged.extend(culprits.into_iter().filter_map(|position| places.get(position)));
    forged
}

/// Checks many contributions of distinct dealers, whose signatures are one sum.
pub(crate) fn verify_all(
    config: &Config,
    contributions: &[Contribution],
    signature: &min_sig::Signature,
) -> Result<(), ProofError> {
    let digests: Vec<[u8; 32]> = contributions.iter().map(|one| one.digest(config)).collect();
    let claims = contributions.iter().zip(&digests).map(|(one, digest)| {
        let dealer = one.signer(config)?;
        let signers =
            min_sig::AggregateKey::sum([&dealer.signer]).map_err(|_| ProofError::Signature)?;
        Ok(min_sig::Claim { signers, message: digest })
    });
    let claims: Vec<min_sig::Claim<'_>> = claims.collect::<Result<_, ProofError>>()?;
    min_sig::verify_aggregate(&claims, DOMAIN, signature).map_err(|_| ProofError::Signature)?;

    let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-KNOWLEDGE-BATCH");
    for digest in &digests {
        transcript.append(b"contribution", digest);
    }
    let epsilons = transcript.coefficients_128(b"epsilon", contributions.len());
    check_knowledge(config, contributions, &epsilons)
}

/// `Σᵢ εᵢ·(Tᵢ + cᵢ·Fᵢ) = (Σᵢ εᵢ·zᵢ)·g`.
fn check_knowledge(
    config: &Config,
    contributions: &[Contribution],
    epsilons: &[u128],
) -> Result<(), ProofError> {
    let nonces: Vec<G1Affine> = contributions.iter().map(|one| one.nonce).collect();
    let commitments: Vec<G1Affine> = contributions.iter().map(|one| one.commitment).collect();
    let scaled: Vec<(Scalar, Scalar)> = contributions
        .iter()
        .zip(epsilons)
        .map(|(one, epsilon)| {
            let epsilon = widen(*epsilon);
            (epsilon * one.challenge(config), epsilon * one.response)
        })
        .collect();
    let challenges: Vec<Scalar> = scaled.iter().map(|(challenge, _)| *challenge).collect();
    let response: Scalar = scaled.iter().fold(Scalar::ZERO, |sum, (_, z)| sum + *z);
    let left: G1Projective =
        vartime_msm_128(&nonces, epsilons) + vartime_msm(&commitments, &challenges);
    if left != G1Affine::generator() * response {
        return Err(ProofError::Knowledge);
    }
    Ok(())
}

/// A 128-bit challenge as a scalar.
pub(crate) fn widen(challenge: u128) -> Scalar {
    let mut wide = [0; 64];
    let (_, low) = wide.split_at_mut(48);
    low.copy_from_slice(&challenge.to_be_bytes());
    Scalar::from_wide(&wide)
}
