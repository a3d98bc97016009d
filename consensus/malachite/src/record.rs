//! The records that survive a crash: Malachite's write-ahead log, and decisions.
//!
//! | record    | written                                   | because                                   |
//! |-----------|-------------------------------------------|-------------------------------------------|
//! | `Entry`   | before its consequences leave             | the same inputs lead to the same votes again |
//! | `Decided` | after it was reported                     | a report may repeat, but is never lost; and peers that lag ask |
//! | `Adopted` | by the host, before the engine starts     | heights that others decided while this party was away are passed over |
//!
//! The entry of this party's own precommit also holds the extension. It is the record of the release,
//! so it is reported to the beacon on a restart ([`Log::released`]); see the crate's documentation.
//! [`Log`] is the log read back. A decision ends the log of its height, and so does an adoption at that height or above:
//! a party signs nothing for a height behind the one that it is at, so no vote on record is contradicted.
use std::collections::BTreeMap;
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use malachitebft_core_consensus::{Input, ProposedValue};
use malachitebft_core_types::{
    NilOrVal, PolkaCertificate, Round, Timeout, TimeoutKind, ValueOrigin, VoteType,
};
use prefinal_protocol::Party;

use crate::context::{BlockId, Height, Tendermint, Vote};
use crate::message::{Decision, SignedProposal, SignedVote};

/// Number of decisions that are kept for peers that lag.
pub(crate) const KEPT: u64 = 256;

/// A record. It must be durable before the outputs that follow it are carried out.
#[allow(clippy::large_enum_variant, reason = "nearly all are entries")]
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Record {
    /// An input that Malachite took at a height.
    Entry {
        /// The height.
        height: Height,
        /// What the engine was given.
        entry: Entry,
    },
    /// The decision of a height.
    Decided(Box<Decision>),
    /// This height is decided, and its block is not here.
    Adopted(Height),
}

/// The inputs that Malachite logs.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Entry {
    /// A vote, this party's or a peer's.
    Vote(SignedVote),
    /// A proposal, this party's or a peer's.
    Proposal(SignedProposal),
    /// A block, before it is proposed here or after others decided it.
    Block {
        /// The block and its proposer.
        value: ProposedValue<Tendermint>,
        /// Whether others decided it and this party caught up.
        caught_up: bool,
    },
    /// A step of a round took too long.
    Timeout {
        /// The step.
        step: Step,
        /// The round.
        round: Round,
    },
    /// A quorum of prevotes.
    Polka(PolkaCertificate<Tendermint>),
}

/// A step whose timeout decides something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Step {
    /// Waiting for a proposal.
    Propose,
    /// Waiting for prevotes that agree.
    Prevote,
    /// Waiting for precommits that agree.
    Precommit,
}

impl Entry {
    /// The entry for an input; `None` for an input that Malachite does not log.
    pub(crate) fn of(input: Input<Tendermint>) -> Option<Self> {
        Some(match input {
            Input::Vote(vote) => Self::Vote(vote),
            Input::Proposal(proposal) => Self::Proposal(proposal),
            Input::ProposedValue(value, origin) => {
                Self::Block { value, caught_up: origin.is_sync() }
            }
            Input::TimeoutElapsed(Timeout { kind, round }) => {
                let step = match kind {
                    TimeoutKind::Propose => Step::Propose,
                    TimeoutKind::Prevote => Step::Prevote,
                    TimeoutKind::Precommit => Step::Precommit,
                    TimeoutKind::Rebroadcast | TimeoutKind::FinalizeHeight(_) => return None,
                };
                Self::Timeout { step, round }
            }
            Input::PolkaCertificate(certificate) => Self::Polka(certificate),
            Input::StartHeight(..)
            | Input::RoundCertificate(_)
            | Input::Propose(_)
            | Input::SyncValueResponse(_) => return None,
        })
    }

    pub(crate) fn into_input(self) -> Input<Tendermint> {
        match self {
            Self::Vote(vote) => Input::Vote(vote),
            Self::Proposal(proposal) => Input::Proposal(proposal),
            Self::Block { value, caught_up } => {
                let origin = if caught_up { ValueOrigin::Sync } else { ValueOrigin::Consensus };
                Input::ProposedValue(value, origin)
            }
            Self::Timeout { step, round } => Input::TimeoutElapsed(match step {
                Step::Propose => Timeout::propose(round),
                Step::Prevote => Timeout::prevote(round),
                Step::Precommit => Timeout::precommit(round),
            }),
            Self::Polka(certificate) => Input::PolkaCertificate(certificate),
        }
    }
}

/// The state that follows from a log of records.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub(crate) decided: BTreeMap<Height, Arc<Decision>>,
    pub(crate) entries: Vec<(Height, Entry)>,
    adopted: Option<Height>,
}

impl Log {
    /// Takes the next record.
    pub fn apply(&mut self, record: Record) {
        match record {
            // Malachite still logs what was in its queue when the height was decided.
            Record::Entry { height, .. } if height < self.height() => {}
            Record::Entry { height, entry } => self.entries.push((height, entry)),
            Record::Decided(decision) => {
                let height = decision.block.height();
                self.entries.retain(|(at, _)| *at > height);
                keep(&mut self.decided, decision.into());
            }
            Record::Adopted(height) => {
                self.entries.retain(|(at, _)| *at > height);
                self.adopted = self.adopted.max(Some(height));
            }
        }
    }

    /// The height at which this party continues.
    #[must_use]
    pub fn height(&self) -> Height {
        let decided = self.decided.keys().next_back().copied();
        decided.max(self.adopted).map_or(Height::new(1), Height::next)
    }

    /// The block of this party's round-0 precommit that carried a partial and is not decided yet.
    #[must_use]
    pub fn released(&self, me: Party) -> Option<(Height, BlockId)> {
        self.entries.iter().find_map(|(height, entry)| match entry {
            Entry::Vote(vote) => Some((*height, carried(&vote.message, me)?)),
            _ => None,
        })
    }
}

fn carried(vote: &Vote, me: Party) -> Option<BlockId> {
    let NilOrVal::Val(block) = vote.value else { return None };
    let own = vote.voter.party() == me && vote.kind == VoteType::Precommit;
    let bytes = vote.extension.as_ref().map_or(0, |extension| extension.message.len());
    (own && vote.round == Round::ZERO && bytes > 0).then_some(block)
}

/// Adds a decision and drops the old ones.
pub(crate) fn keep(decided: &mut BTreeMap<Height, Arc<Decision>>, decision: Arc<Decision>) {
    let height = decision.block.height();
    decided.insert(height, decision);
    let first = Height::new(height.get().saturating_sub(KEPT));
    *decided = decided.split_off(&first);
}
