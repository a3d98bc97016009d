//! What the host of a pipeline keeps, tells, has done and begins with.
use std::sync::{Arc, Mutex};

use ::prefinal_beacon::{CertifiedRoot, Message, Path, StateSig};
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::{Certificate, ElectorateError};
use prefinal_crypto_core::context::EpochId;
use prefinal_execution::{
    BlockId, Certified, Committed, ExecuteJob, ExecuteVerdict, Executor, Header, Height, Recovered,
    Refusal, StartError, Stop, Store, StoreJob, StoreVerdict,
};
use prefinal_protocol::Slot;

use super::committees::Announce;
use super::marked::MarkedBlock;
use crate::setup::Setup;

/// Shows that a quorum of stake has signed a state.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct StateCertificate {
    /// The epoch of the committee that signed.
    pub epoch: EpochId,
    /// The signatures, and whose they are.
    pub certificate: Certificate<MinSig>,
}

/// The message that shows the certificate of a slot's state to a peer that missed it. Costs nothing; the peer
/// verifies it.
#[must_use]
pub const fn shown(
    slot: Slot,
    root: [u8; 32],
    certificate: Certificate<MinSig>,
) -> Message<StateSig> {
    Message::Output { slot, path: Path::Tight, shown: CertifiedRoot { root, certificate } }
}

/// What a party keeps of its blocks' execution, beside the store.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub enum Record {
    /// A block was ordered.
    Ordered {
        /// The slot of the block.
        slot: Slot,
        /// The block, with all its transactions.
        block: MarkedBlock,
    },
    /// The value of a slot, for a block that reads it.
    Value {
        /// The slot of the value.
        slot: Slot,
        /// 32 bytes that nobody could foresee.
        value: [u8; 32],
    },
    /// The state of a block is certified.
    Certified {
        /// The slot of the block.
        slot: Slot,
        /// The block, its state, and the certificate.
        certified: Certified<StateCertificate>,
    },
    /// Written by the pipeline.
    Pipeline(prefinal_execution::Record<StateCertificate>),
    /// The store has this block from peers, with everything before it. The order goes on behind it.
    Adopted(Header),
}

/// Something that happened to a block here.
pub enum BlockEvent<T> {
    /// The order has a block with this content.
    Ordered(prefinal_execution::Block<T>),
    /// It is executed, and this party votes for its state.
    Executed(Height),
    /// A quorum has certified its state.
    Certified(Height),
    /// Its state is durable, certified, and cannot change any more.
    Committed(Committed),
    /// Another committee certifies states from a slot on.
    Follows {
        /// The committee, and its epoch.
        setup: Arc<Setup>,
        /// The first slot whose state it certifies.
        first: Slot,
    },
    /// A peer did wrong in the channel of certificates; the fault is described in words.
    Accused {
        /// The peer whose message was false.
        party: Party,
        /// The check that failed.
        fault: String,
    },
    /// An input of the pipeline had no effect, and should have had one.
    Refused(Refusal),
    /// Nothing is executed any more.
    Stopped(Stop<StateCertificate>),
}

/// Work of the pipeline.
pub enum PipelineJob<X: Executor> {
    /// Executes a part of a block.
    Execute(ExecuteJob<X>),
    /// One transaction of the store.
    Store(Box<StoreJob<X, StateCertificate>>),
}

/// The result of a [`PipelineJob`].
pub enum PipelineVerdict<X: Executor> {
    /// A part of a block was executed.
    Executed(ExecuteVerdict<X>),
    /// The store has made its transaction.
    Stored(StoreVerdict),
}

/// What runs a pipeline's jobs.
pub struct Workers<St: Store> {
    /// Executes blocks, several at a time.
    pub executor: Arc<St::Executor>,
    /// Where blocks are stored.
    pub store: Arc<Mutex<St>>,
}

/// Encodes what a block carries, for the executor.
pub type Carry = fn(&[Arc<[u8]>]) -> Vec<u8>;

/// How transactions of blocks are read and written, as the executor wants them.
pub struct BlockCodec<T> {
    /// Reads a transaction behind its [mark](super::MARK); `None` if it is none.
    pub decode: fn(&[u8]) -> Option<T>,
    /// Encodes the system transaction that announces a committee with its first slot.
    pub announce: Announce,
    /// Encodes the system transaction that carries those that are not executed: one for all, for they may be many and
    /// small.
    pub carry: Carry,
}

/// What is left from the process before.
pub struct PastBlocks<X: Executor> {
    /// The name of the store's genesis.
    pub genesis: BlockId,
    /// What the store holds.
    pub recovered: Recovered<X>,
    /// All records, oldest first.
    pub records: Vec<Record>,
}

/// Why blocks are not executed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// Members and stakes do not make a committee that can certify states.
    #[error("no certificates: {0}")]
    Certificates(#[from] ElectorateError),
    /// The pipeline does not continue from what is left.
    #[error(transparent)]
    Pipeline(#[from] StartError),
}

impl HostError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Certificates(error) => error.code(),
            Self::Pipeline(error) => error.code(),
        }
    }
}

impl<St: Store> Clone for Workers<St> {
    fn clone(&self) -> Self {
        let Self { executor, store } = self;
        Self { executor: Arc::clone(executor), store: Arc::clone(store) }
    }
}
