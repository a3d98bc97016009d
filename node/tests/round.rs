//! The command `round`, as a user meets it.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that panics fails, as it should"
)]

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

fn table(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/stakes").join(name).with_extension("csv")
}

fn round(table: &Path, options: &[&str]) -> Command {
    let mut command = Command::cargo_bin("prefinal").unwrap();
    command.arg("round").arg(table).args(options);
    command
}

fn json(table: &Path, options: &[&str]) -> Value {
    let output = round(table, &[options, &["--json"]].concat()).assert().success();
    let reports: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    reports[0].clone()
}

#[test]
fn json_holds_exact_fractions_as_strings() {
    let report = json(&table("aptos_mainnet_129"), &["--prove", "40000"]);
    assert_eq!(report["total_weight"], 162);
    assert_eq!(
        (&report["proven_optimal"], &report["least_possible_weight"]),
        (&true.into(), &162.into())
    );
    assert_eq!(report["total_stake"], "8546825655426651200");
    let fast = &report["paths"][1];
    assert_eq!(fast["path"], "fast");
    assert_eq!(fast["reconstruction"], serde_json::json!(["5", "6"]));
    assert_eq!(fast["least_sufficient_stake"], "6953162310895252201");
    assert_eq!(
        fast["guaranteed"],
        serde_json::json!(["6953162310895252201", "8546825655426651200"])
    );
    assert_eq!(report["weights"].as_array().unwrap().len(), 129);
}

#[test]
fn a_budget_buys_less_stake_for_the_fast_path() {
    let report = json(&table("aptos_mainnet_129"), &["--budget", "512"]);
    assert_eq!(report["total_weight"], 511);
    let fast = &report["paths"][1];
    let part = |place: usize| fast["guaranteed"][place].as_str().unwrap().parse::<u128>().unwrap();
    assert!(part(0) * 100 < part(1) * 73);
}

#[test]
fn a_budget_that_is_too_small_is_refused_with_one_that_works() {
    let output = round(&table("aptos_mainnet_129"), &["--budget", "161"]).assert().code(2);
    let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(
        text.contains("a total weight of 161 seems too small for the profile, 162 is enough"),
        "{text}"
    );
    let output = round(&table("ethereum_entities_2023"), &["--budget", "17"]).assert().code(2);
    let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    let says = "a total weight of 17 is too small for the profile, it takes at least 18, and 18";
    assert!(text.contains(says), "{text}");
    round(&table("aptos_mainnet_129"), &["--budget", "162"]).assert().success();
    round(&table("aptos_mainnet_129"), &["--budget", "0"]).assert().code(2);
}

#[test]
fn what_a_budget_buys_comes_with_what_it_could_buy_at_best() {
    let stake = |report: &Value| report["least_possible_stake"].as_str().unwrap().to_owned();
    let fast = |report: &Value| report["paths"][1]["least_sufficient_stake"].clone();
    let report = json(&table("swiper_primes_23"), &["--budget", "30", "--prove", "3000"]);
    assert_eq!(report["proven_optimal"], true);
    assert_eq!(stake(&report), fast(&report));
    assert!(report.get("least_possible_weight").is_none());
    assert!(report["effort"]["nodes"].as_u64().unwrap() <= 3000);
    let output = round(&table("aptos_mainnet_129"), &["--budget", "256"]).assert().success();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(
        text.contains("no weights within the budget reconstruct from less than 66.66 %"),
        "{text}"
    );
}

#[test]
fn close_ratios_end_in_weights_or_in_what_to_raise() {
    let narrow = ["--slow", "0.5", "0.5000001", "--steps", "100000"];
    let output = round(&table("aptos_mainnet_129"), &narrow).assert().code(2);
    let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(text.contains("in 100000 steps an offset: allow more steps"), "{text}");
}

#[test]
fn comparison_lists_what_others_give() {
    let report = json(&table("aptos_mainnet_129"), &["--compare"]);
    let rows = report["compared"].as_array().unwrap();
    let totals: Vec<_> = rows.iter().map(|row| row["result"]["total_weight"].as_u64()).collect();
    assert_eq!(totals.get(..3), Some(&[Some(162), Some(224), Some(215)][..]));
    let output = round(&table("swiper_1_to_7"), &["--compare"]).assert().success();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    for part in ["proven least", "slow pair alone", "round to nearest (Aptos)", "Swiper", "holds"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
}

#[test]
fn the_plot_has_a_curve_for_each_table() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("weight.svg");
    let name = file.to_str().unwrap();
    let tables = [table("swiper_1_to_7"), table("swiper_primes_23")];
    round(&tables[0], &[tables[1].to_str().unwrap(), "--plot", name]).assert().success();
    let svg = std::fs::read_to_string(&file).unwrap();
    for part in ["total weight", "swiper_1_to_7", "swiper_primes_23"] {
        assert!(svg.contains(part), "{part} is missing");
    }
}

#[test]
fn what_is_no_pair_is_refused_in_one_line() {
    for (options, says) in [
        (["--slow", "2/3", "1/2"], "--slow: secrecy ratio 2/3 is not below"),
        (["--fast", "2/3", "2/3"], "--fast: secrecy ratio 2/3 is not below"),
        (["--fast", "2/3", "7/6"], "ratio 7/6 is above one"),
        (["--slow", "1/0", "2/3"], "ratio 1/0 has a zero denominator"),
        (["--slow", "-1/2", "2/3"], "unexpected argument"),
    ] {
        let output = round(&table("swiper_1_to_7"), &options).assert().code(2);
        let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(text.contains(says), "{options:?}: {text}");
    }
}
