//! A party of a devnet that was away for long: it comes back behind the others, killed in between, and then votes,
//! certifies and reveals with them.
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{Folder, misused, prefinal, refused, text, utf8};

const EQUAL: &str = "stake\n10\n10\n10\n10\n10\n10\n10\n";

/// A devnet whose last party is away now and then. One that is more than 64 blocks behind follows.
struct Devnet {
    /// Its engine, and what else is the same in all runs.
    options: &'static [&'static str],
    parties: u32,
    stakes: PathBuf,
    journal: PathBuf,
    _folder: Folder,
}

impl Devnet {
    fn new(options: &'static [&'static str], parties: u32) -> Self {
        let folder = Folder::new();
        let (stakes, journal) = (folder.file("stakes.csv", EQUAL), folder.path("journals"));
        Self { options, parties, stakes, journal, _folder: folder }
    }

    fn run(&self, more: &[&str]) -> Vec<String> {
        let parties = self.parties.to_string();
        let fixed = ["devnet", "--regions", "none", "--seed", "7", "--parties", &parties];
        let work = ["--execute", "transfers", "--load", "20"];
        let files = ["--stakes", utf8(&self.stakes), "--journal", utf8(&self.journal)];
        let all = fixed.iter().chain(&work).chain(self.options).chain(&files).chain(more);
        all.map(|one| (*one).to_owned()).collect()
    }

    /// All have keys. Then the last one is away for more blocks than those after which it follows. Where a round has a leader,
    /// those of the party that is away have no block.
    fn leave_one_behind(&self, slots: &str) -> String {
        killed_at(self.run(&["--slots", slots]), "block ");
        let last = (self.parties - 1).to_string();
        let away = whole(self.run(&["--slots", slots, "--away", &last]));
        let blocks =
            number_before(&away, &format!(" blocks leave the same states at {last} parties"));
        assert!(blocks > 64, "{away}");
        away
    }

    /// The last one reveals with all others, and commits the states that they commit.
    fn takes_part(&self, back: &str) {
        let all = format!(" blocks leave the same states at {} parties", self.parties);
        assert!(number_before(back, &all) > 0, "{back}");
        assert!(back.contains("each slot verified from public data"), "{back}");
    }
}

fn whole(arguments: Vec<String>) -> String {
    let output = prefinal(arguments);
    let printed = text(&output.stdout).to_owned();
    assert!(output.status.success(), "{printed}{}", text(&output.stderr));
    let long = printed.lines().find(|line| line.chars().count() > 80);
    assert_eq!(long, None);
    printed
}

/// Killed as soon as it prints this, which is returned.
fn killed_at(arguments: Vec<String>, words: &str) -> String {
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

#[test]
fn a_party_that_was_away_comes_back_by_deltas_and_takes_part() {
    let devnet = Devnet::new(&["--engine", "jolteon"], 7);
    devnet.leave_one_behind("84");
    // All are killed when it has begun to follow.
    let begun = killed_at(devnet.run(&["--slots", "500"]), " blocks behind its peers");
    let behind = number_before(&begun, " blocks behind its peers");
    let back = whole(devnet.run(&["--slots", "14"]));
    // The others may have gone on a little.
    assert!(number_before(&back, " blocks behind its peers") < behind + 20, "{back}");
    assert!(number_before(&back, " blocks of its peers") > 30, "{back}");
    devnet.takes_part(&back);
    // Once it is back it is back.
    let again = whole(devnet.run(&["--slots", "4"]));
    assert!(!again.contains("behind its peers"), "{again}");
}

/// The engine that has to be shown most, and keys that all parties publish again in the second epoch.
#[test]
fn a_party_that_was_away_reads_the_next_epochs_keys_and_what_was_ordered_meanwhile() {
    let devnet = Devnet::new(&["--engine", "dispel", "--scheme", "wvuf", "--epochs", "2"], 4);
    let away = devnet.leave_one_behind("80");
    assert!(away.contains("epoch 1: 4 parties") && away.contains("another group key"), "{away}");
    let back = whole(devnet.run(&["--slots", "80"]));
    assert!(number_before(&back, " blocks of its peers") > 30, "{back}");
    devnet.takes_part(&back);
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
