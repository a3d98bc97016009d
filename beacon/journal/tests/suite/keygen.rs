//! A key generation under a journal: its records are written before its dealing leaves, and never by hand.
use std::sync::{Arc, Mutex};

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_journal::{Journaled, Memory};
use prefinal_protocol::Instant;
use prefinal_pvss_dkg::protocol::{Effect, Input, Keygen, Keys, Role};
use prefinal_pvss_dkg::{
    Config, Dealing, DecryptionKey, Dkg, Member, Paths, Purpose, Session, Shape,
};
use prefinal_weighted_rounding::{Stake, Weight};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

type Collected = Dkg<Dealing>;
type Disk = Arc<Mutex<Memory>>;

struct Committee {
    config: Arc<Config>,
    signers: Vec<min_sig::SecretKey>,
}

fn committee() -> Committee {
    let mut rng = ChaCha20Rng::seed_from_u64(1401);
    let signers: Vec<_> = (0..3).map(|_| min_sig::SecretKey::random(&mut rng)).collect();
    let members = signers.iter().map(|signer| {
        let (key, public) = (DecryptionKey::random(&mut rng), signer.public_key());
        let encryption = key.register(signer, &mut rng).verify(&public).unwrap();
        let signer = public.verify_possession(&signer.prove_possession()).unwrap();
        Member { stake: Stake::new(1), encryption, signer }
    });
    let members = members.collect();
    let shape = Shape::new(&[Weight::new(1); 3], Paths { slow: Weight::new(2), fast: None });
    let context = Context { chain: ChainId::new([5; 32]), epoch: EpochId::new(1) };
    let session = Session { context, attempt: 0, purpose: Purpose::Randomness };
    let config = Config::new(session, shape.unwrap(), members, Stake::new(1)).unwrap();
    Committee { config: Arc::new(config), signers }
}

/// One life of the first dealer, with another generator in each, until it has something to send. What is
/// given back is the dealing and the disk as a crash right then leaves it.
fn life(committee: &Committee, disk: Memory, seed: u64) -> (Vec<u8>, Memory) {
    let disk: Disk = Arc::new(Mutex::new(disk));
    let role = Role { dealer: Some(Party::new(0)), recipient: None };
    let opened = Journaled::open(Arc::clone(&disk), |records| {
        Keygen::new(Collected::new(Arc::clone(&committee.config)), role, records)
    });
    let mut keygen = opened.unwrap();
    let rng = &mut ChaCha20Rng::seed_from_u64(seed);
    let mut keys =
        Keys::<Collected> { signer: &committee.signers[0], decryption: &mut None, held: &() };
    keygen.handle(Instant::START, Input::Start).unwrap();
    while let Some(effect) = keygen.poll().unwrap() {
        match effect {
            Effect::Run(job) => {
                let verdict = job.run(&mut keys, rng);
                keygen.handle(Instant::START, Input::Checked(verdict)).unwrap();
            }
            Effect::Submit(envelope) => {
                return (envelope.to_vec(), disk.lock().unwrap().after_crash(0));
            }
            _ => {}
        }
    }
    panic!("the dealer has not dealt")
}

/// A dealer that deals twice is accused by everybody. Only its journal prevents that, for the generator is
/// another one after the crash.
#[test]
fn a_dealer_that_crashes_behind_its_dealing_sends_the_same_again() {
    let committee = committee();
    let (first, left) = life(&committee, Memory::new(), 1);
    let (again, _) = life(&committee, left, 2);
    assert_eq!(first, again);
    let (forgotten, _) = life(&committee, Memory::new(), 2);
    assert_ne!(first, forgotten);
}
