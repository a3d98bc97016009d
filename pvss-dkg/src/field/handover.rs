//! Handover: the same secret for the next committee, whatever its weights and thresholds.
//!
//! Every share `k` of the epoch before is dealt again, as if it were a secret. Take `t` of these
//! dealings with the Lagrange coefficients `λ_k` of their indices: they are a sharing of the old secret.
//!
//! | step   | equation                                                       | by whom                |
//! |--------|----------------------------------------------------------------|------------------------|
//! | deal   | `f_k` random with `f_k(0) = f(ω^k)`                             | the holder of share `k` |
//! | verify | as any dealing, and `V̂₀` is the public key of share `k` before | anyone                 |
//! | add up | `f'(X) = ∑ λ_k·f_k(X)`, so `f'(0) = f(0)`                       | anyone, the first `t`  |
//!
//! Only shares of the slow path are dealt on, because its threshold is the lower one. The new dealings
//! share on both paths. A handover to the same committee is a refresh: the old and the new shares are
//! values of unrelated polynomials.
//!
//! **An adversary that moves** controls parties of weight `a < t` in one epoch and of weight `b < t` in
//! a later one, with `a + b ≥ t`. Dealings are public and kept, so new shares alone are not enough.
//! With a party's decryption key the adversary opens everything that was ever encrypted to it, and both
//! groups together have `t` shares of *one* epoch. To make it start from nothing in each epoch, nothing
//! of the epoch before may be left to take:
//!
//! | what                 | when it must be gone                                      | by whom            |
//! |----------------------|-----------------------------------------------------------|--------------------|
//! | decryption key       | when its shares are opened: [`Key::decrypt`] wipes it      | this library, in memory; the party, on disks and in backups |
//! | shares, slow and fast | when the handover has its key                            | the party          |
//! | the dealer's polynomial | when its dealing is made                               | this library       |
//!
//! Each handover therefore takes fresh encryption keys. [`Handover::new`] refuses a key that any party
//! of the committee before used, unless its owner gets no shares. It cannot know the keys of earlier
//! committees, and it need not if used keys are wiped. A party that was absent keeps its key until it has opened its shares. Until then an
//! adversary can steal them from it. When the next handover is complete nobody needs these shares any
//! more, and the party wipes the key unopened. A party that is taken while a handover runs counts in
//! both epochs. Signing keys stay. An adversary that has left a party can still register encryption
//! keys in its name, so keep signing keys where a break-in does not reach, or replace them after one.
//!
//! The order that the engine finalized decides which dealings count, as for a fresh key (`dkg`). Here
//! the first dealing of each share counts, and `t` shares are needed; stake plays no part. The proof is
//! bound to the key before and to the share, so a dealing of one share says nothing about another share.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prefinal_crypto_core::access::{Access, Party, ShareIndex, Threshold};
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::{G2Affine, Scalar};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::sharing::Sharing;
use rand_core::CryptoRng;
use thiserror::Error;

use super::deal::{Witness, publish};
use super::dealing::Dealing;
use super::decrypt::Shares;
use super::key::Key;
use super::layout::Layout;
use super::verify::{DealingError, Verifier};
use crate::accepted::Accepted;
use crate::aggregate::AggregateError;
use crate::batch;
use crate::config::Config;
use crate::deal::{Author, DealError, check_dealer};
use crate::key::EncryptionKey;
use crate::protocol::{EpochKey, Field};
use crate::purpose::{OtherPurpose, Purpose};
use crate::shape::SharePath;

/// The public part of the key that is handed over.
#[derive(Clone, Debug)]
pub struct Predecessor {
    pub(crate) digest: [u8; 32],
    purpose: Purpose,
    access: Access,
    threshold: Threshold,
    public_key: G2Affine,
    shares: Vec<G2Affine>,
    /// Names of the encryption keys that it was dealt to.
    recipients: BTreeSet<[u8; 32]>,
}

/// Why a handover, or a dealing in it, is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HandoverError {
    /// The number of dealers is not the number of parties in the committee that holds the key.
    #[error("key is held by {expected} parties, {got} are to deal")]
    Dealers {
        /// Number of dealers in the configuration.
        got: usize,
        /// Number of parties in the committee before, those of weight zero included.
        expected: usize,
    },
    /// The new key would serve another purpose than the one before.
    #[error(transparent)]
    Purpose(#[from] OtherPurpose),
    /// The dealer does not hold this share: another party does, or nobody.
    #[error("{dealer} does not hold share {share}")]
    Holder {
        /// The dealer that was asked to deal on the share.
        dealer: Party,
        /// The index of the share in the key before.
        share: u32,
    },
    /// The dealer has not opened its shares of the key before, so it has nothing to deal on.
    #[error("{dealer} has no shares of the key before at hand")]
    NoShares {
        /// The dealer that has no shares at hand.
        dealer: Party,
    },
    /// The value does not match the public key of the share. It may be from another epoch, for example.
    #[error("secret is not share {share} of the key before")]
    Share {
        /// The index of the share in the key before.
        share: u32,
    },
    /// A recipient has an encryption key of the committee before: a break-in now would open dealings
    /// of the epoch before.
    #[error("encryption key of {party} has served the committee before")]
    EncryptionKey {
        /// The party in the new committee.
        party: Party,
    },
    /// The party cannot deal, for the same reasons as any dealer.
    #[error(transparent)]
    Deal(#[from] DealError),
}

impl HandoverError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Purpose(error) => error.code(),
            Self::Dealers { .. } => "wrong-count",
            Self::Holder { .. } | Self::NoShares { .. } => "not-the-holder",
            Self::Share { .. } => "share-mismatch",
            Self::EncryptionKey { .. } => "key-used-up",
            Self::Deal(error) => error.code(),
        }
    }
}

/// Why a dealing of a share does not count.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AddError {
    /// It was checked under another configuration or for another key, or it deals a fresh secret.
    #[error("dealing of {dealer} was made for another handover")]
    Foreign {
        /// The dealer of the dealing that does not belong here.
        dealer: Party,
    },
    /// This share has a dealing that counts. Only the first one counts.
    #[error("share {share} has been dealt before")]
    Duplicate {
        /// The index of the share that was dealt on already.
        share: u32,
    },
    /// The key is complete. This is normal for the dealings that are finalized last.
    #[error("share {share} comes after the key was complete")]
    Complete {
        /// The index of the share that came too late.
        share: u32,
    },
}

impl AddError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Foreign { .. } => "other-session",
            Self::Duplicate { .. } => "dealt-twice",
            Self::Complete { .. } => "key-complete",
        }
    }
}

/// A party that deals on its shares of the key before; see [`Handover::holder`].
#[derive(Debug)]
pub struct Holder<'a> {
    handover: &'a Handover,
    dealer: Party,
    signer: &'a min_sig::SecretKey,
    shares: &'a Shares,
}

/// Collects verified dealings of shares in the order that the engine finalized.
///
/// ```
/// # use std::sync::Arc;
/// # use prefinal_crypto_core::{access::Party, bls::min_sig};
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_pvss_dkg::{Config, DecryptionKey, Member, Purpose, Session, Shape};
/// # use prefinal_weighted_rounding::{Ratio, Stake};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let stakes = [3].map(Stake::new);
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
/// # let member = config.members()[0].clone();
/// # let old = config;
/// use prefinal_pvss_dkg::{Dealer, field};
/// use prefinal_pvss_dkg::field::{Handover, Predecessor};
///
/// // The epoch before, here of one party.
/// let dealing = field::deal(&old, Party::new(0), &signers[0], &mut rng)?;
/// let key = field::Key::sum(&old, &[Arc::new(field::verify(&old, dealing)?)])?;
/// let shares = key.decrypt(&old, Party::new(0), keys.remove(0))?.shares;
///
/// // The next epoch: the same party with a fresh encryption key.
/// let fresh = DecryptionKey::random(&mut rng);
/// let encryption = fresh.register(&signers[0], &mut rng).verify(&signers[0].public_key())?;
/// # let shape = old.shape().clone();
/// # let epoch = EpochId::new(2);
/// # let session = Session { context: Context { epoch, ..old.session().context }, ..*old.session() };
/// # let dealers = vec![Dealer { stake: member.stake, signer: member.signer }];
/// let members = vec![Member { encryption, ..member.clone() }];
/// let config = Arc::new(Config::handover(session, shape, members, dealers.clone(), qualify)?);
/// let mut handover = Handover::new(config.clone(), Predecessor::new(&old, &key))?;
/// let dealings = handover.holder(Party::new(0), &signers[0], &shares)?.deal_all(&mut rng)?;
/// for dealing in dealings.into_iter().take(2) {
///     handover.add(Arc::new(handover.verify(dealing)?))?;
/// }
/// assert_eq!(handover.key()?.public_key(), key.public_key());
///
/// // The old encryption key is refused.
/// let shape = old.shape().clone();
/// let same = Config::handover(session, shape, vec![member], dealers, qualify)?;
/// assert!(Handover::new(Arc::new(same), Predecessor::new(&old, &key)).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Handover {
    pub(crate) config: Arc<Config>,
    before: Predecessor,
    dealings: BTreeMap<ShareIndex, Arc<Accepted<Dealing>>>,
}

impl Predecessor {
    /// The public part of `key`, whose committee `config` describes.
    #[must_use]
    pub fn new(config: &Config, key: &Key) -> Self {
        Self::of_epoch(&EpochKey::of_key(config, key))
    }

    pub(crate) fn of_epoch(key: &EpochKey<Field>) -> Self {
        let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-PREDECESSOR");
        transcript.append(b"name", key.name());
        transcript.append(b"config", key.config());
        transcript.append(b"recipients", &key.recipients().concat());
        Self {
            digest: transcript.bytes(b"digest"),
            purpose: key.purpose(),
            recipients: key.recipients().iter().copied().collect(),
            access: key.shape().access().clone(),
            threshold: key.shape().slow(),
            public_key: *key.public_key(),
            shares: key.public_shares(SharePath::Slow).unwrap_or_default().to_vec(),
        }
    }

    pub(crate) const fn access(&self) -> &Access {
        &self.access
    }

    /// `g₂^f(ω^(k−1))`, if `dealer` holds share `k`.
    fn share_of(&self, dealer: Party, share: ShareIndex) -> Option<&G2Affine> {
        let held = self.access.owner(share) == Some(dealer);
        self.shares.get(share.position()).filter(|_| held)
    }

    /// Checks that the dealer holds that share and deals exactly that share.
    pub(crate) fn check(&self, dealing: &Dealing, share: ShareIndex) -> Result<(), DealingError> {
        let (dealer, number) = (dealing.dealer(), share.get());
        let public = self.share_of(dealer, share);
        let public = public.ok_or(DealingError::Holder { dealer, share: number })?;
        if *public == dealing.body.public_key {
            return Ok(());
        }
        Err(DealingError::Share { share: number })
    }
}

impl Handover {
    /// A handover of `before` from its holders, the dealers of `config`, to the members of `config`.
    ///
    /// # Errors
    /// If the key was made for another purpose, the number of dealers is not that of the committee
    /// before, or a member that receives shares has an encryption key of the committee before.
    pub fn new(config: Arc<Config>, before: Predecessor) -> Result<Self, HandoverError> {
        before.purpose.check(config.session().purpose)?;
        let (got, expected) = (config.dealers().len(), before.access.len());
        if got != expected {
            return Err(HandoverError::Dealers { got, expected });
        }
        // Nothing is encrypted to the others, for example to a party that leaves.
        let is_used = |key: &EncryptionKey| before.recipients.contains(&key.name());
        if let Some((party, ..)) = config.holders().find(|(_, key, _)| is_used(key)) {
            return Err(HandoverError::EncryptionKey { party });
        }
        Ok(Self { config, before, dealings: BTreeMap::new() })
    }

    /// The same collector without dealings.
    pub(crate) fn without_dealings(&self) -> Self {
        let (config, before) = (Arc::clone(&self.config), self.before.clone());
        Self { config, before, dealings: BTreeMap::new() }
    }

    /// The shares that were dealt on, and their dealers.
    pub(crate) fn dealings(&self) -> impl Iterator<Item = (ShareIndex, Party)> {
        self.dealings.iter().map(|(share, dealing)| (*share, dealing.dealer()))
    }

    pub(crate) const fn before(&self) -> &Predecessor {
        &self.before
    }

    /// The party `dealer` as a holder, which deals on the shares that it opened of the key before. The
    /// shares are only borrowed. The party signs with them until the next epoch begins, and deals them
    /// again in the next attempt if this one fails. It must drop them when the handover has its key.
    ///
    /// # Errors
    /// If `dealer` is not a party of the committee, or `signer` is not its key.
    pub fn holder<'a>(
        &'a self,
        dealer: Party,
        signer: &'a min_sig::SecretKey,
        shares: &'a Shares,
    ) -> Result<Holder<'a>, HandoverError> {
        check_dealer(&self.config, dealer, signer)?;
        Ok(Holder { handover: self, dealer, signer, shares })
    }

    /// Checks a dealing of a share. It does not matter who sent it.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn verify(&self, dealing: Dealing) -> Result<Accepted<Dealing>, DealingError> {
        batch::check(&Verifier::new(&self.config, Some(&self.before)), dealing)
    }

    /// Checks many dealings of shares together, as [`verify_all`](super::verify_all) does.
    #[must_use]
    pub fn verify_all(
        &self,
        dealings: Vec<Dealing>,
    ) -> Vec<Result<Accepted<Dealing>, DealingError>> {
        batch::check_all(&Verifier::new(&self.config, Some(&self.before)), dealings)
    }

    /// Counts the next dealing in the finalized order, and returns how many are still missing.
    ///
    /// # Errors
    /// If the dealing does not count. The collector is unchanged then: go on with the next dealing.
    pub fn add(&mut self, dealing: Arc<Accepted<Dealing>>) -> Result<RemainingShares, AddError> {
        let dealer = dealing.dealer();
        // The dealing may have been verified for a handover of another key to the same committee.
        let own = |share| {
            dealing.config_digest() == self.config.digest()
                && self.before.share_of(dealer, share) == Some(&dealing.body.public_key)
        };
        let share =
            dealing.share.filter(|share| own(*share)).ok_or(AddError::Foreign { dealer })?;
        if self.remaining().0 == 0 {
            return Err(AddError::Complete { share: share.get() });
        }
        if self.dealings.contains_key(&share) {
            return Err(AddError::Duplicate { share: share.get() });
        }
        self.dealings.insert(share, dealing);
        Ok(self.remaining())
    }

    /// How many shares are missing.
    #[must_use]
    pub fn remaining(&self) -> RemainingShares {
        let need = usize::try_from(self.before.threshold.t().get()).unwrap_or(usize::MAX);
        RemainingShares(need.saturating_sub(self.dealings.len()))
    }

    /// The key for the new committee. Its public key is the one from before.
    ///
    /// # Errors
    /// [`AggregateError::Shares`] if dealings are missing. [`AggregateError::Predecessor`] if the
    /// shares do not make the key before.
    pub fn key(&self) -> Result<Key, AggregateError> {
        let RemainingShares(missing) = self.remaining();
        if missing > 0 {
            return Err(AggregateError::Shares { missing });
        }
        let indices: Vec<ShareIndex> = self.dealings.keys().copied().collect();
        let lambda = self.before.access.domain().lagrange_at_zero(&indices);
        let terms = lambda.into_iter().zip(self.dealings.values().cloned()).collect();
        let key = Key::combine(&self.config, terms);
        if *key.public_key() == self.before.public_key {
            return Ok(key);
        }
        // The shares before did not belong to that key.
        Err(AggregateError::Predecessor)
    }
}

impl Holder<'_> {
    /// Indices of the party's shares on the slow path. These shares are dealt on.
    pub fn indices(&self) -> impl Iterator<Item = ShareIndex> + use<> {
        self.handover.before.access.indices(self.dealer)
    }

    /// Deals one share of the slow path on.
    ///
    /// # Errors
    /// If the party does not hold the share, has another value in its place, or `rng` returns values
    /// that no working generator returns.
    pub fn deal(
        &self,
        share: ShareIndex,
        rng: &mut impl CryptoRng,
    ) -> Result<Dealing, HandoverError> {
        let (number, before) = (share.get(), &self.handover.before);
        let unheld = HandoverError::Holder { dealer: self.dealer, share: number };
        let public = before.share_of(self.dealer, share).ok_or(unheld)?;
        let secret = Secret::new(self.value(share).ok_or(HandoverError::Share { share: number })?);
        if G2Affine::from(G2Affine::generator() * secret.expose()) != *public {
            return Err(HandoverError::Share { share: number });
        }
        let (config, digest) = (&self.handover.config, &before.digest);
        let author = Author { config, party: self.dealer, signer: self.signer };
        let hedge = author.hedge(b"share").public(b"key", digest);
        let mut rng =
            hedge.public(b"share", &number.to_be_bytes()).scalar(b"secret", &secret).rng(rng);
        let shape = config.shape();
        let sharing =
            Sharing::new(secret, shape.slow(), shape.threshold(SharePath::Fast), &mut rng);
        let witness = Witness::new(config, &Layout::new(config), &sharing, &mut rng);
        let dealt = publish(&author, &witness, Some((share, digest)), &mut rng);
        Ok(dealt.map_err(DealError::from)?)
    }

    /// Deals on every share of the party, in the order of [`indices`](Self::indices).
    ///
    /// # Errors
    /// The same as [`Holder::deal`].
    pub fn deal_all(&self, rng: &mut impl CryptoRng) -> Result<Vec<Dealing>, HandoverError> {
        self.indices().map(|share| self.deal(share, rng)).collect()
    }

    /// The value that the party has in the place of its share.
    fn value(&self, share: ShareIndex) -> Option<Scalar> {
        let first = self.handover.before.access.range(self.dealer).start;
        let place = share.position().checked_sub(first)?;
        self.shares.slow.expose().get(place).copied()
    }
}

/// Number of shares that are still to be dealt on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemainingShares(pub usize);
