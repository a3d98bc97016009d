//! Which pictures there are: files, and the text for readers that cannot see them.
use std::error::Error;
use std::path::Path;

use prefinal_chart::{Axis, Bar, Bars, DrawError, Legend, Line, Lines, Scale, ends};

use crate::compare::Comparison;
use crate::growth;
use crate::latency::{self, Experiment};
use crate::markdown::{figure, ratio};

/// Colours of bars: ours ahead, a peer ahead, neither.
const AHEAD: usize = 2;
const BEHIND: usize = 1;
const PLAIN: usize = 0;

/// What is done once a slot; everything else that grows is done once an epoch.
const SLOT: [&str; 3] = ["threshold::", "wvuf::verify_all", "wvuf::combine"];

/// File, title, quantity, and whether it is about slots.
const GROWTH: [(&str, &str, &str, bool); 4] = [
    ("epoch-time.svg", "Once an epoch: time over size", "time", false),
    ("epoch-memory.svg", "Once an epoch: most memory at once over size", "peak", false),
    ("slot-time.svg", "Once a slot: time over size", "time", true),
    ("slot-memory.svg", "Once a slot: most memory at once over size", "peak", true),
];

/// A picture of one suite's figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Whose section they belong to.
    pub suite: &'static str,
    /// The file's name in the folder.
    pub file: &'static str,
    /// The text below it that says what it shows.
    pub text: &'static str,
}

/// Draws all for which there are figures.
///
/// # Errors
/// What the file system or the plotting library says, with the file's name.
pub fn draw(comparisons: &[Comparison], folder: &Path) -> Result<Vec<Picture>, String> {
    let of = |suite: &str| -> Vec<&Comparison> {
        comparisons.iter().filter(|one| one.of.suite == suite).collect()
    };
    let mut drawn = Vec::new();
    let bars = peers(&of("peers"));
    if !bars.bars.is_empty() {
        write(&folder.join("peers.svg"), bars.svg())?;
        drawn.push(Picture { suite: "peers", file: "peers.svg", text: bars.title });
    }
    for (file, title, quantity, of_slot) in GROWTH {
        let own = |one: &Comparison| SLOT.iter().any(|what| one.of.operation.starts_with(what));
        let mut comparisons = of("scale");
        comparisons.retain(|one| own(one) == of_slot);
        let lines = growth(&comparisons, quantity, title);
        if !lines.lines.is_empty() {
            write(&folder.join(file), lines.svg())?;
            drawn.push(Picture { suite: "scale", file, text: title });
        }
    }
    for experiment in latency::experiments(&of("geo")) {
        let (file, text) = match experiment.operation.as_str() {
            "geo::stake" => {
                let lines = stake(&experiment);
                write(&folder.join("stake.svg"), lines.svg())?;
                ("stake.svg", lines.title)
            }
            "geo::paths" => {
                let bars = waits(&experiment);
                write(&folder.join("paths.svg"), bars.svg())?;
                ("paths.svg", bars.title)
            }
            _ => continue,
        };
        drawn.push(Picture { suite: "geo", file, text });
    }
    for experiment in latency::experiments(&of("throughput")) {
        let lines = throughput(&experiment);
        if !lines.lines.is_empty() {
            write(&folder.join("throughput.svg"), lines.svg())?;
            drawn.push(Picture { suite: "throughput", file: "throughput.svg", text: lines.title });
        }
    }
    Ok(drawn)
}

fn write(file: &Path, svg: Result<String, DrawError>) -> Result<(), String> {
    let named = |error: &dyn Error| format!("{}: {error}", file.display());
    let svg = svg.map_err(|error| named(&error))?;
    std::fs::write(file, svg).map_err(|error| named(&error))
}

/// How many times our time a peer's is: of several for one operation and case, the fastest peer's.
fn peers(comparisons: &[&Comparison]) -> Bars<'static> {
    let mut fastest: Vec<(&Comparison, f64)> = Vec::new();
    let timed = comparisons.iter().filter(|one| one.of.quantity == "time");
    for (one, over) in timed.filter_map(|one| Some((*one, one.over_peer()?))) {
        let same = |(other, _): &&mut (&Comparison, f64)| {
            (&other.of.operation, &other.of.case) == (&one.of.operation, &one.of.case)
        };
        match fastest.iter_mut().find(same) {
            Some(known) if known.1 < over => *known = (one, over),
            Some(_) => {}
            None => fastest.push((one, over)),
        }
    }
    let bar = |(one, over): (&Comparison, f64)| Bar {
        name: format!("{}, {}", one.of.operation, one.of.case),
        value: 1.0 / over,
        label: one.best_peer().map_or_else(String::new, |peer| {
            format!("{} × ({})", ratio(1.0 / over), peer.implementation)
        }),
        reach: None,
        colour: if over > 1.0 { BEHIND } else { AHEAD },
    };
    Bars {
        title: "The fastest peer's time over ours; red: the peer is ahead",
        across: "times ours",
        scale: Scale::Powers(2),
        bars: fastest.into_iter().map(bar).collect(),
    }
}

fn growth<'a>(comparisons: &[&Comparison], quantity: &str, title: &'a str) -> Lines<'a> {
    let series = growth::series(comparisons).into_iter();
    let lines = series.filter(|one| one.quantity == quantity && one.points.len() > 1);
    let line = |one: growth::Series| {
        let slope = one.exponent().map_or_else(String::new, |slope| format!(" {slope:.2}"));
        Line { name: format!("{} ({}){slope}", one.operation, one.variable), points: one.points }
    };
    let lines: Vec<Line> = lines.map(line).collect();
    let (across, up) = (ends(&lines, |point| point.0), ends(&lines, |point| point.1));
    Lines {
        title,
        across: Axis {
            label: "size: parties n, shares W; exponents in the legend",
            range: across.start / 1.15..across.end * 1.15,
            scale: Scale::Powers(4),
        },
        up: Axis {
            label: if quantity == "time" { "ms" } else { "MiB" },
            range: up.start / 2.0..up.end * 2.0,
            scale: Scale::Powers(10),
        },
        legend: Legend::Beside,
        dots: true,
        lines,
    }
}

/// Means, with a line up to the 90th percentile.
fn waits(experiment: &Experiment) -> Bars<'static> {
    let reach: Vec<(&str, f64)> = experiment.column("p90").collect();
    let bar = |(case, mean): (&str, f64)| Bar {
        name: case.to_owned(),
        value: mean,
        label: figure(mean, "ms"),
        reach: reach.iter().find(|one| one.0 == case).map(|one| one.1),
        colour: if case.contains("slow") { BEHIND } else { PLAIN },
    };
    Bars {
        title: "Wait between finality and value: mean, and 90th percentile",
        across: "ms",
        scale: Scale::Linear,
        bars: experiment.column("mean").map(bar).collect(),
    }
}

/// The median and the 95th percentile of waits over what is delivered, a line for each kind of records.
fn throughput(experiment: &Experiment) -> Lines<'static> {
    let delivered: Vec<(&str, f64)> = experiment.column("delivered").collect();
    let line = |(records, quantity): (&str, &str)| {
        let own = experiment.column(quantity).filter(|(case, _)| case.ends_with(records));
        let point = |(case, wait): (&str, f64)| {
            let rate = delivered.iter().find(|one| one.0 == case)?.1;
            Some((rate, wait))
        };
        Line { name: format!("{quantity}, {records}"), points: own.filter_map(point).collect() }
    };
    let kinds = ["records in memory", "records on disk"];
    let kinds = kinds.into_iter().flat_map(|records| ["p50", "p95"].map(|one| (records, one)));
    let lines: Vec<Line> = kinds.map(line).filter(|line| !line.points.is_empty()).collect();
    let (across, up) = (ends(&lines, |point| point.0), ends(&lines, |point| point.1));
    let scale = Scale::Linear;
    Lines {
        title: "Wait of a transaction over throughput, four replicas on one machine",
        across: Axis { label: "transactions a second", range: 0.0..across.end * 1.05, scale },
        up: Axis { label: "ms", range: 0.0..up.end * 1.08, scale },
        legend: Legend::Beside,
        dots: true,
        lines,
    }
}

/// What the stake that the fast path needs costs in time.
fn stake(experiment: &Experiment) -> Lines<'static> {
    let needs: Vec<(&str, f64)> = experiment.column("stake").collect();
    let line = |(quantity, name): (&str, &str)| {
        // The paper's rounding is no point of our line.
        let own = |(case, _): &(&str, f64)| !case.contains("as the paper");
        let point = |(case, wait): (&str, f64)| {
            let stake = needs.iter().find(|one| one.0 == case)?.1;
            Some((stake, wait))
        };
        let mut points: Vec<(f64, f64)> =
            experiment.column(quantity).filter(own).filter_map(point).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        Line { name: name.to_owned(), points }
    };
    let kinds = [
        ("mean", "links alone"),
        ("mean, combined behind", "and combining behind the last partial"),
        ("mean, combined ahead", "and combining ahead"),
    ];
    let lines = kinds.into_iter().map(line).filter(|line| !line.points.is_empty());
    let lines: Vec<Line> = lines.collect();
    let (across, up) = (ends(&lines, |point| point.0), ends(&lines, |point| point.1));
    let margin = (across.end - across.start).max(1e-9) * 0.03;
    let scale = Scale::Linear;
    Lines {
        title: "The fast path's mean wait, by the stake from which it reconstructs",
        across: Axis {
            label: "stake, %",
            range: across.start - margin..across.end + margin,
            scale,
        },
        up: Axis { label: "ms", range: 0.0..up.end * 1.08, scale },
        legend: Legend::Beside,
        dots: true,
        lines,
    }
}
