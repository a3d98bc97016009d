//! Who may evaluate under one path: parties, their shares in the open, and their admitted keys.
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
pub enum CommitteeError {
    /// One public share for each index.
    #[error("{got} public shares for {need} share indices")]
    PublicShares {
        /// How many were given.
        got: usize,
        /// How many indices the parties hold.
        need: u32,
    },
    /// The threshold counts other shares than the parties hold.
    #[error("threshold is of {got} shares, the parties hold {need}")]
    Threshold {
        /// What the threshold says.
        got: u32,
        /// How many indices the parties hold.
        need: u32,
    },
    /// `Aⱼ = 1`: everybody knows that share, and a party that holds no other could be robbed of its
    /// place (`possession`). Nobody can bring it about: its dealer would have to know the others' `f(j)`,
    /// of which even the holder learns `h^f(j)` alone.
    #[error("public share {index} is the identity")]
    IdentityShare {
        /// Which share.
        index: ShareIndex,
    },
    /// `f(0) = 0`: every output would be the same.
    #[error("public shares combine to the identity")]
    GroupIdentity,
}

/// Why a blinded key is not admitted. All but the first two are the party's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdmitError {
    /// The committee has no such party.
    #[error("{party} is not of this committee")]
    NotMember {
        /// Who.
        party: Party,
    },
    /// A party without shares has nothing to blind.
    #[error("{party} holds no shares")]
    NoShares {
        /// Who.
        party: Party,
    },
    /// One blinded share for each index.
    #[error("{got} blinded shares, the party holds {need}")]
    ShareCount {
        /// How many were published.
        got: usize,
        /// How many indices the party holds.
        need: usize,
    },
    /// Made by somebody who does not know the blinding factor, or for another party or committee.
    #[error("proof of knowledge of the blinding factor fails")]
    Possession,
    /// `e(πᵢ, Aⱼ) ≠ e(ρⱼ, ĝ)`
    #[error("blinded shares do not match the public shares")]
    Mismatch,
}

/// Two keys of a party whose partials are the same: what it sends on the fast path *is* what it would
/// send on the slow one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{party} blinds its shares of both paths with one factor")]
pub struct SharedBlinding {
    /// Who.
    pub party: Party,
}

/// Why an admitted key cannot enter this committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InsertError {
    /// Admitted by a committee of another path or epoch.
    #[error("key of {party} was admitted by another committee")]
    OtherCommittee {
        /// Who.
        party: Party,
    },
    /// The first key stands: with a second one, partials that were valid no longer were.
    #[error("{party} has a key already")]
    Duplicate {
        /// Who.
        party: Party,
    },
}

/// A blinded key that passed its check, for one party of one committee.
///
/// ```compile_fail,E0308
/// use crypto_core::wvuf::{AdmittedKey, BlindedKey, VufCommittee};
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
    /// Whose.
    #[must_use]
    pub fn party(&self) -> Party {
        self.party
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &BlindedKey {
        &self.key
    }

    /// Checks that this party's key of the other path has another blinding factor, `π ≠ π'`. To be
    /// asked of both keys of a party before either is entered.
    ///
    /// # Errors
    /// If the factor is the same.
    pub fn check_other_path(&self, other: &Self) -> Result<(), SharedBlinding> {
        let same = self.party == other.party && self.key.pi() == other.key.pi();
        if same { Err(SharedBlinding { party: self.party }) } else { Ok(()) }
    }
}

/// What became of many keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// Those that passed, ready for [`VufCommittee::insert`].
    pub admitted: Vec<AdmittedKey>,
    /// Those that did not, and why.
    pub refused: BTreeMap<Party, AdmitError>,
}

/// The parties that evaluate under one path, in one epoch.
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
    /// A committee with no keys yet. `public` are the `Aⱼ` in the order of the indices, from
    /// dealings that were verified: that they lie on one polynomial is not checked again.
    ///
    /// # Errors
    /// If shares, threshold and parties do not fit each other, or a share or the secret is known to
    /// everybody.
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

    /// Checks the key of one party. Changes nothing: [`VufCommittee::insert`] takes the result.
    ///
    /// # Errors
    /// If the key is not the party's, or of its making.
    pub fn admit(&self, party: Party, key: BlindedKey) -> Result<AdmittedKey, AdmitError> {
        let mut admission = self.admit_all(BTreeMap::from([(party, key)]));
        match admission.admitted.pop() {
            Some(admitted) => Ok(admitted),
            None => Err(admission.refused.remove(&party).unwrap_or(AdmitError::Mismatch)),
        }
    }

    /// Checks the keys of many parties at once: shapes first, then the proofs of all with one sum, then
    /// one equation for all of them. One bad key does not keep the others out. Costs a pairing for each
    /// party and one more, sums over all shares in either group, and twice the pairings if there is a
    /// culprit.
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

    /// Enters a key.
    ///
    /// # Errors
    /// If another committee admitted it, or the party has one already.
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

    /// Digest of parties, threshold and public shares: differs between paths and epochs.
    #[must_use]
    pub fn id(&self) -> [u8; 32] {
        self.id
    }

    /// Who holds which indices.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// How many shares an output takes.
    #[must_use]
    pub fn threshold(&self) -> Threshold {
        self.threshold
    }

    /// The `Aⱼ`, in the order of the indices.
    #[must_use]
    pub fn public(&self) -> &[G2Affine] {
        &self.public
    }

    /// `ĝ^f(0)`, interpolated over the first `t` of the `Aⱼ`: the same in committees that share one
    /// secret, which alone have the same outputs.
    #[must_use]
    pub fn group_key(&self) -> G2Affine {
        self.group_key
    }

    /// The admitted keys.
    #[must_use]
    pub fn keys(&self) -> &BTreeMap<Party, BlindedKey> {
        &self.keys
    }

    /// Weight that a partial of `party` counts for: zero until its key is admitted.
    #[must_use]
    pub fn weight_of(&self, party: Party) -> u32 {
        if self.keys.contains_key(&party) { self.access.weight(party) } else { 0 }
    }

    /// Weight of all whose key is admitted.
    #[must_use]
    pub fn admitted_weight(&self) -> u32 {
        self.keys.keys().map(|party| self.access.weight(*party)).sum()
    }

    /// The fewest of `candidates` that reach the threshold, see [`Access::fewest`]; the pairings of
    /// verifying and combining are one for each party. Who has no admitted key does not count.
    #[must_use]
    pub fn fewest(&self, candidates: impl IntoIterator<Item = Party>) -> Option<BTreeSet<Party>> {
        let with_key = candidates.into_iter().filter(|party| self.keys.contains_key(party));
        self.access.fewest(self.threshold.t(), with_key)
    }

    pub(super) fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Whose proof of possession fails.
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

/// The first `t` of the indices are distinct and in the domain, for the threshold is of as many shares.
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
