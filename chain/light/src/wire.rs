//! How everything is sent and stored: version, kind, and the Borsh encoding of the object.
//!
//! ```text
//! object = 0x01 ‖ kind ‖ body
//! ```
//!
//! | kind | object | body |
//! |---|---|---|
//! | 1 | [`Waypoint`] | chain (32) ‖ epoch ‖ first slot ‖ committee (32) |
//! | 2 | [`MemberList`] | count ‖ (key (96) ‖ possession (48) ‖ stake (16)) … |
//! | 3 | [`EpochEnding`] | block ‖ first slot ‖ count ‖ (place ‖ `0` ‖ stake (16), or `1` ‖ member) … ‖ path |
//! | 4 | [`StakeProof`] | chain (32) ‖ count ‖ ending … ‖ block ‖ count ‖ claim … |
//! | 5 | [`KeyProof`] | chain (32) ‖ block ‖ count ‖ claim … |
//! | 6 | [`VufEpoch`] | chain (32) ‖ epoch ‖ first slot ‖ committee (32) ‖ key (32) |
//! | 7 | [`VufKeys`] | count ‖ weight (4) … ‖ keys ‖ (`0`, or `1` ‖ keys) |
//! | 8 | [`VufHandover`] | first slot ‖ count ‖ changes as in kind 3 ‖ key (32) ‖ certificate |
//! | 9 | [`VufProof`] | epoch ‖ slot ‖ path (`0` slow, `1` fast) ‖ count ‖ (party (4) ‖ partial (96)) … |
//!
//! | part | bytes |
//! |---|---|
//! | block | epoch ‖ slot ‖ value (32) ‖ state's root (32) ‖ receipts' root (32) ‖ certificate |
//! | certificate | of stake: count ‖ bitmap ‖ signature (48); of a key: signature (48) |
//! | claim | `0` ‖ row's key (32) ‖ (`0`, or `1` ‖ count ‖ value) ‖ path, or `1` ‖ transaction's hash (32) ‖ count ‖ receipt ‖ position ‖ length ‖ count ‖ hash (32) … |
//! | keys | threshold (4) ‖ count ‖ public share (96) … ‖ count ‖ (party (4) ‖ blinded key) … |
//! | blinded key | `π` (48) ‖ proof (80) ‖ count ‖ `ρ` (48) … |
//! | path | (`0`, `1`, or `2` ‖ key (32) ‖ hash (32)) ‖ count ‖ hash (32) … |
//!
//! Numbers of epochs and slots have 8 bytes, counts, places, positions and lengths 4, little-endian, as Borsh has
//! them. An object has one encoding. Decoding shows that points are in their groups and nothing else; it costs a
//! subgroup check for each, and no more memory than a small multiple of the bytes.
use alloc::string::ToString;
use alloc::vec::Vec;

use borsh::{BorshDeserialize, BorshSerialize};

use crate::epoch::{EpochEnding, Waypoint};
use crate::error::LightWireError;
use crate::members::MemberList;
use crate::proof::{KeyProof, StakeProof};
use crate::vuf::{VufEpoch, VufHandover, VufKeys, VufProof};

/// The version of the format. There is only this one.
pub const VERSION: u8 = 1;

/// The most bytes of an object. A chain with more endings is followed in several proofs.
pub const MAX_BYTES: usize = 16 << 20;

/// An object that is sent or stored on its own.
///
/// ```
/// use prefinal_light::{LightObject, LightWireError, MemberList, Waypoint};
/// let bytes = MemberList::default().to_wire();
/// assert_eq!(MemberList::from_wire(&bytes)?, MemberList::default());
/// assert_eq!(Waypoint::from_wire(&bytes), Err(LightWireError::Kind { expected: 1, got: 2 }));
/// # Ok::<(), LightWireError>(())
/// ```
pub trait LightObject: BorshSerialize + BorshDeserialize {
    /// The kind in the second byte.
    const KIND: u8;

    /// The encoding: version, kind and body.
    #[must_use]
    fn to_wire(&self) -> Vec<u8> {
        let mut out = alloc::vec![VERSION, Self::KIND];
        // This fails only for a list with more than 2³² items.
        let _ = self.serialize(&mut out);
        out
    }

    /// Decodes an object, which must use all of the bytes.
    ///
    /// # Errors
    /// [`LightWireError`] says what is wrong.
    fn from_wire(bytes: &[u8]) -> Result<Self, LightWireError> {
        let got = bytes.len();
        if got > MAX_BYTES {
            return Err(LightWireError::TooLong { got, most: MAX_BYTES });
        }
        let Some(([version, kind], body)) = bytes.split_first_chunk::<2>() else {
            return Err(LightWireError::Truncated { got });
        };
        if *version != VERSION {
            return Err(LightWireError::Version { got: *version });
        }
        if *kind != Self::KIND {
            return Err(LightWireError::Kind { expected: Self::KIND, got: *kind });
        }
        borsh::from_slice(body)
            .map_err(|error| LightWireError::Malformed { why: error.to_string() })
    }
}

impl LightObject for Waypoint {
    const KIND: u8 = 1;
}

impl LightObject for MemberList {
    const KIND: u8 = 2;
}

impl LightObject for EpochEnding {
    const KIND: u8 = 3;
}

impl LightObject for StakeProof {
    const KIND: u8 = 4;
}

impl LightObject for KeyProof {
    const KIND: u8 = 5;
}

impl LightObject for VufEpoch {
    const KIND: u8 = 6;
}

impl LightObject for VufKeys {
    const KIND: u8 = 7;
}

impl LightObject for VufHandover {
    const KIND: u8 = 8;
}

impl LightObject for VufProof {
    const KIND: u8 = 9;
}
