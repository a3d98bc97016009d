//! `prefinal round`: stake tables in, weights and thresholds out.
//!
//! | module      | what                                                                     |
//! |-------------|--------------------------------------------------------------------------|
//! | `report`    | one table's rounding for people and as JSON                              |
//! | `plot`      | total weight against the stake that the fast path needs                  |
//!
//! The search, and the independent check of its result, are in `prefinal_weighted_rounding`.

mod plot;
mod report;

use std::path::PathBuf;

use clap::Args;
use prefinal_weighted_rounding::{Objective, Pair, Profile, Ratio, Rounding, Weight};

use crate::output::Sink;
use prefinal_lab::Failure;
use prefinal_lab::methods::Method;
use prefinal_lab::stakes::StakeTable;
pub use report::guarantees;
pub(crate) use report::parts_of;
use report::{Compared, Report};

/// What `round` is asked.
#[derive(Args, Debug)]
pub struct Options {
    /// Stake tables: a column `stake` of whole numbers, others beside it play no role; `-` is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Stake below which the slow path leaks nothing, and stake from which it reconstructs
    #[arg(long, value_name = "S R", num_args = 2, default_values = ["1/2", "2/3"])]
    slow: Vec<Ratio>,
    /// The same for the fast path [default: 2/3 5/6, with --budget 2/3 1]
    #[arg(long, value_name = "S R", num_args = 2)]
    fast: Vec<Ratio>,
    /// Let the fast path reconstruct from the least stake that this total weight buys
    #[arg(long, value_name = "WEIGHT", value_parser = clap::value_parser!(u32).range(1..))]
    budget: Option<u32>,
    /// Regions at which the exact search may look for something better, or the proof that there is nothing
    #[arg(long, value_name = "NODES", default_value_t = Objective::DEFAULT_NODES)]
    prove: u64,
    /// Steps that the scan may take for each of its offsets; ratios very close together want more
    #[arg(long, value_name = "STEPS", default_value_t = Objective::DEFAULT_STEPS)]
    steps: u64,
    /// Also print what the algorithms in use elsewhere give for the slow pair
    #[arg(long)]
    compare: bool,
    /// Draw total weight against the stake from which the fast path reconstructs
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Print every weight, not only the summary
    #[arg(long)]
    weights: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Rounds every table and prints what came out.
///
/// # Errors
/// If a table is bad, the ratios are in the wrong order, or a table cannot be rounded.
pub fn run(options: &Options) -> Result<(), Failure> {
    let task = Task::new(options)?;
    let tables: Vec<StakeTable> =
        options.files.iter().map(|file| StakeTable::read(file)).collect::<Result<_, _>>()?;
    let plot = options.plot.as_deref().map(Sink::open).transpose()?;
    let mut reports = Vec::with_capacity(tables.len());
    for table in &tables {
        let rounding = task.solve(table)?;
        let compared = if options.compare { task.compare(table)? } else { Vec::new() };
        let report = Report::new(table, &rounding, compared);
        if !options.json {
            report.print(&rounding, options.weights);
        }
        reports.push(report);
    }
    if options.json {
        say!("{}", serde_json::to_string_pretty(&reports).map_err(Failure::bad_input)?);
    }
    plot.map_or(Ok(()), |sink| task.plot(&tables, sink))
}

/// The options as the search wants them.
struct Task {
    slow: Pair,
    profile: Profile,
    objective: Objective,
    /// What the slow pair alone costs, for comparison.
    alone: Objective,
}

impl Task {
    fn new(options: &Options) -> Result<Self, Failure> {
        let budget = options.budget.map(Weight::new);
        let widest = if budget.is_some() { Ratio::ONE } else { Ratio::FIVE_SIXTHS };
        let fast = match options.fast.as_slice() {
            [] => &[Ratio::TWO_THIRDS, widest],
            asked => asked,
        };
        let (slow, fast) = (pair(Pair::SLOW, &options.slow)?, pair(Pair::FAST, fast)?);
        let limited = |objective: Objective| objective.prove(options.prove).steps(options.steps);
        let alone = limited(Objective::least_total());
        Ok(Self {
            profile: Profile::new(vec![slow.clone(), fast]).map_err(Failure::bad_input)?,
            slow,
            objective: budget
                .map_or(alone, |budget| limited(Objective::least_reconstruction(budget))),
            alone,
        })
    }

    fn solve(&self, table: &StakeTable) -> Result<Rounding, Failure> {
        solve(table, &self.profile, self.objective)
    }

    /// The slow pair alone: ours, then the others'.
    fn compare(&self, table: &StakeTable) -> Result<Vec<Compared>, Failure> {
        let alone = Profile::new(vec![self.slow.clone()]).map_err(Failure::bad_input)?;
        let ours = solve(table, &alone, self.alone)?;
        let mut rows = vec![Compared::ours(&ours)];
        let stakes = table.stakes();
        rows.extend(
            Method::ALL
                .map(|method| Compared::theirs(method, method.round(&stakes, &self.slow).as_ref())),
        );
        Ok(rows)
    }

    /// The plot's fast pair may need all stake, so that every budget has a point.
    fn plot(&self, tables: &[StakeTable], sink: Sink) -> Result<(), Failure> {
        let secrecy = self.profile.pairs().last().map_or(Ratio::TWO_THIRDS, Pair::secrecy);
        let open = pair(Pair::FAST, &[secrecy, Ratio::ONE])?;
        let profile = Profile::new(vec![self.slow.clone(), open]).map_err(Failure::bad_input)?;
        let curves = tables.iter().map(|table| plot::curve(table, &profile));
        plot::draw(sink, curves.collect::<Result<_, _>>()?)
    }
}

/// Rounds a table under a profile.
fn solve(table: &StakeTable, profile: &Profile, objective: Objective) -> Result<Rounding, Failure> {
    Rounding::solve(&table.stakes(), profile, objective)
        .map_err(|error| Failure::bad_input(format_args!("{}: {error}", table.name())))
}

pub(crate) fn pair(name: &str, ratios: &[Ratio]) -> Result<Pair, Failure> {
    match ratios {
        [secrecy, reconstruction] => Pair::new(name, *secrecy, *reconstruction)
            .map_err(|error| Failure::bad_input(format_args!("--{name}: {error}"))),
        _ => Err(Failure::bad_input(format_args!("--{name}: expected two fractions"))),
    }
}
