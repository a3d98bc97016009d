//! Keys, signed statements and certificates.
//!
//! The scheme is Ed25519 with the validation rules that consensus needs (ZIP 215, crate
//! `ed25519-consensus`, the same as Malachite's own scheme): all parties agree which signatures are
//! valid. The signed bytes are `SHA-256(tag ‖ committee ‖ fields)`, with the fields in Borsh:
//!
//! | what       | fields                                        |
//! |------------|-----------------------------------------------|
//! | vote       | kind, height, round, value, voter             |
//! | proposal   | height, round, round of the polka, proposer, block's name |
//! | extension  | height, round, block's name, voter, bytes     |
//!
//! So an extension counts only with its own precommit. A certificate holds signatures of votes, and the
//! votes are rebuilt from it; each member counts once. The members are in `config`.
use std::collections::BTreeSet;
use std::fmt;

use borsh::{BorshDeserialize, BorshSerialize};
use ed25519_consensus::{SigningKey, VerificationKey};
use malachitebft_core_types::{
    CertificateError, CommitCertificate, CommitSignature, ExtendedCommitCertificate, NilOrVal,
    PolkaCertificate, PolkaSignature, Round, RoundCertificate, RoundCertificateType,
    SignedExtension, SigningScheme, ThresholdParam, ThresholdParams, Validator as _,
    ValidatorProof, ValidatorSet as _, VoteType,
};
use sha2::{Digest, Sha256};

use crate::config::Validators;
use crate::context::{Address, BlockId, Height, Proposal, Tendermint, ValidatorSet, Vote};

const VOTE: &[u8] = b"prefinal/malachite/v1/vote";
const PROPOSAL: &[u8] = b"prefinal/malachite/v1/proposal";
const EXTENSION: &[u8] = b"prefinal/malachite/v1/extension";
const DERIVED: &[u8] = b"prefinal/malachite/v1/derived";

/// The signing scheme, in the form that Malachite asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ed25519;

/// 64 bytes of a signature. Whether they are a valid one shows when it is verified.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct Signature([u8; 64]);

/// A member's public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey(VerificationKey);

/// A member's secret key. Malachite's scheme requires `Clone`; nothing here clones it.
#[derive(Clone)]
pub struct SecretKey(SigningKey);

/// Why a signature or an encoding is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The bytes are not a public key.
    #[error("bytes are no ed25519 key")]
    Key,
    /// The bytes have a wrong length.
    #[error("{got} bytes where {expected} are expected")]
    Length {
        /// The length of the bytes.
        got: usize,
        /// The right length.
        expected: usize,
    },
    /// The signature is not by this key for this message.
    #[error("signature does not verify")]
    Invalid,
}

impl SignatureError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Key => "invalid-element",
            Self::Length { .. } => "wrong-length",
            Self::Invalid => "signature-mismatch",
        }
    }
}

/// The 32 bytes that are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Statement([u8; 32]);

/// The vote that an extension belongs to.
#[derive(Clone, Copy, Debug, BorshSerialize)]
pub(crate) struct Scope {
    pub(crate) height: Height,
    pub(crate) round: Round,
    pub(crate) block: BlockId,
    pub(crate) voter: Address,
}

impl Scope {
    /// `None` for a vote that has no extension.
    fn of(vote: &Vote) -> Option<Self> {
        let (VoteType::Precommit, NilOrVal::Val(block)) = (vote.kind, vote.value) else {
            return None;
        };
        Some(Self { height: vote.height, round: vote.round, block, voter: vote.voter })
    }
}

impl SecretKey {
    /// The key that these 32 secret bytes give.
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self(SigningKey::from(seed))
    }

    /// The public key.
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        PublicKey(self.0.verification_key())
    }

    /// Signs a vote. The signature does not cover the extension.
    #[must_use]
    pub fn sign_vote(&self, committee: &Validators, vote: &Vote) -> Signature {
        self.sign(&Statement::vote(committee.context(), vote))
    }

    /// Signs the extension of a precommit; `None` for a vote without one.
    #[must_use]
    pub fn sign_extension(
        &self,
        committee: &Validators,
        vote: &Vote,
        bytes: &[u8],
    ) -> Option<Signature> {
        let scope = Scope::of(vote)?;
        Some(self.sign(&Statement::extension(committee.context(), scope, bytes)))
    }

    /// Signs a proposal.
    #[must_use]
    pub fn sign_proposal(&self, committee: &Validators, proposal: &Proposal) -> Signature {
        self.sign(&Statement::proposal(committee.context(), proposal))
    }

    /// Signs that the peer with this name on the network speaks for this key (ADR-006 of Malachite).
    ///
    /// The signed bytes are Malachite's own, without a hash or tag. They are longer than the 32 bytes of
    /// every other statement that this key signs, so none of them can be taken for another.
    #[must_use]
    pub fn prove_peer(&self, peer: &[u8]) -> ValidatorProof<Tendermint> {
        let key = self.public_key().to_bytes().to_vec();
        let bytes = ValidatorProof::<Tendermint>::signing_bytes(&key, peer);
        let signature = Signature(self.0.sign(&bytes).to_bytes());
        ValidatorProof::new(key, peer.to_vec(), signature)
    }

    /// 32 secret bytes for another purpose, which tell nothing about this key.
    #[must_use]
    pub fn derive(&self, purpose: &[u8]) -> [u8; 32] {
        let purpose = Sha256::digest(purpose);
        let hash = Sha256::new_with_prefix(DERIVED).chain_update(purpose);
        hash.chain_update(self.0.as_bytes()).finalize().into()
    }

    pub(crate) fn sign(&self, statement: &Statement) -> Signature {
        Signature(self.0.sign(&statement.0).to_bytes())
    }
}

impl PublicKey {
    /// Reads a key.
    ///
    /// # Errors
    /// If the bytes are not a key.
    pub fn from_bytes(bytes: [u8; 32]) -> Result<Self, SignatureError> {
        VerificationKey::try_from(bytes).map(Self).map_err(|_| SignatureError::Key)
    }

    /// The 32 bytes of the key.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// Checks the signature of a vote. It does not cover the extension.
    ///
    /// # Errors
    /// If this key did not sign the vote for this committee.
    pub fn verify_vote(
        &self,
        committee: &Validators,
        vote: &Vote,
        signature: &Signature,
    ) -> Result<(), SignatureError> {
        self.verify(&Statement::vote(committee.context(), vote), signature)
    }

    /// Checks the signature of a proposal.
    ///
    /// # Errors
    /// If this key did not sign the proposal for this committee.
    pub fn verify_proposal(
        &self,
        committee: &Validators,
        proposal: &Proposal,
        signature: &Signature,
    ) -> Result<(), SignatureError> {
        self.verify(&Statement::proposal(committee.context(), proposal), signature)
    }

    /// Checks the signature of the extension of a precommit.
    ///
    /// # Errors
    /// If this key did not sign these bytes for this vote, or the vote is none that can have an extension.
    pub fn verify_extension(
        &self,
        committee: &Validators,
        vote: &Vote,
        extension: &SignedExtension<Tendermint>,
    ) -> Result<(), SignatureError> {
        let scope = Scope::of(vote).ok_or(SignatureError::Invalid)?;
        let statement = Statement::extension(committee.context(), scope, &extension.message);
        self.verify(&statement, &extension.signature)
    }

    /// Checks that the holder of the key in a proof names this peer: [`SecretKey::prove_peer`].
    ///
    /// # Errors
    /// If the proof holds no key, or its signature is not valid.
    pub fn verify_peer(proof: &ValidatorProof<Tendermint>) -> Result<(), SignatureError> {
        let key = proof.decoded_public_key()?;
        let signature = ed25519_consensus::Signature::from(proof.signature.0);
        let verified = key.0.verify(&signature, &proof.preimage());
        verified.map_err(|_| SignatureError::Invalid)
    }

    pub(crate) fn verify(
        &self,
        statement: &Statement,
        signature: &Signature,
    ) -> Result<(), SignatureError> {
        let signature = ed25519_consensus::Signature::from(signature.0);
        self.0.verify(&signature, &statement.0).map_err(|_| SignatureError::Invalid)
    }
}

impl Statement {
    fn new(tag: &[u8], committee: &[u8; 32], fields: &impl BorshSerialize) -> Self {
        // Writing into memory cannot fail.
        let fields = borsh::to_vec(fields).unwrap_or_default();
        Self(
            Sha256::new_with_prefix(tag)
                .chain_update(committee)
                .chain_update(fields)
                .finalize()
                .into(),
        )
    }

    pub(crate) fn vote(committee: &[u8; 32], vote: &Vote) -> Self {
        Self::new(VOTE, committee, &(vote.kind, vote.height, vote.round, vote.value, vote.voter))
    }

    pub(crate) fn proposal(committee: &[u8; 32], proposal: &Proposal) -> Self {
        let Proposal { height, round, pol_round, proposer, block } = proposal;
        Self::new(PROPOSAL, committee, &(height, round, pol_round, proposer, block.id()))
    }

    pub(crate) fn extension(committee: &[u8; 32], scope: Scope, bytes: &[u8]) -> Self {
        Self::new(EXTENSION, committee, &(scope, bytes))
    }
}

impl SigningScheme for Ed25519 {
    type DecodingError = SignatureError;
    type Signature = Signature;
    type PublicKey = PublicKey;
    type PrivateKey = SecretKey;

    fn decode_signature(bytes: &[u8]) -> Result<Signature, SignatureError> {
        let length = SignatureError::Length { got: bytes.len(), expected: 64 };
        bytes.try_into().map(Signature).map_err(|_| length)
    }

    fn encode_signature(signature: &Signature) -> Vec<u8> {
        signature.0.to_vec()
    }

    fn decode_public_key(bytes: &[u8]) -> Result<PublicKey, SignatureError> {
        let length = SignatureError::Length { got: bytes.len(), expected: 32 };
        PublicKey::from_bytes(bytes.try_into().map_err(|_| length)?)
    }

    fn encode_public_key(key: &PublicKey) -> Vec<u8> {
        key.to_bytes().to_vec()
    }
}

/// The first eight bytes are enough to tell signatures apart in a log.
impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signature(")?;
        self.0.iter().take(8).try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("..)")
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

type Checked = Result<(), CertificateError<Tendermint>>;

/// Checks certificates against a committee.
pub(crate) struct Tally<'a> {
    committee: &'a [u8; 32],
    validators: &'a ValidatorSet,
    seen: BTreeSet<Address>,
    power: u64,
}

impl<'a> Tally<'a> {
    pub(crate) const fn new(committee: &'a [u8; 32], validators: &'a ValidatorSet) -> Self {
        Self { committee, validators, seen: BTreeSet::new(), power: 0 }
    }

    /// Counts a member's vote once. `invalid` is the error for a signature that is not valid.
    fn count(
        &mut self,
        vote: &Vote,
        signature: &Signature,
        invalid: impl FnOnce() -> CertificateError<Tendermint>,
    ) -> Checked {
        let unknown = CertificateError::UnknownValidator(vote.voter);
        let validator = self.validators.get_by_address(&vote.voter).ok_or(unknown)?;
        if !self.seen.insert(vote.voter) {
            return Err(CertificateError::DuplicateVote(vote.voter));
        }
        let statement = Statement::vote(self.committee, vote);
        validator.public_key().verify(&statement, signature).map_err(|_| invalid())?;
        let overflow =
            CertificateError::VotingPowerOverflow { signed: self.power, added: validator.power };
        self.power = self.power.checked_add(validator.power).ok_or(overflow)?;
        Ok(())
    }

    fn suffices(&self, threshold: ThresholdParam) -> Checked {
        let total = self.validators.total_voting_power();
        if threshold.is_met(self.power, total) {
            return Ok(());
        }
        let (signed, expected) = (self.power, threshold.min_expected(total));
        Err(CertificateError::NotEnoughVotingPower { signed, total, expected })
    }

    pub(crate) fn commit(
        mut self,
        certificate: &CommitCertificate<Tendermint>,
        thresholds: ThresholdParams,
    ) -> Checked {
        let CommitCertificate { height, round, value_id, commit_signatures } = certificate;
        for CommitSignature { address, signature } in commit_signatures {
            let vote = vote(VoteType::Precommit, (*height, *round), *value_id, *address);
            self.count(&vote, signature, || {
                CertificateError::InvalidCommitSignature(CommitSignature::new(*address, *signature))
            })?;
        }
        self.suffices(thresholds.quorum)
    }

    /// Checks the commit certificate, and each extension as its voter signed it. Extensions may be
    /// missing: the beacon asks for partials that it lacks.
    pub(crate) fn extended(
        self,
        certificate: &ExtendedCommitCertificate<Tendermint>,
        thresholds: ThresholdParams,
    ) -> Checked {
        let ExtendedCommitCertificate { height, round, value_id, .. } = *certificate;
        for signature in &certificate.commit_signatures {
            let Some(extension) = &signature.extension else { continue };
            let voter = signature.address;
            let validator = self.validators.get_by_address(&voter);
            let validator = validator.ok_or(CertificateError::UnknownValidator(voter))?;
            let scope = Scope { height, round, block: value_id, voter };
            let statement = Statement::extension(self.committee, scope, &extension.message);
            let verified = validator.public_key().verify(&statement, &extension.signature);
            verified.map_err(|_| CertificateError::InvalidVoteExtensionSignature(voter))?;
        }
        self.commit(&certificate.trim_vote_extensions(), thresholds)
    }

    pub(crate) fn polka(
        mut self,
        certificate: &PolkaCertificate<Tendermint>,
        thresholds: ThresholdParams,
    ) -> Checked {
        let PolkaCertificate { height, round, value_id, polka_signatures } = certificate;
        for PolkaSignature { address, signature } in polka_signatures {
            let vote = vote(VoteType::Prevote, (*height, *round), *value_id, *address);
            self.count(&vote, signature, || {
                CertificateError::InvalidPolkaSignature(PolkaSignature::new(*address, *signature))
            })?;
        }
        self.suffices(thresholds.quorum)
    }

    /// Checks a round certificate. Precommits of a quorum end a round; votes of more than a third, of
    /// any kind, show that it has begun.
    pub(crate) fn round(
        mut self,
        certificate: &RoundCertificate<Tendermint>,
        thresholds: ThresholdParams,
    ) -> Checked {
        let ends = certificate.cert_type == RoundCertificateType::Precommit;
        for (signed, vote) in
            certificate.round_signatures.iter().zip(certificate.votes(&Tendermint))
        {
            if ends && signed.vote_type != VoteType::Precommit {
                return Err(CertificateError::InvalidVoteType(signed.address));
            }
            self.count(&vote.message, &signed.signature, || {
                CertificateError::InvalidRoundSignature(signed.clone())
            })?;
        }
        self.suffices(if ends { thresholds.quorum } else { thresholds.honest })
    }
}

const fn vote(kind: VoteType, at: (Height, Round), block: BlockId, voter: Address) -> Vote {
    let (height, round) = at;
    Vote { kind, height, round, value: NilOrVal::Val(block), voter, extension: None }
}
