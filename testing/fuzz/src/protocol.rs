//! What parties and chains store or send around dealings: whatever is made of honest bytes, nobody is
//! accused that did nothing, and one value has one encoding. The first byte chooses.
//!
//! | first byte | bytes of                                                    |
//! |------------|-------------------------------------------------------------|
//! | 0          | an honest party's envelope, given to one that collects       |
//! | 1          | evidence of a contradiction                                  |
//! | 2          | an epoch's key                                               |
//! | 3          | evidence of a large chunk in an honest dealing               |
//! | 4          | a stored decryption key, as they are                         |
use std::sync::{Arc, LazyLock};

use ::prefinal_protocol::{Instant, Machine};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::curve::G1Affine;
use prefinal_crypto_core::secret::Secret;
use prefinal_pvss_dkg::protocol::{
    Effect, EpochKey, Evidence, Group, Input, Keygen, Keys, Output, Position, Role,
};
use prefinal_pvss_dkg::{Dealing, DecryptionKey, Dkg, field};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::dealings::{Committee, received};

type Collected = Dkg<Dealing>;

struct Honest {
    committee: Committee,
    envelope: Vec<u8>,
    evidence: Vec<u8>,
    key: Vec<u8>,
    chunk: Vec<u8>,
}

/// What a party that takes these in this order says.
#[derive(Default)]
struct Observed {
    submitted: Vec<Vec<u8>>,
    evidence: Vec<Vec<u8>>,
    key: Option<Vec<u8>>,
}

fn hear(committee: &Committee, role: Role, ordered: &[Vec<u8>], seed: u64) -> Observed {
    let mut keygen = Keygen::new(Collected::new(committee.config.clone()), role, vec![]).unwrap();
    keygen.handle(Instant::START, Input::Start);
    for (number, message) in (0..).zip(ordered) {
        let (position, message) = (Position::new(number), Arc::from(message.as_slice()));
        keygen.handle(Instant::START, Input::Ordered { position, message });
    }
    let rng = &mut ChaCha20Rng::seed_from_u64(seed);
    let decryption = &mut Some(DecryptionKey::random(rng));
    let signer = &committee.signers[role.dealer.map_or(0, Party::index)];
    let mut keys = Keys::<Collected> { signer, decryption, held: &() };
    let mut heard = Observed::default();
    while let Some(output) = keygen.poll() {
        match output {
            Output::Do(Effect::Run(job)) => {
                let verdict = job.run(&mut keys, rng);
                keygen.handle(Instant::START, Input::Checked(verdict));
            }
            Output::Do(Effect::Submit(envelope)) => heard.submitted.push(envelope.to_vec()),
            Output::Do(Effect::Accuse { evidence, .. }) => heard.evidence.push(evidence.to_bytes()),
            Output::Do(Effect::Ready(ready)) => heard.key = Some(ready.key.to_bytes()),
            _ => {}
        }
    }
    heard
}

/// Says that the first chunk of an honest dealing is hidden by the generator.
fn chunk(committee: &Committee) -> Vec<u8> {
    let rng = &mut ChaCha20Rng::seed_from_u64(5);
    let signer = &committee.signers[0];
    let dealing = field::deal(&committee.config, Party::new(0), signer, rng).unwrap();
    let (head, place, chunk) = ([1, 3], [0; 8], [0; 8]);
    let mask = G1Affine::generator().to_bytes();
    [&head[..], &place, &chunk, &mask, &dealing.to_bytes()].concat()
}

static HONEST: LazyLock<Honest> = LazyLock::new(|| {
    let committee = Committee::new();
    let deal = |dealer, seed| {
        let role = Role { dealer: Some(Party::new(dealer)), recipient: None };
        hear(&committee, role, &[], seed).submitted.remove(0)
    };
    // Party 1 has dealt twice, which no honest party does.
    let ordered = [deal(1, 1), deal(1, 2), deal(0, 3), deal(2, 4)];
    let heard = hear(&committee, Role::default(), &ordered, 0);
    let [_, _, envelope, _] = ordered;
    let evidence = heard.evidence.into_iter().next().unwrap();
    let key = heard.key.unwrap();
    let chunk = chunk(&committee);
    Honest { committee, envelope, evidence, key, chunk }
});

pub(crate) fn run(data: &[u8]) {
    let honest = &*HONEST;
    let Some((which, data)) = data.split_first() else { return };
    match which {
        0 => {
            let bytes = received(&honest.envelope, data);
            let heard = hear(&honest.committee, Role::default(), &[bytes], 0);
            assert!(heard.evidence.is_empty(), "an honest party is accused");
        }
        1 => {
            let bytes = received(&honest.evidence, data);
            let collector = Collected::new(honest.committee.config.clone());
            let dealing = honest.committee.config.dealing_bytes();
            let Ok(evidence) = Evidence::from_bytes(dealing, &bytes) else {
                assert_ne!(bytes, honest.evidence);
                return;
            };
            assert_eq!(evidence.to_bytes(), bytes, "one evidence, one encoding");
            match evidence.verify(&collector) {
                Ok(fault) => assert_eq!(fault.party, Party::new(1)),
                Err(_) => assert_ne!(bytes, honest.evidence),
            }
        }
        3 => {
            let bytes = received(&honest.chunk, data);
            let collector = Dkg::<field::Dealing>::new(honest.committee.config.clone());
            let dealing = honest.committee.config.field_dealing_bytes();
            let Ok(evidence) = Evidence::from_bytes(dealing, &bytes) else {
                assert_ne!(bytes, honest.chunk);
                return;
            };
            assert_eq!(evidence.to_bytes(), bytes, "one evidence, one encoding");
            assert!(evidence.verify(&collector).is_err(), "an honest party is accused");
        }
        4 => {
            let Ok(bytes) = <[u8; 32]>::try_from(data) else { return };
            if let Ok(key) = DecryptionKey::from_secret_bytes(&Secret::new(bytes)) {
                assert_eq!(*key.to_secret_bytes().expose(), bytes, "one key, one encoding");
            }
        }
        _ => {
            let bytes = received(&honest.key, data);
            let Ok(key) = EpochKey::<Group>::from_bytes(&bytes) else {
                assert_ne!(bytes, honest.key);
                return;
            };
            assert_eq!(key.to_bytes(), bytes, "one key, one encoding");
            assert!(key.evaluation().is_ok() || bytes != honest.key);
        }
    }
}
