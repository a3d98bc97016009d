//! The committee that evaluates on one path: its parties, their public shares and their admitted
//! keys.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::blind::BlindedKey;
use super::{admission, possession};
use crate::access::{Access, Party, ShareIndex, Threshold};
use crate::challenge::Transcript;
use crate::curve::G2Affine;
use crate::curve::hazmat::vartime_msm;
use crate::polynomial::Domain;

pub(super) const COMMITTEE_TAG: &[u8] = b"PREFINAL-V1-WVUF-COMMITTEE";

/// Why a committee cannot be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommitteeError {
    /// There must be exactly one public share for each index.
    #[error("{got} public shares for {need} share indices")]
    PublicShares {
        /// Number of public shares that were given.
        got: usize,
        /// Number of indices that the parties hold.
        need: u32,
    },
    /// The threshold's total number of shares is not the number that the parties hold.
    #[error("threshold is of {got} shares, the parties hold {need}")]
    Threshold {
        /// Total number of shares in the threshold.
        got: u32,
        /// Number of indices that the parties hold.
        need: u32,
    },
    /// A public share is the identity, `Aⱼ = 1`, so everybody knows that share. If a party holds no
    /// other share, anybody could publish a key in its place (see `possession`). No dealer can cause
    /// this on purpose: it would have to know the other dealers' `f(j)`, of which even the holder of
    /// the share learns only `h^f(j)`.
    #[error("public share {index} is the identity")]
    IdentityShare {
        /// The index of that share.
        index: ShareIndex,
    },
    /// The secret is zero, `f(0) = 0`, so every output would be the same.
    #[error("public shares combine to the identity")]
    GroupIdentity,
}

impl CommitteeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::PublicShares { .. } => "wrong-count",
            Self::Threshold { .. } => "threshold-total",
            Self::IdentityShare { .. } | Self::GroupIdentity => "identity",
        }
    }
}

/// Why a blinded key is not admitted. The first two are mistakes of the caller, the others are the
/// fault of the party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdmitError {
    /// The committee has no such party.
    #[error("{party} is not of this committee")]
    NotMember {
        /// The party that the error is about.
        party: Party,
    },
    /// A party without shares has nothing to blind.
    #[error("{party} holds no shares")]
    NoShares {
        /// The party that the error is about.
        party: Party,
    },
    /// There must be exactly one blinded share for each index of the party.
    #[error("{got} blinded shares, the party holds {need}")]
    ShareCount {
        /// Number of blinded shares that were published.
        got: usize,
        /// Number of indices that the party holds.
        need: usize,
    },
    /// The key's maker does not know the blinding factor, or the proof was made for another party or
    /// committee.
    #[error("proof of knowledge of the blinding factor fails")]
    Possession,
    /// The blinded shares do not match the public shares: `e(πᵢ, Aⱼ) ≠ e(ρⱼ, ĝ)`.
    #[error("blinded shares do not match the public shares")]
    Mismatch,
}

impl AdmitError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotMember { .. } => "not-a-member",
            Self::NoShares { .. } => "holds-no-shares",
            Self::ShareCount { .. } => "wrong-count",
            Self::Possession => "possession-mismatch",
            Self::Mismatch => "share-mismatch",
        }
    }
}

/// A party's keys on the two paths have the same blinding factor. So its partial on the fast path
/// *is* its partial on the slow path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{party} blinds its shares of both paths with one factor")]
pub struct SharedBlinding {
    /// The party that the error is about.
    pub party: Party,
}

impl SharedBlinding {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "shared-blinding"
    }
}

/// Why an admitted key cannot be entered into this committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InsertError {
    /// The key was admitted by a committee of another path or epoch.
    #[error("key of {party} was admitted by another committee")]
    OtherCommittee {
        /// The party that the error is about.
        party: Party,
    },
    /// The party has a key already. The first key stays, because a second one would make partials
    /// invalid that were valid before.
    #[error("{party} has a key already")]
    Duplicate {
        /// The party that the error is about.
        party: Party,
    },
}

impl InsertError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::OtherCommittee { .. } => "other-committee",
            Self::Duplicate { .. } => "duplicate-key",
        }
    }
}

/// A blinded key that passed its check, for one party of one committee.
///
/// ```compile_fail,E0308
/// use prefinal_crypto_core::wvuf::{AdmittedKey, BlindedKey, VufCommittee};
/// fn unchecked(committee: &mut VufCommittee, key: BlindedKey) {
///     committee.insert(key);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedKey {
    committee: [u8; 32],
    party: Party,
    key: BlindedKey,
}

impl AdmittedKey {
    /// The party whose key this is.
    #[must_use]
    pub fn party(&self) -> Party {
        self.party
    }

    /// The blinded key itself.
    #[must_use]
    pub fn key(&self) -> &BlindedKey {
        &self.key
    }

    /// Checks that the same party's key for the other path has a different blinding factor, `π ≠ π'`.
    /// Call this before either of the two keys is entered.
    ///
    /// # Errors
    /// If the factor is the same.
    pub fn check_other_path(&self, other: &Self) -> Result<(), SharedBlinding> {
        let same = self.party == other.party && self.key.pi() == other.key.pi();
        if same { Err(SharedBlinding { party: self.party }) } else { Ok(()) }
    }
}

/// The result of checking many keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// The keys that passed, ready for [`VufCommittee::insert`].
    pub admitted: Vec<AdmittedKey>,
    /// The parties whose keys did not pass, and the reasons.
    pub refused: BTreeMap<Party, AdmitError>,
}

/// The parties that evaluate on one path in one epoch.
///
/// Blinding and admission once per epoch, then a value per slot:
/// ```
/// # use std::collections::BTreeMap;
/// # use prefinal_crypto_core::access::{Access, Party, Threshold};
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
/// use prefinal_crypto_core::wvuf::{Input, KeyShares, VufCommittee, blind, combine};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # use prefinal_crypto_core::curve::{G1Affine, G2Affine, Scalar};
/// # use prefinal_crypto_core::generators::{g_hat, h};
/// # use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// # let (access, threshold) = (Access::new(&[2, 1, 2])?, Threshold::new(3, 5)?);
/// # let f = Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
/// # let shares = f.shares(&Points::of(&access, Placement::RootsOfUnity));
/// # let public: Vec<G2Affine> =
/// #     shares.expose().iter().map(|share| (g_hat() * share).to_affine()).collect();
/// # let secret: Vec<G1Affine> = shares.expose().iter().map(|share| (h() * share).to_affine()).collect();
/// # let key_shares: std::collections::BTreeMap<_, _> =
/// #     access.parties().map(|party| (party, secret[access.range(party)].to_vec())).collect();
///
/// // Public shares and each party's key shares come from the key generation.
/// let mut committee = VufCommittee::new(access, threshold, public)?;
/// let mut keys = Vec::new();
/// for (party, shares) in key_shares {
///     let (key, blinded) = blind(&committee, party, &KeyShares::new(shares), &mut rng);
///     committee.insert(committee.admit(party, blinded)?)?; // by everybody, from a broadcast
///     keys.push((party, key));
/// }
/// let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(3) };
/// let input = Input::new(&context, Slot::new(9), None);
/// let partials: BTreeMap<_, _> =
///     keys[..2].iter().map(|(party, key)| (*party, key.evaluate(&input))).collect();
/// let value = combine(&committee.verify_all(&input, partials.clone())?);
/// assert_eq!(value.randomness().len(), 32);
///
/// let next = Input::new(&context, Slot::new(10), None);
/// assert!(committee.verify_all(&next, partials).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct VufCommittee {
    id: [u8; 32],
    access: Access,
    threshold: Threshold,
    public: Vec<G2Affine>,
    group_key: G2Affine,
    domain: Domain,
    keys: BTreeMap<Party, BlindedKey>,
}

impl VufCommittee {
    /// A committee without keys. `public` are the `Aⱼ` in the order of the indices. They must come
    /// from verified dealings: this function does not check that they lie on one polynomial.
    ///
    /// # Errors
    /// If shares, threshold and parties do not fit each other, or if a public share or the group key
    /// is the identity.
    pub fn new(
        access: Access,
        threshold: Threshold,
        public: Vec<G2Affine>,
    ) -> Result<Self, CommitteeError> {
        let need = access.total();
        if threshold.n().get() != need {
            return Err(CommitteeError::Threshold { got: threshold.n().get(), need });
        }
        if u32::try_from(public.len()) != Ok(need) {
            return Err(CommitteeError::PublicShares { got: public.len(), need });
        }
        if let Some((_, index)) = public.iter().zip(indices()).find(|(key, _)| key.is_identity()) {
            return Err(CommitteeError::IdentityShare { index });
        }
        let id = identify(&access, threshold, &public);
        let domain = Domain::new(need);
        let group_key = interpolate(&domain, threshold, &public);
        if group_key.is_identity() {
            return Err(CommitteeError::GroupIdentity);
        }
        Ok(Self { id, access, threshold, public, group_key, domain, keys: BTreeMap::new() })
    }

    /// Checks the key of one party. The committee does not change; pass the result to
    /// [`VufCommittee::insert`].
    ///
    /// # Errors
    /// If the key does not match the party's public shares, or its maker does not know the blinding
    /// factor.
    pub fn admit(&self, party: Party, key: BlindedKey) -> Result<AdmittedKey, AdmitError> {
        let mut admission = self.admit_all(BTreeMap::from([(party, key)]));
        match admission.admitted.pop() {
            Some(admitted) => Ok(admitted),
            None => Err(admission.refused.remove(&party).unwrap_or(AdmitError::Mismatch)),
        }
    }

    /// Checks the keys of many parties at once: first the shapes, then all proofs with one sum, then
    /// all keys with one equation. A bad key does not keep the others out. Costs one pairing for each
    /// party plus one, and sums over all shares in both groups. If there is one culprit, twice as
    /// many pairings are needed.
    #[must_use]
    pub fn admit_all(&self, keys: BTreeMap<Party, BlindedKey>) -> Admission {
        let mut refused = BTreeMap::new();
        let mut shaped = Vec::with_capacity(keys.len());
        for (party, key) in keys {
            match self.check_shape(party, &key) {
                Ok(public) => shaped.push((party, key, public)),
                Err(error) => {
                    refused.insert(party, error);
                }
            }
        }
        for party in self.unproved(&shaped) {
            refused.insert(party, AdmitError::Possession);
        }
        shaped.retain(|(party, ..)| !refused.contains_key(party));
        let faulty = admission::faulty(&self.id, &shaped);
        let mut admitted = Vec::with_capacity(shaped.len());
        for (position, (party, key, _)) in shaped.into_iter().enumerate() {
            if faulty.contains(&position) {
                refused.insert(party, AdmitError::Mismatch);
            } else {
                admitted.push(AdmittedKey { committee: self.id, party, key });
            }
        }
        Admission { admitted, refused }
    }

    /// Enters an admitted key. From then on the party's partials count.
    ///
    /// # Errors
    /// If another committee admitted the key, or the party has a key already.
    pub fn insert(&mut self, admitted: AdmittedKey) -> Result<(), InsertError> {
        let AdmittedKey { committee, party, key } = admitted;
        if committee != self.id {
            return Err(InsertError::OtherCommittee { party });
        }
        if self.keys.contains_key(&party) {
            return Err(InsertError::Duplicate { party });
        }
        self.keys.insert(party, key);
        Ok(())
    }

    /// Digest of parties, threshold and public shares. It is different for each path and epoch.
    #[must_use]
    pub fn id(&self) -> [u8; 32] {
        self.id
    }

    /// Which party holds which share indices.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// How many shares an output needs, and how many there are.
    #[must_use]
    pub fn threshold(&self) -> Threshold {
        self.threshold
    }

    /// The public shares `Aⱼ`, in the order of the indices.
    #[must_use]
    pub fn public(&self) -> &[G2Affine] {
        &self.public
    }

    /// The group key `ĝ^f(0)`, interpolated over the first `t` of the `Aⱼ`. Two committees have the
    /// same outputs only if they share one secret, and then they have the same group key.
    #[must_use]
    pub fn group_key(&self) -> G2Affine {
        self.group_key
    }

    /// The keys that were entered, by party.
    #[must_use]
    pub fn keys(&self) -> &BTreeMap<Party, BlindedKey> {
        &self.keys
    }

    /// The weight that a partial of `party` counts for. It is zero until the party's key is entered.
    #[must_use]
    pub fn weight_of(&self, party: Party) -> u32 {
        if self.keys.contains_key(&party) { self.access.weight(party) } else { 0 }
    }

    /// The total weight of the parties whose keys are entered.
    #[must_use]
    pub fn admitted_weight(&self) -> u32 {
        self.keys.keys().map(|party| self.access.weight(*party)).sum()
    }

    /// The smallest set of `candidates` that reaches the threshold, see [`Access::fewest`]. `None` if
    /// all of them together do not reach it. A small set saves time, because verifying and combining
    /// cost one pairing for each party. Parties without an admitted key do not count.
    #[must_use]
    pub fn fewest(&self, candidates: impl IntoIterator<Item = Party>) -> Option<BTreeSet<Party>> {
        let with_key = candidates.into_iter().filter(|party| self.keys.contains_key(party));
        self.access.fewest(self.threshold.t(), with_key)
    }

    pub(super) fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The parties whose proof of possession fails.
    fn unproved(&self, keys: &[admission::Candidate<'_>]) -> Vec<Party> {
        let stated: Vec<_> = keys.iter().map(|(party, key, _)| (*party, key)).collect();
        let positions = possession::unproved(&self.id, &stated);
        positions.into_iter().filter_map(|i| stated.get(i)).map(|(party, _)| *party).collect()
    }

    fn check_shape(&self, party: Party, key: &BlindedKey) -> Result<&[G2Affine], AdmitError> {
        if !self.access.contains(party) {
            return Err(AdmitError::NotMember { party });
        }
        let public = self.public.get(self.access.range(party)).unwrap_or_default();
        if public.is_empty() {
            return Err(AdmitError::NoShares { party });
        }
        if key.rho().len() != public.len() {
            return Err(AdmitError::ShareCount { got: key.rho().len(), need: public.len() });
        }
        Ok(public)
    }
}

fn indices() -> impl Iterator<Item = ShareIndex> {
    (1..).map_while(ShareIndex::new)
}

/// The group key from the first `t` public shares. Their indices are distinct and in the domain,
/// because the threshold's total is the number of shares.
fn interpolate(domain: &Domain, threshold: Threshold, public: &[G2Affine]) -> G2Affine {
    let count = usize::try_from(threshold.t().get()).unwrap_or(usize::MAX);
    let first: Vec<ShareIndex> = indices().take(count).collect();
    let shares = public.get(..first.len()).unwrap_or_default();
    vartime_msm(shares, &domain.lagrange_at_zero(&first)).to_affine()
}

fn identify(access: &Access, threshold: Threshold, public: &[G2Affine]) -> [u8; 32] {
    let mut transcript = Transcript::new(COMMITTEE_TAG);
    transcript.append_u64(b"threshold", threshold.t().get().into());
    for party in access.parties() {
        transcript.append_u64(b"weight", access.weight(party).into());
    }
    transcript.append_points(b"public", public);
    transcript.bytes(b"id")
}
