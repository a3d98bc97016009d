//! What a party can do wrong, and the evidence that convinces others of it.
//!
//! Most faults are known to the accuser alone: the link says who sent the bytes, but nobody else saw
//! them. Equivocation is different: two signatures for one stage and round are proof for anybody who
//! has the committee.
//!
//! See also `receive` and `collector` (who notices), and `job` (where signatures are checked).
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{Signature, SignatureError};
use thiserror::Error;

use crate::block::{BlockId, Round};
use crate::certificate::Stage;
use crate::config::Replicas;
use crate::message::ShapeError;

/// What a party did wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// It sent bytes that are not a valid message.
    #[error("malformed message: {0}")]
    Malformed(#[from] ShapeError),
    /// Its signature does not belong to its statement.
    #[error("bad signature on {what} in {round}")]
    BadSignature {
        /// The kind of statement.
        what: &'static str,
        /// The round.
        round: Round,
    },
    /// It passed on an invalid certificate.
    #[error("forged certificate of {round}")]
    ForgedCertificate {
        /// The round that the certificate names.
        round: Round,
    },
    /// It made two statements where it may make one.
    #[error(transparent)]
    Equivocation(Box<Equivocation>),
}

impl Fault {
    /// The fault's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed(error) => error.code(),
            Self::BadSignature { .. } => "signature-mismatch",
            Self::ForgedCertificate { .. } => "invalid-certificate",
            Self::Equivocation(equivocation) => equivocation.code(),
        }
    }
}

/// Two signed statements where an honest party makes one. This is proof for anybody.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize, Error)]
#[error("equivocation: {stage:?} for {} and {} in {round}", first.block, second.block)]
pub struct Equivocation {
    /// The kind of statement about both blocks.
    pub stage: Stage,
    /// The round.
    pub round: Round,
    /// The statement about the first block.
    pub first: SignedBlock,
    /// The statement about the other block.
    pub second: SignedBlock,
}

impl Equivocation {
    /// The fault's code, as of [`Fault::code`].
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "equivocation"
    }
}

/// A block and a signature on a statement about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct SignedBlock {
    /// The block.
    pub block: BlockId,
    /// The signature.
    pub signature: Signature,
}

/// Why the statements are not an equivocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// Both statements are about the same block, which is allowed.
    #[error("both statements are about {block}")]
    SameBlock {
        /// The block.
        block: BlockId,
    },
    /// The committee has no such member.
    #[error("{party} is not a member")]
    Stranger {
        /// The party.
        party: Party,
    },
    /// The party did not sign one of the statements.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

impl EvidenceError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::SameBlock { .. } => "no-fault",
            Self::Stranger { .. } => "not-a-member",
            Self::Signature(error) => error.code(),
        }
    }
}

impl Equivocation {
    /// Checks that `party` has signed both statements.
    ///
    /// # Errors
    /// [`EvidenceError`] says what is wrong.
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
