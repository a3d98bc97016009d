//! What a peer has, and what it is asked for.
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_execution::Height;
use prefinal_protocol::EpochId;
use prefinal_state::proof::KeyRange;

use super::reader::Reader;
use super::{Compression, MAX_SNAPSHOTS, REQUEST, SUMMARY, WireError, message, small, split};

/// The heights from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct HeightRange {
    /// The lowest of the heights.
    pub first: Height,
    /// The highest of the heights.
    pub last: Height,
}

impl HeightRange {
    /// Whether the height is in the range.
    #[must_use]
    pub fn contains(&self, height: Height) -> bool {
        height >= self.first && height <= self.last
    }
}

/// What a peer says that it has. Nobody can show that it is true: what it leads to is verified, and a peer that
/// does not have it is asked less.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Summary {
    /// The heights of its blocks.
    pub blocks: Option<HeightRange>,
    /// The same of its deltas, which it may keep for a shorter time.
    pub deltas: Option<HeightRange>,
    /// Heights of whole states, ascending. At most [`MAX_SNAPSHOTS`].
    pub snapshots: Vec<Height>,
    /// The last epoch that one of its endings leads to.
    pub epoch: EpochId,
    /// Its distance to the validators, in peers that pass blocks on; 0 for a validator.
    pub hops: u8,
}

impl Summary {
    /// The message as it is sent, with version and kind.
    #[must_use]
    pub fn to_wire(&self) -> Vec<u8> {
        message(SUMMARY, self)
    }

    pub(super) fn decode(body: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(body);
        let (blocks, deltas) = (reader.value()?, reader.value()?);
        let snapshots = reader.list(Reader::value)?;
        if snapshots.len() > MAX_SNAPSHOTS {
            return Err(WireError::TooMany { got: snapshots.len(), most: MAX_SNAPSHOTS });
        }
        let (epoch, hops) = (reader.value()?, reader.value()?);
        reader.end()?;
        Ok(Self { blocks, deltas, snapshots, epoch, hops })
    }

    /// Reads a summary from a message.
    ///
    /// # Errors
    /// If it is no summary.
    pub fn from_wire(bytes: &[u8]) -> Result<Self, WireError> {
        match split(bytes)? {
            (SUMMARY, body) => Self::decode(body),
            (got, _) => Err(WireError::Kind { got }),
        }
    }
}

/// The number of a request among those of one follower; its answer has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct RequestId(u64);

impl RequestId {
    /// The request of this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number that the request and its answer carry.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Asks for blocks, in the order of their heights. The answer may have fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct BlockAsk {
    /// The height of the first block.
    pub first: Height,
    /// The most blocks that the answer may have.
    pub count: u32,
    /// Whether deltas are wanted too.
    pub deltas: bool,
    /// Most bytes of the payload, before compression.
    pub bytes: u32,
}

/// Asks for a range of a state. The answer may end earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct RangeAsk {
    /// The height of the block that leaves the state.
    pub height: Height,
    /// The keys between which rows are wanted.
    pub keys: KeyRange,
    /// Most bytes of the payload, before compression.
    pub bytes: u32,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub enum Ask {
    /// What the peer has. Answered by a [`Summary`], without a number.
    Summary,
    /// Blocks, with deltas or without.
    Blocks(BlockAsk),
    /// A certified block without its transactions, whose state is to be fetched.
    Anchor(Height),
    /// A range of a state.
    Range(RangeAsk),
    /// What leads from this epoch to the next one.
    Ending(EpochId),
}

/// What a follower wants of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Request {
    /// Names the request, and its answer.
    pub id: RequestId,
    /// The compression that the asker understands, besides none.
    pub accepts: Compression,
    /// What is asked for.
    pub ask: Ask,
}

impl Request {
    /// The message as it is sent, with version and kind.
    #[must_use]
    pub fn to_wire(&self) -> Vec<u8> {
        message(REQUEST, self)
    }

    /// Reads a request from a message.
    ///
    /// # Errors
    /// If it is no request.
    pub fn from_wire(bytes: &[u8]) -> Result<Self, WireError> {
        small(REQUEST, bytes)
    }
}
