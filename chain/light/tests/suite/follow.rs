//! From the genesis over committees that change, to accounts and transactions.
use prefinal_light::{Claim, LightObject, MemberList, StakeProof, StakeVerifier};
use prefinal_protocol::EpochId;

use crate::chain::{CHAIN, Chain, account, member, pay};

#[test]
fn a_client_follows_committees_that_change() {
    let mut chain = Chain::new(&[10, 10, 10, 10], 50);
    let (genesis, members) = (chain.waypoint(), chain.members.clone());
    let mut client = chain.client();
    let mut endings = Vec::new();

    // Somebody joins, stakes change.
    let mut next = chain.members.clone();
    next.members[1].stake = 25;
    next.members.push(member(4, 30));
    let mut secrets = chain.secrets.clone();
    secrets.push(4);
    endings.push(chain.ending(&next));
    chain.enter(next.clone(), secrets.clone());
    // Nothing changes.
    endings.push(chain.turn());
    // Party 0 leaves, party 2 has another key.
    next.members[0].stake = 0;
    next.members[2] = member(77, 10);
    secrets[2] = 77;
    endings.push(chain.ending(&next));
    chain.enter(next.clone(), secrets);
    assert!(endings[1].changes.places.is_empty());
    assert_eq!(endings[2].changes.places.len(), 2);

    for (at, ending) in endings.iter().enumerate() {
        client.advance(ending).unwrap();
        assert_eq!(client.epoch(), EpochId::new(at as u64 + 1));
    }
    assert_eq!((client.waypoint(), client.members()), (chain.waypoint(), next));

    chain.transfers(vec![pay(3, 0, 4, 100), pay(5, 0, 99, 7)]);
    let block = client.verify(&chain.certified()).unwrap();
    assert_eq!((block.slot().get(), block.value()), (chain.slot, chain.value()));
    assert_eq!((block.context().chain, block.context().epoch), (CHAIN, EpochId::new(3)));
    // Sender, receiver, one that appears, one that is not there.
    for (number, balance, nonce) in [(3, 898, 1), (4, 1100, 0), (99, 7, 0), (1234, 0, 0)] {
        let shown = chain.store.prove(&account(number).key()).unwrap();
        let row = shown.value.as_deref();
        let found = block.verify_account(account(number), row, &shown.proof).unwrap();
        assert_eq!((found.balance.get(), found.nonce.get()), (balance, nonce), "{number}");
    }
    let claims =
        vec![chain.claim_account(3), chain.claim_account(1234), chain.claim_transaction(1)];
    for claim in &claims {
        block.verify_claim(claim).unwrap();
    }
    let Claim::Transaction { result, .. } = &claims[2] else { panic!() };
    assert_eq!(result.transaction, pay(5, 0, 99, 7).hash());

    // The same in one message, for somebody who has the genesis alone.
    let proof = StakeProof { chain: CHAIN, endings, block: chain.certified(), claims };
    let proof = StakeProof::from_wire(&proof.to_wire()).unwrap();
    let members = MemberList::from_wire(&members.to_wire()).unwrap();
    let mut client = StakeVerifier::new(&genesis, &members).unwrap();
    assert_eq!(client.verify_proof(&proof).unwrap(), block);
    assert_eq!(client.waypoint(), chain.waypoint());
    // It serves who is ahead of its endings as well, if what is certified holds.
    assert_eq!(client.verify_proof(&proof).unwrap(), block);
    let mut forged = proof;
    forged.block.roots.state[0] ^= 1;
    client.verify_proof(&forged).unwrap_err();
    // A later proof goes on from here.
    let ending = chain.turn();
    chain.transfers(Vec::new());
    let later = StakeProof {
        chain: CHAIN,
        endings: vec![ending],
        block: chain.certified(),
        claims: Vec::new(),
    };
    client.verify_proof(&later).unwrap();
}

#[test]
fn a_client_goes_on_from_where_it_was() {
    let mut chain = Chain::new(&[1, 1, 1, 1], 2);
    let mut client = chain.client();
    client.advance(&chain.turn()).unwrap();
    let saved = (client.waypoint().to_wire(), client.members().to_wire());
    let (waypoint, members) =
        (LightObject::from_wire(&saved.0).unwrap(), LightObject::from_wire(&saved.1).unwrap());
    let mut again = StakeVerifier::new(&waypoint, &members).unwrap();
    let ending = chain.turn();
    again.advance(&ending).unwrap();
    client.advance(&ending).unwrap();
    assert_eq!(again.waypoint(), client.waypoint());
}

/// More than two thirds, to the unit.
#[test]
fn stake_is_counted_exactly() {
    let mut chain = Chain::new(&[22, 22, 22, 33], 2);
    chain.transfers(Vec::new());
    let client = chain.client();
    assert!(client.verify(&chain.certified_by(&[0, 1, 2])).is_err(), "66 of 99");
    client.verify(&chain.certified_by(&[0, 1, 3])).unwrap(); // 77
}

#[test]
fn a_committee_keeps_its_places() {
    let chain = Chain::new(&[1, 1, 1, 1], 1);
    let mut fewer = chain.members.clone();
    fewer.members.pop();
    assert_eq!(chain.members.changes_to(&fewer), None);
    assert_ne!(fewer.id(), chain.members.id());
}
