//! Rows that may be divided by each other: ours, the peers', the limit.
//!
//! They are about one operation on one case and one quantity, on as many threads, and one command gave
//! them all: the same inputs in one process. The same operation beside another peer is another
//! comparison, with its own figure of ours.
use std::collections::BTreeMap;

use prefinal_rows::Row;

/// One figure of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The library that was measured.
    pub implementation: String,
    /// The library's version.
    pub version: String,
    /// In the comparison's unit.
    pub value: f64,
}

/// Figures on the same inputs from one process.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What all of them share.
    pub of: Subject,
    /// Of every quantity there is one.
    pub unit: String,
    figures: Vec<Figure>,
}

/// What a comparison is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// `micro`, `peers` and so on.
    pub suite: String,
    /// The operation, such as `threshold::combine`.
    pub operation: String,
    /// The case, such as `t=67 of 100`.
    pub case: String,
    /// The quantity, such as `time`.
    pub quantity: String,
    /// Number of threads that worked on it.
    pub threads: u32,
    /// The command that gives these figures again.
    pub command: String,
}

/// Figures that cannot all be true.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// One command measures a thing once.
    #[error("{operation}, {case}: {quantity} of {implementation} is there twice ({command})")]
    Twice {
        /// The operation.
        operation: String,
        /// The case.
        case: String,
        /// The quantity.
        quantity: String,
        /// The library.
        implementation: String,
        /// The command that measured it.
        command: String,
    },
    /// Nobody divides milliseconds by microseconds here.
    #[error("{quantity} is in {one} and, for {operation}, in {other}")]
    Units {
        /// The quantity.
        quantity: String,
        /// The unit of the first row.
        one: String,
        /// The unit of a later row.
        other: String,
        /// The operation of the later row.
        operation: String,
    },
}

const OURS: &str = "prefinal";
const LIMIT: &str = "limit";

impl Comparison {
    /// Ours, if it was measured.
    #[must_use]
    pub fn ours(&self) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.implementation == OURS)
    }

    /// What nobody can do without, if there is a figure for it.
    #[must_use]
    pub fn limit(&self) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.implementation == LIMIT)
    }

    /// The peer with the least figure: of every quantity less is better.
    #[must_use]
    pub fn best_peer(&self) -> Option<&Figure> {
        let peers = self.figures.iter();
        let peers = peers.filter(|figure| ![OURS, LIMIT].contains(&figure.implementation.as_str()));
        peers.min_by(|one, other| one.value.total_cmp(&other.value))
    }

    /// Ours over the best peer's.
    #[must_use]
    pub fn over_peer(&self) -> Option<f64> {
        ratio(self.ours(), self.best_peer())
    }

    /// Ours over the limit.
    #[must_use]
    pub fn over_limit(&self) -> Option<f64> {
        ratio(self.ours(), self.limit())
    }

    /// Every figure, in the order of the file.
    #[must_use]
    pub fn figures(&self) -> &[Figure] {
        &self.figures
    }
}

fn ratio(ours: Option<&Figure>, other: Option<&Figure>) -> Option<f64> {
    let (ours, other) = (ours?, other?);
    (other.value > 0.0).then(|| ours.value / other.value)
}

/// All comparisons, in the order in which their first rows came.
///
/// # Errors
/// [`Contradiction`].
pub fn comparisons(rows: &[Row]) -> Result<Vec<Comparison>, Contradiction> {
    let mut found: Vec<Comparison> = Vec::new();
    let mut places: BTreeMap<Subject, usize> = BTreeMap::new();
    let mut units: BTreeMap<&str, &str> = BTreeMap::new();
    for row in rows {
        let unit = *units.entry(&row.quantity).or_insert(&row.unit);
        if unit != row.unit {
            return Err(Contradiction::Units {
                quantity: row.quantity.clone(),
                one: unit.to_owned(),
                other: row.unit.clone(),
                operation: row.operation.clone(),
            });
        }
        let of = subject(row);
        let place = *places.entry(of.clone()).or_insert(found.len());
        if place == found.len() {
            found.push(Comparison { of, unit: row.unit.clone(), figures: Vec::new() });
        }
        if let Some(comparison) = found.get_mut(place) {
            comparison.enter(row)?;
        }
    }
    Ok(found)
}

fn subject(row: &Row) -> Subject {
    Subject {
        suite: row.suite.clone(),
        operation: row.operation.clone(),
        case: row.case.clone(),
        quantity: row.quantity.clone(),
        threads: row.threads,
        command: row.command.clone(),
    }
}

impl Comparison {
    fn enter(&mut self, row: &Row) -> Result<(), Contradiction> {
        if self.figures.iter().any(|figure| figure.implementation == row.implementation) {
            return Err(Contradiction::Twice {
                operation: row.operation.clone(),
                case: row.case.clone(),
                quantity: row.quantity.clone(),
                implementation: row.implementation.clone(),
                command: row.command.clone(),
            });
        }
        self.figures.push(Figure {
            implementation: row.implementation.clone(),
            version: row.version.clone(),
            value: row.value,
        });
        Ok(())
    }
}
