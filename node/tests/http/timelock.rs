//! Files that are encrypted to a devnet's round for some seconds, through pipes, with what its relay serves.
use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::devnet::Devnet;
use crate::stream::Follower;

/// What `prefinal timelock` makes of stdin.
fn piped(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prefinal"));
    command.arg("timelock").args(arguments).stdin(Stdio::piped());
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    process.stdin.take().unwrap().write_all(input).unwrap();
    process.wait_with_output().unwrap()
}

#[test]
fn a_file_is_shut_for_seconds_and_opens_with_what_the_relay_serves() {
    let devnet = Devnet::start(&[]);
    let url = |path: &str| format!("http://{}/{path}", devnet.address);
    // The key is made, and the first value is out, before anything is asked.
    let mut follower = Follower::new(devnet.address, None);
    assert_eq!(follower.next().unwrap().0, "info");
    let first = follower.value()["round"].as_u64().unwrap();
    let encrypt = ["encrypt", "--duration", "3s", "--armor", "--chain-info", &url("info")];
    let shut = piped(&encrypt, b"hello, future");
    assert!(shut.status.success(), "{shut:?}");
    let closed = piped(&["decrypt", "--chain-info", &url("info")], &shut.stdout);
    let said = String::from_utf8(closed.stderr).unwrap();
    let (_, round) = said.split_once("round ").unwrap();
    let round: String = round.chars().take_while(char::is_ascii_digit).collect();
    let number: u64 = round.parse().unwrap();
    assert!(number > first, "{said}");
    while follower.value()["round"].as_u64().unwrap() < number {}
    let signature = url(&format!("public/{round}"));
    let decrypt = ["decrypt", "--chain-info", &url("info"), "--signature", &signature];
    let opened = piped(&decrypt, &shut.stdout);
    assert!(opened.status.success(), "{opened:?}");
    assert_eq!(opened.stdout, b"hello, future");
    // What is no relay is named.
    let missing = piped(&["encrypt", "--round", "1", "--chain-info", &url("nothing")], b"");
    let said = String::from_utf8(missing.stderr).unwrap();
    assert!(missing.status.code() == Some(2) && said.contains("/nothing: "), "{said}");
}
