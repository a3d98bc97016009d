//! Followers among hostile peers, each execution from its seed.
//!
//! One follower, two to seven peers, one of them honest, whole and far away. Drawn are:
//!
//! | drawn           | what it does                                                                   |
//! |-----------------|--------------------------------------------------------------------------------|
//! | the follower    | executes or applies deltas, in a pipeline or naively, with a state first or not; all its limits |
//! | hostile peers   | [one to three vices each](liar), and how often                                   |
//! | honest peers    | are behind, keep little, crash, lose their links; one does none of it              |
//! | the chain       | grows meanwhile; three epochs, blocks without transactions, blocks that read values |
//! | crashes         | of the follower: at any time, behind any effect or record, in the middle of a write |
//! | the network     | delays, messages that overtake each other, losses until it heals                   |
//!
//! What must hold:
//!
//! | property    | how it is checked                                                                     |
//! |-------------|---------------------------------------------------------------------------------------|
//! | validity    | after each write and each start: the committed block, its content, its attestation and the state that is being fetched are the chain's; at the end every row is |
//! | durability  | what was reported as durable is there after a crash                                   |
//! | accusation  | nobody is banned who has said nothing but what honest peers say                       |
//! | memory      | never more bytes than the window and three answers                                    |
//! | liveness    | when the network has healed, the follower gets to the tip; it never stops              |
mod draw;
mod fabricate;
mod liar;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use prefinal_execution::Store;
use prefinal_protocol::Instant;
use prefinal_sim::rule::{Letter, from_fn};
use prefinal_sim::{Chance, Dice, Disk, Note, Seat, Setup, Simulation, Stop, UnknownSeat};
use prefinal_state::RangeLimits;
use prefinal_state::proof::KeyRange;
use prefinal_sync::wire::ANSWER_HEAD;

use self::draw::SyncDraw;
pub(super) use self::liar::{Liar, Told, Vice};
use super::chain::{ChainPlan, SampleChain};
use super::host::SyncHost;
use super::node::{Bytes, Event, Happens, Mistake, NodePlan, Service, seat};
use super::price::WorkPrices;
use crate::campaign::{ExecutionReport, Kind};
use crate::check::{Summary, Violation};
use crate::failure::Failure;

const FOLLOWER: Seat = Seat::new(0);

/// After healing, before the follower must be at the tip: it may have given its one honest peer up for a minute.
const PATIENCE: Duration = Duration::from_secs(400);
const SLICE: Duration = Duration::from_millis(100);
/// Far more than an execution takes.
const EVENTS: u64 = 1_000_000;

/// The chains that executions follow, made when they are first needed.
fn chains() -> &'static Result<[Arc<SampleChain>; 2], String> {
    static CHAINS: OnceLock<Result<[Arc<SampleChain>; 2], String>> = OnceLock::new();
    let long = ChainPlan {
        blocks: 30,
        transfers: 3,
        accounts: 60,
        members: 4,
        epochs: vec![9, 19],
        empty: [3, 10, 20].into(),
        draws: [5, 12, 21].into(),
        seed: 1,
    };
    let small = ChainPlan {
        blocks: 12,
        transfers: 2,
        accounts: 12,
        members: 4,
        epochs: vec![4],
        empty: [2, 4].into(),
        draws: BTreeSet::new(),
        seed: 2,
    };
    CHAINS.get_or_init(|| {
        let make = |plan| SampleChain::new(&plan).map(Arc::new).map_err(|error| error.to_string());
        Ok([make(long)?, make(small)?])
    })
}

/// Plays the execution of a seed, with all that is drawn for it.
pub(crate) fn play(seed: u64) -> Result<ExecutionReport, Failure> {
    play_with(None, seed)
}

pub(super) fn play_with(mistake: Option<Mistake>, seed: u64) -> Result<ExecutionReport, Failure> {
    let [long, small] = chains().as_ref().map_err(Failure::bad_input)?;
    let is_small = Dice::new(!seed).happens(Chance::percent(25));
    let chain = if is_small { small } else { long };
    let draw = SyncDraw::new(seed, chain);
    let mut stage = Stage::new(seed, &draw, chain, mistake)?;
    stage.disturb().map_err(Failure::bad_input)?;
    let outcome = stage.run().map_err(Failure::bad_input)?;
    Ok(stage.report(outcome))
}

struct Stage<'a> {
    draw: &'a SyncDraw,
    simulation: Simulation<SyncHost>,
    told: Rc<RefCell<Told>>,
    patience: Duration,
    dice: Dice,
    /// When the follower comes back from a crash that was not planned.
    back_at: Option<Instant>,
}

impl<'a> Stage<'a> {
    fn new(
        seed: u64,
        draw: &'a SyncDraw,
        chain: &Arc<SampleChain>,
        mistake: Option<Mistake>,
    ) -> Result<Self, Failure> {
        let seats = || (1..).map(Seat::new).zip(&draw.peers);
        let follower = NodePlan {
            follows: Some(draw.config),
            peers: seats().map(|(seat, _)| seat).collect(),
            begins: Duration::ZERO,
            serves: None,
            plain: false,
        };
        let peers = draw.peers.iter().map(|peer| NodePlan {
            follows: None,
            peers: Vec::new(),
            begins: Duration::ZERO,
            serves: Some(Service::Chain(peer.part)),
            plain: !peer.vices.is_empty(),
        });
        let nodes: Vec<NodePlan> = std::iter::once(follower).chain(peers).collect();
        let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        let mut host = SyncHost::new(chain, nodes, WorkPrices::Drawn(draw.work), seed);
        (host.judges, host.mistake, host.failures) = (true, mistake, draw.disk_failures);
        let cores = std::num::NonZeroU32::new(4).unwrap_or(std::num::NonZeroU32::MIN);
        let setup = Setup::new(count, seed, draw.network.clone());
        let setup = Setup { cores, most_events: EVENTS, ..setup };
        let mut simulation = Simulation::new(host, setup).map_err(Failure::bad_input)?;
        let told = Rc::new(RefCell::new(Told::default()));
        let answer = usize::try_from(draw.config.limits.answer_bytes).unwrap_or(usize::MAX);
        for (seat, peer) in seats() {
            let later = peer.later;
            if !later.is_zero() {
                let rule = from_fn(move |_, letter: Letter<Bytes>, leaves: &mut Vec<_>| {
                    leaves.push(Letter { delay: letter.delay.saturating_add(later), ..letter });
                });
                simulation.rule(seat, rule).map_err(Failure::bad_input)?;
            }
            if !peer.vices.is_empty() {
                let liar = Liar {
                    vices: peer.vices.clone(),
                    often: peer.often,
                    longest: answer.saturating_add(ANSWER_HEAD),
                    chain: Arc::clone(chain),
                    told: Rc::clone(&told),
                    memory: Vec::new(),
                };
                simulation.rule(seat, liar).map_err(Failure::bad_input)?;
            }
        }
        let patience = if mistake.is_some() { Duration::from_secs(60) } else { PATIENCE };
        let dice = Dice::new(seed ^ 0x0073_7461_6765);
        Ok(Self { draw, simulation, told, patience, dice, back_at: None })
    }

    fn count(&self, kind: Kind, times: usize) {
        self.told.borrow_mut().tally.add(kind, u64::try_from(times).unwrap_or(u64::MAX));
    }

    /// Crashes and lost links.
    fn disturb(&mut self) -> Result<(), UnknownSeat> {
        let draw = self.draw;
        for (at, down) in &draw.crashes {
            self.simulation.crash(FOLLOWER, *at)?;
            self.simulation.restart(FOLLOWER, *at + *down, Disk::Kept)?;
        }
        self.count(Kind::Crash, draw.crashes.len());
        if let Some(effects) = draw.crash_after_effects {
            self.simulation.crash_after_effects(FOLLOWER, effects)?;
        }
        if let Some(records) = draw.crash_after_records {
            self.simulation.crash_after_records(FOLLOWER, records)?;
        }
        for (peer, one) in (1..).map(Seat::new).zip(&draw.peers) {
            for (at, down) in &one.losses {
                let back = *at + *down;
                for (at, is_up) in [(*at, false), (back, true)] {
                    self.simulation.input(FOLLOWER, at, Happens::Link { peer, is_up })?;
                }
                if one.crashes {
                    self.simulation.crash(peer, *at)?;
                    self.simulation.restart(peer, back, Disk::Kept)?;
                }
            }
            self.count(Kind::LinkLost, one.losses.len());
        }
        Ok(())
    }

    fn run(&mut self) -> Result<Result<Summary, Violation>, UnknownSeat> {
        let end = self.draw.heals + self.patience;
        while self.simulation.now() < end {
            let next = self.simulation.now() + SLICE;
            let is_stop = |event: &Event| matches!(event, Event::Stopped(_));
            let stop = self.simulation.run_watching(next.min(end), |note| {
                if is_stop(&note.event) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            let notes = self.simulation.take_notes();
            if let Some(violation) = self.judge(&notes) {
                return Ok(Err(violation));
            }
            let stopped = notes.iter().any(|note| is_stop(&note.event));
            self.bring_back(stopped)?;
            // With a follower that is up there is always something to do.
            let is_idle = stop == Stop::Idle && self.simulation.machine(FOLLOWER).is_some();
            if is_idle || matches!(stop, Stop::Events | Stop::Spinning(_)) {
                return Ok(Err(Violation::Liveness(format!("{stop:?}"))));
            }
            if self.has_arrived() {
                return Ok(self.compare());
            }
        }
        let at = self.simulation.host().store(FOLLOWER).and_then(|store| store.committed().ok());
        let at = at.map_or_else(|| "nowhere".to_owned(), |committed| committed.height.to_string());
        let tip = self.simulation.host().chain.tip();
        Ok(Err(Violation::Liveness(format!("the follower is at {at}, and not at {tip}"))))
    }

    fn has_arrived(&self) -> bool {
        let host = self.simulation.host();
        let committed = host.store(FOLLOWER).and_then(|store| store.committed().ok());
        self.simulation.now() >= self.draw.heals
            && self.simulation.machine(FOLLOWER).is_some()
            && committed.is_some_and(|committed| committed.height == host.chain.tip())
    }

    /// What must hold all the time.
    fn judge(&self, notes: &[Note<Event>]) -> Option<Violation> {
        let host = self.simulation.host();
        if let Some(why) = &host.broken {
            return Some(Violation::Validity(why.clone()));
        }
        for note in notes {
            match &note.event {
                Event::Committed(_) => {}
                Event::Banned(misconduct) => {
                    let peer = seat(misconduct.peer);
                    if !self.told.borrow().liars.contains(&peer) {
                        let why = format!("{peer}, of nothing: {misconduct:?}");
                        return Some(Violation::Accusation(why));
                    }
                    self.count(Kind::Banned, 1);
                }
                Event::Stopped(_) if host.may_fail(FOLLOWER) => {}
                Event::Stopped(reason) => {
                    return Some(Violation::Liveness(format!("it stops: {reason}")));
                }
                Event::Bytes(bytes) => {
                    let most = self.draw.config.limits.window_bytes;
                    return Some(Violation::Memory(format!("{bytes} bytes, {most} are allowed")));
                }
            }
        }
        None
    }

    /// Starts the follower again if its disk has failed, or after a crash behind an effect or a record.
    fn bring_back(&mut self, has_failed: bool) -> Result<(), UnknownSeat> {
        let now = self.simulation.now();
        let mut planned = self.draw.crashes.iter();
        if !has_failed && planned.any(|(at, down)| *at <= now && now < *at + *down) {
            return Ok(());
        }
        if has_failed {
            self.count(Kind::CrashAtWrite, 1);
            self.simulation.crash(FOLLOWER, now)?;
        }
        let is_up = self.simulation.machine(FOLLOWER).is_some() && !has_failed;
        // It may have crashed again since it came back.
        if is_up || self.back_at.is_some_and(|at| now < at) {
            return Ok(());
        }
        if !has_failed {
            self.count(Kind::CrashAtRecord, 1);
        }
        let back_at = now + self.dice.duration(Duration::ZERO, SLICE * 8);
        self.back_at = Some(back_at);
        self.simulation.restart(FOLLOWER, back_at, Disk::Kept)
    }

    /// The state is the chain's, row by row.
    fn compare(&self) -> Result<Summary, Violation> {
        let host = self.simulation.host();
        let tip = host.chain.tip();
        let rows = |store: &super::chain::SampleStore| {
            let limits = RangeLimits { rows: usize::MAX, bytes: usize::MAX };
            let range = store.view_at(tip).and_then(|view| view.range(KeyRange::ALL, limits));
            range.map(|range| range.rows).map_err(|error| Violation::Validity(error.to_string()))
        };
        let store = host.store(FOLLOWER);
        let store = store.ok_or_else(|| Violation::Liveness("it has no store".to_owned()))?;
        if rows(store)? != rows(&host.chain.store)? {
            return Err(Violation::Validity("other rows than the chain's are stored".to_owned()));
        }
        if store.lowest() > prefinal_execution::Height::GENESIS {
            self.count(Kind::Restored, 1);
        }
        let slots = usize::try_from(tip.get()).unwrap_or(usize::MAX);
        Ok(Summary { slots, ..Summary::default() })
    }

    fn report(&self, outcome: Result<Summary, Violation>) -> ExecutionReport {
        let lost = self.simulation.counters().lost;
        self.told.borrow_mut().tally.add(Kind::Loss, lost);
        let most = self.simulation.host().most_bytes(FOLLOWER);
        ExecutionReport {
            outcome,
            tally: self.told.borrow().tally.clone(),
            most_kept: usize::try_from(most).unwrap_or(usize::MAX),
            took: self.simulation.now().since_start(),
            fingerprint: self.simulation.fingerprint(),
        }
    }
}

#[cfg(test)]
mod tests;
