//! The example is run, and what it prints is compared with what it is for.
use std::process::Command;

#[test]
fn every_act_is_played() {
    let run = Command::new(env!("CARGO_BIN_EXE_prefinal-example-chain")).output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success(), "{text}{}", String::from_utf8_lossy(&run.stderr));
    // The second committee is a matter of slots, and the cheat's case one of values.
    let crash = ["accuses party 0", "party 2 is killed", "party 2 starts again"];
    for acts in [&crash[..], &["the second committee begins"]] {
        let first = ["7 parties draw their keys", "the key has 96 bytes", "round 1 verified"];
        let last = ["values verified, under two committees and one key"];
        let mut rest = &text[..];
        for act in [&first[..], acts, &last].concat() {
            let at = rest.find(act).unwrap_or_else(|| panic!("no {act:?} in order:\n{text}"));
            rest = &rest[at..];
        }
    }
    assert!(text.contains("by the fast path"), "{text}");
    let innocent = text.lines().filter(|line| line.contains("accuses"));
    assert!(innocent.into_iter().all(|line| line.contains("accuses party 0")), "{text}");
}
