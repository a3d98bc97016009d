//! A devnet that keeps journals, killed and run again: it goes on, and says nothing else than before.
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::{Folder, SEVEN, prefinal, refused, text, utf8};

/// Block and value by slot, as a run printed them when all parties had them.
type Values = BTreeMap<u64, String>;

/// A committee of four with its journals.
struct Chain {
    folder: Folder,
    stakes: PathBuf,
    journal: PathBuf,
    options: Vec<&'static str>,
}

impl Chain {
    fn new(options: impl IntoIterator<Item = &'static str>) -> Self {
        let folder = Folder::new();
        let stakes = folder.file("stakes.csv", SEVEN);
        let journal = folder.path("journals");
        Self { folder, stakes, journal, options: options.into_iter().collect() }
    }

    fn arguments(&self, seed: &'static str) -> Vec<&str> {
        let (stakes, journal) = (utf8(&self.stakes), utf8(&self.journal));
        let fixed = ["devnet", "--parties", "4", "--slots", "4", "--regions", "none"];
        let own = ["--stakes", stakes, "--journal", journal, "--seed", seed];
        fixed.into_iter().chain(own).chain(self.options.iter().copied()).collect()
    }

    fn start(&self) -> (Child, impl Iterator<Item = String> + use<>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prefinal"));
        let mut process = command.args(self.arguments("7")).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        (process, lines.map_while(Result::ok))
    }

    /// Killed as soon as this many journals are there, whatever is in them.
    fn killed_at_files(&self, files: usize) {
        let (mut process, _lines) = self.start();
        let there = || std::fs::read_dir(&self.journal).map_or(0, Iterator::count);
        while there() < files && process.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Killed as soon as it prints this.
    fn killed_at(&self, words: &str) {
        let (mut process, mut lines) = self.start();
        assert!(lines.any(|line| line.contains(words)), "it does not say: {words}");
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Killed as soon as three slots have a value.
    fn killed(&self) -> Values {
        let (mut process, mut lines) = self.start();
        let values = lines.by_ref().filter_map(|line| value(&line));
        let mut values: Values = values.take(3).collect();
        process.kill().unwrap();
        process.wait().unwrap();
        values.extend(lines.filter_map(|line| value(&line)));
        assert!(values.len() >= 3, "{values:?}");
        values
    }

    fn whole(&self) -> Values {
        let out = self.folder.path("values.json");
        let output = prefinal(self.arguments("7").into_iter().chain(["--out", utf8(&out)]));
        assert!(output.status.success(), "{}", text(&output.stderr));
        let values: Values = text(&output.stdout).lines().filter_map(value).collect();
        assert!(values.len() >= 4, "{values:?}");
        assert!(prefinal(["verify", utf8(&out)]).status.success());
        values
    }
}

/// A line of a slot is its number, its block, its value and how long it took.
fn value(line: &str) -> Option<(u64, String)> {
    let mut words = line.split_whitespace();
    let slot = words.next()?.parse().ok()?;
    let block = words.next()?;
    let value = words.next().filter(|word| word.len() == 16)?;
    Some((slot, format!("{block} {value}")))
}

/// Killed before there is a key, when there is one and in the middle of the slots, then run in order,
/// twice.
fn lives(engine: &'static str, scheme: &'static str, path: &'static str) {
    let chain = Chain::new(["--engine", engine, "--scheme", scheme, "--path", path]);
    chain.killed_at_files(4);
    chain.killed_at("key generation: done");
    let first = chain.killed();
    let second = chain.whole();
    let third = chain.whole();
    // The kill may take the note that a slot was shown, if no record came after it: then the slot is
    // shown again, and it is the same.
    for (slot, value) in &second {
        assert!(first.get(slot).is_none_or(|known| known == value), "slot {slot} has two values");
    }
    assert!(second.keys().max() > first.keys().max());
    assert!(second.keys().min() > first.keys().min(), "{first:?}, then {second:?}");
    // A run that ended in order is not repeated.
    assert!(third.keys().min() > second.keys().max(), "{second:?}, then {third:?}");
}

/// Killed in the second epoch, and run again: every boundary is where it was.
#[test]
fn a_chain_goes_on_in_a_later_epoch() {
    for engine in ["jolteon", "malachite"] {
        let epochs = ["--epochs", "2", "--join", "1", "--leave", "1"];
        let chain = Chain::new(["--engine", engine].into_iter().chain(epochs));
        let begins = |line: &String| line.contains("epoch 1: 4 parties");
        let (mut process, mut lines) = chain.start();
        let first: Values = lines
            .by_ref()
            .take_while(|line| !begins(line))
            .filter_map(|line| value(&line))
            .collect();
        process.kill().unwrap();
        process.wait().unwrap();
        let second = chain.whole();
        assert!(second.keys().max() > first.keys().max(), "{first:?}, then {second:?}");
        assert!(
            second.iter().all(|(slot, value)| first.get(slot).is_none_or(|known| known == value))
        );
    }
}

/// Every two of an engine, a scheme and a path; nothing links all three, and they take twice as long.
macro_rules! for_every_pair {
    ($($test:ident: $engine:literal, $scheme:literal, $path:literal;)*) => {$(
        #[test]
        fn $test() {
            lives($engine, $scheme, $path);
        }
    )*};
}

for_every_pair! {
    jolteon_goes_on_with_bls_on_the_slow_path: "jolteon", "bls", "slow";
    jolteon_goes_on_with_bls_at_tight_thresholds: "jolteon", "bls", "tight";
    jolteon_goes_on_with_the_vuf_on_both_paths: "jolteon", "wvuf", "fast";
    malachite_goes_on_with_bls_on_both_paths: "malachite", "bls", "fast";
    malachite_goes_on_with_the_vuf_on_the_slow_path: "malachite", "wvuf", "slow";
    malachite_goes_on_with_the_vuf_at_tight_thresholds: "malachite", "wvuf", "tight";
    dispel_goes_on_with_bls_on_both_paths: "dispel", "bls", "fast";
}

#[test]
fn journals_that_are_only_half_made_are_made_whole() {
    let chain = Chain::new([]);
    chain.killed_at_files(2);
    chain.whole();
}

#[test]
fn a_journal_that_is_of_no_use_is_named_with_its_party_and_what_to_do() {
    let chain = Chain::new([]);
    chain.whole();
    let seven = chain.arguments("7");
    // Another committee's.
    let words = ["party-0.journal, party 0", "journal is of", "seed 7", "seed 8", "belongs to"];
    refused(&chain.arguments("8"), &words);
    // In use.
    let (mut process, mut lines) = chain.start();
    assert!(lines.any(|line| line.contains("key generation: done")));
    refused(&seven, &["party-0.journal, party 0", "already open", "end the process that has it"]);
    process.kill().unwrap();
    process.wait().unwrap();
    let third = chain.journal.join("party-2.journal");
    let whole = std::fs::read(&third).unwrap();
    let mut spoilt = whole.clone();
    spoilt.iter_mut().take(4096).for_each(|byte| *byte ^= 0xFF);
    std::fs::write(&third, spoilt).unwrap();
    refused(&seven, &["party-2.journal, party 2", "take another --journal folder"]);
    // A part of a committee's.
    std::fs::remove_file(&third).unwrap();
    let words = ["1 of 4 journals are missing", "party 2", "put the folder back as it was"];
    refused(&seven, &words);
    std::fs::create_dir(&third).unwrap();
    refused(&seven, &["party-2.journal, party 2", "a file that this user may read and write"]);
    std::fs::remove_dir(&third).unwrap();
    std::fs::write(&third, whole).unwrap();
    chain.whole();
    // No place for a folder.
    let mut nowhere = Chain::new([]);
    nowhere.journal = nowhere.stakes.join("journals");
    refused(&nowhere.arguments("7"), &["--journal", "stakes.csv", "a folder that can be written"]);
}
