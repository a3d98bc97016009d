//! What somebody who does not have a quorum could try. Each test fails if one check is left out.
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{MinSig, SignatureError};
use prefinal_crypto_core::certificate::{
    Certificate, CertificateError, ElectorateError, Signers, StateStatement,
};
use prefinal_light::{
    AccountClaimError, BlockError, CertifiedBlock, Claim, EndingError, LightProofError,
    MemberChange, MembersError, StakeProof, StakeVerifier, TrustError,
};
use prefinal_protocol::{ChainId, EpochId, Slot};
use prefinal_state::proof::{PathEnd, ProofError};

use crate::chain::{CHAIN, Chain, EPOCH, account, member, pay, secret};

const MISMATCH: BlockError =
    BlockError::Certificate(CertificateError::Signature(SignatureError::Mismatch));

fn ended(result: Result<(), EndingError>) -> EndingError {
    result.expect_err("it must not lead on")
}

#[test]
fn members_must_be_those_of_the_waypoint() {
    let chain = Chain::new(&[1, 1, 1, 1], 1);
    let mut forged = chain.members.clone();
    forged.members[3] = member(66, 1);
    let refused = StakeVerifier::new(&chain.waypoint(), &forged);
    assert_eq!(refused.unwrap_err(), TrustError::Members);
    let mut richer = chain.members.clone();
    richer.members[3].stake = 100;
    assert_eq!(StakeVerifier::new(&chain.waypoint(), &richer).unwrap_err(), TrustError::Members);
    let mut waypoint = chain.waypoint();
    waypoint.epoch.members[0] ^= 1;
    assert_eq!(StakeVerifier::new(&waypoint, &chain.members).unwrap_err(), TrustError::Members);
}

#[test]
fn another_committee_certifies_nothing() {
    let mut chain = Chain::new(&[1, 1, 1, 1], 1);
    let client = chain.client();
    chain.transfers(Vec::new());
    chain.secrets = (50..54).collect();
    assert_eq!(client.verify(&chain.certified()), Err(MISMATCH));
}

#[test]
fn less_than_a_quorum_certifies_nothing() {
    let mut chain = Chain::new(&[10, 10, 10, 1], 1);
    let client = chain.client();
    chain.transfers(Vec::new());
    client.verify(&chain.certified_by(&[0, 1, 3])).unwrap();
    let refused = client.verify(&chain.certified_by(&[0, 1]));
    let expected = CertificateError::BelowQuorum { got: 20, need: 21 };
    assert_eq!(refused, Err(BlockError::Certificate(expected)));
    // Two signatures, said to be of three.
    let mut padded = chain.certified_by(&[0, 1]);
    let three = [0, 1, 2].map(Party::new);
    padded.certificate.signers = Signers::new(4, three).unwrap();
    assert_eq!(client.verify(&padded), Err(MISMATCH));
}

/// A bitmap names each once, and places that no member has are refused. A key that stands in two places would
/// count for both.
#[test]
fn nobody_signs_twice() {
    let mut chain = Chain::new(&[10, 10, 10, 10], 1);
    let client = chain.client();
    chain.transfers(Vec::new());
    let mut beyond = chain.certified_by(&[0, 1]);
    beyond.certificate.signers = Signers::new(8, [0, 1, 5].map(Party::new)).unwrap();
    let expected = CertificateError::Bitmap { got: 1, parties: 4 };
    assert_eq!(client.verify(&beyond), Err(BlockError::Certificate(expected)));

    let mut next = chain.members.clone();
    next.members.push(next.members[0]);
    let ending = chain.ending(&next);
    let refused = ended(chain.client().advance(&ending));
    let (at, earlier) = (Party::new(4), Party::new(0));
    let expected = ElectorateError::RepeatedKey { at, earlier };
    assert_eq!(refused, EndingError::Members(MembersError::Electorate(expected)));
}

/// The committee did not change, so the keys alone would not tell the epochs apart.
#[test]
fn an_earlier_or_later_epoch_is_not_this_one() {
    let mut chain = Chain::new(&[1, 1, 1, 1], 1);
    let mut client = chain.client();
    chain.transfers(Vec::new());
    let old = chain.certified();
    let first = chain.turn();
    let second = chain.turn();
    chain.transfers(Vec::new());

    let skipped = ended(client.clone().advance(&second));
    let (here, got) = (EpochId::new(0), EpochId::new(1));
    assert_eq!(skipped, EndingError::Block(BlockError::Epoch { here, got }));
    let ahead = BlockError::Epoch { here, got: EpochId::new(2) };
    assert_eq!(client.verify(&chain.certified()), Err(ahead));

    client.advance(&first).unwrap();
    let (here, got) = (EpochId::new(1), EpochId::new(0));
    assert_eq!(client.verify(&old), Err(BlockError::Epoch { here, got }));
    let repeated = ended(client.advance(&first));
    assert_eq!(repeated, EndingError::Block(BlockError::Epoch { here, got }));
    // With another number on it, it is not what was signed.
    let renamed = CertifiedBlock { epoch: here, slot: Slot::new(1 + EPOCH), ..old };
    assert_eq!(client.verify(&renamed), Err(MISMATCH));
    client.advance(&second).unwrap();
    client.verify(&chain.certified()).unwrap();
}

/// The next committee has no say over slots before its own.
#[test]
fn an_epoch_certifies_its_own_slots() {
    let mut chain = Chain::new(&[1, 1, 1, 1], 1);
    let mut client = chain.client();
    client.advance(&chain.turn()).unwrap();
    chain.slot = 4;
    chain.transfers(Vec::new());
    let expected = BlockError::BeforeEpoch { first: Slot::new(1 + EPOCH), got: Slot::new(5) };
    assert_eq!(client.verify(&chain.certified()), Err(expected));
    chain.slot = EPOCH;
    chain.transfers(Vec::new());
    client.verify(&chain.certified()).unwrap();
}

/// Signed by all, and still no announcement: an epoch would begin in the past.
#[test]
fn the_next_epoch_lies_ahead() {
    let mut chain = Chain::new(&[1, 1, 1, 1], 1);
    let mut client = chain.client();
    chain.slot = EPOCH;
    let members = chain.members.clone();
    let ending = chain.ending(&members);
    let (first, slot) = (Slot::new(1 + EPOCH), Slot::new(1 + EPOCH));
    assert_eq!(ended(client.advance(&ending)), EndingError::First { first, slot });
}

#[test]
fn only_the_announced_committee_follows() {
    let mut chain = Chain::new(&[10, 10, 10, 10], 30);
    let mut client = chain.client();
    let mut next = chain.members.clone();
    next.members[0].stake = 5;
    let ending = chain.ending(&next);
    let row = |error| EndingError::Row(error);

    let mut other = ending.clone();
    other.first = Slot::new(2 + EPOCH);
    assert_eq!(ended(client.advance(&other)), row(ProofError::Root), "another first slot");
    let mut other = ending.clone();
    other.changes.places.clear();
    assert_eq!(ended(client.advance(&other)), row(ProofError::Root), "nothing changes");
    let mut other = ending.clone();
    other.changes.places.insert(Party::new(1), MemberChange::Stake(1000));
    assert_eq!(ended(client.advance(&other)), row(ProofError::Root), "another stake");
    let mut other = ending.clone();
    let stranger = MemberChange::Member(Box::new(member(66, 1000)));
    other.changes.places.insert(Party::new(4), stranger);
    assert_eq!(ended(client.advance(&other)), row(ProofError::Root), "a stranger");
    let mut other = ending.clone();
    other.proof.end = PathEnd::Empty;
    assert_eq!(ended(client.advance(&other)), row(ProofError::Absent));
    let mut other = ending.clone();
    other.proof.siblings.pop();
    assert_eq!(ended(client.advance(&other)), row(ProofError::Root), "a path that was cut");
    // The state before the announcement, which the same committee has certified.
    let mut before = Chain::new(&[10, 10, 10, 10], 30);
    before.transfers(Vec::new());
    let other = prefinal_light::EpochEnding { block: before.certified(), ..ending.clone() };
    assert_eq!(ended(client.advance(&other)), row(ProofError::Root), "another state");
    // A row that announces a later epoch, under the number of the next one.
    let mut skips = Chain::new(&[10, 10, 10, 10], 30);
    let next = skips.members.clone();
    skips.epoch = 1;
    let mut ending_of_two = skips.ending(&next);
    skips.epoch = 0;
    ending_of_two.block = skips.certified();
    assert_eq!(ended(client.advance(&ending_of_two)), row(ProofError::Root), "a later epoch");

    assert_eq!(client.epoch(), EpochId::new(0), "nothing has changed");
    client.advance(&ending).unwrap();
}

#[test]
fn places_have_no_gaps() {
    let mut chain = Chain::new(&[1, 1, 1, 1], 1);
    let mut client = chain.client();
    let members = chain.members.clone();
    let ending = chain.ending(&members);
    for (party, change) in [
        (4, MemberChange::Stake(1)),
        (5, MemberChange::Member(Box::new(member(66, 1)))),
        (u32::MAX, MemberChange::Member(Box::new(member(66, 1)))),
    ] {
        let mut other = ending.clone();
        let party = Party::new(party);
        other.changes.places.insert(party, change);
        let expected = MembersError::Place { party, parties: 4 };
        assert_eq!(ended(client.advance(&other)), EndingError::Members(expected));
    }
}

/// A key that cancels the others' keys, announced by a chain that did not look.
#[test]
fn a_key_comes_with_its_proof() {
    let mut chain = Chain::new(&[1, 1, 1, 1], 1);
    let mut client = chain.client();
    let mut next = chain.members.clone();
    let borrowed = secret(67).prove_possession();
    next.members.push(prefinal_light::Member { possession: borrowed, ..member(66, 100) });
    let ending = chain.ending(&next);
    let (party, error) = (Party::new(4), SignatureError::Mismatch);
    let expected = EndingError::Members(MembersError::Possession { party, error });
    assert_eq!(ended(client.advance(&ending)), expected);
    assert_eq!(client.epoch(), EpochId::new(0));

    let mut forged = Chain::new(&[1, 1, 1, 1], 1);
    forged.members.members[2].possession = borrowed;
    let refused = StakeVerifier::new(&forged.waypoint(), &forged.members).unwrap_err();
    let party = Party::new(2);
    assert_eq!(refused, TrustError::Committee(MembersError::Possession { party, error }));
}

#[test]
fn epochs_end_with_the_last_number() {
    let mut chain = Chain::new(&[1, 1, 1, 1], 1);
    (chain.epoch, chain.slot) = (u64::MAX, 0);
    let mut client = chain.client();
    chain.transfers(Vec::new());
    let (first, changes) = (Slot::new(u64::MAX), prefinal_light::MemberChanges::default());
    let proof = chain.store.prove(&account(0).key()).unwrap().proof;
    let ending = prefinal_light::EpochEnding { block: chain.certified(), first, changes, proof };
    assert_eq!(ended(client.advance(&ending)), EndingError::LastEpoch(EpochId::new(u64::MAX)));
}

#[test]
fn other_chains_and_other_purposes_count_for_nothing() {
    let mut chain = Chain::new(&[1, 1, 1, 1], 1);
    chain.transfers(Vec::new());
    let block = chain.certified();
    let client = chain.client();
    client.verify(&block).unwrap();
    let mut waypoint = chain.waypoint();
    waypoint.chain = ChainId::new([8; 32]);
    let mut elsewhere = StakeVerifier::new(&waypoint, &chain.members).unwrap();
    assert_eq!(elsewhere.verify(&block), Err(MISMATCH));
    let proof = StakeProof { chain: CHAIN, endings: Vec::new(), block, claims: Vec::new() };
    assert_eq!(elsewhere.verify_proof(&proof), Err(LightProofError::Chain));

    // The same members under the purpose of threshold certificates.
    let message = chain.unsigned().statement(CHAIN).to_bytes();
    let votes: Vec<_> = chain
        .secrets
        .iter()
        .map(|one| secret(*one).sign(StateStatement::THRESHOLD.domain(), &message))
        .collect();
    let certificate = Certificate::<MinSig> {
        signers: Signers::new(4, (0..4).map(Party::new)).unwrap(),
        signature: prefinal_crypto_core::bls::min_sig::aggregate(&votes).unwrap(),
    };
    assert_eq!(client.verify(&crate::chain::with(&chain.unsigned(), certificate)), Err(MISMATCH));
}

/// Each field of the block is signed.
#[test]
fn nothing_of_a_block_can_be_changed() {
    let mut chain = Chain::new(&[1, 1, 1, 1], 1);
    chain.transfers(Vec::new());
    let (client, block) = (chain.client(), chain.certified());
    let mut others = vec![block; 4];
    others[0].slot = Slot::new(2);
    others[1].value = prefinal_protocol::Value::new([1; 32]);
    others[2].roots.state[0] ^= 1;
    others[3].roots.receipts[31] ^= 1;
    for other in &others {
        assert_eq!(client.verify(other), Err(MISMATCH));
    }
}

#[test]
fn claims_hold_for_one_row_and_one_block() {
    let mut chain = Chain::new(&[1, 1, 1, 1], 40);
    let mut client = chain.client();
    chain.transfers(vec![pay(0, 0, 1, 5), pay(2, 0, 3, 5)]);
    let old = client.verify(&chain.certified()).unwrap();
    let claims = vec![chain.claim_account(1), chain.claim_transaction(0), chain.claim_account(777)];
    for claim in &claims {
        old.verify_claim(claim).unwrap();
    }
    for (at, claim) in claims.iter().enumerate() {
        for other in altered(claim) {
            assert!(old.verify_claim(&other).is_err(), "{at}: {other:?}");
        }
    }
    let other_row = chain.store.prove(&account(2).key()).unwrap();
    let refused = old.verify_account(account(1), other_row.value.as_deref(), &other_row.proof);
    assert_eq!(refused, Err(AccountClaimError::Proof(ProofError::Root)));

    // The next block's roots.
    chain.transfers(vec![pay(0, 1, 1, 5)]);
    let new = client.verify(&chain.certified()).unwrap();
    for claim in &claims[..2] {
        assert_eq!(new.verify_claim(claim), Err(ProofError::Root));
    }
    let endings = Vec::new();
    let proof = StakeProof { chain: CHAIN, endings, block: chain.certified(), claims };
    let expected = LightProofError::Claim { at: 0, error: ProofError::Root };
    assert_eq!(client.verify_proof(&proof), Err(expected));
}

/// The claim with each part of it replaced.
fn altered(claim: &Claim) -> Vec<Claim> {
    let mut others = Vec::new();
    match claim {
        Claim::Row { key, value, proof } => {
            let row = |value: &Option<Vec<u8>>| Claim::Row {
                key: *key,
                value: value.clone(),
                proof: proof.clone(),
            };
            let opposite = if value.is_some() { None } else { Some(vec![0; 16]) };
            others.push(row(&opposite));
            if let Some(value) = value {
                let mut richer = value.clone();
                richer[0] ^= 1;
                others.push(row(&Some(richer)));
            }
            let elsewhere = account(5).key();
            let (value, proof) = (value.clone(), proof.clone());
            others.push(Claim::Row { key: elsewhere, value: value.clone(), proof: proof.clone() });
            let mut cut = proof;
            cut.siblings.pop();
            others.push(Claim::Row { key: *key, value, proof: cut });
        }
        Claim::Transaction { result, proof } => {
            let mut changes = vec![(result.clone(), proof.clone()); 5];
            changes[0].0.transaction[0] ^= 1;
            changes[1].0.receipt[0] ^= 1;
            changes[2].1.index ^= 1;
            changes[3].1.count += 1;
            changes[4].1.siblings.clear();
            let claim = |(result, proof)| Claim::Transaction { result, proof };
            others.extend(changes.into_iter().map(claim));
        }
    }
    others
}

/// If anything of a proof is wrong, the client has not moved.
#[test]
fn a_proof_counts_as_a_whole() {
    let mut chain = Chain::new(&[1, 1, 1, 1], 1);
    let mut client = chain.client();
    let endings = vec![chain.turn(), chain.turn()];
    chain.transfers(Vec::new());
    let (block, claims) = (chain.certified(), Vec::new());
    let proof = StakeProof { chain: CHAIN, endings, block, claims };
    let mut missing = proof.clone();
    missing.endings.remove(0);
    let (here, got) = (EpochId::new(0), EpochId::new(1));
    let error = EndingError::Block(BlockError::Epoch { here, got });
    assert_eq!(client.verify_proof(&missing), Err(LightProofError::Ending { at: 0, error }));
    let mut forged = proof.clone();
    forged.block.roots.state[0] ^= 1;
    assert_eq!(client.verify_proof(&forged), Err(LightProofError::Block(MISMATCH)));
    let mut swapped = proof.clone();
    swapped.endings.swap(0, 1);
    assert!(client.verify_proof(&swapped).is_err());
    assert_eq!(client.epoch(), EpochId::new(0));
    client.verify_proof(&proof).unwrap();
    assert_eq!(client.epoch(), EpochId::new(2));
}

/// The state has a row under an account's key that is no account's.
#[test]
fn a_row_that_is_no_account_is_said_to_be_none() {
    use prefinal_execution::Roots;
    use prefinal_light::Account;
    use prefinal_state::proof::{StateProof, StateRoot};
    assert_eq!(Account::from_row(Some(&[0; 15])).unwrap_err().got, 15);
    // A state of one row: its leaf is the root.
    let alice = account(0);
    let row = [3; 17];
    let proof = StateProof { end: PathEnd::Row, siblings: Vec::new() };
    let root = one_row(alice.key().as_bytes(), &row);
    proof.verify(StateRoot::new(root), alice.key(), Some(&row)).unwrap();
    let mut chain = Chain::new(&[1, 1, 1, 1], 1);
    chain.transfers(Vec::new());
    let mut block = chain.unsigned();
    block.roots = Roots { state: root, receipts: [0; 32] };
    let certificate = chain.sign(&block.statement(CHAIN).to_bytes(), &[0, 1, 2, 3]);
    let verified = chain.client().verify(&crate::chain::with(&block, certificate)).unwrap();
    let refused = verified.verify_account(alice, Some(&row), &proof);
    assert!(matches!(refused, Err(AccountClaimError::Account(error)) if error.got == 17));
}

fn one_row(key: &[u8; 32], row: &[u8]) -> [u8; 32] {
    use sha2::{Digest, Sha256};
    let value: [u8; 32] = Sha256::digest(row).into();
    let hash = Sha256::new().chain_update(b"JMT::LeafNode");
    hash.chain_update(key).chain_update(value).finalize().into()
}
