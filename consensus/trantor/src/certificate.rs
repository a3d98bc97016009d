//! Certificates: statements of a strong quorum, in one signature.
//!
//! | certificate | statement that was signed                       | what it shows                        |
//! |-------------|-------------------------------------------------|--------------------------------------|
//! | prepared    | "prepare", height, view, value                  | no other value can be prepared in this view |
//! | committed   | "commit", height, view, value                   | the value is decided                 |
//! | change      | "change", height, view, my highest prepared view | no older view can decide anything that is not named |
//!
//! Signatures are BLS multi-signatures with a bitmap of the signers; stake is counted exactly
//! ([`prefinal_crypto_core::certificate`]). In a change the signers may differ in the view that they
//! name, so it has a bitmap for each.
use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::{Domain, Signature};
use prefinal_crypto_core::certificate::{self, Signers, Statement};
use prefinal_protocol::{Value, View};
use thiserror::Error;

use crate::config::Replicas;

const PROPOSE: Domain = Domain::new("trantor propose");
const PREPARE: Domain = Domain::new("trantor prepare");
const COMMIT: Domain = Domain::new("trantor commit");
pub(crate) const CHANGE: Domain = Domain::new("trantor view change");

/// A statement of a party about a value. A party makes each statement about one value in a view.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub enum Stage {
    /// "I propose it, as the view's primary."
    Propose,
    /// "I accept it in this view."
    Prepare,
    /// "It is prepared, and I will say so whenever I ask for another view."
    Commit,
}

impl Stage {
    /// The domain under which a party signs [`Replicas::statement`] for this stage.
    #[must_use]
    pub const fn domain(self) -> Domain {
        match self {
            Self::Propose => PROPOSE,
            Self::Prepare => PREPARE,
            Self::Commit => COMMIT,
        }
    }
}

/// Why a certificate is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A signer names a prepared view that is not before the view that it asks for.
    #[error("change to attempt {attempt} names prepared attempt {prepared}")]
    FromTheFuture {
        /// The attempt that is asked for.
        attempt: u32,
        /// The attempt that is named.
        prepared: u32,
    },
    /// The first view of a height is there without anybody asking for it.
    #[error("nobody asks for the first view")]
    FirstView,
    /// The signers are not a quorum, or the signature is not theirs.
    #[error(transparent)]
    Quorum(#[from] certificate::CertificateError),
}

impl CertificateError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::FromTheFuture { .. } => "later-certificate",
            Self::FirstView => "unjustified-round",
            Self::Quorum(error) => error.code(),
        }
    }
}

/// Signers and the sum of their signatures.
pub type MultiSignature = certificate::Certificate<MinSig>;

/// A strong quorum made one statement about one value in one view.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct VoteCertificate {
    /// The view that the votes were cast in.
    pub view: View,
    /// The value that they are for.
    pub value: Value,
    /// The sum of the votes, and whose they are.
    pub votes: MultiSignature,
}

impl VoteCertificate {
    /// Checks bitmap and stake, without algebra.
    pub(crate) fn check_shape(&self, committee: &Replicas) -> Result<(), CertificateError> {
        committee.electorate().check_quorum([&self.votes.signers])?;
        Ok(())
    }

    /// Checks the signers, their stake and the signature.
    ///
    /// # Errors
    /// [`CertificateError`] says what is wrong.
    pub fn verify(&self, stage: Stage, committee: &Replicas) -> Result<(), CertificateError> {
        let message = committee.statement(self.view, self.value);
        self.votes.verify(committee.electorate(), stage.domain(), &message)?;
        Ok(())
    }
}

/// A strong quorum asks for a view.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ChangeCertificate {
    /// The view that is asked for.
    pub view: View,
    /// The signers, grouped by the attempt in which they were prepared last.
    pub claims: BTreeMap<Option<u32>, Signers>,
    /// The sum of the signatures.
    pub signature: Signature,
}

impl ChangeCertificate {
    /// The latest attempt in which a signer says that it was prepared.
    #[must_use]
    pub fn highest(&self) -> Option<u32> {
        self.claims.keys().next_back().copied().flatten()
    }

    /// Checks bitmaps, views and stake, without algebra.
    pub(crate) fn check_shape(&self, committee: &Replicas) -> Result<(), CertificateError> {
        check_claim(self.view, self.highest())?;
        committee.electorate().check_quorum(self.claims.values())?;
        Ok(())
    }

    /// Checks everything. There is one statement for each prepared view.
    ///
    /// # Errors
    /// [`CertificateError`] says what is wrong.
    pub fn verify(&self, committee: &Replicas) -> Result<(), CertificateError> {
        self.check_shape(committee)?;
        let claims = self.claims.keys();
        let messages: Vec<Vec<u8>> =
            claims.map(|claim| committee.change_statement(self.view, *claim)).collect();
        let statements = messages.iter().zip(self.claims.values());
        let statements: Vec<_> =
            statements.map(|(message, signers)| Statement { message, signers }).collect();
        committee.electorate().verify(CHANGE, &statements, &self.signature)?;
        Ok(())
    }
}

/// Checks that a view may be asked for by a party that was prepared in this attempt.
pub(crate) fn check_claim(view: View, prepared: Option<u32>) -> Result<(), CertificateError> {
    let attempt = view.attempt;
    match prepared {
        _ if attempt == 0 => Err(CertificateError::FirstView),
        Some(prepared) if prepared >= attempt => {
            Err(CertificateError::FromTheFuture { attempt, prepared })
        }
        _ => Ok(()),
    }
}
