//! A devnet that executes its blocks, from the terminal. What wallets see of it is in `tests/http`.
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Folder, SEVEN, misused, prefinal, text, utf8};

fn arguments<'a>(stakes: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["devnet", "--parties", "4", "--regions", "none", "--seed", "7", "--stakes"];
    let load = ["--execute", "transfers", "--load", "50"];
    fixed.into_iter().chain([utf8(stakes)]).chain(load).chain(more.iter().copied()).collect()
}

/// The heights of the blocks that all parties have committed, as far as they have transactions.
fn heights(printed: &str) -> Vec<u64> {
    let blocks = printed.lines().filter_map(|line| line.strip_prefix("block ")?.split_once(':'));
    blocks.map(|(height, _)| height.parse().unwrap()).collect()
}

fn executed(stakes: &Path, more: &[&str]) -> String {
    let output = prefinal(arguments(stakes, more));
    let printed = text(&output.stdout).to_owned();
    assert!(output.status.success(), "{printed}{}", text(&output.stderr));
    assert!(printed.contains("blocks leave the same states at 4 parties"), "{printed}");
    let long = printed.lines().find(|line| line.chars().count() > 80);
    assert_eq!(long, None);
    printed
}

#[test]
fn after_a_kill_the_chain_goes_on_from_its_states() {
    let folder = Folder::new();
    let (stakes, journal) = (folder.file("stakes.csv", SEVEN), folder.path("journals"));
    let more = ["--journal", utf8(&journal), "--slots"];
    let endless = [&more[..], &["500"]].concat();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prefinal"));
    let command = command.args(arguments(&stakes, &endless)).stdout(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut before = lines.flat_map(|line| heights(&line)).take(3).collect::<Vec<_>>();
    process.kill().unwrap();
    process.wait().unwrap();
    let last = before.pop().unwrap();
    let printed = executed(&stakes, &[&more[..], &["24"]].concat());
    let after = heights(&printed);
    assert!(after.iter().all(|height| *height > last - 1), "{last}, then {after:?}");
    assert!(!after.is_empty(), "{printed}");
    assert!(printed.contains("blocks are executed from their proposals on"), "{printed}");
}

#[test]
fn an_engine_that_tells_no_proposals_executes_what_is_ordered() {
    let folder = Folder::new();
    let stakes = folder.file("stakes.csv", SEVEN);
    let printed = executed(&stakes, &["--engine", "trantor", "--slots", "16"]);
    assert!(printed.contains("once ordered; the engine tells no proposals"), "{printed}");
    assert!(!heights(&printed).is_empty(), "{printed}");
}

#[test]
fn options_of_execution_do_not_stand_alone() {
    misused(&["devnet", "--load", "50"], &["--execute"]);
    misused(&["devnet", "--execute", "transfers", "--load", "0"], &["--load"]);
    misused(&["devnet", "--execute", "payments"], &["payments", "transfers", "evm"]);
}
