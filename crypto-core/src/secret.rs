//! Values that must not leak by accident.
//!
//! A [`Secret`] is wiped when dropped and printed as `Secret(..)`. It cannot be copied, compared,
//! encoded or hashed. The only access is [`Secret::expose`], a name that a reviewer can search for.
//!
//! The result of a test on a secret is made public only by [`reveal`](crate::curve::hazmat::reveal).
use core::fmt;

use zeroize::Zeroize;

/// A value that is wiped on drop and never printed.
///
/// ```compile_fail,E0599
/// use prefinal_crypto_core::{curve::Scalar, secret::Secret};
/// let secret = Secret::new(Scalar::ONE);
/// let copy = secret.clone();
/// ```
/// ```compile_fail,E0369
/// use prefinal_crypto_core::{curve::Scalar, secret::Secret};
/// assert!(Secret::new(Scalar::ONE) == Secret::new(Scalar::ONE));
/// ```
/// ```compile_fail,E0277
/// use prefinal_crypto_core::{curve::Scalar, secret::Secret};
/// let bytes = borsh::to_vec(&Secret::new(Scalar::ONE));
/// ```
///
/// ```
/// use prefinal_crypto_core::secret::Secret;
/// let key = Secret::new([7_u8; 32]);
/// assert_eq!(format!("{key:?}"), "Secret(..)");
/// assert_eq!(key.expose().len(), 32);
/// ```
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    /// Wraps a value. The caller must wipe the copies that it keeps.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Access to the secret value.
    #[must_use]
    pub const fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use core::cell::Cell;

    use super::*;
    use crate::curve::Scalar;

    #[test]
    fn a_secret_is_not_printed() {
        let secret = Secret::new(Scalar::from_u64(0x5eed));
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        assert_eq!(format!("{:?}", secret.expose()), "Scalar(..)");
        assert_eq!(format!("{:?}", Secret::new([7_u8; 4])), "Secret(..)");
    }

    #[test]
    fn a_secret_is_wiped_on_drop() {
        struct Witness<'a>(&'a Cell<bool>);
        impl Zeroize for Witness<'_> {
            fn zeroize(&mut self) {
                self.0.set(true);
            }
        }
        let wiped = Cell::new(false);
        drop(Secret::new(Witness(&wiped)));
        assert!(wiped.get());
    }
}
