//! The epoch's key, which is the sum of the dealings that count, and a party's shares of it.
//!
//! Commitments add up to the key and to the public keys of the shares. Ciphertexts cannot be added:
//! sums of chunks from several cheating dealers have no small denominator. So a recipient decrypts each
//! dealing alone and adds its shares. A party that was absent needs the dealings, not their sum. It
//! also keeps its decryption key until then, because opening takes the key and wipes it.
use std::iter;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::hazmat::vartime_msm;
use prefinal_crypto_core::curve::{G1Affine, G2Affine, G2Projective, Scalar};

use super::dealing::Dealing;
use super::decrypt::{DecryptError, OpenedShares, Shares};
use super::large::LargeChunk;
use crate::accepted::Accepted;
use crate::aggregate::{AggregateError, check_dealers, sum_lists};
use crate::config::Config;
use crate::key::{DecryptionKey, NotOpened};
use crate::shape::{Paths, SharePath};

/// The key that an epoch's committee signs or decrypts with.
///
/// ```
/// # use std::{collections::BTreeMap, sync::Arc};
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
/// # let session = Session { context, attempt: 0, purpose: Purpose::Decryption };
/// # let qualify = Config::more_than(Ratio::ONE_THIRD, stakes)?;
/// # let config = std::sync::Arc::new(Config::new(session, shape, members, qualify)?);
/// use prefinal_crypto_core::elgamal::Label;
/// use prefinal_pvss_dkg::field;
///
/// let dealing = field::deal(&config, Party::new(0), &signers[0], &mut rng)?;
/// let dealing = Arc::new(field::verify(&config, dealing)?); // one dealer has enough stake here
/// let key = field::Key::sum(&config, &[dealing])?;
/// let committee = key.decryption(&config)?;
///
/// let label = Label::new(b"example")?;
/// let ciphertext = committee.slow.key().encrypt(&label, b"sell", &mut rng)?;
/// let valid = ciphertext.validate(committee.slow.key(), &label)?;
/// let mut shares = BTreeMap::new();
/// for (party, decryption) in (0..).map(Party::new).zip(keys).take(2) {
///     let opened = key.decrypt(&config, party, decryption)?;
///     let own = opened.shares.decryption(party, &committee)?;
///     shares.insert(party, own.slow.decrypt_share(&valid)?);
/// }
/// let plaintext = committee.slow.optimistic(&valid, shares)?.combine()?;
/// assert_eq!(plaintext.expose(), b"sell");
/// // A key for decryption signs nothing.
/// let rounds = prefinal_crypto_core::threshold::Purpose::Rounds;
/// assert!(key.signing(&config, rounds).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Key {
    config: [u8; 32],
    /// Each dealing with its coefficient: one, or the Lagrange coefficient of the share that it deals on.
    terms: Vec<(Scalar, Arc<Accepted<Dealing>>)>,
    commitment: G1Affine,
    public_key: G2Affine,
    shares: Paths<Vec<G2Affine>>,
}

impl Key {
    /// Adds verified dealings up. Their order does not matter.
    ///
    /// # Errors
    /// If a dealing was verified under another configuration or deals on a share of another key, if a
    /// dealer occurs twice, if the dealers' stake is not enough, or if their secrets cancel.
    pub fn sum(
        config: &Config,
        dealings: &[Arc<Accepted<Dealing>>],
    ) -> Result<Self, AggregateError> {
        let mut dealings = dealings.to_vec();
        dealings.sort_by_key(|dealing| dealing.dealer());
        let own = |one: &Accepted<Dealing>| one.config_digest() == config.digest();
        if let Some(foreign) = dealings.iter().find(|one| !own(one) || one.share.is_some()) {
            return Err(AggregateError::Foreign { dealer: foreign.dealer() });
        }
        check_dealers(config, dealings.iter().map(|dealing| dealing.dealer()))?;
        let ones = iter::repeat(Scalar::ONE);
        let key = Self::combine(config, ones.zip(dealings).collect());
        if key.public_key.is_identity() { Err(AggregateError::Cancelled) } else { Ok(key) }
    }

    /// `∑ λ·(what each dealing commits to)`
    pub(crate) fn combine(config: &Config, terms: Vec<(Scalar, Arc<Accepted<Dealing>>)>) -> Self {
        let (lambda, dealings): (Vec<Scalar>, Vec<_>) = terms.iter().cloned().unzip();
        let commitments = dealings.iter().map(|one| one.contribution.commitment);
        let public_keys = dealings.iter().map(|one| one.body.public_key);
        let on = |path| {
            let lists = dealings.iter().filter_map(|one| one.body.path(config, path));
            combine_lists(&lambda, &lists.collect::<Vec<_>>())
        };
        Self {
            config: *config.digest(),
            commitment: vartime_msm(&commitments.collect::<Vec<_>>(), &lambda).into(),
            public_key: vartime_msm(&public_keys.collect::<Vec<_>>(), &lambda).into(),
            shares: Paths {
                slow: on(SharePath::Slow),
                fast: config.shape().threshold(SharePath::Fast).map(|_| on(SharePath::Fast)),
            },
            terms,
        }
    }

    pub(crate) const fn config_digest(&self) -> &[u8; 32] {
        &self.config
    }

    /// The commitment to the secret, `g^f(0)`.
    #[must_use]
    pub const fn commitment(&self) -> &G1Affine {
        &self.commitment
    }

    /// The public key, `g₂^f(0)`.
    #[must_use]
    pub const fn public_key(&self) -> &G2Affine {
        &self.public_key
    }

    /// The public keys of the shares on that path, `g₂^f(ω^(k−1))` for all share indices in order.
    #[must_use]
    pub fn public_shares(&self, path: SharePath) -> Option<&[G2Affine]> {
        self.shares.get(path).map(Vec::as_slice)
    }

    /// The dealers whose secrets are in the key, ascending.
    pub fn dealers(&self) -> impl Iterator<Item = Party> {
        self.terms.iter().map(|(_, dealing)| dealing.dealer())
    }

    /// The dealings that count, in the order of their dealers and shares.
    pub(crate) fn dealings(&self) -> impl Iterator<Item = &Arc<Accepted<Dealing>>> {
        self.terms.iter().map(|(_, dealing)| dealing)
    }

    /// A digest of exactly this key under this configuration. It is equal for all parties that added up
    /// the same dealings.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-FIELD-KEY");
        transcript.append(b"config", &self.config);
        for (lambda, dealing) in &self.terms {
            transcript.append_scalar(b"coefficient", lambda);
            transcript.append_u64(b"dealer", u64::from(dealing.dealer().get()));
            transcript.append(b"dealing", &dealing.contribution.body);
        }
        transcript.append_point(b"public key", &self.public_key);
        transcript.append_points(b"slow", &self.shares.slow);
        transcript.append_points(b"fast", self.shares.fast.as_deref().unwrap_or_default());
        transcript.bytes(b"digest")
    }

    /// Opens the party's own shares from every dealing and wipes `key`, which has nothing more to open.
    ///
    /// # Errors
    /// If this key belongs to another configuration, or `key` to another party. Then the error gives
    /// `key` back.
    pub fn decrypt(
        &self,
        config: &Config,
        party: Party,
        key: DecryptionKey,
    ) -> Result<OpenedShares, NotOpened<DecryptError>> {
        self.open(config, party, &key).map_err(|error| NotOpened { key, error })
    }

    fn open(
        &self,
        config: &Config,
        party: Party,
        key: &DecryptionKey,
    ) -> Result<OpenedShares, DecryptError> {
        let shares = Shares::zero(config, config.span(party).len());
        let none = OpenedShares { shares, large: Vec::new() };
        self.terms.iter().try_fold(none, |mut sum, (lambda, dealing)| {
            let one = dealing.open(config, party, key)?;
            sum.large.extend(one.mask.map(|mask| LargeChunk::new(Arc::clone(dealing), mask)));
            Ok(OpenedShares {
                shares: sum.shares.add_multiple(lambda, &one.shares),
                large: sum.large,
            })
        })
    }
}

/// Combines the lists entry by entry.
fn combine_lists(lambda: &[Scalar], lists: &[&[G2Affine]]) -> Vec<G2Affine> {
    if lambda.iter().all(|one| *one == Scalar::ONE) {
        return sum_lists(lists.iter().copied());
    }
    let count = lists.first().map_or(0, |list| list.len());
    let column = |k: usize| -> Vec<G2Affine> {
        lists.iter().filter_map(|list| list.get(k).copied()).collect()
    };
    let sums: Vec<G2Projective> = (0..count).map(|k| vartime_msm(&column(k), lambda)).collect();
    G2Projective::batch_to_affine(&sums)
}
