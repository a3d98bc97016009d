//! Stakes of validators by name, from the command line and from tables.
use std::collections::BTreeMap;
use std::path::Path;

use prefinal_weighted_rounding::Stake;

use crate::HomeError;
use crate::files;
use crate::names::Name;
use crate::parse::shortened;

/// The longest table that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// A whole number in decimal digits alone. The standard parser would take a sign.
pub(crate) fn number(text: &str) -> Option<u128> {
    let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_decimal.then(|| text.parse().ok()).flatten()
}

/// A table of stakes: CSV with a column `stake` and, if the rows are for named validators, a column `name`.
#[derive(Debug)]
pub(crate) struct StakeTable {
    /// The rows in the file's order.
    pub(crate) rows: Vec<(Option<Name>, Stake)>,
}

impl StakeTable {
    pub(crate) fn read(path: &Path) -> Result<Self, HomeError> {
        let text = files::read_text(path, MAX_BYTES)?;
        Self::parse(&text).map_err(|(line, what)| HomeError::Table {
            path: path.to_owned(),
            line,
            what,
        })
    }

    fn parse(text: &str) -> Result<Self, (u64, String)> {
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
        let failed = |error: csv::Error| {
            let line = error.position().map_or(1, csv::Position::line);
            (line, "every row must have as many fields as the first".to_owned())
        };
        let header = reader.headers().map_err(failed)?;
        let column = |wanted| header.iter().position(|title| title.eq_ignore_ascii_case(wanted));
        let no_stake = || (1, "expected a header with a column `stake`".to_owned());
        let (stakes, names) = (column("stake").ok_or_else(no_stake)?, column("name"));
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(failed)?;
            let line = record.position().map_or(0, csv::Position::line);
            let field = |place| record.get(place).unwrap_or_default();
            let stake = number(field(stakes)).ok_or_else(|| {
                (line, format!("expected a whole number, got `{}`", shortened(field(stakes))))
            })?;
            let name = names.map(|place| field(place).parse::<Name>()).transpose();
            rows.push((name.map_err(|error| (line, error.to_string()))?, Stake::new(stake)));
        }
        if rows.is_empty() {
            Err((1, "no stakes in the table".to_owned()))
        } else {
            Ok(Self { rows })
        }
    }

    /// The stakes by name.
    pub(crate) fn by_name(self, path: &Path) -> Result<BTreeMap<Name, Stake>, HomeError> {
        let refused = |what: String| HomeError::Table { path: path.to_owned(), line: 1, what };
        let mut stakes = BTreeMap::new();
        for (name, stake) in self.rows {
            let name = name.ok_or_else(|| refused("expected a column `name`".to_owned()))?;
            if stakes.insert(name.clone(), stake).is_some() {
                return Err(refused(format!("`{name}` has two rows")));
            }
        }
        Ok(stakes)
    }
}
