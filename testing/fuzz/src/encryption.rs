//! Decryption, from bytes to plaintext: an altered ciphertext opens nowhere, an altered key is none, and
//! shares give the one plaintext there is or the names of exactly those whose share is wrong.
use std::collections::BTreeMap;
use std::sync::LazyLock;

use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::bls::{Domain, MinSig, SecretKey, Signature};
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::curve::{G1, G1Affine, Scalar};
use prefinal_crypto_core::elgamal::{
    Ciphertext, CombineError, DecryptionCommittee, DecryptionKey, DecryptionShare, Label,
    QuorumError, ValidCiphertext,
};
use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::timelock::{self, Identity};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::partials::{Encodings, Forgery, altered, wrong};

const WEIGHTS: [u32; 4] = [3, 1, 2, 2];
const THRESHOLD: u32 = 5;
const PLAINTEXT: &[u8; 16] = b"sixteen bytes...";
const ROUND: Domain = Domain::new("fuzz");

struct World {
    committee: DecryptionCommittee,
    label: Label,
    encoding: Vec<u8>,
    ciphertext: ValidCiphertext,
    honest: Encodings,
    /// The first party's key.
    stored: Vec<u8>,
    locked: Vec<u8>,
    signature: Signature<MinSig>,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let access = Access::new(&WEIGHTS).unwrap();
    let threshold = Threshold::new(THRESHOLD, access.total()).unwrap();
    let secret = Secret::new(Scalar::random(&mut rng));
    let polynomial = Polynomial::random(threshold.t(), &secret, &mut rng);
    let points = Points::of(&access, Placement::Consecutive);
    let shares = polynomial.shares(&points);
    let y = (G1Affine::generator() * secret.expose()).to_affine();
    let commitment = Commitment::commit(&polynomial);
    let committee =
        DecryptionCommittee::new(y, &commitment, access.clone(), points.placement()).unwrap();
    let label = Label::new(b"label").unwrap();
    let mut encrypt = || {
        let ciphertext = committee.key().encrypt(&label, PLAINTEXT, &mut rng).unwrap();
        let encoding = borsh::to_vec(&ciphertext).unwrap();
        (encoding, ciphertext.validate(committee.key(), &label).unwrap())
    };
    let ((encoding, ciphertext), (_, other)) = (encrypt(), encrypt());
    let decrypt = |ciphertext: &ValidCiphertext| {
        let share = |party| {
            let own = Secret::new(shares.expose()[access.range(party)].to_vec());
            let key = DecryptionKey::new(&committee, party, own).unwrap();
            (party, borsh::to_vec(&key.decrypt_share(ciphertext).unwrap()).unwrap())
        };
        access.parties().map(share).collect()
    };
    let honest = Encodings { right: decrypt(&ciphertext), elsewhere: decrypt(&other), header: 4 };
    let beacon = SecretKey::random(&mut rng);
    let identity = Identity::<MinSig>::new(ROUND, b"round");
    let locked = timelock::encrypt(&beacon.public_key(), &identity, PLAINTEXT, &mut rng).to_bytes();
    let signature = beacon.sign(ROUND, b"round");
    let own = Secret::new(shares.expose()[access.range(Party::new(0))].to_vec());
    let stored = DecryptionKey::new(&committee, Party::new(0), own).unwrap().to_secret_bytes();
    let stored = stored.expose().clone();
    World { committee, label, encoding, ciphertext, honest, stored, locked, signature }
});

/// Changes of what is stored or sent, whether decryption shares are checked together, and the shares.
type Input = (Vec<(u16, u8)>, bool, Vec<(u8, Forgery)>);

pub(crate) fn run(input: Input) {
    let (changes, optimistic, sent) = input;
    validate(&changes);
    unlock(&changes);
    restore(&changes);
    combine(optimistic, &sent);
}

fn validate(changes: &[(u16, u8)]) {
    let World { committee, label, encoding, .. } = &*WORLD;
    let bytes = altered(encoding, changes);
    if let Ok(ciphertext) = borsh::from_slice::<Ciphertext>(&bytes) {
        assert_eq!(borsh::to_vec(&ciphertext).unwrap(), bytes);
        let valid = ciphertext.validate(committee.key(), label).is_ok();
        assert_eq!(valid, bytes == *encoding);
    }
}

fn unlock(changes: &[(u16, u8)]) {
    let World { locked, signature, .. } = &*WORLD;
    let bytes = altered(locked, changes);
    if let Ok(ciphertext) = timelock::Ciphertext::<MinSig, 16>::from_bytes(&bytes) {
        assert_eq!(ciphertext.to_bytes(), bytes);
        let opened = ciphertext.decrypt(signature).map(|message| *message.expose());
        assert_eq!(opened.ok(), (bytes == *locked).then_some(*PLAINTEXT));
    }
}

fn restore(changes: &[(u16, u8)]) {
    let World { committee, stored, .. } = &*WORLD;
    let bytes = altered(stored, changes);
    let read = |bytes: &[u8]| {
        DecryptionKey::from_secret_bytes(committee, Party::new(0), &Secret::new(bytes.to_vec()))
    };
    assert_eq!(read(&bytes).is_ok(), bytes == *stored);
    assert!(read(&bytes[1..]).is_err());
}

fn combine(optimistic: bool, sent: &[(u8, Forgery)]) {
    let World { committee, ciphertext, honest, .. } = &*WORLD;
    let shares: BTreeMap<Party, DecryptionShare> = honest.received::<G1, _>(sent);
    let weight: u32 = shares.keys().map(|party| committee.access().weight(*party)).sum();
    let strangers = shares.keys().filter(|party| !honest.right.contains_key(party));
    let mut wrong = wrong(honest, &shares);
    wrong.extend(strangers);
    let quorum = if optimistic {
        committee.optimistic(ciphertext, shares)
    } else {
        committee.verify_all(ciphertext, shares)
    };
    let culprits = match quorum.as_ref().map(|quorum| quorum.combine()) {
        Ok(Ok(plaintext)) => {
            assert!(weight >= THRESHOLD && (optimistic || wrong.is_empty()));
            assert_eq!(plaintext.expose().as_slice(), PLAINTEXT);
            return;
        }
        Ok(Err(CombineError::Faulty { culprits })) => culprits,
        Ok(Err(other)) => panic!("{other}"),
        Err(QuorumError::Faulty { culprits }) => culprits.clone(),
        Err(QuorumError::BelowThreshold { got, .. }) => {
            assert!(*got == weight && weight < THRESHOLD);
            return;
        }
        Err(other) => panic!("{other}"),
    };
    // Shapes come before equations, so some of the culprits may hide behind others.
    assert!(!culprits.is_empty() && culprits.is_subset(&wrong));
}
