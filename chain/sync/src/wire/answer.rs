//! Answers: blocks, deltas, ranges and endings.
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_execution::{Header, Roots, StateCertificate};
use prefinal_light::EpochEnding;
use prefinal_state::proof::{RangeProof, StateRange, StateRow};
use prefinal_state::{BlockDelta, RowChange, SnapshotBlock, TransactionResult};

use super::reader::Reader;
use super::{ANSWER, MAX_ITEMS, MAX_PAYLOAD, RequestId, VERSION, WireError};
use crate::trust::Attestation;

/// How a payload is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub enum Compression {
    /// The payload is sent as it is.
    None,
    /// By the block format of LZ4.
    Lz4,
}

/// A block on its way. Nothing of it is checked yet.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize)]
pub struct BlockItem<C> {
    /// Its place in the chain.
    pub header: Header,
    /// The roots of the state and the receipts that it leaves.
    pub roots: Roots,
    /// What shows the roots and the name.
    pub attestation: Attestation<C>,
    /// The transactions, each as it is encoded.
    pub transactions: Vec<Vec<u8>>,
    /// What it changes, if that was asked for.
    pub delta: Option<BlockDelta>,
}

/// The content of an answer.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize)]
pub enum Payload<C> {
    /// The peer does not have it.
    Absent,
    /// Blocks, in the order of their heights.
    Blocks(Vec<BlockItem<C>>),
    /// A certified block without its transactions.
    Anchor(Box<SnapshotBlock<Attestation<C>>>),
    /// A range of a state.
    Range(StateRange),
    /// What leads to the next epoch.
    Ending(Box<EpochEnding>),
}

impl<C: StateCertificate> Payload<C> {
    /// Decodes a payload that is not compressed, which must use all of the bytes.
    ///
    /// # Errors
    /// If it is none.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(bytes);
        let payload = match reader.value::<u8>()? {
            0 => Self::Absent,
            1 => Self::Blocks(reader.list(block)?),
            2 => Self::Anchor(reader.value()?),
            3 => Self::Range(range(&mut reader)?),
            4 => Self::Ending(reader.value()?),
            got => return Err(WireError::Kind { got }),
        };
        reader.end()?;
        // Lists that are decoded as parts of values. They are no longer than the payload.
        let (got, most) = (payload.items(), MAX_ITEMS);
        if got > most {
            return Err(WireError::TooMany { got, most });
        }
        Ok(payload)
    }

    /// How many items the lists of the payload have together, as its decoder counts them.
    #[must_use]
    pub fn items(&self) -> usize {
        match self {
            Self::Blocks(blocks) => blocks.iter().map(BlockItem::items).sum(),
            Self::Range(range) => range.rows.len().saturating_add(range.proof.nodes.len()),
            Self::Anchor(anchor) => siblings(&anchor.certificate),
            Self::Ending(ending) => {
                let changes = ending.changes.places.len();
                changes.saturating_add(ending.proof.siblings.len())
            }
            Self::Absent => 0,
        }
    }
}

impl<C> BlockItem<C> {
    /// As [`Payload::items`], with the block itself.
    #[must_use]
    pub fn items(&self) -> usize {
        let delta = self.delta.as_ref();
        let delta =
            delta.map_or(0, |delta| delta.changes.len().saturating_add(delta.results.len()));
        let lists = self.transactions.len().saturating_add(siblings(&self.attestation));
        lists.saturating_add(delta).saturating_add(1)
    }
}

/// What shows the place of a block is as long as its list.
fn siblings<C>(attestation: &Attestation<C>) -> usize {
    attestation.place.as_ref().map_or(0, |place| place.siblings.len())
}

fn block<C: StateCertificate>(reader: &mut Reader<'_>) -> Result<BlockItem<C>, WireError> {
    Ok(BlockItem {
        header: reader.value()?,
        roots: reader.value()?,
        attestation: reader.value()?,
        transactions: reader.list(Reader::bytes)?,
        delta: reader.option(delta)?,
    })
}

fn delta(reader: &mut Reader<'_>) -> Result<BlockDelta, WireError> {
    let changes = reader.list(|reader| {
        Ok(RowChange { key: reader.value()?, value: reader.option(Reader::bytes)? })
    })?;
    let results = reader.list(|reader| {
        Ok(TransactionResult { transaction: reader.value()?, receipt: reader.bytes()? })
    })?;
    Ok(BlockDelta { changes, results })
}

fn range(reader: &mut Reader<'_>) -> Result<StateRange, WireError> {
    let keys = reader.value()?;
    let rows =
        reader.list(|reader| Ok(StateRow { key: reader.value()?, value: reader.bytes()? }))?;
    let nodes = reader.list(Reader::value)?;
    Ok(StateRange { keys, rows, proof: RangeProof { nodes } })
}

/// What an answer has before its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct AnswerHead {
    pub(crate) id: RequestId,
    pub(crate) compression: Compression,
    /// Bytes of the payload before compression.
    pub(crate) length: u32,
}

impl AnswerHead {
    pub(super) fn decode(body: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut rest = body;
        let head = Self::deserialize(&mut rest).map_err(|error| WireError::malformed(&error))?;
        Ok((head, rest))
    }

    /// The payload before compression, at most `most` bytes of it.
    pub(crate) fn decompress(&self, payload: &[u8], most: u32) -> Result<Vec<u8>, WireError> {
        let most = usize::try_from(most.min(MAX_PAYLOAD)).unwrap_or(usize::MAX);
        let length = usize::try_from(self.length).unwrap_or(usize::MAX);
        if length > most {
            return Err(WireError::TooLong { got: length, most });
        }
        let whole = match self.compression {
            Compression::None => payload.to_vec(),
            Compression::Lz4 => {
                lz4_flex::block::decompress(payload, length).map_err(|_| WireError::Compression)?
            }
        };
        if whole.len() != length {
            return Err(WireError::Compression);
        }
        Ok(whole)
    }
}

/// An answer, as a server has it in its cache: all but the number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    compression: Compression,
    length: u32,
    payload: Vec<u8>,
}

impl Answer {
    /// The answer of a payload, compressed if that is accepted and makes it shorter.
    #[must_use]
    pub fn of<C: StateCertificate>(payload: &Payload<C>, accepts: Compression) -> Self {
        let mut plain = Vec::new();
        // Writing to memory does not fail.
        let _ = payload.serialize(&mut plain);
        let length = u32::try_from(plain.len()).unwrap_or(u32::MAX);
        if accepts == Compression::Lz4 {
            let packed = lz4_flex::block::compress(&plain);
            if packed.len() < plain.len() {
                return Self { compression: Compression::Lz4, length, payload: packed };
            }
        }
        Self { compression: Compression::None, length, payload: plain }
    }

    /// The encoded message, for the request with this number.
    #[must_use]
    pub fn to_wire(&self, id: RequestId) -> Vec<u8> {
        let Self { compression, length, ref payload } = *self;
        let mut bytes = Vec::with_capacity(self.bytes());
        bytes.extend([VERSION, ANSWER]);
        let _ = AnswerHead { id, compression, length }.serialize(&mut bytes);
        bytes.extend(payload);
        bytes
    }

    /// The length of the encoded message.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.payload.len().saturating_add(super::ANSWER_HEAD)
    }

    /// The length of the payload before compression.
    #[must_use]
    pub const fn plain_bytes(&self) -> u32 {
        self.length
    }
}
