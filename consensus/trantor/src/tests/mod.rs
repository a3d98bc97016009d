//! One engine whose peers are whatever a test says (`bench`).
//!
//! Committees in situations of all kinds are in `tests/laws.rs`.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod bench;
mod changes;
mod messages;
mod supplies;
mod votes;

use std::sync::OnceLock;

use prefinal_crypto_core::bls::min_sig::{PublicKey, SecretKey};
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_crypto_core::verified::Verified;
use prefinal_weighted_rounding::Stake;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::config::Member;

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
