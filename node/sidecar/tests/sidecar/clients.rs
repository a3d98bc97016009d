//! Engines in Go and in Python around the sidecars of a committee. Their stubs are made from the description
//! by published generators, and what they print is verified here.
//!
//! Set up once, from the root; versions and hashes are locked in `python/requirements.txt` and `go/go.sum`:
//! ```text
//! python3 -m venv target/sidecar-python
//! target/sidecar-python/bin/python3 -m pip install -r node/sidecar/tests/sidecar/python/requirements.txt
//! cargo test -p prefinal-sidecar --test sidecar -- --ignored
//! ```
//! Go has to be there in release 1.24 or later; it gets its modules by itself. `PREFINAL_SIDECAR_PYTHON`
//! names another Python that has the packages.
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use prefinal_sidecar::proto;
use serde_json::Value;
use tempfile::TempDir;

use crate::committee::{Committee, PARTIES};
use crate::engine::{Shown, Values, verify};

/// What the clients do: so many slots, of which these are voted for in a second attempt, after the keys are
/// there.
const LAST: u64 = 20;
const SECOND: [u64; 3] = [11, 15, 19];
const SKIPPED: u64 = 14;

const DESCRIPTION: &str = "prefinal/sidecar/v1/sidecar.proto";
const GO_MODULE: &str = "prefinal-sidecar-test";
const GO_PLUGINS: [&str; 2] = [
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc",
    "google.golang.org/protobuf/cmd/protoc-gen-go",
];

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn python() -> PathBuf {
    let chosen = std::env::var_os("PREFINAL_SIDECAR_PYTHON").map(PathBuf::from);
    chosen.unwrap_or_else(|| here("../../target/sidecar-python/bin/python3"))
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    output
}

/// `protoc`, as `grpcio-tools` brings it.
fn protoc(folder: &Path) -> Command {
    let mut command = Command::new(python());
    command.args(["-m", "grpc_tools.protoc", "-I"]).arg(here("proto"));
    command.arg(DESCRIPTION).current_dir(folder);
    command
}

/// A committee for a client, which gets the sockets' paths; then what it prints is looked at.
async fn content(client: impl FnOnce() -> Command) {
    let committee = Committee::new();
    let mut command = client();
    command.args((0..PARTIES).map(|party| committee.socket(party)));
    let output = tokio::task::spawn_blocking(move || run(&mut command)).await.unwrap();
    let mut parties = vec![Values::new(); usize::try_from(PARTIES).unwrap()];
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let number = |name: &str| line[name].as_u64().unwrap();
        let bytes = |name: &str| hex::decode(line[name].as_str().unwrap()).unwrap();
        let shown = Shown {
            round: number("round"),
            signature: bytes("signature"),
            randomness: bytes("randomness"),
            key: bytes("key"),
            path: proto::Path::from_str_name(line["path"].as_str().unwrap()).unwrap(),
        };
        parties[usize::try_from(number("party")).unwrap()].insert(number("slot"), shown);
    }
    let first = *parties[0].keys().next().expect("it prints values");
    verify(&parties, first, LAST);
    for (slot, shown) in parties.iter().flatten().filter(|(slot, _)| **slot > first + 3) {
        // A skipped slot has a value, for its number is all that goes into it.
        let is_slow = SECOND.contains(slot);
        let path = if is_slow { proto::Path::Slow } else { proto::Path::Fast };
        assert!(shown.path == path || *slot == SKIPPED, "slot {slot}: {:?}", shown.path);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs packages of Python"]
async fn an_engine_in_python_gets_values() {
    let folder = TempDir::new().unwrap();
    run(protoc(folder.path()).args(["--python_out=.", "--grpc_python_out=."]));
    content(|| {
        let mut command = Command::new(python());
        command.arg(here("tests/sidecar/python/engine.py")).env("PYTHONPATH", folder.path());
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs packages of Python and modules of Go"]
async fn an_engine_in_go_gets_values() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    for file in ["go.mod", "go.sum", "main.go"] {
        std::fs::copy(here("tests/sidecar/go").join(file), folder.join(file)).unwrap();
    }
    let go = |arguments: &[&str]| {
        let mut command = Command::new("go");
        command.current_dir(folder).args(arguments);
        command
    };
    let bin = folder.join("bin");
    run(go(&["build", "-mod=readonly", "-o"]).arg(bin.join("")).args(GO_PLUGINS));
    let package = format!("module={GO_MODULE},M{DESCRIPTION}={GO_MODULE}/prefinal/sidecar/v1");
    let mut stubs = protoc(folder);
    stubs.arg("--go_out=.").arg(format!("--go_opt={package}"));
    stubs.arg("--go-grpc_out=.").arg(format!("--go-grpc_opt={package}"));
    for name in ["protoc-gen-go", "protoc-gen-go-grpc"] {
        stubs.arg(format!("--plugin={name}={}", bin.join(name).display()));
    }
    run(&mut stubs);
    run(&mut go(&["vet", "."]));
    run(&mut go(&["build", "-mod=readonly", "-o", "engine", "."]));
    content(|| Command::new(folder.join("engine"))).await;
}
