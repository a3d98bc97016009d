//! A campaign from outside: every rule of the release contract is missed when it is left out, and an
//! execution that fails is played again by the command that is printed with it.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::process::Output;

use assert_cmd::Command;
use prefinal_beacon::contract::Rule;

/// In so many executions the lack of a rule has to show.
const EXECUTIONS: &str = "200";

fn campaign(arguments: &[&str]) -> Output {
    let mut command = Command::cargo_bin("prefinal").expect("the command is built");
    command.args(["simulate", "--campaign"]).args(arguments).output().expect("the command starts")
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The first violation, and the options that play it again.
fn violation(printed: &str) -> Option<(String, Vec<String>)> {
    let mut lines = printed.lines();
    let found = lines.find(|line| line.contains(": "))?.to_owned();
    let replay = lines.next()?.trim().strip_prefix("replay: prefinal simulate --campaign ")?;
    Some((found, replay.split_whitespace().map(str::to_owned).collect()))
}

/// `known` is the first execution that needs the rule, of those where engines say anything that the contract
/// allows. If it needs it no longer, others do.
fn breaks_without(rule: Rule, known: &str) {
    let number = rule.number().to_string();
    let permissive = ["--without-rule", &number, "--engine", "permissive", "--function", "ideal"];
    let mut broken = campaign(&[&permissive[..], &["--only", known]].concat());
    if broken.status.code() != Some(1) {
        broken = campaign(&[&permissive[..], &["--executions", EXECUTIONS]].concat());
    }
    let report = printed(&broken);
    assert_eq!(broken.status.code(), Some(1), "without {rule} nothing breaks: {report}");
    let (found, replay) = violation(&report).expect("a violation is printed with its command");
    let options: Vec<&str> = replay.iter().map(String::as_str).collect();
    let again = campaign(&options);
    assert_eq!(again.status.code(), Some(1), "{replay:?}");
    let (same, _) = violation(&printed(&again)).expect("it is there again");
    assert_eq!(same, found, "{replay:?}");
    // The same execution with the whole contract.
    let place = options.iter().position(|one| *one == "--without-rule").expect("it is replayed so");
    let whole: Vec<&str> = [&options[..place], &options[place + 2..]].concat();
    let whole = campaign(&whole);
    assert_eq!(whole.status.code(), Some(0), "with {rule}: {}", printed(&whole));
    println!("without {rule}: {found}");
    let early = [Rule::OneView, Rule::Direct, Rule::GivenUp, Rule::Durable, Rule::NoView];
    if early.contains(&rule) {
        assert!(found.starts_with("secrecy: "), "without {rule}: {found}");
    }
}

macro_rules! each_is_missed {
    ($($test:ident $rule:ident $known:literal)*) => {
        $(#[test] fn $test() { breaks_without(Rule::$rule, $known); })*

        #[test]
        fn no_rule_is_left_out() {
            assert_eq!([$(Rule::$rule),*], Rule::ALL);
        }
    };
}

each_is_missed! {
    rule_1 Input "2"
    rule_2 OneView "7"
    rule_3 Direct "7"
    rule_4 GivenUp "9"
    rule_5 Durable "45"
    rule_6 Always "9"
    rule_7 NoView "6"
    rule_8 Skipped "2"
    rule_9 Once "48"
}

#[test]
fn every_engine_plays_with_every_function() {
    for engine in ["jolteon", "malachite", "trantor", "dispel", "permissive"] {
        for (function, executions) in [("ideal", "2"), ("bls", "1"), ("wvuf", "1")] {
            let options = ["--engine", engine, "--function", function, "--executions", executions];
            let output = campaign(&options);
            assert_eq!(output.status.code(), Some(0), "{options:?}: {}", printed(&output));
        }
    }
}

#[test]
fn a_campaign_on_replicas_refuses_what_it_does_not_use() {
    for unused in [["--function", "bls"], ["--without-rule", "2"], ["--epochs", "2"]] {
        let output = campaign(&[["--engine", "replica"], unused].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{unused:?}: {said}");
        assert!(said.contains(unused[0]), "{said}");
    }
}
