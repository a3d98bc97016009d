//! Signing and verifying as Malachite asks for it, with the statements of [`prefinal_malachite`].
use async_trait::async_trait;
use malachitebft_core_types::{
    NilOrVal, SignedExtension, SignedMessage, ValidatorProof, VoteExtensionScope, VoteType,
};
use malachitebft_signing::{Error, Signer, VerificationResult, Verifier};
use prefinal_malachite::{
    Height, Proposal, PublicKey, SecretKey, Signature, SignatureError, Tendermint, Validators, Vote,
};
use std::sync::Arc;

use crate::committees::Committees;

/// The key of this party.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    pub(crate) key: SecretKey,
    pub(crate) committees: Committees,
}

/// Checks the signatures of others.
#[derive(Clone, Debug)]
pub(crate) struct Checks {
    pub(crate) committees: Committees,
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
        Ok(result(key.verify_proposal(&committee, proposal, signature)))
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
