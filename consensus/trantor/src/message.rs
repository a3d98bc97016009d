//! The messages of parties, and the shape that a message must have before anything is computed with it.
//!
//! | message       | to  | says                                                                   |
//! |---------------|-----|------------------------------------------------------------------------|
//! | batch         | all | my transactions, please store them                                      |
//! | ack           | one | I have stored your batch                                                |
//! | proposal      | all | my block of batches for a height that I lead, in its first view          |
//! | prepare       | all | I accept this value in this view                                        |
//! | commit        | all | it is prepared, and I will not hide that; with the beacon's partial      |
//! | view change   | all | this height takes too long, I ask for a later view; my highest prepared certificate |
//! | new view      | all | a quorum asks for this view, so I propose what was prepared, or to skip  |
//! | progress      | one or all | all heights before this one are decided here                     |
//! | request       | one | I miss decisions from this height on                                    |
//! | response      | one | here they are                                                           |
//! | body request, batch request   | one | I miss this decided block, or a batch of one            |
//! | body response, batch response | one | here it is                                              |
//! | certificates  | one | I do not lead now, please put these batches into blocks                 |
//!
//! The link authenticates the sender, so messages do not name it. The signatures inside are for
//! certificates and evidence. The encoding is Borsh: canonical, exact length.
use std::collections::BTreeSet;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_protocol::{Slot, Value, View};
use thiserror::Error;

use crate::batch::{AvailabilityCertificate, Batch, BatchId, BatchLabel, MAX_TRANSACTIONS};
use crate::block::{Body, skipped};
use crate::certificate::{CertificateError, ChangeCertificate, VoteCertificate, check_claim};
use crate::config::Replicas;

/// Largest number of decisions in a response.
pub(crate) const MAX_DECISIONS: usize = 64;
/// Largest number of batches in a block, and of certificates in a message.
pub(crate) const MAX_BATCHES: usize = 16;
/// Longest partial in bytes: one of the heaviest party, with room.
pub const MAX_PARTIAL: usize = 1 << 18;

/// A leader's block for a height in the height's first view.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Proposal {
    /// The height that the block is for.
    pub slot: Slot,
    /// The block as a list of batches.
    pub body: Body,
    /// The leader's signature on the block's name.
    pub signature: Signature,
}

/// A vote for a value in a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Vote {
    /// The view in which the party votes.
    pub view: View,
    /// The value that the party votes for.
    pub value: Value,
    /// The voter's signature on view and value.
    pub signature: Signature,
}

/// The vote that, cast by a strong quorum in one view, decides a height.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Commit {
    /// The vote itself.
    pub vote: Vote,
    /// What the beacon released on this vote. Only a vote in the first view carries it.
    pub partial: Option<Vec<u8>>,
}

/// A party asks for a later view of a height.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ViewChange {
    /// The view that it asks for.
    pub view: View,
    /// The highest prepared certificate that it knows for this height.
    pub prepared: Option<VoteCertificate>,
    /// The sender's signature on the view and on the attempt of its certificate.
    pub signature: Signature,
}

impl ViewChange {
    /// The attempt in which the sender was prepared last.
    #[must_use]
    pub fn claim(&self) -> Option<u32> {
        self.prepared.as_ref().map(|prepared| prepared.view.attempt)
    }
}

/// The primary of a later view proposes what may have been decided before, or to skip the height.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct NewView {
    /// A quorum asks for the view.
    pub change: ChangeCertificate,
    /// The certificate of the value that must be proposed; none if the height is skipped.
    pub prepared: Option<VoteCertificate>,
    /// The primary's signature on the value.
    pub signature: Signature,
}

impl NewView {
    /// The value that is proposed.
    #[must_use]
    pub fn value(&self) -> Value {
        let skip = || skipped(self.change.view.slot);
        self.prepared.as_ref().map_or_else(skip, |prepared| prepared.value)
    }
}

/// A decided height: its commit certificate and its block.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Decision {
    /// A quorum committed the value.
    pub certificate: VoteCertificate,
    /// The block; none if the height was skipped.
    pub body: Option<Body>,
}

/// The block of a decided height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct BodyRequest {
    /// The height that was decided.
    pub slot: Slot,
    /// The name that the decided block has.
    pub value: Value,
}

/// Everything that engines send each other.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Message {
    /// A leader's block for one of its heights.
    Proposal(Box<Proposal>),
    /// A [`Vote`] of the stage `Prepare`.
    Prepare(Vote),
    /// A vote that decides, and perhaps a partial.
    Commit(Box<Commit>),
    /// A party gives a view up and asks for a later one.
    ViewChange(Box<ViewChange>),
    /// The primary of a later view says what to vote on.
    NewView(Box<NewView>),
    /// All heights before this one are decided at the sender.
    Progress(Slot),
    /// The sender misses decisions from this height on.
    Request(Slot),
    /// Decisions of heights in a row.
    Response(Vec<Decision>),
    /// A party asks for a decided block that it lacks.
    BodyRequest(BodyRequest),
    /// A block that was asked for, and its height.
    BodyResponse(Slot, Body),
    /// The sender's batch, to be stored and acknowledged.
    Batch(Box<Batch>),
    /// The sender has stored the receiver's batch; the signature is on its label.
    Ack(BatchLabel, Signature),
    /// The sender misses a batch of a decided block.
    BatchRequest(BatchId),
    /// A batch that was asked for.
    BatchResponse(Box<Batch>),
    /// Certificates of batches that the receiver should put into blocks.
    Certificates(Vec<AvailabilityCertificate>),
}

impl Message {
    /// Whether the sender signs something in such a message.
    #[must_use]
    pub const fn is_signed(&self) -> bool {
        use Message::{Ack, Commit, NewView, Prepare, Proposal, ViewChange};
        matches!(self, Ack(..) | Proposal(_) | Prepare(_) | Commit(_) | ViewChange(_) | NewView(_))
    }
}

impl Message {
    /// Whether the beacon's bytes travel in it.
    pub(crate) const fn carries_partial(&self) -> bool {
        matches!(self, Self::Commit(commit) if commit.partial.is_some())
    }
}

/// Why a message is refused before any signature is checked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// The sender is not a member, or is this party itself.
    #[error("{from} is not a peer")]
    Stranger {
        /// The party that sent the message.
        from: Party,
    },
    /// The sender is not the primary of the view.
    #[error("{from} is not the primary of {view}")]
    NotThePrimary {
        /// The party that sent the message.
        from: Party,
        /// The view that the message is about.
        view: View,
    },
    /// Heights count from one.
    #[error("there is no height 0")]
    NoHeight,
    /// A certificate is about another height, or of a view that is not before the one asked for.
    #[error("certificate of {got} does not belong to a change to {view}")]
    ForeignCertificate {
        /// The view that is asked for.
        view: View,
        /// The view that the certificate is about.
        got: View,
    },
    /// The prepared certificate is older than one that a signer of the change names.
    #[error("new {view} proposes what attempt {got:?} prepared, a signer names {highest:?}")]
    HidesCertificate {
        /// The view that is to begin.
        view: View,
        /// The attempt of the certificate.
        got: Option<u32>,
        /// The latest attempt that a signer names.
        highest: Option<u32>,
    },
    /// A block holds a batch that may not be ordered any more.
    #[error("block of {slot} holds a batch that ends with {until}")]
    Expired {
        /// The height of the block.
        slot: Slot,
        /// The last height that may order the batch.
        until: Slot,
    },
    /// A batch stands in a block or message twice.
    #[error("a batch stands in one list twice")]
    RepeatedBatch,
    /// A commit in a later view carries a partial.
    #[error("commit in {view} carries a partial, only first views do")]
    LatePartial {
        /// The view of the vote.
        view: View,
    },
    /// A block is not the one that its certificate names.
    #[error("block of {slot} does not have the name that its certificate has")]
    OtherBody {
        /// The height that was decided.
        slot: Slot,
    },
    /// The decisions of a response are not of heights in a row.
    #[error("decision of {got} where {expected} was next")]
    Gap {
        /// The height of the decision.
        got: Slot,
        /// The height that was next.
        expected: Slot,
    },
    /// There is more of something than a message may hold.
    #[error("{got} {what}, at most {most} are allowed")]
    TooMuch {
        /// The kind of item.
        what: &'static str,
        /// Their number, or their bytes.
        got: usize,
        /// The largest number that is allowed.
        most: usize,
    },
    /// A certificate has a wrong shape.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

impl ShapeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Stranger { .. } => "not-a-peer",
            Self::NotThePrimary { .. } => "not-the-leader",
            Self::NoHeight => "no-round",
            Self::ForeignCertificate { .. } => "other-height",
            Self::HidesCertificate { .. } => "hidden-certificate",
            Self::Expired { .. } => "batch-expired",
            Self::RepeatedBatch => "repeated-batch",
            Self::LatePartial { .. } => "late-partial",
            Self::OtherBody { .. } => "other-block",
            Self::Gap { .. } => "height-gap",
            Self::TooMuch { .. } => "count-too-large",
            Self::Certificate(error) => error.code(),
        }
    }
}

impl Message {
    /// Checks everything that needs neither algebra nor the schedule.
    pub(crate) fn check_shape(
        &self,
        committee: &Replicas,
        max_block_bytes: usize,
    ) -> Result<(), ShapeError> {
        match self {
            Self::Proposal(proposal) => {
                height(proposal.slot)?;
                check_age(proposal)?;
                check_body(&proposal.body, committee, max_block_bytes)
            }
            Self::Prepare(vote) => height(vote.view.slot),
            Self::Commit(commit) => commit.check_shape(),
            Self::ViewChange(change) => change.check_shape(committee),
            Self::NewView(new) => new.check_shape(committee),
            Self::Progress(_)
            | Self::Request(_)
            | Self::BodyRequest(_)
            | Self::BatchRequest(_)
            | Self::Ack(..) => Ok(()),
            Self::Response(decisions) => check_decisions(decisions, committee, max_block_bytes),
            Self::BodyResponse(_, body) => check_body(body, committee, max_block_bytes),
            Self::Batch(batch) | Self::BatchResponse(batch) => {
                at_most("transactions", batch.transactions().len(), MAX_TRANSACTIONS)?;
                at_most("bytes of transactions", batch.bytes(), max_block_bytes)
            }
            Self::Certificates(certificates) => check_certificates(certificates, committee),
        }
    }
}

impl Commit {
    fn check_shape(&self) -> Result<(), ShapeError> {
        let view = self.vote.view;
        height(view.slot)?;
        match &self.partial {
            Some(_) if view.attempt > 0 => Err(ShapeError::LatePartial { view }),
            Some(partial) => at_most("bytes of a partial", partial.len(), MAX_PARTIAL),
            None => Ok(()),
        }
    }
}

impl ViewChange {
    fn check_shape(&self, committee: &Replicas) -> Result<(), ShapeError> {
        height(self.view.slot)?;
        check_claim(self.view, self.claim())?;
        check_prepared(self.view, self.prepared.as_ref(), committee)
    }
}

impl NewView {
    fn check_shape(&self, committee: &Replicas) -> Result<(), ShapeError> {
        let view = self.change.view;
        height(view.slot)?;
        self.change.check_shape(committee)?;
        check_prepared(view, self.prepared.as_ref(), committee)?;
        let (got, highest) =
            (self.prepared.as_ref().map(|it| it.view.attempt), self.change.highest());
        if got < highest {
            return Err(ShapeError::HidesCertificate { view, got, highest });
        }
        Ok(())
    }
}

/// Checks that a prepared certificate is of this height and of an earlier view.
fn check_prepared(
    view: View,
    prepared: Option<&VoteCertificate>,
    committee: &Replicas,
) -> Result<(), ShapeError> {
    let Some(prepared) = prepared else { return Ok(()) };
    let got = prepared.view;
    if got.slot != view.slot || got.attempt >= view.attempt {
        return Err(ShapeError::ForeignCertificate { view, got });
    }
    Ok(prepared.check_shape(committee)?)
}

fn check_decisions(
    decisions: &[Decision],
    committee: &Replicas,
    max_block_bytes: usize,
) -> Result<(), ShapeError> {
    at_most("decisions", decisions.len(), MAX_DECISIONS)?;
    let mut next = None;
    for Decision { certificate, body } in decisions {
        let slot = certificate.view.slot;
        height(slot)?;
        let expected = next.unwrap_or(slot);
        if slot != expected {
            return Err(ShapeError::Gap { got: slot, expected });
        }
        next = Some(slot.next());
        certificate.check_shape(committee)?;
        let name = match body {
            Some(body) => {
                check_body(body, committee, max_block_bytes)?;
                body.value(committee.context(), slot)
            }
            None => skipped(slot),
        };
        if name != certificate.value {
            return Err(ShapeError::OtherBody { slot });
        }
    }
    Ok(())
}

fn check_body(body: &Body, committee: &Replicas, max_block_bytes: usize) -> Result<(), ShapeError> {
    at_most("bytes of transactions", body.bytes(), max_block_bytes)?;
    check_certificates(body.certificates(), committee)?;
    check_batches(body.batches())
}

/// Checks that no batch is older than it may be: nobody need have it any more.
fn check_age(proposal: &Proposal) -> Result<(), ShapeError> {
    let slot = proposal.slot;
    match proposal.body.batches().find(|batch| batch.until < slot) {
        Some(batch) => Err(ShapeError::Expired { slot, until: batch.until }),
        None => Ok(()),
    }
}

fn check_certificates(
    certificates: &[AvailabilityCertificate],
    committee: &Replicas,
) -> Result<(), ShapeError> {
    check_batches(certificates.iter().map(|certificate| &certificate.batch))?;
    certificates.iter().try_for_each(|certificate| Ok(certificate.check_shape(committee)?))
}

fn check_batches<'a>(batches: impl Iterator<Item = &'a BatchLabel>) -> Result<(), ShapeError> {
    let mut seen = BTreeSet::new();
    for batch in batches {
        if !seen.insert(batch.id) {
            return Err(ShapeError::RepeatedBatch);
        }
        at_most("batches", seen.len(), MAX_BATCHES)?;
    }
    Ok(())
}

fn height(slot: Slot) -> Result<(), ShapeError> {
    if slot == Slot::new(0) { Err(ShapeError::NoHeight) } else { Ok(()) }
}

fn at_most(what: &'static str, got: usize, most: usize) -> Result<(), ShapeError> {
    if got > most { Err(ShapeError::TooMuch { what, got, most }) } else { Ok(()) }
}
