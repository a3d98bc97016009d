//! The events of one execution, drawn from its seed.
//!
//! | drawn                      | from                                                              |
//! |----------------------------|-------------------------------------------------------------------|
//! | the board                  | all boards of the campaign                                         |
//! | faulty parties             | parties in random order while their stake stays below a third, in every epoch |
//! | their behaviour            | one to three vices each                                            |
//! | links                      | equal delays, or places in the world with little or much jitter     |
//! | loss, partitions           | until the network heals, after 2 to 6 seconds                      |
//! | crashes, set clocks        | of any party, until then; honest parties keep their disks           |
//!
//! After healing the links are good, crashed parties come back, and the faulty ones go on.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::Instant;
use prefinal_sim::{
    Chance, ClockJump, Dice, GLOBAL, Geography, Jitter, Loss, Network, Partition, PartitionEffect,
    Placement, Seat, Window,
};
use prefinal_weighted_rounding::Stake;

use super::execution::ROUND;
use super::vice::Vice;

const MS: Duration = Duration::from_millis(1);

/// The stakes of a board.
#[derive(Clone, Debug)]
pub(super) struct Stakes {
    /// The most that each party has in an epoch.
    pub(super) most: Vec<Stake>,
    /// The least that all have together in an epoch.
    pub(super) total: u128,
}

impl From<&[Stake]> for Stakes {
    fn from(stakes: &[Stake]) -> Self {
        let total = stakes.iter().map(|stake| stake.get()).sum();
        Self { most: stakes.to_vec(), total }
    }
}

/// One execution's script.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    pub(super) board: usize,
    pub(super) vices: BTreeMap<Party, Vec<Vice>>,
    pub(super) network: Network,
    pub(super) lossy: bool,
    pub(super) partitions: u64,
    /// When who is down for how long.
    pub(super) crashes: Vec<(Seat, Instant, Duration)>,
    /// Who crashes behind which record, and for how long.
    pub(super) stumbles: Vec<(Seat, u64, Duration)>,
    pub(super) leaps: Vec<(Seat, Instant, ClockJump)>,
    pub(super) heals: Instant,
}

impl Draw {
    /// Draws the execution of a seed; `stakes` are those of each board.
    pub(super) fn new(seed: u64, stakes: &[Stakes]) -> Self {
        let mut dice = Dice::new(seed);
        let board = pick(&mut dice, stakes.len());
        let total = stakes.get(board).map_or(0, |one| one.total);
        let stakes = stakes.get(board).map(|one| &*one.most).unwrap_or_default();
        let heals = Instant::at(dice.duration(MS * 2000, MS * 6000));
        let mut script = Script { dice, seats: stakes.len(), heals };
        let vices = script.vices(stakes, total);
        let (network, lossy, partitions) = script.network();
        let honest: Vec<Seat> = (0..)
            .map(Party::new)
            .take(stakes.len())
            .filter(|party| !vices.contains_key(party))
            .map(|party| Seat::new(party.get()))
            .collect();
        let mut draw = Self {
            board,
            vices,
            network,
            lossy,
            partitions,
            crashes: Vec::new(),
            stumbles: Vec::new(),
            leaps: Vec::new(),
            heals,
        };
        script.accidents(&honest, &mut draw);
        draw
    }

    /// Who runs twice.
    pub(super) fn twins(&self) -> Vec<Party> {
        let is_twin = |vices: &[Vice]| vices.iter().any(|vice| matches!(vice, Vice::Twins { .. }));
        let twins = self.vices.iter().filter(|(_, vices)| is_twin(vices));
        twins.map(|(party, _)| *party).collect()
    }

    /// The faulty parties.
    pub(super) fn faulty(&self) -> BTreeSet<Party> {
        self.vices.keys().copied().collect()
    }
}

/// Dice, and what draws depend on.
struct Script {
    dice: Dice,
    seats: usize,
    heals: Instant,
}

impl Script {
    fn chance(&mut self, percent: u32) -> bool {
        self.dice.happens(Chance::percent(percent))
    }

    fn before_healing(&mut self) -> Instant {
        Instant::at(self.dice.duration(Duration::ZERO, self.heals.since_start()))
    }

    /// Each seat with even chance.
    fn some(&mut self) -> BTreeSet<Seat> {
        let seats = (0..).map(Seat::new).take(self.seats);
        let seats: Vec<Seat> = seats.collect();
        seats.into_iter().filter(|_| self.chance(50)).collect()
    }

    fn vices(&mut self, stakes: &[Stake], total: u128) -> BTreeMap<Party, Vec<Vice>> {
        let mut order: Vec<(Party, u128)> =
            (0..).map(Party::new).zip(stakes.iter().map(|stake| stake.get())).collect();
        self.dice.shuffle(&mut order);
        // One execution in ten has accidents alone.
        let mut room = if self.chance(10) { 0 } else { total.saturating_sub(1) / 3 };
        let mut vices = BTreeMap::new();
        for (party, stake) in order {
            if stake <= room && stake * 3 < total {
                room -= stake;
                let many = self.dice.between(1, 3);
                let adds = vices.len() % 2 == 0;
                let own: Vec<Vice> = (0..many).map(|_| self.vice(party, adds)).collect();
                vices.insert(party, own);
            }
        }
        vices
    }

    fn vice(&mut self, party: Party, adds: bool) -> Vice {
        let own = Seat::new(party.get());
        let mut others = self.some();
        others.remove(&own);
        match self.dice.below(12) {
            0 => Vice::Mute { from: self.before_healing() },
            1 => Vice::Withhold { from: others, all: false },
            2 => Vice::Withhold { from: others, all: true },
            3 => Vice::TwoFaced { to: others, both: self.chance(50) },
            4 => Vice::Wrong,
            5 | 6 => Vice::Cancel { adds },
            7 => Vice::Flood { until: self.heals },
            8 => Vice::Replay { until: self.heals + MS * 2000 },
            9 => Vice::Delay { most: self.dice.duration(MS * 50, ROUND) },
            10 => Vice::Twins { side: others },
            _ => {
                let back = self.dice.duration(MS * 10, MS * 2000);
                Vice::Forget { at: self.before_healing(), back }
            }
        }
    }

    fn network(&mut self) -> (Network, bool, u64) {
        let mut network = self.links();
        let lossy = self.chance(40);
        if lossy {
            let window = Window::new(Instant::START, self.heals);
            let percent = u32::try_from(self.dice.between(1, 15)).unwrap_or(1);
            network = network.with_loss(Loss { window, chance: Chance::percent(percent) });
        }
        let partitions = if self.chance(50) { self.dice.between(1, 2) } else { 0 };
        for _ in 0..partitions {
            let from = self.before_healing();
            let until = from + self.dice.duration(MS * 100, MS * 3000);
            let blocked =
                if self.chance(50) { PartitionEffect::Held } else { PartitionEffect::Dropped };
            let mut groups = vec![self.some()];
            if self.chance(20) {
                let first = groups.first().cloned().unwrap_or_default();
                groups.push(self.some().difference(&first).copied().collect());
            }
            let window = Window::new(from, until.min(self.heals));
            network = network.with_partition(Partition { window, groups, blocked });
        }
        (network, lossy, partitions)
    }

    fn links(&mut self) -> Network {
        let seats = u32::try_from(self.seats).unwrap_or(u32::MAX);
        // Twins sit where their party sits.
        let deck = (0..seats * 2).map(|_| pick(&mut self.dice, GLOBAL.len()));
        let names: Vec<&str> = deck.filter_map(|card| GLOBAL.get(card).copied()).collect();
        let jitter = match self.dice.below(4) {
            0 => Jitter::Tail,
            1 => Jitter::Percent(60),
            _ => Jitter::Percent(5),
        };
        let delay = self.dice.duration(MS * 20, MS * 150);
        let placed = Geography::aws().ok().and_then(|aws| Placement::listed(&aws, &names).ok());
        match placed.filter(|_| self.chance(70)) {
            Some(placement) => Network::placed(placement, jitter),
            None => Network::constant(delay),
        }
    }

    fn accidents(&mut self, honest: &[Seat], draw: &mut Draw) {
        let seat = |script: &mut Self| honest.get(pick(&mut script.dice, honest.len())).copied();
        for _ in 0..self.dice.below(4) {
            let (at, down) = (self.before_healing(), self.dice.duration(MS, MS * 2000));
            draw.crashes.extend(seat(self).map(|seat| (seat, at, down)));
        }
        for _ in 0..self.dice.below(4) {
            let (record, down) = (self.dice.between(1, 60), self.dice.duration(MS, MS * 1000));
            draw.stumbles.extend(seat(self).map(|seat| (seat, record, down)));
        }
        for _ in 0..self.dice.below(3) {
            let (at, by) = (self.before_healing(), self.dice.duration(MS, MS * 8000));
            let leap = if self.chance(50) { ClockJump::Ahead(by) } else { ClockJump::Back(by) };
            draw.leaps.extend(seat(self).map(|seat| (seat, at, leap)));
        }
    }
}

/// A place below `count`; 0 if there is none.
fn pick(dice: &mut Dice, count: usize) -> usize {
    usize::try_from(dice.below(u64::try_from(count).unwrap_or(u64::MAX))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faulty_hold_less_than_a_third_of_the_stake() {
        let stakes: Vec<Vec<Stake>> =
            [&[1_u128; 4][..], &[310, 240, 150, 110, 90, 60, 40], &[1, 1, 1]]
                .iter()
                .map(|list| list.iter().map(|one| Stake::new(*one)).collect())
                .collect();
        let drawn: Vec<Stakes> = stakes.iter().map(|one| Stakes::from(&**one)).collect();
        let mut most = [0; 3];
        for seed in 0..500 {
            let draw = Draw::new(seed, &drawn);
            let board = &stakes[draw.board];
            let total: u128 = board.iter().map(|one| one.get()).sum();
            let faulty: u128 = draw.faulty().iter().map(|one| board[one.index()].get()).sum();
            assert!(3 * faulty < total, "seed {seed}: {faulty} of {total}");
            most[draw.board] = faulty.max(most[draw.board]);
            let crashed = draw.crashes.iter().map(|(seat, ..)| Party::new(seat.get()));
            assert!(crashed.into_iter().all(|party| !draw.vices.contains_key(&party)));
        }
        // As many as may be, and with three equal parties nobody.
        assert_eq!(most, [1, 330, 0]);
    }

    /// Party 4 joins in place of party 3: either may be faulty, and both together would be too much.
    #[test]
    fn the_faulty_hold_less_than_a_third_before_and_after_a_change() {
        let most = vec![Stake::new(1); 5];
        let drawn = [Stakes { most, total: 4 }];
        let mut seen = BTreeSet::new();
        for seed in 0..200 {
            let faulty = Draw::new(seed, &drawn).faulty();
            assert!(faulty.len() <= 1, "seed {seed}: {faulty:?}");
            seen.extend(faulty);
        }
        assert_eq!(seen.len(), 5);
    }
}
