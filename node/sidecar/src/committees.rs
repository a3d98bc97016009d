//! The committees whose votes count, as the engine is told of them.
use std::collections::VecDeque;

use prefinal_protocol::Slot;
use prefinal_validator::setup::Setup;

use crate::error::CallError;
use crate::proto::{CommitteesResponse, Member};

/// How many committees are kept, the newest ones.
const MOST: usize = 16;

/// Successive committees, in order of their epochs.
pub(crate) struct Committees {
    kept: VecDeque<CommitteesResponse>,
    /// The first slot of the last committee that is not kept any more.
    dropped: Option<u64>,
}

impl Committees {
    /// Begins with the chain's first committee.
    pub(crate) fn new(setup: &Setup, first: Slot) -> Self {
        Self { kept: VecDeque::from([response(setup, first)]), dropped: None }
    }

    /// Adds the next committee, unless it is known.
    pub(crate) fn prepare(&mut self, setup: &Setup, first: Slot) {
        let epoch = setup.context.epoch.get();
        if self.kept.back().is_some_and(|last| epoch <= last.epoch) {
            return;
        }
        self.kept.push_back(response(setup, first));
        if self.kept.len() > MOST {
            self.dropped = self.kept.pop_front().map(|one| one.first_slot);
        }
    }

    /// The first slot of the committee in charge of a slot; of the oldest one if no slot is given.
    pub(crate) fn in_charge(&self, slot: Option<u64>) -> u64 {
        let until = self.kept.iter().take_while(|one| slot.is_some_and(|at| one.first_slot <= at));
        match until.last() {
            Some(one) => one.first_slot,
            // Before the oldest: what is dropped is missed, and before the chain begins nothing is.
            None => slot.filter(|_| self.dropped.is_some()).unwrap_or_else(|| self.oldest()),
        }
    }

    fn oldest(&self) -> u64 {
        self.kept.front().map_or(0, |oldest| oldest.first_slot)
    }

    /// The first committee that begins at this slot or later; `None` if it is not known yet.
    pub(crate) fn next(&self, from: u64) -> Result<Option<&CommitteesResponse>, CallError> {
        if self.dropped.is_some_and(|dropped| from <= dropped) {
            let (slot, first) = (Slot::new(from), Slot::new(self.oldest()));
            return Err(CallError::Forgotten { slot, first });
        }
        Ok(self.kept.iter().find(|one| one.first_slot >= from))
    }
}

fn response(setup: &Setup, first: Slot) -> CommitteesResponse {
    let members = (0..).zip(setup.members.iter().zip(&setup.ed25519));
    let members = members.map(|(party, (member, ed25519))| Member {
        party,
        stake: member.stake.get().to_string(),
        ed25519: ed25519.to_vec(),
        bls: member.key.get().to_bytes().to_vec(),
    });
    CommitteesResponse {
        epoch: setup.context.epoch.get(),
        first_slot: first.get(),
        members: members.collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// Committees that begin at 1, 11, 21, ..., of which the first are dropped.
    fn committees(count: u64) -> Committees {
        let begun = |epoch: u64| CommitteesResponse {
            epoch,
            first_slot: 1 + 10 * epoch,
            members: Vec::new(),
        };
        let most = u64::try_from(MOST).unwrap();
        let dropped = count.saturating_sub(most);
        Committees {
            kept: (dropped..count).map(begun).collect(),
            dropped: dropped.checked_sub(1).map(|last| begun(last).first_slot),
        }
    }

    fn next(committees: &Committees, from: u64) -> Result<Option<u64>, CallError> {
        committees.next(from).map(|one| one.map(|one| one.epoch))
    }

    #[test]
    fn a_slot_has_the_committee_that_began_last() {
        let three = committees(3);
        let began = [None, Some(0), Some(1), Some(10), Some(11), Some(99)];
        assert_eq!(began.map(|slot| three.in_charge(slot)), [1, 1, 1, 1, 11, 21]);
        assert_eq!(
            [1, 2, 12, 22].map(|from| next(&three, from).unwrap()),
            [Some(0), Some(1), Some(2), None]
        );
    }

    #[test]
    fn a_reader_that_missed_a_committee_is_told() {
        let many = committees(18);
        let oldest = many.oldest();
        assert_eq!((many.kept.len(), oldest, many.in_charge(None)), (MOST, 21, 21));
        assert_eq!(next(&many, 12), Ok(Some(2)));
        for slot in [0, 11, 20] {
            let from = many.in_charge(Some(slot));
            let missed = CallError::Forgotten { slot: Slot::new(from), first: Slot::new(21) };
            assert_eq!(
                (slot, next(&many, from)),
                (slot, if slot == 20 { Ok(Some(2)) } else { Err(missed) })
            );
        }
    }
}
