//! What a party can do wrong, and what convinces others of it.
//!
//! Most faults are known to the accuser alone: the link says who sent the bytes, but nobody else saw
//! them. Equivocation is different. Two signatures under one stage and round are proof for anyone
//! who has the committee.
//!
//! Elsewhere: who notices (`receive`, `collector`), where signatures are checked (`job`).
use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::access::Party;
use crypto_core::bls::min_sig::{Signature, SignatureError};
use thiserror::Error;

use crate::block::{BlockId, Round};
use crate::certificate::Stage;
use crate::config::Replicas;
use crate::message::ShapeError;

/// What a party did wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// It sent what cannot be a message.
    #[error("malformed message: {0}")]
    Malformed(#[from] ShapeError),
    /// Its signature is not on what it says.
    #[error("bad signature on {what} in {round}")]
    BadSignature {
        /// On what.
        what: &'static str,
        /// The round.
        round: Round,
    },
    /// It passed a certificate on that proves nothing.
    #[error("forged certificate of {round}")]
    ForgedCertificate {
        /// The round that the certificate is said to be of.
        round: Round,
    },
    /// It said two things of which it may say one.
    #[error(transparent)]
    Equivocation(Box<Equivocation>),
}

/// Two signed statements of which an honest party makes one. Proof for anyone.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize, Error)]
#[error("equivocation: {stage:?} for {} and {} in {round}", first.block, second.block)]
pub struct Equivocation {
    /// What was said about both blocks.
    pub stage: Stage,
    /// In which round.
    pub round: Round,
    /// About one block.
    pub first: Signed,
    /// And about another.
    pub second: Signed,
}

/// A block and a signature on a statement about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Signed {
    /// The block.
    pub block: BlockId,
    /// The signature.
    pub signature: Signature,
}

/// Why an equivocation is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EvidenceError {
    /// One statement twice is allowed.
    #[error("both statements are about {block}")]
    SameBlock {
        /// The block.
        block: BlockId,
    },
    /// Nobody of that name.
    #[error("{party} is not a member")]
    Stranger {
        /// The name.
        party: Party,
    },
    /// The party has not said it.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

impl Equivocation {
    /// Checks that `party` has made both statements.
    ///
    /// # Errors
    /// [`EvidenceError`] says what is missing.
    pub fn verify(&self, committee: &Replicas, party: Party) -> Result<(), EvidenceError> {
        if self.first.block == self.second.block {
            return Err(EvidenceError::SameBlock { block: self.first.block });
        }
        let member = committee.member(party).ok_or(EvidenceError::Stranger { party })?;
        for said in [&self.first, &self.second] {
            let message = committee.statement(self.round, said.block);
            said.signature.verify(member.key.get(), self.stage.domain(), &message)?;
        }
        Ok(())
    }
}
