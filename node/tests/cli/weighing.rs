//! Committees of an experiment that are weighed and placed in another way than usual.
use std::fs;

use crate::{COSTS, Folder, SEVEN, misused, prefinal, refused, text, utf8};

/// Weights by hand, with which half of the stake stays below a threshold that two thirds reach.
const WEIGHED: &str = "stake,weight\n310,6\n240,5\n150,3\n110,2\n90,2\n60,1\n40,1\n";

/// Two regions, in either direction.
const TRIPS: &str = "from,to,p50_ms,p90_ms\nhere,here,1,2\nthere,there,1,2\nhere,there,80,90\n";

/// What an experiment of four slots says and writes into a folder of this name.
fn simulated(folder: &Folder, table: &str, more: &[&str], out: &str) -> (String, String) {
    let (table, costs) = (folder.file("table.csv", table), folder.file("costs.json", COSTS));
    let out = folder.path(out);
    let common =
        ["simulate", "--ideal", "--slots", "4", "--stakes", utf8(&table), "--costs", utf8(&costs)];
    let output = prefinal([&common[..], &["--out", utf8(&out)], more].concat());
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let slots = fs::read_to_string(out.join("slots.csv")).unwrap();
    assert!(fs::read_to_string(out.join("slots.svg")).unwrap().contains("<svg"));
    (text(&output.stdout), slots)
}

#[test]
fn weights_are_taken_as_they_are() {
    let folder = Folder::new();
    let (said, slots) = simulated(&folder, WEIGHED, &["--weights", "--regions", "none"], "weighed");
    assert!(said.contains("total weight 20, largest 6, 7 of 7 parties hold a share"), "{said}");
    let header = "run,slot,final_us,computable_us,path,premise,first_knows_us,last_knows_us,\
                  first_value_us,last_value_us,longest_wait_us,at_once,in_order,computing,\
                  other_votes,by_proposer,ramp,unbound,link";
    assert_eq!(slots.lines().next(), Some(header));
    assert!(slots.lines().filter(|line| line.starts_with("slow,")).count() >= 4, "{slots}");
    assert!(slots.lines().filter(|line| line.starts_with("fast,")).count() >= 4, "{slots}");

    let file = |name: &str, text: &str| folder.file(name, text);
    let without = file("seven.csv", SEVEN);
    let weights = ["simulate", "--weights", "--stakes"];
    let refuse = |table: &std::path::Path, words: &[&str]| {
        refused(&[&weights[..], &[utf8(table)]].concat(), words);
    };
    refuse(&without, &["seven.csv:2:", "column `weight`", "`stake`"]);
    let negative = file("negative.csv", "stake,weight\n5,1\n6,-1\n7,1\n8,1\n");
    refuse(&negative, &["negative.csv:3:", "`-1`", "not negative"]);
    // The largest, with nothing, is more than a third that may be needed.
    let poor = file("poor.csv", "stake,weight\n40,0\n20,1\n20,1\n20,1\n");
    refuse(&poor, &["poor.csv", "slow", "--slow"]);
    misused(&["simulate", "--weights"], &["--stakes"]);
    let both = [&weights[..], &[utf8(&without), "--budget", "20"]].concat();
    misused(&both, &["--weights", "--budget"]);
}

#[test]
fn tight_thresholds_run_beside_the_two_paths() {
    let folder = Folder::new();
    let (said, slots) = simulated(&folder, SEVEN, &["--tight", "--regions", "eu-west-1"], "tight");
    assert!(said.contains(" tight thresholds ") && said.contains("(Theorem 5.2)"), "{said}");
    assert!(said.contains(" why parties wait for a value "), "{said}");
    let tight = slots.lines().filter(|line| line.starts_with("tight,"));
    let mut count = 0;
    for line in tight {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!((cells[2], cells[4], cells[5]), (cells[3], "tight", "tight"), "{line}");
        // Nobody waits for anything but work.
        let reasons: Vec<u32> = cells[11..].iter().map(|cell| cell.parse().unwrap()).collect();
        assert_eq!((reasons[0] + reasons[2], reasons.iter().sum()), (7, 7), "{line}");
        count += 1;
    }
    assert!(count >= 4, "{slots}");
    let waits = fs::read_to_string(folder.path("tight").join("waits.svg")).unwrap();
    assert!(waits.contains("tight thresholds: mean"));
    misused(&["simulate", "--tight", "--thresholds"], &["--tight"]);
}

#[test]
fn a_slow_pair_and_a_budget_are_obeyed_or_refused() {
    let folder = Folder::new();
    let of = |more: &[&str], out: &str| {
        simulated(&folder, SEVEN, &[&["--regions", "none"], more].concat(), out).0
    };
    let usual = of(&[], "usual");
    assert!(of(&["--slow", "1/2", "2/3"], "same").contains(usual.lines().nth(1).unwrap()));
    assert!(of(&["--slow", "1/3", "2/3"], "low").contains("33.33 %"));
    let much = of(&["--budget", "200"], "much");
    assert!(much.contains("83.33 %") && much != usual, "{much}");
    let table = folder.file("seven.csv", SEVEN);
    let costs = folder.file("costs.json", COSTS);
    let given = ["--stakes", utf8(&table), "--costs", utf8(&costs), "--regions", "none"];
    let refuse = |more: &[&str], words: &[&str]| {
        refused(&[&["simulate"], &given[..], more].concat(), words);
    };
    refuse(&["--slow", "2/3", "1/2"], &["--slow", "2/3", "1/2"]);
    refuse(&["--slow", "2/3", "9/10"], &["slow path", "801", "667"]);
    refuse(&["--budget", "1"], &["weight of 1 ", "8 is enough"]);
    misused(&["simulate", "--budget", "0"], &["--budget"]);
    misused(&["simulate", "--load", "--budget", "9"], &["--load", "--budget"]);
}

#[test]
fn round_trips_are_those_of_a_table() {
    let folder = Folder::new();
    let trips = folder.file("trips.csv", TRIPS);
    let (said, _) = simulated(&folder, SEVEN, &["--round-trips", utf8(&trips)], "placed");
    assert!(said.contains("median 80 ms"), "{said}");
    let refuse = |trips: &std::path::Path, more: &[&str], words: &[&str]| {
        let simulate = ["simulate", "--round-trips", utf8(trips)];
        refused(&[&simulate[..], more].concat(), words);
    };
    refuse(&trips, &["--regions", "here,eu-west-1"], &["--regions", "eu-west-1", "here, there"]);
    refuse(&folder.path("missing.csv"), &[], &["missing.csv"]);
    let word = folder.file("word.csv", "from,to,p50_ms,p90_ms\nhere,here,fast,2\n");
    refuse(&word, &[], &["word.csv: line 2", "`fast`"]);
    let gap = folder.file("gap.csv", "from,to,p50_ms,p90_ms\na,a,1,2\nb,b,1,2\n");
    refuse(&gap, &[], &["gap.csv", "a and b"]);
}
