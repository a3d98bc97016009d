//! Global times: when a slot is final whether or not anybody knows it, and when anybody could compute its value.
//!
//! [`prefinal_lab::global`] takes and checks them; here is how they are shown: a table, a line for each slot as CSV,
//! and a plot of what happens to a slot.

use std::collections::BTreeMap;
use std::path::{Path as File, PathBuf};
use std::time::Duration;

use prefinal_chart::{Axis, Legend, Line, Lines, Scale};
use prefinal_lab::Failure;
use prefinal_lab::global::{Premise, SlotTimes};
use prefinal_lab::latency::Outcome;
use prefinal_lab::timeline::SlotTimeline;
use prefinal_lab::waits::Waits;
use prefinal_protocol::Instant;

use super::thresholds::records;
use crate::output::Sink;
use crate::table;

/// The runs of an experiment, by their names.
type Runs<'a> = [(&'a str, &'a Outcome)];

fn gap(times: &SlotTimes) -> Duration {
    times.reconstructed.since(times.finalized)
}

/// The table, and what the theorems say of these runs.
pub(super) fn show(runs: &Runs<'_>) {
    let header = ["from final to computable, ms", "slots", "at once", "mean", "p50", "p90", "p99"];
    let rows = runs.iter().map(|(name, outcome)| {
        let gaps: Waits = outcome.global.iter().map(gap).collect();
        let at_once = outcome.global.iter().filter(|times| gap(times).is_zero()).count();
        let [mean, p50, p90, p99] = gaps.cells();
        let slots = [gaps.count(), at_once].map(|count| count.to_string());
        [vec![(*name).to_owned()], slots.to_vec(), vec![mean, p50, p90, p99]].concat()
    });
    say!("{}", table::table(&header, rows));
    for (name, outcome) in runs {
        let mut counts: BTreeMap<Premise, usize> = BTreeMap::new();
        for times in &outcome.global {
            *counts.entry(times.premise).or_default() += 1;
        }
        for (premise, count) in counts {
            say!("{name}: {count} slots {}", meaning(premise));
        }
    }
}

/// What a premise means for a slot's times.
const fn meaning(premise: Premise) -> &'static str {
    match premise {
        Premise::Tight => "computable when final (Theorem 5.2)",
        Premise::Synchronous => "computable when final (Theorem 6.3: all voted at once)",
        Premise::Asynchronous => "computable when those that voted hold enough",
        Premise::SlowPath => "computable when those that know hold enough",
        Premise::OtherVotes => "final by other votes than those that release partials",
        Premise::ByProposer => "final proposer by proposer, where no theorem applies",
        Premise::Unbound => "with voters that need not reveal (no keys, a change)",
    }
}

/// Writes the slots as `slots.csv` and the plot of the last run as `slots.svg`.
pub(super) fn write(folder: &File, runs: &Runs<'_>) -> Result<[PathBuf; 2], Failure> {
    let (csv, svg) = (folder.join("slots.csv"), folder.join("slots.svg"));
    let header = [
        "run",
        "slot",
        "final_us",
        "computable_us",
        "path",
        "premise",
        "first_knows_us",
        "last_knows_us",
        "first_value_us",
        "last_value_us",
        "longest_wait_us",
    ];
    let rows = runs.iter().flat_map(|(name, outcome)| {
        outcome.timelines().into_iter().map(|slot| row(name, &slot)).collect::<Vec<_>>()
    });
    records(&csv, std::iter::once(header.map(str::to_owned).to_vec()).chain(rows))?;
    if let Some((name, outcome)) = runs.last() {
        draw(&svg, name, &outcome.timelines())?;
    }
    Ok([csv, svg])
}

fn row(run: &str, slot: &SlotTimeline) -> Vec<String> {
    let micros = |span: Duration| span.as_micros().to_string();
    let at = |instant: Instant| micros(instant.since_start());
    let SlotTimes { slot: number, finalized, reconstructed, path, premise } = slot.global;
    let head = [run.to_owned(), number.get().to_string(), at(finalized), at(reconstructed)];
    let kind = [path.to_string(), premise.to_string()];
    let spans = [slot.known, slot.valued].map(|span| [at(span.first), at(span.last)]).concat();
    [&head[..], &kind, &spans, &[micros(slot.longest)]].concat()
}

/// What happens after a slot is final, as cumulative distributions over the slots.
fn draw(file: &File, run: &str, slots: &[SlotTimeline]) -> Result<(), Failure> {
    let after = |of: fn(&SlotTimeline) -> Instant| -> Waits {
        slots.iter().map(|slot| of(slot).since(slot.global.finalized)).collect()
    };
    let kinds: [(&str, Waits); 5] = [
        ("anybody could compute the value", after(|slot| slot.global.reconstructed)),
        ("the first party knows it is final", after(|slot| slot.known.first)),
        ("the first party has the value", after(|slot| slot.valued.first)),
        ("the last party knows it is final", after(|slot| slot.known.last)),
        ("the last party has the value", after(|slot| slot.valued.last)),
    ];
    let longest = kinds.iter().filter_map(|(_, waits)| waits.longest()).max().unwrap_or_default();
    // With room for the legend.
    let right = (longest.as_secs_f64() * 1.6e3).max(1.0);
    let lines = kinds.iter().map(|(name, waits)| {
        let points = waits.quantiles().chain([(right, 100.0)]);
        Line { name: (*name).to_owned(), points: points.collect() }
    });
    let title = format!("What happens after a slot is final: {run} path");
    let picture = Lines {
        title: &title,
        across: Axis {
            label: "ms after the slot is final",
            range: 0.0..right,
            scale: Scale::Linear,
        },
        up: Axis { label: "slots, %", range: 0.0..100.0, scale: Scale::Linear },
        legend: Legend::LowerRight,
        dots: false,
        lines: lines.collect(),
    };
    Sink::open(file)?.picture(picture.svg())
}
