//! The checkpoints that are kept for peers, and for how long.
//!
//! Those of the present epoch and of `retained_epochs` before are kept in any case. That alone is no promise: epochs
//! may be shorter than it takes to fetch a state. Then a peer that fell behind begins one transfer after the
//! other, for what it fetches is dropped in the meantime, and never gets a state. So a checkpoint that a peer fetches
//! is **leased**: it is kept for twice the longest time that a transfer takes from a peer that keeps its turn
//! (`transfer`).
//!
//! ```text
//! span  = timeout · (2 + pieces / 4)
//! lease   ├─ peers begin with it ─┼─ and end ─┤            half of it is a span
//! next                            ├─ peers begin with it ─┼─ and end ─┤
//! ```
//! A peer that fell behind is told of the checkpoint whose lease is in its first half; if there is none, of the
//! latest one, which then gets a lease. So each has a span at least, however many there are and whenever they ask.
//! When it begins, it tells all peers what it fetches, so that it finds the rest of it there if one fails.
//!
//! **Bounds.** A lease has no owner, is not renewed, and none begins in another one's first half. So no matter
//! who asks for what and how often, two states more are kept than without leases. Heights are not kept longer: one
//! that gets a state when peers are more than `retained_epochs` ahead takes the next one, until they wait for it.
//!
//! Why not pieces that are named by their hashes, so that those of the last state need not be fetched again? A state
//! is written as one list of bytes; what is put in at its beginning moves all that comes behind.
use core::time::Duration;
use std::collections::VecDeque;

use prefinal_protocol::Instant;

use crate::replica::checkpoint::{CertifiedStatement, State, Statement};
use crate::replica::transfer::SLOWNESS;

/// Most leases at a time.
const MAX_LEASES: usize = 2;

/// For how long a checkpoint is kept beyond its epochs.
#[derive(Clone, Copy, Debug)]
struct Lease {
    /// Until when peers are told of the checkpoint.
    told_until: Instant,
    /// Until when it is kept.
    until: Instant,
}

impl Lease {
    fn begin(now: Instant, patience: Duration, statement: &Statement) -> Self {
        let pieces = statement.pieces().unwrap_or_default();
        let span = patience.saturating_mul((pieces / SLOWNESS).saturating_add(2));
        let told_until = now + span;
        Self { told_until, until: told_until + span }
    }
}

/// A certified checkpoint that is kept for peers.
#[derive(Clone, Debug)]
pub(crate) struct StoredCheckpoint {
    pub(crate) certified: CertifiedStatement,
    pub(crate) state: State,
    lease: Option<Lease>,
}

impl StoredCheckpoint {
    pub(crate) const fn new(certified: CertifiedStatement, state: State) -> Self {
        Self { certified, state, lease: None }
    }

    fn is_leased(&self, now: Instant) -> bool {
        self.lease.is_some_and(|lease| now < lease.until)
    }

    fn is_told_of(&self, now: Instant) -> bool {
        self.lease.is_some_and(|lease| now < lease.told_until)
    }
}

/// All that are kept, in the order of their epochs.
#[derive(Debug)]
pub(crate) struct CheckpointStore {
    all: VecDeque<StoredCheckpoint>,
    /// How many are kept without a lease.
    retained: usize,
    /// What a peer waits for a piece at most.
    patience: Duration,
}

impl CheckpointStore {
    pub(crate) fn new(retained_epochs: u64, patience: Duration) -> Self {
        let retained = usize::try_from(retained_epochs.saturating_add(1)).unwrap_or(usize::MAX);
        Self { all: VecDeque::new(), retained, patience }
    }

    #[cfg(test)]
    pub(crate) fn epochs(&self) -> Vec<u64> {
        self.all.iter().map(|one| one.certified.statement.epoch).collect()
    }

    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &StoredCheckpoint> {
        self.all.iter()
    }

    pub(crate) fn latest(&self) -> Option<&StoredCheckpoint> {
        self.all.back()
    }

    pub(crate) fn of_epoch(&self, epoch: u64) -> Option<&StoredCheckpoint> {
        self.all.iter().find(|one| one.certified.statement.epoch == epoch)
    }

    /// The checkpoint that a peer should fetch, if it needs one that fits. It gets a lease, unless there is one in its
    /// first half.
    pub(crate) fn offer(
        &mut self,
        now: Instant,
        fits: impl Fn(&Statement) -> bool,
    ) -> Option<&StoredCheckpoint> {
        let told_of =
            |one: &StoredCheckpoint| one.is_told_of(now) && fits(&one.certified.statement);
        let leased = self.all.iter().find(|one| told_of(one)).or_else(|| self.latest())?;
        let epoch = leased.certified.statement.epoch;
        self.lease(now, epoch);
        self.of_epoch(epoch)
    }

    /// Keeps another one, the latest, and forgets those whose time is over.
    pub(crate) fn insert(&mut self, now: Instant, stable: StoredCheckpoint) {
        self.all.push_back(stable);
        let mut before = self.all.len().saturating_sub(self.retained);
        self.all.retain(|one| {
            let retained = before == 0;
            before = before.saturating_sub(1);
            retained || one.is_leased(now)
        });
    }

    /// A peer fetches this checkpoint: it gets a lease, unless peers are told of another one.
    pub(crate) fn lease(&mut self, now: Instant, epoch: u64) {
        let leases = self.all.iter().filter(|one| one.is_leased(now)).count();
        if leases >= MAX_LEASES || self.all.iter().any(|one| one.is_told_of(now)) {
            return;
        }
        let wanted = self.all.iter_mut().find(|one| one.certified.statement.epoch == epoch);
        // One whose lease is over goes as soon as it may.
        if let Some(wanted) = wanted.filter(|one| one.lease.is_none()) {
            wanted.lease = Some(Lease::begin(now, self.patience, &wanted.certified.statement));
        }
    }
}

#[cfg(test)]
mod tests {
    use prefinal_protocol::Slot;

    use super::*;

    /// A span of a state of one piece is two of these.
    const PATIENCE: Duration = Duration::from_secs(1);

    fn at(seconds: u64) -> Instant {
        Instant::at(Duration::from_secs(seconds))
    }

    fn checkpoint(epoch: u64) -> StoredCheckpoint {
        let (slot, state) = (Slot::new(16 * epoch + 1), State::new(vec![1]));
        let root = state.root();
        let statement = Statement { epoch, slot, root, bytes: 1, configurations: [0; 32] };
        StoredCheckpoint::new(CertifiedStatement { statement, certificate: Vec::new() }, state)
    }

    /// The last two are kept in any case.
    fn store(epochs: u64) -> CheckpointStore {
        let mut store = CheckpointStore::new(1, PATIENCE);
        (1..=epochs).for_each(|epoch| store.insert(at(0), checkpoint(epoch)));
        store
    }

    fn told(store: &mut CheckpointStore, now: Instant, after: u64) -> Option<u64> {
        let stable = store.offer(now, |statement| statement.epoch > after);
        stable.map(|stable| stable.certified.statement.epoch)
    }

    #[test]
    fn a_checkpoint_is_kept_for_those_that_fetch_it_and_all_are_told_of_the_same_one() {
        let mut store = store(3);
        assert_eq!(told(&mut store, at(0), 0), Some(3));
        for epoch in 4..9 {
            store.insert(at(1), checkpoint(epoch));
            assert_eq!(told(&mut store, at(1), 0), Some(3));
        }
        assert_eq!(store.epochs(), [3, 7, 8]);
        assert_eq!(told(&mut store, at(1), 3), Some(8), "one that has it wants a later one");
        // It is told of for two seconds, and kept for two more.
        assert_eq!(told(&mut store, at(2), 0), Some(8));
        store.insert(at(3), checkpoint(9));
        assert_eq!(told(&mut store, at(3), 0), Some(8));
        assert_eq!(store.epochs(), [3, 8, 9]);
        store.insert(at(4), checkpoint(10));
        store.insert(at(4), checkpoint(11));
        assert_eq!(store.epochs(), [8, 10, 11]);
    }

    #[test]
    fn at_most_two_more_are_kept_for_all_that_ask_and_none_of_them_for_ever() {
        let mut store = store(1);
        for epoch in 2..200 {
            let now = at(epoch / 4);
            store.insert(now, checkpoint(epoch));
            (0..=epoch).for_each(|any| store.lease(now, any));
            told(&mut store, now, epoch);
            let kept = store.epochs();
            assert!(kept.len() <= 4, "{kept:?}");
            // Four seconds of four epochs each, and those that were kept when it was leased.
            assert!(kept.iter().all(|one| one + 18 >= epoch), "{kept:?} at {epoch}");
        }
    }

    #[test]
    fn a_lease_is_not_renewed_and_those_who_come_in_its_second_half_get_another_one() {
        let mut store = store(2);
        store.lease(at(0), 1);
        store.insert(at(1), checkpoint(3));
        for now in 1..4 {
            store.lease(at(now), 1);
        }
        assert_eq!(told(&mut store, at(2), 0), Some(3));
        (4..8).for_each(|epoch| store.insert(at(3), checkpoint(epoch)));
        assert_eq!(store.epochs(), [1, 3, 6, 7]);
        store.lease(at(4), 1);
        store.insert(at(4), checkpoint(8));
        assert_eq!(store.epochs(), [3, 7, 8]);
    }
}
