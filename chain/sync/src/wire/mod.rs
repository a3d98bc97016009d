//! What peers say to each other. The host carries it, in whole messages, over whatever links it has.
//!
//! ```text
//! message = 0x01 ‖ kind ‖ body
//! ```
//! | kind | message | body |
//! |---|---|---|
//! | 1 | [`Summary`] | heights of blocks (17 or 1) ‖ count ‖ height of a snapshot … ‖ epoch ‖ hops |
//! | 2 | [`Request`] | number (8) ‖ compression that is understood (1) ‖ what is asked for |
//! | 3 | [`Answer`] | number (8) ‖ compression (1) ‖ length before compression (4) ‖ payload |
//!
//! Numbers are little-endian, as Borsh has them. Every list says its length first, and a message may have at most
//! [`MAX_ITEMS`] items in all its lists together: what says more is refused before memory is taken. What a
//! decoder takes is bounded by the message's bytes and this number.
mod answer;
mod reader;
mod request;

use borsh::{BorshDeserialize, BorshSerialize};

pub(crate) use self::answer::AnswerHead;
pub use self::answer::{Answer, BlockItem, Compression, Payload};
pub use self::request::{Ask, BlockAsk, HeightRange, RangeAsk, Request, RequestId, Summary};

/// The version of the format. There is only this one.
pub const VERSION: u8 = 1;

/// Most bytes of a payload before compression. A chain's blocks must fit with their deltas.
pub const MAX_PAYLOAD: u32 = 16 << 20;

/// Most items in the lists of a message.
pub const MAX_ITEMS: usize = 1 << 16;

/// Most snapshots in a summary.
pub const MAX_SNAPSHOTS: usize = 8;

/// Most bytes of a summary or a request.
pub const MAX_SMALL: usize = 256;

/// What an answer has before its payload.
pub const ANSWER_HEAD: usize = 15;

/// Why a message is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// Another version of the format.
    #[error("version {got} of the format, {VERSION} is known")]
    Version {
        /// The version in the message.
        got: u8,
    },
    /// A kind that is not expected here.
    #[error("no message of kind {got} is expected here")]
    Kind {
        /// The kind in the message.
        got: u8,
    },
    /// More bytes than are allowed.
    #[error("{got} bytes, at most {most} are allowed")]
    TooLong {
        /// The bytes that there are, or are announced.
        got: usize,
        /// The most that are allowed.
        most: usize,
    },
    /// More items than are allowed.
    #[error("a list of {got} items, at most {most} are allowed here")]
    TooMany {
        /// The items that are announced.
        got: usize,
        /// The most that are allowed.
        most: usize,
    },
    /// The payload does not decompress to what it announces.
    #[error("the payload does not decompress to its length")]
    Compression,
    /// The bytes are not an encoding.
    #[error("malformed: {why}")]
    Malformed {
        /// What the decoder says.
        why: String,
    },
}

impl WireError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Version { .. } => "wrong-version",
            Self::Kind { .. } => "wrong-kind",
            Self::TooLong { .. } => "too-long",
            Self::TooMany { .. } => "count-too-large",
            Self::Compression | Self::Malformed { .. } => "malformed-message",
        }
    }

    fn malformed(error: &std::io::Error) -> Self {
        Self::Malformed { why: error.to_string() }
    }
}

/// The kinds of messages.
const SUMMARY: u8 = 1;
const REQUEST: u8 = 2;
const ANSWER: u8 = 3;

/// A message by its kind, without a look into an answer's payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Received<'a> {
    Summary(Summary),
    Answer(AnswerHead, &'a [u8]),
}

/// The payload of an answer before compression, for who has kept answers. Payloads of more than `most` bytes are refused.
///
/// # Errors
/// If it is no answer, or its payload is not as long as it says.
pub fn payload_of(answer: &[u8], most: u32) -> Result<Vec<u8>, WireError> {
    match received(answer)? {
        Received::Answer(head, payload) => head.decompress(payload, most),
        Received::Summary(_) => Err(WireError::Kind { got: SUMMARY }),
    }
}

/// What a follower is sent.
pub(crate) fn received(bytes: &[u8]) -> Result<Received<'_>, WireError> {
    match split(bytes)? {
        (SUMMARY, body) => Summary::decode(body).map(Received::Summary),
        (ANSWER, body) => {
            let (head, payload) = AnswerHead::decode(body)?;
            Ok(Received::Answer(head, payload))
        }
        (got, _) => Err(WireError::Kind { got }),
    }
}

/// The kind and the body of a message.
fn split(bytes: &[u8]) -> Result<(u8, &[u8]), WireError> {
    let malformed = || WireError::Malformed { why: "shorter than a message".to_owned() };
    let ([version, kind], body) = bytes.split_first_chunk::<2>().ok_or_else(malformed)?;
    if *version != VERSION {
        return Err(WireError::Version { got: *version });
    }
    Ok((*kind, body))
}

/// A small message of this kind.
fn message(kind: u8, body: &impl BorshSerialize) -> Vec<u8> {
    let mut bytes = vec![VERSION, kind];
    // Writing to memory does not fail.
    let _ = body.serialize(&mut bytes);
    bytes
}

/// A small message of this kind, decoded.
fn small<T: BorshDeserialize>(kind: u8, bytes: &[u8]) -> Result<T, WireError> {
    match split(bytes)? {
        (got, _) if got != kind => Err(WireError::Kind { got }),
        (_, body) if body.len() > MAX_SMALL => {
            Err(WireError::TooLong { got: body.len(), most: MAX_SMALL })
        }
        (_, body) => T::try_from_slice(body).map_err(|error| WireError::malformed(&error)),
    }
}
