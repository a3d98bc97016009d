//! Epochs and their leaders: one PBFT instance for each leader, over its share of the epoch's heights.
//!
//! ```text
//! height   1  2  3  4  5  6  7  8 …      an epoch of leaders A, B, C, D
//! leader   A  B  C  D  A  B  C  D …      A's segment is 1, 5, 9, …
//! ```
//! A leader proposes in the first view of every height of its segment, several at a time. If a height of
//! its segment is skipped, the leader has failed, and leads none in the next epochs: one epoch after the
//! first failure, twice as many after each further one. An epoch that it fills halves that again. So an
//! epoch is not as slow as its slowest leader for long, and a leader that was only cut off comes back.
//! All parties see the same heights skipped, so they have the same leaders without a message.
//!
//! After [ISS](https://arxiv.org/abs/2203.05681), section 3.4, policy "back-off".
use std::collections::{BTreeMap, BTreeSet};

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Slot, View};

use crate::config::Replicas;

/// Heights of a segment.
pub const SEGMENT: u64 = 4;
/// Heights of a segment that its leader may have open at a time.
pub(crate) const PIPELINE: u64 = 2;
/// Heights that are open at a time at most, and that are committed after the last reported one: a beacon
/// releases early within such a window behind what is final, and no further.
pub(crate) const MOST_OPEN: u64 = 64;
/// Longest time without a segment, in epochs.
const LONGEST: u64 = 16;

/// When a leader that failed leads again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
struct Penalty {
    /// The first epoch that it may lead in again.
    until: u64,
    /// Number of epochs that it was left out the last time.
    epochs: u64,
}

/// The leaders of an epoch.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Schedule {
    epoch: u64,
    first: Slot,
    leaders: Vec<Party>,
    penalties: BTreeMap<Party, Penalty>,
}

impl Schedule {
    /// The first epoch: every member with stake leads.
    pub(crate) fn new(committee: &Replicas) -> Self {
        let leaders = committee.stakeholders().to_vec();
        Self { epoch: 0, first: Slot::new(1), leaders, penalties: BTreeMap::new() }
    }

    #[cfg(test)]
    pub(crate) const fn starting_at(epoch: u64, first: Slot) -> Self {
        Self { epoch, first, leaders: Vec::new(), penalties: BTreeMap::new() }
    }

    /// The number of the epoch, counted from zero.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The epoch's first height.
    #[must_use]
    pub const fn first(&self) -> Slot {
        self.first
    }

    /// The first height of the next epoch.
    #[must_use]
    pub fn end(&self) -> Slot {
        self.first.after(self.segments().saturating_mul(SEGMENT))
    }

    /// The leaders, in the order of their heights.
    #[must_use]
    pub fn leaders(&self) -> &[Party] {
        &self.leaders
    }

    fn segments(&self) -> u64 {
        u64::try_from(self.leaders.len()).unwrap_or(u64::MAX)
    }

    /// How many heights may be open at a time.
    pub(crate) fn window(&self) -> u64 {
        self.segments().saturating_mul(PIPELINE).clamp(1, MOST_OPEN)
    }

    /// The leader of a height of this epoch.
    #[must_use]
    pub fn leader(&self, slot: Slot) -> Option<Party> {
        if slot >= self.end() {
            return None;
        }
        let turn = slot.get().checked_sub(self.first.get())?.checked_rem(self.segments())?;
        self.leaders.get(usize::try_from(turn).ok()?).copied()
    }

    /// The party that proposes in a view of a height of this epoch.
    #[must_use]
    pub fn primary(&self, view: View, committee: &Replicas) -> Option<Party> {
        committee.successor(self.leader(view.slot)?, view.attempt)
    }

    /// The epoch after this one. `failed` are the leaders that left a height of this epoch empty.
    pub(crate) fn next(&self, failed: &BTreeSet<Party>, committee: &Replicas) -> Self {
        let epoch = self.epoch.saturating_add(1);
        let mut penalties = self.penalties.clone();
        for leader in &self.leaders {
            let before = penalties.get(leader).map_or(0, |penalty| penalty.epochs);
            if failed.contains(leader) {
                let epochs = before.saturating_mul(2).clamp(1, LONGEST);
                let until = epoch.saturating_add(epochs);
                penalties.insert(*leader, Penalty { until, epochs });
            } else if before / 2 == 0 {
                penalties.remove(leader);
            } else if let Some(penalty) = penalties.get_mut(leader) {
                penalty.epochs = before / 2;
            }
        }
        let may = |party: &&Party| penalties.get(party).is_none_or(|it| it.until <= epoch);
        let mut leaders: Vec<Party> =
            committee.stakeholders().iter().filter(may).copied().collect();
        if leaders.is_empty() {
            leaders = committee.stakeholders().to_vec();
        }
        // Another leader has the epoch's first height each time.
        let turn = epoch.checked_rem(u64::try_from(leaders.len()).unwrap_or(1)).unwrap_or(0);
        leaders.rotate_left(usize::try_from(turn).unwrap_or(0));
        Self { epoch, first: self.end(), leaders, penalties }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::tests::{context, members};

    fn committee() -> Replicas {
        Replicas::new(&context(0), members(&[1, 0, 2, 3])).unwrap()
    }

    fn leaders(schedule: &Schedule) -> BTreeSet<u32> {
        schedule.leaders().iter().map(|party| party.get()).collect()
    }

    #[test]
    fn every_height_of_an_epoch_has_one_leader_and_no_other_height_has() {
        let schedule = Schedule::new(&committee());
        let leaders: Vec<_> = (0..=13).map(|slot| schedule.leader(Slot::new(slot))).collect();
        let [a, b, c] = [0, 2, 3].map(|party| Some(Party::new(party)));
        assert_eq!(leaders, [None, a, b, c, a, b, c, a, b, c, a, b, c, None]);
        let second = schedule.next(&BTreeSet::new(), &committee());
        assert_eq!(second.first(), Slot::new(13));
        assert_eq!(second.leader(Slot::new(13)), b);
        assert_eq!(second.leader(Slot::new(12)), None);
    }

    #[test]
    fn a_leader_that_fails_again_and_again_is_left_out_longer_and_comes_back() {
        let (committee, bad) = (committee(), Party::new(2));
        let mut schedule = Schedule::new(&committee);
        let mut led = Vec::new();
        for _ in 0..40 {
            let leads = schedule.leaders().contains(&bad);
            led.push(leads);
            let failed = if leads { BTreeSet::from([bad]) } else { BTreeSet::new() };
            schedule = schedule.next(&failed, &committee);
        }
        let led: Vec<_> = (0..40).filter(|epoch| led.get(*epoch) == Some(&true)).collect();
        assert_eq!(led, [0, 2, 5, 10, 19, 36]);
        // It fills its epochs from now on.
        for _ in 0..60 {
            schedule = schedule.next(&BTreeSet::new(), &committee);
        }
        assert!(schedule.penalties.is_empty());
        assert_eq!(leaders(&schedule), BTreeSet::from([0, 2, 3]));
    }

    #[test]
    fn if_all_have_failed_all_lead() {
        let committee = committee();
        let all = committee.stakeholders().iter().copied().collect();
        let schedule = Schedule::new(&committee).next(&all, &committee);
        assert_eq!(leaders(&schedule), BTreeSet::from([0, 2, 3]));
        assert_eq!(schedule.end(), Slot::new(25));
    }
}
