//! A partial: one party's part of a signature.
use alloc::vec::Vec;
use core::fmt::Debug;

use borsh::io::{Error, ErrorKind, Read, Result as IoResult, Write};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::access::{Access, Party};
use crate::bls::{SignaturePoint, Variant};
use crate::curve::{Affine, DecodeError};

use super::committee::SigningCommittee;
use super::message::{Message, PurposeError};
use super::quorum::equations;

/// Why the partial of one party does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartialError {
    /// The message is not what the committee's key is for. This is a mistake of the caller.
    #[error(transparent)]
    Purpose(#[from] PurposeError),
    /// The committee has no such party.
    #[error("{party} is not of this committee")]
    NotMember {
        /// The party that the error is about.
        party: Party,
    },
    /// A party without shares has nothing to sign with.
    #[error("{party} holds no shares")]
    NoShares {
        /// The party that the error is about.
        party: Party,
    },
    /// The partial does not have exactly one point for each index of the party.
    #[error("partial of {party} has {got} points, it holds {need} shares")]
    ShareCount {
        /// The party that the error is about.
        party: Party,
        /// How many points there are.
        got: usize,
        /// How many indices the party holds.
        need: usize,
    },
    /// `e(σⱼ, g) ≠ e(H(m), pkⱼ)`
    #[error("partial of {party} does not match its share keys and the message")]
    Mismatch {
        /// The party that the error is about.
        party: Party,
    },
}

impl PartialError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Purpose(error) => error.code(),
            Self::NotMember { .. } => "not-a-member",
            Self::NoShares { .. } => "holds-no-shares",
            Self::ShareCount { .. } => "wrong-count",
            Self::Mismatch { .. } => "partial-mismatch",
        }
    }
}

/// One party's partial: `σⱼ = H(m)^f(j)` for each of its indices, in the order of the indices. A
/// decoded partial has at least one point, and no point is the identity.
///
/// ```compile_fail,E0277
/// use prefinal_crypto_core::{bls::MinSig, curve::G1Affine, threshold::Partial};
/// let partial: Partial<MinSig> = vec![G1Affine::generator()].into();
/// ```
///
/// ```
/// # use prefinal_crypto_core::access::{Access, Party, Threshold};
/// # use prefinal_crypto_core::bls::MinSig;
/// # use prefinal_crypto_core::commitment::Commitment;
/// # use prefinal_crypto_core::curve::Scalar;
/// # use prefinal_crypto_core::drand::RoundNumber;
/// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// # use prefinal_crypto_core::threshold::{KeyShares, Purpose, Setup, SigningCommittee};
/// use prefinal_crypto_core::threshold::{Message, Partial};
/// use prefinal_crypto_core::wire::Object;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let (access, threshold) = (Access::new(&[2, 1, 2])?, Threshold::new(3, 5)?);
/// # let f = Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
/// # let (placement, purpose) = (Placement::Consecutive, Purpose::Rounds);
/// # let setup = Setup { access, threshold, placement, purpose };
/// # let committee = SigningCommittee::<MinSig>::from_commitment(setup, &Commitment::commit(&f))?;
/// # let own = f.shares(committee.points()).expose()[committee.access().range(Party::new(0))].to_vec();
/// # let signer = KeyShares::new(Party::new(0), Secret::new(own)).check(&committee)?;
///
/// let round = Message::round(RoundNumber::FIRST);
/// let bytes = signer.partial(&round)?.to_wire();
/// let received = Partial::from_wire(&bytes)?;
/// assert!(received.verify(&committee, signer.party(), &round).is_ok());
/// assert!(received.verify(&committee, Party::new(1), &round).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial<V: Variant>(Vec<SignaturePoint<V>>);

impl<V: Variant> Partial<V> {
    pub(crate) const fn new(points: Vec<SignaturePoint<V>>) -> Self {
        Self(points)
    }

    /// The points `σⱼ`, in the order of the party's indices.
    #[must_use]
    pub fn points(&self) -> &[SignaturePoint<V>] {
        &self.0
    }

    /// Checks that the partial has one point for each index of the party. This uses no curve
    /// operation.
    ///
    /// # Errors
    /// If the party is not in the committee, holds no shares, or holds another number of shares.
    pub fn check_shape(
        &self,
        committee: &SigningCommittee<V>,
        party: Party,
    ) -> Result<(), PartialError> {
        if !committee.access().contains(party) {
            return Err(PartialError::NotMember { party });
        }
        let (got, need) = (self.0.len(), committee.keys_of(party).len());
        match need {
            0 => Err(PartialError::NoShares { party }),
            _ if got == need => Ok(()),
            _ => Err(PartialError::ShareCount { party, got, need }),
        }
    }

    /// Checks that this is the party's partial on the message. Costs two pairings, and for more than
    /// one index also a multi-scalar multiplication with 128-bit scalars in each group.
    ///
    /// # Errors
    /// If it is not, or the message is not what the committee's key is for.
    pub fn verify(
        &self,
        committee: &SigningCommittee<V>,
        party: Party,
        message: &Message<V>,
    ) -> Result<(), PartialError> {
        message.check(committee.purpose())?;
        self.check_shape(committee, party)?;
        if equations(committee, message, [(party, self)]).hold() {
            Ok(())
        } else {
            Err(PartialError::Mismatch { party })
        }
    }
}

impl<V: Variant> BorshSerialize for Partial<V> {
    fn serialize<W: Write>(&self, writer: &mut W) -> IoResult<()> {
        self.0.serialize(writer)
    }
}

impl<V: Variant> BorshDeserialize for Partial<V> {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        let len = u32::deserialize_reader(reader)?;
        if len == 0 || len > Access::MAX {
            let expected = Access::MAX;
            let message = alloc::format!("partial of {len} points, expected 1 to {expected}");
            return Err(Error::new(ErrorKind::InvalidData, message));
        }
        let point = |_| {
            let point = Affine::deserialize_reader(reader)?;
            if point.is_identity() { Err(DecodeError::Identity.into()) } else { Ok(point) }
        };
        Ok(Self((0..len).map(point).collect::<IoResult<_>>()?))
    }
}
