//! One key through twenty committees.
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::threshold::{Message, QuorumError};
use prefinal_pvss_dkg::SharePath;

use crate::epoch::{DOMAIN, Epoch, Plan};

/// Other parties, weights and thresholds in each epoch; the fast path comes and goes.
fn plan(epoch: u32) -> Plan {
    let weights: Vec<u32> = (0..3 + epoch % 3).map(|party| (party + epoch) % 3).collect();
    let total: u32 = weights.iter().sum();
    let slow = 1 + total / 2;
    let fast = (epoch % 4 != 3).then_some((slow + 1).min(total));
    Plan { weights, slow, fast }
}

#[test]
fn twenty_committees_have_one_key_and_sign_alike() {
    let mut epoch = Epoch::first(&plan(0), 1);
    let public = *epoch.key.public_key();
    let signature = epoch.signature(SharePath::Slow, b"for ever");
    let mut shares = vec![epoch.key.public_shares(SharePath::Slow).unwrap()[0]];
    for number in 1..=20 {
        let plan = plan(number);
        let next = epoch.hand_over(&plan, false);
        assert_eq!(*next.key.public_key(), public, "{number}");
        assert_eq!(next.signature(SharePath::Slow, b"for ever"), signature, "{number}");
        if plan.fast.is_some() {
            assert_eq!(next.signature(SharePath::Fast, b"for ever"), signature, "{number}");
        }
        let first = next.key.public_shares(SharePath::Slow).unwrap()[0];
        assert!(!shares.contains(&first), "{number}: a share of an epoch before");
        shares.push(first);
        epoch = next;
    }
}

/// With the same weights and thresholds, so that nothing but the polynomial is another.
#[test]
fn shares_of_two_epochs_do_not_mix() {
    let plan = Plan { weights: vec![2, 1, 2], slow: 3, fast: None };
    let mut old = Epoch::first(&plan, 7);
    let new = old.hand_over(&plan, false);
    assert_eq!(old.key.public_key(), new.key.public_key());
    let (before, after) = (old.committees(), new.committees());
    let message = Message::new(DOMAIN, b"message");
    let of = |epoch: &Epoch, committees, party| {
        epoch.signer(party, committees).slow.partial(&message).unwrap()
    };
    let (first, last) = (Party::new(0), Party::new(2));
    let mixed = [(first, of(&old, &before, first)), (last, of(&new, &after, last))];
    for (committee, liar) in [(&before.slow, last), (&after.slow, first)] {
        let refused = committee.verify_all(&message, mixed.clone().into()).unwrap_err();
        assert_eq!(refused, QuorumError::Faulty { culprits: [liar].into() });
    }
    // Nor does a party get into the new committee with its old share.
    let stale = old.open(first);
    assert!(stale.signing(first, &after).is_err());
}

/// A refresh: the same parties with the same weights and thresholds, and fresh decryption keys.
#[test]
fn a_refresh_changes_every_share_and_not_the_key() {
    let plan = Plan { weights: vec![1, 0, 2, 2], slow: 3, fast: Some(4) };
    let mut epoch = Epoch::first(&plan, 1000);
    let signature = epoch.signature(SharePath::Fast, b"message");
    let next = epoch.hand_over(&plan, true);
    let signers = |epoch: &Epoch| {
        epoch.config.members().iter().map(|member| member.signer.to_bytes()).collect::<Vec<_>>()
    };
    assert_eq!(signers(&next), signers(&epoch), "the same parties");
    assert_eq!(next.key.public_key(), epoch.key.public_key());
    assert_eq!(next.signature(SharePath::Fast, b"message"), signature);
    for path in [SharePath::Slow, SharePath::Fast] {
        let shares = |epoch: &Epoch| epoch.key.public_shares(path).unwrap().to_vec();
        let pairs = shares(&epoch).into_iter().zip(shares(&next));
        assert!(pairs.into_iter().all(|(old, new)| old != new));
    }
}
