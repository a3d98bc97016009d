//! The equations of dealings with field elements, of one or of many, as one product of two pairings.
//!
//! | group | equations                                                            | weights             |
//! |-------|----------------------------------------------------------------------|---------------------|
//! | 𝔾₁    | knowledge of the secret; all of `chunking`; `Rⱼ` and `C` of `sharing` | 128 bits for each   |
//! | 𝔾₂    | `c·∑ x_k·V̂ₖ + A = z_α·g₂` of `sharing`                                | one                 |
//! | 𝔾₂    | the degree of each path, see `low_degree`                            | `z_p` for each path |
//! | both  | `e(F, g₂) = e(g, V̂₀)`                                                | 128 bits            |
//!
//! The errors of the equations in 𝔾₁ form one sum `L`, those in 𝔾₂ one sum `S`, and
//! `e(L, g₂)·e(g, S) = 1` checks all. `L` has `16·(W·p + J) + 2·H + J` terms and some 70 more: the keys
//! `ekᵢ` of both proofs are collected, because `Kⱼ = ∑_(k on j) x_k·ekᵢ` need not be computed to be
//! summed up. `S` has `W·p + 2`.
//!
//! Weights are drawn from the last stage of the dealing's own transcript (see `proof`), when its errors
//! are fixed. So a false equation is hidden by at most one value of its weight. The only equation
//! without a weight is hidden by none, as `z_p` has no constant term.
//!
//! **Many dealings**: `∏ (e(L, g₂)·e(g, S))^ρ = 1` with `ρ` of 128 bits for each dealing, from a
//! transcript over all of them. Without `ρ`, dealers that work together could try their dealings in
//! pairs. The sums `L` and `S` of each dealing stay separate, because they are long enough to gain
//! little from more terms. So finding the faulty dealings costs no further sum over points of a dealing.
use std::collections::BTreeSet;
use std::ops::Range;

use prefinal_crypto_core::bisect::{self, Weight};
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::hazmat::{
    Gt, check_pairing_product, pairing_product, vartime_msm, vartime_msm_bytes,
};
use prefinal_crypto_core::curve::{
    G1Affine, G1Projective, G2Affine, G2Projective, Projective, Scalar,
};

use super::chunk::{CHUNKS, powers};
use super::chunking::{Combiner, MASK_KEY};
use super::deal::origin;
use super::dealing::{Body, Dealing};
use super::layout::Layout;
use super::proof::{Challenges, Proof, Statement};
use super::verify::{DealingError, Verifier};
use crate::config::Config;
use crate::low_degree::DualWord;
use crate::proof::widen;
use crate::shape::SharePath;

/// Positions of the dealings of which some equation fails.
pub(crate) fn failing(verifier: &Verifier<'_>, dealings: &[&Dealing]) -> BTreeSet<usize> {
    let sums = dealings.iter().map(|dealing| Check::new(verifier, dealing).sums());
    let (left, right): (Vec<G1Projective>, Vec<G2Projective>) = sums.unzip();
    let left = Projective::batch_to_affine(&left);
    let right = Projective::batch_to_affine(&right);
    let rho = match dealings {
        [_] => vec![1],
        _ => weights(verifier.config, dealings),
    };
    spoiled(&left, &right, &rho)
}

/// Positions of the pairs of sums whose product is not one.
pub(crate) fn spoiled(left: &[G1Affine], right: &[G2Affine], rho: &[u128]) -> BTreeSet<usize> {
    let product = |range: Range<usize>, weight: Weight| -> Gt {
        let slice = |list: &[u128]| -> Vec<[u8; 24]> {
            let own = range.clone().zip(list.get(range.clone()).unwrap_or_default());
            own.map(|(place, rho)| weight.apply(*rho, place)).collect()
        };
        let scalars = slice(rho);
        let left = left.get(range.clone()).unwrap_or_default();
        let right = right.get(range.clone()).unwrap_or_default();
        pairing_product(&[
            (vartime_msm_bytes(left, &scalars).into(), G2Affine::generator()),
            (G1Affine::generator(), vartime_msm_bytes(right, &scalars).into()),
        ])
    };
    bisect::locate(rho.len(), product)
}

/// `ρ`
pub(crate) fn weights(config: &Config, dealings: &[&Dealing]) -> Vec<u128> {
    let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-FIELD-BATCH");
    for dealing in dealings {
        let share = dealing.share.map_or(0, |share| share.get());
        transcript.append_u64(b"share", u64::from(share));
        transcript.append(b"contribution", &dealing.contribution.digest(config));
        transcript.append(b"body", &dealing.body.digest());
        transcript.append(b"proof", &dealing.proof.to_bytes());
    }
    transcript.coefficients_128(b"dealings", dealings.len())
}

/// The first equation of a dealing that fails; `Ok` if all hold.
pub(crate) fn check_each(verifier: &Verifier<'_>, dealing: &Dealing) -> Result<(), DealingError> {
    let contribution = &dealing.contribution;
    contribution.check_knowledge(verifier.config)?;
    let agree = [
        (contribution.commitment, G2Affine::generator()),
        (-G1Affine::generator(), dealing.body.public_key),
    ];
    check_pairing_product(agree).map_err(|_| DealingError::Commitment)?;
    check_proof(verifier, dealing)
}

/// Checks the two proofs and the degree.
pub(crate) fn check_proof(verifier: &Verifier<'_>, dealing: &Dealing) -> Result<(), DealingError> {
    let check = Check::new(verifier, dealing);
    let mut terms = Terms::new(&verifier.layout);
    check.add_chunking(&mut terms);
    if !terms.sum(&verifier.layout, &dealing.body).is_identity() {
        return Err(DealingError::Chunking);
    }
    let mut terms = Terms::new(&verifier.layout);
    check.add_sharing(&mut terms);
    if !terms.sum(&verifier.layout, &dealing.body).is_identity() {
        return Err(DealingError::Sharing);
    }
    let response = G2Affine::generator() * dealing.proof.responses.shares;
    if (check.commitments() - response).is_identity() {
        return check.check_degrees(verifier.config);
    }
    Err(DealingError::Sharing)
}

/// One weight for each equation in 𝔾₁.
struct Weights {
    secret: u128,
    knowledge: u128,
    holders: Vec<u128>,
    masks: u128,
    chunks: u128,
    levels: Vec<u128>,
    shares: u128,
}

impl Weights {
    fn draw(layout: &Layout, transcript: &mut Transcript) -> Self {
        let mut one = |label| transcript.coefficients_128(label, 1).into_iter().sum();
        let (secret, knowledge) = (one(b"secret"), one(b"knowledge"));
        let (masks, chunks, shares) = (one(b"masks"), one(b"all chunks"), one(b"all shares"));
        let holders = transcript.coefficients_128(b"holders", layout.holders.len());
        let levels = transcript.coefficients_128(b"levels", layout.levels);
        Self { secret, knowledge, holders, masks, chunks, levels, shares }
    }
}

/// The test of each path's degree; its challenge has no constant term, see `low_degree`.
fn words(config: &Config, transcript: &mut Transcript) -> Vec<(SharePath, DualWord)> {
    let paths = [SharePath::Slow, SharePath::Fast].into_iter();
    let tested = paths.filter_map(|path| {
        let threshold = config.shape().threshold(path)?;
        let z = transcript.scalar(b"z");
        Some((path, config.low_degree().dual_word(threshold, &z)))
    });
    tested.collect()
}

struct Check<'a> {
    layout: &'a Layout,
    dealing: &'a Dealing,
    challenges: Challenges,
    weights: Weights,
    words: Vec<(SharePath, DualWord)>,
    /// `c` of the proof of knowledge.
    knowledge: Scalar,
    paths: Vec<&'a [G2Affine]>,
}

/// Terms of the one sum in 𝔾₁. Both proofs have terms in `R_jl` and `C_kl`.
struct Terms {
    ephemerals: Vec<Scalar>,
    ciphertexts: Vec<Scalar>,
    /// Coefficients of the holders' keys.
    keys: Vec<Scalar>,
    generator: Scalar,
    points: Vec<G1Affine>,
    scalars: Vec<Scalar>,
}

impl Terms {
    fn new(layout: &Layout) -> Self {
        Self {
            ephemerals: vec![Scalar::ZERO; layout.levels * CHUNKS],
            ciphertexts: vec![Scalar::ZERO; layout.items * CHUNKS],
            keys: vec![Scalar::ZERO; layout.holders.len()],
            generator: Scalar::ZERO,
            points: Vec::new(),
            scalars: Vec::new(),
        }
    }

    fn sum(mut self, layout: &Layout, body: &Body) -> G1Projective {
        let keys = layout.holders.iter().map(|holder| holder.key);
        self.points.extend(keys.chain([G1Affine::generator()]));
        self.scalars.extend(self.keys.into_iter().chain([self.generator]));
        self.points.extend_from_slice(&body.ephemerals);
        self.points.extend_from_slice(&body.ciphertexts);
        self.scalars.extend(self.ephemerals.into_iter().chain(self.ciphertexts));
        vartime_msm(&self.points, &self.scalars)
    }

    fn push(&mut self, point: G1Affine, scalar: Scalar) {
        self.points.push(point);
        self.scalars.push(scalar);
    }

    fn extend(&mut self, points: &[G1Affine], scalars: impl IntoIterator<Item = Scalar>) {
        self.points.extend_from_slice(points);
        self.scalars.extend(scalars.into_iter().take(points.len()));
    }
}

impl<'a> Check<'a> {
    fn new(verifier: &'a Verifier<'_>, dealing: &'a Dealing) -> Self {
        let Verifier { config, layout, before } = verifier;
        let contribution = &dealing.contribution;
        let share = dealing.share.zip(before.map(|before| &before.digest));
        let origin = origin(config, contribution.dealer, &contribution.commitment, share);
        let statement = Statement { layout, origin, body: &dealing.body };
        let (mut transcript, challenges) = statement.replay(&dealing.proof);
        transcript.append_scalar(b"knowledge", &contribution.response);
        transcript.append_point(b"knowledge nonce", &contribution.nonce);
        let weights = Weights::draw(layout, &mut transcript);
        let words = words(config, &mut transcript);
        let knowledge = contribution.challenge(config);
        let path =
            |(path, _): &(SharePath, _)| dealing.body.path(config, *path).unwrap_or_default();
        let paths = words.iter().map(path).collect();
        Self { layout, dealing, challenges, weights, words, knowledge, paths }
    }

    /// `L` and `S`.
    fn sums(&self) -> (G1Projective, G2Projective) {
        let mut terms = Terms::new(self.layout);
        self.add_secret(&mut terms);
        self.add_chunking(&mut terms);
        self.add_sharing(&mut terms);
        terms.generator -= self.dealing.proof.responses.shares;
        (terms.sum(self.layout, &self.dealing.body), self.right())
    }

    /// `κ·(T + c·F − z·g) − δ·F`
    fn add_secret(&self, terms: &mut Terms) {
        let contribution = &self.dealing.contribution;
        let (secret, knowledge) = (widen(self.weights.secret), widen(self.weights.knowledge));
        terms.push(contribution.commitment, knowledge * self.knowledge - secret);
        terms.push(contribution.nonce, knowledge);
        terms.generator -= knowledge * contribution.response;
    }

    /// `∑ wᵢ·(∑ u·R + Dᵢ − zᵢ·g) + w·(∑ y·B + D₀ − z_β·g)`
    /// ` + w'·(∑ u·C + ∑ y·Cₐ + Y − ∑ zᵢ·ekᵢ − z_β·y₀ − ∑ y·z_s·g)`
    fn add_chunking(&self, terms: &mut Terms) {
        let Proof { masks, sums, nonces, responses } = &self.dealing.proof;
        let holders: Vec<Scalar> = self.weights.holders.iter().copied().map(widen).collect();
        let (mask, chunk) = (widen(self.weights.masks), widen(self.weights.chunks));
        let y: Vec<Scalar> = self.challenges.repetitions.iter().copied().map(widen).collect();
        self.add_chunks(terms, &holders, &chunk);
        terms.extend(&nonces.holders, holders.iter().copied());
        terms.extend(&masks.ephemerals, y.iter().map(|y| mask * *y));
        terms.push(nonces.masks, mask);
        terms.extend(&masks.ciphertexts, y.iter().map(|y| chunk * *y));
        terms.push(nonces.chunks, chunk);
        for (key, z) in terms.keys.iter_mut().zip(&responses.holders) {
            *key -= chunk * *z;
        }
        terms.push(*MASK_KEY, -(chunk * responses.masks));
        let answers: Scalar = holders.iter().zip(&responses.holders).map(|(w, z)| *w * *z).sum();
        let sums: Scalar = y.iter().zip(sums).map(|(y, sum)| *y * Scalar::from_u64(*sum)).sum();
        terms.generator -= answers + mask * responses.masks + chunk * sums;
    }

    /// The terms in `R_jl` and `C_kl` of the proof of chunking.
    fn add_chunks(&self, terms: &mut Terms, holders: &[Scalar], chunk: &Scalar) {
        let combiner = Combiner::new(&self.challenges.repetitions);
        let u: Vec<Scalar> =
            self.challenges.chunks.iter().map(|digits| combiner.combine(*digits)).collect();
        for entry in self.layout.entries() {
            let weight = holders.get(entry.holder).copied().unwrap_or_default();
            let own = u.iter().skip(entry.item * CHUNKS).take(CHUNKS);
            let sums = terms.ephemerals.iter_mut().skip(entry.level * CHUNKS);
            sums.zip(own).for_each(|(sum, u)| *sum += weight * *u);
        }
        terms.ciphertexts.iter_mut().zip(u).for_each(|(sum, u)| *sum += *chunk * u);
    }

    /// `∑ wⱼ·(c·∑ 2^(16l)·R + Fⱼ − zⱼ·g) + w·(c·∑ x·2^(16l)·C + Y' − ∑ zⱼ·Kⱼ − z_α·g)` with
    /// `Kⱼ = ∑_(k on j) x·ekᵢ`
    fn add_sharing(&self, terms: &mut Terms) {
        let Proof { nonces, responses, .. } = &self.dealing.proof;
        let c = self.challenges.sharing;
        let powers = powers();
        let levels: Vec<Scalar> = self.weights.levels.iter().copied().map(widen).collect();
        let share = widen(self.weights.shares);
        let chunked = |weight: Scalar| powers.map(|power| weight * power);
        let ephemerals = levels.iter().flat_map(|weight| chunked(*weight * c));
        terms.ephemerals.iter_mut().zip(ephemerals).for_each(|(sum, term)| *sum += term);
        let factor = share * c;
        let ciphertexts = self.challenges.shares.iter().flat_map(|x| chunked(factor * widen(*x)));
        terms.ciphertexts.iter_mut().zip(ciphertexts).for_each(|(sum, term)| *sum += term);
        terms.extend(&nonces.levels, levels.iter().copied());
        terms.push(nonces.shares, share);
        for entry in self.layout.entries() {
            let x = self.challenges.shares.get(entry.item).copied().map(widen);
            let z = responses.levels.get(entry.level);
            if let (Some(x), Some(z), Some(key)) = (x, z, terms.keys.get_mut(entry.holder)) {
                *key -= share * *z * x;
            }
        }
        let answers: Scalar = levels.iter().zip(&responses.levels).map(|(w, z)| *w * *z).sum();
        terms.generator -= answers + share * responses.shares;
    }

    /// `c·∑ x·V̂ + A + δ·V̂₀` and the degrees.
    fn right(&self) -> G2Projective {
        let mut scalars: Vec<Scalar> = self.share_weights();
        let degrees = self.words.iter().flat_map(|(_, word)| &word.at_shares);
        scalars.iter_mut().zip(degrees).for_each(|(scalar, v)| *scalar += *v);
        let at_zero: Scalar = self.words.iter().map(|(_, word)| word.at_zero).sum();
        scalars.extend([widen(self.weights.secret) + at_zero, Scalar::ONE]);
        let body = &self.dealing.body;
        let mut points = body.commitments.clone();
        points.extend([body.public_key, self.dealing.proof.nonces.commitment]);
        vartime_msm(&points, &scalars)
    }

    /// `c·x`
    fn share_weights(&self) -> Vec<Scalar> {
        let c = self.challenges.sharing;
        self.challenges.shares.iter().map(|x| c * widen(*x)).collect()
    }

    /// `c·∑ x·V̂ + A`
    fn commitments(&self) -> G2Projective {
        vartime_msm(&self.dealing.body.commitments, &self.share_weights())
            + self.dealing.proof.nonces.commitment
    }

    fn check_degrees(&self, config: &Config) -> Result<(), DealingError> {
        for ((path, word), commitments) in self.words.iter().zip(&self.paths) {
            let sum = vartime_msm(commitments, &word.at_shares)
                + self.dealing.body.public_key * word.at_zero;
            if !sum.is_identity() {
                let threshold = config.shape().threshold(*path).map_or(0, |it| it.t().get());
                return Err(DealingError::Degree { path: *path, threshold });
            }
        }
        Ok(())
    }
}
