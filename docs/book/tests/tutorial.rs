//! Runs the programs of the tutorial, and compares what they print with the chapters.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]
#![allow(unreachable_pub, reason = "the programs are modules here")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[path = "../tutorial/1-dealer.rs"]
mod dealer;
#[path = "../tutorial/4-every-slot.rs"]
mod every_slot;
#[path = "../tutorial/6-handover.rs"]
mod handover;
#[path = "../tutorial/3-no-dealer.rs"]
mod no_dealer;
#[path = "../tutorial/5-restart.rs"]
mod restart;
#[path = "../tutorial/2-stake.rs"]
mod stake;

/// Tenths of a second after which a program is ended.
const PATIENCE: u32 = 3000;

/// A test that runs a program, in a process whose output is read; and the test that reads it.
macro_rules! programs {
    ($($run:ident, $check:ident: $program:ident, $chapter:literal, $acts:expr;)*) => {
        $(
            #[test]
            #[ignore = "run by another test, which reads what it prints"]
            fn $run() {
                $program::main().unwrap();
            }

            #[test]
            fn $check() {
                check(stringify!($run), $chapter, $acts);
            }
        )*
    };
}

programs! {
    run_1, a_dealer: dealer, "1-dealer", &[];
    run_2, stake_becomes_shares: stake, "2-stake", &[];
    run_3, parties_make_a_key: no_dealer, "3-no-dealer", &[];
    run_4, every_slot_has_a_value: every_slot, "4-every-slot", &[
        "the key is made", "round 1, ", "round 12, ",
    ];
    run_5, a_party_comes_back: restart, "5-restart", &[
        "the key is made", "party 1 is killed", "party 1 starts again", "party 0: last",
        "party 1: last", "party 4: last",
    ];
    run_6, a_committee_follows: handover, "6-handover", &[
        "the key is made", "the second committee begins", "party 0: last", "party 5: last",
    ];
}

/// Where parties wait for each other only the acts are compared, otherwise every line. Which path a slot takes
/// depends on how busy the machine is; on the page the fast one is among them.
fn check(run: &str, chapter: &str, acts: &[&str]) {
    let printed = printed(run);
    let shown = shown(chapter);
    if acts.is_empty() {
        assert_eq!(masked(&printed), masked(&shown), "{printed}");
    }
    for text in [&printed, &shown] {
        let mut rest = &text[..];
        for act in acts {
            let at = rest.find(act).unwrap_or_else(|| panic!("no {act:?} in its place:\n{text}"));
            rest = &rest[at + act.len()..];
        }
    }
    assert!(acts.is_empty() || shown.contains("fast path"), "{shown}");
    let last = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.split_once(": last value in "));
        lines.map(|(_, last)| last.split(',').next().unwrap().to_owned()).collect()
    };
    assert!(last(&printed).windows(2).all(|two| two[0] == two[1]), "{printed}");
}

/// What the program prints, between the lines of the test harness. It must end by itself.
fn printed(run: &str) -> String {
    let arguments = ["--exact", run, "--ignored", "--nocapture", "--quiet"];
    let mut program = Command::new(std::env::current_exe().unwrap());
    let program = program.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = program.spawn().unwrap();
    let is_done = (0..PATIENCE).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        program.try_wait().unwrap().is_some()
    });
    if !is_done {
        program.kill().unwrap();
    }
    let done = program.wait_with_output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "ended: {is_done}\n{text}{errors}");
    let (_, text) = text.split_once("running 1 test\n").unwrap();
    text.split("\ntest result").next().unwrap().trim_end().trim_end_matches('.').trim_end().into()
}

/// What the chapter shows as the program's output: its last block of text.
fn shown(chapter: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tutorial");
    let text = std::fs::read_to_string(folder.join(format!("{chapter}.md"))).unwrap();
    let (_, after) = text.rsplit_once("```text\n").unwrap();
    after.split("\n```").next().unwrap().into()
}

/// The lines without the random value.
fn masked(text: &str) -> Vec<String> {
    let is_value = |word: &str| word.len() == 17 && word.ends_with(',');
    let mask = |word| if is_value(word) { "…" } else { word };
    text.lines().map(|line| line.split(' ').map(mask).collect::<Vec<_>>().join(" ")).collect()
}
