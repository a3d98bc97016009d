//! Ranges of a state: what is shown is all that is there.
use std::collections::BTreeMap;

use prefinal_state::proof::{
    KeyRange, ProofError, RangeNode, StateKey, StateRange, StateRoot, StateRow,
};
use prefinal_state::{Genesis, RangeLimits, View};
use redb::backends::InMemoryBackend;

use crate::chain::{GENESIS, TestStore, open};

const ALL: RangeLimits = RangeLimits { rows: usize::MAX, bytes: usize::MAX };

/// Keys whose first bytes are these, and zeros behind them.
pub(crate) fn key(bytes: &[u8]) -> StateKey {
    let mut full = [0; 32];
    full[..bytes.len()].copy_from_slice(bytes);
    StateKey::from_bytes(full)
}

/// A state with rows at these keys, each with its own value.
pub(crate) fn state(keys: &[StateKey]) -> TestStore {
    let rows = keys.iter().map(|key| (*key, key.as_bytes()[..4].into()));
    open(InMemoryBackend::new(), &Genesis { block: GENESIS, rows: rows.collect() })
}

/// Hashes, and neighbours that differ in their last bit, in the middle, and in the first bit.
fn keys() -> Vec<StateKey> {
    let mut keys: Vec<StateKey> = (0..40_u8).map(|name| StateKey::new(9, &[name])).collect();
    keys.extend([key(&[0x40]), key(&[0x40]).next().unwrap(), key(&[0x40, 0, 0x80])]);
    keys.extend([KeyRange::ALL.first, KeyRange::ALL.last]);
    keys.sort();
    keys
}

fn root(view: &View) -> StateRoot {
    view.state_root()
}

fn checked(view: &View, first: StateKey, last: StateKey) -> Vec<StateKey> {
    let range = view.range(KeyRange { first, last }, ALL).unwrap();
    let verified = range.verify(root(view)).unwrap();
    assert_eq!(verified.keys(), KeyRange { first, last });
    verified.rows().iter().map(|row| row.key).collect()
}

#[test]
fn a_range_has_all_rows_between_its_keys_whatever_they_are() {
    for some in [0, 1, 2, 5, 45] {
        let keys: Vec<StateKey> = keys().into_iter().take(some).collect();
        let view = state(&keys).view().unwrap();
        // Boundaries at rows, beside them, and far from them.
        let mut ends = vec![KeyRange::ALL.first, KeyRange::ALL.last, key(&[0x40, 0, 0x40])];
        let beside =
            keys.iter().step_by(4).flat_map(|key| [key.previous(), Some(*key), key.next()]);
        ends.extend(beside.flatten());
        for first in &ends {
            for last in ends.iter().filter(|last| *last >= first) {
                let expected = keys.iter().filter(|key| *key >= first && *key <= last).copied();
                assert_eq!(checked(&view, *first, *last), expected.collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn limits_end_a_range_early_and_the_next_one_begins_behind_it() {
    let view = state(&keys()).view().unwrap();
    for limits in [
        RangeLimits { rows: 1, bytes: usize::MAX },
        RangeLimits { rows: 7, bytes: usize::MAX },
        // Three rows of 36 bytes, and one whatever the limit.
        RangeLimits { rows: 100, bytes: 120 },
        RangeLimits { rows: 100, bytes: 0 },
    ] {
        let (mut found, mut next) = (Vec::new(), Some(KeyRange::ALL.first));
        while let Some(first) = next {
            let range = view.range(KeyRange { first, ..KeyRange::ALL }, limits).unwrap();
            let range = range.verify(root(&view)).unwrap();
            assert!(range.rows().len() <= limits.rows.min((limits.bytes / 36).max(1)));
            found.extend(range.rows().iter().map(|row| row.key));
            next = range.keys().last.next();
        }
        assert_eq!(found, keys());
    }
}

/// Everything that a liar may do to one node, row or boundary.
fn altered(honest: &StateRange) -> Vec<StateRange> {
    let mut all = Vec::new();
    let mut push = |change: &dyn Fn(&mut StateRange)| {
        let mut range = honest.clone();
        change(&mut range);
        if range != *honest {
            all.push(range);
        }
    };
    for at in 0..honest.rows.len() {
        push(&|range| drop(range.rows.remove(at)));
        push(&|range| range.rows[at].value.push(0));
        push(&|range| range.rows.insert(at, range.rows[at].clone()));
        push(&|range| range.rows.swap(at, 0));
        push(&|range| range.rows[at].key = range.rows[at].key.next().unwrap_or(range.rows[at].key));
        let hidden = RangeNode::Outside {
            key: honest.rows[at].key,
            value_hash: sha256(&honest.rows[at].value),
        };
        for node in 0..=honest.proof.nodes.len() {
            // A row of the range is passed off as one outside, in place of a node or beside it.
            push(&|range| {
                range.rows.remove(at);
                range.proof.nodes.insert(node, hidden);
            });
            push(&|range| {
                range.rows.remove(at);
                if let Some(node) = range.proof.nodes.get_mut(node) {
                    *node = hidden;
                }
            });
        }
    }
    push(&|range| range.rows.push(StateRow { key: range.keys.last, value: vec![1] }));
    for at in 0..honest.proof.nodes.len() {
        push(&|range| range.proof.nodes.truncate(at));
        let nodes = [RangeNode::Split, RangeNode::Row, RangeNode::Empty, RangeNode::Hash([7; 32])];
        for node in nodes {
            push(&|range| range.proof.nodes[at] = node);
            push(&|range| range.proof.nodes.insert(at, node));
        }
    }
    push(&|range| range.proof.nodes.push(RangeNode::Empty));
    all
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).into()
}

#[test]
fn nothing_can_be_left_out_added_or_altered() {
    for some in [1, 2, 4, 45] {
        let keys: Vec<StateKey> = keys().into_iter().take(some).collect();
        let view = state(&keys).view().unwrap();
        let (middle, last) = (keys[keys.len() / 2], keys[keys.len() - 1]);
        let ranges = [
            KeyRange::ALL,
            KeyRange { first: middle, last },
            KeyRange { first: middle, last: middle },
            KeyRange { first: keys[0], last: middle.previous().unwrap_or(middle) },
        ];
        for keys in ranges {
            let honest = view.range(keys, ALL).unwrap();
            assert!(honest.clone().verify(root(&view)).is_ok());
            for range in altered(&honest) {
                // Some proofs have longer forms, which show the same.
                if let Ok(verified) = range.verify(root(&view)) {
                    assert_eq!((verified.rows(), verified.keys()), (&honest.rows[..], honest.keys));
                }
            }
        }
    }
}

/// The parent of two leaves collapses to the one that is left: without the rule on places, a row of the range
/// could stand for the half beside it.
#[test]
fn a_row_of_the_range_cannot_stand_for_its_neighbour() {
    let only = key(&[0x40]);
    let view = state(&[only]).view().unwrap();
    let keys = KeyRange { first: key(&[0x40]), last: key(&[0x7f]) };
    let outside = RangeNode::Outside { key: only, value_hash: sha256(&[0x40, 0, 0, 0]) };
    let mut range = view.range(keys, ALL).unwrap();
    assert_eq!(range.rows.len(), 1);
    range.rows.clear();
    range.proof.nodes = vec![outside];
    assert_eq!(range.clone().verify(root(&view)), Err(ProofError::Shape));
    // The root's left half has it in truth; the liar says that the right half does.
    range.proof.nodes = vec![RangeNode::Split, RangeNode::Empty, outside];
    assert_eq!(range.verify(root(&view)), Err(ProofError::Shape));
}

#[test]
fn a_proof_longer_than_any_path_and_another_root_are_refused() {
    let view = state(&keys()).view().unwrap();
    let mut range = view.range(KeyRange::ALL, ALL).unwrap();
    assert_eq!(range.clone().verify(StateRoot::EMPTY), Err(ProofError::Root));
    range.proof.nodes = vec![RangeNode::Split; 2000];
    let error = range.verify(root(&view)).unwrap_err();
    assert_eq!(error, ProofError::TooLong { got: 2000, most: 1028 });
}

/// Values of rows by their keys, read one by one.
pub(crate) fn rows(view: &View) -> BTreeMap<StateKey, Vec<u8>> {
    let range = view.range(KeyRange::ALL, ALL).unwrap().verify(root(view)).unwrap();
    range.rows().iter().map(|row| (row.key, row.value.clone())).collect()
}
