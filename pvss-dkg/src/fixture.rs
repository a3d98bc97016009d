//! A committee with all its keys, for tests. Seven parties, two of them without shares.

use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_weighted_rounding::{Stake, Weight};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::accepted::Accepted;
use crate::config::{Config, Member, Session};
use crate::deal::{Author, deal};
use crate::dealing::Dealing;
use crate::key::DecryptionKey;
use crate::purpose::Purpose;
use crate::shape::{Paths, Shape};
use crate::verify::verify;

pub(crate) const WEIGHTS: [u32; 7] = [3, 0, 1, 2, 0, 4, 1];
pub(crate) const SLOW: u32 = 6;
pub(crate) const FAST: u32 = 9;
/// Party 5 and any other qualify, so do any three others with party 0.
const STAKES: [u128; 7] = [30, 5, 10, 20, 5, 40, 10];
const QUALIFY: u128 = 44;

pub(crate) struct Committee {
    pub(crate) config: Arc<Config>,
    pub(crate) signers: Vec<min_sig::SecretKey>,
    pub(crate) keys: Vec<DecryptionKey>,
    pub(crate) rng: ChaCha20Rng,
}

pub(crate) fn party(position: u32) -> Party {
    Party::new(position)
}

pub(crate) fn as_dealer<'a>(
    config: &'a Config,
    dealer: u32,
    signer: &'a min_sig::SecretKey,
) -> Author<'a> {
    Author { config, party: party(dealer), signer }
}

pub(crate) fn session() -> Session {
    let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(3) };
    Session { context, attempt: 0, purpose: Purpose::Randomness }
}

pub(crate) fn shape(weights: &[u32], slow: u32, fast: Option<u32>) -> Shape {
    let weights: Vec<Weight> = weights.iter().copied().map(Weight::new).collect();
    let (slow, fast) = (Weight::new(slow), fast.map(Weight::new));
    Shape::new(&weights, Paths { slow, fast }).unwrap()
}

impl Committee {
    /// The standard committee in the standard session.
    pub(crate) fn new() -> Self {
        Self::with(session(), shape(&WEIGHTS, SLOW, Some(FAST)), 1)
    }

    /// The same keys for the same seed.
    pub(crate) fn with(session: Session, shape: Shape, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let signers: Vec<_> = STAKES.iter().map(|_| min_sig::SecretKey::random(&mut rng)).collect();
        let keys: Vec<_> = STAKES.iter().map(|_| DecryptionKey::random(&mut rng)).collect();
        let members = members(&signers, &keys, &mut rng);
        let config = Config::new(session, shape, members, Stake::new(QUALIFY)).unwrap();
        Self { config: Arc::new(config), signers, keys, rng }
    }

    pub(crate) fn signer(&self, dealer: u32) -> &min_sig::SecretKey {
        &self.signers[party(dealer).index()]
    }

    pub(crate) fn deal(&mut self, dealer: u32) -> Dealing {
        let signer = &self.signers[party(dealer).index()];
        deal(&self.config, party(dealer), signer, &mut self.rng).unwrap()
    }

    pub(crate) fn deal_verified(&mut self, dealer: u32) -> Arc<Accepted<Dealing>> {
        let dealing = self.deal(dealer);
        Arc::new(verify(&self.config, dealing).unwrap())
    }
}

pub(crate) fn members(
    signers: &[min_sig::SecretKey],
    keys: &[DecryptionKey],
    rng: &mut ChaCha20Rng,
) -> Vec<Member> {
    let parties = signers.iter().zip(keys).zip(STAKES);
    parties
        .map(|((signer, key), stake)| {
            let public = signer.public_key();
            Member {
                stake: Stake::new(stake),
                encryption: key.register(signer, rng).verify(&public).unwrap(),
                signer: public.verify_possession(&signer.prove_possession()).unwrap(),
            }
        })
        .collect()
}
