//! The table is complete, has no dead entries, and is what the document says. Every error type has a code.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use prefinal_codes::{CODES, Coded};

/// What the bindings raise themselves: about arguments that no type of ours was made of, and about
/// themselves.
const OF_BINDINGS: [&str; 5] =
    ["freed", "internal", "invalid-argument", "no-randomness", "not-initialised"];

/// What the sidecar tells an engine of votes and messages, beside the codes of errors.
const OF_SIDECAR: [&str; 3] = ["boundary-unknown", "malformed-message", "no-keys-yet"];

/// The crates whose errors have codes.
const CRATES: [&str; 27] = [
    "prefinal",
    "protocol",
    "crypto-core",
    "crypto-core/bls12-381",
    "crypto-core/timelock",
    "weighted-rounding",
    "pvss-dkg",
    "beacon",
    "beacon/contract",
    "beacon/driver",
    "beacon/journal",
    "consensus/dispel",
    "consensus/engine",
    "consensus/jolteon",
    "consensus/malachite",
    "consensus/malachite/app",
    "consensus/trantor",
    "chain/execution",
    "chain/light",
    "chain/registry",
    "chain/state",
    "chain/sync",
    "chain/validator",
    "node",
    "node/home",
    "node/net",
    "node/sidecar",
];

/// What tests of a scheme say to those who write it: no program reads it.
const WITHOUT_CODE: [&str; 1] = ["Violation"];

/// How each `code` begins.
const CODE: &str = "fn code(&self) -> &'static str {";

fn folder(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Paths and texts of all source files below a folder.
fn sources(path: PathBuf) -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir(&path).expect("folder");
    let paths = entries.map(|entry| entry.expect("entry").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => sources(path),
            false => vec![(path.clone(), std::fs::read_to_string(path).expect("text"))],
        })
        .collect()
}

fn of_crates() -> Vec<(PathBuf, String)> {
    let folders = CRATES.iter().map(|name| folder("../..").join(name).join("src"));
    folders.flat_map(sources).collect()
}

/// The text up to the brace that closes one opened before it.
fn body(text: &str) -> &str {
    let mut open = 1_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

/// The first word of a text.
fn word(text: &str) -> &str {
    text.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default()
}

#[test]
fn every_code_stands_once_in_the_table_and_is_used() {
    let table: BTreeSet<&str> = CODES.iter().map(|(code, _)| *code).collect();
    assert_eq!(table.len(), CODES.len(), "a code stands twice");
    let meanings: BTreeSet<&str> = CODES.iter().map(|(_, meaning)| *meaning).collect();
    assert_eq!(meanings.len(), CODES.len(), "two codes mean the same");
    let sources = of_crates();
    let bodies = sources.iter().flat_map(|(_, text)| text.split(CODE).skip(1)).map(body);
    // Every second piece between quotes is a literal.
    let mut used: BTreeSet<&str> =
        bodies.flat_map(|body| body.split('"').skip(1).step_by(2)).collect();
    assert!(used.len() > 225, "only {} codes found in the source", used.len());
    for code in OF_SIDECAR {
        let literal = format!("\"{code}\"");
        assert!(sources.iter().any(|(_, text)| text.contains(&literal)), "{code} is not used");
    }
    used.extend(OF_BINDINGS.into_iter().chain(OF_SIDECAR));
    assert_eq!(used, table);
    for code in table {
        let plain = code.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        assert!(plain && !code.starts_with('-') && !code.ends_with('-'), "{code}");
    }
}

/// Matches are exhaustive in an error's own crate, so a variant cannot be forgotten; a whole type can. An
/// enum of errors may get further variants, and says so to those who match on it.
#[test]
fn every_error_type_has_a_code() {
    let mut seen = 0;
    for (path, text) in of_crates() {
        let coded = coded(&text);
        for (kind, name, attributes) in errors(&text) {
            let at = path.display();
            let known = coded.contains(name) || WITHOUT_CODE.contains(&name);
            assert!(known, "{name} has no code: {at}");
            let open = kind != "enum" || attributes.contains("#[non_exhaustive]");
            assert!(open, "{name} is not #[non_exhaustive]: {at}");
            seen += 1;
        }
    }
    assert!(seen > 155, "only {seen} error types found");
}

/// The types with a `code` in this file.
fn coded(text: &str) -> BTreeSet<&str> {
    let ends = text.match_indices(CODE).filter_map(|(at, _)| text.get(..at));
    let heads = ends.filter_map(|before| {
        before.lines().rev().map(str::trim_start).find_map(|line| line.strip_prefix("impl"))
    });
    heads
        .map(|head| match head.strip_prefix('<') {
            Some(generic) => generic.split_once("> ").map_or(generic, |(_, name)| name),
            None => head.trim_start(),
        })
        .map(word)
        .collect()
}

/// What machines and engines report, which is not an error of a call.
const REPORTS: [&str; 6] = ["Fault", "Refusal", "Abort", "Misdeed", "Reason", "Exit"];

/// Public types that are declared behind a derive of `Error`, get it by hand, or are named as [`REPORTS`] are:
/// `enum` or `struct`, the name, and the attributes before them.
fn errors(text: &str) -> Vec<(&str, &str, &str)> {
    let mut found = Vec::new();
    for kind in ["enum", "struct"] {
        for (at, declared) in text.match_indices(&format!("\npub {kind} ")) {
            let before = text.get(..at).unwrap_or_default();
            let attributes = before.rsplit("\n\n").next().unwrap_or_default();
            let name = word(text.get(at + declared.len()..).unwrap_or_default());
            let by_hand = text.contains(&format!("core::error::Error for {name} "));
            let derives = attributes.lines().any(|line| {
                line.starts_with("#[derive(") && line.replace(')', ",").contains("Error,")
            });
            let is_report = REPORTS.iter().any(|end| name.ends_with(end));
            if derives || by_hand || is_report {
                found.push((kind, name, attributes));
            }
        }
    }
    found
}

#[test]
fn the_document_is_the_table() {
    let mut text = String::from(
        "# Error codes\n\n\
         An error's text is for people and may change between releases; its code is for programs \
         and does not. The codes are the same in Rust (`error.code()`), Python (`error.code`) and \
         JavaScript (`error.code`). Faults, refusals and aborts that machines report have codes too. This page is the table in `bindings/codes/src/table.rs`; a test \
         compares them, and writes the page if `PREFINAL_WRITE` is set.\n\n\
         | code | meaning |\n|---|---|\n",
    );
    for (code, meaning) in CODES {
        writeln!(text, "| `{code}` | {meaning} |").expect("strings take all");
    }
    let path = folder("../../docs/error-codes.md");
    if std::env::var_os("PREFINAL_WRITE").is_some() {
        std::fs::write(&path, &text).expect("written");
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(page == text, "PREFINAL_WRITE=1 cargo test -p prefinal-codes --test table");
}

#[test]
fn fields_say_how_much_and_who() {
    let stakes = [3_u128, 2, 2].map(prefinal_weighted_rounding::Stake::new);
    let weights = [1; 3].map(prefinal_weighted_rounding::Weight::new);
    let slow = prefinal_weighted_rounding::Pair::slow();
    let claim = prefinal_weighted_rounding::verify::Claim {
        pair: &slow,
        threshold: prefinal_weighted_rounding::Weight::new(3),
    };
    let error =
        prefinal_weighted_rounding::verify::verify(&stakes, &weights, &[claim]).unwrap_err();
    let detail = error.detail();
    assert_eq!((detail.code, error.code()), ("rounding-stalls", "rounding-stalls"));
    assert_eq!((detail.need, detail.got), (Some(3), Some(2)));
    assert_eq!(detail.culprits, [0, 1]);

    let error = prefinal_crypto_core::curve::G1Affine::from_bytes(&[0; 47]).unwrap_err().detail();
    assert_eq!((error.code, error.need, error.got), ("wrong-length", Some(48), Some(47)));
}
