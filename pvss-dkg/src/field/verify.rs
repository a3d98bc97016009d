//! Anyone's side: is a dealing with field elements what it should be?
//!
//! Sizes and identities first, then signature and knowledge of the secret, then with weights from the
//! last stage of the transcript (see `proof`)
//!
//! - in 𝔾₁ one sum over all points: the five kinds of equations of `chunking` and `sharing`, each
//!   multiplied by a 128-bit weight of its own: `16·(W·p + J) + 2·H + J` terms and some 70 more;
//! - in 𝔾₂ one sum: `(∑ x_k·V̂ₖ)·c + A = z_α·g₂` and, with independent challenges, the degree tests;
//! - one product of two pairings: `e(F, g₂) = e(g, V̂₀)`.
//!
//! A false equation hides behind at most one value of its weight. Who failed is only asked when a sum
//! is not zero: then each proof is summed alone.
use crypto_core::access::Party;
use crypto_core::challenge::Transcript;
use crypto_core::curve::{
    G1Affine, G1Projective, G2Affine, G2Projective, Scalar, check_pairing_product, vartime_msm,
};
use thiserror::Error;

use super::chunk::{CHUNKS, powers};
use super::chunking::{Bounds, Combiner, MASK_KEY, REPETITIONS};
use super::deal::origin;
use super::dealing::{Body, Dealing};
use super::layout::Layout;
use super::proof::{Challenges, Proof, Statement};
use super::sharing::level_keys;
use crate::config::{Config, Path};
use crate::low_degree::DualWord;
use crate::proof::{ProofError, widen};
use crate::verified::Verified;

/// Why a dealing is refused. The fault is its signer's, unless the signature is what fails.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DealingError {
    /// Who dealt this?
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// A fresh secret where a share is to be dealt on, or the other way round.
    #[error("dealing is of another kind than was asked for")]
    Source,
    /// Another party's share, or nobody's.
    #[error("{dealer} deals share {share}, which it does not hold")]
    Holder {
        /// Who deals.
        dealer: Party,
        /// Which share.
        share: u32,
    },
    /// A secret of its own in the place of its share.
    #[error("what is dealt is not share {share} of the key before")]
    Share {
        /// Which share.
        share: u32,
    },
    /// Made for another committee.
    #[error("{what}: {got}, expected {expected}")]
    Size {
        /// Which list.
        what: &'static str,
        /// Its length.
        got: usize,
        /// What the committee's shares ask for.
        expected: usize,
    },
    /// Where an honest dealer never has one.
    #[error("identity as {what}")]
    Identity {
        /// Which value.
        what: &'static str,
    },
    /// `F` and `V̂₀` hide two secrets.
    #[error("commitments to the secret in the two groups differ")]
    Commitment,
    /// More shares than the threshold would be needed, or they disagree.
    #[error(
        "{path} shares do not lie on a polynomial of degree below {threshold} through the secret"
    )]
    Degree {
        /// On which path.
        path: Path,
        /// The threshold.
        threshold: u32,
    },
    /// Some chunk may be too large to decrypt.
    #[error("sum {sum} of chunks is {got}, at most {most} is allowed")]
    Range {
        /// Which sum.
        sum: usize,
        /// What it is.
        got: u64,
        /// `Z − 1`.
        most: u64,
    },
    /// Some chunk may be too large to decrypt, or its dealer does not know it.
    #[error("proof that the chunks are small fails")]
    Chunking,
    /// Some party would decrypt another share than the one committed to.
    #[error("proof that the chunks add up to the shares fails")]
    Sharing,
}

/// Checks a dealing, whoever sent it.
///
/// # Errors
/// Says which check fails first.
pub fn verify(config: &Config, dealing: Dealing) -> Result<Verified<Dealing>, DealingError> {
    if dealing.share.is_some() {
        return Err(DealingError::Source);
    }
    check(config, dealing, None)
}

/// All but where the secret is from; `key` is the digest of the one that is handed over.
pub(crate) fn check(
    config: &Config,
    dealing: Dealing,
    key: Option<&[u8; 32]>,
) -> Result<Verified<Dealing>, DealingError> {
    let layout = Layout::new(config);
    check_sizes(&layout, &dealing)?;
    check_identities(&dealing)?;
    check_ranges(&layout, &dealing.proof.sums)?;
    dealing.contribution.verify(config, &dealing.signature)?;
    check_commitment(&dealing)?;
    check_proof(config, &layout, &dealing, key)?;
    Ok(Verified::new(dealing, *config.digest()))
}

fn check_sizes(layout: &Layout, dealing: &Dealing) -> Result<(), DealingError> {
    let (holders, levels) = (layout.holders.len(), layout.levels);
    let Dealing { body, proof: Proof { masks, sums, nonces, responses }, .. } = dealing;
    let lengths = [
        ("share commitments", body.commitments.len(), layout.items),
        ("ephemeral keys", body.ephemerals.len(), levels * CHUNKS),
        ("ciphertexts", body.ciphertexts.len(), layout.items * CHUNKS),
        ("mask ephemerals", masks.ephemerals.len(), REPETITIONS),
        ("mask ciphertexts", masks.ciphertexts.len(), REPETITIONS),
        ("sums", sums.len(), REPETITIONS),
        ("holder nonces", nonces.holders.len(), holders),
        ("level nonces", nonces.levels.len(), levels),
        ("holder responses", responses.holders.len(), holders),
        ("level responses", responses.levels.len(), levels),
    ];
    match lengths.into_iter().find(|(_, got, expected)| got != expected) {
        Some((what, got, expected)) => Err(DealingError::Size { what, got, expected }),
        None => Ok(()),
    }
}

fn check_identities(dealing: &Dealing) -> Result<(), DealingError> {
    let body = &dealing.body;
    let found = [
        ("commitment", dealing.contribution.commitment.is_identity()),
        ("public key", body.public_key.is_identity()),
        ("share commitment", body.commitments.iter().any(G2Affine::is_identity)),
        ("ephemeral key", body.ephemerals.iter().any(G1Affine::is_identity)),
        ("ciphertext", body.ciphertexts.iter().any(G1Affine::is_identity)),
    ];
    match found.into_iter().find(|(_, found)| *found) {
        Some((what, _)) => Err(DealingError::Identity { what }),
        None => Ok(()),
    }
}

fn check_ranges(layout: &Layout, sums: &[u64]) -> Result<(), DealingError> {
    let most = Bounds::new(layout.items).sum - 1;
    match sums.iter().enumerate().find(|(_, got)| **got > most) {
        Some((sum, got)) => Err(DealingError::Range { sum, got: *got, most }),
        None => Ok(()),
    }
}

fn check_commitment(dealing: &Dealing) -> Result<(), DealingError> {
    check_pairing_product([
        (dealing.contribution.commitment, G2Affine::generator()),
        (-G1Affine::generator(), dealing.body.public_key),
    ])
    .map_err(|_| DealingError::Commitment)
}

pub(crate) fn check_proof(
    config: &Config,
    layout: &Layout,
    dealing: &Dealing,
    key: Option<&[u8; 32]>,
) -> Result<(), DealingError> {
    let contribution = &dealing.contribution;
    let share = dealing.share.zip(key);
    let origin = origin(config, contribution.dealer, &contribution.commitment, share);
    let statement = Statement { layout, origin, body: &dealing.body };
    let (mut transcript, challenges) = statement.replay(&dealing.proof);
    let weights = Weights::draw(layout, &mut transcript);
    let words = words(config, &mut transcript);
    let check = Check { layout, dealing, challenges, weights };
    if !check.sum(true, true).is_identity() {
        let chunking = check.sum(true, false).is_identity();
        return Err(if chunking { DealingError::Sharing } else { DealingError::Chunking });
    }
    if (check.commitments() + degrees(config, dealing, &words)).is_identity() {
        return Ok(());
    }
    for (path, word) in &words {
        if !degree(config, dealing, *path, word).is_identity() {
            let threshold = config.shape().threshold(*path).map_or(0, |it| it.t().get());
            return Err(DealingError::Degree { path: *path, threshold });
        }
    }
    Err(DealingError::Sharing)
}

/// One for each equation in 𝔾₁.
struct Weights {
    holders: Vec<u128>,
    masks: u128,
    chunks: u128,
    levels: Vec<u128>,
    shares: u128,
}

impl Weights {
    fn draw(layout: &Layout, transcript: &mut Transcript) -> Self {
        let mut one = |label| transcript.coefficients_128(label, 1).into_iter().sum();
        let (masks, chunks, shares) = (one(b"masks"), one(b"all chunks"), one(b"all shares"));
        let holders = transcript.coefficients_128(b"holders", layout.holders.len());
        let levels = transcript.coefficients_128(b"levels", layout.levels);
        Self { holders, masks, chunks, levels, shares }
    }
}

/// The test of each path's degree; its challenge has no constant term, see `low_degree`.
fn words(config: &Config, transcript: &mut Transcript) -> Vec<(Path, DualWord)> {
    let paths = [Path::Slow, Path::Fast].into_iter();
    let tested = paths.filter_map(|path| {
        let threshold = config.shape().threshold(path)?;
        let z = transcript.scalar(b"z");
        Some((path, config.low_degree().dual_word(threshold, &z)))
    });
    tested.collect()
}

fn degrees(config: &Config, dealing: &Dealing, words: &[(Path, DualWord)]) -> G2Projective {
    words.iter().map(|(path, word)| degree(config, dealing, *path, word)).sum()
}

fn degree(config: &Config, dealing: &Dealing, path: Path, word: &DualWord) -> G2Projective {
    let commitments = dealing.body.path(config, path).unwrap_or_default();
    vartime_msm(commitments, &word.at_shares) + dealing.body.public_key * word.at_zero
}

struct Check<'a> {
    layout: &'a Layout,
    dealing: &'a Dealing,
    challenges: Challenges,
    weights: Weights,
}

/// Terms of the one sum in 𝔾₁. Both proofs are about the `R_jl` and the `C_kl`.
struct Terms {
    ephemerals: Vec<Scalar>,
    ciphertexts: Vec<Scalar>,
    points: Vec<G1Affine>,
    scalars: Vec<Scalar>,
}

impl Terms {
    fn new(layout: &Layout) -> Self {
        Self {
            ephemerals: vec![Scalar::ZERO; layout.levels * CHUNKS],
            ciphertexts: vec![Scalar::ZERO; layout.items * CHUNKS],
            points: Vec::new(),
            scalars: Vec::new(),
        }
    }

    fn sum(mut self, body: &Body) -> G1Projective {
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

impl Check<'_> {
    /// The identity if the chosen proofs hold.
    fn sum(&self, chunking: bool, sharing: bool) -> G1Projective {
        let mut terms = Terms::new(self.layout);
        if chunking {
            self.add_chunking(&mut terms);
        }
        if sharing {
            self.add_sharing(&mut terms);
        }
        terms.sum(&self.dealing.body)
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
        for (holder, z) in self.layout.holders.iter().zip(&responses.holders) {
            terms.push(holder.key, -(chunk * *z));
        }
        terms.push(*MASK_KEY, -(chunk * responses.masks));
        let answers: Scalar = holders.iter().zip(&responses.holders).map(|(w, z)| *w * *z).sum();
        let sums: Scalar = y.iter().zip(sums).map(|(y, sum)| *y * Scalar::from_u64(*sum)).sum();
        let generator = answers + mask * responses.masks + chunk * sums;
        terms.push(G1Affine::generator(), -generator);
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
        let keys = level_keys(self.layout, &self.challenges.shares);
        terms.extend(&keys, responses.levels.iter().map(|z| -(share * *z)));
        let answers: Scalar = levels.iter().zip(&responses.levels).map(|(w, z)| *w * *z).sum();
        terms.push(G1Affine::generator(), -(answers + share * responses.shares));
    }

    /// `c·∑ x·V̂ + A − z_α·g₂`
    fn commitments(&self) -> G2Projective {
        let Proof { nonces, responses, .. } = &self.dealing.proof;
        let c = self.challenges.sharing;
        let scalars: Vec<Scalar> = self.challenges.shares.iter().map(|x| c * widen(*x)).collect();
        vartime_msm(&self.dealing.body.commitments, &scalars) + nonces.commitment
            - G2Affine::generator() * responses.shares
    }
}
