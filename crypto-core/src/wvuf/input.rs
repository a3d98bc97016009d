//! The input of the function, and one party's evaluation of it.
//!
//! `m` = chain (32 bytes) ‖ epoch (8, big-endian) ‖ slot (8, big-endian) ‖ `0`, or `1` ‖ value (32).
//! All lengths are fixed, so two inputs never share a message. The view is left out on purpose: two
//! parties may finalize one slot in different views and must still get the same output.
use alloc::vec::Vec;

use borsh::io::{Read, Result as IoResult};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::context::{Context, Slot};
use crate::curve::hazmat::hash_to_g2;
use crate::curve::{DecodeError, G2Affine, Tag};

const TAG: Tag<'_> = Tag::new(b"PREFINAL-V1-WVUF-INPUT_BLS12381G2_XMD:SHA-256_SSWU_RO_");

/// A slot, with or without its value, as a point of 𝔾₂. Both paths use the same input.
///
/// ```
/// use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
/// use prefinal_crypto_core::wvuf::Input;
/// let chain = ChainId::new(*b"an identifier of 32 bytes, so so");
/// let in_epoch = |epoch| Context { chain, epoch: EpochId::new(epoch) };
/// let input = Input::new(&in_epoch(3), Slot::new(9), None);
/// assert_eq!(input.slot(), Slot::new(9));
/// assert!(input.point() != Input::new(&in_epoch(4), Slot::new(9), None).point());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    context: Context,
    slot: Slot,
    value: Option<[u8; 32]>,
    point: G2Affine,
}

impl Input {
    /// Hashes a slot of this chain and epoch to the curve. Give the value if outputs depend on it.
    #[must_use]
    pub fn new(context: &Context, slot: Slot, value: Option<[u8; 32]>) -> Self {
        let point = hash_to_g2(&message(context, slot, value), TAG);
        Self { context: *context, slot, value, point }
    }

    /// The chain and the epoch of the slot.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The slot that is evaluated.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// The slot's value, if outputs depend on it.
    #[must_use]
    pub fn value(&self) -> Option<[u8; 32]> {
        self.value
    }

    /// The hashed input `H(m)`.
    #[must_use]
    pub fn point(&self) -> G2Affine {
        self.point
    }
}

fn message(context: &Context, slot: Slot, value: Option<[u8; 32]>) -> Vec<u8> {
    let mut message = context.to_bytes().to_vec();
    message.extend_from_slice(&slot.get().to_be_bytes());
    message.push(u8::from(value.is_some()));
    message.extend_from_slice(value.as_ref().map_or(&[], |value| value.as_slice()));
    message
}

/// One party's evaluation of an input: `σᵢ = H(m)^(1/rᵢ)`, 96 bytes whatever its weight. A decoded
/// partial is never the identity.
///
/// ```compile_fail,E0308
/// use prefinal_crypto_core::{curve::G2Affine, wvuf::Partial};
/// let partial: Partial = G2Affine::generator();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize)]
pub struct Partial(G2Affine);

impl Partial {
    pub(crate) fn new(point: G2Affine) -> Self {
        Self(point)
    }

    pub(crate) fn point(&self) -> G2Affine {
        self.0
    }
}

impl BorshDeserialize for Partial {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        let point = G2Affine::deserialize_reader(reader)?;
        if point.is_identity() {
            return Err(DecodeError::Identity.into());
        }
        Ok(Self(point))
    }
}
