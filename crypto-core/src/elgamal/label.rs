//! What a ciphertext is for.
//!
//! A label travels in the open beside the ciphertext, and the ciphertext is valid under this label
//! alone. Whoever wants a transaction opened at its slot labels it with the slot; a copy under the
//! label of an earlier slot does not validate, so nobody gives a share for it.
use alloc::vec::Vec;

use crate::context::{Context, Slot};

/// Bytes that a ciphertext is bound to.
///
/// ```compile_fail,E0308
/// use crypto_core::elgamal::Label;
/// let label: Label = vec![7_u8];
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(Vec<u8>);

/// A label that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("label has {got} bytes, at most {max} are allowed")]
pub struct LabelError {
    /// Bytes given.
    pub got: usize,
    /// Bytes allowed.
    pub max: usize,
}

impl Label {
    /// The most bytes of a label.
    pub const MAX: usize = 1024;

    /// The label of a slot: chain (32 bytes) ‖ epoch (8, big-endian) ‖ slot (8, big-endian).
    #[must_use]
    pub fn slot(context: &Context, slot: Slot) -> Self {
        Self([context.to_bytes().as_slice(), &slot.get().to_be_bytes()].concat())
    }

    /// A label of the caller's own making, which must then say chain and epoch itself.
    ///
    /// # Errors
    /// If it has more than [`Label::MAX`] bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, LabelError> {
        if bytes.len() > Self::MAX {
            return Err(LabelError { got: bytes.len(), max: Self::MAX });
        }
        Ok(Self(bytes.to_vec()))
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
