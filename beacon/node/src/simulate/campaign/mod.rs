//! `prefinal simulate --campaign`: thousands of executions under attack, each from its seed.
//!
//! | module      | what                                                             |
//! |-------------|------------------------------------------------------------------|
//! | `board`     | committees with their keys                                        |
//! | `draw`      | what happens in an execution, drawn from its seed                  |
//! | `vice`      | what Byzantine parties do; `forge`: wrong partials                 |
//! | `execution` | one execution and what must come of it                             |
//! | `tally`     | what was done, in numbers                                          |
//!
//! What must hold is in [`super::check`]; that everybody reveals after the network has healed, and how
//! much is kept, in `execution`. Executions run side by side on all cores, and none depends on another:
//! the seed of one that fails is printed with the command that plays it again, event by event.

mod board;
mod draw;
mod execution;
mod forge;
mod tally;
mod vice;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant as Clock;

use ::beacon::{Bls, Wvuf};
use sim::Dice;
use weighted_rounding::{Ratio, Stake};

use self::board::{Board, Layout};
use self::draw::Draw;
use self::execution::Played;
use self::forge::Forge;
use self::tally::Tally;
use super::committee::Knowledge;
use crate::failure::Failure;
use crate::scheme::{Keyed, Name};
use crate::stakes::StakeTable;
use crate::table;

/// What a campaign is asked for.
pub(super) struct Order {
    /// The first seed.
    pub(super) first: u64,
    /// How many.
    pub(super) executions: u64,
    /// `None` draws it from the seed.
    pub(super) scheme: Option<Name>,
    /// Whose largest holders play; `None` plays the built-in committees.
    pub(super) table: Option<StakeTable>,
    /// The stake that the fast path needs to reconstruct.
    pub(super) fast: Ratio,
    /// The command that asked, but for its seeds.
    pub(super) command: String,
}

/// All boards of one scheme, each made when it is first played.
struct Hall<'a, S: Keyed> {
    layouts: &'a [Layout],
    boards: Vec<OnceLock<Result<Board<S>, Failure>>>,
}

/// What one thread plays with.
struct Player<'a, S: Keyed> {
    hall: &'a Hall<'a, S>,
    knowledge: BTreeMap<usize, Knowledge<S>>,
}

/// A campaign's executions so far.
#[derive(Default)]
struct Report {
    executions: u64,
    violations: u64,
    slots: usize,
    /// By the slow path, the fast path, tight thresholds.
    values: [usize; 3],
    tally: Tally,
    most_kept: usize,
    took: std::time::Duration,
    fingerprint: u64,
}

impl<'a, S: Forge> Hall<'a, S> {
    fn new(layouts: &'a [Layout]) -> Self {
        Self { layouts, boards: layouts.iter().map(|_| OnceLock::new()).collect() }
    }

    fn board(&self, number: usize) -> Result<&Board<S>, Failure> {
        let missing = || Failure::bad_input(format_args!("no board {number}"));
        let layout = self.layouts.get(number).ok_or_else(missing)?;
        let board = self.boards.get(number).ok_or_else(missing)?;
        let made = board.get_or_init(|| Board::new(layout));
        made.as_ref().map_err(Failure::bad_input)
    }
}

impl<S: Forge> Player<'_, S> {
    fn play(&mut self, seed: u64, draw: &Draw) -> Result<Played, Failure> {
        let board = self.hall.board(draw.board)?;
        let knowledge = self.knowledge.remove(&draw.board).unwrap_or_default();
        let (played, knowledge) = execution::play(seed, draw, board, knowledge)?;
        self.knowledge.insert(draw.board, knowledge);
        Ok(played)
    }
}

impl Report {
    fn add(&mut self, played: &Played) {
        self.executions += 1;
        self.tally.merge(&played.tally);
        self.most_kept = self.most_kept.max(played.most_kept);
        self.took += played.took;
        self.fingerprint = self.fingerprint.rotate_left(7) ^ played.fingerprint;
        match &played.outcome {
            Ok(summary) => {
                self.slots += summary.slots;
                let values = [summary.slow, summary.fast, summary.tight];
                self.values.iter_mut().zip(values).for_each(|(sum, more)| *sum += more);
            }
            Err(_) => self.violations += 1,
        }
    }

    fn print(&self) {
        let rows = self.tally.rows().map(|(kind, count)| {
            [kind.to_string(), count.executions.to_string(), count.times.to_string()]
        });
        println!("{}", table::table(&["what was done", "executions", "times"], rows));
        let [slow, fast, tight] = self.values;
        println!(
            "{} executions, {} faults, {:.0} s of virtual time; {} slots got their values, of single \
             parties {slow} by the slow path, {fast} by the fast, {tight} by tight thresholds; at most {} \
             partials kept by one party; fingerprint {:016x}; {} violations",
            self.executions,
            self.tally.total(),
            self.took.as_secs_f64(),
            self.slots,
            self.most_kept,
            self.fingerprint,
            self.violations
        );
    }
}

impl Order {
    /// Plays all executions, on all cores, and reports.
    ///
    /// # Errors
    /// Boards that cannot be made; [`Failure::Disagreement`] if anything did not hold.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let started = Clock::now();
        let played = self.play_all()?;
        let mut report = Report::default();
        for (seed, played) in &played {
            report.add(played);
            if let Err(violation) = &played.outcome {
                println!("seed {seed}: {violation}\n  replay: {} --only {seed}", self.command);
            }
        }
        report.print();
        println!("{:.1} s", started.elapsed().as_secs_f64());
        if report.violations > 0 {
            let what = format!("{} of {} executions", report.violations, report.executions);
            return Err(Failure::Disagreement(format!("violations in {what}")));
        }
        Ok(())
    }

    fn play_all(&self) -> Result<BTreeMap<u64, Played>, Failure> {
        let layouts = Layout::all(self.table.as_ref(), self.fast)?;
        let stakes: Vec<Vec<Stake>> = layouts.iter().map(|one| one.stakes().to_vec()).collect();
        let halls = (Hall::<Bls>::new(&layouts), Hall::<Wvuf>::new(&layouts));
        let next = AtomicU64::new(0);
        let done = Mutex::new(BTreeMap::new());
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let work = || {
            let mut bls = Player { hall: &halls.0, knowledge: BTreeMap::new() };
            let mut wvuf = Player { hall: &halls.1, knowledge: BTreeMap::new() };
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= self.executions {
                    return;
                }
                let seed = self.first.wrapping_add(number);
                let draw = Draw::new(seed, &stakes);
                let played = match self.scheme.unwrap_or_else(|| scheme_of(seed)) {
                    Name::Bls => bls.play(seed, &draw),
                    Name::Wvuf => wvuf.play(seed, &draw),
                };
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                done.insert(seed, played);
            }
        };
        std::thread::scope(|scope| {
            (0..threads).for_each(|_| drop(scope.spawn(work)));
        });
        let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.into_iter().map(|(seed, played)| Ok((seed, played?))).collect()
    }
}

/// Drawn apart from everything else, so that an execution is the same in both.
fn scheme_of(seed: u64) -> Name {
    if Dice::new(!seed).below(2) == 0 { Name::Bls } else { Name::Wvuf }
}
