//! The source is measured like anything else: lengths, heads, arrows, and what must not be in it.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file is a chapter.
const MAX_CODE_LINES: usize = 500;

/// The files that may say `unsafe`: C and assembly, and instructions that not every processor has. A
/// test that copies its process and reads the copies' vectors has the others.
const UNSAFE_FILES: [&str; 4] = [
    "crypto-core/bls12-381/src/backend/blst.rs",
    "crypto-core/bls12-381/src/lanes.rs",
    "crypto-core/constant-time/src/extended.rs",
    "crypto-core/constant-time/src/trace.rs",
];

/// What no input reaches: asserted at compile time, or excluded by what was checked before. One is for a
/// caller's own generator, if it is broken.
const MAY_PANIC: [(&str, usize); 13] = [
    ("testing/lab/src/committee.rs", 2),
    ("testing/lab/src/dealt.rs", 1),
    ("testing/lab/src/load/goodput/mod.rs", 1),
    ("testing/lab/src/load/mod.rs", 1),
    ("testing/lab/src/transcripts/host.rs", 2),
    ("beacon/src/job.rs", 1),
    ("crypto-core/bls12-381/src/expand.rs", 2),
    ("crypto-core/bls12-381/src/msm.rs", 1),
    ("crypto-core/bls12-381/src/scalar.rs", 1),
    ("crypto-core/src/bls/derive.rs", 1),
    ("crypto-core/src/bls/domain.rs", 1),
    ("crypto-core/src/polynomial/domain.rs", 1),
    ("crypto-core/src/timelock.rs", 3),
];

/// Tests and tools, by a part of their paths.
const NOT_SHIPPED: [&str; 9] = [
    "tests",
    "attacks",
    "agreement",
    "benches/",
    "constant-time/",
    "fixture/",
    "fuzz/",
    "model/",
    "xtask/",
];

/// Who may depend on whom; what is not listed is an arrow in the wrong direction. Development
/// dependencies are free: tests may stand anywhere.
const ARROWS: [(&str, &[&str]); 46] = [
    (
        "prefinal",
        &[
            "prefinal-beacon",
            "prefinal-crypto-core",
            "prefinal-driver",
            "prefinal-engine",
            "prefinal-journal",
            "prefinal-protocol",
            "prefinal-pvss-dkg",
            "prefinal-timelock",
            "prefinal-validator",
            "prefinal-weighted-rounding",
        ],
    ),
    ("prefinal-net", &["prefinal-protocol"]),
    ("prefinal-book", &["prefinal", "prefinal-light"]),
    ("prefinal-example-chain", &["prefinal"]),
    ("prefinal-protocol", &[]),
    ("prefinal-weighted-rounding", &[]),
    ("prefinal-bls12-381", &[]),
    ("prefinal-crypto-core", &["prefinal-bls12-381", "prefinal-protocol"]),
    (
        "prefinal-pvss-dkg",
        &["prefinal-crypto-core", "prefinal-protocol", "prefinal-weighted-rounding"],
    ),
    (
        "prefinal-beacon",
        &[
            "prefinal-contract",
            "prefinal-crypto-core",
            "prefinal-protocol",
            "prefinal-weighted-rounding",
        ],
    ),
    ("prefinal-model", &["prefinal-contract", "prefinal-protocol"]),
    ("prefinal-contract", &["prefinal-protocol", "prefinal-weighted-rounding"]),
    ("prefinal-engine", &["prefinal-contract", "prefinal-protocol", "prefinal-weighted-rounding"]),
    (
        "prefinal-engine-suite",
        &["prefinal-engine", "prefinal-protocol", "prefinal-sim", "prefinal-weighted-rounding"],
    ),
    ("prefinal-execution", &["prefinal-protocol"]),
    ("prefinal-state", &["prefinal-execution", "prefinal-protocol"]),
    (
        "prefinal-light",
        &[
            "prefinal-contract",
            "prefinal-crypto-core",
            "prefinal-execution",
            "prefinal-protocol",
            "prefinal-state",
        ],
    ),
    (
        "prefinal-sync",
        &[
            "prefinal-crypto-core",
            "prefinal-execution",
            "prefinal-light",
            "prefinal-protocol",
            "prefinal-state",
        ],
    ),
    ("prefinal-journal", &["prefinal-protocol"]),
    (
        "prefinal-driver",
        &["prefinal-beacon", "prefinal-crypto-core", "prefinal-journal", "prefinal-protocol"],
    ),
    ("prefinal-sim", &["prefinal-protocol"]),
    ("prefinal-timelock", &["prefinal-crypto-core"]),
    ("prefinal-dispel", &["prefinal-engine", "prefinal-protocol", "prefinal-weighted-rounding"]),
    (
        "prefinal-jolteon",
        &[
            "prefinal-crypto-core",
            "prefinal-engine",
            "prefinal-protocol",
            "prefinal-weighted-rounding",
        ],
    ),
    (
        "prefinal-trantor",
        &[
            "prefinal-crypto-core",
            "prefinal-engine",
            "prefinal-protocol",
            "prefinal-weighted-rounding",
        ],
    ),
    ("prefinal-malachite", &["prefinal-engine", "prefinal-protocol", "prefinal-weighted-rounding"]),
    (
        "prefinal-malachite-app",
        &["prefinal-malachite", "prefinal-protocol", "prefinal-weighted-rounding"],
    ),
    (
        "prefinal-home",
        &[
            "prefinal-crypto-core",
            "prefinal-engine",
            "prefinal-protocol",
            "prefinal-validator",
            "prefinal-weighted-rounding",
        ],
    ),
    (
        "prefinal-sidecar",
        &[
            "prefinal-beacon",
            "prefinal-crypto-core",
            "prefinal-driver",
            "prefinal-engine",
            "prefinal-protocol",
            "prefinal-validator",
        ],
    ),
    (
        "prefinal-validator",
        &[
            "prefinal-beacon",
            "prefinal-crypto-core",
            "prefinal-driver",
            "prefinal-engine",
            "prefinal-execution",
            "prefinal-protocol",
            "prefinal-pvss-dkg",
            "prefinal-weighted-rounding",
        ],
    ),
    (
        "prefinal-registry",
        &[
            "prefinal-beacon",
            "prefinal-crypto-core",
            "prefinal-dispel",
            "prefinal-engine",
            "prefinal-jolteon",
            "prefinal-light",
            "prefinal-malachite",
            "prefinal-protocol",
            "prefinal-trantor",
            "prefinal-validator",
        ],
    ),
    (
        "prefinal-lab",
        &[
            "prefinal-beacon",
            "prefinal-crypto-core",
            "prefinal-disk",
            "prefinal-dispel",
            "prefinal-engine",
            "prefinal-execution",
            "prefinal-jolteon",
            "prefinal-light",
            "prefinal-malachite",
            "prefinal-protocol",
            "prefinal-pvss-dkg",
            "prefinal-registry",
            "prefinal-sim",
            "prefinal-state",
            "prefinal-sync",
            "prefinal-trantor",
            "prefinal-validator",
            "prefinal-weighted-rounding",
        ],
    ),
    (
        "prefinal-node",
        &[
            "prefinal-beacon",
            "prefinal-chart",
            "prefinal-crypto-core",
            "prefinal-driver",
            "prefinal-engine",
            "prefinal-execution",
            "prefinal-home",
            "prefinal-journal",
            "prefinal-lab",
            "prefinal-light",
            "prefinal-malachite",
            "prefinal-malachite-app",
            "prefinal-net",
            "prefinal-protocol",
            "prefinal-pvss-dkg",
            "prefinal-registry",
            "prefinal-sidecar",
            "prefinal-sim",
            "prefinal-state",
            "prefinal-sync",
            "prefinal-timelock",
            "prefinal-validator",
            "prefinal-weighted-rounding",
        ],
    ),
    (
        "prefinal-codes",
        &[
            "prefinal-beacon",
            "prefinal-crypto-core",
            "prefinal-light",
            "prefinal-pvss-dkg",
            "prefinal-timelock",
            "prefinal-weighted-rounding",
        ],
    ),
    (
        "prefinal-python",
        &[
            "prefinal-beacon",
            "prefinal-codes",
            "prefinal-contract",
            "prefinal-crypto-core",
            "prefinal-lab",
            "prefinal-light",
            "prefinal-protocol",
            "prefinal-pvss-dkg",
            "prefinal-registry",
            "prefinal-validator",
            "prefinal-weighted-rounding",
        ],
    ),
    ("prefinal-rows", &[]),
    (
        "prefinal-scale",
        &[
            "prefinal-crypto-core",
            "prefinal-fixture",
            "prefinal-pvss-dkg",
            "prefinal-rows",
            "prefinal-weighted-rounding",
        ],
    ),
    (
        "prefinal-geo",
        &[
            "prefinal-beacon",
            "prefinal-jolteon",
            "prefinal-lab",
            "prefinal-malachite",
            "prefinal-registry",
            "prefinal-rows",
            "prefinal-sim",
            "prefinal-validator",
            "prefinal-weighted-rounding",
        ],
    ),
    (
        "prefinal-throughput",
        &[
            "prefinal-crypto-core",
            "prefinal-engine",
            "prefinal-journal",
            "prefinal-lab",
            "prefinal-net",
            "prefinal-protocol",
            "prefinal-rows",
            "prefinal-trantor",
        ],
    ),
    ("prefinal-chart", &[]),
    ("prefinal-report", &["prefinal-chart", "prefinal-rows"]),
    (
        "prefinal-peers",
        &["prefinal-crypto-core", "prefinal-fixture", "prefinal-pvss-dkg", "prefinal-rows"],
    ),
    (
        "prefinal-bench",
        &[
            "prefinal-beacon",
            "prefinal-crypto-core",
            "prefinal-fixture",
            "prefinal-protocol",
            "prefinal-pvss-dkg",
            "prefinal-rows",
            "prefinal-weighted-rounding",
        ],
    ),
    ("prefinal-disk", &[]),
    (
        "prefinal-fuzz",
        &[
            "prefinal-beacon",
            "prefinal-crypto-core",
            "prefinal-dispel",
            "prefinal-execution",
            "prefinal-home",
            "prefinal-jolteon",
            "prefinal-light",
            "prefinal-malachite",
            "prefinal-malachite-app",
            "prefinal-protocol",
            "prefinal-pvss-dkg",
            "prefinal-registry",
            "prefinal-state",
            "prefinal-sync",
            "prefinal-timelock",
            "prefinal-trantor",
            "prefinal-validator",
            "prefinal-weighted-rounding",
        ],
    ),
    (
        "prefinal-fixture",
        &["prefinal-crypto-core", "prefinal-pvss-dkg", "prefinal-weighted-rounding"],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_owned()
}

/// Every tracked or new text file that git does not ignore.
fn files() -> Vec<(String, String)> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    let names = String::from_utf8(listed.stdout).expect("names are UTF-8");
    let files: Vec<(String, String)> = names
        .lines()
        .filter_map(|name| {
            Some((name.to_owned(), std::fs::read_to_string(root().join(name)).ok()?))
        })
        .collect();
    assert!(files.len() > 20, "git listed {} files only", files.len());
    files
}

fn rust_files() -> impl Iterator<Item = (String, String)> {
    files().into_iter().filter(|(name, _)| name.ends_with(".rs"))
}

/// Lines that are neither blank nor comment, up to the inline test module.
fn code_lines(text: &str) -> usize {
    text.lines()
        .take_while(|line| !line.starts_with("#[cfg(test)]"))
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}

#[test]
fn a_file_is_a_chapter() {
    let long: Vec<String> = rust_files()
        .map(|(name, text)| (name, code_lines(&text)))
        .filter(|(_, lines)| *lines > MAX_CODE_LINES)
        .map(|(name, lines)| format!("{name}: {lines} lines of code"))
        .collect();
    assert!(long.is_empty(), "more than {MAX_CODE_LINES}: {long:#?}");
}

#[test]
fn every_module_has_a_head() {
    let bare: Vec<String> =
        rust_files().filter(|(_, text)| !text.starts_with("//!")).map(|(name, _)| name).collect();
    assert!(bare.is_empty(), "without `//!` on the first line: {bare:#?}");
}

#[test]
fn unsafe_stands_in_four_files() {
    let word = ["un", "safe"].concat();
    let elsewhere: Vec<String> = rust_files()
        .filter(|(name, _)| !UNSAFE_FILES.contains(&name.as_str()))
        .filter(|(_, text)| {
            text.lines().map(|line| line.split("//").next().unwrap_or_default()).any(|line| {
                line.contains(&format!("{word} {{"))
                    || line.contains(&format!("{word} fn"))
                    || line.contains(&format!("{word} impl"))
            })
        })
        .map(|(name, _)| name)
        .collect();
    assert!(elsewhere.is_empty(), "{elsewhere:#?}");
}

/// An example that must not compile says why; what runs the tests compares (`xtask/rustdoc.sh`).
#[test]
fn refused_examples_name_their_error() {
    let fence = ["```compile", "_fail"].concat();
    let mut named = 0;
    for (name, text) in rust_files() {
        for (line, number) in text.lines().zip(1..) {
            if let Some((_, code)) = line.split_once(&fence) {
                assert!(code.starts_with(",E0"), "{name}:{number} names no error");
                named += 1;
            }
        }
    }
    assert!(named > 30, "only {named} such examples");
}

/// Clippy finds `unwrap`, `expect`, indexing and `panic!`; this finds the rest.
#[test]
fn what_may_panic_is_listed() {
    let macros = ["assert!", "assert_eq!", "assert_ne!", "unreachable!"];
    let shipped = rust_files().filter(|(name, _)| {
        name.contains("src/") && !NOT_SHIPPED.iter().any(|part| name.contains(part))
    });
    let found: BTreeMap<String, usize> = shipped
        .map(|(name, text)| {
            let code = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
            let code = code.map(str::trim).filter(|line| !line.starts_with("//"));
            let panics = code.filter(|line| macros.iter().any(|one| line.contains(one))).count();
            (name, panics)
        })
        .filter(|(_, panics)| *panics > 0)
        .collect();
    let listed = MAY_PANIC.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    assert_eq!(found, listed);
}

/// A reader of a path finds the package that it is from. Python asks for the name of its module.
#[test]
fn libraries_are_called_as_their_packages() {
    let manifests = || files().into_iter().filter(|(name, _)| name.ends_with("Cargo.toml"));
    let renamed: Vec<String> = manifests()
        .filter(|(name, _)| name != "bindings/python/Cargo.toml")
        .filter(|(_, text)| {
            let library = text.split("\n[").find(|section| section.starts_with("lib]"));
            library.is_some_and(|section| section.contains("\nname = "))
                || text.contains("package = \"prefinal")
        })
        .map(|(name, _)| name)
        .collect();
    assert!(manifests().count() > 30 && renamed.is_empty(), "{renamed:#?}");
}

#[test]
fn arrows_point_one_way() {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo describes the workspace");
    let metadata: serde_json::Value =
        serde_json::from_slice(&metadata.stdout).expect("metadata is JSON");
    let allowed: BTreeMap<&str, BTreeSet<&str>> =
        ARROWS.iter().map(|(from, to)| (*from, to.iter().copied().collect())).collect();
    let mut seen = 0;
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("name");
        if name == "xtask" {
            continue;
        }
        let arrows = allowed.get(name).unwrap_or_else(|| panic!("{name} is not in the table"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let on = dependency["name"].as_str().expect("name");
            if on.starts_with("prefinal-") && dependency["kind"].is_null() {
                assert!(arrows.contains(on), "{name} -> {on} is an arrow in the wrong direction");
                seen += 1;
            }
        }
    }
    assert!(seen >= 10, "only {seen} arrows found");
}

#[test]
fn nothing_of_one_machine_is_in_the_tree() {
    // Split, so that this file does not find itself.
    let banned = [["/ro", "ot/"].concat(), ["/wo", "rk/"].concat(), ["/tm", "p/target"].concat()];
    let found: Vec<String> = files()
        .into_iter()
        .flat_map(|(name, text)| {
            let hits: Vec<String> = banned
                .iter()
                .filter(|word| text.contains(word.as_str()))
                .map(|word| format!("{name}: {word}"))
                .collect();
            hits
        })
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}
