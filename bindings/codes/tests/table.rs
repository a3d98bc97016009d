//! The table is complete, has no dead entries, and is what the document says.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use prefinal_codes::{CODES, Coded};

/// What the bindings raise themselves: about arguments that no type of ours was made of, and about
/// themselves.
const OF_BINDINGS: [&str; 5] =
    ["freed", "internal", "invalid-argument", "no-randomness", "not-initialised"];

/// What machines report, to hosts that run them, and laws to who writes a scheme; bindings do neither.
const OF_MACHINES: [&str; 9] = [
    "Abort",
    "Fault",
    "HandoverError",
    "Ignored",
    "Refusal",
    "StackError",
    "SwitchError",
    "Violation",
    "Withheld",
];

fn folder(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The texts of all source files below a folder.
fn sources(path: PathBuf) -> Vec<String> {
    let entries = std::fs::read_dir(&path).expect("folder");
    let paths = entries.map(|entry| entry.expect("entry").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => sources(path),
            false => vec![std::fs::read_to_string(path).expect("text")],
        })
        .collect()
}

/// What stands between `before` and `after`, wherever `before` stands.
fn between<'t>(text: &'t str, before: &str, after: &str) -> BTreeSet<&'t str> {
    text.split(before).skip(1).filter_map(|rest| Some(rest.split_once(after)?.0)).collect()
}

#[test]
fn every_code_stands_once_in_the_table_and_is_used() {
    let table: BTreeSet<&str> = CODES.iter().map(|(code, _)| *code).collect();
    assert_eq!(table.len(), CODES.len(), "a code stands twice");
    let meanings: BTreeSet<&str> = CODES.iter().map(|(_, meaning)| *meaning).collect();
    assert_eq!(meanings.len(), CODES.len(), "two codes mean the same");
    let sources = sources(folder("src"));
    let mut used: BTreeSet<&str> =
        sources.iter().flat_map(|text| between(text, "code(\"", "\"")).collect();
    assert!(used.len() > 90, "only {} codes found in the source", used.len());
    used.extend(OF_BINDINGS);
    assert_eq!(used, table);
    for code in table {
        let plain = code.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        assert!(plain && !code.starts_with('-') && !code.ends_with('-'), "{code}");
    }
}

/// Matches are exhaustive, so a variant cannot be forgotten; a whole type can.
#[test]
fn every_error_type_has_codes() {
    let ours = sources(folder("src")).concat();
    let mapped: BTreeSet<&str> = between(&ours, " Coded for ", " {")
        .into_iter()
        .map(|name| name.split('<').next().unwrap_or(name))
        .map(|name| name.rsplit("::").next().unwrap_or(name))
        .collect();
    let crates = [
        "crypto-core",
        "crypto-core/bls12-381",
        "crypto-core/timelock",
        "weighted-rounding",
        "pvss-dkg",
        "beacon",
        "beacon/contract",
    ];
    let mut seen = 0;
    for name in crates {
        for text in sources(folder("../..").join(name).join("src")) {
            for declared in ["Error)]", "for "].iter().flat_map(|before| errors(&text, before)) {
                let known = mapped.contains(declared) || OF_MACHINES.contains(&declared);
                assert!(known, "{declared} of {name} has no codes");
                seen += 1;
            }
        }
    }
    assert!(seen > 60, "only {seen} error types found");
}

/// Public types that are declared behind a derive of `Error`, or get it by hand.
fn errors<'t>(text: &'t str, before: &str) -> Vec<&'t str> {
    let word = |text: &'t str| text.split(|c: char| !c.is_alphanumeric()).next();
    if before == "for " {
        return between(text, "core::error::Error for ", " {").into_iter().collect();
    }
    let declarations = text.split(before).skip(1).filter_map(|rest| {
        let (_, after) = rest.split_once("\npub ")?;
        // Nothing but further attributes stands between.
        let attributes = rest.len() - after.len();
        let near = rest.get(..attributes)?.lines().all(|line| !line.starts_with('}'));
        let name = after.strip_prefix("enum ").or_else(|| after.strip_prefix("struct "))?;
        near.then(|| word(name))?
    });
    declarations.collect()
}

#[test]
fn the_document_is_the_table() {
    let mut text = String::from(
        "# Error codes\n\n\
         An error's text is for people and may change between releases; its code is for programs \
         and does not. The codes are the same in Rust (`prefinal-codes`), Python (`error.code`) and \
         JavaScript (`error.code`). This page is the table in `bindings/codes/src/table.rs`; a test \
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
