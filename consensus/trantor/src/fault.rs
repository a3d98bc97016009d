//! What a party did wrong, and the proof of it.
//!
//! Two signed statements that no honest party makes both are proof for anybody ([`Contradiction`]):
//!
//! | statements                                                            | an honest party            |
//! |-----------------------------------------------------------------------|----------------------------|
//! | proposals, prepares or commits for two values in one view              | makes each for one value   |
//! | view changes to one view that name two prepared views                  | names one                  |
//! | a commit, and a view change to a later view that names an earlier one  | never hides what it committed |
//!
//! The last is what the release contract rests on: the partial that left with that commit is of a value
//! which the view change would let be replaced.
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{Signature, SignatureError};
use prefinal_protocol::{Value, View};
use thiserror::Error;

use crate::batch::BatchId;
use crate::certificate::{CHANGE, Stage};
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
    #[error("bad signature on {what} in {view}")]
    BadSignature {
        /// The kind of statement.
        what: &'static str,
        /// The view that the statement is about.
        view: View,
    },
    /// It passed on an invalid certificate.
    #[error("forged certificate of {view}")]
    ForgedCertificate {
        /// The view that the certificate names.
        view: View,
    },
    /// It passed on a certificate that a batch is available, and too few have signed that.
    #[error("forged certificate of batch {batch:?}")]
    ForgedAvailability {
        /// The batch that the certificate names.
        batch: BatchId,
    },
    /// Its signature does not belong to its acknowledgement.
    #[error("bad signature on the acknowledgement of batch {batch:?}")]
    BadAck {
        /// The batch that was to be acknowledged.
        batch: BatchId,
    },
    /// It sent another party's batch as its own.
    #[error("sent a batch of {author} as its own")]
    ForeignBatch {
        /// The party that the batch names as its author.
        author: Party,
    },
    /// It made two statements of which an honest party makes one.
    #[error(transparent)]
    Contradiction(Box<Contradiction>),
}

impl Fault {
    /// The fault's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed(error) => error.code(),
            Self::BadSignature { .. } | Self::BadAck { .. } => "signature-mismatch",
            Self::ForgedCertificate { .. } | Self::ForgedAvailability { .. } => {
                "invalid-certificate"
            }
            Self::ForeignBatch { .. } => "other-author",
            Self::Contradiction(contradiction) => contradiction.code(),
        }
    }
}

/// A statement that binds the party that signs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Said {
    /// A proposal or a vote.
    Vote {
        /// Whether it proposes, prepares or commits.
        stage: Stage,
        /// The view in which the party votes.
        view: View,
        /// The value that the party votes for.
        value: Value,
    },
    /// The party gives up all earlier views.
    Change {
        /// The view that is asked for.
        view: View,
        /// The attempt in which the party says that it was prepared last.
        prepared: Option<u32>,
    },
}

/// A statement with its signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Signed {
    /// What the party has stated.
    pub said: Said,
    /// The party's signature on the statement.
    pub signature: Signature,
}

/// Two signed statements of one party that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize, Error)]
#[error("contradiction: {:?} and {:?}", first.said, second.said)]
pub struct Contradiction {
    /// The statement that came first.
    pub first: Signed,
    /// The statement that contradicts it.
    pub second: Signed,
}

/// Why the statements are no proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// An honest party may say both.
    #[error("the statements do not contradict each other")]
    Compatible,
    /// The committee has no such member.
    #[error("{party} is not a member")]
    Stranger {
        /// The party that is accused.
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
            Self::Compatible => "no-fault",
            Self::Stranger { .. } => "not-a-member",
            Self::Signature(error) => error.code(),
        }
    }
}

impl Contradiction {
    /// The fault's code, as of [`Fault::code`].
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "equivocation"
    }

    /// Checks that `party` has signed both statements, and that no honest party would.
    ///
    /// # Errors
    /// [`EvidenceError`] says what is wrong.
    pub fn verify(&self, committee: &Replicas, party: Party) -> Result<(), EvidenceError> {
        let (first, second) = (&self.first, &self.second);
        if !contradict(&first.said, &second.said) && !contradict(&second.said, &first.said) {
            return Err(EvidenceError::Compatible);
        }
        first.verify(committee, party)?;
        second.verify(committee, party)
    }
}

fn contradict(one: &Said, other: &Said) -> bool {
    match (one, other) {
        (
            Said::Vote { stage, view, value },
            Said::Vote { stage: stage2, view: view2, value: value2 },
        ) => (stage, view) == (stage2, view2) && value != value2,
        (Said::Change { view, prepared }, Said::Change { view: view2, prepared: prepared2 }) => {
            view == view2 && prepared != prepared2
        }
        (Said::Vote { stage, view, .. }, Said::Change { view: asked, prepared }) => {
            *stage == Stage::Commit
                && view.slot == asked.slot
                && view.attempt < asked.attempt
                && *prepared < Some(view.attempt)
        }
        (Said::Change { .. }, Said::Vote { .. }) => false,
    }
}

impl Signed {
    pub(crate) fn verify(&self, committee: &Replicas, party: Party) -> Result<(), EvidenceError> {
        let member = committee.member(party).ok_or(EvidenceError::Stranger { party })?;
        let (domain, message) = match self.said {
            Said::Vote { stage, view, value } => (stage.domain(), committee.statement(view, value)),
            Said::Change { view, prepared } => (CHANGE, committee.change_statement(view, prepared)),
        };
        self.signature.verify(member.key.get(), domain, &message)?;
        Ok(())
    }
}

impl Said {
    /// The view that the statement is about.
    #[must_use]
    pub const fn view(&self) -> View {
        match self {
            Self::Vote { view, .. } | Self::Change { view, .. } => *view,
        }
    }

    /// The kind of statement, in words.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Vote { stage: Stage::Propose, .. } => "proposal",
            Self::Vote { stage: Stage::Prepare, .. } => "prepare",
            Self::Vote { stage: Stage::Commit, .. } => "commit",
            Self::Change { .. } => "view change",
        }
    }
}
