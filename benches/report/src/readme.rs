//! The rows for the README, between two markers.
//!
//! The README has room for some fifteen rows, so they are named here, by what a reader wants to know.
//! Neither who is ahead nor by how much decides; of several peers the fastest one is shown, in the
//! process in which it was measured.
use crate::compare::Comparison;
use crate::machine::Machine;
use crate::markdown::table;
use crate::page::{COLUMNS, cells};

/// Where the table begins.
pub const BEGIN: &str = "<!-- bench:begin -->";
/// The comment behind the table.
pub const END: &str = "<!-- bench:end -->";

/// A row: what it is called, then operation, case and quantity.
pub type Choice = (&'static str, &'static str, &'static str, &'static str);

/// The rows of this project's README.
pub const CHOICES: [Choice; 17] = [
    ("threshold BLS, 67 of 100: a partial", "threshold::partial", "t=67 of 100", "time"),
    ("verify a partial", "threshold::verify", "t=67 of 100", "time"),
    ("verify all 100", "threshold::check_all", "t=67 of 100", "time"),
    ("one of the 100 is bad: name it", "threshold::culprit", "t=67 of 100", "time"),
    ("combine, scattered indices", "threshold::combine", "t=67 of 100, scattered", "time"),
    ("combine, contiguous indices", "threshold::combine", "t=67 of 100, contiguous", "time"),
    ("667 of 1000: verify all", "threshold::check_all", "t=667 of 1000", "time"),
    (
        "combine, roots of unity",
        "threshold::combine",
        "t=667 of 1000, roots of unity, scattered",
        "time",
    ),
    ("all public share keys", "threshold::share_keys", "t=667 of 1000", "time"),
    ("PVSS, 67 of 100: deal", "pvss::deal", "t=67 of 100", "time"),
    ("verify a dealing", "pvss::verify", "t=67 of 100", "time"),
    ("a dealing on the wire", "pvss::dealing", "t=67 of 100", "bytes"),
    ("weighted VUF, 129 parties: a value", "wvuf::combine", "n=129 W=224", "time"),
    ("a slot, 129 parties, both paths", "slot::both", "wvuf n=129 W=162", "time"),
    (
        "key generation, 129 parties: one party's work",
        "keygen::group",
        "n=129 W=162 paths=2 dealers=87",
        "time",
    ),
    ("a round of drand in Python", "drand::verify", "Python, quicknet", "time"),
    ("the same in JavaScript", "drand::verify", "JavaScript, quicknet, key read each time", "time"),
];

/// Why the README was left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadmeError {
    /// The table needs a place.
    #[error("no line {BEGIN} with a line {END} behind it")]
    NoMarkers,
    /// Figures that were measured in a hurry, or not at all.
    #[error("none of its rows was measured")]
    Nothing,
}

/// The README with its table replaced.
///
/// # Errors
/// If it has no markers, or none of the rows was measured.
pub fn rewritten(
    text: &str,
    choices: &[Choice],
    comparisons: &[Comparison],
    machine: &Machine,
) -> Result<String, ReadmeError> {
    let (before, rest) = text.split_once(BEGIN).ok_or(ReadmeError::NoMarkers)?;
    let (_, after) = rest.split_once(END).ok_or(ReadmeError::NoMarkers)?;
    let lines: Vec<Vec<String>> =
        choices.iter().filter_map(|choice| line(choice, comparisons)).collect();
    if lines.is_empty() {
        return Err(ReadmeError::Nothing);
    }
    let header = [&["operation"], COLUMNS.as_slice()].concat();
    let rows = table(&header, 1, &lines);
    let (processor, date) = (machine.fact("processor"), machine.fact("date"));
    Ok(format!(
        "{before}{BEGIN}\n{rows}\n{processor}, {date}. **Bold**: a peer is ahead. A dash: no peer has \
         it, or nothing bounds it. Below one: a cheaper way than this sum of primitives; where the \
         processor has AVX-512 IFMA, many points are summed up, paired and decoded eight at a time.\n{END}{after}"
    ))
}

/// The names of rows that were not measured.
pub fn missing<'a>(
    choices: &'a [Choice],
    comparisons: &'a [Comparison],
) -> impl Iterator<Item = &'static str> {
    choices.iter().filter(|choice| line(choice, comparisons).is_none()).map(|choice| choice.0)
}

fn line(choice: &Choice, comparisons: &[Comparison]) -> Option<Vec<String>> {
    let (name, operation, case, quantity) = *choice;
    let all = comparisons.iter().filter(|one| {
        let of = &one.of;
        one.ours().is_some()
            && (of.operation.as_str(), of.case.as_str(), of.quantity.as_str())
                == (operation, case, quantity)
    });
    // Without a peer it comes first.
    let over = |one: &Comparison| one.over_peer().unwrap_or(0.0);
    let chosen = all.max_by(|one, other| over(one).total_cmp(&over(other)))?;
    Some([&[name.to_owned()], cells(chosen).as_slice()].concat())
}
