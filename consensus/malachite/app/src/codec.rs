//! How messages are written for the network and the write-ahead log: a version byte, then Borsh.
//!
//! What comes from a peer is bounded before Malachite sees it. A frame is not longer than a block or an
//! extension allows, so decoding allocates no more than a small multiple of that; the shape is checked by
//! [`Message::check_shape`]. Signatures are checked later, in [`crate::keys`].
//!
//! | from a peer      | type                                  | limit                          |
//! |------------------|---------------------------------------|--------------------------------|
//! | vote, proposal   | [`SignedConsensusMsg`]                | [`WireLimits::frame`]          |
//! | liveness         | [`LivenessMsg`]                       | [`WireLimits::frame`]          |
//! | status, request  | [`Status`], [`Request`]               | [`SMALL`]                      |
//! | response         | [`Response`]                          | [`WireLimits::response`]       |
//! | peer's proof     | [`ValidatorProof`]                    | [`SMALL`]                      |
//! | proposal part    | none: blocks travel in proposals      | refused                        |
use std::convert::Infallible;
use std::io;

use borsh::{BorshDeserialize, BorshSerialize};
use bytes::Bytes;
use malachitebft_app_channel::app::streaming::{StreamContent, StreamMessage};
use malachitebft_app_channel::app::types::codec::{Codec, HasEncodedLen};
use malachitebft_core_consensus::{LivenessMsg, ProposedValue, SignedConsensusMsg};
use malachitebft_core_types::{NilOrVal, PolkaCertificate, Round, ValidatorProof, VoteType};
use malachitebft_sync::{PeerId, RawDecidedValue, Request, Response, Status, ValueResponse};
use prefinal_malachite::{
    Address, Block, BlockId, Decision, Height, Limits, Message, ShapeError, Signature, Tendermint,
};
use tokio::sync::mpsc::UnboundedSender;

use crate::options::{Options, TRANSACTION_OVERHEAD};

/// The first byte of each message.
const VERSION: u8 = 1;
/// Longest status, request and proof, in bytes.
const SMALL: usize = 1 << 10;
/// Most members that a certificate can have signatures of.
const MAX_MEMBERS: usize = 1 << 12;

/// Why bytes are not a message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// There are no bytes.
    #[error("empty message")]
    Empty,
    /// The message has another version.
    #[error("message of version {got}, this is version {VERSION}")]
    Version {
        /// Its version.
        got: u8,
    },
    /// The message is too long.
    #[error("message of {got} bytes, at most {most} are taken")]
    Length {
        /// Its length in bytes.
        got: usize,
        /// The greatest length.
        most: usize,
    },
    /// The bytes are not of the type that is expected.
    #[error("garbled message")]
    Garbled(#[source] io::Error),
    /// The message cannot be right, no matter which peer sent it.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The message is a part of a block. Here blocks travel whole.
    #[error("a part of a block, where blocks travel whole")]
    Part,
}

impl CodecError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Empty => "truncated",
            Self::Version { .. } => "wrong-version",
            Self::Length { .. } => "too-long",
            Self::Garbled(_) => "malformed",
            Self::Shape(error) => error.code(),
            Self::Part => "block-part",
        }
    }
}

/// Limits of messages from peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireLimits {
    /// Longest vote, proposal or certificate, in bytes.
    pub frame: usize,
    /// Longest answer to a request for blocks, in bytes.
    pub response: usize,
    /// Largest block, in bytes.
    pub block: usize,
}

impl WireLimits {
    pub(crate) fn of(options: &Options) -> Self {
        let (frame, response) = (options.max_frame(), options.max_response());
        Self { frame, response, block: options.max_block_bytes }
    }

    fn shape(self) -> Limits {
        Limits { members: MAX_MEMBERS, max_block_bytes: self.block }
    }
}

/// The size of a block as limits count it: each transaction's length, and what it takes beside it.
#[must_use]
pub fn block_bytes(block: &Block) -> usize {
    let overhead = block.transactions().len().saturating_mul(TRANSACTION_OVERHEAD);
    block.payload_bytes().saturating_add(overhead)
}

/// Reads a block from the bytes that a peer sent for it.
///
/// # Errors
/// [`CodecError`] says what is wrong.
pub fn decode_block(bytes: &[u8], most: usize) -> Result<Block, CodecError> {
    let most_bytes = most.saturating_add(SMALL);
    if bytes.len() > most_bytes {
        return Err(CodecError::Length { got: bytes.len(), most: most_bytes });
    }
    let block = borsh::from_slice(bytes).map_err(CodecError::Garbled)?;
    check_block(&block, most)?;
    Ok(block)
}

/// Writes a block for a peer.
pub(crate) fn encode_block(block: &Block) -> Bytes {
    // Writing into memory cannot fail.
    borsh::to_vec(block).unwrap_or_default().into()
}

fn check_block(block: &Block, most: usize) -> Result<(), CodecError> {
    let got = block_bytes(block);
    if got > most { Err(ShapeError::Block { got, most }.into()) } else { Ok(()) }
}

fn encode(value: &impl BorshSerialize) -> Result<Bytes, CodecError> {
    let mut bytes = vec![VERSION];
    value.serialize(&mut bytes).map_err(CodecError::Garbled)?;
    Ok(bytes.into())
}

fn decode<T: BorshDeserialize>(bytes: &[u8], most: usize) -> Result<T, CodecError> {
    if bytes.len() > most {
        return Err(CodecError::Length { got: bytes.len(), most });
    }
    match bytes.split_first() {
        Some((&VERSION, rest)) => borsh::from_slice(rest).map_err(CodecError::Garbled),
        Some((&got, _)) => Err(CodecError::Version { got }),
        None => Err(CodecError::Empty),
    }
}

/// The codec of the write-ahead log. A party trusts its own log, so that lower limits in a later life do not
/// make it unreadable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogCodec;

/// The codec of messages between peers.
#[derive(Clone, Debug)]
pub struct WireCodec {
    limits: WireLimits,
    /// Told of this party's precommits of round 0 when they leave.
    voted: Option<(Address, UnboundedSender<(Height, BlockId)>)>,
}

impl WireCodec {
    /// A codec with these limits.
    #[must_use]
    pub const fn new(limits: WireLimits) -> Self {
        Self { limits, voted: None }
    }

    /// Reports the precommits of this party that are encoded. Malachite encodes a vote after the entry in
    /// the write-ahead log is durable, and never before.
    pub(crate) fn reporting(self, me: Address, voted: UnboundedSender<(Height, BlockId)>) -> Self {
        Self { voted: Some((me, voted)), ..self }
    }

    fn report(&self, message: &SignedConsensusMsg<Tendermint>) {
        let (Some((me, voted)), SignedConsensusMsg::Vote(vote)) = (&self.voted, message) else {
            return;
        };
        let vote = &vote.message;
        if let (true, VoteType::Precommit, Round::ZERO, NilOrVal::Val(block)) =
            (vote.voter == *me, vote.kind, vote.round, vote.value)
        {
            // If nobody listens any more, the engine is being stopped.
            let _ = voted.send((vote.height, block));
        }
    }

    fn check(&self, message: &Message) -> Result<(), CodecError> {
        message.check_shape(self.limits.shape())?;
        if let Message::Proposal(proposal) = message {
            check_block(&proposal.message.block, self.limits.block)?;
        }
        Ok(())
    }
}

impl Codec<SignedConsensusMsg<Tendermint>> for LogCodec {
    type Error = CodecError;

    fn decode(&self, bytes: Bytes) -> Result<SignedConsensusMsg<Tendermint>, CodecError> {
        decode(&bytes, usize::MAX)
    }

    fn encode(&self, message: &SignedConsensusMsg<Tendermint>) -> Result<Bytes, CodecError> {
        encode(message)
    }
}

impl Codec<ProposedValue<Tendermint>> for LogCodec {
    type Error = CodecError;

    fn decode(&self, bytes: Bytes) -> Result<ProposedValue<Tendermint>, CodecError> {
        decode(&bytes, usize::MAX)
    }

    fn encode(&self, value: &ProposedValue<Tendermint>) -> Result<Bytes, CodecError> {
        encode(value)
    }
}

impl Codec<PolkaCertificate<Tendermint>> for LogCodec {
    type Error = CodecError;

    fn decode(&self, bytes: Bytes) -> Result<PolkaCertificate<Tendermint>, CodecError> {
        decode(&bytes, usize::MAX)
    }

    fn encode(&self, certificate: &PolkaCertificate<Tendermint>) -> Result<Bytes, CodecError> {
        encode(certificate)
    }
}

impl Codec<SignedConsensusMsg<Tendermint>> for WireCodec {
    type Error = CodecError;

    fn decode(&self, bytes: Bytes) -> Result<SignedConsensusMsg<Tendermint>, CodecError> {
        let message = match decode(&bytes, self.limits.frame)? {
            SignedConsensusMsg::Vote(vote) => Message::Vote(vote),
            SignedConsensusMsg::Proposal(proposal) => Message::Proposal(proposal),
        };
        self.check(&message)?;
        match message {
            Message::Vote(vote) => Ok(SignedConsensusMsg::Vote(vote)),
            Message::Proposal(proposal) => Ok(SignedConsensusMsg::Proposal(proposal)),
            _ => Err(CodecError::Part),
        }
    }

    fn encode(&self, message: &SignedConsensusMsg<Tendermint>) -> Result<Bytes, CodecError> {
        self.report(message);
        encode(message)
    }
}

impl Codec<LivenessMsg<Tendermint>> for WireCodec {
    type Error = CodecError;

    fn decode(&self, bytes: Bytes) -> Result<LivenessMsg<Tendermint>, CodecError> {
        let message = match decode(&bytes, self.limits.frame)? {
            LivenessMsg::Vote(vote) => Message::Vote(vote),
            LivenessMsg::PolkaCertificate(certificate) => Message::Polka(certificate),
            LivenessMsg::SkipRoundCertificate(certificate) => Message::Round(certificate),
        };
        self.check(&message)?;
        match message {
            Message::Vote(vote) => Ok(LivenessMsg::Vote(vote)),
            Message::Polka(certificate) => Ok(LivenessMsg::PolkaCertificate(certificate)),
            Message::Round(certificate) => Ok(LivenessMsg::SkipRoundCertificate(certificate)),
            _ => Err(CodecError::Part),
        }
    }

    fn encode(&self, message: &LivenessMsg<Tendermint>) -> Result<Bytes, CodecError> {
        encode(message)
    }
}

/// Nobody can send a part of a block, because there are none.
impl Codec<Infallible> for WireCodec {
    type Error = CodecError;

    fn decode(&self, _: Bytes) -> Result<Infallible, CodecError> {
        Err(CodecError::Part)
    }

    fn encode(&self, part: &Infallible) -> Result<Bytes, CodecError> {
        match *part {}
    }
}

impl Codec<StreamMessage<Infallible>> for WireCodec {
    type Error = CodecError;

    fn decode(&self, _: Bytes) -> Result<StreamMessage<Infallible>, CodecError> {
        Err(CodecError::Part)
    }

    fn encode(&self, message: &StreamMessage<Infallible>) -> Result<Bytes, CodecError> {
        match &message.content {
            StreamContent::Data(part) => match *part {},
            StreamContent::Fin => Err(CodecError::Part),
        }
    }
}

impl Codec<ValidatorProof<Tendermint>> for WireCodec {
    type Error = CodecError;

    fn decode(&self, bytes: Bytes) -> Result<ValidatorProof<Tendermint>, CodecError> {
        let (key, peer, signature): (Vec<u8>, Vec<u8>, Signature) = decode(&bytes, SMALL)?;
        Ok(ValidatorProof::new(key, peer, signature))
    }

    fn encode(&self, proof: &ValidatorProof<Tendermint>) -> Result<Bytes, CodecError> {
        encode(&(&proof.public_key, &proof.peer_id, proof.signature))
    }
}

impl Codec<Status<Tendermint>> for WireCodec {
    type Error = CodecError;

    fn decode(&self, bytes: Bytes) -> Result<Status<Tendermint>, CodecError> {
        let (peer, tip_height, history_min_height): (Vec<u8>, Height, Height) =
            decode(&bytes, SMALL)?;
        let wrong = |_| CodecError::Garbled(io::ErrorKind::InvalidData.into());
        let peer_id = PeerId::from_bytes(&peer).map_err(wrong)?;
        Ok(Status { peer_id, tip_height, history_min_height })
    }

    fn encode(&self, status: &Status<Tendermint>) -> Result<Bytes, CodecError> {
        encode(&(status.peer_id.to_bytes(), status.tip_height, status.history_min_height))
    }
}

impl Codec<Request<Tendermint>> for WireCodec {
    type Error = CodecError;

    fn decode(&self, bytes: Bytes) -> Result<Request<Tendermint>, CodecError> {
        decode(&bytes, SMALL)
    }

    fn encode(&self, request: &Request<Tendermint>) -> Result<Bytes, CodecError> {
        encode(request)
    }
}

/// A decision in the form of a [`Decision`], whose block is written already.
struct Served<'a>(&'a RawDecidedValue<Tendermint>);

impl BorshSerialize for Served<'_> {
    fn serialize<W: io::Write>(&self, writer: &mut W) -> io::Result<()> {
        let Self(RawDecidedValue { value_bytes, certificate }) = self;
        writer.write_all(value_bytes)?;
        certificate.trim_vote_extensions().serialize(writer)?;
        certificate.vote_extensions().extensions.serialize(writer)
    }
}

impl Codec<Response<Tendermint>> for WireCodec {
    type Error = CodecError;

    fn decode(&self, bytes: Bytes) -> Result<Response<Tendermint>, CodecError> {
        let (first, decisions): (Height, Vec<Decision>) = decode(&bytes, self.limits.response)?;
        let values = decisions.into_iter().map(|decision| {
            check_block(&decision.block, self.limits.block)?;
            let message = Message::Decided(Box::new(decision));
            self.check(&message)?;
            let Message::Decided(decision) = message else { return Err(CodecError::Part) };
            Ok(RawDecidedValue::new(encode_block(&decision.block), decision.extended()))
        });
        let values = values.collect::<Result<_, _>>()?;
        Ok(Response::ValueResponse(ValueResponse::new(first, values)))
    }

    fn encode(&self, response: &Response<Tendermint>) -> Result<Bytes, CodecError> {
        let Response::ValueResponse(ValueResponse { start_height, values }) = response;
        let values: Vec<_> = values.iter().map(Served).collect();
        encode(&(start_height, values))
    }
}

impl HasEncodedLen<Response<Tendermint>> for WireCodec {
    fn encoded_len(&self, response: &Response<Tendermint>) -> Result<usize, CodecError> {
        self.encode(response).map(|bytes| bytes.len())
    }
}

/// Feeds bytes to the decoder of every type that a peer can send: the entry of a fuzz target.
pub fn decode_all(bytes: &[u8]) {
    let (frame, response) = (1 << 19, 1 << 20);
    let codec = WireCodec::new(WireLimits { frame, response, block: 1 << 18 });
    let bytes = Bytes::copy_from_slice(bytes);
    let _ = Codec::<SignedConsensusMsg<Tendermint>>::decode(&codec, bytes.clone());
    let _ = Codec::<LivenessMsg<Tendermint>>::decode(&codec, bytes.clone());
    let _ = Codec::<Status<Tendermint>>::decode(&codec, bytes.clone());
    let _ = Codec::<Request<Tendermint>>::decode(&codec, bytes.clone());
    let _ = Codec::<Response<Tendermint>>::decode(&codec, bytes.clone());
    let _ = Codec::<ValidatorProof<Tendermint>>::decode(&codec, bytes.clone());
    let _ = Codec::<StreamMessage<Infallible>>::decode(&codec, bytes.clone());
    let _ = Codec::<SignedConsensusMsg<Tendermint>>::decode(&LogCodec, bytes.clone());
    let _ = Codec::<ProposedValue<Tendermint>>::decode(&LogCodec, bytes.clone());
    let _ = Codec::<PolkaCertificate<Tendermint>>::decode(&LogCodec, bytes.clone());
    let _ = decode_block(&bytes, codec.limits.block);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests;
