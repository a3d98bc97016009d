//! One engine whose peers are whatever a test says (`bench`).
//!
//! Committees in situations of all kinds are in `tests/laws.rs`.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod adopts;
mod answers;
mod attack;
mod batches;
mod bench;
mod borders;
mod changes;
mod clients;
mod handovers;
mod histories;
mod leases;
mod messages;
mod network;
mod newcomers;
mod own;
mod replicas;
mod service;
mod supplies;
mod transfers;
mod votes;

use std::sync::OnceLock;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{PublicKey, SecretKey, aggregate};
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_crypto_core::verified::Verified;
use prefinal_weighted_rounding::Stake;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::batch::{AvailabilityCertificate, Batch, BatchLabel};
use crate::certificate::MultiSignature;
use crate::config::{Member, Replicas};

pub(crate) fn context(chain: u8) -> Context {
    Context { chain: ChainId::new([chain; 32]), epoch: EpochId::new(1) }
}

pub(crate) fn secret(party: u32) -> SecretKey {
    SecretKey::random(&mut ChaCha20Rng::seed_from_u64(u64::from(party)))
}

pub(crate) fn members(stakes: &[u128]) -> Vec<Member> {
    // Proofs of possession are dear, and always the same.
    static KEYS: OnceLock<Vec<Verified<PublicKey>>> = OnceLock::new();
    let key = |party| {
        let secret = secret(party);
        let proof = secret.prove_possession();
        secret.public_key().verify_possession(&proof).unwrap()
    };
    let keys = KEYS.get_or_init(|| (0..10).map(key).collect());
    assert!(stakes.len() <= keys.len());
    keys.iter().zip(stakes).map(|(&key, &stake)| Member { key, stake: Stake::new(stake) }).collect()
}

/// The certificate of a batch by these parties of a committee of four.
pub(crate) fn certify(batch: &Batch, parties: &[u32]) -> AvailabilityCertificate {
    certify_in(&[1; 4], batch, parties)
}

pub(crate) fn certify_in(
    stakes: &[u128],
    batch: &Batch,
    parties: &[u32],
) -> AvailabilityCertificate {
    let committee = Replicas::new(&context(0), members(stakes)).unwrap();
    let label = batch.label();
    let message = label.statement(&committee);
    let signed: Vec<_> =
        parties.iter().map(|&party| secret(party).sign(BatchLabel::domain(), &message)).collect();
    let signers = committee.signers(parties.iter().copied().map(Party::new));
    let acks = MultiSignature { signers, signature: aggregate(&signed).unwrap() };
    AvailabilityCertificate { batch: label, acks }
}
