//! Homes as operators make, break and attack them.
mod command_line;
mod genesis;
mod home;
mod leaks;
mod lock;

use std::path::{Path, PathBuf};

use clap::{Args, FromArgMatches};
use tempfile::TempDir;

use crate::commands::{genesis as genesis_command, init, keys, testnet};
use crate::{Folder, HomeError};

/// A folder that is removed after the test, closed to others.
fn room() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Options from words, as `prefinal` reads them.
fn options<O: Args + FromArgMatches>(words: &[&str]) -> Result<O, clap::Error> {
    let command = O::augment_args(clap::Command::new("test").no_binary_name(true));
    O::from_arg_matches(&command.try_get_matches_from(words)?)
}

fn testnet_of(words: &[&str]) -> Result<String, HomeError> {
    testnet::run(&options(words).unwrap())
}

fn new_keys(home: &Path, words: &[&str]) -> Result<String, HomeError> {
    let all = [&["--home", home.to_str().unwrap()], words].concat();
    keys::run(&keys::Command::New(options(&all).unwrap()))
}

fn shown(home: &Path, words: &[&str]) -> Result<String, HomeError> {
    let all = [&["--home", home.to_str().unwrap()], words].concat();
    keys::run(&keys::Command::Show(options(&all).unwrap()))
}

fn initialised(home: &Path, genesis: &Path) -> Result<String, HomeError> {
    let words = ["--home", home.to_str().unwrap(), "--genesis", genesis.to_str().unwrap()];
    init::run(&options(&words).unwrap())
}

fn joined(words: &[&str]) -> Result<String, HomeError> {
    genesis_command::run(&options(words).unwrap())
}

/// A testnet of four and one spare.
fn net(room: &TempDir) -> PathBuf {
    let out = room.path().join("net");
    testnet_of(&[
        "--out",
        out.to_str().unwrap(),
        "--spare",
        "1",
        "--stake",
        "40",
        "--stake",
        "30",
        "--stake",
        "20",
        "--stake",
        "10",
    ])
    .unwrap();
    out
}

fn home(net: &Path, number: usize) -> Folder {
    Folder::new(net.join(format!("validator-{number}")))
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}
