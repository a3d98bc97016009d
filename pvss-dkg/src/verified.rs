//! A checked value carries its check, and under which configuration it was checked.

use std::ops::Deref;

/// A `T` that passed every check under one [`Config`](crate::Config); the private fields are the
/// proof. It is made by [`verify`](crate::verify()), [`Aggregate::verify`](crate::Aggregate::verify)
/// and by adding checked values.
///
/// ```compile_fail,E0451
/// # fn forge(dealing: pvss_dkg::Dealing) -> pvss_dkg::Verified<pvss_dkg::Dealing> {
/// pvss_dkg::Verified { value: dealing, config: [0; 32] }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified<T> {
    value: T,
    config: [u8; 32],
}

impl<T> Verified<T> {
    /// `config` is the digest of the configuration that the caller has just checked against.
    pub(crate) const fn new(value: T, config: [u8; 32]) -> Self {
        Self { value, config }
    }

    /// The digest of the configuration under which the value was checked.
    #[must_use]
    pub const fn config_digest(&self) -> &[u8; 32] {
        &self.config
    }

    /// The value, no longer marked as checked.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T> Deref for Verified<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
