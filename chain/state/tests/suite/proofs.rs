//! Proofs show what is there, and nothing else.
use prefinal_execution::{BlockId, Header, Height, Store};
use prefinal_state::proof::{ListProof, ListRoot, PathEnd, ProofError, StateKey, StateRoot};
use prefinal_state::transfers::burnt_key;

use crate::chain::{commit, id, memory, pay};

#[test]
fn rows_are_shown_with_their_values_and_no_others() {
    let mut store = memory(200);
    commit(&mut store, 1, vec![pay(0, 0, 1, 5), pay(2, 0, 300, 9)]);
    let root = StateRoot::new(store.view().unwrap().state_root().as_bytes().to_owned());
    for number in [0, 1, 2, 17, 199, 300] {
        let key = id(number).key();
        let shown = store.prove(&key).unwrap();
        let row = shown.value.expect("such an account is there");
        assert_eq!(shown.proof.end, PathEnd::Row);
        assert!(shown.proof.siblings.len() < 40, "{} hashes", shown.proof.siblings.len());
        assert_eq!(shown.proof.verify(root, key, Some(&row)), Ok(()));

        let mut other = row.to_vec();
        other[7] ^= 1;
        assert_eq!(shown.proof.verify(root, key, Some(&other)), Err(ProofError::Root));
        assert_eq!(shown.proof.verify(root, key, None), Err(ProofError::Present));
        let elsewhere = id(number + 1000).key();
        assert_eq!(shown.proof.verify(root, elsewhere, Some(&row)), Err(ProofError::Root));
    }
}

#[test]
fn absence_is_shown_by_a_neighbour_or_an_empty_part() {
    let store = memory(64);
    let root = store.view().unwrap().state_root();
    let (mut empty, mut neighbours) = (0, 0);
    for number in 1000..1200 {
        let key = id(number).key();
        let shown = store.prove(&key).unwrap();
        assert_eq!(shown.value, None);
        match shown.proof.end {
            PathEnd::Empty => empty += 1,
            PathEnd::Neighbour { .. } => neighbours += 1,
            PathEnd::Row => panic!("such an account is not there"),
        }
        assert_eq!(shown.proof.verify(root, key, None), Ok(()));
        assert_eq!(shown.proof.verify(root, key, Some(b"row")), Err(ProofError::Absent));
        // The absence of another is not shown by it.
        let there = id(number - 1000).key();
        if number < 1064 {
            assert!(shown.proof.verify(root, there, None).is_err());
        }
    }
    assert!(empty > 0 && neighbours > 0, "{empty} empty, {neighbours} neighbours");
}

#[test]
fn a_neighbour_elsewhere_shows_nothing() {
    let store = memory(64);
    let root = store.view().unwrap().state_root();
    let there = id(5).key();
    let shown = store.prove(&there).unwrap();
    let value_hash = sha256(&shown.value.unwrap());
    // The row itself, presented as the neighbour of a key that lies elsewhere but for the last level.
    let mut proof = shown.proof;
    proof.end = PathEnd::Neighbour { key: there, value_hash };
    let path = proof.siblings.len();
    let absent = (0..u64::MAX)
        .map(|number| StateKey::new(9, &number.to_be_bytes()))
        .find(|key| {
            let differs = key.as_bytes()[0] ^ there.as_bytes()[0];
            differs.leading_zeros() < u32::try_from(path).unwrap()
        })
        .unwrap();
    assert!(matches!(proof.verify(root, absent, None), Err(ProofError::Neighbour { .. })));
    assert_eq!(proof.verify(root, there, None), Err(ProofError::Present));
}

#[test]
fn a_proof_longer_than_a_key_is_refused() {
    let store = memory(3);
    let key = id(0).key();
    let mut proof = store.prove(&key).unwrap().proof;
    proof.siblings.resize(257, [0; 32]);
    let root = store.view().unwrap().state_root();
    let expected = ProofError::TooLong { got: 257, most: 256 };
    assert_eq!(proof.verify(root, key, Some(b"")), Err(expected));
}

#[test]
fn an_empty_state_and_a_single_row_have_proofs_too() {
    let store = memory(0);
    let root = store.view().unwrap().state_root();
    assert_eq!(root, StateRoot::EMPTY);
    assert_eq!(store.prove(&burnt_key()).unwrap().proof.verify(root, burnt_key(), None), Ok(()));

    let store = memory(1);
    let root = store.view().unwrap().state_root();
    let shown = store.prove(&id(0).key()).unwrap();
    assert_eq!(shown.proof.siblings, Vec::<[u8; 32]>::new());
    assert_eq!(shown.proof.verify(root, id(0).key(), shown.value.as_deref()), Ok(()));
    assert_eq!(store.prove(&burnt_key()).unwrap().proof.verify(root, burnt_key(), None), Ok(()));
}

/// A tree of one leaf has the leaf's hash as its root: `H("JMT::LeafNode", key, H(value))`.
#[test]
fn the_root_of_one_row_is_the_hash_of_its_leaf() {
    let key = StateKey::new(0, b"");
    let shown = prefinal_state::proof::StateProof { end: PathEnd::Row, siblings: Vec::new() };
    let leaf = sha256(&[b"JMT::LeafNode".as_slice(), key.as_bytes(), &sha256(b"x")].concat());
    assert_eq!(shown.verify(StateRoot::new(leaf), key, Some(b"x")), Ok(()));
}

#[test]
fn transactions_and_receipts_are_shown_by_position() {
    let mut store = memory(20);
    let payments: Vec<_> = (0..11).map(|sender| pay(sender, 0, sender + 1, 3)).collect();
    let hashes: Vec<[u8; 32]> = payments.iter().map(|one| one.hash()).collect();
    let execution = commit(&mut store, 1, payments);
    let root = ListRoot::new(execution.roots.receipts);
    for position in 0..11_u32 {
        let shown = store.result(Height::new(1), position).unwrap().unwrap();
        assert_eq!(shown.result.transaction, hashes[position as usize]);
        assert_eq!(shown.proof.verify(root, &shown.result.item()), Ok(()));
        let mut other = shown.result.clone();
        other.receipt[0] ^= 1;
        assert_eq!(shown.proof.verify(root, &other.item()), Err(ProofError::Root));
    }
    assert_eq!(store.result(Height::new(1), 11).unwrap(), None);
    assert!(store.result(Height::new(2), 0).is_err());
}

#[test]
fn a_position_cannot_be_shifted() {
    let items: Vec<[u8; 32]> = (0..40).map(|number| [number; 32]).collect();
    for count in 1..=items.len() {
        let list = &items[..count];
        let root = ListRoot::of(list);
        for index in 0..count {
            let proof = ListProof::of(list, index as u32).unwrap();
            assert_eq!(proof.verify(root, &list[index]), Ok(()), "{index} of {count}");
            for (other_index, other_count) in [
                (index + 1, count),
                (index, count + 1),
                (index, count.max(2) - 1),
                (index + 1, count + 1),
            ] {
                if (other_index, other_count) == (index, count) {
                    continue;
                }
                let mut shifted = proof.clone();
                shifted.index = other_index as u32;
                shifted.count = other_count as u32;
                assert!(shifted.verify(root, &list[index]).is_err(), "{index} of {count}");
            }
        }
        assert_eq!(ListProof::of(list, count as u32), None);
    }
}

#[test]
fn a_path_in_a_list_is_as_long_as_its_position_says() {
    let items: Vec<[u8; 32]> = (0..11).map(|number| [number; 32]).collect();
    let root = ListRoot::of(&items);
    for index in 0..11_u8 {
        let (proof, item) = (ListProof::of(&items, index.into()).unwrap(), [index; 32]);
        let with = |change: fn(&mut Vec<[u8; 32]>)| {
            let mut other = proof.clone();
            change(&mut other.siblings);
            other.verify(root, &item)
        };
        assert_eq!(with(|siblings| siblings.push([0; 32])), Err(ProofError::Shape));
        let shorter = with(|siblings| siblings.truncate(siblings.len().saturating_sub(1)));
        assert_eq!(shorter, Err(ProofError::Shape));
        let long = ProofError::TooLong { got: 33, most: 32 };
        assert_eq!(with(|siblings| siblings.resize(33, [0; 32])), Err(long));
        let beyond = ListProof { index: 11, ..proof.clone() };
        let position = ProofError::Position { index: 11, count: 11 };
        assert_eq!(beyond.verify(root, &item), Err(position));
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).into()
}

#[test]
fn a_block_is_shown_at_its_place_and_at_no_other() {
    let mut store = memory(20);
    for transactions in [vec![], (0..6).map(|sender| pay(sender, 0, sender + 1, 3)).collect()] {
        let before = store.committed().unwrap();
        let name = u8::try_from(before.height.get() + 1).unwrap();
        let hashes: Vec<[u8; 32]> = transactions.iter().map(|one| one.hash()).collect();
        let execution = commit(&mut store, name, transactions);
        let (root, place) =
            (ListRoot::new(execution.roots.receipts), execution.delta.place().unwrap());
        assert_eq!(place.content, ListRoot::of(&hashes));
        let header = store.block(before.height.next()).unwrap().header;
        assert_eq!(place.verify(&header, root), Ok(()));
        let elsewhere = [
            Header { height: header.height.next(), ..header },
            Header { parent: BlockId::new([9; 32]), ..header },
        ];
        for other in elsewhere {
            assert_eq!(place.verify(&other, root), Err(ProofError::Root));
        }
        let mut other = place.clone();
        other.content = ListRoot::of(&[[1; 32]]);
        assert_eq!(other.verify(&header, root), Err(ProofError::Root));
    }
}
