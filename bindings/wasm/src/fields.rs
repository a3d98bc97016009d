//! Lists, as JavaScript lays them out.
use prefinal_crypto_core::wire::{Reader, Truncated};
use wasm_bindgen::JsValue;

use crate::error::raise_code;

/// Takes fields of fixed length off the front.
pub(crate) struct Fields<'a>(Reader<'a>);

impl<'a> Fields<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(Reader::new(bytes))
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], JsValue> {
        self.0.array().map_err(short)
    }
}

#[cfg(feature = "verifier")]
impl<'a> Fields<'a> {
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], JsValue> {
        self.0.take(length).map_err(short)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, JsValue> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u128(&mut self) -> Result<u128, JsValue> {
        self.array().map(u128::from_le_bytes)
    }

    /// So many bytes as the next number says.
    #[cfg(feature = "full")]
    pub(crate) fn sized(&mut self) -> Result<&'a [u8], JsValue> {
        let length = self.u32()?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }
}

/// 32 bytes of one argument.
pub(crate) fn hash(bytes: &[u8]) -> Result<[u8; 32], JsValue> {
    Fields::new(bytes).array()
}

fn short(_: Truncated) -> JsValue {
    raise_code("truncated", "a list of records ends too early")
}
