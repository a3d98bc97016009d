//! The engine under a tiny scheduler: virtual time, links with delay and loss, crashes with records.

use crypto_core::access::Party;
use crypto_core::bls::SecretKey;
use crypto_core::context::{ChainId, Context, EpochId};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use weighted_rounding::Stake;

use crate::config::Member;

pub(crate) fn context(chain: u8) -> Context {
    Context { chain: ChainId::new([chain; 32]), epoch: EpochId::new(1) }
}

pub(crate) fn secret(party: u32) -> SecretKey {
    SecretKey::random(&mut ChaCha20Rng::seed_from_u64(u64::from(party)))
}

pub(crate) fn members(stakes: &[u128]) -> Vec<Member> {
    let member = |(party, &stake): (u32, &u128)| {
        let secret = secret(party);
        let proof = secret.prove_possession();
        let key = secret.public_key().verify_possession(&proof).unwrap();
        Member { key, stake: Stake::new(stake) }
    };
    (0..).zip(stakes).map(member).collect()
}
