//! Thousands of executions under attack, each from its seed.
//!
//! | module       | what it holds                                                               |
//! |--------------|-----------------------------------------------------------------------------|
//! | `draw`       | what happens in an execution, drawn from its seed                             |
//! | `vice`       | what Byzantine parties do; `forge`: wrong partials; `calm`: one vice alone, for tests |
//! | `corrupt`    | what they do with their engine's messages; `trantor`, `dispel`: with those of these |
//! | `execution`  | one execution from its beginning to its end                                   |
//! | `arena`      | any engine with any function: `member`, one party; `account`, what must hold   |
//! | `permissive` | an engine that does all that Definition 5 allows                              |
//! | `ideal`      | the ideal threshold function, without a curve                                  |
//! | `breach`     | a beacon without one rule of its contract                                      |
//! | `board`      | committees with keys that they generated; `hand`, `table`: keys and engines    |
//! | `validators` | whole validators on Jolteon, which continue from these                       |
//! | `replica`    | Trantor with an application, checkpoints and state transfer, without a function |
//! | `pipeline`   | Jolteon with execution: certified states on disks that fail                     |
//! | [`sync`](crate::sync) | followers of a chain among hostile peers, without an engine          |
//! | `tally`      | numbers of what was done; `sums`: executions taken together                   |
//!
//! Engine and function are drawn separately from the script. So an execution has the same script with
//! every engine and function:
//!
//! | function | drawn      | engine                                                        |
//! |----------|------------|---------------------------------------------------------------|
//! | ideal    | 49 of 50   | permissive 36 of 40, each listed engine one                    |
//! | real     | 1 of 50    | permissive and each listed engine alike; Jolteon in the whole validator, Trantor too with a change of committee |
//!
//! The properties that must hold are in `account` and [`super::check`]. `execution` checks that
//! everybody reveals after the network has healed, and how much is kept. Executions run side by side on
//! all cores, and none depends on another. The seed of one that fails plays it again, event by event.

mod account;
mod arena;
pub(crate) mod board;
mod breach;
#[cfg(test)]
mod calm;
mod corrupt;
mod dispel;
mod draw;
mod execution;
mod forge;
pub(crate) mod hand;
pub(crate) mod ideal;
pub(crate) mod member;
pub(crate) mod permissive;
mod pipeline;
mod replica;
mod sums;
mod table;
mod tally;
mod trantor;
mod validators;
mod vice;

use crate::priced::Priced;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

pub use ::prefinal_beacon::contract::Rule;
use ::prefinal_beacon::{Bls, Wvuf};
use prefinal_engine::Engine;
use prefinal_sim::Dice;
use prefinal_trantor::Trantor;
use prefinal_weighted_rounding::Ratio;

use self::board::{Board, Layout};
use self::corrupt::Corruptible;
use self::draw::{Draw, Stakes};
pub use self::execution::ExecutionReport;
pub(crate) use self::forge::Forge;
use self::ideal::Ideal;
use self::pipeline::Guild;
use self::replica::Company;
pub use self::sums::Sums;
use self::table::{Game, Table};
pub use self::tally::{Certificate, Count, Flaw, Kind, Tally};
pub use self::vice::Vice;
pub(crate) use self::vice::{Junk, Sinner};
use super::check::Violation;
use super::committee::{Knowledge, Subject};
use crate::failure::Failure;
use crate::stakes::StakeTable;
use prefinal_registry::engine;

/// One in so many executions has a real function.
const REAL: u64 = 50;

/// One in so many executions checks the engine's signatures on the curve.
const ON_THE_CURVE: u64 = 20;

/// The engine that an execution runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EngineName {
    /// One that validators run
    Listed(engine::Name),
    /// One that does all that Definition 5 of the paper allows
    Permissive,
    /// Trantor with an application, whose checkpoints are taken from one another. There is no function
    Replica,
    /// Jolteon with the pipeline from a proposal to its certified, durable state. The function is ideal
    Pipeline,
    /// None: followers of a chain among hostile peers. There is no function
    Sync,
}

/// The function that the parties of an execution evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Function {
    /// The ideal threshold function: bookkeeping, no curve
    Ideal,
    /// Threshold BLS
    Bls,
    /// The weighted verifiable unpredictable function
    Wvuf,
}

/// How signatures of engines are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signatures {
    /// Every signature on the curve
    Real,
    /// By what was seen to leave each party, and on the curve only what faulty parties make themselves. Executions
    /// are the same, and cost less
    Seen,
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listed(name) => name.fmt(f),
            Self::Permissive => f.write_str("permissive"),
            Self::Replica => f.write_str("replica"),
            Self::Pipeline => f.write_str("pipeline"),
            Self::Sync => f.write_str("sync"),
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ideal => "ideal",
            Self::Bls => "bls",
            Self::Wvuf => "wvuf",
        })
    }
}

/// The parameters of a campaign.
pub struct Order {
    /// The first seed.
    pub first: u64,
    /// Number of executions.
    pub executions: u64,
    /// The engine; `None` draws it from the seed.
    pub engine: Option<EngineName>,
    /// The function; `None` draws it from the seed.
    pub function: Option<Function>,
    /// How signatures are checked; `None` draws it from the seed.
    pub signatures: Option<Signatures>,
    /// The rule that is left out of the contract. The first violation then ends the campaign.
    pub without: Option<Rule>,
    /// The table whose largest holders take part; `None` uses the built-in committees.
    pub table: Option<StakeTable>,
    /// The part of the stake that the fast path needs to reconstruct.
    pub fast: Ratio,
    /// Whether whole validators hand over to a second committee on the way: a party leaves, and one that
    /// has waited joins in its place.
    pub handover: bool,
}

/// What is made when it is first played.
type Late<T> = OnceLock<Result<T, Failure>>;

/// All committees, with the keys of every function.
struct Hall<'a> {
    layouts: &'a [Layout],
    ideal: Vec<Late<Table<Ideal>>>,
    bls: Vec<Late<Real<Bls>>>,
    wvuf: Vec<Late<Real<Wvuf>>>,
    companies: Vec<Late<Company>>,
    guilds: Vec<Late<Arc<Guild>>>,
}

/// Keys that were generated.
struct Real<S: Forge + Priced> {
    board: Board<S>,
    /// The same committee on Trantor, if it changes on the way.
    on_trantor: Late<Board<S, Trantor>>,
    table: Table<S>,
}

/// What one thread knows of values, by the number of the committee.
#[derive(Default)]
struct Player {
    bls: Known<Bls>,
    wvuf: Known<Wvuf>,
}

struct Known<S: Priced> {
    jolteon: BTreeMap<usize, Knowledge<S>>,
    trantor: BTreeMap<usize, Knowledge<S, Trantor>>,
}

// Derived, it would ask for a default of the scheme.
impl<S: Priced> Default for Known<S> {
    fn default() -> Self {
        Self { jolteon: BTreeMap::new(), trantor: BTreeMap::new() }
    }
}

/// Whole validators. What is known of the committee's values goes in, by its number, and comes out.
fn play_on<S: Forge + Priced, E: Corruptible + Subject>(
    board: &Board<S, E>,
    seed: u64,
    draw: &Draw,
    known: &mut BTreeMap<usize, Knowledge<S, E>>,
) -> Result<ExecutionReport, Failure>
where
    <E as Engine>::Message: Junk,
{
    let knowledge = known.remove(&draw.board).unwrap_or_default();
    let (played, knowledge) = validators::play(seed, draw, board, knowledge)?;
    known.insert(draw.board, knowledge);
    Ok(played)
}

impl<S: Forge + Priced> Real<S> {
    fn new(layout: &Layout) -> Result<Self, Failure> {
        let board = Board::new(layout)?;
        let table = Table::of_board(&board)?;
        Ok(Self { board, on_trantor: OnceLock::new(), table })
    }

    fn play(
        &self,
        game: Game,
        (draw, layout): (&Draw, &Layout),
        known: &mut Known<S>,
    ) -> Result<ExecutionReport, Failure> {
        match game.engine {
            EngineName::Listed(engine::Name::Jolteon) if game.without.is_none() => {
                play_on(&self.board, game.seed, draw, &mut known.jolteon)
            }
            EngineName::Listed(engine::Name::Trantor)
                if game.without.is_none() && layout.changes() =>
            {
                let board = self.on_trantor.get_or_init(|| Board::new(layout));
                let board = board.as_ref().map_err(Failure::bad_input)?;
                play_on(board, game.seed, draw, &mut known.trantor)
            }
            // The keys are for inputs without a value.
            _ => self.table.play(game, draw, false),
        }
    }
}

fn late<'a, T>(
    made: &'a [Late<T>],
    layouts: &[Layout],
    number: usize,
    make: impl FnOnce(&Layout) -> Result<T, Failure>,
) -> Result<&'a T, Failure> {
    let missing = || Failure::bad_input(format_args!("no committee {number}"));
    let (layout, cell) = layouts.get(number).zip(made.get(number)).ok_or_else(missing)?;
    cell.get_or_init(|| make(layout)).as_ref().map_err(Failure::bad_input)
}

impl<'a> Hall<'a> {
    fn new(layouts: &'a [Layout]) -> Self {
        fn empty<T>(layouts: &[Layout]) -> Vec<Late<T>> {
            layouts.iter().map(|_| OnceLock::new()).collect()
        }
        let (ideal, bls, wvuf) = (empty(layouts), empty(layouts), empty(layouts));
        let (companies, guilds) = (empty(layouts), empty(layouts));
        Self { layouts, ideal, bls, wvuf, companies, guilds }
    }

    fn play_pipeline(&self, seed: u64, draw: &Draw) -> Result<ExecutionReport, Failure> {
        let make = |layout: &Layout| Guild::new(layout).map(Arc::new);
        pipeline::play(seed, draw, late(&self.guilds, self.layouts, draw.board, make)?)
    }

    fn play_replica(&self, game: Game, draw: &Draw) -> Result<ExecutionReport, Failure> {
        let company = late(&self.companies, self.layouts, draw.board, Company::new)?;
        replica::play(game.seed, game.signatures, draw, company)
    }

    fn play(
        &self,
        game: Game,
        function: Function,
        draw: &Draw,
        player: &mut Player,
    ) -> Result<ExecutionReport, Failure> {
        let (layouts, board) = (self.layouts, draw.board);
        let missing = || Failure::bad_input(format_args!("no committee {board}"));
        let of = (draw, layouts.get(board).ok_or_else(missing)?);
        match function {
            Function::Ideal => {
                late(&self.ideal, layouts, board, Table::ideal)?.play(game, draw, true)
            }
            Function::Bls => {
                late(&self.bls, layouts, board, Real::new)?.play(game, of, &mut player.bls)
            }
            Function::Wvuf => {
                late(&self.wvuf, layouts, board, Real::new)?.play(game, of, &mut player.wvuf)
            }
        }
    }
}

/// An observer of a campaign, called from many threads.
pub trait Watch: Sync {
    /// An execution has ended. Executions end in no particular order.
    fn played(&self, game: (EngineName, Function), seed: u64, played: &ExecutionReport);

    /// Whether the campaign may stop.
    fn is_over(&self) -> bool {
        false
    }
}

impl Order {
    /// Plays all executions, on all cores. Violations are reported to `watch` with each execution.
    ///
    /// # Errors
    /// If a committee cannot be made.
    pub fn run(&self, watch: &impl Watch) -> Result<(), Failure> {
        let layouts = Layout::all(self.table.as_ref(), self.fast, self.handover)?;
        self.play_all(&layouts, watch)
    }

    fn play_all(&self, layouts: &[Layout], watch: &impl Watch) -> Result<(), Failure> {
        let stakes: Vec<Stakes> = layouts.iter().map(Layout::stakes).collect();
        let companies: Vec<Stakes> = layouts.iter().map(Company::stakes).collect();
        let stakes = (&*stakes, &*companies);
        let hall = Hall::new(layouts);
        let (next, over) = (AtomicU64::new(0), AtomicBool::new(false));
        let failed = Mutex::new(Ok(()));
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let work = || {
            let mut player = Player::default();
            while !over.load(Ordering::Relaxed) && !watch.is_over() {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= self.executions {
                    return;
                }
                let seed = self.first.wrapping_add(number);
                match self.play_one(seed, stakes, &hall, &mut player) {
                    Ok((kind, played)) => {
                        watch.played(kind, seed, &played);
                        if self.without.is_some() && played.outcome.is_err() {
                            over.store(true, Ordering::Relaxed);
                        }
                    }
                    Err(failure) => {
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Err(failure);
                        over.store(true, Ordering::Relaxed);
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            (0..threads).for_each(|_| drop(scope.spawn(work)));
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn play_one(
        &self,
        seed: u64,
        (stakes, companies): (&[Stakes], &[Stakes]),
        hall: &Hall<'_>,
        player: &mut Player,
    ) -> Result<((EngineName, Function), ExecutionReport), Failure> {
        let drawn = kind_of(seed);
        let kind = (self.engine.unwrap_or(drawn.0), self.function.unwrap_or(drawn.1));
        let signatures = self.signatures.unwrap_or_else(|| signatures_of(seed));
        let game = Game { seed, engine: kind.0, signatures, without: self.without };
        let play = AssertUnwindSafe(|| match kind.0 {
            EngineName::Replica => hall.play_replica(game, &Draw::new(seed, companies)),
            EngineName::Pipeline => hall.play_pipeline(seed, &Draw::new(seed, stakes)),
            EngineName::Sync => crate::sync::play(seed),
            _ => hall.play(game, kind.1, &Draw::new(seed, stakes), player),
        });
        // What panics is a violation like any other, and the others are still played.
        let played = catch_unwind(play).unwrap_or_else(|_| {
            let outcome = Err(Violation::Liveness("the execution ends in a panic".to_owned()));
            let (tally, took) = (Tally::default(), Duration::ZERO);
            Ok(ExecutionReport { outcome, tally, most_kept: 0, took, fingerprint: seed })
        })?;
        Ok((kind, played))
    }
}

/// Drawn apart from everything else, so that an execution has the same script with each.
fn kind_of(seed: u64) -> (EngineName, Function) {
    let mut dice = Dice::new(!seed);
    if dice.below(REAL) > 0 {
        return (drawn(dice.below(40)), Function::Ideal);
    }
    let function = if dice.below(2) == 0 { Function::Bls } else { Function::Wvuf };
    let engines = u64::try_from(engine::Name::ALL.len()).unwrap_or(u64::MAX);
    (drawn(dice.below(engines.saturating_add(1))), function)
}

/// Drawn apart as well, for they change nothing.
fn signatures_of(seed: u64) -> Signatures {
    let dice = Dice::new(seed.rotate_left(32)).below(ON_THE_CURVE);
    if dice == 0 { Signatures::Real } else { Signatures::Seen }
}

/// The first numbers are of the listed engines, one each.
fn drawn(number: u64) -> EngineName {
    let listed = usize::try_from(number).ok().and_then(|number| engine::Name::ALL.get(number));
    listed.map_or(EngineName::Permissive, |name| EngineName::Listed(*name))
}
