//! Whole proofs: everything that a client is sent at once.
use alloc::vec::Vec;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_crypto_core::certificate::Certificate;
use prefinal_protocol::ChainId;

use crate::block::{CertifiedBlock, Claim};
use crate::epoch::EpochEnding;

/// What a [`StakeVerifier`](crate::StakeVerifier) needs in order to believe claims about a block of its epoch, or
/// of a later one.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct StakeProof {
    /// The chain of the block.
    pub chain: ChainId,
    /// From the verifier's epoch, or an earlier one, to that of the block: one for each epoch between them.
    pub endings: Vec<EpochEnding>,
    /// The block, with the certificate of its committee.
    pub block: CertifiedBlock<Certificate<MinSig>>,
    /// What is in the state that the block leaves, and among its transactions.
    pub claims: Vec<Claim>,
}

/// What a [`KeyVerifier`](crate::KeyVerifier) needs in order to believe claims about a block of any epoch.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct KeyProof {
    /// The chain of the block.
    pub chain: ChainId,
    /// The block, with a threshold certificate.
    pub block: CertifiedBlock<Signature>,
    /// What is in the state that the block leaves, and among its transactions.
    pub claims: Vec<Claim>,
}
