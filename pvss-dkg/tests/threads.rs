//! Who computes where: dealings are the same bytes and verdicts on any number of threads. One test in a
//! separate binary, which runs without and with the feature `parallel`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_pvss_dkg::{
    Config, Dealing, DecryptionKey, Member, Paths, Purpose, Session, Shape, deal, field, verify,
    verify_all,
};
use prefinal_weighted_rounding::{Stake, Weight};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// So many that everything splits.
const PARTIES: u32 = 36;

fn results() -> Vec<u8> {
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let (mut signers, mut members) = (Vec::new(), Vec::new());
    for _ in 0..PARTIES {
        let signer = min_sig::SecretKey::random(&mut rng);
        let (key, public) = (DecryptionKey::random(&mut rng), signer.public_key());
        members.push(Member {
            stake: Stake::new(1),
            encryption: key.register(&signer, &mut rng).verify(&public).unwrap(),
            signer: public.verify_possession(&signer.prove_possession()).unwrap(),
        });
        signers.push(signer);
    }
    let weights = vec![Weight::new(1); signers.len()];
    let thresholds = Paths { slow: Weight::new(PARTIES / 2), fast: None };
    let shape = Shape::new(&weights, thresholds).unwrap();
    let context = Context { chain: ChainId::new([3; 32]), epoch: EpochId::new(2) };
    let session = Session { context, attempt: 0, purpose: Purpose::Randomness };
    let config = Config::new(session, shape, members, Stake::new(1)).unwrap();
    let (dealer, signer) = (Party::new(0), signers.first().unwrap());

    let bytes = deal(&config, dealer, signer, &mut rng).unwrap().to_bytes();
    let dealing = Dealing::from_bytes(&config, &bytes).unwrap();
    assert!(verify(&config, dealing.clone()).is_ok());
    assert!(verify_all(&config, vec![dealing; 9]).iter().all(Result::is_ok));

    let of_field = field::deal(&config, dealer, signer, &mut rng).unwrap().to_bytes();
    let dealing = field::Dealing::from_bytes(&config, &of_field).unwrap();
    assert!(field::verify_all(&config, vec![dealing; 2]).iter().all(Result::is_ok));
    [bytes, of_field].concat()
}

#[test]
fn threads_change_nothing() {
    let expected = results();
    #[cfg(not(feature = "parallel"))]
    assert_eq!(results(), expected);
    #[cfg(feature = "parallel")]
    for size in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(size).build().unwrap();
        assert_eq!(pool.install(results), expected, "{size} threads");
    }
}
