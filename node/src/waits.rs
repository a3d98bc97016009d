//! How waits are shown: table and plot.
//!
//! [`crate::devnet`] measures them in real time, [`prefinal_lab`] in virtual time.

use std::path::Path;

use comfy_table::Table;
use prefinal_lab::Failure;
use prefinal_lab::waits::{Waits, milliseconds};

use crate::output::Sink;
use crate::table;
use prefinal_chart::{Axis, Legend, Line, Lines, Scale};

/// The summary of each phase or path. The last column is the paper's Definition 12: the longest wait of any party
/// for a slot, as a mean over the slots.
#[must_use]
pub fn table(rows: &[(&str, &Waits)]) -> Table {
    let header = ["wait after finality, ms", "values", "mean", "p50", "p90", "p99", "longest"];
    let rows = rows.iter().filter(|(_, waits)| waits.count() > 0).map(|(name, waits)| {
        let [mean, p50, p90, p99, longest] = waits.cells_with_longest();
        [(*name).to_owned(), waits.count().to_string(), mean, p50, p90, p99, longest]
    });
    table::table(&header, rows)
}

/// Draws the cumulative distribution of each path's waits into an SVG file.
///
/// # Errors
/// What the file system or the plotting library says, with the file's name.
pub fn plot(path: &Path, title: &str, paths: &[(&str, &Waits)]) -> Result<(), Failure> {
    let longest = paths.iter().filter_map(|(_, waits)| waits.percentile(99)).max();
    let right = (longest.unwrap_or_default().as_secs_f64() * 1.1e3).max(1.0);
    let lines = paths.iter().map(|(name, waits)| {
        let mean = waits.mean().map_or_else(|| "-".to_owned(), milliseconds);
        let points = waits.quantiles().filter(|(x, _)| *x <= right).chain([(right, 100.0)]);
        Line { name: format!("{name}: mean {mean} ms"), points: points.collect() }
    });
    let picture = Lines {
        title,
        across: Axis { label: "wait after finality, ms", range: 0.0..right, scale: Scale::Linear },
        up: Axis { label: "slots and parties, %", range: 0.0..100.0, scale: Scale::Linear },
        legend: Legend::LowerRight,
        dots: false,
        lines: lines.collect(),
    };
    Sink::open(path)?.picture(picture.svg())
}
