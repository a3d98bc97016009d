//! What a person at a terminal does: pipes into `head`, fills a disk, presses Ctrl-C, copies a key.
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::{Folder, SEVEN, devnet, prefinal, refused, text, utf8};

/// Nobody reads; the writing end is all there is.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

fn run(stdout: Stdio, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prefinal"));
    let output = command.args(arguments).stdout(stdout).stderr(Stdio::piped()).output().unwrap();
    (output.status.code(), text(&output.stderr))
}

#[test]
fn a_reader_that_goes_away_ends_a_command_quietly() {
    let folder = Folder::new();
    let table = folder.file("seven.csv", SEVEN);
    let table = utf8(&table);
    assert_eq!(run(closed_pipe(), &["round", table, "--weights"]), (Some(0), String::new()));
    assert_eq!(run(closed_pipe(), &["round", "--help"]), (Some(0), String::new()));
    // It would run for a very long time.
    let endless = ["devnet", "--stakes", table, "--regions", "none", "--slots", "1000000000"];
    assert_eq!(run(closed_pipe(), &endless), (Some(0), String::new()));
    // What is wrong is still said.
    let (code, said) = run(closed_pipe(), &["round", "missing.csv"]);
    assert!(code == Some(2) && said.contains("missing.csv"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_in_one_line() {
    let folder = Folder::new();
    let table = folder.file("seven.csv", SEVEN);
    let full = || File::options().write(true).open("/dev/full").unwrap().into();
    for arguments in [&["round", utf8(&table)][..], &["round", utf8(&table), "--json"]] {
        let (code, said) = run(full(), arguments);
        assert_eq!(code, Some(2), "{said}");
        assert_eq!(said, "error: stdout: No space left on device (os error 28)\n");
    }
    refused(&["round", utf8(&table), "--plot", "/dev/full"], &["/dev/full", "No space left"]);
}

/// Runs without an end until it is told, as a service manager or a person does it.
#[cfg(unix)]
#[test]
fn a_devnet_ends_well_on_either_signal() {
    use rustix::process::{Pid, Signal, kill_process};
    let folder = Folder::new();
    let table = folder.file("seven.csv", SEVEN);
    let endless = ["--stakes", utf8(&table), "--regions", "none", "--slots", "1000000000"];
    for signal in [Signal::INT, Signal::TERM] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prefinal"));
        command.arg("devnet").args(endless).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let started =
            lines.by_ref().map_while(Result::ok).find(|line| line.contains("first value"));
        assert!(started.is_some(), "it makes a key");
        // A slot has a value.
        lines.by_ref().map_while(Result::ok).nth(2).unwrap();
        let id = Pid::from_raw(i32::try_from(process.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        assert!(rest.iter().any(|line| line == "interrupted"), "{rest:?}");
        assert!(rest.last().unwrap().contains("agree; each slot verified"), "{rest:?}");
        assert_eq!(process.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_place_for_results_is_tried_before_the_work() {
    let folder = Folder::new();
    let table = folder.file("seven.csv", SEVEN);
    let nowhere = folder.path("nowhere").join("result");
    let (table, nowhere, directory) = (utf8(&table), utf8(&nowhere), utf8(folder.0.path()));
    for (option, command) in [("--out", "devnet"), ("--plot", "round")] {
        for (place, why) in [(nowhere, "No such file"), (directory, "directory")] {
            let named = ["--stakes", table];
            let table = if command == "devnet" { &named[..] } else { &named[1..] };
            let arguments = [&[command, option, place], table].concat();
            refused(&arguments, &[place, why]);
            assert!(prefinal(&arguments).stdout.is_empty(), "{arguments:?} says so first");
        }
    }
}

#[test]
fn a_result_replaces_a_file_and_never_a_device() {
    let folder = Folder::new();
    let table = folder.file("seven.csv", SEVEN);
    let plot = folder.file("plot.svg", "old");
    assert!(prefinal(["round", utf8(&table), "--plot", utf8(&plot)]).status.success());
    assert!(text(&std::fs::read(&plot).unwrap()).contains("<svg"));
    assert!(prefinal(["round", utf8(&table), "--plot", "/dev/null"]).status.success());
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    let left = std::fs::read_dir(folder.0.path()).unwrap().count();
    assert_eq!(left, 2, "no draft stays behind");
}

#[test]
fn a_table_may_come_from_stdin_with_other_columns() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prefinal"));
    let command =
        command.args(["round", "-", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let rows: String = SEVEN.lines().skip(2).map(|stake| format!("0xab,{stake}\r\n")).collect();
    let table = format!("\u{feff}address,stake\r\n{rows}");
    process.stdin.take().unwrap().write_all(table.as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success());
    let said = text(&output.stdout).replacen("stdin", "", 1);
    let folder = Folder::new();
    let plain = folder.file("seven.csv", SEVEN);
    let expected = text(&prefinal(["round", utf8(&plain), "--json"]).stdout);
    assert_eq!(said, expected.replacen(utf8(&plain), "", 1));
}

#[test]
fn a_short_table_does_not_blame_an_option_that_nobody_gave() {
    let folder = Folder::new();
    let three = folder.file("three.csv", "stake\n5\n6\n7\n");
    refused(&["devnet", "--stakes", utf8(&three)], &["three.csv", "at least 4", "got 3"]);
    let said = text(&prefinal(["devnet", "--stakes", utf8(&three)]).stderr);
    assert!(!said.contains("--parties"), "{said}");
}

#[test]
fn one_that_reconstructs_alone_is_warned_of() {
    let folder = Folder::new();
    let table = folder.file("king.csv", "stake\n1000\n1\n1\n1\n");
    let output = prefinal(["round", utf8(&table)]);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("warning") && said.contains("party 0") && said.contains("alone"),
        "{said}"
    );
    let fair = folder.file("seven.csv", SEVEN);
    assert!(prefinal(["round", utf8(&fair)]).stderr.is_empty());
}

#[test]
fn what_is_printed_fits_a_terminal_of_80_columns() {
    let folder = Folder::new();
    let table = folder.file("seven.csv", SEVEN);
    let round = text(&prefinal(["round", utf8(&table), "--compare"]).stdout);
    let (file, devnet) = devnet(&folder, "bls", "fast");
    let verified = text(&prefinal(["verify", utf8(&file)]).stdout);
    // A key and a path are as long as they are.
    let long = |line: &&str| !line.contains(utf8(folder.0.path())) && !line.contains("key");
    for line in [round, devnet, verified].iter().flat_map(|said| said.lines()).filter(long) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}
