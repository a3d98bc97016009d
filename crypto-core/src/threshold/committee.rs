//! A signing committee: its parties, its threshold and its keys.
use alloc::vec::Vec;

use crate::access::{Access, Party, Threshold};
use crate::bls::{KeyPoint, PublicKey, Signature, SignatureError, Variant, check};
use crate::challenge::Transcript;
use crate::commitment::Commitment;
use crate::polynomial::{Placement, Points};

use super::degree;
use super::message::{Message, Purpose};

const COMMITTEE_TAG: &[u8] = b"PREFINAL-V1-THRESHOLD-BLS-COMMITTEE";

/// Why a committee cannot be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommitteeError {
    /// The threshold's total number of shares is not the number that the parties hold.
    #[error("threshold is of {got} shares, the parties hold {need}")]
    Threshold {
        /// Total number of shares in the threshold.
        got: u32,
        /// Number of indices that the parties hold.
        need: u32,
    },
    /// There must be exactly one share key for each index.
    #[error("{got} share keys for {need} share indices")]
    ShareKeys {
        /// Number of share keys that were given.
        got: usize,
        /// Number of indices that the parties hold.
        need: u32,
    },
    /// The commitment has another number of coefficients than the threshold `t`. With more
    /// coefficients, `t` shares would not suffice to sign; with fewer, fewer than `t` shares would.
    #[error("commitment is for {got} shares, the threshold is {need}")]
    Commitment {
        /// Number of coefficients in the commitment.
        got: u32,
        /// The threshold `t`: the number of shares that must suffice to sign.
        need: u32,
    },
    /// The group key is the identity, so the secret is zero. Every signature would be the identity.
    #[error("the group key is the identity")]
    GroupIdentity,
    /// The keys are not on one polynomial of degree below `t`. Different sets of parties would give
    /// different signatures.
    #[error("group key and share keys are not on one polynomial that {t} shares determine")]
    Degree {
        /// The threshold `t`: the number of shares that must suffice to sign.
        t: u32,
    },
}

impl CommitteeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Threshold { .. } => "threshold-total",
            Self::ShareKeys { .. } | Self::Commitment { .. } => "wrong-count",
            Self::GroupIdentity => "identity",
            Self::Degree { .. } => "degree-too-high",
        }
    }
}

/// The parameters that a committee agrees on before it has keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Which party holds which share indices.
    pub access: Access,
    /// How many shares suffice to sign, and how many there are.
    pub threshold: Threshold,
    /// The evaluation points of the shares.
    pub placement: Placement,
    /// The one purpose that the key is used for.
    pub purpose: Purpose,
}

/// The parties that sign together, with the keys that their partials are checked against.
///
/// The key of a share may be the identity, the group's key may not. Where shares are field elements,
/// the dealer that deals last knows the sum of its own shares so far and can make one of them zero.
/// That reveals one of its shares to everybody and hurts no other party. If the committee were
/// refused for it, this dealer could end the key generation.
///
/// ```
/// # use std::collections::BTreeMap;
/// # use prefinal_crypto_core::access::{Access, Party, Threshold};
/// # use prefinal_crypto_core::bls::MinSig;
/// # use prefinal_crypto_core::commitment::Commitment;
/// # use prefinal_crypto_core::curve::Scalar;
/// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// # use prefinal_crypto_core::threshold::{KeyShares, Purpose, Setup};
/// use prefinal_crypto_core::drand::RoundNumber;
/// use prefinal_crypto_core::threshold::{Message, QuorumError, SigningCommittee};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let (access, threshold) = (Access::new(&[2, 1, 2])?, Threshold::new(3, 5)?);
/// # let f = Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
/// # let (placement, purpose) = (Placement::Consecutive, Purpose::Rounds);
/// # let setup = Setup { access, threshold, placement, purpose };
/// # let setup = || setup.clone();
/// # let mut signers = Vec::new();
/// # let parties = setup().access;
/// # let all = f.shares(&prefinal_crypto_core::polynomial::Points::of(&parties, Placement::Consecutive));
///
/// let commitment = Commitment::commit(&f); // from the key generation
/// let committee = SigningCommittee::<MinSig>::from_commitment(setup(), &commitment)?;
/// # for party in parties.parties() {
/// #     let own = Secret::new(all.expose()[parties.range(party)].to_vec());
/// #     signers.push(KeyShares::new(party, own).check(&committee)?);
/// # }
/// let round = Message::round(RoundNumber::FIRST);
/// let mut partials = BTreeMap::new();
/// for signer in &signers[..2] {
///     partials.insert(signer.party(), signer.partial(&round)?);
/// }
/// // If all are honest, as usual, only the result is verified.
/// let signature = committee.optimistic(&round, partials.clone())?.combine()?;
/// committee.verify_result(&round, &signature)?;
///
/// // A partial on another round is found, and its sender is named.
/// let next = Message::round(RoundNumber::new(2).unwrap());
/// partials.insert(Party::new(1), signers[1].partial(&next)?);
/// let refused = committee.verify_all(&round, partials).unwrap_err();
/// assert_eq!(refused, QuorumError::Faulty { culprits: [Party::new(1)].into() });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SigningCommittee<V: Variant> {
    id: [u8; 32],
    access: Access,
    threshold: Threshold,
    points: Points,
    purpose: Purpose,
    group: PublicKey<V>,
    shares: Vec<KeyPoint<V>>,
}

impl<V: Variant> SigningCommittee<V> {
    /// Sets up a committee from the commitment to its polynomial. The keys are on the polynomial by
    /// construction.
    ///
    /// # Errors
    /// If commitment, threshold and parties do not fit each other, or the group key is the identity.
    pub fn from_commitment(
        setup: Setup,
        commitment: &Commitment<V::KeyGroup>,
    ) -> Result<Self, CommitteeError> {
        let (got, need) = (commitment.t().get(), setup.threshold.t().get());
        if got != need {
            return Err(CommitteeError::Commitment { got, need });
        }
        let points = Points::of(&setup.access, setup.placement);
        let shares = commitment.evaluate_all(&points);
        Self::assemble(setup, points, commitment.constant(), shares)
    }

    /// Sets up a committee from its group key and its share keys, which must be in the order of their
    /// indices. Tests that the keys are on one polynomial of degree below `t`, which costs one
    /// multi-scalar multiplication over all share keys.
    ///
    /// ```
    /// # use prefinal_crypto_core::access::{Access, Threshold};
    /// # use prefinal_crypto_core::bls::MinSig;
    /// # use prefinal_crypto_core::commitment::Commitment;
    /// # use prefinal_crypto_core::curve::Scalar;
    /// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
    /// # use prefinal_crypto_core::secret::Secret;
    /// # use prefinal_crypto_core::threshold::{Purpose, Setup};
    /// use prefinal_crypto_core::threshold::{CommitteeError, SigningCommittee};
    /// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
    /// # let (access, threshold) = (Access::new(&[2, 1, 2])?, Threshold::new(3, 5)?);
    /// # let f = Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
    /// # let (placement, purpose) = (Placement::Consecutive, Purpose::Rounds);
    /// # let setup = Setup { access, threshold, placement, purpose };
    /// # let dealt = SigningCommittee::<MinSig>::from_commitment(setup.clone(), &Commitment::commit(&f))?;
    /// # let (group, mut keys) = (dealt.group_key(), dealt.share_keys().to_vec());
    ///
    /// let committee = SigningCommittee::from_share_keys(setup.clone(), &group, keys.clone())?;
    /// assert_eq!(committee.id(), dealt.id());
    /// keys[4] = keys[0]; // not on the polynomial
    /// let refused = SigningCommittee::from_share_keys(setup, &group, keys).unwrap_err();
    /// assert_eq!(refused, CommitteeError::Degree { t: 3 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If keys, threshold and parties do not fit each other, the group key is the identity, or the
    /// keys are not on one polynomial of degree below `t`.
    pub fn from_share_keys(
        setup: Setup,
        group: &PublicKey<V>,
        shares: Vec<KeyPoint<V>>,
    ) -> Result<Self, CommitteeError> {
        let points = Points::of(&setup.access, setup.placement);
        let committee = Self::assemble(setup, points, group.point(), shares)?;
        let t = committee.threshold.t().get();
        let rho = committee.transcript().scalar(b"degree");
        degree::check(&committee.points, t, (group.point(), &committee.shares), &rho)
            .ok_or(CommitteeError::Degree { t })?;
        Ok(committee)
    }

    fn assemble(
        setup: Setup,
        points: Points,
        group: KeyPoint<V>,
        shares: Vec<KeyPoint<V>>,
    ) -> Result<Self, CommitteeError> {
        let Setup { access, threshold, purpose, .. } = setup;
        let (got, need) = (threshold.n().get(), access.total());
        if got != need {
            return Err(CommitteeError::Threshold { got, need });
        }
        if u32::try_from(shares.len()) != Ok(need) {
            return Err(CommitteeError::ShareKeys { got: shares.len(), need });
        }
        let group = PublicKey::from_point(group).map_err(|_| CommitteeError::GroupIdentity)?;
        let mut committee = Self { id: [0; 32], access, threshold, points, purpose, group, shares };
        committee.id = committee.transcript().bytes(b"id");
        Ok(committee)
    }

    /// A transcript over purpose, threshold, placement, weights and keys, which together define the
    /// committee.
    fn transcript(&self) -> Transcript {
        let mut transcript = Transcript::new(COMMITTEE_TAG);
        transcript.append(b"purpose", self.purpose.kind());
        transcript.append(b"hash", self.purpose.domain().tag_of::<V>().as_bytes());
        transcript.append_u64(b"threshold", self.threshold.t().get().into());
        transcript.append_u64(b"roots of unity", u64::from(self.points.domain().is_some()));
        for party in self.access.parties() {
            transcript.append_u64(b"weight", self.access.weight(party).into());
        }
        transcript.append_point(b"group", &self.group.point());
        transcript.append_points(b"shares", &self.shares);
        transcript
    }

    /// Digest of variant, purpose, parties, threshold and keys.
    #[must_use]
    pub const fn id(&self) -> [u8; 32] {
        self.id
    }

    /// Which party holds which share indices.
    #[must_use]
    pub const fn access(&self) -> &Access {
        &self.access
    }

    /// How many shares suffice to sign, and how many there are.
    #[must_use]
    pub const fn threshold(&self) -> Threshold {
        self.threshold
    }

    /// The evaluation points of the shares.
    #[must_use]
    pub const fn points(&self) -> &Points {
        &self.points
    }

    /// The one purpose that the key is used for.
    #[must_use]
    pub const fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// The group key `pk`. Results verify under it.
    #[must_use]
    pub const fn group_key(&self) -> PublicKey<V> {
        self.group
    }

    /// The share keys `pkⱼ`, in the order of the indices.
    #[must_use]
    pub fn share_keys(&self) -> &[KeyPoint<V>] {
        &self.shares
    }

    /// The keys of one party; none for a party without shares.
    pub(super) fn keys_of(&self, party: Party) -> &[KeyPoint<V>] {
        self.shares.get(self.access.range(party)).unwrap_or_default()
    }

    /// Checks a result: `e(σ, g) = e(H(m), pk)`, two pairings. A verifier that has only the group key
    /// can use [`Signature::verify`], which checks the same equation.
    ///
    /// # Errors
    /// If it is not the group's signature on the message.
    pub fn verify_result(
        &self,
        message: &Message<V>,
        signature: &Signature<V>,
    ) -> Result<(), SignatureError> {
        message.check(self.purpose).map_err(|_| SignatureError::Mismatch)?;
        check(signature, &[(message.point(), self.group.point())])
    }
}
