//! Counts by row, in a file and against each other.
//!
//! ```text
//! # rustc 1.95.0
//! 15130226 threshold::combine/n=100 t=67 scattered
//! ```
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::str::FromStr;

/// How far a count may be from the stored one, up or down.
pub const TOLERANCE_PERCENT: u64 = 2;

/// Instructions of each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// What the program was built and counted with.
    pub tools: String,
    /// By name, in the order in which they were counted.
    pub rows: Vec<(String, u64)>,
}

/// What a comparison has to say.
pub struct Verdict {
    /// A line for each row.
    pub table: String,
    /// Rows that do not hold.
    pub failures: usize,
    /// What else may be the cause; whole lines.
    pub advice: String,
}

/// Every row must be stored and counted.
pub fn compare(stored: &Counts, counted: &Counts) -> Verdict {
    let by_name =
        |counts: &Counts| -> BTreeMap<String, u64> { counts.rows.iter().cloned().collect() };
    let (old, new) = (by_name(stored), by_name(counted));
    let gone = stored.rows.iter().filter(|(name, _)| !new.contains_key(name));
    let (mut table, mut failures) = (String::new(), 0);
    for (name, _) in counted.rows.iter().chain(gone) {
        let (old, new) = (old.get(name).copied(), new.get(name).copied());
        let (text, holds) = judge(old, new);
        failures += usize::from(!holds);
        let number =
            |count: Option<u64>| count.map_or("none".to_owned(), |count| count.to_string());
        let (old, new) = (number(old), number(new));
        let _ = writeln!(table, "{name:44} stored {old:>12}, counted {new:>12}  {text}");
    }
    let advice = if stored.tools == counted.tools {
        String::new()
    } else {
        format!("Stored are counts of {}, this is {}.\n", stored.tools, counted.tools)
    };
    Verdict { table, failures, advice }
}

fn judge(stored: Option<u64>, counted: Option<u64>) -> (String, bool) {
    let (stored, counted) = match (stored, counted) {
        (Some(stored), Some(counted)) => (stored, counted),
        (None, _) => return ("is not stored: FAILS".to_owned(), false),
        (_, None) => return ("no such row any more: FAILS".to_owned(), false),
    };
    let away = u128::from(stored.abs_diff(counted));
    let holds = away * 100 <= u128::from(stored) * u128::from(TOLERANCE_PERCENT);
    // Thousandths of a percent.
    let parts = away * 100_000 / u128::from(stored.max(1));
    let sign = if counted < stored { '-' } else { '+' };
    let fails = match (holds, sign) {
        (true, _) => "",
        (false, '-') => ": better, FAILS until it is stored",
        _ => ": FAILS",
    };
    (format!("{sign}{}.{:03} %{fails}", parts / 1000, parts % 1000), holds)
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}", self.tools)?;
        self.rows.iter().try_for_each(|(name, count)| writeln!(f, "{count} {name}"))
    }
}

impl FromStr for Counts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (head, lines) = text.split_once('\n').unwrap_or((text, ""));
        let tools = head.strip_prefix("# ").ok_or("the first line names no tools")?;
        let row = |line: &str| {
            let parsed = line.split_once(' ').map(|(count, name)| (name, count.parse()));
            match parsed {
                Some((name, Ok(count))) => Ok((name.to_owned(), count)),
                _ => Err(format!("not a count and a row: {line}")),
            }
        };
        let rows: Vec<(String, u64)> = lines.lines().map(row).collect::<Result<_, _>>()?;
        let names: BTreeMap<&str, u64> = rows.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        if names.len() < rows.len() {
            return Err("a row is stored twice".to_owned());
        }
        Ok(Self { tools: tools.to_owned(), rows })
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, compare};

    fn counts(rows: &[(&str, u64)]) -> Counts {
        let rows = rows.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        Counts { tools: "rustc 1".to_owned(), rows }
    }

    fn failures(stored: &[(&str, u64)], counted: &[(&str, u64)]) -> usize {
        compare(&counts(stored), &counts(counted)).failures
    }

    #[test]
    fn two_percent_pass_and_more_fails_both_ways() {
        let stored = [("a", 1000)];
        for (counted, fails) in [(980, 0), (979, 1), (1000, 0), (1020, 0), (1021, 1), (0, 1)] {
            assert_eq!(failures(&stored, &[("a", counted)]), fails, "{counted}");
        }
        assert_eq!(failures(&[("a", 0)], &[("a", 1)]), 1);
    }

    #[test]
    fn rows_that_one_side_lacks_fail() {
        assert_eq!(failures(&[("a", 10)], &[("a", 10), ("b", 10)]), 1);
        assert_eq!(failures(&[("a", 10), ("b", 10)], &[("a", 10)]), 1);
        assert_eq!(failures(&[], &[("a", 10)]), 1);
        assert_eq!(failures(&[("a", 10)], &[("b", 10)]), 2);
    }

    #[test]
    fn other_tools_are_named() {
        let (stored, mut counted) = (counts(&[("a", 1)]), counts(&[("a", 1)]));
        assert_eq!(compare(&stored, &counted).advice, "");
        counted.tools = "rustc 2".to_owned();
        assert_eq!(
            compare(&stored, &counted).advice,
            "Stored are counts of rustc 1, this is rustc 2.\n"
        );
    }

    #[test]
    fn what_is_stored_is_read_again() {
        let stored = counts(&[("a b/c=1, d", 7), ("e", u64::MAX)]);
        assert_eq!(stored.to_string().parse(), Ok(stored));
        for text in ["", "7 a", "# rustc\nx a", "# rustc\n7", "# rustc\n7 a\n7 a"] {
            assert!(text.parse::<Counts>().is_err(), "{text:?}");
        }
    }
}
