//! What a key is for: from dealings to a signature that its public key verifies, and to a plaintext.
use crypto_core::access::Party;
use crypto_core::bls::{MinSig, PublicKey};
use crypto_core::context::Slot;
use crypto_core::elgamal::Label;
use crypto_core::threshold::{KeyShareError, Purpose};
use pvss_dkg::Path;
use pvss_dkg::field::PurposeError;

use crate::epoch::{DOMAIN, Epoch, Plan};

fn plan() -> Plan {
    Plan { weights: vec![2, 0, 1, 3], slow: 3, fast: Some(5) }
}

#[test]
fn both_paths_sign_what_the_key_verifies() {
    let epoch = Epoch::first(&plan(), 1);
    let slow = epoch.signature(Path::Slow, b"message");
    assert_eq!(epoch.signature(Path::Fast, b"message"), slow);
    let key = PublicKey::<MinSig>::from_bytes(&epoch.key.public_key().to_bytes()).unwrap();
    assert_eq!(slow.verify(&key, DOMAIN, b"message"), Ok(()));
    assert!(slow.verify(&key, DOMAIN, b"other").is_err());
}

#[test]
fn one_path_is_enough() {
    let plan = Plan { fast: None, ..plan() };
    let epoch = Epoch::first(&plan, 2);
    let committees = epoch.committees();
    assert!(committees.get(Path::Fast).is_none());
    let signers = epoch.signer(Party::new(3), &committees);
    assert!(signers.fast.is_none() && signers.slow.share_keys().len() == 3);
    let key = committees.slow.group_key();
    assert_eq!(epoch.signature(Path::Slow, b"m").verify(&key, DOMAIN, b"m"), Ok(()));
}

#[test]
fn both_paths_decrypt_what_is_encrypted_to_the_key() {
    let mut epoch = Epoch::first(&plan(), 3);
    let committees = epoch.key.decryption(&epoch.config).unwrap();
    let label = Label::slot(&epoch.config.session().context, Slot::new(7));
    let key = *committees.slow.key();
    assert_eq!(key, *committees.fast.as_ref().unwrap().key());
    let sealed = key.encrypt(&label, b"in the open at slot 7", &mut epoch.rng).unwrap();
    let valid = sealed.validate(&key, &label).unwrap();
    for path in [Path::Slow, Path::Fast] {
        let shares = epoch.holders().into_iter().map(|party| {
            let own = epoch.open(party);
            let own = own.decryption(party, &committees).unwrap();
            (party, own.get(path).unwrap().decrypt_share(&valid).unwrap())
        });
        let quorum = committees.get(path).unwrap().verify_all(&valid, shares.collect()).unwrap();
        assert_eq!(quorum.combine().unwrap().expose(), b"in the open at slot 7");
    }
}

#[test]
fn keys_and_shares_belong_together() {
    let (epoch, other) = (Epoch::first(&plan(), 4), Epoch::first(&plan(), 5));
    let purpose = Purpose::Messages(DOMAIN);
    assert_eq!(epoch.key.signing(&other.config, purpose).unwrap_err(), PurposeError::Foreign);
    assert_eq!(epoch.key.decryption(&other.config).unwrap_err(), PurposeError::Foreign);
    let refused = |party, claimed, of: &Epoch| {
        epoch.open(Party::new(party)).signing(Party::new(claimed), &of.committees()).unwrap_err()
    };
    let party = Party::new(0);
    assert_eq!(refused(0, 0, &other), KeyShareError::Mismatch { party });
    let count = KeyShareError::Count { party: Party::new(2), got: 2, need: 1 };
    assert_eq!(refused(0, 2, &epoch), count);
    assert_eq!(refused(1, 1, &epoch), KeyShareError::NoShares { party: Party::new(1) });
}
