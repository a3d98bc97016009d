//! What signatures cost a replica, in time and bytes: sums of BLS, or lists of Ed25519.
//!
//! |                          | aggregated (BLS)                    | lists (Ed25519)                      |
//! |--------------------------|-------------------------------------|--------------------------------------|
//! | sign                     | hash to 𝔾₁, multiplication           | one signature                        |
//! | take a vote in           | decode a point, its subgroup         | nothing: 64 bytes                    |
//! | check a quorum           | one product of two pairings          | one check for each signer            |
//! | bytes of a certificate   | a bitmap and 48                      | a bitmap and 64 for each signer      |
//!
//! The replicas compute with ideal signatures, so only prices and lengths differ.
use std::time::Duration;

use prefinal_trantor::{AvailabilityCertificate, Claim, Job, Message, Work};

use crate::costs::Costs;
use crate::legible::ReadableEngine;

/// Bytes of a signature in a list, and how many more than one of BLS.
const IN_LIST: usize = 64;
const MORE: usize = IN_LIST - 48;

/// How votes become certificates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Signatures {
    #[default]
    Aggregated,
    Lists,
}

type Trantor = prefinal_trantor::Trantor;

impl Signatures {
    pub(super) fn signing(self, costs: &Costs, message: &Message) -> Duration {
        match self {
            Self::Aggregated => Trantor::signing(costs, message),
            Self::Lists if message.is_signed() => costs.ed25519_sign(),
            Self::Lists => Trantor::signing(costs, message),
        }
    }

    pub(super) fn receiving(self, costs: &Costs, message: &Message) -> Duration {
        let all = Trantor::receiving(costs, message);
        match self {
            Self::Aggregated => all,
            Self::Lists => all.saturating_sub(Duration::from_nanos(costs.g1_decode)),
        }
    }

    pub(super) fn working(self, costs: &Costs, job: &Job) -> Duration {
        let Self::Lists = self else { return Trantor::working(costs, job) };
        let signers = match job.work() {
            Work::Votes { votes, .. } => votes.len(),
            Work::Acks { acks, .. } => acks.len(),
            Work::Changes { votes, .. } => votes.len(),
            Work::Claims(claims) => claims.iter().map(signers).sum(),
            Work::Evidence { .. } => 2,
        };
        costs.ed25519_verify() * u32::try_from(signers).unwrap_or(u32::MAX)
    }

    /// How many bytes a message has more than its encoding here.
    pub(super) fn excess(self, message: &Message) -> usize {
        let Self::Lists = self else { return 0 };
        let certified = |all: &[AvailabilityCertificate]| -> usize {
            all.iter().map(|one| one.acks.signers.len()).sum()
        };
        let listed = match message {
            Message::Proposal(proposal) => certified(proposal.body.certificates()),
            Message::Certificates(all) => certified(all),
            Message::ViewChange(change) => {
                change.prepared.iter().map(|prepared| prepared.votes.signers.len()).sum()
            }
            _ => 0,
        };
        MORE * usize::from(message.is_signed()) + IN_LIST * listed
    }
}

fn signers(claim: &Claim) -> usize {
    match claim {
        Claim::Votes(_, certificate) => certificate.votes.signers.len(),
        Claim::Change(change) => {
            change.claims.values().map(prefinal_crypto_core::certificate::Signers::len).sum()
        }
        Claim::Batch(certificate) => certificate.acks.signers.len(),
    }
}
