//! A party of a devnet that was away for long: it comes back behind the others, killed in between, and then votes,
//! certifies and reveals with them.
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{Folder, misused, prefinal, refused, text, utf8};

const EQUAL: &str = "stake\n10\n10\n10\n10\n";

/// A devnet of four, the last of which is away now and then. One that is more than 64 blocks behind follows.
struct Devnet {
    engine: &'static str,
    stakes: PathBuf,
    journal: PathBuf,
    _folder: Folder,
}

impl Devnet {
    fn new(engine: &'static str) -> Self {
        let folder = Folder::new();
        let (stakes, journal) = (folder.file("stakes.csv", EQUAL), folder.path("journals"));
        Self { engine, stakes, journal, _folder: folder }
    }

    fn run<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let fixed = ["devnet", "--parties", "4", "--regions", "none", "--seed", "7", "--stakes"];
        let work = ["--execute", "transfers", "--load", "20", "--engine", self.engine];
        let kept = ["--journal", utf8(&self.journal)];
        let all = fixed.into_iter().chain([utf8(&self.stakes)]).chain(work).chain(kept);
        all.chain(more.iter().copied()).collect()
    }

    /// All four have keys. Then the last one is away for more blocks than its engine would fetch.
    fn leave_one_behind(&self) {
        killed_at(self.run(&["--slots", "500"]), "block ");
        let away = whole(self.run(&["--slots", "70", "--away", "3"]));
        assert!(number_before(&away, " blocks leave the same states at 3 parties") > 0, "{away}");
    }
}

fn whole(arguments: Vec<&str>) -> String {
    let output = prefinal(arguments);
    let printed = text(&output.stdout).to_owned();
    assert!(output.status.success(), "{printed}{}", text(&output.stderr));
    let long = printed.lines().find(|line| line.chars().count() > 80);
    assert_eq!(long, None);
    printed
}

/// Killed as soon as it prints this, which is returned.
fn killed_at(arguments: Vec<&str>, words: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prefinal"));
    let mut process = command.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let found = lines.find(|line| line.contains(words));
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(found.is_some(), "it does not say: {words}");
    found.unwrap()
}

/// The number before these words, in a line that has them.
fn number_before(printed: &str, words: &str) -> u64 {
    assert!(printed.contains(words), "no {words} in {printed}");
    let mut before = printed.lines().filter_map(|line| line.split_once(words));
    let (before, _) = before.next().unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

/// It reveals with all others, and commits the states that they commit.
fn takes_part(back: &str) {
    assert!(number_before(back, " blocks leave the same states at 4 parties") > 0, "{back}");
    assert!(back.contains("each slot verified from public data"), "{back}");
}

#[test]
fn a_party_that_was_away_comes_back_by_deltas_and_takes_part() {
    let devnet = Devnet::new("jolteon");
    devnet.leave_one_behind();
    // All are killed when it has begun to follow.
    let begun = killed_at(devnet.run(&["--slots", "500"]), " blocks behind its peers");
    let behind = number_before(&begun, " blocks behind its peers");
    assert!(behind > 64, "{begun}");
    let back = whole(devnet.run(&["--slots", "24"]));
    // The others may have gone on a little.
    assert!(number_before(&back, " blocks behind its peers") < behind + 20, "{back}");
    assert!(number_before(&back, " blocks of its peers") > 30, "{back}");
    takes_part(&back);
    // Once it is back it is back.
    let again = whole(devnet.run(&["--slots", "4"]));
    assert!(!again.contains("behind its peers"), "{again}");
}

/// The engine that has to be shown most.
#[test]
fn a_party_that_was_away_is_told_what_was_ordered_meanwhile() {
    let devnet = Devnet::new("dispel");
    devnet.leave_one_behind();
    let back = whole(devnet.run(&["--slots", "24"]));
    assert!(number_before(&back, " blocks of its peers") > 30, "{back}");
    takes_part(&back);
}

#[test]
fn a_party_is_away_with_a_journal_and_never_the_one_that_serves() {
    misused(&["devnet", "--away", "3"], &["--journal"]);
    misused(&["devnet", "--journal", "j", "--away", "0"], &["--away", "0"]);
    let folder = Folder::new();
    let journal = folder.path("journals");
    let options = ["devnet", "--parties", "4", "--journal", utf8(&journal), "--away", "4"];
    refused(&options, &["--away 4", "0 to 3"]);
}
