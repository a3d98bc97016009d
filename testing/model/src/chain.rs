//! What Jolteon and Simplex have in common: blocks on blocks, a view for each slot.
//!
//! A block is its view, its parent's view and which of two twins it is, for a faulty leader may propose
//! two on one parent. A view has at most one block with a certificate, so a parent is named by its view.
use std::hash::{Hash, Hasher};
use std::iter;

use crate::desk::{Call, HONEST};
use crate::properties::Decision;

/// Blocks of one view and parent.
pub(crate) const TWINS: u8 = 2;

/// A view and its certified block.
pub(crate) type Certified = (u8, u8);

/// What the honest parties have said. They are alike, so states are told apart up to exchanging them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State<P>(pub(crate) [P; HONEST]);

impl<P: Copy + Ord + Hash> Hash for State<P> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let mut parties = self.0;
        parties.sort_unstable();
        parties.hash(hasher);
    }
}

/// A block within its view.
pub(crate) const fn block(parent: u8, twin: u8) -> u8 {
    parent * TWINS + twin
}

pub(crate) const fn parent(block: u8) -> u8 {
    block / TWINS
}

/// How a second block of a view is told from the first.
pub(crate) const fn mark(twin: u8) -> &'static str {
    if twin == 0 { "" } else { "'" }
}

/// The certified block of a view and its ancestors.
pub(crate) fn chain(
    tip: u8,
    certified: impl Fn(u8) -> Option<u8>,
) -> impl Iterator<Item = Certified> {
    let named = move |view| Some((view, certified(view)?));
    iter::successors(named(tip), move |(_, block)| named(parent(*block)))
}

/// Every block of a chain, told on what is done in one view.
pub(crate) fn implied(chain: impl Iterator<Item = Certified>, view: u8) -> Vec<Call> {
    chain.map(|(slot, value)| Call::Prefinalized { slot, view: (view, 0), value }).collect()
}

/// What is final with the tip of a chain, in a view: its blocks, and that every slot between is skipped.
pub(crate) fn decided(chain: impl Iterator<Item = Certified>, view: u8) -> Vec<Decision> {
    let blocks: Vec<Certified> = chain.collect();
    let tip = blocks.first().map_or(0, |(tip, _)| *tip);
    let value = |slot| blocks.iter().find(|(of, _)| *of == slot).map(|(_, block)| *block);
    (1..=tip).map(|slot| Decision { slot, value: value(slot), view: (view, 0) }).collect()
}
