//! How cost grows with size: exponents.
//!
//! A series is one operation and quantity over cases that begin with their size, as in `W=256, n=64`.
//! If cost is `a·size^b`, then `log cost = log a + b·log size`: the exponent is the slope of the line
//! that is nearest in the sense of least squares. What is constant bends that line at small sizes, so
//! the slope between the two largest is given beside it.
use std::collections::BTreeMap;

use crate::compare::Comparison;

/// The quantity of a row that says what was not measured, with the time that it would have taken.
pub const LEFT_OUT: &str = "left out";

/// One operation over its sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The operation, such as `pvss::deal`.
    pub operation: String,
    /// The quantity, such as `time`.
    pub quantity: String,
    /// The unit of the quantity.
    pub unit: String,
    /// What the size counts, as in `W`.
    pub variable: String,
    /// Size and cost, sizes ascending.
    pub points: Vec<(f64, f64)>,
    /// What gives these figures again.
    pub command: String,
}

/// All series, in the order in which they came.
#[must_use]
pub fn series(comparisons: &[&Comparison]) -> Vec<Series> {
    let mut found: Vec<Series> = Vec::new();
    let mut places: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for comparison in comparisons.iter().filter(|one| one.of.quantity != LEFT_OUT) {
        let of = &comparison.of;
        let Some(((variable, size), ours)) = size(&of.case).zip(comparison.ours()) else {
            continue;
        };
        let key = (of.operation.as_str(), of.quantity.as_str(), variable);
        let place = *places.entry(key).or_insert(found.len());
        if place == found.len() {
            found.push(Series {
                operation: of.operation.clone(),
                quantity: of.quantity.clone(),
                unit: comparison.unit.clone(),
                variable: variable.to_owned(),
                points: Vec::new(),
                command: of.command.clone(),
            });
        }
        if let Some(series) = found.get_mut(place) {
            series.points.push((size, ours.value));
        }
    }
    for series in &mut found {
        series.points.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
    found
}

/// `("W", 256)` of `W=256, n=64`.
fn size(case: &str) -> Option<(&str, f64)> {
    let (variable, rest) = case.split_once('=')?;
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|size| *size > 0.0).map(|size| (variable, size))
}

impl Series {
    /// The slope of the nearest line through all points, if there are three or more.
    #[must_use]
    pub fn exponent(&self) -> Option<f64> {
        (self.points.len() >= 3).then(|| slope(&self.points)).flatten()
    }

    /// The slope between the two largest sizes.
    #[must_use]
    pub fn last_exponent(&self) -> Option<f64> {
        let [.., one, other] = self.points.as_slice() else { return None };
        slope(&[*one, *other])
    }
}

/// Over logarithms; `None` if a cost is zero or all sizes are one.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    if points.iter().any(|(size, cost)| *size <= 0.0 || *cost <= 0.0) {
        return None;
    }
    let logs = || points.iter().map(|(size, cost)| (size.ln(), cost.ln()));
    let count = logs().map(|_| 1.0).sum::<f64>();
    let (sum_x, sum_y) = logs().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x, sum.1 + y));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let (mut above, mut below) = (0.0, 0.0);
    for (x, y) in logs() {
        above += (x - mean_x) * (y - mean_y);
        below += (x - mean_x) * (x - mean_x);
    }
    (below > 0.0).then(|| above / below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(points: &[(f64, f64)]) -> Series {
        let text = str::to_owned;
        Series {
            operation: text("deal"),
            quantity: text("time"),
            unit: text("ms"),
            variable: text("W"),
            points: points.to_vec(),
            command: text("cargo run"),
        }
    }

    #[test]
    fn a_power_is_found_again() {
        let cubes = cost(&[(2.0, 24.0), (4.0, 192.0), (16.0, 12_288.0)]);
        assert!((cubes.exponent().unwrap() - 3.0).abs() < 1e-9);
        let flat = cost(&[(2.0, 5.0), (4.0, 5.0), (8.0, 5.0), (16.0, 20.0)]);
        assert!((flat.last_exponent().unwrap() - 2.0).abs() < 1e-9);
        assert!(flat.exponent().unwrap() < 1.0);
    }

    #[test]
    fn too_little_gives_no_exponent() {
        assert_eq!(cost(&[(2.0, 4.0), (4.0, 8.0)]).exponent(), None);
        assert_eq!(cost(&[(2.0, 4.0)]).last_exponent(), None);
        assert_eq!(cost(&[(2.0, 4.0), (2.0, 4.0), (2.0, 5.0)]).exponent(), None);
        assert_eq!(cost(&[(2.0, 0.0), (4.0, 4.0), (8.0, 5.0)]).exponent(), None);
    }

    #[test]
    fn a_case_begins_with_its_size() {
        assert_eq!(size("W=256, n=64"), Some(("W", 256.0)));
        assert_eq!(size("n=16"), Some(("n", 16.0)));
        assert_eq!(size("W=, n=64"), None);
        assert_eq!(size("all regions"), None);
    }
}
