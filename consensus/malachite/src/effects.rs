//! What is done for each of Malachite's effects.
//!
//! See also `engine` (asking and resuming) and `sign` (what is signed).
use std::sync::Arc;

use malachitebft_core_consensus::{
    self as consensus, ConsensusMsg, Effect, LivenessMsg, MisbehaviorEvidence, ProposedValue,
    Resume, SignedConsensusMsg, VoteExtensionError,
};
use malachitebft_core_types::{
    CommitCertificate, ExtendedCommitCertificate, NilOrVal, Round, SignedExtension, SignedMessage,
    Timeout, TimeoutKind, Validity, ValueOrigin, ValueResponse, VoteExtensions, VoteType,
};

use prefinal_protocol::Recipient;

use crate::context::{Address, Block, Height, Tendermint, Vote};
use crate::engine::{self, Malachite, Output, Task};
use crate::message::{Decision, MAX_EXTENSION, Message};
use crate::misbehavior::Misbehavior;
use crate::record::{Entry, Record, keep};
use crate::sign::{PublicKey, Scope, SignatureError, Statement, Tally};

type Answer = Resume<Tendermint>;

impl Malachite {
    /// Carries an effect out.
    ///
    /// # Errors
    /// The scope of the wanted extension: the beacon must be asked first.
    pub(crate) fn carry_out(&mut self, effect: Effect<Tendermint>) -> Result<Answer, Scope> {
        match effect {
            Effect::ExtendVote(height, round, block, _, _) => {
                let number = round.as_u32().unwrap_or(0);
                self.effect(engine::Effect::Prefinalized { height, round: number, block });
                self.carried = None;
                return Err(Scope { height, round, block, voter: Address::new(self.config.me) });
            }
            Effect::SignVote(vote, _) => return Ok(Resume::SignedVote(self.sign_vote(vote))),
            Effect::SignProposal(proposal, _) => {
                let signature = self.secret.sign_proposal(&self.committee, &proposal);
                return Ok(Resume::SignedProposal(SignedMessage::new(proposal, signature)));
            }
            Effect::VerifySignature(signed, key, _) => {
                return Ok(Resume::SignatureValidity(self.verify(&signed, &key).is_ok()));
            }
            Effect::VerifyVoteExtension(height, round, block, voter, extension, key, _) => {
                let scope = Scope { height, round, block, voter };
                let verdict = self.take_extension(scope, &extension, &key);
                return Ok(Resume::VoteExtensionValidity(verdict));
            }
            Effect::VerifyCommitCertificate(certificate, validators, thresholds, _) => {
                let tally = Tally::new(self.committee.context(), &validators);
                return Ok(Resume::CertificateValidity(tally.commit(&certificate, thresholds)));
            }
            Effect::VerifyExtendedCommitCertificate(certificate, validators, thresholds, _, _) => {
                let tally = Tally::new(self.committee.context(), &validators);
                let verdict = tally.extended(&certificate, thresholds);
                if verdict.is_ok() {
                    self.take_extensions(certificate);
                }
                return Ok(Resume::CertificateValidity(verdict));
            }
            Effect::VerifyPolkaCertificate(certificate, validators, thresholds, _) => {
                let tally = Tally::new(self.committee.context(), &validators);
                return Ok(Resume::CertificateValidity(tally.polka(&certificate, thresholds)));
            }
            Effect::VerifyRoundCertificate(certificate, validators, thresholds, _) => {
                let tally = Tally::new(self.committee.context(), &validators);
                return Ok(Resume::CertificateValidity(tally.round(&certificate, thresholds)));
            }
            effect => self.continue_with(effect),
        }
        Ok(Resume::Continue)
    }

    /// Carries out effects that need no answer.
    fn continue_with(&mut self, effect: Effect<Tendermint>) {
        match effect {
            Effect::CancelAllTimeouts(_) => self.timers.clear(),
            Effect::CancelTimeout(timeout, _) => drop(self.timers.remove(&key(timeout))),
            Effect::ScheduleTimeout(timeout, _) => {
                let at = self.now + self.span(timeout);
                self.timers.insert(key(timeout), (at, timeout));
            }
            Effect::StartRound(height, round, ..) => {
                // A party in a later round casts no precommit in an earlier one.
                if let Some(left) = round.as_u32().and_then(|round| round.checked_sub(1)) {
                    self.effect(engine::Effect::Abandoned { height, round: left });
                }
            }
            Effect::PublishConsensusMsg(SignedConsensusMsg::Vote(vote), _)
            | Effect::RepublishVote(vote, _)
            | Effect::PublishLivenessMsg(LivenessMsg::Vote(vote), _) => {
                self.send(Recipient::All, Message::Vote(vote));
            }
            Effect::PublishConsensusMsg(SignedConsensusMsg::Proposal(proposal), _) => {
                self.send(Recipient::All, Message::Proposal(proposal));
            }
            Effect::PublishLivenessMsg(LivenessMsg::PolkaCertificate(certificate), _) => {
                self.send(Recipient::All, Message::Polka(certificate));
            }
            Effect::PublishLivenessMsg(LivenessMsg::SkipRoundCertificate(certificate), _)
            | Effect::RepublishRoundCertificate(certificate, _) => {
                self.send(Recipient::All, Message::Round(certificate));
            }
            Effect::GetValue(height, round, ..) => self.propose(height, round),
            Effect::WalAppend(height, input, _) => self.append(height, input),
            Effect::CertVerifiedSyncValue(response, proposer, _) => {
                self.decided_elsewhere(&response, proposer);
            }
            Effect::CertRejectedSyncValue(_, _, error, _) => self.accuse_asked(&error.to_string()),
            Effect::Decide(certificate, extensions, _) => self.decide(certificate, extensions),
            Effect::Finalize(_, _, evidence, _) => {
                self.accuse(&evidence);
                self.tasks.push_back(Task::Begin(self.height.next()));
            }
            // Proposals carry their blocks; the other effects were answered before.
            _ => {}
        }
    }

    fn sign_vote(&mut self, vote: Vote) -> SignedMessage<Tendermint, Vote> {
        if let (VoteType::Precommit, NilOrVal::Nil, Some(round)) =
            (vote.kind, vote.value, vote.round.as_u32())
        {
            self.effect(engine::Effect::Abandoned { height: vote.height, round });
        }
        let signature = self.secret.sign_vote(&self.committee, &vote);
        SignedMessage::new(vote, signature)
    }

    fn verify(
        &self,
        signed: &SignedMessage<Tendermint, ConsensusMsg<Tendermint>>,
        key: &PublicKey,
    ) -> Result<(), SignatureError> {
        let context = self.committee.context();
        let statement = match &signed.message {
            ConsensusMsg::Vote(vote) => Statement::vote(context, vote),
            ConsensusMsg::Proposal(proposal) => Statement::proposal(context, proposal),
        };
        key.verify(&statement, &signed.signature)
    }

    /// Checks that the voter signed these bytes for this vote. The beacon checks their content later. A
    /// vote counts whatever it carries.
    pub(crate) fn take_extension(
        &mut self,
        scope: Scope,
        extension: &SignedMessage<Tendermint, Vec<u8>>,
        key: &PublicKey,
    ) -> Result<(), VoteExtensionError> {
        let SignedMessage { message: bytes, signature } = extension;
        if bytes.len() > MAX_EXTENSION {
            return Err(VoteExtensionError::InvalidVoteExtension);
        }
        let statement = Statement::extension(self.committee.context(), scope, bytes);
        key.verify(&statement, signature).map_err(|_| VoteExtensionError::InvalidSignature)?;
        self.hand_over(scope.round, scope.voter, bytes);
        Ok(())
    }

    fn take_extensions(&mut self, certificate: ExtendedCommitCertificate<Tendermint>) {
        let round = certificate.round;
        for signature in certificate.commit_signatures {
            if let Some(extension) = signature.extension {
                self.hand_over(round, signature.address, &extension.message);
            }
        }
    }

    /// Passes on extensions of round 0 only. In later rounds an honest party sends no partial.
    fn hand_over(&mut self, round: Round, voter: Address, bytes: &[u8]) {
        let from = voter.party();
        if round == Round::ZERO && from != self.config.me && !bytes.is_empty() {
            self.effect(engine::Effect::Carried { from, partial: bytes.to_vec() });
        }
    }

    fn append(&mut self, height: Height, input: consensus::Input<Tendermint>) {
        let block = match &input {
            consensus::Input::Proposal(proposal) => Some(&proposal.message.block),
            consensus::Input::ProposedValue(value, _) => Some(&value.value),
            _ => None,
        };
        if let Some(block) = block {
            self.blocks.insert(block.id(), block.clone());
        }
        // An input that the log does not hold is new, and is logged like any other.
        if self.log.contains(&input) {
            return;
        }
        match Entry::of(input) {
            Some(entry) => self.outputs.push_back(Output::Keep(Record::Entry { height, entry })),
            None => {
                let why = "an input was to be logged that no log can hold";
                self.effect(engine::Effect::Refused(why.to_owned()));
            }
        }
    }

    fn decided_elsewhere(&mut self, response: &ValueResponse<Tendermint>, proposer: Address) {
        // `catch_up` made these bytes from a block.
        let Ok(block) = borsh::from_slice::<Block>(&response.value_bytes) else { return };
        let value = ProposedValue {
            height: response.certificate.height,
            round: response.certificate.round,
            valid_round: Round::Nil,
            proposer,
            value: block,
            validity: Validity::Valid,
        };
        let input = consensus::Input::ProposedValue(value, ValueOrigin::Sync);
        self.tasks.push_front(Task::Feed(input));
    }

    fn decide(
        &mut self,
        certificate: CommitCertificate<Tendermint>,
        extensions: VoteExtensions<Tendermint>,
    ) {
        let Some(block) = self.blocks.get(&certificate.value_id).cloned() else {
            let why = format!("{} decided a block that was never logged", certificate.height);
            self.effect(engine::Effect::Refused(why));
            return;
        };
        self.pool.retain(|waiting| !block.transactions().contains(waiting));
        self.effect(engine::Effect::Finalized { block: block.clone() });
        let extensions: Vec<(Address, SignedExtension<Tendermint>)> = extensions.extensions;
        // More precommits may come from parties that vote late.
        let read = extensions.iter().map(|(voter, _)| (certificate.height, voter.party()));
        self.late.extend(read.collect::<Vec<_>>());
        let decision = Decision { block, certificate, extensions };
        let record = Record::Decided(Box::new(decision.clone()));
        keep(&mut self.decided, Arc::new(decision));
        if let Some(first) = self.decided.keys().next().copied() {
            self.late.retain(|(height, _)| *height >= first);
        }
        self.outputs.push_back(Output::Keep(record));
    }

    fn accuse(&mut self, evidence: &MisbehaviorEvidence<Tendermint>) {
        for one in Misbehavior::all(evidence) {
            let (party, fault) = (one.party(), one.to_string());
            self.effect(engine::Effect::Accuse { party, fault });
        }
    }
}

/// The key of a timer. In a round there is one timer of each kind.
const fn key(timeout: Timeout) -> (u8, Round) {
    let kind = match timeout.kind {
        TimeoutKind::Propose => 0,
        TimeoutKind::Prevote => 1,
        TimeoutKind::Precommit => 2,
        TimeoutKind::Rebroadcast => 3,
        TimeoutKind::FinalizeHeight(_) => 4,
    };
    (kind, timeout.round)
}
