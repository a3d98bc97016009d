//! Certifiers: how a quorum signs a checkpoint.
//!
//! | certifier            | certificate                              | quorum                        | verified by   |
//! |----------------------|------------------------------------------|-------------------------------|---------------|
//! | [`StakeCertifier`]     | sum of signatures, bitmap of the signers  | more than 2/3 of stake, exactly | the committee that signed |
//! | [`ThresholdCertifier`] | one signature, the same at every party    | `t` shares of the key          | one key, from epoch to epoch |
//!
//! The paper agrees on one version of each certificate with another instance of PBFT, since every party may
//! have other signers in it. A threshold signature is the same everywhere, so there is nothing to agree on. Its
//! key is handed over from committee to committee, so a replica that slept through many of them still
//! verifies the latest checkpoint. With the other certifier it must know the committee that signed, and learns it
//! from the certified changes that its peers keep, see `replica::history`. Members of a committee of long ago,
//! whose stake is elsewhere now, could lie to it then with changes of their own making; the shared key rules
//! that out.
//!
//! Shares are rounded stake. With a threshold signature the quorum is therefore a range of stake, as the
//! rounding of the handed-over key says.
use core::fmt::Debug;
use std::collections::{BTreeMap, BTreeSet};

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::{Domain, PublicKey, SecretKey, Signature};
use prefinal_crypto_core::certificate::{AssembleError, VotesError};
use prefinal_crypto_core::threshold::{
    Message, Partial, Purpose, QuorumError, Signer, SigningCommittee,
};
use thiserror::Error;

use crate::certificate::MultiSignature;
use crate::config::Replicas;

const CHECKPOINT: Domain = Domain::new("trantor checkpoint");
const CHECKPOINT_KEY: Domain = Domain::new("trantor checkpoint key");

/// The votes of parties for one statement.
pub type Votes = BTreeMap<Party, Vec<u8>>;

/// Why votes are no certificate, or a certificate is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CertifierError {
    /// More votes are needed.
    #[error("the votes are no quorum")]
    BelowQuorum,
    /// These votes are not valid.
    #[error("{} vote(s) are not valid", culprits.len())]
    Faulty {
        /// The parties whose votes they are.
        culprits: BTreeSet<Party>,
    },
    /// These votes were made with shares that this party does not know: of before a handover, or behind one. That is
    /// no fault.
    #[error("{} vote(s) are of another sharing of the key", parties.len())]
    OtherSharing {
        /// The parties whose votes they are.
        parties: BTreeSet<Party>,
    },
    /// The certificate is not one, or of another statement.
    #[error("not a certificate of this checkpoint")]
    Certificate,
}

impl CertifierError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BelowQuorum => "below-quorum",
            Self::Faulty { .. } => "signature-mismatch",
            Self::OtherSharing { .. } => "other-committee",
            Self::Certificate => "invalid-certificate",
        }
    }
}

/// How the parties of a committee certify statements. Votes and certificates are bytes of its kind.
pub trait Certifier: Debug + Send + Sync {
    /// This party's vote; `None` if it has none.
    fn vote(&self, committee: &Replicas, statement: &[u8]) -> Option<Vec<u8>>;

    /// Whether valid votes of these parties are a quorum.
    fn suffices(&self, committee: &Replicas, parties: &BTreeSet<Party>) -> bool;

    /// Checks one party's vote.
    ///
    /// # Errors
    /// [`CertifierError::Faulty`] if it is not valid, [`CertifierError::OtherSharing`] if that cannot be told.
    fn check_vote(
        &self,
        committee: &Replicas,
        statement: &[u8],
        party: Party,
        vote: &[u8],
    ) -> Result<(), CertifierError>;

    /// Makes a certificate of votes.
    ///
    /// # Errors
    /// [`CertifierError`] says whether more votes are needed, or which to leave out.
    fn combine(
        &self,
        committee: &Replicas,
        statement: &[u8],
        votes: &Votes,
    ) -> Result<Vec<u8>, CertifierError>;

    /// Checks that a quorum has signed a statement.
    ///
    /// # Errors
    /// [`CertifierError::Certificate`] if no quorum has signed the statement.
    fn verify(
        &self,
        committee: &Replicas,
        statement: &[u8],
        certificate: &[u8],
    ) -> Result<(), CertifierError>;
}

fn encode(value: &impl borsh::BorshSerialize) -> Vec<u8> {
    // Writing into memory cannot fail.
    borsh::to_vec(value).unwrap_or_default()
}

/// The decoded votes, or the parties whose votes are no encoding.
fn decode<'a, T: borsh::BorshDeserialize>(
    votes: impl IntoIterator<Item = (Party, &'a [u8])>,
) -> Result<BTreeMap<Party, T>, CertifierError> {
    let mut decoded = BTreeMap::new();
    let mut culprits = BTreeSet::new();
    for (party, vote) in votes {
        match borsh::from_slice(vote) {
            Ok(vote) => drop(decoded.insert(party, vote)),
            Err(_) => drop(culprits.insert(party)),
        }
    }
    if culprits.is_empty() { Ok(decoded) } else { Err(CertifierError::Faulty { culprits }) }
}

/// Counts stake: a sum of the members' signatures, with a bitmap.
#[derive(Debug)]
pub struct StakeCertifier {
    secret: SecretKey,
}

impl StakeCertifier {
    /// The certifier of the party with this key.
    #[must_use]
    pub const fn new(secret: SecretKey) -> Self {
        Self { secret }
    }

    fn message(committee: &Replicas, statement: &[u8]) -> Vec<u8> {
        [&committee.context()[..], statement].concat()
    }
}

impl Certifier for StakeCertifier {
    fn vote(&self, committee: &Replicas, statement: &[u8]) -> Option<Vec<u8>> {
        let signature: Signature =
            self.secret.sign(CHECKPOINT, &Self::message(committee, statement));
        Some(encode(&signature))
    }

    fn suffices(&self, committee: &Replicas, parties: &BTreeSet<Party>) -> bool {
        let stake = parties.iter().map(|party| committee.stake(*party));
        committee.is_strong(stake.fold(0, u128::saturating_add))
    }

    fn check_vote(
        &self,
        committee: &Replicas,
        statement: &[u8],
        party: Party,
        vote: &[u8],
    ) -> Result<(), CertifierError> {
        let faulty = || CertifierError::Faulty { culprits: [party].into() };
        let signature: Signature = borsh::from_slice(vote).map_err(|_| faulty())?;
        let member = committee.member(party).ok_or_else(faulty)?;
        let message = Self::message(committee, statement);
        signature.verify(member.key.get(), CHECKPOINT, &message).map_err(|_| faulty())
    }

    fn combine(
        &self,
        committee: &Replicas,
        statement: &[u8],
        votes: &Votes,
    ) -> Result<Vec<u8>, CertifierError> {
        let votes = votes.iter().map(|(party, vote)| (*party, &**vote));
        let votes: BTreeMap<Party, Signature> = decode(votes)?;
        let message = Self::message(committee, statement);
        match MultiSignature::assemble(committee.electorate(), CHECKPOINT, &message, &votes) {
            Ok(certificate) => Ok(encode(certificate.get())),
            Err(AssembleError::Votes(VotesError::Faulty { culprits })) => {
                Err(CertifierError::Faulty { culprits })
            }
            Err(_) => Err(CertifierError::BelowQuorum),
        }
    }

    fn verify(
        &self,
        committee: &Replicas,
        statement: &[u8],
        certificate: &[u8],
    ) -> Result<(), CertifierError> {
        let certificate: MultiSignature =
            borsh::from_slice(certificate).map_err(|_| CertifierError::Certificate)?;
        let message = Self::message(committee, statement);
        match certificate.verify(committee.electorate(), CHECKPOINT, &message) {
            Ok(_) => Ok(()),
            Err(_) => Err(CertifierError::Certificate),
        }
    }
}

/// Signs with shares of one key that the committees hand over. A vote names the sharing that its shares are of, so
/// that parties which are at different places of a handover do not take each other's votes for false ones.
#[derive(Debug)]
pub struct ThresholdCertifier {
    committee: SigningCommittee<MinSig>,
    signer: Option<Signer<MinSig>>,
}

impl ThresholdCertifier {
    /// What the key is for, and nothing else.
    pub const PURPOSE: Purpose = Purpose::Messages(CHECKPOINT_KEY);

    /// The certifier of a committee, with this party's shares if it has any.
    #[must_use]
    pub const fn new(committee: SigningCommittee<MinSig>, signer: Option<Signer<MinSig>>) -> Self {
        Self { committee, signer }
    }

    /// The key that all certificates verify under.
    #[must_use]
    pub const fn key(&self) -> PublicKey {
        self.committee.group_key()
    }

    /// The partial in a vote, as bytes; `None` if the vote is made with shares of another sharing.
    fn partial<'a>(&self, vote: &'a [u8]) -> Option<&'a [u8]> {
        vote.strip_prefix(&self.committee.id()[..])
    }
}

impl Certifier for ThresholdCertifier {
    fn vote(&self, _: &Replicas, statement: &[u8]) -> Option<Vec<u8>> {
        let message = Message::new(CHECKPOINT_KEY, statement);
        let partial = self.signer.as_ref()?.partial(&message).ok()?;
        Some(encode(&(self.committee.id(), partial)))
    }

    fn suffices(&self, _: &Replicas, parties: &BTreeSet<Party>) -> bool {
        let access = self.committee.access();
        let weight = parties.iter().filter(|party| access.contains(**party));
        let weight = weight.map(|party| access.weight(*party)).fold(0, u32::saturating_add);
        weight >= self.committee.threshold().t().get()
    }

    fn check_vote(
        &self,
        _: &Replicas,
        statement: &[u8],
        party: Party,
        vote: &[u8],
    ) -> Result<(), CertifierError> {
        let faulty = |_| CertifierError::Faulty { culprits: [party].into() };
        let other = || CertifierError::OtherSharing { parties: [party].into() };
        let partial = self.partial(vote).ok_or_else(other)?;
        let partial: Partial<MinSig> = borsh::from_slice(partial).map_err(|_| faulty(()))?;
        let message = Message::new(CHECKPOINT_KEY, statement);
        partial.verify(&self.committee, party, &message).map_err(|_| faulty(()))
    }

    fn combine(
        &self,
        _: &Replicas,
        statement: &[u8],
        votes: &Votes,
    ) -> Result<Vec<u8>, CertifierError> {
        let access = self.committee.access();
        let shares = |party: &Party| access.contains(*party) && access.weight(*party) > 0;
        let (mut partials, mut parties) = (BTreeMap::new(), BTreeSet::new());
        for (&party, vote) in votes.iter().filter(|(party, _)| shares(party)) {
            match self.partial(vote) {
                Some(partial) => drop(partials.insert(party, partial)),
                None => drop(parties.insert(party)),
            }
        }
        if !parties.is_empty() {
            return Err(CertifierError::OtherSharing { parties });
        }
        let partials: BTreeMap<Party, Partial<MinSig>> = decode(partials)?;
        let message = Message::new(CHECKPOINT_KEY, statement);
        let signature =
            self.committee.optimistic(&message, partials).and_then(|quorum| quorum.combine());
        signature.map(|signature| encode(&signature)).map_err(|error| match error {
            QuorumError::Faulty { culprits } => CertifierError::Faulty { culprits },
            _ => CertifierError::BelowQuorum,
        })
    }

    fn verify(
        &self,
        _: &Replicas,
        statement: &[u8],
        certificate: &[u8],
    ) -> Result<(), CertifierError> {
        let signature: Signature =
            borsh::from_slice(certificate).map_err(|_| CertifierError::Certificate)?;
        let verified = signature.verify(&self.key(), CHECKPOINT_KEY, statement);
        verified.map_err(|_| CertifierError::Certificate)
    }
}
