//! Asking peers for what is missing: decisions, and the blocks and batches of decided heights. First one
//! peer at a time.
//!
//! A party that fell behind hears of it: a peer says how far it is, or proposes or votes at heights behind
//! this party's window. It asks one such peer for the decisions from its own next height on, and the next
//! peer if nothing comes. What a peer says of its progress costs one request if it is a lie.
use core::time::Duration;
use std::collections::BTreeMap;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Slot, Value};

use crate::batch::BatchId;

/// Most blocks and batches that are wanted at a time. Others are wanted when these are here.
const MAX_WANTED: usize = 64;
/// How long an answer may take, in units of the grace period.
const PATIENCE: u32 = 4;
/// Rounds, after the first, in which one provider is asked; and how often their number doubles then.
const SINGLE_ROUNDS: u32 = 2;
const MAX_DOUBLINGS: u32 = 16;
/// Requests of one peer that are answered within the patience.
const MAX_SERVED: u32 = 32;

/// Something of a decided height that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Item {
    Body(Slot, Value),
    Batch(BatchId),
}

#[derive(Debug)]
struct Want {
    providers: Vec<Party>,
    next: usize,
    at: Instant,
    /// How many rounds of questions there were.
    rounds: u32,
}

/// What a peer was given within the patience.
#[derive(Clone, Copy, Debug)]
struct Served {
    since: Instant,
    count: u32,
    bytes: usize,
}

/// Something to ask for, and the peer to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inquiry {
    pub(crate) to: Party,
    pub(crate) item: Item,
}

#[derive(Debug)]
pub(crate) struct Fetch {
    grace: Duration,
    /// The next height of peers that are said to be ahead.
    ahead: BTreeMap<Party, Slot>,
    /// When to ask one of them, and the one that was asked last.
    ask_at: Option<Instant>,
    asked: Option<Party>,
    wanted: BTreeMap<Item, Want>,
    served: BTreeMap<Party, Served>,
}

impl Fetch {
    pub(crate) const fn new(grace: Duration) -> Self {
        Self {
            grace,
            ahead: BTreeMap::new(),
            ask_at: None,
            asked: None,
            wanted: BTreeMap::new(),
            served: BTreeMap::new(),
        }
    }

    pub(crate) const fn grace(&self) -> Duration {
        self.grace
    }

    /// Notes that a peer is at this height. It is asked after a grace period, for what is missing may be
    /// on its way.
    pub(crate) fn is_at(&mut self, now: Instant, peer: Party, next: Slot, mine: Slot) {
        if next > mine && self.ahead.get(&peer) < Some(&next) {
            self.ahead.insert(peer, next);
            self.ask_at.get_or_insert(now + self.grace);
        }
    }

    /// Drops peers that are no longer ahead.
    pub(crate) fn reached(&mut self, mine: Slot) {
        self.ahead.retain(|_, next| *next > mine);
        if self.ahead.is_empty() {
            self.ask_at = None;
        }
    }

    /// The peer to ask for decisions now. Peers take turns, so one that claims to be far ahead, again and
    /// again, keeps nobody from asking the others. What a peer said is forgotten when it is asked.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Party> {
        self.ask_at.filter(|at| *at <= now)?;
        let peers = || self.ahead.keys().copied();
        let peer = peers().find(|peer| Some(*peer) > self.asked).or_else(|| peers().next())?;
        self.ahead.remove(&peer);
        self.asked = Some(peer);
        self.ask_at = Some(now + self.patience()).filter(|_| !self.ahead.is_empty());
        Some(peer)
    }

    /// Notes that some of `providers` have this.
    pub(crate) fn want(&mut self, now: Instant, item: Item, providers: Vec<Party>) {
        if self.wanted.len() >= MAX_WANTED || providers.is_empty() {
            return;
        }
        let at = now + self.grace;
        self.wanted.entry(item).or_insert(Want { providers, next: 0, at, rounds: 0 });
    }

    pub(crate) fn is_wanted(&self, item: &Item) -> bool {
        self.wanted.contains_key(item)
    }

    pub(crate) fn has_room(&self) -> bool {
        self.wanted.len() < MAX_WANTED
    }

    /// Whether so little is wanted that there is room for what may never be decided.
    pub(crate) fn has_room_to_spare(&self) -> bool {
        self.wanted.len() < MAX_WANTED / 2
    }

    /// Notes that it is here.
    pub(crate) fn found(&mut self, item: &Item) {
        self.wanted.remove(item);
    }

    /// What to ask for now, and whom. The first providers are asked one at a time; then twice as many in each
    /// round, for of a weak quorum all but one may be faulty.
    pub(crate) fn inquiries(&mut self, now: Instant) -> Vec<Inquiry> {
        let patience = self.patience();
        let mut inquiries = Vec::new();
        for (&item, want) in self.wanted.iter_mut().filter(|(_, want)| want.at <= now) {
            let count = 1_usize << want.rounds.saturating_sub(SINGLE_ROUNDS).min(MAX_DOUBLINGS);
            let turns = want.providers.iter().cycle().skip(want.next);
            let count = count.min(want.providers.len());
            inquiries.extend(turns.take(count).map(|to| Inquiry { to: *to, item }));
            want.next = (want.next + count).checked_rem(want.providers.len()).unwrap_or_default();
            want.rounds = want.rounds.saturating_add(1);
            want.at = now + patience;
        }
        inquiries
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.wanted.values().map(|want| want.at).chain(self.ask_at).min()
    }

    /// Whether a peer's request is within its limit.
    pub(crate) fn may_serve(&mut self, peer: Party, now: Instant) -> bool {
        let patience = self.patience();
        let fresh = Served { since: now, count: 0, bytes: 0 };
        let served = self.served.entry(peer).or_insert(fresh);
        if now.since(served.since) >= patience {
            *served = fresh;
        }
        served.count = served.count.saturating_add(1);
        served.count <= MAX_SERVED
    }

    /// Whether a peer's request is within its limit, and what it has been sent with these bytes within `most`.
    pub(crate) fn may_send(
        &mut self,
        peer: Party,
        now: Instant,
        bytes: usize,
        most: usize,
    ) -> bool {
        let may = self.may_serve(peer, now);
        let Some(served) = self.served.get_mut(&peer).filter(|_| may) else { return false };
        let sum = served.bytes.saturating_add(bytes);
        let fits = sum <= most;
        if fits {
            served.bytes = sum;
        }
        fits
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

    fn slot(number: u64) -> Slot {
        Slot::new(number)
    }

    #[test]
    fn peers_ahead_are_asked_one_after_the_other_and_once_for_what_they_said() {
        let mut fetch = Fetch::new(GRACE);
        let (one, two) = (Party::new(1), Party::new(2));
        fetch.is_at(at(0), one, slot(9), slot(3));
        fetch.is_at(at(5), two, slot(7), slot(3));
        fetch.is_at(at(5), Party::new(3), slot(3), slot(3));
        assert_eq!(fetch.due(at(9)), None);
        assert_eq!((fetch.due(at(10)), fetch.due(at(49))), (Some(one), None));
        assert_eq!((fetch.due(at(50)), fetch.wake_at()), (Some(two), None));
        // One that says it again and again does not keep the others out.
        fetch.is_at(at(60), one, slot(99), slot(3));
        fetch.is_at(at(61), two, slot(9), slot(3));
        assert_eq!(fetch.due(at(70)), Some(one));
        fetch.is_at(at(71), one, slot(99), slot(3));
        assert_eq!(fetch.due(at(110)), Some(two));
        fetch.is_at(at(111), two, slot(9), slot(3));
        fetch.reached(slot(99));
        assert_eq!(fetch.wake_at(), None, "not behind any more");
    }

    #[test]
    fn providers_of_a_block_are_asked_in_turn() {
        let mut fetch = Fetch::new(GRACE);
        let (value, providers) = (Value::new([1; 32]), vec![Party::new(4), Party::new(6)]);
        let item = Item::Body(slot(1), value);
        fetch.want(at(0), item, providers);
        let inquiry = |to| Inquiry { to: Party::new(to), item };
        assert_eq!(fetch.inquiries(at(9)), []);
        assert_eq!(fetch.inquiries(at(10)), [inquiry(4)]);
        assert_eq!(fetch.inquiries(at(49)), []);
        assert_eq!(fetch.inquiries(at(50)), [inquiry(6)]);
        assert_eq!(fetch.inquiries(at(90)), [inquiry(4)]);
        fetch.found(&item);
        assert_eq!(fetch.wake_at(), None);
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
