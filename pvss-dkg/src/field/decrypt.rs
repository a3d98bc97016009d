//! The recipient's side: its shares out of a verified dealing, and out of all that count.
//!
//! One multiplication for each chunk of a level, one look-up for each chunk (`logarithm`); each share is
//! compared with what was committed to before it is believed.
use crypto_core::access::Party;
use crypto_core::curve::{G1Affine, G1Projective, G2Affine, Scalar};
use crypto_core::secret::Secret;
use thiserror::Error;

use super::chunk::{CHUNKS, join};
use super::chunking::Bounds;
use super::dealing::Dealing;
use super::layout::{Holder, Layout};
use super::logarithm::chunk;
use crate::aggregate::{self, check_recipient};
use crate::config::{Config, Path};
use crate::key::DecryptionKey;
use crate::verified::Verified;

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
        path: Path,
        /// Its place on the path, from zero.
        share: usize,
    },
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
        Self { slow: zeros(), fast: config.shape().threshold(Path::Fast).map(|_| zeros()) }
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

impl Verified<Dealing> {
    /// Opens the party's own shares.
    ///
    /// # Errors
    /// If the dealing belongs to another configuration, or the key to another party.
    pub fn decrypt(
        &self,
        config: &Config,
        party: Party,
        key: &DecryptionKey,
    ) -> Result<Shares, DecryptError> {
        check_recipient(config, self.config_digest(), party, key)?;
        let layout = Layout::new(config);
        let values = match layout.holders.iter().find(|holder| holder.party == party) {
            Some(holder) => self.open(config, &layout, holder, key)?,
            None => Secret::new(Vec::new()),
        };
        let (slow, fast) = values.expose().split_at(config.span(party).len());
        let fast = config.shape().threshold(Path::Fast).map(|_| Secret::new(fast.to_vec()));
        Ok(Shares { slow: Secret::new(slow.to_vec()), fast })
    }

    fn open(
        &self,
        config: &Config,
        layout: &Layout,
        holder: &Holder,
        key: &DecryptionKey,
    ) -> Result<Secret<Vec<Scalar>>, DecryptError> {
        let bound = Bounds::new(layout.items).sum;
        let levels = holder.items.iter().zip(self.body.ephemerals.chunks(CHUNKS));
        let opened = levels.map(|(item, rs)| self.open_share(*item, rs, key, bound)).collect();
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
    fn open_share(
        &self,
        item: usize,
        ephemerals: &[G1Affine],
        key: &DecryptionKey,
        bound: u64,
    ) -> Option<Scalar> {
        let ciphertexts = self.body.ciphertexts.iter().skip(item * CHUNKS);
        let opened: Vec<G1Projective> =
            ciphertexts.zip(ephemerals).map(|(c, r)| key.open(c, r)).collect();
        let opened = Secret::new(opened);
        let opened = Secret::new(G1Projective::batch_to_affine(opened.expose()));
        let chunks: Vec<Option<Scalar>> =
            opened.expose().iter().map(|point| chunk(point, bound)).collect();
        let chunks = Secret::new(chunks);
        if chunks.expose().iter().any(Option::is_none) {
            return None;
        }
        let value = join(chunks.expose().iter().flatten());
        let committed = self.body.commitments.get(item)?;
        (G2Affine::from(G2Affine::generator() * value) == *committed).then_some(value)
    }
}
