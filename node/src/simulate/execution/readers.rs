//! What waits for the slot's value in blocks with transactions that read it: those alone, or the whole block.
use std::time::Duration;

use prefinal_chart::{Axis, Legend, Line, Lines, Scale};
use prefinal_execution::Switches;
use prefinal_lab::Failure;
use prefinal_lab::execution::{Experiment, Point, Readers, ValuePath, Waiting};
use prefinal_lab::waits::milliseconds;

use super::super::Options;
use super::super::thresholds::records;
use crate::output::{Sink, aside};
use crate::table;

/// What waits, and for which path. The last one is what is done where a value belongs to a block and comes behind it.
const WAYS: [(&str, Waiting, ValuePath); 4] = [
    ("tail, fast", Waiting::Readers, ValuePath::Fast),
    ("tail, slow", Waiting::Readers, ValuePath::Slow),
    ("block, fast", Waiting::Block, ValuePath::Fast),
    ("block, slow", Waiting::Block, ValuePath::Slow),
];

/// One share of readers under one load, in each of the ways.
struct Row {
    percent: u8,
    load: u64,
    points: Vec<Point>,
}

pub(super) fn run(options: &Options, experiment: &Experiment) -> Result<(), Failure> {
    let asked = &options.execution;
    let mut rows = Vec::new();
    for &load in asked.loads() {
        for &percent in &asked.readers {
            let point = |(name, waiting, path)| {
                let readers = Readers { percent, path, waiting };
                let point = Experiment { readers, ..experiment.clone() };
                let point = point.run(load, Switches::ON)?;
                let wait = milliseconds(point.parts.behind_order());
                aside("measured", format_args!("{percent} % read, {name}, {load}/s, {wait} ms"));
                Ok(point)
            };
            let points: Result<Vec<Point>, Failure> = WAYS.into_iter().map(point).collect();
            rows.push(Row { percent, load, points: points? });
        }
    }
    print(experiment, &rows);
    write(options, &rows)
}

/// Executing the readers of one block, if all blocks are alike.
fn tail(experiment: &Experiment, row: &Row) -> Duration {
    let interval = u64::try_from(experiment.block_interval.as_millis()).unwrap_or(u64::MAX);
    let of_block = row.load.saturating_mul(interval) / 1000;
    experiment.prices.each(of_block.saturating_mul(row.percent.into()).div_ceil(100))
}

fn print(experiment: &Experiment, rows: &[Row]) {
    let value = |path| {
        let mut ways = rows.iter().flat_map(|row| WAYS.iter().zip(&row.points));
        let point = ways.find(|((.., of), _)| *of == path);
        point.map_or_else(|| "-".to_owned(), |(_, point)| milliseconds(point.value))
    };
    let (fast, slow) = (value(ValuePath::Fast), value(ValuePath::Slow));
    say!("the value is known {fast} ms behind the order by the fast path, {slow} ms by the slow");
    say!("milliseconds to execute what reads it (the tail), and on the average from the order");
    say!("to the durable state, if the tail waits for the value or the whole block does");
    let header = ["read", "load", "tail runs"].into_iter().chain(WAYS.map(|(name, ..)| name));
    let header: Vec<&str> = header.collect();
    let cells = rows.iter().map(|row| {
        let before = [
            format!("{} %", row.percent),
            row.load.to_string(),
            milliseconds(tail(experiment, row)),
        ];
        let waits = row.points.iter().map(|point| milliseconds(point.parts.behind_order()));
        before.into_iter().chain(waits).collect::<Vec<_>>()
    });
    say!("{}", table::table(&header, cells));
}

fn write(options: &Options, rows: &[Row]) -> Result<(), Failure> {
    let [csv, svg] = ["readers.csv", "readers.svg"].map(|name| options.out.join(name));
    let (executors, seed) = (options.execution.executors, options.committee.seed);
    let header = [
        "executors",
        "seed",
        "load_per_second",
        "readers_percent",
        "waiting",
        "value_us",
        "order_to_commit_us",
        "p50_us",
    ];
    let lines = rows.iter().flat_map(|row| {
        WAYS.iter().zip(&row.points).map(move |((name, ..), point)| {
            let numbers = [executors.to_string(), seed.to_string(), row.load.to_string()];
            let p50 = point.waits.percentile(50).unwrap_or_default();
            let times = [point.value, point.parts.behind_order(), p50];
            let what = [row.percent.to_string(), (*name).to_owned()];
            let times = times.map(|time| time.as_micros().to_string());
            numbers.into_iter().chain(what).chain(times).collect::<Vec<_>>()
        })
    });
    let header = header.map(str::to_owned).to_vec();
    records(&csv, std::iter::once(header).chain(lines))?;
    let first = rows.first().map(|row| row.load);
    let lines = WAYS.iter().enumerate().map(|(way, (name, ..))| Line {
        name: (*name).to_owned(),
        points: rows
            .iter()
            .filter(|row| Some(row.load) == first)
            .filter_map(|row| Some((row.percent, row.points.get(way)?)))
            .map(|(percent, point)| {
                (f64::from(percent), point.parts.behind_order().as_secs_f64() * 1e3)
            })
            .collect(),
    });
    let lines: Vec<Line> = lines.collect();
    let all = lines.iter().flat_map(|line| line.points.iter().map(|(_, up)| *up));
    let top = all.fold(1.0, f64::max) * 1.1;
    let load = first.unwrap_or_default();
    let title = format!("From order to durable state, {executors} cores, {load}/s, seed {seed}");
    let picture = Lines {
        title: &title,
        across: Axis {
            label: "of a hundred transactions so many read the value",
            range: 0.0..100.0,
            scale: Scale::Linear,
        },
        up: Axis { label: "mean, ms", range: 0.0..top, scale: Scale::Linear },
        legend: Legend::Beside,
        dots: true,
        lines,
    };
    Sink::open(&svg)?.picture(picture.svg())?;
    say!("written: {}, {}", csv.display(), svg.display());
    Ok(())
}
