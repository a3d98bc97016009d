//! The recipient's side: decrypts its shares from a verified dealing, and from all that count.
//!
//! The cost is one multiplication for each chunk of a level and one look-up for each chunk
//! (`logarithm`). Each share is compared with its commitment before it is accepted.
//!
//! A key opens all dealings that count and is then wiped. A chunk that is slow to open is too large,
//! and only its dealer can have caused that. The recipient proves it while it still has the key (`large`).
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::curve::{G1Affine, G1Projective, G2Affine, Scalar};
use prefinal_crypto_core::secret::Secret;
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
#[non_exhaustive]
pub enum DecryptError {
    /// The key does not belong to this party, or the dealings to this configuration.
    #[error(transparent)]
    Recipient(#[from] aggregate::DecryptError),
    /// A share passed the proofs and cannot be decrypted: chance of 2⁻¹²⁸.
    #[error("share {share} on the {path} path does not decrypt")]
    Share {
        /// The path of the share.
        path: SharePath,
        /// Its place on the path, from zero.
        share: usize,
    },
    /// The decryption key was used already. A key opens once; the party should have stored its shares.
    #[error("decryption key was used up before")]
    UsedUp,
}

impl DecryptError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Recipient(error) => error.code(),
            Self::Share { .. } => "cannot-decrypt",
            Self::UsedUp => "key-used-up",
        }
    }
}

/// What a party gets when it opens its shares.
#[derive(Debug)]
pub struct OpenedShares {
    /// The party's own shares.
    pub shares: Shares,
    /// For each dealing with a chunk that is too large, one such chunk.
    pub large: Vec<LargeChunk>,
}

/// What a party gets from one dealing.
pub(crate) struct OpenedDealing {
    pub(crate) shares: Shares,
    /// The mask of the first chunk that is too large.
    pub(crate) mask: Option<RevealedMask>,
}

/// A party's secret shares `f(ω^k)`, in the order of its indices. The lists are empty if its weight is zero.
///
/// ```
/// # use std::sync::Arc;
/// # use prefinal_crypto_core::{access::Party, bls::min_sig};
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_pvss_dkg::{Config, DecryptionKey, Member, Purpose, Session, Shape};
/// # use prefinal_weighted_rounding::{Ratio, Stake};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let stakes = [4, 3, 2, 1].map(Stake::new);
/// # let shape = Shape::tight(&stakes, Ratio::HALF)?;
/// # let (mut signers, mut keys, mut members) = (Vec::new(), Vec::new(), Vec::new());
/// # for stake in stakes {
/// #     let (signer, key) = (min_sig::SecretKey::random(&mut rng), DecryptionKey::random(&mut rng));
/// #     let public = signer.public_key();
/// #     let encryption = key.register(&signer, &mut rng).verify(&public)?;
/// #     let signer_key = public.verify_possession(&signer.prove_possession())?;
/// #     members.push(Member { stake, encryption, signer: signer_key });
/// #     signers.push(signer);
/// #     keys.push(key);
/// # }
/// # let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
/// # let session = Session { context, attempt: 0, purpose: Purpose::Certificates };
/// # let qualify = Config::more_than(Ratio::ONE_THIRD, stakes)?;
/// # let config = std::sync::Arc::new(Config::new(session, shape, members, qualify)?);
/// use prefinal_pvss_dkg::field::{self, Shares};
///
/// let dealing = field::deal(&config, Party::new(0), &signers[0], &mut rng)?;
/// let key = field::Key::sum(&config, &[Arc::new(field::verify(&config, dealing)?)])?;
/// let shares = key.decrypt(&config, Party::new(0), keys.remove(0))?.shares;
/// let (epoch, stored) = (key.epoch(&config)?, shares.to_secret_bytes());
/// let again = Shares::from_secret_bytes(&epoch, Party::new(0), &stored)?;
/// assert_eq!(again.slow.expose().len(), 4);
/// assert!(Shares::from_secret_bytes(&epoch, Party::new(1), &stored).is_err()); // another party's
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Shares {
    /// Shares of the slow path.
    pub slow: Secret<Vec<Scalar>>,
    /// Shares of the fast path, if there is one.
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
    /// Opens the party's own shares of this dealing alone. The key is not used up: it still opens the
    /// other dealings.
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

/// Opens one dealing for one recipient.
struct Opener<'a> {
    body: &'a Body,
    key: &'a DecryptionKey,
    /// `Z`
    bound: u64,
    /// The first chunk that no honest dealer would encrypt.
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
        // Of known length, because a list that grows leaves copies of its shares behind.
        let shares = opened.expose().iter().map(|share| share.unwrap_or_default());
        Ok(Secret::new(shares.collect()))
    }

    /// The share that `V̂` commits to, or `None`.
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
