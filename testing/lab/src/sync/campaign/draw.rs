//! What is drawn for an execution from its seed.
use std::time::Duration;

use prefinal_protocol::Instant;
use prefinal_sim::{Chance, Dice, Loss, Network, Window};
use prefinal_sync::{Config, FollowerLimits, Keep, Replay, Strategy};

use super::super::chain::SampleChain;
use super::super::source::Part;
use super::liar::{VICES, Vice};

const MS: Duration = Duration::from_millis(1);

/// Bytes of a block with its delta in these chains, and some more.
const LARGEST_BLOCK: u64 = 12_000;

/// A peer of the follower.
#[derive(Clone, Debug)]
pub(super) struct PeerDraw {
    /// None: it is honest.
    pub(super) vices: Vec<Vice>,
    pub(super) often: Chance,
    pub(super) part: Part,
    /// How much later than others it answers.
    pub(super) later: Duration,
    /// When its link is lost, and for how long.
    pub(super) losses: Vec<(Instant, Duration)>,
    /// Whether it crashes when a link is lost.
    pub(super) crashes: bool,
}

/// Everything that is drawn.
#[derive(Clone, Debug)]
pub(super) struct SyncDraw {
    pub(super) config: Config,
    pub(super) peers: Vec<PeerDraw>,
    pub(super) network: Network,
    pub(super) heals: Instant,
    /// What a job takes at most: verifying, executing, writing.
    pub(super) work: [Duration; 3],
    /// When the follower crashes, and how long it is down.
    pub(super) crashes: Vec<(Instant, Duration)>,
    pub(super) crash_after_effects: Option<u64>,
    pub(super) crash_after_records: Option<u64>,
    pub(super) disk_failures: u64,
}

impl SyncDraw {
    pub(super) fn new(seed: u64, chain: &SampleChain) -> Self {
        let mut dice = Dice::new(seed ^ 0x666f_6c6c_6f77);
        let heals = dice.duration(MS * 2000, MS * 9000);
        let (least, most) = (dice.duration(MS, MS * 40), dice.duration(MS * 40, MS * 220));
        let mut network = Network::uniform(least, most);
        if dice.happens(Chance::percent(60)) {
            network = network.in_order();
        }
        if dice.happens(Chance::percent(40)) {
            let chance = Chance::percent(u32::try_from(dice.between(1, 25)).unwrap_or(1));
            let window = Window::new(Instant::START, Instant::at(heals));
            network = network.with_loss(Loss { window, chance });
        }
        let count = dice.between(2, 7);
        let growth = growth(&mut dice, chain, heals);
        let peers = (0..count).map(|number| peer(&mut dice, growth, heals, number == 0));
        let peers = peers.collect();
        let crashes = (0..dice.below(5)).map(|_| {
            let at = Instant::at(dice.duration(Duration::ZERO, heals));
            (at, dice.duration(MS, MS * 800))
        });
        let crashes = crashes.collect();
        let some = |dice: &mut Dice, percent, most| {
            dice.happens(Chance::percent(percent)).then(|| dice.between(1, most))
        };
        Self {
            config: config(&mut dice, chain),
            peers,
            network,
            heals: Instant::at(heals),
            work: [60, 60, 60].map(|most| dice.duration(Duration::ZERO, MS * most)),
            crashes,
            crash_after_effects: some(&mut dice, 50, 300),
            crash_after_records: some(&mut dice, 30, 2),
            disk_failures: dice.below(4).saturating_sub(1),
        }
    }
}

/// How the chain grows, for all peers alike.
fn growth(dice: &mut Dice, chain: &SampleChain, heals: Duration) -> Part {
    let tip = chain.tip().get();
    let start = if dice.happens(Chance::percent(30)) { tip } else { dice.below(tip) };
    let steps = u32::try_from(tip.saturating_sub(start).max(1)).unwrap_or(1);
    Part {
        start,
        every: dice.duration(MS, heals.checked_div(steps).unwrap_or(MS).max(MS)),
        snapshot_every: dice.between(3, 9),
        ..Part::whole(chain.tip())
    }
}

/// The first one is honest, whole, and answers later than others.
fn peer(dice: &mut Dice, growth: Part, heals: Duration, is_steady: bool) -> PeerDraw {
    let later = if is_steady { dice.duration(Duration::ZERO, MS * 400) } else { Duration::ZERO };
    let often = Chance::percent(u32::try_from(dice.between(10, 100)).unwrap_or(100));
    let hops = u8::try_from(dice.below(4)).unwrap_or(0);
    if is_steady {
        let part = Part { hops, ..growth };
        return PeerDraw {
            vices: Vec::new(),
            often,
            part,
            later,
            losses: Vec::new(),
            crashes: false,
        };
    }
    let mut vices = Vec::new();
    if dice.happens(Chance::percent(75)) {
        for _ in 0..dice.between(1, 3) {
            let place = usize::try_from(dice.below(11)).unwrap_or(0);
            vices.extend(VICES.get(place));
        }
    }
    // It is behind, and keeps less.
    let late =
        if dice.below(3) == 0 { dice.duration(Duration::ZERO, MS * 900) } else { Duration::ZERO };
    let keeps = if dice.below(3) == 0 { dice.between(2, 12) } else { u64::MAX };
    let losses = (0..dice.below(3)).map(|_| {
        let at = Instant::at(dice.duration(Duration::ZERO, heals));
        (at, dice.duration(MS, MS * 2500))
    });
    let losses = losses.collect();
    let part = Part { late, keeps, hops, ..growth };
    PeerDraw { vices, often, part, later, losses, crashes: dice.below(2) == 0 }
}

fn config(dice: &mut Dice, chain: &SampleChain) -> Config {
    let deltas = dice.happens(Chance::percent(60));
    let replay = if deltas { Replay::Deltas } else { Replay::Execute };
    let naive = dice.happens(Chance::percent(15));
    let strategy = if naive { Strategy::Naive } else { Strategy::Pipelined };
    let snapshots = dice.happens(Chance::percent(45));
    let answer = dice.between(LARGEST_BLOCK, 6 * LARGEST_BLOCK);
    let small = |dice: &mut Dice, most| usize::try_from(dice.between(1, most)).unwrap_or(1);
    let limits = FollowerLimits {
        window_bytes: answer.saturating_mul(dice.between(1, 6)),
        answer_bytes: u32::try_from(answer).unwrap_or(u32::MAX),
        answer_blocks: u32::try_from(dice.between(1, 8)).unwrap_or(1),
        requests: small(dice, 16),
        requests_to_one: small(dice, 4),
        blocks_ahead: dice.between(1, 40),
        unstored: small(dice, 4),
        timeout: dice.duration(MS * 500, MS * 1500),
        poll: dice.duration(MS * 100, MS * 700),
    };
    // Who applies deltas needs no beacon.
    let beacon = !deltas || dice.happens(Chance::percent(60));
    Config {
        replay,
        snapshot_beyond: snapshots.then(|| dice.between(2, 12)),
        strategy,
        keep: Keep::default(),
        limits,
        beacon: beacon.then_some(chain.beacon),
        seed: dice.bytes(),
    }
}
