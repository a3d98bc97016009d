//! Who signs together, and with which keys.
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
pub enum CommitteeError {
    /// The threshold counts other shares than the parties hold.
    #[error("threshold is of {got} shares, the parties hold {need}")]
    Threshold {
        /// What the threshold says.
        got: u32,
        /// How many indices the parties hold.
        need: u32,
    },
    /// One key for each index.
    #[error("{got} share keys for {need} share indices")]
    ShareKeys {
        /// How many were given.
        got: usize,
        /// How many indices the parties hold.
        need: u32,
    },
    /// With a commitment to more coefficients, `t` shares would not do; with fewer, less would.
    #[error("commitment is for {got} shares, the threshold is {need}")]
    Commitment {
        /// Coefficients committed to.
        got: u32,
        /// Shares that are to suffice.
        need: u32,
    },
    /// A secret of zero signs everything with the identity.
    #[error("the group key is the identity")]
    GroupIdentity,
    /// Different sets of parties would sign differently.
    #[error("group key and share keys are not on one polynomial that {t} shares determine")]
    Degree {
        /// Shares that are to suffice.
        t: u32,
    },
}

/// What a committee agrees on before it has keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Who holds which indices.
    pub access: Access,
    /// How many shares sign.
    pub threshold: Threshold,
    /// Where shares sit.
    pub placement: Placement,
    /// What the key is for.
    pub purpose: Purpose,
}

/// The parties that sign together, with the keys that their partials are checked against.
///
/// The key of a share may be the identity, the group's key may not. Where shares are field elements, a
/// dealer that deals last knows its own sum so far and can make its share zero: that gives one of its
/// shares to everybody and stops nobody else, whereas refusing the committee would let it end the key
/// generation.
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
    /// A committee from the commitment to its polynomial: the keys are on it by construction.
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

    /// A committee from its group key and the share keys in the order of their indices, tested to be
    /// of degree below `t`: one sum of products over all share keys.
    ///
    /// # Errors
    /// If keys, threshold and parties do not fit each other, the group key is the identity, or the keys
    /// are not on one polynomial of the degree.
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

    /// Over everything that makes the committee what it is.
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

    /// Who holds which indices.
    #[must_use]
    pub const fn access(&self) -> &Access {
        &self.access
    }

    /// How many shares sign.
    #[must_use]
    pub const fn threshold(&self) -> Threshold {
        self.threshold
    }

    /// Where shares sit.
    #[must_use]
    pub const fn points(&self) -> &Points {
        &self.points
    }

    /// What the key is for.
    #[must_use]
    pub const fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// `pk`: what the result verifies under.
    #[must_use]
    pub const fn group_key(&self) -> PublicKey<V> {
        self.group
    }

    /// `pkⱼ`, in the order of the indices.
    #[must_use]
    pub fn share_keys(&self) -> &[KeyPoint<V>] {
        &self.shares
    }

    /// The keys of one party; none for a party without shares.
    pub(super) fn keys_of(&self, party: Party) -> &[KeyPoint<V>] {
        self.shares.get(self.access.range(party)).unwrap_or_default()
    }

    /// Checks a result: `e(σ, g) = e(H(m), pk)`, two pairings. Without this module,
    /// [`Signature::verify`] says the same.
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
