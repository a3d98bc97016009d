//! Checks partials and combines them into a signature.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::access::{Party, ShareIndex};
use crate::bls::{Signature, SignaturePoint, Variant};
use crate::challenge::Transcript;
use crate::curve::Affine;
use crate::equations::{Equations, PartyShares};

use super::committee::SigningCommittee;
use super::message::{Message, PurposeError};
use super::partial::{Partial, PartialError};

const VERIFY_TAG: &[u8] = b"PREFINAL-V1-THRESHOLD-BLS-VERIFY";

/// Why partials did not become a quorum, or why a quorum did not become a signature.
pub type QuorumError = crate::quorum::QuorumError<MisuseError>;

/// The caller gave a message or a partial that does not belong to this committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MisuseError {
    /// The message is not what the key is for.
    #[error(transparent)]
    Purpose(#[from] PurposeError),
    /// A partial is from a party without shares.
    #[error("{party} holds no shares in this committee")]
    NoShares {
        /// The party whose partial was given although it holds no shares.
        party: Party,
    },
}

impl MisuseError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Purpose(error) => error.code(),
            Self::NoShares { .. } => "holds-no-shares",
        }
    }
}

impl From<PurposeError> for QuorumError {
    fn from(error: PurposeError) -> Self {
        Self::Misuse(error.into())
    }
}

impl<V: Variant> SigningCommittee<V> {
    /// Checks all partials with one equation and, if that fails, names the culprits. Costs two
    /// pairings, and in each group a multi-scalar multiplication with one 128-bit scalar for each
    /// share.
    ///
    /// # Errors
    /// If the message is not what the key is for, a party holds no shares, the weight is too low, or
    /// a partial is wrong.
    pub fn verify_all(
        &self,
        message: &Message<V>,
        partials: BTreeMap<Party, Partial<V>>,
    ) -> Result<Quorum<'_, V>, QuorumError> {
        self.check_weight(message, &partials)?;
        self.check_all(message, &partials)?;
        Ok(Quorum { committee: self, message: *message, partials })
    }

    /// The same check as [`verify_all`](SigningCommittee::verify_all), but without a minimum weight.
    ///
    /// # Errors
    /// The errors of `verify_all`, except for too little weight.
    pub fn check_all(
        &self,
        message: &Message<V>,
        partials: &BTreeMap<Party, Partial<V>>,
    ) -> Result<(), QuorumError> {
        message.check(self.purpose())?;
        let mut culprits = self.misshapen(partials)?;
        let rest = partials.iter().map(|(party, partial)| (*party, partial));
        let rest = rest.filter(|(party, _)| !culprits.contains(party));
        let found = equations(self, message, rest).culprits();
        culprits.extend(found);
        if culprits.is_empty() { Ok(()) } else { Err(QuorumError::Faulty { culprits }) }
    }

    /// Accepts partials after a check of their weight and shape only. [`OptimisticQuorum::combine`]
    /// verifies the result.
    ///
    /// # Errors
    /// If the message is not what the key is for, a party holds no shares, the weight is too low, or
    /// a partial has more or fewer points than its party has shares.
    pub fn optimistic(
        &self,
        message: &Message<V>,
        partials: BTreeMap<Party, Partial<V>>,
    ) -> Result<OptimisticQuorum<'_, V>, QuorumError> {
        self.check_weight(message, &partials)?;
        let culprits = self.misshapen(&partials)?;
        if culprits.is_empty() {
            let message = *message;
            Ok(OptimisticQuorum(Quorum { committee: self, message, partials }))
        } else {
            Err(QuorumError::Faulty { culprits })
        }
    }

    fn check_weight(
        &self,
        message: &Message<V>,
        partials: &BTreeMap<Party, Partial<V>>,
    ) -> Result<(), QuorumError> {
        message.check(self.purpose())?;
        let got = partials.keys().map(|party| self.access().weight(*party)).sum();
        let need = self.threshold().t();
        if got < need.get() { Err(QuorumError::BelowThreshold { got, need }) } else { Ok(()) }
    }

    /// The parties whose partial does not have exactly one point for each share.
    fn misshapen(
        &self,
        partials: &BTreeMap<Party, Partial<V>>,
    ) -> Result<BTreeSet<Party>, QuorumError> {
        let mut culprits = BTreeSet::new();
        for (&party, partial) in partials {
            match partial.check_shape(self, party) {
                Ok(()) => {}
                Err(PartialError::ShareCount { .. }) => {
                    culprits.insert(party);
                }
                Err(_) => return Err(MisuseError::NoShares { party }.into()),
            }
        }
        Ok(culprits)
    }
}

/// Verified partials of distinct parties of one committee on one message, with at least `t` shares in
/// all. So [`combine`](Quorum::combine) cannot fail.
///
/// It borrows its committee, so the partials of one committee are never checked or combined with the
/// keys of another. Other code cannot construct it:
///
/// ```compile_fail,E0451
/// use prefinal_crypto_core::bls::MinSig;
/// use prefinal_crypto_core::threshold::{Message, Quorum, SigningCommittee};
/// fn unchecked(
///     committee: &SigningCommittee<MinSig>,
///     message: Message<MinSig>,
/// ) -> Quorum<'_, MinSig> {
///     Quorum { committee, message, partials: Default::default() }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Quorum<'c, V: Variant> {
    committee: &'c SigningCommittee<V>,
    message: Message<V>,
    partials: BTreeMap<Party, Partial<V>>,
}

impl<V: Variant> Quorum<'_, V> {
    /// The message that the partials are on.
    #[must_use]
    pub const fn message(&self) -> &Message<V> {
        &self.message
    }

    /// The partials, by party.
    #[must_use]
    pub const fn partials(&self) -> &BTreeMap<Party, Partial<V>> {
        &self.partials
    }

    /// The group's signature: `∏ⱼ σⱼ^λⱼ` over the `t` lowest indices. Costs one multi-scalar
    /// multiplication. If the evaluation points are consecutive numbers, its scalars are shorter the
    /// fewer indices are left out.
    #[must_use]
    pub fn combine(&self) -> Signature<V> {
        let t = usize::try_from(self.committee.threshold().t().get()).unwrap_or(usize::MAX);
        let access = self.committee.access();
        // Parties are in order, and so are the indices they hold.
        let (indices, points): (Vec<ShareIndex>, Vec<SignaturePoint<V>>) = self
            .partials
            .iter()
            .flat_map(|(party, partial)| access.indices(*party).zip(partial.points().to_vec()))
            .take(t)
            .unzip();
        // The indices are distinct and of this committee, so neither step fails.
        let lambda = self.committee.points().lagrange_at_zero(&indices);
        let sum = lambda.and_then(|lambda| lambda.combine(&points));
        Signature::from_sum(sum.map_or(Affine::identity(), |sum| sum.to_affine()))
    }
}

/// Partials of distinct parties of one committee, with at least `t` shares in all. They are not
/// verified, so combining may fail.
///
/// See the example at [`SigningCommittee`].
#[derive(Clone, Debug)]
pub struct OptimisticQuorum<'c, V: Variant>(Quorum<'c, V>);

impl<V: Variant> OptimisticQuorum<'_, V> {
    /// The message that the partials are on.
    #[must_use]
    pub const fn message(&self) -> &Message<V> {
        self.0.message()
    }

    /// The partials, by party.
    #[must_use]
    pub const fn partials(&self) -> &BTreeMap<Party, Partial<V>> {
        self.0.partials()
    }

    /// The group's signature, verified. Costs a multi-scalar multiplication and two pairings. If the
    /// signature is not valid, all partials are verified to find the culprits.
    ///
    /// # Errors
    /// Names the parties whose partials are wrong.
    pub fn combine(&self) -> Result<Signature<V>, QuorumError> {
        let Self(quorum) = self;
        let signature = quorum.combine();
        if quorum.committee.verify_result(&quorum.message, &signature).is_ok() {
            return Ok(signature);
        }
        quorum.committee.check_all(&quorum.message, &quorum.partials)?;
        // The keys are on one polynomial, so valid partials give a valid result. This line is never
        // reached.
        Err(QuorumError::Faulty { culprits: quorum.partials.keys().copied().collect() })
    }
}

/// The batch of equations for these partials. They must have passed [`Partial::check_shape`].
pub(super) fn equations<'p, V: Variant>(
    committee: &'p SigningCommittee<V>,
    message: &Message<V>,
    partials: impl IntoIterator<Item = (Party, &'p Partial<V>)>,
) -> Equations<V> {
    let mut transcript = Transcript::new(VERIFY_TAG);
    transcript.append(b"committee", &committee.id());
    transcript.append_point(b"message", &message.point());
    let given = partials.into_iter().map(|(party, partial)| PartyShares {
        party,
        shares: partial.points(),
        keys: committee.keys_of(party),
    });
    Equations::new(transcript, message.point(), given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Access, Threshold};
    use crate::bls::{Domain, MinSig};
    use crate::commitment::Commitment;
    use crate::polynomial::Placement;
    use crate::threshold::{Purpose, Setup};

    const DOMAIN: Domain = Domain::new("quorum test");

    #[test]
    fn coefficients_are_of_this_committee_and_message() {
        let committee = |weights: &[u32]| -> SigningCommittee<MinSig> {
            let access = Access::new(weights).unwrap();
            let threshold = Threshold::new(1, access.total()).unwrap();
            let (placement, purpose) = (Placement::Consecutive, Purpose::Messages(DOMAIN));
            let setup = Setup { access, threshold, placement, purpose };
            let commitment = Commitment::from_points(alloc::vec![Affine::generator()]).unwrap();
            SigningCommittee::from_commitment(setup, &commitment).unwrap()
        };
        let (message, party) = (Message::new(DOMAIN, b"message"), Party::new(0));
        let partial = Partial::new(alloc::vec![message.point(); 2]);
        let mixed = |weights: &[u32], message: &Message<MinSig>| {
            equations(&committee(weights), message, [(party, &partial)]).coefficients().to_vec()
        };
        let own = mixed(&[2, 1], &message);
        assert_ne!(mixed(&[2, 2], &message), own);
        assert_ne!(mixed(&[2, 1], &Message::new(DOMAIN, b"other")), own);
    }
}
