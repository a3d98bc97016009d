//! The same secret for the next committee, whatever its weights and thresholds.
//!
//! Every share `k` of the epoch before is dealt on like a secret of its own; `t` of the dealings, with
//! the Lagrange coefficients `λ_k` of their indices, are a sharing of what the shares were shares of:
//!
//! | step   | equation                                                       | by whom                |
//! |--------|----------------------------------------------------------------|------------------------|
//! | deal   | `f_k` random with `f_k(0) = f(ω^k)`                             | who held share `k`     |
//! | verify | as any dealing, and `V̂₀` is the public key of share `k` before | anyone                 |
//! | add up | `f'(X) = ∑ λ_k·f_k(X)`, so `f'(0) = f(0)`                       | anyone, the first `t`  |
//!
//! Shares of the slow path are dealt on, whose threshold is the lower one; the new dealings share on
//! both paths. With the same committee it is a refresh: shares from before and from after are values of
//! unrelated polynomials.
//!
//! **An adversary that moves** has parties of weight `a < t` in one epoch and of weight `b < t` in a later
//! one, with `a + b ≥ t`. Dealings are public and kept, so it is not enough that shares are others: with
//! the decryption key of a party one opens what was ever encrypted to it, and both groups together have
//! `t` shares of *one* epoch. What makes it begin again with each epoch is that nothing of the epoch
//! before is left to take:
//!
//! | what                 | when it must be gone                                      | by whom            |
//! |----------------------|-----------------------------------------------------------|--------------------|
//! | decryption key       | when its shares are opened: [`Key::decrypt`] wipes it      | this library, in memory; the party, on disks and in backups |
//! | shares, slow and fast | when the handover has its key                            | the party          |
//! | the dealer's polynomial | when its dealing is made                               | this library       |
//!
//! Each handover therefore takes fresh encryption keys. [`Handover::new`] refuses a key of the committee
//! before, under whatever party; it cannot know those of earlier committees, and need not where keys are
//! used up. A party that was absent keeps its key until it has opened its shares, and as long is open to
//! being robbed of them; when the next handover is complete nobody needs them any more, and it wipes the
//! key unopened. A party that is taken while a handover runs counts in both epochs. Signing keys stay: an adversary that has left a party can still register encryption keys
//! in its name, so they belong where a break-in does not reach, or are replaced after one.
//!
//! Which dealings count is decided by the order that the engine finalized, as for a fresh key (`dkg`);
//! here the first of each share does, and stake plays no part: `t` shares are what it takes. The proof
//! is bound to the key before and to the share, so a dealing of one share says nothing about another.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crypto_core::access::{Access, Party, ShareIndex, Threshold};
use crypto_core::bls::min_sig;
use crypto_core::challenge::Transcript;
use crypto_core::curve::{G2Affine, Scalar};
use crypto_core::secret::Secret;
use crypto_core::sharing::Sharing;
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
use crate::config::{Config, Member};
use crate::deal::{Author, DealError, check_dealer};
use crate::protocol::{EpochKey, Field};
use crate::purpose::{OtherPurpose, Purpose};
use crate::shape::SharePath;

/// What is handed over: the key before, as anybody knows it.
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

/// Why a key cannot be handed over like this.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HandoverError {
    /// The dealers are those who hold the key.
    #[error("key is held by {expected} parties, {got} are to deal")]
    Dealers {
        /// How many the configuration lists.
        got: usize,
        /// How many held shares or weight zero.
        expected: usize,
    },
    /// The key would serve another purpose than before.
    #[error(transparent)]
    Purpose(#[from] OtherPurpose),
    /// Another party's share, or nobody's.
    #[error("{dealer} does not hold share {share}")]
    Holder {
        /// Who deals.
        dealer: Party,
        /// Which share.
        share: u32,
    },
    /// It has not opened what it holds of the key before, and has nothing to deal on.
    #[error("{dealer} has no shares of the key before at hand")]
    NoShares {
        /// Who was to deal.
        dealer: Party,
    },
    /// Not the share that its public key belongs to: of another epoch, say.
    #[error("secret is not share {share} of the key before")]
    Share {
        /// Which share.
        share: u32,
    },
    /// Who breaks into it now would open dealings of the epoch before.
    #[error("encryption key of {party} has served the committee before")]
    EncryptionKey {
        /// Whose, in the new committee.
        party: Party,
    },
    /// Not as any dealer.
    #[error(transparent)]
    Deal(#[from] DealError),
}

/// Why a dealing of a share does not count.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddError {
    /// Checked under another configuration or for another key, or no share of a key is dealt on.
    #[error("dealing of {dealer} was made for another handover")]
    Foreign {
        /// Whose dealing.
        dealer: Party,
    },
    /// The first one of a share counts.
    #[error("share {share} has been dealt before")]
    Duplicate {
        /// Which share.
        share: u32,
    },
    /// The key is complete; normal for the dealings that are finalized last.
    #[error("share {share} comes after the key was complete")]
    Complete {
        /// Which share.
        share: u32,
    },
}

/// A party that holds shares of the key before and deals them on; see [`Handover::holder`].
#[derive(Debug)]
pub struct Holder<'a> {
    handover: &'a Handover,
    dealer: Party,
    signer: &'a min_sig::SecretKey,
    shares: &'a Shares,
}

/// Collects verified dealings of shares in the order that the engine finalized.
#[derive(Clone, Debug)]
pub struct Handover {
    pub(crate) config: Arc<Config>,
    before: Predecessor,
    dealings: BTreeMap<ShareIndex, Arc<Accepted<Dealing>>>,
}

impl Predecessor {
    /// The key of the committee that `config` describes.
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

    /// Does the dealer hold that share, and is it what it deals?
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
    /// From the dealers of `config`, who hold `before`, to its members.
    ///
    /// # Errors
    /// If the key was made for another purpose, the dealers are not as many as held it, or a member has
    /// an encryption key that somebody had in the committee before.
    pub fn new(config: Arc<Config>, before: Predecessor) -> Result<Self, HandoverError> {
        before.purpose.check(config.session().purpose)?;
        let (got, expected) = (config.dealers().len(), before.access.len());
        if got != expected {
            return Err(HandoverError::Dealers { got, expected });
        }
        let is_used = |member: &Member| before.recipients.contains(&member.encryption.name());
        let mut members = (0..).map(Party::new).zip(config.members());
        if let Some((party, _)) = members.find(|(_, member)| is_used(member)) {
            return Err(HandoverError::EncryptionKey { party });
        }
        Ok(Self { config, before, dealings: BTreeMap::new() })
    }

    /// As it was before the first dealing.
    pub(crate) fn without_dealings(&self) -> Self {
        let (config, before) = (Arc::clone(&self.config), self.before.clone());
        Self { config, before, dealings: BTreeMap::new() }
    }

    /// Which shares were dealt on, and by whom.
    pub(crate) fn dealings(&self) -> impl Iterator<Item = (ShareIndex, Party)> {
        self.dealings.iter().map(|(share, dealing)| (*share, dealing.dealer()))
    }

    pub(crate) const fn before(&self) -> &Predecessor {
        &self.before
    }

    /// The party that deals on what it opened of the key before. Its shares stay as they are: it signs
    /// with them until the next epoch begins, and deals them again in the next attempt if this one fails.
    /// They are dropped when the handover has its key.
    ///
    /// # Errors
    /// If `dealer` is not who `signer` says.
    pub fn holder<'a>(
        &'a self,
        dealer: Party,
        signer: &'a min_sig::SecretKey,
        shares: &'a Shares,
    ) -> Result<Holder<'a>, HandoverError> {
        check_dealer(&self.config, dealer, signer)?;
        Ok(Holder { handover: self, dealer, signer, shares })
    }

    /// Checks a dealing of a share, whoever sent it.
    ///
    /// # Errors
    /// Says which check fails first.
    pub fn verify(&self, dealing: Dealing) -> Result<Accepted<Dealing>, DealingError> {
        batch::check(&Verifier::new(&self.config, Some(&self.before)), dealing)
    }

    /// Checks many together, as [`verify_all`](super::verify_all) does.
    #[must_use]
    pub fn verify_all(
        &self,
        dealings: Vec<Dealing>,
    ) -> Vec<Result<Accepted<Dealing>, DealingError>> {
        batch::check_all(&Verifier::new(&self.config, Some(&self.before)), dealings)
    }

    /// Takes the next dealing in the finalized order; says how many are still missing.
    ///
    /// # Errors
    /// If it does not count. That changes nothing: go on with the next one.
    pub fn add(&mut self, dealing: Arc<Accepted<Dealing>>) -> Result<Remaining, AddError> {
        let dealer = dealing.dealer();
        // Its verdict may be of a handover of another key to the same committee.
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
    pub fn remaining(&self) -> Remaining {
        let need = usize::try_from(self.before.threshold.t().get()).unwrap_or(usize::MAX);
        Remaining(need.saturating_sub(self.dealings.len()))
    }

    /// The key for the new committee, under the public key from before.
    ///
    /// # Errors
    /// [`AggregateError::Shares`] if dealings are missing.
    pub fn key(&self) -> Result<Key, AggregateError> {
        let Remaining(missing) = self.remaining();
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
    /// The shares that the party holds on the slow path, which are those that are dealt on.
    pub fn indices(&self) -> impl Iterator<Item = ShareIndex> + use<> {
        self.handover.before.access.indices(self.dealer)
    }

    /// Deals one share of the slow path on.
    ///
    /// # Errors
    /// If the party does not hold the share, has another value in its place, or `rng` gives what no working
    /// generator does.
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

    /// Deals every share of the party on, in the order of [`indices`](Self::indices).
    ///
    /// # Errors
    /// As [`Holder::deal`].
    pub fn deal_all(&self, rng: &mut impl CryptoRng) -> Result<Vec<Dealing>, HandoverError> {
        self.indices().map(|share| self.deal(share, rng)).collect()
    }

    /// What the party has in the place of its share.
    fn value(&self, share: ShareIndex) -> Option<Scalar> {
        let first = self.handover.before.access.range(self.dealer).start;
        let place = share.position().checked_sub(first)?;
        self.shares.slow.expose().get(place).copied()
    }
}

/// Shares that are still to be dealt on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remaining(pub usize);
