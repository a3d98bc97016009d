//! What a key is for: from dealings to a signature that its public key verifies, and to a plaintext.
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{MinSig, PublicKey};
use prefinal_crypto_core::context::Slot;
use prefinal_crypto_core::elgamal::Label;
use prefinal_crypto_core::threshold::{self, KeyShareError};
use prefinal_pvss_dkg::field::{Handover, HandoverError, Predecessor};
use prefinal_pvss_dkg::{Config, Dealer, OtherPurpose, Purpose, PurposeError, Session, SharePath};
use prefinal_weighted_rounding::Stake;

use crate::epoch::{DOMAIN, Epoch, Plan};

fn plan() -> Plan {
    Plan { weights: vec![2, 0, 1, 3], slow: 3, fast: Some(5) }
}

#[test]
fn both_paths_sign_what_the_key_verifies() {
    let epoch = Epoch::first(&plan(), 1);
    let slow = epoch.signature(SharePath::Slow, b"message");
    assert_eq!(epoch.signature(SharePath::Fast, b"message"), slow);
    let key = PublicKey::<MinSig>::from_bytes(&epoch.key.public_key().to_bytes()).unwrap();
    assert_eq!(slow.verify(&key, DOMAIN, b"message"), Ok(()));
    assert!(slow.verify(&key, DOMAIN, b"other").is_err());
}

#[test]
fn one_path_is_enough() {
    let plan = Plan { fast: None, ..plan() };
    let epoch = Epoch::first(&plan, 2);
    let committees = epoch.committees();
    assert!(committees.get(SharePath::Fast).is_none());
    let signers = epoch.signer(Party::new(3), &committees);
    assert!(signers.fast.is_none() && signers.slow.share_keys().len() == 3);
    let key = committees.slow.group_key();
    assert_eq!(epoch.signature(SharePath::Slow, b"m").verify(&key, DOMAIN, b"m"), Ok(()));
}

#[test]
fn both_paths_decrypt_what_is_encrypted_to_the_key() {
    let mut epoch = Epoch::made_for(Purpose::Decryption, &plan(), 3);
    let committees = epoch.key.decryption(&epoch.config).unwrap();
    let label = Label::slot(&epoch.config.session().context, Slot::new(7));
    let key = *committees.slow.key();
    assert_eq!(key, *committees.fast.as_ref().unwrap().key());
    let sealed = key.encrypt(&label, b"in the open at slot 7", &mut epoch.rng).unwrap();
    let valid = sealed.validate(&key, &label).unwrap();
    for path in [SharePath::Slow, SharePath::Fast] {
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
    let purpose = threshold::Purpose::Messages(DOMAIN);
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

#[test]
fn a_key_does_what_it_was_made_for_and_nothing_else() {
    let refused = |made, asked| PurposeError::Other(OtherPurpose { made, asked });
    let messages = threshold::Purpose::Messages(DOMAIN);
    for (made, seed) in Purpose::ALL.into_iter().zip(6..) {
        let Epoch { key, config, .. } = Epoch::made_for(made, &plan(), seed);
        let verdicts = [
            (Purpose::Randomness, key.signing(&config, threshold::Purpose::Rounds).map(drop)),
            (Purpose::Certificates, key.signing(&config, messages).map(drop)),
            (Purpose::Decryption, key.decryption(&config).map(drop)),
        ];
        for (asked, verdict) in verdicts {
            let expected = if made == asked { Ok(()) } else { Err(refused(made, asked)) };
            assert_eq!(verdict, expected);
        }
    }
    let text = refused(Purpose::Randomness, Purpose::Decryption).to_string();
    assert_eq!(text, "key was made for randomness, not for decryption");
}

#[test]
fn a_key_keeps_its_purpose_when_it_is_handed_over() {
    let epoch = Epoch::made_for(Purpose::Decryption, &plan(), 9);
    let (config, others) = (&epoch.config, Epoch::first(&plan(), 10));
    let dealer = |one: &prefinal_pvss_dkg::Member| Dealer { stake: one.stake, signer: one.signer };
    let start = |purpose| {
        let session = Session { purpose, attempt: 1, ..*config.session() };
        let (members, dealers) = (others.config.members().to_vec(), config.members());
        let dealers = dealers.iter().map(dealer).collect();
        let shape = config.shape().clone();
        let next = Config::handover(session, shape, members, dealers, Stake::new(1)).unwrap();
        let before = Predecessor::new(config, &epoch.key);
        Handover::new(std::sync::Arc::new(next), before).map(drop)
    };
    let (made, asked) = (Purpose::Decryption, Purpose::Randomness);
    assert_eq!(start(asked), Err(HandoverError::Purpose(OtherPurpose { made, asked })));
    assert_eq!(start(made), Ok(()));
}
