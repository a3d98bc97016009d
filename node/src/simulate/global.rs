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
use prefinal_lab::local::{WaitCounts, WaitReason};
use prefinal_lab::timeline::SlotTimeline;
use prefinal_lab::waits::Waits;
use prefinal_protocol::Instant;

use super::Run;
use super::thresholds::records;
use crate::output::Sink;
use crate::table;

/// From global finalization to global reconstruction.
pub(super) fn gap(times: &SlotTimes) -> Duration {
    times.reconstructed.since(times.finalized)
}

/// The table, and what the theorems say of these runs.
pub(super) fn show(runs: &[Run]) {
    let header = ["from final to computable, ms", "slots", "at once", "mean", "p50", "p90", "p99"];
    let rows = runs.iter().map(|Run { name, outcome, .. }| {
        let gaps: Waits = outcome.global.iter().map(gap).collect();
        let at_once = outcome.global.iter().filter(|times| gap(times).is_zero()).count();
        let [mean, p50, p90, p99] = gaps.cells();
        let slots = [gaps.count(), at_once].map(|count| count.to_string());
        [vec![(*name).to_owned()], slots.to_vec(), vec![mean, p50, p90, p99]].concat()
    });
    say!("{}", table::table(&header, rows));
    for Run { name, outcome, .. } in runs {
        let mut counts: BTreeMap<Premise, usize> = BTreeMap::new();
        for times in &outcome.global {
            *counts.entry(times.premise).or_default() += 1;
        }
        for (premise, count) in counts {
            say!("{name}: {count} slots {}", meaning(premise));
        }
    }
    show_reasons(runs);
}

/// Why parties waited for values, of the runs of which it is asked.
fn show_reasons(runs: &[Run]) {
    let sums: Vec<(&str, WaitCounts)> = runs
        .iter()
        .map(|run| (run.name, run.outcome.global.iter().map(|times| times.waits).sum()))
        .filter(|(_, counts): &(_, WaitCounts)| counts.total() > 0)
        .collect();
    if sums.is_empty() {
        return;
    }
    let names = sums.iter().map(|(name, _)| *name);
    let header: Vec<&str> = std::iter::once("why parties wait for a value").chain(names).collect();
    let rows = WaitReason::ALL.into_iter().filter_map(|reason| {
        let counts: Vec<u32> = sums.iter().map(|(_, counts)| counts.of(reason)).collect();
        let cells = counts.iter().map(u32::to_string);
        let row = std::iter::once(excuse(reason).to_owned()).chain(cells).collect::<Vec<_>>();
        counts.iter().any(|count| *count > 0).then_some(row)
    });
    say!("{}", table::table(&header, rows));
}

/// A reason in words.
const fn excuse(reason: WaitReason) -> &'static str {
    match reason {
        WaitReason::AtOnce => "it does not (Theorems 5.3, 6.4)",
        WaitReason::InOrder => "a value before was missing",
        WaitReason::Computing => "partials were there: work",
        WaitReason::OtherVotes => "final by other votes",
        WaitReason::ByProposer => "final proposer by proposer",
        WaitReason::Ramp => "voters hold too few shares",
        WaitReason::Unbound => "a voter need not reveal",
        WaitReason::Link => "a link lost or delayed one",
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

/// Writes the slots as `slots.csv` and the plot of the fast path as `slots.svg`.
pub(super) fn write(folder: &File, runs: &[Run]) -> Result<[PathBuf; 2], Failure> {
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
    let reasons = WaitReason::ALL.map(|reason| reason.to_string().replace('-', "_"));
    let header = [&header.map(str::to_owned)[..], &reasons].concat();
    let rows = runs.iter().flat_map(|Run { key, outcome, .. }| {
        outcome.timelines().into_iter().map(|slot| row(key, &slot)).collect::<Vec<_>>()
    });
    records(&csv, std::iter::once(header).chain(rows))?;
    for Run { key, outcome, .. } in runs.iter().filter(|run| run.key == "fast") {
        draw(&svg, key, &outcome.timelines())?;
    }
    Ok([csv, svg])
}

fn row(run: &str, slot: &SlotTimeline) -> Vec<String> {
    let micros = |span: Duration| span.as_micros().to_string();
    let at = |instant: Instant| micros(instant.since_start());
    let SlotTimes { slot: number, finalized, reconstructed, path, premise, waits } = slot.global;
    let head = [run.to_owned(), number.get().to_string(), at(finalized), at(reconstructed)];
    let kind = [path.to_string(), premise.to_string()];
    let spans = [slot.known, slot.valued].map(|span| [at(span.first), at(span.last)]).concat();
    let reasons = WaitReason::ALL.map(|reason| waits.of(reason).to_string());
    [&head[..], &kind, &spans, &[micros(slot.longest)], &reasons].concat()
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
