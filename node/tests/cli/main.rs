//! The command from outside: what it says about bad input, what it writes, what it verifies.
//!
//! Bad input is one line on stderr that names file, line and value, and exit code 2; a value that
//! does not hold is exit code 1; a panic is a bug of ours whatever the input is.
//!
//! The module `measurements` has what `simulate` measures of the paper; `verify` changes files that `prefinal verify` must refuse; `terminal` tests pipes and signals; `weighing`
//! has weights, thresholds and round trips of the user.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod away;
mod epochs;
mod execution;
mod journal;
mod measurements;
mod terminal;
mod verify;
mod weighing;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Seven holders; the largest has 310 of 1000.
const SEVEN: &str = "# seven holders\nstake\n310\n240\n150\n110\n90\n60\n40\n";

/// Prices for the simulator, so that nothing has to be measured.
const COSTS: &str = r#"{"g1_multiplication":90000,"g2_multiplication":200000,"g1_hash":80000,
    "g2_hash":200000,"g1_decode":60000,"g2_decode":90000,"miller_loop":200000,
    "miller_loop_of_many":200000,"final_exponentiation":500000,"g1_term":[40000,30000,20000],
    "g2_term":[90000,70000,60000],"g1_short":50000}"#;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().expect("there is a place for temporary files"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).expect("temporary files are writable");
        path
    }
}

fn prefinal<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    let mut command = Command::cargo_bin("prefinal").expect("the command is built");
    // A user who asks for backtraces shall not see one either.
    command.env("RUST_BACKTRACE", "1").args(arguments).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What the command said on stderr, which has to be one line, with this exit code.
fn complaint(arguments: &[&str], code: i32) -> String {
    let output = prefinal(arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    for word in ["panicked", "backtrace", "unwrap", "src/"] {
        assert!(!said.contains(word), "{arguments:?}: {said}");
    }
    said
}

fn refused(arguments: &[&str], words: &[&str]) {
    let said = complaint(arguments, 2);
    assert_eq!(said.trim_end().lines().count(), 1, "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: `{word}` is not in {said}");
    }
}

/// Refused by the parser of the command line, which adds how to ask for help.
fn misused(arguments: &[&str], words: &[&str]) {
    let said = complaint(arguments, 2);
    for word in words {
        assert!(said.contains(word), "{arguments:?}: `{word}` is not in {said}");
    }
}

fn utf8(path: &Path) -> &str {
    path.to_str().expect("temporary files have plain names")
}

// Stake tables.

#[test]
fn every_command_names_file_line_and_value_of_a_bad_table() {
    let tables: [(&str, &[u8], &[&str]); 14] = [
        ("empty.csv", b"", &["no stakes"]),
        ("blank.csv", b"\n\n# nothing\n", &["no stakes"]),
        ("header.csv", b"stake\n", &["no stakes"]),
        ("headless.csv", b"310\n240\n", &[":1:", "`310`", "header"]),
        ("zeros.csv", b"stake\n0\n0\n0\n0\n", &["all 4 stakes are 0"]),
        ("negative.csv", b"stake\n5\n-3\n", &[":3:", "`-3`", "not negative"]),
        ("word.csv", b"stake\n5\n6\nmany\n", &[":4:", "`many`", "whole number"]),
        ("fraction.csv", b"stake\n5\n1.5\n", &[":3:", "`1.5`", "whole number"]),
        ("exponent.csv", b"stake\n1e9\n5\n", &[":2:", "`1e9`", "whole number"]),
        ("columns.csv", b"stake\n5,6\n", &[":2:", "`5,6`", "whole number"]),
        ("spaces.csv", b"stake\n5 6\n", &[":2:", "`5 6`", "whole number"]),
        (
            "large.csv",
            b"stake\n1\n18446744073709551616\n",
            &[":3:", "`18446744073709551616`", "2^64"],
        ),
        ("one.csv", b"stake\n0\n9\n0\n", &[":3:", "9", "all the stake"]),
        ("binary.csv", b"\x7fELF\x00\xff\xfe\x01stake\n", &["UTF-8"]),
    ];
    let folder = Folder::new();
    for (name, content, words) in tables {
        let file = folder.file(name, content);
        let (file, out) = (utf8(&file), folder.path("out"));
        let words: Vec<&str> = words.iter().copied().chain([name]).collect();
        refused(&["round", file], &words);
        refused(&["devnet", "--stakes", file], &words);
        refused(&["simulate", "--stakes", file, "--out", utf8(&out)], &words);
        assert!(!out.exists(), "{name}: nothing is written before the input is checked");
    }
}

#[test]
fn every_command_names_a_file_that_cannot_be_read() {
    let folder = Folder::new();
    let (missing, directory) = (folder.path("missing"), folder.0.path().to_owned());
    for (file, why) in [(&missing, "No such file"), (&directory, "directory")] {
        let file = utf8(file);
        refused(&["round", file], &[file, why]);
        refused(&["devnet", "--stakes", file], &[file, why]);
        refused(&["simulate", "--stakes", file], &[file, why]);
        refused(&["verify", file], &[file, why]);
        refused(&["simulate", "--costs", file], &[file, why]);
    }
}

#[test]
fn terminal_codes_in_a_table_do_not_reach_the_terminal() {
    let folder = Folder::new();
    let file = folder.file("red.csv", "stake\n5\n\u{1b}[31mred\n");
    let said = complaint(&["round", utf8(&file)], 2);
    assert!(!said.contains('\u{1b}') && said.contains(":3:"), "{said:?}");
}

#[test]
fn the_good_tables_before_a_bad_one_do_not_hide_it() {
    let folder = Folder::new();
    let (good, bad) = (folder.file("good.csv", SEVEN), folder.file("bad.csv", "stake\n5\nx\n"));
    refused(&["round", utf8(&good), utf8(&bad)], &["bad.csv:3:", "`x`"]);
}

// Options.

#[test]
fn thresholds_in_the_wrong_order_are_named() {
    let folder = Folder::new();
    let table = folder.file("seven.csv", SEVEN);
    let table = utf8(&table);
    refused(&["round", table, "--slow", "2/3", "1/2"], &["--slow", "2/3", "1/2"]);
    refused(&["round", table, "--fast", "2/3", "1/2"], &["--fast", "2/3", "1/2"]);
    refused(&["round", table, "--slow", "1/2", "1/2"], &["--slow", "1/2"]);
    refused(&["devnet", "--fast", "1/2"], &["--fast", "1/2", "2/3"]);
    refused(&["devnet", "--fast", "2/3"], &["--fast", "2/3"]);
    refused(&["simulate", "--fast", "1/2"], &["--fast", "1/2", "2/3"]);
    refused(&["simulate", "--engine", "permissive"], &["permissive", "--campaign"]);
}

#[test]
fn bad_fractions_are_named() {
    let folder = Folder::new();
    let table = folder.file("seven.csv", SEVEN);
    let table = utf8(&table);
    let huge = "340282366920938463463374607431768211456/3";
    for bad in
        ["0/0", "1/0", "abc", "", ".", "1/", "/2", "-1/2", "1/2/3", "0.x", "1.5", "3/2", huge]
    {
        let slow = format!("--slow={bad}");
        misused(&["round", table, &slow, "2/3"], &["--slow"]);
        misused(&["devnet", &format!("--fast={bad}")], &["--fast"]);
        misused(&["simulate", &format!("--fast={bad}")], &["--fast"]);
    }
}

#[test]
fn unknown_regions_are_named() {
    for command in ["devnet", "simulate"] {
        refused(&[command, "--regions", "eu-west-1,atlantis"], &["--regions", "`atlantis`"]);
        refused(&[command, "--regions", "all,eu-west-1"], &["--regions", "`all`"]);
        refused(&[command, "--regions", ""], &["--regions"]);
    }
}

#[test]
fn too_many_and_too_few_parties_are_named() {
    let folder = Folder::new();
    let table = folder.file("seven.csv", format!("{SEVEN}0\n0\n"));
    let table = utf8(&table);
    for command in ["devnet", "simulate"] {
        // A party without stake does not count.
        refused(&[command, "--stakes", table, "--parties", "8"], &["8", "seven.csv", "7"]);
        refused(&[command, "--parties", "130"], &["130", "129"]);
        for few in ["0", "1", "3"] {
            refused(&[command, "--stakes", table, "--parties", few], &["4", few]);
        }
    }
    let two = folder.file("two.csv", "stake\n5\n6\n");
    refused(&["simulate", "--stakes", utf8(&two)], &["4", "2"]);
}

#[test]
fn options_of_the_wrong_kind_are_named() {
    for command in ["devnet", "simulate"] {
        misused(&[command, "--parties", "many"], &["--parties", "many"]);
        misused(&[command, "--slots", "0"], &["--slots", "0"]);
        misused(&[command, "--seed", "-1"], &["-1"]);
        misused(&[command, "--seed", "18446744073709551616"], &["--seed"]);
    }
    misused(&["devnet", "--path", "sideways"], &["--path", "sideways", "slow", "fast", "tight"]);
    misused(&["simulate", "--cores", "0"], &["--cores", "0"]);
    misused(&["simulate", "--jitter", "101"], &["--jitter", "101"]);
    misused(&["round"], &["FILE"]);
    misused(&["dance"], &["dance"]);
}

#[test]
fn costs_that_are_none_are_named_with_their_place() {
    let folder = Folder::new();
    for (name, content) in [
        ("empty.json", String::new()),
        ("list.json", "[]".to_owned()),
        ("unknown.json", COSTS.replacen("g1_hash", "g3_hash", 1)),
        ("negative.json", COSTS.replacen("80000", "-80000", 1)),
    ] {
        let file = folder.file(name, content);
        refused(&["simulate", "--costs", utf8(&file)], &[name, "line"]);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let folder = Folder::new();
    let (table, costs) = (folder.file("seven.csv", SEVEN), folder.file("costs.json", COSTS));
    // A file stands where the folder should be.
    let out = utf8(&table);
    let small = ["--slots", "1", "--regions", "none", "--stakes", utf8(&table)];
    let simulate = ["simulate", "--costs", utf8(&costs), "--out", out];
    refused(&[&simulate[..], &small].concat(), &["seven.csv"]);
}

// What the commands do with good input.

#[test]
fn rounding_is_the_same_for_the_eye_and_for_a_program() {
    let folder = Folder::new();
    let table = folder.file("seven.csv", SEVEN);
    let output = prefinal(["round", utf8(&table), "--weights"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let seen = text(&output.stdout);
    let output = prefinal(["round", utf8(&table), "--json"]);
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let weights: Vec<String> =
        report[0]["weights"].as_array().unwrap().iter().map(Value::to_string).collect();
    assert_eq!(weights.len(), 7);
    assert!(seen.contains(&format!("weights: {}", weights.join(" "))), "{seen}");
    let sum: u64 = weights.iter().map(|weight| weight.parse::<u64>().unwrap()).sum();
    assert_eq!(report[0]["total_weight"], json!(sum));
    assert!(seen.contains(&format!("total weight {sum}")), "{seen}");
    let again = prefinal(["round", utf8(&table), "--json"]);
    assert_eq!(again.stdout, output.stdout);
}

fn simulate(
    folder: &Folder,
    (scheme, engine): (&str, &str),
    costs: &Path,
    out: &str,
) -> (Vec<u8>, Vec<u8>) {
    let table = folder.file("seven.csv", SEVEN);
    let out = folder.path(out);
    let output = prefinal([
        "simulate",
        "--stakes",
        utf8(&table),
        "--parties",
        "7",
        "--slots",
        "4",
        "--regions",
        "none",
        "--costs",
        utf8(costs),
        "--scheme",
        scheme,
        "--engine",
        engine,
        "--out",
        utf8(&out),
    ]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let read = |name| fs::read(out.join(name)).unwrap();
    assert!(text(&read("waits.svg")).contains("<svg"));
    (read("waits.csv"), read("costs.json"))
}

#[test]
fn a_seed_and_the_costs_of_a_run_give_the_same_run_again() {
    let folder = Folder::new();
    let first = folder.file("costs.json", COSTS);
    for kind in [("wvuf", "jolteon"), ("bls", "malachite")] {
        let name = |time: &str| format!("{} on {} {time}", kind.0, kind.1);
        let (csv, costs) = simulate(&folder, kind, &first, &name("one"));
        let written = folder.path(&name("one")).join("costs.json");
        let again = simulate(&folder, kind, &written, &name("two"));
        assert_eq!(again, (csv.clone(), costs));
        // Both runs, four slots, seven parties, and a header.
        let csv = text(&csv);
        for run in ["slow", "fast"] {
            let rows = csv.lines().filter(|line| line.starts_with(&format!("{run},"))).count();
            assert!(rows >= 4 * 7, "{csv}");
        }
        assert_eq!(csv.lines().next(), Some("run,slot,party,path,wait_us"));
    }
}

/// A campaign's report without how long it took, and its exit code.
fn campaign(arguments: &[&str]) -> (String, Option<i32>) {
    let output = prefinal([&["simulate", "--campaign"], arguments].concat());
    let printed = text(&output.stdout);
    let lines = printed.lines().filter(|line| !line.ends_with(" s"));
    (lines.collect::<Vec<_>>().join("\n"), output.status.code())
}

#[test]
fn a_campaign_reports_what_was_done_and_is_the_same_again() {
    for function in ["ideal", "wvuf"] {
        let arguments = ["--function", function, "--executions", "2", "--seed", "11"];
        let (report, code) = campaign(&arguments);
        assert_eq!(code, Some(0), "{report}");
        assert!(report.contains("2 executions") && report.contains(" 0 violations"), "{report}");
        assert_eq!(campaign(&arguments).0, report);
        // One of them alone.
        let (alone, code) = campaign(&["--function", function, "--only", "13"]);
        assert_eq!(code, Some(0), "{alone}");
        assert_eq!(campaign(&["--function", function, "--only", "13"]).0, alone);
    }
}

#[test]
fn a_campaign_plays_the_largest_of_a_table() {
    let folder = Folder::new();
    let table = folder.file("seven.csv", SEVEN);
    let (report, code) = campaign(&["--stakes", utf8(&table), "--executions", "3"]);
    assert!(code == Some(0) && report.contains("3 executions"), "{report}");
    let three = folder.file("three.csv", "stake\n5\n6\n7\n");
    refused(&["simulate", "--campaign", "--stakes", utf8(&three)], &["three.csv", "4", "3"]);
}

#[test]
fn options_of_a_campaign_do_not_stand_alone() {
    misused(&["simulate", "--only", "3"], &["--campaign"]);
    misused(&["simulate", "--executions", "3"], &["--campaign"]);
    misused(&["simulate", "--campaign", "--executions", "0"], &["--executions", "0"]);
    misused(&["simulate", "--campaign", "--only", "1", "--executions", "3"], &["--only"]);
    misused(&["simulate", "--campaign", "--thresholds"], &["--thresholds"]);
    misused(&["simulate", "--campaign", "--only", "1", "--seed", "3"], &["--only"]);
    misused(&["simulate", "--campaign", "--without-rule", "10"], &["--without-rule", "10"]);
    misused(&["simulate", "--without-rule", "2"], &["--campaign"]);
    misused(&["simulate", "--function", "ideal"], &["--campaign"]);
    // A campaign would not look at these.
    for unused in [
        ["--parties", "7"],
        ["--regions", "none"],
        ["--scheme", "bls"],
        ["--slots", "5"],
        ["--cores", "4"],
        ["--jitter", "5"],
        ["--costs", "costs.json"],
        ["--out", "folder"],
    ] {
        misused(&[&["simulate", "--campaign"], &unused[..]].concat(), &[unused[0]]);
    }
}

#[test]
fn thresholds_are_compared_and_written() {
    let folder = Folder::new();
    let (table, costs) = (folder.file("seven.csv", SEVEN), folder.file("costs.json", COSTS));
    let out = folder.path("thresholds");
    let arguments = ["simulate", "--thresholds", "--slots", "3", "--stakes", utf8(&table)];
    let files = ["--costs", utf8(&costs), "--out", utf8(&out)];
    let output = prefinal([&arguments[..], &files].concat());
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{printed}{}", text(&output.stderr));
    let row = |name: &str| {
        let line = printed.lines().find(|line| line.contains(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in {printed}"));
        line.split_whitespace().filter_map(|cell| cell.parse().ok()).collect::<Vec<f64>>()
    };
    // Delays in synchrony, and as in the proof of the theorem.
    assert_eq!(row("ramp, slow path alone"), [1.0, 1.0]);
    let fast = row("ramp, fast and slow");
    assert!(fast[0] == 0.0 && fast[1] > 0.0, "{fast:?}");
    assert_eq!(row(" tight  "), [0.0, 0.0]);
    for file in ["thresholds.svg", "thresholds-waits.svg"] {
        assert!(text(&fs::read(out.join(file)).unwrap()).contains("<svg"), "{file}");
    }
    let delays = text(&fs::read(out.join("delays.csv")).unwrap());
    assert!(delays.starts_with("kind,synchronous,adversarial\n"), "{delays}");
    assert!(delays.ends_with("\ntight,0.00,0.00\n") && delays.lines().count() == 4, "{delays}");
    let csv = text(&fs::read(out.join("thresholds.csv")).unwrap());
    assert!(csv.lines().count() > 10 && csv.contains("\"tight, in exact stake\",-,-,0.0"), "{csv}");
}

/// A short devnet; what it wrote and what it printed.
fn devnet(folder: &Folder, scheme: &str, path: &str) -> (PathBuf, String) {
    let table = folder.file("seven.csv", SEVEN);
    let file = folder.path(&format!("{scheme} {path}.json"));
    let output = prefinal([
        "devnet",
        "--stakes",
        utf8(&table),
        "--parties",
        "7",
        "--regions",
        "none",
        "--slots",
        "4",
        "--scheme",
        scheme,
        "--path",
        path,
        "--out",
        utf8(&file),
    ]);
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{path}: {printed}{}", text(&output.stderr));
    (file, printed)
}

#[test]
fn a_devnet_of_each_path_reveals_and_its_file_verifies() {
    let folder = Folder::new();
    let (bls, wvuf) = (("bls", 2 * 96), ("wvuf", 2 * 32));
    for ((scheme, digits), path) in [(bls, "slow"), (bls, "fast"), (wvuf, "fast"), (wvuf, "tight")]
    {
        let (file, printed) = devnet(&folder, scheme, path);
        assert!(printed.contains("agree; each slot verified from public data"), "{printed}");
        let output = prefinal(["verify", utf8(&file)]);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{path}: {said}{}", text(&output.stderr));
        let key = said.trim().rsplit(' ').next().unwrap().to_owned();
        assert_eq!(key.len(), digits, "{said}");
        for key in [key.clone(), key.to_uppercase(), format!("0x{key}"), format!("0X{key}")] {
            let output = prefinal(["verify", utf8(&file), "--key", &key]);
            assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        }
        assert!(text(&output.stderr).contains("no --key"), "{output:?}");
        misused(&["verify", utf8(&file), "--key", "many"], &["--key", "many"]);
        let other = format!("{}{}", if key.starts_with('0') { '1' } else { '0' }, &key[1..]);
        let said = complaint(&["verify", utf8(&file), "--key", &other], 1);
        assert!(said.contains(&key) && said.contains(&other), "{said}");
    }
}

#[cfg(not(feature = "timelock"))]
#[test]
fn a_build_without_timelock_says_how_to_get_it() {
    refused(&["timelock", "encrypt", "--round", "1", "in", "out"], &["--features timelock"]);
}
