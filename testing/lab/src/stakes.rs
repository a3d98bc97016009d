//! Stake tables: CSV with a column `stake` of whole numbers.
//!
//! Other columns, such as `address`, are ignored; a column `weight`, with which shares are given and not computed, is
//! read on request ([`StakeTable::read_weighted`]). Lines that begin with `#` say where the numbers come
//! from. A byte order mark, as spreadsheets write it, is skipped. The file `-` is stdin. Every error in
//! a table is found here and named with file, line and value, so that later code need not check again:
//! a [`StakeTable`] has at least two holders with stake, and its order is the file's.
//!
//! See also `prefinal_weighted_rounding` (what a stake is) and [`crate::committee`] (the parties).

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use prefinal_weighted_rounding::{Stake, Weight};

/// The table that `devnet` and `simulate` use when none is named.
const EMBEDDED: &str = include_str!("../../../data/stakes/aptos_mainnet_129.csv");
const EMBEDDED_NAME: &str = "aptos_mainnet_129.csv (embedded)";

/// How stdin is asked for, and what it is called in messages.
const STDIN: &str = "-";
const STDIN_NAME: &str = "stdin";

/// Larger than any real table by far (the largest of ours has 42 920 holders in 0.5 MB), small
/// enough that a wrong path cannot eat the memory.
const MAX_BYTES: u64 = 64 << 20;

/// The stakes of a file, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StakeTable {
    name: String,
    stakes: Vec<u64>,
    /// The weight of each entry, if they were asked for.
    weights: Vec<u32>,
}

/// Holders with stake, the largest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holders {
    /// The stake of each.
    pub stakes: Vec<Stake>,
    /// The weight of each; empty if weights were not asked for.
    pub weights: Vec<Weight>,
}

/// Why a stake table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StakesError {
    /// The file is not there or not readable.
    #[error("{name}: {source}")]
    Read {
        /// The file.
        name: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// More bytes than any table has.
    #[error("{name}: more than {MAX_BYTES} bytes, this is no stake table")]
    TooLarge {
        /// The file.
        name: String,
    },
    /// The first line that is not a comment is not a header with one column `stake`.
    #[error("{name}:{line}: expected a header with one column `stake`, got `{got}`")]
    Header {
        /// The table, by the name that errors show.
        name: String,
        /// Line number, counted from one.
        line: u64,
        /// The text of the line.
        got: String,
    },
    /// A line is not one whole number.
    #[error("{name}:{line}: `{got}` is not a stake: {why}")]
    Entry {
        /// The table, by the name that errors show.
        name: String,
        /// Line number, counted from one.
        line: u64,
        /// The text of the entry.
        got: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Weights are to be taken from the table, and there is no single column for them.
    #[error(
        "{name}:{line}: expected a header with one column `weight` beside `stake`, got `{got}`"
    )]
    NoWeights {
        /// The table, by the name that errors show.
        name: String,
        /// Line number, counted from one.
        line: u64,
        /// The text of the line.
        got: String,
    },
    /// A line has no weight.
    #[error("{name}:{line}: `{got}` is not a weight: {why}")]
    Weight {
        /// The table, by the name that errors show.
        name: String,
        /// Line number, counted from one.
        line: u64,
        /// The text of the entry.
        got: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The table has no entry.
    #[error("{name}: no stakes in the table")]
    Empty {
        /// The table, by the name that errors show.
        name: String,
    },
    /// No entry has stake.
    #[error("{name}: all {entries} stakes are 0")]
    AllZero {
        /// The table, by the name that errors show.
        name: String,
        /// Number of entries.
        entries: usize,
    },
    /// One holder has all the stake, so there is nobody to share a secret with.
    #[error(
        "{name}:{line}: the holder of {stake} has all the stake, there is nobody to share a secret with"
    )]
    OneHolder {
        /// The table, by the name that errors show.
        name: String,
        /// Line number, counted from one.
        line: u64,
        /// The holder's stake.
        stake: u64,
    },
}

impl StakeTable {
    /// The stakes of Aptos mainnet's 129 validators, as shipped with the command.
    ///
    /// # Errors
    /// None in a released binary: the table is part of it, and a test reads it.
    pub fn embedded() -> Result<Self, StakesError> {
        Self::parse(EMBEDDED_NAME, EMBEDDED)
    }

    /// Reads a table from a file.
    ///
    /// # Errors
    /// Every variant of [`StakesError`].
    pub fn read(path: &Path) -> Result<Self, StakesError> {
        let (name, text) = Self::text_of(path)?;
        Self::parse(&name, &text)
    }

    /// Reads a table from a file, with the column `weight`.
    ///
    /// # Errors
    /// Every variant of [`StakesError`].
    pub fn read_weighted(path: &Path) -> Result<Self, StakesError> {
        let (name, text) = Self::text_of(path)?;
        Self::parse_weighted(&name, &text)
    }

    fn text_of(path: &Path) -> Result<(String, String), StakesError> {
        if path == Path::new(STDIN) {
            let text = Self::take(io::stdin().lock(), STDIN_NAME)?;
            return Ok((STDIN_NAME.to_owned(), text));
        }
        let name = path.display().to_string();
        let file =
            File::open(path).map_err(|source| StakesError::Read { name: name.clone(), source })?;
        let text = Self::take(file, &name)?;
        Ok((name, text))
    }

    fn take(source: impl Read, name: &str) -> Result<String, StakesError> {
        let mut text = String::new();
        source
            .take(MAX_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(|source| StakesError::Read { name: name.to_owned(), source })?;
        if u64::try_from(text.len()).unwrap_or(u64::MAX) > MAX_BYTES {
            return Err(StakesError::TooLarge { name: name.to_owned() });
        }
        Ok(text)
    }

    /// Reads a table with the column `weight` from its text. `name` is used in errors.
    ///
    /// # Errors
    /// Every variant of [`StakesError`] except those of reading the file.
    pub fn parse_weighted(name: &str, text: &str) -> Result<Self, StakesError> {
        let table = Self::parse(name, text)?;
        let mut records = records(name, text);
        let header =
            records.next().ok_or_else(|| StakesError::Empty { name: name.to_owned() })??;
        let Some(column) = header.column("weight") else {
            let (name, line, got) = (name.to_owned(), header.number, header.shown());
            return Err(StakesError::NoWeights { name, line, got });
        };
        let weights = records.map(|record| record?.weight(name, column));
        Ok(Self { weights: weights.collect::<Result<_, _>>()?, ..table })
    }

    /// Reads a table from its text. `name` is used in errors.
    ///
    /// # Errors
    /// Every variant of [`StakesError`] except those of reading the file.
    pub fn parse(name: &str, text: &str) -> Result<Self, StakesError> {
        let mut records = records(name, text);
        let header =
            records.next().ok_or_else(|| StakesError::Empty { name: name.to_owned() })??;
        let column = header.stake_column(name)?;
        let entries: Vec<(u64, u64)> = records
            .map(|record| record?.stake(name, column, header.fields.len()))
            .collect::<Result<_, _>>()?;
        let name = || name.to_owned();
        if entries.is_empty() {
            return Err(StakesError::Empty { name: name() });
        }
        let mut holders = entries.iter().filter(|(_, stake)| *stake > 0);
        match (holders.next(), holders.next()) {
            (None, _) => Err(StakesError::AllZero { name: name(), entries: entries.len() }),
            (Some(&(line, stake)), None) => {
                Err(StakesError::OneHolder { name: name(), line, stake })
            }
            _ => {
                let stakes = entries.into_iter().map(|(_, stake)| stake).collect();
                Ok(Self { name: name(), stakes, weights: Vec::new() })
            }
        }
    }

    /// The name of the table in messages: its file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of entries, zeros included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.stakes.len()
    }

    /// Always false: an empty table is refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stakes.is_empty()
    }

    /// All stakes, in the order of the file.
    #[must_use]
    pub fn stakes(&self) -> Vec<Stake> {
        self.stakes.iter().map(|&stake| Stake::new(stake.into())).collect()
    }

    /// The `count` largest stakes, largest first. `None` if fewer entries have stake.
    #[must_use]
    pub fn largest(&self, count: usize) -> Option<Vec<Stake>> {
        self.largest_holders(count).map(|holders| holders.stakes)
    }

    /// The same with their weights. Of equal stakes those with more weight come first.
    #[must_use]
    pub fn largest_holders(&self, count: usize) -> Option<Holders> {
        let weights = self.weights.iter().copied().chain(std::iter::repeat(0));
        let mut sorted: Vec<(u64, u32)> = self.stakes.iter().copied().zip(weights).collect();
        sorted.retain(|(stake, _)| *stake > 0);
        sorted.sort_unstable_by(|one, other| other.cmp(one));
        let largest = sorted.get(..count)?;
        let stakes = largest.iter().map(|(stake, _)| Stake::new((*stake).into())).collect();
        let weights = largest.iter().map(|(_, weight)| Weight::new(*weight));
        let weights = weights.take(if self.weights.is_empty() { 0 } else { count }).collect();
        Some(Holders { stakes, weights })
    }

    /// Number of entries with stake.
    #[must_use]
    pub fn holders(&self) -> usize {
        self.stakes.iter().filter(|&&stake| stake > 0).count()
    }
}

/// The lines of a table that are neither empty nor comments.
fn records(name: &str, text: &str) -> impl Iterator<Item = Result<Line, StakesError>> {
    let lines = (1..).zip(text.trim_start_matches('\u{feff}').lines());
    lines
        .map(|(number, line)| (number, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(move |(number, line)| Line::read(name, number, line))
}

/// A line of the file that is neither empty nor a comment.
struct Line {
    number: u64,
    fields: csv::StringRecord,
}

impl Line {
    fn read(name: &str, number: u64, text: &str) -> Result<Self, StakesError> {
        let mut reader = csv::ReaderBuilder::new();
        let reader = reader.has_headers(false).trim(csv::Trim::All).buffer_capacity(text.len());
        let fields = reader.from_reader(text.as_bytes()).into_records().next().transpose();
        let fields = fields
            .map_err(|error| StakesError::Read { name: name.to_owned(), source: error.into() })?;
        Ok(Self { number, fields: fields.unwrap_or_default() })
    }

    fn shown(&self) -> String {
        shortened(&self.fields.iter().collect::<Vec<_>>().join(","))
    }

    /// Where the one column of this name is.
    fn column(&self, title: &str) -> Option<usize> {
        let mut columns = (0..).zip(&self.fields).filter(|(_, field)| *field == title);
        columns.next().filter(|_| columns.next().is_none()).map(|(column, _)| column)
    }

    /// Where the stakes stand.
    fn stake_column(&self, name: &str) -> Result<usize, StakesError> {
        self.column("stake").ok_or_else(|| StakesError::Header {
            name: name.to_owned(),
            line: self.number,
            got: self.shown(),
        })
    }

    /// The line's weight, with which its stake was found.
    fn weight(&self, name: &str, column: usize) -> Result<u32, StakesError> {
        let field = self.fields.get(column).unwrap_or_default();
        parse_number(field, "a weight is not negative")
            .and_then(|weight| u32::try_from(weight).map_err(|_| "larger than 2^32 - 1"))
            .map_err(|why| StakesError::Weight {
                name: name.to_owned(),
                line: self.number,
                got: shortened(field),
                why,
            })
    }

    /// The line's number and its stake.
    fn stake(&self, name: &str, column: usize, columns: usize) -> Result<(u64, u64), StakesError> {
        let entry = |got: String, why| StakesError::Entry {
            name: name.to_owned(),
            line: self.number,
            got,
            why,
        };
        match self.fields.get(column) {
            Some(field) if self.fields.len() == columns => {
                parse_number(field, "a stake is not negative")
                    .map(|stake| (self.number, stake))
                    .map_err(|why| entry(shortened(field), why))
            }
            _ if columns == 1 => Err(entry(self.shown(), "expected one whole number")),
            _ => Err(entry(self.shown(), "the header has another number of columns")),
        }
    }
}

/// `negative` is what is wrong with a number below zero.
fn parse_number(text: &str, negative: &'static str) -> Result<u64, &'static str> {
    use std::num::IntErrorKind;
    if text.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit())) {
        return Err(negative);
    }
    text.parse().map_err(|error: std::num::ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "larger than 2^64 - 1",
        _ => "expected one whole number",
    })
}

/// A line of a file that is no table may be long or binary; the message shows its beginning.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 40;
    let shown: String = text.chars().take(SHOWN).flat_map(char::escape_default).collect();
    if text.chars().count() > SHOWN { format!("{shown}...") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        StakeTable::parse("t.csv", text).expect_err("bad table").to_string()
    }

    #[test]
    fn the_embedded_table_is_aptos_mainnet() {
        let table = StakeTable::embedded().expect("shipped");
        assert_eq!(table.len(), 129);
        let total: u128 = table.stakes().iter().map(|stake| stake.get()).sum();
        assert_eq!(total, 8_546_825_655_426_651_200);
    }

    #[test]
    fn every_bad_table_is_named_with_line_and_value() {
        assert_eq!(error(""), "t.csv: no stakes in the table");
        assert_eq!(error("# only\n# comments\n"), "t.csv: no stakes in the table");
        assert_eq!(error("stake\n"), "t.csv: no stakes in the table");
        assert_eq!(
            error("#\n7\n8\n"),
            "t.csv:2: expected a header with one column `stake`, got `7`"
        );
        assert_eq!(
            error("stake,address,stake\n7,a,8\n"),
            "t.csv:1: expected a header with one column `stake`, got `stake,address,stake`"
        );
        assert_eq!(
            error("address,stake\n0xab,5\n0xcd\n"),
            "t.csv:3: `0xcd` is not a stake: the header has another number of columns"
        );
        assert_eq!(error("stake\n0\n0\n"), "t.csv: all 2 stakes are 0");
        assert_eq!(
            error("stake\n5\n-3\n"),
            "t.csv:3: `-3` is not a stake: a stake is not negative"
        );
        assert_eq!(
            error("stake\n5\nmany\n"),
            "t.csv:3: `many` is not a stake: expected one whole number"
        );
        assert_eq!(
            error("stake\n5\n1.5\n"),
            "t.csv:3: `1.5` is not a stake: expected one whole number"
        );
        assert_eq!(
            error("stake\n18446744073709551616\n"),
            "t.csv:2: `18446744073709551616` is not a stake: larger than 2^64 - 1"
        );
        assert!(
            error("stake\n0\n9\n0\n").starts_with("t.csv:3: the holder of 9 has all the stake")
        );
    }

    #[test]
    fn stakes_are_found_beside_other_columns_and_behind_a_byte_order_mark() {
        let stakes = |text| StakeTable::parse("t.csv", text).expect("good").stakes;
        assert_eq!(stakes("\u{feff}stake\r\n5\r\n6\r\n"), [5, 6]);
        assert_eq!(
            stakes("\u{feff}# who\naddress, stake ,\"name, city\"\n0xab,5,\"a, b\"\n0xcd, 6,c\n"),
            [5, 6]
        );
    }

    #[test]
    fn a_long_or_binary_line_is_shortened() {
        let message = error(&format!("stake\n{}\u{1b}[31m\n", "x".repeat(30)));
        assert!(message.contains("\\u{1b}"), "{message}");
        assert!(error(&format!("stake\n{}\n", "9".repeat(4000))).len() < 200);
    }

    #[test]
    fn weights_are_read_when_they_are_asked_for() {
        let text = "weight,stake\n2,10\n0,30\n5,20\n";
        let table = StakeTable::parse_weighted("t.csv", text).unwrap();
        let holders = table.largest_holders(2).unwrap();
        assert_eq!(holders.stakes, [30, 20].map(Stake::new));
        assert_eq!(holders.weights, [0, 5].map(Weight::new));
        let without = StakeTable::parse("t.csv", text).unwrap().largest_holders(3).unwrap();
        assert_eq!(without.weights, []);
        let error = |text| StakeTable::parse_weighted("t.csv", text).unwrap_err().to_string();
        assert_eq!(
            error("# mine\nstake\n5\n6\n"),
            "t.csv:2: expected a header with one column `weight` beside `stake`, got `stake`"
        );
        assert_eq!(
            error("stake,weight\n5,1\n6,-1\n"),
            "t.csv:3: `-1` is not a weight: a weight is not negative"
        );
        assert_eq!(
            error("stake,weight\n5,4294967296\n6,1\n"),
            "t.csv:2: `4294967296` is not a weight: larger than 2^32 - 1"
        );
        assert_eq!(
            error("stake,weight\n5,\n6,1\n"),
            "t.csv:2: `` is not a weight: expected one whole number"
        );
        assert!(StakeTable::parse_weighted("t.csv", "stake,weight\n5,4294967295\n6,1\n").is_ok());
    }

    #[test]
    fn the_largest_come_first_and_zeros_never() {
        let table = StakeTable::parse("t.csv", "stake\n1\n0\n3\n2\n").expect("good");
        let stakes: Vec<u128> = table.largest(2).expect("two").iter().map(|s| s.get()).collect();
        assert_eq!(stakes, [3, 2]);
        assert!(table.largest(4).is_none());
    }
}
