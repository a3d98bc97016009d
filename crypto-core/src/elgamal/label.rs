//! Labels: the purpose of a ciphertext, usually a slot.
//!
//! A label is sent unencrypted beside the ciphertext, and the ciphertext is valid only under this
//! label. A user that wants a transaction to be opened at its slot labels it with the slot. A copy
//! under the label of an earlier slot does not validate, so no honest party gives a decryption share
//! for it.
use alloc::vec::Vec;

use crate::context::{Context, Slot};

/// A label: public bytes that a ciphertext is bound to.
///
/// ```compile_fail,E0308
/// use prefinal_crypto_core::elgamal::Label;
/// let label: Label = vec![7_u8];
/// ```
///
/// ```
/// use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
/// use prefinal_crypto_core::elgamal::Label;
/// let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(3) };
/// let label = Label::slot(&context, Slot::new(9));
/// assert_eq!(label.as_bytes().len(), 32 + 8 + 8);
/// assert!(Label::new(&[0; 2000]).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(Vec<u8>);

/// The label is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("label has {got} bytes, at most {max} are allowed")]
pub struct LabelError {
    /// Length of the given label in bytes.
    pub got: usize,
    /// Greatest allowed length in bytes.
    pub max: usize,
}

impl LabelError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "too-long"
    }
}

impl Label {
    /// Greatest length of a label in bytes.
    pub const MAX: usize = 1024;

    /// The label of a slot: chain (32 bytes) ‖ epoch (8, big-endian) ‖ slot (8, big-endian).
    #[must_use]
    pub fn slot(context: &Context, slot: Slot) -> Self {
        Self([context.to_bytes().as_slice(), &slot.get().to_be_bytes()].concat())
    }

    /// A label with bytes of the caller's choice. The bytes must contain chain and epoch themselves.
    ///
    /// # Errors
    /// If it has more than [`Label::MAX`] bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, LabelError> {
        if bytes.len() > Self::MAX {
            return Err(LabelError { got: bytes.len(), max: Self::MAX });
        }
        Ok(Self(bytes.to_vec()))
    }

    /// The bytes of the label.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
