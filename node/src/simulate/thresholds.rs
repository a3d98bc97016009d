//! `prefinal simulate --thresholds`: what `prefinal_lab::thresholds` measures, as tables, CSV and plots.

use prefinal_lab::priced::Priced;
use std::path::Path as File;

use prefinal_lab::Failure;
use prefinal_lab::committee::Subject;
use prefinal_lab::thresholds::{self, Delays, Order, Row};
use prefinal_lab::waits::{Waits, milliseconds};

use super::{Options, costs};
use crate::changes::Changes;
use crate::output::Sink;
use crate::round::parts_of;
use crate::table;
use crate::waits;
use prefinal_chart::{Axis, Legend, Line, Lines, Scale};

/// What is shown of waits.
const MEASURES: [&str; 5] = ["mean", "p50", "p90", "p99", "longest"];

/// Measures message delays, then waits over the geography, and shows and writes both.
pub(super) fn run<S: Priced, E: Subject>(options: &Options) -> Result<(), Failure> {
    let (plan, _, placement) = options.gather(&Changes::default())?;
    let (costs, seed) = (costs(options)?, options.committee.seed);
    show_delays(&thresholds::delays::<S, E>(&plan, options.committee.fast, seed)?, &options.out)?;
    let network = options.network(placement);
    let (cores, slots) = (options.cores(), options.slots);
    let order = Order { network, cores, seed, slots, costs };
    let rows = thresholds::weights::<S, E>(&plan, order)?;
    show(&rows);
    write(&options.out, &rows)
}

fn show_delays(delays: &[Delays], folder: &File) -> Result<(), Failure> {
    let rows = delays.iter().map(|Delays { kind, synchronous, adversarial }| {
        vec![(*kind).to_owned(), format!("{synchronous:.2}"), format!("{adversarial:.2}")]
    });
    let rows: Vec<_> = rows.collect();
    let header = ["message delays from finality to value", "synchronous", "adversarial"];
    say!("{}", table::table(&header, rows.clone()));
    let header = ["kind", "synchronous", "adversarial"].map(str::to_owned);
    records(&folder.join("delays.csv"), std::iter::once(header.to_vec()).chain(rows))
}

/// Writes a table with its header; the folder is made if it is not there.
pub(super) fn records(
    file: &File,
    records: impl Iterator<Item = Vec<String>>,
) -> Result<(), Failure> {
    let at = |error: &dyn std::fmt::Display| {
        Failure::bad_input(format_args!("{}: {error}", file.display()))
    };
    std::fs::create_dir_all(file.parent().unwrap_or(File::new("."))).map_err(|error| at(&error))?;
    let mut writer = csv::Writer::from_path(file).map_err(|error| at(&error))?;
    for record in records {
        writer.write_record(&record).map_err(|error| at(&error))?;
    }
    writer.flush().map_err(|error| at(&error))
}

fn total(row: &Row) -> String {
    row.total().map_or_else(|| "-".to_owned(), |total| total.to_string())
}

/// Name, total weight, and the stake that the fast path needs.
fn head(row: &Row) -> [String; 3] {
    let needs = row.profile.needs.map(|needs| parts_of(needs, 10_000));
    let needs = needs.map_or("-".to_owned(), |parts| format!("{}.{:02}", parts / 100, parts % 100));
    [row.profile.name.clone(), total(row), needs]
}

fn cells(row: &Row) -> Vec<String> {
    let mut cells = head(row).to_vec();
    for waits in [&row.free, &row.behind, &row.ahead] {
        cells.extend(waits.cells_with_longest());
    }
    cells
}

/// Some of a row's waits.
type Of = fn(&Row) -> &Waits;

fn show(rows: &[Row]) {
    let kinds: [(&str, Of); 3] = [
        ("wait, ms: links alone", |row| &row.free),
        ("wait, ms: combining behind", |row| &row.behind),
        ("wait, ms: combining ahead", |row| &row.ahead),
    ];
    for (kind, waits) in kinds {
        let header = [kind, "weight", "needs, %", "mean", "p50", "p90", "p99", "longest"];
        let timed = rows.iter().filter(|row| waits(row).count() > 0);
        let cells = timed.map(|row| [&head(row)[..], &waits(row).cells_with_longest()].concat());
        say!("{}", table::table(&header, cells));
    }
    say!(
        "means of links alone, of combining behind the last partial, and of combining ahead, as far as \
         partials are there"
    );
    let least = |waits: Of| {
        let fast = rows.iter().filter(|row| row.is_fast());
        fast.filter_map(|row| Some((waits(row).mean()?, row))).min_by_key(|(mean, _)| *mean)
    };
    for (how, best) in [("behind", least(|row| &row.behind)), ("ahead", least(|row| &row.ahead))] {
        if let Some((mean, row)) = best {
            let (name, mean) = (&row.profile.name, milliseconds(mean));
            say!("best {how}: {name}, total weight {}, mean {mean} ms", total(row));
        }
    }
}

fn write(folder: &File, rows: &[Row]) -> Result<(), Failure> {
    let (csv, svg, waits) = (
        folder.join("thresholds.csv"),
        folder.join("thresholds.svg"),
        folder.join("thresholds-waits.svg"),
    );
    let header = ["profile", "weight", "needs_percent"].map(str::to_owned).into_iter();
    let kinds = ["links", "behind", "ahead"]
        .into_iter()
        .flat_map(|kind| MEASURES.map(|what| format!("{kind}_{what}_ms")));
    let header: Vec<String> = header.chain(kinds).collect();
    records(&csv, std::iter::once(header).chain(rows.iter().map(cells)))?;
    draw(&svg, rows)?;
    let shown = rows.iter().filter(|row| {
        let name = row.profile.name.as_str();
        !row.is_fast() || ["asked for", "budget 512", "budget 1448", "budget 4096"].contains(&name)
    });
    let shown: Vec<(&str, &Waits)> =
        shown.map(|row| (row.profile.name.as_str(), &row.free)).collect();
    waits::plot(&waits, "Wait between finality and value, links alone", &shown)?;
    let delays = folder.join("delays.csv");
    say!(
        "written: {}, {}, {}, {}",
        delays.display(),
        csv.display(),
        svg.display(),
        waits.display()
    );
    Ok(())
}

/// Mean wait against total weight.
fn draw(path: &File, rows: &[Row]) -> Result<(), Failure> {
    let fast = || rows.iter().filter(|row| row.is_fast());
    let weight = |row: &Row| f64::from(u32::try_from(row.profile.total()).unwrap_or(u32::MAX));
    let line = |name: &str, waits: Of| {
        let points =
            fast().filter_map(|row| Some((weight(row), waits(row).mean()?.as_secs_f64() * 1e3)));
        Line { name: name.to_owned(), points: points.collect() }
    };
    let lines = vec![
        line("links alone", |row| &row.free),
        line("combining behind the last partial", |row| &row.behind),
        line("combining ahead", |row| &row.ahead),
    ];
    let points = || lines.iter().flat_map(|line| &line.points);
    let left = points().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
    let right = points().map(|(x, _)| *x).fold(left + 1.0, f64::max);
    let top = points().map(|(_, y)| *y).fold(1.0, f64::max).ceil();
    let picture = Lines {
        title: "What total weight buys: the fast path's wait",
        across: Axis { label: "total weight", range: left..right, scale: Scale::Powers(2) },
        up: Axis { label: "mean wait after finality, ms", range: 0.0..top, scale: Scale::Linear },
        legend: Legend::UpperRight,
        dots: false,
        lines,
    };
    Sink::open(path)?.picture(picture.svg())
}
