//! One table's rounding, for people and for programs.
//!
//! JSON holds stakes and fractions of stake as strings: they exceed what JavaScript counts.

use comfy_table::Table;
use prefinal_weighted_rounding::{Bound, Guarantee, Ratio, Rounding, Stake, Weight};
use serde::Serialize;

use crate::committee::autocrat;
use crate::table::table;
use prefinal_lab::methods::{Method, Outcome};
use prefinal_lab::stakes::StakeTable;

/// One table's rounding.
#[derive(Serialize)]
pub(super) struct Report {
    table: String,
    parties: usize,
    total_stake: String,
    total_weight: u32,
    /// No smaller total satisfies the profile; 1 if nothing was proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    least_possible_weight: Option<u32>,
    /// With a budget: no weights within it let less stake reconstruct for the fast path.
    #[serde(skip_serializing_if = "Option::is_none")]
    least_possible_stake: Option<String>,
    proven_optimal: bool,
    /// Steps of the scan and nodes of the proof, the same on all machines.
    effort: EffortReport,
    largest_weight: u32,
    holders: usize,
    paths: Vec<PathReport>,
    weights: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compared: Vec<Compared>,
}

#[derive(Serialize)]
struct EffortReport {
    steps: u64,
    nodes: u64,
}

#[derive(Serialize)]
struct PathReport {
    path: String,
    secrecy: [String; 2],
    reconstruction: [String; 2],
    threshold: u32,
    legal_thresholds: [u32; 2],
    least_leaking_stake: String,
    least_sufficient_stake: String,
    guaranteed: [String; 2],
}

/// What one method gives for the slow pair alone.
#[derive(Serialize)]
pub(super) struct Compared {
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<ComparedResult>,
}

#[derive(Serialize)]
struct ComparedResult {
    total_weight: u64,
    largest_weight: u32,
    holders: usize,
    threshold: u32,
    /// The set that breaks it, if the verifier found one.
    #[serde(skip_serializing_if = "Option::is_none")]
    refuted: Option<String>,
}

impl Compared {
    pub(super) fn ours(rounding: &Rounding) -> Self {
        let threshold = rounding.guarantees().first().map(|slow| slow.threshold());
        let total = u64::from(rounding.total().get());
        let threshold = threshold.unwrap_or_default();
        let result = ComparedResult::new(rounding.weights(), total, threshold, None);
        Self { method: "prefinal", result: Some(result) }
    }

    pub(super) fn theirs(method: Method, outcome: Option<&Outcome>) -> Self {
        let result = outcome.map(|outcome| {
            let Outcome { weights, threshold, refuted } = outcome;
            ComparedResult::new(weights, outcome.total(), *threshold, refuted.clone())
        });
        Self { method: method.name(), result }
    }

    fn row(&self) -> [String; 6] {
        let Some(result) = &self.result else {
            return [self.method, "-", "-", "-", "-", "not computed"].map(str::to_owned);
        };
        [
            self.method.to_owned(),
            result.total_weight.to_string(),
            result.largest_weight.to_string(),
            result.holders.to_string(),
            result.threshold.to_string(),
            if result.refuted.is_some() { "refuted" } else { "holds" }.to_owned(),
        ]
    }
}

impl ComparedResult {
    fn new(weights: &[Weight], total: u64, threshold: Weight, refuted: Option<String>) -> Self {
        Self {
            total_weight: total,
            largest_weight: weights.iter().max().copied().unwrap_or_default().get(),
            holders: weights.iter().filter(|weight| **weight != Weight::ZERO).count(),
            threshold: threshold.get(),
            refuted,
        }
    }
}

impl Report {
    pub(super) fn new(table: &StakeTable, rounding: &Rounding, compared: Vec<Compared>) -> Self {
        let stake: u128 = table.stakes().into_iter().map(Stake::get).sum();
        Self {
            table: table.name().to_owned(),
            parties: table.len(),
            total_stake: stake.to_string(),
            total_weight: rounding.total().get(),
            least_possible_weight: match rounding.bound() {
                Bound::Total(least) => Some(least.get()),
                Bound::Sufficient(_) => None,
            },
            least_possible_stake: match rounding.bound() {
                Bound::Total(_) => None,
                Bound::Sufficient(least) => Some(least.to_string()),
            },
            proven_optimal: rounding.is_optimal(),
            effort: EffortReport { steps: rounding.effort().steps, nodes: rounding.effort().nodes },
            largest_weight: rounding.largest().get(),
            holders: rounding.holders(),
            paths: rounding.guarantees().iter().map(PathReport::new).collect(),
            weights: rounding.weights().iter().map(|weight| weight.get()).collect(),
            compared,
        }
    }

    pub(super) fn print(&self, rounding: &Rounding, weights: bool) {
        let proof = proven_total(rounding);
        say!("{}", self.table);
        say!(
            "{} parties, total weight {}{proof}, largest {}, {} hold a share",
            self.parties,
            self.total_weight,
            self.largest_weight,
            self.holders
        );
        say!("{}", guarantees(rounding.guarantees()));
        let slow = rounding.guarantees().first().map(|slow| slow.threshold().get());
        if let Some(warning) = slow.and_then(|slow| autocrat(rounding.weights(), slow)) {
            warn!("{}: {warning}", self.table);
        }
        if let Some(proof) = proven_stake(rounding) {
            say!("{proof}");
        }
        if !self.compared.is_empty() {
            let header =
                ["slow pair alone", "total", "largest", "holders", "threshold", "verifier"];
            say!("{}", table(&header, self.compared.iter().map(Compared::row)));
            for Compared { method, result } in &self.compared {
                if let Some(why) = result.as_ref().and_then(|result| result.refuted.as_ref()) {
                    say!("{method}: {why}");
                }
            }
        }
        if weights {
            let listed: Vec<String> = self.weights.iter().map(u32::to_string).collect();
            say!("weights: {}\n", listed.join(" "));
        }
    }
}

/// What is proven of the total, in brackets.
fn proven_total(rounding: &Rounding) -> String {
    match rounding.bound() {
        Bound::Total(_) if rounding.is_optimal() => " (proven least)".to_owned(),
        Bound::Total(least) if least.get() > 1 => format!(" (proven: at least {least})"),
        _ => String::new(),
    }
}

/// What is proven of the stake that a budget buys.
fn proven_stake(rounding: &Rounding) -> Option<String> {
    let (Bound::Sufficient(least), Some(fast)) = (rounding.bound(), rounding.guarantees().last())
    else {
        return None;
    };
    Some(if rounding.is_optimal() {
        "proven: no weights within the budget reconstruct from less".to_owned()
    } else {
        let least = percent(fast.share(least));
        format!("proven: no weights within the budget reconstruct from less than {least}")
    })
}

impl PathReport {
    fn new(guarantee: &Guarantee) -> Self {
        let legal = guarantee.legal_thresholds();
        Self {
            path: guarantee.name().to_owned(),
            secrecy: parts(guarantee.pair().secrecy()),
            reconstruction: parts(guarantee.pair().reconstruction()),
            threshold: guarantee.threshold().get(),
            legal_thresholds: [legal.start().get(), legal.end().get()],
            least_leaking_stake: guarantee.least_leaking().to_string(),
            least_sufficient_stake: guarantee.least_sufficient().to_string(),
            guaranteed: parts(guarantee.reconstruction()),
        }
    }
}

fn parts(ratio: Ratio) -> [String; 2] {
    [ratio.numerator().to_string(), ratio.denominator().to_string()]
}

/// The table of thresholds with what they guarantee in stake.
#[must_use]
pub fn guarantees(guarantees: &[Guarantee]) -> Table {
    let header = [
        "path",
        "threshold",
        "legal",
        "leaks nothing up to",
        "reconstructs from (asked)",
        "reconstructs from (guaranteed)",
    ];
    table(&header, guarantees.iter().map(row))
}

fn row(guarantee: &Guarantee) -> [String; 6] {
    let legal = guarantee.legal_thresholds();
    [
        guarantee.name().to_owned(),
        guarantee.threshold().to_string(),
        format!("{}..{}", legal.start(), legal.end()),
        percent(guarantee.pair().secrecy()),
        percent(guarantee.pair().reconstruction()),
        percent(guarantee.reconstruction()),
    ]
}

/// A fraction of the stake for the eye, cut to two digits behind the point.
fn percent(ratio: Ratio) -> String {
    let hundredths = parts_of(ratio, 10_000);
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

/// `⌊ratio · parts⌋` for at most 10 000 parts, or next to it where the stake fills 128 bits; all parts
/// only of one.
pub(crate) fn parts_of(ratio: Ratio, parts: u32) -> u128 {
    // Stakes may fill 128 bits; 10 000 needs 14 of them, and the digits shown do not need the lowest.
    let shift = 14_u32.saturating_sub(ratio.denominator().leading_zeros());
    let least = (ratio.numerator() >> shift) * u128::from(parts);
    let most = u128::from(parts) - u128::from(ratio < Ratio::ONE);
    (least / (ratio.denominator() >> shift).max(1)).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_cuts_and_never_overflows() {
        assert_eq!(percent(Ratio::TWO_THIRDS), "66.66 %");
        assert_eq!(percent(Ratio::ONE), "100.00 %");
        let huge = Ratio::new(u128::MAX - 1, u128::MAX).expect("below one");
        assert_eq!(percent(huge), "99.99 %");
    }
}
