//! `prefinal timelock` from outside: files of drand's open, and what is bad is said in one line.
#![cfg(feature = "timelock")]
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

const DRAND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crypto-core/timelock/tests/files/");
const INFO: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../crypto-core/timelock/src/quicknet.json");
const SAID: &str = "The committee of round 1000 has spoken.\n";
const SIGNATURE: &str = "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39";
const OTHER: &str = "b33bf3667cbd5a82de3a24b4e0e9fe5513cc1a0e840368c6e31f5fcfa79bea03f73896b25883abf2853d10337fb8fa41";

/// Runs in a fresh folder and gives exit code and what was said on stderr.
fn timelock(folder: &TempDir, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::cargo_bin("prefinal").expect("the command is built");
    command.current_dir(folder.path()).arg("timelock").args(arguments);
    let output = command.output().expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    (output.status.code(), said)
}

fn well(folder: &TempDir, arguments: &[&str]) {
    assert_eq!(timelock(folder, arguments), (Some(0), String::new()), "{arguments:?}");
}

/// One line, this exit code, these words, and no output.
fn refused(folder: &TempDir, arguments: &[&str], code: i32, words: &[&str]) {
    let (got, said) = timelock(folder, arguments);
    assert_eq!((got, said.trim_end().lines().count()), (Some(code), 1), "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: `{word}` is not in {said}");
    }
    let left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(
        !left.iter().any(|file| file.ends_with("out") || file.ends_with("out.part")),
        "{left:?}"
    );
}

fn read(folder: &TempDir, name: impl AsRef<Path>) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

#[test]
fn files_of_drand_open_with_a_signature_given_in_any_form() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("hex"), format!("{SIGNATURE}\n")).unwrap();
    let json = format!(r#"{{"round":1000,"randomness":"00","signature":"{SIGNATURE}"}}"#);
    fs::write(folder.path().join("json"), json).unwrap();
    let (bytes, text) =
        (format!("{DRAND}quicknet-1000.age"), format!("{DRAND}quicknet-1000.age.txt"));
    for (at, (file, signature)) in
        [(&bytes, SIGNATURE), (&text, "hex"), (&bytes, "json")].into_iter().enumerate()
    {
        let out = at.to_string();
        well(&folder, &["decrypt", "--signature", signature, file, &out]);
        assert_eq!(read(&folder, out), SAID);
    }
}

#[test]
fn what_is_encrypted_opens_again() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("in"), SAID).unwrap();
    well(&folder, &["encrypt", "--round", "1000", "in", "bytes"]);
    well(&folder, &["encrypt", "--round", "1000", "--armor", "--chain-info", INFO, "in", "text"]);
    assert!(read(&folder, "text").starts_with("-----BEGIN AGE ENCRYPTED FILE-----\n"));
    for name in ["bytes", "text"] {
        well(&folder, &["decrypt", "--signature", SIGNATURE, name, name]);
        assert_eq!(read(&folder, name), SAID);
    }
}

#[test]
fn a_chain_may_be_named_by_its_key() {
    let folder = TempDir::new().unwrap();
    let chain = [
        "--key",
        "8961dd3fe3961e325ed48f514048c34446fe8af0c365871ea1430f5aea067c3eb5953e02def109ba57a310dc0f976cc8",
        "--scheme",
        "pedersen-bls-unchained",
        "--chain",
        "cf9a77540ef52f63b7b610cc21c2e3154da3774a6ab480740089ea838c3843e5",
    ];
    let signature = "a3703286de3e23f3ca4c3d41f3329c9c74799448e62cae9fd1c5d52b4d8b578d1def6f3db841346c9df314df31e3b2f703bfbe5bbb158f7077bf9c5bc87d0312f26684e20058868bdb044ab54a713a0cfff17b8271ff8916fb7e553710c4ba7f";
    let file = format!("{DRAND}pedersen-bls-unchained-77.age");
    let open = ["decrypt", "--signature", signature, &file, "said"];
    well(&folder, &[&open[..], &chain].concat());
    assert_eq!(read(&folder, "said"), SAID);
    refused(
        &folder,
        &["decrypt", "--signature", signature, &file, "out"],
        2,
        &["of chain cf9a", "not of chain 52db"],
    );
}

#[test]
fn what_is_bad_is_said_and_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let file = format!("{DRAND}quicknet-1000.age");
    let mut altered = fs::read(&file).unwrap();
    *altered.last_mut().unwrap() ^= 1;
    fs::write(folder.path().join("altered"), altered).unwrap();
    fs::write(folder.path().join("plain"), SAID).unwrap();
    let wrong_info = fs::read_to_string(INFO).unwrap().replace("\"period\":3", "\"period\":30");
    fs::write(folder.path().join("info"), wrong_info).unwrap();
    let file = file.as_str();
    let cases: [(&[&str], i32, &[&str]); 9] = [
        (&["decrypt", file, "out"], 2, &["round 1000", "chain 52db", "--signature"]),
        (&["decrypt", "--signature", OTHER, file, "out"], 1, &["not of round 1000"]),
        (&["decrypt", "--signature", "abcd", file, "out"], 2, &["2 bytes", "48"]),
        (&["decrypt", "--signature", "nothing", file, "out"], 2, &["nothing", "No such file"]),
        (&["decrypt", "--signature", SIGNATURE, "altered", "out"], 1, &["altered"]),
        (&["decrypt", "--signature", SIGNATURE, "plain", "out"], 2, &["plain", "not an age file"]),
        (&["encrypt", "--round", "0", "plain", "out"], 2, &["--round 0", "from 1"]),
        (&["encrypt", "--round", "1", "missing", "out"], 2, &["missing", "No such file"]),
        (
            &["encrypt", "--round", "1", "--chain-info", "info", "plain", "out"],
            2,
            &["info is of chain"],
        ),
    ];
    for (arguments, code, words) in cases {
        refused(&folder, arguments, code, words);
    }
}
