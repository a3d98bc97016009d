//! Evidence against a member: two signed messages of which an honest party signs one at most.
use std::fmt;

use borsh::{BorshDeserialize, BorshSerialize};
use malachitebft_core_consensus::MisbehaviorEvidence;
use malachitebft_core_types::ValidatorSet as _;
use prefinal_protocol::Party;

use crate::config::Validators;
use crate::context::{Address, Height, Tendermint};
use crate::message::{SignedProposal, SignedVote};
use crate::sign::{PublicKey, SignatureError};

/// What a member did that no honest party does. Everybody who knows the committee can [check
/// it](Self::verify).
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Misbehavior {
    /// Two votes of one kind for one round, with different values.
    Votes(Box<[SignedVote; 2]>),
    /// Two proposals for one round that differ.
    Proposals(Box<[SignedProposal; 2]>),
}

/// Why two messages prove nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MisbehaviorError {
    /// The messages are not of one author, height, round and kind, or say the same.
    #[error("the two messages do not contradict each other")]
    NoContradiction,
    /// The committee has no such member.
    #[error("party {party} is not a member of this committee")]
    NotAMember {
        /// The party that signed both messages.
        party: Party,
    },
    /// A signature is not the member's, or not for this committee.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

impl MisbehaviorError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoContradiction => "no-fault",
            Self::NotAMember { .. } => "not-a-member",
            Self::Signature(error) => error.code(),
        }
    }
}

impl Misbehavior {
    /// All that Malachite has found.
    pub fn all(evidence: &MisbehaviorEvidence<Tendermint>) -> impl Iterator<Item = Self> {
        let votes = evidence.votes.iter().flat_map(|(_, pairs)| pairs);
        let votes = votes.map(|(one, other)| Self::Votes([one.clone(), other.clone()].into()));
        let proposals = evidence.proposals.iter().flat_map(|(_, pairs)| pairs);
        let proposals =
            proposals.map(|(one, other)| Self::Proposals([one.clone(), other.clone()].into()));
        votes.chain(proposals)
    }

    /// The member that signed both.
    #[must_use]
    pub fn party(&self) -> Party {
        match self {
            Self::Votes(votes) => {
                let [one, _] = &**votes;
                one.message.voter.party()
            }
            Self::Proposals(proposals) => {
                let [one, _] = &**proposals;
                one.message.proposer.party()
            }
        }
    }

    /// The height that both messages are for.
    #[must_use]
    pub fn height(&self) -> Height {
        match self {
            Self::Votes(votes) => {
                let [one, _] = &**votes;
                one.message.height
            }
            Self::Proposals(proposals) => {
                let [one, _] = &**proposals;
                one.message.height
            }
        }
    }

    /// Checks that the two messages contradict each other, and that a member of the committee signed both.
    /// Two signatures of Ed25519.
    ///
    /// # Errors
    /// [`MisbehaviorError`] says what is missing.
    pub fn verify(&self, committee: &Validators) -> Result<(), MisbehaviorError> {
        match self {
            Self::Votes(votes) => {
                let [one, other] = votes.each_ref().map(|vote| &vote.message);
                let scope = |vote: &crate::Vote| (vote.voter, vote.height, vote.round, vote.kind);
                contradict(scope(one) == scope(other) && one.value != other.value)?;
                let key = key(committee, one.voter)?;
                for vote in votes.iter() {
                    key.verify_vote(committee, &vote.message, &vote.signature)?;
                }
            }
            Self::Proposals(proposals) => {
                let [one, other] = proposals.each_ref().map(|proposal| &proposal.message);
                let scope = |of: &crate::Proposal| (of.proposer, of.height, of.round);
                contradict(scope(one) == scope(other) && one != other)?;
                let key = key(committee, one.proposer)?;
                for proposal in proposals.iter() {
                    key.verify_proposal(committee, &proposal.message, &proposal.signature)?;
                }
            }
        }
        Ok(())
    }
}

const fn contradict(they_do: bool) -> Result<(), MisbehaviorError> {
    if they_do { Ok(()) } else { Err(MisbehaviorError::NoContradiction) }
}

fn key(committee: &Validators, member: Address) -> Result<PublicKey, MisbehaviorError> {
    let found = committee.validators().get_by_address(&member);
    let member = found.ok_or(MisbehaviorError::NotAMember { party: member.party() })?;
    Ok(member.key)
}

impl fmt::Display for Misbehavior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Votes(_) => "votes",
            Self::Proposals(_) => "proposals",
        };
        write!(f, "signed two different {what} for one round of {}", self.height())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use malachitebft_core_types::{NilOrVal, Round, SignedMessage, VoteType};
    use prefinal_protocol::{ChainId, Context, EpochId};
    use prefinal_weighted_rounding::Stake;

    use super::*;
    use crate::{Block, Member, Proposal, SecretKey, Vote};

    fn secret(party: u8) -> SecretKey {
        SecretKey::from_seed([party; 32])
    }

    fn committee(chain: u8) -> Validators {
        let context = Context { chain: ChainId::new([chain; 32]), epoch: EpochId::new(1) };
        let member = |party| Member { key: secret(party).public_key(), stake: Stake::new(1) };
        Validators::new(&context, &[0, 1, 2, 3].map(member)).unwrap()
    }

    fn block(number: u8) -> Block {
        Block::new(Height::new(5), vec![vec![number].into()])
    }

    fn vote(voter: u8, change: impl Fn(&mut Vote)) -> SignedVote {
        let mut vote = Vote {
            kind: VoteType::Prevote,
            height: Height::new(5),
            round: Round::ZERO,
            value: NilOrVal::Val(block(1).id()),
            voter: Address::new(Party::new(voter.into())),
            extension: None,
        };
        change(&mut vote);
        let signature = secret(voter).sign_vote(&committee(7), &vote);
        SignedMessage::new(vote, signature)
    }

    fn votes(one: SignedVote, other: SignedVote) -> Result<(), MisbehaviorError> {
        Misbehavior::Votes([one, other].into()).verify(&committee(7))
    }

    #[test]
    fn two_votes_convict_their_voter_and_only_of_what_it_did() {
        let one = || vote(2, |_| ());
        let other = vote(2, |vote| vote.value = NilOrVal::Nil);
        votes(one(), other.clone()).unwrap();
        let none = Err(MisbehaviorError::NoContradiction);
        assert_eq!(votes(one(), one()), none);
        let changes: [fn(&mut Vote); 3] = [
            |vote| vote.round = Round::new(1),
            |vote| vote.height = Height::new(6),
            |vote| vote.kind = VoteType::Precommit,
        ];
        for change in changes {
            let elsewhere = vote(2, |vote| {
                vote.value = NilOrVal::Nil;
                change(vote);
            });
            assert_eq!(votes(one(), elsewhere), none);
        }
        // Somebody else's vote, and one that is signed by another.
        assert_eq!(votes(one(), vote(1, |vote| vote.value = NilOrVal::Nil)), none);
        let voter = Address::new(Party::new(2));
        let forged = vote(1, |vote| (vote.voter, vote.value) = (voter, NilOrVal::Nil));
        let invalid = Err(MisbehaviorError::Signature(SignatureError::Invalid));
        assert_eq!(votes(one(), forged.clone()), invalid);
        assert_eq!(votes(forged, one()), invalid);
        let stranger = |value| {
            let voter = Address::new(Party::new(4));
            vote(4, |vote| (vote.voter, vote.value) = (voter, value))
        };
        let (one_of, other_of) = (stranger(NilOrVal::Nil), stranger(NilOrVal::Val(block(1).id())));
        let not_a_member = Err(MisbehaviorError::NotAMember { party: Party::new(4) });
        assert_eq!(votes(one_of, other_of), not_a_member);
        // Another chain's committee of the same keys.
        let evidence = Misbehavior::Votes([one(), other].into());
        assert_eq!(evidence.verify(&committee(8)), invalid);
        assert_eq!(evidence.to_string(), "signed two different votes for one round of height 5");
    }

    #[test]
    fn two_proposals_convict_their_proposer() {
        let proposal = |number, round, key: u8| {
            let proposal = Proposal {
                height: Height::new(5),
                round: Round::new(round),
                block: block(number),
                pol_round: Round::Nil,
                proposer: Address::new(Party::new(1)),
            };
            let signature = secret(key).sign_proposal(&committee(7), &proposal);
            SignedMessage::new(proposal, signature)
        };
        let check = |one, other| Misbehavior::Proposals([one, other].into()).verify(&committee(7));
        check(proposal(1, 0, 1), proposal(2, 0, 1)).unwrap();
        let none = Err(MisbehaviorError::NoContradiction);
        assert_eq!(check(proposal(1, 0, 1), proposal(1, 0, 1)), none);
        assert_eq!(check(proposal(1, 0, 1), proposal(2, 1, 1)), none);
        let invalid = Err(MisbehaviorError::Signature(SignatureError::Invalid));
        assert_eq!(check(proposal(1, 0, 1), proposal(2, 0, 0)), invalid);
        assert_eq!(check(proposal(1, 0, 0), proposal(2, 0, 1)), invalid);
    }
}
