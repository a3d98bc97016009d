//! Shares on a disk: read again as they were written, and as nothing else.
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::curve::Scalar;
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::threshold::{KeyShareError, Message};
use prefinal_pvss_dkg::field::{Handover, HandoverError, Predecessor, Shares, StoredSharesError};
use prefinal_pvss_dkg::protocol::{EpochKey, Field};
use prefinal_pvss_dkg::{Config, DecodeError, Purpose, PurposeError, SharePath};

use crate::epoch::{DOMAIN, Epoch, Plan};

fn plan(fast: Option<u32>) -> Plan {
    Plan { weights: vec![2, 0, 1, 2], slow: 3, fast }
}

fn stored(epoch: &Epoch) -> EpochKey<Field> {
    EpochKey::from_bytes(&epoch.key.epoch(&epoch.config).unwrap().to_bytes()).unwrap()
}

fn read(key: &EpochKey<Field>, party: u32, bytes: &[u8]) -> Result<Shares, StoredSharesError> {
    Shares::from_secret_bytes(key, Party::new(party), &Secret::new(bytes.to_vec()))
}

fn refused(key: &EpochKey<Field>, party: u32, bytes: &[u8]) -> StoredSharesError {
    read(key, party, bytes).map(drop).unwrap_err()
}

fn length(got: usize, expected: usize) -> StoredSharesError {
    DecodeError::Length { got, expected }.into()
}

#[test]
fn shares_that_were_stored_sign_as_before() {
    for (fast, seed) in [(Some(4), 31), (None, 32)] {
        let epoch = Epoch::first(&plan(fast), seed);
        let (key, committees) = (stored(&epoch), epoch.committees());
        let message = Message::new(DOMAIN, b"message");
        for (party, weight) in (0..).map(Party::new).zip([2, 0, 1, 2]) {
            let shares = epoch.open(party);
            let bytes = shares.to_secret_bytes();
            assert_eq!(bytes.expose().len(), 32 * weight * if fast.is_some() { 2 } else { 1 });
            assert_eq!(format!("{bytes:?}"), "Secret(..)");
            let again = read(&key, party.get(), bytes.expose()).unwrap();
            assert_eq!(again.to_secret_bytes().expose(), bytes.expose());
            assert_eq!((again.fast.is_some(), again.slow.expose().len()), (fast.is_some(), weight));
            if weight > 0 {
                let [before, after] = [shares, again].map(|shares| {
                    let signers = shares.signing(party, &committees).unwrap();
                    let fast = signers.fast.map(|fast| fast.partial(&message).unwrap());
                    (signers.slow.partial(&message).unwrap(), fast)
                });
                assert_eq!(before, after);
            }
        }
    }
}

#[test]
fn bytes_that_are_not_stored_shares_are_refused() {
    let epoch = Epoch::first(&plan(Some(4)), 33);
    let key = stored(&epoch);
    let bytes = epoch.open(Party::new(3)).to_secret_bytes().expose().clone();
    let expected = bytes.len();
    for got in 0..expected {
        assert_eq!(refused(&key, 3, &bytes[..got]), length(got, expected));
    }
    for more in [1, 31, 32, 33, 64, expected] {
        let long = [bytes.as_slice(), &vec![0; more]].concat();
        assert_eq!(refused(&key, 3, &long), length(expected + more, expected));
        let long = [&bytes[..more], &bytes].concat();
        assert_eq!(refused(&key, 3, &long), length(expected + more, expected));
    }
    // The group's order is one more than the largest scalar, and encodes nothing.
    let mut order = (-Scalar::ONE).to_bytes();
    order[31] += 1;
    for at in (0..expected).step_by(32) {
        for wrong in [order, [0xff; 32]] {
            let mut changed = bytes.clone();
            changed[at..at + 32].copy_from_slice(&wrong);
            let element = DecodeError::Element { what: "scalar", at };
            assert_eq!(refused(&key, 3, &changed), element.into());
        }
    }
    for at in 0..expected {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let path = if at < 64 { SharePath::Slow } else { SharePath::Fast };
        let element = DecodeError::Element { what: "scalar", at: at / 32 * 32 };
        let share = 3 + at / 32 % 2;
        let verdicts = [StoredSharesError::Mismatch { path, share }, element.into()];
        let verdict = refused(&key, 3, &changed);
        assert!(verdicts.contains(&verdict), "byte {at}: {verdict}");
    }
}

#[test]
fn stored_shares_are_of_one_party_path_and_key() {
    let [epoch, other] = [34, 35].map(|seed| Epoch::first(&plan(Some(4)), seed));
    let (key, other) = (stored(&epoch), stored(&other));
    let bytes = epoch.open(Party::new(3)).to_secret_bytes().expose().clone();
    let mismatch = |path, share| StoredSharesError::Mismatch { path, share };
    assert_eq!(refused(&other, 3, &bytes), mismatch(SharePath::Slow, 3));
    assert_eq!(refused(&key, 0, &bytes), mismatch(SharePath::Slow, 0));
    assert_eq!(refused(&key, 2, &bytes), length(128, 64));
    assert_eq!(refused(&key, 1, &bytes), length(128, 0));
    let stranger = StoredSharesError::NotMember { party: Party::new(4) };
    assert_eq!(refused(&key, 4, &bytes), stranger);
    assert_eq!(refused(&key, 4, &[]), stranger);
    let (slow, fast) = bytes.split_at(64);
    assert_eq!(refused(&key, 3, &[fast, slow].concat()), mismatch(SharePath::Slow, 3));
    assert_eq!(refused(&key, 3, &[slow, slow].concat()), mismatch(SharePath::Fast, 3));
    let alone = stored(&Epoch::first(&plan(None), 34));
    assert_eq!(refused(&alone, 3, &bytes), length(128, 64));
}

/// A restart between two epochs: what was read is dealt on. What has been handed over is of no use in the
/// next epoch, neither as the party's shares there nor to be dealt on again.
#[test]
fn stored_shares_are_handed_over_once() {
    let mut before = Epoch::first(&plan(Some(4)), 36);
    let (holder, key) = (Party::new(3), stored(&before));
    let bytes = before.open(holder).to_secret_bytes();
    let restored = Shares::from_secret_bytes(&key, holder, &bytes).unwrap();
    let index = before.config.shape().access().indices(holder).next().unwrap();

    let after = before.hand_over(&plan(Some(4)), false);
    let handover = Handover::new(Arc::clone(&after.config), key.predecessor()).unwrap();
    let held = handover.holder(holder, &before.signers[holder.index()], &restored).unwrap();
    let dealing = held.deal(index, &mut before.rng).unwrap();
    assert!(handover.verify(dealing).is_ok());

    let mismatch = StoredSharesError::Mismatch { path: SharePath::Slow, share: 3 };
    assert_eq!(refused(&stored(&after), 3, bytes.expose()), mismatch);
    let refused = restored.signing(holder, &after.committees()).map(drop).unwrap_err();
    assert_eq!(refused, KeyShareError::Mismatch { party: holder });
    // To a third committee it is the shares of the second that are dealt on.
    let third = next(&after, &mut before);
    let held = third.holder(holder, &after.signers[3], &restored).unwrap();
    assert_eq!(
        held.deal(index, &mut before.rng).unwrap_err(),
        HandoverError::Share { share: index.get() }
    );
}

/// From the second committee to one of others.
fn next(after: &Epoch, others: &mut Epoch) -> Handover {
    let mut session = *after.config.session();
    session.context.epoch = session.context.epoch.next();
    let dealer = |one: &prefinal_pvss_dkg::Member| prefinal_pvss_dkg::Dealer {
        stake: one.stake,
        signer: one.signer,
    };
    let dealers = after.config.members().iter().map(dealer).collect();
    let (shape, members) = (after.config.shape().clone(), others.config.members().to_vec());
    let config = Config::handover(session, shape, members, dealers, others.config.qualify());
    let predecessor = Predecessor::new(&after.config, &after.key);
    Handover::new(Arc::new(config.unwrap()), predecessor).unwrap()
}

#[test]
fn stored_shares_keep_the_purpose_of_their_key() {
    let epoch = Epoch::made_for(Purpose::Decryption, &plan(None), 37);
    let (key, party) = (stored(&epoch), Party::new(0));
    let bytes = epoch.open(party).to_secret_bytes();
    let restored = Shares::from_secret_bytes(&key, party, &bytes).unwrap();
    assert!(restored.decryption(party, &key.decryption().unwrap()).is_ok());
    let messages = prefinal_crypto_core::threshold::Purpose::Messages(DOMAIN);
    assert!(matches!(key.signing(messages), Err(PurposeError::Other(_))));
}
