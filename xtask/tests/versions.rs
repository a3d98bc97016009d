//! One version for all: crates, the Python package, the npm package. A reader that sees a version number in one
//! language finds the same code under it in another.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_owned()
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect(path)
}

fn json(path: &str) -> Value {
    serde_json::from_str(&text(path)).expect(path)
}

/// The version of each crate of a workspace.
fn crates(manifest: &str) -> BTreeMap<String, String> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline", "--manifest-path"])
        .arg(root().join(manifest))
        .output()
        .expect("cargo describes the workspace");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    packages.map(|package| (word(&package["name"]), word(&package["version"]))).collect()
}

#[test]
fn versions_are_in_step() {
    let mut versions = crates("Cargo.toml");
    let ours = versions["prefinal-crypto-core"].clone();
    let browser = crates("bindings/wasm/Cargo.toml");
    assert!(browser.contains_key("prefinal-wasm") && versions.contains_key("prefinal-python"));
    versions.extend(browser);
    for file in ["package.json", "package-lock.json"] {
        let version = json(&format!("bindings/wasm/{file}"))["version"].clone();
        versions.insert(file.to_owned(), version.as_str().expect("a version").to_owned());
    }
    versions.retain(|_, version| *version != ours);
    assert!(versions.is_empty(), "others are {ours}: {versions:#?}");
}

/// Crates ask for each other's version, which cargo compares only in part.
#[test]
fn crates_ask_for_the_version_that_they_have() {
    let ours = &crates("Cargo.toml")["prefinal-crypto-core"];
    let manifest = text("Cargo.toml");
    let asked = manifest.lines().filter(|line| line.starts_with("prefinal"));
    let asked: Vec<&str> = asked.filter(|line| line.contains("version = ")).collect();
    let expected = format!("version = \"{ours}\"");
    assert!(asked.len() > 5 && asked.iter().all(|line| line.contains(&expected)), "{asked:#?}");
}

/// maturin takes the crate's version where `pyproject.toml` leaves it open.
#[test]
fn the_wheel_has_the_version_of_its_crate() {
    let project = text("bindings/python/pyproject.toml");
    let lines = || project.lines().map(str::trim);
    assert!(lines().any(|line| line == "dynamic = [\"version\"]"));
    assert!(!lines().any(|line| line.starts_with("version")), "a version of its own");
}

/// The oldest Rust is what a gate compiles with, in each workspace.
#[test]
fn the_oldest_rust_is_tried() {
    let gates = text("xtask/src/gates.rs");
    let after = gates.split("OLDEST_RUST: &str = \"").nth(1).expect("the gate's version");
    let tried = after.split('"').next().expect("a version");
    for manifest in ["Cargo.toml", "bindings/wasm/Cargo.toml"] {
        let asked = format!("rust-version = \"{tried}\"");
        assert!(text(manifest).lines().any(|line| line == asked), "{manifest}: {asked}");
    }
}
