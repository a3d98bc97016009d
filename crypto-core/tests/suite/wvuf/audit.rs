//! The slow and plain check agrees with the fast path and catches every change on its own.
use std::collections::BTreeMap;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
use prefinal_crypto_core::curve::{G1Affine, G2Affine, Scalar};
use prefinal_crypto_core::wvuf::audit::{self, Audit, AuditError};
use prefinal_crypto_core::wvuf::{BlindedKey, Input, KeyShares, Partial, blind, combine};

use super::fixture::{Dealt, FAST, SLOW, WEIGHTS, context, input, partials, party, rng};

const EVERYONE: [u32; 5] = [0, 2, 3, 4, 5];

fn dealt(seed: u64) -> Dealt {
    let mut rng = rng(seed);
    Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng)
}

fn audited(dealt: &Dealt) -> Audit {
    audit::keys(&WEIGHTS, SLOW, &dealt.public, &dealt.blinded).unwrap()
}

/// With the proof of another key.
fn rebuilt(pi: G1Affine, proof_of: &BlindedKey, rho: &[G1Affine]) -> BlindedKey {
    let proof: [u8; 80] = borsh::to_vec(proof_of).unwrap()[48..128].try_into().unwrap();
    borsh::from_slice(&borsh::to_vec(&(pi, proof, rho)).unwrap()).unwrap()
}

fn of_keys(
    dealt: &Dealt,
    change: impl FnOnce(&mut BTreeMap<Party, BlindedKey>),
) -> Result<(), AuditError> {
    let mut keys = dealt.blinded.clone();
    change(&mut keys);
    audit::keys(&WEIGHTS, SLOW, &dealt.public, &keys).map(|_| ())
}

#[test]
fn it_agrees_with_the_fast_path_on_every_set() {
    let mut rng = rng(101);
    let secret = Scalar::random(&mut rng);
    for t in [SLOW, FAST] {
        let dealt = Dealt::new(&secret, t, &mut rng);
        let audit = audit::keys(&WEIGHTS, t, &dealt.public, &dealt.blinded).unwrap();
        for set in [&EVERYONE[..], &[3, 4, 5], &[0, 2, 4], &[0, 2], &[]] {
            let all = partials(&dealt, set);
            let slow = audit.evaluate(&context(), Slot::new(7), None, &all);
            match dealt.committee.verify_all(&input(), all.clone()) {
                Ok(quorum) => {
                    let output = combine(&quorum);
                    assert_eq!(slow, Ok(output));
                    assert_eq!(
                        audit.verify(&context(), Slot::new(7), None, (&all, &output)),
                        Ok(())
                    );
                }
                Err(_) => assert!(matches!(slow, Err(AuditError::BelowThreshold { .. }))),
            }
        }
    }
}

#[test]
fn every_part_of_the_input_counts() {
    let dealt = dealt(102);
    let audit = audited(&dealt);
    let all = partials(&dealt, &EVERYONE);
    let other_chain = Context { chain: ChainId::new([2; 32]), ..context() };
    let other_epoch = Context { epoch: EpochId::new(9), ..context() };
    for (context, slot, value) in [
        (context(), 8, None),
        (context(), 7, Some([0; 32])),
        (other_chain, 7, None),
        (other_epoch, 7, None),
    ] {
        let verdict = audit.evaluate(&context, Slot::new(slot), value, &all);
        assert_eq!(verdict, Err(AuditError::Partial { party: party(0) }));
    }
    // With a value too, both sides hash the same message.
    let input = Input::new(&context(), Slot::new(7), Some([5; 32]));
    let all = dealt.keys.iter().map(|(party, key)| (*party, key.evaluate(&input))).collect();
    let slow = audit.evaluate(&context(), Slot::new(7), Some([5; 32]), &all).unwrap();
    assert_eq!(slow, combine(&dealt.committee.verify_all(&input, all).unwrap()));
}

#[test]
fn a_wrong_partial_is_named() {
    let dealt = dealt(103);
    let audit = audited(&dealt);
    let mut all = partials(&dealt, &EVERYONE);
    all.insert(party(4), all[&party(5)]);
    let verdict = audit.evaluate(&context(), Slot::new(7), None, &all);
    assert_eq!(verdict, Err(AuditError::Partial { party: party(4) }));
}

#[test]
fn a_partial_without_a_key_is_named() {
    let dealt = dealt(104);
    let audit = audited(&dealt);
    for stranger in [1, 99] {
        let mut all: BTreeMap<Party, Partial> = partials(&dealt, &EVERYONE);
        all.insert(party(stranger), all[&party(5)]);
        let verdict = audit.evaluate(&context(), Slot::new(7), None, &all);
        assert_eq!(verdict, Err(AuditError::UnknownPartial { party: party(stranger) }));
    }
}

#[test]
fn the_output_of_another_slot_or_secret_is_refused() {
    let (dealt, other) = (dealt(105), dealt(106));
    let audit = audited(&dealt);
    let all = partials(&dealt, &EVERYONE);
    let elsewhere = partials(&other, &EVERYONE);
    let wrong = combine(&other.committee.verify_all(&input(), elsewhere).unwrap());
    let verdict = audit.verify(&context(), Slot::new(7), None, (&all, &wrong));
    assert_eq!(verdict, Err(AuditError::Output));
}

#[test]
fn too_little_weight_is_no_output() {
    let dealt = dealt(107);
    // Six of seven shares.
    let verdict =
        audited(&dealt).evaluate(&context(), Slot::new(7), None, &partials(&dealt, &[0, 2, 5]));
    assert_eq!(verdict, Err(AuditError::BelowThreshold { got: 6, need: 7 }));
}

#[test]
fn every_change_to_a_key_is_named() {
    let dealt = dealt(108);
    let (own, other) = (&dealt.blinded[&party(0)], &dealt.blinded[&party(3)]);
    assert_eq!(of_keys(&dealt, |_| ()), Ok(()));

    let mismatch = |index| Err(AuditError::Share { party: party(0), index });
    let replace = |key: BlindedKey| of_keys(&dealt, |keys| drop(keys.insert(party(0), key)));
    let possession = Err(AuditError::Possession { party: party(0) });
    assert_eq!(replace(other.clone()), possession);
    assert_eq!(replace(rebuilt(other.pi(), own, own.rho())), possession);
    assert_eq!(replace(rebuilt(own.pi(), other, own.rho())), possession);
    // A copy that anybody can make.
    let by = Scalar::from_u64(5);
    let copy: Vec<_> = own.rho().iter().map(|rho| (*rho * by).to_affine()).collect();
    assert_eq!(replace(rebuilt((own.pi() * by).to_affine(), own, &copy)), possession);
    let proved = |shares: [G1Affine; 3]| {
        let shares = KeyShares::new(shares.to_vec());
        replace(blind(&dealt.committee, party(0), &shares, &mut rng(118)).1)
    };
    let a = &dealt.shares[&party(0)];
    assert_eq!(proved([a[0], a[1], a[2]]), Ok(()));
    assert_eq!(proved([a[0], a[2], a[1]]), mismatch(2));
    let g = G1Affine::generator();
    assert_eq!(proved([a[0], a[1], (a[2] + g).to_affine()]), mismatch(3));

    let count = Err(AuditError::ShareCount { party: party(0), got: 2, need: 3 });
    assert_eq!(replace(rebuilt(own.pi(), own, &own.rho()[..2])), count);
    let stray = |at, key| of_keys(&dealt, |keys| drop(keys.insert(party(at), key)));
    let verdict = stray(99, own.clone());
    assert_eq!(verdict, Err(AuditError::NotMember { party: party(99) }));
    let verdict = stray(1, rebuilt(own.pi(), own, &[]));
    assert_eq!(verdict, Err(AuditError::NoShares { party: party(1) }));
}

/// Of threshold zero, no partials at all would make an output, and the same in every slot.
#[test]
fn a_threshold_is_between_one_and_the_weight() {
    let dealt = dealt(110);
    let keys = |t| audit::keys(&WEIGHTS, t, &dealt.public, &BTreeMap::new()).map(|_| ());
    assert_eq!(keys(0), Err(AuditError::Threshold { got: 0, need: 14 }));
    assert_eq!(keys(15), Err(AuditError::Threshold { got: 15, need: 14 }));
    assert_eq!(keys(1), Ok(()));
    let audit = audit::keys(&WEIGHTS, 1, &dealt.public, &BTreeMap::new()).unwrap();
    let verdict = audit.evaluate(&context(), Slot::new(7), None, &BTreeMap::new());
    assert_eq!(verdict, Err(AuditError::BelowThreshold { got: 0, need: 1 }));
}

#[test]
fn public_shares_are_as_many_as_weight() {
    let dealt = dealt(109);
    let short: Vec<G2Affine> = dealt.public[1..].to_vec();
    let verdict = audit::keys(&WEIGHTS, SLOW, &short, &dealt.blinded).map(|_| ());
    assert_eq!(verdict, Err(AuditError::PublicShares { got: 13, need: 14 }));
}
