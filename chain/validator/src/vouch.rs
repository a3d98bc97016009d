//! What peers say is final, for a party that is behind a boundary.
//!
//! When the last slot of an epoch is final at most parties, they leave its engine. A party that is behind
//! then finds no peers that vote with it. Instead its peers tell it what their engines finalized. Less stake
//! than [`Quorum::faulty_below`](prefinal_engine::Quorum) is faulty. So if more stake than that says the
//! same, an honest party said it, whose engine decided it, and all engines decide the same.
//!
//! A party asks for one slot at a time, the next one in order, and keeps the last answer of each peer.
//! So memory is bounded by one block for each peer.
//!
//! A party asks when it has heard of a later epoch for a while and has not got there by its engine's
//! own messages (`CatchUp`). A party that is to join in a later epoch has no engine before that, so it asks all
//! the time. Answers come from memory: they cover the last slots only, within a limit
//! in bytes.
use std::collections::{BTreeMap, BTreeSet};

use std::sync::Arc;
use std::time::Duration;

use prefinal_engine::{Block, Quorum};
use prefinal_protocol::{Instant, Party, Slot};
use prefinal_weighted_rounding::Stake;

use crate::setup::Setup;

/// Number of slots that are remembered for parties that are behind.
const SLOTS: usize = 4096;
/// Number of bytes of transactions in these slots.
const BYTES: usize = 64 << 20;
/// Bytes that a transaction counts in addition to its own, so that an empty one is not free.
const OVERHEAD: usize = 32;

/// The stakes that an epoch's engine counts.
#[derive(Debug)]
pub struct Committee {
    stakes: Vec<Stake>,
    quorum: Quorum,
}

impl Committee {
    /// Parties with these stakes, in their order, in an engine with this quorum.
    #[must_use]
    pub const fn new(stakes: Vec<Stake>, quorum: Quorum) -> Self {
        Self { stakes, quorum }
    }

    fn of(setup: &Setup, quorum: Quorum) -> Self {
        Self::new(setup.members.iter().map(|member| member.stake).collect(), quorum)
    }

    fn total(&self) -> Stake {
        sum(self.stakes.iter().copied())
    }

    fn stake<'a>(&self, parties: impl IntoIterator<Item = &'a Party>) -> Stake {
        sum(parties.into_iter().filter_map(|party| self.stakes.get(party.index()).copied()))
    }

    /// Whether these parties hold so much stake that one of them is honest.
    fn is_more_than_faulty<'a>(&self, parties: impl IntoIterator<Item = &'a Party>) -> bool {
        self.stake(parties) > self.quorum.faulty(self.total())
    }

    fn is_quorum<'a>(&self, parties: impl IntoIterator<Item = &'a Party>) -> bool {
        self.stake(parties) >= self.quorum.of(self.total())
    }
}

/// Collects what peers say about the next slot.
#[derive(Debug)]
pub struct Vouchers {
    committee: Committee,
    next: Slot,
    said: BTreeMap<Party, Option<Block>>,
}

impl Vouchers {
    /// For this committee, in which less than the quorum's faulty stake may lie. `next` is the first
    /// slot that is not final here.
    #[must_use]
    pub const fn new(committee: Committee, next: Slot) -> Self {
        Self { committee, next, said: BTreeMap::new() }
    }

    /// The next slot to ask for.
    #[must_use]
    pub const fn next(&self) -> Slot {
        self.next
    }

    /// All slots before `next` are final here, in whatever way.
    pub fn advance(&mut self, next: Slot) {
        if next > self.next {
            self.next = next;
            self.said.clear();
        }
    }

    /// Takes what a peer says about a slot. Returns the block of the awaited slot if it is final by
    /// that, where the inner `None` is a skipped slot. Answers about other slots are ignored.
    #[must_use]
    pub fn take(&mut self, from: Party, slot: Slot, block: Option<Block>) -> Option<Option<Block>> {
        if slot != self.next || self.committee.stake([&from]) == Stake::ZERO {
            return None;
        }
        self.said.insert(from, block.clone());
        let same = self.said.iter().filter(|(_, said)| **said == block);
        if !self.committee.is_more_than_faulty(same.map(|(party, _)| party)) {
            return None;
        }
        self.advance(slot.next());
        Some(block)
    }
}

/// The total of all stakes does not overflow, because the engine has counted it.
fn sum(mut stakes: impl Iterator<Item = Stake>) -> Stake {
    stakes.try_fold(Stake::ZERO, Stake::checked_add).unwrap_or(Stake::new(u128::MAX))
}

/// Decides when to ask, what to answer, and what answers make final.
#[derive(Debug)]
pub(crate) struct CatchUp {
    vouchers: Vouchers,
    /// The committee of the epoch before.
    before: Option<Committee>,
    /// How long a party hears of a later epoch before it asks, and the time between two questions.
    patience: Duration,
    ask_at: Option<Instant>,
    /// Whether this party has no engine in this epoch, so that it asks for every slot.
    follows: bool,
    /// Whether answers are expected, and the greatest number of bytes of transactions in one.
    asked: bool,
    longest: usize,
    order: BTreeMap<Slot, Option<Block>>,
    lacks: Option<Slot>,
    bytes: usize,
    /// The last slot for which each peer got an answer, and when.
    answered: BTreeMap<Party, (Slot, Instant)>,
}

impl CatchUp {
    pub(crate) fn new(setup: &Setup, quorum: Quorum) -> Self {
        Self {
            vouchers: Vouchers::new(Committee::of(setup, quorum), Slot::new(1)),
            before: None,
            patience: setup.timeout,
            ask_at: None,
            follows: false,
            asked: false,
            longest: setup.max_block_bytes,
            order: BTreeMap::new(),
            lacks: None,
            bytes: 0,
            answered: BTreeMap::new(),
        }
    }

    /// Takes blocks that are longer by these bytes than the transactions in them may be.
    pub(crate) fn with_added(self, bytes: usize) -> Self {
        Self { longest: self.longest.saturating_add(bytes), ..self }
    }

    /// The next epoch becomes the current one, and begins with this slot.
    pub(crate) fn enter(&mut self, setup: &Setup, quorum: Quorum, first: Slot) {
        let next = Vouchers::new(Committee::of(setup, quorum), first);
        self.before = Some(std::mem::replace(&mut self.vouchers, next).committee);
        (self.ask_at, self.asked, self.follows) = (None, false, false);
    }

    /// This party has no engine in this epoch: it asks for one slot after the other.
    pub(crate) fn follow(&mut self, now: Instant) {
        (self.ask_at, self.follows) = (Some(now), true);
    }

    /// A peer is in a later epoch, or says so. The peers are asked only as long as this is heard.
    pub(crate) fn hears_of_later(&mut self, now: Instant) {
        self.ask_at.get_or_insert(now + self.patience);
    }

    /// Whether these parties hold so much stake of this epoch that one of them is honest.
    pub(crate) fn is_more_than_faulty(&self, parties: &BTreeSet<Party>) -> bool {
        self.vouchers.committee.is_more_than_faulty(parties)
    }

    /// Whether these parties were a quorum of the epoch before.
    pub(crate) fn is_quorum_before(&self, parties: &BTreeSet<Party>) -> bool {
        self.before.as_ref().is_some_and(|before| before.is_quorum(parties))
    }

    /// When to ask. `None` if an answer would have to wait.
    pub(crate) fn asks_at(&self, limit: Option<Slot>) -> Option<Instant> {
        self.ask_at.filter(|_| limit.is_some_and(|limit| self.vouchers.next() < limit))
    }

    /// The slot to ask for now, if it is time.
    pub(crate) fn ask(&mut self, now: Instant, limit: Option<Slot>) -> Option<Slot> {
        self.asks_at(limit).filter(|at| *at <= now)?;
        (self.ask_at, self.asked) = (self.follows.then(|| now + self.patience), true);
        Some(self.vouchers.next())
    }

    /// What is final in the slot here, if it is remembered. Each peer gets an answer once, and again
    /// after a while, because an answer is much longer than its question.
    pub(crate) fn answer(&mut self, now: Instant, to: Party, slot: Slot) -> Option<Option<Block>> {
        let block = self.order.get(&slot)?;
        if let Some((last, at)) = self.answered.get(&to)
            && slot <= *last
            && now < *at + self.patience
        {
            return None;
        }
        self.answered.insert(to, (slot, now));
        Some(block.clone())
    }

    /// The same as [`Vouchers::take`], if anything was asked. The next slot is then asked for at once.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        from: Party,
        slot: Slot,
        block: Option<Block>,
    ) -> Option<Option<Block>> {
        let of = |block: &Block| block.transactions.iter().map(|one| one.len()).sum();
        if !self.asked || block.as_ref().map_or(0, of) > self.longest {
            return None;
        }
        let block = self.vouchers.take(from, slot, block)?;
        self.ask_at = Some(now);
        Some(block)
    }

    /// Blocks up to this slot are not whole here, so peers are not told them.
    pub(crate) fn lacks(&mut self, last: Slot) {
        self.lacks = self.lacks.max(Some(last));
    }

    /// Notes that the slot is final here.
    pub(crate) fn ordered(&mut self, slot: Slot, block: Option<Block>) {
        self.vouchers.advance(slot.next());
        if Some(slot) <= self.lacks {
            return;
        }
        self.bytes = self.bytes.saturating_add(size(block.as_ref()));
        self.order.insert(slot, block);
        while self.order.len() > SLOTS || self.bytes > BYTES {
            let Some((_, oldest)) = self.order.pop_first() else { return };
            self.bytes = self.bytes.saturating_sub(size(oldest.as_ref()));
        }
    }
}

fn size(block: Option<&Block>) -> usize {
    let of = |one: &Arc<[u8]>| one.len().saturating_add(OVERHEAD);
    block.map_or(0, |block| block.transactions.iter().map(of).sum())
}

#[cfg(test)]
mod tests {
    use prefinal_protocol::Value;
    use prefinal_weighted_rounding::Ratio;

    use crate::setup::{Algorithm, Plan, found};

    use super::*;

    fn block(name: u8) -> Option<Block> {
        let transactions = vec![[name; 3].as_slice().into()];
        Some(Block { value: Value::new([name; 32]), transactions })
    }

    fn vouchers() -> Vouchers {
        let stakes = [40, 30, 20, 10, 0].map(Stake::new).to_vec();
        // Less than a third of 100 may lie.
        Vouchers::new(Committee::new(stakes, Quorum::BYZANTINE), Slot::new(7))
    }

    fn take(
        to: &mut Vouchers,
        from: u32,
        slot: u64,
        block: Option<Block>,
    ) -> Option<Option<Block>> {
        to.take(Party::new(from), Slot::new(slot), block)
    }

    #[test]
    fn more_stake_than_may_be_faulty_has_to_say_the_same() {
        let mut peers = vouchers();
        assert_eq!(take(&mut peers, 1, 7, block(1)), None);
        // Twice the same party, another block, the same name with something else in it, no stake.
        assert_eq!(take(&mut peers, 1, 7, block(1)), None);
        assert_eq!(take(&mut peers, 2, 7, block(2)), None);
        let other = Block { transactions: Vec::new(), ..block(1).into_iter().next().expect("one") };
        assert_eq!(take(&mut peers, 2, 7, Some(other)), None);
        assert_eq!(take(&mut peers, 4, 7, block(1)), None);
        assert_eq!(take(&mut peers, 9, 7, block(1)), None);
        assert_eq!(take(&mut peers, 3, 7, block(1)), Some(block(1)));
        assert_eq!(peers.next(), Slot::new(8));
        // A skipped slot is one as well.
        assert_eq!(take(&mut peers, 0, 8, None), Some(None));
    }

    #[test]
    fn nobody_is_believed_who_was_not_asked_and_nobody_is_asked_without_need() {
        let plan = Plan::new(vec![Stake::new(1); 4], Algorithm::Slow, Ratio::ONE);
        let (setup, _) = found(&plan.expect("four"), 1).expect("a committee");
        let mut one = CatchUp::new(&setup, Quorum::BYZANTINE);
        let at = |seconds| Instant::at(Duration::from_secs(seconds));
        let limit = Some(Slot::new(2));
        let take =
            |one: &mut CatchUp, from| one.take(at(9), Party::new(from), Slot::new(1), block(1));
        assert_eq!((take(&mut one, 0), take(&mut one, 1)), (None, None), "nothing was asked");
        assert_eq!((one.ask(at(9), limit), one.asks_at(limit)), (None, None));
        one.hears_of_later(at(10));
        one.hears_of_later(at(11));
        // The set-up's patience from the first time on, and not before what is asked for may be said.
        assert_eq!((one.ask(at(11), limit), one.asks_at(limit)), (None, Some(at(12))));
        assert_eq!(one.ask(at(12), Some(Slot::new(1))), None);
        assert_eq!(one.ask(at(12), limit), Some(Slot::new(1)));
        assert_eq!(one.asks_at(limit), None, "once, unless a later epoch is heard of again");
        assert_eq!((take(&mut one, 0), take(&mut one, 1)), (None, Some(block(1))));
    }

    #[test]
    fn a_block_may_be_as_long_as_its_transactions_and_what_engines_add() {
        let plan = Plan::new(vec![Stake::new(1); 4], Algorithm::Slow, Ratio::ONE);
        let (setup, _) = found(&plan.expect("four"), 1).expect("a committee");
        let mut one = CatchUp::new(&setup, Quorum::BYZANTINE).with_added(10);
        one.follow(Instant::START);
        assert!(one.ask(Instant::START, Some(Slot::new(2))).is_some());
        let block = |bytes| {
            let transactions = vec![vec![0; bytes].into()];
            Some(Block { value: Value::new([1; 32]), transactions })
        };
        let most = setup.max_block_bytes + 10;
        let mut take = |from, bytes| {
            one.take(Instant::START, Party::new(from), Slot::new(1), block(bytes)).is_some()
        };
        assert!(!take(0, most + 1) && !take(1, most + 1) && !take(2, most) && take(3, most));
    }

    #[test]
    fn a_peer_that_asks_again_and_again_is_answered_once_in_a_while() {
        let plan = Plan::new(vec![Stake::new(1); 4], Algorithm::Slow, Ratio::ONE);
        let (setup, _) = found(&plan.expect("four"), 1).expect("a committee");
        let mut one = CatchUp::new(&setup, Quorum::BYZANTINE);
        (1..=3).for_each(|slot| one.ordered(Slot::new(slot.into()), block(slot)));
        let mut ask = |seconds, from, slot| {
            let now = Instant::at(Duration::from_secs(seconds));
            one.answer(now, Party::new(from), Slot::new(slot)).is_some()
        };
        assert!(ask(1, 0, 1) && !ask(1, 0, 1) && !ask(2, 0, 1) && ask(2, 1, 1));
        assert!(ask(2, 0, 2), "the next slot at once");
        assert!(!ask(2, 0, 1) && ask(4, 0, 1), "what was lost on its way, after the patience");
        assert!(!ask(9, 0, 4), "nothing is final there");
    }

    #[test]
    fn what_is_remembered_is_bounded_in_bytes_and_slots() {
        let plan = Plan::new(vec![Stake::new(1); 4], Algorithm::Slow, Ratio::ONE);
        let (setup, _) = found(&plan.expect("four"), 1).expect("a committee");
        let mut one = CatchUp::new(&setup, Quorum::BYZANTINE);
        let large = |name| {
            let transactions = vec![vec![0_u8; BYTES / 4 - OVERHEAD].into()];
            Some(Block { value: Value::new([name; 32]), transactions })
        };
        (1..=6).for_each(|slot| one.ordered(Slot::new(slot.into()), large(slot)));
        let known = |one: &CatchUp, slot| one.order.contains_key(&Slot::new(slot));
        assert_eq!((known(&one, 2), known(&one, 3), known(&one, 6)), (false, true, true));
        (7..=u64::try_from(SLOTS).expect("few") + 7)
            .for_each(|slot| one.ordered(Slot::new(slot), None));
        assert_eq!((known(&one, 7), known(&one, 8)), (false, true));
    }

    #[test]
    fn only_the_slot_that_was_asked_for_counts() {
        let mut peers = vouchers();
        assert_eq!(take(&mut peers, 0, 6, block(1)), None);
        assert_eq!(take(&mut peers, 0, 8, block(1)), None);
        assert_eq!(take(&mut peers, 1, 7, block(1)), None);
        peers.advance(Slot::new(8));
        assert_eq!(take(&mut peers, 3, 7, block(1)), None);
        assert_eq!(take(&mut peers, 3, 8, block(1)), None, "what was said of 7 says nothing of 8");
    }
}
