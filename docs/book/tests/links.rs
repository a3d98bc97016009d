//! Every chapter is in the summary, every link leads somewhere, every snippet is tested.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every chapter, by its path below `src`, and its text.
fn chapters() -> Vec<(PathBuf, String)> {
    let (mut folders, mut found) = (vec![folder()], Vec::new());
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder()).unwrap().to_owned();
                found.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(found.len() > 10, "{} chapters", found.len());
    found
}

/// The targets of links, outside of code.
fn links(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    let ends = prose.flat_map(|part| part.split("](").skip(1));
    ends.map(|end| end.split(')').next().unwrap()).collect()
}

#[test]
fn every_chapter_is_in_the_summary() {
    let summary = fs::read_to_string(folder().join("SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> = links(&summary).into_iter().map(PathBuf::from).collect();
    let written = chapters().into_iter().map(|(name, _)| name);
    let written: BTreeSet<_> = written.filter(|name| name != Path::new("SUMMARY.md")).collect();
    assert_eq!(listed, written);
}

#[test]
fn every_link_leads_to_a_chapter() {
    for (name, text) in chapters() {
        let inside = links(&text).into_iter().filter(|link| !link.starts_with("https://"));
        for link in inside {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                folder().join(&name)
            } else {
                folder().join(&name).parent().unwrap().join(file)
            };
            let is_chapter = target.extension().is_some_and(|kind| kind == "md");
            assert!(is_chapter && target.exists(), "{}: {link}", name.display());
            assert!(place.is_empty() || has_heading(&target, place), "{}: {link}", name.display());
        }
    }
}

/// Whether the chapter has a heading with this name, as mdBook makes names: lower case, with hyphens.
fn has_heading(chapter: &Path, name: &str) -> bool {
    let text = fs::read_to_string(chapter).unwrap();
    let headings = text.lines().filter_map(|line| Some(line.strip_prefix('#')?.trim_matches('#')));
    headings.into_iter().any(|heading| {
        let kept =
            heading.trim().chars().filter(|letter| letter.is_alphanumeric() || *letter == ' ');
        kept.collect::<String>().to_lowercase().replace(' ', "-") == name
    })
}

/// A page of rustdoc that the book links, and the file that it is made from, by their beginnings.
const PAGES: [(&str, &str); 10] = [
    ("prefinal-beacon/latest/prefinal_beacon/", "beacon/src"),
    ("prefinal-contract/latest/prefinal_contract/", "beacon/contract/src"),
    ("prefinal-crypto-core/latest/prefinal_crypto_core/", "crypto-core/src"),
    ("prefinal-driver/latest/prefinal_driver/", "beacon/driver/src"),
    ("prefinal-engine/latest/prefinal_engine/", "consensus/engine/src"),
    ("prefinal-execution/latest/prefinal_execution/", "chain/execution/src"),
    ("prefinal-malachite/latest/prefinal_malachite/", "consensus/malachite/src"),
    ("prefinal-pvss-dkg/latest/prefinal_pvss_dkg/", "pvss-dkg/src"),
    ("prefinal-validator/latest/prefinal_validator/", "chain/validator/src"),
    ("prefinal-weighted-rounding/latest/prefinal_weighted_rounding/", "weighted-rounding/src"),
];

#[test]
fn every_page_of_ours_is_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (name, text) in chapters() {
        let pages =
            links(&text).into_iter().filter_map(|link| link.strip_prefix("https://docs.rs/"));
        for page in pages {
            let found = PAGES.iter().find_map(|(start, at)| Some((page.strip_prefix(start)?, at)));
            let Some((module, at)) = found else { panic!("{}: {page}", name.display()) };
            let module = module.trim_end_matches('/');
            let module = if module.is_empty() { "lib" } else { module };
            let file = |kind| root.join(at).join(format!("{module}.{kind}"));
            assert!(file("rs").exists() || file("md").exists(), "{}: {page}", name.display());
        }
    }
}

/// Files of the repository that chapters name.
#[test]
fn every_file_that_is_named_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut named = 0;
    for (name, text) in chapters() {
        let prose = text.split("```").step_by(2);
        let code = prose.flat_map(|part| part.split('`').skip(1).step_by(2));
        let is_ours = |word: &&str| {
            word.split_once('/').is_some_and(|(first, _)| root.join(first).join("src").exists())
                || ["testing/", "chain/", "consensus/", "bindings/"]
                    .iter()
                    .any(|top| word.starts_with(top))
        };
        for word in code.filter(is_ours).filter(|word| word.contains('.')) {
            assert!(root.join(word).exists(), "{}: {word}", name.display());
            named += 1;
        }
    }
    assert!(named > 10, "{named} files");
}

/// A snippet that is not in the list of `lib.rs` would be tested by nobody.
#[test]
fn every_snippet_is_tested() {
    let list = fs::read_to_string(folder().join("../lib.rs")).unwrap();
    for (name, text) in chapters() {
        let listed = list.contains(&format!("\"src/{}\"", name.display()));
        let snippets = text.matches("```rust").count() - text.matches("```rust,ignore").count();
        assert_eq!(snippets > 0, listed, "{}", name.display());
    }
}

/// What is shown without being a test is a program of the tutorial, which another test runs.
#[test]
fn what_is_not_tested_is_included() {
    for (name, text) in chapters() {
        for block in text.split("```rust,ignore\n").skip(1) {
            assert!(block.starts_with("{{#include ../../tutorial/"), "{}", name.display());
        }
    }
}

/// The packages' tests run these.
#[test]
fn the_front_page_shows_the_first_examples_of_the_packages() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let example = |file: &str, language: &str| {
        let text = fs::read_to_string(root.join(file)).unwrap();
        let begins = text.split(&format!("```{language}\n")).nth(1).unwrap();
        begins.split("```").next().unwrap().to_owned()
    };
    for (package, language) in [("python", "python"), ("wasm", "js")] {
        let first = example(&format!("bindings/{package}/README.md"), language);
        assert_eq!(example("README.md", language), first);
    }
}
