//! The table of domain tags is complete, and no two hashes share one.
//!
//! Tags are found in the sources by how they begin; `crypto-core/src/tags.md` says which there are,
//! where they stand and how they are hashed.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const TABLE: &str = "crypto-core/src/tags.md";

/// How each tag of ours begins, and what else may be in it.
const BEGINNINGS: [(&str, &str); 3] = [
    ("PREFINAL-V1-", "-ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"),
    ("prefinal/", "abcdefghijklmnopqrstuvwxyz0123456789/"),
    ("prefinal devnet ", ""),
];

type Places = BTreeMap<String, BTreeSet<String>>;

fn read(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root");
    std::fs::read_to_string(root.join(name)).expect("a tracked file")
}

/// What is shipped: no test, example or bench.
fn sources() -> Vec<(String, String)> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "*.rs"])
        .current_dir(
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root"),
        )
        .output()
        .expect("git lists the files");
    let names = String::from_utf8(listed.stdout).expect("names are UTF-8");
    names
        .lines()
        .filter(|name| name.contains("/src/") && !name.starts_with("xtask/"))
        .filter(|name| {
            !["/tests/", "/attacks", "fuzz/", "/constant-time/", "benches/", "testing/"]
                .iter()
                .any(|part| name.contains(part))
        })
        .map(|name| (name.to_owned(), read(name)))
        .collect()
}

fn places(find: impl Fn(&str) -> Vec<String>) -> Places {
    let mut places = Places::new();
    for (name, text) in sources() {
        for tag in find(&text) {
            places.entry(tag).or_default().insert(name.clone());
        }
    }
    places
}

/// Every tag in string literals, without the name of the curve's hash and of a domain.
fn tags(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (beginning, alphabet) in BEGINNINGS {
        for (at, _) in text.match_indices(&format!("\"{beginning}")) {
            let rest = &text[at + 1 + beginning.len()..];
            let end = rest.find(|c| !alphabet.contains(c)).unwrap_or(rest.len());
            found.push(format!("{beginning}{}", &rest[..end]));
        }
    }
    found
}

/// The names of BLS domains in shipped code, not in examples or tests.
fn domains(text: &str) -> Vec<String> {
    text.lines()
        .take_while(|line| !line.starts_with("#[cfg(test)]"))
        .filter(|line| !line.trim_start().starts_with("//"))
        .filter_map(|line| line.split("Domain::new(\"").nth(1)?.split('"').next())
        .map(str::to_owned)
        .collect()
}

/// The rows below a heading: what stands between backquotes in each column.
fn rows(heading: &str) -> Vec<Vec<Vec<String>>> {
    let table = read(TABLE);
    let below = table.split(&format!("# {heading}\n")).nth(1).expect("the heading");
    let section = below.split("\n# ").next().unwrap_or_default();
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    section
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').skip(1).map(quoted).collect())
        .collect()
}

fn listed(heading: &str, place: usize) -> Places {
    let mut listed = Places::new();
    for row in rows(heading) {
        let before = listed.insert(row[0][0].clone(), row[place].iter().cloned().collect());
        assert!(before.is_none(), "{} is listed twice", row[0][0]);
    }
    assert!(listed.len() > 5, "only {} rows below {heading}", listed.len());
    listed
}

#[test]
fn the_table_has_every_tag_and_its_place() {
    assert_eq!(places(tags), listed("Tags", 2));
}

#[test]
fn the_table_has_every_domain_and_its_place() {
    let found = places(domains);
    assert_eq!(found, listed("Domains", 1));
    let shared: Vec<_> = found.iter().filter(|(_, files)| files.len() > 1).collect();
    assert!(shared.is_empty(), "{shared:?}");
}

/// One purpose, one tag. The audit computes an input a second time on purpose.
#[test]
fn no_two_places_share_a_tag() {
    let shared: Vec<String> =
        places(tags).into_iter().filter(|(_, files)| files.len() > 1).map(|(tag, _)| tag).collect();
    assert_eq!(shared, ["PREFINAL-V1-WVUF-INPUT"]);
}

/// Else the end of the shorter tag could be the beginning of somebody's data.
#[test]
fn no_plain_tag_begins_another() {
    let table = read(TABLE);
    let plain: Vec<&str> = table
        .lines()
        .filter(|line| line.contains("` | hash |"))
        .filter_map(|line| line.split('`').nth(1))
        .collect();
    assert!(plain.len() > 5, "{plain:?}");
    for tag in &plain {
        let longer: Vec<_> =
            plain.iter().filter(|other| *other != tag && other.starts_with(tag)).collect();
        assert!(longer.is_empty(), "{tag} begins {longer:?}");
    }
}

/// A tag that the table calls a transcript's is hashed with its length, and the others are not.
#[test]
fn transcripts_are_what_the_table_says() {
    for (name, text) in sources() {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code.filter(|line| line.contains("Transcript::new(b\"")) {
            let tag = line.split('"').nth(1).expect("a literal");
            let row = format!("| `{tag}` | transcript |");
            assert!(read(TABLE).contains(&row), "{name}: {tag}");
        }
    }
}
