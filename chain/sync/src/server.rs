//! Answers what peers ask for.
//!
//! An answer is read, encoded and compressed once for all that ask for the same, as long as it is in the cache.
//! Followers divide heights and keys alike, so that they do. What costs a server something is bounded in each request; how
//! many requests a peer may make is the host's matter, who knows its links.
use std::sync::Arc;

use prefinal_state::RangeLimits;

use crate::cache::{AnswerCache, CacheCounts};
use crate::source::Source;
use crate::wire::{
    Answer, Ask, BlockAsk, BlockItem, Compression, MAX_ITEMS, MAX_PAYLOAD, Payload, RangeAsk,
    Request, WireError,
};

/// What a server allows for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Most bytes of a payload before compression, whatever is asked for; at most [`MAX_PAYLOAD`].
    pub payload_bytes: u32,
    /// Most blocks of an answer.
    pub blocks: u32,
    /// Most rows of an answer.
    pub rows: usize,
    /// Bytes of answers that are kept for the next one who asks.
    pub cache_bytes: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self { payload_bytes: 4 << 20, blocks: 256, rows: 16_384, cache_bytes: 128 << 20 }
    }
}

/// Why a request is not answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError<E> {
    /// The peer's request cannot be decoded. Honest peers send none such.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// What is asked for cannot be read.
    #[error("what a peer asks for cannot be read: {0}")]
    Source(E),
}

impl<E> ServeError<E> {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Wire(error) => error.code(),
            Self::Source(_) => "input-output",
        }
    }
}

/// Answers requests from a [`Source`].
#[derive(Debug)]
pub struct Server {
    limits: ServerLimits,
    cache: AnswerCache,
}

/// A payload, and whether it will be the same when it is asked for again.
struct Read<C> {
    payload: Payload<C>,
    is_final: bool,
}

impl<C> Read<C> {
    const ABSENT: Self = Self { payload: Payload::Absent, is_final: false };

    const fn lasting(payload: Payload<C>) -> Self {
        Self { payload, is_final: true }
    }
}

impl Server {
    /// A server without answers in its cache.
    #[must_use]
    pub fn new(limits: ServerLimits) -> Self {
        let payload_bytes = limits.payload_bytes.min(MAX_PAYLOAD);
        let limits = ServerLimits { payload_bytes, ..limits };
        Self { limits, cache: AnswerCache::new(limits.cache_bytes) }
    }

    /// How often answers were found in the cache.
    #[must_use]
    pub const fn counts(&self) -> CacheCounts {
        self.cache.counts
    }

    /// Bytes of the answers in the cache.
    #[must_use]
    pub const fn cached_bytes(&self) -> usize {
        self.cache.bytes()
    }

    /// The message that answers this one.
    ///
    /// # Errors
    /// If the message is no request, or if what it asks for cannot be read.
    pub fn answer<S: Source>(
        &mut self,
        source: &S,
        message: &[u8],
    ) -> Result<Vec<u8>, ServeError<S::Error>> {
        let Request { id, accepts, ask } = Request::from_wire(message)?;
        if ask == Ask::Summary {
            return Ok(source.summary().map_err(ServeError::Source)?.to_wire());
        }
        let key = (self.bounded(ask), accepts);
        if let Some(answer) = self.cache.get(&key) {
            return Ok(answer.to_wire(id));
        }
        let Read { payload, is_final } = self.read(source, key.0).map_err(ServeError::Source)?;
        let answer = Arc::new(self.encode(&payload, accepts));
        if is_final {
            self.cache.put(key, &answer);
        }
        Ok(answer.to_wire(id))
    }

    /// What is asked for, as far as it is allowed.
    fn bounded(&self, ask: Ask) -> Ask {
        let most = self.limits.payload_bytes;
        match ask {
            Ask::Blocks(ask) => Ask::Blocks(BlockAsk {
                count: ask.count.min(self.limits.blocks),
                bytes: ask.bytes.min(most),
                ..ask
            }),
            Ask::Range(ask) => Ask::Range(RangeAsk { bytes: ask.bytes.min(most), ..ask }),
            other => other,
        }
    }

    /// An item that is larger than is allowed cannot be served.
    fn encode<C: prefinal_execution::StateCertificate>(
        &self,
        payload: &Payload<C>,
        accepts: Compression,
    ) -> Answer {
        let answer = Answer::of(payload, accepts);
        match answer.plain_bytes() > self.limits.payload_bytes {
            true => Answer::of(&Payload::<C>::Absent, Compression::None),
            false => answer,
        }
    }

    fn read<S: Source>(&self, source: &S, ask: Ask) -> Result<Read<S::Certificate>, S::Error> {
        let read = match ask {
            Ask::Summary => None,
            Ask::Blocks(ask) => Some(blocks(source, &ask)?),
            Ask::Anchor(height) => {
                source.anchor(height)?.map(|found| Read::lasting(Payload::Anchor(Box::new(found))))
            }
            Ask::Range(ask) => self.range(source, &ask)?.map(Read::lasting),
            Ask::Ending(epoch) => {
                let ending = source.ending(epoch)?.map(Box::new);
                ending.map(Payload::Ending).map(Read::lasting)
            }
        };
        Ok(read.unwrap_or(Read::ABSENT))
    }

    fn range<S: Source>(
        &self,
        source: &S,
        ask: &RangeAsk,
    ) -> Result<Option<Payload<S::Certificate>>, S::Error> {
        if ask.keys.first > ask.keys.last {
            return Ok(None);
        }
        let bytes = usize::try_from(ask.bytes).unwrap_or(usize::MAX).saturating_sub(RANGE_PROOF);
        // Four bytes of a row are its length.
        let limits = RangeLimits { rows: self.limits.rows, bytes: bytes / 10 * 9 };
        Ok(source.range(ask.height, ask.keys, limits)?.map(Payload::Range))
    }
}

/// More bytes than the proof of a range has in any state of real size.
const RANGE_PROOF: usize = 16 << 10;

/// The blocks that fit into an answer. If it has fewer than were asked for, it has more when the chain goes on, or
/// was cut at its bytes.
fn blocks<S: Source>(source: &S, ask: &BlockAsk) -> Result<Read<S::Certificate>, S::Error> {
    let most = usize::try_from(ask.bytes).unwrap_or(usize::MAX);
    let (mut found, mut bytes, mut items, mut is_final) = (Vec::new(), 5_usize, 0_usize, true);
    for height in (0..u64::from(ask.count)).map(|at| ask.first.after(at)) {
        let Some(block) = item(source, height, ask.deltas)? else {
            is_final = false;
            break;
        };
        bytes = bytes.saturating_add(borsh::object_length(&block).unwrap_or(usize::MAX));
        items = items.saturating_add(block.items());
        if bytes > most || items > MAX_ITEMS {
            break;
        }
        found.push(block);
    }
    if found.is_empty() {
        return Ok(Read::ABSENT);
    }
    Ok(Read { payload: Payload::Blocks(found), is_final })
}

fn item<S: Source>(
    source: &S,
    height: prefinal_execution::Height,
    deltas: bool,
) -> Result<Option<BlockItem<S::Certificate>>, S::Error> {
    let Some(block) = source.block(height)? else { return Ok(None) };
    let delta = if deltas { source.delta(height)? } else { None };
    // Who asks without deltas executes the block.
    if (deltas && delta.is_none()) || (!deltas && !source.is_executable(&block)) {
        return Ok(None);
    }
    Ok(Some(BlockItem {
        header: block.header,
        roots: block.roots,
        attestation: block.certificate,
        transactions: block.transactions,
        delta,
    }))
}
