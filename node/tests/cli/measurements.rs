//! The paper's measurements: hours with restarts and moves, key generation by transcripts, transactions.
use std::fs;

use crate::{COSTS, Folder, SEVEN, misused, prefinal, refused, text, utf8};

/// What `simulate` says with seven parties, and one of the files that it writes.
fn simulated(folder: &Folder, more: &[&str], names: [&str; 2]) -> (String, String) {
    let (table, costs) = (folder.file("seven.csv", SEVEN), folder.file("costs.json", COSTS));
    let out = folder.path("out");
    let common = ["simulate", "--stakes", utf8(&table), "--costs", utf8(&costs)];
    let output = prefinal([&common[..], &["--out", utf8(&out)], more].concat());
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let [csv, svg] = names.map(|name| fs::read_to_string(out.join(name)).unwrap());
    assert!(svg.contains("<svg"));
    (text(&output.stdout), csv)
}

#[test]
fn hours_are_written_minute_by_minute() {
    let folder = Folder::new();
    let more = ["--hours", "1", "--every", "20", "--restarts", "3", "--moves", "2"];
    let (said, minutes) = simulated(&folder, &more, ["hours.csv", "hours.svg"]);
    assert!(said.contains("the fast path began with slot 91, final at 0:30:"), "{said}");
    assert_eq!(minutes.lines().count(), 61, "{minutes}");
    let column = |line: &str, at: usize| line.split(',').nth(at).unwrap().to_owned();
    assert_eq!(column(minutes.lines().nth(1).unwrap(), 2), "slow");
    assert_eq!(column(minutes.lines().last().unwrap(), 2), "both");
    // In the first half nothing comes by the fast path, in the second most does.
    let fast = |line: &str| column(line, 9).parse::<f64>().unwrap();
    assert!(minutes.lines().skip(1).take(29).all(|line| fast(line) == 0.0), "{minutes}");
    assert!(minutes.lines().skip(50).filter(|line| fast(line) > 50.0).count() > 5, "{minutes}");
    // From final to computable it takes a message by the slow path, and less by the fast one.
    assert!(
        minutes.starts_with("minute,seed,") && minutes.contains(",final_to_computable_mean_us,")
    );
    let gap = |minute: usize| column(minutes.lines().nth(minute).unwrap(), 14).parse::<u64>();
    let mean = |of: std::ops::Range<usize>| of.filter_map(|one| gap(one).ok()).sum::<u64>() / 10;
    assert!(mean(10..20) > 0 && mean(50..60) < mean(10..20), "{minutes}");
    let svg = fs::read_to_string(folder.path("out").join("hours.svg")).unwrap();
    for line in ["slot's longest, mean", "final to computable, mean"] {
        assert!(svg.contains(&line.replace('\'', "&apos;")) || svg.contains(line), "{line}");
    }
    let incidents = fs::read_to_string(folder.path("out").join("incidents.csv")).unwrap();
    assert_eq!(incidents.lines().filter(|line| line.starts_with("moves,")).count(), 2);
    misused(&["simulate", "--hours", "0"], &["--hours", "0"]);
    misused(&["simulate", "--every", "5"], &["--hours"]);
    misused(&["simulate", "--hours", "2", "--ideal"], &["--hours", "--ideal"]);
    let table = folder.file("seven.csv", SEVEN);
    let many = ["simulate", "--hours", "1", "--restarts", "4000", "--stakes", utf8(&table)];
    let costs = folder.file("costs.json", COSTS);
    let out = folder.path("many");
    let many = [&many[..], &["--costs", utf8(&costs), "--out", utf8(&out)]].concat();
    refused(&many, &["restarts", "third"]);
}

#[test]
fn key_generation_is_shown_stage_by_stage() {
    let folder = Folder::new();
    let more = ["--keygen", "--rates", "100Mbit/s"];
    let (said, rows) = simulated(&folder, &more, ["keygen.csv", "keygen.svg"]);
    assert!(said.contains(" aggregate ") && said.contains(" dealings "), "{said}");
    assert_eq!(rows.lines().count(), 3, "{rows}");
    misused(&["simulate", "--rates", "1Gbit/s"], &["--keygen"]);
    misused(&["simulate", "--keygen", "--rates", "7"], &["--rates", "7"]);
}

#[test]
fn transactions_wait_with_a_beacon_and_without() {
    let folder = Folder::new();
    let more =
        ["--load", "--engine", "jolteon", "--parties", "7", "--submitted", "640", "--seconds", "2"];
    let names = ["transactions.csv", "transactions.svg"];
    let costs = folder.file("costs.json", COSTS);
    let out = folder.path("out");
    let common = ["simulate", "--costs", utf8(&costs), "--out", utf8(&out)];
    let output = prefinal([&common[..], &more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let [rows, svg] = names.map(|name| fs::read_to_string(out.join(name)).unwrap());
    assert!(svg.contains("<svg"));
    for name in ["no beacon,", "slow path,", "both paths,"] {
        assert_eq!(rows.lines().filter(|line| line.starts_with(name)).count(), 1, "{rows}");
    }
    refused(&["simulate", "--load", "--engine", "malachite"], &["--engine", "jolteon"]);
    misused(&["simulate", "--submitted", "5"], &["--load"]);
}
