//! A decryption share: one party's part in a decryption.
use alloc::vec::Vec;

use borsh::io::{Error, ErrorKind, Read, Result as IoResult};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::access::Access;
use crate::curve::{DecodeError, G1Affine};

/// One party's decryption share: `Dⱼ = U^f(j)` for each of its indices, 48 bytes each. A decoded
/// share is never empty, and no point is the identity.
///
/// ```compile_fail,E0277
/// use prefinal_crypto_core::{curve::G1Affine, elgamal::DecryptionShare};
/// let share: DecryptionShare = vec![G1Affine::generator()].into();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize)]
pub struct DecryptionShare(Vec<G1Affine>);

impl DecryptionShare {
    pub(crate) fn new(points: Vec<G1Affine>) -> Self {
        Self(points)
    }

    pub(super) fn points(&self) -> &[G1Affine] {
        &self.0
    }

    /// The number of points, one for each share index of the party.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.0.len()
    }
}

impl BorshDeserialize for DecryptionShare {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        let len = u32::deserialize_reader(reader)?;
        if len == 0 || len > Access::MAX {
            return Err(Error::new(ErrorKind::InvalidData, "no party holds so many shares"));
        }
        let mut points = Vec::new();
        for _ in 0..len {
            let point = G1Affine::deserialize_reader(reader)?;
            if point.is_identity() {
                return Err(DecodeError::Identity.into());
            }
            points.push(point);
        }
        Ok(Self(points))
    }
}
