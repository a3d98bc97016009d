//! The two proofs of a dealing, their challenges and their bytes.
//!
//! Both are proofs of knowledge in three moves, made non-interactive by one transcript over the
//! dealing. Prover and verifier go through the same stages, so that each challenge depends on
//! everything that the paper asks for:
//! | stage | depends on                                     | gives                                        |
//! |-------|------------------------------------------------|----------------------------------------------|
//! | 1     | configuration, dealer, origin, `F`, body        | `x_k`, one per share                         |
//! | 2     | 1 and the masks `Bₐ`, `Cₐ` of the chunk sums    | `e_kla`, 4 bits for each chunk and repetition |
//! | 3     | 2, the chunk sums, all other nonces             | `yₐ`, one per repetition, and `c`            |
//! | 4     | 3 and the responses                             | the verifier's weights, one per equation     |
//!
//! See [`sharing`](super::sharing) and [`chunking`](super::chunking) for the statements that they prove.
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::{Affine, G1Affine, G2Affine, Group, Scalar};

use super::chunk::CHUNKS;
use super::chunking::REPETITIONS;
use super::dealing::Body;
use super::layout::Layout;
use crate::wire::{DecodeError, Reader};

/// The statement of the proofs.
pub(crate) struct Statement<'a> {
    pub(crate) layout: &'a Layout,
    /// Names configuration, dealer, `F` and the origin of the secret.
    pub(crate) origin: [u8; 32],
    pub(crate) body: &'a Body,
}

/// First move of the proof of chunking: masks that hide the sums that are published next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Masks {
    /// `Bₐ = g^βₐ`
    pub(crate) ephemerals: Vec<G1Affine>,
    /// `Cₐ = y₀^βₐ · g^σₐ`
    pub(crate) ciphertexts: Vec<G1Affine>,
}

/// The nonces of both proofs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nonces {
    /// `D₀ = g^δ₀`
    pub(crate) masks: G1Affine,
    /// `Dᵢ = g^δᵢ`
    pub(crate) holders: Vec<G1Affine>,
    /// `Y = y₀^δ₀ · ∏ᵢ ekᵢ^δᵢ`
    pub(crate) chunks: G1Affine,
    /// `Fⱼ = g^ρⱼ`
    pub(crate) levels: Vec<G1Affine>,
    /// `Y' = g^α · ∏ⱼ (∏ ekᵢ^x_k)^ρⱼ`
    pub(crate) shares: G1Affine,
    /// `A = g₂^α`
    pub(crate) commitment: G2Affine,
}

/// The responses of both proofs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Responses {
    /// `z_β = ∑ₐ yₐ·βₐ + δ₀`
    pub(crate) masks: Scalar,
    /// `zᵢ = ∑ (∑ₐ yₐ·e_kla)·r_jl + δᵢ` over the chunks of `i`
    pub(crate) holders: Vec<Scalar>,
    /// `zⱼ = c·∑ₗ 2^(16l)·r_jl + ρⱼ`
    pub(crate) levels: Vec<Scalar>,
    /// `z_α = c·∑ x_k·f(ω^k) + α`
    pub(crate) shares: Scalar,
}

/// Everything a dealer sends to prove a dealing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) masks: Masks,
    /// `z_sa = ∑ e_kla·s_kl + σₐ`, see [`chunking`](super::chunking) for their range.
    pub(crate) sums: Vec<u64>,
    pub(crate) nonces: Nonces,
    pub(crate) responses: Responses,
}

/// Challenges of stages 1 to 3.
pub(crate) struct Challenges {
    /// `x_k`
    pub(crate) shares: Vec<u128>,
    /// `e_kla` in bits `4a` to `4a + 3` of entry `16k + l`
    pub(crate) chunks: Vec<u128>,
    /// `yₐ`
    pub(crate) repetitions: Vec<u128>,
    /// `c`
    pub(crate) sharing: Scalar,
}

impl Statement<'_> {
    /// Stage 1.
    pub(crate) fn begin(&self) -> (Transcript, Vec<u128>) {
        let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-FIELD-PROOF");
        transcript.append(b"origin", &self.origin);
        transcript.append(b"body", &self.body.digest());
        let shares = transcript.coefficients_128(b"shares", self.layout.items);
        (transcript, shares)
    }

    /// Stage 2.
    pub(crate) fn chunks(&self, transcript: &mut Transcript, masks: &Masks) -> Vec<u128> {
        transcript.append_points(b"mask ephemerals", &masks.ephemerals);
        transcript.append_points(b"mask ciphertexts", &masks.ciphertexts);
        transcript.coefficients_128(b"chunks", self.layout.items * CHUNKS)
    }

    /// Computes stages 1 to 3 again, and returns the transcript at stage 4.
    pub(crate) fn replay(&self, proof: &Proof) -> (Transcript, Challenges) {
        let (mut transcript, shares) = self.begin();
        let chunks = self.chunks(&mut transcript, &proof.masks);
        let (repetitions, sharing) = last(&mut transcript, &proof.sums, &proof.nonces);
        let responses = &proof.responses;
        transcript.append_scalar(b"mask response", &responses.masks);
        for scalar in responses.holders.iter().chain(&responses.levels) {
            transcript.append_scalar(b"response", scalar);
        }
        transcript.append_scalar(b"share response", &responses.shares);
        (transcript, Challenges { shares, chunks, repetitions, sharing })
    }
}

/// Stage 3.
pub(crate) fn last(
    transcript: &mut Transcript,
    sums: &[u64],
    nonces: &Nonces,
) -> (Vec<u128>, Scalar) {
    for sum in sums {
        transcript.append_u64(b"sum", *sum);
    }
    transcript.append_point(b"mask nonce", &nonces.masks);
    transcript.append_points(b"holder nonces", &nonces.holders);
    transcript.append_point(b"chunk nonce", &nonces.chunks);
    transcript.append_points(b"level nonces", &nonces.levels);
    transcript.append_point(b"share nonce", &nonces.shares);
    transcript.append_point(b"commitment nonce", &nonces.commitment);
    (transcript.coefficients_128(b"repetitions", REPETITIONS), transcript.scalar(b"sharing"))
}

impl Proof {
    /// The length of a proof in bytes for this number of holders and levels.
    pub(crate) const fn bytes(holders: usize, levels: usize) -> usize {
        let masks = REPETITIONS * (48 + 48 + 8);
        let nonces = 48 * (3 + holders + levels) + 96;
        let responses = 32 * (2 + holders + levels);
        masks + nonces + responses
    }

    pub(crate) fn read(layout: &Layout, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (holders, levels) = (layout.holders.len(), layout.levels);
        Ok(Self {
            masks: Masks {
                ephemerals: reader.g1s(REPETITIONS)?,
                ciphertexts: reader.g1s(REPETITIONS)?,
            },
            sums: (0..REPETITIONS).map(|_| reader.u64()).collect::<Result<_, _>>()?,
            nonces: Nonces {
                masks: reader.g1()?,
                holders: reader.g1s(holders)?,
                chunks: reader.g1()?,
                levels: reader.g1s(levels)?,
                shares: reader.g1()?,
                commitment: reader.g2()?,
            },
            responses: Responses {
                masks: reader.scalar()?,
                holders: reader.scalars(holders)?,
                levels: reader.scalars(levels)?,
                shares: reader.scalar()?,
            },
        })
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        let Self { masks, sums, nonces, responses } = self;
        write_points(bytes, &masks.ephemerals);
        write_points(bytes, &masks.ciphertexts);
        sums.iter().for_each(|sum| bytes.extend_from_slice(&sum.to_be_bytes()));
        write_points(bytes, &[nonces.masks]);
        write_points(bytes, &nonces.holders);
        write_points(bytes, &[nonces.chunks]);
        write_points(bytes, &nonces.levels);
        write_points(bytes, &[nonces.shares]);
        write_points(bytes, &[nonces.commitment]);
        let scalars = [responses.masks].into_iter();
        let scalars = scalars.chain(responses.holders.iter().copied());
        let scalars = scalars.chain(responses.levels.iter().copied()).chain([responses.shares]);
        scalars.for_each(|scalar| bytes.extend_from_slice(&scalar.to_bytes()));
    }
}

pub(crate) fn write_points<G: Group>(bytes: &mut Vec<u8>, points: &[Affine<G>]) {
    points.iter().for_each(|point| bytes.extend_from_slice(point.to_bytes().as_ref()));
}
