//! [`Row`], and files of them.
//!
//! A file is refused whole if one row of it cannot be meant: a header that differs, an empty field, a
//! value that is negative or no number.
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One figure, with all that it takes to read it alone. The order of the fields is the header's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `micro`, `flows`, `peers`, `scale`, `geo`, `throughput` or `bindings`.
    pub suite: String,
    /// The operation, such as `threshold::combine`.
    pub operation: String,
    /// As in `t=67 of 100, scattered`.
    pub case: String,
    /// `prefinal`, `limit` (primitives that nobody can do without), or a peer's name.
    pub implementation: String,
    /// The implementation's version.
    pub version: String,
    /// How many worked on it.
    pub threads: u32,
    /// `time`, `peak`, `bytes`, `wait` and the like.
    pub quantity: String,
    /// In units of the next.
    pub value: f64,
    /// `ms` for time, `MiB` for a peak.
    pub unit: String,
    /// What a reader types to get this row again.
    pub command: String,
}

/// The first line of every file.
pub const HEADER: [&str; 10] = [
    "suite",
    "operation",
    "case",
    "implementation",
    "version",
    "threads",
    "quantity",
    "value",
    "unit",
    "command",
];

/// Why a file was not written or not taken.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// The file system's fault, or not CSV of these types.
    #[error("{}: {source}", file.display())]
    Csv {
        /// The file.
        file: PathBuf,
        /// What the CSV reader says, with the line.
        source: csv::Error,
    },
    /// Columns are read by name, but a file with others was written by something else.
    #[error("{}: the header is {found}, not {}", file.display(), HEADER.join(","))]
    Header {
        /// The file.
        file: PathBuf,
        /// Its first line.
        found: String,
    },
    /// A value that no measurement gives, or a field that says nothing.
    #[error("{}: row {number}: {fault}", file.display())]
    Row {
        /// The file.
        file: PathBuf,
        /// The first row behind the header is 1.
        number: usize,
        /// What is wrong with it.
        fault: &'static str,
    },
}

/// Reads a file that [`write()`] wrote, or a program in another language.
///
/// # Errors
/// If the file cannot be read, has another header or a row that cannot be meant.
pub fn read(file: &Path) -> Result<Vec<Row>, RowsError> {
    let failed = |source| RowsError::Csv { file: file.to_owned(), source };
    let mut reader = csv::Reader::from_path(file).map_err(failed)?;
    let header = reader.headers().map_err(failed)?;
    if !header.iter().eq(HEADER) {
        let found = header.iter().collect::<Vec<_>>().join(",");
        return Err(RowsError::Header { file: file.to_owned(), found });
    }
    let rows: Vec<Row> = reader.deserialize().collect::<Result<_, _>>().map_err(failed)?;
    checked(file, &rows)?;
    Ok(rows)
}

/// Writes the rows with their header; what was there is replaced.
///
/// # Errors
/// If a row cannot be meant or the file cannot be written.
pub fn write(file: &Path, rows: &[Row]) -> Result<(), RowsError> {
    checked(file, rows)?;
    let failed = |source| RowsError::Csv { file: file.to_owned(), source };
    let mut builder = csv::WriterBuilder::new();
    let mut writer = builder.has_headers(false).from_path(file).map_err(failed)?;
    writer.write_record(HEADER).map_err(failed)?;
    rows.iter().try_for_each(|row| writer.serialize(row)).map_err(failed)?;
    writer.flush().map_err(|error| failed(error.into()))
}

fn checked(file: &Path, rows: &[Row]) -> Result<(), RowsError> {
    for (row, number) in rows.iter().zip(1..) {
        if let Some(fault) = fault(row) {
            return Err(RowsError::Row { file: file.to_owned(), number, fault });
        }
    }
    Ok(())
}

fn fault(row: &Row) -> Option<&'static str> {
    let Row { suite, operation, case, implementation, version, quantity, unit, command, .. } = row;
    let texts = [suite, operation, case, implementation, version, quantity, unit, command];
    if texts.iter().any(|text| text.trim().is_empty()) {
        return Some("a field is empty");
    }
    if texts.iter().any(|text| text.contains(['\n', '\r'])) {
        return Some("a field has more than one line");
    }
    if !row.value.is_finite() || row.value < 0.0 {
        return Some("the value is negative or no number");
    }
    (row.threads == 0).then_some("nobody worked on it")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn row() -> Row {
        let text = str::to_owned;
        Row {
            suite: text("peers"),
            operation: text("threshold::combine"),
            case: text("t=67 of 100, scattered"),
            implementation: text("prefinal"),
            version: text("0.1.0"),
            threads: 1,
            quantity: text("time"),
            value: 1.4402,
            unit: text("ms"),
            command: text("cargo run --release"),
        }
    }

    const LINE: &str = "peers,threshold::combine,\"t=67 of 100, scattered\",prefinal,0.1.0,1,time,\
                        1.4402,ms,cargo run --release";

    #[test]
    fn a_file_is_the_header_and_its_rows() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.csv");
        write(&file, &[row()]).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text, format!("{}\n{LINE}\n", HEADER.join(",")));
        assert_eq!(read(&file).unwrap(), [row()]);
        write(&file, &[]).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), format!("{}\n", HEADER.join(",")));
        assert_eq!(read(&file).unwrap(), []);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.csv");
        for (from, to) in [
            ("1.4402", "-1"),
            ("1.4402", "NaN"),
            ("1.4402", "inf"),
            ("1.4402", ""),
            ("1.4402", "1.4 ms"),
            (",ms,", ",,"),
            (",ms,", ", ,"),
            (",ms,", ",\"m\ns\","),
            (",1,", ",0,"),
            (",1,", ",one,"),
            (",ms,", ","),
            ("suite,operation", "operation,suite"),
            (",command\n", "\n"),
        ] {
            let text = format!("{}\n{LINE}\n", HEADER.join(","));
            assert!(text.contains(from), "{from}");
            fs::write(&file, text.replacen(from, to, 1)).unwrap();
            assert!(read(&file).is_err(), "{from} -> {to}");
        }
        let silent = Row { unit: String::new(), ..row() };
        assert!(matches!(write(&file, &[row(), silent]), Err(RowsError::Row { number: 2, .. })));
    }
}
