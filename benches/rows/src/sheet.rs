//! Rows as they are measured; the table for the terminal.
use std::time::Duration;

use crate::Options;
use crate::row::{Row, RowsError, write};

/// The workspace's version, which all our crates have.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The library whose work was measured, with its version and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Implementation<'a> {
    name: &'a str,
    version: &'a str,
    threads: u32,
}

/// This project, on one thread.
pub const OURS: Implementation<'static> = Implementation::peer("prefinal", VERSION);

/// The primitives that nobody can do without, of blst unless the program says otherwise, measured in
/// the same process. Their version is that of the program that measures them.
pub const LIMIT: Implementation<'static> = Implementation::peer("limit", VERSION);

impl<'a> Implementation<'a> {
    /// Another's crate or package, on one thread.
    #[must_use]
    pub const fn peer(name: &'a str, version: &'a str) -> Self {
        Self { name, version, threads: 1 }
    }

    /// The same on several threads.
    #[must_use]
    pub const fn threads(self, threads: u32) -> Self {
        Self { threads, ..self }
    }
}

/// What one program has measured so far.
#[derive(Debug)]
pub struct Sheet {
    suite: String,
    command: String,
    rows: Vec<Row>,
}

/// Adds rows of one operation and one case to a sheet.
#[derive(Debug)]
pub struct CaseRows<'a> {
    sheet: &'a mut Sheet,
    operation: &'a str,
    case: &'a str,
}

impl Sheet {
    /// Empty. `command` is what a reader types to get these rows again.
    #[must_use]
    pub fn new(suite: &str, command: &str) -> Self {
        Self { suite: suite.to_owned(), command: command.to_owned(), rows: Vec::new() }
    }

    /// What a reader types to get the rows again that follow.
    pub fn command(&mut self, command: &str) {
        command.clone_into(&mut self.command);
    }

    /// Where to put figures of one operation, as in `threshold::combine`, and case, as in `t=67 of 100`.
    pub fn of<'a>(&'a mut self, operation: &'a str, case: &'a str) -> CaseRows<'a> {
        CaseRows { sheet: self, operation, case }
    }

    /// What was measured so far.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Prints the table, and writes the file if one is asked for.
    ///
    /// # Errors
    /// If the file cannot be written, or a row cannot be meant.
    pub fn finish(&self, options: &Options) -> Result<(), RowsError> {
        print!("{}", table(&self.rows));
        options.csv.as_ref().map_or(Ok(()), |file| write(file, &self.rows))
    }
}

impl CaseRows<'_> {
    /// Adds a row of a time, in milliseconds.
    pub fn time(self, who: Implementation<'_>, time: Duration) -> Self {
        self.put(who, "time", time.as_secs_f64() * 1e3, "ms")
    }

    /// The most memory held at one moment, from bytes.
    pub fn peak(self, who: Implementation<'_>, bytes: f64) -> Self {
        self.put(who, "peak", bytes / f64::from(1 << 20), "MiB")
    }

    /// How long it is on the wire.
    pub fn bytes(self, who: Implementation<'_>, bytes: f64) -> Self {
        self.put(who, "bytes", bytes, "bytes")
    }

    /// Adds a row of any other quantity.
    pub fn put(self, who: Implementation<'_>, quantity: &str, value: f64, unit: &str) -> Self {
        self.sheet.rows.push(Row {
            suite: self.sheet.suite.clone(),
            operation: self.operation.to_owned(),
            case: self.case.to_owned(),
            implementation: who.name.to_owned(),
            version: who.version.to_owned(),
            threads: who.threads,
            quantity: quantity.to_owned(),
            value: significant(value),
            unit: unit.to_owned(),
            command: self.sheet.command.clone(),
        });
        self
    }
}

/// Five significant digits, but whole numbers whole: more would pretend.
fn significant(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() || value.fract() == 0.0 {
        return value;
    }
    let decimals = (4.0 - value.abs().log10().floor()).max(0.0);
    let scale = 10_f64.powf(decimals);
    (value * scale).round() / scale
}

/// For people: columns aligned, what all rows share left out.
fn table(rows: &[Row]) -> String {
    let cells = rows.iter().map(|row| {
        let value = format!("{} {}", row.value, row.unit);
        let names = [&row.operation, &row.case, &row.quantity, &row.implementation];
        names.into_iter().cloned().chain([value]).collect::<Vec<_>>()
    });
    let cells: Vec<Vec<String>> = cells.collect();
    let widths: Vec<usize> = (0..5)
        .map(|column| {
            let cells = cells.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for line in &cells {
        for (cell, width) in line.iter().zip(&widths) {
            text.push_str(&format!("{cell:width$}  "));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_are_noise_are_cut() {
        let five = [(0.0, 0.0), (1.440_219, 1.4402), (0.000_117_234_6, 0.000_117_23)];
        let whole = [(159_530.0, 159_530.0), (123_456.7, 123_457.0)];
        for (value, expected) in five.into_iter().chain(whole) {
            assert!((significant(value) - expected).abs() < 1e-12, "{value}");
        }
    }

    #[test]
    fn rows_are_what_was_put() {
        let mut sheet = Sheet::new("peers", "cargo run");
        let peer = Implementation::peer("adder", "1.2.0").threads(2);
        sheet.of("sum", "n=4").time(OURS, Duration::from_micros(1500)).peak(peer, 1_572_864.0);
        sheet.of("sum", "n=8").bytes(LIMIT, 48.0);
        let text = "\
sum  n=4  time   prefinal  1.5 ms
sum  n=4  peak   adder     1.5 MiB
sum  n=8  bytes  limit     48 bytes
";
        assert_eq!(table(sheet.rows()), text);
        let [ours, peer, _] = sheet.rows() else { panic!("three rows") };
        assert_eq!((ours.version.as_str(), ours.threads), (VERSION, 1));
        assert_eq!((peer.version.as_str(), peer.threads), ("1.2.0", 2));
        assert_eq!((ours.suite.as_str(), ours.command.as_str()), ("peers", "cargo run"));
    }
}
