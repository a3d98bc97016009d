//! Which committees follow one another in a run: parties join and leave, and everybody's stake moves.

use std::collections::VecDeque;
use std::num::{NonZeroU32, NonZeroU64};

use clap::Args;
use prefinal_weighted_rounding::Stake;
use sha2::{Digest, Sha256};

use prefinal_lab::Failure;

/// How the committee changes while the chain runs.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Changes {
    /// How many committees follow one another [default: 1]. Each hands its key over to the next while
    /// the chain runs, and every stake moves by up to a tenth
    #[arg(long, value_name = "COMMITTEES")]
    epochs: Option<NonZeroU32>,
    /// How many parties join at each change, the next largest holders of the table
    #[arg(long, value_name = "PARTIES", default_value_t = 0, requires = "epochs")]
    join: usize,
    /// How many parties leave at each change, the smallest that have been there longest
    #[arg(long, value_name = "PARTIES", default_value_t = 0, requires = "epochs")]
    leave: usize,
}

impl Changes {
    /// How many epochs there are.
    #[must_use]
    pub fn epochs(&self) -> u32 {
        self.epochs.map_or(1, NonZeroU32::get)
    }

    /// How many parties join in all.
    #[must_use]
    pub fn joining(&self) -> usize {
        let changes = usize::try_from(self.epochs() - 1).unwrap_or(usize::MAX);
        self.join.saturating_mul(changes)
    }

    /// How many slots lie between two blocks that name the next committee, in a run of so many slots.
    #[must_use]
    pub fn every(&self, slots: u64) -> NonZeroU64 {
        NonZeroU64::new(slots / u64::from(self.epochs())).unwrap_or(NonZeroU64::MIN)
    }

    /// The stakes of each later epoch: of the first `founders` parties and of those that join, 0 in epochs in
    /// which they are not in the committee.
    ///
    /// # Errors
    /// If more parties leave than there are.
    pub fn later(
        &self,
        founders: usize,
        stakes: &[Stake],
        seed: u64,
    ) -> Result<Vec<Vec<Stake>>, Failure> {
        let mut joiners = founders..stakes.len();
        // In the order in which they leave.
        let mut members: VecDeque<usize> = (0..founders).rev().collect();
        let mut committees = Vec::new();
        for epoch in 1..self.epochs() {
            let leaving = self.leave.min(members.len());
            drop(members.drain(..leaving));
            members.extend(joiners.by_ref().take(self.join));
            if members.is_empty() {
                let leave = self.leave;
                return Err(Failure::bad_input(format_args!(
                    "--leave {leave}: nobody is left in epoch {epoch}"
                )));
            }
            let stake = |(party, stake): (usize, &Stake)| {
                let is_member = members.contains(&party);
                if is_member { moved(*stake, epoch, party, seed) } else { Stake::ZERO }
            };
            committees.push(stakes.iter().enumerate().map(stake).collect());
        }
        Ok(committees)
    }
}

/// The stakes of the first epoch: the table's, and 0 for parties that join later.
#[must_use]
pub fn founding(founders: usize, stakes: &[Stake]) -> Vec<Stake> {
    let stake = |(party, stake): (usize, &Stake)| {
        if party < founders { *stake } else { Stake::ZERO }
    };
    stakes.iter().enumerate().map(stake).collect()
}

/// Up to a tenth more or less than the table's stake.
fn moved(stake: Stake, epoch: u32, party: usize, seed: u64) -> Stake {
    let drawn = Sha256::digest(format!("stake {seed} {epoch} {party}"));
    let percent = 90 + u128::from(drawn.first().map_or(0, |byte| byte % 21));
    Stake::new((stake.get() / 100).saturating_mul(percent).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parties_join_and_leave_and_stakes_move() {
        let changes = Changes { epochs: NonZeroU32::new(3), join: 2, leave: 1 };
        let stakes: Vec<Stake> = (1..=9).rev().map(|one| Stake::new(one * 1000)).collect();
        let later = changes.later(5, &stakes, 1).expect("some stay");
        let committees = [vec![founding(5, &stakes)], later].concat();
        let members = |stakes: &[Stake]| -> Vec<usize> {
            (0..9)
                .filter(|party| stakes.get(*party).is_some_and(|one| *one > Stake::ZERO))
                .collect()
        };
        let members: Vec<_> = committees.iter().map(|stakes| members(stakes)).collect();
        assert_eq!(
            members,
            [vec![0, 1, 2, 3, 4], vec![0, 1, 2, 3, 5, 6], vec![0, 1, 2, 5, 6, 7, 8]]
        );
        for (party, before) in stakes.iter().enumerate().take(3) {
            for later in &committees[1..] {
                let (before, after) = (before.get(), later[party].get());
                assert!(after * 10 >= before * 9 && after * 10 <= before * 11, "{before} {after}");
            }
        }
        assert_ne!(committees[1][..3], committees[2][..3]);
        assert_eq!((changes.joining(), changes.every(90).get()), (4, 30));
    }

    #[test]
    fn somebody_stays() {
        let changes = Changes { epochs: NonZeroU32::new(4), join: 0, leave: 2 };
        let stakes = vec![Stake::new(1000); 5];
        let error = changes.later(5, &stakes, 1).expect_err("all leave").to_string();
        assert!(error.contains("--leave 2") && error.contains("epoch 3"), "{error}");
    }
}
