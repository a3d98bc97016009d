//! Answers that are almost true: one thing of them is altered.
use prefinal_execution::{BlockId, Height};
use prefinal_light::EpochEnding;
use prefinal_protocol::{EpochId, Slot};
use prefinal_sim::Dice;
use prefinal_state::proof::{KeyRange, StateRange, StateRow};
use prefinal_state::{RowChange, SnapshotBlock};
use prefinal_sync::wire::{BlockItem, Payload};
use prefinal_sync::{BlockNames, HashedNames};

use super::super::chain::{SampleAttestation, SampleCertificate, SampleChain};

type SamplePayload = Payload<SampleCertificate>;
type SampleItem = BlockItem<SampleCertificate>;

/// Alters something of a payload; what is drawn does not fit every one.
pub(super) fn fabricate(payload: &mut SamplePayload, chain: &SampleChain, dice: &mut Dice) {
    match payload {
        Payload::Absent => {}
        Payload::Blocks(items) => {
            let count = u64::try_from(items.len()).unwrap_or(0);
            let place = usize::try_from(dice.below(count)).unwrap_or(0);
            match dice.below(8) {
                0 => leave_out_empty(items),
                1 => push_next(items, chain),
                _ => {
                    if let Some(item) = items.get_mut(place) {
                        block(item, chain, dice);
                    }
                }
            }
        }
        Payload::Anchor(anchor) => alter_anchor(anchor, chain, dice),
        Payload::Range(range) => alter_range(range, dice),
        Payload::Ending(ending) => alter_ending(ending, chain, dice),
    }
}

/// The name is that of the content again.
fn rename(item: &mut SampleItem) {
    item.attestation.content = HashedNames.content(&item.transactions);
    item.header.id = HashedNames.name(&item.header, &item.attestation.content);
}

/// The attestation of another height.
fn other(chain: &SampleChain, dice: &mut Dice) -> Option<SampleAttestation> {
    let height = Height::new(dice.between(1, chain.tip().get()));
    chain.store.certificate(height).ok()?
}

fn block(item: &mut SampleItem, chain: &SampleChain, dice: &mut Dice) {
    let names = dice.below(2) == 0;
    match dice.below(12) {
        0 => drop(item.transactions.pop()),
        1 => {
            if let Some(byte) = item.transactions.last_mut().and_then(|one| one.last_mut()) {
                *byte ^= 1;
            }
        }
        2 => item.transactions.reverse(),
        3 => flip(&mut item.roots.state, dice),
        4 => flip(&mut item.roots.receipts, dice),
        5 => item.attestation.epoch = item.attestation.epoch.next(),
        6 => item.attestation.epoch = EpochId::new(dice.below(5)),
        7 => item.header.parent = BlockId::new(dice.bytes()),
        8 => item.header.slot = Slot::new(item.header.slot.get() + 1),
        9 => {
            if let Some(other) = other(chain, dice) {
                item.attestation.certificate = other.certificate;
            }
        }
        10 => {
            // A signature, but not of the slot's value.
            let signature = item.attestation.certificate.signature;
            let some = dice.below(2) == 0;
            item.attestation.randomness = some.then_some(signature);
            return;
        }
        _ => return delta(item, dice),
    }
    if names {
        rename(item);
    }
}

fn flip(root: &mut [u8; 32], dice: &mut Dice) {
    let place = usize::try_from(dice.below(32)).unwrap_or(0);
    root.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= 1);
}

fn delta(item: &mut SampleItem, dice: &mut Dice) {
    let Some(delta) = &mut item.delta else {
        item.delta = Some(Default::default());
        return;
    };
    match dice.below(7) {
        0 => item.delta = None,
        1 => drop(delta.changes.pop()),
        2 => drop(delta.results.pop()),
        3 => delta.changes.reverse(),
        4 => {
            let key = KeyRange::ALL.last;
            delta.changes.push(RowChange { key, value: Some(dice.bytes().to_vec()) });
        }
        5 => {
            if let Some(result) = delta.results.first_mut() {
                result.receipt.push(0);
            }
        }
        _ => {
            if let Some(change) = delta.changes.first_mut() {
                change.value = (dice.below(2) == 0).then(|| dice.bytes().to_vec());
            }
        }
    }
}

/// A block that changes nothing is missing, and those behind it stand a height lower.
fn leave_out_empty(items: &mut Vec<SampleItem>) {
    let Some(place) = items.iter().position(|item| item.transactions.is_empty()) else { return };
    let gone = items.remove(place);
    let mut parent = gone.header.parent;
    for item in items.iter_mut().skip(place) {
        item.header.height = Height::new(item.header.height.get().saturating_sub(1));
        item.header.parent = parent;
        parent = item.header.id;
    }
}

/// One more than was asked for.
fn push_next(items: &mut Vec<SampleItem>, chain: &SampleChain) {
    let Some(last) = items.last() else { return };
    let (next, deltas) = (last.header.height.next(), last.delta.is_some());
    let (Ok(block), Ok(delta)) = (chain.store.export(next), chain.store.delta(next)) else {
        return;
    };
    items.push(BlockItem {
        header: block.header,
        roots: block.roots,
        attestation: block.certificate,
        transactions: block.transactions,
        delta: deltas.then_some(delta),
    });
}

fn alter_anchor(
    anchor: &mut SnapshotBlock<SampleAttestation>,
    chain: &SampleChain,
    dice: &mut Dice,
) {
    match dice.below(7) {
        0 => flip(&mut anchor.roots.state, dice),
        1 => anchor.header.height = anchor.header.height.next(),
        2 => anchor.certificate.epoch = EpochId::new(dice.below(5)),
        3 => anchor.header.parent = BlockId::new(dice.bytes()),
        4 => anchor.certificate.randomness = Some(anchor.certificate.certificate.signature),
        5 => flip(&mut anchor.certificate.content, dice),
        _ => {
            if let Some(other) = other(chain, dice) {
                anchor.certificate = other;
            }
        }
    }
}

fn alter_range(range: &mut StateRange, dice: &mut Dice) {
    match dice.below(8) {
        0 => drop(range.rows.pop()),
        1 => range.rows.reverse(),
        2 => range.proof.nodes.clear(),
        3 => drop(range.proof.nodes.pop()),
        4 => range.keys = KeyRange::ALL,
        5 => range.keys.last = range.keys.first,
        6 => range.rows.push(StateRow { key: range.keys.last, value: dice.bytes().to_vec() }),
        _ => {
            if let Some(row) = range.rows.first_mut() {
                row.value = dice.bytes().to_vec();
            }
        }
    }
}

fn alter_ending(ending: &mut EpochEnding, chain: &SampleChain, dice: &mut Dice) {
    match dice.below(4) {
        0 => ending.first = ending.first.next(),
        1 => flip(&mut ending.block.roots.state, dice),
        2 => ending.block.epoch = ending.block.epoch.next(),
        _ => {
            let other = chain.endings.values().rfind(|one| *one != ending);
            if let Some(other) = other.cloned() {
                *ending = other;
            }
        }
    }
}
