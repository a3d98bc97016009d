//! A committee, and what may be done to honest bytes: shared by the targets of `pvss-dkg`.
//!
//! | first byte | the rest                                                                     |
//! |------------|------------------------------------------------------------------------------|
//! | 0          | the bytes that arrive                                                         |
//! | 1          | triples: a place (two bytes) and what the honest byte there is xored with      |
//! | 2          | pairs of places (two bytes each): 48-byte halves of points that are exchanged |
//!
//! Random bytes never get as far as the equations; honest ones with points in each other's places do.
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_pvss_dkg::{Config, DecryptionKey, Member, Paths, Purpose, Session, Shape};
use prefinal_weighted_rounding::{Stake, Weight};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

const WEIGHTS: [u32; 3] = [1, 0, 2];
/// A half of a point of 𝔾₂, or a point of 𝔾₁.
const BLOCK: usize = 48;

/// Three parties that share on both paths.
pub(crate) struct Committee {
    pub(crate) config: Arc<Config>,
    pub(crate) signers: Vec<min_sig::SecretKey>,
    pub(crate) rng: ChaCha20Rng,
}

impl Committee {
    pub(crate) fn new() -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let (mut signers, mut members) = (Vec::new(), Vec::new());
        for _ in WEIGHTS {
            let signer = min_sig::SecretKey::random(&mut rng);
            let (key, public) = (DecryptionKey::random(&mut rng), signer.public_key());
            members.push(Member {
                stake: Stake::new(1),
                encryption: key.register(&signer, &mut rng).verify(&public).unwrap(),
                signer: public.verify_possession(&signer.prove_possession()).unwrap(),
            });
            signers.push(signer);
        }
        let thresholds = Paths { slow: Weight::new(2), fast: Some(Weight::new(3)) };
        let shape = Shape::new(&WEIGHTS.map(Weight::new), thresholds).unwrap();
        let context = Context { chain: ChainId::new([5; 32]), epoch: EpochId::new(1) };
        let session = Session { context, attempt: 0, purpose: Purpose::Randomness };
        let config = Config::new(session, shape, members, Stake::new(1)).unwrap();
        Self { config: Arc::new(config), signers, rng }
    }

    pub(crate) fn party(number: u32) -> Party {
        Party::new(number)
    }
}

impl Default for Committee {
    fn default() -> Self {
        Self::new()
    }
}

/// What arrives.
pub(crate) fn received(honest: &[u8], data: &[u8]) -> Vec<u8> {
    let place = |high: u8, low: u8| usize::from(u16::from_be_bytes([high, low]));
    let mut bytes = honest.to_vec();
    match data {
        [0, rest @ ..] => return rest.to_vec(),
        [2, rest @ ..] => {
            let last = bytes.len() - BLOCK;
            for pair in rest.chunks_exact(4) {
                let (one, two) = (place(pair[0], pair[1]) % last, place(pair[2], pair[3]) % last);
                for offset in 0..BLOCK {
                    bytes.swap(one + offset, two + offset);
                }
            }
        }
        [_, rest @ ..] => {
            for triple in rest.chunks_exact(3) {
                let at = place(triple[0], triple[1]) % bytes.len();
                bytes[at] ^= triple[2];
            }
        }
        [] => {}
    }
    bytes
}

/// A fuzz target for one kind of dealing, by the module that has it.
macro_rules! fuzz_dealings {
    ($($module:tt)+) => {
        use $($module)+::{Dealing, deal, verify, verify_all};

        static HONEST: std::sync::LazyLock<($crate::dealings::Committee, Vec<u8>)> =
            std::sync::LazyLock::new(|| {
                let mut committee = $crate::dealings::Committee::new();
                let (config, signer) = (&committee.config, &committee.signers[0]);
                let party = $crate::dealings::Committee::party(0);
                let dealing = deal(config, party, signer, &mut committee.rng).unwrap();
                let bytes = dealing.to_bytes();
                (committee, bytes)
            });

        pub(crate) fn run(data: &[u8]) {
            let (committee, honest) = &*HONEST;
            let config = &committee.config;
            let bytes = $crate::dealings::received(honest, data);
            let Ok(dealing) = Dealing::from_bytes(config, &bytes) else {
                assert_ne!(bytes, *honest);
                return;
            };
            assert_eq!(dealing.to_bytes(), bytes, "one dealing, one encoding");
            let good = Dealing::from_bytes(config, honest).unwrap();
            let together = verify_all(config, vec![good, dealing.clone()]);
            let alone = verify(config, dealing).map(|_| ());
            assert_eq!(alone.is_ok(), bytes == *honest);
            let verdicts: Vec<_> =
                together.into_iter().map(|verdict| verdict.map(|_| ())).collect();
            assert_eq!(verdicts, [Ok(()), alone]);
        }
    };
}
pub(crate) use fuzz_dealings;
