//! A devnet that keeps journals, killed and run again: it goes on, and says nothing else than before.
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Folder, SEVEN, prefinal, refused, text, utf8};

/// Block and value by slot, as a run printed them when all parties had them.
type Values = BTreeMap<u64, String>;

fn arguments<'a>(stakes: &'a Path, journal: &'a Path, seed: &'a str) -> Vec<&'a str> {
    let (stakes, journal) = (utf8(stakes), utf8(journal));
    let fixed = ["devnet", "--parties", "4", "--slots", "4", "--regions", "none"];
    let own = ["--stakes", stakes, "--journal", journal, "--seed", seed];
    fixed.into_iter().chain(own).collect()
}

/// A line of a slot is its number, its block, its value and how long it took.
fn value(line: &str) -> Option<(u64, String)> {
    let mut words = line.split_whitespace();
    let slot = words.next()?.parse().ok()?;
    let block = words.next()?;
    let value = words.next().filter(|word| word.len() == 16)?;
    Some((slot, format!("{block} {value}")))
}

/// Killed as soon as three slots have a value.
fn killed(arguments: &[&str]) -> Values {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prefinal"));
    let mut process = command.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let values = lines.by_ref().map_while(Result::ok).filter_map(|line| value(&line));
    let mut values: Values = values.take(3).collect();
    process.kill().unwrap();
    process.wait().unwrap();
    values.extend(lines.map_while(Result::ok).filter_map(|line| value(&line)));
    assert!(values.len() >= 3, "{values:?}");
    values
}

fn whole(arguments: &[&str], out: &Path) -> Values {
    let output = prefinal(arguments.iter().copied().chain(["--out", utf8(out)]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let values: Values = text(&output.stdout).lines().filter_map(value).collect();
    assert!(values.len() >= 4, "{values:?}");
    assert!(prefinal(["verify", utf8(out)]).status.success());
    values
}

#[test]
fn a_devnet_that_is_killed_goes_on_where_it_ended() {
    let folder = Folder::new();
    let stakes = folder.file("stakes.csv", SEVEN);
    let journal = folder.path("journals");
    let arguments_of = |seed| arguments(&stakes, &journal, seed);
    let first = killed(&arguments_of("7"));
    let second = whole(&arguments_of("7"), &folder.path("second"));
    let third = whole(&arguments_of("7"), &folder.path("third"));
    // The kill may take the note that a slot was shown, if no record came after it: then the slot is
    // shown again, and it is the same.
    for (slot, value) in &second {
        assert!(first.get(slot).is_none_or(|known| known == value), "slot {slot} has two values");
    }
    assert!(second.keys().max() > first.keys().max());
    assert!(second.keys().min() > first.keys().min(), "{first:?}, then {second:?}");
    // A run that ended in order is not repeated.
    assert!(third.keys().min() > second.keys().max(), "{second:?}, then {third:?}");
    // Another committee's journals are no use.
    refused(&arguments_of("8"), &["journal is of", "seed 7", "seed 8"]);
    // Nor are those of a part of it.
    std::fs::remove_file(journal.join("party-2.journal")).unwrap();
    refused(&arguments_of("7"), &["1 of 4 journals are missing"]);
}
