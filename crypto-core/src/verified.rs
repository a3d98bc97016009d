//! A checked value that carries its check.
//!
//! Only this crate's checks make a [`Verified`]: holding one means the check has passed, so what
//! follows need not check again and cannot fail. It is never decoded from bytes.
use core::ops::Deref;

/// A `T` that passed its check; the private field is the proof.
///
/// ```compile_fail,E0423
/// use crypto_core::verified::Verified;
/// let unchecked = Verified(7_u32);
/// ```
/// ```compile_fail,E0624
/// use crypto_core::verified::Verified;
/// let unchecked = Verified::new(7_u32);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Verified<T>(T);

impl<T> Verified<T> {
    /// For the check itself.
    pub(crate) const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value.
    #[must_use]
    pub const fn get(&self) -> &T {
        &self.0
    }

    /// The value without its proof.
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
