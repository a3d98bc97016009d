//! Larger bounds than the tests have: `cargo run --release -p prefinal-model -- jolteon --views 3`.
use std::num::NonZeroUsize;

use clap::{Parser, ValueEnum};
use prefinal_contract::Rule;
use prefinal_model::desk::Terms;
use prefinal_model::dispel::Dispel;
use prefinal_model::jolteon::Jolteon;
use prefinal_model::search::{self, Report};
use prefinal_model::simplex::Simplex;
use prefinal_model::tendermint::Tendermint;
use prefinal_model::trantor::Trantor;

/// Visits every state of an engine under the release contract.
#[derive(Debug, Parser)]
struct Arguments {
    /// Whose rules.
    engine: Name,
    /// How many views, or rounds, before stabilisation.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=4))]
    views: u8,
    /// How many blocks a leader may propose on one parent.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    twins: u8,
    /// Trantor: how many heights are open.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    heights: u8,
    /// Jolteon: the last round that anybody times out of.
    #[arg(long)]
    timeouts: Option<u8>,
    /// The rule to leave out of the contract, 1 to 9.
    #[arg(long)]
    without: Option<u8>,
    /// On how many threads. Memory is about 50 bytes a state.
    #[arg(long, default_value = "1")]
    threads: NonZeroUsize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Name {
    Tendermint,
    Jolteon,
    Simplex,
    Trantor,
    Dispel,
}

fn main() {
    let Arguments { engine, views, twins, heights, timeouts, without, threads } =
        Arguments::parse();
    let rule = Rule::ALL.into_iter().find(|rule| Some(rule.number()) == without);
    let terms = rule.map_or(Terms::WHOLE, Terms::without);
    let report: Report = match engine {
        Name::Tendermint => search::all(Tendermint::new(terms, views), threads),
        Name::Jolteon => {
            let timeouts = timeouts.unwrap_or(views);
            let engine = Jolteon { twins, timeouts, ..Jolteon::new(terms, views) };
            search::all(engine, threads)
        }
        Name::Simplex => search::all(Simplex { twins, ..Simplex::new(terms, views) }, threads),
        Name::Trantor => {
            let engine = Trantor { twins, ..Trantor::new(terms, heights, views) };
            search::all(engine, threads)
        }
        Name::Dispel => search::all(Dispel::new(terms, views), threads),
    };
    println!("{engine:?}, {views} views: {report}");
    if !report.found.is_empty() {
        std::process::exit(1);
    }
}
