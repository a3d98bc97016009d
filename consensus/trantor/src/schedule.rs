//! Epochs and their leaders: one PBFT instance for each leader, over its share of the epoch's heights.
//!
//! ```text
//! height   1  2  3  4  5  6  7  8 …      an epoch of leaders A, B, C, D
//! leader   A  B  C  D  A  B  C  D …      A's segment is 1, 5, 9, …
//! ```
//! A leader proposes in the first view of every height of its segment, several at a time. If a height of
//! its segment is skipped, the leader has failed, and leads none in the next epochs: four epochs after the
//! first failure, twice as many after each further one. An epoch that it fills halves that again. So an
//! epoch is not as slow as its slowest leader for long, and a leader that was only cut off comes back.
//! All parties see the same heights skipped, so they have the same leaders without a message.
//!
//! Each view change of a height that has no leader costs message delays, one height after the other. So a
//! leader that comes back is on **probation** until its penalty is halved to nothing: its segment is a single height.
//!
//! ```text
//! height   1  2  3  4  5  6  7  8 …      D is on probation
//! leader   A  B  C  D  A  B  C  A …
//! ```
//!
//! **Epochs may overlap.** Then the leaders of an epoch are known when the one before it begins, so the window of open
//! heights reaches over the border and nothing waits there. A leader that fails leads the following epoch
//! nevertheless, and is left out after that. Under a [`Replica`](crate::Replica) epochs come one by one, for
//! the next may have another committee.
//!
//! After [ISS](https://arxiv.org/abs/2203.05681), section 3.4, policy "back-off".
use std::collections::{BTreeMap, BTreeSet};

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Slot, View};

use crate::config::{Epochs, Replicas};

/// Heights of a segment.
pub const SEGMENT: u64 = 4;
/// Heights of a segment that its leader may have open at a time. Where epochs overlap, it is as many of two
/// segments.
const PIPELINE: u64 = 2;
const PIPELINE_OF_TWO: u64 = 4;
/// Heights that are open at a time at most.
const MOST_OPEN: u64 = 256;
/// Heights that are committed after the last reported one at most: a beacon releases early within such a
/// window behind what is final, and no further.
pub(crate) const MOST_COMMITTED: u64 = 64;
/// Shortest and longest time without a segment, in epochs.
const SHORTEST: u64 = 4;
const LONGEST: u64 = 64;

/// When a leader that failed leads again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
struct Penalty {
    /// The first epoch that it may lead in again.
    until: u64,
    /// Number of epochs that it was left out the last time.
    epochs: u64,
}

/// Who leads which heights of an epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
struct Roster {
    /// All, in the order of their first heights.
    leaders: Vec<Party>,
    /// Those with a whole segment, in the same order.
    steady: Vec<Party>,
}

impl Roster {
    fn heights(&self) -> u64 {
        let later = count(&self.steady).saturating_mul(SEGMENT.saturating_sub(1));
        count(&self.leaders).saturating_add(later)
    }

    /// The leader of the height that comes so many behind the first one.
    fn leader(&self, offset: u64) -> Option<Party> {
        let (leaders, place) = match offset.checked_sub(count(&self.leaders)) {
            None => (&self.leaders, offset),
            Some(later) => (&self.steady, later.checked_rem(count(&self.steady))?),
        };
        if offset >= self.heights() {
            return None;
        }
        leaders.get(usize::try_from(place).ok()?).copied()
    }
}

/// The leaders of an epoch.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Schedule {
    epoch: u64,
    first: Slot,
    roster: Roster,
    /// The leaders of the next epoch, if epochs overlap.
    following: Option<Roster>,
    penalties: BTreeMap<Party, Penalty>,
}

impl Schedule {
    /// The first epoch: every member with stake leads.
    pub(crate) fn new(committee: &Replicas) -> Self {
        let leaders = committee.stakeholders().to_vec();
        let roster = Roster { steady: leaders.clone(), leaders };
        let (first, penalties) = (Slot::new(1), BTreeMap::new());
        Self { epoch: 0, first, roster, following: None, penalties }
    }

    /// The first epoch of a chain whose committee stays as it is.
    pub(crate) fn begin(epochs: Epochs, committee: &Replicas) -> Self {
        match epochs {
            Epochs::Overlapping => Self::new(committee).overlapping(committee),
            Epochs::OneByOne => Self::new(committee),
        }
    }

    /// The same epoch, with the leaders of the next one fixed.
    pub(crate) fn overlapping(mut self, committee: &Replicas) -> Self {
        self.following = Some(self.roster_of(self.epoch.saturating_add(1), committee));
        self
    }

    #[cfg(test)]
    pub(crate) fn starting_at(epoch: u64, first: Slot) -> Self {
        let (roster, following, penalties) = (Roster::default(), None, BTreeMap::new());
        Self { epoch, first, roster, following, penalties }
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
        self.first.after(self.roster.heights())
    }

    /// The leaders, in the order of their heights.
    #[must_use]
    pub fn leaders(&self) -> &[Party] {
        &self.roster.leaders
    }

    /// The first height whose leader is not known yet.
    pub(crate) fn horizon(&self) -> Slot {
        self.end().after(self.following.as_ref().map_or(0, Roster::heights))
    }

    /// Whether a leader of this epoch failed in the one before, when it could not be left out any more.
    pub(crate) fn is_suspect(&self, leader: Party) -> bool {
        self.penalties.get(&leader).is_some_and(|penalty| penalty.until > self.epoch)
    }

    /// Whether a leader has failed and not yet made up for it.
    pub(crate) fn is_penalized(&self, leader: Party) -> bool {
        self.penalties.contains_key(&leader)
    }

    /// How many heights may be open at a time.
    pub(crate) fn window(&self) -> u64 {
        let pipeline = if self.following.is_some() { PIPELINE_OF_TWO } else { PIPELINE };
        count(&self.roster.leaders).saturating_mul(pipeline).clamp(1, MOST_OPEN)
    }

    /// The leader of a height of this epoch, or of the next one if epochs overlap.
    #[must_use]
    pub fn leader(&self, slot: Slot) -> Option<Party> {
        let (roster, first) = if slot < self.end() {
            (&self.roster, self.first)
        } else {
            (self.following.as_ref()?, self.end())
        };
        roster.leader(slot.get().checked_sub(first.get())?)
    }

    /// The party that proposes in a view of a height whose leader is known.
    #[must_use]
    pub fn primary(&self, view: View, committee: &Replicas) -> Option<Party> {
        committee.primary(self.leader(view.slot)?, view.attempt)
    }

    /// The epoch after this one. `failed` are the leaders that left a height of this epoch empty.
    pub(crate) fn next(&self, failed: &BTreeSet<Party>, committee: &Replicas) -> Self {
        let epoch = self.epoch.saturating_add(1);
        // The first epoch whose leaders are still open.
        let open = epoch.saturating_add(u64::from(self.following.is_some()));
        let penalties = self.judge(failed, open);
        let (first, roster) = (self.end(), Roster::default());
        let next = Self { epoch, first, roster, following: None, penalties };
        match &self.following {
            Some(roster) => Self { roster: roster.clone(), ..next }.overlapping(committee),
            None => Self { roster: next.roster_of(epoch, committee), ..next },
        }
    }

    /// The penalties after this epoch. Of leaders that failed they begin with the epoch `open`.
    fn judge(&self, failed: &BTreeSet<Party>, open: u64) -> BTreeMap<Party, Penalty> {
        let mut penalties = self.penalties.clone();
        // What a suspect does in this epoch changes nothing: its penalty is still to come.
        for leader in self.roster.leaders.iter().filter(|leader| !self.is_suspect(**leader)) {
            let before = penalties.get(leader).map_or(0, |penalty| penalty.epochs);
            if failed.contains(leader) {
                let epochs = before.saturating_mul(2).clamp(SHORTEST, LONGEST);
                let until = open.saturating_add(epochs);
                penalties.insert(*leader, Penalty { until, epochs });
            } else if before / 2 == 0 {
                penalties.remove(leader);
            } else if let Some(penalty) = penalties.get_mut(leader) {
                penalty.epochs = before / 2;
            }
        }
        penalties
    }

    /// Who leads an epoch by the penalties that are known now.
    fn roster_of(&self, epoch: u64, committee: &Replicas) -> Roster {
        let may = |party: &&Party| self.penalties.get(party).is_none_or(|it| it.until <= epoch);
        let mut leaders: Vec<Party> =
            committee.stakeholders().iter().filter(may).copied().collect();
        if leaders.is_empty() {
            leaders = committee.stakeholders().to_vec();
        }
        // Another leader has the epoch's first height each time.
        let turn = epoch.checked_rem(count(&leaders)).unwrap_or(0);
        leaders.rotate_left(usize::try_from(turn).unwrap_or(0));
        let steady = leaders.iter().filter(|leader| !self.is_penalized(**leader));
        let steady: Vec<Party> = steady.copied().collect();
        // An epoch of one height for each would be over before anything is in flight.
        Roster { steady: if steady.is_empty() { leaders.clone() } else { steady }, leaders }
    }
}

fn count(leaders: &[Party]) -> u64 {
    u64::try_from(leaders.len()).unwrap_or(u64::MAX)
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
        for _ in 0..300 {
            let leads = schedule.leaders().contains(&bad);
            led.push(leads);
            let failed = if leads { BTreeSet::from([bad]) } else { BTreeSet::new() };
            schedule = schedule.next(&failed, &committee);
        }
        let led: Vec<_> = (0..300).filter(|epoch| led.get(*epoch) == Some(&true)).collect();
        assert_eq!(led, [0, 5, 14, 31, 64, 129, 194, 259]);
        // It fills its epochs from now on.
        for _ in 0..60 {
            schedule = schedule.next(&BTreeSet::new(), &committee);
        }
        assert!(schedule.penalties.is_empty());
        assert_eq!(leaders(&schedule), BTreeSet::from([0, 2, 3]));
    }

    #[test]
    fn where_epochs_overlap_the_leaders_of_the_next_are_known_and_a_failure_counts_after_it() {
        let (committee, bad) = (committee(), Party::new(2));
        let mut schedule = Schedule::new(&committee).overlapping(&committee);
        assert_eq!((schedule.end(), schedule.horizon()), (Slot::new(13), Slot::new(25)));
        assert_eq!(schedule.leader(Slot::new(25)), None);
        let mut led = Vec::new();
        for epoch in 0..24_u64 {
            let following: Vec<_> = (schedule.end().get()..schedule.horizon().get())
                .map(|slot| schedule.leader(Slot::new(slot)))
                .collect();
            let leads = schedule.leaders().contains(&bad);
            if leads {
                led.push(epoch);
            }
            let failed = if leads { BTreeSet::from([bad]) } else { BTreeSet::new() };
            schedule = schedule.next(&failed, &committee);
            let then: Vec<_> = (schedule.first().get()..schedule.end().get())
                .map(|slot| schedule.leader(Slot::new(slot)))
                .collect();
            assert_eq!(then, following, "{epoch}: what was known holds");
        }
        // Twice in a row each time, and left out for four epochs and eight.
        assert_eq!(led, [0, 1, 6, 7, 16, 17]);
    }

    #[test]
    fn a_penalty_that_is_still_to_come_is_not_lifted_by_the_epoch_before_it() {
        let (committee, bad) = (committee(), Party::new(2));
        let schedule = Schedule::new(&committee).overlapping(&committee);
        let second = schedule.next(&BTreeSet::from([bad]), &committee);
        assert!(second.is_suspect(bad) && second.leaders().contains(&bad));
        let mut later = second.next(&BTreeSet::new(), &committee);
        for _ in 0..SHORTEST {
            assert_eq!((leaders(&later), later.is_suspect(bad)), (BTreeSet::from([0, 3]), true));
            later = later.next(&BTreeSet::new(), &committee);
        }
        assert_eq!((leaders(&later), later.is_suspect(bad)), (BTreeSet::from([0, 2, 3]), false));
    }

    #[test]
    fn a_leader_that_comes_back_has_one_height_until_it_has_made_up_for_its_failure() {
        let (committee, bad) = (committee(), Party::new(2));
        let mut schedule = Schedule::new(&committee).next(&BTreeSet::from([bad]), &committee);
        let mut heights = Vec::new();
        for _ in 1..=9 {
            let all = schedule.first().get()..schedule.end().get();
            let all: Vec<_> = all.map(|slot| schedule.leader(Slot::new(slot)).unwrap()).collect();
            heights.push(all.iter().filter(|leader| **leader == bad).count());
            for other in [0, 3].map(Party::new) {
                let count = all.iter().filter(|leader| **leader == other).count();
                assert_eq!(u64::try_from(count).unwrap(), SEGMENT);
            }
            assert_eq!(schedule.leader(schedule.end()), None);
            schedule = schedule.next(&BTreeSet::new(), &committee);
        }
        assert_eq!(heights, [0, 0, 0, 0, 1, 1, 1, 4, 4]);
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
