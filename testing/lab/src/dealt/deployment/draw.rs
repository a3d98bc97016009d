//! What happens to the parties of a deployment, drawn before it runs.

use std::time::Duration;

use ::prefinal_beacon::Limits;
use prefinal_crypto_core::access::Party;
use prefinal_protocol::Instant;
use prefinal_pvss_dkg::SharePath;
use prefinal_sim::{Dice, Placement, Seat, Window};

use super::MINUTE;
use crate::failure::Failure;
use prefinal_validator::setup::Plan;

/// How often a restart is drawn again that would bring down too many at once.
const TRIES: u32 = 100;
/// The longest time for which a party is down, if others keep the values of so many slots.
const LONGEST: Duration = Duration::from_secs(600);
/// The shortest time for which a party is down.
const SHORTEST: Duration = Duration::from_secs(20);
/// The stream of the seed from which incidents are drawn, so that delays do not depend on them.
const STREAM: u64 = 0x6465_706c_6f79;

/// How long a run is, and how much happens in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Virtual time from the start to the end.
    pub length: Duration,
    /// Time from one slot to the next.
    pub period: Duration,
    /// How many times a party restarts.
    pub restarts: u32,
    /// How many times a party moves.
    pub moves: u32,
}

/// A time in which a party is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The party that is down.
    pub party: Party,
    /// When it stops without notice, as in a crash.
    pub from: Instant,
    /// When it starts again from its records.
    pub until: Instant,
}

/// A party goes on from another region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The party that moves.
    pub party: Party,
    /// From when on its messages take the new region's round trips.
    pub at: Instant,
    /// The region that it leaves.
    pub from: String,
    /// The region to which it goes.
    pub to: String,
}

/// All that happens in a run.
pub(super) struct Incidents {
    pub(super) pauses: Vec<Pause>,
    pub(super) moves: Vec<Move>,
    /// When so many are down that the fast path is out of reach.
    pub(super) outages: [Window; 2],
    pub(super) end: Instant,
}

/// Something at which a run is halted for a moment.
pub(super) enum Incident<'a> {
    Nothing(Instant),
    Moves(&'a Move),
}

impl Incidents {
    /// Moves, and the end of every minute and of the run, in the order of time.
    pub(super) fn stops(&self) -> Vec<Incident<'_>> {
        let minutes = (1..).map(|minute| Incident::Nothing(Instant::START + MINUTE * minute));
        let minutes = minutes.take_while(|minute| minute.at() < self.end);
        let mut stops: Vec<Incident<'_>> = minutes.collect();
        stops.extend(self.moves.iter().map(Incident::Moves));
        stops.push(Incident::Nothing(self.end));
        stops.sort_by_key(Incident::at);
        stops
    }
}

impl Incident<'_> {
    pub(super) const fn at(&self) -> Instant {
        match self {
            Self::Nothing(at) => *at,
            Self::Moves(moves) => moves.at,
        }
    }
}

impl Schedule {
    /// Number of slots of the run, if none is late.
    #[must_use]
    pub fn slots(&self) -> u64 {
        let slots = self.length.as_nanos() / self.period.as_nanos().max(1);
        u64::try_from(slots).unwrap_or(u64::MAX)
    }

    /// The time of the slots that a party may miss: it learns them from the values that others keep, and has a
    /// quarter of these to do so.
    fn most(&self) -> Duration {
        let kept = u32::try_from(Limits::default().history).unwrap_or(u32::MAX);
        self.period.saturating_mul(kept / 4 * 3)
    }

    /// The longest time for which a party is down.
    fn longest(&self) -> Duration {
        LONGEST.min(self.most())
    }

    /// Draws what happens. Outages are in the middle of both halves.
    pub(super) fn draw(
        &self,
        plan: &Plan,
        placement: Option<&Placement>,
        seed: u64,
    ) -> Result<Incidents, Failure> {
        if self.length < MINUTE * 8 {
            return Err(Failure::bad_input("a run of less than eight minutes shows nothing"));
        }
        if self.period.is_zero() || self.period > MINUTE {
            return Err(Failure::bad_input("a slot every so often: more than 0 s, at most 60"));
        }
        let longest = self.longest();
        if longest < MINUTE {
            let (period, most, kept) =
                (self.period, longest.as_secs_f64(), Limits::default().history);
            return Err(Failure::bad_input(format!(
                "a slot every {period:?}: others keep the values of {kept} slots, so a party may be down for \
                 {most:.1} s, expected 60 or more"
            )));
        }
        let mut dice = Dice::new(seed ^ STREAM);
        let end = Instant::at(self.length);
        let mut drawn = Drawn { plan, most: self.most(), pauses: Vec::new() };
        let length = (self.length / 72).clamp(MINUTE, longest);
        let outages = [1, 3].map(|quarter| {
            let from = Instant::at(self.length / 4 * quarter);
            Window::new(from, from + length)
        });
        for window in outages {
            drawn.outage(window, &mut dice)?;
        }
        for _ in 0..self.restarts {
            drawn.restart(self, &mut dice)?;
        }
        let moves = placement.map(|placement| self.draw_moves(placement.clone(), plan, &mut dice));
        let moves = moves.transpose()?.unwrap_or_default();
        Ok(Incidents { pauses: drawn.pauses, moves, outages, end })
    }

    fn draw_moves(
        &self,
        mut placement: Placement,
        plan: &Plan,
        dice: &mut Dice,
    ) -> Result<Vec<Move>, Failure> {
        let parties = u32::try_from(plan.parties()).map_err(Failure::bad_input)?;
        let mut times: Vec<Duration> = (0..self.moves)
            .map(|_| dice.duration(Duration::ZERO, self.length.saturating_sub(MINUTE)))
            .collect();
        times.sort_unstable();
        let mut any = || {
            let drawn = dice.below(parties.into());
            Party::new(u32::try_from(drawn).unwrap_or_default())
        };
        let mut moves = Vec::new();
        for at in times {
            let party = any();
            let region = |placement: &Placement, party: Party| {
                placement.region(Seat::new(party.get())).map(str::to_owned).unwrap_or_default()
            };
            let from = region(&placement, party);
            // To where somebody else is; with one region for all nobody moves.
            let to = (0..TRIES).map(|_| region(&placement, any())).find(|to| *to != from);
            let Some(to) = to else { continue };
            placement.relocate(Seat::new(party.get()), &to).map_err(Failure::bad_input)?;
            moves.push(Move { party, at: Instant::at(at), from, to });
        }
        Ok(moves)
    }
}

/// Those that are down, as far as it is drawn.
struct Drawn<'a> {
    plan: &'a Plan,
    /// The time of the slots that a party may miss.
    most: Duration,
    pauses: Vec<Pause>,
}

impl Drawn<'_> {
    /// Whether those that are down in a time, together with one more, hold less than a third of the stake.
    fn leaves_a_quorum(&self, new: &Pause) -> bool {
        let meets = |pause: &&Pause| pause.from <= new.until && new.from <= pause.until;
        let mut down: Vec<Party> = self.pauses.iter().filter(meets).map(|one| one.party).collect();
        let is_twice = down.contains(&new.party) || self.misses_too_much(new);
        down.push(new.party);
        let stakes = &self.plan.stakes;
        let stake = |party: &Party| stakes.get(party.index()).map_or(0, |stake| stake.get());
        let (down, total) = (down.iter().map(stake), stakes.iter().map(|stake| stake.get()));
        !is_twice && down.sum::<u128>().saturating_mul(3) < total.sum()
    }

    /// Whether the party of one more pause misses more than others keep before it is up for a minute, in which it
    /// learns what it missed.
    fn misses_too_much(&self, new: &Pause) -> bool {
        let own = self.pauses.iter().filter(|pause| pause.party == new.party);
        let mut own: Vec<&Pause> = own.chain([new]).collect();
        own.sort_by_key(|pause| pause.from);
        let (mut from, mut until) = (Instant::START, Instant::START);
        own.into_iter().any(|pause| {
            if pause.from > until + MINUTE {
                from = pause.from;
            }
            until = pause.until;
            until.since(from) > self.most
        })
    }

    fn any(&self, dice: &mut Dice) -> Party {
        let parties = u64::try_from(self.plan.parties()).unwrap_or(u64::MAX);
        Party::new(u32::try_from(dice.below(parties)).unwrap_or_default())
    }

    /// Stops parties until the others cannot reconstruct on the fast path.
    fn outage(&mut self, window: Window, dice: &mut Dice) -> Result<(), Failure> {
        let fast = self.plan.shape.threshold(SharePath::Fast);
        let fast = fast.ok_or_else(|| Failure::bad_input("the committee has no fast path"))?;
        let (access, known) = (self.plan.shape.access(), self.pauses.len());
        let Window { from, until } = window;
        for _ in 0..TRIES {
            let mut up = access.total();
            // Those that are drawn first may be the wrong ones, so that nobody else may stop: then from the beginning.
            for _ in 0..TRIES {
                if up < fast.t().get() {
                    return Ok(());
                }
                let pause = Pause { party: self.any(dice), from, until };
                if self.leaves_a_quorum(&pause) {
                    up = up.saturating_sub(access.weight(pause.party));
                    self.pauses.push(pause);
                }
            }
            self.pauses.truncate(known);
        }
        Err(Failure::bad_input(
            "no parties with less than a third of the stake are missed by the fast path",
        ))
    }

    /// Stops one party for some time, unless too many are down.
    fn restart(&mut self, schedule: &Schedule, dice: &mut Dice) -> Result<(), Failure> {
        let length = schedule.length;
        let longest = schedule.longest().min(length / 8);
        for _ in 0..TRIES {
            let party = self.any(dice);
            let down = dice.duration(SHORTEST, longest);
            // Time to come up at the end.
            let last = length.saturating_sub(down).saturating_sub(MINUTE);
            let from = Instant::at(dice.duration(SHORTEST, last));
            let pause = Pause { party, from, until: from + down };
            if self.leaves_a_quorum(&pause) {
                self.pauses.push(pause);
                return Ok(());
            }
        }
        Err(Failure::bad_input(
            "so many restarts leave no time in which less than a third of the stake is down",
        ))
    }
}

#[cfg(test)]
mod tests {
    use prefinal_validator::setup::Algorithm;
    use prefinal_weighted_rounding::{Ratio, Stake};

    use super::*;

    fn plan(stakes: &[u128], algorithm: Algorithm) -> Plan {
        let stakes = stakes.iter().copied().map(Stake::new).collect();
        Plan::new(stakes, algorithm, Ratio::FIVE_SIXTHS).unwrap()
    }

    fn schedule(restarts: u32) -> Schedule {
        let (length, period) = (MINUTE * 60, Duration::from_secs(10));
        Schedule { length, period, restarts, moves: 9 }
    }

    fn error(schedule: Schedule, plan: &Plan) -> String {
        schedule.draw(plan, None, 1).err().unwrap().to_string()
    }

    #[test]
    fn a_third_of_the_stake_is_never_down_and_outages_stop_the_fast_path() {
        let plan = plan(&[40, 30, 20, 10, 10, 5, 1], Algorithm::Fast);
        let access = plan.shape.access();
        let fast = plan.shape.threshold(SharePath::Fast).unwrap().t().get();
        for seed in 0..20 {
            let drawn = schedule(20).draw(&plan, None, seed).unwrap();
            let down = |at: Instant| {
                let is = move |pause: &&Pause| pause.from <= at && at < pause.until;
                drawn.pauses.iter().filter(is).map(|pause| pause.party)
            };
            for pause in &drawn.pauses {
                let stake = |party: Party| plan.stakes[party.index()].get();
                assert!(down(pause.from).map(stake).sum::<u128>() * 3 < 116, "seed {seed}");
                let again = down(pause.from).filter(|party| *party == pause.party);
                assert_eq!(again.count(), 1, "seed {seed}");
            }
            for window in drawn.outages {
                let missing: u32 = down(window.from).map(|party| access.weight(party)).sum();
                assert!(access.total() - missing < fast, "seed {seed}");
            }
            assert!(drawn.moves.is_empty());
        }
    }

    #[test]
    fn nobody_is_down_for_longer_than_others_keep_values() {
        let plan = plan(&[40, 30, 20, 10, 10, 5, 1], Algorithm::Fast);
        for (period, most) in [(1, 192), (2, 384), (3, 576), (4, 600), (60, 600)] {
            let length = MINUTE * 60 * 12;
            let period = Duration::from_secs(period);
            let schedule = Schedule { length, period, ..schedule(60) };
            let drawn = schedule.draw(&plan, None, 2).unwrap();
            let longest = drawn.pauses.iter().map(|pause| pause.until.since(pause.from)).max();
            // That of the outages.
            assert_eq!(longest, Some(Duration::from_secs(most)), "{period:?}");
            for (at, one) in drawn.pauses.iter().enumerate() {
                let next = |other: &&Pause| other.party == one.party && other.from > one.until;
                let next = drawn.pauses.iter().filter(next).min_by_key(|other| other.from);
                let is_apart = |next: &Pause| {
                    next.from > one.until + MINUTE || next.until.since(one.from) <= period * 192
                };
                assert!(next.is_none_or(is_apart), "pause {at} with a slot every {period:?}");
            }
        }
    }

    #[test]
    fn parties_move_to_where_they_are_not() {
        let plan = plan(&[40, 30, 20, 10, 10, 5, 1], Algorithm::Fast);
        let placement = crate::place(&["all".to_owned()], 7, 3).unwrap().unwrap();
        let drawn = schedule(0).draw(&plan, Some(&placement), 5).unwrap();
        assert_eq!(drawn.moves.len(), 9);
        let mut now = placement;
        for Move { party, from, to, .. } in &drawn.moves {
            let seat = Seat::new(party.get());
            assert!(from != to && now.region(seat) == Some(from));
            now.relocate(seat, to).unwrap();
        }
        let room = crate::place(&["eu-west-1".to_owned()], 7, 3).unwrap().unwrap();
        assert_eq!(schedule(0).draw(&plan, Some(&room), 5).unwrap().moves, []);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let fast = plan(&[40, 30, 20, 10, 10, 5, 1], Algorithm::Fast);
        let short = Schedule { length: MINUTE * 7, ..schedule(1) };
        assert!(error(short, &fast).contains("eight minutes"));
        let never = Schedule { period: Duration::ZERO, ..schedule(1) };
        assert!(error(never, &fast).contains("more than 0 s"));
        let quick = error(Schedule { period: Duration::from_millis(300), ..schedule(1) }, &fast);
        assert!(quick.contains("256 slots") && quick.contains("57.6 s"), "{quick}");
        let many = error(schedule(5000), &fast);
        assert!(many.contains("so many restarts"), "{many}");
        let tight = plan(&[40, 30, 20, 10, 10, 5, 1], Algorithm::Tight);
        assert!(error(schedule(1), &tight).contains("no fast path"));
        // The two that hold shares may not stop.
        let two = plan(&[50, 50, 1, 1], Algorithm::Fast);
        assert!(error(schedule(1), &two).contains("missed by the fast path"));
    }
}
