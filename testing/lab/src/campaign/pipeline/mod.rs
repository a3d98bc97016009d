//! The pipeline under attack: from a proposal to its certified, durable state, on Jolteon.
//!
//! Every party runs the engine, a beacon for the slot's value, a beacon for the certificate of the state, the
//! pipeline, and the real store with transfers on a disk that fails. The script is that of every execution (`draw`):
//! accidents, links, and what faulty parties do, among it twins, whose proposals contradict each other. In addition
//! are drawn:
//!
//! | drawn              | what it does                                                                     |
//! |--------------------|----------------------------------------------------------------------------------|
//! | switches, limits   | of each party: it may execute, write and sign early, and keep much or little        |
//! | other executors    | some faulty parties are honest, but compute something else, from some height or life on |
//! | eager parties      | some faulty parties sign the state of all that they execute, ordered or not          |
//! | failing disks      | a write of the store fails, the party crashes, and continues from what the disk kept |
//! | lateness           | proposals, orders, values and certificates reach the pipeline late and overtake each other |
//! | work               | executing and writing take some time, each time another one                        |
//!
//! Values come by the fast path and by the slow one, as the board has it. Partials of values are ideal, the
//! signatures on states real. What must hold is in `account`; as everywhere, all honest parties must commit
//! what is ordered after the network has healed. It is played on demand: no mixed campaign draws it.

mod account;
mod event;
mod host;
mod ledger;
mod party;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_execution::{Config, Height, Limits, Role, Switches};
use prefinal_protocol::Instant;
use prefinal_sim::{Chance, Dice, Disk, Seat, UnknownSeat};

use self::account::Account;
use self::event::{Happens, Observation};
pub(super) use self::host::Guild;
use self::host::PipelineHost;
use super::draw::Draw;
use super::execution::{Bounds, ExecutionReport, Stage};
use super::tally::Kind;
use crate::failure::Failure;
use crate::seating::Seating;

const BOUNDS: Bounds = Bounds { patience: Duration::from_secs(120), events: 1_000_000 };

/// How long a party with another executor has to find that out, after everybody else is done.
const DISCOVERY: Duration = Duration::from_secs(30);

const MS: Duration = Duration::from_millis(1);

/// Transfers that are submitted until the network heals.
const TRANSFERS: u32 = 24;

/// From when on a party computes something else.
#[derive(Clone, Copy, Debug)]
struct WrongFrom {
    from: Height,
    /// The first life of the process in which it does.
    life: u32,
}

/// What every party's host does wrong: no campaign draws it, tests see it caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), expect(dead_code, reason = "campaigns make no mistakes"))]
enum Mistake {
    /// The party signs another root than it has computed.
    SignsOtherRoot,
    /// A certificate counts for the height above its block.
    MovesCertificate,
    /// A certificate counts for the state that the party has computed, whatever it says.
    TrustsOwnState,
}

/// What is drawn for an execution in addition to its script.
struct Scenario {
    divergent: BTreeMap<Party, WrongFrom>,
    eager: BTreeSet<Party>,
    configs: BTreeMap<Seat, Config>,
    failures: BTreeMap<Seat, u64>,
    late: (Chance, Duration),
    /// What executing and writing take at most.
    execute: Duration,
    write: Duration,
    /// When a party with another executor crashes, and for how long.
    crashes: Vec<(Party, Instant, Duration)>,
    mistake: Option<Mistake>,
}

impl Scenario {
    /// Draws it, and what changes in the script: a party that executes something else has no other vice.
    fn new(seed: u64, draw: &mut Draw, parties: usize) -> Self {
        let mut dice = Dice::new(seed ^ 0x7069_7065_6c69_6e65);
        let heals = draw.heals.since_start();
        let (mut divergent, mut eager, mut crashes) =
            (BTreeMap::new(), BTreeSet::new(), Vec::new());
        for (party, vices) in &mut draw.vices {
            if dice.happens(Chance::percent(40)) {
                vices.clear();
                let life = if dice.happens(Chance::percent(30)) { 2 } else { 1 };
                divergent
                    .insert(*party, WrongFrom { from: Height::new(dice.between(1, 20)), life });
                if life == 2 || dice.happens(Chance::percent(50)) {
                    let at = Instant::at(dice.duration(Duration::ZERO, heals));
                    crashes.push((*party, at, dice.duration(MS, MS * 800)));
                }
            } else if dice.happens(Chance::percent(40)) {
                eager.insert(*party);
            }
        }
        let seats = parties.saturating_add(draw.twins().len());
        let all: Vec<Seat> = (0..).map(Seat::new).take(seats).collect();
        let uniform = dice.happens(Chance::percent(30)).then(|| switches(&mut dice));
        let configs = all.iter().map(|seat| (*seat, config(&mut dice, uniform))).collect();
        let honest = |seat: &Seat| !draw.vices.contains_key(&Party::new(seat.get()));
        let mut failures = BTreeMap::new();
        for seat in all.iter().take(parties).filter(|seat| honest(seat)) {
            failures.insert(*seat, dice.below(4).saturating_sub(1));
        }
        let often = dice.below(4) * 12;
        let late = Chance::percent(u32::try_from(often).unwrap_or(0));
        Self {
            divergent,
            eager,
            configs,
            failures,
            late: (late, dice.duration(MS, MS * 600)),
            execute: dice.duration(Duration::ZERO, MS * 150),
            write: dice.duration(Duration::ZERO, MS * 80),
            crashes,
            mistake: None,
        }
    }

    fn divergence(&self, party: Party) -> Option<WrongFrom> {
        self.divergent.get(&party).copied()
    }

    fn is_eager(&self, party: Party) -> bool {
        self.eager.contains(&party)
    }

    fn failures(&self, seat: Seat) -> u64 {
        self.failures.get(&seat).copied().unwrap_or(0)
    }

    fn config(&self, seat: Seat) -> Config {
        let usual =
            Config { role: Role::Validator, switches: Switches::ON, limits: Limits::default() };
        self.configs.get(&seat).copied().unwrap_or(usual)
    }
}

fn switches(dice: &mut Dice) -> Switches {
    let mut on = || dice.happens(Chance::percent(70));
    Switches { opt_execute: on(), opt_commit: on(), piggyback: on() }
}

fn config(dice: &mut Dice, uniform: Option<Switches>) -> Config {
    let own = switches(dice);
    let forks = usize::try_from(dice.between(1, 3)).unwrap_or(1);
    let proposals = usize::try_from(dice.between(1, 12)).unwrap_or(1);
    let bytes = if dice.happens(Chance::percent(20)) { 1000 } else { 1 << 20 };
    let limits = Limits { forks, proposals, bytes, window: dice.between(1, 16) };
    Config { role: Role::Validator, switches: uniform.unwrap_or(own), limits }
}

/// Plays the execution of a seed, with all that is drawn for it.
pub(super) fn play(seed: u64, draw: &Draw, guild: &Arc<Guild>) -> Result<ExecutionReport, Failure> {
    play_with(None, seed, draw, guild)
}

fn play_with(
    mistake: Option<Mistake>,
    seed: u64,
    draw: &Draw,
    guild: &Arc<Guild>,
) -> Result<ExecutionReport, Failure> {
    let mut draw = draw.clone();
    let parties = guild.identities.len();
    let scenario = Scenario { mistake, ..Scenario::new(seed, &mut draw, parties) };
    let scenario = Rc::new(scenario);
    let seating = Seating::new((0..).map(Party::new).take(parties).chain(draw.twins()));
    let host = PipelineHost::new(guild, &scenario, seating, seed)?;
    let patience = if mistake.is_some() { MS * 3000 } else { BOUNDS.patience };
    let mut stage = Stage::new(seed, &draw, host, Bounds { patience, ..BOUNDS })?;
    disturb(&mut stage, seed, &scenario).map_err(Failure::bad_input)?;
    let progress = stage.run();
    // Parties with another executor are judged if they had the time to find it out.
    let mut divergent = BTreeSet::new();
    if progress.is_ok() {
        divergent.extend(scenario.divergent.keys().copied());
        discover(&mut stage, &divergent);
    }
    let host = stage.simulation.host();
    let account = Account {
        stakes: guild.stakes(),
        hand: &guild.hand,
        faulty: stage.faulty(),
        crashed: stage.simulation.crashed().map(|seat| host.seating.party(seat)).collect(),
        divergent: &divergent,
        parties: &|seat| host.seating.party(seat),
        notes: stage.simulation.notes(),
        kept: &|seat| stage.simulation.records(seat).to_vec(),
    };
    // What is broken says more than that nothing went on.
    let outcome = account.check().and_then(|summary| progress.map(|()| summary));
    count(&stage, &scenario);
    Ok(stage.played(outcome))
}

/// Transfers, and crashes of parties with another executor.
fn disturb(
    stage: &mut Stage<'_, PipelineHost>,
    seed: u64,
    scenario: &Scenario,
) -> Result<(), UnknownSeat> {
    let mut dice = Dice::new(seed ^ 0x7472_616e_7366_6572);
    let heals = stage.heals().since_start();
    let seats = u64::from(stage.simulation.host().seating.count());
    for number in 0..TRANSFERS {
        let at = Instant::at(heals / TRANSFERS * number);
        let seat = Seat::new(u32::try_from(dice.below(seats)).unwrap_or(0));
        let bytes = [seed.to_be_bytes(), u64::from(number).to_be_bytes()].concat();
        stage.simulation.input(seat, at, Happens::Submit(bytes))?;
    }
    for (party, at, down) in &scenario.crashes {
        let seat = Seat::new(party.get());
        stage.simulation.crash(seat, *at)?;
        stage.simulation.restart(seat, *at + *down, Disk::Kept)?;
    }
    Ok(())
}

/// Goes on until parties with another executor have found it out, or have had the time to.
fn discover(stage: &mut Stage<'_, PipelineHost>, divergent: &BTreeSet<Party>) {
    let until = stage.simulation.now() + DISCOVERY;
    while stage.simulation.now() < until {
        let stopped: BTreeSet<Seat> = (stage.simulation.notes().iter())
            .filter(|note| {
                matches!(note.event, Observation::Stopped(_) | Observation::NotStarted(_))
            })
            .map(|note| note.seat)
            .collect();
        let seats = divergent.iter().map(|party| Seat::new(party.get()));
        if seats.into_iter().all(|seat| stopped.contains(&seat)) {
            return;
        }
        stage.simulation.run((stage.simulation.now() + MS * 500).min(until));
    }
}

/// What was drawn here, for the report.
fn count(stage: &Stage<'_, PipelineHost>, scenario: &Scenario) {
    let many = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let seen = |is: fn(&Observation) -> bool| {
        many(stage.simulation.notes().iter().filter(|note| is(&note.event)).count())
    };
    stage.count(Kind::OtherExecutor, many(scenario.divergent.len()));
    stage.count(Kind::Crash, many(scenario.crashes.len()));
    stage.count(Kind::Late, seen(|event| matches!(event, Observation::Late)));
    stage.count(Kind::EagerSignature, seen(|event| matches!(event, Observation::Eager)));
    let stopped =
        |event: &Observation| matches!(event, Observation::Stopped(_) | Observation::NotStarted(_));
    stage.count(Kind::FoundDivergence, seen(stopped));
    let reverted = |event: &Observation| matches!(event, Observation::Started(_, optimistic) if !optimistic.is_empty());
    stage.count(Kind::Optimistic, seen(reverted));
}

#[cfg(test)]
mod tests;
