//! Verification: anybody checks dealings with field elements.
//!
//! Sizes, identities and ranges come first, then the signature, then one product of two pairings for
//! all the rest (`equations`). Many dealings are checked as one. Each faulty one is named, with the
//! same verdict as if it were checked alone (`batch`). Only for the faulty ones the failing equation is
//! found: then each proof is summed alone.
use std::collections::BTreeSet;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::curve::{G1Affine, G2Affine};
use thiserror::Error;

use super::chunk::CHUNKS;
use super::chunking::{Bounds, REPETITIONS};
use super::dealing::Dealing;
use super::equations;
use super::handover::Predecessor;
use super::layout::Layout;
use super::proof::Proof;
use crate::accepted::Accepted;
use crate::batch::{self, Checker};
use crate::config::Config;
use crate::proof::{Contribution, ProofError};
use crate::shape::SharePath;

/// Why a dealing is refused. The fault is the signer's, unless it is the signature that fails.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DealingError {
    /// The dealer's signature or its proof of knowledge fails.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// A fresh secret where a share must be dealt on, or the other way round.
    #[error("dealing is of another kind than was asked for")]
    Source,
    /// The dealer does not hold this share: another party does, or nobody.
    #[error("{dealer} deals share {share}, which it does not hold")]
    Holder {
        /// The dealer that deals a share of somebody else.
        dealer: Party,
        /// The index of the share in the key before.
        share: u32,
    },
    /// The dealer dealt another secret in place of its share.
    #[error("what is dealt is not share {share} of the key before")]
    Share {
        /// The index of the share in the key before.
        share: u32,
    },
    /// A list has the wrong length: it was made for another committee.
    #[error("{what}: {got}, expected {expected}")]
    Size {
        /// Which list of the dealing it is.
        what: &'static str,
        /// Length of the list in the dealing.
        got: usize,
        /// The length that the committee's shares ask for.
        expected: usize,
    },
    /// A value is the identity. An honest dealer never has one there.
    #[error("identity as {what}")]
    Identity {
        /// Which value of the dealing is the identity.
        what: &'static str,
    },
    /// `F` and `V̂₀` commit to two different secrets.
    #[error("commitments to the secret in the two groups differ")]
    Commitment,
    /// The shares disagree, or more of them than the threshold would be needed.
    #[error(
        "{path} shares do not lie on a polynomial of degree below {threshold} through the secret"
    )]
    Degree {
        /// The path whose shares disagree.
        path: SharePath,
        /// Number of shares that must suffice on this path.
        threshold: u32,
    },
    /// A chunk sum is out of range, so some chunk may be too large to decrypt.
    #[error("sum {sum} of chunks is {got}, at most {most} is allowed")]
    Range {
        /// The index of the sum.
        sum: usize,
        /// The value of the sum.
        got: u64,
        /// The largest value allowed, `Z − 1`.
        most: u64,
    },
    /// The proof of chunking fails: some chunk may be too large to decrypt, or its dealer does not know it.
    #[error("proof that the chunks are small fails")]
    Chunking,
    /// The proof of sharing fails: some party would decrypt another share than the one committed to.
    #[error("proof that the chunks add up to the shares fails")]
    Sharing,
}

impl DealingError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Proof(error) => error.code(),
            Self::Source => "wrong-kind",
            Self::Holder { .. } => "not-the-holder",
            Self::Share { .. } => "share-mismatch",
            Self::Size { .. } => "wrong-count",
            Self::Identity { .. } => "identity",
            Self::Commitment => "commitment-mismatch",
            Self::Degree { .. } => "degree-too-high",
            Self::Range { .. } => "chunk-too-large",
            Self::Chunking => "range-proof",
            Self::Sharing => "sharing-proof",
        }
    }
}

/// Checks a dealing. It does not matter who sent it.
///
/// See the example at [`deal`](crate::field::deal()).
///
/// # Errors
/// The first check that fails.
pub fn verify(config: &Config, dealing: Dealing) -> Result<Accepted<Dealing>, DealingError> {
    batch::check(&Verifier::new(config, None), dealing)
}

/// Checks many dealings together. It does not matter who sent them. The verdicts are in the order of
/// the dealings, and the same as [`verify`] would give. Saves four pairings for each dealing but the
/// first. One false dealing costs no more than a valid one.
///
/// [`crate::verify_all`] has an example.
#[must_use]
pub fn verify_all(
    config: &Config,
    dealings: Vec<Dealing>,
) -> Vec<Result<Accepted<Dealing>, DealingError>> {
    batch::check_all(&Verifier::new(config, None), dealings)
}

/// The set-up that dealings are checked against.
pub(crate) struct Verifier<'a> {
    pub(crate) config: &'a Config,
    pub(crate) layout: Layout,
    pub(crate) before: Option<&'a Predecessor>,
}

impl<'a> Verifier<'a> {
    /// For dealings of fresh secrets (`None`), or of shares of the key before.
    pub(crate) fn new(config: &'a Config, before: Option<&'a Predecessor>) -> Self {
        Self { config, layout: Layout::new(config), before }
    }

    /// Checks that the secret has the right origin.
    fn check_source(&self, dealing: &Dealing) -> Result<(), DealingError> {
        match (self.before, dealing.share) {
            (None, None) => Ok(()),
            (Some(before), Some(share)) => before.check(dealing, share),
            _ => Err(DealingError::Source),
        }
    }
}

impl Checker for Verifier<'_> {
    type Dealing = Dealing;
    type Error = DealingError;

    fn config(&self) -> &Config {
        self.config
    }

    fn check_shape(&self, dealing: &Dealing) -> Result<(), DealingError> {
        self.check_source(dealing)?;
        check_sizes(&self.layout, dealing)?;
        check_identities(dealing)?;
        check_ranges(&self.layout, &dealing.proof.sums)
    }

    fn signed<'a>(&self, dealing: &'a Dealing) -> (&'a Contribution, &'a min_sig::Signature) {
        (&dealing.contribution, &dealing.signature)
    }

    fn failing(&self, dealings: &[&Dealing]) -> BTreeSet<usize> {
        equations::failing(self, dealings)
    }

    fn blame(&self, dealing: &Dealing) -> DealingError {
        equations::check_each(self, dealing).err().unwrap_or(DealingError::Sharing)
    }
}

fn check_sizes(layout: &Layout, dealing: &Dealing) -> Result<(), DealingError> {
    let (holders, levels) = (layout.holders.len(), layout.levels);
    let Dealing { body, proof: Proof { masks, sums, nonces, responses }, .. } = dealing;
    let lengths = [
        ("share commitments", body.commitments.len(), layout.items),
        ("ephemeral keys", body.ephemerals.len(), levels * CHUNKS),
        ("ciphertexts", body.ciphertexts.len(), layout.items * CHUNKS),
        ("mask ephemerals", masks.ephemerals.len(), REPETITIONS),
        ("mask ciphertexts", masks.ciphertexts.len(), REPETITIONS),
        ("sums", sums.len(), REPETITIONS),
        ("holder nonces", nonces.holders.len(), holders),
        ("level nonces", nonces.levels.len(), levels),
        ("holder responses", responses.holders.len(), holders),
        ("level responses", responses.levels.len(), levels),
    ];
    match lengths.into_iter().find(|(_, got, expected)| got != expected) {
        Some((what, got, expected)) => Err(DealingError::Size { what, got, expected }),
        None => Ok(()),
    }
}

fn check_identities(dealing: &Dealing) -> Result<(), DealingError> {
    let body = &dealing.body;
    let found = [
        ("commitment", dealing.contribution.commitment.is_identity()),
        ("public key", body.public_key.is_identity()),
        ("share commitment", body.commitments.iter().any(G2Affine::is_identity)),
        ("ephemeral key", body.ephemerals.iter().any(G1Affine::is_identity)),
        ("ciphertext", body.ciphertexts.iter().any(G1Affine::is_identity)),
    ];
    match found.into_iter().find(|(_, found)| *found) {
        Some((what, _)) => Err(DealingError::Identity { what }),
        None => Ok(()),
    }
}

fn check_ranges(layout: &Layout, sums: &[u64]) -> Result<(), DealingError> {
    let most = Bounds::new(layout.items).sum - 1;
    match sums.iter().enumerate().find(|(_, got)| **got > most) {
        Some((sum, got)) => Err(DealingError::Range { sum, got: *got, most }),
        None => Ok(()),
    }
}
