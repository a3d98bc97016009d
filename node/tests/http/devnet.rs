//! A committee behind the interface, and drand's published clients in front of it.
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::SystemTime;

use crate::client::json;
use crate::stream::Follower;

/// Seven holders of whom the four largest take part.
const STAKES: &str = "stake\n310\n240\n150\n110\n90\n60\n40\n";

pub(crate) struct Devnet {
    process: Child,
    pub(crate) address: SocketAddr,
    /// What it says before its address.
    pub(crate) said: Vec<String>,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    _folder: tempfile::TempDir,
}

impl Devnet {
    pub(crate) fn start(more: &[&str]) -> Self {
        Self::prepared(|command| command.arg("--no-page").args(more))
    }

    pub(crate) fn prepared(prepare: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let folder = tempfile::TempDir::new().unwrap();
        let stakes = folder.path().join("stakes.csv");
        std::fs::write(&stakes, STAKES).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_prefinal"));
        command.args(["devnet", "--http", "localhost:0", "--parties", "4", "--regions", "none"]);
        command.args(["--seed", "7", "--stakes"]).arg(&stakes);
        let mut process = prepare(&mut command).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut said = Vec::new();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            said.push(line.clone());
            let (address, _) = line.strip_prefix("http://")?.split_once('/')?;
            address.parse().ok()
        });
        let address = address.expect("it prints its address");
        Self { process, address, said, lines, _folder: folder }
    }
}

impl Drop for Devnet {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn unix() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn a_devnet_serves_its_values_when_they_are_due() {
    let mut devnet = Devnet::start(&["--slots", "4"]);
    let mut follower = Follower::new(devnet.address, None);
    let (kind, info) = follower.next().unwrap();
    assert_eq!(kind, "info");
    let genesis = info["genesis_time"].as_u64().unwrap();
    let mut shown = Vec::new();
    for number in 1..=3 {
        let value = follower.value();
        let slot = value["slot"].as_u64().unwrap();
        assert_eq!(value["round"], number, "the first value is round 1");
        assert!(slot > number, "slots before it had none");
        assert!(unix() >= genesis + number - 1, "round {number} comes before it is due");
        let round = json(devnet.address, &format!("/public/{number}"));
        assert_eq!(round["signature"], value["signature"]);
        assert_eq!(round["randomness"], value["value"]);
        shown.push((slot, value["value"].as_str().unwrap()[..16].to_owned()));
    }
    let printed: Vec<String> = devnet.lines.by_ref().map_while(Result::ok).collect();
    for (slot, value) in shown {
        let line = printed.iter().find(|line| line.trim_start().starts_with(&format!("{slot} ")));
        assert!(line.is_some_and(|line| line.contains(&value)), "slot {slot}: {printed:?}");
    }
    assert!(devnet.process.wait().unwrap().success());
}

/// Needs Node and the packages of `package.json` beside this file: `cargo xtask test http`.
#[test]
#[ignore = "needs packages from npm"]
fn published_clients_verify_our_rounds_and_open_what_was_encrypted_to_one() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/clients.mjs");
    content("drand-client and tlock-js are content", &[], || {
        let mut node = Command::new("node");
        node.arg(script);
        node
    });
}

/// Needs Go, which gets the modules of `go/go.mod` beside this file: `cargo xtask test http`.
#[test]
#[ignore = "needs modules of Go"]
fn drands_go_client_verifies_a_chain_whose_committee_changes_from_round_1() {
    // The second committee's first round is behind the tenth, and before the one that is waited for.
    let changes = ["--slots", "40", "--epochs", "4", "--join", "1", "--leave", "1"];
    content("go-clients is content", &changes, || {
        let mut go = Command::new("go");
        go.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/go"));
        go.args(["run", ".", "-rounds", "15"]);
        go
    });
}

/// The client gets a devnet's address, of each engine, and ends well and says that it is content. If the
/// committee changes, it has by then.
fn content(word: &str, options: &[&str], client: impl Fn() -> Command) {
    for engine in ["jolteon", "malachite"] {
        let mut devnet = Devnet::start(&[&["--engine", engine], options].concat());
        let output = client().arg(format!("http://{}", devnet.address)).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{engine}: {errors}");
        // Among what the clients log, which goes on while they close.
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.lines().any(|line| line == word), "{engine}: {said}{errors}");
        devnet.process.kill().unwrap();
        let printed: Vec<String> = devnet.lines.by_ref().map_while(Result::ok).collect();
        let changed = printed.iter().any(|line| line.starts_with("epoch 1: 4 parties"));
        assert_eq!(changed, !options.is_empty(), "{engine}: {printed:?}");
    }
}
