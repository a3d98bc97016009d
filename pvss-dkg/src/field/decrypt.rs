//! The recipient's side: its shares out of a verified dealing, and out of all that count.
//!
//! One multiplication for each chunk of a level, one look-up for each chunk (`logarithm`); each share is
//! compared with what was committed to before it is believed.
//!
//! A key opens all dealings that count and is wiped. What was slow to open for it was too large, which
//! only its dealer can have done: that is shown on the way, while the key is there (`large`).
use crypto_core::access::Party;
use crypto_core::curve::{G1Affine, G1Projective, G2Affine, Scalar};
use crypto_core::secret::Secret;
use thiserror::Error;

use super::chunk::{CHUNKS, join};
use super::chunking::Bounds;
use super::dealing::{Body, Dealing};
use super::large::{ChunkPlace, LargeChunk, RevealedMask};
use super::layout::{Holder, Layout};
use super::logarithm::{chunk, is_honest};
use crate::accepted::Accepted;
use crate::aggregate::{self, check_recipient};
use crate::config::Config;
use crate::key::DecryptionKey;
use crate::shape::SharePath;

/// Why a party gets no shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecryptError {
    /// Not dealt to this party, or not under this configuration.
    #[error(transparent)]
    Recipient(#[from] aggregate::DecryptError),
    /// Passed the proofs and cannot be decrypted: chance of 2⁻¹²⁸.
    #[error("share {share} on the {path} path does not decrypt")]
    Share {
        /// On which path.
        path: SharePath,
        /// Its place on the path, from zero.
        share: usize,
    },
    /// A key opens once. The shares are what should have been kept.
    #[error("decryption key was used up before")]
    UsedUp,
}

/// What a party decrypts.
#[derive(Debug)]
pub struct Opened {
    /// Its own.
    pub shares: Shares,
    /// For each dealing with a chunk that is too large, one such chunk.
    pub large: Vec<LargeChunk>,
}

/// What a party decrypts of one dealing.
pub(crate) struct OpenedDealing {
    pub(crate) shares: Shares,
    /// Of the first chunk that is too large.
    pub(crate) mask: Option<RevealedMask>,
}

/// A party's secret shares `f(ω^k)`, none if its weight is zero; in the order of its indices.
#[derive(Debug)]
pub struct Shares {
    /// Of the slow path.
    pub slow: Secret<Vec<Scalar>>,
    /// Of the fast path, if there is one.
    pub fast: Option<Secret<Vec<Scalar>>>,
}

impl Shares {
    pub(crate) fn zero(config: &Config, count: usize) -> Self {
        let zeros = || Secret::new(vec![Scalar::ZERO; count]);
        Self { slow: zeros(), fast: config.shape().threshold(SharePath::Fast).map(|_| zeros()) }
    }

    /// `self + λ·other`, entry by entry.
    pub(crate) fn add_multiple(&self, lambda: &Scalar, other: &Self) -> Self {
        let fast = self.fast.as_ref().zip(other.fast.as_ref());
        Self {
            slow: add_multiple(&self.slow, lambda, &other.slow),
            fast: fast.map(|(one, two)| add_multiple(one, lambda, two)),
        }
    }
}

fn add_multiple(
    one: &Secret<Vec<Scalar>>,
    lambda: &Scalar,
    two: &Secret<Vec<Scalar>>,
) -> Secret<Vec<Scalar>> {
    let pairs = one.expose().iter().zip(two.expose());
    Secret::new(pairs.map(|(one, two)| *one + *lambda * *two).collect())
}

impl Accepted<Dealing> {
    /// Opens the party's own shares of this dealing alone; the key is good for the others still.
    pub(crate) fn open(
        &self,
        config: &Config,
        party: Party,
        key: &DecryptionKey,
    ) -> Result<OpenedDealing, DecryptError> {
        check_recipient(config, self.config_digest(), party, key)?;
        let layout = Layout::new(config);
        let bound = Bounds::new(layout.items).sum;
        let mut opener = Opener { body: &self.body, key, bound, large: None };
        let values = match layout.holders.iter().find(|holder| holder.party == party) {
            Some(holder) => opener.open(config, holder)?,
            None => Secret::new(Vec::new()),
        };
        let (slow, fast) = values.expose().split_at(config.span(party).len());
        let fast = config.shape().threshold(SharePath::Fast).map(|_| Secret::new(fast.to_vec()));
        let mask =
            opener.large.and_then(|chunk| RevealedMask::new(&layout, &self.body, chunk, key));
        Ok(OpenedDealing { shares: Shares { slow: Secret::new(slow.to_vec()), fast }, mask })
    }
}

/// One recipient at one dealing.
struct Opener<'a> {
    body: &'a Body,
    key: &'a DecryptionKey,
    /// `Z`
    bound: u64,
    /// The first chunk that no honest dealer encrypts.
    large: Option<ChunkPlace>,
}

impl Opener<'_> {
    fn open(
        &mut self,
        config: &Config,
        holder: &Holder,
    ) -> Result<Secret<Vec<Scalar>>, DecryptError> {
        let levels = holder.items.iter().zip(self.body.ephemerals.chunks(CHUNKS));
        let opened = levels.map(|(item, rs)| self.open_share(*item, rs)).collect();
        let opened: Secret<Vec<Option<Scalar>>> = Secret::new(opened);
        let mut shares = holder.items.iter().zip(opened.expose());
        if let Some((item, _)) = shares.find(|(_, share)| share.is_none()) {
            let (path, share) = Layout::place(config, *item);
            return Err(DecryptError::Share { path, share });
        }
        // Of known length, for a list that grows leaves copies of its shares behind.
        let shares = opened.expose().iter().map(|share| share.unwrap_or_default());
        Ok(Secret::new(shares.collect()))
    }

    /// The share that `V̂` commits to, or none.
    fn open_share(&mut self, item: usize, ephemerals: &[G1Affine]) -> Option<Scalar> {
        let ciphertexts = self.body.ciphertexts.iter().skip(item * CHUNKS);
        let opened: Vec<G1Projective> =
            ciphertexts.zip(ephemerals).map(|(c, r)| self.key.open(c, r)).collect();
        let opened = Secret::new(opened);
        let opened = Secret::new(G1Projective::batch_to_affine(opened.expose()));
        let chunks: Vec<Option<Scalar>> =
            opened.expose().iter().map(|point| chunk(point, self.bound)).collect();
        let chunks = Secret::new(chunks);
        if chunks.expose().iter().any(Option::is_none) {
            return None;
        }
        let is_large = |value: &Scalar| !is_honest(value);
        if let Some(chunk) = chunks.expose().iter().flatten().position(is_large) {
            self.large = self.large.or(Some(ChunkPlace { item, chunk }));
        }
        let value = join(chunks.expose().iter().flatten());
        let committed = self.body.commitments.get(item)?;
        (G2Affine::from(G2Affine::generator() * value) == *committed).then_some(value)
    }
}
