//! When blocks are proposed, voted for and ordered: three rounds, computed from the delays.
//!
//! | event at validator `j`, block of leader `ℓ`  | time                                                   |
//! |-----------------------------------------------|--------------------------------------------------------|
//! | proposed                                      | `t`: an interval after the block before, which `ℓ` has  |
//! | the proposal and its batches have arrived     | `pⱼ`: `t + d(ℓ, j)`, or later if a batch comes later    |
//! | a quorum of votes has arrived: order vote     | `qⱼ`: the quorum's last `pᵢ + d(i, j)`                  |
//! | a quorum of order votes has arrived: ordered  | `oⱼ`: the quorum's last `qᵢ + d(i, j)`                  |
//! | the value is known by the fast path           | `max(oⱼ, vⱼ)`, `vⱼ` the last of 5/6 of the `qᵢ + d(i, j)` |
//! | the value is known by the slow path           | the quorum's last `oᵢ + d(i, j)`                       |
//! | the round of a leader that equivocates ends    | `eⱼ`: a quorum's last `bᵢ + T + d(i, j)`, with the time-out `T` |
//!
//! A round begins at `bⱼ = qⱼ` behind a block, and at `bⱼ = eⱼ` behind such a round.
use std::time::Duration;

use prefinal_execution::{Block, BlockId, Header, Height, Part};
use prefinal_protocol::Slot;
use prefinal_sim::{Dice, Seat};

use super::node::Transfers;
use super::{Experiment, Readers, ValuePath, Waiting};

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
    /// When the slot's value is known.
    pub(super) value: Duration,
}

/// One of two proposals of a leader that equivocates: nobody orders it.
#[derive(Clone, Debug)]
pub(super) struct Fork {
    pub(super) block: Block<Transfers>,
    /// Who gets it, and when.
    pub(super) arrives: Vec<(Seat, Duration)>,
}

#[derive(Clone, Debug)]
pub(super) struct PlannedBlock {
    pub(super) block: Block<Transfers>,
    pub(super) batches: Vec<Batch>,
    pub(super) proposed: Duration,
    /// The times at each validator, by its number.
    pub(super) seats: Vec<SeatTimes>,
}

/// The blocks of a run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) blocks: Vec<PlannedBlock>,
    pub(super) forks: Vec<Fork>,
    pub(super) end: Duration,
}

/// Where the next round begins.
struct Round {
    /// The last block that is ordered.
    parent: Header,
    /// When each validator has a quorum for the round before.
    entered: Vec<Duration>,
    /// The earliest time of the next proposal of each validator.
    earliest: Vec<Duration>,
}

impl Plan {
    pub(super) fn new(experiment: &Experiment, load: u64) -> Self {
        let mut dice = Dice::new(experiment.seed);
        let mut leaders: Vec<Seat> = (0..experiment.validators.get()).map(Seat::new).collect();
        dice.shuffle(&mut leaders);
        // As far from each other in the order of leaders as they can be.
        let equivocating = usize::try_from(experiment.equivocating).unwrap_or(usize::MAX);
        let places = (0..equivocating).map(|one| one * leaders.len() / equivocating);
        let faulty: Vec<Seat> = places.filter_map(|place| leaders.get(place)).copied().collect();
        let end = experiment.warm_up + experiment.counted;
        let mut waiting = batches(experiment, load, end, &mut dice);
        let (mut blocks, mut forks) = (Vec::new(), Vec::new());
        let parent = Header {
            id: BlockId::new([0; 32]),
            parent: BlockId::new([0; 32]),
            height: Height::GENESIS,
            slot: Slot::new(0),
        };
        let at_once = vec![Duration::ZERO; leaders.len()];
        let mut round = Round { parent, entered: at_once.clone(), earliest: at_once };
        for (number, leader) in (1..).zip(leaders.iter().copied().cycle()) {
            let proposed = round.earliest.get(leader.index()).copied().unwrap_or(end);
            if proposed >= end {
                break;
            }
            let parent = round.parent;
            let header = |proposal| Header {
                id: name(number, proposal),
                parent: parent.id,
                height: parent.height.next(),
                slot: Slot::new(number),
            };
            if faulty.contains(&leader) {
                // They wait for another leader.
                let taken = take(experiment, &mut waiting.clone(), leader, proposed);
                let times = seats(experiment, leader, proposed, &taken);
                forks.extend([0, 1].map(|half: u8| Fork {
                    block: Block::new(header(half), transfers(experiment.readers, &taken)),
                    arrives: arrivals(&times, half),
                }));
                let given_up = round.entered.iter().map(|at| *at + experiment.round_timeout);
                let given_up: Vec<Duration> = given_up.collect();
                let over = quorums(experiment, &given_up, quorum(experiment.validators.get()));
                round = Round { earliest: over.clone(), entered: over, ..round };
                continue;
            }
            let taken = take(experiment, &mut waiting, leader, proposed);
            let block = Block::new(header(0), transfers(experiment.readers, &taken));
            let seats = seats(experiment, leader, proposed, &taken);
            let next = proposed + experiment.block_interval;
            round = Round {
                parent: block.header,
                entered: seats.iter().map(|times| times.order_vote).collect(),
                earliest: seats.iter().map(|times| next.max(times.arrives)).collect(),
            };
            blocks.push(PlannedBlock { block, batches: taken, proposed, seats });
        }
        Self { blocks, forks, end }
    }
}

/// The name of a leader's proposal: the first, or the second one of a leader that equivocates.
fn name(round: u64, proposal: u8) -> BlockId {
    let mut id = [0; 32];
    id.iter_mut().zip(round.to_be_bytes()).for_each(|(to, from)| *to = from);
    if let Some(last) = id.last_mut() {
        *last = proposal;
    }
    BlockId::new(id)
}

/// Every other validator gets one of two proposals.
fn arrivals(times: &[SeatTimes], half: u8) -> Vec<(Seat, Duration)> {
    let all = (0..).map(Seat::new).zip(times.iter().map(|times| times.arrives));
    all.filter(|(seat, _)| seat.get() % 2 == u32::from(half)).collect()
}

/// The transactions of these batches. Those that wait for the value stand behind the others.
fn transfers(readers: Readers, batches: &[Batch]) -> Vec<Transfers> {
    let waiting = |count: u64| match readers.waiting {
        Waiting::Block if readers.percent > 0 => count,
        _ => count.saturating_mul(readers.percent.into()).div_ceil(100),
    };
    let split = batches.iter().flat_map(|batch| {
        let tail = waiting(batch.transactions);
        let head = batch.transactions.saturating_sub(tail);
        [(head, Part::Head), (tail, Part::Tail)]
    });
    let split = split.map(|(count, part)| Transfers { count, part });
    split.filter(|transfers| transfers.count > 0).collect()
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
    let validators = experiment.validators.get();
    let order_votes = quorums(experiment, &arrives, quorum(validators));
    let ordered = quorums(experiment, &order_votes, quorum(validators));
    let slow = quorums(experiment, &ordered, quorum(validators));
    let values = match experiment.readers.path {
        ValuePath::Slow => slow,
        ValuePath::Fast => {
            let fast = quorums(experiment, &order_votes, fast(validators));
            fast.into_iter().zip(slow).map(|(fast, slow)| fast.min(slow)).collect()
        }
    };
    let times = arrives.into_iter().zip(order_votes).zip(ordered.into_iter().zip(values));
    let times = times.map(|((arrives, order_vote), (ordered, value))| SeatTimes {
        arrives,
        order_vote,
        ordered,
        value: value.max(ordered),
    });
    times.collect()
}

/// When what all validators sent at these times has arrived from so many, at each of them.
fn quorums(experiment: &Experiment, sent: &[Duration], need: usize) -> Vec<Duration> {
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

/// What the fast path reconstructs from: five sixths.
fn fast(validators: u32) -> usize {
    usize::try_from(validators.saturating_mul(5).div_ceil(6)).unwrap_or(usize::MAX)
}

/// As the simulator's links have it.
fn delay(experiment: &Experiment, from: Seat, to: Seat) -> Duration {
    if from == to {
        return Duration::ZERO;
    }
    experiment.placement.round_trip(from, to).map_or(Duration::ZERO, |trip| trip.p50 / 2)
}
