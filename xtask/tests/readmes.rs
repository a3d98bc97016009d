//! What a registry shows of a crate is the beginning of its documentation. `PREFINAL_WRITE=1 cargo test -p
//! xtask --test readmes` writes each README.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

/// What clients use, as soon as all that it stands on is published.
const AS_IF_PUBLISHED: [&str; 1] = ["prefinal-light"];

/// Name and folder of each crate that is published.
fn published() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root");
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root)
        .output()
        .expect("cargo describes the workspace");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    let published = packages.filter(|package| {
        package["publish"].is_null() || AS_IF_PUBLISHED.contains(&word(&package["name"]).as_str())
    });
    let folder = |path: String| Path::new(&path).parent().expect("a folder").to_owned();
    published.map(|one| (word(&one["name"]), folder(word(&one["manifest_path"])))).collect()
}

/// The crate's documentation up to the end of its first example.
fn beginning(library: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    let lines = library.lines().map_while(|line| line.strip_prefix("//!"));
    for line in lines.map(|line| line.strip_prefix(' ').unwrap_or(line)) {
        match line.strip_prefix("```") {
            Some(_) if inside => return text + "```\n",
            Some(_) => text.push_str("```rust\n"),
            None if inside && (line == "#" || line.starts_with("# ")) => {}
            None if inside => text.extend([line, "\n"]),
            None => text.extend([&without_links(line), "\n"]),
        }
        inside |= line.starts_with("```");
    }
    text
}

/// Links to items are for rustdoc alone.
fn without_links(line: &str) -> String {
    let mut parts = line.split('[');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(']') {
            Some((name, rest)) if rest.starts_with("(https://") => {
                text.extend(["[", name, "]", rest]);
            }
            Some((name, rest)) => {
                let target = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
                text.extend([name, target.map_or(rest, |(_, rest)| rest)]);
            }
            None => text.extend(["[", part]),
        }
    }
    text
}

#[test]
fn each_published_crate_shows_the_beginning_of_its_documentation() {
    let crates = published();
    assert!(crates.len() > 10, "{} crates", crates.len());
    for (name, folder) in crates {
        let library = fs::read_to_string(folder.join("src/lib.rs")).expect("a library");
        let beginning = beginning(&library);
        assert!(beginning.ends_with("```\n"), "{name} begins without an example");
        let text = format!(
            "# {name}\n\n{beginning}\nA part of Prefinal, threshold cryptography for BFT blockchains. \
             Not audited. `cargo doc -p {name} --open` shows the documentation.\n\nLicence: MIT or \
             Apache-2.0, as you like.\n"
        );
        let file = folder.join("README.md");
        if env::var_os("PREFINAL_WRITE").is_some() {
            fs::write(&file, &text).expect("a file can be written");
        }
        let written = fs::read_to_string(&file).unwrap_or_default();
        assert!(written == text, "PREFINAL_WRITE=1 cargo test -p xtask --test readmes: {name}");
    }
}
