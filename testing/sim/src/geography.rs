//! Distances between places: measured round trips between the regions of a table.
//!
//! A line of the table is one direction of one pair, `from,to,p50_ms,p90_ms`: the median and the
//! 90th percentile of round trips measured at `from` against `to`. A round trip has no direction,
//! so the two measurements of a pair are averaged (in the embedded table they differ by 1 % for the
//! median pair and by 18 % at worst); one direction alone is enough. The line of
//! a region with itself is the round trip between two machines inside it, 1.5 to 8 ms.
//!
//! The embedded table is `data/rtt/aws.csv`, 33 regions, whose head names its origin.
//!
//! Placing seats is in `placement`; drawing a delay from a round trip is in `network`.

use std::collections::BTreeMap;
use std::time::Duration;

use thiserror::Error;

const AWS: &str = include_str!("../../../data/rtt/aws.csv");
const HEADER: &str = "from,to,p50_ms,p90_ms";
/// Largest round trip in a table. None on Earth takes longer, so more means a wrong unit.
const LONGEST_MS: u64 = 60_000;

/// A table of regions and the round trips between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geography {
    names: Vec<String>,
    /// One entry for each ordered pair, row by row.
    trips: Vec<RoundTrip>,
}

/// One region of one [`Geography`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Region(usize);

/// The measured round trip of one pair of regions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// The median: half of the round trips take at most this long.
    pub p50: Duration,
    /// The 90th percentile: nine in ten take at most this long.
    pub p90: Duration,
}

/// A region that the table does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown region `{name}`; known are {}", known.join(", "))]
pub struct UnknownRegion {
    /// The name that was asked for.
    pub name: String,
    /// The names of all regions, sorted.
    pub known: Vec<String>,
}

/// Why a text is not a table of round trips. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    /// There is nothing but comments.
    #[error("no round trip in the table")]
    Empty,
    /// The header does not name the columns as expected. It must, so that nobody swaps them.
    #[error("line {line}: expected the header `{HEADER}`, got `{got}`")]
    Header {
        /// The line.
        line: usize,
        /// The text of the line.
        got: String,
    },
    /// A line does not have four fields.
    #[error("line {line}: expected 4 fields, got {got}")]
    Fields {
        /// The line.
        line: usize,
        /// Number of fields.
        got: usize,
    },
    /// A field is not a valid number of milliseconds.
    #[error(
        "line {line}: `{value}` is not a number of milliseconds from 0 to {LONGEST_MS} with at \
         most 6 decimals"
    )]
    Number {
        /// The line.
        line: usize,
        /// The text of the field.
        value: String,
    },
    /// The 90th percentile is below the median.
    #[error("line {line}: p90 {p90:?} is less than p50 {p50:?}")]
    Order {
        /// The line.
        line: usize,
        /// The median in the line.
        p50: Duration,
        /// The 90th percentile in the line.
        p90: Duration,
    },
    /// There are two lines for one direction.
    #[error("line {line}: {from} to {to} was given before")]
    Twice {
        /// The second of the two lines.
        line: usize,
        /// The region where it was measured.
        from: String,
        /// The region that it was measured against.
        to: String,
    },
    /// A pair has no line in either direction.
    #[error("no line for {from} and {to}, in either direction")]
    Missing {
        /// One region.
        from: String,
        /// The other region, or the same.
        to: String,
    },
}

impl Geography {
    /// The embedded table of 33 AWS regions.
    ///
    /// # Errors
    /// None in a built crate: the tests parse this table.
    pub fn aws() -> Result<Self, TableError> {
        Self::parse(AWS)
    }

    /// Reads a table: `#` lines are comments, the first other line is the header.
    ///
    /// # Errors
    /// [`TableError`] names the first line that is wrong, or the first pair that is missing.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut lines = (1..)
            .zip(text.lines())
            .map(|(line, content)| (line, content.trim()))
            .filter(|(_, content)| !content.is_empty() && !content.starts_with('#'));
        let (line, header) = lines.next().ok_or(TableError::Empty)?;
        if header != HEADER {
            return Err(TableError::Header { line, got: header.to_owned() });
        }
        let mut given = BTreeMap::new();
        for (line, content) in lines {
            let (from, to, trip) = parse_line(line, content)?;
            if given.insert((from, to), trip).is_some() {
                let (from, to) = (from.to_owned(), to.to_owned());
                return Err(TableError::Twice { line, from, to });
            }
        }
        Self::complete(&given)
    }

    fn complete(given: &BTreeMap<(&str, &str), RoundTrip>) -> Result<Self, TableError> {
        let mut names: Vec<&str> = given.keys().flat_map(|&(from, to)| [from, to]).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return Err(TableError::Empty);
        }
        // It grows with the lines that are given, because the first missing pair ends the loop.
        let mut trips = Vec::new();
        for &from in &names {
            for &to in &names {
                let trip = match (given.get(&(from, to)), given.get(&(to, from))) {
                    (Some(&there), Some(&back)) => there.mean(back),
                    (Some(&one), None) | (None, Some(&one)) => one,
                    (None, None) => {
                        let (from, to) = (from.to_owned(), to.to_owned());
                        return Err(TableError::Missing { from, to });
                    }
                };
                trips.push(trip);
            }
        }
        Ok(Self { names: names.into_iter().map(str::to_owned).collect(), trips })
    }

    /// The names of all regions, sorted.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The region with this name.
    ///
    /// # Errors
    /// [`UnknownRegion`] lists the known names.
    pub fn region(&self, name: &str) -> Result<Region, UnknownRegion> {
        self.names
            .binary_search_by(|known| known.as_str().cmp(name))
            .map(Region)
            .map_err(|_| UnknownRegion { name: name.to_owned(), known: self.names.clone() })
    }

    /// The name of a region of this table.
    #[must_use]
    pub fn name(&self, region: Region) -> &str {
        self.names.get(region.0).map_or("", String::as_str)
    }

    /// The round trip between two regions of this table, the same in both directions.
    #[must_use]
    pub fn round_trip(&self, one: Region, other: Region) -> RoundTrip {
        self.trips.get(one.0 * self.names.len() + other.0).copied().unwrap_or_default()
    }
}

impl RoundTrip {
    fn mean(self, other: Self) -> Self {
        Self { p50: (self.p50 + other.p50) / 2, p90: (self.p90 + other.p90) / 2 }
    }
}

fn parse_line(line: usize, content: &str) -> Result<(&str, &str, RoundTrip), TableError> {
    let fields: Vec<&str> = content.split(',').map(str::trim).collect();
    let &[from, to, p50, p90] = fields.as_slice() else {
        return Err(TableError::Fields { line, got: fields.len() });
    };
    let number = |value: &str| {
        milliseconds(value).ok_or_else(|| TableError::Number { line, value: value.to_owned() })
    };
    let (p50, p90) = (number(p50)?, number(p90)?);
    if p90 < p50 {
        return Err(TableError::Order { line, p50, p90 });
    }
    Ok((from, to, RoundTrip { p50, p90 }))
}

/// Decimal milliseconds to exact nanoseconds.
fn milliseconds(text: &str) -> Option<Duration> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 6 {
        return None;
    }
    let whole: u64 = whole.parse().ok().filter(|&whole| whole < LONGEST_MS)?;
    let fraction: u64 = format!("{decimals:0<6}").parse().ok()?;
    Some(Duration::from_nanos(whole * 1_000_000 + fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str) -> Result<Geography, TableError> {
        Geography::parse(&format!("# origin\n{HEADER}\n{body}"))
    }

    #[test]
    fn the_embedded_table_is_whole_and_symmetric() {
        let aws = Geography::aws().unwrap();
        assert_eq!(aws.names().len(), 33);
        let regions: Vec<Region> = aws.names().map(|name| aws.region(name).unwrap()).collect();
        for &one in &regions {
            for &other in &regions {
                let trip = aws.round_trip(one, other);
                assert_eq!(trip, aws.round_trip(other, one));
                assert!(trip.p90 >= trip.p50, "{} {}", aws.name(one), aws.name(other));
                let same = one == other;
                assert_eq!(trip.p50 < Duration::from_millis(9), same || trip.p50.as_millis() < 9);
            }
        }
        let (virginia, ohio) = (aws.region("us-east-1").unwrap(), aws.region("us-east-2").unwrap());
        let expected = Duration::from_micros((15_068 + 14_963) / 2);
        let got = aws.round_trip(virginia, ohio).p50;
        assert!(got.abs_diff(expected) < Duration::from_millis(1), "{got:?}");
    }

    #[test]
    fn both_directions_are_averaged_and_one_is_enough() {
        let table = parse("a,a,1,1\nb,b,2,2.5\na,b,10,20\nb,a,11,20.000001\n").unwrap();
        let (a, b) = (table.region("a").unwrap(), table.region("b").unwrap());
        assert_eq!(table.round_trip(a, b).p50, Duration::from_micros(10_500));
        assert_eq!(table.round_trip(b, a).p90, Duration::from_nanos(20_000_000));
        let table = parse("a,a,1,1\nb,b,2,2.5\na,b,10,20\n").unwrap();
        let (a, b) = (table.region("a").unwrap(), table.region("b").unwrap());
        assert_eq!(table.round_trip(b, a).p50, Duration::from_millis(10));
    }

    #[test]
    fn an_unknown_region_is_named_and_the_known_are_listed() {
        let table = parse("a,a,1,1\n").unwrap();
        let error = table.region("moon-1").unwrap_err();
        assert_eq!(error.to_string(), "unknown region `moon-1`; known are a");
    }

    #[test]
    fn every_kind_of_broken_table_is_told_apart() {
        let text = |result: Result<Geography, TableError>| result.unwrap_err().to_string();
        assert_eq!(text(Geography::parse("# nothing\n\n")), "no round trip in the table");
        assert_eq!(text(parse("")), "no round trip in the table");
        assert_eq!(
            text(Geography::parse("from,to,p90_ms,p50_ms\n")),
            "line 1: expected the header `from,to,p50_ms,p90_ms`, got `from,to,p90_ms,p50_ms`"
        );
        assert_eq!(text(parse("a,a,1\n")), "line 3: expected 4 fields, got 3");
        for value in
            ["-1", "1e3", "", "nan", "1.", ".5", "60000", "1.0000001", "9".repeat(40).as_str()]
        {
            let error = parse(&format!("a,a,{value},70\n")).unwrap_err();
            assert_eq!(error, TableError::Number { line: 3, value: value.to_owned() });
        }
        assert_eq!(text(parse("a,a,2,1\n")), "line 3: p90 1ms is less than p50 2ms");
        assert_eq!(text(parse("a,a,1,1\na,a,1,1\n")), "line 4: a to a was given before");
        assert_eq!(text(parse("a,a,1,1\na,b,1,1\n")), "no line for b and b, in either direction");
    }
}
