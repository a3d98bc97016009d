//! When blocks are proposed, voted for and ordered: three rounds, computed from the delays.
//!
//! | event at validator `j`, block of leader `ℓ`  | time                                                   |
//! |-----------------------------------------------|--------------------------------------------------------|
//! | proposed                                      | `t`: an interval after the block before, which `ℓ` has  |
//! | the proposal and its batches have arrived     | `pⱼ`: `t + d(ℓ, j)`, or later if a batch comes later    |
//! | a quorum of votes has arrived: order vote     | `qⱼ`: the quorum's last `pᵢ + d(i, j)`                  |
//! | a quorum of order votes has arrived: ordered  | `oⱼ`: the quorum's last `qᵢ + d(i, j)`                  |
use std::time::Duration;

use prefinal_execution::{Block, BlockId, Header, Height};
use prefinal_protocol::Slot;
use prefinal_sim::{Dice, Seat};

use super::Experiment;
use super::node::Transfers;

/// A batch of a validator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    pub(super) validator: Seat,
    /// When it was sent to all.
    pub(super) sent: Duration,
    pub(super) transactions: u64,
}

/// What happens to a block at one validator.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeatTimes {
    pub(super) arrives: Duration,
    pub(super) order_vote: Duration,
    pub(super) ordered: Duration,
}

#[derive(Clone, Debug)]
pub(super) struct PlannedBlock {
    pub(super) block: Block<Transfers>,
    pub(super) batches: Vec<Batch>,
    pub(super) proposed: Duration,
    /// The times at each validator, by its number.
    pub(super) seats: Vec<SeatTimes>,
}

/// The ordered blocks of a run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) blocks: Vec<PlannedBlock>,
    pub(super) end: Duration,
}

impl Plan {
    pub(super) fn new(experiment: &Experiment, load: u64) -> Self {
        let mut dice = Dice::new(experiment.seed);
        let mut leaders: Vec<Seat> = (0..experiment.validators.get()).map(Seat::new).collect();
        dice.shuffle(&mut leaders);
        let end = experiment.warm_up + experiment.counted;
        let mut waiting = batches(experiment, load, end, &mut dice);
        let mut blocks: Vec<PlannedBlock> = Vec::new();
        let genesis = Header {
            id: BlockId::new([0; 32]),
            parent: BlockId::new([0; 32]),
            height: Height::GENESIS,
            slot: Slot::new(0),
        };
        let (mut last, mut proposed) = (genesis, Duration::ZERO);
        for leader in leaders.iter().copied().cycle() {
            if proposed >= end {
                break;
            }
            let before = blocks.last().map(|block| block.proposed);
            let parent_here = blocks.last().and_then(|block| block.seats.get(leader.index()));
            proposed = before.map_or(Duration::ZERO, |before| before + experiment.block_interval);
            proposed = proposed.max(parent_here.map_or(Duration::ZERO, |times| times.arrives));
            let taken = take(experiment, &mut waiting, leader, proposed);
            let height = last.height.next();
            let mut id = [0; 32];
            id.iter_mut().zip(height.get().to_be_bytes()).for_each(|(to, from)| *to = from);
            let slot = Slot::new(height.get());
            let header = Header { id: BlockId::new(id), parent: last.id, height, slot };
            let transfers: Vec<_> =
                taken.iter().map(|batch| Transfers { count: batch.transactions }).collect();
            let seats = seats(experiment, leader, proposed, &taken);
            let block = Block::new(header, transfers);
            blocks.push(PlannedBlock { block, batches: taken, proposed, seats });
            last = header;
        }
        Self { blocks, end }
    }
}

/// All batches, in the order in which they are sent.
fn batches(experiment: &Experiment, load: u64, end: Duration, dice: &mut Dice) -> Vec<Batch> {
    let interval = experiment.batch_interval;
    let makers = experiment.full_nodes.get();
    let mut all = Vec::new();
    for maker in 0..makers {
        let phase = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        let mut sent = Duration::from_nanos(dice.below(phase.max(1)));
        // What is submitted in a batch's time, in transactions times nanoseconds; the rest stays for the next.
        let (mut rest, second) = (0_u128, 1_000_000_000 * u128::from(makers));
        while sent < end {
            rest += u128::from(load) * interval.as_nanos();
            let transactions = u64::try_from(rest / second).unwrap_or(u64::MAX);
            rest %= second;
            all.push(Batch { validator: Seat::new(maker), sent, transactions });
            sent += interval;
        }
    }
    all.sort_by_key(|batch| (batch.sent, batch.validator));
    all.retain(|batch| batch.transactions > 0);
    all
}

/// The oldest batches that have reached the leader, as many as are executed until the next block.
fn take(
    experiment: &Experiment,
    waiting: &mut Vec<Batch>,
    leader: Seat,
    proposed: Duration,
) -> Vec<Batch> {
    let mut room = experiment.prices.most(experiment.block_interval);
    let mut taken = Vec::new();
    waiting.retain(|batch| {
        let here = batch.sent + delay(experiment, batch.validator, leader) <= proposed;
        let fits = batch.transactions <= room;
        if here && fits {
            room -= batch.transactions;
            taken.push(*batch);
        }
        !(here && fits)
    });
    taken
}

fn seats(
    experiment: &Experiment,
    leader: Seat,
    proposed: Duration,
    batches: &[Batch],
) -> Vec<SeatTimes> {
    let all = || (0..experiment.validators.get()).map(Seat::new);
    let arrives: Vec<Duration> = all()
        .map(|seat| {
            let payload =
                batches.iter().map(|one| one.sent + delay(experiment, one.validator, seat)).max();
            let proposal = proposed + delay(experiment, leader, seat);
            proposal.max(payload.unwrap_or(Duration::ZERO))
        })
        .collect();
    let order_votes = quorums(experiment, &arrives);
    let ordered = quorums(experiment, &order_votes);
    let times = arrives.into_iter().zip(order_votes).zip(ordered);
    times
        .map(|((arrives, order_vote), ordered)| SeatTimes { arrives, order_vote, ordered })
        .collect()
}

/// When what all validators sent at these times has arrived from a quorum, at each of them.
fn quorums(experiment: &Experiment, sent: &[Duration]) -> Vec<Duration> {
    let need = quorum(experiment.validators.get());
    let at = |to: Seat| {
        let from = (0..).map(Seat::new).zip(sent);
        let mut arrivals: Vec<_> =
            from.map(|(from, sent)| *sent + delay(experiment, from, to)).collect();
        arrivals.sort_unstable();
        arrivals.get(need.saturating_sub(1)).copied().unwrap_or_default()
    };
    (0..experiment.validators.get()).map(Seat::new).map(at).collect()
}

/// More than two thirds.
pub(super) fn quorum(validators: u32) -> usize {
    usize::try_from(validators * 2 / 3 + 1).unwrap_or(usize::MAX)
}

/// As the simulator's links have it.
fn delay(experiment: &Experiment, from: Seat, to: Seat) -> Duration {
    if from == to {
        return Duration::ZERO;
    }
    experiment.placement.round_trip(from, to).map_or(Duration::ZERO, |trip| trip.p50 / 2)
}
