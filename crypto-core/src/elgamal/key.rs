//! The committee's public encryption key.
use alloc::string::ToString;

use borsh::io::{Error, ErrorKind, Read, Result as IoResult};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::curve::hazmat::check_pairing_product;
use crate::curve::{DecodeError, G1Affine, G2Affine};

/// Why two points are not an encryption key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key is the identity. Everybody could decrypt ciphertexts for it.
    #[error("encryption key is the identity")]
    Identity,
    /// The two halves have different secrets: `e(Y, g₂) ≠ e(g₁, Ŷ)`.
    #[error("the halves of the encryption key have different secrets")]
    Halves,
}

impl KeyError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Halves => "key-halves",
        }
    }
}

/// The encryption key: `Y = g₁^x` and `Ŷ = g₂^x` with `x = f(0)`. Neither is the identity, and both
/// have the same `x`.
///
/// `Y` is used for encryption, `Ŷ` for checking the result of a decryption.
///
/// ```compile_fail,E0451
/// use prefinal_crypto_core::curve::{G1Affine, G2Affine};
/// use prefinal_crypto_core::elgamal::EncryptionKey;
/// let unchecked = EncryptionKey { y: G1Affine::generator(), y_hat: G2Affine::generator() };
/// ```
///
/// ```
/// # use prefinal_crypto_core::curve::Scalar;
/// use prefinal_crypto_core::curve::{G1Affine, G2Affine};
/// use prefinal_crypto_core::elgamal::EncryptionKey;
/// use prefinal_crypto_core::wire::Object;
/// # let x = Scalar::from_u64(7);
/// # let (y, y_hat) = ((G1Affine::generator() * &x).to_affine(), (G2Affine::generator() * &x).to_affine());
/// let key = EncryptionKey::new(y, y_hat)?;
/// assert_eq!(EncryptionKey::from_wire(&key.to_wire()), Ok(key));
/// // Two halves with different secrets are not a key.
/// assert!(EncryptionKey::new(y, G2Affine::generator()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize)]
pub struct EncryptionKey {
    y: G1Affine,
    y_hat: G2Affine,
}

impl EncryptionKey {
    /// A key from its two halves, which are checked. Costs two pairings.
    ///
    /// # Errors
    /// If the halves are the identity, or have different secrets.
    pub fn new(y: G1Affine, y_hat: G2Affine) -> Result<Self, KeyError> {
        if y.is_identity() {
            return Err(KeyError::Identity);
        }
        check_pairing_product([(y, G2Affine::generator()), (-G1Affine::generator(), y_hat)])
            .map_err(|_| KeyError::Halves)?;
        Ok(Self { y, y_hat })
    }

    /// The half `Y = g₁^x` in 𝔾₁.
    #[must_use]
    pub const fn y(&self) -> G1Affine {
        self.y
    }

    /// The half `Ŷ = g₂^x` in 𝔾₂.
    #[must_use]
    pub const fn y_hat(&self) -> G2Affine {
        self.y_hat
    }
}

impl BorshDeserialize for EncryptionKey {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        let y = G1Affine::deserialize_reader(reader)?;
        if y.is_identity() {
            return Err(DecodeError::Identity.into());
        }
        let y_hat = G2Affine::deserialize_reader(reader)?;
        Self::new(y, y_hat).map_err(|error| Error::new(ErrorKind::InvalidData, error.to_string()))
    }
}
