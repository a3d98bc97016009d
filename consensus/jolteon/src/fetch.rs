//! Which certified blocks are missing, and which party to ask next.
//!
//! A certificate names a block by its hash, so an answer needs no signature: it has the hash that was
//! asked for, or it is ignored. The signers of the certificate have the block. They are asked in turn,
//! one at a time, and each asker starts at a different one. Chains are fetched from the newest block
//! down, and each block makes its parent wanted.
//!
//! See also `tree` (what is wanted) and `receive` (answering others). A party that lags by more than
//! its peers' history is placed behind a later block by its host (`Engine::adopted`).
use core::time::Duration;
use std::collections::BTreeMap;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::Instant;

use crate::block::{BlockId, Round};
use crate::tree::Point;

/// Largest number of blocks that are wanted at a time.
const MAX_WANTED: usize = 64;
/// An unanswered request goes to the next provider after this many times the grace period.
const PATIENCE: u32 = 4;
/// Largest number of requests that a peer may make in that time.
const MAX_SERVED: u32 = 32;

#[derive(Debug)]
struct Want {
    round: Round,
    providers: Vec<Party>,
    next: usize,
    at: Instant,
}

#[derive(Debug)]
pub(crate) struct Fetch {
    grace: Duration,
    wanted: BTreeMap<BlockId, Want>,
    served: BTreeMap<Party, (Instant, u32)>,
}

impl Fetch {
    pub(crate) const fn new(grace: Duration) -> Self {
        Self { grace, wanted: BTreeMap::new(), served: BTreeMap::new() }
    }

    /// Notes that some of `providers` have this block. `at` is when to ask for it: after the grace
    /// period if the block may be on its way, at once if it surely is not.
    pub(crate) fn want(&mut self, point: Point, providers: Vec<Party>, turn: usize, at: Instant) {
        if providers.is_empty() || self.wanted.contains_key(&point.block) {
            return;
        }
        if self.wanted.len() >= MAX_WANTED {
            let newest = self.wanted.iter().max_by_key(|(_, want)| want.round);
            let Some((&newest, round)) = newest.map(|(id, want)| (id, want.round)) else { return };
            if round <= point.round {
                return;
            }
            self.wanted.remove(&newest);
        }
        let next = turn.checked_rem(providers.len()).unwrap_or_default();
        self.wanted.insert(point.block, Want { round: point.round, providers, next, at });
    }

    /// When to ask for a block that has just become wanted.
    pub(crate) fn after_grace(&self, now: Instant) -> Instant {
        now + self.grace
    }

    pub(crate) fn is_wanted(&self, block: BlockId) -> bool {
        self.wanted.contains_key(&block)
    }

    /// Notes that the block is here. Returns its providers.
    pub(crate) fn found(&mut self, block: BlockId) -> Option<Vec<Party>> {
        self.wanted.remove(&block).map(|want| want.providers)
    }

    /// Drops wanted blocks up to the root, which are final or useless.
    pub(crate) fn forget(&mut self, root: Round) {
        self.wanted.retain(|_, want| want.round > root);
    }

    /// The requests that are due, each to one provider.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<(Party, BlockId)> {
        let patience = self.patience();
        let mut requests = Vec::new();
        for (&block, want) in self.wanted.iter_mut().filter(|(_, want)| want.at <= now) {
            requests.extend(want.providers.get(want.next).map(|&party| (party, block)));
            want.next = (want.next + 1).checked_rem(want.providers.len()).unwrap_or_default();
            want.at = now + patience;
        }
        requests
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.wanted.values().map(|want| want.at).min()
    }

    /// Whether a peer's request is within its limit.
    pub(crate) fn may_serve(&mut self, peer: Party, now: Instant) -> bool {
        let patience = self.patience();
        let (since, count) = self.served.entry(peer).or_insert((now, 0));
        if now.since(*since) >= patience {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        *count <= MAX_SERVED
    }

    const fn patience(&self) -> Duration {
        self.grace.saturating_mul(PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_millis(10);

    fn at(ms: u64) -> Instant {
        Instant::at(Duration::from_millis(ms))
    }

    fn point(round: u64) -> Point {
        let name = [u8::try_from(round).unwrap(); 32];
        Point { round: Round::new(round), block: BlockId::new(name) }
    }

    #[test]
    fn providers_are_asked_in_turn() {
        let mut fetch = Fetch::new(GRACE);
        let providers = vec![Party::new(4), Party::new(6)];
        fetch.want(point(1), providers.clone(), 1, fetch.after_grace(at(0)));
        assert_eq!(fetch.due(at(9)), []);
        assert_eq!(fetch.due(at(10)), [(Party::new(6), point(1).block)]);
        assert_eq!(fetch.wake_at(), Some(at(50)));
        assert_eq!(fetch.due(at(50)), [(Party::new(4), point(1).block)]);
        assert_eq!(fetch.found(point(1).block), Some(providers));
        assert_eq!(fetch.wake_at(), None);
    }

    #[test]
    fn the_oldest_blocks_are_the_ones_that_are_kept_on_the_list() {
        let mut fetch = Fetch::new(GRACE);
        for round in (1..=100).rev() {
            fetch.want(point(round), vec![Party::new(0)], 0, at(0));
        }
        assert_eq!(fetch.wanted.len(), MAX_WANTED);
        assert!(fetch.is_wanted(point(1).block) && !fetch.is_wanted(point(100).block));
    }

    #[test]
    fn a_greedy_peer_is_served_so_much_and_no_more() {
        let mut fetch = Fetch::new(GRACE);
        let greedy = Party::new(3);
        let served = (0..100).filter(|_| fetch.may_serve(greedy, at(0))).count();
        assert_eq!(served, usize::try_from(MAX_SERVED).unwrap());
        assert!(fetch.may_serve(Party::new(4), at(0)), "the others are not made to pay");
        assert!(fetch.may_serve(greedy, at(40)));
    }
}
