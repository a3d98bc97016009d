//! Small files in, the expected report out; what contradicts itself is refused.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::path::{Path, PathBuf};

use prefinal_report::compare::{Comparison, Contradiction, comparisons};
use prefinal_report::machine::Machine;
use prefinal_report::readme::{self, BEGIN, Choice, END, ReadmeError};
use prefinal_report::{page, pictures};
use prefinal_rows::Row;

const FILES: [&str; 5] = ["geo.csv", "micro.csv", "peers.csv", "scale.csv", "throughput.csv"];

fn small() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/small")
}

fn all() -> Vec<Row> {
    FILES.iter().flat_map(|file| prefinal_rows::read(&small().join(file)).unwrap()).collect()
}

fn compared() -> Vec<Comparison> {
    comparisons(&all()).unwrap()
}

/// The page is kept beside the files; `UPDATE=1` writes what comes now, to be read before it is kept.
#[test]
fn the_page_is_what_the_files_say() {
    let folder = tempfile::tempdir().unwrap();
    let comparisons = compared();
    let drawn = pictures::draw(&comparisons, folder.path()).unwrap();
    let page = page::report(&comparisons, &Machine::read(&small()).unwrap(), &drawn);
    let kept = small().join("report.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&kept, &page).unwrap();
    }
    assert_eq!(page, fs::read_to_string(&kept).unwrap());
    for one in &drawn {
        let picture = fs::read_to_string(folder.path().join(one.file)).unwrap();
        assert!(picture.contains("</svg>"), "{}", one.file);
    }
    assert_eq!(drawn.len(), 6);
}

#[test]
fn a_peer_that_is_ahead_stays_and_is_marked() {
    const ROWS: [Choice; 4] = [
        ("combine", "threshold::combine", "t=67 of 100, scattered", "time"),
        ("verify", "threshold::verify", "n=100", "time"),
        ("alone", "wvuf::alone", "n=129", "time"),
        ("not measured", "threshold::verify", "n=1000", "time"),
    ];
    let (comparisons, machine) = (compared(), Machine::read(&small()).unwrap());
    let text = format!("above\n{BEGIN}\nold\n{END}\nbelow\n");
    let text = readme::rewritten(&text, &ROWS, &comparisons, &machine).unwrap();
    let expected = format!(
        "above\n{BEGIN}\n\
         | operation | ours | best peer | ours / peer | limit | ours / limit |\n\
         | --- | ---: | ---: | ---: | ---: | ---: |\n\
         | combine | 1.50 ms | 1.20 ms, mixer 3.0.0 | **1.25** | – | – |\n\
         | verify | 50.0 µs | 0.100 ms, adder 1.2.0 | 0.50 | – | – |\n\
         | alone | 12.3 ms | – | – | – | – |\n\
         \nAbacus 3000, 2026-11-22. **Bold**: a peer is ahead. A dash: no peer has it, or nothing \
         bounds it. Below one: a cheaper way than this sum of primitives; where the \
         processor has AVX-512 IFMA, many points are summed up, paired and decoded eight at a time.\n{END}\nbelow\n"
    );
    assert_eq!(text, expected);
    assert!(readme::missing(&ROWS, &comparisons).eq(["not measured"]));
    // Once more is the same.
    assert_eq!(readme::rewritten(&text, &ROWS, &comparisons, &machine).unwrap(), text);
}

#[test]
fn a_readme_without_markers_is_left_as_it_is() {
    const ROWS: [Choice; 1] = [("alone", "wvuf::alone", "n=129", "time")];
    let (comparisons, machine) = (compared(), Machine::read(&small()).unwrap());
    let rewritten = |text: &str, rows| readme::rewritten(text, rows, &comparisons, &machine);
    assert_eq!(rewritten("nothing", &ROWS), Err(ReadmeError::NoMarkers));
    assert_eq!(rewritten(&format!("{END}\n{BEGIN}\n"), &ROWS), Err(ReadmeError::NoMarkers));
    let unknown = [("alone", "wvuf::alone", "n=1", "time")];
    assert_eq!(rewritten(&format!("{BEGIN}{END}"), &unknown), Err(ReadmeError::Nothing));
}

#[test]
fn what_contradicts_itself_is_no_report() {
    let mut twice = all();
    let again = Row { value: 1.0, version: "other".to_owned(), ..twice[0].clone() };
    twice.push(again);
    assert!(matches!(comparisons(&twice), Err(Contradiction::Twice { .. })));
    // Another command or number of threads is another measurement.
    let mut other = all();
    other.push(Row { command: "run again".to_owned(), ..other[0].clone() });
    other.push(Row { threads: 2, ..other[0].clone() });
    assert!(comparisons(&other).is_ok());
    let mut units = all();
    units.push(Row { unit: "s".to_owned(), case: "another".to_owned(), ..units[0].clone() });
    assert!(matches!(comparisons(&units), Err(Contradiction::Units { .. })));
}
