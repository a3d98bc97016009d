//! The report: one section a suite, tables first, then the commands that give them again.
use std::fmt::Write;

use crate::compare::{Comparison, Figure};
use crate::growth::{self, LEFT_OUT};
use crate::latency;
use crate::machine::Machine;
use crate::markdown::{figure, or_dash, ratio, table};
use crate::pictures::Picture;

/// What a section shows its figures by.
enum Kind {
    /// Ours against peers and limit.
    Comparison,
    /// How figures grow with the size: exponents.
    Growth,
    /// Quantities side by side.
    Latency,
}

struct Section {
    suite: &'static str,
    title: &'static str,
    about: &'static str,
    kind: Kind,
}

const SECTIONS: [Section; 9] = [
    Section {
        suite: "peers",
        title: "Against published libraries",
        about: "One process a library: the same inputs, the same work, results compared for \
                equality where the scheme is the same. Processor time of one thread.",
        kind: Kind::Comparison,
    },
    Section {
        suite: "bindings",
        title: "Python and JavaScript",
        about: "The packages as they are installed, against packages for the same.",
        kind: Kind::Comparison,
    },
    Section {
        suite: "micro",
        title: "Against the limit",
        about: "The limit is the sum of the primitives that nobody can do without, called through \
                blst's own interface in the same run. Below one: a cheaper way than that sum was \
                found (tables of a fixed base, shared inversions, batched checks, eight at a time).",
        kind: Kind::Comparison,
    },
    Section {
        suite: "flows",
        title: "Whole flows",
        about: "One party's work, for a whole key generation and for a slot.",
        kind: Kind::Comparison,
    },
    Section {
        suite: "state",
        title: "Certified, durable state",
        about: "A block of 1000 transfers, executed, written and certified, on a file; the limit executes \
                it alone. Times are processor time of the whole process. `throughput` is by the wall, \
                in transactions a second.",
        kind: Kind::Comparison,
    },
    Section {
        suite: "light",
        title: "Light clients",
        about: "From the genesis to epoch 1000, by a committee's stake and by a key. Times are processor \
                time of one thread.",
        kind: Kind::Comparison,
    },
    Section {
        suite: "scale",
        title: "Growth",
        about: "Cost over size: `n` parties, `W` shares. An exponent of 1 is linear. The first is \
                fitted to all sizes (least squares over logarithms), the second is between the two \
                largest, where what is constant weighs least.",
        kind: Kind::Growth,
    },
    Section {
        suite: "geo",
        title: "Latency over the world",
        about: "Virtual time: real engines, key generation and cryptography over measured round \
                trips between cloud regions; seeds are fixed. A wait is from a party's \
                finalization of a slot to its value; `Δ` is one message delay.",
        kind: Kind::Latency,
    },
    Section {
        suite: "throughput",
        title: "Throughput over sockets",
        about: "Real time: four replicas of Trantor in one process over QUIC on the loopback, clients in a closed \
                loop with 512 bytes each. `delivered`: a second, by all replicas. `sent`: bytes of datagrams for \
                each transaction; least are three copies of the payload. `processor`: of all replicas together, \
                for each transaction. All replicas share the machine's processors, so absolute figures say little \
                of a network of machines.",
        kind: Kind::Latency,
    },
];

/// The whole report.
#[must_use]
pub fn report(comparisons: &[Comparison], machine: &Machine, pictures: &[Picture]) -> String {
    let mut page = String::from(
        "# What it costs\n\nWritten by `cargo xtask bench`; do not edit. Figures from another \
         machine differ; ratios hardly do where \
         both or neither compute eight at a time.\n\n",
    );
    let facts = machine.facts().iter().map(|(name, value)| vec![name.clone(), value.clone()]);
    page += &table(&["measured", "on"], 2, &facts.collect::<Vec<_>>());
    page += "\n**Bold** ratios above one: a peer is ahead. A dash: nobody to compare with, or \
             nothing that bounds it. Numbers in the last column name the command below the table.\n";
    for section in &SECTIONS {
        let own: Vec<&Comparison> =
            comparisons.iter().filter(|one| one.of.suite == section.suite).collect();
        if own.is_empty() {
            continue;
        }
        let _ = write!(page, "\n## {}\n{}\n\n", section.title, section.about);
        let mut commands = Commands::default();
        page += &match section.kind {
            Kind::Comparison => compared(&own, &mut commands),
            Kind::Growth => grown(&own, &mut commands),
            Kind::Latency => awaited(&own, &mut commands),
        };
        for Picture { file, text, .. } in pictures.iter().filter(|one| one.suite == section.suite) {
            let _ = write!(page, "\n![{text}]({file})\n");
        }
        page += &commands.list();
    }
    page
}

/// Commands by the order of their first mention.
#[derive(Default)]
struct Commands(Vec<String>);

impl Commands {
    fn number(&mut self, command: &str) -> String {
        let place = self.0.iter().position(|one| one == command).unwrap_or_else(|| {
            self.0.push(command.to_owned());
            self.0.len() - 1
        });
        (place + 1).to_string()
    }

    fn list(&self) -> String {
        let lines = self.0.iter().zip(1..);
        lines.fold("\n".to_owned(), |list, (command, number)| {
            format!("{list}{number}. `{command}`\n")
        })
    }
}

/// A comparison's cells from ours on, as the README has them too.
#[must_use]
pub fn cells(comparison: &Comparison) -> [String; 5] {
    let value = |one: &Figure| figure(one.value, &comparison.unit);
    let peer = |one: &Figure| format!("{}, {} {}", value(one), one.implementation, one.version);
    [
        or_dash(comparison.ours().map(value)),
        or_dash(comparison.best_peer().map(peer)),
        or_dash(comparison.over_peer().map(marked)),
        or_dash(comparison.limit().map(value)),
        or_dash(comparison.over_limit().map(ratio)),
    ]
}

/// Bold if the peer is ahead, also by what rounding hides.
fn marked(over: f64) -> String {
    if over > 1.0 { format!("**{}**", ratio(over)) } else { ratio(over) }
}

/// The columns of [`cells`].
pub const COLUMNS: [&str; 5] = ["ours", "best peer", "ours / peer", "limit", "ours / limit"];

fn compared(comparisons: &[&Comparison], commands: &mut Commands) -> String {
    // Nothing is said of a limit without anybody beside it.
    let shown = || comparisons.iter().filter(|one| one.ours().or(one.best_peer()).is_some());
    let threads = shown().any(|one| one.of.threads != 1);
    let peers = shown().any(|one| one.best_peer().is_some());
    let limits = shown().any(|one| one.limit().is_some());
    let wanted = [true, peers, peers, limits, limits];
    let keep = |all: Vec<String>| all.into_iter().zip(wanted).filter(|one| one.1).map(|one| one.0);
    let mut lines = Vec::new();
    for comparison in shown() {
        let of = &comparison.of;
        let mut line = vec![name(comparison), of.case.clone()];
        if threads {
            line.push(of.threads.to_string());
        }
        line.extend(keep(cells(comparison).to_vec()));
        line.push(commands.number(&of.command));
        lines.push(line);
    }
    let mut header = vec!["operation".to_owned(), "case".to_owned()];
    header.extend(threads.then(|| "threads".to_owned()));
    header.extend(keep(COLUMNS.map(str::to_owned).to_vec()));
    header.push("by".to_owned());
    table(&header.iter().map(String::as_str).collect::<Vec<_>>(), 2, &lines)
}

/// Time is what is meant if nothing is said.
fn name(comparison: &Comparison) -> String {
    let of = &comparison.of;
    if of.quantity == "time" {
        format!("`{}`", of.operation)
    } else {
        format!("`{}`, {}", of.operation, of.quantity)
    }
}

fn grown(comparisons: &[&Comparison], commands: &mut Commands) -> String {
    let two = |exponent: Option<f64>| or_dash(exponent.map(|slope| format!("{slope:.2}")));
    let lines = growth::series(comparisons).into_iter().map(|series| {
        let at = |end: Option<&(f64, f64)>| {
            let cell = end.map(|(size, cost)| {
                format!("{} ({}={size})", figure(*cost, &series.unit), series.variable)
            });
            or_dash(cell)
        };
        vec![
            format!("`{}`, {}", series.operation, series.quantity),
            at(series.points.first()),
            at(series.points.last()),
            two(series.exponent()),
            two(series.last_exponent()),
            commands.number(&series.command),
        ]
    });
    let header = ["operation", "smallest", "largest", "exponent", "at the end", "by"];
    let mut text = table(&header, 1, &lines.collect::<Vec<_>>());
    let left_out = comparisons.iter().filter(|one| one.of.quantity == LEFT_OUT);
    let left_out: Vec<String> = left_out
        .filter_map(|one| {
            let time = figure(one.ours()?.value, &one.unit);
            Some(format!("`{}` with {} (about {time})", one.of.operation, one.of.case))
        })
        .collect();
    if !left_out.is_empty() {
        let _ = write!(text, "\nLeft out for the time it takes: {}.\n", left_out.join("; "));
    }
    text
}

fn awaited(comparisons: &[&Comparison], commands: &mut Commands) -> String {
    let mut text = String::new();
    for experiment in latency::experiments(comparisons) {
        let lines = experiment.lines.iter().map(|line| {
            let mut cells = vec![line.case.clone()];
            let values = line.values.iter().zip(&experiment.quantities);
            cells.extend(
                values.map(|(value, (_, unit))| or_dash(value.map(|value| figure(value, unit)))),
            );
            cells.push(commands.number(&line.command));
            cells
        });
        let lines: Vec<Vec<String>> = lines.collect();
        let first = format!("`{}`", experiment.operation);
        let mut header = vec![first.as_str()];
        header.extend(experiment.quantities.iter().map(|(name, _)| name.as_str()));
        header.push("by");
        text += &table(&header, 1, &lines);
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}
