//! A type for values that passed the checks of one configuration.

use std::ops::Deref;

/// A dealing or an aggregate that passed every check under one [`Config`](crate::Config). The private
/// fields ensure it: a value is made only by [`verify`](crate::verify()),
/// [`Aggregate::verify`](crate::Aggregate::verify) and by adding checked values.
///
/// ```compile_fail,E0451
/// # fn forge(dealing: prefinal_pvss_dkg::Dealing) -> prefinal_pvss_dkg::Accepted<prefinal_pvss_dkg::Dealing> {
/// prefinal_pvss_dkg::Accepted { value: dealing, config: [0; 32] }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted<T> {
    value: T,
    config: [u8; 32],
}

impl<T> Accepted<T> {
    /// `config` is the digest of the configuration that the caller has just checked against.
    pub(crate) const fn new(value: T, config: [u8; 32]) -> Self {
        Self { value, config }
    }

    /// The digest of the configuration under which the value was checked.
    #[must_use]
    pub const fn config_digest(&self) -> &[u8; 32] {
        &self.config
    }

    /// Returns the value, which is then no longer marked as checked.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T> Deref for Accepted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
