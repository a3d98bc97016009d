//! A decryption committee: its parties, its public share keys, and each party's secret shares.
use alloc::vec::Vec;

use super::ciphertext::ValidCiphertext;
use super::key::{EncryptionKey, KeyError};
use super::share::DecryptionShare;
use crate::access::{Access, Party, ShareIndex, Threshold, ThresholdError};
use crate::challenge::Transcript;
use crate::commitment::Commitment;
use crate::curve::{DecodeError, G1Affine, G1Projective, G2, G2Affine, G2Projective, Scalar};
use crate::polynomial::{Placement, Points};
use crate::secret::Secret;
use crate::threshold::{degree, shares_from_bytes, shares_to_bytes};

const COMMITTEE_TAG: &[u8] = b"PREFINAL-V1-ELGAMAL-COMMITTEE";

/// Why a committee cannot be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommitteeError {
    /// The polynomial needs more shares than the parties hold.
    #[error(transparent)]
    Threshold(#[from] ThresholdError),
    /// `Y` does not have the same secret as the commitment.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The threshold's total number of shares is not the number that the parties hold.
    #[error("threshold is of {got} shares, the parties hold {need}")]
    Shares {
        /// Total number of shares in the threshold.
        got: u32,
        /// Number of indices that the parties hold.
        need: u32,
    },
    /// There must be exactly one share key for each index.
    #[error("{got} share keys for {need} share indices")]
    ShareKeys {
        /// How many were given.
        got: usize,
        /// Number of indices that the parties hold.
        need: u32,
    },
    /// The keys are not on one polynomial of degree below `t`. Different sets of parties would get
    /// different results.
    #[error("key and share keys are not on one polynomial that {t} shares determine")]
    Degree {
        /// The threshold `t`: the number of shares that must suffice to decrypt.
        t: u32,
    },
}

impl CommitteeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Threshold(error) => error.code(),
            Self::Key(error) => error.code(),
            Self::Shares { .. } => "threshold-total",
            Self::ShareKeys { .. } => "wrong-count",
            Self::Degree { .. } => "degree-too-high",
        }
    }
}

/// Why scalars are not a party's shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeySharesError {
    /// The committee has no such party.
    #[error("{party} is not of this committee")]
    NotMember {
        /// The party that the error is about.
        party: Party,
    },
    /// The party holds no shares, so it cannot decrypt.
    #[error("{party} holds no shares")]
    NoShares {
        /// The party that the error is about.
        party: Party,
    },
    /// There must be exactly one scalar for each index of the party.
    #[error("{got} shares, the party holds {need}")]
    Count {
        /// How many were given.
        got: usize,
        /// How many indices the party holds.
        need: usize,
    },
    /// A share does not match its share key: `g₂^f(j) ≠ Ŷⱼ`.
    #[error("{index} does not match its public key")]
    Mismatch {
        /// The index of that share.
        index: ShareIndex,
    },
}

impl KeySharesError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotMember { .. } => "not-a-member",
            Self::NoShares { .. } => "holds-no-shares",
            Self::Count { .. } => "wrong-count",
            Self::Mismatch { .. } => "share-mismatch",
        }
    }
}

/// Why stored bytes are not a party's key in a committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoredKeyError {
    /// The bytes are not one canonical scalar for each share of the party.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The scalars are not the party's shares.
    #[error(transparent)]
    Shares(#[from] KeySharesError),
}

impl StoredKeyError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Decode(error) => error.code(),
            Self::Shares(error) => error.code(),
        }
    }
}

/// The ciphertext is for the key of another committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ciphertext is for another key")]
pub struct OtherKey;

impl OtherKey {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "other-key"
    }
}

/// The parties that decrypt, with the public key `Ŷⱼ = g₂^f(j)` of every share. As in a
/// [`SigningCommittee`](crate::threshold::SigningCommittee), a share may be zero, if its holder made
/// it so.
///
/// ```
/// # use std::collections::BTreeMap;
/// # use prefinal_crypto_core::access::{Access, Party};
/// # use prefinal_crypto_core::commitment::Commitment;
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
/// # use prefinal_crypto_core::curve::{G1Affine, Scalar};
/// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// use prefinal_crypto_core::elgamal::{DecryptionCommittee, DecryptionKey, Label};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let x = Secret::new(Scalar::random(&mut rng));
/// # let f = Polynomial::random(3.try_into()?, &x, &mut rng);
/// # let (y, commitment) = ((G1Affine::generator() * x.expose()).to_affine(), Commitment::commit(&f));
/// # let access = Access::new(&[2, 1, 2])?;
/// # let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(3) };
///
/// let committee = DecryptionCommittee::new(y, &commitment, access, Placement::Consecutive)?;
/// let label = Label::slot(&context, Slot::new(9)); // when to open it
/// let ciphertext = committee.key().encrypt(&label, b"sell at noon", &mut rng)?;
///
/// let valid = ciphertext.validate(committee.key(), &label)?;
/// let shares = f.shares(committee.points()); // from the key generation, each party its own
/// let mut decryption = BTreeMap::new();
/// for party in [Party::new(0), Party::new(2)] {
///     let own = Secret::new(shares.expose()[committee.access().range(party)].to_vec());
///     let key = DecryptionKey::new(&committee, party, own)?;
///     decryption.insert(party, key.decrypt_share(&valid)?);
/// }
/// let plaintext = committee.optimistic(&valid, decryption.clone())?.combine()?;
/// assert_eq!(plaintext.expose(), b"sell at noon");
///
/// let one = decryption.split_off(&Party::new(2)); // two of the five shares; three are needed
/// assert!(committee.optimistic(&valid, one).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DecryptionCommittee {
    id: [u8; 32],
    key: EncryptionKey,
    access: Access,
    points: Points,
    threshold: Threshold,
    share_keys: Vec<G2Affine>,
}

impl DecryptionCommittee {
    /// Sets up the committee that shares the polynomial of `commitment`. Any [`t`](Commitment::t) of
    /// its shares decrypt. `y` must be `g₁^f(0)`.
    ///
    /// # Errors
    /// If there are fewer than `t` shares, or if `y` is not `g₁^f(0)` or is the identity.
    pub fn new(
        y: G1Affine,
        commitment: &Commitment<G2>,
        access: Access,
        placement: Placement,
    ) -> Result<Self, CommitteeError> {
        let threshold = Threshold::new(commitment.t().get(), access.total())?;
        let key = EncryptionKey::new(y, commitment.constant())?;
        let points = Points::of(&access, placement);
        let share_keys = commitment.evaluate_all(&points);
        let id = transcript(&key, &access, (placement, threshold), &share_keys).bytes(b"id");
        Ok(Self { id, key, access, points, threshold, share_keys })
    }

    /// Sets up a committee from its key and its share keys, in the order of their indices, as
    /// dealings of group elements give them. Tests that any `t` share keys determine the others,
    /// which costs one multi-scalar multiplication over all of them.
    ///
    /// # Errors
    /// If keys, threshold and parties do not fit each other, or the keys are not on one polynomial.
    pub fn from_share_keys(
        key: EncryptionKey,
        share_keys: Vec<G2Affine>,
        access: Access,
        (placement, threshold): (Placement, Threshold),
    ) -> Result<Self, CommitteeError> {
        let (got, need) = (threshold.n().get(), access.total());
        if got != need {
            return Err(CommitteeError::Shares { got, need });
        }
        if u32::try_from(share_keys.len()) != Ok(need) {
            return Err(CommitteeError::ShareKeys { got: share_keys.len(), need });
        }
        let points = Points::of(&access, placement);
        let transcript = || transcript(&key, &access, (placement, threshold), &share_keys);
        let (t, rho) = (threshold.t().get(), transcript().scalar(b"degree"));
        degree::check(&points, t, (key.y_hat(), &share_keys), &rho)
            .ok_or(CommitteeError::Degree { t })?;
        let id = transcript().bytes(b"id");
        Ok(Self { id, key, access, points, threshold, share_keys })
    }

    /// The committee's public key, to which senders encrypt.
    #[must_use]
    pub const fn key(&self) -> &EncryptionKey {
        &self.key
    }

    /// Digest of key, parties, threshold and share keys.
    #[must_use]
    pub const fn id(&self) -> &[u8; 32] {
        &self.id
    }

    /// Which party holds which share indices.
    #[must_use]
    pub const fn access(&self) -> &Access {
        &self.access
    }

    /// The evaluation points of the shares.
    #[must_use]
    pub const fn points(&self) -> &Points {
        &self.points
    }

    /// How many shares suffice to decrypt, and how many there are.
    #[must_use]
    pub const fn threshold(&self) -> Threshold {
        self.threshold
    }

    /// The share keys `Ŷⱼ`, in the order of the indices.
    #[must_use]
    pub fn share_keys(&self) -> &[G2Affine] {
        &self.share_keys
    }

    /// The share keys of one party. Empty for a party outside the committee.
    pub(super) fn keys_of(&self, party: Party) -> &[G2Affine] {
        self.share_keys.get(self.access.range(party)).unwrap_or_default()
    }

    /// The share keys of a party that must hold shares.
    fn keys_of_holder(&self, party: Party) -> Result<&[G2Affine], KeySharesError> {
        if !self.access.contains(party) {
            return Err(KeySharesError::NotMember { party });
        }
        let keys = self.keys_of(party);
        if keys.is_empty() { Err(KeySharesError::NoShares { party }) } else { Ok(keys) }
    }
}

/// One party's secret shares `f(j)`, checked against the committee's public keys.
///
/// Use it only for decryption. A decryption share `U^f(j)` is computed for a point that somebody else
/// chose; if the same `f` shared a signing key, it would be a partial signature.
///
/// ```compile_fail,E0308
/// use prefinal_crypto_core::elgamal::DecryptionKey;
/// fn twice(key: &DecryptionKey) -> [DecryptionKey; 2] {
///     [key.clone(), key.clone()]
/// }
/// ```
///
/// [`DecryptionCommittee`] shows how decryption shares open a ciphertext.
/// ```
/// # use prefinal_crypto_core::access::{Access, Party};
/// # use prefinal_crypto_core::commitment::Commitment;
/// # use prefinal_crypto_core::curve::{G1Affine, Scalar};
/// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// # use prefinal_crypto_core::elgamal::DecryptionCommittee;
/// use prefinal_crypto_core::elgamal::{DecryptionKey, Label};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let x = Secret::new(Scalar::random(&mut rng));
/// # let f = Polynomial::random(3.try_into()?, &x, &mut rng);
/// # let (y, commitment) = ((G1Affine::generator() * x.expose()).to_affine(), Commitment::commit(&f));
/// # let access = Access::new(&[2, 1, 2])?;
/// # let committee = DecryptionCommittee::new(y, &commitment, access, Placement::Consecutive)?;
/// # let shares = f.shares(committee.points());
///
/// let own = |party| Secret::new(shares.expose()[committee.access().range(party)].to_vec());
/// let (first, last) = (Party::new(0), Party::new(2));
/// let stored = DecryptionKey::new(&committee, first, own(first))?.to_secret_bytes();
/// let key = DecryptionKey::from_secret_bytes(&committee, first, &stored)?;
///
/// let label = Label::new(b"example: open at noon")?;
/// let valid = committee.key().encrypt(&label, b"sell", &mut rng)?.validate(committee.key(), &label)?;
/// let share = key.decrypt_share(&valid)?;
/// assert!(committee.verify(first, &valid, &share).is_ok());
/// assert!(committee.verify(last, &valid, &share).is_err());
/// // The shares of another party are refused.
/// assert!(DecryptionKey::new(&committee, first, own(last)).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DecryptionKey {
    key: EncryptionKey,
    committee: [u8; 32],
    party: Party,
    shares: Secret<Vec<Scalar>>,
}

impl DecryptionKey {
    /// Checks a party's shares, which must be in the order of its indices. Costs one multiplication
    /// in `𝔾₂` for each.
    ///
    /// # Errors
    /// If they are not the party's shares in this committee.
    pub fn new(
        committee: &DecryptionCommittee,
        party: Party,
        shares: Secret<Vec<Scalar>>,
    ) -> Result<Self, KeySharesError> {
        let keys = committee.keys_of_holder(party)?;
        let (got, need) = (shares.expose().len(), keys.len());
        if got != need {
            return Err(KeySharesError::Count { got, need });
        }
        let indexed = committee.access().indices(party).zip(keys);
        for ((index, key), share) in indexed.zip(shares.expose()) {
            if G2Projective::generator() * share != G2Projective::from(key) {
                return Err(KeySharesError::Mismatch { index });
            }
        }
        Ok(Self { key: *committee.key(), committee: *committee.id(), party, shares })
    }

    /// Reads what [`DecryptionKey::to_secret_bytes`] wrote, at the cost of [`DecryptionKey::new`].
    /// Shares of another party or committee, for example of the epoch before, are refused.
    ///
    /// # Errors
    /// If the bytes are not exactly the canonical encoding of the party's shares in this committee.
    pub fn from_secret_bytes(
        committee: &DecryptionCommittee,
        party: Party,
        bytes: &Secret<Vec<u8>>,
    ) -> Result<Self, StoredKeyError> {
        let expected = committee.keys_of_holder(party)?.len() * Scalar::BYTES;
        let got = bytes.expose().len();
        if got != expected {
            return Err(DecodeError::Length { expected, got }.into());
        }
        Ok(Self::new(committee, party, shares_from_bytes(bytes)?)?)
    }

    /// The key for storage: its shares, 32 bytes each, big-endian, in the order of the indices. When
    /// the committee has handed its secret over, these bytes must be deleted from disks and backups.
    #[must_use]
    pub fn to_secret_bytes(&self) -> Secret<Vec<u8>> {
        shares_to_bytes(&self.shares)
    }

    /// The digest of the committee that the shares belong to.
    #[must_use]
    pub const fn committee(&self) -> &[u8; 32] {
        &self.committee
    }

    /// The party that holds the shares.
    #[must_use]
    pub const fn party(&self) -> Party {
        self.party
    }

    /// The party's decryption share: `Dⱼ = U^f(j)` for each index, one constant-time multiplication
    /// in `𝔾₁` each. The caller must know that the ciphertext may be decrypted now; this is not
    /// checked.
    ///
    /// # Errors
    /// If the ciphertext is for another key.
    pub fn decrypt_share(&self, ciphertext: &ValidCiphertext) -> Result<DecryptionShare, OtherKey> {
        if *ciphertext.key() != self.key {
            return Err(OtherKey);
        }
        let u = ciphertext.u();
        let points: Vec<G1Projective> =
            self.shares.expose().iter().map(|share| u * share).collect();
        Ok(DecryptionShare::new(G1Projective::batch_to_affine(&points)))
    }
}

/// A transcript over everything that defines the committee.
fn transcript(
    key: &EncryptionKey,
    access: &Access,
    (placement, threshold): (Placement, Threshold),
    share_keys: &[G2Affine],
) -> Transcript {
    let mut transcript = Transcript::new(COMMITTEE_TAG);
    transcript.append_point(b"key", &key.y());
    transcript.append_u64(b"threshold", threshold.t().get().into());
    let roots = placement == Placement::RootsOfUnity;
    transcript.append_u64(b"roots of unity", roots.into());
    for party in access.parties() {
        transcript.append_u64(b"weight", access.weight(party).into());
    }
    transcript.append_points(b"public", share_keys);
    transcript
}
