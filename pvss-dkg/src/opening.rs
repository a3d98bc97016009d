//! The dealer's proof that it knows every share it deals.
//!
//! | step  | equation                                                                     | by whom |
//! |-------|------------------------------------------------------------------------------|---------|
//! | prove | `T̂ = ĝ^κ`, `ẑ = κ + ∑cₖ·f(ω^(k−1))`, `cₖ` from config, dealer, `F`, body, `T̂` | dealer  |
//! | check | `ĝ^ẑ = T̂ + ∑cₖ·V̂ₖ`, over the shares of all paths                              | anyone  |
//!
//! **Why knowledge of `f(0)` is not enough with two paths.** Everything in a dealing is linear. So the
//! last dealer can add multiples of the others' ciphertexts for one party to its own ciphertexts for
//! that party, and prove only the secret that it added. Let `c` be a polynomial that is 1 at a share
//! `k` of that party, and 0 at zero and at every share of all other parties. Its degree fits under a
//! fast threshold `t'` as soon as the party holds more than `W − t' + 1` shares. The dealer takes `f'`
//! plus `c·(f_slow(k) − f_fast(k))` as its fast polynomial. Then the sum of all dealings has share `k`
//! of the slow path on the fast path too, and the party releases it with a vote, before anything is
//! final. With several such shares the slow threshold is reached. A dealer that knows its own shares
//! cannot include another dealer's share, because it does not know that one.
//!
//! The proof is Schnorr's, for all logarithms at once. Responses to as many challenges as there are
//! shares would give the shares themselves. A dealer that does not know one of them passes with
//! probability 2⁻¹²⁸ per attempt. The dealer's signature covers the proof (`seal`). The proof is
//! checked with the dealing and does not stay in an aggregate: readers of an aggregate rely on the
//! parties that ordered the dealings (see `aggregate`).
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::hazmat::vartime_msm_128;
use prefinal_crypto_core::curve::{G1Affine, G2Affine, G2Projective, Scalar};
use prefinal_crypto_core::generators::g_hat;
use prefinal_crypto_core::hedge::Hedge;
use prefinal_crypto_core::secret::Secret;
use rand_core::CryptoRng;

use crate::config::Config;
use crate::dealing::Body;
use crate::proof::widen;
use crate::wire::{DecodeError, Reader};

/// Proof of knowledge of all shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    /// `T̂`.
    pub(crate) nonce: G2Affine,
    /// `ẑ`.
    pub(crate) response: Scalar,
}

/// The statement: everything except the proof itself.
pub(crate) struct Statement<'a> {
    pub(crate) config: &'a Config,
    pub(crate) dealer: Party,
    pub(crate) commitment: &'a G1Affine,
    pub(crate) body: &'a Body,
}

impl Opening {
    /// Length in a dealing.
    pub(crate) const BYTES: usize = 96 + 32;

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { nonce: reader.g2()?, response: reader.scalar()? })
    }

    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.nonce.to_bytes());
        bytes.extend_from_slice(&self.response.to_bytes());
    }

    /// `shares` are the logarithms of the body's commitments, slow path first.
    pub(crate) fn prove<'a>(
        statement: &Statement<'_>,
        shares: impl Iterator<Item = &'a Scalar> + Clone,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let begun = statement.begin();
        let hedge = Hedge::new(b"PREFINAL-V1-PVSS-OPENING-NONCE")
            .public(b"statement", &begun.clone().bytes(b"hedge"))
            .scalars(b"shares", shares.clone());
        let kappa = Secret::new(Scalar::random(&mut hedge.rng(rng)));
        let nonce = G2Affine::from(g_hat() * kappa.expose());
        let challenges = statement.ask(begun, &nonce);
        let terms = challenges.into_iter().zip(shares);
        let response = terms.fold(*kappa.expose(), |sum, (c, share)| sum + widen(c) * *share);
        Self { nonce, response }
    }

    /// Whether the proof holds: whether the dealer knows its shares.
    pub(crate) fn holds(&self, statement: &Statement<'_>) -> bool {
        let challenges = statement.challenges(&self.nonce);
        let commitments: Vec<G2Affine> = statement.commitments().copied().collect();
        let right: G2Projective = vartime_msm_128(&commitments, &challenges) + self.nonce;
        g_hat() * self.response == right
    }

    /// The hash of a body with this proof: what contribution and signature cover.
    pub(crate) fn seal(&self, body: &Body) -> [u8; 32] {
        let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-SEAL");
        transcript.append(b"body", &body.digest());
        transcript.append_point(b"nonce", &self.nonce);
        transcript.append_scalar(b"response", &self.response);
        transcript.bytes(b"digest")
    }
}

impl Statement<'_> {
    fn commitments(&self) -> impl Iterator<Item = &G2Affine> {
        self.body.sharings().flat_map(|(_, sharing)| &sharing.commitments)
    }

    /// `cₖ`, for the shares of all paths.
    pub(crate) fn challenges(&self, nonce: &G2Affine) -> Vec<u128> {
        self.ask(self.begin(), nonce)
    }

    /// The transcript of everything except the proof.
    fn begin(&self) -> Transcript {
        let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-OPENING");
        transcript.append(b"config", self.config.digest());
        transcript.append_u64(b"dealer", u64::from(self.dealer.get()));
        transcript.append_point(b"commitment", self.commitment);
        transcript.append(b"body", &self.body.digest());
        transcript
    }

    fn ask(&self, mut transcript: Transcript, nonce: &G2Affine) -> Vec<u128> {
        transcript.append_point(b"nonce", nonce);
        transcript.coefficients_128(b"challenges", self.commitments().count())
    }
}
