//! Total weight against the stake from which the fast path reconstructs, one curve a table.
//!
//! The fast path waits for the stake beyond two thirds, so the curve's height is its latency and the
//! way to the right is what that costs in shares.

use std::path::Path;

use prefinal_weighted_rounding::{Objective, Profile, Weight};

use super::report::parts_of;
use super::solve;
use crate::output::Sink;
use prefinal_chart::{Axis, Legend, Line, Lines, Scale};
use prefinal_lab::Failure;
use prefinal_lab::stakes::StakeTable;

/// Budgets that are tried, each a quarter of an octave above the one before.
const BUDGETS: u32 = 17;

/// A table's curve, in percent of the stake: from the least total of the profile to sixteen times as
/// much.
pub(super) fn curve(table: &StakeTable, profile: &Profile) -> Result<Line, Failure> {
    let least = solve(table, profile, Objective::least_total())?.total().get();
    let mut points = Vec::new();
    for budget in (0..BUDGETS).map(|step| stretched(least, step)) {
        let objective = Objective::least_reconstruction(Weight::new(budget));
        let rounding = solve(table, profile, objective)?;
        let fast = rounding.guarantees().last().map(|fast| parts_of(fast.reconstruction(), 10_000));
        let hundredths = fast.and_then(|parts| u32::try_from(parts).ok()).unwrap_or(10_000);
        points.push((f64::from(rounding.total().get()), f64::from(hundredths) / 100.0));
    }
    let file = Path::new(table.name()).file_stem().unwrap_or_default();
    Ok(Line { name: file.to_string_lossy().into_owned(), points })
}

/// `least · 2^(step/4)`, rounded.
fn stretched(least: u32, step: u32) -> u32 {
    const QUARTERS: [u64; 4] = [10_000, 11_892, 14_142, 16_818];
    let part = usize::try_from(step % 4).ok().and_then(|quarter| QUARTERS.get(quarter));
    let scaled = u64::from(least) * part.unwrap_or(&10_000) / 10_000;
    u32::try_from(scaled << (step / 4)).unwrap_or(u32::MAX)
}

/// Draws the curves into an SVG file.
pub(super) fn draw(sink: Sink, curves: Vec<Line>) -> Result<(), Failure> {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let left = points().map(|(total, _)| *total).fold(f64::INFINITY, f64::min);
    let right = points().map(|(total, _)| *total).fold(left + 1.0, f64::max);
    let top = points().map(|(_, stake)| *stake).fold(70.0, f64::max).ceil();
    let bottom = points().map(|(_, stake)| *stake).fold(f64::INFINITY, f64::min).floor();
    let picture = Lines {
        title: "What total weight buys",
        across: Axis { label: "total weight", range: left..right, scale: Scale::Powers(2) },
        up: Axis {
            label: "the fast path reconstructs from, % of stake",
            range: bottom..top,
            scale: Scale::Linear,
        },
        legend: Legend::UpperRight,
        dots: false,
        lines: curves,
    };
    sink.picture(picture.svg())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_end_at_sixteen_times_the_least() {
        assert_eq!([0, 2, 4, BUDGETS - 1].map(|step| stretched(162, step)), [162, 229, 324, 2592]);
    }
}
