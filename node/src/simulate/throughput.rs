//! Median latency over throughput, as `--load` and `--execute` draw it.
use std::path::Path;

use prefinal_chart::{Axis, Legend, Line, Lines, Scale};
use prefinal_lab::Failure;
use prefinal_lab::waits::Waits;

use crate::output::Sink;

/// A plot of transactions a second and median latency in milliseconds.
pub(super) struct Plot<'a> {
    pub(super) title: &'a str,
    pub(super) legend: Legend,
    /// Curves that were measured, and the points of a paper.
    pub(super) curves: Vec<Line>,
    /// Throughputs with a name, each a line from the bottom to the top.
    pub(super) peaks: Vec<(String, f64)>,
    /// Latencies with a name, each a line from the left to the right.
    pub(super) floors: Vec<(String, f64)>,
}

/// What was measured at one load, as a point of a curve.
pub(super) fn place(per_second: u64, waits: &Waits) -> (f64, f64) {
    let wait = waits.percentile(50).unwrap_or_default();
    (f64::from(u32::try_from(per_second).unwrap_or(u32::MAX)), wait.as_secs_f64() * 1e3)
}

impl Plot<'_> {
    pub(super) fn write(self, svg: &Path) -> Result<(), Failure> {
        let Self { title, legend, curves: mut lines, peaks, floors } = self;
        let points = || lines.iter().flat_map(|line| line.points.iter().copied());
        let across = points().map(|(across, _)| across).chain(peaks.iter().map(|(_, at)| *at));
        let (right, top) = (
            across.fold(1.0, f64::max) * 1.05,
            points().map(|(_, up)| up).fold(1.0, f64::max) * 1.1,
        );
        let line = |name, points: [_; 2]| Line { name, points: points.into() };
        lines.extend(peaks.into_iter().map(|(name, at)| line(name, [(at, 0.0), (at, top)])));
        lines.extend(floors.into_iter().map(|(name, at)| line(name, [(0.0, at), (right, at)])));
        let axis = |label, end| Axis { label, range: 0.0..end, scale: Scale::Linear };
        let (across, up) = (axis("transactions a second", right), axis("median latency, ms", top));
        Sink::open(svg)?.picture(Lines { title, across, up, legend, dots: true, lines }.svg())
    }
}
