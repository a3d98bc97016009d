//! Signing and verifying as Malachite asks for it, with the statements of [`prefinal_malachite`].
use async_trait::async_trait;
use malachitebft_core_types::{
    NilOrVal, Round, SignedExtension, SignedMessage, ValidatorProof, VoteExtensionScope, VoteType,
};
use malachitebft_signing::{Error, Signer, VerificationResult, Verifier};
use prefinal_malachite::{
    Block, Height, Proposal, PublicKey, SecretKey, Signature, SignatureError, Tendermint,
    Validators, Vote,
};
use std::sync::Arc;
use tokio::sync::mpsc;

use crate::committees::Committees;

/// The key of this party.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    pub(crate) key: SecretKey,
    pub(crate) committees: Committees,
    pub(crate) proposals: Proposals,
}

/// Checks the signatures of others.
#[derive(Clone, Debug)]
pub(crate) struct Checks {
    pub(crate) committees: Committees,
    pub(crate) proposals: Proposals,
}

/// Where blocks go whose proposals are signed. Malachite shows them to nobody else.
#[derive(Clone, Debug)]
pub(crate) struct Proposals(mpsc::Sender<Block>);

/// Proposals that wait to be told. Those on top are not told: they are executed later.
const PROPOSALS: usize = 64;

impl Proposals {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Block>) {
        let (sender, receiver) = mpsc::channel(PROPOSALS);
        (Self(sender), receiver)
    }

    /// Of the first round alone: nothing leaves early in another, and whoever has a later round may propose ahead of it.
    fn tell(&self, proposal: &Proposal) {
        if proposal.round == Round::ZERO {
            // If nobody listens, the engine is being stopped.
            let _ = self.0.try_send(proposal.block.clone());
        }
    }
}

/// Malachite begins no height whose committee was not noted, and passes on messages of its height only.
#[derive(Debug, thiserror::Error)]
#[error("no committee is noted for {0}")]
struct NoCommittee(Height);

fn committee(committees: &Committees, height: Height) -> Result<Arc<Validators>, Error> {
    committees.of(height).ok_or_else(|| Error::from_source(NoCommittee(height)))
}

const fn result(checked: Result<(), SignatureError>) -> VerificationResult {
    match checked {
        Ok(()) => VerificationResult::Valid,
        Err(_) => VerificationResult::Invalid,
    }
}

fn precommit(scope: &VoteExtensionScope<Tendermint>) -> Vote {
    Vote {
        kind: VoteType::Precommit,
        height: scope.height,
        round: scope.round,
        value: NilOrVal::Val(scope.value_id),
        voter: scope.validator_address,
        extension: None,
    }
}

#[async_trait]
impl Verifier<Tendermint> for Checks {
    async fn verify_signed_vote(
        &self,
        vote: &Vote,
        signature: &Signature,
        key: &PublicKey,
    ) -> Result<VerificationResult, Error> {
        let committee = committee(&self.committees, vote.height)?;
        Ok(result(key.verify_vote(&committee, vote, signature)))
    }

    async fn verify_signed_proposal(
        &self,
        proposal: &Proposal,
        signature: &Signature,
        key: &PublicKey,
    ) -> Result<VerificationResult, Error> {
        let committee = committee(&self.committees, proposal.height)?;
        let verified = key.verify_proposal(&committee, proposal, signature);
        if verified.is_ok() {
            self.proposals.tell(proposal);
        }
        Ok(result(verified))
    }

    async fn verify_signed_vote_extension(
        &self,
        scope: &VoteExtensionScope<Tendermint>,
        bytes: &Vec<u8>,
        signature: &Signature,
        key: &PublicKey,
    ) -> Result<VerificationResult, Error> {
        let committee = committee(&self.committees, scope.height)?;
        let extension = SignedExtension::new(bytes.clone(), *signature);
        Ok(result(key.verify_extension(&committee, &precommit(scope), &extension)))
    }

    async fn verify_validator_proof(
        &self,
        proof: &ValidatorProof<Tendermint>,
    ) -> Result<VerificationResult, Error> {
        Ok(result(PublicKey::verify_peer(proof)))
    }
}

#[async_trait]
impl Signer<Tendermint> for Keys {
    async fn sign_vote(&self, vote: Vote) -> Result<SignedMessage<Tendermint, Vote>, Error> {
        let committee = committee(&self.committees, vote.height)?;
        let signature = self.key.sign_vote(&committee, &vote);
        Ok(SignedMessage::new(vote, signature))
    }

    async fn sign_proposal(
        &self,
        proposal: Proposal,
    ) -> Result<SignedMessage<Tendermint, Proposal>, Error> {
        let committee = committee(&self.committees, proposal.height)?;
        let signature = self.key.sign_proposal(&committee, &proposal);
        self.proposals.tell(&proposal);
        Ok(SignedMessage::new(proposal, signature))
    }

    async fn sign_vote_extension(
        &self,
        scope: VoteExtensionScope<Tendermint>,
        extension: Vec<u8>,
    ) -> Result<SignedMessage<Tendermint, Vec<u8>>, Error> {
        let committee = committee(&self.committees, scope.height)?;
        let signature = self.key.sign_extension(&committee, &precommit(&scope), &extension);
        let signature = signature.ok_or_else(Error::new)?;
        Ok(SignedMessage::new(extension, signature))
    }

    async fn sign_validator_proof(
        &self,
        _public_key: Vec<u8>,
        peer: Vec<u8>,
    ) -> Result<ValidatorProof<Tendermint>, Error> {
        Ok(self.key.prove_peer(&peer))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use prefinal_malachite::{Address, BlockId, Member};
    use prefinal_protocol::{ChainId, Context, EpochId, Party};
    use prefinal_weighted_rounding::Stake;

    use super::*;

    fn keys(epoch: u64) -> Keys {
        let key = SecretKey::from_seed([1; 32]);
        let context = Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(epoch) };
        let member = Member { key: key.public_key(), stake: Stake::new(1) };
        let committees = Committees::default();
        let validators = Validators::new(&context, &[member]).unwrap();
        committees.note(Height::new(5), validators.clone());
        committees.note(Height::new(6), validators);
        let (proposals, _) = Proposals::new();
        Keys { key, committees, proposals }
    }

    fn valid(result: Result<VerificationResult, Error>) -> bool {
        result.unwrap().is_valid()
    }

    #[tokio::test]
    async fn an_extension_holds_for_its_vote_alone() {
        let keys = keys(0);
        let (committees, proposals) = (keys.committees.clone(), keys.proposals.clone());
        let checks = Checks { committees, proposals };
        let (height, voter) = (Height::new(5), Address::new(Party::new(0)));
        let block = BlockId::new([3; 32]);
        let scope = VoteExtensionScope::new(height, Round::ZERO, block, voter);
        let signed = keys.sign_vote_extension(scope.clone(), vec![1, 2]).await.unwrap();
        let (bytes, signature, key) = (signed.message, signed.signature, keys.key.public_key());
        let check = async |scope: &VoteExtensionScope<Tendermint>, bytes: &Vec<u8>| {
            valid(checks.verify_signed_vote_extension(scope, bytes, &signature, &key).await)
        };
        assert!(check(&scope, &bytes).await);
        assert!(!check(&scope, &vec![1, 3]).await);
        for other in [
            VoteExtensionScope::new(Height::new(6), Round::ZERO, block, voter),
            VoteExtensionScope::new(height, Round::new(1), block, voter),
            VoteExtensionScope::new(height, Round::ZERO, BlockId::new([4; 32]), voter),
            VoteExtensionScope::new(height, Round::ZERO, block, Address::new(Party::new(1))),
        ] {
            assert!(!check(&other, &bytes).await);
        }
        let other = SecretKey::from_seed([2; 32]).public_key();
        let by_other = checks.verify_signed_vote_extension(&scope, &bytes, &signature, &other);
        assert!(!valid(by_other.await));
    }

    #[tokio::test]
    async fn votes_and_proposals_hold_for_their_committee_alone() {
        let (ours, theirs) = (keys(0), keys(1));
        let key = ours.key.public_key();
        let (height, voter) = (Height::new(5), Address::new(Party::new(0)));
        let vote =
            precommit(&VoteExtensionScope::new(height, Round::ZERO, BlockId::new([3; 32]), voter));
        let block = Block::new(height, vec![]);
        let (round, pol_round) = (Round::ZERO, Round::Nil);
        let proposal = Proposal { height, round, pol_round, proposer: voter, block };
        let signed = ours.sign_vote(vote.clone()).await.unwrap().signature;
        let proposed = ours.sign_proposal(proposal.clone()).await.unwrap().signature;
        let later = Proposal { round: Round::new(1), ..proposal.clone() };
        let signed_later = ours.sign_proposal(later.clone()).await.unwrap().signature;
        for (committees, holds) in [(ours.committees, true), (theirs.committees, false)] {
            let (proposals, mut told) = Proposals::new();
            let checks = Checks { committees, proposals };
            let result = checks.verify_signed_vote(&vote, &signed, &key).await;
            assert_eq!(valid(result), holds);
            let result = checks.verify_signed_proposal(&proposal, &proposed, &key).await;
            assert_eq!(valid(result), holds);
            assert_eq!(told.try_recv().ok(), holds.then(|| proposal.block.clone()));
            // Of a later round nobody is told.
            let result = checks.verify_signed_proposal(&later, &signed_later, &key).await;
            assert_eq!((valid(result), told.try_recv().ok()), (holds, None));
            // Signatures of one kind are none of the other.
            assert!(!valid(checks.verify_signed_vote(&vote, &proposed, &key).await));
            assert!(!valid(checks.verify_signed_proposal(&proposal, &signed, &key).await));
            let unknown = Vote { height: Height::new(9), ..vote.clone() };
            assert!(checks.verify_signed_vote(&unknown, &signed, &key).await.is_err());
        }
    }
}
