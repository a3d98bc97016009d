//! A type for values that were checked.
//!
//! Only the checks of this crate make a [`Verified`]. Code that holds one knows that the check has
//! passed and need not check again. A `Verified` is never decoded from bytes.
use core::ops::Deref;

/// A `T` that passed its check. The field is private, so other code cannot make one.
///
/// ```compile_fail,E0423
/// use prefinal_crypto_core::verified::Verified;
/// let unchecked = Verified(7_u32);
/// ```
/// ```compile_fail,E0624
/// use prefinal_crypto_core::verified::Verified;
/// let unchecked = Verified::new(7_u32);
/// ```
///
/// ```
/// use prefinal_crypto_core::bls::min_sig::{PublicKey, SecretKey};
/// use prefinal_crypto_core::verified::Verified;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// let key = SecretKey::random(&mut rng);
/// let checked: Verified<PublicKey> =
///     key.public_key().verify_possession(&key.prove_possession())?;
/// assert_eq!(checked.into_inner(), key.public_key());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Verified<T>(T);

impl<T> Verified<T> {
    /// Marks a value as checked. Only the check itself may call this.
    pub(crate) const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value, which can no longer be changed.
    #[must_use]
    pub const fn get(&self) -> &T {
        &self.0
    }

    /// The value alone; the type no longer shows that it was checked.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Verified<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
